/* SPDX-License-Identifier: Apache-2.0 */
/* One job under all combinations of some flags' values, side by side. */
#ifndef STEPSIM_SWEEP_H
#define STEPSIM_SWEEP_H

#include <stdio.h>

#include "stepsim/error.h"
#include "stepsim/result.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SS_SWEEP_FLAGS 8
#define SS_SWEEP_VALUES 64

/* A flag, "--nodes", and the values that it takes in turn. */
struct ss_sweep_flag {
    char name[64];
    int nvalues;
    char value[SS_SWEEP_VALUES][64];
};

/* What a combination came to. */
struct ss_sweep_row {
    int at[SS_SWEEP_FLAGS]; /* value of each flag */
    int code;               /* SS_OK: it was predicted, else why not */
    char reason[200];       /* "" where it was */
    int gpus, fits, thrash;
    double iteration_s, mfu, tokens_per_s_per_gpu;
    double peak_device, capacity; /* bytes, of the stage that needs most */
    double bubble_fraction;
    double usd_per_iteration; /* 0 where no price is stated */
};

/* Rows in the order of counting: the last flag's values change fastest. */
struct ss_sweep {
    int nflags, nrows;
    struct ss_sweep_flag flags[SS_SWEEP_FLAGS];
    struct ss_sweep_row *rows; /* the caller's */
};

/* Combinations of the flags' values; 0 if there are more than `most`. */
int ss_sweep_size(const struct ss_sweep *s, int most);
/* Sets row->at to combination i. */
void ss_sweep_combination(const struct ss_sweep *s, int i, struct ss_sweep_row *row);
/* Takes the figures of a run. */
void ss_sweep_take(struct ss_sweep_row *row, const struct ss_run *run);
/* What became of a row; BARELY: so near the card's memory that the allocator will retry. */
enum ss_sweep_fate { SS_SWEEP_FITS, SS_SWEEP_BARELY, SS_SWEEP_TOO_LARGE, SS_SWEEP_REFUSED };
/* Rows of one fate. */
int ss_sweep_count(const struct ss_sweep *s, int fate);
/* The row that fits, not barely, with most tokens a second, or, by_gpu, a second and GPU; the first of equal ones; -1 =
 * none does. */
int ss_sweep_best(const struct ss_sweep *s, int by_gpu);
int ss_sweep_write(const struct ss_sweep *s, int json, FILE *out, struct ss_error *err);

#ifdef __cplusplus
}
#endif
#endif
