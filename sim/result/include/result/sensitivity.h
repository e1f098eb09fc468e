/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "stepsim/result.h"

/* Returns 1 where no error of a native replay can have grown so far that it matters. */
int ss_sensitivity_none(const struct ss_timeline *t);
/* Replays a program on the native engine with links a little wider or narrower, where contention could change
 * the answer. `t`: the replay whose answer is examined. `loop`: the period of a program without a global
 * barrier. The links of p change meanwhile. */
int ss_sensitivity_find(struct ss_program *p, const struct ss_timeline *t, int loop,
                        struct ss_sensitivity *out, struct ss_error *err);
