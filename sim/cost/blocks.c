/* SPDX-License-Identifier: Apache-2.0 */
/* The attention and MLP blocks of transformer layers. */
#include <math.h>

#include "cost/operators.h"

/* Residual add with bias and dropout, which keeps a 1-byte mask unless it drops nothing. Backward: the mask
 * applied, and the two branches' gradients added. */
void ss_op_residual(struct ss_ops *ops, const struct ss_shape *s)
{
    double x = s->tokens * s->h / s->sp, mask = s->hidden_dropout > 0;
    struct ss_op *op = ss_op_add(ops, "residual", SS_OP_ELEMENTWISE);
    ss_op_elementwise(op, x * (3 * s->e + mask), x * (3 * s->e + mask * (2 * s->e + 1)), 1, 2);
    op->saved_bytes = x * mask;
}

static void attention_add(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack)
{
    struct ss_op *op = ss_op_add(ops, "core attention", SS_OP_ATTENTION);
    double square = s->tokens * s->sequence * s->heads; /* elements of the score matrices */
    op->core_attention = 1;
    op->saved_bytes = s->tokens * (s->heads + 2 * s->groups) * s->d * s->e /* Q K V */
                      + s->tokens * s->heads * s->d * s->e; /* output, input of the projection */
    if (s->attention != SS_ATTENTION_UNFUSED) {
        op->forward_flops = 4 * square * s->d / 2; /* causal half */
        op->backward_flops = 2.5 * op->forward_flops;
        op->backward_kernels = 3;
        op->core_bytes = 4 * s->tokens * s->heads; /* softmax statistics */
        if (s->cp_gathers)                         /* whole K and V, and in the backward their gradients */
            op->working_bytes = 4 * s->cp * s->tokens * s->groups * s->d * s->e;
        return;
    }
    /* Q K^T, scale + mask + softmax, dropout, P V over the full square. */
    op->forward_flops = 4 * square * s->d;
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

/* Activation of the MLP. A gated one's backward computes both halves and joins them with a copy. */
struct ss_op *ss_op_activation(struct ss_ops *ops, const struct ss_shape *s, double rows, double ffn)
{
    double fc1 = ffn * (s->gated ? 2 : 1), joined = s->gated ? 2 * fc1 : 0;
    struct ss_op *op = ss_op_add(ops, "activation", SS_OP_ELEMENTWISE);
    ss_op_elementwise(op, rows * (fc1 + ffn) * s->e, rows * (2 * fc1 + ffn + joined) * s->e, 1,
                      s->gated ? 2 : 1);
    return op;
}

double ss_op_qkv_columns(const struct ss_shape *s)
{
    return (s->heads + 2 * s->groups) * s->d;
}

double ss_op_fc1_columns(const struct ss_shape *s)
{
    return s->ffn * (s->gated ? 2 : 1);
}

void ss_op_attention_block(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack)
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
    attention_add(ops, s, stack);
    if (fp8)
        ss_op_fp8_cast(ops, s, stack, a, s->h, SS_TP_ROW);
    struct ss_op *op = ss_op_linear(ops, "projection", s, s->h, a, SS_TP_ROW, p, s->linear_bias);
    /* in 16 bit attention already keeps it */
    op->saved_bytes = ss_op_saved_in_fp8(s, stack) ? s->tokens * a : 0;
    ss_op_residual(ops, s);
}

void ss_op_mlp(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack,
               const struct ss_mlp_names *names, double ffn)
{
    int p = s->gemm_precision, fp8 = p == SS_FP8;
    double fc1 = ffn * (s->gated ? 2 : 1);
    if (fp8)
        ss_op_fp8_cast(ops, s, stack, s->h, fc1, SS_TP_COLUMN);
    struct ss_op *op = ss_op_linear(ops, names->fc1, s, fc1, s->h, SS_TP_COLUMN, p, s->linear_bias);
    op->saved_bytes = s->tokens * fc1 * s->e; /* input of the activation function */
    ss_op_activation(ops, s, s->tokens, ffn);
    if (fp8)
        ss_op_fp8_cast(ops, s, stack, ffn, s->h, SS_TP_ROW);
    op = ss_op_linear(ops, names->fc2, s, s->h, ffn, SS_TP_ROW, p, s->linear_bias);
    op->saved_bytes = s->tokens * ffn * (ss_op_saved_in_fp8(s, stack) ? 1 : s->e);
    /* Gradients of the activation's output and, unless it takes the input's place, input, when this GEMM's own input is
     * free again. */
    op->working_bytes =
        fmax(op->working_bytes,
             s->tokens * (ffn + (stack->inplace_activation > 0 ? 0 : fc1)) * s->e - op->saved_bytes);
}

void ss_op_mlp_block(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack)
{
    static const struct ss_mlp_names names = {"fc1", "fc2"};
    ss_op_norm(ops, s, stack, "mlp norm");
    ss_op_mlp(ops, s, stack, &names, s->ffn);
    ss_op_residual(ops, s);
}
