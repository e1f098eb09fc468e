/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The error to expect of a prediction: that of the measured runs most like it. Load the bands once, then find the band of
 * each job; the handle is constant and may be read by several threads.
 */
#ifndef STEPSIM_BANDS_H
#define STEPSIM_BANDS_H

#include "stepsim/error.h"
#include "stepsim/files.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How far off predictions like this one were: what 90 % of them stay within (of fewer than ten: all). */
struct ss_band {
    int n;                    /* measured runs, 0 = none alike: all else is 0 */
    double pct;               /* size of the error, per cent of the measured */
    double low_pct, high_pct; /* what was measured over what was predicted, less 1, per cent */
    char like[160];           /* what the runs have in common */
};

struct ss_bands;
/* Reads a table of the form of validation/results.csv (`csv` NULL: that one of the data). Without such a file the bands are
 * empty. The caller frees *out. `files`, may be NULL, gets the table. SS_ERR_IO: it cannot be read; SS_ERR_INPUT: it is no
 * such table. */
int ss_bands_load(const char *csv, struct ss_files *files, struct ss_bands **out, struct ss_error *err);
/* Frees bands. NULL is allowed. */
void ss_bands_free(struct ss_bands *bands);
/* Fills *time and *memory with the bands of a job on `gpus` cards. precision: enum ss_precision; parameters: of the whole
 * model; experts: 0 in a dense one, which mixtures tell nothing of. `bands` may be NULL: both are empty. */
void ss_bands_find(const struct ss_bands *bands, const char *card, int precision, double parameters, int gpus,
                   int experts, struct ss_band *time, struct ss_band *memory);
/* Returns 1 when predictions may be judged by measured runs of this `quality` (a word of the tables). */
int ss_quality_counts(const char *quality);

#ifdef __cplusplus
}
#endif
#endif
