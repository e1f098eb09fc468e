/* SPDX-License-Identifier: Apache-2.0 */
/* Writes predictions as a table that is kept with the sources, and tells what moved since. */
#include "base/csv.h"
#include "report/common.h"
#include "study/study_internal.h"

/* Writes a number as the table has it: a difference below its digits does not count. */
static const char *digits(const char *format, double value, char text[32])
{
    text[0] = '\0';
    if (isfinite(value))
        snprintf(text, 32, format, value == 0 ? 0 : value);
    return text;
}

static void fill_row(struct ss_row *to, const struct ss_validation_row *r, char text[8][32])
{
    SS_ADD(to, SS_SAME(r, table), SS_SAME(r, id), SS_SAME(r, model), SS_SAME(r, platform), SS_SAME(r, stack),
           SS_SAME(r, card), SS_SAME(r, gpus), SS_KEY("seq", r->seq_length), SS_SAME(r, precision),
           SS_KEY("parameters", digits("%.4g", ss_known(r->summary.parameters), text[0])),
           SS_SAME(r, quality), SS_SAME(r, outcome), SS_SAME(r, predicted_outcome),
           SS_KEY("right", r->right < 0 ? ""
                           : r->right   ? "yes"
                                        : "no"),
           SS_KEY("measured_ms", digits("%.6g", ss_known(1e3 * r->measured_s), text[1])),
           SS_KEY("predicted_ms", digits("%.6g", ss_known(1e3 * r->summary.iteration_s), text[2])),
           SS_KEY("error_pct", digits("%.2f", ss_validation_time_error(r), text[3])), SS_SAME(r, memory_kind),
           SS_KEY("measured_mib", digits("%.6g", ss_known(r->measured_bytes / SS_MIB), text[4])),
           SS_KEY("predicted_mib", digits("%.6g", ss_known(r->predicted_bytes / SS_MIB), text[5])),
           SS_KEY("memory_error_pct", digits("%.2f", ss_validation_memory_error(r), text[6])),
           SS_SAME(r, experts), SS_SAME(r, source), SS_SAME(r, family), SS_SAME(r, hybrid),
           SS_KEY("weight", digits("%.6g", r->weight, text[7])));
}

int ss_validation_write_csv(const struct ss_validation *v, FILE *out, struct ss_error *err)
{
    static const struct ss_validation_row none;
    char text[8][32];

    for (int i = -1; i < v->nrows; i++) {
        struct ss_row r = {0};
        fill_row(&r, i < 0 ? &none : &v->rows[i], text);
        ss_row_csv_whole(&r, i < 0, out);
    }
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

/* Returns 1 if numbers differ at the 6 digits of the table. The last digit may round either way on
 * another machine. */
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
    int rc = SS_OK;

    SS_TRY(ss_csv_load(csv_path, &csv, err));
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
