/* SPDX-License-Identifier: Apache-2.0 */
/* Predictions as a table that is kept with the sources, and what moved since. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/csv.h"
#include "report/common.h"
#include "study/study_internal.h"

static const char header[] =
    "table,id,model,platform,stack,card,gpus,precision,parameters,quality,outcome,predicted_outcome,right,"
    "measured_ms,"
    "predicted_ms,error_pct,memory_kind,measured_mib,predicted_mib,memory_error_pct,experts,source,family,"
    "weight\n";

static void put(FILE *out, const char *text)
{
    fputc(',', out);
    ss_csv_write(out, text);
}

static void put_number(FILE *out, double value, const char *fmt)
{
    fputc(',', out);
    if (isfinite(value))
        fprintf(out, fmt, value == 0 ? 0 : value);
}

static void put_known(FILE *out, double value)
{
    put_number(out, value > 0 ? value : NAN, "%.6g");
}

static void write_row(const struct ss_validation_row *r, FILE *out)
{
    ss_csv_write(out, r->table);
    put(out, r->id);
    put(out, r->model);
    put(out, r->platform);
    put(out, r->stack);
    put(out, r->card);
    fprintf(out, ",%d", r->gpus);
    put(out, r->precision);
    put_number(out, r->summary.parameters > 0 ? r->summary.parameters : NAN, "%.4g");
    put(out, r->quality);
    put(out, r->outcome);
    put(out, r->predicted_outcome);
    put(out, r->right < 0 ? "" : r->right ? "yes" : "no");
    put_known(out, 1e3 * r->measured_s);
    put_known(out, 1e3 * r->summary.iteration_s);
    put_number(out, ss_validation_time_error(r), "%.2f");
    put(out, r->memory_kind);
    put_known(out, r->measured_bytes / SS_MIB);
    put_known(out, r->predicted_bytes / SS_MIB);
    put_number(out, ss_validation_memory_error(r), "%.2f");
    fprintf(out, ",%d", r->experts);
    put(out, r->source);
    put(out, r->family);
    put_number(out, r->weight, "%.6g");
    fputc('\n', out);
}

int ss_validation_write_csv(const struct ss_validation *v, FILE *out, struct ss_error *err)
{
    fputs(header, out);
    for (int i = 0; i < v->nrows; i++)
        write_row(&v->rows[i], out);
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

/* Compares at 6 digits, as in the table; the last may round either way on another machine. */
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
