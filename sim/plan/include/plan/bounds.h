/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lower bounds of what a job's plan takes and holds, before links, classes and buckets are known. Times are
 * those of slots whose links nobody shares, as at chunk level; on shared links and at flow level a slot takes
 * as long or longer. Where ranks of an expert group send unlike amounts only kernels count; where forwards run
 * beside backwards, kernels and what the best partner leaves of the exchanges.
 */
#ifndef SS_PLAN_BOUNDS_H
#define SS_PLAN_BOUNDS_H

#include "stepsim/error.h"

struct ss_job;
struct ss_stack;
struct ss_platform;
struct ss_cache;

/* Bounds of one rank of a pipeline stage. */
struct ss_stage_bounds {
    double forward, backward; /* s of a microbatch on all chunks of the rank */
    double exposed; /* with `pairs`: further s of exchanges that a backward beside the forward cannot hide */
    double split;   /* s of forward and backward where the backward is split, if that is less */
    /* s of an iteration outside microbatches: optimizer, passes over gradients, host time that nothing
     * hides */
    double step;
    double fixed, step_bytes; /* bytes of static memory, and the part of them that lives in the step alone */
    double main_gradients;    /* bytes beyond `fixed` that the step makes in the room of activations */
    double beside;            /* bytes beside tensors */
    double activations;       /* bytes that a microbatch keeps from F to B on all chunks */
    double layers;            /* the part of them that transformer layers keep */
    double chunk, largest;    /* activations of the chunk that keeps least, and of the one that keeps most */
    double logits;            /* bytes that the loss keeps beyond activations */
    double extra;             /* further bytes while a backward runs */
};
struct ss_plan_bounds {
    /* 1: all layers are equal and every chunk of a stage has as many, so a chunk's forward takes at least its
     * part */
    int even;
    int loose;   /* 1: forwards run beside backwards, and kernels alone count: `pairs` bounds more */
    int barrier; /* 1: all ranks wait for one another before the optimizer's step */
    /* the first stage, one in the middle (else the last) and the last stage. Where not even, the one in the
     * middle has the largest times and bytes of its stages, their smallest step, and keeps nothing */
    struct ss_stage_bounds stage[3];
    double all;    /* s: `split` summed over all stages */
    double states; /* bytes of weights, gradients and optimizer states of the fullest of the three stages */
};
/* Finds the bounds of a finished job. Where its layers are equal they hold for one chunk a rank, and so for
 * any number of chunks, unless `pairs` is 1: then they are those of its chunks, beside each other. Errors: those of ss_plan_build. `cache`, which may be NULL, keeps groups, as that of
 * ss_plan_options does. */
int ss_plan_bounds_find(const struct ss_job *job, const struct ss_stack *stack,
                        const struct ss_platform *platform, int pairs, struct ss_cache *cache,
                        struct ss_plan_bounds *out, struct ss_error *err);
/* Returns 1 when the layers of a job cost the same (`even`), so that jobs which differ only in their chunks have
 * equal bounds. alike: ss_layers_alike of the job. */
int ss_plan_bounds_is_even(const struct ss_job *job, int alike);

#endif
