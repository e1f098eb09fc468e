/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RWKV-7's time mix, as flash-linear-attention has it (fla/layers/rwkv7.py at bc3b101): the hidden state and its difference to that of the
 * token before make six mixtures; receptance, keys and values are a linear layer each; decay, update rate, gate and, behind the first layer, the
 * share of that layer's values come by low ranks; the rule of a state with a decay a channel and an update of rank one works on chunks; its
 * output is normed by heads, corrected, gated and projected. Context ranks have parts of the sequence and hand on states and the last token
 * (fla/ops/cp, fla/modules/token_shift_cp.py). No public framework divides it over tensor ranks, or hands the first layer's values to a stage.
 */
#include "layers/kinds.h"
#include "layers/linear.h"

/* Appends the six mixtures of one kernel, which keeps the difference; each is kept for its linear layers. Backward: gradients of the state and of
 * the difference from six, and the sums of six products. */
static void mixtures(struct ss_ops *ops, const struct ss_shape *s)
{
    double pass = s->tokens * s->h * s->e;
    ss_op_token_shift(ops, s);
    struct ss_op *op = ss_op_kernels(ops, "mixtures", (2 + 6) * pass, (6 + 2 + 6 + 1) * pass, 1, 1 + 6);
    ss_op_calls(op, 1);
    op->params = 6 * s->h;
    op->tensors = 6;
    op->saved_bytes = (1 + 6) * pass;
}

static void projections(struct ss_ops *ops, const struct ss_shape *s, int first)
{
    static const char *const names[4][2] = {{"decay down", "decay up"},
                                            {"rate down", "rate up"},
                                            {"gate down", "gate up"},
                                            {"value down", "value up"}};
    const struct ss_model *m = s->model;
    const double ranks[] = {m->decay_rank, m->rate_rank, m->gate_rank, m->value_rank};
    ss_op_undivided(ops, s, "receptance", s->h, s->h, 0, SS_CAST_OF_KEPT);
    ss_op_undivided(ops, s, "key", s->h, s->h, 0, SS_CAST_OF_KEPT);
    ss_op_undivided(ops, s, "value", s->h, s->h, 0, SS_CAST_OF_KEPT);
    for (int i = 0; i < 4 - first; i++)
        ss_op_low_rank(ops, s, names[i], ranks[i], s->h, SS_TP_NONE, i != 2);
}

/*
 * Appends kernels between the linear layers and the rule, in tensors read and written. Forward: the decay's sigmoid and product (4), the rate's
 * sigmoid (2), keys weighed and normed (4), keys updated by the rate (3), the normed ones negated (2) and times the rate (3). Backward: the
 * decay (5), the rate from both of its users and its sigmoid (3 + 3), the last two (6 + 2 + 3), norm and weights (3 + 2 + 4), the update with an
 * fp32 sum (9), a sum of keys' gradients (3). Behind the first layer: sigmoid and interpolation of values (6); four products of the
 * interpolation, two differences, the sum of the first layer's gradient, sigmoid (20). Functions of low ranks stand beside them.
 */
static void inputs(struct ss_ops *ops, const struct ss_shape *s, int first)
{
    double pass = s->tokens * s->h * s->e, heads = s->model->num_attention_heads;
    double ranks = s->tokens * (s->model->decay_rank + s->model->gate_rank) * s->e;
    double forward = 4 + 2 + 4 + 3 + 2 + 3 + (first ? 0 : 6);
    double backward = 5 + 6 + 11 + 9 + 9 + 3 + (first ? 0 : 20);
    struct ss_op *op =
        ss_op_kernels(ops, "time mix inputs", forward * pass + 2 * ranks, backward * pass + 3 * ranks,
                      2 + 8 + (first ? 0 : 2), 2 + 15 + (first ? 0 : 8));
    op->params = 2 * s->h; /* weights of the normed keys and of the update */
    op->tensors = 2;
    /* Both sigmoids, keys before the update, normed keys with their norms; values before the interpolation, and its weight. */
    op->saved_bytes = (4 + (first ? 0 : 2)) * pass + 4 * s->tokens * heads;
}

/* Kernels of the rule. Forward: sums of the decay; four products in chunks; triangular inverse, both factors; states; output. Backward: all but the
 * output again, then gradients of the products, of states, of values, of queries and keys, of the factors, in chunks. */
enum { RULE_KERNELS = 1 + 1 + 2 + 1 + 1, RULE_BACKWARD_KERNELS = 5 + 6 };

/*
 * Appends the rule (generalized_delta_rule/dplr), heads of K channels and chunks of C, 64 where the decay is bounded as here. FLOP of a token and
 * head: forward products of chunks 8 C K, factors 4 C K, states 6 K K, output 2 K K + 4 C K; backward all but the output again, 16 K K + 32 C
 * K. Traffic, each tensor once a kernel: forward 23 K and 4 C in 16 bit, sums of the decay 4 K and products 6 C in fp32, states written and read
 * by chunks; backward 62 K, 4 C, 7 K, 16 C and five times states.
 */
static void rule(struct ss_ops *ops, const struct ss_shape *s)
{
    const double c = SS_LINEAR_CHUNK, k = s->h / s->model->num_attention_heads;
    double rows = s->tokens * s->h / k, states = k * k / c;
    double forward = rows * ((23 * k + 4 * c + 2 * states) * s->e + (4 * k + 6 * c) * 4);
    double backward = rows * ((62 * k + 4 * c + 5 * states) * s->e + (7 * k + 16 * c) * 4);
    ss_op_states(ops, s, s->h / k * 2 * k * k); /* a state and its transition */
    struct ss_op *op = ss_op_scan(ops, "rwkv7 rule", SS_SCAN_CHUNKED, forward, backward, RULE_KERNELS,
                                  RULE_BACKWARD_KERNELS);
    op->forward_flops = rows * (8 * k * k + 16 * c * k);
    op->backward_flops = rows * (22 * k * k + 44 * c * k);
    op->model_flops = 8 * rows * k * k;    /* token by token, as of gated delta nets */
    op->saved_bytes = rows * 6 * k * s->e; /* receptance, keys, values, both vectors of the update, decay */
    op->working_bytes = rows * ((4 * k + 3 * k + 2 * states) * s->e + (2 * k + 3 * c) * 4);
}

/* Appends the norm of the output by heads, with mean and deviation, and the correction by receptance, keys and values with the gate. Its backward
 * adds gradients to those of the rule. */
static void output(struct ss_ops *ops, const struct ss_shape *s)
{
    double pass = s->tokens * s->h * s->e;
    struct ss_op *op = ss_op_kernels(ops, "output norm", 2 * pass, 3 * pass, 1, 2);
    op->params = 2 * s->h;
    op->tensors = 2;
    op->saved_bytes = pass + 2 * 4 * s->tokens * s->model->num_attention_heads;
    op = ss_op_kernels(ops, "correction", 6 * pass, (6 + 5 + 3 * 3) * pass, 1, 2 + 3);
    op->params = s->h;
    op->tensors = 1;
    op->saved_bytes = 2 * pass; /* the normed output and the gate */
}

static void layer(struct ss_ops *ops, const struct ss_shape *s, int first)
{
    ss_op_norm(ops, s, "input norm");
    mixtures(ops, s);
    projections(ops, s, first);
    inputs(ops, s, first);
    rule(ops, s);
    output(ops, s);
    ss_op_undivided(ops, s, "time mix out", s->h, s->h, 0, SS_CAST_OF_OWN);
    ss_op_branch_end(ops, s, "time mix post norm");
}

static void operators(struct ss_ops *ops, const struct ss_shape *s)
{
    layer(ops, s, 0);
}

static void operators_first(struct ss_ops *ops, const struct ss_shape *s)
{
    layer(ops, s, 1);
}

const struct ss_mixer ss_mixer_rwkv7 = {.operators = operators, .exchanges = SS_COLL_BIT(SS_COLL_ALL_GATHER)};
const struct ss_mixer ss_mixer_rwkv7_first = {.operators = operators_first,
                                              .exchanges = SS_COLL_BIT(SS_COLL_ALL_GATHER)};
