/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Multi-token prediction, as Megatron-LM's MultiTokenPredictionLayer behind the last transformer layer: the embedding of the
 * tokens one further, norms of it and of the hidden state, both projected together, then a transformer layer (a run of
 * the kind of the model's last one), a norm, and the output layer and loss again. Embedding and output layer have the
 * weights of the main ones.
 */
#include "layers/kinds.h"

/* The weights are counted where the embedding is, or as its second copy. No such model has a norm behind it. */
static void embedding(struct ss_ops *ops, const struct ss_shape *s)
{
    ss_border_embedding.operators(ops, s);
    for (int i = 0; i < ops->n; i++)
        ops->op[i].params = ops->op[i].tensors = 0;
}

static void input_norm(struct ss_ops *ops, const struct ss_shape *s, const char *name)
{
    double x = s->tokens * s->h / s->sp;
    ss_op_norm_of(ops, s, name, x, s->h, s->e)->saved_bytes = x * s->e + 4 * s->tokens / s->sp;
}

static void projection(struct ss_ops *ops, const struct ss_shape *s)
{
    double own = s->tokens / s->sp, both = 2 * own * s->h * s->e, n = s->h / s->tp;
    input_norm(ops, s, "embedding norm");
    input_norm(ops, s, "hidden norm");
    ss_op_kernels(ops, "concatenation", 2 * both, 2 * both, 1, 1);
    if (ss_precision_is_quantized(s->gemm_precision))
        ss_op_cast_rows(ops, s, "fp8 cast", own, 2 * s->h, n * s->sp, 2 * s->h * n);
    struct ss_op *op =
        ss_op_linear(ops, "prediction projection", s, n, 2 * s->h, SS_TP_COLUMN, s->gemm_precision, 0);
    op->model_flops += 2 * s->tokens * 3 * s->h; /* Megatron counts the norms of the whole prediction */
    op->saved_bytes = 2 * own * s->h * (ss_op_saved_in_fp8(s) ? s->quantized : s->e);
    /* Its columns are gathered; under sequence parallelism each rank takes its tokens, whose gradients are gathered. */
    ss_op_border(ops, s, SS_PHASE_F, SS_COLL_ALL_GATHER, s->tokens * s->h * s->e);
    if (s->sp > 1)
        ss_op_border(ops, s, SS_PHASE_I, SS_COLL_ALL_GATHER, s->tokens * s->h * s->e);
}

/* The norm is its own, the matrix the main output layer's. */
static void loss(struct ss_ops *ops, const struct ss_shape *s)
{
    ss_border_loss.operators(ops, s);
    for (int i = 0; i < ops->n; i++)
        if (ops->op[i].kind == SS_OP_GEMM)
            ops->op[i].params = ops->op[i].tensors = 0;
}

const struct ss_layer_border ss_border_mtp_embedding = {
    .where = SS_WHERE_BEHIND,
    .operators = embedding,
};
const struct ss_layer_border ss_border_mtp = {
    .where = SS_WHERE_BEHIND,
    .operators = projection,
};
const struct ss_layer_border ss_border_mtp_loss = {
    .is_loss = 1,
    .where = SS_WHERE_BEHIND,
    .operators = loss,
};
