/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that a rank holds, as Megatron-LM holds them (docs/reference/model.md). */
#pragma once

#include "cost/layer_set.h"

/* Number of ranks that share the optimizer states, 1 without ZeRO: of experts that are counted apart
 * (`expert`), and of all other parameters (`dense`). */
struct ss_optimizer_shards {
    double dense, expert;
};

/* Returns the bytes of an element that kernels of their own move to add a weight gradient to that of earlier microbatches; 0: GEMMs add
 * it, or FSDP does what it reduces. Main gradients are added to in every microbatch, PyTorch's own gradient is the first one. */
double ss_accumulate_bytes(const struct ss_cost_context *c);
/* Returns the bytes of an element of gradients that FSDP adds up and reduces. */
double ss_fsdp_gradient_bytes(const struct ss_cost_context *c);
/* Returns the bytes of a parameter's gradient in a bucket of PyTorch's DistributedDataParallel (ss.ddp.copies). */
double ss_ddp_copy_bytes(const struct ss_cost_context *c);
/* Returns how many of `params` parameters have 16-bit gradients that the step copies to fp32 (ss.optimizer.grad_copy). */
double ss_memory_copied(const struct ss_cost_context *c, double params, double shards);

/* Returns the bytes that DeepEP with `sms` SMs registers on a rank of an expert group of `ranks`, for tokens
 * of `hidden` elements. */
double ss_memory_deepep(int ranks, double hidden, int sms);
/* Returns the bytes that HybridEP allocates on a rank of an expert group of `ranks`, `local` of them in a
 * node, for `experts` experts and `tokens` tokens a rank; wide: bytes of an element that is dispatched. */
double ss_memory_hybridep(int ranks, int local, double experts, double tokens, double hidden, double wide);

/* Fills the static bytes by class. */
void ss_memory_static(const struct ss_cost_context *c, const struct ss_param_count *params,
                      struct ss_optimizer_shards shards, double memory[SS_MEM_COUNT]);
/* Returns the static bytes that exist in the optimizer's step alone, when there are no activations
 * (ss.optimizer.grad_copy 2). */
double ss_memory_step(const struct ss_cost_context *c, const struct ss_param_count *params,
                      struct ss_optimizer_shards shards);
/* Returns the bytes of the copies that the step makes of a rank's share of 16-bit gradients. Megatron core
 * makes them in fp32 (_copy_model_grads_to_main_grads), DeepSpeed flat and in fp32. They are no static bytes,
 * because they take the room of activations. */
double ss_memory_main_gradients(const struct ss_cost_context *c, const struct ss_param_count *params,
                                struct ss_optimizer_shards shards);
/* Returns whether FSDP is PyTorch's of single parameters (ss.fsdp.pytorch 2 and more), and shards. */
int ss_memory_per_parameter(const struct ss_cost_context *c);
/* Returns the bytes of what such FSDP gathers, and of the buffer of its gathers. */
double ss_memory_gathered(const struct ss_cost_context *c, const struct ss_param_count *params);
/* Returns what of that, and of `gradients` bytes of sharded gradients, is in pools of other streams, and not live
 * when activations and logits are at their peak; gradients of several microbatches are. */
double ss_memory_pooled(const struct ss_cost_context *c, const struct ss_param_count *params,
                        double gradients, int microbatches);
/* Returns the bytes of a layer's gradients on their way in the k-th chunk, with those of the output layer that
 * wait; and what the output layer's need at their scatter beside the logits that the loss keeps. */
double ss_memory_layer_gradients(const struct ss_cost_context *c, const struct ss_layer_set *set, int k);
double ss_memory_output_gradients(const struct ss_cost_context *c, const struct ss_ops *ops);
/* Returns the bytes that a layer's forward makes and gives back: `hidden`, what it does not keep, or where it
 * keeps all or its input alone, operands and result of the largest elementwise kernel. */
double ss_memory_passing(const struct ss_ops *ops, double hidden);
/* Bytes of a recomputed layer's whole input, a layer: a group of layers shares one. */
double ss_memory_group_input(const struct ss_cost_context *c);
/* Fills what the k-th chunk keeps from F to B of a microbatch, and its working sets. */
void ss_memory_chunk(const struct ss_cost_context *c, const struct ss_layer_set *set, int k,
                     struct ss_chunk_cost *chunk);
/* Returns the bytes of blocks that wait for NCCL's stream at the peak of the k-th chunk. */
double ss_memory_waiting(const struct ss_cost_context *c, const struct ss_layer_set *set, int k);
/* Returns the bytes of freed blocks that fit nothing at the peak of a chunk. */
double ss_memory_idle(const struct ss_cost_context *c, const struct ss_chunk_cost *chunk);
/* Returns the host bytes of the rank: offloaded optimizer states with the gradients that they step by, and
 * offloaded activations. */
double ss_memory_host(const struct ss_cost_context *c, const struct ss_param_count *params,
                      struct ss_optimizer_shards shards, const struct ss_layer_set *set);
