/* SPDX-License-Identifier: Apache-2.0 */
/* RWKV-7's channel mix (fla/models/rwkv7): a dense MLP of the hidden state mixed with that of the token before. */
#include "layers/kinds.h"
#include "layers/linear.h"
#include "layers/mlp.h"
#include "stepsim/job_kinds.h"

static int has(const struct ss_model *m, int layer)
{
    return ss_layer_rule_may(&m->rwkv7, layer) && (layer < 0 || !ss_layer_rule_has(&m->no_mlp, layer));
}

/* The mixture, addcmul of PyTorch, keeps the difference. Its backward multiplies the gradient twice, by the weight and by the difference, and sums
 * the second. */
static void operators(struct ss_ops *ops, const struct ss_shape *s)
{
    static const struct ss_mlp_names names = {"channel fc1", "channel fc2", "channel fc3", SS_CAST_OF_OWN};
    double pass = s->tokens * s->h * s->e;
    ss_op_mlp_begin(ops, s);
    int first = ops->n;
    ss_op_token_shift(ops, s);
    struct ss_op *op = ss_op_kernels(ops, "mixture", 3 * pass, (2 + 3 + 1) * pass, 1, 3);
    op->params = s->h;
    op->tensors = 1;
    op->saved_bytes = pass;
    ss_op_mlp(ops, s, &names, s->ffn);
    for (int i = first; i < ops->n; i++)
        ops->op[i].modules |= SS_MODULE_BIT(SS_MODULE_MLP);
    ss_op_mlp_end(ops, s);
}

const struct ss_mlp ss_mlp_channel_mix = {.has = has, .operators = operators, .graph = SS_GRAPH_MLP};
