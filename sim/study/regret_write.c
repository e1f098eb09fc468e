/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what layouts chosen by prediction cost: for people, as CSV and as JSON. */
#include "report/common.h"
#include "study/study_internal.h"

static const char *const by_names[SS_REGRET_BY_COUNT] = {"all", "tp", "micro_batch", "mfu"};

static double share(int part, int whole)
{
    return whole ? 100.0 * part / whole : NAN;
}

/* Fills the row with what groups and their mean have. */
static void fill_counts(struct ss_row *to, const struct ss_regret_group *g)
{
    SS_ADD(to, SS_SAME(g, rows), SS_SAME(g, ran), SS_SAME(g, oom), SS_KEY("regret_pct", 100 * g->regret),
           SS_KEY("regret_of_3_pct", 100 * g->regret3), SS_SAME(g, pairs), SS_SAME(g, pairs_right),
           SS_KEY("pairs_right_pct", share(g->pairs_right, g->pairs)), SS_SAME(g, false_fits),
           SS_SAME(g, false_refusals));
}

static void fill_group(struct ss_row *to, const struct ss_regret_group *g)
{
    const struct ss_validation_row *b = g->best, *c = g->chosen;

    SS_ADD(to, SS_SAME(b, table), SS_SAME(b, model), SS_SAME(b, platform), SS_SAME(b, stack),
           SS_SAME(b, gpus), SS_SAME(b, precision), SS_SAME(b, setting), SS_KEY("id", c ? c->id : ""),
           SS_KEY("chosen", c ? c->layout : ""), SS_KEY("chosen_ms", c ? 1e3 * c->measured_s : NAN),
           SS_KEY("best_id", b->id), SS_KEY("best", b->layout), SS_KEY("best_ms", 1e3 * b->measured_s));
    fill_counts(to, g);
}

/* ---- for people ---- */

static int print_groups(const struct ss_regret_table *t, const struct ss_display *view, FILE *out)
{
    const struct ss_column columns[] = {{"setting", t->name, "%-s", 1, 0},
                                        {"ran", "ran", "%.0f", 1, 0},
                                        {"oom", "oom", "%.0f", 1, 1},
                                        {"regret_pct", "regret", "%.1f", 1, 0},
                                        {"regret_of_3_pct", "of 3", "%.1f", 1, 0},
                                        {"pairs_right_pct", "pairs", "%.1f", 1, 0},
                                        {"false_fits", "fits", "%.0f", 1, 1},
                                        {"false_refusals", "ref.", "%.0f", 1, 1},
                                        {"chosen", "predicted best", "%-s", 1, 0},
                                        {"best", "measured best", "%-s", 1, 0}};
    struct ss_grid grid;

    ss_grid_begin(&grid, columns, SS_ARRAY_LEN(columns));
    for (int i = 0; i <= t->ngroups; i++) {
        struct ss_row r = {0};
        char mean[48];
        if (i < t->ngroups)
            fill_group(&r, &t->groups[i]);
        else {
            snprintf(mean, sizeof mean, t->worst < 0 ? "all jobs" : "mean of %d job%s, worst %.1f",
                     t->ngroups, ss_plural(t->ngroups), t->worst < 0 ? 0 : 100 * t->groups[t->worst].regret);
            fill_counts(&r, &t->mean);
            SS_ADD(&r, SS_KEY("setting", mean), SS_KEY("chosen", ""), SS_KEY("best", ""));
        }
        ss_grid_row(&grid, &r);
    }
    return ss_grid_end(&grid, view, out);
}

static int print_slices(const struct ss_regret_table *t, const struct ss_display *view, FILE *out)
{
    static const char *const titles[SS_REGRET_BY_COUNT] = {
        "", "by tensor ranks", "by micro batch",
        "by measured MFU (the whole attention square, over the peak of the GEMM precision)"};

    struct ss_grid grid;

    fputs("\nErrors of rows that ran\n", out);
    ss_summary_begin(&grid);
    for (int i = 0; i < t->nslices; i++) {
        if (i && t->slices[i].by != t->slices[i - 1].by)
            ss_grid_line(&grid, "%s", titles[t->slices[i].by]);
        ss_summary_add(&t->slices[i].of, &grid);
    }
    int rc = ss_grid_end(&grid, view, out);
    if (t->nslices)
        fprintf(out, "%d of %d rows that ran are predicted to run", t->slices[0].of.right,
                t->slices[0].of.outcomes);
    if (t->oom)
        fprintf(out, "%s%d of %d out of memory are predicted too large", t->nslices ? "; " : "", t->oom_right,
                t->oom);
    fputs("\n\n", out);
    return rc;
}

int ss_regret_write_text(const struct ss_validation *v, const struct ss_display *view, FILE *out,
                         struct ss_error *err)
{
    struct ss_regret all;
    int rc = ss_regret_make(v, &all, err), groups = 0;

    if (rc)
        return rc;
    fputs(
        "Layouts of one job, of which four or more ran. regret: the layout predicted fastest over the one "
        "measured fastest, less 1, in %; of 3: the best of the three predicted fastest; pairs: of those that "
        "differ by more than 5 %, ranked right, in %; fits: out of memory, predicted to fit; ref.: ran, "
        "predicted too large or refused.\n\n",
        out);
    for (int i = 0; i < all.ntables; i++) {
        groups += all.tables[i].ngroups;
        if (!all.tables[i].ngroups)
            fprintf(out, "%s: no job has four layouts that ran\n", all.tables[i].name);
        else
            SS_THEN(rc, print_groups(&all.tables[i], view, out));
        SS_THEN(rc, print_slices(&all.tables[i], view, out));
    }
    ss_regret_free(&all);
    for (unsigned long i = 0; i < v->notes.n; i++)
        fprintf(out, "note: %s\n", v->notes.text[i]);
    return rc || v->notes.lost ? ss_nomem(err) : ss_report_done(out, err);
}

/* ---- CSV ---- */

static void fill_slice(struct ss_row *to, const struct ss_regret_table *t, int i)
{
    const struct ss_validation_summary *s = &t->slices[i].of;
    const double time = s->time.n ? 1 : NAN, memory = s->memory.n ? 1 : NAN;

    SS_ADD(to, SS_KEY("table", t->name), SS_KEY("part", by_names[t->slices[i].by]), SS_KEY("value", s->name),
           SS_KEY("time_n", s->time.n), SS_KEY("time_mean_pct", time * s->time.mean_abs),
           SS_KEY("time_median_pct", time * s->time.median_abs), SS_KEY("time_bias_pct", time * s->time.bias),
           SS_KEY("memory_n", s->memory.n), SS_KEY("memory_median_pct", memory * s->memory.median_abs),
           SS_KEY("memory_bias_pct", memory * s->memory.bias));
    if (i)
        SS_ADD(to, SS_KEY("ran", s->outcomes), SS_KEY("false_refusals", s->outcomes - s->right));
}

int ss_regret_write_csv(const struct ss_validation *v, FILE *out, struct ss_error *err)
{
    static const char *const keys[] = SS_VALUES(
        "table", "id", "model", "part", "value", "platform", "stack", "gpus", "precision", "rows", "ran",
        "oom", "regret_pct", "regret_of_3_pct", "pairs", "pairs_right", "false_fits", "false_refusals",
        "chosen", "chosen_ms", "best_id", "best", "best_ms", "time_n", "time_mean_pct", "time_median_pct",
        "time_bias_pct", "memory_n", "memory_median_pct", "memory_bias_pct");
    struct ss_regret all;

    SS_TRY(ss_regret_make(v, &all, err));
    ss_row_csv(NULL, keys, SS_ARRAY_LEN(keys), out);
    for (int i = 0; i < all.ntables; i++) {
        const struct ss_regret_table *t = &all.tables[i];
        for (int g = 0; g < t->ngroups; g++) {
            struct ss_row r = {0};
            fill_group(&r, &t->groups[g]);
            SS_ADD(&r, SS_KEY("part", "group"), SS_KEY("value", t->groups[g].best->setting));
            ss_row_csv(&r, keys, SS_ARRAY_LEN(keys), out);
        }
        for (int s = 0; s < t->nslices; s++) {
            struct ss_row r = {0};
            fill_slice(&r, t, s);
            if (!s)
                fill_counts(&r, &t->mean);
            ss_row_csv(&r, keys, SS_ARRAY_LEN(keys), out);
        }
    }
    ss_regret_free(&all);
    return ss_report_done(out, err);
}

/* ---- JSON ---- */

static struct ss_json *group_object(const void *group)
{
    struct ss_row r = {0};

    fill_group(&r, group);
    return ss_json_object(r.at);
}

static struct ss_json *table_object(const void *table)
{
    const struct ss_regret_table *t = table;
    struct ss_json *by[SS_REGRET_BY_COUNT], *o;
    struct ss_row mean = {0};

    fill_counts(&mean, &t->mean);
    for (int i = 0; i < SS_REGRET_BY_COUNT; i++)
        by[i] = ss_json_begin_object();
    for (int i = 0; i < t->nslices; i++)
        SS_PUT(by[t->slices[i].by], SS_KEY(t->slices[i].of.name, ss_summary_json(&t->slices[i].of)));
    o = SS_OBJECT(SS_KEY("table", t->name), SS_KEY("groups", SS_LIST(group_object, t->groups, t->ngroups)),
                  SS_KEY("mean", ss_json_object(mean.at)),
                  SS_KEY("worst_regret_pct", t->worst < 0 ? NAN : 100 * t->groups[t->worst].regret),
                  SS_KEY("oom", SS_OBJECT(SS_KEY("n", t->oom), SS_KEY("right", t->oom_right))));
    for (int i = 0; i < SS_REGRET_BY_COUNT; i++)
        SS_PUT(o, SS_KEY(i ? by_names[i] : "rows_that_ran", by[i]));
    return o;
}

int ss_regret_write_json(const struct ss_validation *v, FILE *out, struct ss_error *err)
{
    struct ss_regret all;

    SS_TRY(ss_regret_make(v, &all, err));
    struct ss_json *o = ss_json_document("validate");
    SS_PUT(o, SS_KEY("regret", SS_LIST(table_object, all.tables, all.ntables)),
           SS_KEY("notes", ss_json_notes(&v->notes)));
    ss_regret_free(&all);
    return ss_json_write(o, out, err);
}
