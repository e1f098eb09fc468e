/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a job is slow: its time against an ideal, what it would gain from better hardware, and the changes that help most. All
 * of it is simulated: an elasticity by runs with numbers a little larger and smaller (--scale), a change by a run with its
 * words.
 */
#ifndef STEPSIM_EXPLAIN_H
#define STEPSIM_EXPLAIN_H

#include <stdio.h>

#include "stepsim/compare.h"
#include "stepsim/error.h"
#include "stepsim/result.h"
#include "stepsim/scenario.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the time is told to depend on. X(symbol, name of --scale, words) */
#define SS_ELASTICITY_LIST(X)                                                                                \
    X(PEAK, "peak", "FLOP/s of the card")                                                                    \
    X(HBM, "hbm.bandwidth", "HBM bandwidth")                                                                 \
    X(FABRIC, "nvlink.bandwidth", "bandwidth")                                                               \
    X(NIC, "nic.bandwidth", "NIC bandwidth")                                                                 \
    X(LATENCY, "latency", "latency of links and collectives")                                                \
    X(LAUNCH, "launch", "time to launch a kernel")
enum {
#define X(symbol, name, words) SS_ELASTICITY_##symbol,
    SS_ELASTICITY_LIST(X)
#undef X
        SS_ELASTICITIES
};
/* Returns the name of an elasticity, that of --scale. Never NULL. */
const char *ss_elasticity_name(int elasticity);
/* Returns what people call it; of FABRIC behind the fabric's name. Never NULL. */
const char *ss_elasticity_words(int elasticity);
/*
 * Fills percent[e] with the per cent by which the iteration grows for one per cent more of each, the central difference over
 * one per cent; NaN where the cluster has none of it. Runs are native, with the plan's options (level, slow GPUs and links);
 * options may be NULL. Errors: those of ss_run_scenario.
 */
int ss_elasticities_find(const struct ss_scenario *s, const struct ss_run_options *options,
                         double percent[SS_ELASTICITIES], struct ss_error *err);

/* Terms of the time of the busiest stage against an ideal; they sum to the iteration. X(symbol, key, words) */
#define SS_TERM_LIST(X)                                                                                      \
    X(IDEAL, "ideal", "FLOP of the model at the card's peak")                                                \
    X(BELOW_PEAK, "below_peak", "GEMMs and attention below the peak")                                        \
    X(MEMORY_BOUND, "memory_bound", "norms, casts and other elementwise kernels")                            \
    X(BESIDE, "beside_others", "kernels slowed by what runs beside them")                                    \
    X(UNEQUAL, "unequal", "more work than an average stage")                                                 \
    X(RECOMPUTE, "recompute", "recompute")                                                                   \
    X(OPTIMIZER, "optimizer", "optimizer step")                                                              \
    X(TP, "tp", "exposed tensor parallelism")                                                                \
    X(CP, "cp", "exposed context parallelism")                                                               \
    X(EP, "ep", "exposed exchange of experts")                                                               \
    X(DP, "dp", "exposed data parallelism")                                                                  \
    X(OFFLOAD, "offload", "exposed offload")                                                                 \
    X(PP, "pp", "exposed pipeline transfers")                                                                \
    X(BUBBLE, "bubble", "pipeline bubble")                                                                   \
    X(IMBALANCE, "imbalance", "waiting for slower stages")                                                   \
    X(SPREAD, "spread", "waiting for slower GPUs")                                                           \
    X(OTHER, "other", "host work and the rest")
enum ss_term {
#define X(symbol, key, words) SS_TERM_##symbol,
    SS_TERM_LIST(X)
#undef X
        SS_TERMS
};
/* Returns the key of a term in JSON. Never NULL. */
const char *ss_term_key(int term);
/* Returns what people call it; of FABRIC behind the fabric's name. Never NULL. */
const char *ss_term_words(int term);

#define SS_ADVICE_MOST 5
/* A change of the job that was run. */
struct ss_advice {
    char change[256]; /* words behind those of the job */
    char note[96];    /* what else it changes or asks for: "another arithmetic"; "" */
    struct ss_summary summary;
    struct ss_apart apart; /* from the job */
};
struct ss_explanation {
    struct ss_side side;                /* the job itself */
    double term[SS_TERMS];              /* s */
    double elasticity[SS_ELASTICITIES]; /* as ss_elasticities_find */
    /* The stage whose kernels run longest and how much longer than the others on average, a share; -1: stages are not told. */
    int longest_stage;
    double longer;
    int runs; /* simulations beside that of the job; of one that does not fit without those of ss_fixes_find */
    /* changes that apply to the job, and what became of those that do not help: of a job that fits */
    int tried, refused, too_large, slower;
    /* Those that help most, fastest first; of a job that does not fit those of ss_fixes_find. Of several splits of layers over stages
     * only the best. */
    int nadvice;
    struct ss_advice advice[SS_ADVICE_MOST];
    /* Those of them that help one after the other and fit as surely as the job, without another arithmetic; change "": fewer than
     * two do. */
    struct ss_advice together;
    struct ss_smallest smallest; /* of a job that is too large: on how few GPUs its states fit; else all 0 */
    /* the best split of layers over stages, whether or not it is among those; change "": none helps */
    struct ss_advice split;
};
/* Explains a run that was made with open_compute; its scenario must be alive. `options`: those of the run, with which the advice is
 * run too. Errors: SS_ERR_NOMEM, and those of ss_run_scenario. */
int ss_explain(const struct ss_run *run, const struct ss_run_options *options, struct ss_explanation *out,
               struct ss_error *err);
/* Writes it as text or as JSON; `run` is the one that was explained. Error: SS_ERR_IO. */
int ss_explanation_write(const struct ss_explanation *x, const struct ss_run *run, int json, FILE *out,
                         struct ss_error *err);

#ifdef __cplusplus
}
#endif
#endif
