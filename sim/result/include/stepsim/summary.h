/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a prediction came to: its outcome and its figures, as one flat struct that holds no pointer. Every place that shows
 * a figure (text, JSON, sweep, comparison of schedules, validation, fixes) reads it from here.
 *
 * To add a figure, add a row to SS_METRIC_LIST and the line of summary.c that computes it.
 */
#ifndef STEPSIM_SUMMARY_H
#define STEPSIM_SUMMARY_H

#include <stddef.h>

#include "stepsim/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ss_run;
struct ss_bands;

/* X(symbol, word for people and in --json, the word that a table of measured runs has for such a run) */
#define SS_OUTCOME_LIST(X)                                                                                   \
    X(FITS, "fits", "ok")                                                                                    \
    X(NEAR_LIMIT, "near limit", "ok") /* fits, but is not sure to, or so tightly that the run is slow */     \
    X(TOO_LARGE, "too large", "oom")                                                                         \
    X(REFUSED, "refused", "config-error") /* the framework refuses it, or it is not modelled: `code` */

enum ss_outcome {
#define X(symbol, word, measured) SS_OUTCOME_##symbol,
    SS_OUTCOME_LIST(X)
#undef X
        SS_OUTCOME_COUNT
};
/*
 * The one verdict on a job. Near limit: it fits as predicted, but would not if it took as much more memory as measured runs
 * most like it did (the upper end of the band of memory); or its peak is within the stack's thrash margin of the card's
 * memory, so that the allocator frees what it caches and the run is slower than predicted.
 * Never NULL; "unknown" for a number that is none. */
const char *ss_outcome_word(int outcome);
const char *ss_outcome_measured_word(int outcome);

/* How the figures of a kind are stored and shown. X(symbol, unit shown, shown over stored) */
#define SS_METRIC_KIND_LIST(X)                                                                               \
    X(COUNT, "", 1)                                                                                          \
    X(TIME, "ms", 1e3)              /* s */                                                                  \
    X(MEMORY, "MiB", 1 / 1048576.0) /* bytes */                                                              \
    X(SHARE, "share", 1)                                                                                     \
    X(TFLOPS, "TFLOP/s", 1)                                                                                  \
    X(TOKENS, "tokens/s", 1)                                                                                 \
    X(USD, "USD", 1)   /* left out where no price is stated */                                               \
    X(PERCENT, "%", 1) /* NaN where nothing is known */

enum ss_metric_kind {
#define X(symbol, unit, scale) SS_METRIC_##symbol,
    SS_METRIC_KIND_LIST(X)
#undef X
        SS_METRIC_KIND_COUNT
};

/* Where `run --json` has the figure: nowhere, at the top, or in "memory". */
enum ss_metric_place { SS_IN_ROWS, SS_IN_TIME, SS_IN_RATES, SS_IN_MEMORY, SS_IN_BANDS };

/* X(field, kind, place, key in JSON, meaning) */
#define SS_METRIC_LIST(X)                                                                                    \
    X(gpus, COUNT, ROWS, "gpus", "GPUs of the job")                                                          \
    X(parameters, COUNT, ROWS, "parameters", "parameters of the model")                                      \
    X(iteration_s, TIME, TIME, "iteration_ms", "time of one iteration")                                      \
    X(tflops_per_gpu, TFLOPS, RATES, "tflops_per_gpu", "model FLOP of a GPU a second")                       \
    X(tflops_causal_per_gpu, TFLOPS, RATES, "tflops_causal_per_gpu",                                         \
      "the same, attention's masked half not counted")                                                       \
    X(mfu, SHARE, RATES, "mfu", "model FLOP over the dense peak of the job's GEMM precision")                \
    X(mfu_bf16, SHARE, RATES, "mfu_bf16", "model FLOP over the bf16 peak")                                   \
    X(hfu, SHARE, RATES, "hfu", "mfu with recomputation counted")                                            \
    X(tokens_per_s_per_gpu, TOKENS, RATES, "tokens_per_s_per_gpu", "tokens of a GPU a second")               \
    X(usd_per_iteration, USD, RATES, "usd_per_iteration", "cost of one iteration on all GPUs")               \
    X(usd_per_million_tokens, USD, RATES, "usd_per_million_tokens", "cost of a million tokens")              \
    X(bubble_fraction, SHARE, RATES, "bubble_fraction",                                                      \
      "time that the schedule leaves the busiest stage idle, of the iteration")                              \
    X(imbalance_fraction, SHARE, RATES, "imbalance_fraction",                                                \
      "time that the busiest stage waits for unequal stages and transfers, of the iteration")                \
    X(peak_device, MEMORY, MEMORY, "peak_mib", "memory that the fullest GPU needs, as nvidia-smi shows it")  \
    X(capacity, MEMORY, MEMORY, "capacity_mib", "memory of the card")                                        \
    X(peak_reserved, MEMORY, MEMORY, "reserved_mib", "most that a GPU's allocator reserves")                 \
    X(peak_allocated, MEMORY, MEMORY, "allocated_mib", "most that a GPU's tensors take")                     \
    X(band_pct, PERCENT, BANDS, "error_band_pct",                                                            \
      "size of the time's error in measured runs like it, of the measured")                                  \
    X(memory_low_pct, PERCENT, BANDS, "band_low_pct",                                                        \
      "least memory of measured runs like it, over the predicted, less 1")                                   \
    X(memory_high_pct, PERCENT, BANDS, "band_high_pct", "most memory of such runs, likewise")

enum {
#define X(field, kind, place, key, doc) SS_METRIC_OF_##field,
    SS_METRIC_LIST(X)
#undef X
        SS_METRICS
};

/* Zero is a summary of nothing: every figure 0. Figures are in SI units (s, bytes, shares 0..1, USD), rates in the unit of
 * their kind. */
struct ss_summary {
    int outcome;      /* enum ss_outcome */
    int code;         /* SS_OK, or of a refused job why: enum ss_status */
    char reason[320]; /* of an outcome other than SS_OUTCOME_FITS, one sentence without a full stop */
    char time_like[160],
        memory_like[160]; /* what the measured runs behind the bands have in common; "" = none */
#define X(field, kind, place, key, doc) double field;
    SS_METRIC_LIST(X)
#undef X
};

/* A row of SS_METRIC_LIST. */
struct ss_metric {
    const char *key, *doc;
    int kind, place;
    size_t offset; /* in struct ss_summary */
};
/* By SS_METRIC_OF_field, 0 <= metric < SS_METRICS. */
const struct ss_metric *ss_metric_at(int metric);
const char *ss_metric_unit(int metric);
/* In the unit that is shown. */
double ss_metric_value(int metric, const struct ss_summary *s);
/* 0: a figure that this summary has no value of, a price where none is stated. */
int ss_metric_known(int metric, const struct ss_summary *s);

/* Of a run with plan and result; `bands` may be NULL: none. */
void ss_summary_fill(const struct ss_run *run, const struct ss_bands *bands, struct ss_summary *out);
/* Of a job that was refused: all figures are 0. */
void ss_summary_refuse(const struct ss_error *why, struct ss_summary *out);

#ifdef __cplusplus
}
#endif
#endif
