/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a platform of files that nodes wrote about themselves: it finds the kind of each file, and joins
 * them. */
#include "platform/node_facts.h"

#define MAX_BYTES (64u << 20)
#define KINDS                                                                                                \
    "supported: hwloc's XML (lstopo node.xml), the text of 'nvidia-smi topo -m', NCCL's XML "                \
    "(NCCL_TOPO_DUMP_FILE=node.xml)"

static int other_kind(const char *file, int line, const char *what, struct ss_error *err)
{
    return ss_hint(err, ss_fail(err, SS_ERR_INPUT, file, line, "%s: no file that tells of a node", what),
                   strcmp(what, "a platform") == 0 ? "this is a platform already: --platform takes it"
                                                   : KINDS);
}

static int read_xml(const char *text, size_t len, const char *file, struct ss_node_facts *out,
                    struct ss_error *err)
{
    struct ss_xml *doc = NULL;
    char what[48];
    int rc = SS_OK;

    SS_TRY(ss_xml_parse(text, len, file, &doc, err));
    if (ss_tag_is(ss_xml_root(doc), "topology")) {
        rc = ss_node_facts_read(text, len, file, out, err);
    } else if (ss_tag_is(ss_xml_root(doc), "system")) {
        rc = ss_node_facts_nccl(ss_xml_root(doc), file, out, err);
    } else {
        snprintf(what, sizeof(what), "the root is <%.30s>", ss_xml_root(doc)->tag);
        rc = other_kind(file, ss_xml_root(doc)->line,
                        ss_tag_is(ss_xml_root(doc), "platform") ? "a platform" : what, err);
    }
    ss_xml_free(doc);
    return rc;
}

int ss_import_facts(const char *text, size_t len, const char *file, struct ss_node_facts *out,
                    struct ss_error *err)
{
    const char *at = text + ss_byte_order_mark(text, len);

    memset(out, 0, sizeof(*out));
    at += strspn(at, " \t\r\n");
    if (*at == '<')
        return read_xml(text, len, file, out, err);
    if (ss_topo_is(text))
        return ss_node_facts_topo(text, file, out, err);
    return other_kind(file, 1, "neither XML nor a matrix with the columns GPU0, GPU1", err);
}

/* A node that was read. */
struct node {
    struct ss_import import;
    struct ss_platform *p;
    bool own;
};

static int read_node(struct node *n, struct ss_error *err)
{
    char *text = NULL;
    size_t len = 0;
    int rc = ss_file_read(n->import.file, MAX_BYTES, &text, &len, err);

    SS_THEN(rc, ss_files_add(n->import.files, n->import.file, err));
    SS_THEN(rc, ss_import_facts(text, len, n->import.file, &n->import.facts, err));
    SS_THEN(rc, ss_import_build(&n->import, &n->p, &n->own, err));
    free(text);
    return rc;
}

static bool is_equal(const struct node *a, const struct node *b)
{
    const struct ss_nvlink_matrix *x = &a->import.facts.nvlink, *y = &b->import.facts.nvlink;

    return a->own == b->own && a->import.facts.nnics == b->import.facts.nnics &&
           ss_platform_hash(a->p) == ss_platform_hash(b->p) &&
           (!a->own || memcmp(x->pair, y->pair, sizeof(x->pair)) == 0);
}

static int check_alike(const struct node *a, const struct node *b, struct ss_error *err)
{
    int code;

    if (strcmp(a->p->card.name, b->p->card.name) != 0)
        code = ss_fail(err, SS_ERR_UNSUPPORTED, b->import.file, 0, "a node of card %s beside one of %s",
                       b->p->card.name, a->p->card.name);
    else if (a->import.facts.ngpus != b->import.facts.ngpus)
        code = ss_fail(err, SS_ERR_UNSUPPORTED, b->import.file, 0, "a node of %d GPUs beside one of %d",
                       b->import.facts.ngpus, a->import.facts.ngpus);
    else if ((a->import.facts.nnics > 0 && b->import.facts.nnics > 0) || a == b)
        return SS_OK;
    else
        code = ss_fail(err, SS_ERR_INPUT, a->import.facts.nnics > 0 ? b->import.file : a->import.file, 0,
                       "a node without a NIC cannot reach the others");
    return ss_hint(err, code, "all nodes of a platform have one kind of card, as many GPUs, and NICs");
}

/* Turns the facts of a template's node into those of a node whose links were read. */
static void tell_links(struct node *n)
{
    struct ss_nvlink_matrix *m = &n->import.facts.nvlink;

    if (m->given)
        return;
    m->given = m->whole = 1;
    m->mesh = n->p->template_kind == SS_TEMPLATE_MESH;
    m->link = n->p->bandwidth[SS_LINK_FABRIC];
    for (int i = 0; i < SS_MAX_MESH_GPUS * SS_MAX_MESH_GPUS && m->mesh; i++)
        m->pair[i] = m->link;
}

/* Finds the value of ss.card.base for a card that was found by its name. */
static int card_file(const struct node *n, char *out, size_t size, struct ss_error *err)
{
    char **names = NULL;
    size_t count = 0;
    int rc = SS_OK;
    bool found = n->import.card != NULL;

    ss_copy(out, size, found ? n->import.card : "");
    if (!found)
        rc = ss_data_list("platforms/cards", ".xml", &names, &count, err);
    for (size_t i = 0; i < count && !found; i++) {
        struct ss_card card;

        found = ss_card_load(names[i], &card, NULL) == SS_OK && strcmp(card.name, n->p->card.name) == 0;
        if (found)
            ss_copy(out, size, names[i]);
    }
    ss_names_free(names, count);
    if (!rc && !found)
        rc = ss_fail(err, SS_ERR_INPUT, n->import.file, 0,
                     "no card's file has the name %s" SS_HINT "give --card FILE", n->p->card.name);
    return rc;
}

static int write_own(struct node *nodes, int n, bool equal, const struct ss_import_options *options,
                     FILE *out, struct ss_error *err)
{
    struct ss_own_node *own;
    char card[1024];
    int rc = SS_OK, kinds = equal ? 1 : n;

    if (options->nodes > 0 && !equal && options->nodes != n)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0,
                       "--nodes %d of %d files with unlike nodes" SS_HINT
                       "give a file for each node, or the file of one",
                       options->nodes, n);
    own = ss_calloc((size_t)n, sizeof(*own));
    SS_NEED(own, err);
    for (int i = 0; i < kinds && !rc; i++) {
        tell_links(&nodes[i]);
        own[i] = (struct ss_own_node){&nodes[i].import.facts, 1};
        rc = kinds > 1 ? check_alike(&nodes[i > 0 ? 0 : 1], &nodes[i], err) : SS_OK;
    }
    if (equal)
        own[0].repeat = options->nodes > 0 ? options->nodes : n;
    if (!rc && own[0].repeat > 1 && nodes[0].import.facts.nnics == 0)
        rc = ss_fail(err, SS_ERR_INPUT, nodes[0].import.file, 0,
                     "%d nodes without a NIC cannot reach each other", own[0].repeat);
    SS_THEN(rc, card_file(&nodes[0], card, sizeof(card), err));
    SS_THEN(rc, ss_own_nodes_write(nodes[0].p, card, own, kinds, out, err));
    free(own);
    return rc;
}

static int write_all(struct node *nodes, int n, const struct ss_import_options *options, FILE *out,
                     struct ss_error *err)
{
    bool equal = true;
    int hosts = nodes[0].import.facts.hosts > 1 ? nodes[0].import.facts.hosts : 1;
    struct ss_platform *p = nodes[0].p;

    for (int i = 1; i < n; i++)
        equal = equal && is_equal(&nodes[0], &nodes[i]);
    if (n > 1)
        ss_import_note(&nodes[0].import,
                       equal ? "The %d files tell of equal nodes."
                             : "The %d files tell of unlike nodes, which share a switch.",
                       n);
    if (!equal || nodes[0].own) {
        ss_import_note(&nodes[0].import, "No template: GPUs, links and routes stand one by one.");
        return write_own(nodes, n, equal, options, out, err);
    }
    hosts = options->nodes > 0 ? options->nodes : n * hosts;
    p->nodes = hosts;
    if (ss_template_check_size(p, 0, err) != SS_OK)
        return err != NULL ? err->code : SS_ERR_INPUT;
    p->nodes = 1;
    return ss_template_write(p, hosts > 1 ? hosts : 0, NULL, out, err);
}

int ss_platform_import(const char *const *paths, int npaths, const struct ss_import_options *options,
                       FILE *out, char *note, unsigned long note_size, struct ss_error *err)
{
    static const struct ss_import_options none = {0};
    struct node *nodes = ss_calloc((size_t)(npaths > 0 ? npaths : 1), sizeof(*nodes));
    int rc = nodes != NULL ? SS_OK : ss_nomem(err);

    if (options == NULL)
        options = &none;
    if (!rc && (npaths < 1 || npaths > SS_MAX_WRITTEN_GPUS || options->nodes < 0))
        rc = ss_fail(err, SS_ERR_USAGE, NULL, 0, "%d files; 1 to %d are possible", npaths,
                     SS_MAX_WRITTEN_GPUS);
    if (note != NULL && note_size > 0)
        note[0] = 0;
    for (int i = 0; i < npaths && !rc; i++) {
        nodes[i].import =
            (struct ss_import){.file = paths[i], .card = options->card, .files = options->files};
        if (i == 0 && note != NULL) {
            nodes[i].import.note = note;
            nodes[i].import.note_size = note_size;
        }
        rc = read_node(&nodes[i], err);
    }
    SS_THEN(rc, write_all(nodes, npaths, options, out, err));
    for (int i = 0; nodes != NULL && i < npaths; i++)
        ss_platform_free(nodes[i].p);
    free(nodes);
    return rc;
}
