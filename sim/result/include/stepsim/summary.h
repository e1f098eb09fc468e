/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a prediction came to: its outcome and its figures, as one flat struct that holds no pointer. Every place that shows
 * a figure (text, JSON, sweep, comparison of schedules, validation, fixes) reads it from here.
 *
 * To add a figure, add a row to SS_METRIC_LIST and the line of summary.c that computes it.
 */
#pragma once

#include "stepsim/error.h"

SS_C_BEGIN

struct ss_run;
struct ss_bands;

/* How FLOP of attention are counted. X(symbol, key, words, figure of SS_METRIC_LIST) */
#define SS_FLOP_COUNT_LIST(X)                                                                                \
    X(SS_COUNT_STACK, "stack", "as the stack counts", tflops_logged_per_gpu)                                 \
    X(SS_COUNT_FULL, "full", "whole attention square", tflops_per_gpu)                                       \
    X(SS_COUNT_CAUSAL, "causal", "causal half of attention", tflops_causal_per_gpu)                          \
    X(SS_COUNT_WINDOWS, "windows", "causal half of attention, windows as they are", tflops_windows_per_gpu)  \
    X(SS_COUNT_HARDWARE, "hardware", "whole attention square, recompute counted", tflops_hardware_per_gpu)
enum ss_flop_count {
#define X(symbol, key, words, field) symbol,
    SS_FLOP_COUNT_LIST(X)
#undef X
        SS_FLOP_COUNTS
};
/* Returns the key of a count in JSON: "causal". Never NULL. */
const char *ss_flop_count_key(int count);
/* Returns the words for a count. Never NULL. */
const char *ss_flop_count_words(int count);

/* X(symbol, word for people and in --json, the word that a table of measured runs has for such a run) */
#define SS_OUTCOME_LIST(X)                                                                                   \
    X(FITS, "fits", "ok")                                                                                    \
    X(NEAR_LIMIT, "near limit", "ok") /* it may not fit, or fits so tightly that the run is slow */          \
    X(TOO_LARGE, "too large", "oom")                                                                         \
    X(REFUSED, "refused", "config-error") /* the framework refuses it, or it is not modelled: `code` */

enum ss_outcome {
#define X(symbol, word, measured) SS_OUTCOME_##symbol,
    SS_OUTCOME_LIST(X)
#undef X
        SS_OUTCOME_COUNT
};
/*
 * The one verdict on a job. Near limit: the job fits as predicted, but would not if it took as much more
 * memory as one in twenty such jobs does (the upper end of the band of memory); or its peak is within the
 * stack's thrash margin of the card's memory, so that the allocator frees its cache and the run is slower
 * than predicted.
 */
/* Returns the word of an outcome (enum ss_outcome): "near limit"; "unknown" for any other number. Never
 * NULL. */
const char *ss_outcome_word(int outcome);
/* Returns the word that a table of measured runs has for such a run: "oom". Never NULL. */
const char *ss_outcome_measured_word(int outcome);

/* How figures of a kind are stored and shown. X(symbol, unit shown, shown value over stored value) */
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

/* Where `run --json` has the figure: at the top, or in "memory". */
enum ss_metric_place { SS_IN_RUN, SS_IN_MEMORY };

/* X(field, kind, place, key in JSON and CSV, meaning). docs/reference/formats.md has the same rows, which a test compares. */
#define SS_METRIC_LIST(X)                                                                                    \
    X(gpus, COUNT, RUN, "gpus", "GPUs of the job")                                                           \
    X(parameters, COUNT, RUN, "parameters", "parameters of the model")                                       \
    X(iteration_s, TIME, RUN, "iteration_ms", "period of the steady loop: one training iteration")           \
    X(sensitivity_pct, PERCENT, RUN, "sensitivity_pct",                                                      \
      "between the shortest and the longest iteration when links change by less than 1e-10, where flows "    \
      "contend; 0: all digits hold; null: not looked at (`--jitter`, `--full-replay`)")                      \
    X(band_pct, PERCENT, RUN, "error_band_pct",                                                              \
      "what the error of 90 % of such jobs stays within, in % of what is measured: that is predicted / "     \
      "(1 + b) to predicted / (1 - b); without what assumptions may cost; null: not known")                  \
    X(time_low_pct, PERCENT, RUN, "error_band_low_pct",                                                      \
      "least time that 90 % of such jobs take over what is predicted for them, less 1, with what was "       \
      "assumed; null: not known")                                                                            \
    X(time_high_pct, PERCENT, RUN, "error_band_high_pct", "most time of such jobs, likewise")                \
    X(tflops_per_gpu, TFLOPS, RUN, "tflops_per_gpu",                                                         \
      "model FLOP (the whole attention square, no recompute) over time and GPUs")                            \
    X(tflops_causal_per_gpu, TFLOPS, RUN, "tflops_causal_per_gpu",                                           \
      "the same with half the attention square")                                                             \
    X(tflops_windows_per_gpu, TFLOPS, RUN, "tflops_windows_per_gpu",                                         \
      "the same with what the causal mask, windows and chunks leave of the square: what kernels compute")    \
    X(tflops_hardware_per_gpu, TFLOPS, RUN, "tflops_hardware_per_gpu",                                       \
      "`tflops_per_gpu` with recomputed FLOP added")                                                         \
    X(tflops_logged_per_gpu, TFLOPS, RUN, "tflops_logged_per_gpu",                                           \
      "the one of these that the framework's own log prints (`logged_by`, `logged_count`)")                  \
    X(mfu, SHARE, RUN, "mfu",                                                                                \
      "FLOP over time, GPUs and the card's dense peak of the GEMM precision (fp8: the fp8 peak); attention " \
      "counts the whole square, but of a query no more keys than its window or chunk has")                   \
    X(mfu_square, SHARE, RUN, "mfu_square",                                                                  \
      "`tflops_per_gpu` over that peak: windows and chunks count as whole squares")                          \
    X(mfu_bf16, SHARE, RUN, "mfu_bf16", "`mfu` over the bf16 peak (fp16 where the card has no bf16)")        \
    X(hfu, SHARE, RUN, "hfu",                                                                                \
      "as `mfu`, with recomputed FLOP added; what flash attention recomputes inside is not counted")         \
    X(tokens_per_s_per_gpu, TOKENS, RUN, "tokens_per_s_per_gpu",                                             \
      "tokens of the global batch over time and GPUs")                                                       \
    X(padding_fraction, SHARE, RUN, "padding_fraction",                                                      \
      "padding of packed rows, over their tokens, which `tokens_per_s_per_gpu` counts")                      \
    X(usd_per_iteration, USD, RUN, "usd_per_iteration",                                                      \
      "cost of all GPUs, only where a price (`ss.price`) is stated")                                         \
    X(usd_per_million_tokens, USD, RUN, "usd_per_million_tokens", "the same over the tokens")                \
    X(bubble_fraction, SHARE, RUN, "bubble_fraction",                                                        \
      "time that the schedule leaves the busiest stage idle, over the iteration")                            \
    X(imbalance_fraction, SHARE, RUN, "imbalance_fraction",                                                  \
      "time that the busiest stage waits for unequal stages and transfers, over the iteration")              \
    X(spread_fraction, SHARE, RUN, "spread_fraction",                                                        \
      "time that an iteration takes longer because GPUs differ for good, over the iteration")                \
    X(exposed_s, TIME, RUN, "exposed_communication_ms",                                                      \
      "time that the busiest stage waits for communication: tp, cp, ep, dp and pp of its breakdown")         \
    X(peak_device, MEMORY, MEMORY, "peak_mib",                                                               \
      "what nvidia-smi shows at the peak of the stage that needs most")                                      \
    X(capacity, MEMORY, MEMORY, "capacity_mib", "what nvidia-smi shows as the card's total")                 \
    X(peak_reserved, MEMORY, MEMORY, "reserved_mib",                                                         \
      "what the caching allocator holds: without CUDA context and NCCL buffers")                             \
    X(peak_allocated, MEMORY, MEMORY, "allocated_mib", "sum of live tensors at the peak")                    \
    X(memory_low_pct, PERCENT, MEMORY, "band_low_pct",                                                       \
      "least memory that 90 % of such jobs take over what is predicted for them, less 1; null: "             \
      "not known")                                                                                           \
    X(memory_high_pct, PERCENT, MEMORY, "band_high_pct", "most memory of such jobs, likewise")

enum {
#define X(field, kind, place, key, doc) SS_METRIC_OF_##field,
    SS_METRIC_LIST(X)
#undef X
        SS_METRICS
};

/* All zero is a summary of nothing. Figures are in SI units (s, bytes, shares 0..1, USD), rates in the unit
 * of their kind. */
struct ss_summary {
    int outcome;      /* enum ss_outcome */
    int code;         /* SS_OK, or why the job was refused: enum ss_status */
    char reason[320]; /* why the outcome is not SS_OUTCOME_FITS, one sentence without a full stop */
    char time_like[240],
        memory_like[160]; /* what the measured runs behind the bands have in common; "": no bands */
    int logged_count;     /* enum ss_flop_count of tflops_logged_per_gpu, never SS_COUNT_STACK */
    char logged_by[24];   /* the framework whose log prints that figure: "Megatron-Bridge"; "": none does */
    double apart_pct; /* layouts of the job this far apart or less are too close to call; NaN: not known */
    int doubted;      /* 1: flows on links may take another time, and were not asked (SS_LEVEL_DOUBTS) */
    int weighed;      /* number of assumptions that the bands hold (ss_run_weighed) */
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
/* Returns TFLOP/s a GPU by a count (enum ss_flop_count). */
double ss_summary_tflops(const struct ss_summary *s, int count);

/* Returns the row of a figure, SS_METRIC_OF_iteration_s and the like, 0 <= metric < SS_METRICS. It is a constant. */
const struct ss_metric *ss_metric_at(int metric);
/* Returns the unit in which a figure is shown: "ms". Never NULL. */
const char *ss_metric_unit(int metric);
/* Returns a figure of a summary in the unit in which it is shown. */
double ss_metric_value(int metric, const struct ss_summary *s);
/* Returns 0 when the summary has no value of the figure, as a cost where no price is stated. */
int ss_metric_known(int metric, const struct ss_summary *s);

/* Fills *out with the outcome and the figures of a run that has a plan and a result; `bands` may be NULL: none. */
void ss_summary_fill(const struct ss_run *run, const struct ss_bands *bands, struct ss_summary *out);
/* Fills *out for a job that was refused with the error `why`: outcome, code and reason are set, all figures 0. */
void ss_summary_refuse(const struct ss_error *why, struct ss_summary *out);

SS_C_END
