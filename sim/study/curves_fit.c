/* SPDX-License-Identifier: Apache-2.0 */
/* Fits the numbers of curves to tables of kernels, card by card on half of the shapes, or on all cards but one. */
#include "base/base.h"
#include "study/curves.h"
#include "study/fit.h"

/* Residuals beyond this share count by their size, not their square: some rows measured something else. */
#define ROBUST 0.1
/* A number is looked for between its default over this factor and times it. */
#define RANGE 300.0
struct study {
    struct ss_curve_rows all;
    struct ss_card *cards; /* [machines]: with the numbers of a fit */
    struct ss_curve_report *out;
};

/* ---- one fit ---- */

struct fit {
    struct study *s;
    const char *family;
    int half, without,
        only; /* rows of this half, -1: both; not of this machine; of this one alone, -1: all */
    int like; /* rows of machines of this one's generation alone, -1: of all */
    int nprops, prop[SS_FIT_MAX];
};

static int counts(const struct fit *f, const struct ss_curve_row *r)
{
    return !r->out && !strcmp(r->point.curve->family, f->family) && (f->half < 0 || r->half == f->half) &&
           r->machine != f->without && (f->only < 0 || r->machine == f->only) &&
           (f->like < 0 ||
            ss_curve_same_generation(f->s->all.sites[r->machine].card, f->s->all.sites[f->like].card));
}

static void put_numbers(const struct fit *f, const double *x)
{
    for (size_t m = 0; m < f->s->all.machines.n; m++)
        for (int i = 0; i < f->nprops; i++)
            ss_prop_put(f->prop[i], &f->s->cards[m], exp(x[i]));
}

static double predicted(const struct study *s, const struct ss_curve_row *r)
{
    struct ss_curve_site site = s->all.sites[r->machine];

    site.card = &s->cards[r->machine];
    return r->point.curve->seconds(&site, r->point.size);
}

static int residuals(void *ctx, const double *x, double *r, struct ss_error *err)
{
    const struct fit *f = ctx;
    int n = 0;

    (void)err;
    put_numbers(f, x);
    for (size_t i = 0; i < f->s->all.n; i++)
        if (counts(f, &f->s->all.rows[i])) {
            double e = log(predicted(f->s, &f->s->all.rows[i]) / f->s->all.rows[i].point.seconds) / ROBUST;
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
    for (size_t i = 0; i < f->s->all.n; i++)
        if (counts(f, &f->s->all.rows[i])) {
            add_props(f, f->s->all.rows[i].point.curve);
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
    double *errors = ss_calloc(s->all.n + 1, sizeof *errors);
    struct ss_curve_report *o = s->out;
    int n = 0;

    if (!errors || ss_grow(&o->scores, &o->cap_scores, (size_t)o->nscores + 1, sizeof *o->scores)) {
        free(errors);
        return ss_nomem(err);
    }
    for (size_t i = 0; i < s->all.n; i++)
        if (s->all.rows[i].point.curve == c && !isnan(s->all.rows[i].error) &&
            (machine < 0 || s->all.rows[i].machine == machine))
            errors[n++] = s->all.rows[i].error;
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
        SS_NEED(!ss_grow(&s->out->numbers, &s->out->cap_numbers, (size_t)s->out->nnumbers + 1,
                         sizeof *s->out->numbers),
                err);
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
    for (size_t i = 0; i < s->all.n; i++)
        if (counts(scored, &s->all.rows[i]))
            s->all.rows[i].error = ss_error_pct(predicted(s, &s->all.rows[i]), s->all.rows[i].point.seconds);
}

/* Adds the scores of all kinds, each over all machines and then machine by machine. */
static int add_scores(struct study *s, struct ss_error *err)
{
    int rc = SS_OK;

    for (size_t i = 0; i < s->all.n && !rc; i++) { /* rows are in the order of their kinds */
        const struct ss_bench_curve *c = s->all.rows[i].point.curve;
        if (i && c == s->all.rows[i - 1].point.curve)
            continue;
        rc = add_score(s, c, -1, "all", err);
        for (size_t m = 0; m < s->all.machines.n && !rc; m++)
            rc = add_score(s, c, (int)m, ss_platform_name(s->all.machines.list[m].platform), err);
    }
    return rc;
}

static int leave_out(struct study *s, const char *family, int machine, struct ss_error *err)
{
    int by_half = s->out->by == SS_CURVES_BY_HALF, rows, rc;
    struct fit fit = {
        .s = s, .family = family, .half = by_half ? 0 : -1, .without = -1, .only = machine, .like = -1};
    struct fit scored = fit;
    const char *gpu = ss_platform_name(s->all.machines.list[machine].platform);
    double x[SS_FIT_MAX];

    if (s->out->by == SS_CURVES_BY_GPU) {
        fit.only = -1;
        fit.without = fit.like = machine;
    }
    scored.half = by_half ? 1 : -1;
    rc = solve(&fit, x, &rows, err);
    if (!rc && !rows && fit.like >= 0) { /* no card of its generation was measured */
        fit.like = -1;
        rc = solve(&fit, x, &rows, err);
    }
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
    struct fit fit = {.s = s, .family = family, .half = -1, .without = -1, .only = -1, .like = -1};
    double x[SS_FIT_MAX];
    int rows, rc = solve(&fit, x, &rows, err);

    return rc ? rc : add_numbers(s, &fit, x, "all", err);
}

static int is_first_of_family(const struct study *s, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (!strcmp(s->all.rows[k].point.curve->family, s->all.rows[i].point.curve->family))
            return 0;
    return 1;
}

static int each_family(struct study *s, struct ss_error *err)
{
    int rc = SS_OK;

    for (size_t i = 0; i < s->all.n && !rc; i++) {
        const char *family = s->all.rows[i].point.curve->family;
        if ((i && s->all.rows[i].point.curve == s->all.rows[i - 1].point.curve) || !is_first_of_family(s, i))
            continue;
        for (size_t m = 0; m < s->all.machines.n && !rc; m++) {
            struct fit any = {
                .s = s, .family = family, .half = -1, .without = -1, .only = (int)m, .like = -1};
            int rows = 0;
            for (size_t k = 0; k < s->all.n && !rows; k++)
                rows = counts(&any, &s->all.rows[k]);
            if (rows)
                rc = leave_out(s, family, (int)m, err);
        }
        if (!rc && s->out->by == SS_CURVES_BY_GPU)
            rc = fit_all_cards(s, family, err);
    }
    return rc;
}

int ss_curves_leave_out(const char *path, const char *stack, enum ss_curves_by by, uint64_t seed,
                        struct ss_files *files, struct ss_curve_report **out, struct ss_error *err)
{
    struct study s = {.out = ss_calloc(1, sizeof **out)};
    int rc = s.out ? ss_curve_rows_load(path, stack, seed, files, &s.all, &s.out->notes, err) : ss_nomem(err);

    if (!rc) {
        s.out->by = by;
        s.out->seed = seed;
        s.out->unread = s.all.unread;
        s.cards = ss_calloc(s.all.machines.n + 1, sizeof *s.cards);
        rc = s.cards ? SS_OK : ss_nomem(err);
    }
    for (size_t m = 0; !rc && m < s.all.machines.n; m++)
        s.cards[m] = *s.all.sites[m].card;
    SS_THEN(rc, each_family(&s, err));
    SS_THEN(rc, add_scores(&s, err));
    ss_curve_rows_free(&s.all);
    free(s.cards);
    if (rc)
        ss_curve_report_free(s.out);
    else
        *out = s.out;
    return rc;
}
