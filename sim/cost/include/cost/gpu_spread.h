/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lasting spread of GPU speeds (docs/reference/model.md, "Spread of GPUs"). GPUs of one kind run the same
 * kernels at paces that differ for good. A rank that waits for others runs at the pace of the slowest. A pace
 * is kernel time over the time of the mean GPU.
 */
#pragma once

#include <stdint.h>

#include "stepsim/cache.h"
#include "stepsim/card.h"

/* The law of the pace: (1 + sigma z) f, divided by its mean. z is normal, cut at +-cut. f is slow_factor on
 * all GPUs of a machine with the chance slow_share, else 1. */
struct ss_gpu_spread {
    double sigma, cut;
    double within; /* share of a normal distribution inside the cuts */
    double slow_share, slow_factor;
    double per_machine; /* GPUs of a machine, which are slow together, >= 1 */
};
/* Returns the spread of a card, with its deviations multiplied by `times`; times 0: no spread. */
struct ss_gpu_spread ss_pace_of(const struct ss_card *card, double times, int per_machine);
/* Returns 1 when GPUs differ. */
int ss_pace_differs(const struct ss_gpu_spread *p);

/* A part of the work that runs beside others: `fixed` s, and kernels of `kernels` s on the mean GPU, at the
 * pace of the slowest of `gpus`. */
struct ss_pace_part {
    double fixed, kernels, gpus;
};
/* A part beyond the longest SS_PACE_PARTS counts as long as the shortest of those. */
#define SS_PACE_PARTS 8
/* Returns the expected time of the part that takes longest, s; sorts the parts. */
double ss_pace_longest(const struct ss_gpu_spread *p, struct ss_pace_part *parts, int n);
/* Returns the same, kept in a cache, with which the parts may stay unsorted; `cache` may be NULL. */
double ss_pace_longest_kept(struct ss_cache *cache, const struct ss_gpu_spread *p, struct ss_pace_part *parts,
                            int n);
/* Returns the expected pace of the slowest of `gpus` GPUs; 1 for one GPU. */
double ss_pace_slowest(const struct ss_gpu_spread *p, double gpus);
/* Returns ss_pace_slowest, kept in a cache; `cache` may be NULL. */
double ss_pace_slowest_kept(struct ss_cache *cache, const struct ss_gpu_spread *p, double gpus);
/* Draws the pace of a GPU; the same arguments give the same pace. */
double ss_pace_draw(const struct ss_gpu_spread *p, uint64_t seed, int gpu);
