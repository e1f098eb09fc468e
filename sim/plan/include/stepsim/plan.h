/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans: where model, job, stack, schedule and platform meet. A plan has groups, ranks on GPUs, the cost of
 * every slot, static memory and classes of equal ranks. ss_plan_build makes a plan; nobody changes it
 * afterwards, and threads may share it.
 */
#pragma once

#include "stepsim/chunk.h"
#include "stepsim/communicator.h"
#include "stepsim/load.h"
#include "stepsim/network.h"
#include "stepsim/notes.h"
#include "stepsim/schedule.h"

SS_C_BEGIN

struct ss_job;
struct ss_platform;
struct ss_stack;

/* The rank grid as arithmetic, as Megatron's RankGenerator makes it. It holds no memory and needs no free. */
struct ss_ranks {
    int world_size;
    int size[SS_AXIS_COUNT];
    int stride[SS_AXIS_COUNT];
};
/* Makes a grid of these sizes; `order` is like "tp-cp-ep-dp-pp", the first axis changes fastest. Error: SS_ERR_INPUT. */
int ss_ranks_init(struct ss_ranks *r, const char *order, const int size[SS_AXIS_COUNT], struct ss_error *err);
/* Makes the grid of the same ranks in which experts are divided, as Megatron's second RankGenerator does:
 * axis tp is expert tensor parallelism, cp is 1, dp is the rest. Errors, with Megatron's words: SS_ERR_CONFIG
 * where the sizes do not divide the world, or where the pipelines differ from those of `dense`. */
int ss_ranks_init_experts(struct ss_ranks *r, const struct ss_ranks *dense, const char *order, int etp,
                          int ep, struct ss_error *err);
/* Returns where a rank is along an axis (enum ss_axis), 0 <= result < size. */
int ss_ranks_coordinate(const struct ss_ranks *r, int rank, int axis);
/* Writes the members of the group that holds `rank` to out[world_size], in Megatron's order, and their number
 * to *n. A communicator of SS_MEMBERS_ENDS has the first and the last of them, or the only one. */
void ss_ranks_group(const struct ss_ranks *r, int comm, int rank, int *out, int *n);
/* Returns how many ranks differ from a rank only along the axes of a communicator, the rank itself
 * included. */
int ss_ranks_group_size(const struct ss_ranks *r, int comm);

/* A rank whose kernels take `factor` times as long. */
struct ss_straggler {
    int rank;
    double factor; /* >= 1 */
};
/* A link ("nic-3-0.up", or "nic-3-0" for both directions) with 1/factor of its bandwidth. */
struct ss_slow_link {
    char name[64];
    double factor; /* >= 1; 0: the link has failed, and flows go around it */
};
/* How finely ranks are simulated, and on which GPUs they are. All zero: chunk level, folded, rank r on GPU
 * r. */
struct ss_plan_options {
    int level;  /* enum ss_level */
    int unfold; /* 1: every rank is its own class */
    int apart;  /* 1: ranks of a class run in lockstep (ss_plan_lockstep); otherwise each has its own draws */
    const int *placement; /* [world_size]: GPU of each rank, all different; NULL: rank r is on GPU r */
    int nstragglers;
    const struct ss_straggler *stragglers;
    int nslow_links;
    const struct ss_slow_link *slow_links;
    int draw_spread;      /* 1: the lasting spread is drawn for each GPU; 0: its expectation is used */
    uint64_t spread_seed; /* seed of those draws */
    /* For a job with stragglers or slow links and more than `most_classes` exact classes (0: as many as have
     * 65,536 slots): number of steps over shared links that a difference between ranks travels; farther ranks
     * are as in the healthy cluster (plan.near). 0: classes are exact, however many. */
    int near;
    int most_classes;
    /* 1: links that these ranks alone cannot fill stay in the plan, because other jobs use them, too */
    int keep_links;
    /* Keeps groups, routes and classes for plans whose jobs differ only in microbatches and recompute. All
     * that the jobs of its plans point to, stack and platform included, must live as long as the cache. NULL:
     * no cache. */
    struct ss_cache *cache;
    /* 1: in an exchange of experts every rank sends and gets as much as the busiest rank, which folds more
     * ranks */
    int even;
    /* > 0: a plan at layer or flow level whose steps would become more events is not made. What its slots send, receive,
     * allocate and free does not count. Error: SS_ERR_UNSUPPORTED */
    double most_events;
};

/* A class: ranks that do the same on the same kind of links. */
struct ss_plan_class {
    int stage; /* pipeline rank */
    int count; /* number of ranks in the class */
    /* lowest rank of the class; with plan.near the lowest that meets what most of the class meet */
    int representative;
    double parameters;           /* on one rank */
    double memory[SS_MEM_COUNT]; /* static bytes by class */
    double step_bytes;           /* the part of `memory` that lives in the optimizer's step alone */
    double pooled_bytes;         /* the part that is reserved for other streams, and not live at the peak */
    double main_gradients;       /* bytes beyond `memory` that the step makes in the room of activations */
    double
        idle_bytes; /* bytes of blocks that the allocator keeps at the peak and gives back before it fails */
    double waiting_bytes; /* bytes of blocks that wait for NCCL's stream at the peak */
    double host_bytes;    /* bytes of host memory that one rank's offload needs */
    /* kernel time over that of the mean GPU; it is in `chunks` as SS_LABEL_SPREAD, and not in steps */
    double pace;
    /* s of an iteration by which each label is shorter because slower kernels hide more of it */
    double hidden[SS_LABEL_COUNT];
    struct ss_chunk_cost *chunks; /* [plan.schedule->chunks] */
    /* [chunk of the forward * plan.schedule->chunks + chunk of the backward]; NULL: a pair takes F + B */
    struct ss_pair_cost *pairs;
    /* Work after the last backward, in order; all its collectives are on the dp stream. */
    int npost;
    int *post; /* collectives not bound to a bucket: gradient reduce without overlap, embedding, ... */
    int norm;  /* global barrier (gradient norm, found-inf), -1: none */
    double gradients_s;       /* s of passes over all local gradients before the norm */
    double optimizer_s;       /* s of clipping and step, local */
    double optimizer_calls_s; /* the part of it in which the host gathers tensors */
    /* s of waiting, after the reduction of gradients, for the replica whose packed rows take longest */
    double imbalance_s;
    int nafter;
    int *after;     /* collectives after the step: parameter all-gather without overlap */
    double fixed_s; /* s of the host in an iteration that nothing overlaps */
    int host_ahead; /* 1: the host issues a slot while the GPU is at the one before */
};

/* Figures of packed sequences, whose rows hold several documents. */
struct ss_packing_figures {
    double documents; /* documents in a row, mean */
    double padding;   /* share of the tokens that are padding, 0..1 */
    double attention; /* squares of the documents' lengths over those of the rows, 0..1 */
    double cut;       /* share of the documents that are longer than a row and are cut, 0..1 */
    double sigma;     /* standard deviation of a row's squares over their mean */
    /* s that an iteration takes because rows differ, over iterations; its mean is part of the iteration */
    struct ss_load_spread imbalance;
};

/* A send from ranks of class `from` to ranks of class `to`. */
struct ss_p2p_path {
    int from, to; /* classes */
    int path;     /* index into plan.paths */
    double latency;
    double sm_share;
};

/* What the closed form of a communicator's collectives does not cover. */
struct ss_share {
    int across; /* 1: some of its groups cross nodes */
    int inside; /* 1: some of its groups have several members on a node */
    /* > 1: groups have different shares of the links, down to 1/beyond of the priced share; else 0 */
    double beyond;
    /* where ranks differ in pace: the largest part of its time on links that a group gets back when no other
     * group of the communicator is on them, 0..1; else 0 */
    double taken;
    char link[64]; /* the link on which groups have the smallest share */
    /* a link of the fabric that traffic to other nodes crosses, too ("": none); a ring has two flows there at once */
    char both[64];
};

struct ss_plan_sites;
struct ss_stage_place;

struct ss_plan {
    const struct ss_job *job;
    const struct ss_stack *stack;
    const struct ss_platform *platform;
    const struct ss_schedule *schedule;
    int level, unfolded;
    /* 0: classes are exact; else they are exact within this many steps from what is slow or has failed */
    int near;
    /* [nclasses] with near: lowest class that is one with this class after two steps fewer; else NULL */
    int *alike;
    double even_s; /* s of an iteration without the spread of GPUs, where that is drawn; 0: not known */
    int experts;   /* 1: the model is a mixture of experts */
    /* 1: all stages begin to reduce the gradients of a chunk at the same time; 2: but behind the last backward
     * where that would be behind one of the first chunk */
    int aligned;
    /* overlapped gathers begin 0: before the first forward, all; 1: in the first forward that needs them, one behind the other; 2: there,
     * each when it is needed */
    int hooked;
    /* one pass of a layer of experts on the expert group of rank 0; all zero without experts */
    struct ss_load_figures load;
    /* 1: the amounts that ranks of an expert group send each other are a matrix (docs/reference/model.md,
     * section 5) */
    int uneven;
    struct ss_packing_figures packing; /* all zero where a row is one document */
    struct ss_ranks ranks;
    /* the same ranks with experts divided: tp is etp, cp is 1, dp is the rest; all zero without experts */
    struct ss_ranks expert_ranks;
    int world_size, dp, microbatches;
    int straddles; /* 1: a tensor or expert group lies on two fabric domains, as a warning says */
    int gpus;      /* GPUs of the cluster, those of failed nodes included, on which there are no ranks */
    int padded_vocab;
    double parameters; /* of the whole model */
    /* bytes that the caching allocator reserves beside dynamic tensors, as a share of them */
    double fragmentation;

    int nclasses;
    struct ss_plan_class *classes;
    int *class_of; /* [world_size] */
    int *gpu_of;   /* [world_size]; NULL: rank r is on GPU r */

    int nlinks;
    /* links that flows cross and that can limit them; each has the name of one of its equal links */
    struct ss_link *links;
    int *link_count; /* [nlinks]: number of equal links of the platform that the link stands for */
    int weighted;    /* 1: flows on one link stand for different numbers of flows */
    int npaths;
    struct ss_path *paths;
    int ncollectives;
    struct ss_collective *collectives;
    struct ss_arena_block *parts; /* phases, flows and members of the collectives */
    int np2p;
    struct ss_p2p_path *p2p;
    struct ss_share shares[SS_COMM_COUNT]; /* [comm]: of collectives inside layers */

    /* inputs of ss_plan_kernels_visit; the plan's own */
    struct ss_plan_sites *sites;
    struct ss_stage_place *places;

    double model_flops;        /* FLOP of one iteration on all ranks, as Megatron counts them */
    double model_flops_causal; /* the same, causal attention halved */
    double hardware_flops;     /* FLOP of the hardware, recompute included */
    double model_flops_seen; /* as model_flops; of attention what the causal mask, windows and chunks leave */
    double bounded_flops;    /* as model_flops, but of a query no more keys than its window or chunk has */
    double bounded_hardware_flops; /* likewise, recompute included */
    struct ss_notes guessed;       /* notes on shapes and sizes outside the calibrated range */
    struct ss_notes warnings;
};

/* Makes a plan of a finished job; `options` may be NULL for all zero. The caller frees *out with
 * ss_plan_free, before job, stack, platform and schedule, which the plan reads. Errors: SS_ERR_USAGE (one of
 * them is NULL), SS_ERR_CONFIG (refused: layers that do not divide, a placement or rank outside),
 * SS_ERR_UNSUPPORTED, SS_ERR_NOMEM. */
int ss_plan_build(const struct ss_job *job, const struct ss_stack *stack, const struct ss_platform *platform,
                  const struct ss_schedule *schedule, const struct ss_plan_options *options,
                  struct ss_plan **out, struct ss_error *err);
/* Reads a placement file, which gives the GPUs of ranks 0, 1, ... in order: each line is `node N` (all GPUs
 * of a node) or `gpu NODE INDEX`, # begins a comment, and every GPU of the platform stands once. The caller
 * frees *out, one GPU a rank, with free(). Errors: SS_ERR_IO, SS_ERR_INPUT with the line. */
int ss_placement_load(const char *path, const struct ss_platform *platform, int **out, struct ss_error *err);
/* Returns the rank grid that a communicator's process groups belong to; NULL where the job has no such
 * groups, or where no grid gives them (ss_comm_in_grid). */
const struct ss_ranks *ss_plan_grid(const struct ss_plan *plan, int comm);
/* Returns the lowest rank of those that run in lockstep with a rank. At chunk level these are its tensor and
 * context group, which takes the time of its slowest member; otherwise the rank alone. Under jitter they
 * share draws. */
int ss_plan_lockstep(const struct ss_plan *plan, int rank);
/* A phase of a chunk, or a pair of a forward of `chunk` and a backward of `chunk2` (phase FB). */
struct ss_kernel_place {
    int phase, chunk, chunk2;
    int count; /* of equal layers in a row, each of which runs the kernel; 1 at other levels than chunk, and in pairs */
};
struct ss_kernel_visitor {
    int (*visit)(void *ctx, const struct ss_kernel_place *at, const struct ss_step *step);
    int (*wants)(void *ctx, const struct ss_kernel_place *at); /* whether steps there are visited */
    void *ctx;
    struct ss_cache *cache; /* of plans of this platform; may be NULL */
};
/* Returns whether the kernels of two classes are known to be the same. */
int ss_plan_kernels_same(const struct ss_plan *plan, int a, int b);
/* Visits the kernels that a class runs in each phase of each chunk, and in its pairs, in their order in a layer, at any
 * level. GPUs are equally fast except stragglers. The visit stops where `visit` does not return 0. Errors:
 * SS_ERR_NOMEM; what `visit` returns. */
int ss_plan_kernels_visit(const struct ss_plan *plan, int cls, const struct ss_kernel_visitor *visitor,
                          struct ss_error *err);
/* Returns the GPU of a rank. */
static inline int ss_plan_gpu(const struct ss_plan *plan, int rank)
{
    return plan->gpu_of ? plan->gpu_of[rank] : rank;
}
/* Returns 1 when all ranks wait for each other before the optimizer's step. */
int ss_plan_has_barrier(const struct ss_plan *plan);
/* Frees a plan. NULL is allowed. */
void ss_plan_free(struct ss_plan *plan);
/* Returns the bytes that a rank of class `cls` has on the device beside tensors: CUDA context, NCCL communicators, flattened gradients (ss.ddp.flat_gradients). */
double ss_plan_overhead_bytes(const struct ss_plan *plan, int cls);

SS_C_END
