/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs beside each other: which term of the time and of the memory moved by how much. Each side is a run; differences are
 * against the first side and sum to the difference of the totals.
 *
 *     ss_run_scenario(...);                        with open_compute, for the kinds of kernels; stepsim/result.h
 *     ss_side_fill(&run, "vp 2", &side[0]);        a job that is refused: ss_side_refuse
 *     ss_sides_judge(&side[0], &side[1], bands, &apart[1], &err);
 *     ss_contrast_write(side, apart, n, SS_CONTRAST_TEXT, stdout, &err);
 */
#ifndef STEPSIM_COMPARE_H
#define STEPSIM_COMPARE_H

#include <stdio.h>

#include "stepsim/bands.h"
#include "stepsim/chunk.h"
#include "stepsim/error.h"
#include "stepsim/result.h"
#include "stepsim/summary.h"
#include "stepsim/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SS_SIDES_MOST 8

/* One job. Times in s, memory in bytes. */
struct ss_side {
    char name[256];
    struct ss_summary summary;
    char card[64], family[32]; /* struct ss_card's name, struct ss_stack's family */
    int experts;               /* 0: a dense model */
    double tokens;             /* of an iteration */
    int critical_stage, peak_stage;
    double label[SS_LABEL_COUNT]; /* of the critical stage; sums to the iteration */
    /* Kernels of it by what they are of, recomputed ones too, and what they take beyond running alone: they sum to the labels
     * compute and recompute. opened 0: not known. */
    int opened;
    double part[SS_PARTS], part_rest;
    double memory
        [SS_MEM_COUNT]; /* of the stage that needs most; "other" with context, NCCL and allocator: sums to its peak */
    const struct ss_notes *warnings; /* that are written with it; the caller's, NULL: none */
};
/* Fills *out from a run with a result. */
void ss_side_fill(const struct ss_run *run, const char *name, struct ss_side *out);
/* Adds to *out the warnings of a run, as `explain` has them too: what its plan and the notes of its scenario say, but of a measurement.
 * Errors: SS_ERR_NOMEM, and those of ss_scenario_build. */
int ss_side_warn(const struct ss_run *run, struct ss_notes *out, struct ss_error *err);
/* Fills *out for a job that was refused with the error `why`. */
void ss_side_refuse(const struct ss_error *why, const char *name, struct ss_side *out);

/* What the sides are told by: files, words that all have, and for each further side words behind those of the first one. */
struct ss_sides_words {
    int nfiles, nwords, nwith;
    char *const *files, *const *words, *const *with;
};
/* How many sides these are, at least 1: a job without a file is one. */
int ss_sides_count(const struct ss_sides_words *all);
/* Calls predict(ctx, ...) with the name and the n words of the job that is side i (n >= 0), and returns what it returns. Errors: SS_ERR_NOMEM,
 * and those of ss_request_read_text. */
int ss_side_tell(const struct ss_sides_words *all, int i,
                 int (*predict)(void *ctx, int i, const char *name, int n, char *const *words,
                                struct ss_error *err),
                 void *ctx, struct ss_error *err);

/* Whether two predictions are far enough apart to say which job is faster. */
struct ss_apart {
    double faster_pct; /* tokens/s of the second over the first, less 1, per cent; NaN where one is refused */
    double least_pct;  /* a difference of less may have the wrong sign, in one of ten cases; NaN: not known */
    int apart;         /* 1: it is more */
    char why[200];     /* where least_pct is from, or why nothing is known */
};
/* Fills *out for sides a and b. On the same card with the same family of stacks and kind of model the least
 * difference is that of pairs (ss_bands_pair); else both bands count, as independent. Error: SS_ERR_NOMEM. */
int ss_sides_judge(const struct ss_side *a, const struct ss_side *b, const struct ss_bands *bands,
                   struct ss_apart *out, struct ss_error *err);

enum ss_contrast_form { SS_CONTRAST_TEXT, SS_CONTRAST_JSON, SS_CONTRAST_CSV, SS_CONTRAST_SVG };
/* Writes n sides, 2 <= n <= SS_SIDES_MOST, the first of which is not refused; apart[i]: of side i against the first, apart[0] is
 * not read. Errors: SS_ERR_USAGE (no sides, another number of them, no such form), SS_ERR_IO. */
int ss_contrast_write(const struct ss_side *side, const struct ss_apart *apart, int n,
                      enum ss_contrast_form form, FILE *out, struct ss_error *err);

#ifdef __cplusplus
}
#endif
#endif
