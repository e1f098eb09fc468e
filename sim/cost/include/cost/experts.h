/* SPDX-License-Identifier: Apache-2.0 */
/* Where the tokens of a job go, as the load of its experts says. */
#ifndef SS_COST_EXPERTS_H
#define SS_COST_EXPERTS_H

#include "comm/collective.h"
#include "stepsim/load.h"

struct ss_job;

/* Works out the loads of one pass of a layer of experts on a group of this shape, which has one node where it has no members. The
 * arrays of *ranks may be NULL. */
int ss_experts_load(const struct ss_job *job, const struct ss_group_shape *ep, struct ss_load_figures *out,
                    struct ss_load_ranks *ranks, struct ss_error *err);
/* Adds the spreads of layers first .. first + n - 1 of experts to *sum; returns how many these are, or SS_ERR_NOMEM. */
int ss_experts_add_layers(const struct ss_job *job, const struct ss_group_shape *ep, int first, int n,
                          struct ss_token_spread *sum, struct ss_error *err);

#endif
