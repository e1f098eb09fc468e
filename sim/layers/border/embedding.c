/* SPDX-License-Identifier: Apache-2.0 */
/* The embedding: it looks up tokens, and positions where they are learned. */
#include "layers/kinds.h"

/* Appends the projection from the rows of a vocabulary narrower than the model; every tensor rank has the
 * whole matrix. */
static void projection(struct ss_ops *ops, const struct ss_shape *s)
{
    struct ss_op *op = ss_op_replicated(ops, "embedding projection", s, s->h, s->row, s->storage_precision);
    op->gemm_params = 0; /* 16 bit under fp8, as the logits */
    op->saved_bytes = s->tokens / s->sp * s->row * s->e;
}

static void operators(struct ss_ops *ops, const struct ss_shape *s)
{
    double x = s->tokens * s->h, looked_up = s->tokens * s->row;
    struct ss_op *op = ss_op_add(ops, "embedding", SS_OP_ELEMENTWISE);
    /* The forward looks rows up; the backward scatters and adds fp32 gradients. Positions are added to a
     * tensor that may be wider than a row. */
    ss_op_traffic(op, looked_up * s->e * 2 + (s->positions > 0 ? x * s->e * 3 : 0), looked_up * (s->e + 8),
                  s->positions > 0 ? 3 : 1, 2);
    op->backward_fresh = s->vocab * s->row * s->e; /* the zeros that rows are added to */
    op->params = s->vocab * s->row + s->positions * s->h;
    op->tensors = s->positions > 0 ? 2 : 1;
    op->saved_bytes = 8 * s->tokens + (s->hidden_dropout > 0 ? x / s->sp : 0);
    if (s->row != s->h)
        projection(ops, s);
    if (s->model->embedding_scale > 0)
        ss_op_kernels(ops, "embedding scale", 2 * x / s->sp * s->e, 2 * x / s->sp * s->e, 1, 1);
    if (s->model->embedding_norm > 0)
        ss_op_norm_of(ops, s, "embedding norm", x / s->sp, s->h, s->e)->saved_bytes =
            x / s->sp * s->e + 4 * s->tokens / s->sp;
    /* Under sequence parallelism its output is scattered and the gradient of the output gathered; otherwise
     * its output is summed. */
    ss_op_border(ops, s, SS_PHASE_F, s->sp > 1 ? SS_COLL_REDUCE_SCATTER : SS_COLL_ALL_REDUCE,
                 looked_up * s->e);
    if (s->sp > 1)
        ss_op_border(ops, s, SS_PHASE_W, SS_COLL_ALL_GATHER, looked_up * s->e);
    ss_op_streams_expand(ops, s);
}

const struct ss_layer_border ss_border_embedding = {
    .where = SS_WHERE_BEFORE,
    .operators = operators,
};
