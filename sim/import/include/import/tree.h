/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration of another program as a tree of names and texts, with the line of each: what YAML, JSON and TOML have in
 * common. What nobody has read is known, so that an importer can tell what it ignores.
 *
 *     ss_tree_parse(text, len, "ds.json", &tree, &err);          YAML or JSON, or: ss_tree_new and ss_tree_add
 *     node = ss_tree_get(ss_tree_root(tree), "model.hidden_size");  read from now on
 *     if (node && !ss_tree_is_null(node)) ... node->text, node->file, node->line
 *     for (n = NULL; (n = ss_tree_unread(tree, n)) != NULL;) ...    what is left
 *     ss_tree_free(tree);
 *
 * All texts and nodes belong to the tree. Limits: 8 MiB of text, 64 levels, 131,072 nodes (those of aliases are counted each time),
 * 4,096 names in a map. Nothing of a file is resolved, run or fetched: a tag is a text.
 */
#ifndef SS_IMPORT_TREE_H
#define SS_IMPORT_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stepsim/error.h"
#include "stepsim/notes.h"

enum ss_tree_kind { SS_TREE_SCALAR, SS_TREE_MAP, SS_TREE_LIST };
struct ss_tree_node {
    enum ss_tree_kind kind;
    const char *key;  /* its name in a map; NULL: the root, or an item of a list */
    const char *text; /* a scalar as written, without quotes and escapes; NULL of maps and lists */
    const char *tag;  /* "!!python/tuple" or "tag:yaml.org,2002:str" where the file has one; NULL: none */
    const char *file; /* where it stands */
    int line;         /* from 1; of a name in a map the line of the name; 0: the command line */
    bool quoted;      /* a text, whatever it looks like: "null" */
    size_t n;         /* children */
    struct ss_tree_node *parent, *first, *last, *next; /* children in the order of the file */
    bool read, touched; /* set by ss_tree_get and ss_tree_take: this node was read; one below it was */
    bool off, part; /* for reading.h: off, no further row reads the node; part, it is reported with its map */
};
struct ss_tree;

/* Makes a tree whose root is an empty map. `file` stands for the file in messages. The caller frees *out with ss_tree_free. Error:
 * SS_ERR_NOMEM. */
int ss_tree_new(const char *file, struct ss_tree **out, struct ss_error *err);
/* Reads text[0 .. len-1] as one document of YAML 1.1, or as JSON, which is nearly part of it. Aliases are copies, "<<" is merged. An
 * empty document is an empty map. Errors: SS_ERR_INPUT at file and line: not well-formed, a name twice in a map with two values, a second document, a
 * limit; SS_ERR_NOMEM. */
int ss_tree_parse(const char *text, size_t len, const char *file, struct ss_tree **out, struct ss_error *err);
void ss_tree_free(struct ss_tree *tree);
struct ss_tree_node *ss_tree_root(const struct ss_tree *tree);
const char *ss_tree_file(const struct ss_tree *tree);

/* ---- making ---- */

/* What a new node is; the texts are copied, `file` NULL is the tree's. */
struct ss_tree_made {
    enum ss_tree_kind kind;
    const char *key, *text;
    size_t key_len, text_len;
    const char *tag, *file;
    int line;
    bool quoted;
};
/* Adds a node as the last child of `parent`, a map (key is asked) or a list (key is NULL) of this tree. *out, which may be NULL, is the
 * node. Errors: SS_ERR_INPUT where the map has that name already, or a limit is passed; SS_ERR_NOMEM. */
int ss_tree_add(struct ss_tree *tree, struct ss_tree_node *parent, const struct ss_tree_made *made,
                struct ss_tree_node **out, struct ss_error *err);
/* A copy of a text that lives as long as the tree; NULL: there is no memory. */
const char *ss_tree_text(struct ss_tree *tree, const char *text);
/* Takes a node, not the root, out of its parent. */
void ss_tree_drop(struct ss_tree_node *node);
/* Gives `node` the kind, texts, place and children of `from`, of any tree, which stays. Its name stays. Errors: as of ss_tree_add. */
int ss_tree_assign(struct ss_tree *tree, struct ss_tree_node *node, const struct ss_tree_node *from,
                   struct ss_error *err);

/* ---- reading ---- */

/* The child of that name, name[0 .. len-1]; NULL: there is none. */
struct ss_tree_node *ss_tree_child(const struct ss_tree_node *map, const char *name, size_t len);
/* The node at a path of names with dots between, numbers for items of lists ("optim.betas.0"), below `from`, which may be NULL; ""
 * is `from`. NULL: there is none. A name that has a dot itself is found as it stands. */
struct ss_tree_node *ss_tree_find(const struct ss_tree_node *from, const char *path);
/* Returns the node and counts it as read; children of a map or list stay unread. */
struct ss_tree_node *ss_tree_get(const struct ss_tree_node *from, const char *path);
/* A node and all below it count as read. NULL is allowed. */
void ss_tree_take(struct ss_tree_node *node);

/* Whether it is no value: NULL, or null, ~ or nothing without quotes. */
bool ss_tree_is_null(const struct ss_tree_node *node);
/* 1 true, 0 false, in the words of YAML 1.1 (yes, on) or JSON; -1: neither, as a null or a quoted text is. */
int ss_tree_truth(const struct ss_tree_node *node);
/* A whole number, be it written 4096, 4_096, 4096.0, 1e6 or "4096"; false: it is none, or not within +- 2^53. */
bool ss_tree_whole(const struct ss_tree_node *node, int64_t *out);
/* Whether it is a scalar of this text. NULL is allowed. */
bool ss_tree_is(const struct ss_tree_node *node, const char *text);

/* The path of a node from the root, "model.optim.betas[0]", cut to `size` bytes. Returns buf. */
char *ss_tree_path(const struct ss_tree_node *node, char *buf, size_t size);
/* Fails at the node's place, whose path the message begins with: "model.optim.name: ...". */
int ss_tree_fail(const struct ss_tree_node *node, int code, struct ss_error *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* The topmost nodes that nobody has read, nor any below them, one after the other in the order of the file; `last` is the one before,
 * NULL for the first. NULL: no more. */
struct ss_tree_node *ss_tree_unread(const struct ss_tree *tree, const struct ss_tree_node *last);

#endif
