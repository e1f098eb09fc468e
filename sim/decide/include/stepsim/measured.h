/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A real iteration beside the predicted one: what each takes, term by term. Both columns sum to their iterations.
 *
 *     ss_kineto_load("trace.json.gz", &trace, &err);
 *     ss_run_scenario(...);                               with open_compute; stepsim/result.h
 *     ss_measured_fill(&run, &trace, "run.json", "trace.json.gz", &m);
 *     ss_measured_write(&m, SS_CONTRAST_TEXT, stdout, &err);
 */
#pragma once

#include "stepsim/compare.h"
#include "stepsim/kineto.h"

SS_C_BEGIN

/* Terms that a trace and a prediction have in common. The terms of transfers are their exposed parts.
 * X(symbol, key, words) */
#define SS_REAL_LIST(X)                                                                                      \
    X(SS_REAL_GEMM, "gemm", "GEMMs, logits, loss")                                                           \
    X(SS_REAL_ATTENTION, "attention", "attention")                                                           \
    X(SS_REAL_ELEMENTWISE, "elementwise", "norms, elementwise, others")                                      \
    X(SS_REAL_OPTIMIZER, "optimizer", "optimizer")                                                           \
    X(SS_REAL_TP, "tp", "tp, exposed")                                                                       \
    X(SS_REAL_CP, "cp", "cp, exposed")                                                                       \
    X(SS_REAL_EP, "ep", "ep, exposed")                                                                       \
    X(SS_REAL_DP, "dp", "dp, exposed")                                                                       \
    X(SS_REAL_COLLECTIVES, "collectives", "collectives, exposed")                                            \
    X(SS_REAL_PP, "pp", "stages' messages, exposed")                                                         \
    X(SS_REAL_COPY, "copy", "copies to and from host")                                                       \
    X(SS_REAL_IDLE, "idle", "idle")
enum ss_real_term {
#define X(sym, key, words) sym,
    SS_REAL_LIST(X)
#undef X
        SS_REAL_COUNT
};
/* Returns the key of a term in JSON (enum ss_real_term): "gemm". Never NULL. */
const char *ss_real_term_key(int term);
/* Returns the words for a term: "GEMMs, logits, loss". Never NULL. */
const char *ss_real_term_words(int term);

struct ss_measured {
    char run[256], file[256]; /* names of the prediction and the trace */
    struct ss_kineto trace;
    /* stage whose breakdown is compared with the trace: the stage of the trace's rank, or the busiest
     * where the rank is not told */
    int stage;
    int by_rank; /* 1: `stage` is the stage of the trace's rank */
    int named;   /* 0: tp, cp, ep and dp are one term, because the trace does not tell them apart */
    int guessed; /* 1: all sends and receives count as the pipeline's, though some may serve other groups */
    int world;   /* ranks of the job */
    double measured_s, predicted_s;
    double band_pct;      /* 90 % of predictions of such jobs err by at most this, per cent; NaN: not known */
    double low_s, high_s; /* 90 % of such jobs take between these, with what was assumed; NaN: not known */
    char band[32];        /* the same as text: " +-16 %"; "": not known */
    double measured[SS_REAL_COUNT], predicted[SS_REAL_COUNT]; /* s */
    /* For transfers: s that they run under kernels or other transfers. NaN: not known, as for transfers
     * inside layers in a prediction at chunk level. */
    double measured_hidden[SS_REAL_COUNT], predicted_hidden[SS_REAL_COUNT];
};
/* Fills *out; the run must have a result and, with open_compute, its kernels. */
void ss_measured_fill(const struct ss_run *run, const struct ss_kineto *trace, const char *run_name,
                      const char *file, struct ss_measured *out);
/* Writes the comparison as text, JSON or CSV (enum ss_contrast_form). Error: SS_ERR_IO. */
int ss_measured_write(const struct ss_measured *m, enum ss_contrast_form form, FILE *out,
                      struct ss_error *err);
/* Draws it as an SVG of `width` px, 0: its own. Error: SS_ERR_IO. */
int ss_measured_write_svg(const struct ss_measured *m, double width, FILE *out, struct ss_error *err);
/* Writes the comparison as an HTML page that needs nothing else; width: of its picture. Errors: SS_ERR_IO, SS_ERR_NOMEM. */
int ss_measured_page(const struct ss_measured *m, double width, FILE *out, struct ss_error *err);

SS_C_END
