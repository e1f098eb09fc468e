/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a platform of one node from hwloc's facts and the card table. */
#include "platform/node_facts.h"

#define MAX_BYTES (64u << 20)

void ss_import_note(struct ss_import *n, const char *fmt, ...)
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

static int unknown_card(const struct ss_import *n, char *known, struct ss_error *err)
{
    int code = n->facts.memory > 0 ? ss_fail(err, SS_ERR_UNSUPPORTED, n->file, 0,
                                             "no platform knows the card \"%.80s\" (%.0f GiB)",
                                             n->facts.model, n->facts.memory / SS_GIB)
                                   : ss_fail(err, SS_ERR_UNSUPPORTED, n->file, 0,
                                             "no platform knows the card \"%.80s\"", n->facts.model);

    return ss_hint(
        err, code,
        "known: %s; --card takes one of them or a file (docs/reference/formats-platform.md, Cards)", known);
}

/* Finds the card with the nearest memory among those of the name; the table is the installed platforms. */
static int find_card(const struct ss_import *n, const char *model, struct ss_platform **out,
                     struct ss_error *err)
{
    struct ss_platform_options options = {.nodes = 1, .files = n->files};
    struct ss_platform *best = NULL;
    struct ss_error why;
    char known[300] = "";
    double miss = 0.15;
    char **names = NULL;
    size_t count = 0;
    int rc = ss_data_list("platforms", ".xml", &names, &count, err);

    for (size_t i = 0; !rc && i < count; i++) {
        struct ss_platform *p = NULL;
        double off;

        rc = ss_platform_load(names[i], &options, &p, &why);
        if (rc == SS_ERR_UNSUPPORTED) { /* a cluster of the user's own, which is no template */
            rc = SS_OK;
            continue;
        }
        if (rc) {
            if (err != NULL)
                *err = why;
            break;
        }
        char all[sizeof(known) + 4], own[sizeof(p->card.name) + 4];

        snprintf(all, sizeof(all), ", %s,", known);
        snprintf(own, sizeof(own), ", %s,", p->card.name); /* H20 is a part of GH200 */
        if (p->foreign == NULL && strstr(all, own) == NULL &&
            strlen(known) + strlen(p->card.name) + 3 < sizeof(known)) {
            strcat(known, known[0] != 0 ? ", " : "");
            strcat(known, p->card.name);
        }
        off = n->facts.memory > 0 ? fabs(n->facts.memory / p->card.hbm_size - 1) : 0;
        if (p->foreign == NULL && ss_card_is_named(model, p->card.name) && off < miss) {
            ss_platform_free(best);
            best = p;
            miss = off;
        } else {
            ss_platform_free(p);
        }
    }
    ss_names_free(names, count);
    if (!rc && best == NULL)
        rc = unknown_card(n, known, err);
    if (rc) {
        ss_platform_free(best);
        best = NULL;
    }
    *out = best;
    return rc;
}

/* Has a GPU more links to the others together than it has at all? */
static bool is_switched(const struct ss_node_facts *f, double most)
{
    bool more = false;

    for (int a = 0; a < f->ngpus && f->ngpus <= SS_MAX_MESH_GPUS; a++) {
        double sum = 0;

        for (int b = 0; b < f->ngpus; b++)
            sum += a == b ? 0 : f->nvlink.pair[a * SS_MAX_MESH_GPUS + b];
        more = more || sum > most;
    }
    return more;
}

/* Which NVLinks are a GPU's own and which go by a switch, where the file has their numbers: a switch shows all of a GPU's
 * links to each of the others. *table: bytes/s of a GPU of the card table. */
static int weigh_links(struct ss_import *n, const struct ss_platform *p, double table, struct ss_error *err)
{
    struct ss_nvlink_matrix *m = &n->facts.nvlink;
    double rate =
        ss_nvlink_rate(n->facts.model, n->facts.sm); /* the GPU's own; a card asked for may be another */

    if (rate == 0)
        rate = ss_nvlink_rate(p->card.name, 0);
    if (rate == 0)
        return ss_fail(err, SS_ERR_UNSUPPORTED, n->file, 0,
                       "what one NVLink of card %s carries is not known" SS_HINT
                       "name the card after its GPU (ss.card), like H100-80GB",
                       p->card.name);
    if (m->whole && m->mesh && n->facts.ngpus > 2 && m->total * rate > 1.01 * table) {
        m->mesh = 0;
        m->total = m->link;
    }
    m->switched = !m->whole && is_switched(&n->facts, 1.01 * table / rate);
    m->link *= rate;
    m->total *= rate;
    m->to_host *= rate;
    for (int i = 0; i < SS_MAX_MESH_GPUS * SS_MAX_MESH_GPUS; i++)
        m->pair[i] *= rate;
    m->counted = 0;
    if (m->whole)
        ss_import_note(n,
                       "NVLink bandwidth is %g GB/s a GPU and direction: the file's links of %g GB/s each.",
                       m->total / 1e9, rate / 1e9);
    else
        ss_import_note(n, "An NVLink of the file carries %g GB/s in one direction.", rate / 1e9);
    return SS_OK;
}

/* NVLink of the node into p, which holds the card table's. *own: it is neither a full mesh nor a switch. */
static int set_fabric(struct ss_import *n, struct ss_platform *p, bool *own, struct ss_error *err)
{
    const struct ss_nvlink_matrix *m = &n->facts.nvlink;
    double table = ss_platform_fabric_bandwidth(p);
    bool counted = m->given && m->counted;
    int rc = counted ? weigh_links(n, p, table, err) : SS_OK;

    *own = m->given && !m->whole;
    if (rc || *own)
        return rc;
    if (m->given) {
        bool twice = m->may_be_double && fabs(m->total / table - 2) < 0.01;

        p->template_kind = m->mesh ? SS_TEMPLATE_MESH : SS_TEMPLATE_NVSWITCH;
        p->bandwidth[SS_LINK_FABRIC] = twice ? m->link / 2 : m->link;
        if (!counted)
            ss_import_note(n, twice ? "NVLink bandwidth is the card table's: this hwloc (before 2.12) "
                                      "doubles it in the file."
                                    : "NVLink bandwidth is the file's.");
        return SS_OK;
    }
    if (n->facts.ngpus == 1)
        p->template_kind = SS_TEMPLATE_NVSWITCH;
    p->bandwidth[SS_LINK_FABRIC] =
        p->template_kind == SS_TEMPLATE_MESH ? table / (n->facts.ngpus - 1) : table;
    ss_import_note(n, "NVLink bandwidth is the card table's: the file has no NVLink matrix.");
    return SS_OK;
}

static void set_nics(struct ss_import *n, struct ss_platform *p)
{
    int nics = n->facts.nnics < n->facts.ngpus ? n->facts.nnics : n->facts.ngpus;
    int listed = n->facts.listed_nics > 0 ? n->facts.listed_nics : n->facts.nnics;

    while (nics > 0 && n->facts.ngpus % nics != 0)
        nics--;
    p->nics_per_node = nics;
    if (nics == 0) {
        ss_import_note(n, "The file has no InfiniBand device: this platform has one node only.");
    } else if (n->facts.nic_bandwidth > 0) {
        p->bandwidth[SS_LINK_NIC] = n->facts.nic_bandwidth;
        ss_import_note(n, "%d of the file's %d NICs of %g Gb/s carry the network.", nics, listed,
                       n->facts.nic_bandwidth * 8 / 1e9);
    } else {
        ss_import_note(
            n,
            "%d of the file's %d InfiniBand devices carry the network; their speed is not in the file, %g "
            "Gb/s is the card table's.",
            nics, listed, p->bandwidth[SS_LINK_NIC] * 8 / 1e9);
    }
}

/* Adds a word to those assumed, or takes one away. */
static int assume(struct ss_platform *p, const char *word, bool yes)
{
    size_t len = strlen(word);
    char *at = p->assumed != NULL ? p->assumed : "", *all;

    while ((at = strstr(at, word)) != NULL &&
           ((at > p->assumed && at[-1] != ' ') || (at[len] != ' ' && at[len] != 0)))
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

int ss_platform_of_card(const char *name, struct ss_files *files, struct ss_platform **out, bool *known,
                        struct ss_error *err)
{
    struct ss_platform_options options = {.nodes = 1, .files = files};
    struct ss_card card;
    int rc = SS_OK;

    SS_TRY(ss_card_load(name, &card, err));
    *known = ss_platform_load(name, &options, out, NULL) == SS_OK;
    if (*known && ((*out)->foreign != NULL || strcmp((*out)->card.name, card.name) != 0)) {
        ss_platform_free(*out);
        *known = false;
    }
    if (!*known)
        rc = ss_platform_load("h100", &options, out, err);
    if (!rc)
        (*out)->card = card;
    return rc;
}

/* A platform of the card that --card names, or of the model in the file. */
static int choose_card(struct ss_import *n, struct ss_platform **out, struct ss_error *err)
{
    bool known;

    if (n->card == NULL && n->facts.model[0] == 0)
        return ss_fail(err, SS_ERR_INPUT, n->file, 0,
                       "the file does not name the GPU's model" SS_HINT
                       "give --card NAME (\"stepsim list cards\"), or put the lines of 'nvidia-smi -L' "
                       "before those of 'nvidia-smi topo -m'");
    if (n->card == NULL)
        return find_card(n, n->facts.model, out, err);
    int rc = ss_platform_of_card(n->card, n->files, out, &known, err);
    if (!rc && !known && !n->facts.nvlink.given && n->facts.ngpus > 1)
        ss_import_note(n, "NVLink and NICs are those of h100.");
    return rc;
}

static int build(struct ss_import *n, struct ss_platform *p, bool *own, struct ss_error *err)
{
    int rc = SS_OK, nodes = n->facts.hosts > 1 ? n->facts.hosts : 1;

    ss_copy(p->file, sizeof(p->file), n->file);
    ss_platform_base_name(n->file, p->name, sizeof(p->name));
    p->nodes = 1;
    SS_TRY(set_fabric(n, p, own, err));
    p->gpus_per_node = n->facts.ngpus;
    if (nodes > 1 && n->facts.nvlink.given && !n->facts.nvlink.mesh)
        p->fabric_nodes = nodes > p->fabric_nodes ? nodes : p->fabric_nodes;
    set_nics(n, p);
    if (n->facts.host_memory >= ss_prop_at(SS_PROP_host_memory)->low &&
        n->facts.host_memory <= ss_prop_at(SS_PROP_host_memory)->high) {
        p->card.host_memory = n->facts.host_memory;
        rc = assume(p, "host_memory", false);
    }
    if (!rc && p->nics_per_node > 0)
        rc = assume(p, "nic.bandwidth", n->facts.nic_bandwidth == 0);
    if (!rc && !n->facts.nvlink.given && n->facts.ngpus > 1)
        rc = assume(p, "nvlink.bandwidth", true);
    if (rc)
        return ss_nomem(err);
    if (n->facts.nnumas > 0 && n->facts.model[0] != 0)
        ss_import_note(n, "%d GPUs \"%.80s\" on %d NUMA nodes; all other values are those of card %s.",
                       n->facts.ngpus, n->facts.model, n->facts.nnumas, p->card.name);
    else
        ss_import_note(n, "%d GPUs; all other values are those of card %s.", n->facts.ngpus, p->card.name);
    ss_template_derive(p);
    return *own ? SS_OK : ss_template_check_size(p, 0, err);
}

int ss_import_build(struct ss_import *n, struct ss_platform **out, bool *own, struct ss_error *err)
{
    struct ss_platform *p = NULL;
    int rc = choose_card(n, &p, err);

    SS_THEN(rc, build(n, p, own, err));
    SS_HAND(rc, p, out, ss_platform_free);
}

/* ---- one node as a template ---- */

static int import_text(const char *text, size_t len, const char *name, struct ss_files *files,
                       struct ss_platform **out, char *notes, unsigned long note_size, struct ss_error *err)
{
    struct ss_import n = {
        .file = name, .note = notes, .note_size = notes != NULL ? note_size : 0, .files = files};
    struct ss_platform *p = NULL;
    bool own = false;

    if (n.note_size > 0)
        notes[0] = 0;
    int rc = ss_node_facts_read(text, len, name, &n.facts, err);
    SS_THEN(rc, ss_import_build(&n, &p, &own, err));
    if (!rc && own)
        rc = ss_fail(err, SS_ERR_UNSUPPORTED, n.file, 0,
                     "the NVLink matrix is neither a full mesh nor a switch, equal for all GPUs" SS_HINT
                     "ss_platform_import writes such nodes as a platform that is no template");
    SS_HAND(rc, p, out, ss_platform_free);
}

int ss_platform_import_text(const char *text, size_t len, const char *name, struct ss_platform **out,
                            char *notes, unsigned long note_size, struct ss_error *err)
{
    return import_text(text, len, name, NULL, out, notes, note_size, err);
}

int ss_platform_import_hwloc(const char *lstopo_xml, struct ss_files *files, struct ss_platform **out,
                             char *notes, unsigned long note_size, struct ss_error *err)
{
    char *text = NULL;
    size_t len = 0;

    SS_TRY(ss_file_read(lstopo_xml, MAX_BYTES, &text, &len, err));
    int rc = ss_files_add(files, lstopo_xml, err);
    SS_THEN(rc, import_text(text, len, lstopo_xml, files, out, notes, note_size, err));
    free(text);
    return rc;
}
