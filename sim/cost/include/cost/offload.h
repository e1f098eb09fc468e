/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Offload of activations to the host: of whole layers (--cpu-offloading), or of tensors that modules save
 * (--fine-grained-activation-offloading). Copies run on a stream beside as much compute as the layer has: to the host beside
 * the next layer of the forward, back beside the layer that the backward does before.
 */
#ifndef SS_COST_OFFLOAD_H
#define SS_COST_OFFLOAD_H

#include "cost/layer_set.h"

/* What one offloaded layer of these operators moves. */
struct ss_offloaded ss_layer_offloaded(const struct ss_job *job, const struct ss_ops *ops);
/* Adds what the copies of one offloaded layer expose. */
void ss_cost_layer_offload(const struct ss_cost_context *c, const struct ss_ops *ops,
                           struct ss_layer_cost *out);
/* The most page-locked bytes of the host that modules of one rank have in use at a time. */
double ss_offload_host(const struct ss_layer_set *set, const struct ss_job *job, const struct ss_schedule *s,
                       int stage);

#endif
