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
    struct ss_shape own = *s;
    own.streams = 1; /* all streams get what the projection makes of it */
    ss_border_embedding.operators(ops, &own);
    for (int i = 0; i < ops->n; i++)
        ops->op[i].params = ops->op[i].tensors = 0;
}

static void input_norm(struct ss_ops *ops, const struct ss_shape *s, const char *name, double rows)
{
    double x = rows * s->h / s->sp;
    ss_op_norm_of(ops, s, name, x, s->h, s->e)->saved_bytes = x * s->e + 4 * rows / s->sp;
}

/* Appends a projection of `rows` rows of `in` elements to the hidden size, whose columns tensor ranks have. */
static void project(struct ss_ops *ops, const struct ss_shape *s, const char *name, double rows, double in)
{
    double n = s->h / s->tp, own = rows / s->sp;
    struct ss_shape all = *s;
    all.tokens = rows;
    if (ss_precision_is_quantized(s->gemm_precision))
        ss_op_cast_rows(ops, s, "fp8 cast", own, in, n * s->sp, in * n);
    ss_op_linear(ops, name, &all, n, in, SS_TP_COLUMN, s->gemm_precision, 0)->saved_bytes =
        own * in * (ss_op_saved_in_fp8(s) ? s->quantized : s->e);
}

/* Megatron counts all norms of the prediction with the last product. The columns of the projections are gathered. Under sequence parallelism
 * each rank takes its tokens, whose gradients are gathered. With several streams the embedding and each of them have a projection; where gates
 * join them, the one that they make is copied. */
static void projection(struct ss_ops *ops, const struct ss_shape *s)
{
    int apart = s->streams > 1 && s->model->residual_rank <= 0;
    double rows = s->tokens * (apart ? s->streams : 1), own = s->tokens / s->sp, both = 2 * own * s->h * s->e;
    double gathered = (rows + (apart ? s->tokens : 0)) * s->h * s->e;
    input_norm(ops, s, "embedding norm", s->tokens);
    input_norm(ops, s, "hidden norm", rows);
    if (apart) {
        double moved = (2 * rows + s->tokens) * s->h * s->e / s->sp;
        project(ops, s, "embedding projection", s->tokens, s->h);
        project(ops, s, "prediction projection", rows, s->h);
        ops->op[ops->n - 1].model_flops += 2 * s->tokens * 3 * s->h;
        ss_op_kernels(ops, "streams of the prediction", moved, moved, 1, 1);
    } else {
        ss_op_kernels(ops, "concatenation", 2 * both, 2 * both, 1, 1);
        project(ops, s, "prediction projection", s->tokens, 2 * s->h);
        ops->op[ops->n - 1].model_flops += 2 * s->tokens * 3 * s->h;
        ss_op_streams_expand(ops, s);
    }
    ss_op_border(ops, s, SS_PHASE_F, SS_COLL_ALL_GATHER, gathered);
    if (s->sp > 1)
        ss_op_border(ops, s, SS_PHASE_I, SS_COLL_ALL_GATHER, gathered);
}

/* Appends the loss; the norm is its own, the matrix that of the main output layer. */
static void loss(struct ss_ops *ops, const struct ss_shape *s)
{
    struct ss_model model = *s->model;
    struct ss_shape own = *s;
    own.model = &model;
    if (model.residual_rank >
        0) { /* the gates behind the last layer are the model's own: here is a mean, and a norm */
        model.residual_rank = 0;
        model.final_norm = 1;
    }
    ss_border_loss.operators(ops, &own);
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
