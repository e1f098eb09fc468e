/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a validation for people and as JSON. */
#include "base/stats.h"
#include "report/common.h"
#include "study/study_internal.h"

static struct ss_json *figures(const struct ss_summary *s)
{
    struct ss_json *o = ss_json_begin_object();

    ss_json_metrics(o, -1, s);
    return o;
}

static struct ss_json *bounds(const struct ss_validation_row *r)
{
    return SS_OBJECT(SS_KEY("none_ms", ss_known(1e3 * r->none.seconds)),
                     SS_KEY("none_mib", ss_known(r->none.bytes / SS_MIB)),
                     SS_KEY("full_ms", ss_known(1e3 * r->full.seconds)),
                     SS_KEY("full_mib", ss_known(r->full.bytes / SS_MIB)));
}

/* Fills the row for JSON and text; `json`: with objects inside. */
static void fill_row(struct ss_row *to, const struct ss_validation_row *r, bool json)
{
    const char *predicted = r->predicted_outcome;
    const bool has_figures = json && predicted[0] && r->summary.outcome != SS_OUTCOME_REFUSED;

    SS_ADD(to, SS_SAME(r, id), SS_SAME(r, table), SS_SAME(r, source), SS_SAME(r, model), SS_SAME(r, platform),
           SS_SAME(r, stack), SS_SAME(r, gpu), SS_SAME(r, gpus), SS_SAME(r, precision),
           SS_SAME(r, configuration), SS_SAME(r, quality),
           SS_KEY("counted", (bool)(r->counted && strcmp(predicted, "unsupported") != 0)),
           SS_SAME(r, outcome), SS_SAME(r, predicted_outcome),
           SS_KEY_IF(predicted[0], "verdict", ss_outcome_word(r->summary.outcome)),
           SS_KEY_IF(has_figures, "figures", figures(&r->summary)),
           SS_KEY("right", r->right < 0 ? ss_cell_number(NAN) : ss_cell_flag(r->right)),
           SS_KEY("measured_ms", ss_known(1e3 * r->measured_s)),
           SS_KEY("predicted_ms", ss_known(1e3 * r->summary.iteration_s)),
           SS_KEY("error_pct", ss_validation_time_error(r)), SS_SAME(r, memory_kind),
           SS_KEY("measured_mib", ss_known(r->measured_bytes / SS_MIB)),
           SS_KEY("predicted_mib", ss_known(r->predicted_bytes / SS_MIB)),
           SS_KEY("memory_error_pct", ss_validation_memory_error(r)), SS_SAME(r, reason),
           SS_KEY_IF(json && r->none.seconds > 0, "recompute_bounds", bounds(r)));
}

static const char *verdict(const struct ss_validation_row *r, char *buf, size_t size)
{
    snprintf(buf, size, "%s, %s%s", r->outcome,
             r->predicted_outcome[0] ? ss_outcome_word(r->summary.outcome) : "not predicted",
             r->right == 0 ? " (wrong)" : "");
    return buf;
}

static void add_reasons(const struct ss_validation_row *r, struct ss_grid *grid)
{
    char full[96] = "";

    if (r->reason[0])
        ss_grid_line(grid, "  %s: %s", r->id, r->reason);
    if (r->full.seconds > 0)
        snprintf(full, sizeof full, "; everything %.1f ms, %.0f MiB", 1e3 * r->full.seconds,
                 r->full.bytes / SS_MIB);
    if (r->none.seconds > 0)
        ss_grid_line(grid, "  %s: recompute unknown: nothing %.1f ms, %.0f MiB%s", r->id,
                     1e3 * r->none.seconds, r->none.bytes / SS_MIB, full);
}

static int print_rows(const struct ss_validation *v, const struct ss_display *view, FILE *out)
{
    static const struct ss_column columns[] = {{"id", "id\n", "%-s", 1, 0},
                                               {"configuration", "configuration\n", "%-s", 1, 2},
                                               {"measured_ms", "measured\nms", "%.1f", 1, 0},
                                               {"predicted_ms", "predicted\nms", "%.1f", 1, 0},
                                               {"error_pct", "error\n%", "%+.1f", 1, 0},
                                               {"measured_mib", "measured\nMiB", "%.0f", 1, 1},
                                               {"predicted_mib", "predicted\nMiB", "%.0f", 1, 1},
                                               {"memory_error_pct", "error\n%", "%+.1f", 1, 1},
                                               {"known_quality", "quality\n", "%-s", 1, 3},
                                               {"judged", "measured,\nverdict", "%-s", 1, 0}};
    struct ss_grid grid;

    ss_grid_begin(&grid, columns, SS_ARRAY_LEN(columns));
    for (int i = 0; i < v->nrows; i++) {
        const struct ss_validation_row *of = &v->rows[i];
        struct ss_row r = {0};
        char text[80];
        fill_row(&r, of, false);
        SS_ADD(&r, SS_KEY("known_quality", of->quality[0] ? of->quality : "-"),
               SS_KEY("judged", verdict(of, text, sizeof text)));
        ss_grid_row(&grid, &r);
        add_reasons(of, &grid);
    }
    return ss_grid_end(&grid, view, out);
}

static const struct ss_column summary_columns[] = {
    {"name", "errors, %\n", "%-s", 1, 0},        {"time_n", "time:\nrows", "%.0f", 1, 0},
    {"time_mean", "\nmean", "%.2f", 1, 0},       {"time_median", "\nmedian", "%.2f", 1, 2},
    {"time_worst", "\nworst", "%.1f", 1, 0},     {"time_bias", "\nbias", "%+.2f", 1, 0},
    {"memory_n", "memory:\nrows", "%.0f", 1, 0}, {"memory_mean", "\nmean", "%.2f", 1, 1},
    {"memory_median", "\nmedian", "%.2f", 1, 2}, {"memory_worst", "\nworst", "%.1f", 1, 1},
    {"memory_bias", "\nbias", "%+.2f", 1, 1},    {"right", "fits?\nright", "%5s", 1, 0}};

void ss_summary_begin(struct ss_grid *grid)
{
    ss_grid_begin(grid, summary_columns, SS_ARRAY_LEN(summary_columns));
}

void ss_summary_add(const struct ss_validation_summary *s, struct ss_grid *grid)
{
    const double time = s->time.n ? 1 : NAN, memory = s->memory.n ? 1 : NAN;
    char name[sizeof s->name + 2], right[32] = "";
    struct ss_row r = {0};

    snprintf(name, sizeof name, "  %s", s->name);

    if (s->outcomes)
        snprintf(right, sizeof right, "%d/%d", s->right, s->outcomes);
    SS_ADD(&r, SS_KEY("name", name), SS_KEY("time_n", s->time.n),
           SS_KEY("time_mean", time * s->time.mean_abs), SS_KEY("time_median", time * s->time.median_abs),
           SS_KEY("time_worst", time * s->time.worst_abs), SS_KEY("time_bias", time * s->time.bias),
           SS_KEY("memory_n", s->memory.n), SS_KEY("memory_mean", memory * s->memory.mean_abs),
           SS_KEY("memory_median", memory * s->memory.median_abs),
           SS_KEY("memory_worst", memory * s->memory.worst_abs),
           SS_KEY("memory_bias", memory * s->memory.bias), SS_KEY("right", right));
    ss_grid_row(grid, &r);
}

/* Prints the mean over sources. Every source weighs the same, however many rows it has. */
static void add_over_sources(const struct ss_validation *v, struct ss_grid *grid)
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
        ss_grid_line(grid, "  over the %d sources: mean %.2f, median %.2f of their mean time errors", n,
                     mean / n, ss_median(means, (size_t)n));
}

static int print_summaries(const struct ss_validation *v, const struct ss_display *view, FILE *out)
{
    static const char *const titles[] = {"by model",     "by GPU",
                                         "by precision", "by source and platform",
                                         "by outcome",   "not in any figure above, by quality"};

    struct ss_grid grid;

    fputc('\n', out);
    ss_summary_begin(&grid);
    ss_summary_add(&v->all, &grid);
    for (int g = 0; g < SS_BY_COUNT; g++) {
        if (!v->ngroups[g])
            continue;
        ss_grid_line(&grid, "%s", titles[g]);
        for (int i = 0; i < v->ngroups[g]; i++)
            ss_summary_add(&v->groups[g][i], &grid);
        if (g == SS_BY_SOURCE)
            add_over_sources(v, &grid);
    }
    return ss_grid_end(&grid, view, out);
}

static void fill_timer(struct ss_row *r, const struct ss_validation_timer *t)
{
    SS_ADD(r, SS_SAME(t, id), SS_KEY("timer", t->name), SS_KEY("measured_ms", ss_known(1e3 * t->measured_s)),
           SS_KEY("predicted_ms", ss_known(1e3 * t->predicted_s)),
           SS_KEY("error_pct", ss_validation_timer_error(t)));
}

static int print_timers(const struct ss_validation *v, const struct ss_display *view, FILE *out)
{
    static const struct ss_column columns[] = {{"id", "Timers\n", "%-s", 1, 0},
                                               {"timer", "of the last rank\n", "%-s", 1, 0},
                                               {"measured_ms", "measured\nms", "%.2f", 1, 0},
                                               {"predicted_ms", "predicted\nms", "%.2f", 1, 0},
                                               {"error_pct", "error\n%", "%+.1f", 1, 0}};
    const struct ss_error_stat *all = &v->timer_error;
    struct ss_grid grid;

    if (!v->ntimers)
        return SS_OK;
    fputc('\n', out);
    ss_grid_begin(&grid, columns, SS_ARRAY_LEN(columns));
    for (int i = 0; i < v->ntimers; i++) {
        struct ss_row r = {0};
        fill_timer(&r, &v->timers[i]);
        ss_grid_row(&grid, &r);
    }
    int rc = ss_grid_end(&grid, view, out);
    if (all->n)
        fprintf(out,
                "  %d of 1 %% of the iteration or more: mean %.2f, median %.2f, worst %.1f, bias %+.2f %%\n",
                all->n, all->mean_abs, all->median_abs, all->worst_abs, all->bias);
    return rc;
}

int ss_validation_write_text(const struct ss_validation *v, const struct ss_display *view, FILE *out,
                             struct ss_error *err)
{
    int rc = print_rows(v, view, out);

    SS_THEN(rc, print_summaries(v, view, out));
    SS_THEN(rc, print_timers(v, view, out));
    if (v->unsupported)
        fprintf(out, "unsupported: %d row%s that %s not modelled, counted nowhere above\n", v->unsupported,
                ss_plural(v->unsupported), v->unsupported == 1 ? "is" : "are");
    for (unsigned long i = 0; i < v->notes.n; i++)
        fprintf(out, "note: %s\n", v->notes.text[i]);
    if (rc || v->notes.lost)
        return ss_nomem(err);
    return ss_report_done(out, err);
}

/* ---- JSON ---- */

static struct ss_json *row_object(const void *row)
{
    struct ss_row r = {0};

    fill_row(&r, row, true);
    return ss_json_object(r.at);
}

static struct ss_json *timer_object(const void *timer)
{
    struct ss_row r = {0};

    fill_timer(&r, timer);
    return ss_json_object(r.at);
}

struct ss_json *ss_summary_json(const struct ss_validation_summary *s)
{
    return SS_OBJECT(SS_KEY("time", ss_error_stat_json(&s->time)),
                     SS_KEY("memory", ss_error_stat_json(&s->memory)),
                     SS_KEY("outcomes", SS_OBJECT(SS_KEY("n", s->outcomes), SS_SAME(s, right))));
}

/* Returns the summaries by the name of their group. */
static struct ss_json *groups_object(const struct ss_validation_summary *groups, int n)
{
    struct ss_json *o = ss_json_begin_object();

    for (int i = 0; i < n; i++)
        SS_PUT(o, SS_KEY(groups[i].name, ss_summary_json(&groups[i])));
    return o;
}

int ss_validation_write_json(const struct ss_validation *v, FILE *out, struct ss_error *err)
{
    struct ss_json *o = ss_json_document("validate"), *groups = ss_json_begin_object();

    for (int g = 0; g < SS_BY_COUNT; g++)
        SS_PUT(groups, SS_KEY(ss_validation_group_name(g), groups_object(v->groups[g], v->ngroups[g])));
    SS_PUT(o, SS_KEY("rows", SS_LIST(row_object, v->rows, v->nrows)),
           SS_KEY("summary", ss_summary_json(&v->all)), SS_KEY("groups", groups));
    if (v->ntimers)
        SS_PUT(o, SS_KEY("timers", SS_LIST(timer_object, v->timers, v->ntimers)),
               SS_KEY("timer_summary", ss_error_stat_json(&v->timer_error)));
    SS_PUT(o, SS_SAME(v, unsupported), SS_KEY("notes", ss_json_notes(&v->notes)));
    return ss_json_write(o, out, err);
}
