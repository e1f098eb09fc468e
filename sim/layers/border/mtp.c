/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Multi-token prediction behind the last transformer layer, as Megatron-LM's MultiTokenPredictionLayer. It
 * embeds the tokens one further on, norms them and the hidden state, and projects both together. A
 * transformer layer (of the kind of the model's last one), a norm, and the output layer and loss follow.
 * Embedding and output layer share the weights of the main ones.
 */
#include "layers/kinds.h"

/* Appends the embedding; its weights are counted with the main embedding, or as its second copy. No such
 * model has a norm behind it. */
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
    op->model_flops += 2 * s->tokens * 3 * s->h; /* Megatron counts all norms of the prediction here */
    op->saved_bytes = 2 * own * s->h * (ss_op_saved_in_fp8(s) ? s->quantized : s->e);
    /* The columns of the projection are gathered. Under sequence parallelism each rank takes its tokens,
     * whose gradients are gathered. */
    ss_op_border(ops, s, SS_PHASE_F, SS_COLL_ALL_GATHER, s->tokens * s->h * s->e);
    if (s->sp > 1)
        ss_op_border(ops, s, SS_PHASE_I, SS_COLL_ALL_GATHER, s->tokens * s->h * s->e);
}

/* Appends the loss; the norm is its own, the matrix that of the main output layer. */
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
