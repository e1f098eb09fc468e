/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The short convolution of LFM2, as transformers' Lfm2ShortConv has it: one projection makes B, C and x; B x goes through a causal
 * convolution of few tokens a channel; the product with C is projected. No public training framework divides it over tensor ranks; context ranks
 * hand on the last tokens, as flash-linear-attention's convolution does it (fla/modules/convolution.py).
 */
#include "layers/kinds.h"
#include "layers/linear.h"

/* Appends both products and the convolution, kernels of their own. The first product keeps B, C and x as the projection made them; the
 * convolution its input; the second its output. A product has two products in its backward, and the gradients of B, C and x are joined. */
static void kernels(struct ss_ops *ops, const struct ss_shape *s)
{
    double pass = s->tokens * s->h * s->e, taps = s->model->short_conv_taps;
    ss_op_kernels(ops, "B x", 3 * pass, (2 * 3 + 2 * 3) * pass, 1, 2 + 1)->saved_bytes = 3 * pass;
    struct ss_op *op = ss_op_scan(ops, "conv1d", SS_SCAN_CONV1D, 2 * pass, 3 * pass, 1, 1);
    op->forward_flops = op->model_flops = 2 * taps * s->tokens * s->h;
    op->backward_flops = 2 * op->forward_flops;
    op->params = taps * s->h;
    op->tensors = 1;
    op->saved_bytes = pass;
    ss_op_kernels(ops, "C conv", 3 * pass, 2 * 3 * pass, 1, 2)->saved_bytes = pass;
}

static void operators(struct ss_ops *ops, const struct ss_shape *s)
{
    ss_op_norm(ops, s, "input norm");
    ss_op_undivided(ops, s, "conv in", 3 * s->h, s->h, 0, SS_CAST_OF_NORM);
    ss_op_halo(ops, s, "tokens of convolution", s->model->short_conv_taps - 1, s->h);
    kernels(ops, s);
    ss_op_undivided(ops, s, "conv out", s->h, s->h, 0, SS_CAST_OF_OWN);
    ss_op_branch_end(ops, s, "conv post norm");
}

const struct ss_mixer ss_mixer_short_conv = {.operators = operators,
                                             .exchanges = SS_COLL_BIT(SS_COLL_ALL_GATHER)};
