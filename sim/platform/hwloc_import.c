/* SPDX-License-Identifier: Apache-2.0 */
/* One node from an hwloc XML; the only user of hwloc. */
#include <ctype.h>
#include <hwloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "platform/platform_internal.h"

#define MAX_BYTES (64u << 20)

/* What the file says of the node. */
struct node {
    const char *file;
    hwloc_topology_t topology;
    int ngpus, nnics, nnumas;
    hwloc_obj_t gpus[SS_MAX_GPUS_PER_NODE];
    const char *model; /* of the first GPU */
    double memory;     /* of one GPU, 0 = not said */
    double host_memory;
    char *note;
    unsigned long note_size;
};

static void note(struct node *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void note(struct node *n, const char *fmt, ...)
{
    size_t used = n->note_size > 0 ? strlen(n->note) : 0;
    va_list args;

    if (used + 2 >= n->note_size)
        return;
    if (used > 0) {
        strcpy(n->note + used, " ");
        used++;
    }
    va_start(args, fmt);
    vsnprintf(n->note + used, n->note_size - used, fmt, args);
    va_end(args);
}

/* Our own reader goes first: it names the line of what is damaged, and hwloc's version. */
static int check_text(const char *text, size_t len, const char *file, struct ss_error *err)
{
    struct ss_xml *doc = NULL;
    const struct ss_xml_node *root;
    const char *version;
    int status = ss_xml_parse(text, len, file, &doc, err);

    if (status != SS_OK)
        return status;
    root = ss_xml_root(doc);
    version = ss_xml_attr(root, "version");
    if (!ss_tag_is(root, "topology"))
        status = ss_hint(err,
                         ss_fail(err, SS_ERR_INPUT, file, root->line, "the root is <%s>, not hwloc's <topology>", root->tag),
                         "write the file with 'lstopo file.xml'");
    else if (version == NULL || strncmp(version, "2.", 2) != 0)
        status = ss_hint(err,
                         ss_fail(err, SS_ERR_UNSUPPORTED, file, root->line, "hwloc XML of version %.20s",
                                 version != NULL ? version : "1"),
                         "write it with hwloc 2, or with 'lstopo --export-xml-flags v2 file.xml' of hwloc 3");
    ss_xml_free(doc);
    return status;
}

static int load(struct node *n, const char *text, size_t len, struct ss_error *err)
{
    /* The size that hwloc wants counts the final NUL. */
    if (hwloc_topology_init(&n->topology) != 0) {
        n->topology = NULL;
        return ss_fail(err, SS_ERR_NOMEM, n->file, 0, "out of memory");
    }
    if (hwloc_topology_set_io_types_filter(n->topology, HWLOC_TYPE_FILTER_KEEP_ALL) != 0 ||
        hwloc_topology_set_xmlbuffer(n->topology, text, (int)len + 1) != 0 || hwloc_topology_load(n->topology) != 0)
        return ss_hint(err, ss_fail(err, SS_ERR_INPUT, n->file, 0, "hwloc cannot read this file"),
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

/* The device's model: its own, its PCI function's, or another OS device's of the same function. */
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
        if (obj->attr->pcidev.class_id >> 8 == 0x03 && obj->attr->pcidev.vendor_id == 0x10de && !add_gpu(n, obj))
            return;
}

/* Ports that are known to be down do not count. */
static void find_nics(struct node *n)
{
    hwloc_obj_t obj = NULL;

    while ((obj = hwloc_get_next_osdev(n->topology, obj)) != NULL) {
        const char *state = info(obj, "Port1State");

        if (obj->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS && (state == NULL || atoi(state) == 4))
            n->nnics++;
    }
}

static int survey(struct node *n, struct ss_error *err)
{
    hwloc_obj_t root = hwloc_get_root_obj(n->topology);
    const char *size, *gigabytes;

    find_gpus(n);
    if (n->ngpus == 0)
        return ss_hint(err, ss_fail(err, SS_ERR_INPUT, n->file, 0, "no NVIDIA GPU in this node"),
                       "hwloc lists GPUs as nvml devices, or as PCI devices of class 03xx and vendor 10de; was I/O left out?");
    find_nics(n);
    n->nnumas = hwloc_get_nbobjs_by_type(n->topology, HWLOC_OBJ_NUMANODE);
    n->host_memory = (double)root->total_memory;
    n->model = gpu_model(n->gpus[0]);
    if (n->model == NULL)
        return ss_hint(err, ss_fail(err, SS_ERR_INPUT, n->file, 0, "the file does not name the GPU's model"),
                       "write it with an hwloc that has NVML or the PCI ids");
    for (int i = 1; i < n->ngpus; i++) {
        const char *other = gpu_model(n->gpus[i]);

        if (other == NULL || strcmp(other, n->model) != 0)
            return ss_hint(err,
                           ss_fail(err, SS_ERR_UNSUPPORTED, n->file, 0, "GPUs of two models: \"%.80s\" and \"%.80s\"",
                                   n->model, other != NULL ? other : "unnamed"),
                           "one platform has one kind of card");
    }
    gigabytes = strstr(n->model, "GB");
    while (gigabytes != NULL && gigabytes > n->model && isdigit((unsigned char)gigabytes[-1]))
        gigabytes--;
    if (gigabytes != NULL && isdigit((unsigned char)*gigabytes))
        n->memory = atof(gigabytes) * SS_GIB;
    else if ((size = gpu_info(n->gpus[0], "CUDAGlobalMemorySize")) != NULL)
        n->memory = atof(size) * 1024;
    return SS_OK;
}

/* Is `word` (up to its first '-') a whole word of the model's name? H20 is not in "H200". */
static bool names_card(const char *model, const char *card)
{
    size_t len = strcspn(card, "-");

    for (const char *at = model; *at != 0; at++)
        if (strncmp(at, card, len) == 0 && !isalnum((unsigned char)at[len]) &&
            (at == model || !isalnum((unsigned char)at[-1])))
            return true;
    return false;
}

static int unknown_card(const struct node *n, char *known, struct ss_error *err)
{
    int code = n->memory > 0
                   ? ss_fail(err, SS_ERR_UNSUPPORTED, n->file, 0, "no platform knows the card \"%.80s\" (%.0f GiB)", n->model,
                             n->memory / SS_GIB)
                   : ss_fail(err, SS_ERR_UNSUPPORTED, n->file, 0, "no platform knows the card \"%.80s\"", n->model);

    return ss_hint(err, code, "known: %s; or copy one of platforms/*.xml and edit it", known);
}

/* The card table is the platforms that come with the program: nearest memory among those of the name. */
static int find_card(const struct node *n, struct ss_platform **out, struct ss_error *err)
{
    struct ss_platform_options options = {.nodes = 1};
    struct ss_platform *best = NULL;
    char known[300] = "";
    double miss = 0.15;
    char **names = NULL;
    size_t count = 0;
    int status = ss_data_list("platforms", ".xml", &names, &count, err);

    for (size_t i = 0; status == SS_OK && i < count; i++) {
        struct ss_platform *p = NULL;
        double off;

        /* A platform of the user's that does not load is no reason to fail here. */
        if (ss_platform_load(names[i], &options, &p, NULL) != SS_OK)
            continue;
        if (p->foreign == NULL && strlen(known) + strlen(p->card.name) + 3 < sizeof(known)) {
            strcat(known, known[0] != 0 ? ", " : "");
            strcat(known, p->card.name);
        }
        off = n->memory > 0 ? fabs(n->memory / p->card.hbm_size - 1) : 0;
        if (p->foreign == NULL && names_card(n->model, p->card.name) && off < miss) {
            ss_platform_free(best);
            best = p;
            miss = off;
        } else {
            ss_platform_free(p);
        }
    }
    ss_names_free(names, count);
    if (status == SS_OK && best == NULL)
        status = unknown_card(n, known, err);
    *out = best;
    return status;
}

/* hwloc before 2.12 gave NVLink 3 and 4 links twice their bandwidth. */
static bool may_double(const struct node *n)
{
    const char *version = info(hwloc_get_root_obj(n->topology), "hwlocVersion");
    int major = 0, minor = 0;

    return version == NULL || sscanf(version, "%d.%d", &major, &minor) != 2 || major < 2 || (major == 2 && minor < 12);
}

struct matrix {
    bool mesh, whole;  /* GPU to GPU; every GPU alike */
    double link, total; /* bytes/s per direction: one pair's or GPU's link, all of a GPU */
};

static void read_matrix(const struct node *n, const struct hwloc_distances_s *d, struct matrix *m)
{
    double pair = -1, to_switch = -1;

    m->whole = true;
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
                rest += d->objs[k] != NULL && d->objs[k]->type == HWLOC_OBJ_PCI_DEVICE ? value : 0;
                continue;
            }
            m->whole = m->whole && (pair < 0 || pair == value);
            pair = value;
        }
        m->whole = m->whole && row >= 0 && (to_switch < 0 || to_switch == rest);
        to_switch = rest;
    }
    m->mesh = to_switch <= 0;
    m->link = m->mesh ? pair : to_switch;
    m->total = m->mesh ? pair * (n->ngpus - 1) : to_switch;
    m->whole = m->whole && m->link > 0 && (m->mesh || pair <= 0);
}

/* NVLink of the node into p, which holds the card table's. */
static int set_nvlink(struct node *n, struct ss_platform *p, struct ss_error *err)
{
    struct hwloc_distances_s *d = NULL;
    struct matrix m = {0};
    double table = ss_platform_nvlink_bandwidth(p);
    unsigned count = 1;
    bool found = n->ngpus > 1 &&
                 hwloc_distances_get_by_name(n->topology, "NVLinkBandwidth", &count, &d, 0) == 0 && count > 0 && d != NULL;

    if (found) {
        read_matrix(n, d, &m);
        hwloc_distances_release(n->topology, d);
        if (!m.whole)
            return ss_hint(err,
                           ss_fail(err, SS_ERR_UNSUPPORTED, n->file, 0,
                                   "the NVLink matrix is neither a full mesh nor a switch, equal for all GPUs"),
                           "describe this node as a SimGrid platform by hand");
        p->template_kind = m.mesh ? SS_TEMPLATE_MESH : SS_TEMPLATE_NVSWITCH;
        if (may_double(n) && fabs(m.total / table - 2) < 0.01) {
            note(n, "NVLink bandwidth is the card table's: this hwloc (before 2.12) doubles it in the file.");
            m.link /= 2;
        } else {
            note(n, "NVLink bandwidth is the file's.");
        }
        p->bandwidth[SS_LINK_NVLINK] = m.link;
        return SS_OK;
    }
    if (p->template_kind == SS_TEMPLATE_MESH && n->ngpus > 1) {
        p->bandwidth[SS_LINK_NVLINK] = table / (n->ngpus - 1);
    } else if (n->ngpus == 1) {
        p->template_kind = SS_TEMPLATE_NVSWITCH;
        p->bandwidth[SS_LINK_NVLINK] = table;
    }
    note(n, "NVLink bandwidth is the card table's: the file has no NVLink matrix.");
    return SS_OK;
}

static void set_nics(struct node *n, struct ss_platform *p)
{
    int nics = n->nnics < n->ngpus ? n->nnics : n->ngpus;

    while (nics > 0 && n->ngpus % nics != 0)
        nics--;
    if (nics == 0)
        note(n, "The file has no InfiniBand device: this platform has one node only.");
    else
        note(n, "%d of the file's %d InfiniBand devices carry the network; their speed is not in the file, %g Gb/s is the card table's.",
             nics, n->nnics, p->bandwidth[SS_LINK_NIC] * 8 / 1e9);
    p->nics_per_node = nics;
}

/* Adds a word to those assumed, or takes one away. */
static int assume(struct ss_platform *p, const char *word, bool yes)
{
    size_t len = strlen(word);
    char *at = p->assumed != NULL ? p->assumed : "", *all;

    while ((at = strstr(at, word)) != NULL && ((at > p->assumed && at[-1] != ' ') || (at[len] != ' ' && at[len] != 0)))
        at += len;
    if ((at != NULL) == yes)
        return SS_OK;
    if (!yes) {
        memmove(at, at + len + (at[len] == ' '), strlen(at + len + (at[len] == ' ')) + 1);
        len = strlen(p->assumed);
        if (len > 0 && p->assumed[len - 1] == ' ')
            p->assumed[len - 1] = 0;
        return SS_OK;
    }
    if (asprintf(&all, "%s%s%s", p->assumed != NULL ? p->assumed : "",
                 p->assumed != NULL && p->assumed[0] != 0 ? " " : "", word) < 0)
        return SS_ERR_NOMEM;
    free(p->assumed);
    p->assumed = all;
    return SS_OK;
}

static int build(struct node *n, struct ss_platform *p, struct ss_error *err)
{
    int status;

    ss_copy(p->file, sizeof(p->file), n->file);
    ss_platform_base_name(n->file, p->name, sizeof(p->name));
    p->nodes = 1;
    status = set_nvlink(n, p, err);
    if (status != SS_OK)
        return status;
    p->gpus_per_node = n->ngpus;
    set_nics(n, p);
    if (n->host_memory >= ss_prop_def(SS_PROP_host_memory)->lo) {
        p->card.host_memory = n->host_memory;
        status = assume(p, "host_memory", false);
    }
    if (status == SS_OK && p->nics_per_node > 0)
        status = assume(p, "nic.bandwidth", true);
    if (status != SS_OK)
        return ss_fail(err, SS_ERR_NOMEM, n->file, 0, "out of memory");
    note(n, "%d GPUs \"%.80s\" on %d NUMA nodes; all other values are those of card %s.", n->ngpus, n->model, n->nnumas,
         p->card.name);
    ss_template_derive(p);
    return ss_template_check_size(p, 0, err);
}

int ss_platform_import_text(const char *text, size_t len, const char *name, struct ss_platform **out, char *notes,
                            unsigned long note_size, struct ss_error *err)
{
    struct node *n;
    struct ss_platform *p = NULL;
    int status = check_text(text, len, name, err);

    if (note_size > 0 && notes != NULL)
        notes[0] = 0;
    if (status != SS_OK)
        return status;
    n = ss_calloc(1, sizeof(*n));
    if (n == NULL)
        return ss_fail(err, SS_ERR_NOMEM, name, 0, "out of memory");
    n->file = name;
    n->note = notes;
    n->note_size = notes != NULL ? note_size : 0;
    status = load(n, text, len, err);
    if (status == SS_OK)
        status = survey(n, err);
    if (status == SS_OK)
        status = find_card(n, &p, err);
    if (status == SS_OK)
        status = build(n, p, err);
    if (n->topology != NULL)
        hwloc_topology_destroy(n->topology);
    free(n);
    if (status == SS_OK)
        *out = p;
    else
        ss_platform_free(p);
    return status;
}

int ss_platform_import_hwloc(const char *lstopo_xml, struct ss_platform **out, char *notes, unsigned long note_size,
                             struct ss_error *err)
{
    char *text = NULL;
    size_t len = 0;
    int status = ss_file_read(lstopo_xml, MAX_BYTES, &text, &len, err);

    if (status == SS_OK)
        status = ss_platform_import_text(text, len, lstopo_xml, out, notes, note_size, err);
    free(text);
    return status;
}
