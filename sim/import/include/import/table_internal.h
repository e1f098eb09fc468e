/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of a table of measured runs, and the words that they stand for. */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "job/asked.h"
#include "stepsim/table.h"

/* What a value of a column stands for: words, separated by blanks; "": the words of the column's other
 * values are absent; NULL: nothing. */
struct ss_table_choice {
    const char *value, *words;
};
/* A column. Without flag and choices it belongs to the measurement, or is for people. */
struct ss_table_column {
    const char *name;
    int required;
    const char *flag;    /* a flag that takes the field as its value */
    const char *experts; /* the flag for rows of mixtures of experts where it is another; "": none */
    const struct ss_table_choice *choices; /* ends with a value of NULL */
};
#define SS_TABLE_COLUMNS 64 /* the most columns of a table */
/* In the order in which their words apply. */
extern const struct ss_table_column ss_table_columns[];
extern const size_t ss_table_column_count;

/* A row that is turned into words. */
struct ss_table_row {
    const struct ss_table *table;
    int row;
    struct ss_model named; /* the model of the row's name, where it is known */
    bool known;
    struct ss_notes *notes; /* may be NULL */
    struct ss_error *err;
};
static inline const char *ss_table_field(const struct ss_table_row *r, const char *column)
{
    return ss_table_get(r->table, r->row, column);
}
static inline int ss_table_is(const struct ss_table_row *r, const char *column, const char *value)
{
    return !strcmp(ss_table_field(r, column), value);
}
/* Fills in an error at the row's line. Returns SS_ERR_INPUT. */
#define ss_table_fail(r, ...)                                                                                \
    ss_fail((r)->err, SS_ERR_INPUT, ss_table_file((r)->table), ss_table_line((r)->table, (r)->row),          \
            __VA_ARGS__)
/* Adds "--flag value" with the row's line; value NULL: the flag alone. */
int ss_table_add(const struct ss_table_row *r, struct ss_request *out, const char *flag, const char *value);
/* Begins a place of the row's file. */
int ss_table_place(const struct ss_table_row *r, struct ss_request *out);
/* Returns the stack of the row: that of its framework where the row names what this framework shares with others. */
const char *ss_table_stack(const struct ss_table_row *r);
/* Whether the row's framework trains layers that do not divide by the pipeline's stages. */
bool ss_table_splits_unevenly(const struct ss_table_row *r);
/* Adds the words of one column, where it has any. */
int ss_table_add_column(const struct ss_table_row *r, const struct ss_table_column *column,
                        struct ss_request *out);
/* Adds the words of the column's other values where the row's value says that they are absent. */
int ss_table_add_denied(const struct ss_table_row *r, const struct ss_table_column *column,
                        struct ss_request *out);
/* table_flags.c: adds the words of the column `flags` in a place of their own; `columns` has those of all other columns. */
int ss_table_add_flags(const struct ss_table_row *r, const struct ss_request *columns,
                       struct ss_request *out);
/* Returns what the words of a row ask for; for a row whose flags are refused, what its columns say. Errors:
 * those of ss_table_request and of the words. */
int ss_table_asked(const struct ss_table *t, int row, struct ss_asked *asked, struct ss_notes *notes,
                   struct ss_error *err);
