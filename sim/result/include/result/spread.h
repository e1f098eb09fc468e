/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "stepsim/result.h"

/* Replays a program without jitter and then options->replicas times with it; *median is the timeline of the
 * replica in the middle. `loop`: the period of a program without a global barrier. */
int ss_spread_replay(struct ss_program *p, const struct ss_run_options *options, int loop,
                     struct ss_timeline **median, struct ss_spread *out, struct ss_error *err);
