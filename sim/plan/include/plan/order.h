/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which the stages of a job run their slots, and how long these take in it. */
#pragma once

#include "stepsim/schedule.h"

struct ss_cache;
struct ss_job;
struct ss_plan;
struct ss_stack;

/* What a slot of a chunk takes at least, s: F and B, [1]: with the waits of a host that begins each slot in step with the GPU. */
struct ss_slot_bounds {
    double seconds[2][2];
};

/* Builds the schedule of a finished job, or takes it from a cache, which may be NULL; the caller frees *out with ss_schedule_free.
 * Errors: those of ss_schedule_load and ss_schedule_build. */
int ss_order_build(const struct ss_job *job, const struct ss_stack *stack, int world_size,
                   struct ss_cache *cache, struct ss_schedule **out, struct ss_error *err);
/* Raises passing[0] and, with waits, passing[1] to the s from the first slot of all stages to the last one, if messages take nothing;
 * slot[stage * chunks + chunk]. The plan's schedule need not have all microbatches. Errors: those of ss_order_build. */
int ss_order_least(const struct ss_plan *plan, const struct ss_slot_bounds *slot, struct ss_cache *cache,
                   double passing[2], struct ss_error *err);
