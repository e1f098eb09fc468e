/* SPDX-License-Identifier: Apache-2.0 */
/* Fits the numbers of curves to tables of kernels, card by card on half of the shapes, or on all cards but one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/csv.h"
#include "study/curves.h"
#include "study/fit.h"

/* Residuals beyond this share count by their size, not their square: some rows measured something else. */
#define ROBUST 0.1
/* A number is looked for between its default over this factor and times it. */
#define RANGE 300.0
/* A machine that takes so much longer than a card of the same SMs and no more bandwidth was slowed ... */
#define SLOWER 1.15
/* ... where this share of the rows of a kind do. */
#define MANY (1. / 3)

struct row {
    struct ss_bench_point point;
    int machine; /* index among the machines */
    int line, half;
    const char *shape, *precision, *ranks;
    int slow, fast_at; /* 1: slower than on machine fast_at */
    double error;      /* per cent, of the prediction without it; NaN: not scored */
};
struct study {
    struct ss_bench_table table;
    struct ss_bench_machines machines;
    struct ss_curve_site *sites; /* [machines.n] */
    struct ss_card *cards;       /* [machines.n]: with the numbers of a fit */
    struct row *rows;
    size_t n;
    struct ss_curve_report *out;
};

/* ---- rows ---- */

static int drawn_half(const struct ss_bench_row *row, uint64_t seed)
{
    const char *const words[] = {row->kind, row->shape, row->precision, row->ranks};
    uint64_t h = ss_hash(0xcbf29ce484222325u, &seed, sizeof seed);

    for (size_t i = 0; i < SS_ARRAY_LEN(words); i++)
        h = ss_hash(h, words[i], strlen(words[i]) + 1);
    h ^= h >> 32;
    h *= 0x9e3779b97f4a7c15u;
    return (int)(h >> 63);
}

static int read_rows(struct study *s, uint64_t seed, struct ss_error *err)
{
    size_t all = ss_bench_table_rows(&s->table);

    s->rows = ss_calloc(all + 1, sizeof *s->rows);
    if (!s->rows)
        return ss_nomem(err);
    for (size_t i = 0; i < all; i++) {
        struct ss_bench_row row;
        struct row *r = &s->rows[s->n];
        int line = ss_bench_table_row(&s->table, i, &row);
        const struct ss_bench_machine *m = ss_bench_machine_of(&s->machines, &row);
        if (!m || ss_bench_point_read(&row, ss_platform_card(m->platform), &r->point) ||
            r->point.kind != SS_BENCH_CURVE) {
            s->out->unread++;
            continue;
        }
        r->machine = (int)(m - s->machines.list);
        r->line = line;
        r->error = NAN;
        r->half = drawn_half(&row, seed);
        r->shape = row.shape;
        r->precision = row.precision;
        r->ranks = row.ranks;
        s->n++;
    }
    if (s->n)
        return SS_OK;
    ss_fail(err, SS_ERR_INPUT, ss_csv_file(s->table.csv), 0, "no row of a kernel that has a curve");
    return ss_hint(err, SS_ERR_INPUT, "docs/design/curves.md has the kinds of kernels");
}

/* ---- machines that were slowed ---- */

/* Returns 1 if two cards have the same SMs, and the first at least as much bandwidth. */
static int has_more(const struct ss_curve_site *a, const struct ss_curve_site *b)
{
    const struct ss_card *x = a->card, *y = b->card;

    return x->sm_count == y->sm_count && x->sm_clock == y->sm_clock && x->peak_bf16 == y->peak_bf16 &&
           x->peak_fp8 == y->peak_fp8 && x->peak_fp4 == y->peak_fp4 && x->hbm_bandwidth >= y->hbm_bandwidth &&
           a->fabric >= b->fabric;
}

static int by_shape(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int order = strcmp(x->point.curve->kind, y->point.curve->kind);

    order = order ? order : (x->point.curve > y->point.curve) - (x->point.curve < y->point.curve);
    order = order ? order : strcmp(x->precision, y->precision);
    order = order ? order : strcmp(x->shape, y->shape);
    order = order ? order : strcmp(x->ranks, y->ranks);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

static int same_shape(const struct row *a, const struct row *b)
{
    struct row x = *a, y = *b;

    x.line = y.line = 0;
    return !by_shape(&x, &y);
}

/* Marks each row that is slower than one of its own shape on a machine with the same SMs and no more bandwidth. Returns in compared[] and
 * slow[], by machine, how many rows of the kind that rows [from, to) are of were compared and marked. */
static void mark_slow(struct study *s, size_t from, size_t to, int *compared, int *slow)
{
    for (size_t i = from, end; i < to; i = end) {
        for (end = i + 1; end < to && same_shape(&s->rows[i], &s->rows[end]);)
            end++;
        for (size_t a = i; a < end; a++) {
            int other = 0;
            for (size_t b = i; b < end; b++) {
                struct row *x = &s->rows[a];
                const struct row *y = &s->rows[b];
                if (x->machine == y->machine || !has_more(&s->sites[x->machine], &s->sites[y->machine]))
                    continue;
                other = 1;
                if (x->point.seconds > SLOWER * y->point.seconds) {
                    x->slow = 1;
                    x->fast_at = y->machine;
                }
            }
            compared[s->rows[a].machine] += other;
            slow[s->rows[a].machine] += s->rows[a].slow;
        }
    }
}

/* Takes the marks off again where few rows of a kind have them: then one row is as it is, no machine was slowed. */
static int find_slowed(struct study *s, struct ss_error *err)
{
    int *count = ss_calloc(2 * s->machines.n + 1, sizeof *count);

    if (!count)
        return ss_nomem(err);
    qsort(s->rows, s->n, sizeof *s->rows, by_shape);
    for (size_t i = 0, end; i < s->n; i = end) {
        for (end = i + 1; end < s->n && s->rows[end].point.curve->kind == s->rows[i].point.curve->kind;)
            end++;
        memset(count, 0, 2 * s->machines.n * sizeof *count);
        mark_slow(s, i, end, count, count + s->machines.n);
        for (size_t k = i; k < end; k++) {
            int m = s->rows[k].machine;
            s->rows[k].slow &= count[s->machines.n + (size_t)m] > MANY * count[m];
        }
    }
    free(count);
    return SS_OK;
}

/* ---- one fit ---- */

struct fit {
    struct study *s;
    const char *family;
    int half, without,
        only; /* rows of this half, -1: both; not of this machine; of this one alone, -1: all */
    int nprops, prop[SS_FIT_MAX];
};

static int counts(const struct fit *f, const struct row *r)
{
    return !r->slow && !strcmp(r->point.curve->family, f->family) && (f->half < 0 || r->half == f->half) &&
           r->machine != f->without && (f->only < 0 || r->machine == f->only);
}

static void put_numbers(const struct fit *f, const double *x)
{
    for (size_t m = 0; m < f->s->machines.n; m++)
        for (int i = 0; i < f->nprops; i++)
            ss_prop_put(f->prop[i], &f->s->cards[m], exp(x[i]));
}

static double predicted(const struct study *s, const struct row *r)
{
    struct ss_curve_site site = s->sites[r->machine];

    site.card = &s->cards[r->machine];
    return r->point.curve->seconds(&site, r->point.size);
}

static int residuals(void *ctx, const double *x, double *r, struct ss_error *err)
{
    const struct fit *f = ctx;
    int n = 0;

    (void)err;
    put_numbers(f, x);
    for (size_t i = 0; i < f->s->n; i++)
        if (counts(f, &f->s->rows[i])) {
            double e = log(predicted(f->s, &f->s->rows[i]) / f->s->rows[i].point.seconds) / ROBUST;
            r[n++] = copysign(ROBUST * sqrt(2 * (sqrt(1 + e * e) - 1)), e);
        }
    return SS_OK;
}

static void add_props(struct fit *f, const struct ss_bench_curve *c)
{
    for (int k = 0; k < SS_BENCH_PROPS && c->prop[k]; k++) {
        int i = 0;
        while (i < f->nprops && f->prop[i] != c->prop[k])
            i++;
        if (i == f->nprops && i < SS_FIT_MAX)
            f->prop[f->nprops++] = c->prop[k];
    }
}

/* Fits the numbers of a family to the rows that count, and leaves them on the cards. Without rows it does nothing and sets *rows to 0. */
static int solve(struct fit *f, double *x, int *rows, struct ss_error *err)
{
    struct ss_fit_problem problem = {.residuals = residuals, .ctx = f};
    int rc = SS_OK;

    f->nprops = 0;
    for (size_t i = 0; i < f->s->n; i++)
        if (counts(f, &f->s->rows[i])) {
            add_props(f, f->s->rows[i].point.curve);
            problem.m++;
        }
    *rows = problem.m;
    problem.n = f->nprops;
    for (int i = 0; i < f->nprops; i++) {
        const struct ss_prop *p = ss_prop_at(f->prop[i]);
        problem.lo[i] = log(fmax(p->low, p->def / RANGE));
        problem.hi[i] = log(fmin(p->high, p->def * RANGE));
        x[i] = log(p->def);
    }
    if (problem.m)
        rc = ss_fit_solve(&problem, x, NULL, err);
    if (!rc && problem.m)
        put_numbers(f, x);
    return rc;
}

/* ---- the report ---- */

/* Adds the errors of the scored rows of a curve, of one machine or, for -1, of all. */
static int add_score(struct study *s, const struct ss_bench_curve *c, int machine, const char *gpu,
                     struct ss_error *err)
{
    double *errors = ss_calloc(s->n + 1, sizeof *errors);
    struct ss_curve_report *o = s->out;
    int n = 0;

    if (!errors || ss_grow(&o->scores, &o->cap_scores, (size_t)o->nscores + 1, sizeof *o->scores)) {
        free(errors);
        return ss_nomem(err);
    }
    for (size_t i = 0; i < s->n; i++)
        if (s->rows[i].point.curve == c && !isnan(s->rows[i].error) &&
            (machine < 0 || s->rows[i].machine == machine))
            errors[n++] = s->rows[i].error;
    if (n) {
        struct ss_curve_score *out = &o->scores[o->nscores++];
        memset(out, 0, sizeof *out);
        ss_copy(out->gpu, sizeof out->gpu, gpu);
        ss_curve_name(c, out->kind, sizeof out->kind);
        ss_error_stat_fill(errors, n, &out->error);
    }
    free(errors);
    return SS_OK;
}

static int add_numbers(struct study *s, const struct fit *f, const double *x, const char *gpu,
                       struct ss_error *err)
{
    for (int i = 0; i < f->nprops; i++) {
        if (ss_grow(&s->out->numbers, &s->out->cap_numbers, (size_t)s->out->nnumbers + 1,
                    sizeof *s->out->numbers))
            return ss_nomem(err);
        struct ss_curve_number *out = &s->out->numbers[s->out->nnumbers++];
        memset(out, 0, sizeof *out);
        ss_copy(out->gpu, sizeof out->gpu, gpu);
        ss_copy(out->id, sizeof out->id, ss_prop_at(f->prop[i])->id);
        out->value = exp(x[i]);
    }
    return SS_OK;
}

/* Predicts rows with the numbers that are on the cards. */
static void score(struct study *s, const struct fit *scored)
{
    for (size_t i = 0; i < s->n; i++)
        if (counts(scored, &s->rows[i]))
            s->rows[i].error = ss_error_pct(predicted(s, &s->rows[i]), s->rows[i].point.seconds);
}

/* Adds the scores of all kinds, each over all machines and then machine by machine. */
static int add_scores(struct study *s, struct ss_error *err)
{
    int rc = SS_OK;

    for (size_t i = 0; i < s->n && !rc; i++) { /* rows are in the order of their kinds */
        const struct ss_bench_curve *c = s->rows[i].point.curve;
        if (i && c == s->rows[i - 1].point.curve)
            continue;
        rc = add_score(s, c, -1, "all", err);
        for (size_t m = 0; m < s->machines.n && !rc; m++)
            rc = add_score(s, c, (int)m, ss_platform_name(s->machines.list[m].platform), err);
    }
    return rc;
}

static int leave_out(struct study *s, const char *family, int machine, struct ss_error *err)
{
    int by_half = s->out->by == SS_CURVES_BY_HALF, rows, rc;
    struct fit fit = {.s = s, .family = family, .half = by_half ? 0 : -1, .without = -1, .only = machine};
    struct fit scored = fit;
    const char *gpu = ss_platform_name(s->machines.list[machine].platform);
    double x[SS_FIT_MAX];

    if (s->out->by == SS_CURVES_BY_GPU) {
        fit.only = -1;
        fit.without = machine;
    }
    scored.half = by_half ? 1 : -1;
    rc = solve(&fit, x, &rows, err);
    if (rc || !rows)
        return rc;
    score(s, &scored);
    if (by_half) { /* the numbers to keep are those of both halves */
        fit.half = -1;
        rc = solve(&fit, x, &rows, err);
    }
    return rc ? rc : add_numbers(s, &fit, x, gpu, err);
}

/* Adds the numbers that hold for a card that nobody measured: those of all cards together. */
static int fit_all_cards(struct study *s, const char *family, struct ss_error *err)
{
    struct fit fit = {.s = s, .family = family, .half = -1, .without = -1, .only = -1};
    double x[SS_FIT_MAX];
    int rows, rc = solve(&fit, x, &rows, err);

    return rc ? rc : add_numbers(s, &fit, x, "all", err);
}

static int is_first_of_family(const struct study *s, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (!strcmp(s->rows[k].point.curve->family, s->rows[i].point.curve->family))
            return 0;
    return 1;
}

static int each_family(struct study *s, struct ss_error *err)
{
    int rc = SS_OK;

    for (size_t i = 0; i < s->n && !rc; i++) {
        const char *family = s->rows[i].point.curve->family;
        if ((i && s->rows[i].point.curve == s->rows[i - 1].point.curve) || !is_first_of_family(s, i))
            continue;
        for (size_t m = 0; m < s->machines.n && !rc; m++) {
            struct fit any = {.s = s, .family = family, .half = -1, .without = -1, .only = (int)m};
            int rows = 0;
            for (size_t k = 0; k < s->n && !rows; k++)
                rows = counts(&any, &s->rows[k]);
            if (rows)
                rc = leave_out(s, family, (int)m, err);
        }
        if (!rc && s->out->by == SS_CURVES_BY_GPU)
            rc = fit_all_cards(s, family, err);
    }
    return rc;
}

static void note_slowed(struct study *s)
{
    char text[300];

    for (size_t m = 0; m < s->machines.n; m++)
        for (size_t i = 0; i < s->n; i++) {
            const struct row *first = &s->rows[i];
            int n = 0;
            if (first->machine != (int)m || !first->slow)
                continue;
            size_t end = i;
            for (; end < s->n && s->rows[end].point.curve->kind == first->point.curve->kind; end++)
                n += s->rows[end].machine == (int)m && s->rows[end].slow;
            snprintf(text, sizeof text,
                     "%.40s, %.60s: %d rows are left out, as more than %.0f %% slower than the same on "
                     "%.40s, which "
                     "has no more of anything: the machine was slowed",
                     ss_platform_name(s->machines.list[m].platform), first->point.curve->kind, n,
                     100 * (SLOWER - 1), ss_platform_name(s->machines.list[first->fast_at].platform));
            ss_note(&s->out->notes, "%s", text);
            i = end - 1;
        }
}

static int start(struct study *s, const char *stack, struct ss_files *files, uint64_t seed,
                 struct ss_error *err)
{
    int rc = ss_bench_machines_load(stack, files, &s->machines, err);

    s->sites = ss_calloc(s->machines.n + 1, sizeof *s->sites);
    s->cards = ss_calloc(s->machines.n + 1, sizeof *s->cards);
    if (!rc && (!s->sites || !s->cards))
        rc = ss_nomem(err);
    for (size_t m = 0; m < s->machines.n && !rc; m++) {
        ss_curve_site_of(s->machines.list[m].platform, &s->sites[m]);
        s->cards[m] = *s->sites[m].card;
    }
    SS_THEN(rc, read_rows(s, seed, err));
    SS_THEN(rc, find_slowed(s, err));
    return rc;
}

int ss_curves_leave_out(const char *path, const char *stack, enum ss_curves_by by, uint64_t seed,
                        struct ss_files *files, struct ss_curve_report **out, struct ss_error *err)
{
    struct study s = {.out = ss_calloc(1, sizeof **out)};
    int rc = s.out ? ss_files_add(files, path, err) : ss_nomem(err);

    SS_THEN(rc, ss_bench_table_load(path, &s.table, err));
    if (!rc) {
        s.out->by = by;
        s.out->seed = seed;
        rc = start(&s, stack, files, seed, err);
        SS_THEN(rc, each_family(&s, err));
        SS_THEN(rc, add_scores(&s, err));
        if (!rc)
            note_slowed(&s);
        ss_bench_table_free(&s.table);
    }
    ss_bench_machines_free(&s.machines);
    free(s.sites);
    free(s.cards);
    free(s.rows);
    if (rc)
        ss_curve_report_free(s.out);
    else
        *out = s.out;
    return rc;
}
