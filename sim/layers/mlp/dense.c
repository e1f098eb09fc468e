/* SPDX-License-Identifier: Apache-2.0 */
/* A dense MLP. */
#include "layers/kinds.h"
#include "layers/mlp.h"
#include "stepsim/job_kinds.h"

/* Appends the bias gradients of the layer's linear layers: sums of output gradients over the tokens, which
 * Transformer Engine forms in its GEMMs and casts. They belong to operators that are counted elsewhere. */
static void bias_gradients(struct ss_ops *ops, const struct ss_shape *s)
{
    ss_op_kernels(ops, "bias gradients", 0, s->tokens * ops->bias_columns * s->e, 0, 0);
}

static void operators(struct ss_ops *ops, const struct ss_shape *s)
{
    static const struct ss_mlp_names names = {"fc1", "fc2", "fc3", SS_CAST_OF_NORM};
    ss_op_mlp_begin(ops, s);
    int first = ops->n;
    ss_op_mlp(ops, s, &names, s->ffn);
    for (int i = first; i < ops->n; i++)
        ops->op[i].modules |= SS_MODULE_BIT(SS_MODULE_MLP);
    ss_op_mlp_end(ops, s);
    if (s->mlp_bias && !s->te)
        bias_gradients(ops, s);
}

const struct ss_mlp ss_mlp_dense = {.operators = operators, .graph = SS_GRAPH_MLP};
