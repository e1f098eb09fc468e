/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a comparison. Text, JSON and CSV are written from them. */
#pragma once

#include "report/row.h"
#include "stepsim/compare.h"

/* Finds what measured pairs of runs tell of jobs like a side, and judges by that as ss_sides_judge does. */
int ss_side_pairs(const struct ss_side *a, const struct ss_bands *bands, struct ss_pair_band *out,
                  struct ss_error *err);
void ss_sides_judge_by(const struct ss_side *a, const struct ss_side *b, const struct ss_pair_band *pairs,
                       struct ss_apart *out);

struct ss_contrast {
    const struct ss_side *side;
    const struct ss_apart *apart;
    int n;
};

enum ss_contrast_table { SS_CONTRAST_TIME, SS_CONTRAST_KERNELS, SS_CONTRAST_MEMORY, SS_CONTRAST_TABLES };
struct ss_contrast_row {
    const char *key, *words; /* `key` for programs, `words` for people */
    double value
        [SS_SIDES_MOST]; /* [side]: s or bytes; NaN where the side was refused, or its kernels are not known */
    int is_total;
};
/* Fills *row with row i of a table. Returns 0 past the last row, which is the total. */
int ss_contrast_row(const struct ss_contrast *c, int table, int i, struct ss_contrast_row *row);
/* Returns 1 if a side has figures for the table. */
int ss_contrast_has(const struct ss_side *side, int table);

/* Returns whether there is a clear difference between the two: true, false or not known. */
static inline struct ss_cell ss_apart_cell(const struct ss_apart *a)
{
    return isnan(a->least_pct) ? ss_cell_number(NAN) : ss_cell_flag(a->apart);
}

/* For pictures: where bars begin and how wide a picture is by itself, in pixels; and the writer of a piece of a bar with its title. */
#define SS_CONTRAST_LEFT 40.0
#define SS_CONTRAST_USUAL 980.0
void ss_contrast_box(double x, double y, double width, const char *color, const char *title, FILE *out);
