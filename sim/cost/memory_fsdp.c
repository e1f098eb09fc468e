/* SPDX-License-Identifier: Apache-2.0 */
/* What PyTorch's FSDP of single parameters (fully_shard) holds beside shards. Gathers go into a buffer of the
 * gathering stream, from which each parameter is copied out; gradients are put together in fp32 before they are
 * scattered (torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py: foreach_all_gather,
 * foreach_all_gather_copy_out, foreach_reduce). The caching allocator has a pool for each stream, so that the
 * largest of each add up. */
#include <math.h>

#include "cost/memory.h"

int ss_memory_per_parameter(const struct ss_cost_context *c)
{
    return c->stack->fsdp_pytorch > 1 && c->fsdp.n > 1 && !ss_job_fsdp_once(c->job, c->stack);
}

/* Returns whether embedding and output layer are groups of their own, of which the output layer's alone stays
 * gathered. */
static int apart(const struct ss_cost_context *c)
{
    return c->stack->fsdp_pytorch > 2;
}

/* Returns the bytes of a gathered layer, linear layers in fp8 where they are gathered so. */
static double layer_bytes(const struct ss_cost_context *c, const struct ss_param_count *params)
{
    double narrow = c->job->fp8_param_gather ? params->layer_gemm : 0;
    return (params->layer - narrow) * c->shape.e + narrow * c->shape.quantized;
}

/* Returns the bytes of the gathering stream's pool: two layers, or embedding or output layer, or both. */
static double buffer_bytes(const struct ss_cost_context *c, const struct ss_param_count *params)
{
    return fmax((apart(c) ? params->border : params->borders) * c->shape.e, 2 * layer_bytes(c, params));
}

double ss_memory_gathered(const struct ss_cost_context *c, const struct ss_param_count *params)
{
    double stays = (apart(c) ? params->loss : params->borders) * c->shape.e + layer_bytes(c, params);
    return buffer_bytes(c, params) + (c->job->dp.sharding >= SS_SHARD_OPTIM_GRADS_PARAMS ? stays : 0);
}

double ss_memory_pooled(const struct ss_cost_context *c, const struct ss_param_count *params,
                        double gradients, int microbatches)
{
    return ss_memory_per_parameter(c) ? buffer_bytes(c, params) + (microbatches > 1 ? 0 : gradients) : 0;
}

/* Returns the bytes of the gradients of one group at the scatter: as the backward makes them, and in fp32. */
static double scattered(const struct ss_cost_context *c, double params)
{
    return params * (c->shape.e + 4);
}

double ss_memory_layer_gradients(const struct ss_cost_context *c, const struct ss_layer_set *set, int k)
{
    double largest = 0, output = 0;
    for (size_t i = 0; i < set->chunks[k].n; i++) {
        const struct ss_ops *ops = ss_layer_part(set, &set->chunks[k].run[i])->ops;
        if (ops->where == SS_WHERE_TRANSFORMER)
            largest = fmax(largest, ops->sum.params);
        else if (ops->is_loss && !apart(c)) /* waits for the embedding's */
            output = ops->sum.params * c->shape.e;
    }
    return scattered(c, largest) + output;
}

double ss_memory_output_gradients(const struct ss_cost_context *c, const struct ss_ops *ops)
{
    if (!apart(c) || c->stack->loss_chunks > 0) /* chunks have their own */
        return 0;
    double logits = c->shape.tokens * c->shape.vocab * c->shape.e;
    return logits + scattered(c, ops->sum.params) - ops->sum.logits;
}

double ss_memory_passing(const struct ss_ops *ops, double hidden)
{
    double most = 0;
    for (int i = 0; i < ops->n && hidden <= 0; i++)
        if (ops->op[i].kind == SS_OP_ELEMENTWISE && ops->op[i].forward_kernels > 0)
            most = fmax(most, ops->op[i].forward_bytes / ops->op[i].forward_kernels);
    return hidden > 0 ? hidden : most;
}
