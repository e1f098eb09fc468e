/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a node from an hwloc XML; no other file uses hwloc. hwloc 2.9 crashes on some damaged files and leaks
 * on others, so a child process reads them. */
#include <errno.h>
#include <fcntl.h>
#include <hwloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/leave.h"
#include "platform/node_facts.h"

#define CHILD_SECONDS 60

struct node {
    const char *file;
    hwloc_topology_t topology;
    int ngpus;
    hwloc_obj_t gpus[SS_MAX_GPUS_PER_NODE];
    struct ss_node_facts *facts;
};

/* Our own reader goes first: it gives the line of damage, and hwloc's version. */
static int check_text(const char *text, size_t len, const char *file, struct ss_error *err)
{
    struct ss_xml *doc = NULL;
    const struct ss_xml_node *root;
    const char *version;
    int rc = SS_OK;

    SS_TRY(ss_xml_parse(text, len, file, &doc, err));
    root = ss_xml_root(doc);
    version = ss_xml_attr(root, "version");
    if (!ss_tag_is(root, "topology"))
        rc = ss_fail(err, SS_ERR_INPUT, file, root->line,
                     "the root is <%s>, not hwloc's <topology>" SS_HINT
                     "write the file with 'lstopo file.xml'",
                     root->tag);
    else if (version == NULL || strncmp(version, "2.", 2) != 0)
        rc = ss_fail(err, SS_ERR_UNSUPPORTED, file, root->line,
                     "hwloc XML of version %.20s" SS_HINT
                     "write it with hwloc 2, or with 'lstopo --export-xml-flags v2 file.xml' of hwloc 3",
                     version != NULL ? version : "1");
    ss_xml_free(doc);
    return rc;
}

static int load(struct node *n, const char *text, size_t len, struct ss_error *err)
{
    /* The size that hwloc wants counts the final NUL. */
    if (hwloc_topology_init(&n->topology) != 0) {
        n->topology = NULL;
        return ss_nomem(err);
    }
    if (hwloc_topology_set_io_types_filter(n->topology, HWLOC_TYPE_FILTER_KEEP_ALL) != 0 ||
        hwloc_topology_set_xmlbuffer(n->topology, text, (int)len + 1) != 0 ||
        hwloc_topology_load(n->topology) != 0)
        return ss_fail(err, SS_ERR_INPUT, n->file, 0,
                       "hwloc cannot read this file" SS_HINT
                       "write it again with 'lstopo file.xml' on the node");
    return SS_OK;
}

static bool add_gpu(struct node *n, hwloc_obj_t obj)
{
    if (n->ngpus == SS_MAX_GPUS_PER_NODE)
        return false;
    n->gpus[n->ngpus++] = obj;
    return true;
}

static const char *info(hwloc_obj_t obj, const char *name)
{
    return obj != NULL ? hwloc_obj_get_info_by_name(obj, name) : NULL;
}

/* Returns the model of a GPU: its own, that of its PCI function, or of another OS device of the function. */
static const char *gpu_info(hwloc_obj_t gpu, const char *name)
{
    hwloc_obj_t pci = gpu->type == HWLOC_OBJ_PCI_DEVICE ? gpu : gpu->parent;
    const char *value = info(gpu, name);

    if (value != NULL || pci == NULL || pci->type != HWLOC_OBJ_PCI_DEVICE)
        return value;
    for (hwloc_obj_t c = pci->io_first_child; c != NULL && value == NULL; c = c->next_sibling)
        value = info(c, name);
    return value;
}

static const char *gpu_model(hwloc_obj_t gpu)
{
    hwloc_obj_t pci = gpu->type == HWLOC_OBJ_PCI_DEVICE ? gpu : gpu->parent;
    const char *model = gpu_info(gpu, "GPUModel");

    if (model == NULL && pci != NULL && pci->type == HWLOC_OBJ_PCI_DEVICE)
        model = info(pci, "PCIDevice");
    return model;
}

static void find_gpus(struct node *n)
{
    hwloc_obj_t obj = NULL;

    while ((obj = hwloc_get_next_osdev(n->topology, obj)) != NULL)
        if (obj->name != NULL && strncmp(obj->name, "nvml", 4) == 0 && !add_gpu(n, obj))
            return;
    if (n->ngpus > 0)
        return;
    while ((obj = hwloc_get_next_pcidev(n->topology, obj)) != NULL)
        if (obj->attr->pcidev.class_id >> 8 == 0x03 && obj->attr->pcidev.vendor_id == 0x10de &&
            !add_gpu(n, obj))
            return;
}

/* Ports that are known to be down do not count. */
static void find_nics(struct node *n)
{
    hwloc_obj_t obj = NULL;

    while ((obj = hwloc_get_next_osdev(n->topology, obj)) != NULL) {
        const char *state = info(obj, "Port1State");

        if (obj->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS && (state == NULL || atoi(state) == 4))
            n->facts->nnics++;
    }
}

static int survey(struct node *n, struct ss_error *err)
{
    hwloc_obj_t root = hwloc_get_root_obj(n->topology);
    struct ss_node_facts *f = n->facts;
    const char *model, *size;

    find_gpus(n);
    if (n->ngpus == 0)
        return ss_fail(err, SS_ERR_INPUT, n->file, 0,
                       "no NVIDIA GPU in this node" SS_HINT
                       "hwloc lists GPUs as nvml devices, or as PCI devices of class 03xx and vendor 10de; "
                       "was I/O left out?");
    find_nics(n);
    f->nnumas = hwloc_get_nbobjs_by_type(n->topology, HWLOC_OBJ_NUMANODE);
    f->host_memory = (double)root->total_memory;
    model = gpu_model(n->gpus[0]);
    if (model == NULL)
        return ss_fail(err, SS_ERR_INPUT, n->file, 0,
                       "the file does not name the GPU's model" SS_HINT
                       "write it with an hwloc that has NVML or the PCI ids");
    for (int i = 1; i < n->ngpus; i++) {
        const char *other = gpu_model(n->gpus[i]);

        if (other == NULL || strcmp(other, model) != 0)
            return ss_fail(err, SS_ERR_UNSUPPORTED, n->file, 0,
                           "GPUs of two models: \"%.80s\" and \"%.80s\"" SS_HINT
                           "one platform has one kind of card",
                           model, other != NULL ? other : "unnamed");
    }
    f->ngpus = n->ngpus;
    ss_copy(f->model, sizeof(f->model), model);
    f->memory = ss_model_memory(model);
    if (f->memory == 0 && (size = gpu_info(n->gpus[0], "CUDAGlobalMemorySize")) != NULL)
        f->memory = atof(size) * 1024;
    return SS_OK;
}

/* hwloc before 2.12 gave NVLink 3 and 4 links twice their bandwidth. */
static bool may_double(const struct node *n)
{
    const char *version = info(hwloc_get_root_obj(n->topology), "hwlocVersion");
    int major = 0, minor = 0;

    return version == NULL || sscanf(version, "%d.%d", &major, &minor) != 2 || major < 2 ||
           (major == 2 && minor < 12);
}

static void set_pair(const struct node *n, struct ss_nvlink_matrix *m, int i, hwloc_obj_t peer, double value)
{
    for (int j = 0; j < n->ngpus; j++)
        if (n->gpus[j] == peer)
            m->pair[i * SS_MAX_MESH_GPUS + j] = value;
}

static void read_matrix(const struct node *n, const struct hwloc_distances_s *d, struct ss_nvlink_matrix *m)
{
    double pair = -1, to_switch = -1;

    m->given = m->whole = 1;
    for (int i = 0; i < n->ngpus; i++) {
        int row = -1;
        double rest = 0;

        for (unsigned k = 0; k < d->nbobjs; k++)
            if (d->objs[k] == n->gpus[i])
                row = (int)k;
        for (unsigned k = 0; row >= 0 && k < d->nbobjs; k++) {
            double value = (double)d->values[(size_t)row * d->nbobjs + k] * 1e6;
            bool gpu = false;

            for (int j = 0; j < n->ngpus; j++)
                gpu = gpu || d->objs[k] == n->gpus[j];
            if ((int)k == row)
                continue;
            if (!gpu) {
                /* Links to the processor of a POWER node are no way to another GPU. */
                if (d->objs[k] != NULL && d->objs[k]->type == HWLOC_OBJ_PCI_DEVICE)
                    rest += value;
                else if (value > m->to_host)
                    m->to_host = value;
                continue;
            }
            m->whole = m->whole && (pair < 0 || pair == value);
            pair = value;
            if (n->ngpus <= SS_MAX_MESH_GPUS)
                set_pair(n, m, i, d->objs[k], value);
        }
        m->whole = m->whole && row >= 0 && (to_switch < 0 || to_switch == rest);
        to_switch = rest;
    }
    m->mesh = to_switch <= 0;
    m->link = m->mesh ? pair : to_switch;
    m->total = m->mesh ? pair * (n->ngpus - 1) : to_switch;
    m->whole = m->whole && m->link > 0 && (m->mesh || pair <= 0);
}

static void find_nvlink(struct node *n)
{
    struct hwloc_distances_s *d = NULL;
    unsigned count = 1;

    if (n->ngpus < 2 || hwloc_distances_get_by_name(n->topology, "NVLinkBandwidth", &count, &d, 0) != 0 ||
        count == 0 || d == NULL)
        return;
    read_matrix(n, d, &n->facts->nvlink);
    n->facts->nvlink.may_be_double = may_double(n);
    hwloc_distances_release(n->topology, d);
}

/* The child's answer. */
struct answer {
    int status;
    struct ss_error error;
    struct ss_node_facts facts;
};

/* An error without what lies behind the ends of its texts. */
static void copy_error(struct ss_error *to, const struct ss_error *from)
{
    to->code = from->code;
    to->line = from->line;
    ss_copy(to->file, sizeof(to->file), from->file);
    ss_copy(to->message, sizeof(to->message), from->message);
    ss_copy(to->hint, sizeof(to->hint), from->hint);
}

static void run_child(const char *text, size_t len, const char *file, int to)
{
    static const struct rlimit no_core = {0, 0};
    struct answer answer;
    struct node n = {.file = file, .facts = &answer.facts};
    struct ss_error error = {0};
    int null = open("/dev/null", O_WRONLY);

    memset(&answer, 0, sizeof(answer)); /* padding included: all bytes are written */
    setrlimit(RLIMIT_CORE, &no_core);
    for (int s = 1; s < 32; s++)
        signal(s, SIG_DFL);
    alarm(CHILD_SECONDS);
    if (null >= 0) { /* hwloc and libxml2 print complaints about damaged files */
        dup2(null, 1);
        dup2(null, 2);
    }
    answer.status = load(&n, text, len, &error);
    if (answer.status == SS_OK)
        answer.status = survey(&n, &error);
    if (answer.status == SS_OK)
        find_nvlink(&n);
    else
        copy_error(&answer.error, &error);
    for (size_t done = 0; done < sizeof(answer);) {
        ssize_t wrote = write(to, (const char *)&answer + done, sizeof(answer) - done);

        if (wrote < 0 && errno != EINTR)
            break;
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    ss_leave(0);
}

static bool read_answer(int from, struct answer *answer)
{
    size_t done = 0;

    while (done < sizeof(*answer)) {
        ssize_t got = read(from, (char *)answer + done, sizeof(*answer) - done);

        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        done += got > 0 ? (size_t)got : 0;
    }
    return true;
}

static int ask_child(const char *text, size_t len, const char *file, struct answer *answer,
                     struct ss_error *err)
{
    int ends[2];
    bool whole;
    pid_t child;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return ss_fail(err, SS_ERR_IO, file, 0, "no pipe: %s", strerror(errno));
    child = fork();
    if (child == 0) {
        close(ends[0]);
        run_child(text, len, file, ends[1]);
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return ss_fail(err, SS_ERR_NOMEM, file, 0, "no process to read the file: %s", strerror(errno));
    }
    whole = read_answer(ends[0], answer);
    close(ends[0]);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    if (whole)
        return SS_OK;
    return ss_fail(err, SS_ERR_INPUT, file, 0,
                   "hwloc breaks down on this file" SS_HINT
                   "it is damaged; write it again with 'lstopo file.xml' on the node");
}

int ss_node_facts_read(const char *text, size_t len, const char *file, struct ss_node_facts *out,
                       struct ss_error *err)
{
    struct answer answer;
    int status = check_text(text, len, file, err);

    if (status == SS_OK)
        status = ask_child(text, len, file, &answer, err);
    if (status != SS_OK)
        return status;
    if (answer.status != SS_OK && err != NULL)
        *err = answer.error;
    if (answer.status == SS_OK)
        *out = answer.facts;
    return answer.status;
}

unsigned ss_node_facts_hwloc(void)
{
    return hwloc_get_api_version();
}
