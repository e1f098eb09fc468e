/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lightning attention of MiniMax-Text-01 (arXiv 2501.08313) and of Ring-linear (arXiv 2510.19338): linear attention whose state decays by a
 * constant of each head. Queries, keys and values of all heads come from one layer, with silu (MiniMax) or with norms and rotary embedding
 * (Ring); the output is normed in groups, weighed by a gate of the hidden state, and projected. RetNet's retention (arXiv 2307.08621) is a
 * case of this decay. Kernels are those of flash-linear-attention (fla/ops/lightning_attn, retention, simple_gla). Linear-MoE (OpenSparseLLMs, on
 * Megatron core) divides heads over tensor ranks as attention's, and gathers the states of context ranks (linear_moe/sequence_modeling/lasp2;
 * arXiv 2502.07563).
 */
#include "layers/kinds.h"
#include "layers/linear.h"

/* Appends what comes between the projection and the scan. Silu keeps its input; norms keep theirs, and a statistic a head. */
static void turn(struct ss_ops *ops, const struct ss_shape *s, double heads, double k)
{
    double x = s->tokens * heads * k;
    if (s->model->linear_silu > 0) {
        ss_op_kernels(ops, "silu", 2 * 3 * x * s->e, 3 * 3 * x * s->e, 1, 1)->saved_bytes = 3 * x * s->e;
        return;
    }
    if (s->model->qk_norm > SS_QK_NORM_NONE) {
        struct ss_op *op = ss_op_norm_of(ops, s, "qk norm", 2 * x, 2 * k, s->e);
        op->tensors *= 2;
        op->forward_kernels = 2;
        op->backward_kernels = 4;
        op->saved_bytes = 2 * x * s->e + 4 * 2 * s->tokens * heads;
    }
    if (s->rope) {
        double bytes = 2 * x * s->e * s->stack->rope_passes;
        ss_op_kernels(ops, "rope", bytes, bytes, (int)s->stack->rope_kernels, (int)s->stack->rope_kernels);
    }
}

/*
 * Appends the scan, K channels of a key and V of a value and chunks of C. FLOP of a token and head: forward states 2 K V, output 2 K V + 2 C K +
 * 2 C V; backward states again, 10 K V + 6 C K + 4 C V in all. Traffic, each tensor once a kernel: forward 3 K, 3 V and states written and
 * read by chunks; backward states again (K, V), their gradients (K, V), those of q, k and the decay (4 K, 2 V), of v (2 K, 2 V), and five times
 * states. It keeps q, k and v.
 */
static void scan(struct ss_ops *ops, const struct ss_shape *s, double heads, double k, double v)
{
    const double c = SS_LINEAR_CHUNK;
    double rows = s->tokens * heads, states = k * v / c;
    ss_op_states(ops, s, heads * k * v);
    struct ss_op *op =
        ss_op_scan(ops, "lightning scan", SS_SCAN_CHUNKED, rows * (3 * k + 3 * v + 2 * states) * s->e,
                   rows * (8 * k + 6 * v + 5 * states) * s->e, 2, 4);
    op->forward_flops = rows * (4 * k * v + 2 * c * k + 2 * c * v);
    op->backward_flops = rows * (10 * k * v + 6 * c * k + 4 * c * v);
    op->model_flops = rows * 4 * k * v; /* token by token */
    op->saved_bytes = rows * (2 * k + v) * s->e;
    op->working_bytes = rows * (2 * k + v + 2 * states) * s->e;
}

/* Appends the norm, whose groups lie on one tensor rank where there are as many, and the gate. */
static void norm(struct ss_ops *ops, const struct ss_shape *s, double heads, double k)
{
    double x = s->tokens * heads * k, groups = s->model->linear_norm_groups;
    struct ss_op *op = ss_op_kernels(ops, "output norm", 2 * x * s->e, 3 * x * s->e, 1, 2);
    op->params = heads * k;
    op->tensors = 1;
    op->saved_bytes = x * s->e + 4 * s->tokens * (groups > s->tp ? groups / s->tp : 1);
    if (groups < s->tp) { /* mean squares of all channels */
        ss_op_border(ops, s, SS_PHASE_F, SS_COLL_ALL_REDUCE, 4 * s->tokens);
        ss_op_border(ops, s, SS_PHASE_I, SS_COLL_ALL_REDUCE, 4 * s->tokens);
    }
    ss_op_kernels(ops, "output gate", 3 * x * s->e, 5 * x * s->e, 1, 1)->saved_bytes = 2 * x * s->e;
}

static void operators(struct ss_ops *ops, const struct ss_shape *s)
{
    double heads = (double)s->model->num_attention_heads / s->tp, k = s->model->kv_channels, x = heads * k;
    ss_op_mixer_begin(ops, s, 2, 4 * x);
    ss_op_mixer_linear(ops, s, "qkv", 3 * x, 1);
    ss_op_mixer_linear(ops, s, "gate", x, 0);
    turn(ops, s, heads, k);
    scan(ops, s, heads, k, k);
    norm(ops, s, heads, k);
    ss_op_mixer_end(ops, s, "lightning out", x, 0);
}

const struct ss_mixer ss_mixer_lightning = {.operators = operators,
                                            .exchanges = SS_COLL_BIT(SS_COLL_ALL_GATHER)};

/* Retention (fla/layers/multiscale_retention.py): queries, keys, values and gate are a layer each; values are wider than keys, and a kernel norms
 * the output by heads and weighs it. */
static void retention(struct ss_ops *ops, const struct ss_shape *s)
{
    const struct ss_model *m = s->model;
    double heads = (double)m->num_attention_heads / s->tp, k = m->kv_channels, v = m->linear_value_head_dim;
    ss_op_mixer_begin(ops, s, 4, heads * (2 * k + 2 * v));
    ss_op_mixer_linear(ops, s, "q", heads * k, 1);
    ss_op_mixer_linear(ops, s, "k", heads * k, 0);
    ss_op_mixer_linear(ops, s, "v", heads * v, 0);
    ss_op_mixer_linear(ops, s, "gate", heads * v, 0);
    turn(ops, s, heads, k);
    scan(ops, s, heads, k, v);
    ss_op_gated_norm(ops, s, "retention norm", heads, v);
    ss_op_mixer_end(ops, s, "retention out", heads * v, 0);
}

const struct ss_mixer ss_mixer_retention = {.operators = retention,
                                            .exchanges = SS_COLL_BIT(SS_COLL_ALL_GATHER)};
