/* SPDX-License-Identifier: Apache-2.0 */
/* The attention block of transformer layers. */
#include "cost/operators.h"

/* Length of the causal sequence in which queries see as many keys on average. A local query at position i sees
 * min(i, window) of them. */
static double keys_seen(const struct ss_shape *s, int local)
{
    double w = s->window, all = s->sequence;
    return local && w > 0 && w < all ? 2 * w - w * w / all : all;
}

/* Q K^T, scale + mask + softmax, dropout, P V over the full square, also where a window masks most of it. */
static void unfused(struct ss_op *op, const struct ss_shape *s, const struct ss_stack *stack)
{
    double square = s->tokens * s->sequence * s->heads; /* elements of the score matrices */
    op->keys = s->sequence;
    op->forward_flops = 2 * square * (s->d + s->d_v);
    op->backward_flops = 2 * op->forward_flops;
    op->forward_bytes = square * s->e * stack->unfused_passes_fwd;
    op->backward_bytes = square * s->e * stack->unfused_passes_bwd;
    op->forward_kernels = s->attention_dropout > 0 ? 4 : 3;
    op->backward_kernels = s->attention_dropout > 0 ? 6 : 5;
    /* Softmax output, and with dropout its mask and its output (Korthikanti et al. 2022, 5 a s / h). */
    op->core_bytes = square * (s->e + (s->attention_dropout > 0 ? 1 + s->e : 0));
    /* Gradient of the softmax output; the fused backward of 16 bit works in it, the one of fp32 writes another. */
    op->working_bytes = square * s->e * (s->e == 4 ? 2 : 1);
}

/* Keeps its output, the input of the projection, beside Q, K and V. */
static void attention_add(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack,
                          int local)
{
    struct ss_op *op = ss_op_add(ops, "core attention", SS_OP_ATTENTION);
    double q = s->tokens * s->heads * s->d, kv = s->tokens * s->groups * (s->d + s->d_v);
    op->core_attention = 1;
    op->module = SS_MODULE_BIT(SS_MODULE_CORE_ATTN);
    op->saved_bytes = (q + kv) * s->e + s->tokens * s->heads * s->d_v * s->e;
    if (s->attention == SS_ATTENTION_UNFUSED) {
        unfused(op, s, stack);
        return;
    }
    op->keys = keys_seen(s, local);
    op->forward_flops = 2 * s->tokens * op->keys * s->heads * (s->d + s->d_v) / 2; /* causal half */
    /* Scores again, and the gradients of Q and K in d; those of the probabilities and of V in d_v. */
    op->backward_flops = (3 * s->d + 2 * s->d_v) / (s->d + s->d_v) * op->forward_flops;
    op->backward_kernels = 3;
    op->core_bytes = 4 * s->tokens * s->heads; /* softmax statistics */
    if (s->cp_gathers)                         /* whole K and V, and in the backward their gradients */
        op->working_bytes = 2 * s->cp * kv * s->e;
}

/* Copies between the layouts of the GEMMs and of attention. Transformer Engine: Q and V of the joint QKV made
 * contiguous; older layers: the context, its gradient, and the gradients of Q, K and V joined. */
static void layout_add(struct ss_ops *ops, const struct ss_shape *s)
{
    double q = s->tokens * s->heads * s->d, kv = s->tokens * s->groups * s->d, copy = 2 * s->e;
    struct ss_op *op = ss_op_add(ops, "layout", SS_OP_ELEMENTWISE);
    if (s->te)
        ss_op_elementwise(op, copy * (q + kv), 0, 2, 0);
    else
        ss_op_elementwise(op, copy * q, copy * (2 * q + 2 * kv), 1, 2);
}

double ss_op_qkv_columns(const struct ss_shape *s)
{
    return (s->heads + 2 * s->groups) * s->d;
}

void ss_op_attention_block(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack,
                           int local)
{
    int p = s->gemm_precision, fp8 = p == SS_FP8;
    double qkv = ss_op_qkv_columns(s), a = s->heads * s->d;
    ss_op_norm(ops, s, stack, "input norm");
    if (fp8)
        ss_op_fp8_cast(ops, s, stack, s->h, qkv, SS_TP_COLUMN);
    ss_op_linear(ops, "qkv", s, qkv, s->h, SS_TP_COLUMN, p, s->qkv_bias || s->linear_bias);
    if (s->rope) {
        double qk = s->tokens * (s->heads + s->groups) * s->d * s->e * 2 * stack->rope_passes;
        ss_op_elementwise(ss_op_add(ops, "rope", SS_OP_ELEMENTWISE), qk, qk, 2, 2);
    }
    layout_add(ops, s);
    attention_add(ops, s, stack, local);
    if (fp8)
        ss_op_fp8_cast(ops, s, stack, a, s->h, SS_TP_ROW);
    struct ss_op *op = ss_op_linear(ops, "projection", s, s->h, a, SS_TP_ROW, p, s->linear_bias);
    /* in 16 bit attention already keeps it */
    op->saved_bytes = ss_op_saved_in_fp8(s, stack) ? s->tokens * a : 0;
    ss_op_residual(ops, s);
}
