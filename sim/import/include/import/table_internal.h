/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of a table of measured runs, once for its reader and for the words that they stand for. */
#ifndef SS_TABLE_INTERNAL_H
#define SS_TABLE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "job/asked.h"
#include "stepsim/table.h"

/* What one value of a column stands for: words separated by blanks; "": the words of the other values are
 * absent; NULL: nothing. */
struct ss_table_choice {
    const char *value, *words;
};
/* A column with neither flag nor choices is of the measurement, or for people. */
struct ss_table_column {
    const char *name;
    int required;
    const char *flag;    /* takes the field as its value */
    const char *experts; /* the flag in a row of a mixture of experts, where it is another; "" none */
    const struct ss_table_choice *choices; /* ends with a value of NULL */
};
#define SS_TABLE_COLUMNS 64 /* at most */
/* In the order in which their words apply. */
extern const struct ss_table_column ss_table_columns[];
extern const size_t ss_table_column_count;

/* A row that becomes words. */
struct ss_table_row {
    const struct ss_table *table;
    int row;
    struct ss_model named; /* of the model's name, where known */
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
/* SS_ERR_INPUT at the row's line. */
int ss_table_fail(const struct ss_table_row *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds "--flag value" with the row's line, value NULL: the flag alone. */
int ss_table_add(const struct ss_table_row *r, struct ss_request *out, const char *flag, const char *value);
/* Begins a place of the row's file. */
int ss_table_place(const struct ss_table_row *r, struct ss_request *out);
/* Adds the words of one column, where it has any. */
int ss_table_add_column(const struct ss_table_row *r, const struct ss_table_column *column,
                        struct ss_request *out);
/* Adds the words that the column says are not there. */
int ss_table_add_denied(const struct ss_table_row *r, const struct ss_table_column *column,
                        struct ss_request *out);
/* table_flags.c: adds the words of the column `flags` in a place of their own; `columns` has those of all other columns. */
int ss_table_add_flags(const struct ss_table_row *r, const struct ss_request *columns,
                       struct ss_request *out);
/* Returns what the words of a row ask for; for a row whose flags are refused, what its columns say. Errors:
 * those of ss_table_request and of the words. */
int ss_table_asked(const struct ss_table *t, int row, struct ss_asked *asked, struct ss_notes *notes,
                   struct ss_error *err);

#endif
