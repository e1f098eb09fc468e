/* SPDX-License-Identifier: Apache-2.0 */
/* Judges layouts that were chosen by prediction: of the layouts of one job that were measured, how much
 * slower the one predicted fastest is than the fastest. */
#include "base/base.h"
#include "study/study_internal.h"

/* ---- groups ---- */

/* Returns 1 if two rows are layouts of one job. A framework's own stack may go by the layout, the one that the rows name does not. */
static int is_same_job(const struct ss_cases *cases, const struct ss_validation_row *rows, int a, int b)
{
    static const char *const columns[] = {"nodes",           "attention",   "note",
                                          "num_layers",      "hidden_size", "num_attention_heads",
                                          "ffn_hidden_size", "num_experts", "stack"};
    const struct ss_case *c = &cases->cases[a], *d = &cases->cases[b];
    const struct ss_validation_row *r = &rows[a], *s = &rows[b];

    if (strcmp(r->model, s->model) != 0 || r->gpus != s->gpus || strcmp(r->table, s->table) != 0 ||
        strcmp(r->platform, s->platform) != 0 || strcmp(r->precision, s->precision) != 0 ||
        c->job.global_batch != d->job.global_batch || c->job.seq_length != d->job.seq_length)
        return 0;
    for (size_t i = 0; i < SS_ARRAY_LEN(columns); i++)
        if (strcmp(ss_table_get(c->table, c->row, columns[i]), ss_table_get(d->table, d->row, columns[i])) !=
            0)
            return 0;
    return 1;
}

void ss_regret_groups(const struct ss_cases *cases, struct ss_validation_row *rows)
{
    for (int i = 0; i < cases->n; i++) {
        rows[i].group = i;
        for (int j = 0; j < i && rows[i].group == i; j++)
            if (rows[j].group == j && is_same_job(cases, rows, i, j))
                rows[i].group = j;
    }
}

/* ---- a group ---- */

static int has_run(const struct ss_validation_row *r)
{
    return r->counted && !strcmp(r->outcome, "ok") && r->measured_s > 0;
}

static int is_out_of_memory(const struct ss_validation_row *r)
{
    return r->counted && !strcmp(r->outcome, "oom");
}

/* A row in the order in which predictions recommend it. */
struct choice {
    const struct ss_validation_row *row;
    int late; /* 0: predicted to fit, 1: near the limit, 2: too large, 3: refused */
    double predicted_s;
};

static int compare_choices(const void *a, const void *b)
{
    const struct choice *x = a, *y = b;

    if (x->late != y->late)
        return x->late < y->late ? -1 : 1;
    if (x->predicted_s != y->predicted_s)
        return x->predicted_s < y->predicted_s ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static struct choice choice_of(const struct ss_validation_row *r)
{
    const char *predicted = r->predicted_outcome;
    int near = r->summary.outcome == SS_OUTCOME_NEAR_LIMIT;
    int late = !strcmp(predicted, "ok") ? near : !strcmp(predicted, "oom") ? 2 : 3;

    return (struct choice){r, late,
                           late < 3 && r->summary.iteration_s > 0 ? r->summary.iteration_s : INFINITY};
}

static void count_pairs(const struct choice *order, int n, struct ss_regret_group *g)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            double a = order[i].row->measured_s, b = order[j].row->measured_s;
            double x = order[i].predicted_s, y = order[j].predicted_s;
            if (!isfinite(x) || !isfinite(y) || !(fabs(a - b) > 0.05 * fmin(a, b)))
                continue;
            g->pairs++;
            g->pairs_right += a < b ? x < y : y < x;
        }
}

/* Judges the group whose first row is `first`. order[] has room for all rows. */
static void judge(const struct ss_validation *v, int first, struct choice *order, struct ss_regret_group *g)
{
    double three = INFINITY;

    memset(g, 0, sizeof *g);
    for (int i = first; i < v->nrows; i++) {
        const struct ss_validation_row *r = &v->rows[i];
        if (r->group != first || !r->counted)
            continue;
        g->rows++;
        g->oom += is_out_of_memory(r);
        g->false_fits += is_out_of_memory(r) && choice_of(r).late < 2;
        if (!has_run(r))
            continue;
        order[g->ran++] = choice_of(r);
        g->false_refusals += choice_of(r).late > 1;
        if (!g->best || r->measured_s < g->best->measured_s)
            g->best = r;
    }
    g->regret = g->regret3 = NAN;
    if (g->ran < SS_REGRET_LEAST)
        return;
    qsort(order, (size_t)g->ran, sizeof *order, compare_choices);
    count_pairs(order, g->ran, g);
    if (order[0].late == 3)
        return;
    g->chosen = order[0].row;
    for (int i = 0; i < 3; i++)
        three = fmin(three, order[i].row->measured_s);
    g->regret = g->chosen->measured_s / g->best->measured_s - 1;
    g->regret3 = three / g->best->measured_s - 1;
}

static void add_up(struct ss_regret_table *t)
{
    struct ss_regret_group *m = &t->mean;
    int judged = 0;

    t->worst = -1;
    for (int i = 0; i < t->ngroups; i++) {
        const struct ss_regret_group *g = &t->groups[i];
        m->rows += g->rows;
        m->ran += g->ran;
        m->oom += g->oom;
        m->false_fits += g->false_fits;
        m->false_refusals += g->false_refusals;
        m->pairs += g->pairs;
        m->pairs_right += g->pairs_right;
        if (!g->chosen)
            continue;
        judged++;
        m->regret += g->regret;
        m->regret3 += g->regret3;
        if (t->worst < 0 || g->regret > t->groups[t->worst].regret)
            t->worst = i;
    }
    m->regret = judged ? m->regret / judged : NAN;
    m->regret3 = judged ? m->regret3 / judged : NAN;
}

/* ---- slices of a table ---- */

/* The classes of measured MFU begin here. */
static const double mfu_from[] = {0.3, 0.2, 0.1, 0};

/* Returns the whole number by which a row falls into a slice; -1: into none. */
static int key_of(const struct ss_validation_row *r, int by)
{
    double mfu;
    int class = 0;

    switch (by) {
    case SS_REGRET_BY_TP: return r->tp;
    case SS_REGRET_BY_MBS: return r->micro_batch;
    case SS_REGRET_BY_MFU:
        if (!(r->summary.mfu > 0) || !(r->summary.iteration_s > 0))
            return -1;
        mfu = r->summary.mfu * r->summary.iteration_s / r->measured_s;
        while (mfu < mfu_from[class])
            class ++;
        return class;
    default: return 0;
    }
}

static void name_slice(int by, int key, char *out, size_t size)
{
    static const char *const classes[] = {"30 % and more", "20 to 30 %", "10 to 20 %", "below 10 %"};

    if (by == SS_REGRET_BY_MFU || by == SS_REGRET_BY_NOTHING)
        ss_copy(out, size, by ? classes[key] : "all");
    else
        snprintf(out, size, "%d", key);
}

/* Fills in the slice of a table's rows whose key is the least above *key, and sets *key to it. Returns 0 if
 * there is none. errors[] has room for all rows. */
static int slice(const struct ss_validation *v, const char *table, int by, int *key, double *errors,
                 struct ss_validation_summary *out)
{
    int next = -1;

    memset(out, 0, sizeof *out);
    for (int i = 0; i < v->nrows; i++) {
        const struct ss_validation_row *r = &v->rows[i];
        int k = !strcmp(r->table, table) && has_run(r) ? key_of(r, by) : -1;
        if (k > *key && (next < 0 || k < next))
            next = k;
    }
    if (next < 0)
        return 0;
    for (int memory = 0; memory < 2; memory++) {
        int n = 0;
        for (int i = 0; i < v->nrows; i++) {
            const struct ss_validation_row *r = &v->rows[i];
            if (strcmp(r->table, table) != 0 || !has_run(r) || key_of(r, by) != next)
                continue;
            double error = memory ? ss_validation_memory_error(r) : ss_validation_time_error(r);
            if (isfinite(error))
                errors[n++] = error;
            out->outcomes += !memory;
            out->right += !memory && choice_of(r).late < 2;
        }
        ss_error_stat_fill(errors, n, memory ? &out->memory : &out->time);
    }
    *key = next;
    name_slice(by, next, out->name, sizeof out->name);
    return 1;
}

static int cut(const struct ss_validation *v, double *errors, struct ss_regret_table *t)
{
    struct ss_regret_slice next;
    size_t cap = 0;

    for (next.by = 0; next.by < SS_REGRET_BY_COUNT; next.by++) {
        int key = -1;
        while (slice(v, t->name, next.by, &key, errors, &next.of)) {
            if (ss_grow(&t->slices, &cap, (size_t)t->nslices + 1, sizeof next))
                return SS_ERR_NOMEM;
            t->slices[t->nslices++] = next;
        }
    }
    for (int i = 0; i < v->nrows; i++)
        if (!strcmp(v->rows[i].table, t->name) && is_out_of_memory(&v->rows[i])) {
            t->oom++;
            t->oom_right += choice_of(&v->rows[i]).late == 2;
        }
    return SS_OK;
}

/* ---- all tables ---- */

static struct ss_regret_table *table_of(struct ss_regret *r, const char *name)
{
    int i = 0;

    while (i < r->ntables && strcmp(r->tables[i].name, name) != 0)
        i++;
    if (i == r->ntables)
        r->tables[r->ntables++].name = name;
    return &r->tables[i];
}

static int judge_all(const struct ss_validation *v, struct choice *order, struct ss_regret *out)
{
    for (int i = 0; i < v->nrows; i++) {
        struct ss_regret_table *t = table_of(out, v->rows[i].table);
        struct ss_regret_group g;
        size_t cap = (size_t)t->ngroups;
        if (v->rows[i].group != i)
            continue;
        judge(v, i, order, &g);
        if (g.ran < SS_REGRET_LEAST)
            continue;
        if (ss_grow(&t->groups, &cap, (size_t)t->ngroups + 1, sizeof g))
            return SS_ERR_NOMEM;
        t->groups[t->ngroups++] = g;
    }
    return SS_OK;
}

static int count_tables(const struct ss_validation *v)
{
    int n = 0;

    for (int i = 0; i < v->nrows; i++)
        n += !i || strcmp(v->rows[i].table, v->rows[i - 1].table) != 0;
    return n;
}

int ss_regret_make(const struct ss_validation *v, struct ss_regret *out, struct ss_error *err)
{
    struct choice *order = ss_calloc((size_t)v->nrows + 1, sizeof *order);
    double *errors = ss_calloc((size_t)v->nrows + 1, sizeof *errors);

    memset(out, 0, sizeof *out);
    out->tables = ss_calloc((size_t)count_tables(v) + 1, sizeof *out->tables);
    int rc = order && errors && out->tables ? judge_all(v, order, out) : SS_ERR_NOMEM;
    for (int i = 0; i < out->ntables && !rc; i++) {
        add_up(&out->tables[i]);
        rc = cut(v, errors, &out->tables[i]);
    }
    SS_FREE(order, errors);
    if (!rc)
        return SS_OK;
    ss_regret_free(out);
    return ss_nomem(err);
}

void ss_regret_free(struct ss_regret *r)
{
    for (int i = 0; i < r->ntables; i++) {
        SS_FREE(r->tables[i].groups, r->tables[i].slices);
    }
    free(r->tables);
    memset(r, 0, sizeof *r);
}
