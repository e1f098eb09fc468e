/* SPDX-License-Identifier: Apache-2.0 */
/* `validate` for people and as JSON. */
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "base/stats.h"
#include "report/common.h"
#include "report/table.h"
#include "study/study_internal.h"

static const char *verdict(const struct ss_validation_row *r, char *buf, size_t size)
{
    snprintf(buf, size, "%s, %s%s", r->outcome,
             r->predicted_outcome[0] ? ss_outcome_word(r->summary.outcome) : "not predicted",
             r->right == 0 ? " (wrong)" : "");
    return buf;
}

static void print_bounds(struct ss_report_table *t, const struct ss_validation_row *r)
{
    char full[64] = "";

    if (r->full.seconds > 0)
        snprintf(full, sizeof full, "; everything %.1f ms, %.0f MiB", 1e3 * r->full.seconds,
                 r->full.bytes / SS_MIB);
    if (r->none.seconds > 0)
        ss_report_table_line(t, 1, "recompute unknown: nothing %.1f ms, %.0f MiB%s", 1e3 * r->none.seconds,
                             r->none.bytes / SS_MIB, full);
}

static void run_rows(struct ss_report_table *t, const void *of)
{
    const struct ss_validation *v = of;
    char text[80];

    if (t->form == SS_FORM_TEXT)
        SS_ROW(t, "", "", "ms", "ms", "%", "MiB", "MiB", "%", "", "");
    for (int i = 0; i < v->nrows; i++) {
        const struct ss_validation_row *r = &v->rows[i];
        SS_ROW(t, r->id, r->configuration, ss_known(r->measured_s), ss_known(r->summary.iteration_s),
               ss_validation_time_error(r), ss_known(r->measured_bytes), ss_known(r->predicted_bytes),
               ss_validation_memory_error(r), r->quality[0] ? r->quality : "-",
               verdict(r, text, sizeof text));
        if (r->reason[0])
            ss_report_table_line(t, 1, "%s", r->reason);
        print_bounds(t, r);
    }
}

static void summary_row(struct ss_report_table *t, const struct ss_validation_summary *s)
{
    const struct ss_error_stat *of[] = {&s->time, &s->memory};
    struct ss_cell cells[12];
    char right[32] = "";
    int n = 0;

    cells[n++] = SS_CELL(s->name);
    for (int i = 0; i < 2; i++) {
        const int has = of[i]->n > 0;
        const struct ss_cell stat[] =
            SS_CELLS(of[i]->n, has ? of[i]->mean_abs : NAN, has ? of[i]->median_abs : NAN,
                     has ? of[i]->worst_abs : NAN, has ? of[i]->bias : NAN);
        for (size_t k = 0; k < SS_ARRAY_LEN(stat); k++)
            cells[n++] = stat[k];
    }
    if (s->outcomes)
        snprintf(right, sizeof right, "%5d of %d", s->right, s->outcomes);
    cells[n++] = SS_CELL((const char *)right);
    ss_report_table_row(t, cells, n);
}

/* Every source weighs the same, however many rows it has. */
static void print_over_sources(struct ss_report_table *t, const struct ss_validation *v)
{
    double mean = 0, means[1024];
    int n = 0;

    for (int i = 0; i < v->ngroups[SS_BY_SOURCE] && n < 1024; i++)
        if (v->groups[SS_BY_SOURCE][i].time.n) {
            means[n] = v->groups[SS_BY_SOURCE][i].time.mean_abs;
            mean += means[n++];
        }
    ss_sort(means, (size_t)n);
    if (n > 1)
        ss_report_table_line(t, 0, "  over the %d sources: mean %.2f, median %.2f of their mean time errors",
                             n, mean / n, ss_median(means, (size_t)n));
}

static void summary_rows(struct ss_report_table *t, const void *of)
{
    static const char *const titles[] = {"by model",     "by GPU",
                                         "by precision", "by source and platform",
                                         "by outcome",   "not in any figure above, by quality"};
    const struct ss_validation *v = of;

    summary_row(t, &v->all);
    for (int g = 0; g < SS_BY_COUNT; g++) {
        if (!v->ngroups[g])
            continue;
        ss_report_table_line(t, 0, "%s", titles[g]);
        for (int i = 0; i < v->ngroups[g]; i++)
            summary_row(t, &v->groups[g][i]);
        if (g == SS_BY_SOURCE)
            print_over_sources(t, v);
    }
}

/* Text and JSON of timers. */
static const struct ss_report_table timers = {
    .columns = "Timers:-12s:id|of the last rank: -36s:timer|"
               "measured:10.2m:measured_ms:m|predicted:10.2m:predicted_ms:m|"
               "error:+7.1f:error_pct"};

static void timer_rows(struct ss_report_table *t, const void *of)
{
    const struct ss_validation *v = of;

    if (t->form == SS_FORM_TEXT)
        SS_ROW(t, "", "", "ms", "ms", "%");
    for (int i = 0; i < v->ntimers; i++) {
        const struct ss_validation_timer *x = &v->timers[i];
        SS_ROW(t, x->id, x->name, ss_known(x->measured_s), ss_known(x->predicted_s),
               ss_validation_timer_error(x));
    }
}

static void print_timers(const struct ss_validation *v, FILE *out)
{
    const struct ss_error_stat *all = &v->timer_error;
    struct ss_report_table t = timers;

    if (!v->ntimers)
        return;
    fputc('\n', out);
    ss_report_table_write(&t, SS_FORM_TEXT, timer_rows, v, out);
    if (all->n)
        fprintf(out,
                "  %d of 1 %% of the iteration or more: mean %.2f, median %.2f, worst %.1f, bias %+.2f %%\n",
                all->n, all->mean_abs, all->median_abs, all->worst_abs, all->bias);
}

int ss_validation_write_text(const struct ss_validation *v, FILE *out, struct ss_error *err)
{
    struct ss_report_table runs = {.columns =
                                       "id:-4*44s|configuration: -13*s|measured:10.1m|predicted:10.1m|"
                                       "error:+7.1f|measured:8.0M|predicted:8.0M|error:+7.1f|quality:-10s|"
                                       "measured, verdict: -s"};
    struct ss_report_table errors = {
        .columns = ":-30s|rows:5d|mean:6.2f|median:6.2f|worst:6.1f|bias:+7.2f|rows:  5d|"
                   "mean:6.2f|median:6.2f|worst:6.1f|bias:+7.2f|   right: -s",
        .indent = 2};

    ss_report_table_write(&runs, SS_FORM_TEXT, run_rows, v, out);
    fprintf(out, "\n%-32s %-36s %-36s %s\n", "Errors in %", "time", "memory", "outcomes");
    ss_report_table_write(&errors, SS_FORM_TEXT, summary_rows, v, out);
    print_timers(v, out);
    if (v->unsupported)
        fprintf(out, "unsupported: %d rows that are not modelled, counted nowhere above\n", v->unsupported);
    for (unsigned long i = 0; i < v->notes.n; i++)
        fprintf(out, "note: %s\n", v->notes.text[i]);
    if (v->notes.lost)
        return ss_nomem(err);
    return ss_report_done(out, err);
}

/* ---- JSON ---- */

static json_t *figures(const struct ss_summary *s)
{
    json_t *o = json_object();

    ss_json_metrics(o, -1, s);
    return o;
}

static json_t *bounds(const struct ss_validation_row *r)
{
    return SS_OBJECT(SS_KEY("none_ms", ss_known(1e3 * r->none.seconds)),
                     SS_KEY("none_mib", ss_known(r->none.bytes / SS_MIB)),
                     SS_KEY("full_ms", ss_known(1e3 * r->full.seconds)),
                     SS_KEY("full_mib", ss_known(r->full.bytes / SS_MIB)));
}

static json_t *row_object(const void *row)
{
    const struct ss_validation_row *r = row;
    const char *predicted = r->predicted_outcome;
    const int has_figures = predicted[0] && r->summary.outcome != SS_OUTCOME_REFUSED;

    return SS_OBJECT(
        SS_FIELDS(r, id, table, source, model, platform, stack, gpu, gpus, precision, configuration, quality),
        SS_KEY("counted", (bool)(r->counted && strcmp(predicted, "unsupported") != 0)),
        SS_FIELDS(r, outcome, predicted_outcome),
        SS_KEY_IF(predicted[0], "verdict", ss_outcome_word(r->summary.outcome)),
        SS_KEY_IF(has_figures, "figures", figures(&r->summary)),
        SS_KEY("right", r->right < 0 ? ss_cell_number(NAN) : ss_cell_flag(r->right)),
        SS_KEY("measured_ms", ss_known(1e3 * r->measured_s)),
        SS_KEY("predicted_ms", ss_known(1e3 * r->summary.iteration_s)),
        SS_KEY("error_pct", ss_validation_time_error(r)), SS_FIELDS(r, memory_kind),
        SS_KEY("measured_mib", ss_known(r->measured_bytes / SS_MIB)),
        SS_KEY("predicted_mib", ss_known(r->predicted_bytes / SS_MIB)),
        SS_KEY("memory_error_pct", ss_validation_memory_error(r)), SS_FIELDS(r, reason),
        SS_KEY_IF(r->none.seconds > 0, "recompute_bounds", bounds(r)));
}

static json_t *summary_object(const struct ss_validation_summary *s)
{
    return SS_OBJECT(SS_KEY("time", ss_error_stat_json(&s->time)),
                     SS_KEY("memory", ss_error_stat_json(&s->memory)),
                     SS_KEY("outcomes", SS_OBJECT(SS_KEY("n", s->outcomes), SS_FIELDS(s, right))));
}

/* Summaries by the name of their group, as valid UTF-8. */
static json_t *groups_object(const struct ss_validation_summary *groups, int n)
{
    json_t *o = json_object();

    for (int i = 0; i < n; i++) {
        json_t *name = ss_json_string(groups[i].name);
        ss_json_set(o, json_string_value(name), summary_object(&groups[i]));
        json_decref(name);
    }
    return o;
}

int ss_validation_write_json(const struct ss_validation *v, FILE *out, struct ss_error *err)
{
    json_t *o = ss_json_document("validate"), *groups = json_object();
    struct ss_report_table t = timers;

    for (int g = 0; g < SS_BY_COUNT; g++)
        SS_PUT(groups, SS_KEY(ss_validation_group_name(g), groups_object(v->groups[g], v->ngroups[g])));
    SS_PUT(o, SS_KEY("rows", SS_LIST(row_object, v->rows, v->nrows)),
           SS_KEY("summary", summary_object(&v->all)), SS_KEY("groups", groups));
    if (v->ntimers)
        SS_PUT(o, SS_KEY("timers", ss_report_table_json(&t, timer_rows, v)),
               SS_KEY("timer_summary", ss_error_stat_json(&v->timer_error)));
    SS_PUT(o, SS_FIELDS(v, unsupported), SS_KEY("notes", ss_json_notes(&v->notes)));
    return ss_json_write(o, out, err);
}
