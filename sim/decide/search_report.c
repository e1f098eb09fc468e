/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a search as text, JSON and CSV. */
#include "decide/advise.h"
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
    if (p->recompute_layers)
        used += (size_t)snprintf(buf + used, size - used, " recompute block %d", p->recompute_layers);
    else if (p->recompute != SS_RECOMPUTE_NONE)
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
    fprintf(out, "%lld layout%s: %lld refused, %lld too large, %lld skipped, %lld predicted\n",
            (long long)all.layouts, ss_plural(all.layouts), (long long)all.refused, (long long)all.too_large,
            (long long)all.bounded, (long long)all.predicted);
    if (all.bounded)
        fputs("(skipped: a lower bound on their time is above the best)\n", out);
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

/* Returns whether the MFU with half of the attention square is shown, too. */
static int is_causal(const struct ss_find_result *f)
{
    for (int i = 0; i < f->npoints; i++)
        if (ss_text_is_causal(&f->points[i].summary))
            return 1;
    return 0;
}

/* Adds what CSV, text and JSON tell of a point. */
static void add_point(struct ss_row *r, const struct ss_find_point *p)
{
    SS_ADD(r, SS_SAME(p, tp), SS_SAME(p, cp), SS_SAME(p, pp), SS_SAME(p, ep), SS_SAME(p, chunks),
           SS_SAME(p, dp), SS_SAME(p, micro_batch), SS_SAME(p, microbatches),
           SS_KEY("recompute", ss_job_word("--recompute", p->recompute)), SS_SAME(p, recompute_layers),
           SS_TRUTH(p, fsdp), SS_SAME(p, schedule));
    ss_row_verdict(r, &p->summary);
    ss_row_metrics(r, &p->summary);
    SS_ADD(r, SS_KEY("least_ms", 1e3 * p->least_s), SS_KEY("least_mib", p->least_bytes / SS_MIB),
           SS_TRUTH(p, front), SS_TRUTH(p, like_best));
}

static void write_point(const struct ss_find_result *f, int i, struct ss_grid *grid)
{
    const struct ss_find_point *p = &f->points[i];
    const struct ss_find_group *g = &f->groups[p->group];
    struct ss_row r = {0};
    char verdict[64], layout[200];
    snprintf(verdict, sizeof verdict, "%s%s%s", ss_outcome_word(p->summary.outcome),
             p->like_best   ? ", too close to call"
             : i == g->best ? ", best"
                            : "",
             p->front ? ", front" : "");
    SS_ADD(&r, SS_SAME(g, nodes), SS_KEY("layout", ss_find_layout(p, layout, sizeof layout)),
           SS_KEY("causal", ss_text_causal_mfu(&p->summary)), SS_KEY("said", verdict));
    add_point(&r, p);
    ss_grid_row(grid, &r);
}

static int write_points(const struct ss_find_result *f, int top, const struct ss_display *view, FILE *out)
{
    const struct ss_column columns[] = {{"nodes", "nodes", "%.0f", 1, 1},
                                        {"gpus", "GPUs", "%.0f", 1, 2},
                                        {"layout", "layout", "%-s", 1, 0},
                                        {"iteration_ms", "iteration", "%10s", 1e-3, 0},
                                        {"mfu", "MFU %", "%.1f", 100, 0},
                                        {"causal", "causal %", is_causal(f) ? "%.1f" : NULL, 100, 2},
                                        {"tokens_per_s_per_gpu", "tokens\n/s/GPU", "%.1f", 1, 3},
                                        {"peak_mib", "GiB", "%.1f", 1 / 1024.0, 0},
                                        {"said", "verdict", "%-s", 1, 0}};
    char words[sizeof f->groups->flags];
    struct ss_grid grid;
    ss_grid_begin(&grid, columns, SS_ARRAY_LEN(columns));
    for (int g = 0; g < f->ngroups; g++) {
        const struct ss_find_group *group = &f->groups[g];
        int shown = 0, first = next_shown(f, g, top, 0, &shown);
        if (ss_find_group_words(group, words, sizeof words)[0])
            ss_grid_line(&grid, "%s", words);
        for (int i = first; i >= 0; i = next_shown(f, g, top, i + 1, &shown))
            write_point(f, i, &grid);
        if (first < 0) {
            struct ss_row r = {0};
            SS_ADD(&r, SS_SAME(group, nodes), SS_SAME(group, gpus));
            ss_grid_span(&grid, &r, "layout", "none of %lld layouts fits",
                         (long long)(group->layouts - group->refused));
        }
    }
    return ss_grid_end(&grid, view, out);
}

/* Writes "best on 8 nodes", with the values of the varied flags. */
static void write_name(const char *what, const struct ss_find_group *g, FILE *out)
{
    char words[sizeof g->flags];
    ss_find_group_words(g, words, sizeof words);
    fprintf(out, "%s on %d node%s%s%s", what, g->nodes, ss_plural(g->nodes), words[0] ? ", " : "", words);
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
    fputs(ss_text_band(&p->summary, time), out);
    fprintf(out, "; %d other%s too close to call", group->like_best, ss_plural(group->like_best));
    if (group->confirmed_s > 0)
        fprintf(out, "; SimGrid at layer level: %s", ss_text_time(group->confirmed_s, time, sizeof time));
    fputc('\n', out);
}

/* Writes the ends of a group's part of the front: its fastest and its smallest point. */
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
    fprintf(out, "%d layout%s ", n, ss_plural(n));
    write_name(n == 1 ? "is both fastest and smallest" : "trade time for memory", &f->groups[g], out);
    if (n == 1) {
        fputc('\n', out);
        return;
    }
    fprintf(out, ": from %s and %.1f GiB to %s and %.1f GiB\n",
            ss_text_time(first->summary.iteration_s, time[0], sizeof time[0]),
            first->summary.peak_device / SS_GIB,
            ss_text_time(last->summary.iteration_s, time[1], sizeof time[1]),
            last->summary.peak_device / SS_GIB);
}

/* Writes what helps the first best layout beside its layout. */
static void write_advice(const struct ss_find_result *f, FILE *out)
{
    const struct ss_find_group *g = f->groups;
    while (g < f->groups + f->ngroups && g->best < 0 && g->near < 0)
        g++;
    if (!f->advice)
        return;
    fputs(f->advice->nadvice ? "\nWhat helps beside the layout"
                             : "\nNothing that was tried helps beside the layout",
          out);
    if (f->ngroups > 1)
        write_name(", the best", g, out);
    fputc('\n', out);
    ss_advice_text(f->advice, out);
}

#define RULES_SHOWN 3 /* the rules that refused the most */

/* Writes which rules refused how many layouts. */
static int write_rules(const struct ss_find_result *f, const struct ss_display *view, FILE *out)
{
    static const struct ss_column columns[] = {{"n", "refused", "%.0f", 1, 0}, {"rule", "by", "%-s", 1, 0}};
    struct ss_grid grid;
    char rule[sizeof f->rules->flags + sizeof f->rules->example + 3];
    if (!f->nrules)
        return SS_OK;
    fputc('\n', out);
    ss_grid_begin(&grid, columns, SS_ARRAY_LEN(columns));
    for (int i = 0; i < f->nrules && i < RULES_SHOWN; i++) {
        struct ss_row r = {0};
        snprintf(rule, sizeof rule, "%s: %s", f->rules[i].flags, f->rules[i].example);
        SS_ADD(&r, SS_SAME(&f->rules[i], n), SS_KEY("rule", rule));
        ss_grid_row(&grid, &r);
    }
    int rc = ss_grid_end(&grid, view, out);
    if (f->nrules > RULES_SHOWN)
        fprintf(out, "(and %d more rule%s: --json has all)\n", f->nrules - RULES_SHOWN,
                f->nrules == RULES_SHOWN + 1 ? "" : "s");
    return rc;
}

static int write_text(const struct ss_find_result *f, int top, const struct ss_display *view, FILE *out,
                      struct ss_error *err)
{
    if (f->premises[0])
        fprintf(out, "%s\n", f->premises);
    write_counts(f, out);
    fputc('\n', out);
    int rc = write_points(f, top, view, out);
    fputc('\n', out);
    if (f->smallest.gpus)
        ss_text_smallest(&f->smallest, out);
    for (int g = 0; g < f->ngroups; g++)
        write_best(f, g, out);
    for (int g = 0; g < f->ngroups; g++)
        write_front(f, g, out);
    write_advice(f, out);
    SS_THEN(rc, write_rules(f, view, out));
    ss_text_notes("Warnings", &f->warnings, 20, out);
    return rc ? ss_nomem(err) : ss_report_done(out, err);
}

static struct ss_json *point_object(const void *row)
{
    const struct ss_find_point *p = row;
    struct ss_row r = {0};
    SS_ADD(&r, SS_SAME(p, group), SS_SAME(p, flags));
    add_point(&r, p);
    return ss_json_object(r.at);
}

static struct ss_json *group_object(const void *row)
{
    const struct ss_find_group *g = row;
    return SS_OBJECT(SS_SAME(g, flags), SS_SAME(g, nodes), SS_SAME(g, gpus), SS_SAME(g, work),
                     SS_SAME(g, layouts), SS_SAME(g, refused), SS_SAME(g, too_large), SS_SAME(g, bounded),
                     SS_SAME(g, predicted), SS_KEY("best", ss_cell_index(g->best)),
                     SS_KEY("near", ss_cell_index(g->near)), SS_SAME(g, like_best),
                     SS_KEY_IF(g->confirmed_s > 0, "confirmed_ms", 1e3 * g->confirmed_s));
}

static struct ss_json *rule_object(const void *row)
{
    const struct ss_find_rule *r = row;
    return SS_OBJECT(SS_KEY("code", ss_status_name(r->code)), SS_SAME(r, flags), SS_SAME(r, example),
                     SS_KEY("layouts", r->n));
}

static int write_json(const struct ss_find_result *f, FILE *out, struct ss_error *err)
{
    struct ss_json *root = ss_json_document("search");
    SS_PUT(root, SS_KEY_IF(f->premises[0], "premises", f->premises),
           SS_KEY("groups", SS_LIST(group_object, f->groups, f->ngroups)),
           SS_KEY("rules", SS_LIST(rule_object, f->rules, f->nrules)),
           SS_KEY("points", SS_LIST(point_object, f->points, f->npoints)),
           SS_KEY_IF(f->smallest.gpus, "smallest", ss_json_smallest(&f->smallest)),
           SS_KEY_IF(f->advice, "advice", f->advice ? ss_advice_array(f->advice) : NULL),
           SS_KEY_IF(f->advice, "together", f->advice ? ss_advice_together(f->advice) : NULL),
           SS_KEY("warnings", ss_json_notes(&f->warnings)));
    return ss_json_write(root, out, err);
}

int ss_find_write_csv(const struct ss_find_result *f, FILE *out, struct ss_error *err)
{
    static const char *const keys[] = {"nodes",     "flags",     "tp",    "cp",          "pp",
                                       "ep",        "chunks",    "dp",    "micro_batch", "microbatches",
                                       "recompute", "schedule",  "fsdp",  "verdict",     NULL,
                                       "least_ms",  "least_mib", "front", "like_best"};
    ss_row_csv(NULL, keys, SS_ARRAY_LEN(keys), out);
    for (int i = 0; i < f->npoints; i++) {
        const struct ss_find_point *p = &f->points[i];
        char words[sizeof f->groups->flags], all[sizeof words + sizeof p->flags + 1];
        struct ss_row r = {0};
        ss_find_group_words(&f->groups[p->group], words, sizeof words);
        snprintf(all, sizeof all, "%s%s%s", words, words[0] ? " " : "", p->flags);
        SS_ADD(&r, SS_KEY("nodes", f->groups[p->group].nodes), SS_KEY("flags", all));
        add_point(&r, p);
        ss_row_csv(&r, keys, SS_ARRAY_LEN(keys), out);
    }
    return ss_report_done(out, err);
}

int ss_find_write(const struct ss_find_result *f, const struct ss_display *view, int top, FILE *out,
                  struct ss_error *err)
{
    return view && view->json ? write_json(f, out, err) : write_text(f, top, view, out, err);
}
