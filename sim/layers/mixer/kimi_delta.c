/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kimi delta attention: layers of flash-linear-attention (fla/layers/kda.py at bc3b101) as Megatron-Bridge has them for Kimi-K3
 * (models/kimi/kimi_k3_layers.py). Queries, keys and values are a linear layer and a short convolution each; the decay of each channel
 * comes by a low rank, and so does the output's gate, or by one matrix; the rule works on chunks of the sequence. Tensor ranks divide
 * heads; each has the first matrix of a low rank whole. Context ranks have parts of the sequence and hand on states.
 */
#include "layers/kinds.h"
#include "layers/linear.h"

static void projections(struct ss_ops *ops, const struct ss_shape *s, double heads, double k)
{
    static const char *const decay[2] = {"decay down", "decay up"}, *const gate[2] = {"gate down", "gate up"};
    double x = heads * k;
    ss_op_mixer_begin(ops, s, 3 + 3, 4 * x + heads + k);
    ss_op_mixer_linear(ops, s, "q", x, 1);
    ss_op_mixer_linear(ops, s, "k", x, 0);
    ss_op_mixer_linear(ops, s, "v", x, 0);
    ss_op_low_rank(ops, s, decay, k, x, SS_TP_COLUMN, 0);
    ss_op_mixer_linear(ops, s, "beta", heads, 0);
    if (s->model->linear_full_gate > 0)
        ss_op_mixer_linear(ops, s, "gate", x, 0);
    else
        ss_op_low_rank(ops, s, gate, k, x, SS_TP_COLUMN, 0);
}

/* Kernels of the rule, with norms of q and k, sigmoid of beta, and sums of the decay: 8 forward, 13 backward. */
enum { RULE_KERNELS = 8, RULE_BACKWARD_KERNELS = 13 };

/*
 * Appends the rule, K channels of a key and of a value and chunks of C. FLOP of a token and head, forward: lower blocks of both products of
 * keys 2.5 C K, factors 2 C (K + K), states 4 K K, output 2 K K + 2 C K; the backward takes about three times as many. Traffic, each
 * tensor once a kernel: 14 K in 16 bit, 4 C of both products, states written and read by chunks; the decay is read in 16 bit, written
 * and read three times in fp32; norms move queries and keys twice.
 */
static void rule(struct ss_ops *ops, const struct ss_shape *s, double heads, double k)
{
    const double c = SS_LINEAR_CHUNK;
    double rows = s->tokens * heads, states = k * k / c;
    double bytes = rows * ((14 * k + 4 * c + 2 * states + k + 4 * k) * s->e + 4 * 4 * k);
    struct ss_op *op = ss_op_scan(ops, "kimi delta rule", SS_SCAN_KIMI_DELTA, bytes, 3 * bytes, RULE_KERNELS,
                                  RULE_BACKWARD_KERNELS);
    ss_op_call(op, s, 0, heads, k, k);
    op->forward_flops = rows * (6 * k * k + 4.5 * c * k + 4 * c * k);
    op->backward_flops = 3 * op->forward_flops;
    op->model_flops = 8 * rows * k * k; /* of a rule token by token, as Megatron counts gated delta nets */
    op->params = heads + heads * k;     /* A, and the bias of the decay by channels */
    op->tensors = 2;
    /* q and k after their norms, v, the decay before its sums, both products; norms of q and k, beta and its input. */
    op->saved_bytes = rows * ((4 * k + 2 * c) * s->e + 4 * 2 + 2 * s->e);
    /* Factors, queries and keys with their decay, new values, sums of the decay, two lists of states; gradients of q, k, v and decay. */
    op->working_bytes = rows * ((5 * k + 2 * states + 3 * k) * s->e + 2 * 4 * k);
}

static void operators(struct ss_ops *ops, const struct ss_shape *s)
{
    double heads = (double)s->model->linear_num_value_heads / s->tp, k = s->model->linear_value_head_dim;
    projections(ops, s, heads, k);
    for (int i = 0; i < 3; i++)
        ss_op_halo(ops, s, "tokens of convolution", s->model->linear_conv - 1, heads * k);
    ss_op_short_convolution(ops, s, 3 * heads * k, 3);
    ss_op_states(ops, s, heads * 2 * k * k); /* a state and its transition */
    rule(ops, s, heads, k);
    ss_op_gated_norm(ops, s, "delta norm", heads, k);
    ss_op_mixer_end(ops, s, "delta out", heads * k, 0);
}

const struct ss_mixer ss_mixer_kimi_delta = {.operators = operators,
                                             .exchanges = SS_COLL_BIT(SS_COLL_ALL_GATHER)};
