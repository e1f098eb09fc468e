/* SPDX-License-Identifier: Apache-2.0 */
/* The output layer: final norm, logits, cross entropy. */
#include <math.h>

#include "layers/kinds.h"

/* Appends what a model does with its logits before the loss, as operators of PyTorch: a factor; or division,
 * tanh, which keeps its output, and multiplication. A loss that is fused with the output layer does it in its
 * own kernel. */
static void factors(struct ss_ops *ops, const struct ss_shape *s)
{
    double pass = s->tokens * s->vocab * s->e;
    if (s->stack->fused_linear_loss > 0)
        return;
    if (s->model->logits_scale > 0)
        ss_op_kernels(ops, "logits scale", 2 * pass, 2 * pass, 1, 1);
    if (s->model->logits_softcap > 0) {
        struct ss_op *op = ss_op_kernels(ops, "logits soft cap", 6 * pass, 7 * pass, 3, 3);
        op->saved_bytes = pass;
        op->makes_logits = 1;
    }
}

/* Appends the projection to the rows of a vocabulary narrower than the model; the logits keep its output. */
static void projection(struct ss_ops *ops, const struct ss_shape *s)
{
    double own = s->tokens / s->sp;
    struct ss_op *op = ss_op_replicated(ops, "output projection", s, s->row, s->h, s->storage_precision);
    op->gemm_params = 0;
    op->saved_bytes = own * (s->row + (s->model->final_norm ? 0 : s->h)) * s->e;
}

/* Returns what the output layer's backward holds beside the gradient of the logits: gradients of its input,
 * what sequence parallelism gathers, and an empty tensor of the weight's size, which autograd takes for the
 * weight's gradient although that is added up in place. */
static double output_backward(const struct ss_shape *s, const struct ss_op *layer)
{
    return s->vocab * s->row * s->e + fmax(layer->working_bytes, s->tokens * s->row * s->e);
}

/* Returns whether the loss leaves the logits' gradient in their place: in Transformer Engine's cross entropy
 * one kernel reads the logits, and another replaces them by their gradient. */
static int leaves_gradient(const struct ss_shape *s)
{
    return s->stack->fused_cross_entropy > 1;
}

/* Returns into how many pieces Liger's output layer and loss cut the tokens, so that the logits of a piece
 * are about as large as the hidden states (ops/fused_linear_cross_entropy.py). */
static double linear_loss_pieces(const struct ss_shape *s)
{
    double rows = exp2(ceil(log2(ceil(s->tokens / ceil(s->vocab / s->row)))));
    return ceil(s->tokens / rows);
}

/* Returns the bytes a logit that the loss holds at its peak, where it keeps `kept`. */
static double peak_bytes(const struct ss_shape *s, double kept)
{
    if (kept > s->e)
        return fmax(s->e + kept, s->tp > 1 && s->stack->loss_parallel_peak_bytes > 0
                                     ? s->stack->loss_parallel_peak_bytes
                                     : s->stack->loss_peak_bytes);
    return kept + (leaves_gradient(s) && s->e < 4 ? 0 : s->e);
}

/* Returns the bytes a logit that the loss keeps: 16-bit logits and their fp32 copy, in which the softmax works
 * in place; the gradient is cast back. Transformer Engine replaces the logits by their gradient. PyTorch's loss
 * over a sharded vocabulary is not compiled. */
static double kept_bytes(const struct ss_shape *s)
{
    int parallel = s->tp > 1 && s->stack->loss_parallel_peak_bytes > 0;
    int fused = parallel ? leaves_gradient(s) : s->stack->fused_cross_entropy > 0;
    return fused || s->e == 4 ? s->e : s->e + 4;
}

/* Prices Liger's fused output layer and loss. Its forward makes the gradients of the output layer's input and
 * weight. A kernel reads a piece's logits twice and replaces them by their gradient; the weight's part is
 * made in the model's type, cast to fp32 and added. The backward multiplies both by the gradient of the
 * loss. */
static void linear_loss(struct ss_op *op, const struct ss_shape *s)
{
    double pieces = linear_loss_pieces(s), weight = s->vocab * s->row, input = s->tokens * s->row;
    double logits = s->tokens * s->vocab, cast = s->e < 4 ? s->e + 4 : 0, add = 4 + 2 * s->e;
    ss_op_traffic(op, 3 * s->e * logits + 2 * s->e * input + pieces * (cast + add) * weight,
                  2 * s->e * (input + weight), (int)(5 * pieces), 2);
    op->saved_bytes = (input + weight) * s->e;
    op->working_bytes = logits / pieces * s->e + weight * (s->e + (s->e < 4 ? 4 : 0));
}

/* Prices an output layer and loss whose forward and backward go over one chunk of the tokens after the other
 * (pytorch/torchtitan@bcc0929:torchtitan/components/loss.py, ChunkedLossWrapper). Chunks of the hidden states
 * are copied; their gradients are put together in fp32 and cast; the logits of the chunk before have a name till
 * there are new ones; FSDP adds up the weight's gradient in fp32 and scatters it behind the last chunk. Only
 * the hidden states' gradient is left for the backward. */
static void chunked_loss(struct ss_op *op, const struct ss_shape *s)
{
    double chunks = s->stack->loss_chunks, weight = s->vocab * s->row, input = s->tokens * s->row;
    double logits = s->tokens * s->vocab, e = s->e;
    double moved = s->stack->loss_fwd_bytes + s->stack->loss_bwd_bytes;
    ss_op_traffic(op, moved * logits + (4 * e + 8) * input + (chunks * (e + 8) - 4) * weight, 0,
                  (int)((op->forward_kernels + op->backward_kernels + 3) * chunks), 0);
    op->saved_bytes = input * e;
    op->working_bytes = logits / chunks * (e + peak_bytes(s, kept_bytes(s))) + 4 * input + weight * (e + 4);
}

/* Returns how many of the vocabulary's logits a rank has at the loss: its own, or those of all tensor ranks. */
static double rank_logits(const struct ss_shape *s)
{
    return s->tokens * s->vocab * (s->stack->loss_gathers > 0 ? s->tp : 1);
}

/* Gathered logits move out of the flat block that NCCL gathers into, and through torch.cat, which until PyTorch 2.8 moves 16 bit one
 * element at a time; of their gradient a rank copies its own columns. */
static void gathered_logits(struct ss_ops *ops, const struct ss_shape *s, double logits)
{
    double copy = 2 * s->e;
    struct ss_op *op = ss_op_kernels(ops, "gathered logits", 2 * copy * logits, copy * logits / s->tp, 2, 1);
    ss_op_strided(op, s->stack->wide_cat > 0 ? 0 : logits, logits / s->tp, copy);
}

/* Appends the reductions of the parallel cross entropy: maximum, target logit and sum. Transformer Engine
 * gathers all three from every rank instead; a loss over the whole vocabulary needs the logits themselves. */
static void borders(struct ss_ops *ops, const struct ss_shape *s, int gathered)
{
    double fp32_tokens = s->tokens * 4;
    if (s->stack->loss_gathers > 0) {
        ss_op_border(ops, s, SS_PHASE_F, SS_COLL_ALL_GATHER, rank_logits(s) * s->e);
        return;
    }
    if (gathered)
        ss_op_border(ops, s, SS_PHASE_F, SS_COLL_ALL_GATHER, 3 * fp32_tokens * s->tp);
    for (int i = 0; i < 3 && !gathered; i++)
        ss_op_border(ops, s, SS_PHASE_F, SS_COLL_ALL_REDUCE, fp32_tokens);
}

static void operators(struct ss_ops *ops, const struct ss_shape *s)
{
    double logits = rank_logits(s), output = 0;
    struct ss_op *op;
    ss_op_streams_contract(ops, s);
    if (s->model->final_norm) {
        ss_op_norm(ops, s, "final norm");
        ops->op[ops->n - 1].saved_bytes = s->tokens * s->h / s->sp * s->e + ss_op_kept_input(s, s->e);
    }
    if (s->row != s->h)
        projection(ops, s);
    op = ss_op_linear(ops, "logits", s, s->vocab, s->row, SS_TP_COLUMN, s->storage_precision, 0);
    if (!s->model->final_norm && s->row == s->h) /* otherwise a norm or a projection keeps it */
        op->saved_bytes = ss_op_kept_input(s, s->e);
    op->gemm_params = 0; /* Megatron's own layer stays in 16 bit under fp8 */
    if (s->stack->loss_chunks > 0)
        op->gemm.pieces = s->stack->loss_chunks;
    else if (s->stack->fused_linear_loss > 0)
        op->gemm.pieces = linear_loss_pieces(s);
    if (s->wgrad_fused)
        output = output_backward(s, op);
    if (s->tied) /* the embedding counts it on a common stage; elsewhere the plan adds the copy */
        op->params = op->tensors = 0;
    if (s->model->output_bias > 0) {
        op->params += s->vocab;
        op->tensors++;
    }
    factors(ops, s);
    if (s->stack->loss_gathers > 0 && s->tp > 1)
        gathered_logits(ops, s, logits);
    op = ss_op_add(ops, "cross entropy", SS_OP_ELEMENTWISE);
    op->makes_logits = 1;
    op->forward_fresh = s->stack->fused_cross_entropy || s->e == 4 ? 0 : 4 * logits;
    op->backward_fresh = s->stack->fused_cross_entropy || s->e == 4 ? 0 : s->e * logits;
    ss_op_traffic(op, logits * s->stack->loss_fwd_bytes, logits * s->stack->loss_bwd_bytes, 12, 4);
    /* The forward subtracts a token's largest logit and divides by the sum of powers; the backward multiplies
     * by the token's gradient: in place, in fp32, with broadcast operands. */
    if (!s->stack->fused_cross_entropy)
        ss_op_strided(op, s->stack->loss_strided * logits, s->stack->loss_strided / 2 * logits, 8);
    double kept = kept_bytes(s);
    op->saved_bytes = logits * kept;
    op->working_bytes = fmax(logits * (peak_bytes(s, kept) - kept), output + logits * (s->e - kept));
    if (s->stack->loss_chunks > 0)
        chunked_loss(op, s);
    else if (s->stack->fused_linear_loss > 0)
        linear_loss(op, s);
    borders(ops, s, leaves_gradient(s));
}

const struct ss_layer_border ss_border_loss = {
    .where = SS_WHERE_BEHIND,
    .is_loss = 1,
    .operators = operators,
};
