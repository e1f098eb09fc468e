/* SPDX-License-Identifier: Apache-2.0 */
/* `validate` for people and as JSON. */
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

static const char *verdict(const struct ss_validation_row *r, char *buf, size_t size)
{
    snprintf(buf, size, "%s, %s%s", r->outcome,
             r->predicted_outcome[0] ? ss_outcome_word(r->summary.outcome) : "not predicted",
             r->right == 0 ? " (wrong)" : "");
    return buf;
}

static void print_row(const struct ss_validation_row *r, int id_width, int configuration_width, FILE *out)
{
    char a[32], b[32], c[32], d[32], e[32], f[32], g[80];

    fprintf(out, "%-*s %-*s %10s %10s %7s %8s %8s %7s  %-10s %s\n", id_width, r->id, configuration_width,
            r->configuration, number(1e3 * r->measured_s, "%.1f", a, sizeof a),
            number(1e3 * r->summary.iteration_s, "%.1f", b, sizeof b),
            error_text(ss_validation_time_error(r), c, sizeof c),
            number(r->measured_bytes / SS_MIB, "%.0f", d, sizeof d),
            number(r->predicted_bytes / SS_MIB, "%.0f", e, sizeof e),
            error_text(ss_validation_memory_error(r), f, sizeof f), r->quality[0] ? r->quality : "-",
            verdict(r, g, sizeof g));
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

static void print_stat(const struct ss_error_stat *s, FILE *out)
{
    if (s->n)
        fprintf(out, " %5d %6.2f %6.2f %6.1f %+7.2f ", s->n, s->mean_abs, s->median_abs, s->worst_abs,
                s->bias);
    else
        fprintf(out, " %5d %6s %6s %6s %7s ", 0, "-", "-", "-", "-");
}

static void print_summary(const struct ss_validation_summary *s, FILE *out)
{
    fprintf(out, "  %-30s", s->name);
    print_stat(&s->time, out);
    print_stat(&s->memory, out);
    if (s->outcomes)
        fprintf(out, "%5d of %d", s->right, s->outcomes);
    fputc('\n', out);
}

/* Every source weighs the same, however many rows it has. */
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

    fprintf(out, "\n%-32s %-36s %-36s %s\n", "Errors in %", "time", "memory", "outcomes");
    fprintf(out, "%-32s", "");
    for (int i = 0; i < 2; i++)
        fprintf(out, " %5s %6s %6s %6s %7s ", "rows", "mean", "median", "worst", "bias");
    fputs("   right\n", out);
    print_summary(&v->all, out);
    for (int g = 0; g < SS_BY_COUNT; g++) {
        if (!v->ngroups[g])
            continue;
        fprintf(out, "%s\n", titles[g]);
        for (int i = 0; i < v->ngroups[g]; i++)
            print_summary(&v->groups[g][i], out);
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
    int id_width = 4, configuration_width = 13;

    for (int i = 0; i < v->nrows; i++) {
        int a = (int)strlen(v->rows[i].id), b = (int)strlen(v->rows[i].configuration);
        id_width = a > id_width && a <= 44 ? a : id_width;
        configuration_width = b > configuration_width ? b : configuration_width;
    }
    fprintf(out, "%-*s %-*s %10s %10s %7s %8s %8s %7s  %-10s %s\n", id_width, "id", configuration_width,
            "configuration", "measured", "predicted", "error", "measured", "predicted", "error", "quality",
            "measured, verdict");
    fprintf(out, "%-*s %-*s %10s %10s %7s %8s %8s %7s\n", id_width, "", configuration_width, "", "ms", "ms",
            "%", "MiB", "MiB", "%");
    for (int i = 0; i < v->nrows; i++)
        print_row(&v->rows[i], id_width, configuration_width, out);
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

static void put_known(json_t *o, const char *key, double value)
{
    ss_json_number(o, key, value > 0 ? value : NAN);
}

static json_t *figures(const struct ss_summary *s)
{
    json_t *o = json_object();

    ss_json_metrics(o, -1, s);
    return o;
}

static json_t *bounds(const struct ss_validation_row *r)
{
    json_t *o = json_object();

    put_known(o, "none_ms", 1e3 * r->none.seconds);
    put_known(o, "none_mib", r->none.bytes / SS_MIB);
    put_known(o, "full_ms", 1e3 * r->full.seconds);
    put_known(o, "full_mib", r->full.bytes / SS_MIB);
    return o;
}

static json_t *row_object(const struct ss_validation_row *r)
{
    json_t *o = json_object();

    ss_json_text(o, "id", r->id);
    ss_json_text(o, "table", r->table);
    ss_json_text(o, "source", r->source);
    ss_json_text(o, "model", r->model);
    ss_json_text(o, "platform", r->platform);
    ss_json_text(o, "stack", r->stack);
    ss_json_text(o, "gpu", r->gpu);
    ss_json_integer(o, "gpus", r->gpus);
    ss_json_text(o, "precision", r->precision);
    ss_json_text(o, "configuration", r->configuration);
    ss_json_text(o, "quality", r->quality);
    ss_json_flag(o, "counted", r->counted && strcmp(r->predicted_outcome, "unsupported") != 0);
    ss_json_text(o, "outcome", r->outcome);
    ss_json_text(o, "predicted_outcome", r->predicted_outcome);
    if (r->predicted_outcome[0])
        ss_json_text(o, "verdict", ss_outcome_word(r->summary.outcome));
    if (r->predicted_outcome[0] && r->summary.outcome != SS_OUTCOME_REFUSED)
        ss_json_set(o, "figures", figures(&r->summary));
    ss_json_set(o, "right", r->right < 0 ? json_null() : json_boolean(r->right));
    put_known(o, "measured_ms", 1e3 * r->measured_s);
    put_known(o, "predicted_ms", 1e3 * r->summary.iteration_s);
    ss_json_number(o, "error_pct", ss_validation_time_error(r));
    ss_json_text(o, "memory_kind", r->memory_kind);
    put_known(o, "measured_mib", r->measured_bytes / SS_MIB);
    put_known(o, "predicted_mib", r->predicted_bytes / SS_MIB);
    ss_json_number(o, "memory_error_pct", ss_validation_memory_error(r));
    ss_json_text(o, "reason", r->reason);
    if (r->none.seconds > 0)
        ss_json_set(o, "recompute_bounds", bounds(r));
    return o;
}

static json_t *stat_object(const struct ss_error_stat *s)
{
    json_t *o = json_object();

    ss_json_integer(o, "n", s->n);
    ss_json_number(o, "mean_abs_pct", s->n ? s->mean_abs : NAN);
    ss_json_number(o, "median_abs_pct", s->n ? s->median_abs : NAN);
    ss_json_number(o, "worst_abs_pct", s->n ? s->worst_abs : NAN);
    ss_json_number(o, "bias_pct", s->n ? s->bias : NAN);
    return o;
}

static json_t *summary_object(const struct ss_validation_summary *s)
{
    json_t *o = json_object(), *outcomes = json_object();

    ss_json_set(o, "time", stat_object(&s->time));
    ss_json_set(o, "memory", stat_object(&s->memory));
    ss_json_integer(outcomes, "n", s->outcomes);
    ss_json_integer(outcomes, "right", s->right);
    ss_json_set(o, "outcomes", outcomes);
    return o;
}

static json_t *timers_array(const struct ss_validation *v)
{
    json_t *list = json_array();

    for (int i = 0; i < v->ntimers; i++) {
        const struct ss_validation_timer *t = &v->timers[i];
        json_t *o = json_object();
        ss_json_text(o, "id", t->id);
        ss_json_text(o, "timer", t->name);
        put_known(o, "measured_ms", 1e3 * t->measured_s);
        put_known(o, "predicted_ms", 1e3 * t->predicted_s);
        ss_json_number(o, "error_pct", ss_validation_timer_error(t));
        ss_json_append(list, o);
    }
    return list;
}

int ss_validation_write_json(const struct ss_validation *v, FILE *out, struct ss_error *err)
{
    json_t *o = ss_json_document("validate"), *rows = json_array(), *groups = json_object();

    for (int i = 0; i < v->nrows; i++)
        ss_json_append(rows, row_object(&v->rows[i]));
    ss_json_set(o, "rows", rows);
    ss_json_set(o, "summary", summary_object(&v->all));
    for (int g = 0; g < SS_BY_COUNT; g++) {
        json_t *list = json_object();
        for (int i = 0; i < v->ngroups[g]; i++) {
            json_t *holder = json_object();
            ss_json_text(holder, "name", v->groups[g][i].name); /* as valid UTF-8 */
            ss_json_set(list, json_string_value(json_object_get(holder, "name")),
                        summary_object(&v->groups[g][i]));
            ss_json_free(holder);
        }
        ss_json_set(groups, ss_validation_group_name(g), list);
    }
    ss_json_set(o, "groups", groups);
    if (v->ntimers) {
        ss_json_set(o, "timers", timers_array(v));
        ss_json_set(o, "timer_summary", stat_object(&v->timer_error));
    }
    ss_json_integer(o, "unsupported", v->unsupported);
    ss_json_set(o, "notes", ss_json_notes(&v->notes));
    return ss_json_write(o, out, err);
}
