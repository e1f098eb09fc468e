/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recipes: what a release sets for a model beside what a table of runs says (workloads/recipes.csv, each row with its
 * source). Published tables leave it out. A recipe stands in for one column: a row whose recompute is "unknown", or which does not say
 * whether the collectives of its tensor ranks, or of data parallelism, overlap, takes its words, which its own beat.
 */
#include <string.h>

#include "base/base.h"
#include "base/csv.h"
#include "import/import.h"
#include "import/table_internal.h"

/* Whether an empty field, or the same text, stands in the recipe. */
static int agrees(const struct ss_csv *csv, size_t i, const char *column, const char *value)
{
    const char *field = ss_csv_field(csv, i, ss_csv_column(csv, column));

    return !field[0] || !strcmp(field, value);
}

static int is_of(const struct ss_table_row *r, const struct ss_csv *csv, size_t i, const char *column)
{
    static const char *const same[] = {"model", "gpu", "precision", "ep"};
    const char *stack = ss_csv_field(csv, i, ss_csv_column(csv, "stack"));

    if (strncmp(ss_table_field(r, "stack"), stack, strlen(stack)) != 0 || !agrees(csv, i, "column", column))
        return 0;
    for (size_t k = 0; k < SS_ARRAY_LEN(same); k++)
        if (!agrees(csv, i, same[k], ss_table_field(r, same[k])))
            return 0;
    return 1;
}

static int add_words(const struct ss_table_row *r, const struct ss_csv *csv, size_t i, struct ss_request *out)
{
    const char *field = ss_csv_field(csv, i, ss_csv_column(csv, "words"));
    struct ss_words words = {0};
    int line = ss_csv_line(csv, i);
    int rc = ss_args_read(&words, field, strlen(field), ss_csv_file(csv), r->err);

    SS_THEN(rc, ss_request_add_place(out, ss_csv_file(csv), r->err));
    for (size_t k = 0; k < words.n && !rc; k++)
        rc = ss_request_add(out, words.w[k].text, line, r->err);
    ss_words_free(&words);
    return rc;
}

/* The words of the first recipe that stands in for this column. */
static int add_first(const struct ss_table_row *r, const struct ss_csv *csv, const char *column,
                     struct ss_request *out)
{
    for (size_t i = 0; i < ss_csv_rows(csv); i++)
        if (is_of(r, csv, i, column))
            return add_words(r, csv, i, out);
    return SS_OK;
}

int ss_table_add_recipe(const struct ss_table_row *r, struct ss_request *out)
{
    const struct {
        const char *column;
        int open;
    } columns[] = {
        {"recompute", ss_table_is(r, "recompute", "unknown")},
        {"tp_comm_overlap",
         ss_table_is(r, "tp_comm_overlap", "") && !ss_table_is(r, "tp", "1") && !ss_table_is(r, "tp", "")},
        {"grad_param_overlap", ss_table_is(r, "grad_param_overlap", "")},
    };
    char path[4096];
    struct ss_csv *csv;

    int rc = ss_data_find("workloads", "recipes", ".csv", path, sizeof path, r->err);
    SS_THEN(rc, ss_csv_load(path, &csv, r->err));
    if (rc)
        return rc;
    for (size_t i = 0; i < SS_ARRAY_LEN(columns) && !rc; i++)
        if (columns[i].open)
            rc = add_first(r, csv, columns[i].column, out);
    ss_csv_free(csv);
    return rc;
}
