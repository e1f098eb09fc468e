/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep as a table, and as JSON. */
#include "stepsim/sweep.h"

#include "report/common.h"
#include "report/table.h"
#include "report/text.h"
#include "study/study_internal.h"

static const char *value_of(const struct ss_sweep *s, const struct ss_sweep_row *row, int flag)
{
    return s->flags[flag].value[row->at[flag]];
}

static void table_rows(struct ss_report_table *t, const void *of)
{
    const struct ss_sweep *s = of;

    for (int i = 0; i < ss_sweep_shown(s); i++) {
        const struct ss_summary *u = &s->rows[i].summary;
        const bool is_refused = u->outcome == SS_OUTCOME_REFUSED;
        const bool says_why = u->reason[0] && (is_refused || t->form == SS_FORM_PAGE);
        struct ss_cell cells[SS_SWEEP_FLAGS + 10];
        char text[400];
        int n = 0;
        for (; n < s->nflags; n++)
            cells[n] = SS_CELL(value_of(s, &s->rows[i], n));
        const struct ss_cell figures[] =
            SS_CELLS(u->gpus, u->iteration_s, ss_known(u->band_pct), u->mfu, ss_text_causal_mfu(u),
                     u->tokens_per_s_per_gpu, u->bubble_fraction, u->peak_device, u->usd_per_iteration);
        for (size_t k = 0; !is_refused && k < SS_ARRAY_LEN(figures); k++)
            cells[n++] = figures[k];
        snprintf(text, sizeof text, "%s%s%s", ss_outcome_word(u->outcome), says_why ? ": " : "",
                 says_why ? u->reason : "");
        cells[n++] = SS_CELL((const char *)text);
        ss_report_table_row(t, cells, n);
    }
}

void ss_sweep_table(const struct ss_sweep *s, bool page, FILE *out)
{
    bool causal = false, priced = false;
    char columns[1024] = "";
    size_t n = 0;

    for (int i = 0; i < s->nrows; i++) {
        causal |= ss_text_is_causal(&s->rows[i].summary);
        priced |= s->rows[i].summary.usd_per_iteration > 0;
    }
    for (int f = 0; f < s->nflags; f++)
        n += (size_t)snprintf(columns + n, sizeof columns - n, "%s:-*s|", s->flags[f].name);
    ss_copy(columns + n, sizeof columns - n,
            "GPUs:  5d|iteration:10t|\302\261 %:6.1f|MFU %:6.1p|causal %:8.1p|"
            "tokens/s/GPU:12.1f|bubble %:9.1p|GiB:7.1G|USD:9.3f|verdict:-s");
    struct ss_report_table t = {.columns = columns,
                                .left_out = (!page * 4u | !causal * 16u | !priced * 256u) << s->nflags};
    ss_report_table_write(&t, page ? SS_FORM_PAGE : SS_FORM_TEXT, table_rows, s, out);
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

/* What the table does not have. */
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
    ss_sweep_table(s, false, out);
    write_rest(s, out);
    ss_sweep_answer(s, out);
    if (s->warnings)
        ss_text_notes("Warnings", s->warnings, 20, out);
    return ss_report_done(out, err);
}

static json_t *row_object(const struct ss_sweep *s, const struct ss_sweep_row *row)
{
    json_t *o = json_object(), *flags = json_object();

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
    json_t *root = ss_json_document("sweep"), *rows = json_array(), *left_out = NULL;

    for (int i = 0; i < s->nrows; i++)
        ss_json_append(rows, row_object(s, &s->rows[i]));
    for (int outcome = 0; outcome < SS_OUTCOME_COUNT; outcome++)
        if (s->left_out[outcome]) {
            left_out = left_out ? left_out : json_object();
            SS_PUT(left_out, SS_KEY(ss_outcome_word(outcome), s->left_out[outcome]));
        }
    SS_PUT(root, SS_KEY("rows", rows), SS_KEY_IF(left_out, "left_out", left_out),
           SS_KEY("fastest", ss_cell_index(ss_sweep_best(s, SS_OUTCOME_FITS, 0))),
           SS_KEY("most_per_gpu", ss_cell_index(ss_sweep_best(s, SS_OUTCOME_FITS, 1))),
           SS_KEY("fastest_near_limit", ss_cell_index(ss_sweep_best_near_limit(s))),
           SS_KEY("warnings", ss_json_notes(s->warnings)));
    return ss_json_write(root, out, err);
}

int ss_sweep_write_csv(const struct ss_sweep *s, FILE *out, struct ss_error *err)
{
    static const struct ss_sweep_row none;

    for (int i = -1; i < s->nrows; i++) {
        const struct ss_sweep_row *row = i < 0 ? &none : &s->rows[i];
        const struct ss_summary *u = &row->summary;
        struct ss_record r = {0};
        for (int f = 0; f < s->nflags; f++)
            SS_ADD(&r, SS_KEY(s->flags[f].name, value_of(s, row, f)));
        SS_ADD(&r, SS_KEY("verdict", ss_outcome_word(u->outcome)),
               SS_KEY_IF(u->code, "code", ss_status_name(u->code)), SS_FIELDS(u, reason));
        size_t first = r.n;
        ss_record_metrics(&r, u);
        if (u->outcome == SS_OUTCOME_REFUSED)
            ss_record_clear(&r, first);
        ss_record_csv(&r, i < 0, out);
    }
    return ss_report_done(out, err);
}

int ss_sweep_write(const struct ss_sweep *s, int json, FILE *out, struct ss_error *err)
{
    return json ? write_json(s, out, err) : write_text(s, out, err);
}
