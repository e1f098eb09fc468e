/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of YAML and JSON as trees; the only user of libyaml. */
#include <yaml.h>

#include "base/base.h"
#include "import/tree.h"

#define MAX_BYTES (8u << 20)
#define MAX_ANCHORS 1024
#define MAX_OPEN 80 /* more levels than a tree has */

struct anchor {
    char *name;
    struct ss_tree_node *node;
};
struct reader {
    yaml_parser_t parser;
    struct ss_tree *tree;
    const char *file;
    struct anchor anchor[MAX_ANCHORS];
    size_t nanchors;
    struct ss_tree_node *open[MAX_OPEN]; /* maps and lists that are not closed yet */
    size_t depth;
    char *key; /* of the map open[depth - 1], whose value is next; NULL: none was read */
    size_t key_len;
    int key_line;
    bool begun; /* the root is there */
    struct ss_error *err;
};

static int fail(struct reader *r, const yaml_mark_t *mark, const char *why)
{
    return ss_fail(r->err, SS_ERR_INPUT, r->file, (int)mark->line + 1, "%s", why);
}

static int not_read(struct reader *r)
{
    const yaml_parser_t *p = &r->parser;
    int line = (int)p->problem_mark.line + 1;

    if (p->error == YAML_MEMORY_ERROR)
        return ss_nomem(r->err);
    if (p->error == YAML_READER_ERROR) { /* which tells the byte, and no line */
        line = 1;
        for (size_t i = 0; i < p->problem_offset && i < (size_t)(p->input.string.end - p->input.string.start);
             i++)
            line += p->input.string.start[i] == '\n';
    }
    return ss_fail(r->err, SS_ERR_INPUT, r->file, line,
                   "this is neither YAML nor JSON: %s%s%s" SS_HINT "look at this line and at the one before",
                   p->context ? p->context : "", p->context ? ", " : "",
                   p->problem ? p->problem : "not well-formed");
}

/* The scalar that names the next value of a map. */
static int take_key(struct reader *r, const yaml_event_t *event)
{
    if (event->type != YAML_SCALAR_EVENT)
        return fail(r, &event->start_mark, "a name in a map that is no text");
    if (memchr(event->data.scalar.value, 0, event->data.scalar.length))
        return fail(r, &event->start_mark, "a zero byte in a text");
    r->key = strdup((const char *)event->data.scalar.value);
    r->key_len = event->data.scalar.length;
    r->key_line = (int)event->start_mark.line + 1;
    return r->key ? SS_OK : ss_nomem(r->err);
}

static int remember(struct reader *r, const yaml_event_t *event, const yaml_char_t *name,
                    struct ss_tree_node *node)
{
    if (!name)
        return SS_OK;
    if (r->nanchors == MAX_ANCHORS)
        return fail(r, &event->start_mark, "more than 1024 anchors");
    r->anchor[r->nanchors].name = strdup((const char *)name);
    r->anchor[r->nanchors].node = node;
    return r->anchor[r->nanchors++].name ? SS_OK : ss_nomem(r->err);
}

/* The latest of that name; NULL: there is none. */
static struct ss_tree_node *anchor_of(const struct reader *r, const yaml_char_t *name)
{
    for (size_t i = r->nanchors; i > 0; i--)
        if (!strcmp(r->anchor[i - 1].name, (const char *)name))
            return r->anchor[i - 1].node;
    return NULL;
}

/* Adds what the event says where it stands, or makes it the root. */
static int put(struct reader *r, struct ss_tree_made *made, struct ss_tree_node **out)
{
    struct ss_tree_node *root = ss_tree_root(r->tree);
    int rc = SS_OK;

    if (r->depth == 0) {
        const struct ss_tree_node from = {.kind = made->kind,
                                          .text = made->text,
                                          .tag = made->tag,
                                          .file = r->file,
                                          .line = made->line,
                                          .quoted = made->quoted};
        r->begun = true;
        *out = root;
        return ss_tree_assign(r->tree, root, &from, r->err);
    }
    if (r->open[r->depth - 1]->kind == SS_TREE_MAP) {
        made->key = r->key;
        made->key_len = r->key_len;
        made->line = r->key_line;
    }
    rc = ss_tree_add(r->tree, r->open[r->depth - 1], made, out, r->err);
    free(r->key);
    r->key = NULL;
    return rc;
}

/* Returns the earlier node with the same name and value, which readers of YAML accept; NULL: the value
 * differs. */
static struct ss_tree_node *repeated(struct reader *r, const struct ss_tree_made *made)
{
    struct ss_tree_node *map = r->depth ? r->open[r->depth - 1] : NULL,
                        *twin =
                            map && map->kind == SS_TREE_MAP ? ss_tree_child(map, r->key, r->key_len) : NULL;

    if (!twin || twin->quoted != made->quoted || !ss_tree_is(twin, made->text))
        return NULL;
    free(r->key);
    r->key = NULL;
    return twin;
}

static int put_scalar(struct reader *r, const yaml_event_t *event)
{
    struct ss_tree_made made = {
        .text = (const char *)event->data.scalar.value,
        .text_len = event->data.scalar.length,
        .tag = (const char *)event->data.scalar.tag,
        .line = (int)event->start_mark.line + 1,
        .quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE,
    };
    if (memchr(made.text, 0, made.text_len))
        return fail(r, &event->start_mark, "a zero byte in a text");
    struct ss_tree_node *node = repeated(r, &made);
    int rc = node ? SS_OK : put(r, &made, &node);
    return rc ? rc : remember(r, event, event->data.scalar.anchor, node);
}

static int put_open(struct reader *r, const yaml_event_t *event)
{
    bool map = event->type == YAML_MAPPING_START_EVENT;
    const yaml_char_t *tag = map ? event->data.mapping_start.tag : event->data.sequence_start.tag,
                      *anchor = map ? event->data.mapping_start.anchor : event->data.sequence_start.anchor;
    struct ss_tree_made made = {.kind = map ? SS_TREE_MAP : SS_TREE_LIST,
                                .tag = (const char *)tag,
                                .line = (int)event->start_mark.line + 1};
    struct ss_tree_node *node;
    int rc = r->depth == MAX_OPEN ? fail(r, &event->start_mark, "nested too deep") : put(r, &made, &node);

    rc = rc ? rc : remember(r, event, anchor, node);
    if (!rc)
        r->open[r->depth++] = node;
    return rc;
}

static int put_alias(struct reader *r, const yaml_event_t *event)
{
    struct ss_tree_node *from = anchor_of(r, event->data.alias.anchor), *node;
    struct ss_tree_made made = {.kind = from ? from->kind : SS_TREE_SCALAR,
                                .line = (int)event->start_mark.line + 1};

    if (!from)
        return fail(r, &event->start_mark, "an alias of no anchor");
    for (size_t i = 0; i < r->depth; i++)
        if (r->open[i] == from)
            return fail(r, &event->start_mark, "an alias of what it stands in");
    SS_TRY(put(r, &made, &node));
    int line = node->line; /* its place is that of the alias */
    int rc = ss_tree_assign(r->tree, node, from, r->err);
    node->line = line;
    return rc;
}

/* "<<": names of another map, or of several, that this one has not itself. */
static int merge(struct reader *r, struct ss_tree_node *map, struct ss_tree_node *from)
{
    int rc = SS_OK;

    if (from->kind == SS_TREE_LIST) {
        for (struct ss_tree_node *n = from->first; n && !rc; n = n->next)
            rc = n->kind == SS_TREE_MAP ? merge(r, map, n)
                                        : ss_tree_fail(n, SS_ERR_INPUT, r->err, "\"<<\" asks for maps");
        return rc;
    }
    if (from->kind != SS_TREE_MAP)
        return ss_tree_fail(from, SS_ERR_INPUT, r->err, "\"<<\" asks for a map");
    for (struct ss_tree_node *n = from->first; n && !rc; n = n->next) {
        if (!ss_tree_child(map, n->key, strlen(n->key)))
            rc = ss_tree_graft(r->tree, map, n->key, n, r->err);
    }
    return rc;
}

static int close(struct reader *r)
{
    struct ss_tree_node *node = r->open[--r->depth],
                        *from = node->kind == SS_TREE_MAP ? ss_tree_child(node, "<<", 2) : NULL;

    if (!from)
        return SS_OK;
    ss_tree_drop(from);
    return merge(r, node, from);
}

static int take_event(struct reader *r, const yaml_event_t *event)
{
    bool wants_key = r->depth > 0 && r->open[r->depth - 1]->kind == SS_TREE_MAP && !r->key;

    switch (event->type) {
    case YAML_SCALAR_EVENT: return wants_key ? take_key(r, event) : put_scalar(r, event);
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT: return wants_key ? take_key(r, event) : put_open(r, event);
    case YAML_ALIAS_EVENT: return wants_key ? take_key(r, event) : put_alias(r, event);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: return close(r);
    case YAML_DOCUMENT_START_EVENT:
        return r->begun ? fail(r, &event->start_mark, "a second document: give each in a file of its own")
                        : SS_OK;
    default: return SS_OK;
    }
}

static int read_events(struct reader *r)
{
    int rc = SS_OK, last = 0;

    while (!rc && !last) {
        yaml_event_t event;
        if (!yaml_parser_parse(&r->parser, &event))
            return not_read(r);
        rc = take_event(r, &event);
        last = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    return rc;
}

int ss_tree_parse(const char *text, size_t len, const char *file, struct ss_tree **out, struct ss_error *err)
{
    struct reader *r = ss_calloc(1, sizeof *r);
    int rc = SS_OK;

    if (!r || !yaml_parser_initialize(&r->parser)) {
        free(r);
        return ss_nomem(err);
    }
    r->file = file;
    r->err = err;
    if (len > MAX_BYTES)
        rc = ss_fail(err, SS_ERR_INPUT, file, 0, "larger than 8 MiB: is this the right file?");
    rc = rc ? rc : ss_tree_new(file, &r->tree, err);
    if (!rc) {
        yaml_parser_set_input_string(&r->parser, (const unsigned char *)text, len);
        rc = read_events(r);
    }
    yaml_parser_delete(&r->parser);
    for (size_t i = 0; i < r->nanchors; i++)
        free(r->anchor[i].name);
    free(r->key);
    if (rc)
        ss_tree_free(r->tree);
    else
        *out = r->tree;
    free(r);
    return rc;
}

const char *ss_yaml_version(void)
{
    return yaml_get_version_string();
}
