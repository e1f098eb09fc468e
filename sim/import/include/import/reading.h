/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One foreign configuration on its way to the words of a job: a tree (tree.h), the rows of its keymap (keymap.h), and the words that
 * come of them, each with the place of the key that it is from. What the rows cannot say is a function of a `code` row:
 *
 *     static void add_rows(struct ss_reading *r, struct ss_tree_node *node)
 *     {
 *         ss_reading_whole_flag(r, node, "--seq", ss_reading_size(r, "training.seq_len", 2048, 1, 1 << 20));
 *     }
 *
 *     ss_reading_begin(&r, "torchtitan", tree, request, err);    the first error stays in r.rc, and nothing more is done
 *     ss_reading_load(&r, "torchtitan", code);                   torchtitan.map
 *     ss_reading_rows(&r);                                       its rows, in their order
 *     return ss_reading_end(&r);                                 what no row has read; the words to the request
 *
 * A key that is read marks its node of the tree, and functions may ask for keys alone that a row has: so each key of a configuration
 * becomes a flag, is told to be without effect, is refused, or is told to be unknown.
 */
#pragma once

#include "import/import.h"
#include "import/keymap.h"
#include "import/tree.h"
#include "stepsim/model.h"
#include "stepsim/params.h"

struct ss_reading_word {
    char *text;
    const char *file; /* file of the tree; "": the command line */
    int line;
};
struct ss_reading {
    const char *name;    /* name of the framework in messages */
    const char *told_by; /* what its notes begin with; ss_reading_begin makes it the name */
    int default_line; /* line in the tree's file of words that come from no key; ss_reading_begin sets it to 1 */
    struct ss_words
        *own; /* words whose place is in its file go to its end; NULL: all words go to the request */
    struct ss_tree *tree;
    struct ss_request *request;
    struct ss_error *err;
    int rc;                /* the first error that ends the reading */
    struct ss_keymap *map; /* NULL until ss_reading_load */
    const struct ss_key_code *code;
    int block; /* number of the block of the last row, from 1; 0: not known */
    bool open; /* true: the condition of that block holds */
    struct ss_reading_word *word;
    size_t n, cap;
    struct ss_notes assumed, ignored;
    int nodes, gpus_per_node; /* what the launcher tells; 0: nothing */
    struct ss_model model;
    bool has_model; /* true: ss_reading_model has filled in `model` */
    /* what cannot be taken, which ss_reading_end tells all at once */
    int nfaults;
    struct ss_error fault; /* the first */
    char faults[2400];     /* all of them */
};

/* The tree stays the caller's, until ss_reading_end. */
void ss_reading_begin(struct ss_reading *r, const char *name, struct ss_tree *tree,
                      struct ss_request *request, struct ss_error *err);
/* Reads workloads/importers/MAP.map; `code`, which ends with a name of NULL, has the functions of its rows. */
void ss_reading_load(struct ss_reading *r, const char *map, const struct ss_key_code *code);
/* Applies the rows in their order. */
void ss_reading_rows(struct ss_reading *r);
/* Looks at the keys that are left, adds the words to the request, in a place for each file, and frees what `r` holds. Returns r->rc. */
int ss_reading_end(struct ss_reading *r);

/* ---- for functions: `keys` ("a.b c.d") stand for the first that is there and not null; all of them count as read. Each key has a row,
 * which has its other names, too ---- */

/* Returns the first of two nodes by names of one key that is there and not null. Fails where both are, with
 * values that differ, and the names are those of releases. */
struct ss_tree_node *ss_reading_either(struct ss_reading *r, struct ss_tree_node *first,
                                       struct ss_tree_node *other);
/* Returns the node; NULL: there is none. */
struct ss_tree_node *ss_reading_node(struct ss_reading *r, const char *keys);
/* Returns a whole number within low .. high. */
int64_t ss_reading_size(struct ss_reading *r, const char *keys, int64_t missing, int64_t low, int64_t high);
int ss_reading_truth(struct ss_reading *r, const char *keys, int missing);
/* Returns a text of the tree. */
const char *ss_reading_text(struct ss_reading *r, const char *keys, const char *missing);
/* Returns true if a list, or a text with commas, has this item. */
bool ss_reading_lists(struct ss_reading *r, const char *keys, const char *item);
/* Sets the key "is.NAME" to a value, so that conditions can ask for a fact that a function found out
 * about the whole configuration. */
void ss_reading_fact(struct ss_reading *r, const char *name, const char *value);
/* Replaces or adds the node at a path. Its text comes from the command line or from `file`. */
void ss_reading_set(struct ss_reading *r, const char *path, const char *text, const char *file, int line);

/* Sets what the option words->w[*at] says, "--name=value" or "--name value ..." with `between` between values, below a section ("": the root,
 * where "--a.no-b" makes a.b false). *at becomes the option's last word. */
void ss_reading_option(struct ss_reading *r, const char *section, const struct ss_words *words, size_t end,
                       size_t *at, char between);

/* ---- words ---- */

/* Adds a flag and its value (NULL: it takes none) with the place of `at`; NULL: the place of words that
 * come from no key. A value that begins with "--" is an error. */
void ss_reading_flag(struct ss_reading *r, const struct ss_tree_node *at, const char *flag,
                     const char *value);
void ss_reading_whole_flag(struct ss_reading *r, const struct ss_tree_node *at, const char *flag,
                           int64_t value);
/* Adds words with blanks between. */
void ss_reading_words(struct ss_reading *r, const struct ss_tree_node *at, const char *words);
/* Adds "--set PROP=VALUE"; prop is of enum ss_prop_index. */
void ss_reading_prop(struct ss_reading *r, const struct ss_tree_node *at, int prop, double value);
/* Adds --model and, where its file has rows that only Megatron adds, --vocab-size. `name` is a name of the hub, a path (also one
 * beside the tree's file) or a name of workloads/models. One that nobody knows is a word all the same, so that --model may beat it. */
void ss_reading_model(struct ss_reading *r, const struct ss_tree_node *at, const char *name);
/* Refuses a key without a row that is one or two letters from one that has a row and is not given; `path` is the node's.
 * Returns whether it did. */
bool ss_reading_is_misspelt(struct ss_reading *r, const struct ss_tree_node *node, const char *path);
/* Adds the note "torchtitan: assumed: ...". */
void ss_reading_assume(struct ss_reading *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Fails at the node; NULL: at the first line of the tree's file. What is refused (SS_ERR_UNSUPPORTED) is a fault, behind which the
 * reading goes on. */
void ss_reading_fail(struct ss_reading *r, const struct ss_tree_node *at, int code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Adds a fault; hint "": none. */
void ss_reading_fault(struct ss_reading *r, const struct ss_tree_node *at, int code, const char *text,
                      const char *hint);
#define ss_reading_refuse(r, at, ...) ss_reading_fail(r, at, SS_ERR_UNSUPPORTED, __VA_ARGS__)

/* ---- conditions.c ---- */

/* Returns the node at a path; NULL: there is none. A name in the path may have a class:
 * "callbacks@TokenDrop.pad" is `pad` in the first item of the list `callbacks` whose _target_ has the
 * name TokenDrop. `callbacks` may also be such a map itself. */
struct ss_tree_node *ss_reading_find(const struct ss_tree_node *root, const char *path);
/* Returns 1 for true and 0 for false, which may also be texts or numbers; -1: neither. */
int ss_reading_truth_of(const struct ss_tree_node *node);
/* Returns the node of a single value: the scalar itself, or the name in a map as which an enum was
 * dumped; NULL: the node is no single value. */
const struct ss_tree_node *ss_reading_single(const struct ss_tree_node *node);
/* Returns true if a condition of a keymap holds. Its paths begin at `prefix`. */
bool ss_reading_holds(const struct ss_tree_node *root, const char *prefix, const char *condition);

/* reading_rows.c: returns the text that a row of the kind `table` has for a value; NULL: it has none. */
const char *ss_reading_lookup(const struct ss_reading *r, const char *table, const char *value);
/* Adds the words that a row of the kind `value` adds. */
void ss_reading_value(struct ss_reading *r, const struct ss_tree_node *node, const char *flag);

/* ---- between its files ---- */

/* reading_rows.c: applies a row for a key that is refused or has no effect. */
void ss_reading_settle(struct ss_reading *r, const struct ss_key_row *row, struct ss_tree_node *node);
