/* SPDX-License-Identifier: Apache-2.0 */
#include "workload/memory.h"

#include <math.h>
#include <string.h>

/* Copies of the gradients that reduction and step need beside 16-bit ones, bytes. DeepSpeed's ZeRO (FP16_Optimizer,
 * BF16_Optimizer, stage 1): a flat bucket; a partition of the gradients, flat in 16 bit and then in fp32; without
 * partitions both whole in fp32. bf16 accumulates in fp32, whole. */
static double gradient_copies(const struct ss_cost_context *c, double params, double shards)
{
    double bucket = 2 * c->stack->zero_bucket;
    if (c->shape.e >= 4 || c->stack->grad_copy <= 0)
        return 0;
    if (bucket <= 0 || c->job->precision != SS_FP16)
        return bucket + 4 * params;
    return bucket + params * (c->job->distributed_optimizer ? 6 / shards : 8);
}

void ss_memory_static(const struct ss_cost_context *c, const struct ss_param_count *params, double shards,
                      double memory[SS_MEM_COUNT])
{
    const struct ss_job *job = c->job;
    int mixed = c->shape.e < 4, fp8 = job->precision == SS_FP8;
    double inner = c->fsdp.n;
    double weight = c->shape.e, grad = !mixed || job->grad_reduce_fp32 ? 4 : 2;
    double states = mixed ? 12 : 8; /* two moments and, in mixed precision, the fp32 master copy */
    double narrow = fp8 && job->fp8_param_gather ? params->gemm : 0; /* parameters of 1 byte */
    memset(memory, 0, SS_MEM_COUNT * sizeof *memory);
    memory[SS_MEM_WEIGHTS] = (params->all - narrow) * weight + narrow;
    memory[SS_MEM_GRADIENTS] = params->all * grad;
    memory[SS_MEM_OPTIMIZER] = params->all * (states / shards) * (1 - job->optimizer_offload) +
                               gradient_copies(c, params->all, shards);
    if (inner > 1) {
        if (job->sharding >= SS_SHARD_OPTIM_GRADS_PARAMS) {
            memory[SS_MEM_WEIGHTS] /= inner;
            memory[SS_MEM_OTHER] +=
                2 * params->layer * weight; /* this layer's and the next one's, gathered */
        }
        if (job->sharding >= SS_SHARD_OPTIM_GRADS) {
            memory[SS_MEM_GRADIENTS] /= inner;
            memory[SS_MEM_OTHER] += params->layer * grad;
        }
    }
    if (fp8 && !c->stack->fp8_dynamic) /* 1-byte copy and its transpose, cached over the microbatches */
        memory[SS_MEM_WEIGHTS] += params->gemm * (job->fp8_param_gather ? 1 : 2);
    if (c->shape.tp_comm_overlap)
        memory[SS_MEM_OTHER] += c->stack->tp_overlap_buffers * c->shape.tokens * c->shape.h * 2;
    if (job->pp > 1) /* received activation and gradient; double when sends overlap */
        memory[SS_MEM_OTHER] += (job->overlap_p2p ? 4 : 2) * ss_shape_border_bytes(&c->shape);
}

double ss_memory_host(const struct ss_cost_context *c, const struct ss_param_count *params, double shards,
                      const struct ss_ops *layer)
{
    double states = c->shape.e < 4 ? 12 : 8;
    double kept = c->job->cpu_offload_activations ? ss_ops_saved_bytes(layer, 0) : 0;
    return c->job->optimizer_offload * params->all * (states + 4) / shards + c->job->cpu_offload_layers * kept;
}

int ss_memory_recomputed_layers(const struct ss_job *job, int nlayers)
{
    if (job->recompute != SS_RECOMPUTE_FULL)
        return 0;
    if (job->recompute_method == SS_RECOMPUTE_BLOCK)
        return job->recompute_num_layers < nlayers ? job->recompute_num_layers : nlayers;
    return nlayers;
}

void ss_memory_chunk(const struct ss_cost_context *c, const struct ss_ops *layer,
                     const struct ss_ops *embedding, const struct ss_ops *loss, struct ss_chunk_cost *chunk)
{
    const struct ss_job *job = c->job;
    int n = chunk->nlayers, redone = ss_memory_recomputed_layers(job, n);
    int group = job->recompute_method == SS_RECOMPUTE_UNIFORM && job->recompute_num_layers > 0
                    ? job->recompute_num_layers
                    : 1;
    double full = ss_ops_saved_bytes(layer, 0);
    double kept = ss_ops_saved_bytes(layer, job->recompute == SS_RECOMPUTE_SELECTIVE);
    double border = ss_shape_border_bytes(&c->shape), working = ss_ops_working_bytes(layer);
    int offloaded = job->cpu_offload_activations ? job->cpu_offload_layers : 0;
    chunk->activation_bytes = ceil((double)redone / group) * border + (n - redone) * kept;
    chunk->activation_bytes -= fmin(offloaded, n - redone) * kept; /* lives on the host */
    chunk->forward_extra_bytes = working;
    chunk->backward_extra_bytes = working + border + (full - kept);
    if (redone > 0) /* one group's activations are alive again */
        chunk->backward_extra_bytes = working + border + fmin(group, redone) * full;
    if (chunk->has_embedding)
        chunk->activation_bytes += ss_ops_saved_bytes(embedding, 0);
    if (!chunk->has_loss && c->stack->keep_outputs > 0)
        chunk->activation_bytes += border;
    chunk->logits_bytes = 0;
    if (chunk->has_loss) {
        const struct ss_op *entropy = &loss->op[loss->n - 1];
        chunk->logits_bytes = entropy->saved_bytes;
        chunk->activation_bytes += ss_ops_saved_bytes(loss, 0) - entropy->saved_bytes;
        chunk->backward_extra_bytes = fmax(chunk->backward_extra_bytes, entropy->working_bytes);
    }
    chunk->weight_grad_bytes = n * ss_ops_weight_grad_bytes(layer, &c->shape);
    if (chunk->has_loss)
        chunk->weight_grad_bytes += ss_ops_weight_grad_bytes(loss, &c->shape);
}
