/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a validation for people and as JSON. */
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "base/stats.h"
#include "report/common.h"
#include "study/study_internal.h"

static const char *number(double value, const char *fmt, char *buf, size_t size)
{
    if (isfinite(value) && value != 0)
        snprintf(buf, size, fmt, value);
    else
        ss_copy(buf, size, "-");
    return buf;
}

static const char *error_text(double error, char *buf, size_t size)
{
    if (isfinite(error))
        snprintf(buf, size, "%+.1f", error);
    else
        ss_copy(buf, size, "-");
    return buf;
}

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

static void print_reasons(const struct ss_validation_row *r, int id_width, FILE *out)
{
    if (r->reason[0])
        fprintf(out, "%*s %s\n", id_width, "", r->reason);
    if (r->none.seconds > 0)
        fprintf(out, "%*s recompute unknown: nothing %.1f ms, %.0f MiB", id_width, "", 1e3 * r->none.seconds,
                r->none.bytes / SS_MIB);
    if (r->full.seconds > 0)
        fprintf(out, "; everything %.1f ms, %.0f MiB", 1e3 * r->full.seconds, r->full.bytes / SS_MIB);
    if (r->none.seconds > 0)
        fputc('\n', out);
}

static void print_rows(const struct ss_validation *v, FILE *out)
{
    char id[24], configuration[24], text[80];
    const struct ss_column columns[] = {{"id", "id", id, 1},
                                        {"configuration", "configuration", configuration, 1},
                                        {"measured_ms", "measured", " %10.1f", 1},
                                        {"predicted_ms", "predicted", " %10.1f", 1},
                                        {"error_pct", "error", " %+7.1f", 1},
                                        {"measured_mib", "measured", " %8.0f", 1},
                                        {"predicted_mib", "predicted", " %8.0f", 1},
                                        {"memory_error_pct", "error", " %+7.1f", 1},
                                        {"known_quality", "quality", "  %-10s", 1},
                                        {"judged", "measured, verdict", " %s", 1}};
    int wide = 4, wider = 13;

    for (int i = 0; i < v->nrows; i++) {
        int a = (int)strlen(v->rows[i].id), b = (int)strlen(v->rows[i].configuration);
        wide = a > wide && a <= 44 ? a : wide;
        wider = b > wider ? b : wider;
    }
    snprintf(id, sizeof id, "%%-%ds", wide);
    snprintf(configuration, sizeof configuration, " %%-%ds", wider);
    ss_row_heads(columns, SS_ARRAY_LEN(columns), out);
    fprintf(out, "%-*s %-*s %10s %10s %7s %8s %8s %7s\n", wide, "", wider, "", "ms", "ms", "%", "MiB", "MiB",
            "%");
    for (int i = 0; i < v->nrows; i++) {
        const struct ss_validation_row *of = &v->rows[i];
        struct ss_row r = {0};
        fill_row(&r, of, false);
        SS_ADD(&r, SS_KEY("known_quality", of->quality[0] ? of->quality : "-"),
               SS_KEY("judged", verdict(of, text, sizeof text)));
        ss_row_text(&r, columns, SS_ARRAY_LEN(columns), out);
        print_reasons(of, wide, out);
    }
}

static void print_stat(const struct ss_error_stat *s, FILE *out)
{
    if (s->n)
        fprintf(out, " %5d %6.2f %6.2f %6.1f %+7.2f ", s->n, s->mean_abs, s->median_abs, s->worst_abs,
                s->bias);
    else
        fprintf(out, " %5d %6s %6s %6s %7s ", 0, "-", "-", "-", "-");
}

void ss_summary_heads(const char *what, FILE *out)
{
    fprintf(out, "\n%-32s %-36s %-36s %s\n", what, "time", "memory", "outcomes");
    fprintf(out, "%-32s", "");
    for (int i = 0; i < 2; i++)
        fprintf(out, " %5s %6s %6s %6s %7s ", "rows", "mean", "median", "worst", "bias");
    fputs("   right\n", out);
}

void ss_summary_print(const struct ss_validation_summary *s, FILE *out)
{
    fprintf(out, "  %-30s", s->name);
    print_stat(&s->time, out);
    print_stat(&s->memory, out);
    if (s->outcomes)
        fprintf(out, "%5d of %d", s->right, s->outcomes);
    fputc('\n', out);
}

/* Prints the mean over sources. Every source weighs the same, however many rows it has. */
static void print_over_sources(const struct ss_validation *v, FILE *out)
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
        fprintf(out, "  over the %d sources: mean %.2f, median %.2f of their mean time errors\n", n, mean / n,
                ss_median(means, (size_t)n));
}

static void print_summaries(const struct ss_validation *v, FILE *out)
{
    static const char *const titles[] = {"by model",     "by GPU",
                                         "by precision", "by source and platform",
                                         "by outcome",   "not in any figure above, by quality"};

    ss_summary_heads("Errors in %", out);
    ss_summary_print(&v->all, out);
    for (int g = 0; g < SS_BY_COUNT; g++) {
        if (!v->ngroups[g])
            continue;
        fprintf(out, "%s\n", titles[g]);
        for (int i = 0; i < v->ngroups[g]; i++)
            ss_summary_print(&v->groups[g][i], out);
        if (g == SS_BY_SOURCE)
            print_over_sources(v, out);
    }
}

static void print_timers(const struct ss_validation *v, FILE *out)
{
    const struct ss_error_stat *all = &v->timer_error;
    char a[32], b[32];

    if (!v->ntimers)
        return;
    fprintf(out, "\n%-12s %-36s %10s %10s %7s\n", "Timers", "of the last rank", "measured", "predicted",
            "error");
    fprintf(out, "%-12s %-36s %10s %10s %7s\n", "", "", "ms", "ms", "%");
    for (int i = 0; i < v->ntimers; i++) {
        const struct ss_validation_timer *t = &v->timers[i];
        fprintf(out, "%-12s %-36s %10.2f %10s %7s\n", t->id, t->name, 1e3 * t->measured_s,
                number(1e3 * t->predicted_s, "%.2f", a, sizeof a),
                error_text(ss_validation_timer_error(t), b, sizeof b));
    }
    if (all->n)
        fprintf(out,
                "  %d of 1 %% of the iteration or more: mean %.2f, median %.2f, worst %.1f, bias %+.2f %%\n",
                all->n, all->mean_abs, all->median_abs, all->worst_abs, all->bias);
}

int ss_validation_write_text(const struct ss_validation *v, FILE *out, struct ss_error *err)
{
    print_rows(v, out);
    print_summaries(v, out);
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

static json_t *row_object(const void *row)
{
    struct ss_row r = {0};

    fill_row(&r, row, true);
    return ss_json_object(r.at);
}

static json_t *timer_object(const void *timer)
{
    const struct ss_validation_timer *t = timer;

    return SS_OBJECT(SS_SAME(t, id), SS_KEY("timer", t->name),
                     SS_KEY("measured_ms", ss_known(1e3 * t->measured_s)),
                     SS_KEY("predicted_ms", ss_known(1e3 * t->predicted_s)),
                     SS_KEY("error_pct", ss_validation_timer_error(t)));
}

json_t *ss_summary_json(const struct ss_validation_summary *s)
{
    return SS_OBJECT(SS_KEY("time", ss_error_stat_json(&s->time)),
                     SS_KEY("memory", ss_error_stat_json(&s->memory)),
                     SS_KEY("outcomes", SS_OBJECT(SS_KEY("n", s->outcomes), SS_SAME(s, right))));
}

/* Returns the summaries by the name of their group, as valid UTF-8. */
static json_t *groups_object(const struct ss_validation_summary *groups, int n)
{
    json_t *o = json_object();

    for (int i = 0; i < n; i++) {
        json_t *name = ss_json_string(groups[i].name);
        ss_json_set(o, json_string_value(name), ss_summary_json(&groups[i]));
        json_decref(name);
    }
    return o;
}

int ss_validation_write_json(const struct ss_validation *v, FILE *out, struct ss_error *err)
{
    json_t *o = ss_json_document("validate"), *groups = json_object();

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
