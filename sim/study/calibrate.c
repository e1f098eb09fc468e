/* SPDX-License-Identifier: Apache-2.0 */
/* Fits props of a card and a stack to measured runs, and says how well the data know them. */
#include "study/calibrate.h"
#include "base/base.h"
#include "study/fit.h"

/* The data contradict a number's start where it makes the root mean square error three times that of the fit, and
 * one of a per cent more. */
#define WORSE 9.0
#define SLACK 1e-4

struct fitting {
    struct ss_calibration *c;
    struct ss_observations *o;
    const char *use;                 /* observations that count */
    double *predicted;               /* [o->n] */
    int nactive, active[SS_FIT_MAX]; /* props that are fitted; the others keep their value */
    double x[SS_FIT_MAX];            /* values of all props */
    const struct ss_calibrate_options *opt;
    int *evaluations; /* predictions made so far, by all fits */
};

/* Relative errors: a long run weighs as much as a short one. */
static int residuals(void *ctx, const double *x, double *r, struct ss_error *err)
{
    struct fitting *f = ctx;
    int rc, n = 0;

    for (int i = 0; i < f->nactive; i++)
        f->x[f->active[i]] = x[i];
    ++*f->evaluations;
    if (f->opt->progress)
        f->opt->progress(f->opt->ctx, *f->evaluations);
    rc = ss_observations_predict(f->o, f->c->props, f->c->nprops, f->x, f->use, f->predicted, err);
    for (int i = 0; i < f->o->n && !rc; i++)
        if (f->use[i])
            r[n++] = f->predicted[i] > 0 ? log(f->predicted[i] / f->o->list[i].measured) : 1e3;
    return rc;
}

/* Fits the active numbers from their values in f->x, and puts the result there. */
static int solve(struct fitting *f, struct ss_fit_answer *answer, struct ss_error *err)
{
    struct ss_fit_problem problem = {.n = f->nactive, .residuals = residuals, .ctx = f};
    double x[SS_FIT_MAX];

    for (int i = 0; i < f->o->n; i++)
        problem.m += f->use[i] != 0;
    for (int i = 0; i < problem.n; i++) {
        problem.lo[i] = f->c->props[f->active[i]].lo;
        problem.hi[i] = f->c->props[f->active[i]].hi;
        x[i] = f->x[f->active[i]];
    }
    int rc = problem.n ? ss_fit_solve(&problem, x, answer, err) : SS_OK;
    for (int i = 0; i < problem.n; i++)
        f->x[f->active[i]] = x[i];
    return rc;
}

/* Returns the number that the data determine least, if they determine it too little; -1: all are
 * determined. */
static int least_known(const struct fitting *f, const struct ss_fit_answer *answer)
{
    int worst = -1;

    for (int i = 0; i < f->nactive; i++)
        if (!answer->determined[i] && (worst < 0 || answer->unknown[i] > answer->unknown[worst]))
            worst = i;
    return worst;
}

/* Computes the mean square of the residuals at f->x. */
static int mean_square(struct fitting *f, double *out, struct ss_error *err)
{
    double *r = ss_calloc((size_t)f->o->n + 1, sizeof *r), sum = 0;
    int n = 0, rc = r ? residuals(f, NULL, r, err) : ss_nomem(err);

    for (int i = 0; i < f->o->n && !rc; i++)
        if (f->use[i])
            sum += r[n] * r[n], n++;
    *out = n ? sum / n : 0;
    free(r);
    return rc;
}

/* Fits the active numbers from their values in `from`. The others keep their values there. */
static int solve_from(struct fitting *f, const double *from, struct ss_fit_answer *answer, double *square,
                      struct ss_error *err)
{
    memcpy(f->x, from, sizeof f->x);
    int rc = solve(f, answer, err);
    if (!rc) {
        int n = f->nactive;
        f->nactive = 0; /* as they are */
        rc = mean_square(f, square, err);
        f->nactive = n;
    }
    return rc;
}

/* Numbers that the data do not determine go back to where they were, one at a time, and the others are fitted
 * again: of two that only count together one stays free. Where the data contradict the value that it had (of a
 * collective that is only not used where it is slow enough, say), the number stays where it fitted. */
static int solve_determined(struct fitting *f, const double *start, struct ss_fit_answer *answer,
                            struct ss_error *err)
{
    double hold[SS_FIT_MAX], free_square, square;
    int worst, rc;

    memcpy(hold, start, sizeof hold);
    rc = solve_from(f, hold, answer, &free_square, err);
    while (!rc && f->nactive && (worst = least_known(f, answer)) >= 0) {
        int prop = f->active[worst];
        double fitted = f->x[prop];
        memmove(f->active + worst, f->active + worst + 1, (size_t)(--f->nactive - worst) * sizeof *f->active);
        rc = solve_from(f, hold, answer, &square, err);
        if (!rc && square > WORSE * free_square + SLACK) {
            hold[prop] = fitted;
            rc = solve_from(f, hold, answer, &square, err);
        }
    }
    return rc;
}

/* ---- what to fit ---- */

static int is_known(const struct ss_calibration *c, const char *id)
{
    for (int i = 0; i < c->nprops; i++)
        if (ss_prop_find(c->props[i].id, SS_OF_ANY) == ss_prop_find(id, SS_OF_ANY))
            return 1;
    return 0;
}

/* Adds a number that is not known, unless there are as many as a fit can have; then it counts in *lost. */
static void add_prop(struct ss_calibration *c, int prop, int *lost)
{
    const char *id = ss_prop_at(prop)->id;

    if (is_known(c, id))
        return;
    if (c->nprops < SS_FIT_MAX)
        ss_copy(c->props[c->nprops++].id, sizeof c->props[0].id, id);
    else
        ++*lost;
}

/* Returns whether numbers found no place: how many rows tell of one. */
static int default_props(struct ss_calibration *c, struct ss_observations *o)
{
    int of_bench[SS_BENCH_PROPS];
    int lost = 0, runs = 0, far = o->nccl_nodes > 1;

    for (int i = 0; i < o->n; i++) {
        const struct ss_case *run;
        int n =
            o->list[i].kind == SS_OBSERVE_BENCH
                ? ss_bench_props(ss_platform_card(o->machine), &o->bench->points[o->list[i].point], of_bench)
                : 0;
        for (int k = 0; k < n; k++)
            add_prop(c, of_bench[k], &lost);
        if (!ss_observation_is_run(&o->list[i]))
            continue;
        run = ss_observations_case(o, o->list[i].of_case);
        add_prop(c, ss_study_prop_of_gemm(run->job.precision), &lost);
        far |= ss_platform_nodes(run->platform) > 1;
        runs++;
    }
    if (runs || o->nccl)
        add_prop(c, SS_PROP_fabric_efficiency, &lost);
    if (!runs && o->nccl)
        add_prop(c, o->nccl_nodes > 1 ? SS_PROP_fabric_latency : SS_PROP_fabric_half_size, &lost);
    if (o->nccl && o->nccl_nodes <= 1 && ss_nccl_kind(o->nccl->operation) == SS_COLL_ALL_REDUCE &&
        ss_platform_card(o->machine)->nvls_efficiency > 0) { /* the switch may have summed */
        add_prop(c, SS_PROP_nvls_efficiency, &lost);
        add_prop(c, SS_PROP_nvls_latency, &lost);
    }
    if (far)
        add_prop(c, SS_PROP_nic_efficiency, &lost);
    if (far && !runs)
        add_prop(c, SS_PROP_nic_latency, &lost);
    return lost;
}

static int is_of_memory(const char *id)
{
    return !strncmp(id, "ss.memory.", 10);
}

static int choose_props(const struct ss_calibrate_options *opt, struct ss_calibration *c,
                        struct ss_observations *o, struct ss_error *err)
{
    const struct ss_platform *p;
    const struct ss_stack *s;
    int rc = SS_OK, memory = 0;

    for (int i = 0; i < opt->nprops && i < SS_FIT_MAX; i++)
        if (!is_known(c, opt->props[i].id))
            c->props[c->nprops++] = opt->props[i];
    if (!opt->nprops && default_props(c, o))
        return ss_fail(err, SS_ERR_USAGE, NULL, 0,
                       "the measurements tell of more than %d numbers" SS_HINT
                       "name those to fit with --prop",
                       SS_FIT_MAX);
    ss_observations_first(o, &p, &s);
    for (int i = 0; i < c->nprops && !rc; i++) {
        rc = ss_study_prop_complete(&c->props[i], p, s, err);
        if (!rc && c->props[i].of_stack && !s->name[0]) {
            rc = ss_fail(err, SS_ERR_USAGE, NULL, 0, "%s is a number of a stack", c->props[i].id);
            ss_hint(err, rc, "name the stack with --stack");
        }
        memory |= is_of_memory(c->props[i].id);
    }
    return rc || !memory ? rc : ss_observations_add_memory(o, err);
}

/* ---- before and after ---- */

static void fill_stat(const struct ss_observations *o, const double *predicted, double *scratch,
                      struct ss_error_stat *out)
{
    int n = 0;

    for (int i = 0; i < o->n; i++)
        if (o->list[i].fitted)
            scratch[n++] = ss_error_pct(predicted[i], o->list[i].measured);
    ss_error_stat_fill(scratch, n, out);
}

static int fill_rows(struct fitting *f, const double *x, int after, struct ss_error *err)
{
    static const char *const kinds[] = {"time", "memory", "nccl", "timer", "bench"};
    double *scratch = ss_calloc((size_t)f->o->n + 1, sizeof *scratch);
    int rc = scratch ? ss_observations_predict(f->o, f->c->props, f->c->nprops, x, NULL, f->predicted, err)
                     : ss_nomem(err);

    for (int i = 0; i < f->o->n && !rc; i++) {
        struct ss_fit_row *row = &f->c->rows[i];
        ss_copy(row->id, sizeof row->id, f->o->list[i].id);
        ss_copy(row->run, sizeof row->run, f->o->list[i].run);
        ss_copy(row->kind, sizeof row->kind, kinds[f->o->list[i].kind]);
        row->fitted = f->o->list[i].fitted;
        row->measured = f->o->list[i].measured;
        *(after ? &row->after : &row->before) = f->predicted[i];
    }
    for (int i = 0; i < f->o->n && !rc && !after; i++)
        if (f->o->list[i].kind == SS_OBSERVE_TIME &&
            ss_is_other_unit(f->predicted[i], f->o->list[i].measured)) {
            ss_note(&f->c->notes, "%.100s: measured and predicted differ so much: is its unit right?",
                    f->o->list[i].id);
        }
    if (!rc)
        fill_stat(f->o, f->predicted, scratch, after ? &f->c->after : &f->c->before);
    free(scratch);
    return rc;
}

/* ---- cross-validation ---- */

/* Errors of the observations that were left out, gathered group by group. */
struct left_out {
    double *errors; /* [observations] */
    int n;
};

/* Gathers the errors of the observations of one kind. Those from `first` on belong to this group. */
static int gather(struct fitting *f, const char *use, int kind, struct left_out *all,
                  struct ss_error_stat *out, struct ss_error *err)
{
    int first = all->n;
    double *copy = ss_calloc((size_t)f->o->n + 1, sizeof *copy);

    SS_NEED(copy, err);
    for (int i = 0; i < f->o->n; i++)
        if (use[i] && f->o->list[i].kind == kind)
            all->errors[all->n++] = ss_error_pct(f->predicted[i], f->o->list[i].measured);
    memcpy(copy, all->errors + first, (size_t)(all->n - first) * sizeof *copy);
    ss_error_stat_fill(copy, all->n - first, out);
    free(copy);
    return SS_OK;
}

static int fit_without(struct fitting *f, const char *key, const double *start, struct left_out *times,
                       struct left_out *memory, struct ss_error *err)
{
    char *use = ss_calloc((size_t)f->o->n + 1, 1);
    struct fitting part = *f; /* fits what all rows together determine */
    struct ss_fit_left_out *out = &f->c->left_out[f->c->nleft_out++];

    SS_NEED(use, err);
    ss_copy(out->name, sizeof out->name, key);
    for (int i = 0; i < f->o->n; i++)
        use[i] = f->o->list[i].fitted &&
                 (!ss_observation_is_run(&f->o->list[i]) || strcmp(f->o->list[i].key, key) != 0);
    part.use = use;
    memcpy(part.x, start, sizeof part.x);
    int rc = solve(&part, NULL, err);
    for (int i = 0; i < f->o->n; i++)
        use[i] = !use[i];
    SS_THEN(rc, ss_observations_predict(f->o, f->c->props, f->c->nprops, part.x, use, f->predicted, err));
    SS_THEN(rc, gather(f, use, SS_OBSERVE_TIME, times, &out->error, err));
    SS_THEN(rc, gather(f, use, SS_OBSERVE_MEMORY, memory, &out->memory, err));
    free(use);
    return rc;
}

static int is_new_key(const struct ss_observations *o, int i)
{
    for (int k = 0; k < i; k++)
        if (ss_observation_is_run(&o->list[k]) && !strcmp(o->list[k].key, o->list[i].key))
            return 0;
    return ss_observation_is_run(&o->list[i]);
}

static int leave_out(struct fitting *f, const double *start, struct ss_error *err)
{
    struct left_out times = {ss_calloc((size_t)f->o->n + 1, sizeof(double)), 0};
    struct left_out memory = {ss_calloc((size_t)f->o->n + 1, sizeof(double)), 0};
    int rc = SS_OK, groups = 0;

    f->c->left_out = ss_calloc((size_t)f->o->n + 1, sizeof *f->c->left_out);
    if (!times.errors || !memory.errors || !f->c->left_out) {
        SS_FREE(times.errors, memory.errors);
        return ss_nomem(err);
    }
    for (int i = 0; i < f->o->n; i++)
        groups += is_new_key(f->o, i);
    if (!groups) {
        rc =
            ss_fail(err, SS_ERR_USAGE, NULL, 0, "--leave-out %s: only runs can be left out", f->c->leave_out);
        ss_hint(err, rc, "add --rows TABLE, or do without --leave-out");
    } else if (groups < 2) {
        rc = ss_fail(err, SS_ERR_INPUT, NULL, 0, "all rows are of one %s: nothing is left to fit without it",
                     f->c->leave_out);
        ss_hint(err, rc, "leave out by another column");
    }
    for (int i = 0; i < f->o->n && !rc; i++)
        if (is_new_key(f->o, i))
            rc = fit_without(f, f->o->list[i].key, start, &times, &memory, err);
    if (!rc) {
        ss_error_stat_fill(times.errors, times.n, &f->c->over_left_out);
        ss_error_stat_fill(memory.errors, memory.n, &f->c->memory_left_out);
    }
    SS_FREE(times.errors, memory.errors);
    return rc;
}

/* ---- the whole ---- */

static void take_answer(const struct fitting *f, const struct ss_fit_answer *answer)
{
    struct ss_calibration *c = f->c;

    for (int i = 0; i < c->nprops; i++) {
        c->props[i].after = f->x[i];
        c->props[i].deviation = NAN;
        c->correlation[i][i] = 1;
    }
    for (int i = 0; i < f->nactive; i++) {
        struct ss_fit_prop *p = &c->props[f->active[i]];
        p->deviation = answer->deviation[i];
        p->determined = 1;
        p->at_bound = answer->at_bound[i];
        for (int k = 0; k < f->nactive; k++)
            c->correlation[f->active[i]][f->active[k]] = answer->correlation[i][k];
    }
}

static int fit_all(const struct ss_calibrate_options *opt, struct ss_calibration *c,
                   struct ss_observations *o, struct ss_error *err)
{
    struct fitting f = {.c = c,
                        .o = o,
                        .predicted = ss_calloc((size_t)o->n + 1, sizeof(double)),
                        .nactive = c->nprops,
                        .opt = opt,
                        .evaluations = &c->evaluations};
    double start[SS_FIT_MAX] = {0};
    struct ss_fit_answer answer;
    char *all = ss_calloc((size_t)o->n + 1, 1);

    c->rows = ss_calloc((size_t)o->n + 1, sizeof *c->rows);
    int rc = c->rows && f.predicted && all ? SS_OK : ss_nomem(err);
    c->nrows = rc ? 0 : o->n;
    c->nskipped = o->nskipped;
    for (int i = 0; i < c->nprops; i++) {
        start[i] = f.x[i] = c->props[i].before;
        f.active[i] = i;
    }
    if (!rc) {
        for (int i = 0; i < o->n; i++)
            all[i] = (char)o->list[i].fitted;
        f.use = all;
        rc = fill_rows(&f, start, 0, err);
    }
    SS_THEN(rc, solve_determined(&f, start, &answer, err));
    if (!rc) {
        take_answer(&f, &answer);
        rc = fill_rows(&f, f.x, 1, err);
    }
    for (int i = 0; i < c->nprops && !rc; i++)
        if (!c->props[i].determined)
            start[i] = f.x[i]; /* where the fit holds it */
    if (!rc && c->leave_out[0])
        rc = leave_out(&f, start, err);
    SS_FREE(f.predicted, all);
    return rc;
}

/* Notes that there are as many numbers as measurements: such a fit meets any measurements. */
static void note_few(struct ss_calibration *c, const struct ss_observations *o)
{
    int numbers = 0, rows = 0;

    for (int i = 0; i < c->nprops; i++)
        numbers += c->props[i].determined;
    for (int i = 0; i < o->n; i++)
        rows += o->list[i].fitted;
    if (numbers && rows < 3 * numbers)
        ss_note(&c->notes, "%d number%s fitted to %d measurement%s: so few say little of other runs", numbers,
                ss_plural(numbers), rows, ss_plural(rows));
}

static int check_options(const struct ss_calibrate_options *opt, struct ss_error *err)
{
    static const char *const columns[] = {"model", "gpu", "precision", "half", "id"};

    if (!opt || !opt->platform)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "no platform to calibrate");
    int known = !opt->leave_out;
    for (size_t i = 0; i < SS_ARRAY_LEN(columns) && !known; i++)
        known = !strcmp(opt->leave_out, columns[i]);
    if (!known)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0,
                       "--leave-out %.40s: no such column" SS_HINT "choose model, gpu, precision, half or id",
                       opt->leave_out);
    if (opt->log && !opt->job)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0,
                       "--log without --job" SS_HINT
                       "--job FILE has the flags of the run that printed the log");
    return SS_OK;
}

int ss_calibrate(const struct ss_calibrate_options *opt, struct ss_calibration **out, struct ss_error *err)
{
    struct ss_calibration *c;
    struct ss_observations o;

    SS_TRY(check_options(opt, err));
    c = ss_calloc(1, sizeof *c);
    SS_NEED(c, err);
    ss_copy(c->leave_out, sizeof c->leave_out, opt->leave_out ? opt->leave_out : "");
    int rc = ss_observations_load(opt, &o, &c->notes, err);
    if (!rc) {
        rc = choose_props(opt, c, &o, err);
        SS_THEN(rc, fit_all(opt, c, &o, err));
        if (!rc)
            note_few(c, &o);
        ss_observations_free(&o);
    }
    SS_HAND(rc, c, out, ss_calibration_free);
}

void ss_calibration_free(struct ss_calibration *c)
{
    if (!c)
        return;
    ss_notes_free(&c->notes);
    SS_FREE(c->rows, c->left_out, c);
}
