/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lasting spread of GPU speeds (docs/reference/model.md, "Spread of GPUs"): GPUs of one kind run the same kernels at
 * paces that differ for good, and who waits for others runs at the pace of the slowest.
 */
#ifndef SS_COST_PACE_H
#define SS_COST_PACE_H

#include <stdint.h>

#include "stepsim/cache.h"
#include "stepsim/card.h"

/* How long a GPU's kernels take over those of the mean GPU, as a random number: (1 + sigma z) f, over its mean. z is normal, cut
 * at +-cut; f is slow_factor on all GPUs of a machine with the chance slow_share, else 1. */
struct ss_gpu_spread {
    double sigma, cut;
    double within; /* share of a normal distribution that the cuts leave */
    double slow_share, slow_factor;
    double per_machine; /* GPUs that are slow together, >= 1 */
};
/* Returns the spread of a card with deviations `times` as large; 0: none. */
struct ss_gpu_spread ss_pace_of(const struct ss_card *card, double times, int per_machine);
/* Returns 1 when GPUs differ. */
int ss_pace_differs(const struct ss_gpu_spread *p);

/* Something that takes `fixed` s and kernels of `kernels` s on the mean GPU, all at the pace of the slowest of `gpus`. */
struct ss_pace_part {
    double fixed, kernels, gpus;
};
/* Parts beyond the longest SS_PACE_PARTS count as long as the shortest of these. */
#define SS_PACE_PARTS 8
/* The expected time of the part that takes longest, s; sorts the parts. */
double ss_pace_longest(const struct ss_gpu_spread *p, struct ss_pace_part *parts, int n);
/* The expected pace of the slowest of so many GPUs; 1 of one GPU. */
double ss_pace_slowest(const struct ss_gpu_spread *p, double gpus);
/* Returns ss_pace_slowest, kept in a cache; `cache` NULL: without one. */
double ss_pace_slowest_kept(struct ss_cache *cache, const struct ss_gpu_spread *p, double gpus);
/* The pace of a GPU, drawn: the same arguments give the same answer. */
double ss_pace_draw(const struct ss_gpu_spread *p, uint64_t seed, int gpu);

#endif
