/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that a rank holds, as Megatron-LM holds them (docs/reference/model.md). */
#ifndef SS_COST_MEMORY_H
#define SS_COST_MEMORY_H

#include "cost/cost.h"
#include "cost/rank_cost.h"

/* Parameters of one rank by what the memory account needs of them. */
struct ss_param_count {
    double all;   /* every parameter of the rank */
    double gemm;  /* those of which fp8 keeps a copy and its transpose */
    double layer; /* of one transformer layer: what FSDP gathers at a time */
    double border, borders; /* of the larger of embedding and output layer, and of both */
    double tensor; /* of the largest single tensor */
    int tensors;   /* that hold all of them */
};

/* Of `params` parameters those whose 16-bit gradients are copied to fp32 for the step (ss.optimizer.grad_copy). */
double ss_memory_copied(const struct ss_cost_context *c, double params, double shards);

/* Static bytes by class; `shards`: ranks that divide the optimizer states (1 without ZeRO). */
void ss_memory_static(const struct ss_cost_context *c, const struct ss_param_count *params, double shards,
                      double memory[SS_MEM_COUNT]);
/* Those of them that live in the optimizer's step alone, when no activation does: ss.optimizer.grad_copy 2. */
double ss_memory_step(const struct ss_cost_context *c, const struct ss_param_count *params, double shards);
/* Bytes that one chunk keeps from a microbatch's F to its B, and the working sets: of chunk->nlayers layers, and of
 * embedding and loss where the chunk has them. Fills the chunk's byte fields but those of its messages. */
void ss_memory_chunk(const struct ss_cost_context *c, const struct ss_ops *layer,
                     const struct ss_ops *embedding, const struct ss_ops *loss, struct ss_chunk_cost *chunk);
/* Bytes of the host's memory: optimizer states with the gradients they step by, and offloaded activations. */
double ss_memory_host(const struct ss_cost_context *c, const struct ss_param_count *params, double shards,
                      const struct ss_ops *layer);

#endif
