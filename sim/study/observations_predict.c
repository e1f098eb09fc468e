/* SPDX-License-Identifier: Apache-2.0 */
/* What a platform and a stack predict for the observations of a fit. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cost/collective.h"
#include "study/calibrate.h"

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
    return ss_collective_seconds(&net, ss_nccl_kind(o->nccl->operation), o->nccl->points[point].bytes,
                                 &shape);
}

static const char *memory_kind(const struct ss_case *c)
{
    return c->table ? ss_case_memory_kind(c) : "reserved";
}

/* A run whose numbers cannot be had with these props is as far off as can be; the fit turns back. */
static int predict_run(struct ss_case *c, const struct ss_fit_prop *props, int nprops, const double *x,
                       struct ss_prediction *out, struct ss_error *err)
{
    int rc = set_props(props, nprops, x, c->platform, &c->stack, err);

    return rc ? rc : ss_case_predict(c, &ss_calibrate_run, out, err);
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

int ss_observations_predict(struct ss_observations *o, const struct ss_fit_prop *props, int nprops,
                            const double *x, const char *use, double *predicted, struct ss_error *err)
{
    struct ss_prediction last; /* of the run `of`: its time and timers follow each other */
    int rc = SS_OK, of = -1;

    if (o->machine)
        rc = set_props(props, nprops, x, o->machine, o->bench ? &o->stack : NULL, err);
    for (int i = 0; i < o->n && !rc; i++) {
        if (use && !use[i])
            continue;
        const struct ss_observation *what = &o->list[i];
        predicted[i] = NAN;
        if (what->kind == SS_OBSERVE_NCCL)
            predicted[i] = collective_seconds(o, what->point);
        else if (what->kind == SS_OBSERVE_BENCH)
            predicted[i] = ss_bench_seconds(o->machine, &o->stack, &o->bench->points[what->point]);
        if (!ss_observation_is_run(what))
            continue;
        struct ss_case *c = ss_observations_case(o, what->of_case);
        if (what->of_case != of)
            rc = predict_run(c, props, nprops, x, &last, err);
        of = what->of_case;
        if (!rc)
            predicted[i] = of_run(what, c, &last);
    }
    return rc;
}
