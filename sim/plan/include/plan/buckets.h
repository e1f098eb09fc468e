/* SPDX-License-Identifier: Apache-2.0 */
/* Replicas that reduce gradients, and what their reductions take of the slots beside them. */
#ifndef SS_PLAN_BUCKETS_H
#define SS_PLAN_BUCKETS_H

#include "plan/plan_internal.h"

/* The group at hand: classes of one pipeline stage, or of two with two copies of the model. */
/* A mark behind so many layers of a chunk; buckets that tensors fill have it as often as a layer has buckets. */
struct ss_dp_mark {
    int cls, chunk, layers;
    struct ss_bucket_mark mark;
};
struct ss_dp_group {
    struct ss_plan_builder *b;
    struct ss_error *err;
    int comm; /* SS_COMM_DP_CP: all parameters but those of experts; SS_COMM_EDP: those of experts */
    int cls;  /* first class of the group, at the lower stage */
    struct ss_class_list classes;
    struct ss_group_shape shape;
    struct ss_replicas how;
    double share;            /* of the computation beside one of its collectives */
    int split;               /* 1: the gradients of weights are slots of their own */
    struct ss_dp_mark *last; /* [2]: of reductions, and of gathers */
};
/* Returns the chunk of another class of the group that holds the same layers as `chunk` of the first
 * class. */
static inline int ss_dp_same_chunk(const struct ss_dp_group *d, int cls, int chunk)
{
    const struct ss_plan *plan = d->b->plan;
    return plan->classes[cls].stage == plan->classes[d->cls].stage ? chunk
                                                                   : plan->schedule->chunks - 1 - chunk;
}

/* Returns the parameters of a chunk of the first class. */
static inline const struct ss_param_count *ss_dp_count(const struct ss_dp_group *d, int chunk)
{
    return &ss_plan_cost_of(d->b, d->cls)->params[chunk];
}

/* Returns those of them that the group reduces. */
static inline double ss_dp_params(const struct ss_dp_group *d, int chunk)
{
    const struct ss_param_count *p = ss_dp_count(d, chunk);
    return d->comm == SS_COMM_EDP ? p->expert : p->all - p->expert;
}

/* beside.c. Returns the share that a collective of the group takes of the computation beside it, and at chunk level fills the last
 * backwards, which have reductions beside them; < 0: out of memory. */
double ss_dp_group_share(const struct ss_dp_group *d);

#endif
