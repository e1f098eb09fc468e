/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "stepsim/result.h"

/* The timers that the stack's framework prints, of the last rank: those that the replay covers.
 * Fills r->timers; a stack without timer names gets none. */
int ss_timers_fill(const struct ss_plan *plan, const struct ss_program *program,
                   const struct ss_timeline *timeline, struct ss_result *r, struct ss_error *err);
