/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the files of a plan of capacity share. */
#ifndef SS_DECIDE_CAPACITY_INTERNAL_H
#define SS_DECIDE_CAPACITY_INTERNAL_H

#include "stepsim/capacity.h"

/* Fills in what a run tells of a point: the summary, busy_share and checkpoint_bytes. */
void ss_capacity_measure(const struct ss_run *run, struct ss_capacity_point *p);
/* Computes all other figures of a point from the inputs of `c` and from what ss_capacity_measure filled
 * in. */
void ss_capacity_figures(const struct ss_capacity *c, struct ss_capacity_point *p,
                         double tokens_an_iteration);
/* Picks the points chosen, sure, cheapest and knee. */
void ss_capacity_choose(struct ss_capacity *c);
/* Returns 1 if a point was predicted and keeps the deadline or the budget. far 1: the far end of its
 * range has to keep it, too, and the point surely fits. */
int ss_capacity_enough(const struct ss_capacity *c, const struct ss_capacity_point *p, int far);

/* The most points that ss_capacity_refine adds: four for each of two answers. */
#define SS_CAPACITY_REFINED 8
/* Fills in the point of one number of nodes. */
typedef int ss_capacity_planned(void *ctx, int nodes, struct ss_capacity_point *p, struct ss_error *err);
/* Sorts points by nodes. */
void ss_capacity_sort(struct ss_capacity *c);
/* Adds points to a range whose numbers of nodes double. The new points lie between the two neighbours
 * where the answer changes, once by the prediction and once by the far end of its range. `c->points` has
 * room for SS_CAPACITY_REFINED more. Errors: those of `point`. */
int ss_capacity_refine(struct ss_capacity *c, ss_capacity_planned *point, void *ctx, struct ss_error *err);

/* Returns the multiple of `unit` that is nearest to a batch, and not 0. */
int ss_capacity_nearest(int batch, int unit);
/* Returns the batch for a search on `gpus` GPUs: the job's where it has their odd part as a factor. Otherwise
 * it is the nearest multiple of the largest of gpus, gpus / 2, gpus / 4, ... within a sixteenth of the batch,
 * or of the odd part where none is. */
int ss_capacity_search_batch(int batch, int gpus);

int ss_capacity_text(const struct ss_capacity *c, FILE *out, struct ss_error *err);
int ss_capacity_json(const struct ss_capacity *c, FILE *out, struct ss_error *err);
int ss_capacity_csv(const struct ss_capacity *c, FILE *out, struct ss_error *err);
int ss_capacity_svg(const struct ss_capacity *c, FILE *out, struct ss_error *err);

#endif
