/* SPDX-License-Identifier: Apache-2.0 */
/* TOML, the configuration language of torchtitan until 2026. */
#pragma once

#include "import/tree.h"

/* Reads text[0 .. len-1] as TOML 1.0 into a tree, which the caller frees with ss_tree_free. Texts in quotes are `quoted`; numbers are
 * texts without underscores, hexadecimal ones decimal; dates are texts. Lists of tables are lists. Errors: SS_ERR_INPUT at file and
 * line: not well-formed, a key or table twice, 32 levels, 4,096 tables and lists, the limits of trees; SS_ERR_NOMEM. */
int ss_toml_parse(const char *text, size_t len, const char *file, struct ss_tree **out, struct ss_error *err);

/* ---- toml_text.c: texts, numbers, truths and dates ---- */

struct ss_toml {
    const char *p, *end;
    int line, depth;
    struct ss_tree *tree;
    char *text; /* the key or value that is being read; it has room for the whole file */
    size_t len;
    struct ss_toml_table *table; /* how tables came to be */
    size_t ntables, cap;
    struct ss_error *err;
};
/* Returns the byte at p; -1: the end. */
static inline int ss_toml_peek(const struct ss_toml *r)
{
    return r->p < r->end ? (unsigned char)*r->p : -1;
}
/* Fills in an error at the present line. Returns SS_ERR_INPUT. */
int ss_toml_wrong(struct ss_toml *r, const char *what);
/* Reads "text" or 'text' into r->text; with may_go_on also texts in three quotes, which may have several
 * lines. p is at the first quote. */
int ss_toml_quoted(struct ss_toml *r, int may_go_on);
/* Reads a value without quotes into r->text. */
int ss_toml_bare(struct ss_toml *r);
