/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_RESULT_PACE_LOSS_H
#define SS_RESULT_PACE_LOSS_H

#include "stepsim/result.h"

/* How much longer an iteration takes because GPUs differ, in s: what the kernels of a rank of class `cls`, the busiest one, take
 * longer, and what it idles longer, in the schedule with free communication; of paces that are drawn by plan.even_s. `bubble`: s that
 * the rank idles where GPUs do not differ. */
int ss_result_pace(const struct ss_plan *plan, const struct ss_timeline *t, int cls, double bubble,
                   double *seconds, struct ss_error *err);

#endif
