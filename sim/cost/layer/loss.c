/* SPDX-License-Identifier: Apache-2.0 */
/* The output layer: final norm, logits, cross entropy. */
#include <math.h>

#include "cost/layer_kinds.h"

static void operators(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack)
{
    double logits = s->tokens * s->vocab;
    struct ss_op *op;
    if (s->model->final_norm) {
        ss_op_norm(ops, s, stack, "final norm");
        ops->op[ops->n - 1].saved_bytes = s->tokens * s->h / s->sp * s->e + ss_op_kept_input(s, stack, s->e);
    }
    op = ss_op_linear(ops, "logits", s, s->vocab, s->h, SS_TP_COLUMN, s->storage_precision, 0);
    op->gemm_params = 0; /* Megatron's own layer: stays in 16 bit under fp8 */
    if (s->tied)         /* counted by the embedding where they share a stage; the plan adds the copy else */
        op->params = op->tensors = 0;
    if (s->model->output_bias > 0) {
        op->params += s->vocab;
        op->tensors++;
    }
    op = ss_op_add(ops, "cross entropy", SS_OP_ELEMENTWISE);
    op->makes_logits = 1;
    ss_op_elementwise(op, logits * stack->loss_fwd_bytes, logits * stack->loss_bwd_bytes, 12, 4);
    /* 16-bit logits and their fp32 copy, in which the softmax works in place; the gradient is cast back. */
    double kept = stack->fused_cross_entropy || s->e == 4 ? s->e : s->e + 4;
    op->saved_bytes = logits * kept;
    double peak = s->tp > 1 && stack->loss_parallel_peak_bytes > 0 ? stack->loss_parallel_peak_bytes
                                                                   : stack->loss_peak_bytes;
    op->working_bytes = logits * (kept > s->e ? fmax(s->e, peak - kept) : s->e);
    if (stack->fused_linear_loss >
        0) { /* gradients of input and weight, made in the forward; logits of a piece */
        op->saved_bytes = (s->tokens + s->vocab) * s->h * s->e;
        op->working_bytes = s->tokens * s->h * s->e;
    }
}

/* Maximum, target logit and sum of the parallel cross entropy. */
static void borders(const struct ss_cost_context *c, struct ss_layer_cost *out)
{
    double fp32_tokens = c->shape.tokens * 4;
    for (int i = 0; i < 3 && c->tp.n > 1; i++)
        ss_cost_bare(c, SS_PHASE_F, SS_COLL_ALL_REDUCE, fp32_tokens, out);
}

const struct ss_layer_kind ss_layer_loss = {
    .name = "loss",
    .where = SS_WHERE_BEHIND,
    .operators = operators,
    .borders = borders,
};
