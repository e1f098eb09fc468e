/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a job is slow: its time against an ideal, what better hardware would gain, and the changes that help
 * most. All of it is simulated: an elasticity by runs with numbers a little larger and smaller (--scale), a
 * change by a run with its words.
 */
#pragma once

#include "stepsim/compare.h"
#include "stepsim/pictures.h"

SS_C_BEGIN

/* Quantities that the time depends on. X(symbol, name of --scale, words) */
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
/* Returns the words for an elasticity; the words for FABRIC follow the fabric's name. Never NULL. */
const char *ss_elasticity_words(int elasticity);
/*
 * Fills percent[e] with the per cent by which the iteration grows for one per cent more of each quantity, by
 * a central difference; NaN where the cluster has none of it. Runs are native, with the plan's options
 * (level, slow GPUs and links); options may be NULL. Errors: those of ss_run_scenario.
 */
int ss_elasticities_find(const struct ss_scenario *s, const struct ss_run_options *options,
                         double percent[SS_ELASTICITIES], struct ss_error *err);

/* Terms of the time of the busiest stage against an ideal; they sum to the iteration. The label compute is opened,
 * the others are labels (enum ss_label). X(symbol, key, words; NULL: those of the label of this key) */
#define SS_TERM_LIST(X)                                                                                      \
    X(IDEAL, "ideal", "FLOP of the model at the card's peak")                                                \
    X(BELOW_PEAK, "below_peak", "GEMMs and attention below the peak")                                        \
    X(MEMORY_BOUND, "memory_bound", "norms, casts and other elementwise kernels")                            \
    X(BESIDE, "beside_others", "kernels slowed by what runs beside them")                                    \
    X(UNEQUAL, "unequal", "more work than an average stage")                                                 \
    X(RECOMPUTE, "recompute", NULL)                                                                          \
    X(OPTIMIZER, "optimizer", NULL)                                                                          \
    X(TP, "tp", NULL)                                                                                        \
    X(CP, "cp", NULL)                                                                                        \
    X(EP, "ep", NULL)                                                                                        \
    X(DP, "dp", NULL)                                                                                        \
    X(OFFLOAD, "offload", NULL)                                                                              \
    X(PP, "pp", NULL)                                                                                        \
    X(BUBBLE, "bubble", NULL)                                                                                \
    X(IMBALANCE, "imbalance", NULL)                                                                          \
    X(SPREAD, "spread", NULL)                                                                                \
    X(OTHER, "other", NULL)
enum ss_term {
#define X(symbol, key, words) SS_TERM_##symbol,
    SS_TERM_LIST(X)
#undef X
        SS_TERMS
};
/* Returns the key of a term in JSON. Never NULL. */
const char *ss_term_key(int term);
/* Returns the words for a term. Never NULL. */
const char *ss_term_words(int term);

#define SS_ADVICE_MOST 5
/* An advice: a change of the job that was run. */
struct ss_advice {
    char change[256]; /* words behind those of the job */
    char note[96];    /* what else the change alters or needs: "another arithmetic"; "": nothing */
    struct ss_summary summary;
    struct ss_apart apart; /* compared with the job */
};
struct ss_explanation {
    struct ss_side side;                /* the job itself */
    double term[SS_TERMS];              /* s */
    double elasticity[SS_ELASTICITIES]; /* as ss_elasticities_find */
    /* The stage whose kernels run longest (-1: the stages do not differ), and the share by which they
     * run longer than the mean of the other stages. */
    int longest_stage;
    double longer;
    /* simulations besides that of the job; for a job that does not fit, those of ss_fixes_find do not
     * count */
    int runs;
    /* for a job that fits: how many changes apply to it, and how many of them do not help, by the reason */
    int tried, refused, too_large, slower;
    /* The changes that help most, fastest first; for a job that does not fit, the changes of
     * ss_fixes_find. Only the best of several splits of layers over stages is among them. */
    int nadvice;
    struct ss_advice advice[SS_ADVICE_MOST];
    /* Several changes together. Each still helps when it is added to those before it; the job fits as
     * surely as before, and its arithmetic stays the same. change "": fewer than two such changes. */
    struct ss_advice together;
    /* for a job that does not fit: the fewest GPUs that hold its states; else all 0 */
    struct ss_smallest smallest;
    /* the best split of layers over stages, even where it is not among the advice; change "": no split
     * helps */
    struct ss_advice split;
};
/* Explains a run that was made with open_compute; the run's scenario must be alive. `options` are the
 * options of the run, with which each advice is run, too. Errors: SS_ERR_NOMEM, and those of
 * ss_run_scenario. */
int ss_explain(const struct ss_run *run, const struct ss_run_options *options, struct ss_explanation *out,
               struct ss_error *err);
/* Fills the side and the terms alone, without a simulation. Returns 0. */
int ss_explain_terms(const struct ss_run *run, struct ss_explanation *out);
/* Fills *out, of which `of` may be given, for the card of the run (pictures.h). */
void ss_explanation_card(const struct ss_explanation *x, const struct ss_run *run, struct ss_card_steps *out);
/* Writes an explanation as text or as JSON; `run` is the run that was explained. Error: SS_ERR_IO. */
int ss_explanation_write(const struct ss_explanation *x, const struct ss_run *run,
                         const struct ss_display *view, FILE *out, struct ss_error *err);

SS_C_END
