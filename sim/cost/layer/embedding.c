/* SPDX-License-Identifier: Apache-2.0 */
/* The embedding: look-up of tokens, and of positions where they are learned. */
#include "cost/layer_kinds.h"

static void operators(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack)
{
    (void)stack;
    double x = s->tokens * s->h;
    struct ss_op *op = ss_op_add(ops, "embedding", SS_OP_ELEMENTWISE);
    /* Look-up, and scatter-add of fp32 gradients in the backward. */
    ss_op_elementwise(op, x * s->e * (s->positions > 0 ? 5 : 2), x * (s->e + 8), s->positions > 0 ? 3 : 1, 2);
    op->params = s->vocab * s->h + s->positions * s->h;
    op->tensors = s->positions > 0 ? 2 : 1;
    op->saved_bytes = 8 * s->tokens + (s->hidden_dropout > 0 ? x / s->sp : 0);
    if (s->model->embedding_norm > 0)
        ss_op_norm_of(ops, s, "embedding norm", x / s->sp, s->h, s->e)->saved_bytes =
            x / s->sp * s->e + 4 * s->tokens / s->sp;
}

/* Scatter of its output and gather of its gradient under sequence parallelism, else the all-reduce of its output. */
static void borders(const struct ss_cost_context *c, struct ss_layer_cost *out)
{
    double full = c->shape.tokens * c->shape.h * c->shape.e;
    int sp = c->shape.sp > 1;
    if (c->tp.n <= 1)
        return;
    ss_cost_bare(c, SS_PHASE_F, sp ? SS_COLL_REDUCE_SCATTER : SS_COLL_ALL_REDUCE, full, out);
    if (sp)
        ss_cost_bare(c, SS_PHASE_W, SS_COLL_ALL_GATHER, full, out);
}

const struct ss_layer_kind ss_layer_embedding = {
    .name = "embedding",
    .where = SS_WHERE_BEFORE,
    .operators = operators,
    .borders = borders,
};
