/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What importers of training frameworks (torchtitan, DeepSpeed, Hugging Face's Trainer, LLaMA-Factory) share: a tree that is read by
 * paths, words that keep the place of what they come from, and a list of what has no effect or is refused.
 *
 *     ss_trainer_begin(&t, "torchtitan", tree, request, err);
 *     seq = ss_trainer_whole(&t, "training.seq_len", 2048);     takes the node; the first error stays in t.rc
 *     ss_trainer_add(&t, node, "--seq", "8192");
 *     ss_trainer_rest(&t, rules, nrules);                       the keys that nobody took
 *     return ss_trainer_end(&t);                                the words to the request, by files
 */
#ifndef SS_IMPORT_TRAINER_H
#define SS_IMPORT_TRAINER_H

#include "import/import.h"
#include "import/tree.h"
#include "stepsim/model.h"
#include "stepsim/params.h"

struct ss_trainer_word {
    char *flag, *value; /* value NULL: none */
    const char *file;   /* of the tree; NULL: the command line */
    int line;
};
struct ss_trainer {
    const char *name; /* of the framework, in notes and messages */
    struct ss_tree *tree;
    struct ss_request *request;
    struct ss_error *err;
    int rc; /* the first error; once there is one nothing more is done */
    struct ss_trainer_word *word;
    size_t n, cap;
    struct ss_notes asked; /* paths that were asked for */
    struct ss_notes assumed, ignored;
    int nodes, gpus_per_node; /* of the launcher; 0: not said */
    struct ss_model model;
    bool has_model; /* `model` is that of ss_trainer_model */
};

/* The tree stays the caller's, until ss_trainer_end. */
void ss_trainer_begin(struct ss_trainer *t, const char *name, struct ss_tree *tree,
                      struct ss_request *request, struct ss_error *err);
/* Adds the words to the request, in a place for each file, and frees what `t` holds. Returns t->rc. */
int ss_trainer_end(struct ss_trainer *t);

/* ---- reading: the first of the paths ("a.b old.b") that is there and no null; it counts as read ---- */

/* NULL: there is none. */
struct ss_tree_node *ss_trainer_node(struct ss_trainer *t, const char *paths);
int64_t ss_trainer_whole(struct ss_trainer *t, const char *paths, int64_t missing);
/* Within low .. high. */
int64_t ss_trainer_size(struct ss_trainer *t, const char *paths, int64_t missing, int64_t low, int64_t high);
int ss_trainer_truth(struct ss_trainer *t, const char *paths, int missing);
/* A text of the tree. */
const char *ss_trainer_text(struct ss_trainer *t, const char *paths, const char *missing);
/* Whether a list, or a text with commas, has this item. */
bool ss_trainer_lists(struct ss_trainer *t, const char *paths, const char *item);
/* Replaces or adds the node at a path, by a text of the command line or of `file`. */
void ss_trainer_set(struct ss_trainer *t, const char *path, const char *text, const char *file, int line);

/* ---- words ---- */

/* Adds a flag with the place of `at`; NULL: a default, with the first line of the tree's file. An error: a value that begins with --. */
void ss_trainer_add(struct ss_trainer *t, const struct ss_tree_node *at, const char *flag, const char *value);
void ss_trainer_add_whole(struct ss_trainer *t, const struct ss_tree_node *at, const char *flag,
                          int64_t value);
/* Adds "--set PROP=VALUE"; prop is of enum ss_prop_index. */
void ss_trainer_add_prop(struct ss_trainer *t, const struct ss_tree_node *at, int prop, double value);
/* Adds --model and, where its file has rows that only Megatron adds, --vocab-size. `name` is a name of the hub, a path (also one
 * beside the tree's file) or a name of workloads/models. One that nobody knows is a word all the same, so that --model may beat it. */
void ss_trainer_model(struct ss_trainer *t, const struct ss_tree_node *at, const char *name);
/* "torchtitan: assumed: ..." among the notes. */
void ss_trainer_assume(struct ss_trainer *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Fails at the node; NULL: at the first line of the tree's file. */
void ss_trainer_fail(struct ss_trainer *t, const struct ss_tree_node *at, int code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
#define ss_trainer_refuse(t, at, ...) ss_trainer_fail(t, at, SS_ERR_UNSUPPORTED, __VA_ARGS__)

/* ---- the rest ---- */

/* A key, or with ".*" behind it all below one. Values of `fine` (words with blanks between; "*": all) have no effect; `why` is the
 * reason for which others are refused. */
struct ss_trainer_rule {
    const char *path, *fine, *why;
};
/* Every value that nobody has read: ignored with a note, refused, or SS_ERR_INPUT where no rule knows it. */
void ss_trainer_rest(struct ss_trainer *t, const struct ss_trainer_rule *rule, size_t n);

#endif
