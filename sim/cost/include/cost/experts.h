/* SPDX-License-Identifier: Apache-2.0 */
/* Where the tokens of a job go, by the load of its experts. */
#pragma once

#include "comm/collective.h"
#include "stepsim/load.h"

struct ss_job;

/* Adds the spreads of n layers of experts, from `first` on, to *sum. Returns how many layers it added, or
 * SS_ERR_NOMEM. */
int ss_experts_add_layers(const struct ss_job *job, const struct ss_group_shape *ep, int first, int n,
                          struct ss_token_spread *sum, struct ss_error *err);
