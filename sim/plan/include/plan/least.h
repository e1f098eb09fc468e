/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ranks of a job cost at least, before links, classes and buckets are known: for lower bounds of what a plan of it takes. Times
 * are those of slots on links that nobody shares, as the chunk level has them; on shared ones, and at flow level, they are as long or
 * longer. Where ranks of an expert group send unlike amounts only kernels count.
 */
#ifndef SS_PLAN_LEAST_H
#define SS_PLAN_LEAST_H

#include "stepsim/error.h"

struct ss_job;
struct ss_stack;
struct ss_platform;
struct ss_cache;

/* A rank of a pipeline stage. */
struct ss_stage_least {
    double forward, backward; /* s of a microbatch on all chunks of the rank */
    double split;             /* s of both where the backward is split, if that is less */
    double step; /* s of an iteration: optimizer, passes over gradients, host time that nothing hides */
    double fixed, step_bytes; /* bytes of classes that live all the time; of them those of the step alone */
    double main_gradients;    /* bytes beside them, in the room of activations, of the step */
    double beside;            /* bytes beside tensors */
    double activations;       /* bytes that a microbatch keeps from F to B on all chunks */
    double chunk;             /* and on the chunk that keeps least */
    double logits;            /* those of the loss beside them */
    double extra;             /* bytes beside them while a backward runs */
};
struct ss_plan_least {
    int even; /* 1: all layers are alike and every chunk of a stage has as many, so that a chunk's forward is not less than its part */
    int barrier; /* 1: all ranks wait for one another before the optimizer's step */
    /* the first, one in the middle (the last where there is none) and the last stage; where not even, what is in the middle has the
     * most of each, and keeps nothing */
    struct ss_stage_least stage[3];
    double all; /* s: split of all stages together */
};
/* Of a finished job: of one chunk a rank where its layers are alike, which all numbers of chunks share. Errors: those of
 * ss_plan_build. A cache, which may be NULL, keeps groups, as that of ss_plan_options does. */
int ss_plan_least_find(const struct ss_job *job, const struct ss_stack *stack,
                       const struct ss_platform *platform, struct ss_cache *cache, struct ss_plan_least *out,
                       struct ss_error *err);
/* Whether the layers of a job are alike, as `even` says, so that jobs which differ in their chunks alone have the same. */
int ss_plan_least_is_even(const struct ss_job *job);

#endif
