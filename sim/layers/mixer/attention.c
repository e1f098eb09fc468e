/* SPDX-License-Identifier: Apache-2.0 */
/* Attention from queries, keys and values to the residual; every mixer of attention uses it. */
#include <math.h>

#include "job/packing.h"
#include "layers/attention.h"
#include "stepsim/job_kinds.h"
#include "stepsim/precision.h"

#define CORE_ATTN SS_OFFLOAD_BIT(SS_OFFLOAD_CORE_ATTN)
#define ATTN_PROJ SS_OFFLOAD_BIT(SS_OFFLOAD_ATTN_PROJ)

/* Returns the length of the causal sequence in which queries see equally many keys on average. A query at
 * position i of its document sees min(i, window) keys, or those of its chunk. In an encoder it sees the keys behind it, too. */
static double keys_seen(const struct ss_shape *s, const struct ss_heads *a)
{
    if (s->encoder)
        return 2 * (a->chunk > 0 ? a->chunk : s->sequence);
    return s->packing ? ss_packing_keys(s->packing, a->window, a->chunk)
                      : ss_document_keys(s->sequence, a->window, a->chunk);
}

/* Transformer Engine makes the mask: positions of queries and keys, their distance (4 B written), both ends
 * of the window (8 each), two comparisons (5 each), and flags negated, joined and negated (2, 3, 2). It has
 * no gradients, so the calls are without autograd. */
enum { MASK_BYTES = 4 + 8 + 8 + 5 + 5 + 2 + 3 + 2, MASK_KERNELS = 10 };

/* Prices Q K^T, scale + mask + softmax, dropout and P V over the full square, even where a window masks most
 * of it. */
static void unfused(struct ss_ops *ops, struct ss_op *op, const struct ss_shape *s, const struct ss_heads *a)
{
    double square = s->tokens * s->sequence * a->heads; /* elements of the score matrices */
    op->attention.keys = s->sequence;
    op->forward_flops = 2 * square * (a->d + a->d_v);
    op->backward_flops = 2 * op->forward_flops;
    op->forward_bytes = square * s->e * (s->e < 4 ? s->stack->unfused_passes_fwd : s->stack->fp32_passes_fwd);
    op->backward_bytes =
        square * s->e * (s->e < 4 ? s->stack->unfused_passes_bwd : s->stack->fp32_passes_bwd);
    op->forward_kernels = s->attention_dropout > 0 ? 4 : 3;
    op->backward_kernels = s->attention_dropout > 0 ? 6 : 5;
    ss_op_strided(op, s->stack->unfused_strided * square, s->stack->unfused_strided * square, 2 * s->e);
    op->forward_bytes += s->stack->unfused_mask_bytes * s->tokens * s->sequence;
    /* Transformer Engine's scores and the softmax's output; Megatron's own scores are in a buffer that stays */
    op->forward_fresh = (1 + (s->stack->unfused_te > 0)) * square * s->e;
    /* The mask is one square for the whole batch; gradients of Q and K are read and written. */
    if (s->stack->unfused_te > 0) {
        op->forward_bytes +=
            MASK_BYTES * s->sequence * s->sequence + 2 * s->e * s->tokens * a->heads * a->d_v;
        op->backward_bytes += 2 * 2 * s->e * s->tokens * a->heads * a->d;
        op->forward_kernels++;
        op->forward_launches = MASK_KERNELS;
        op->backward_kernels += 2;
    }
    /* It keeps the softmax output and, with dropout, its mask and its output (Korthikanti et al. 2022, 5 a s
     * / h). */
    op->redone_bytes = square * (s->e + (s->attention_dropout > 0 ? 1 + s->e : 0));
    /* The backward holds the gradient of the softmax output; the fused kernel of 16 bit works in place, that
     * of fp32 writes another tensor. */
    op->working_bytes = square * s->e * (s->e == 4 ? 2 : s->stack->unfused_held);
    if (s->model->attention_softcap > 0) { /* division, tanh, which keeps its output, and multiplication */
        op->forward_bytes += 6 * square * s->e;
        op->backward_bytes += 7 * square * s->e;
        op->forward_kernels += 3;
        op->backward_kernels += 3;
        op->redone_bytes += square * s->e;
    }
    ss_op_offers(ops, op, CORE_ATTN, square, op->redone_bytes / square)->is_output = 1;
}

/* Returns whether the projection keeps its own cast input; a 16-bit input is kept by attention already. */
static int projection_keeps(const struct ss_shape *s)
{
    return ss_op_saved_in_fp8(s) && !ss_op_kept_in_fp8(s) && !ss_op_casts_again(s);
}

static void offer_qkv(struct ss_ops *ops, const struct ss_op *op, const struct ss_shape *s,
                      const struct ss_heads *a)
{
    ss_op_offers(ops, op, CORE_ATTN, s->tokens * a->heads * a->d, s->e);
    ss_op_offers(ops, op, CORE_ATTN, s->tokens * a->groups * a->d, s->e);
    ss_op_offers(ops, op, CORE_ATTN, s->tokens * a->groups * a->d_v, s->e);
}

/* Returns what the group moves. A ring moves K and V in steps, a gather at once, both with their gradients in
 * the backward. An all-to-all of heads and tokens moves everything; in the backward the output and its
 * gradient, then the gradients of Q, K and V. */
static struct ss_op_context context_of(const struct ss_shape *s, const struct ss_heads *a)
{
    double kv = s->tokens * a->groups * (a->d + a->d_v) * s->e, q = s->tokens * a->heads * a->d * s->e,
           o = s->tokens * a->heads * a->d_v * s->e;
    if (s->cp <= 1)
        return (struct ss_op_context){0};
    if (s->cp_comm == SS_CP_A2A)
        return (struct ss_op_context){SS_COLL_ALL_TO_ALL, kv + q + o, kv + q + 2 * o};
    if (s->cp_comm == SS_CP_ALLGATHER)
        return (struct ss_op_context){SS_COLL_ALL_GATHER, kv * s->cp, 2 * kv * s->cp};
    return (struct ss_op_context){SS_COLL_RING_STEP, kv, 2 * kv};
}

static struct ss_op_attention sizes(const struct ss_shape *s, const struct ss_heads *a)
{
    int whole = s->cp_comm == SS_CP_A2A; /* a rank sees all tokens of some of the heads */
    return (struct ss_op_attention){
        .kernel = s->attention,
        .fp8 = s->fp8_attention,
        .heads = a->heads,
        .groups = a->groups,
        .d = a->d,
        .d_v = a->d_v,
        .tokens = s->tokens,
        .sequence = s->sequence,
        .queries = whole ? s->sequence : s->chunk,
        .document = whole ? s->document : s->document / s->cp,
        .context = context_of(s, a),
    };
}

/* Prices a flash or fused kernel. */
static void fused(struct ss_ops *ops, struct ss_op *op, const struct ss_shape *s, const struct ss_heads *a)
{
    struct ss_op_attention *at = &op->attention;
    const struct ss_heads all = {0};
    double statistics = s->tokens * a->heads; /* statistics of the softmax, in fp32 */
    at->keys = keys_seen(s, a);
    at->most_keys = s->encoder ? at->keys / 2 : a->window > 0 ? fmin(a->window, at->keys) : at->keys;
    at->keys_backward = s->fp8_attention ? keys_seen(s, &all) : at->keys;
    op->forward_flops = 2 * s->tokens * at->keys * a->heads * (a->d + a->d_v) / 2; /* causal half */
    /* The backward computes the scores again, the gradients of Q and K in d, and those of the probabilities
     * and of V in d_v. */
    op->backward_flops =
        (3 * a->d + 2 * a->d_v) / (a->d + a->d_v) * op->forward_flops * at->keys_backward / at->keys;
    op->backward_kernels = 3;
    op->redone_bytes = 4 * statistics;
    if (s->deterministic && s->attention == SS_ATTENTION_FUSED && s->stack->fused_deterministic <= 0)
        op->working_bytes =
            2 * s->tokens * s->sequence * a->heads; /* cuDNN on Hopper: the gradient of the scores */
    ss_op_offers(ops, op, CORE_ATTN, statistics, 4)->is_output = 1;
}

/* Fills the shares of the square that other counts of FLOP take. */
static void count_scores(struct ss_op_attention *at, const struct ss_shape *s, const struct ss_heads *a)
{
    const struct ss_heads all = {0};
    double keys = keys_seen(s, a), square = keys_seen(s, &all);
    at->seen = keys / square / (s->encoder ? 1 : 2);
    at->bounded = (a->window > 0 ? fmin(a->window, keys) : keys) / square;
}

/* Returns the bytes that copies and views of PyTorch's tensors keep beside Q, K, V and the output. A view keeps
 * the whole of the tensor that it is a part of. */
static double kept_beside(const struct ss_shape *s, const struct ss_heads *a)
{
    double part = s->tokens * a->heads * a->d * s->e, joined = s->stack->keeps_joined;
    int flash = s->attention != SS_ATTENTION_UNFUSED;
    int views = a->heads == a->groups && (joined > 1 ? flash || s->micro_batch <= 1 : joined > 0);
    int twice = flash && s->stack->context_twice > 0 && s->micro_batch > 1;
    return part * (2 * views + twice);
}

/* Appends the attention kernel. It keeps its output, the input of the projection, and Q, K and V unless
 * earlier operators keep them. */
static void core(struct ss_ops *ops, const struct ss_shape *s, const struct ss_heads *a, int kept)
{
    struct ss_op *op = ss_op_add(ops, "core attention", SS_OP_ATTENTION);
    double groups = s->stack->repeats_kv > 0 ? a->heads : a->groups;
    double q = s->tokens * a->heads * a->d, kv = s->tokens * groups * (a->d + a->d_v);
    double out = s->tokens * a->heads * a->d_v, width = ss_op_kept_in_fp8(s) ? 1.5 : s->e;
    op->attention = sizes(s, a);
    count_scores(&op->attention, s, a);
    op->modules = SS_MODULE_BIT(SS_MODULE_CORE_ATTN);
    op->host_waits = s->stack->attention_waits > 0;
    op->model_flops = 2 * s->tokens * s->sequence * a->heads * (a->d + a->d_v);
    if (!kept)
        offer_qkv(ops, op, s, a);
    ss_op_offers(ops, op, CORE_ATTN | (projection_keeps(s) ? 0 : ATTN_PROJ), out, width);
    if (s->model->attention_sinks > 0) {
        op->params = a->heads;
        op->tensors = 1;
    }
    if (s->attention == SS_ATTENTION_UNFUSED)
        unfused(ops, op, s, a);
    else
        fused(ops, op, s, a);
    op->saved_bytes = (kept ? 0 : q + kv) * s->e + out * width + op->redone_bytes + kept_beside(s, a);
    /* all of K and V, and in the backward their gradients */
    if (s->attention != SS_ATTENTION_UNFUSED && op->attention.context.coll == SS_COLL_ALL_GATHER && s->cp > 1)
        op->working_bytes += 2 * s->cp * kv * s->e;
    op->operator_bytes = s->tokens * a->heads * (a->d_v * s->e + 4); /* its output and the statistics */
}

/* Appends the casts for mxfp8: queries, keys and values are quantized by rows and by columns, as operands of
 * GEMMs are, and so is the gradient of the output. */
static void cast(struct ss_ops *ops, const struct ss_shape *s, const struct ss_heads *a)
{
    double qkv = s->tokens * (a->heads * a->d + a->groups * (a->d + a->d_v)),
           element = s->e + 2 * s->quantized;
    if (s->fp8_attention)
        ss_op_kernels(ops, "attention cast", element * qkv, element * s->tokens * a->heads * a->d_v, 3, 1);
}

/* Appends the product of the output and the sigmoid of a gate a channel, which Megatron core's _apply_output_gate fuses. A gate of
 * the joint layer is copied first; latent attention has a layer for it. The product keeps the gate, and itself for the projection. */
static void gate(struct ss_ops *ops, const struct ss_shape *s, const struct ss_heads *a, int latent)
{
    double out = a->heads * a->d_v, pass = s->tokens * out * s->e;
    if (s->model->attention_gate <= 0)
        return;
    if (latent)
        ss_op_linear(ops, "gate", s, out, s->h, SS_TP_COLUMN, s->gemm_precision, 0);
    ss_op_kernels(ops, "output gate", (latent ? 3 : 5) * pass, 5 * pass, latent ? 1 : 2, 1)->saved_bytes =
        pass + (ss_op_saved_in_fp8(s) ? 0 : pass);
}

void ss_op_attention(struct ss_ops *ops, const struct ss_shape *s, const struct ss_heads *a, int kept)
{
    double out = a->heads * a->d_v;
    cast(ops, s, a);
    core(ops, s, a, kept);
    gate(ops, s, a, kept);
    if (ss_precision_is_quantized(s->gemm_precision))
        ss_op_fp8_cast(ops, s, out, s->h, SS_TP_ROW, SS_CAST_OF_KEPT);
    struct ss_op *op =
        ss_op_linear(ops, "projection", s, s->h, out, SS_TP_ROW, s->gemm_precision, s->out_bias);
    op->saved_bytes = projection_keeps(s) ? s->tokens * out * s->quantized : 0;
    if (projection_keeps(s))
        ss_op_offers(ops, op, ATTN_PROJ, s->tokens * out, s->quantized);
    ss_op_scattered(ops, s);
    if (s->model->parallel_residual <= SS_RESIDUAL_SERIAL)
        ss_op_branch_end(ops, s, "attention post norm");
}
