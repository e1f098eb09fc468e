/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that a rank holds, as Megatron-LM holds them (docs/reference/model.md). */
#ifndef SS_COST_MEMORY_H
#define SS_COST_MEMORY_H

#include "cost/layer_set.h"

/* Ranks that divide the optimizer states, 1 without ZeRO: `expert` those of experts that are counted apart, `dense` all others. */
struct ss_optimizer_shards {
    double dense, expert;
};

/* Returns how many of `params` parameters have 16-bit gradients that the step copies to fp32 (ss.optimizer.grad_copy). */
double ss_memory_copied(const struct ss_cost_context *c, double params, double shards);

/* Bytes that DeepEP, with so many SMs, registers on a rank of an expert group of `ranks`, for tokens of `hidden` elements. */
double ss_memory_deepep(int ranks, double hidden, int sms);
/* Bytes that HybridEP allocates on a rank of an expert group of `ranks`, `local` of them in a node, with so many experts and tokens a
 * rank; wide: bytes of an element that is dispatched. */
double ss_memory_hybridep(int ranks, int local, double experts, double tokens, double hidden, double wide);

/* Fills static bytes by class. */
void ss_memory_static(const struct ss_cost_context *c, const struct ss_param_count *params,
                      struct ss_optimizer_shards shards, double memory[SS_MEM_COUNT]);
/* Static bytes that exist in the optimizer's step alone, when there are no activations (ss.optimizer.grad_copy 2). */
double ss_memory_step(const struct ss_cost_context *c, const struct ss_param_count *params,
                      struct ss_optimizer_shards shards);
/* Bytes of the copies that the step makes of a rank's share of 16-bit gradients: in fp32 by Megatron core
 * (_copy_model_grads_to_main_grads), flat and in fp32 by DeepSpeed. They are no static bytes, for they take the room of activations. */
double ss_memory_main_gradients(const struct ss_cost_context *c, const struct ss_param_count *params,
                                struct ss_optimizer_shards shards);
/* Fills what the k-th chunk keeps from the F of a microbatch to its B, and its working sets. */
void ss_memory_chunk(const struct ss_cost_context *c, const struct ss_layer_set *set, int k,
                     struct ss_chunk_cost *chunk);
/* Bytes of the host's memory: optimizer states with the gradients they step by, and offloaded activations. */
double ss_memory_host(const struct ss_cost_context *c, const struct ss_param_count *params,
                      struct ss_optimizer_shards shards, const struct ss_layer_set *set);

#endif
