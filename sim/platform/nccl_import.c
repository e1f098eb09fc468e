/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL's topology XML, which NCCL_TOPO_DUMP_FILE writes and NCCL_TOPO_FILE names: <system>, <cpu>, nested <pci>, <gpu> with
 * <nvlink>, <nic> with <net>. Clouds' files leave <gpu> and <nic> to the class of a <pci>. */
#include "platform/node_facts.h"

struct gpu {
    const struct ss_xml_node *pci, *gpu; /* either may be NULL */
};

struct nccl {
    const char *file;
    const char *host; /* of the first <cpu>, whose node is read */
    int others;       /* GPUs of other hosts */
    int hosts;        /* distinct ones */
    const char *host_names[SS_MAX_MESH_GPUS];
    struct gpu gpus[SS_MAX_MESH_GPUS];
    int infiniband, nets; /* PCI devices; <net> of the highest speed */
    double speed;         /* Mb/s */
    struct ss_node_facts *facts;
    struct ss_error *err;
};

static bool is_class(const struct ss_xml_node *node, const char *attr, const char *prefix)
{
    const char *value = ss_xml_attr(node, attr);

    return value != NULL && strncasecmp(value, prefix, strlen(prefix)) == 0;
}

static int add_gpu(struct nccl *n, const struct ss_xml_node *pci, const struct ss_xml_node *gpu)
{
    if (n->facts->ngpus == SS_MAX_MESH_GPUS)
        return ss_fail(n->err, SS_ERR_UNSUPPORTED, n->file, gpu != NULL ? gpu->line : pci->line,
                       "more than %d GPUs of one node" SS_HINT "give the file of one node", SS_MAX_MESH_GPUS);
    n->gpus[n->facts->ngpus++] = (struct gpu){pci, gpu};
    return SS_OK;
}

/* Slower ones are no part of the fabric: they carry the host's own traffic. */
static void add_net(struct nccl *n, const struct ss_xml_node *net)
{
    const char *text = ss_xml_attr(net, "speed");
    double speed = text != NULL ? atof(text) : 0;

    if (!(speed > 0 && speed < 1e9) || speed < n->speed)
        return;
    n->nets = speed > n->speed ? 1 : n->nets + 1;
    n->speed = speed;
}

static int walk(struct nccl *n, const struct ss_xml_node *node, const struct ss_xml_node *pci, bool mine)
{
    int rc = SS_OK;

    for (const struct ss_xml_node *c = node->first_child; c != NULL && !rc; c = c->next) {
        bool is_pci = ss_tag_is(c, "pci"), is_gpu = ss_tag_is(c, "gpu");

        if (is_gpu || (is_pci && is_class(c, "class", "0x03") && c->first_child == NULL)) {
            n->others += !mine;
            rc = mine ? add_gpu(n, is_gpu ? pci : c, is_gpu ? c : NULL) : SS_OK;
        } else if (mine && is_pci && is_class(c, "class", "0x0207")) {
            n->infiniband++;
        } else if (mine && ss_tag_is(c, "net") && pci != NULL) {
            add_net(n, c);
        }
        if (!rc && c->first_child != NULL && !is_gpu)
            rc = walk(n, c, is_pci ? c : pci, mine); /* depth bounded by the reader */
    }
    return rc;
}

static void add_host(struct nccl *n, const char *name)
{
    for (int i = 0; i < n->hosts; i++)
        if (strcmp(n->host_names[i], name) == 0)
            return;
    if (n->hosts < SS_MAX_MESH_GPUS)
        n->host_names[n->hosts++] = name;
}

static int walk_system(struct nccl *n, const struct ss_xml_node *root)
{
    int rc = SS_OK;

    for (const struct ss_xml_node *c = root->first_child; c != NULL && !rc; c = c->next) {
        const char *host = ss_xml_attr(c, "host_hash");

        if (!ss_tag_is(c, "cpu"))
            continue;
        add_host(n, host != NULL ? host : "");
        n->facts->nnumas += strcmp(n->host_names[0], host != NULL ? host : "") == 0;
        rc = walk(n, c, NULL, strcmp(n->host_names[0], host != NULL ? host : "") == 0);
    }
    return rc;
}

/* The GPU of a bus id; -1: none. */
static int find_gpu(const struct nccl *n, const char *busid)
{
    for (int i = 0; i < n->facts->ngpus && busid != NULL; i++) {
        const char *own = n->gpus[i].pci != NULL ? ss_xml_attr(n->gpus[i].pci, "busid") : NULL;

        if (own != NULL && strcasecmp(own, busid) == 0)
            return i;
    }
    return -1;
}

/* Links of one GPU: *to_switch gets those to NVSwitches; those to a processor are no way to another GPU. */
static int read_links(struct nccl *n, int a, double *to_switch)
{
    struct ss_nvlink_matrix *m = &n->facts->nvlink;

    for (const struct ss_xml_node *c = n->gpus[a].gpu != NULL ? n->gpus[a].gpu->first_child : NULL; c != NULL;
         c = c->next) {
        const char *count = ss_xml_attr(c, "count");
        int64_t links;
        int b = find_gpu(n, ss_xml_attr(c, "target"));

        if (!ss_tag_is(c, "nvlink"))
            continue;
        if (count == NULL || ss_parse_i64(count, 1, 1000, &links) != SS_OK)
            return ss_fail(n->err, SS_ERR_INPUT, n->file, c->line,
                           "count=\"%.20s\" of an <nvlink>" SS_HINT
                           "write the file with NCCL_TOPO_DUMP_FILE once more",
                           count != NULL ? count : "");
        m->given = 1;
        if (is_class(c, "tclass", "0x068000"))
            *to_switch += (double)links;
        else if (is_class(c, "tclass", "0x068001"))
            m->to_host = (double)links;
        else if (b >= 0 && b != a)
            m->pair[a * SS_MAX_MESH_GPUS + b] = (double)links;
        else if (is_class(c, "tclass", "0x03"))
            return ss_fail(n->err, SS_ERR_INPUT, n->file, c->line,
                           "target=\"%.30s\" of an <nvlink> is no GPU of this file" SS_HINT
                           "is the file whole?",
                           ss_xml_attr(c, "target") != NULL ? ss_xml_attr(c, "target") : "");
    }
    return SS_OK;
}

static int read_nvlink(struct nccl *n)
{
    struct ss_nvlink_matrix *m = &n->facts->nvlink;
    double to_switch = -1, links;
    bool equal = true;
    int rc = SS_OK;

    m->counted = 1;
    for (int a = 0; a < n->facts->ngpus && !rc; a++) {
        links = 0;
        rc = read_links(n, a, &links);
        equal = equal && (to_switch < 0 || to_switch == links);
        to_switch = links;
    }
    if (rc || !m->given)
        return rc;
    ss_nvlink_sum(m, n->facts->ngpus);
    if (equal && to_switch <= 0)
        return SS_OK;
    m->mesh = 0;
    m->whole = equal;
    m->link = m->total = to_switch;
    if (equal)
        return SS_OK;
    return ss_fail(n->err, SS_ERR_UNSUPPORTED, n->file, 0,
                   "the GPUs have unlike numbers of NVLinks to their switches" SS_HINT
                   "is a link down? give the file of a whole node");
}

/* PCI ids of NVIDIA's cards for training (pci-ids.ucw.cz, vendor 10de). */
static const struct {
    const char *device, *model;
} models[] = {{"0x15f9", "Tesla P100-SXM2-16GB"},  {"0x1db1", "Tesla V100-SXM2-16GB"},
              {"0x1db5", "Tesla V100-SXM2-32GB"},  {"0x1db8", "Tesla V100-SXM3-32GB"},
              {"0x20b0", "NVIDIA A100-SXM4-40GB"}, {"0x20b2", "NVIDIA A100-SXM4-80GB"},
              {"0x2324", "NVIDIA H800"},           {"0x2329", "NVIDIA H20"},
              {"0x2330", "NVIDIA H100 80GB HBM3"}, {"0x2335", "NVIDIA H200"},
              {"0x2901", "NVIDIA B200"},           {"0x2941", "NVIDIA GB200"}};

static void read_model(struct nccl *n)
{
    struct ss_node_facts *f = n->facts;
    const struct gpu *g = &n->gpus[0];
    const char *device = g->pci != NULL ? ss_xml_attr(g->pci, "device") : NULL;
    const char *sm = g->gpu != NULL ? ss_xml_attr(g->gpu, "sm") : NULL;

    for (size_t i = 0; device != NULL && i < SS_ARRAY_LEN(models); i++)
        if (strcasecmp(models[i].device, device) == 0)
            ss_copy(f->model, sizeof(f->model), models[i].model);
    f->memory = ss_model_memory(f->model);
    f->sm = sm != NULL ? atoi(sm) : 0;
}

int ss_node_facts_nccl(const struct ss_xml_node *root, const char *file, struct ss_node_facts *out,
                       struct ss_error *err)
{
    struct nccl n = {.file = file, .facts = out, .err = err};

    memset(out, 0, sizeof(*out));
    int rc = walk_system(&n, root);
    if (!rc && out->ngpus == 0)
        rc = ss_fail(err, SS_ERR_INPUT, file, root->line,
                     "no GPU in this file" SS_HINT "a GPU is a <gpu>, or a <pci> of class 0x03");
    if (!rc && n.others != (n.hosts - 1) * out->ngpus)
        rc = ss_fail(err, SS_ERR_UNSUPPORTED, file, root->line,
                     "%d hosts with unlike numbers of GPUs in one file" SS_HINT
                     "give the files of single nodes, one behind the other",
                     n.hosts);
    SS_THEN(rc, read_nvlink(&n));
    if (rc)
        return rc;
    out->hosts = n.hosts;
    out->nnics = n.nets > 0 ? n.nets : n.infiniband;
    out->nic_bandwidth = n.nets > 0 ? n.speed * 1e6 / 8 : 0;
    read_model(&n);
    return SS_OK;
}
