/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "stepsim/result.h"

/* Finds how much longer an iteration takes because GPUs differ, in s: the extra kernel time of a rank of
 * class `cls`, the busiest one, and its extra idle time, in the schedule with free communication. For drawn
 * paces plan.even_s tells. `bubble`: s that the rank idles where GPUs do not differ. cache: makespans of like schedules; may be NULL. */
int ss_result_pace(const struct ss_plan *plan, const struct ss_timeline *t, int cls, double bubble,
                   struct ss_cache *cache, double *seconds, struct ss_error *err);
