/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a sweep as a table or as JSON. */
#include "stepsim/sweep.h"

#include "report/common.h"
#include "report/text.h"
#include "study/study_internal.h"

static const char *value_of(const struct ss_sweep *s, const struct ss_sweep_row *row, int flag)
{
    return s->flags[flag].value[row->at[flag]];
}

int ss_sweep_is_causal(const struct ss_sweep *s)
{
    for (int i = 0; i < s->nrows; i++)
        if (s->rows[i].summary.outcome != SS_OUTCOME_REFUSED && ss_text_is_causal(&s->rows[i].summary))
            return 1;
    return 0;
}

int ss_sweep_is_priced(const struct ss_sweep *s)
{
    for (int i = 0; i < s->nrows; i++)
        if (s->rows[i].summary.usd_per_iteration > 0)
            return 1;
    return 0;
}

/* Fills the row for text and CSV. A refused row has no figures. */
static void fill_row(struct ss_row *r, const struct ss_sweep *s, const struct ss_sweep_row *row)
{
    for (int f = 0; f < s->nflags; f++)
        SS_ADD(r, SS_KEY(s->flags[f].name, value_of(s, row, f)));
    ss_row_verdict(r, &row->summary);
    if (row->summary.outcome != SS_OUTCOME_REFUSED)
        ss_row_metrics(r, &row->summary);
}

static int write_rows(const struct ss_sweep *s, const struct ss_display *view, FILE *out)
{
    const struct ss_column figures[] = {
        {"gpus", "GPUs", "%.0f", 1, 2},
        {"iteration_ms", "iteration", "%10s", 1e-3, 0},
        {"mfu", "MFU %", "%.1f", 100, 1},
        {"causal", "causal %", ss_sweep_is_causal(s) ? "%.1f" : NULL, 100, 3},
        {"tokens_per_s_per_gpu", "tokens\n/s/GPU", "%.1f", 1, 1},
        {"bubble_fraction", "bubble\n%", "%.1f", 100, 4},
        {"peak_mib", "GiB", "%.1f", 1 / 1024.0, 0},
        {"usd_per_iteration", "USD", ss_sweep_is_priced(s) ? "%.3f" : NULL, 1, 0},
        {"verdict", "verdict", "%-s", 1, 0}};
    struct ss_column columns[SS_SWEEP_FLAGS + SS_ARRAY_LEN(figures)];
    size_t n = 0;
    struct ss_grid grid;

    for (int f = 0; f < s->nflags; f++)
        columns[n++] = (struct ss_column){s->flags[f].name, s->flags[f].name, "%-s", 1, 0};
    for (size_t i = 0; i < SS_ARRAY_LEN(figures); i++)
        columns[n++] = figures[i];
    ss_grid_begin(&grid, columns, n);
    for (int i = 0; i < ss_sweep_shown(s); i++) {
        const struct ss_summary *u = &s->rows[i].summary;
        struct ss_row r = {0};
        fill_row(&r, s, &s->rows[i]);
        SS_ADD(&r, SS_KEY("causal", ss_text_causal_mfu(u)));
        if (u->outcome == SS_OUTCOME_REFUSED)
            ss_grid_span(&grid, &r, "gpus", "%s: %s", ss_outcome_word(u->outcome), u->reason);
        else
            ss_grid_row(&grid, &r);
    }
    return ss_grid_end(&grid, view, out);
}

static void write_best(const struct ss_sweep *s, const char *what, int best, FILE *out)
{
    const struct ss_summary *u = &s->rows[best].summary;
    char time[32];

    fprintf(out, "%s:", what);
    for (int f = 0; f < s->nflags; f++)
        fprintf(out, " %s %s", s->flags[f].name, value_of(s, &s->rows[best], f));
    fprintf(out, ", %s", ss_text_time(u->iteration_s, time, sizeof time));
    fprintf(out, "%s an iteration, %.1f tokens/s/GPU", ss_text_band(u, time), u->tokens_per_s_per_gpu);
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

static int write_text(const struct ss_sweep *s, const struct ss_display *view, FILE *out,
                      struct ss_error *err)
{
    if (s->premises[0])
        fprintf(out, "%s\n\n", s->premises);
    int rc = write_rows(s, view, out);
    write_rest(s, out);
    ss_sweep_answer(s, out);
    if (s->warnings)
        ss_text_notes("Warnings", s->warnings, 20, out);
    return rc ? ss_nomem(err) : ss_report_done(out, err);
}

static struct ss_json *row_object(const struct ss_sweep *s, const struct ss_sweep_row *row)
{
    struct ss_json *o = ss_json_begin_object(), *flags = ss_json_begin_object();

    for (int f = 0; f < s->nflags; f++)
        SS_PUT(flags, SS_KEY(s->flags[f].name, value_of(s, row, f)));
    SS_PUT(o, SS_KEY("flags", flags));
    ss_json_verdict(o, &row->summary);
    if (row->summary.outcome != SS_OUTCOME_REFUSED)
        ss_json_metrics(o, -1, &row->summary);
    return o;
}

static int write_json(const struct ss_sweep *s, FILE *out, struct ss_error *err)
{
    struct ss_json *root = ss_json_document("sweep"), *rows = ss_json_begin_list(), *left_out = NULL;

    for (int i = 0; i < s->nrows; i++)
        SS_ITEM(rows, row_object(s, &s->rows[i]));
    for (int outcome = 0; outcome < SS_OUTCOME_COUNT; outcome++)
        if (s->left_out[outcome]) {
            left_out = left_out ? left_out : ss_json_begin_object();
            SS_PUT(left_out, SS_KEY(ss_outcome_word(outcome), s->left_out[outcome]));
        }
    SS_PUT(root, SS_KEY_IF(s->premises[0], "premises", s->premises), SS_KEY("rows", rows),
           SS_KEY_IF(left_out, "left_out", left_out),
           SS_KEY("fastest", ss_cell_index(ss_sweep_best(s, SS_OUTCOME_FITS, 0))),
           SS_KEY("most_per_gpu", ss_cell_index(ss_sweep_best(s, SS_OUTCOME_FITS, 1))),
           SS_KEY("fastest_near_limit", ss_cell_index(ss_sweep_best_near_limit(s))),
           SS_KEY("warnings", ss_json_notes(s->warnings)));
    return ss_json_write(root, out, err);
}

int ss_sweep_write_csv(const struct ss_sweep *s, FILE *out, struct ss_error *err)
{
    static const char *const more[] = {"verdict", "code", "reason", NULL};
    const char *keys[SS_SWEEP_FLAGS + SS_ARRAY_LEN(more)];
    size_t n = 0;

    for (int f = 0; f < s->nflags; f++)
        keys[n++] = s->flags[f].name;
    for (size_t i = 0; i < SS_ARRAY_LEN(more); i++)
        keys[n++] = more[i];
    ss_row_csv(NULL, keys, n, out);
    for (int i = 0; i < s->nrows; i++) {
        struct ss_row r = {0};
        fill_row(&r, s, &s->rows[i]);
        ss_row_csv(&r, keys, n, out);
    }
    return ss_report_done(out, err);
}

int ss_sweep_write(const struct ss_sweep *s, const struct ss_display *view, FILE *out, struct ss_error *err)
{
    return view && view->json ? write_json(s, out, err) : write_text(s, view, out, err);
}
