/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel time, opened: by part (enum ss_part); the heaviest kernels against the card's peaks; and the stage
 * whose kernels run longest.
 */
#pragma once

#include "stepsim/plan.h"

SS_C_BEGIN

struct ss_run;

#define SS_HEAVIEST 10 /* number of kernels that are shown */

/* A stage's kernel seconds in an iteration. With `rest` each row sums to the stage's label in the
 * breakdown. */
struct ss_compute_stage {
    double compute[SS_PARTS], recompute[SS_PARTS];
    /* The label's seconds beyond kernels that run alone: kernels slow each other down, or microbatches
     * differ. About 0 where neither happens. */
    double compute_rest, recompute_rest;
    double launches[SS_LAUNCHES]; /* s of the host in an iteration by what it issues (enum ss_launch) */
};

/* All calls of one operator in one pass. */
struct ss_kernel_use {
    const char *op, *op_kind; /* as in struct ss_step */
    int phase;                /* enum ss_phase: F, B (gradient of the input) or W (gradient of the weights) */
    int part, precision;      /* enum ss_part, enum ss_precision */
    int again;                /* 1: part of the recompute */
    double calls, seconds;    /* an iteration */
    double flops, bytes;      /* of all calls */
    double flops_share,
        bytes_share; /* share of the card's dense peak for the precision, and of its HBM bandwidth, 0..1 */
};

struct ss_compute {
    int nstages;
    struct ss_compute_stage *stages; /* by pipeline rank: the class with the most busy time there */
    int nkernels;
    struct ss_kernel_use kernels[SS_HEAVIEST]; /* kernels of the critical stage, longest first */
    /* The stage whose kernels run longest; among equals the critical one. `alike`: number of other stages
     * with equal time. `longer`: its excess over the mean of the shorter stages, as a share. `more`: that
     * share by part; the sum is `longer`. */
    int longest, alike;
    double longer, more[SS_PARTS];
};

/* Opens the kernels of a run that has its plan and result; the caller frees *out with ss_compute_free. The cache, which may be NULL, is one
 * of plans of the run's platform. Errors: SS_ERR_NOMEM. */
int ss_compute_open(const struct ss_run *run, struct ss_cache *cache, struct ss_compute **out,
                    struct ss_error *err);
/* Frees an opened compute. NULL is allowed. */
void ss_compute_free(struct ss_compute *compute);
/* Returns the key of a part (enum ss_part) in JSON: "mlp_gemm". Never NULL. */
const char *ss_part_key(int part);
/* Returns what people call a part: "MLP GEMMs". Never NULL. */
const char *ss_part_words(int part);
/* Returns the key of what the host issues (enum ss_launch) in JSON: "mixer". Never NULL. */
const char *ss_launch_kind_key(int launch);
/* Returns what people call that: "embedding and loss". Never NULL. */
const char *ss_launch_kind_words(int launch);
/* Returns "compute" or "memory": the peak of the card that the kernel is nearer to. */
const char *ss_kernel_bound(const struct ss_kernel_use *kernel);

SS_C_END
