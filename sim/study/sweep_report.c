/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep as a table, and as JSON. */
#include "stepsim/sweep.h"

#include <math.h>
#include <string.h>

#include "base/csv.h"
#include "report/common.h"
#include "report/text.h"
#include "study/study_internal.h"

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

int ss_sweep_is_causal(const struct ss_sweep *s)
{
    for (int i = 0; i < s->nrows; i++)
        if (s->rows[i].summary.outcome != SS_OUTCOME_REFUSED && ss_text_is_causal(&s->rows[i].summary))
            return 1;
    return 0;
}

static void write_row(const struct ss_sweep *s, const struct ss_sweep_row *row, int priced, int causal,
                      FILE *out)
{
    const struct ss_summary *u = &row->summary;
    char time[32];

    for (int f = 0; f < s->nflags; f++)
        fprintf(out, "%-*s  ", width(s, f), value_of(s, row, f));
    if (u->outcome == SS_OUTCOME_REFUSED) {
        fprintf(out, "%s: %s\n", ss_outcome_word(u->outcome), u->reason);
        return;
    }
    fprintf(out, "%5.0f %10s %6.1f", u->gpus, ss_text_time(u->iteration_s, time, sizeof time), 100 * u->mfu);
    if (causal)
        fprintf(out, " %8.1f", 100 * ss_text_causal_mfu(u));
    fprintf(out, " %12.1f %9.1f %7.1f", u->tokens_per_s_per_gpu, 100 * u->bubble_fraction,
            u->peak_device / SS_GIB);
    if (priced)
        fprintf(out, " %9.3f", u->usd_per_iteration);
    fprintf(out, "  %s\n", ss_outcome_word(u->outcome));
}

static void write_best(const struct ss_sweep *s, const char *what, int best, FILE *out)
{
    const struct ss_summary *u = &s->rows[best].summary;
    char time[32];

    fprintf(out, "%s:", what);
    for (int f = 0; f < s->nflags; f++)
        fprintf(out, " %s %s", s->flags[f].name, value_of(s, &s->rows[best], f));
    fprintf(out, ", %s", ss_text_time(u->iteration_s, time, sizeof time));
    if (u->band_pct > 0)
        fprintf(out, " +-%.*f %%", u->band_pct < 10, u->band_pct);
    fprintf(out, " an iteration, %.1f tokens/s/GPU", u->tokens_per_s_per_gpu);
    if (u->padding_fraction > 0)
        fprintf(out, ", %.1f %% of them padding", 100 * u->padding_fraction);
    fputc('\n', out);
}

void ss_sweep_answer(const struct ss_sweep *s, FILE *out)
{
    int fastest = ss_sweep_best(s, SS_OUTCOME_FITS, 0), dearest = ss_sweep_best(s, SS_OUTCOME_FITS, 1);
    int near = ss_sweep_best_near_limit(s), all = 0;

    for (int outcome = 0; outcome < SS_OUTCOME_COUNT; outcome++)
        all += ss_sweep_count(s, outcome);
    fputc('\n', out);
    if (fastest < 0)
        fputs(near >= 0                                      ? "none of them is sure to fit\n"
              : ss_sweep_count(s, SS_OUTCOME_REFUSED) == all ? "all of them are refused\n"
                                                             : "none of them fits\n",
              out);
    else
        write_best(s, "fastest that fits", fastest, out);
    if (dearest >= 0 && dearest != fastest)
        write_best(s, "most from each GPU", dearest, out);
    if (near >= 0)
        write_best(s, fastest < 0 ? "fastest, near limit" : "faster, but near limit", near, out);
}

int ss_sweep_is_priced(const struct ss_sweep *s)
{
    for (int i = 0; i < s->nrows; i++)
        if (s->rows[i].summary.usd_per_iteration > 0)
            return 1;
    return 0;
}

/* Writes what the table lacks. */
static void write_rest(const struct ss_sweep *s, FILE *out)
{
    int more = s->nrows - ss_sweep_shown(s);

    if (more)
        fprintf(out, "(%d more)\n", more);
    for (int outcome = 0; outcome < SS_OUTCOME_COUNT; outcome++)
        if (s->left_out[outcome])
            fprintf(out, "(%d %s, left out)\n", s->left_out[outcome], ss_outcome_word(outcome));
}

static int write_text(const struct ss_sweep *s, FILE *out, struct ss_error *err)
{
    int priced = ss_sweep_is_priced(s), causal = ss_sweep_is_causal(s);

    for (int f = 0; f < s->nflags; f++)
        fprintf(out, "%-*s  ", width(s, f), s->flags[f].name);
    fprintf(out, "%5s %10s %6s%s %12s %9s %7s%s  verdict\n", "GPUs", "iteration", "MFU %",
            causal ? " causal %" : "", "tokens/s/GPU", "bubble %", "GiB", priced ? "       USD" : "");
    for (int i = 0; i < ss_sweep_shown(s); i++)
        write_row(s, &s->rows[i], priced, causal, out);
    write_rest(s, out);
    ss_sweep_answer(s, out);
    if (s->warnings)
        ss_text_notes("Warnings", s->warnings, 20, out);
    return ss_report_done(out, err);
}

static json_t *row_object(const struct ss_sweep *s, const struct ss_sweep_row *row)
{
    const struct ss_summary *u = &row->summary;
    json_t *o = json_object(), *flags = json_object();

    for (int f = 0; f < s->nflags; f++)
        ss_json_text(flags, s->flags[f].name, value_of(s, row, f));
    ss_json_set(o, "flags", flags);
    ss_json_verdict(o, u);
    if (u->outcome != SS_OUTCOME_REFUSED)
        ss_json_metrics(o, -1, u);
    return o;
}

static void put_index(json_t *o, const char *key, int index)
{
    ss_json_set(o, key, index < 0 ? json_null() : json_integer(index));
}

static int write_json(const struct ss_sweep *s, FILE *out, struct ss_error *err)
{
    json_t *root = ss_json_document("sweep"), *rows = json_array(), *left_out = NULL;

    for (int i = 0; i < s->nrows; i++)
        ss_json_append(rows, row_object(s, &s->rows[i]));
    ss_json_set(root, "rows", rows);
    for (int outcome = 0; outcome < SS_OUTCOME_COUNT; outcome++)
        if (s->left_out[outcome]) {
            left_out = left_out ? left_out : json_object();
            ss_json_integer(left_out, ss_outcome_word(outcome), s->left_out[outcome]);
        }
    if (left_out)
        ss_json_set(root, "left_out", left_out);
    put_index(root, "fastest", ss_sweep_best(s, SS_OUTCOME_FITS, 0));
    put_index(root, "most_per_gpu", ss_sweep_best(s, SS_OUTCOME_FITS, 1));
    put_index(root, "fastest_near_limit", ss_sweep_best_near_limit(s));
    ss_json_set(root, "warnings", ss_json_notes(s->warnings));
    return ss_json_write(root, out, err);
}

int ss_sweep_write_csv(const struct ss_sweep *s, FILE *out, struct ss_error *err)
{
    for (int f = 0; f < s->nflags; f++) {
        ss_csv_write(out, s->flags[f].name);
        fputc(',', out);
    }
    fputs("verdict,code,reason", out);
    for (int m = 0; m < SS_METRICS; m++)
        fprintf(out, ",%s", ss_metric_at(m)->key);
    fputc('\n', out);
    for (int i = 0; i < s->nrows; i++) {
        const struct ss_summary *u = &s->rows[i].summary;
        for (int f = 0; f < s->nflags; f++) {
            ss_csv_write(out, value_of(s, &s->rows[i], f));
            fputc(',', out);
        }
        fprintf(out, "%s,%s,", ss_outcome_word(u->outcome), u->code ? ss_status_name(u->code) : "");
        ss_csv_write(out, u->reason);
        for (int m = 0; m < SS_METRICS; m++) {
            double value = ss_metric_value(m, u);
            fputc(',', out);
            if (u->outcome != SS_OUTCOME_REFUSED && ss_metric_known(m, u) && isfinite(value))
                fprintf(out, "%.10g", value);
        }
        fputc('\n', out);
    }
    return ss_report_done(out, err);
}

int ss_sweep_write(const struct ss_sweep *s, int json, FILE *out, struct ss_error *err)
{
    return json ? write_json(s, out, err) : write_text(s, out, err);
}
