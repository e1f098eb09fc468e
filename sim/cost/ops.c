/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/ops.h"

#include <math.h>
#include <string.h>

#include "base/base.h"

void ss_shape_init(struct ss_shape *s, const struct ss_job *job, const struct ss_stack *stack,
                   int padded_vocab)
{
    const struct ss_model *m = &job->model;
    memset(s, 0, sizeof *s);
    s->micro_batch = job->micro_batch;
    s->sequence = job->seq_length;
    s->chunk = (double)job->seq_length / job->cp;
    s->tokens = s->micro_batch * s->chunk;
    s->tp = job->tp;
    s->cp = job->cp;
    s->h = m->hidden_size;
    s->ffn = (double)m->ffn_hidden_size / job->tp;
    s->heads = (double)m->num_attention_heads / job->tp;
    s->groups = fmax(1, (double)m->num_query_groups / job->tp);
    s->d = m->kv_channels;
    s->vocab = (double)padded_vocab / job->tp;
    s->sp = job->sequence_parallel && job->tp > 1 ? job->tp : 1;
    s->gated = m->gated_mlp;
    s->qkv_bias = m->qkv_bias;
    s->linear_bias = m->linear_bias;
    s->positions = m->position == SS_POSITION_LEARNED ? m->max_position_embeddings : 0;
    s->rope = m->position == SS_POSITION_ROPE;
    s->norm_is_layernorm = m->normalization == SS_NORM_LAYERNORM;
    s->tied = m->tied_embeddings;
    s->gemm_precision = job->precision;
    s->storage_precision = job->precision == SS_FP8 ? job->fp8_base : job->precision;
    s->e = s->storage_precision == SS_FP32 ? 4 : 2;
    s->attention = job->attention;
    if (s->attention == SS_ATTENTION_AUTO)
        s->attention = s->storage_precision == SS_FP32                 ? SS_ATTENTION_UNFUSED
                       : strcmp(stack->attention_auto, "fused") == 0   ? SS_ATTENTION_FUSED
                       : strcmp(stack->attention_auto, "unfused") == 0 ? SS_ATTENTION_UNFUSED
                                                                       : SS_ATTENTION_FLASH;
    s->te = stack->te_layers > 0 && !job->transformer_local;
    s->tp_comm_overlap = job->tp_comm_overlap && job->tp > 1 && s->sp > 1;
    s->pp_shares = stack->pp_scatter_gather > 0 && job->scatter_gather && s->sp == 1 ? job->tp : 1;
    s->cp_gathers = job->cp > 1 && job->cp_comm_type == SS_CP_ALLGATHER;
    s->attention_dropout = job->attention_dropout;
    s->hidden_dropout = job->hidden_dropout;
}

double ss_shape_border_bytes(const struct ss_shape *s)
{
    return s->tokens * s->h * s->e / s->sp;
}

double ss_shape_send_bytes(const struct ss_shape *s)
{
    return ss_shape_border_bytes(s) / s->pp_shares;
}

static struct ss_op *op_add(struct ss_ops *ops, const char *name, int kind)
{
    struct ss_op *op = &ops->op[ops->n++];
    memset(op, 0, sizeof *op);
    op->name = name;
    op->kind = kind;
    op->forward_kernels = op->backward_kernels = 1;
    return op;
}

/* Linear layer [tokens x k] -> [tokens x n] and what it keeps: its input, unless that is saved elsewhere. */
static struct ss_op *op_linear(struct ss_ops *ops, const char *name, const struct ss_shape *s, double n,
                               double k, int role, int precision, int bias)
{
    struct ss_op *op = op_add(ops, name, SS_OP_GEMM);
    op->m = s->tokens;
    op->n = n;
    op->k = k;
    op->role = role;
    op->precision = precision;
    op->gemm_params = n * k;
    op->params = n * k + (bias ? n : 0);
    op->tensors = bias ? 2 : 1;
    op->forward_flops = 2 * op->m * n * k;
    op->backward_flops = 2 * op->forward_flops;
    op->backward_kernels = 2;
    /* Under sequence parallelism the backward holds whole tensors of width h: the gathered input or gradient
     * (in fp8 its transpose too) and, of a column-parallel layer, the input's gradient before its scatter. */
    if (s->sp > 1 && role != SS_TP_NONE)
        op->working_bytes = s->tokens * s->h * (2 * s->e / (precision == SS_FP8 ? 2 : 1)) +
                            (role == SS_TP_COLUMN ? s->tokens * s->h * s->e : 0);
    return op;
}

static void op_elementwise(struct ss_op *op, double forward_bytes, double backward_bytes, int forward_kernels,
                           int backward_kernels)
{
    op->forward_bytes = forward_bytes;
    op->backward_bytes = backward_bytes;
    op->forward_kernels = forward_kernels;
    op->backward_kernels = backward_kernels;
}

/* Traffic of the fp8 casts and transposes of one linear layer (Transformer Engine). Cast: 2 B read, 1 B
 * written; transpose: 1 B read, 1 B written; of a tensor that is not gathered both are one kernel that
 * reads once. Dynamic scaling (torchao) reads an operand for its largest value, reads it again and writes 1 B: activations
 * and weights in the forward, gradients and both again in the backward. `in`, `out`: width. The norm wrote the input of a column-parallel layer in fp8; the
 * backward transposes it after the gather. A gradient that sequence parallelism splits is cast as a shard. */
static void op_fp8_cast(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack, double in,
                        double out, int role)
{
    struct ss_op *op = op_add(ops, "fp8 cast", SS_OP_ELEMENTWISE);
    double passes = stack->fp8_cast_passes * s->tokens;
    int column = role == SS_TP_COLUMN, gathered = !column && s->sp > 1;
    if (stack->fp8_dynamic > 0) { /* every operand of every GEMM, as a shard where it is gathered */
        double input = s->tokens * in / (column ? s->sp : 1), output = s->tokens * out / (column ? 1 : s->sp);
        op_elementwise(op, stack->fp8_cast_passes * 5 * (input + in * out),
                       stack->fp8_cast_passes * 5 * (output + input + in * out), 4, 6);
        return;
    }
    double gradient = gathered ? 3 * out / s->sp + 2 * out : 4 * out;
    op_elementwise(op, column ? 0 : passes * 4 * in, passes * (gradient + (column ? 2 * in : 0)),
                   column ? 0 : 2, gathered || column ? 3 : 2);
}

/* Do GEMMs keep their input in 1 byte for the backward? */
static int saved_in_fp8(const struct ss_shape *s, const struct ss_stack *stack)
{
    return s->gemm_precision == SS_FP8 && s->te && stack->fp8_dynamic <= 0;
}

/* The input of a column-parallel layer as it is kept: its shard, or gathered. */
static double kept_input(const struct ss_shape *s, const struct ss_stack *stack, double element)
{
    return s->tokens * s->h / (stack->saves_gathered > 0 ? 1 : s->sp) * element;
}

static void norm_add(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack,
                     const char *name)
{
    int narrow = saved_in_fp8(s, stack);
    double x = s->tokens * s->h / s->sp;
    struct ss_op *op = op_add(ops, name, SS_OP_ELEMENTWISE);
    /* Forward reads x and writes the norm (in fp8 when the GEMM wants it); backward reads x and the
     * gradient and writes one; without Transformer Engine the weight's gradient is a kernel that reads both
     * again. */
    op_elementwise(op, x * (s->e + (narrow ? 1 : s->e)), x * (s->te ? 3 : 5) * s->e, 1, 2);
    op->tensors = s->norm_is_layernorm ? 2 : 1;
    op->params = s->h * op->tensors;
    /* Kept: the norm's input and, for the weight gradient of the GEMM behind it, its output. */
    op->saved_bytes = x * s->e + kept_input(s, stack, narrow ? 1 : s->e) + 4 * s->tokens / s->sp;
}

/* Residual add with bias and dropout, which keeps a 1-byte mask unless it drops nothing. Backward: the mask
 * applied, and the two branches' gradients added. */
static void residual_add(struct ss_ops *ops, const struct ss_shape *s)
{
    double x = s->tokens * s->h / s->sp, mask = s->hidden_dropout > 0;
    struct ss_op *op = op_add(ops, "residual", SS_OP_ELEMENTWISE);
    op_elementwise(op, x * (3 * s->e + mask), x * (3 * s->e + mask * (2 * s->e + 1)), 1, 2);
    op->saved_bytes = x * mask;
}

static void attention_add(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack)
{
    struct ss_op *op = op_add(ops, "core attention", SS_OP_ATTENTION);
    double square = s->tokens * s->sequence * s->heads; /* elements of the score matrices */
    op->core_attention = 1;
    op->saved_bytes = s->tokens * (s->heads + 2 * s->groups) * s->d * s->e /* Q K V */
                      + s->tokens * s->heads * s->d * s->e; /* output, input of the projection */
    if (s->attention != SS_ATTENTION_UNFUSED) {
        op->forward_flops = 4 * square * s->d / 2; /* causal half */
        op->backward_flops = 2.5 * op->forward_flops;
        op->backward_kernels = 3;
        op->core_bytes = 4 * s->tokens * s->heads; /* softmax statistics */
        if (s->cp_gathers)                         /* whole K and V, and in the backward their gradients */
            op->working_bytes = 4 * s->cp * s->tokens * s->groups * s->d * s->e;
        return;
    }
    /* Q K^T, scale + mask + softmax, dropout, P V over the full square. */
    op->forward_flops = 4 * square * s->d;
    op->backward_flops = 2 * op->forward_flops;
    op->forward_bytes = square * s->e * stack->unfused_passes_fwd;
    op->backward_bytes = square * s->e * stack->unfused_passes_bwd;
    op->forward_kernels = s->attention_dropout > 0 ? 4 : 3;
    op->backward_kernels = s->attention_dropout > 0 ? 6 : 5;
    /* Softmax output, and with dropout its mask and its output (Korthikanti et al. 2022, 5 a s / h). */
    op->core_bytes = square * (s->e + (s->attention_dropout > 0 ? 1 + s->e : 0));
    /* Gradient of the softmax output; the fused backward of 16 bit works in it, the one of fp32 writes another. */
    op->working_bytes = square * s->e * (s->e == 4 ? 2 : 1);
}

/* Copies between the layouts of the GEMMs and of attention. Transformer Engine: Q and V of the joint QKV made
 * contiguous; older layers: the context, its gradient, and the gradients of Q, K and V joined. */
static void layout_add(struct ss_ops *ops, const struct ss_shape *s)
{
    double q = s->tokens * s->heads * s->d, kv = s->tokens * s->groups * s->d, copy = 2 * s->e;
    struct ss_op *op = op_add(ops, "layout", SS_OP_ELEMENTWISE);
    if (s->te)
        op_elementwise(op, copy * (q + kv), 0, 2, 0);
    else
        op_elementwise(op, copy * q, copy * (2 * q + 2 * kv), 1, 2);
}

/* Activation of the MLP. A gated one's backward computes both halves and joins them with a copy. */
static void activation_add(struct ss_ops *ops, const struct ss_shape *s, double fc1)
{
    double joined = s->gated ? 2 * fc1 : 0;
    op_elementwise(op_add(ops, "activation", SS_OP_ELEMENTWISE), s->tokens * (fc1 + s->ffn) * s->e,
                   s->tokens * (2 * fc1 + s->ffn + joined) * s->e, 1, s->gated ? 2 : 1);
}

/* Sums over the tokens of the output gradients of the layer's linear layers: the bias gradients, which
 * Transformer Engine forms in its GEMMs and casts. They belong to operators that are counted elsewhere. */
static void bias_gradients_add(struct ss_ops *ops, const struct ss_shape *s, double columns)
{
    double split = 2 * s->h / s->sp;
    op_elementwise(op_add(ops, "bias gradients", SS_OP_ELEMENTWISE), 0, s->tokens * (columns + split) * s->e, 0,
                   0);
}

/* Columns of the joint Q, K and V, and of FC1: both halves of a gated MLP. */
static double qkv_columns(const struct ss_shape *s)
{
    return (s->heads + 2 * s->groups) * s->d;
}

static double fc1_columns(const struct ss_shape *s)
{
    return s->ffn * (s->gated ? 2 : 1);
}

/* From the input norm to the residual. */
static void attention_block(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack)
{
    int p = s->gemm_precision, fp8 = p == SS_FP8;
    double qkv = qkv_columns(s), a = s->heads * s->d;
    norm_add(ops, s, stack, "input norm");
    if (fp8)
        op_fp8_cast(ops, s, stack, s->h, qkv, SS_TP_COLUMN);
    op_linear(ops, "qkv", s, qkv, s->h, SS_TP_COLUMN, p, s->qkv_bias || s->linear_bias);
    if (s->rope) {
        double qk = s->tokens * (s->heads + s->groups) * s->d * s->e * 2 * stack->rope_passes;
        op_elementwise(op_add(ops, "rope", SS_OP_ELEMENTWISE), qk, qk, 2, 2);
    }
    layout_add(ops, s);
    attention_add(ops, s, stack);
    if (fp8)
        op_fp8_cast(ops, s, stack, a, s->h, SS_TP_ROW);
    struct ss_op *op = op_linear(ops, "projection", s, s->h, a, SS_TP_ROW, p, s->linear_bias);
    op->saved_bytes = saved_in_fp8(s, stack) ? s->tokens * a : 0; /* in 16 bit attention already keeps it */
    residual_add(ops, s);
}

/* From the MLP's norm to the residual. */
static void mlp_block(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack)
{
    int p = s->gemm_precision, fp8 = p == SS_FP8;
    double fc1 = fc1_columns(s);
    norm_add(ops, s, stack, "mlp norm");
    if (fp8)
        op_fp8_cast(ops, s, stack, s->h, fc1, SS_TP_COLUMN);
    struct ss_op *op = op_linear(ops, "fc1", s, fc1, s->h, SS_TP_COLUMN, p, s->linear_bias);
    op->saved_bytes = s->tokens * fc1 * s->e; /* input of the activation function */
    activation_add(ops, s, fc1);
    if (fp8)
        op_fp8_cast(ops, s, stack, s->ffn, s->h, SS_TP_ROW);
    op = op_linear(ops, "fc2", s, s->h, s->ffn, SS_TP_ROW, p, s->linear_bias);
    op->saved_bytes = s->tokens * s->ffn * (saved_in_fp8(s, stack) ? 1 : s->e);
    /* Gradients of the activation's output and, unless it takes the input's place, input, when this GEMM's own input is
     * free again. */
    op->working_bytes =
        fmax(op->working_bytes,
             s->tokens * (s->ffn + (stack->inplace_activation > 0 ? 0 : fc1)) * s->e - op->saved_bytes);
    residual_add(ops, s);
}

static void dense_build(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack)
{
    attention_block(ops, s, stack);
    mlp_block(ops, s, stack);
    if (s->linear_bias && !s->te)
        bias_gradients_add(ops, s, qkv_columns(s) + fc1_columns(s));
}

static void embedding_build(struct ss_ops *ops, const struct ss_shape *s)
{
    double x = s->tokens * s->h;
    struct ss_op *op = op_add(ops, "embedding", SS_OP_ELEMENTWISE);
    /* Look-up, and scatter-add of fp32 gradients in the backward. */
    op_elementwise(op, x * s->e * (s->positions > 0 ? 5 : 2), x * (s->e + 8), s->positions > 0 ? 3 : 1, 2);
    op->params = s->vocab * s->h + s->positions * s->h;
    op->tensors = s->positions > 0 ? 2 : 1;
    op->saved_bytes = 8 * s->tokens + (s->hidden_dropout > 0 ? x / s->sp : 0);
}

static void loss_build(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack)
{
    double logits = s->tokens * s->vocab;
    struct ss_op *op;
    norm_add(ops, s, stack, "final norm");
    ops->op[ops->n - 1].saved_bytes = s->tokens * s->h / s->sp * s->e + kept_input(s, stack, s->e);
    op = op_linear(ops, "logits", s, s->vocab, s->h, SS_TP_COLUMN, s->storage_precision, 0);
    op->gemm_params = 0; /* Megatron's own layer: stays in 16 bit under fp8 */
    if (s->tied)
        op->params = op->tensors =
            0; /* counted by the embedding where they share a stage; the plan adds the copy else */
    op = op_add(ops, "cross entropy", SS_OP_ELEMENTWISE);
    op_elementwise(op, logits * stack->loss_fwd_bytes, logits * stack->loss_bwd_bytes, 12, 4);
    /* 16-bit logits and their fp32 copy, in which the softmax works in place; the gradient is cast back. */
    double kept = stack->fused_cross_entropy || s->e == 4 ? s->e : s->e + 4;
    op->saved_bytes = logits * kept;
    double peak = s->tp > 1 && stack->loss_parallel_peak_bytes > 0 ? stack->loss_parallel_peak_bytes
                                                                   : stack->loss_peak_bytes;
    op->working_bytes = logits * (kept > s->e ? fmax(s->e, peak - kept) : s->e);
    if (stack->fused_linear_loss > 0) { /* gradients of input and weight, made in the forward; logits of a piece */
        op->saved_bytes = (s->tokens + s->vocab) * s->h * s->e;
        op->working_bytes = s->tokens * s->h * s->e;
    }
}

int ss_ops_build(const struct ss_shape *s, const struct ss_stack *stack, int layer_kind, struct ss_ops *out,
                 struct ss_error *err)
{
    out->n = 0;
    switch (layer_kind) {
    case SS_LAYER_EMBEDDING: embedding_build(out, s); return SS_OK;
    case SS_LAYER_DENSE: dense_build(out, s, stack); return SS_OK;
    case SS_LAYER_LOSS: loss_build(out, s, stack); return SS_OK;
    default: return ss_fail(err, SS_ERR_UNSUPPORTED, NULL, 0, "this kind of layer is not modelled");
    }
}

double ss_ops_params(const struct ss_ops *ops)
{
    double sum = 0;
    for (int i = 0; i < ops->n; i++)
        sum += ops->op[i].params;
    return sum;
}

int ss_ops_tensors(const struct ss_ops *ops)
{
    int sum = 0;
    for (int i = 0; i < ops->n; i++)
        sum += ops->op[i].tensors;
    return sum;
}

double ss_ops_largest_params(const struct ss_ops *ops)
{
    double most = 0;
    for (int i = 0; i < ops->n; i++)
        most = fmax(most, ops->op[i].params);
    return most;
}

double ss_ops_gemm_params(const struct ss_ops *ops)
{
    double sum = 0;
    for (int i = 0; i < ops->n; i++)
        sum += ops->op[i].gemm_params;
    return sum;
}

double ss_ops_saved_bytes(const struct ss_ops *ops, int selective_recompute)
{
    double sum = 0;
    for (int i = 0; i < ops->n; i++)
        sum += ops->op[i].saved_bytes + (selective_recompute ? 0 : ops->op[i].core_bytes);
    return sum;
}

double ss_ops_weight_grad_bytes(const struct ss_ops *ops, const struct ss_shape *s)
{
    double sum = 0;
    for (int i = 0; i < ops->n; i++) {
        const struct ss_op *op = &ops->op[i];
        if (op->kind != SS_OP_GEMM)
            continue;
        double in = op->m * op->k / (op->role == SS_TP_COLUMN ? s->sp : 1);
        double gradient = op->m * op->n / (op->role == SS_TP_ROW ? s->sp : 1);
        sum += (in + gradient) * (op->precision == SS_FP8 ? 1 : s->e);
    }
    return sum;
}

double ss_ops_working_bytes(const struct ss_ops *ops)
{
    double most = 0;
    for (int i = 0; i < ops->n; i++)
        most = fmax(most, ops->op[i].working_bytes);
    return most;
}
