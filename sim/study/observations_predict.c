/* SPDX-License-Identifier: Apache-2.0 */
/* Predicts the observations of a fit by a platform and a stack. */
#include "base/base.h"
#include "study/calibrate.h"
#include "workers/pool.h"

/* so few runs are predicted without further processes: they take a few milliseconds */
#define FEW 4

static int set_props(const struct ss_fit_prop *props, int nprops, const double *x, struct ss_platform *p,
                     struct ss_stack *s, struct ss_error *err)
{
    int rc = SS_OK;

    for (int i = 0; i < nprops && !rc; i++)
        if (s || !props[i].of_stack)
            rc = ss_study_prop_set(props[i].id, x[i], p, s, err);
    return rc;
}

static double collective_seconds(const struct ss_observations *o, int point)
{
    struct ss_group_shape shape = {
        .n = o->nccl_ranks, .nodes = o->nccl_nodes, .per_node = o->nccl_ranks / o->nccl_nodes};
    struct ss_net net;

    ss_net_init(&net, o->machine);
    return fmax(
        ss_collective_seconds(&net, ss_nccl_kind(o->nccl->operation), o->nccl->points[point].bytes, &shape),
        ss_nccl_issue_seconds(o->nccl->per_thread));
}

static const char *memory_kind(const struct ss_case *c)
{
    return c->table ? ss_case_memory_kind(c) : "reserved";
}

/* ---- runs, by workers ---- */

/* The runs to predict, each once: observations of one run follow each other. */
struct runs {
    struct ss_observations *o;
    int n, *of_case;
    struct ss_prediction *out;
};

/* Predicts a run. A run that cannot be predicted with these props is as far off as possible, so that the
 * fit turns back. */
static int predict_run(void *ctx, int item, void *answer, struct ss_error *err)
{
    const struct runs *r = ctx;

    return ss_case_predict(ss_observations_case(r->o, r->of_case[item]), &ss_calibrate_run, answer, err);
}

/* Predicts the runs by workers, which are copies of this process with the numbers that are being tried. */
static int predict_runs(struct runs *r, const char *use, const struct ss_fit_prop *props, int nprops,
                        const double *x, struct ss_error *err)
{
    struct ss_observations *o = r->o;
    int rc = SS_OK;

    r->of_case = ss_calloc((size_t)o->n + 1, sizeof *r->of_case);
    for (int i = 0; i < o->n && r->of_case && !rc; i++) {
        int of = o->list[i].of_case;
        if ((use && !use[i]) || !ss_observation_is_run(&o->list[i]) || (r->n && r->of_case[r->n - 1] == of))
            continue;
        struct ss_case *c = ss_observations_case(o, of);
        r->of_case[r->n++] = of;
        rc = set_props(props, nprops, x, c->platform, &c->stack, err);
    }
    r->out = ss_calloc((size_t)r->n + 1, sizeof *r->out);
    SS_NEED(r->of_case && r->out, err);
    const int few = r->n < FEW;
    const struct ss_pool pool = {
        .workers = {.n = few ? 1 : o->workers.n, .team = few ? NULL : o->workers.team},
        .nitems = r->n,
        .size = sizeof *r->out,
        .work = predict_run,
        .ctx = r};
    return rc ? rc : ss_pool_run(&pool, r->out, err);
}

static double of_run(const struct ss_observation *what, const struct ss_case *c,
                     const struct ss_prediction *p)
{
    if (p->state != SS_CASE_READY)
        return NAN;
    if (what->kind == SS_OBSERVE_TIMER)
        return ss_prediction_timer(p, what->id);
    return what->kind == SS_OBSERVE_MEMORY ? ss_prediction_memory(p, memory_kind(c)) : p->summary.iteration_s;
}

static void fill(const struct ss_observations *o, const struct runs *r, const char *use, double *predicted)
{
    int at = -1; /* the run of this observation */

    for (int i = 0; i < o->n; i++) {
        const struct ss_observation *what = &o->list[i];
        if (use && !use[i])
            continue;
        predicted[i] = NAN;
        if (what->kind == SS_OBSERVE_NCCL)
            predicted[i] = collective_seconds(o, what->point);
        else if (what->kind == SS_OBSERVE_BENCH)
            predicted[i] = ss_bench_seconds(o->machine, &o->stack, &o->bench->points[what->point]);
        if (!ss_observation_is_run(what))
            continue;
        at += at < 0 || r->of_case[at] != what->of_case;
        predicted[i] =
            of_run(what, ss_observations_case((struct ss_observations *)o, what->of_case), &r->out[at]);
    }
}

int ss_observations_predict(struct ss_observations *o, const struct ss_fit_prop *props, int nprops,
                            const double *x, const char *use, double *predicted, struct ss_error *err)
{
    struct runs r = {.o = o};
    int rc = SS_OK;

    if (o->machine)
        rc = set_props(props, nprops, x, o->machine, o->bench ? &o->stack : NULL, err);
    SS_THEN(rc, predict_runs(&r, use, props, nprops, x, err));
    if (!rc)
        fill(o, &r, use, predicted);
    SS_FREE(r.of_case, r.out);
    return rc;
}
