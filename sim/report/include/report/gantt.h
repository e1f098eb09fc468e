/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes of a replay as boxes over time, for the Gantt chart and the card, and its memory. A folded iteration has three parts beside each other. */
#pragma once

#include "report/bins.h"
#include "report/fold.h"
#include "report/record.h"
#include "stepsim/schedule.h"

#define SS_GANTT_GAP 18.0     /* between two parts, where the axis is broken */
#define SS_GANTT_SMALLEST 3.0 /* narrower neighbours are drawn as one */

struct ss_gantt_part {
    struct ss_record_book book; /* what ran in this part */
    struct ss_bins memory;      /* its memory, where that is drawn */
    double x, width;
};
struct ss_gantt {
    const struct ss_program *program;
    const struct ss_timeline *timeline;
    FILE *out;
    struct ss_fold fold;
    struct ss_gantt_part part[SS_FOLD_PARTS]; /* [fold.n] */
    int color, chunks;                        /* enum ss_picture_color */
    int **second;    /* [class][slot]: the microbatch of the backward of a pair; NULL: not known */
    double row;      /* height of a compute lane */
    double smallest; /* px: narrower neighbours are drawn as one */
    int lanes;       /* 1: also where there are many stages, with lanes of messages and collectives */
    int bare;        /* 1: boxes have no titles, data and numbers */
};

/* Begins books for the parts of a fold. Returns 0 or SS_ERR_NOMEM. */
int ss_gantt_init(struct ss_gantt *k, const struct ss_program *p, const struct ss_fold *fold, double makespan,
                  double boxes);
void ss_gantt_free(struct ss_gantt *k);
/* Notes the second microbatches of pairs, which a schedule knows; NULL: nobody does. Returns 0 or SS_ERR_NOMEM. */
int ss_gantt_pairs(struct ss_gantt *k, const struct ss_schedule *s);
/* Places the parts side by side from `left` on, each as wide as it is long. */
void ss_gantt_place(struct ss_gantt *k, double left, double width);
/* Draws a lane (an index into the lanes of the books) with the track behind it. */
void ss_gantt_lane(const struct ss_gantt *k, int lane, double y, double height);
/* Draws the signs of the broken axis from y to bottom. */
void ss_gantt_breaks(const struct ss_gantt *k, double y, double bottom);
/* Writes what a part is: "warm-up", "2 of 127 steady periods", "cool-down". */
const char *ss_gantt_part_words(const struct ss_gantt *k, int part, char buf[64]);
/* Finds where the computations of a slot end that begin with box i, and returns the first box behind them. A wait counts as
 * a slot of its own, so that waiting before the work is not part of the work. */
size_t ss_gantt_slot_end(const struct ss_lane *lane, size_t i, double *end);
/* Writes the number of a microbatch into a box, where there is room. */
void ss_gantt_number(FILE *out, int number, double x, double width, double y, double height,
                     const char *fill);
/* Returns the share of the iteration in which kernels of a class run. */
double ss_gantt_busy(const struct ss_timeline *t, int cls);
