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
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stepsim/notes.h"

enum ss_tree_kind { SS_TREE_SCALAR, SS_TREE_MAP, SS_TREE_LIST };
struct ss_tree_node {
    enum ss_tree_kind kind;
    const char *key;  /* its name in a map; NULL: it is the root, or an item of a list */
    const char *text; /* a scalar as written, without quotes and escapes; NULL for maps and lists */
    const char *tag;  /* "!!python/tuple" or "tag:yaml.org,2002:str" where the file has one; NULL: none */
    const char *file; /* the file that it stands in */
    int line;         /* its line from 1, in a map the line of its name; 0: the command line */
    bool quoted;      /* true: a text, whatever it looks like ("null") */
    size_t n;         /* number of children */
    struct ss_tree_node *parent, *first, *last, *next; /* children in the order of the file */
    bool read,
        touched; /* set by ss_tree_get and ss_tree_take. read: this node was read; touched: a node below it was */
    bool off, part; /* for reading.h. off: no further row reads the node; part: it is reported with its map */
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

/* What a new node is. Its texts are copied; `file` NULL: the file of the tree. */
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
/* Returns a copy of a text that lives as long as the tree; NULL: memory ran out. */
const char *ss_tree_text(struct ss_tree *tree, const char *text);
/* Takes a node, not the root, out of its parent. */
void ss_tree_drop(struct ss_tree_node *node);
/* Gives `node` the kind, texts, place and children of `from`, which may be of another tree and stays as
 * it is. The name of `node` stays. Errors: those of ss_tree_add. */
int ss_tree_assign(struct ss_tree *tree, struct ss_tree_node *node, const struct ss_tree_node *from,
                   struct ss_error *err);
/* Adds a copy of a node under the name. */
int ss_tree_graft(struct ss_tree *tree, struct ss_tree_node *parent, const char *key,
                  const struct ss_tree_node *from, struct ss_error *err);

/* ---- reading ---- */

/* Returns the child with the name name[0 .. len-1]; NULL: there is none. */
struct ss_tree_node *ss_tree_child(const struct ss_tree_node *map, const char *name, size_t len);
/* Returns the node at a path below `from`, which may be NULL: names with dots between, and numbers for
 * items of lists ("optim.betas.0"); "" is `from` itself. A name that has a dot is found as it stands.
 * NULL: there is no such node. */
struct ss_tree_node *ss_tree_find(const struct ss_tree_node *from, const char *path);
/* Returns the node and counts it as read; children of a map or list stay unread. */
struct ss_tree_node *ss_tree_get(const struct ss_tree_node *from, const char *path);
/* Marks a node and all nodes below it as read. NULL is allowed. */
void ss_tree_take(struct ss_tree_node *node);

/* Returns true if a node has no value: it is NULL, or null, ~ or nothing without quotes. */
bool ss_tree_is_null(const struct ss_tree_node *node);
/* Returns 1 for true and 0 for false in the words of YAML 1.1 (yes, on) or JSON; -1: neither, such as
 * null or a quoted text. */
int ss_tree_truth(const struct ss_tree_node *node);
/* Reads a whole number, which may be written 4096, 4_096, 4096.0, 1e6 or "4096". Returns false where the
 * node is no whole number, or one beyond +- 2^53. */
bool ss_tree_whole(const struct ss_tree_node *node, int64_t *out);
/* Returns true if a node is a scalar with this text. NULL is allowed. */
bool ss_tree_is(const struct ss_tree_node *node, const char *text);

/* Writes the path of a node from the root, "model.optim.betas[0]", cut to `size` bytes. Returns buf. */
char *ss_tree_path(const struct ss_tree_node *node, char *buf, size_t size);
/* Fills in an error at the node's place, and returns its code. The message begins with the node's path:
 * "model.optim.name: ...". */
int ss_tree_fail(const struct ss_tree_node *node, int code, struct ss_error *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Returns, one after the other in the order of the file, the topmost nodes of which neither they nor any
 * node below them was read. `last` is the node returned before, NULL at first. NULL: no more. */
struct ss_tree_node *ss_tree_unread(const struct ss_tree *tree, const struct ss_tree_node *last);

const char *ss_yaml_version(void); /* of libyaml */
