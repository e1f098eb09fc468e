/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a library of collectives: elements and attributes by tables. */
#include "stepsim/library.h"

#include "platform/platform_internal.h"

#define FOLDER "workloads/libraries"

/* An attribute: `count` numbers of a unit with spaces between, at an offset of the struct that its element fills. */
struct attr {
    const char *name;
    enum ss_unit unit;
    int count, required;
    double low, high;
    size_t offset;
};
/* An element below <library>; its attribute "name", if any, is one of these words, each of which may stand
 * once. */
struct element {
    const char *tag, *names;
    size_t offset, size; /* of the struct of the first name, and of each */
    const struct attr *attrs;
    size_t nattrs;
};

#define AT(field) offsetof(struct ss_library, field)
#define OF(field) offsetof(struct ss_protocol_facts, field)
static const struct attr of_library[] = {
    {"step", SS_UNIT_TIME, 1, 1, 1e-9, 1, AT(step)},
    {"channels", SS_UNIT_COUNT, 1, 1, 1, 1024, AT(channels)},
    {"pieces", SS_UNIT_COUNT, 1, 1, 1, 1024, AT(pieces)},
};
static const struct attr of_protocol[] = {
    {"line", SS_UNIT_COUNT, 1, 1, 1, 1e6, OF(line)},
    {"data", SS_UNIT_COUNT, 1, 1, 1, 1e6, OF(data)},
    {"ring", SS_UNIT_TIME, SS_LATENCY_COUNT, 1, 0, 1, OF(ring)},
    {"tree", SS_UNIT_TIME, SS_LATENCY_COUNT, 1, 0, 1, OF(tree)},
    {"two_nodes", SS_UNIT_BANDWIDTH, 1, 0, 1e6, 1e15, OF(two_nodes)},
    {"more_nodes", SS_UNIT_BANDWIDTH, 1, 0, 1e6, 1e15, OF(more_nodes)},
};
static const struct attr of_pat[] = {
    {"busbw", SS_UNIT_FRACTION, 1, 1, 0.01, 1, AT(pat_busbw)},
    {"once", SS_UNIT_TIME, 1, 1, 0, 1, AT(pat_once)},
    {"step", SS_UNIT_TIME, 1, 1, 0, 1, AT(pat_step)},
    {"member", SS_UNIT_TIME, 1, 1, 0, 1, AT(pat_member)},
    {"hidden", SS_UNIT_NONE, 1, 1, 1, 1000, AT(pat_hidden)},
};
static const struct attr of_direct[] = {
    {"most", SS_UNIT_BYTES, 1, 1, 1, 1e15, AT(direct_most)},
};
#undef AT
#undef OF

static const struct element elements[] = {
    {"protocol", "LL LL128 Simple", offsetof(struct ss_library, protocol), sizeof(struct ss_protocol_facts),
     of_protocol, SS_ARRAY_LEN(of_protocol)},
    {"pat", NULL, 0, 0, of_pat, SS_ARRAY_LEN(of_pat)},
    {"direct", NULL, 0, 0, of_direct, SS_ARRAY_LEN(of_direct)},
};
static const struct element root_element = {"library", NULL, 0, 0, of_library, SS_ARRAY_LEN(of_library)};

struct reader {
    const char *file;
    struct ss_error *err;
};

#define BAD(r, node, ...) ss_fail((r)->err, SS_ERR_INPUT, (r)->file, (node)->line, __VA_ARGS__)

/* The word of `text` that begins at *at, and the place behind it; 0: none is left. */
static int next_word(const char **at, char word[64])
{
    size_t n;
    *at += strspn(*at, " \t\r\n");
    n = strcspn(*at, " \t\r\n");
    memcpy(word, *at, n < 63 ? n : 63);
    word[n < 63 ? n : 63] = '\0';
    *at += n;
    return n > 0;
}

/* Returns the index of a word among words separated by spaces, or -1. */
static int index_of(const char *words, const char *word)
{
    char one[64];
    for (int i = 0; next_word(&words, one); i++)
        if (!strcmp(one, word))
            return i;
    return -1;
}

static int read_numbers(const struct reader *r, const struct ss_xml_node *node, const struct attr *a,
                        const char *text, double *out)
{
    const char *at = text, *why = "";
    char word[64], low[48], high[48];
    int n = 0;
    for (; next_word(&at, word); n++) {
        double value;
        if (n == a->count)
            return BAD(r, node,
                       "%s=\"%.80s\" of <%s> has more than %d numbers" SS_HINT
                       "give as many as docs/reference/formats-library.md says",
                       a->name, text, node->tag, a->count);
        if (ss_unit_parse(word, a->unit, &value, &why) != SS_OK)
            return BAD(r, node, "%s=\"%.80s\" of <%s>: %s %s" SS_HINT "%s", a->name, text, node->tag, word,
                       why, ss_unit_example(a->unit));
        if (value < a->low || value > a->high)
            return BAD(r, node, "%s=\"%.80s\" of <%s> is outside %s to %s" SS_HINT "%s", a->name, text,
                       node->tag, ss_unit_format(a->low, a->unit, low, sizeof low),
                       ss_unit_format(a->high, a->unit, high, sizeof high),
                       a->unit == SS_UNIT_NONE || a->unit == SS_UNIT_COUNT ? "give one of these"
                                                                           : "is the unit right?");
        out[n] = value;
    }
    return n == a->count ? SS_OK
                         : BAD(r, node, "%s=\"%.80s\" of <%s> needs %d number%s" SS_HINT "%s", a->name, text,
                               node->tag, a->count, a->count == 1 ? "" : "s",
                               a->count == 1 ? ss_unit_example(a->unit)
                                             : "once, of a step inside a node, of a step between nodes");
}

/* Checks that the element has the attributes that are said to be assumed. */
static int check_assumed(const struct reader *r, const struct ss_xml_node *node, const char *text)
{
    char word[64];
    while (next_word(&text, word))
        if (!ss_xml_attr(node, word))
            return BAD(r, node,
                       "assumed names \"%s\", which <%s> has not" SS_HINT "name attributes of this element",
                       word, node->tag);
    return SS_OK;
}

static int unknown_attr(const struct reader *r, const struct ss_xml_node *node, const struct element *e,
                        const char *name)
{
    const char *names[16];
    size_t n = 0;
    for (; n < e->nattrs; n++)
        names[n] = e->attrs[n].name;
    const char *near = ss_nearest(name, names, n);
    BAD(r, node, "unknown attribute \"%.60s\" in <%s>" SS_HINT "remove it", name, node->tag);
    return near ? ss_hint(r->err, SS_ERR_INPUT, "did you mean \"%s\"?", near) : SS_ERR_INPUT;
}

/* Fills `out` from the attributes of a node; those in `others` are read elsewhere. */
static int read_attrs(const struct reader *r, const struct ss_xml_node *node, const struct element *e,
                      const char *others, void *out)
{
    int rc = SS_OK;
    for (int i = 0; i < node->nattrs && !rc; i++) {
        const char *name = node->attrs[i].name, *value = node->attrs[i].value;
        const struct attr *found = NULL;
        for (size_t k = 0; k < e->nattrs && !found; k++)
            found = strcmp(e->attrs[k].name, name) ? NULL : &e->attrs[k];
        if (found)
            rc = read_numbers(r, node, found, value, (double *)((char *)out + found->offset));
        else if (!strcmp(name, "assumed"))
            rc = check_assumed(r, node, value);
        else if (!ss_has_word(others, name))
            rc = unknown_attr(r, node, e, name);
    }
    for (size_t k = 0; k < e->nattrs && !rc; k++)
        if (e->attrs[k].required && !ss_xml_attr(node, e->attrs[k].name))
            rc = BAD(r, node, "<%s> has no attribute \"%s\"" SS_HINT "%s", node->tag, e->attrs[k].name,
                     ss_unit_example(e->attrs[k].unit));
    return rc;
}

static int read_element(const struct reader *r, const struct ss_xml_node *node, unsigned *seen,
                        struct ss_library *out)
{
    const struct element *e = NULL;
    for (size_t i = 0; i < SS_ARRAY_LEN(elements) && !e; i++)
        e = ss_tag_is(node, elements[i].tag) ? &elements[i] : NULL;
    if (!e)
        return BAD(r, node,
                   "unknown element <%.60s>" SS_HINT "a library holds <protocol>, <pat> and <direct>",
                   node->tag);
    const char *name = e->names ? ss_xml_attr(node, "name") : NULL;
    int which = e->names ? index_of(e->names, name ? name : "") : 0;
    if (which < 0)
        return BAD(r, node, "<%s> needs a name of these" SS_HINT "%s", node->tag, e->names);
    unsigned bit = 1u << (8 * (e - elements) + which);
    if (*seen & bit)
        return BAD(r, node, "<%s%s%s> is given twice" SS_HINT "keep one of them", node->tag,
                   name ? " of " : "", name ? name : "");
    *seen |= bit;
    if (node->first_child)
        return BAD(r, node->first_child, "<%.60s> in <%s>" SS_HINT "write <.../> for each",
                   node->first_child->tag, node->tag);
    return read_attrs(r, node, e, e->names ? "name" : "", (char *)out + e->offset + (size_t)which * e->size);
}

static int read_algorithms(const struct reader *r, const struct ss_xml_node *root, struct ss_library *out)
{
#define X(symbol, word) " " word
    static const char known[] = SS_LIBRARY_ALGORITHM_LIST(X);
#undef X
    const char *text = ss_xml_attr(root, "algorithms");
    unsigned seen = 0;
    char word[64];
    if (!text)
        return BAD(r, root, "<library> has no attribute \"algorithms\"" SS_HINT "algorithms=\"ring tree\"");
    while (next_word(&text, word)) {
        int which = index_of(known, word);
        if (which < 0 && strcmp(word, "ring"))
            return BAD(r, root, "algorithm \"%s\" is none of these and no ring" SS_HINT "%s", word,
                       known + 1);
        if (seen & 1u << (which + 1))
            return BAD(r, root, "algorithm \"%s\" is said twice" SS_HINT "say each once", word);
        seen |= 1u << (which + 1);
        out->algorithms |= which < 0 ? 0 : 1u << which;
    }
    return SS_OK;
}

/* Algorithms that have an element need it; Simple is the protocol that is always there. */
static int check_whole(const struct reader *r, const struct ss_xml_node *root, const struct ss_library *l)
{
    if (!(l->protocol[SS_PROTOCOL_SIMPLE].line > 0))
        return BAD(r, root,
                   "a library without the protocol Simple" SS_HINT "add <protocol name=\"Simple\" .../>");
    if (ss_library_has(l, SS_LIBRARY_PAT) != (l->pat_busbw > 0))
        return BAD(r, root,
                   "the algorithm pat and the element <pat> need each other" SS_HINT "give both or none");
    if (ss_library_has(l, SS_LIBRARY_DIRECT) != (l->direct_most > 0))
        return BAD(r, root,
                   "the algorithm direct and the element <direct> need each other" SS_HINT
                   "give both or none");
    for (int p = 0; p < SS_PROTOCOL_COUNT; p++)
        if (l->protocol[p].data > l->protocol[p].line)
            return BAD(r, root,
                       "a protocol has more bytes of data than a line" SS_HINT
                       "line: bytes on a wire; data: those of them that are data");
    return SS_OK;
}

bool ss_name_is_plain(const char *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 -_.+";

    return name[0] != 0 && name[0] != ' ' && name[strspn(name, letters)] == 0;
}

static int read_library(const struct ss_xml *doc, const char *file, struct ss_library *out,
                        struct ss_error *err)
{
    const struct reader r = {file, err};
    const struct ss_xml_node *root = ss_xml_root(doc);
    const char *name = ss_xml_attr(root, "name");
    unsigned seen = 0;
    memset(out, 0, sizeof *out);
    if (!ss_tag_is(root, "library"))
        return BAD(&r, root,
                   "the root is <%.60s>, not <library>" SS_HINT "a library is <library> with protocols in it",
                   root->tag);
    if (!name || !ss_name_is_plain(name) || !ss_copy(out->name, sizeof out->name, name))
        return BAD(
            &r, root,
            "<library> needs a name of 1 to 23 letters, digits, -_.+, and blanks behind the first" SS_HINT
            "name=\"NCCL\"");
    int rc = read_attrs(&r, root, &root_element, "name algorithms", out);
    rc = rc ? rc : read_algorithms(&r, root, out);
    for (const struct ss_xml_node *c = root->first_child; c && !rc; c = c->next)
        rc = read_element(&r, c, &seen, out);
    return rc ? rc : check_whole(&r, root, out);
}

int ss_library_parse(const char *text, unsigned long len, const char *name, struct ss_library *out,
                     struct ss_error *err)
{
    struct ss_xml *doc = NULL;
    int rc = ss_xml_parse(text, len, name, &doc, err);
    rc = rc ? rc : read_library(doc, name, out, err);
    ss_xml_free(doc);
    return rc;
}

int ss_library_load(const char *name_or_path, struct ss_files *files, struct ss_library *out,
                    struct ss_error *err)
{
    char path[4096];
    struct ss_xml *doc = NULL;
    int rc = ss_data_find(FOLDER, name_or_path, ".xml", path, sizeof path, err);
    rc = rc ? rc : ss_xml_load(path, &doc, err);
    rc = rc ? rc : ss_files_add(files, path, err);
    rc = rc ? rc : read_library(doc, path, out, err);
    ss_xml_free(doc);
    return rc;
}
