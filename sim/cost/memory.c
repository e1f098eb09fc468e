/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/memory.h"

#include <math.h>
#include <string.h>

struct ss_parameter_bytes ss_parameter_bytes(const struct ss_job *job, const struct ss_stack *stack)
{
    int stored = job->precision == SS_FP8 ? job->fp8_base : job->precision;
    if (stored == SS_FP32 || (stack->fp32_params > 0 && stored == SS_BF16))
        return (struct ss_parameter_bytes){4, 4, 8};
    int half = stack->param_remainders > 0 && job->precision == SS_BF16 && job->distributed_optimizer;
    return (struct ss_parameter_bytes){2, job->grad_reduce_fp32 ? 4 : 2, half ? 10 : 12};
}

double ss_memory_copied(const struct ss_cost_context *c, double params, double shards)
{
    const struct ss_stack *stack = c->stack;
    if (stack->grad_copy <= 0 || c->shape.e >= 4)
        return 0;
    if (stack->grad_copy < 2) /* Megatron-LM: none where they accumulate in fp32 */
        return ss_parameter_bytes(c->job, stack).grad < 4 ? params : 0;
    return stack->zero_bucket > 0 && c->job->precision == SS_FP16 ? params / shards : params;
}

/* What DeepSpeed needs beside its bucket to step on its share of 16-bit gradients (stage_1_and_2.py): flat in 16 bit,
 * then in fp32 where the norm had one gradient in fp64. Without shares (FP16_Optimizer) all of them in fp32, twice. */
static double zero_copies(const struct ss_cost_context *c, const struct ss_param_count *params, double shards)
{
    double share = params->all / shards;
    if (!c->job->distributed_optimizer && c->fsdp.n <= 1)
        return 8 * params->all;
    return 2 * share + fmax(4 * share, 8 * fmin(params->tensor, share));
}

/* Copies of the gradients that the step needs beside 16-bit ones, bytes. bf16 accumulates in fp32, whole, in ZeRO too. */
static double gradient_copies(const struct ss_cost_context *c, const struct ss_param_count *params, double shards)
{
    double copied = ss_memory_copied(c, params->all, shards);
    if (copied > 0 && c->stack->zero_bucket > 0 && c->job->precision == SS_FP16)
        return zero_copies(c, params, shards);
    return 4 * copied;
}

double ss_memory_step(const struct ss_cost_context *c, const struct ss_param_count *params, double shards)
{
    return c->stack->grad_copy > 1 && c->job->precision == SS_FP16 ? gradient_copies(c, params, shards) : 0;
}

/* PyTorch's FSDP shards fp32 parameters, which are their own master copy; 16 bit is what it gathers. */
static int shard_is_master(const struct ss_cost_context *c)
{
    return c->stack->fsdp_pytorch > 0 && ss_parameter_bytes(c->job, c->stack).weight < 4 &&
           c->job->sharding >= SS_SHARD_OPTIM_GRADS_PARAMS;
}

/* Shards what the job shards inside a group, and adds what is gathered of it at a time. */
static void shard_fully(const struct ss_cost_context *c, const struct ss_param_count *params, double grad,
                        double shards, double memory[SS_MEM_COUNT])
{
    int pytorch = c->stack->fsdp_pytorch > 0;
    double e = c->shape.e, largest = pytorch ? params->layer : fmax(params->layer, params->border);
    if (c->job->sharding >= SS_SHARD_OPTIM_GRADS_PARAMS) {
        memory[SS_MEM_WEIGHTS] /= c->fsdp.n;
        /* this layer's and the next one's */
        memory[SS_MEM_OTHER] += fmax(params->layer + largest, fmin(params->all, c->stack->zero_live)) * e;
        if (pytorch)
            memory[SS_MEM_OTHER] += params->borders * e;
        if (shard_is_master(c)) {
            memory[SS_MEM_WEIGHTS] = 4 * params->all / c->fsdp.n;
            memory[SS_MEM_OPTIMIZER] -= 4 * params->all / shards * (1 - c->job->optimizer_offload);
        }
    }
    if (c->job->sharding >= SS_SHARD_OPTIM_GRADS) {
        memory[SS_MEM_GRADIENTS] /= c->fsdp.n;
        memory[SS_MEM_OTHER] += largest * grad + (pytorch ? params->borders * e : 0);
    }
}

void ss_memory_static(const struct ss_cost_context *c, const struct ss_param_count *params, double shards,
                      double memory[SS_MEM_COUNT])
{
    const struct ss_job *job = c->job;
    struct ss_parameter_bytes bytes = ss_parameter_bytes(job, c->stack);
    int cached = job->precision == SS_FP8 && !c->stack->fp8_dynamic;
    double narrow = cached && job->fp8_param_gather ? params->gemm : 0; /* parameters of 1 byte */
    memset(memory, 0, SS_MEM_COUNT * sizeof *memory);
    memory[SS_MEM_WEIGHTS] = (params->all - narrow) * bytes.weight + narrow;
    memory[SS_MEM_GRADIENTS] = params->all * bytes.grad;
    memory[SS_MEM_OPTIMIZER] = params->all * (bytes.states / shards) * (1 - job->optimizer_offload) +
                               gradient_copies(c, params, shards) +
                               (c->shape.e < 4 ? 2 * c->stack->zero_bucket : 0);
    if (c->fsdp.n > 1)
        shard_fully(c, params, bytes.grad, shards, memory);
    if (cached) /* 1-byte copy and its transpose, over the microbatches */
        memory[SS_MEM_WEIGHTS] += params->gemm * (narrow > 0 ? 1 : 2);
    if (c->shape.tp_comm_overlap)
        memory[SS_MEM_OTHER] += c->stack->tp_overlap_buffers * c->shape.tokens * c->shape.h * 2;
    if (job->pp > 1) /* received activation and gradient; double when sends overlap */
        memory[SS_MEM_OTHER] += (c->p2p_overlapped ? 4 : 2) * ss_shape_border_bytes(&c->shape);
}

double ss_memory_host(const struct ss_cost_context *c, const struct ss_param_count *params, double shards,
                      const struct ss_ops *layer)
{
    double states = ss_parameter_bytes(c->job, c->stack).states;
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

/* The transformer layers: what they keep from F to B, and the working sets of F and B. */
static void layers_memory(const struct ss_cost_context *c, const struct ss_ops *layer, struct ss_chunk_cost *chunk)
{
    const struct ss_job *job = c->job;
    int n = chunk->nlayers, redone = ss_memory_recomputed_layers(job, n);
    int group = job->recompute_method == SS_RECOMPUTE_UNIFORM && job->recompute_num_layers > 0
                    ? job->recompute_num_layers
                    : 1;
    int offloaded = job->cpu_offload_activations ? job->cpu_offload_layers : 0;
    double full = ss_ops_saved_bytes(layer, 0);
    double kept = ss_ops_saved_bytes(layer, job->recompute == SS_RECOMPUTE_SELECTIVE);
    double border = ss_shape_border_bytes(&c->shape), working = ss_ops_working_bytes(layer);
    double gradients = 3 * border; /* of the residual stream, of the branch at work, of its norm's output */
    chunk->activation_bytes = ceil((double)redone / group) * border + (n - redone) * kept;
    chunk->activation_bytes -= fmin(offloaded, n - redone) * kept; /* lives on the host */
    chunk->forward_extra_bytes = working;
    chunk->backward_extra_bytes = working + gradients + (full - kept);
    if (redone >
        0) /* one group's activations are alive again; those of the layers behind, that were kept, are gone */
        chunk->backward_extra_bytes =
            working + gradients +
            fmax(redone < n ? full - kept : 0, fmin(group, redone) * full - (n - redone) * kept);
    chunk->weight_grad_bytes = n * ss_ops_weight_grad_bytes(layer, &c->shape);
}

/* Adds the output layer and the loss, whose logits are a class of memory of their own. */
static void loss_memory(const struct ss_cost_context *c, const struct ss_ops *loss, struct ss_chunk_cost *chunk)
{
    const struct ss_op *entropy = &loss->op[loss->n - 1];
    chunk->logits_bytes = entropy->saved_bytes;
    chunk->activation_bytes += ss_ops_saved_bytes(loss, 0) - entropy->saved_bytes;
    chunk->backward_extra_bytes = fmax(chunk->backward_extra_bytes, entropy->working_bytes);
    chunk->weight_grad_bytes += ss_ops_weight_grad_bytes(loss, &c->shape);
}

/* What a chunk keeps of the output that it has sent to the next one: see ss.memory.keep_outputs. */
static double kept_output(const struct ss_cost_context *c)
{
    double keeps = c->stack->keep_outputs;
    return keeps > 1 ? ss_shape_send_bytes(&c->shape) : keeps > 0 ? ss_shape_border_bytes(&c->shape) : 0;
}

void ss_memory_chunk(const struct ss_cost_context *c, const struct ss_ops *layer,
                     const struct ss_ops *embedding, const struct ss_ops *loss, struct ss_chunk_cost *chunk)
{
    layers_memory(c, layer, chunk);
    if (chunk->has_embedding)
        chunk->activation_bytes += ss_ops_saved_bytes(embedding, 0);
    chunk->logits_bytes = 0;
    if (chunk->has_loss)
        loss_memory(c, loss, chunk);
    else
        chunk->activation_bytes += kept_output(c);
}

/* ---- beside tensors ---- */

/* Bytes a parameter of gradients that lie scattered: not in the buffers of mixed precision or of ZeRO. */
static double flattened_bytes(const struct ss_job *job)
{
    if (job->distributed_optimizer || job->fsdp)
        return 0;
    return job->precision == SS_FP32 ? 4 : job->grad_reduce_fp32 ? 0 : 2;
}

double ss_memory_overhead(const struct ss_job *job, const struct ss_stack *stack, int world_size, double parameters)
{
    /* Communicators of more than one rank: world, and tp, cp, tp-cp, pp, dp(-cp), mp as far as they exist. */
    int groups = (world_size > 1) + (job->tp > 1) + (job->cp > 1) + (job->tp > 1 && job->cp > 1) + (job->pp > 1) +
                 (ss_job_dp(job, world_size) * job->cp > 1) + (job->tp > 1 && job->pp > 1);
    return stack->context_bytes + groups * stack->nccl_bytes +
           stack->flat_gradients * flattened_bytes(job) * parameters;
}
