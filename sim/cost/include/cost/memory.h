/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that a rank holds, as Megatron-LM holds them (docs/reference/model.md). */
#ifndef SS_COST_MEMORY_H
#define SS_COST_MEMORY_H

#include "cost/layer_set.h"

/* Ranks that divide the optimizer states (1 without ZeRO): of routed experts, where they are counted apart, and of all else. */
struct ss_optimizer_shards {
    double dense, expert;
};

/* Of `params` parameters those whose 16-bit gradients are copied to fp32 for the step (ss.optimizer.grad_copy). */
double ss_memory_copied(const struct ss_cost_context *c, double params, double shards);

/* Bytes that DeepEP registers on a rank of an expert group of `ranks`, whose tokens are `hidden` wide; sms: those that it takes. */
double ss_memory_deepep(int ranks, double hidden, int sms);
/* Bytes that HybridEP allocates on a rank of such a group with `local` ranks in a node, `experts` a rank, each of whose ranks sends
 * `tokens`; wide: bytes of an element that is dispatched. */
double ss_memory_hybridep(int ranks, int local, double experts, double tokens, double hidden, double wide);

/* Static bytes by class. */
void ss_memory_static(const struct ss_cost_context *c, const struct ss_param_count *params,
                      struct ss_optimizer_shards shards, double memory[SS_MEM_COUNT]);
/* Those of them that live in the optimizer's step alone, when no activation does: ss.optimizer.grad_copy 2. */
double ss_memory_step(const struct ss_cost_context *c, const struct ss_param_count *params,
                      struct ss_optimizer_shards shards);
/* Beside the static bytes: copies of a rank's share of 16-bit gradients for the step, in fp32 by Megatron core
 * (_copy_model_grads_to_main_grads), flat and in fp32 by DeepSpeed. They take the room of activations. */
double ss_memory_main_gradients(const struct ss_cost_context *c, const struct ss_param_count *params,
                                struct ss_optimizer_shards shards);
/* Bytes that the k-th chunk keeps from a microbatch's F to its B, and the working sets. Fills the chunk's byte fields but
 * those of its messages. */
void ss_memory_chunk(const struct ss_cost_context *c, const struct ss_layer_set *set, int k,
                     struct ss_chunk_cost *chunk);
/* Bytes of the host's memory: optimizer states with the gradients they step by, and offloaded activations. */
double ss_memory_host(const struct ss_cost_context *c, const struct ss_param_count *params,
                      struct ss_optimizer_shards shards, const struct ss_layer_set *set);

#endif
