/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a plan of capacity share. */
#ifndef SS_DECIDE_CAPACITY_INTERNAL_H
#define SS_DECIDE_CAPACITY_INTERNAL_H

#include "stepsim/capacity.h"

/* Iterations whose replays hold, and the figures that they give: the summary, busy_share and checkpoint_bytes. */
void ss_capacity_measure(const struct ss_run *run, struct ss_capacity_point *p);
/* Fills in all else of a point that ss_capacity_measure filled, with the inputs of `c`. */
void ss_capacity_figures(const struct ss_capacity *c, struct ss_capacity_point *p,
                         double tokens_an_iteration);
/* Picks chosen, sure, cheapest and knee. */
void ss_capacity_choose(struct ss_capacity *c);
/* Whether a point is predicted and within the deadline or the budget; far: by the far end of its range, and surely fits. */
int ss_capacity_enough(const struct ss_capacity *c, const struct ss_capacity_point *p, int far);

/* Points that ss_capacity_refine adds at most: four for each of two answers. */
#define SS_CAPACITY_REFINED 8
/* Plans one number of nodes. */
typedef int ss_capacity_planned(void *ctx, int nodes, struct ss_capacity_point *p, struct ss_error *err);
/* Sorts points by nodes. */
void ss_capacity_sort(struct ss_capacity *c);
/* Adds points to a range whose numbers double: between the two where the answer lies, by the prediction and
 * by the far end of its range. `c->points` has room for SS_CAPACITY_REFINED more. Errors: those of
 * `point`. */
int ss_capacity_refine(struct ss_capacity *c, ss_capacity_planned *point, void *ctx, struct ss_error *err);

/* The multiple of `unit` nearest to a batch, at least one. */
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
