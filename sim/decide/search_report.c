/* SPDX-License-Identifier: Apache-2.0 */
/* A search as text, JSON and CSV. */
#include <math.h>
#include <string.h>

#include "base/csv.h"
#include "decide/search_internal.h"
#include "report/common.h"
#include "report/text.h"
#include "stepsim/search.h"

const char *ss_find_layout(const struct ss_find_point *p, char *buf, size_t size)
{
    size_t used = (size_t)snprintf(buf, size, "tp %d cp %d pp %d", p->tp, p->cp, p->pp);
    if (p->chunks > 1)
        used += (size_t)snprintf(buf + used, size - used, " x %d", p->chunks);
    if (p->ep > 1)
        used += (size_t)snprintf(buf + used, size - used, " ep %d", p->ep);
    used += (size_t)snprintf(buf + used, size - used, " mbs %d", p->micro_batch);
    if (strcmp(p->schedule, "auto") != 0)
        used += (size_t)snprintf(buf + used, size - used, " %s", p->schedule);
    if (p->fsdp)
        used += (size_t)snprintf(buf + used, size - used, " fsdp");
    if (p->recompute != SS_RECOMPUTE_NONE)
        used += (size_t)snprintf(buf + used, size - used, " recompute %s",
                                 ss_job_word("--recompute", p->recompute));
    if (p->more[0] && used < size)
        snprintf(buf + used, size - used, " %s", p->more);
    return buf;
}

const char *ss_find_group_words(const struct ss_find_group *g, char *buf, size_t size)
{
    static const char nodes[] = "--nodes ";
    const char *from = strstr(g->flags, nodes);

    if (!from || (from > g->flags && from[-1] != ' ')) {
        ss_copy(buf, size, g->flags);
        return buf;
    }
    const char *rest = from + strlen(nodes) + strcspn(from + strlen(nodes), " ");
    snprintf(buf, size, "%.*s%s", (int)(from - g->flags), g->flags, *rest ? rest + 1 : rest);
    size_t n = strlen(buf);
    if (n && buf[n - 1] == ' ')
        buf[n - 1] = '\0';
    return buf;
}

static void write_counts(const struct ss_find_result *f, FILE *out)
{
    struct ss_find_group all = {0};
    for (int g = 0; g < f->ngroups; g++) {
        all.layouts += f->groups[g].layouts;
        all.refused += f->groups[g].refused;
        all.too_large += f->groups[g].too_large;
        all.bounded += f->groups[g].bounded;
        all.predicted += f->groups[g].predicted;
    }
    fprintf(out,
            "%lld layouts: %lld refused, %lld too large and %lld cannot win by bounds, %lld "
            "predicted\n",
            (long long)all.layouts, (long long)all.refused, (long long)all.too_large, (long long)all.bounded,
            (long long)all.predicted);
}

/* Returns the next layout of group g that the text shows, from point i on; -1: none. The last one shown is
 * faster than the best but may not fit: points are sorted by verdict. */
static int next_shown(const struct ss_find_result *f, int g, int top, int i, int *shown)
{
    for (; i < f->npoints && *shown < top; i++)
        if (f->points[i].group == g && f->points[i].summary.outcome == SS_OUTCOME_FITS) {
            ++*shown;
            return i;
        }
    return f->groups[g].near >= i ? f->groups[g].near : -1;
}

static int layout_width(const struct ss_find_result *f, int top)
{
    char layout[200];
    size_t width = 38;
    for (int g = 0; g < f->ngroups; g++)
        for (int shown = 0, i = next_shown(f, g, top, 0, &shown); i >= 0;
             i = next_shown(f, g, top, i + 1, &shown)) {
            size_t n = strlen(ss_find_layout(&f->points[i], layout, sizeof layout));
            width = n > width ? n : width;
        }
    return (int)width;
}

/* Returns whether the MFU with half of the attention square is shown, too. */
static int is_causal(const struct ss_find_result *f)
{
    for (int i = 0; i < f->npoints; i++)
        if (ss_text_is_causal(&f->points[i].summary))
            return 1;
    return 0;
}

static void write_point(const struct ss_find_result *f, int i, int width, FILE *out)
{
    const struct ss_find_point *p = &f->points[i];
    const struct ss_summary *u = &p->summary;
    char time[32], layout[200];
    fprintf(out, "%5d %5.0f  %-*s %10s %6.1f", f->groups[p->group].nodes, u->gpus, width,
            ss_find_layout(p, layout, sizeof layout), ss_text_time(u->iteration_s, time, sizeof time),
            100 * u->mfu);
    if (is_causal(f))
        fprintf(out, " %8.1f", 100 * ss_text_causal_mfu(u));
    fprintf(out, " %12.1f %7.1f  %s%s%s\n", u->tokens_per_s_per_gpu, u->peak_device / SS_GIB,
            ss_outcome_word(u->outcome),
            p->like_best                    ? ", not told apart"
            : i == f->groups[p->group].best ? ", best"
                                            : "",
            p->front ? ", front" : "");
}

static void write_group(const struct ss_find_result *f, int g, int top, int width, FILE *out)
{
    const struct ss_find_group *group = &f->groups[g];
    int shown = 0, first = next_shown(f, g, top, 0, &shown);
    char words[sizeof group->flags];
    if (ss_find_group_words(group, words, sizeof words)[0])
        fprintf(out, "%s\n", words);
    for (int i = first; i >= 0; i = next_shown(f, g, top, i + 1, &shown))
        write_point(f, i, width, out);
    if (first < 0)
        fprintf(out, "%5d %5d  none of %lld layouts fits\n", group->nodes, group->gpus,
                (long long)(group->layouts - group->refused));
}

/* Writes "best on 8 nodes", with the values of the varied flags. */
static void write_name(const char *what, const struct ss_find_group *g, FILE *out)
{
    char words[sizeof g->flags];
    ss_find_group_words(g, words, sizeof words);
    fprintf(out, "%s on %d node%s%s%s", what, g->nodes, g->nodes == 1 ? "" : "s", words[0] ? ", " : "",
            words);
}

static void write_best(const struct ss_find_result *f, int g, FILE *out)
{
    const struct ss_find_group *group = &f->groups[g];
    if (group->best < 0)
        return;
    const struct ss_find_point *p = &f->points[group->best];
    char time[32];
    write_name("best", group, out);
    fprintf(out, ": %s\n", p->flags[0] ? p->flags : "the job as it is");
    fprintf(out, "    %s", ss_text_time(p->summary.iteration_s, time, sizeof time));
    if (p->summary.band_pct > 0)
        fprintf(out, " +-%.*f %%", p->summary.band_pct < 10, p->summary.band_pct);
    fprintf(out, "; %d other%s within that error", group->like_best, group->like_best == 1 ? "" : "s");
    if (group->confirmed_s > 0)
        fprintf(out, "; SimGrid at layer level: %s", ss_text_time(group->confirmed_s, time, sizeof time));
    fputc('\n', out);
}

/* The ends of a group's part of the front: its fastest and its smallest. */
static void write_front(const struct ss_find_result *f, int g, FILE *out)
{
    const struct ss_find_point *first = NULL, *last = NULL;
    char time[2][32];
    int n = 0;
    for (int i = 0; i < f->npoints; i++) {
        const struct ss_find_point *p = &f->points[i];
        if (p->group != g || !p->front)
            continue;
        first = first ? first : p;
        last = p;
        n++;
    }
    if (!n)
        return;
    write_name("front", &f->groups[g], out);
    fprintf(out, ": %d, from %s and %.1f GiB to %s and %.1f GiB\n", n,
            ss_text_time(first->summary.iteration_s, time[0], sizeof time[0]),
            first->summary.peak_device / SS_GIB,
            ss_text_time(last->summary.iteration_s, time[1], sizeof time[1]),
            last->summary.peak_device / SS_GIB);
}

static int write_text(const struct ss_find_result *f, int top, FILE *out, struct ss_error *err)
{
    int width = layout_width(f, top);
    write_counts(f, out);
    fputc('\n', out);
    fprintf(out, "%5s %5s  %-*s %10s %6s%s %12s %7s  verdict\n", "nodes", "GPUs", width, "layout",
            "iteration", "MFU %", is_causal(f) ? " causal %" : "", "tokens/s/GPU", "GiB");
    for (int g = 0; g < f->ngroups; g++)
        write_group(f, g, top, width, out);
    fputc('\n', out);
    for (int g = 0; g < f->ngroups; g++)
        write_best(f, g, out);
    for (int g = 0; g < f->ngroups; g++)
        write_front(f, g, out);
    if (f->nrules)
        fputs("\nrefused by\n", out);
    for (int r = 0; r < f->nrules; r++)
        fprintf(out, "%10lld  %s: %s\n", (long long)f->rules[r].n, f->rules[r].flags, f->rules[r].example);
    ss_text_notes("Warnings", &f->warnings, 20, out);
    return ss_report_done(out, err);
}

static json_t *point_object(const struct ss_find_point *p)
{
    json_t *o = json_object();
    ss_json_integer(o, "group", p->group);
    ss_json_text(o, "flags", p->flags);
    ss_json_integer(o, "tp", p->tp);
    ss_json_integer(o, "cp", p->cp);
    ss_json_integer(o, "pp", p->pp);
    ss_json_integer(o, "ep", p->ep);
    ss_json_integer(o, "chunks", p->chunks);
    ss_json_integer(o, "dp", p->dp);
    ss_json_integer(o, "micro_batch", p->micro_batch);
    ss_json_integer(o, "microbatches", p->microbatches);
    ss_json_text(o, "recompute", ss_job_word("--recompute", p->recompute));
    ss_json_flag(o, "fsdp", p->fsdp);
    ss_json_text(o, "schedule", p->schedule);
    ss_json_verdict(o, &p->summary);
    ss_json_metrics(o, -1, &p->summary);
    ss_json_number(o, "least_ms", 1e3 * p->least_s);
    ss_json_number(o, "least_mib", p->least_bytes / SS_MIB);
    ss_json_flag(o, "front", p->front);
    ss_json_flag(o, "like_best", p->like_best);
    return o;
}

static void put_index(json_t *o, const char *key, int index)
{
    ss_json_set(o, key, index < 0 ? json_null() : json_integer(index));
}

static json_t *group_object(const struct ss_find_group *g)
{
    json_t *o = json_object();
    ss_json_text(o, "flags", g->flags);
    ss_json_integer(o, "nodes", g->nodes);
    ss_json_integer(o, "gpus", g->gpus);
    ss_json_integer(o, "work", g->work);
    ss_json_integer(o, "layouts", g->layouts);
    ss_json_integer(o, "refused", g->refused);
    ss_json_integer(o, "too_large", g->too_large);
    ss_json_integer(o, "bounded", g->bounded);
    ss_json_integer(o, "predicted", g->predicted);
    put_index(o, "best", g->best);
    put_index(o, "near", g->near);
    ss_json_integer(o, "like_best", g->like_best);
    if (g->confirmed_s > 0)
        ss_json_number(o, "confirmed_ms", 1e3 * g->confirmed_s);
    return o;
}

static json_t *rule_object(const struct ss_find_rule *r)
{
    json_t *o = json_object();
    ss_json_text(o, "code", ss_status_name(r->code));
    ss_json_text(o, "flags", r->flags);
    ss_json_text(o, "example", r->example);
    ss_json_integer(o, "layouts", r->n);
    return o;
}

static int write_json(const struct ss_find_result *f, FILE *out, struct ss_error *err)
{
    json_t *root = ss_json_document("search"), *groups = json_array(), *rules = json_array(),
           *points = json_array();
    for (int g = 0; g < f->ngroups; g++)
        ss_json_append(groups, group_object(&f->groups[g]));
    for (int r = 0; r < f->nrules; r++)
        ss_json_append(rules, rule_object(&f->rules[r]));
    for (int i = 0; i < f->npoints; i++)
        ss_json_append(points, point_object(&f->points[i]));
    ss_json_set(root, "groups", groups);
    ss_json_set(root, "rules", rules);
    ss_json_set(root, "points", points);
    ss_json_set(root, "warnings", ss_json_notes(&f->warnings));
    return ss_json_write(root, out, err);
}

int ss_find_write_csv(const struct ss_find_result *f, FILE *out, struct ss_error *err)
{
    fputs("nodes,flags,tp,cp,pp,ep,chunks,dp,micro_batch,microbatches,recompute,schedule,fsdp,verdict", out);
    for (int m = 0; m < SS_METRICS; m++)
        fprintf(out, ",%s", ss_metric_at(m)->key);
    fputs(",least_ms,least_mib,front,like_best\n", out);
    for (int i = 0; i < f->npoints; i++) {
        const struct ss_find_point *p = &f->points[i];
        char words[sizeof f->groups->flags], all[sizeof words + sizeof p->flags + 1];
        ss_find_group_words(&f->groups[p->group], words, sizeof words);
        snprintf(all, sizeof all, "%s%s%s", words, words[0] ? " " : "", p->flags);
        fprintf(out, "%d,", f->groups[p->group].nodes);
        ss_csv_write(out, all);
        fprintf(out, ",%d,%d,%d,%d,%d,%d,%d,%d,%s,%s,%d,%s", p->tp, p->cp, p->pp, p->ep, p->chunks, p->dp,
                p->micro_batch, p->microbatches, ss_job_word("--recompute", p->recompute), p->schedule,
                p->fsdp, ss_outcome_word(p->summary.outcome));
        for (int m = 0; m < SS_METRICS; m++) {
            double value = ss_metric_value(m, &p->summary);
            fputc(',', out);
            if (ss_metric_known(m, &p->summary) && isfinite(value))
                fprintf(out, "%.10g", value);
        }
        fprintf(out, ",%.10g,%.10g,%d,%d\n", 1e3 * p->least_s, p->least_bytes / SS_MIB, p->front,
                p->like_best);
    }
    return ss_report_done(out, err);
}

int ss_find_write(const struct ss_find_result *f, int json, int top, FILE *out, struct ss_error *err)
{
    return json ? write_json(f, out, err) : write_text(f, top, out, err);
}
