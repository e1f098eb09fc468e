/* SPDX-License-Identifier: Apache-2.0 */
/* The dense MLP, and the residual adds of transformer layers. */
#include <math.h>

#include "layers/mlp.h"
#include "stepsim/precision.h"

/* Appends the residual add of `branches` with bias and dropout. It keeps a 1-byte mask of each branch unless
 * dropout drops nothing. The backward applies the masks and adds the gradients of the branches to that of the
 * residual stream. */
static void residual_add(struct ss_ops *ops, const struct ss_shape *s, int branches)
{
    double x = s->tokens * s->h / s->sp, mask = s->hidden_dropout > 0 ? branches : 0, moved = 2 + branches;
    if (s->streams > 1) {
        ss_op_streams_out(ops, s);
        return;
    }
    struct ss_op *op = ss_op_kernels(ops, "residual", x * (moved * s->e + mask),
                                     x * (moved * s->e + mask * (2 * s->e + 1)), 1, 1 + branches);
    /* The norm's backward adds the gradient of the residual stream, which it reads in any case. */
    if (s->compiled)
        ss_op_traffic(op, op->forward_bytes, op->backward_bytes - 2 * x * s->e, 1, 0);
    op->saved_bytes = x * mask;
}

/* A norm behind the branch keeps its input. */
void ss_op_branch_end(struct ss_ops *ops, const struct ss_shape *s, const char *norm)
{
    double x = s->tokens * s->h / s->sp;
    if (s->model->post_norms > 0)
        ss_op_norm_of(ops, s, norm, x, s->h, s->e)->saved_bytes = x * s->e + 4 * s->tokens / s->sp;
    residual_add(ops, s, 1);
}

void ss_op_mlp_begin(struct ss_ops *ops, const struct ss_shape *s)
{
    int residual = s->model->parallel_residual;
    if (residual == SS_RESIDUAL_ONE_NORM)
        return;
    ss_op_norm(ops, s, "mlp norm");
    /* one kernel does it with the residual add before, so the sum is not read again */
    if (s->compiled && ops->n > 1 && s->streams <= 1) {
        ops->op[ops->n - 1].forward_bytes -= s->tokens * s->h / s->sp * s->e;
        ops->op[ops->n - 1].forward_kernels = 0;
    }
    if (residual == SS_RESIDUAL_TWO_NORMS) /* the norm of the attention keeps the input of both */
        ops->op[ops->n - 1].saved_bytes -= s->tokens * s->h / s->sp * s->e;
}

void ss_op_mlp_end(struct ss_ops *ops, const struct ss_shape *s)
{
    if (s->model->parallel_residual > SS_RESIDUAL_SERIAL)
        residual_add(ops, s, 2);
    else
        ss_op_branch_end(ops, s, "mlp post norm");
}

/* Prices the activation function and the product as operators of PyTorch, of `x` elements each. Forward: the
 * function (2 elements moved), the product (3). Backward: two products (3 each) and the function's derivative
 * (3). The product keeps the function's output. Halves of a joined tensor are strided. */
static void activation_apart(struct ss_op *op, const struct ss_shape *s, double x, int joins, double joined)
{
    ss_op_traffic(op, 5 * x * s->e, (9 * x + joined) * s->e, 2, 3 + joins);
    if (joins)
        ss_op_strided(op, 2 * x, (s->stack->wide_cat > 0 ? 2 : 4) * x, 2 * s->e);
    op->saved_bytes = op->redone_bytes = x * s->e;
}

/* Appends the activation of the MLP. The backward of a gated activation computes both halves, which one
 * kernel of torch.compile joins (Megatron core's fused_bias_swiglu.py from 0.5 on with PyTorch from 2.2 on,
 * jit.py); older layers join them with a copy. */
struct ss_op *ss_op_activation(struct ss_ops *ops, const struct ss_shape *s, double rows, double ffn)
{
    int joins = s->gated && !s->split && !s->te, apart = s->gated && s->stack->plain_activation > 0;
    double fc1 = ffn * (s->gated ? 2 : 1), joined = joins ? 2 * fc1 : 0;
    struct ss_op *op = ss_op_kernels(ops, "activation", rows * (fc1 + ffn) * s->e,
                                     rows * (2 * fc1 + ffn + joined) * s->e, 1, 1 + joins);
    if (apart)
        activation_apart(op, s, rows * ffn, joins, rows * joined);
    return op;
}

void ss_op_mlp(struct ss_ops *ops, const struct ss_shape *s, const struct ss_mlp_names *names, double ffn)
{
    int p = s->gemm_precision, fp8 = ss_precision_is_quantized(p), split = s->gated && s->split;
    double fc1 = ffn * (s->gated ? 2 : 1), columns = split ? ffn : fc1;
    struct ss_op *op;
    ss_op_gathered(ops, s, split ? 2 : 1);
    if (fp8)
        ss_op_fp8_cast(ops, s, s->h, fc1, SS_TP_COLUMN, names->input_of);
    for (int i = 0; i <= split; i++) {
        op = ss_op_linear(ops, i ? names->gate : names->fc1, s, columns, s->h, SS_TP_COLUMN, p, s->mlp_bias);
        op->gemm.shares_input = i;
        /* input of the activation function */
        op->saved_bytes = op->redone_bytes = s->tokens * columns * (ss_op_kept_in_fp8(s) ? 1 : s->e);
    }
    ss_op_activation(ops, s, s->tokens, ffn);
    if (fp8)
        ss_op_fp8_cast(ops, s, ffn, s->h, SS_TP_ROW, SS_CAST_OF_OWN);
    op = ss_op_linear(ops, names->fc2, s, s->h, ffn, SS_TP_ROW, p, s->mlp_bias);
    op->saved_bytes = op->redone_bytes = s->tokens * ffn * (ss_op_saved_in_fp8(s) ? s->quantized : s->e);
    if (ss_op_keeps_codes(s)) {
        op->coded_bytes = op->saved_bytes;
        op->saved_bytes = op->redone_bytes = 0;
    }
    /* The gradient of the activation's output is alive when this GEMM's own input is free again; so is that
     * of its input, unless it takes the input's place. */
    op->working_bytes =
        fmax(op->working_bytes,
             s->tokens * (ffn + (s->stack->inplace_activation > 0 ? 0 : fc1)) * s->e - op->saved_bytes);
    ss_op_scattered(ops, s);
}
