/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe measures one GPU: GEMMs at the shapes of the models in workloads/, copies and launches, as rows of
 * validation/microbench.csv. Here is all of it that needs no GPU; probe.cu is the part that does.
 */
#ifndef STEPSIM_PROBE_H
#define STEPSIM_PROBE_H

#include <stdio.h>

#include "stepsim/error.h"
#include "stepsim/precision.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what is measured ---- */
enum probe_kind {
    PROBE_LAUNCH, /* empty kernels on one stream, from one's start to the next one's */
    PROBE_ISSUE,  /* the host's time for one launch */
    PROBE_COPY,   /* a kernel that reads one buffer and writes another of `bytes` */
    PROBE_H2D,    /* `bytes` of page-locked host memory to the GPU */
    PROBE_GEMM    /* C[m x n] = A[m x k] B[k x n] */
};
/* Of a linear layer y = x W'. They differ in which operand lies transposed; a weight gradient is added to an fp32
 * output. */
enum probe_pass { PROBE_FORWARD, PROBE_DGRAD, PROBE_WGRAD };
struct probe_item {
    int kind;
    int precision, pass; /* GEMM: enum ss_precision, enum probe_pass */
    long m, n, k;        /* GEMM */
    long bytes;          /* COPY, H2D */
};
struct probe_plan {
    int n;
    struct probe_item *items;
};
/* Launches and copies first, then `gemms` shapes (0: all) in each precision whose bit (1 << enum ss_precision) is set,
 * spread evenly over the models' shapes in an order that a longer list continues. Linear layers of all models in
 * workloads/models at tp 1, 2, 4, 8 with 2048 to 16384 tokens; fp8 where the sizes are multiples of 16, logits never. */
int probe_plan_build(int gemms, unsigned precisions, struct probe_plan *out, struct ss_error *err);
void probe_plan_free(struct probe_plan *plan);

/* ---- one measurement ---- */
#define PROBE_BATCHES 9
struct probe_sample {
    int n;                         /* batches timed */
    double seconds[PROBE_BATCHES]; /* of one kernel: a batch's time over its number of kernels */
    double sm_clock;               /* Hz, just behind the last batch; 0 = not known */
    char why[160];                 /* this item cannot be measured: why */
};
#define PROBE_LEFT_OUT 1
/* The GPU behind a table of functions, so that tests can stand in for it. */
struct probe_device {
    char gpu[256];       /* "NVIDIA H100 80GB HBM3" */
    char about[160];     /* versions of driver, CUDA and cuBLASLt */
    unsigned precisions; /* bits as above */
    /* 0, PROBE_LEFT_OUT with out->why, or an error that ends the probe. */
    int (*measure)(void *card, const struct probe_item *item, struct probe_sample *out, struct ss_error *err);
    void (*close)(void *card);
    void *card;
};
typedef int (*probe_opener)(int index, struct probe_device *out, struct ss_error *err);

/* Median, and the spread: the distance of the quartiles over it. Sorts seconds. */
double probe_median(struct probe_sample *s);
double probe_spread(struct probe_sample *s);
/* "535.104.05" of the text of /proc/driver/nvidia/version; 0 if there is none. */
int probe_driver_version(const char *text, char *out, size_t size);

/* ---- the program ---- */
/* Exit status: 0, 2 usage, 3 no GPU, no file or a failure on the way, 130 interrupted. In the last two cases the file
 * has what was measured until then. */
int probe_main(int argc, char **argv, probe_opener open);

#ifdef __cplusplus
}
#endif
#endif
