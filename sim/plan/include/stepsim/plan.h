/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans: where model, job, stack, schedule and platform meet. A plan has groups, ranks on GPUs, the cost of every slot, static
 * memory and classes of equal ranks. ss_plan_build makes one, which nobody changes afterwards; threads may share it.
 */
#ifndef STEPSIM_PLAN_H
#define STEPSIM_PLAN_H

#include "stepsim/cache.h"
#include "stepsim/chunk.h"
#include "stepsim/communicator.h"
#include "stepsim/error.h"
#include "stepsim/load.h"
#include "stepsim/network.h"
#include "stepsim/notes.h"
#include "stepsim/schedule.h"
#include "stepsim/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ss_job;
struct ss_platform;
struct ss_stack;

/* The grid of ranks by arithmetic, as Megatron's RankGenerator makes it. It holds no memory and needs no free. */
struct ss_ranks {
    int world_size;
    int size[SS_AXIS_COUNT];
    int stride[SS_AXIS_COUNT];
};
/* Makes a grid of these sizes; `order` is like "tp-cp-ep-dp-pp", the first axis changes fastest. Error: SS_ERR_INPUT. */
int ss_ranks_init(struct ss_ranks *r, const char *order, const int size[SS_AXIS_COUNT], struct ss_error *err);
/* Makes the grid of the same ranks in which experts are divided, as Megatron's second RankGenerator does: axis tp is expert tensor
 * parallelism, cp is 1, dp what is left. Errors, with Megatron's words: SS_ERR_CONFIG where sizes do not divide the world, or where
 * pipelines are not those of `dense`. */
int ss_ranks_init_experts(struct ss_ranks *r, const struct ss_ranks *dense, const char *order, int etp,
                          int ep, struct ss_error *err);
/* Returns where a rank is along an axis (enum ss_axis), 0 <= result < size. */
int ss_ranks_coordinate(const struct ss_ranks *r, int rank, int axis);
/* Writes the members of the group of a communicator that holds `rank` to out[world_size], in Megatron's order, and their number
 * to *n. A communicator of SS_MEMBERS_ENDS has the first and the last of them, or the only one. */
void ss_ranks_group(const struct ss_ranks *r, int comm, int rank, int *out, int *n);
/* Returns how many ranks differ from a rank along the axes of a communicator alone, the rank itself included. */
int ss_ranks_group_size(const struct ss_ranks *r, int comm);

/* A rank whose kernels take `factor` times as long. */
struct ss_straggler {
    int rank;
    double factor; /* >= 1 */
};
/* A link ("nic-3-0.up", or "nic-3-0" for both directions) with 1/factor of its bandwidth. */
struct ss_slow_link {
    char name[64];
    double factor; /* >= 1; 0: it has failed, and flows go around it */
};
/* How finely ranks are simulated, and where they are. All zero: chunk level, folded, rank r on GPU r. */
struct ss_plan_options {
    int level;  /* enum ss_level */
    int unfold; /* 1: every rank is its own class */
    int apart; /* 1: ranks of a class run in lockstep (ss_plan_lockstep): each has draws of its own otherwise */
    const int *placement; /* [world_size]: GPU of every rank, each once; NULL: rank r is on GPU r */
    int nstragglers;
    const struct ss_straggler *stragglers;
    int nslow_links;
    const struct ss_slow_link *slow_links;
    int draw_spread;      /* 1: the lasting spread of GPUs is drawn, GPU by GPU; 0: its expectation */
    uint64_t spread_seed; /* of the draws */
    /* Of a job with stragglers or slow links that has more than `most_classes` (0: as many as have 65,536 slots): how many steps a
     * difference between ranks goes over shared links, beyond which they are as in the healthy cluster (plan.near). 0: exact
     * classes, however many. */
    int near;
    int most_classes;
    int keep_links; /* 1: links stay that these ranks alone cannot fill: other jobs use them too */
    /* Of plans whose stack, platform and what else their jobs point to live as long as it: groups, routes and classes are those of an
     * earlier plan where nothing of the job differs but microbatches and recompute. NULL: none. */
    struct ss_cache *cache;
    int even; /* 1: in an exchange of experts all ranks send and get as much as the busiest, which folds more ranks */
};

/* Ranks that do the same on the same kind of links. */
struct ss_plan_class {
    int stage;                   /* pipeline rank */
    int count;                   /* ranks it stands for */
    int representative;          /* lowest of them; plan.near: of those that meet what most of them do */
    double parameters;           /* on one rank */
    double memory[SS_MEM_COUNT]; /* static bytes by class */
    double step_bytes;           /* of them, those that live in the optimizer's step alone */
    double main_gradients;       /* bytes beside them that the step makes in the room of activations */
    double host_bytes;           /* of the host's memory, that one rank's offload needs */
    double
        pace; /* how much longer its kernels take than on the mean GPU; in `chunks` as SS_LABEL_SPREAD, in steps not */
    double hidden
        [SS_LABEL_COUNT]; /* s of an iteration by which labels are shorter because slower kernels hide more of them */
    struct ss_chunk_cost *chunks; /* [plan.schedule->chunks] */
    /* [chunk of the forward * plan.schedule->chunks + that of the backward]; NULL: a pair takes F + B */
    struct ss_pair_cost *pairs;
    /* After the last backward, in order; all post-slot collectives are on the dp stream. */
    int npost;
    int *post; /* collectives not bound to a bucket: gradient reduce without overlap, embedding, ... */
    int norm;  /* global barrier (gradient norm, found-inf), -1 = none */
    double gradients_s; /* passes over all local gradients before the norm */
    double optimizer_s; /* clip + step, local */
    /* waiting for the replica whose packed rows take longest, after the reduction of gradients */
    double imbalance_s;
    int nafter;
    int *after;     /* after the step: parameter all-gather without overlap */
    double fixed_s; /* host time of the iteration that nothing overlaps */
};

/* Packed sequences: rows of several documents. */
struct ss_packing_figures {
    double documents; /* of a row, mean */
    double padding;   /* share of the tokens that are padding, 0..1 */
    double attention; /* squares of the documents over those of the rows, 0..1 */
    double cut;       /* share of the documents that are longer than a row and are cut to it, 0..1 */
    double sigma;     /* of a row: standard deviation of its squares over their mean */
    /* s: what an iteration takes because rows differ, over iterations; its mean is part of the iteration */
    struct ss_load_spread imbalance;
};

/* Where a send goes: from class `from` to class `to`. */
struct ss_p2p_path {
    int from, to; /* classes */
    int path;     /* index into plan.paths */
    double latency;
    double sm_share;
};

/* What closed forms of a communicator's collectives leave open. */
struct ss_share {
    int across; /* 1: some of its groups cross nodes */
    int inside; /* 1: some of its groups have several members on a node */
    double
        beyond; /* > 1: its groups have different shares of the links, and up to so many times as little as priced; else 0 */
    double
        taken; /* where ranks differ in pace: the largest part of its time on links that a group gets back when no other group of the
                     communicator is on them, 0..1; else 0 */
    char link[64]; /* where they have least */
    char both
        [64]; /* a link of the fabric that what goes to other nodes crosses too, "" if none: of a ring it is two flows at once */
};

struct ss_plan_sites;
struct ss_stage_place;

struct ss_plan {
    const struct ss_job *job;
    const struct ss_stack *stack;
    const struct ss_platform *platform;
    const struct ss_schedule *schedule;
    int level, unfolded;
    int near; /* 0: classes are exact; else steps from what is slow or has failed within which they are */
    int *
        alike; /* [nclasses], of near: lowest class that two steps fewer would leave the same as this one; else NULL */
    double even_s; /* s: an iteration without the spread of GPUs, where that is drawn; 0: not known */
    int experts;   /* 1: the model is a mixture of experts */
    int aligned;   /* 1: all stages begin at once to reduce the gradients of a chunk */
    /* a pass of a layer of experts on the expert group of rank 0; all zero without */
    struct ss_load_figures load;
    int uneven; /* 1: what ranks of an expert group send each other is a matrix (docs/reference/model.md, section 5) */
    struct ss_packing_figures packing; /* all zero where a row is one document */
    struct ss_ranks ranks;
    /* the same ranks where experts are divided: tp is etp, cp is 1, dp what is left; all zero without */
    struct ss_ranks expert_ranks;
    int world_size, dp, microbatches;
    int straddles; /* 1: tensor or expert groups are on two domains of the fabric, as a warning says */
    int gpus; /* of the cluster: those of nodes that failed, of which no rank is on any, are among them */
    int padded_vocab;
    double parameters;    /* whole model */
    double fragmentation; /* share of the dynamic tensors that the caching allocator reserves beside them */

    int nclasses;
    struct ss_plan_class *classes;
    int *class_of; /* [world_size] */
    int *gpu_of;   /* [world_size] */

    int nlinks;
    /* those that flows cross and that can limit them; named after one of those alike */
    struct ss_link *links;
    int *link_count; /* [nlinks]: links of the platform that it stands for */
    int weighted;    /* 1: a link is crossed by flows that stand for different numbers of flows */
    int npaths;
    struct ss_path *paths;
    int ncollectives;
    struct ss_collective *collectives;
    int np2p;
    struct ss_p2p_path *p2p;
    struct ss_share shares[SS_COMM_COUNT]; /* of collectives inside layers */

    /* what ss_plan_kernels_visit needs; the plan's own */
    struct ss_plan_sites *sites;
    struct ss_stage_place *places;

    double model_flops;        /* Megatron's, one iteration, all ranks */
    double model_flops_causal; /* causal attention halved */
    double hardware_flops;     /* with recompute */
    struct ss_notes guessed;   /* shapes and sizes outside the calibrated range */
    struct ss_notes warnings;
};

/* Makes a plan of a finished job; `options` may be NULL: all zero. The caller frees *out with ss_plan_free, before job, stack,
 * platform and schedule, which the plan reads. Errors: SS_ERR_USAGE (one of them is NULL), SS_ERR_CONFIG (refused: layers that do not divide, a placement or rank
 * outside), SS_ERR_UNSUPPORTED, SS_ERR_NOMEM. */
int ss_plan_build(const struct ss_job *job, const struct ss_stack *stack, const struct ss_platform *platform,
                  const struct ss_schedule *schedule, const struct ss_plan_options *options,
                  struct ss_plan **out, struct ss_error *err);
/* Reads a placement from a file: the GPUs of ranks 0, 1, ... in order, a line `node N` (all GPUs of a node) or `gpu NODE INDEX`
 * each, # comments; every GPU of the platform once. The caller frees *out, one GPU a rank, with free(). Errors: SS_ERR_IO,
 * SS_ERR_INPUT with the line. */
int ss_placement_load(const char *path, const struct ss_platform *platform, int **out, struct ss_error *err);
/* Returns the rank grid of which a communicator's process groups are groups; NULL where the job has no such groups, or where they
 * are of no grid (ss_comm_in_grid). */
const struct ss_ranks *ss_plan_grid(const struct ss_plan *plan, int comm);
/* Returns the lowest of the ranks that run in lockstep with a rank: at chunk level those of its tensor and context group, which
 * all take the time of the slowest, else the rank alone. Under jitter they share draws. */
int ss_plan_lockstep(const struct ss_plan *plan, int rank);
/* A phase of a chunk, or a pair of a forward of `chunk` and a backward of `chunk2` (phase FB). */
struct ss_kernel_place {
    int phase, chunk, chunk2;
};
typedef int (*ss_kernel_visitor)(void *ctx, const struct ss_kernel_place *at, const struct ss_step *step);
/* Visits what a class computes in each phase of each chunk, and in its pairs, step by step, at any level: on GPUs that are all as fast
 * but for stragglers. It stops where `visit` does not return 0. Errors: SS_ERR_NOMEM; what `visit` returns. */
int ss_plan_kernels_visit(const struct ss_plan *plan, int cls, ss_kernel_visitor visit, void *ctx,
                          struct ss_error *err);
/* Returns 1 when all ranks wait for each other before the optimizer's step. */
int ss_plan_has_barrier(const struct ss_plan *plan);
/* Frees a plan. NULL is allowed. */
void ss_plan_free(struct ss_plan *plan);
/* Returns the bytes that a rank of class `cls` has on the device beside tensors: CUDA context, NCCL communicators, flattened gradients (ss.ddp.flat_gradients). */
double ss_plan_overhead_bytes(const struct ss_plan *plan, int cls);

#ifdef __cplusplus
}
#endif
#endif
