/* SPDX-License-Identifier: Apache-2.0 */
/* What mixers of linear attention and of convolutions share; kernels of flash-linear-attention (fla/modules) at bc3b101. */
#include "layers/linear.h"

#include <math.h>

#include "stepsim/precision.h"

void ss_op_mixer_in(struct ss_ops *ops, const struct ss_shape *s, int layers, double columns)
{
    ss_op_gathered(ops, s, layers);
    if (ss_precision_is_quantized(s->gemm_precision))
        ss_op_fp8_cast(ops, s, s->h, columns, SS_TP_COLUMN, SS_CAST_OF_NORM);
}

void ss_op_mixer_begin(struct ss_ops *ops, const struct ss_shape *s, int layers, double columns)
{
    ss_op_norm(ops, s, "input norm");
    ss_op_mixer_in(ops, s, layers, columns);
}

struct ss_op *ss_op_mixer_linear(struct ss_ops *ops, const struct ss_shape *s, const char *name,
                                 double columns, int first)
{
    struct ss_op *op = ss_op_linear(ops, name, s, columns, s->h, SS_TP_COLUMN, s->gemm_precision, 0);
    op->gemm.shares_input = !first;
    return op;
}

void ss_op_mixer_out(struct ss_ops *ops, const struct ss_shape *s, const char *name, double columns, int bias,
                     int kept)
{
    if (ss_precision_is_quantized(s->gemm_precision))
        ss_op_fp8_cast(ops, s, columns, s->h, SS_TP_ROW, SS_CAST_OF_OWN);
    struct ss_op *op = ss_op_linear(ops, name, s, s->h, columns, SS_TP_ROW, s->gemm_precision, bias);
    op->saved_bytes = kept ? 0 : s->tokens * columns * (ss_op_saved_in_fp8(s) ? s->quantized : s->e);
    ss_op_scattered(ops, s);
}

void ss_op_mixer_end(struct ss_ops *ops, const struct ss_shape *s, const char *name, double columns, int kept)
{
    ss_op_mixer_out(ops, s, name, columns, 0, kept);
    ss_op_branch_end(ops, s, "mixer post norm");
}

struct ss_op *ss_op_undivided(struct ss_ops *ops, const struct ss_shape *s, const char *name, double n,
                              double k, int bias, int input_of)
{
    if (ss_precision_is_quantized(s->gemm_precision))
        ss_op_fp8_cast(ops, s, k, n, SS_TP_NONE, input_of);
    struct ss_op *op = ss_op_linear(ops, name, s, n, k, SS_TP_NONE, s->gemm_precision, bias);
    if (input_of == SS_CAST_OF_OWN)
        op->saved_bytes = s->tokens * k * (ss_op_saved_in_fp8(s) ? s->quantized : s->e);
    return op;
}

struct ss_op *ss_op_low_rank(struct ss_ops *ops, const struct ss_shape *s, const char *const names[2],
                             double rank, double columns, int role, int bias)
{
    ss_op_linear(ops, names[0], s, rank, s->h, SS_TP_NONE, s->gemm_precision, 0);
    struct ss_op *op = ss_op_linear(ops, names[1], s, columns, rank, role, s->gemm_precision, bias);
    op->gemm.shares_input = role == SS_TP_COLUMN; /* every tensor rank has it whole */
    op->saved_bytes = s->tokens * rank * s->e;
    return op;
}

static void gather(struct ss_ops *ops, const struct ss_shape *s, const char *name, double bytes)
{
    double all = s->cp * s->micro_batch * bytes;
    if (s->cp > 1)
        ss_op_exchange(ops, name, SS_COMM_CP, SS_COLL_ALL_GATHER, SS_COLL_ALL_GATHER, all, all);
}

void ss_op_halo(struct ss_ops *ops, const struct ss_shape *s, const char *name, double tokens,
                double channels)
{
    gather(ops, s, name, tokens * channels * s->e);
}

void ss_op_states(struct ss_ops *ops, const struct ss_shape *s, double elements)
{
    gather(ops, s, "states", elements * 4);
}

/* Forward and backward read a tensor and write one; the backward adds its gradient to that of the hidden state. */
void ss_op_token_shift(struct ss_ops *ops, const struct ss_shape *s)
{
    double pass = s->tokens * s->h * s->e;
    ss_op_halo(ops, s, "last token", 1, s->h);
    ss_op_kernels(ops, "token shift", 2 * pass, (2 + 3) * pass, 1, 2);
}

/* The backward makes the output before silu again, then reads it with input and gradient and writes one gradient; the weight's gradient is
 * summed and cast. Context ranks that exchange heads see all tokens of a part of the channels: the same products and bytes. */
struct ss_op *ss_op_short_convolution(struct ss_ops *ops, const struct ss_shape *s, double channels,
                                      int kernels)
{
    double taps = s->model->linear_conv, pass = s->tokens * channels * s->e;
    struct ss_op *op =
        ss_op_scan(ops, "conv1d", SS_SCAN_SHORT_CONV, 2 * pass, (2 + 4) * pass, kernels, 4 * kernels);
    ss_op_calls(op, kernels);
    op->call = (struct ss_op_scan){.sequences = s->micro_batch, .tokens = s->chunk, .heads = channels};
    op->model_flops = 2 * taps * s->tokens * channels;
    op->params = taps * channels;
    op->tensors = kernels;
    op->saved_bytes = pass;
    return op;
}

struct ss_op *ss_op_gated_norm(struct ss_ops *ops, const struct ss_shape *s, const char *name, double heads,
                               double width)
{
    double pass = s->tokens * heads * width * s->e;
    struct ss_op *op = ss_op_kernels(ops, name, 3 * pass, 5 * pass, 1, 3);
    ss_op_calls(op, 1);
    op->params = width;
    op->tensors = 1;
    op->saved_bytes = 2 * pass + 4 * s->tokens * heads;
    return op;
}

void ss_op_call(struct ss_op *op, const struct ss_shape *s, int whole, double heads, double key_dim,
                double value_dim)
{
    double row = whole ? s->sequence : s->chunk,
           document = fmin(row, s->document); /* where states begin anew */
    op->call = (struct ss_op_scan){s->micro_batch * row / document, document, whole ? heads / s->cp : heads,
                                   key_dim, value_dim};
}
