/* SPDX-License-Identifier: Apache-2.0 */
#include "job/moe_loads.h"

#include "base/base.h"
#include "base/csv.h"

#define FILE_MAX (64UL << 20)
#define LAYER_MAX 99999

enum { LAYER, EXPERT, LOAD, COLUMNS };
static const char *const names[COLUMNS] = {"layer", "expert", "load"};

struct row {
    int layer, expert, line;
    double load;
};

static int read_row(const struct ss_csv *csv, size_t i, const int column[COLUMNS], int experts,
                    struct row *out, struct ss_error *err)
{
    const char *text = ss_csv_field(csv, i, column[LOAD]);
    int64_t layer, expert;
    SS_TRY(ss_csv_whole(csv, i, column[LAYER], 0, LAYER_MAX, &layer, err));
    SS_TRY(ss_csv_whole(csv, i, column[EXPERT], 0, experts - 1, &expert, err));
    out->layer = (int)layer;
    out->expert = (int)expert;
    out->line = ss_csv_line(csv, i);
    if (ss_parse_double(text, &out->load) || !(out->load >= 0))
        return ss_fail(
            err, SS_ERR_INPUT, ss_csv_file(csv), out->line,
            "load \"%s\" is no number >= 0" SS_HINT "give the tokens of the expert, or their share", text);
    return SS_OK;
}

static int by_place(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->layer != y->layer)
        return x->layer < y->layer ? -1 : 1;
    if (x->expert != y->expert)
        return x->expert < y->expert ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

/* Rows in order into out; loads that no row names are 0. */
static int fill(const struct row *row, size_t n, const char *name, int top_k, struct ss_moe_loads *out,
                struct ss_error *err)
{
    for (size_t first = 0, end; first < n; first = end, out->layers++) {
        double *load = out->load + (size_t)out->layers * (size_t)out->experts, most = 0;
        int busy = 0;
        for (end = first; end < n && row[end].layer == row[first].layer; end++) {
            if (end > first && row[end].expert == row[end - 1].expert)
                return ss_fail(err, SS_ERR_INPUT, name, row[end].line,
                               "layer %d, expert %d stands in line %d too", row[end].layer, row[end].expert,
                               row[end - 1].line);
            load[row[end].expert] = row[end].load;
            most = fmax(most, row[end].load);
        }
        for (int e = 0; e < out->experts; e++) {
            /* Loads become shares of the largest: sums stay finite, and a negligible load becomes 0. */
            load[e] = most > 0 ? load[e] / most : 0;
            load[e] = load[e] < 1e-12 ? 0 : load[e];
            busy += load[e] > 0;
        }
        if (busy < top_k)
            return ss_fail(err, SS_ERR_INPUT, name, row[first].line,
                           "layer %d has a load on %d experts, a token chooses %d" SS_HINT
                           "give a load above 0 to %d experts of each layer, or lower --moe-router-topk",
                           row[first].layer, busy, top_k, top_k);
    }
    return SS_OK;
}

static int read_rows(const struct ss_csv *csv, struct row *row, int experts, int top_k,
                     struct ss_moe_loads *out, struct ss_error *err)
{
    const size_t n = ss_csv_rows(csv);
    int column[COLUMNS];
    size_t layers = 0;
    for (int c = 0; c < COLUMNS; c++) {
        column[c] = ss_csv_column(csv, names[c]);
        if (column[c] < 0)
            return ss_fail(err, SS_ERR_INPUT, ss_csv_file(csv), 1,
                           "no column \"%s\": the first line is layer,expert,load", names[c]);
    }
    for (size_t i = 0; i < n; i++) {
        int rc = read_row(csv, i, column, experts, &row[i], err);
        if (rc)
            return rc;
    }
    if (n == 0)
        return ss_fail(err, SS_ERR_INPUT, ss_csv_file(csv), 0,
                       "the file has no loads" SS_HINT "add lines as 0,5,1200: layer, expert, load");
    qsort(row, n, sizeof *row, by_place);
    for (size_t i = 0; i < n; i++)
        layers += i == 0 || row[i].layer != row[i - 1].layer;
    *out = (struct ss_moe_loads){.experts = experts,
                                 .load = ss_calloc(layers * (size_t)experts, sizeof *out->load)};
    SS_NEED(out->load, err);
    int rc = fill(row, n, ss_csv_file(csv), top_k, out, err);
    if (rc) {
        free(out->load);
        out->load = NULL;
    }
    return rc;
}

int ss_moe_loads_parse(const char *text, size_t len, const char *name, int experts, int top_k,
                       struct ss_moe_loads *out, struct ss_error *err)
{
    struct ss_csv *csv;
    int rc = ss_csv_parse(text, len, name, &csv, err);
    if (rc)
        return ss_hint(err, rc, "the file is lines of layer,expert,load, the first these words");
    struct row *row = ss_calloc(ss_csv_rows(csv) + 1, sizeof *row);
    rc = row ? read_rows(csv, row, experts, top_k, out, err) : ss_nomem(err);
    free(row);
    ss_csv_free(csv);
    return rc;
}

int ss_moe_loads_read(const char *path, int experts, int top_k, struct ss_moe_loads *out,
                      struct ss_error *err)
{
    char *text = NULL;
    size_t len = 0;
    int rc = ss_file_read(path, FILE_MAX, &text, &len, err);
    SS_THEN(rc, ss_moe_loads_parse(text, len, path, experts, top_k, out, err));
    free(text);
    return rc;
}
