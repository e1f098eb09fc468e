/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs beside each other: which term of the time and of the memory moved by how much. Each side is a run; differences are
 * against the first side and sum to the difference of the totals.
 *
 *     ss_run_scenario(...);                        with open_compute, for the kinds of kernels; stepsim/result.h
 *     ss_side_fill(&run, "vp 2", &side[0]);        a job that is refused: ss_side_refuse
 *     ss_sides_judge(&side[0], &side[1], bands, &apart[1], &err);
 *     ss_contrast_write(side, apart, n, SS_CONTRAST_TEXT, NULL, stdout, &err);
 */
#pragma once

#include "stepsim/result.h"
#include "stepsim/text.h"

SS_C_BEGIN

#define SS_SIDES_MOST 8

/* One job of a comparison. Times are in s, memory in bytes. */
struct ss_side {
    char name[256];
    struct ss_summary summary;
    char card[64], family[32]; /* struct ss_card's name, struct ss_stack's family */
    int experts;               /* 0: a dense model */
    int hybrid;                /* 1: layers of another mixer than full or windowed attention */
    double tokens;             /* tokens of an iteration */
    int critical_stage, peak_stage;
    double label[SS_LABEL_COUNT]; /* of the critical stage; the sum is the iteration */
    /* Seconds of that stage's kernels by part, recompute included, and the seconds by which other work
     * slows them down. The two sum to the labels compute and recompute. opened 0: they are not known. */
    int opened;
    double part[SS_PARTS], part_rest;
    /* for the stage that needs most; "other" includes context, NCCL and allocator; the sum is the
     * stage's peak */
    double memory[SS_MEM_COUNT];
    const struct ss_notes
        *warnings;      /* warnings that are written with the side; the caller owns them; NULL: none */
    char premises[512]; /* what the job stands on; "": not known */
};
/* Fills *out from a run with a result. */
void ss_side_fill(const struct ss_run *run, const char *name, struct ss_side *out);
/* Adds to *out the warnings of a run, as `explain` does: those of its plan and the notes of its scenario,
 * except about a measurement. Errors: SS_ERR_NOMEM, and those of ss_scenario_build. */
int ss_side_warn(const struct ss_run *run, struct ss_notes *out, struct ss_error *err);
/* Fills *out for a job that was refused with the error `why`. */
void ss_side_refuse(const struct ss_error *why, const char *name, struct ss_side *out);

/* The words that make the sides: files, words that all sides have, and for each further side the words
 * that it adds to the first. */
struct ss_sides_words {
    int nfiles, nwords, nwith;
    char *const *files, *const *words, *const *with;
};
/* Returns the number of sides, at least 1: a job without a file is one side. */
int ss_sides_count(const struct ss_sides_words *all);
/* Calls predict(ctx, ...) with the name and the n words of the job of side i (n >= 0), and returns its
 * result. Errors: SS_ERR_NOMEM, and those of ss_request_read_text. */
int ss_side_tell(const struct ss_sides_words *all, int i,
                 int (*predict)(void *ctx, int i, const char *name, int n, char *const *words,
                                struct ss_error *err),
                 void *ctx, struct ss_error *err);

/* Tells whether two predictions are far enough apart to say which job is faster. */
struct ss_apart {
    double
        faster_pct; /* by how many per cent the second has more tokens/s than the first; NaN where one is refused */
    /* a smaller difference has the wrong sign in more than one of ten cases; NaN: not known */
    double least_pct;
    int apart;     /* 1: the difference is larger than least_pct */
    char why[200]; /* where least_pct comes from, or why it is not known */
};
/* Fills *out for sides a and b. Where both have the same card, family of stacks and kind of model,
 * least_pct comes from measured pairs (ss_bands_pair); otherwise from both error bands, taken as
 * independent. Error: SS_ERR_NOMEM. */
int ss_sides_judge(const struct ss_side *a, const struct ss_side *b, const struct ss_bands *bands,
                   struct ss_apart *out, struct ss_error *err);

enum ss_contrast_form { SS_CONTRAST_TEXT, SS_CONTRAST_JSON, SS_CONTRAST_CSV };
/* Writes n sides, 2 <= n <= SS_SIDES_MOST; the first must not be refused. apart[i] compares side i with the
 * first; apart[0] is not read. Errors: SS_ERR_USAGE (no sides, another number of them, no such form),
 * SS_ERR_IO. The view, which may be NULL, is that of the text. */
int ss_contrast_write(const struct ss_side *side, const struct ss_apart *apart, int n,
                      enum ss_contrast_form form, const struct ss_display *view, FILE *out,
                      struct ss_error *err);
/* Draws them as an SVG of `width` px, 0: its own: bars of time and of memory, with the range of such jobs. Error: SS_ERR_IO. */
int ss_contrast_write_svg(const struct ss_side *side, const struct ss_apart *apart, int n, double width,
                          FILE *out, struct ss_error *err);

SS_C_END
