/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of foreign configurations: how they are made. */
#include "import/tree.h"

#include "base/arena.h"
#include "base/base.h"

#define MAX_DEPTH 64
#define MAX_NODES (128 << 10)
#define MAX_NAMES 4096

struct ss_tree {
    struct ss_arena arena;
    const char *file;
    struct ss_tree_node *root;
    size_t nodes;
};

int ss_tree_new(const char *file, struct ss_tree **out, struct ss_error *err)
{
    struct ss_tree *tree = ss_calloc(1, sizeof *tree);

    SS_NEED(tree, err);
    tree->file = ss_arena_text(&tree->arena, file, strlen(file));
    tree->root = ss_arena_take(&tree->arena, sizeof *tree->root, _Alignof(struct ss_tree_node));
    if (!tree->file || !tree->root) {
        ss_tree_free(tree);
        return ss_nomem(err);
    }
    *tree->root = (struct ss_tree_node){.kind = SS_TREE_MAP, .file = tree->file, .line = 1};
    *out = tree;
    return SS_OK;
}

void ss_tree_free(struct ss_tree *tree)
{
    if (!tree)
        return;
    ss_arena_free(&tree->arena);
    free(tree);
}

struct ss_tree_node *ss_tree_root(const struct ss_tree *tree)
{
    return tree->root;
}

const char *ss_tree_file(const struct ss_tree *tree)
{
    return tree->file;
}

struct ss_tree_node *ss_tree_child(const struct ss_tree_node *map, const char *name, size_t len)
{
    for (struct ss_tree_node *n = map->first; n; n = n->next)
        if (n->key && !strncmp(n->key, name, len) && !n->key[len])
            return n;
    return NULL;
}

/* Whether one more node may be below `parent`. */
static int check_room(const struct ss_tree *tree, const struct ss_tree_node *parent,
                      const struct ss_tree_made *made, const char *file, struct ss_error *err)
{
    int depth = 1;

    for (const struct ss_tree_node *p = parent; p; p = p->parent)
        depth++;
    if (depth > MAX_DEPTH)
        return ss_fail(err, SS_ERR_INPUT, file, made->line, "nested deeper than %d levels", MAX_DEPTH);
    if (tree->nodes >= MAX_NODES)
        return ss_fail(err, SS_ERR_INPUT, file, made->line,
                       "more than %d names and values, aliases counted each time", MAX_NODES);
    if (parent->kind != SS_TREE_MAP)
        return SS_OK;
    if (parent->n >= MAX_NAMES)
        return ss_fail(err, SS_ERR_INPUT, file, made->line, "more than %d names in one map", MAX_NAMES);
    const struct ss_tree_node *twice = ss_tree_child(parent, made->key, made->key_len);
    return twice ? ss_fail(err, SS_ERR_INPUT, file, made->line,
                           "\"%.80s\" is there twice: line %d has it already", twice->key, twice->line)
                 : SS_OK;
}

/* The file as a text of this tree, which has mostly one. */
static const char *own_file(struct ss_tree *tree, const struct ss_tree_node *parent, const char *file)
{
    if (!file || !strcmp(file, tree->file))
        return tree->file;
    return !strcmp(file, parent->file) ? parent->file : ss_arena_text(&tree->arena, file, strlen(file));
}

static int copy_text(struct ss_tree *tree, const char *text, size_t len, const char **out)
{
    *out = text ? ss_arena_text(&tree->arena, text, len) : NULL;
    return text && !*out ? SS_ERR_NOMEM : SS_OK;
}

const char *ss_tree_text(struct ss_tree *tree, const char *text)
{
    return ss_arena_text(&tree->arena, text, strlen(text));
}

int ss_tree_add(struct ss_tree *tree, struct ss_tree_node *parent, const struct ss_tree_made *made,
                struct ss_tree_node **out, struct ss_error *err)
{
    const char *file = own_file(tree, parent, made->file);
    int rc = file ? check_room(tree, parent, made, file, err) : ss_nomem(err);
    struct ss_tree_node *node =
        rc ? NULL : ss_arena_take(&tree->arena, sizeof *node, _Alignof(struct ss_tree_node));

    if (rc)
        return rc;
    SS_NEED(node, err);
    *node = (struct ss_tree_node){
        .kind = made->kind, .file = file, .line = made->line, .quoted = made->quoted, .parent = parent};
    SS_NEED(!copy_text(tree, made->key, made->key_len, &node->key) &&
                !copy_text(tree, made->text, made->text_len, &node->text) &&
                !copy_text(tree, made->tag, made->tag ? strlen(made->tag) : 0, &node->tag),
            err);
    if (parent->last)
        parent->last->next = node;
    else
        parent->first = node;
    parent->last = node;
    parent->n++;
    tree->nodes++;
    if (out)
        *out = node;
    return SS_OK;
}

void ss_tree_drop(struct ss_tree_node *node)
{
    struct ss_tree_node *parent = node->parent, *before = NULL;

    for (struct ss_tree_node *n = parent->first; n != node; n = n->next)
        before = n;
    if (before)
        before->next = node->next;
    else
        parent->first = node->next;
    if (parent->last == node)
        parent->last = before;
    parent->n--;
    node->next = NULL;
}

/* Copies the children of `from`; the depth that ss_tree_add allows is that of the calls. */
static int copy_children(struct ss_tree *tree, struct ss_tree_node *node, const struct ss_tree_node *from,
                         struct ss_error *err)
{
    int rc = SS_OK;

    for (const struct ss_tree_node *child = from->first; child && !rc; child = child->next)
        rc = ss_tree_graft(tree, node, child->key, child, err);
    return rc;
}

int ss_tree_graft(struct ss_tree *tree, struct ss_tree_node *parent, const char *key,
                  const struct ss_tree_node *from, struct ss_error *err)
{
    const struct ss_tree_made made = {.kind = from->kind,
                                      .key = key,
                                      .key_len = key ? strlen(key) : 0,
                                      .text = from->text,
                                      .text_len = from->text ? strlen(from->text) : 0,
                                      .tag = from->tag,
                                      .file = from->file,
                                      .line = from->line,
                                      .quoted = from->quoted};
    struct ss_tree_node *copy;

    SS_TRY(ss_tree_add(tree, parent, &made, &copy, err));
    return copy_children(tree, copy, from, err);
}

int ss_tree_assign(struct ss_tree *tree, struct ss_tree_node *node, const struct ss_tree_node *from,
                   struct ss_error *err)
{
    const char *file = own_file(tree, node, from->file);

    SS_NEED(file && !copy_text(tree, from->text, from->text ? strlen(from->text) : 0, &node->text) &&
                !copy_text(tree, from->tag, from->tag ? strlen(from->tag) : 0, &node->tag),
            err);
    node->kind = from->kind;
    node->file = file;
    node->line = from->line;
    node->quoted = from->quoted;
    node->first = node->last = NULL;
    node->n = 0;
    return copy_children(tree, node, from, err);
}
