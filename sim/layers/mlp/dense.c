/* SPDX-License-Identifier: Apache-2.0 */
/* A transformer layer of attention and one MLP. */
#include "layers/kinds.h"

/* Sums over the tokens of the output gradients of the layer's linear layers: the bias gradients, which
 * Transformer Engine forms in its GEMMs and casts. They belong to operators that are counted elsewhere. */
static void bias_gradients_add(struct ss_ops *ops, const struct ss_shape *s)
{
    double columns = (s->qkv_bias ? ss_op_qkv_columns(s) : 0) + ss_op_fc1_columns(s);
    double split = (1 + s->out_bias) * s->h / s->sp;
    ss_op_elementwise(ss_op_add(ops, "bias gradients", SS_OP_ELEMENTWISE), 0,
                      s->tokens * (columns + split) * s->e, 0, 0);
}

static void layer(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack, int local)
{
    ss_op_attention_block(ops, s, stack, local);
    ss_op_mlp_block(ops, s, stack);
    if (s->mlp_bias && !s->te)
        bias_gradients_add(ops, s);
    ss_ops_by_operator(ops, s);
}

static void full(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack)
{
    layer(ops, s, stack, 0);
}

static void local(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack)
{
    layer(ops, s, stack, 1);
}

const struct ss_layer_kind ss_layer_dense = {
    .name = "dense",
    .where = SS_WHERE_TRANSFORMER,
    .operators = full,
};
const struct ss_layer_kind ss_layer_dense_local = {
    .name = "dense, local attention",
    .where = SS_WHERE_TRANSFORMER,
    .operators = local,
};
