/* SPDX-License-Identifier: Apache-2.0 */
/* Predictions as a table that is kept with the sources, and what moved since. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/csv.h"
#include "report/common.h"
#include "report/table.h"
#include "study/study_internal.h"

/* As digits hold: a difference below them is none. */
static const char row_columns[] = "::table|::id|::model|::platform|::stack|::card|::gpus|::precision|"
                                  "::parameters:.4g|::quality|::outcome|::predicted_outcome|::right|"
                                  "::measured_ms:.6g|::predicted_ms:.6g|::error_pct:.2f|::memory_kind|"
                                  "::measured_mib:.6g|::predicted_mib:.6g|::memory_error_pct:.2f|::experts|"
                                  "::source|::family|::weight:.6g";

static void write_rows(struct ss_report_table *t, const void *of)
{
    const struct ss_validation *v = of;

    for (int i = 0; i < v->nrows; i++) {
        const struct ss_validation_row *r = &v->rows[i];
        const struct ss_cell cells[] =
            SS_CELLS(r->table, r->id, r->model, r->platform, r->stack, r->card, r->gpus, r->precision,
                     ss_known(r->summary.parameters), r->quality, r->outcome, r->predicted_outcome,
                     r->right < 0 ? ""
                     : r->right   ? "yes"
                                  : "no",
                     ss_known(1e3 * r->measured_s), ss_known(1e3 * r->summary.iteration_s),
                     ss_validation_time_error(r), r->memory_kind, ss_known(r->measured_bytes / SS_MIB),
                     ss_known(r->predicted_bytes / SS_MIB), ss_validation_memory_error(r), r->experts,
                     r->source, r->family, r->weight);
        ss_report_table_row(t, cells, SS_ARRAY_LEN(cells));
    }
}

int ss_validation_write_csv(const struct ss_validation *v, FILE *out, struct ss_error *err)
{
    struct ss_report_table t = {.columns = row_columns};

    ss_report_table_write(&t, SS_FORM_CSV, write_rows, v, out);
    return ss_report_done(out, err);
}

/* ---- what moved ---- */

struct compare {
    const struct ss_csv *old;
    FILE *out;
    int moved;
};

static int find_id(const struct ss_csv *csv, const char *table, const char *id)
{
    int c = ss_csv_column(csv, "id"), t = ss_csv_column(csv, "table");

    for (size_t r = 0; r < ss_csv_rows(csv); r++)
        if (!strcmp(ss_csv_field(csv, r, c), id) && (t < 0 || !strcmp(ss_csv_field(csv, r, t), table)))
            return (int)r;
    return -1;
}

static const char *old_field(const struct compare *c, int row, const char *column)
{
    return ss_csv_field(c->old, (size_t)row, ss_csv_column(c->old, column));
}

/* The table has 6 digits, and the last may round either way on another machine. */
static int differs(const char *old, double now, char *text, size_t size)
{
    double was;

    snprintf(text, size, "%.6g", now);
    if (!old[0] || ss_parse_double(old, &was))
        return now > 0;
    return fabs(now - was) > 1.1e-5 * fabs(was);
}

static void compare_row(struct compare *c, const struct ss_validation_row *r)
{
    static const char *const columns[] = {"predicted_ms", "predicted_mib"};
    double now[] = {1e3 * r->summary.iteration_s, r->predicted_bytes / SS_MIB};
    int row = find_id(c->old, r->table, r->id), moved = 0;
    char text[32];

    if (row < 0) {
        fprintf(c->out, "%s %s: new\n", r->table, r->id);
        c->moved++;
        return;
    }
    if (strcmp(old_field(c, row, "predicted_outcome"), r->predicted_outcome) != 0) {
        fprintf(c->out, "%s %s: predicted_outcome %s -> %s\n", r->table, r->id,
                old_field(c, row, "predicted_outcome"), r->predicted_outcome);
        moved = 1;
    }
    for (int i = 0; i < 2; i++)
        if (differs(old_field(c, row, columns[i]), now[i], text, sizeof text)) {
            const char *error = old_field(c, row, i ? "memory_error_pct" : "error_pct");
            double e = i ? ss_validation_memory_error(r) : ss_validation_time_error(r);
            fprintf(c->out, "%s %s: %s %s -> %s", r->table, r->id, columns[i], old_field(c, row, columns[i]),
                    text);
            if (error[0] && isfinite(e))
                fprintf(c->out, " (error %s %% -> %.2f %%)", error, e);
            fputc('\n', c->out);
            moved = 1;
        }
    c->moved += moved;
}

static void find_vanished(struct compare *c, const struct ss_validation *v)
{
    for (size_t r = 0; r < ss_csv_rows(c->old); r++) {
        int found = 0;
        for (int i = 0; i < v->nrows && !found; i++)
            found = !strcmp(v->rows[i].id, old_field(c, (int)r, "id")) &&
                    !strcmp(v->rows[i].table, old_field(c, (int)r, "table"));
        if (found)
            continue;
        fprintf(c->out, "%s %s: no longer in the tables\n", old_field(c, (int)r, "table"),
                old_field(c, (int)r, "id"));
        c->moved++;
    }
}

int ss_validation_compare(const struct ss_validation *v, const char *csv_path, FILE *out, int *moved,
                          struct ss_error *err)
{
    static const char *const needed[] = {"table", "id", "predicted_outcome", "predicted_ms", "predicted_mib"};
    struct compare c = {.out = out};
    struct ss_csv *csv;
    int rc = ss_csv_load(csv_path, &csv, err);

    if (rc)
        return rc;
    for (size_t i = 0; i < SS_ARRAY_LEN(needed) && !rc; i++)
        if (ss_csv_column(csv, needed[i]) < 0) {
            rc = ss_fail(err, SS_ERR_INPUT, csv_path, 1, "no column \"%s\"", needed[i]);
            ss_hint(err, rc, "write it with \"stepsim validate --csv FILE\"");
        }
    if (!rc) {
        c.old = csv;
        for (int i = 0; i < v->nrows; i++)
            compare_row(&c, &v->rows[i]);
        find_vanished(&c, v);
        *moved = c.moved;
        rc = ss_report_done(out, err);
    }
    ss_csv_free(csv);
    return rc;
}
