/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lower bounds of what a job's plan takes and holds, before links, classes and buckets are known. Times are
 * those of slots whose links nobody shares, as at chunk level; on shared links and at flow level a slot takes
 * as long or longer. Where ranks of an expert group send unlike amounts only kernels count; where forwards run
 * beside backwards, kernels and what the best partner leaves of the exchanges. What the host takes is told apart, for the
 * schedule decides whether the host goes ahead of the GPU (docs/design/host.md).
 */
#pragma once

#include "cost/rank_cost.h"
#include "stepsim/error.h"

struct ss_job;
struct ss_stack;
struct ss_platform;
struct ss_cache;
struct ss_plan;

/* Bounds of one rank of a pipeline stage. */
struct ss_stage_bounds {
    double forward, backward; /* s of a microbatch on all chunks of the rank, without `waits` */
    /* of F and B: s that the GPU waits for launches where both begin each slot in step; s that the host takes to issue all,
     * 0 where the host waits for the GPU on the way (in_step) */
    double waits[2], host[2];
    double layers_work[2],
        layers_host
            [2]; /* the part of them that transformer layers take, waits in step included in the first */
    /* s of the backward on one chunk: the most, with its waits; the least of the GPU, and of the host */
    double most_back, least_back[2];
    double after[2]; /* s from the host's begin of a slot to the GPU's end of it, of one chunk; 0: in_step */
    int in_step[2];
    int issues;     /* 1: the host may be ahead of the GPU; 0: the waits are part of each slot */
    double exposed; /* with `exact`: further s of exchanges that a backward beside the forward cannot hide */
    double split;   /* s of forward and backward where the backward is split, if that is less */
    /* s of an iteration outside microbatches: optimizer, passes over gradients, host time that nothing
     * hides */
    double step;
    double first[2], last[2]; /* s of F and B of the first and of the last chunk; [1]: with the waits */
    double gather,
        reduce; /* s of collectives that nothing hides: of parameters before all slots, of gradients behind */
    double fixed, step_bytes; /* bytes of static memory, and the part of them that lives in the step alone */
    double main_gradients;    /* bytes beyond `fixed` that the step makes in the room of activations */
    double beside;            /* bytes beside tensors */
    double activations;       /* bytes that a microbatch keeps from F to B on all chunks */
    double layers;            /* the part of them that transformer layers keep */
    double chunk, largest;    /* activations of the chunk that keeps least, and of the one that keeps most */
    double logits;            /* bytes that the loss keeps beyond activations */
    double extra;             /* further bytes while a backward runs */
};
/* What the layers of the first and of the last stage take, with so many microbatches; kinds 0: not known. */
struct ss_layer_bounds {
    int kinds, microbatches, micro_batch;
    struct ss_layer_seconds kind[12];
};
struct ss_plan_bounds {
    struct ss_layer_bounds layers;
    /* 1: all layers are equal and every chunk of a stage has as many, so a chunk's forward takes at least its
     * part */
    int even;
    int loose;   /* 1: `exact` ones say more */
    int barrier; /* 1: all ranks wait for one another before the optimizer's step */
    /* the first stage, one in the middle (else the last) and the last stage. Where not even, the one in the
     * middle has the largest times and bytes of its stages, each of its own stage, their smallest step, and keeps nothing */
    struct ss_stage_bounds stage[3];
    double all; /* s: `split` summed over all stages */
    /* s of messages, each on links of its own: from the first stage to the last one, and from there to the first; those inside a node
     * are not counted */
    double hops, wrap;
    double
        tied; /* s that first and last stage take to exchange gradients of an embedding that both have, behind their reductions */
    double sent; /* bytes of the smallest message between stages; 0: none */
    /* s, where not even, in Megatron's orders: of the stage where this is most, the way of a microbatch through the first chunks of the
     * stages before it and back, and all its slots; or the way of one through all chunks and back, and the slots of the last stage
     * between. [1]: where host and GPU begin each slot in step */
    double passing[2];
    /* bytes of the fullest stage, where not even, in Megatron's orders without pairs: as the driver counts them, and without what
     * memory gives back where there is little of it; 0: not known */
    double bytes, least_bytes;
    double states; /* bytes of weights, gradients and optimizer states of the fullest of the three stages */
};
/* Finds the bounds of a finished job. Where its layers are equal they hold for one chunk a rank, and so for any number of
 * chunks, unless `exact` is 1: then they are those of its chunks, each with what it has, also beside each other, as where layers
 * differ. exact -1: what layers take is found alone, at a part of the cost. Errors: those of ss_plan_build.
 * `cache`, which may be NULL, keeps groups, as that of ss_plan_options does. */
int ss_plan_bounds_find(const struct ss_job *job, const struct ss_stack *stack,
                        const struct ss_platform *platform, int exact, struct ss_cache *cache,
                        struct ss_plan_bounds *out, struct ss_error *err);
/* Returns 1 when a layer takes what it takes under any other number of stages, or longer where a job has more microbatches or stages
 * that begin inside a node: each waits for the same ranks, and no collective of data parallelism is in it. */
int ss_plan_bounds_has_layers(const struct ss_job *job, const struct ss_stack *stack,
                              const struct ss_platform *platform);
/* Returns the s of an iteration that the layers of the stages take alone in Megatron's orders, by what they take under another number of
 * stages and chunks; no more than the bounds of the job say. 0: nothing is known. *work: s of the mean rank. */
double ss_plan_bounds_by_layers(const struct ss_layer_bounds *layers, const struct ss_job *job,
                                const struct ss_stack *stack, const struct ss_platform *platform,
                                int microbatches, double *work);
/* Returns 1 when a job runs Megatron's own order: 1F1B, interleaved with several chunks. */
int ss_plan_bounds_is_megatrons(const struct ss_job *job);
/* Returns how stages send to each other there, SS_P2P_... */
int ss_plan_bounds_p2p(const struct ss_job *job, const struct ss_stack *stack);
/* Returns how many microbatches follow each other on a chunk in Megatron's orders; 0: in groups that are not equal. */
int ss_plan_bounds_group(const struct ss_job *job, int microbatches);
/* Sets what messages of a plan take, each on links of its own. Files that write each link may have NICs that differ, and detours over
 * them: these have none. */
void ss_plan_bounds_add_messages(const struct ss_plan *plan, struct ss_plan_bounds *out);
/* Raises the bytes of the fullest stage, which are summed up in the order of ss_result_class_memory, so that they equal those of a
 * replay. */
void ss_plan_bounds_raise_bytes(const struct ss_plan *plan, const struct ss_rank_cost *cost, int stage,
                                const struct ss_stage_bounds *s, struct ss_plan_bounds *all);
/* Returns the s of all messages between which a microbatch passes all chunks, and of as many back. */
double ss_plan_bounds_messages(const struct ss_plan_bounds *b, int chunks);
/* Returns how many forwards a rank of a stage runs before its first backward in Megatron's orders. */
int ss_plan_bounds_warmup(const struct ss_job *job, int stage, int microbatches);
/* Returns how long the slots of a rank with so many forwards before its first backward take, one after the other, where the host may
 * be ahead of the GPU. */
double ss_plan_bounds_ahead(const struct ss_stage_bounds *s, int microbatches, int warmup);
/* Returns 1 when the layers of a job cost the same (`even`), so that jobs which differ only in their chunks have
 * equal bounds. alike: ss_layers_alike of the job. */
int ss_plan_bounds_is_even(const struct ss_job *job, int alike);
