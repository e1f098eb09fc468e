/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces of PyTorch's profiler (Kineto): what the GPU of one rank did in an iteration, by the labels of a
 * prediction. Every moment of the iteration has one label: that of a computing kernel if one runs, else that
 * of a transfer (exposed), else idle. Work that runs under other work is hidden.
 * docs/reference/formats-kineto.md has the rules.
 */
#pragma once

#include "stepsim/types.h"

SS_C_BEGIN

/* Kinds of GPU work; where several run at one moment the first of this list counts. X(symbol, key, words) */
#define SS_GPU_WORK_LIST(X)                                                                                  \
    X(SS_GPU_GEMM, "gemm", "GEMMs")                                                                          \
    X(SS_GPU_ATTENTION, "attention", "attention")                                                            \
    X(SS_GPU_VECTOR, "elementwise", "norms, elementwise, others")                                            \
    X(SS_GPU_OPTIMIZER, "optimizer", "optimizer")                                                            \
    X(SS_GPU_ALL_REDUCE, "all_reduce", "all-reduce")                                                         \
    X(SS_GPU_REDUCE_SCATTER, "reduce_scatter", "reduce-scatter")                                             \
    X(SS_GPU_ALL_GATHER, "all_gather", "all-gather")                                                         \
    X(SS_GPU_ALL_TO_ALL, "all_to_all", "all-to-all, dispatch, combine")                                      \
    X(SS_GPU_SEND_RECV, "send_recv", "send and receive")                                                     \
    X(SS_GPU_OTHER_COMM, "other_collective", "other collectives")                                            \
    X(SS_GPU_COPY, "copy", "copies between host and GPU")
enum ss_gpu_work {
#define X(sym, key, words) sym,
    SS_GPU_WORK_LIST(X)
#undef X
        SS_GPU_WORK_COUNT
};
/* Returns the key of a kind in JSON (enum ss_gpu_work): "gemm". Never NULL. */
const char *ss_gpu_work_key(int work);
/* Returns the words for a kind of work: "GEMMs". Never NULL. */
const char *ss_gpu_work_words(int work);
/* Returns 1 for transfers between GPUs. */
int ss_gpu_work_is_comm(int work);

/* Seconds of an iteration. */
struct ss_gpu_time {
    double exposed; /* s of the moments with this label; these and idle sum to the iteration */
    double hidden;  /* s in which it ran under other work */
    double calls;
};

/* How iterations were found. */
enum ss_kineto_by { SS_KINETO_STEPS, SS_KINETO_PERIOD, SS_KINETO_WHOLE };

struct ss_kineto {
    int rank, world; /* -1: the trace does not say */
    char device[64]; /* "NVIDIA H800"; "": the trace does not say */
    long kernels;    /* kernels of the GPU, copies and fills included */
    int gpu,
        /* number of the GPU in the trace, and number of GPUs that ran something there: the GPU with the most
         * kernels is read */
        gpus;
    int found,
        /* iterations in the trace, and iterations averaged: without the first where there are three or
         * more */
        used;
    int by;           /* enum ss_kineto_by */
    char period[160]; /* SS_KINETO_PERIOD: name of the kernel that iterations begin with */
    double iteration_s;
    double idle;
    struct ss_gpu_time work[SS_GPU_WORK_COUNT];
    /* Communication by purpose, where the trace names its process groups (or the kernel is one of experts):
     * labels tp, cp, ep, dp, pp, optimizer. The rest are messages (sends and receives) and unnamed
     * collectives. All three sum to the work of transfers. */
    struct ss_gpu_time label[SS_LABEL_COUNT], messages, unnamed;
};

/* Reads a trace, .json or .json.gz, as a stream; memory grows only with the GPU's kernels (32 bytes each).
 * Errors: SS_ERR_IO, SS_ERR_INPUT with the line (no JSON, cut, no kernels), SS_ERR_NOMEM. */
int ss_kineto_load(const char *path, struct ss_kineto *out, struct ss_error *err);
/* Reads a trace from `len` bytes of memory; messages call it `name`. */
int ss_kineto_parse(const char *text, unsigned long len, const char *name, struct ss_kineto *out,
                    struct ss_error *err);
/* Reads what `nsys stats --report cuda_gpu_trace --format csv` printed, .csv or .csv.gz. It has no steps and
 * no process groups, so iterations are found by what repeats. */
int ss_nsys_load(const char *path, struct ss_kineto *out, struct ss_error *err);
/* Reads such a text from `len` bytes of memory. */
int ss_nsys_parse(const char *text, unsigned long len, const char *name, struct ss_kineto *out,
                  struct ss_error *err);
/* Returns the kind of work of a kernel by its name (enum ss_gpu_work): "ncclDevKernel_AllGather_RING_LL(...)"
 * is an all-gather. */
int ss_kineto_work_of(const char *kernel);

SS_C_END
