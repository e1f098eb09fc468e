/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep as a table, and as JSON. */
#include "stepsim/sweep.h"

#include <string.h>

#include "report/common.h"
#include "report/text.h"

static const char *value_of(const struct ss_sweep *s, const struct ss_sweep_row *row, int flag)
{
    return s->flags[flag].value[row->at[flag]];
}

/* Columns are as wide as their widest value. */
static int width(const struct ss_sweep *s, int flag)
{
    size_t most = strlen(s->flags[flag].name);

    for (int i = 0; i < s->flags[flag].nvalues; i++)
        if (strlen(s->flags[flag].value[i]) > most)
            most = strlen(s->flags[flag].value[i]);
    return (int)most;
}

static void write_row(const struct ss_sweep *s, const struct ss_sweep_row *row, int priced, FILE *out)
{
    char time[32];

    for (int f = 0; f < s->nflags; f++)
        fprintf(out, "%-*s  ", width(s, f), value_of(s, row, f));
    if (row->code) {
        fprintf(out, "%s\n", row->reason);
        return;
    }
    fprintf(out, "%5d %10s %6.1f %12.1f %9.1f %7.1f", row->gpus,
            ss_text_time(row->iteration_s, time, sizeof time), 100 * row->mfu, row->tokens_per_s_per_gpu,
            100 * row->bubble_fraction, row->peak_device / SS_GIB);
    if (priced)
        fprintf(out, " %9.3f", row->usd_per_iteration);
    fprintf(out, "  %s\n", !row->fits ? "no" : row->thrash ? "barely" : "yes");
}

static void write_best(const struct ss_sweep *s, const char *what, int best, FILE *out)
{
    char time[32];

    fprintf(out, "%s:", what);
    for (int f = 0; f < s->nflags; f++)
        fprintf(out, " %s %s", s->flags[f].name, value_of(s, &s->rows[best], f));
    fprintf(out, ", %s an iteration, %.1f tokens/s/GPU\n",
            ss_text_time(s->rows[best].iteration_s, time, sizeof time), s->rows[best].tokens_per_s_per_gpu);
}

static int write_text(const struct ss_sweep *s, FILE *out, struct ss_error *err)
{
    int priced = 0, fastest = ss_sweep_best(s, 0), dearest = ss_sweep_best(s, 1);

    for (int i = 0; i < s->nrows; i++)
        priced |= s->rows[i].usd_per_iteration > 0;
    for (int f = 0; f < s->nflags; f++)
        fprintf(out, "%-*s  ", width(s, f), s->flags[f].name);
    fprintf(out, "%5s %10s %6s %12s %9s %7s%s  fits\n", "GPUs", "iteration", "MFU %", "tokens/s/GPU",
            "bubble %", "GiB", priced ? "       USD" : "");
    for (int i = 0; i < s->nrows; i++)
        write_row(s, &s->rows[i], priced, out);
    if (fastest < 0)
        fputs(ss_sweep_count(s, SS_SWEEP_BARELY)                ? "\nnone of them fits with room to spare\n"
              : ss_sweep_count(s, SS_SWEEP_REFUSED) == s->nrows ? "\nall of them are refused\n"
                                                                : "\nnone of them fits\n",
              out);
    if (fastest >= 0) {
        fputc('\n', out);
        write_best(s, "fastest that fits", fastest, out);
    }
    if (dearest >= 0 && dearest != fastest)
        write_best(s, "most from each GPU", dearest, out);
    return ss_report_done(out, err);
}

static json_t *row_object(const struct ss_sweep *s, const struct ss_sweep_row *row)
{
    json_t *o = json_object(), *flags = json_object();

    for (int f = 0; f < s->nflags; f++)
        ss_json_text(flags, s->flags[f].name, value_of(s, row, f));
    json_object_set_new(o, "flags", flags);
    ss_json_text(o, "predicted_outcome",
                 row->code == SS_ERR_UNSUPPORTED ? "unsupported"
                 : row->code                     ? "config-error"
                 : row->fits                     ? "ok"
                                                 : "oom");
    ss_json_text(o, "reason", row->reason);
    if (row->code)
        return o;
    ss_json_integer(o, "gpus", row->gpus);
    ss_json_number(o, "iteration_ms", 1e3 * row->iteration_s);
    ss_json_number(o, "mfu", row->mfu);
    ss_json_number(o, "tokens_per_s_per_gpu", row->tokens_per_s_per_gpu);
    ss_json_number(o, "bubble_fraction", row->bubble_fraction);
    ss_json_number(o, "peak_mib", row->peak_device / SS_MIB);
    ss_json_number(o, "capacity_mib", row->capacity / SS_MIB);
    ss_json_flag(o, "near_limit", row->thrash);
    if (row->usd_per_iteration > 0)
        ss_json_number(o, "usd_per_iteration", row->usd_per_iteration);
    return o;
}

static void put_index(json_t *o, const char *key, int index)
{
    json_object_set_new(o, key, index < 0 ? json_null() : json_integer(index));
}

static int write_json(const struct ss_sweep *s, FILE *out, struct ss_error *err)
{
    json_t *root = ss_json_document("sweep"), *rows = json_array();

    for (int i = 0; i < s->nrows; i++)
        json_array_append_new(rows, row_object(s, &s->rows[i]));
    json_object_set_new(root, "rows", rows);
    put_index(root, "fastest", ss_sweep_best(s, 0));
    put_index(root, "most_per_gpu", ss_sweep_best(s, 1));
    return ss_json_write(root, out, err);
}

int ss_sweep_write(const struct ss_sweep *s, int json, FILE *out, struct ss_error *err)
{
    return json ? write_json(s, out, err) : write_text(s, out, err);
}
