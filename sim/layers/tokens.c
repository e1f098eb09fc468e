/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank does with its tokens beside a mixture's exchanges, as Megatron core's moe_utils.py: it puts
 * them into the order of the experts and back. */
#include <math.h>

#include "layers/mlp.h"
#include "stepsim/job.h"

int ss_op_by_stages(const struct ss_shape *s)
{
    return s->ep > 1 && ss_dispatcher_has_stages(s->dispatcher);
}

double ss_op_dispatched(const struct ss_shape *s)
{
    return s->fp8_dispatch ? 1 + 4.0 / 128 : s->e;
}

/* Prices a copy of rows by torch.cat, which until PyTorch 2.8 moves 16 bit one element at a time. */
static void joined(struct ss_op *op, const struct ss_shape *s, double forward, double backward)
{
    if (s->stack->wide_cat <= 0)
        ss_op_strided(op, forward, backward, 2 * s->e);
}

/* Prices the weighing of returned copies, where probabilities stay with the tokens (Megatron core before
 * 0.13). Forward: a product with a broadcast operand. Backward: that product for the gradient, and a summed
 * product of gradient and copy, for which the copies are kept. Fused, the one kernel of the backward reads
 * them. */
static void weigh(struct ss_op *op, const struct ss_shape *s, double copies)
{
    op->saved_bytes = copies;
    op->backward_bytes += (s->permute_fused ? 1 : 6) * copies;
    if (s->permute_fused)
        return;
    op->forward_bytes += 2 * copies;
    op->forward_kernels++;
    op->backward_kernels += 3;
    op->forward_strided += copies / s->e;
    op->backward_strided += copies / s->e;
}

/* Kernels of PyTorch's index_add under deterministic algorithms beside the one that adds: zeros, the product, the rows' numbers wrapped
 * and scaled (3), numbers of the copies, and a radix sort of both (4). */
enum { ORDERED_LAUNCHES = 10 };

/* Appends the permutation: tokens are copied into the order of their experts one way, and top-k copies are
 * summed the other way. NCCL's all-to-all moves copies. The two-stage dispatchers move tokens, which are
 * copied where they arrive. Allgather moves the tokens of all ranks, and each rank copies those of its
 * experts and sums into a place for every token. Without fusion PyTorch finds the indices by masks, copies
 * rows (index_select, one element at a time until PyTorch 2.8), and sums by adding to zeros, which are read
 * and written for each copy (scatter_add, one element at a time). */
void ss_op_permutation(struct ss_ops *ops, const struct ss_shape *s, const char *name, int back)
{
    int group = s->dispatcher == SS_DISPATCH_ALLGATHER ? s->ep * s->etp : 1;
    double row = s->moe_h * s->e, copies = (ss_op_by_stages(s) || group > 1 ? s->routed : s->sent) * row;
    double tokens = (ss_op_by_stages(s) ? s->received : group * s->tokens / s->sp) * row;
    int hybrid = s->dispatcher == SS_DISPATCH_HYBRIDEP;
    double sum = s->permute_fused ? tokens + copies : 2 * tokens + 3 * copies;
    int ordered = s->fills && !s->permute_fused;
    if (ordered) /* index_add: zeros once more, and a product with 1 before it sorts and adds */
        sum += tokens + 2 * copies;
    double gather = ((group > 1 ? fmin(tokens, copies) : tokens) + copies) * ss_op_dispatched(s) / s->e;
    struct ss_op *op = ss_op_kernels(ops, name, back ? sum : gather, back ? gather : sum,
                                     (s->permute_fused ? 4 : 8) / (back ? 2 : 1), s->permute_fused ? 2 : 4);
    if (ordered)
        *(back ? &op->forward_launches : &op->backward_launches) += ORDERED_LAUNCHES;
    if (!s->permute_fused && !hybrid) {
        double selected = s->stack->wide_cat > 0 ? 0 : copies / s->e, added = ordered ? 0 : copies / s->e;
        ss_op_strided(op, back ? added : selected, back ? selected : added, 2 * s->e);
    }
    if (hybrid) { /* part of its dispatch and combine, in the calls of `exchange` */
        op->forward_launches = op->forward_kernels;
        op->backward_launches = op->backward_kernels;
        op->forward_kernels = op->backward_kernels = 0;
        op->in_exchange = 1;
    }
    op->forward_fresh = back ? tokens : copies;
    op->backward_fresh = back ? copies : tokens;
    op->saved_bytes = back ? 0 : 8 * s->sent; /* indices and probabilities */
    if (back && !ss_op_by_stages(s) && s->stack->moe_probabilities <= 0)
        weigh(op, s, copies);
}

/* Appends the sort of a rank with several experts: the tokens and probabilities of each source are put in the
 * order of the experts. Without fusion torch.cat splits and joins them, and their gradients. */
void ss_op_sort(struct ss_ops *ops, const struct ss_shape *s, const char *name)
{
    double copied = 2 * s->routed * s->moe_h * s->e;
    if (s->local_experts <= 1 || s->dispatcher != SS_DISPATCH_ALLTOALL || s->ep * s->etp <= 1)
        return;
    struct ss_op *op = ss_op_kernels(ops, name, copied, copied, 2, 2);
    if (!s->permute_fused)
        joined(op, s, s->routed * s->moe_h, s->routed * s->moe_h);
}

/* Appends the copies for experts that work one after the other: their tokens are split, their outputs joined;
 * the backward joins gradients where tokens were split. */
void ss_op_join_experts(struct ss_ops *ops, const struct ss_shape *s)
{
    double copied = 2 * s->routed * s->moe_h * s->e;
    if (!s->sequential || s->local_experts <= 1)
        return;
    struct ss_op *op = ss_op_kernels(ops, "experts joined", copied, copied, 1, 1);
    joined(op, s, s->routed * s->moe_h, s->routed * s->moe_h);
}

/* Appends padding to a multiple of 16 rows for fp8 GEMMs: rows of each expert are copied with zeros behind
 * them, and back. The router may pad instead; HybridEP leaves room where it puts tokens down. torch.cat joins
 * rows without the zeros (Transformer Engine before 2.6, whose releases are older than PyTorch 2.8). */
void ss_op_pad(struct ss_ops *ops, const struct ss_shape *s, int back)
{
    double elements = s->routed * s->moe_h, copied = 2 * elements * s->e;
    if (!ss_precision_is_quantized(s->gemm_precision) || !s->scattered || s->router_pads ||
        s->dispatcher == SS_DISPATCH_HYBRIDEP)
        return;
    struct ss_op *op = ss_op_kernels(ops, back ? "unpad" : "pad", copied, copied, 2, 2);
    if (!s->sequential)
        joined(op, s, back ? elements : 0, back ? 0 : elements);
}

/* Appends the projection of tokens to the latent of the experts, or back: every tensor rank has all of the weights, as in Megatron
 * core's MoELayer (fc1_latent_proj, fc2_latent_proj). In 16 bit the norm keeps the input of the first. */
void ss_op_latent_tokens(struct ss_ops *ops, const struct ss_shape *s, int back)
{
    double in = back ? s->moe_h : s->h, out = back ? s->h : s->moe_h, own = s->tokens / s->sp;
    int cast = ss_precision_is_quantized(s->gemm_precision), few = ss_op_saved_in_fp8(s);
    if (s->model->moe_latent_size <= 0)
        return;
    if (cast)
        ss_op_cast_rows(ops, s, "fp8 cast", own, in, out, in * out);
    struct ss_op *op =
        ss_op_replicated(ops, back ? "from latent" : "to latent", s, out, in, s->gemm_precision);
    op->saved_bytes = few ? own * in * s->quantized : back ? own * in * s->e : 0;
}
