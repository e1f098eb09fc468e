/* SPDX-License-Identifier: Apache-2.0 */
/* What the load of the experts makes of a job's mixture: sizes of one rank, and where its tokens go. */
#ifndef SS_COST_EXPERTS_H
#define SS_COST_EXPERTS_H

#include "comm/collective.h"
#include "stepsim/load.h"

struct ss_job;

/* Loads of one pass of a layer of experts on a group of this shape, one node where it has no members; arrays of *ranks may be NULL. */
int ss_experts_load(const struct ss_job *job, const struct ss_group_shape *ep, struct ss_load_figures *out,
                    struct ss_load_ranks *ranks, struct ss_error *err);
/* Adds those of layers first .. first + n - 1, each as often as one layer of experts; returns
 * their number or SS_ERR_NOMEM. */
int ss_experts_add_layers(const struct ss_job *job, const struct ss_group_shape *ep, int first, int n,
                          struct ss_token_spread *sum, struct ss_error *err);

#endif
