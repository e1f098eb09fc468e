/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Offload of activations to the host: of whole layers (--cpu-offloading), or of tensors that modules save
 * (--fine-grained-activation-offloading). Copies run on a stream beside the layer's compute. A copy to the
 * host runs beside the next layer of the forward; a copy back runs beside the layer that the backward does
 * before.
 */
#pragma once

#include "cost/layer_set.h"

/* Returns what one offloaded layer of these operators moves. */
struct ss_offloaded ss_layer_offloaded(const struct ss_job *job, const struct ss_ops *ops);
/* Adds the time that compute waits for the copies of one offloaded layer. */
void ss_cost_layer_offload(const struct ss_cost_context *c, const struct ss_ops *ops,
                           struct ss_layer_cost *out);
/* Returns the most page-locked host bytes that the offloaded modules of one rank use at a time. */
double ss_offload_host(const struct ss_layer_set *set, const struct ss_job *job, const struct ss_schedule *s,
                       int stage);
