/* SPDX-License-Identifier: Apache-2.0 */
/* Costs of layers that a cache keeps: jobs that differ in stages, replicas or batch alone have the same ones. */
#pragma once

#include "cost/cost.h"

/* Returns the keeper of the layers of a rank, of the job's. */
struct ss_layer_keeper ss_layer_keeper_of(const struct ss_layer_keeper *job, const struct ss_cost_context *c);
/* Does what ss_cost_layer does, for the operators of a kind (layers/kinds.h) in the keeper's context. With a record times of GEMMs alone are kept. */
void ss_cost_layer_kept(const struct ss_layer_keeper *rank, int kind, const struct ss_cost_context *c,
                        const struct ss_ops *ops, int recompute, struct ss_layer_cost *out);
