/* SPDX-License-Identifier: Apache-2.0 */
/* The answer for one job: built from a plan and the timeline of its replay. */
#pragma once

#include "stepsim/bands.h"
#include "stepsim/plan.h"
#include "stepsim/replay.h"
#include "stepsim/scenario.h"
#include "stepsim/summary.h"
#include "stepsim/workers.h"

SS_C_BEGIN

struct ss_stage_result {
    int stage;
    int rank;                         /* the busiest rank, which the breakdown describes */
    double breakdown[SS_LABEL_COUNT]; /* s, sum iteration_s */
    double memory[SS_MEM_COUNT];      /* bytes at the peak */
    /* bytes: peak of tensors; with the allocator's reserve; with context and NCCL, too */
    double allocated, reserved, device;
    double pooled; /* the bytes of `reserved` that pools of other streams hold; not in `allocated` */
    /* bytes of freed tensors whose blocks wait for the device. The allocator waits for them before it fails, but then takes
     * whole segments alone. */
    double waiting;
};

struct ss_timer {
    char name[48];
    double seconds;
};

/* The interval that holds a figure estimated from draws with 95 % confidence; NaN on a side that too few
 * draws leave open. */
struct ss_interval {
    double low, high;
};

/* Iterations under jitter, in s. */
struct ss_spread {
    int replicas; /* 0: no jitter */
    double sigma;
    uint64_t seed;
    double without; /* s without jitter */
    double mean, min, p5, p25, p50, p75, p95, max;
    struct ss_interval mean_in, p5_in, p25_in, p50_in, p75_in, p95_in;
};

/* How the iteration changes when links are wider or narrower by 1e-10 to 1e-14, less than any link is known
 * by. Where flows contend, the order of two events may then change all that follows. */
struct ss_sensitivity {
    int known; /* 0: not examined: `unchecked`, under jitter, or where every slot is run */
    /* 1: the time changes by more than 1e-9 of itself, so fewer digits hold than are printed */
    int sensitive;
    /* s: 3 standard deviations around the mean of 17 replays, widened to include all of them */
    double low, high;
};

/* A link that flows cross and that can limit them; it stands for equal links. */
struct ss_link_use {
    struct ss_link link;
    int alike;          /* number of links of the platform that carry the same at the same time */
    double bytes;       /* over each of these links, in one iteration */
    double sends;       /* the part of `bytes` that stages send each other */
    double utilisation; /* bytes over what the link could carry in the iteration, 0..1 */
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
    /* 1: it fits, but the peak is within the stack's thrash margin of the capacity, or above it: the
     * allocator frees its cache and tries again */
    int thrash;
    int ntimers;
    struct ss_timer *timers;
    int nlinks;
    struct ss_link_use *links; /* most utilised first: links[0] is the bottleneck, if there is one */
    struct ss_spread spread;   /* under jitter; all other fields then describe the replica in the middle */
    struct ss_sensitivity sensitivity;
    int engine, level;
    int ranks_simulated;
    int64_t events;
    /* 1: idle time is not split into bubble, imbalance and spread (all counts as bubble), and there are no
     * timers */
    int brief;
};

/* Makes the result of a plan from the timeline of its program; engine: enum ss_engine. ss_run_scenario adds
 * timers and links. The caller frees *out with ss_result_free. Error: SS_ERR_NOMEM. */
int ss_result_build(const struct ss_plan *plan, const struct ss_timeline *timeline, int engine,
                    struct ss_result **out, struct ss_error *err);
/* Frees a result. NULL is allowed. */
void ss_result_free(struct ss_result *r);
/* Returns the class of memory (enum ss_mem) that is largest on a stage: the one to shrink first. */
int ss_result_largest(const struct ss_result *r, int stage);
/* Returns a stage whose device memory is within 5 % of a measured one (bytes) although the peak is farther
 * off, or -1: people often measure one GPU. */
int ss_result_stage_like(const struct ss_result *r, double measured);
/* Returns the bytes of a stage's device memory outside tensors: context, NCCL, the allocator's reserve. */
double ss_result_beside(const struct ss_stage_result *s);
/* Returns the bytes of a stage's device memory after the allocator has given back all memory that no part of the
 * iteration uses. */
double ss_result_least(const struct ss_stage_result *s);
/* Returns the dense peak, in FLOP/s, of the job's GEMM precision; sixteen_bit 1: of bf16 (fp16 on a card
 * without bf16). */
double ss_result_peak_flops(const struct ss_plan *plan, int sixteen_bit);

/* All that one run of a scenario makes: schedule, plan, program, replay, result. The scenario must outlive
 * the run. Pointers to parts that were not wanted may be NULL. */
struct ss_run {
    const struct ss_scenario *scenario;
    struct ss_schedule *schedule;
    struct ss_plan *plan;
    struct ss_program *program;
    struct ss_timeline *timeline;
    struct ss_result *result;
    struct ss_summary summary;  /* the figures of result */
    struct ss_compute *compute; /* with `open_compute`; else NULL */
    struct ss_assumed *assumed; /* of ss_run_weighed; NULL: nothing was assumed, or nobody asked */
    int doubted;                /* of SS_LEVEL_DOUBTS; 1: flows may differ */
    char level_reason[300];     /* why the run went to flow level by itself; "" where it did not */
};
/* What happens where closed forms of the plan's level differ from flows on links by more than 3 % of the
 * iteration. */
enum ss_level_choice {
    SS_LEVEL_FOLLOWS, /* the run is made at flow level, and level_reason says why */
    SS_LEVEL_STAYS,   /* a warning says by how much it differs */
    SS_LEVEL_DOUBTS,  /* ss_summary.doubted says that they may differ */
    SS_LEVEL_BLIND    /* nobody checks */
};
#define SS_JITTER_MOST 2 /* largest sigma of jitter */

/* How a scenario is simulated. */
struct ss_run_options {
    int engine;       /* enum ss_engine */
    int open_compute; /* 1: kernel time is opened, too (ss_run.compute) */
    int full_replay;  /* 1: every slot is run, without a jump over the steady state */
    /* 1: idle time is not split and there are no timers; the summary has NaN for such shares. For searches */
    int brief;
    int unchecked;                /* 1: nobody checks whether all digits hold (ss_result.sensitivity) */
    const struct ss_bands *bands; /* bands of the summary; NULL: none */
    /* a schedule instead of the one that --schedule names, with its stages and chunks; NULL: the named one */
    const struct ss_schedule *schedule;
    /* What runs share; runs write to it. NULL: nothing. The bands must live as long as the cache. Plans share
     * what is in plan.cache, and without one this, where links are not given one by one. */
    struct ss_cache *cache;
    struct ss_plan_options plan;
    int level_choice; /* enum ss_level_choice */
    int any_engine;   /* 1: a run that goes to another level uses the native engine */
    /* sigma in 0..SS_JITTER_MOST; > 0: every rank with draws of its own is simulated, `replicas` times */
    struct ss_jitter jitter;
    int replicas;              /* of jitter: >= 1 */
    struct ss_workers workers; /* processes that replay replicas */
    /* Called now and then in a long replay, and with every replica, with the share done, 0..1; may be NULL. */
    void (*progress)(void *ctx, double share);
    void *ctx;
    int narrow; /* of ss_predict; 1: the bands are without what assumptions may cost, and so is the work */
};
/* Predicts a scenario and keeps all that it makes; `options` NULL: the native engine, and all else zero. *out
 * need not be initialised; the caller frees it with ss_run_free, before the scenario. Errors: SS_ERR_CONFIG
 * and SS_ERR_UNSUPPORTED (refused), SS_ERR_USAGE (an option outside its range), and those of ss_predict. */
int ss_run_scenario(const struct ss_scenario *s, const struct ss_run_options *options, struct ss_run *out,
                    struct ss_error *err);
/* Frees what a run holds and empties it. NULL and {0} are allowed. */
void ss_run_free(struct ss_run *run);

struct ss_scenario;
/*
 * Predicts a scenario, the third call of the short way: ss_request_read, ss_scenario_build, ss_predict. A
 * refused configuration (ss_status_refuses) is an outcome: the call succeeds, and *out has
 * SS_OUTCOME_REFUSED, the code and the reason. `options` NULL: the native engine. Where options->bands is
 * NULL the call reads the bands that came with the library, so that the verdict is the one of `stepsim run`;
 * who predicts often loads them once. The bands are those of ss_run_weighed (assumed.h). *out is written on success only and holds nothing to free. Errors:
 * SS_ERR_USAGE (an option outside its range), SS_ERR_IO and SS_ERR_INPUT (bands, schedule file),
 * SS_ERR_DEADLOCK (schedule file), SS_ERR_ENGINE, SS_ERR_NOMEM. Several threads may predict one scenario at
 * the same time.
 */
int ss_predict(const struct ss_scenario *s, const struct ss_run_options *options, struct ss_summary *out,
               struct ss_error *err);

/* A fix: a change that makes a job fit, which was run, and what it costs. */
struct ss_fix {
    /* flags: "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1" */
    char change[200];
    struct ss_summary summary; /* of the changed job, as of a brief run */
};
/* Finds the first three changes that make the job of a scenario fit, cheapest in time first. Each adds words
 * behind those of the request and is checked by a native run with the plan's options (level, slow GPUs and
 * links, placement), without jitter. `options` may be NULL. *n <= 3, 0 for a job that fits as it is. */
int ss_fixes_find(const struct ss_scenario *s, const struct ss_run_options *options, struct ss_fix fixes[3],
                  int *n, struct ss_error *err);

/* The fewest GPUs of its platform that hold the model of a job, when only the layout may change. */
struct ss_smallest {
    int gpus; /* 0: no accepted layout holds them */
    /* "--nodes 4 --gpus-per-node 8 --tp 8 --pp 4 --cp 1 --sequence-parallel" */
    char flags[224];
    double bytes; /* weights, gradients and optimizer states on the fullest GPU, <= the card's */
};
/* Tries 1, 2, 4, ... GPUs of a node, then 1, 2, 4, ... nodes like the scenario's, up to 16,384 GPUs. Each is
 * tried with tensor and pipeline parallelism of powers of two (a job with its own stages keeps their number),
 * the largest expert group, and divided optimizer states. Where the stages do not divide the layers the last
 * stage has fewer, or the rest. Activations are not counted, so the answer is a lower bound. `cache` may be NULL. */
void ss_smallest_find(const struct ss_scenario *s, struct ss_cache *cache, struct ss_smallest *out);

/* Returns 100 (predicted - measured) / measured, signed. */
double ss_error_pct(double predicted, double measured);
/* Returns 1 when two times differ by a factor of 20 or more, so that one must be in another unit; 0 where one
 * is 0: not given. */
int ss_is_other_unit(double predicted, double measured);

SS_C_END
