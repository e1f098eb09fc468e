/* SPDX-License-Identifier: Apache-2.0 */
/* Where the tokens of a job go, by the load of its experts. */
#pragma once

#include "comm/collective.h"
#include "stepsim/load.h"

struct ss_cache;
struct ss_job;

/* Computes the load of one pass of a layer of experts on a group of this shape; a group without members
 * counts as one node. The load is kept in `cache`; that and the arrays of *ranks may be NULL. */
int ss_experts_load(const struct ss_job *job, const struct ss_group_shape *ep, struct ss_cache *cache,
                    struct ss_load_figures *out, struct ss_load_ranks *ranks, struct ss_error *err);
/* Adds the spreads of n layers of experts, from `first` on, to *sum. Returns how many layers it added, or
 * SS_ERR_NOMEM. */
int ss_experts_add_layers(const struct ss_job *job, const struct ss_group_shape *ep, int first, int n,
                          struct ss_token_spread *sum, struct ss_error *err);
