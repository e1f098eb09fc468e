/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the tree of a foreign configuration (tree.h) to the words of a job, by tables. A kind of configuration is a file
 * sim/import/NAME.c with a `struct ss_foreign_kind`, and a line in foreign_kinds.c:
 *
 *     static const struct ss_foreign_row rows[] = {
 *         {"model.hidden_size", SS_ROW_VALUE, "--hidden-size", NULL, NULL},
 *         {"model.bias", SS_ROW_FALSE, "--disable-bias-linear", NULL, NULL},
 *         {"model.activation", SS_ROW_CHOICE, "gelu=;swiglu=--swiglu;relu=!relu is not modelled", NULL, NULL},
 *         {"exp_manager", SS_ROW_NONE, NULL, NULL, NULL},
 *     };
 *     static int read(struct ss_foreign *f, struct ss_error *err)
 *     {
 *         return ss_foreign_map(f, ss_tree_root(f->tree), rows, SS_ARRAY_LEN(rows), err);
 *     }
 *
 * What no row reads is told as ignored, with its line. A name that is null counts as not there.
 */
#ifndef SS_IMPORT_FOREIGN_H
#define SS_IMPORT_FOREIGN_H

#include "import/import.h"
#include "import/tree.h"

/* A word, and where it comes from. */
struct ss_foreign_word {
    char *text;
    const char *file; /* of the node, "" the command line; NULL: an assumption */
    int line;
};
/* One configuration on its way to a request. */
struct ss_foreign {
    const char *name; /* of its kind, "NeMo 1" */
    const char *file; /* of the tree */
    struct ss_tree *tree;
    struct ss_foreign_word *word;
    size_t n, cap;
    struct ss_notes assumed; /* texts of ss_foreign_assume */
    struct ss_notes none;    /* paths of SS_ROW_NONE */
};

/* What a row does with the value of its name. */
enum ss_row_kind {
    SS_ROW_VALUE, /* words: a flag, which takes the value as it stands, of a list all items */
    SS_ROW_WHOLE, /* words: a flag, which takes a whole number, however it is written (1e6) */
    SS_ROW_TRUE,  /* true: `words`; false: nothing; else an error */
    SS_ROW_FALSE, /* false: `words`; true: nothing; else an error */
    SS_ROW_CHOICE, /* words: "value=words;value=words", in any case of letters; "=!why" refuses it, "*" is any other; none of
                      them: an error */
    SS_ROW_REFUSE, /* refused because of `why`, but for null, false, 0, an empty list or map and the values in `words` */
    SS_ROW_NONE, /* it and all below it have no effect on time or memory */
    SS_ROW_CALL  /* `call`, also where there is no such name */
};
struct ss_foreign_row {
    const char *key; /* path below the node of ss_foreign_map */
    enum ss_row_kind kind;
    const char *words;
    const char *why;
    /* `node` counts as read; NULL: it is not there or null. */
    int (*call)(struct ss_foreign *f, struct ss_tree_node *node, struct ss_error *err);
};
/* Applies the rows in their order to the names below `from` (NULL: to nothing but calls). Errors, at the value's place: SS_ERR_INPUT for
 * a value that the row does not know, SS_ERR_UNSUPPORTED for what is refused, SS_ERR_NOMEM. */
int ss_foreign_map(struct ss_foreign *f, const struct ss_tree_node *from, const struct ss_foreign_row *rows,
                   size_t n, struct ss_error *err);
/* Adds words with blanks between, of the place of `node`; NULL: of none, an assumption's. SS_ERR_NOMEM. */
int ss_foreign_add(struct ss_foreign *f, const struct ss_tree_node *node, const char *words,
                   struct ss_error *err);
/* Adds a flag and its value, which may have blanks; NULL: it takes none. */
int ss_foreign_flag(struct ss_foreign *f, const struct ss_tree_node *node, const char *flag,
                    const char *value, struct ss_error *err);
/* Each name below `from` that has not been read, under its Megatron-LM name: num_layers is --num-layers, of true and false the flag that
 * says so ("--x", "--no-x", "--disable-x"), where there is one. Names that are no flag stay unread. */
int ss_foreign_by_name(struct ss_foreign *f, const struct ss_tree_node *from, struct ss_error *err);
/* Says what was assumed, in the manner of printf. */
void ss_foreign_assume(struct ss_foreign *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- kinds ---- */

struct ss_foreign_kind {
    const char *name; /* as people say it: "NeMo 1" */
    /* Whether the tree is one: names that no other kind has. */
    bool (*knows)(const struct ss_tree_node *root);
    int (*read)(struct ss_foreign *f, struct ss_error *err);
    bool hydra; /* "a.b=c" may follow its file, and "${a.b}" stands for a value (hydra.h) */
    bool loose; /* then also of names that the file has not: they are variables */
};
/* foreign_kinds.c: the first that knows a tree reads it. */
extern const struct ss_foreign_kind *const ss_foreign_kinds[];
extern const size_t ss_foreign_kind_count;

/* Whether a text may be YAML, not flags: its first line that is no comment is "---" or "name:". */
bool ss_foreign_sniff(const char *text, size_t len);
/* Whether the tree is of a kind. */
const struct ss_foreign_kind *ss_foreign_kind_of(const struct ss_tree_node *root);
/* Reads a tree, of which `kind` is NULL or known, and adds its words to *r, one place a file, and to its notes what was assumed
 * and what is not known, to its list of the ignored what has no effect. Words of the place of `own`, which may be NULL, go to its end. The tree is the caller's. Errors:
 * SS_ERR_INPUT, also where no kind knows it, with their names; those of ss_foreign_map. */
int ss_foreign_request(struct ss_request *r, struct ss_words *own, struct ss_tree *tree,
                       const struct ss_foreign_kind *kind, struct ss_error *err);

#endif
