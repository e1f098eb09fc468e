/* SPDX-License-Identifier: Apache-2.0 */
/* The answer for one job: built from a plan and the timeline of its replay. */
#ifndef STEPSIM_RESULT_H
#define STEPSIM_RESULT_H

#include <stdint.h>

#include "stepsim/bands.h"
#include "stepsim/error.h"
#include "stepsim/plan.h"
#include "stepsim/platform.h"
#include "stepsim/replay.h"
#include "stepsim/scenario.h"
#include "stepsim/summary.h"
#include "stepsim/workers.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ss_stage_result {
    int stage;
    int rank;                           /* the busiest, which the breakdown is of */
    double breakdown[SS_LABEL_COUNT];   /* s, sums to iteration_s */
    double memory[SS_MEM_COUNT];        /* bytes at the peak */
    double allocated, reserved, device; /* bytes: peak of tensors; with allocator; with context and NCCL */
};

struct ss_timer {
    char name[48];
    double seconds;
};

/* Where a figure that was estimated from draws lies with 95 % confidence; NaN on a side that so few draws leave open. */
struct ss_interval {
    double low, high;
};

/* Iterations under jitter, in s. */
struct ss_spread {
    int replicas; /* 0: none */
    double sigma;
    uint64_t seed;
    double without; /* jitter */
    double mean, min, p5, p25, p50, p75, p95, max;
    struct ss_interval mean_in, p5_in, p25_in, p50_in, p75_in, p95_in;
};

/* What becomes of the iteration when links are wider or narrower by parts of 1e-10 to 1e-14, less than any is known by: where
 * flows contend, which of two events comes first may then decide what follows. */
struct ss_sensitivity {
    int known;        /* 0: not looked at: `unchecked`, under jitter, or where every slot is run */
    int sensitive;    /* 1: it moves by more than 1e-9 of it, so that fewer digits hold than are printed */
    double low, high; /* s: 3 standard deviations around the mean of 17 replays, and all of these */
};

/* A link that flows cross and that can limit them, or the first of several alike. */
struct ss_link_use {
    struct ss_link link;
    int alike;          /* links of the platform that carry the same at the same time */
    double bytes;       /* over each of them, one iteration */
    double sends;       /* of them those that stages send each other */
    double utilisation; /* of what it could carry in the iteration, 0..1 */
    double busy;        /* share of the iteration in which it carries something, 0..1 */
};

struct ss_result {
    double iteration_s;
    int nstages;
    struct ss_stage_result *stages; /* by pipeline rank: the class with the most busy time there */
    int critical_stage;             /* its breakdown is the answer's */
    double capacity;                /* bytes: what nvidia-smi shows as total */
    double peak_device, peak_reserved, peak_allocated; /* bytes */
    int peak_stage;
    int fits; /* 0: out of memory */
    int thrash; /* fits, but the peak is within the stack's thrash margin of the capacity, or above it: the allocator
                         frees what it caches and tries again */
    int ntimers;
    struct ss_timer *timers;
    int nlinks;
    struct ss_link_use *links; /* most utilised first: links[0] limits, if any does */
    struct ss_spread spread;   /* under jitter; all else is then of the replica in the middle */
    struct ss_sensitivity sensitivity;
    int engine, level;
    int ranks_simulated;
    int64_t events;
    int brief; /* 1: idle time is not split into bubble, imbalance and spread (all is bubble), and there are no timers */
};

/* Makes the result of a plan from the timeline of its program; engine: enum ss_engine. Timers and links are those that
 * ss_run_scenario adds. The caller frees *out with ss_result_free. Error: SS_ERR_NOMEM. */
int ss_result_build(const struct ss_plan *plan, const struct ss_timeline *timeline, int engine,
                    struct ss_result **out, struct ss_error *err);
/* Frees a result. NULL is allowed. */
void ss_result_free(struct ss_result *r);
/* Returns the class of memory (enum ss_mem) that is largest on a stage: the one to shrink first. */
int ss_result_largest(const struct ss_result *r, int stage);
/* Returns the stage whose device memory is within 5 % of a measured one (bytes) that is further from the peak, or -1: people
 * often measure one GPU. */
int ss_result_stage_like(const struct ss_result *r, double measured);
/* Returns the bytes of a stage's device memory that are no tensor's: context, NCCL, what the allocator keeps. */
double ss_result_beside(const struct ss_stage_result *s);
/* Returns the bytes of a stage's device memory when the allocator has given back all that no tensor is in. */
double ss_result_least(const struct ss_stage_result *s);
/* Returns the dense peak, in FLOP/s, of the job's GEMM precision, or, where sixteen_bit is 1, of bf16 (fp16 on a card without). */
double ss_result_peak_flops(const struct ss_plan *plan, int sixteen_bit);

/* The whole way for one scenario, which outlives it: schedule, plan, program, replay, result. Anything not wanted may be
 * NULL. */
struct ss_run {
    const struct ss_scenario *scenario;
    struct ss_schedule *schedule;
    struct ss_plan *plan;
    struct ss_program *program;
    struct ss_timeline *timeline;
    struct ss_result *result;
    struct ss_summary summary;  /* the figures of result */
    struct ss_compute *compute; /* with `open_compute`; else NULL */
    char level_reason[300];     /* why it went to flow level by itself; "" where it did not */
};
/* What is done where closed forms of the plan's level are more than 3 % of the iteration off what flows on the links take. */
enum ss_level_choice {
    SS_LEVEL_FOLLOWS, /* the run is made at flow level, and level_reason says why */
    SS_LEVEL_STAYS,   /* a warning says by how much it is off */
    SS_LEVEL_BLIND    /* nobody looks */
};
#define SS_JITTER_MOST 2 /* sigma of jitter at most */

/* How a scenario is simulated. */
struct ss_run_options {
    int engine;       /* enum ss_engine */
    int open_compute; /* 1: what kernels are of is found too (ss_run.compute) */
    int full_replay;  /* 1: every slot is run, no steady state jumped over */
    int brief; /* 1: what idles is not split, and no timers: the summary has NaN for such shares. For searches */
    int unchecked;                /* 1: whether all digits hold (ss_result.sensitivity) is not looked at */
    const struct ss_bands *bands; /* of the summary; NULL: none */
    const struct ss_schedule
        *schedule; /* in place of what --schedule names, with its stages and chunks; NULL: that */
    /* What runs share, which is written to; NULL: none. The bands live as long as it; plans share only what is in plan.cache. */
    struct ss_cache *cache;
    struct ss_plan_options plan;
    int level_choice; /* enum ss_level_choice */
    int any_engine;   /* 1: what goes to another level runs on the native engine */
    struct ss_jitter
        jitter; /* sigma in 0..SS_JITTER_MOST; > 0: all ranks with draws of their own are simulated, `replicas` times */
    int replicas;              /* of jitter: >= 1 */
    struct ss_workers workers; /* that replay replicas */
    /* Called now and then in a long replay, and with every replica, with the share done, 0..1; may be NULL. */
    void (*progress)(void *ctx, double share);
    void *ctx;
};
/* Predicts a scenario and keeps what was made on the way; `options` NULL: the native engine, and all else zero. *out need not be
 * initialised; the caller frees it with ss_run_free, before the scenario. Errors: SS_ERR_CONFIG and SS_ERR_UNSUPPORTED (refused),
 * SS_ERR_USAGE (an option outside of its range), and those of ss_predict. */
int ss_run_scenario(const struct ss_scenario *s, const struct ss_run_options *options, struct ss_run *out,
                    struct ss_error *err);
/* Frees what a run holds and empties it. NULL and {0} are allowed. */
void ss_run_free(struct ss_run *run);

struct ss_scenario;
/*
 * Predicts a scenario, the third call of the short way: ss_request_read, ss_scenario_build, ss_predict. A configuration that
 * is refused (ss_status_refuses) is an outcome: the call succeeds and *out has SS_OUTCOME_REFUSED, the code and the reason.
 * `options` NULL: the native engine. Where options->bands is NULL the bands that came with the library are read for this
 * call, so that the verdict is the one of `stepsim run`; whoever predicts often loads them once. *out is written on success
 * only and holds nothing to free. Errors: SS_ERR_USAGE (an option outside of its range), SS_ERR_IO and SS_ERR_INPUT (bands, schedule file), SS_ERR_DEADLOCK (schedule
 * file), SS_ERR_ENGINE, SS_ERR_NOMEM. Several threads may predict one scenario at the same time.
 */
int ss_predict(const struct ss_scenario *s, const struct ss_run_options *options, struct ss_summary *out,
               struct ss_error *err);

/* One thing to try when a job does not fit (or is tight): a job that was run, and what it costs. */
struct ss_fix {
    /* flags: "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1" */
    char change[200];
    struct ss_summary summary; /* of the changed job */
};
/* The first three changes that make the job of a scenario fit, cheapest in time first: words behind those of its request,
 * each checked by a native run with the plan's options (level, slow GPUs and links, placement) and without jitter; options
 * may be NULL. *n <= 3, 0 for a job that fits as it is. */
int ss_fixes_find(const struct ss_scenario *s, const struct ss_run_options *options, struct ss_fix fixes[3],
                  int *n, struct ss_error *err);

/* On how few GPUs of its platform the model of a job fits, if all but the layout is as the job says. */
struct ss_smallest {
    int gpus; /* 0: no layout was accepted and held them */
    /* "--nodes 4 --gpus-per-node 8 --tp 8 --pp 4 --cp 1 --sequence-parallel" */
    char flags[224];
    double bytes; /* weights, gradients and optimizer states on the fullest GPU, <= the card's */
};
/* Tries 1, 2, 4, ... GPUs of a node, then 1, 2, 4, ... nodes of those that the scenario takes, up to 16,384 GPUs; on each tensor
 * and pipeline parallelism of powers of two (a job with stages of its own keeps their number), the largest expert group, and the
 * optimizer's states divided. Where the stages do not divide the layers the last one has fewer, or the rest. Activations are not
 * counted: it takes as many GPUs at least. */
void ss_smallest_find(const struct ss_scenario *s, struct ss_smallest *out);

/* 100 (predicted - measured) / measured: signed. */
double ss_error_pct(double predicted, double measured);
/* Returns 1 when two times are so far apart (20 times) that one must be in another unit; 0 where one is 0: not given. */
int ss_is_other_unit(double predicted, double measured);

#ifdef __cplusplus
}
#endif
#endif
