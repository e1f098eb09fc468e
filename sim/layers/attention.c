/* SPDX-License-Identifier: Apache-2.0 */
/* The attention block of transformer layers. */
#include <math.h>

#include "job/packing.h"
#include "layers/operators.h"
#include "stepsim/job_kinds.h"
#include "stepsim/model.h"

/* Length of the causal sequence in which queries see as many keys on average. A local query at position i of its document sees
 * min(i, window) of them, or those of its chunk. */
static double keys_seen(const struct ss_shape *s, int local)
{
    double window = local ? s->window : 0, chunk = local ? s->attention_chunk : 0;
    return s->packing ? ss_packing_keys(s->packing, window, chunk)
                      : ss_document_keys(s->sequence, window, chunk);
}

/* Of the mask that Transformer Engine makes: positions of queries and keys, their distance (4 B written), both ends of the window (8
 * each), two comparisons (5 each), and flags negated, joined and negated (2, 3, 2); no gradients, so calls without autograd. */
enum { MASK_BYTES = 4 + 8 + 8 + 5 + 5 + 2 + 3 + 2, MASK_KERNELS = 10 };

/* Q K^T, scale + mask + softmax, dropout, P V over the full square, also where a window masks most of it. */
static void unfused(struct ss_op *op, const struct ss_shape *s, const struct ss_stack *stack)
{
    double square = s->tokens * s->sequence * s->heads; /* elements of the score matrices */
    op->keys = s->sequence;
    op->forward_flops = 2 * square * (s->d + s->d_v);
    op->backward_flops = 2 * op->forward_flops;
    op->forward_bytes = square * s->e * (s->e < 4 ? stack->unfused_passes_fwd : stack->fp32_passes_fwd);
    op->backward_bytes = square * s->e * (s->e < 4 ? stack->unfused_passes_bwd : stack->fp32_passes_bwd);
    op->forward_kernels = s->attention_dropout > 0 ? 4 : 3;
    op->backward_kernels = s->attention_dropout > 0 ? 6 : 5;
    /* Of the mask one square, whatever the batch; gradients of Q and K are read and written. */
    if (stack->unfused_te > 0) {
        op->forward_bytes +=
            MASK_BYTES * s->sequence * s->sequence + 2 * s->e * s->tokens * s->heads * s->d_v;
        op->backward_bytes += 2 * 2 * s->e * s->tokens * s->heads * s->d;
        op->forward_kernels++;
        op->forward_launches = MASK_KERNELS;
        op->backward_kernels += 2;
    }
    /* Softmax output, and with dropout its mask and its output (Korthikanti et al. 2022, 5 a s / h). */
    op->core_bytes = square * (s->e + (s->attention_dropout > 0 ? 1 + s->e : 0));
    /* Gradient of the softmax output; the fused backward of 16 bit works in it, the one of fp32 writes another. */
    op->working_bytes = square * s->e * (s->e == 4 ? 2 : 1);
    if (s->model->attention_softcap > 0) { /* division, tanh, which keeps its output, and multiplication */
        op->forward_bytes += 6 * square * s->e;
        op->backward_bytes += 7 * square * s->e;
        op->forward_kernels += 3;
        op->backward_kernels += 3;
        op->core_bytes += square * s->e;
    }
}

#define QKV_LINEAR SS_OFFLOAD_BIT(SS_OFFLOAD_QKV_LINEAR)
#define CORE_ATTN SS_OFFLOAD_BIT(SS_OFFLOAD_CORE_ATTN)
#define ATTN_PROJ SS_OFFLOAD_BIT(SS_OFFLOAD_ATTN_PROJ)

/* Whether the projection keeps a cast input of its own: in 16 bit attention keeps it already. */
static int projection_keeps(const struct ss_shape *s, const struct ss_stack *stack)
{
    return ss_op_saved_in_fp8(s, stack) && !ss_op_kept_in_fp8(s, stack) && !ss_op_casts_again(s, stack);
}

static void offer_qkv(struct ss_ops *ops, const struct ss_op *op, const struct ss_shape *s)
{
    ss_op_offers(ops, op, CORE_ATTN, s->tokens * s->heads * s->d, s->e);
    ss_op_offers(ops, op, CORE_ATTN, s->tokens * s->groups * s->d, s->e);
    ss_op_offers(ops, op, CORE_ATTN, s->tokens * s->groups * s->d_v, s->e);
}

/* Keeps its output, the input of the projection, and Q, K and V, which `kept_before` says the up-projections keep. */
static void attention_add(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack,
                          int local, int kept_before)
{
    struct ss_op *op = ss_op_add(ops, "core attention", SS_OP_ATTENTION);
    double groups = stack->repeats_kv > 0 ? s->heads : s->groups;
    double q = s->tokens * s->heads * s->d, kv = s->tokens * groups * (s->d + s->d_v);
    double out = s->tokens * s->heads * s->d_v, width = ss_op_kept_in_fp8(s, stack) ? 1.5 : s->e;
    op->module = SS_MODULE_BIT(SS_MODULE_CORE_ATTN);
    op->saved_bytes = (kept_before ? 0 : q + kv) * s->e + out * width;
    if (!kept_before)
        offer_qkv(ops, op, s);
    ss_op_offers(ops, op, CORE_ATTN | (projection_keeps(s, stack) ? 0 : ATTN_PROJ), out, width);
    if (s->model->attention_sinks > 0) {
        op->params = s->heads;
        op->tensors = 1;
    }
    if (s->attention == SS_ATTENTION_UNFUSED) {
        unfused(op, s, stack);
        double square = s->tokens * s->sequence * s->heads;
        ss_op_offers(ops, op, CORE_ATTN, square, op->core_bytes / square)->made = 1;
        return;
    }
    op->keys = keys_seen(s, local);
    op->most_keys = local && s->window > 0 ? fmin(s->window, op->keys) : op->keys;
    op->keys_backward = s->fp8_attention ? keys_seen(s, 0) : op->keys;
    op->forward_flops = 2 * s->tokens * op->keys * s->heads * (s->d + s->d_v) / 2; /* causal half */
    /* Scores again, and the gradients of Q and K in d; those of the probabilities and of V in d_v. */
    op->backward_flops =
        (3 * s->d + 2 * s->d_v) / (s->d + s->d_v) * op->forward_flops * op->keys_backward / op->keys;
    op->backward_kernels = 3;
    op->core_bytes = 4 * s->tokens * s->heads; /* softmax statistics */
    ss_op_offers(ops, op, CORE_ATTN, s->tokens * s->heads, 4)->made = 1;
    if (s->cp_gathers) /* whole K and V, and in the backward their gradients */
        op->working_bytes = 2 * s->cp * kv * s->e;
}

/* In mxfp8 queries, keys and values are quantized by rows and by columns, as operands of GEMMs are, and so is the gradient of the
 * output. */
static void attention_cast(struct ss_ops *ops, const struct ss_shape *s)
{
    double qkv = s->tokens * (s->heads * s->d + s->groups * (s->d + s->d_v)),
           element = s->e + 2 * s->quantized;
    if (s->fp8_attention)
        ss_op_elementwise(ss_op_add(ops, "attention cast", SS_OP_ELEMENTWISE), element * qkv,
                          element * s->tokens * s->heads * s->d_v, 3, 1);
}

/* ---- queries, keys and values from one joint layer ---- */

/* Transformer Engine takes Q, K and V as they lie in the joint QKV where nothing was made of one of them (sbh3d). Else it wants V
 * contiguous, too, and where heads share keys Q is a copy, for its groups do not lie one behind another; the gradients are joined by
 * torch.cat (SplitAlongDim), an element at a time until PyTorch 2.8. */
static void te_layout(struct ss_op *op, const struct ss_shape *s, const struct ss_stack *stack, double q,
                      double kv)
{
    int shared = s->heads > s->groups, apart = shared || s->rope || s->model->qk_norm > SS_QK_NORM_NONE;
    double forward = (shared ? q : 0) + (apart ? kv : 0), backward = apart ? q + 2 * kv : 0, copy = 2 * s->e;
    ss_op_elementwise(op, copy * forward, copy * backward, shared + apart, apart);
    ss_op_strided(op, forward, stack->wide_cat > 0 ? 0 : backward, copy);
}

/* Copies between the layouts of the GEMMs and of attention: none where its kernel takes strides, as PyTorch's, but those of
 * repeated keys and values. Layers before Transformer Engine's: the context, its gradient, and the gradients of Q, K and V joined. Each
 * is strided. */
static void layout_add(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack)
{
    double q = s->tokens * s->heads * s->d, kv = s->tokens * s->groups * s->d, copy = 2 * s->e;
    struct ss_op *op = ss_op_add(ops, "layout", SS_OP_ELEMENTWISE);
    if (stack->repeats_kv > 0 && s->heads > s->groups) { /* expanded, and gradients added up */
        ss_op_elementwise(op, s->e * 2 * (kv + q), s->e * 2 * (kv + q), 2, 2);
    } else if (stack->split_linear > 0) {
        ss_op_elementwise(op, 0, 0, 0, 0);
    } else if (s->te) {
        te_layout(op, s, stack, q, kv);
    } else {
        ss_op_elementwise(op, copy * q, copy * (2 * q + 2 * kv), 1, 2);
        ss_op_strided(op, q, 2 * q + 2 * kv, copy);
    }
}

/* Norms of queries and keys, each of every head or of all at once, whose inputs are kept beside what attention keeps. */
static void qk_norm_add(struct ss_ops *ops, const struct ss_shape *s)
{
    double x = s->tokens * (s->heads + s->groups) * s->d;
    int mode = s->model->qk_norm, a_head = mode != SS_QK_NORM_WIDTH;
    if (mode <= SS_QK_NORM_NONE)
        return;
    struct ss_op *op =
        ss_op_norm_of(ops, s, "qk norm", x, a_head ? 2 * s->d : (s->heads + s->groups) * s->d, s->e);
    op->tensors *= 2;
    if (mode == SS_QK_NORM_PLAIN)
        op->params = op->tensors = 0;
    op->forward_kernels = 2;
    op->backward_kernels = 4;
    op->saved_bytes = x * s->e + 4 * s->tokens * (a_head ? s->heads + s->groups : 2);
    ss_op_offers(ops, op, QKV_LINEAR, s->tokens * s->heads * s->d, s->e);
    ss_op_offers(ops, op, QKV_LINEAR, s->tokens * s->groups * s->d, s->e);
}

double ss_op_qkv_columns(const struct ss_shape *s)
{
    return (s->heads + 2 * s->groups) * s->d;
}

/* YaRN scales sines and cosines, which Transformer Engine's fused kernel cannot, so that Megatron core turns queries and keys in
 * PyTorch's operators, each reading or writing them once or, a half of a head's channels, half: two products (4), minus and the
 * halves put together (1 + 2), their sum (3), and together with the channels that are not turned, of which there are none (2).
 * Backward the products (4), halves put together and minus (2 + 1), a sum (3), the slice put into zeros (3), zeros for the empty
 * slice and a sum (1 + 3). Kernels of both. Strided or broadcast are the products, minus and the halves put together: 3.5 elements of
 * each either way. */
enum { YARN_PASSES = 12, YARN_BACKWARD_PASSES = 17, YARN_KERNELS = 12, YARN_BACKWARD_KERNELS = 22 };
#define TURNED_STRIDED 3.5

/* Behind the joint layer. Where Llama 4 attends to all tokens it neither norms nor turns queries and keys, and scales queries by
 * their position; EXAONE 4 norms them there. */
static void turn(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack, int local)
{
    double q = s->tokens * s->heads * s->d * s->e * 2, k = s->tokens * s->groups * s->d * s->e * 2;
    int unturned = s->model->full_unturned > 0 && !local;

    if (unturned && s->model->full_unturned == 1) {
        if (s->model->query_scale > 0)
            ss_op_elementwise(ss_op_add(ops, "query scale", SS_OP_ELEMENTWISE), q, q, 1, 1);
        return;
    }
    qk_norm_add(ops, s);
    if (s->rope && !unturned) { /* also where a part of a head is turned: the rest is copied */
        int apart = s->te && s->model->yarn > 0;
        double qk = q + k, passes = stack->rope_passes;
        double strided = apart ? TURNED_STRIDED * qk / (2 * s->e) : 0;
        struct ss_op *op = ss_op_add(ops, "rope", SS_OP_ELEMENTWISE);
        ss_op_elementwise(op, qk * (apart ? YARN_PASSES / 2. : passes),
                          qk * (apart ? YARN_BACKWARD_PASSES / 2. : passes), apart ? YARN_KERNELS : 2,
                          apart ? YARN_BACKWARD_KERNELS : 2);
        ss_op_strided(op, strided, strided, 2 * s->e);
    }
}

static void joint_qkv(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack, int local)
{
    double qkv = ss_op_qkv_columns(s), q = s->heads * s->d, kv = s->groups * s->d;
    int p = s->gemm_precision;
    ss_op_gathered(ops, s, stack, stack->split_linear > 0 ? 3 : 1);
    if (ss_precision_is_quantized(p))
        ss_op_fp8_cast(ops, s, stack, s->h, qkv, SS_TP_COLUMN, SS_CAST_OF_NORM);
    if (stack->split_linear > 0) {
        ss_op_linear(ops, "q", s, q, s->h, SS_TP_COLUMN, p, s->qkv_bias);
        ss_op_linear(ops, "k", s, kv, s->h, SS_TP_COLUMN, p, s->qkv_bias)->shares_input = 1;
        ss_op_linear(ops, "v", s, kv, s->h, SS_TP_COLUMN, p, s->qkv_bias)->shares_input = 1;
    } else {
        ss_op_linear(ops, "qkv", s, qkv, s->h, SS_TP_COLUMN, p, s->qkv_bias)->queries = q;
    }
    turn(ops, s, stack, local);
    layout_add(ops, s, stack);
}

/* ---- latent attention: Megatron's MLASelfAttention ---- */

/* From the hidden state to a latent of `width`. Every tensor rank has all of the weights and works on its share of the
 * tokens. */
static void down_projection(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack,
                            const char *name, double width)
{
    double own = s->tokens / s->sp;
    if (ss_precision_is_quantized(s->gemm_precision))
        ss_op_cast_rows(ops, s, stack, "fp8 cast", own, s->h, width, s->h * width);
    struct ss_op *op = ss_op_replicated(ops, name, s, width, s->h, s->gemm_precision);
    op->params += s->qkv_bias ? width : 0;
    op->tensors += s->qkv_bias;
    /* where not in fp8, the norm keeps it for all */
    op->saved_bytes =
        ss_op_saved_in_fp8(s, stack) && !ss_op_kept_in_fp8(s, stack) ? own * s->h * s->quantized : 0;
    if (op->saved_bytes > 0)
        ss_op_offers(ops, op, QKV_LINEAR, own * s->h, s->quantized);
}

/* From a latent to the rank's heads, with the norm of the latent, which is kept before the norm and behind it. */
static void up_projection(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack,
                          const char *const names[2], double width, double columns)
{
    double x = s->tokens * width / s->sp, kept = ss_op_saved_in_fp8(s, stack) ? s->quantized : s->e;
    int first = ops->n;
    struct ss_op *op;
    if (s->model->qk_norm > SS_QK_NORM_NONE) {
        op = ss_op_norm_of(ops, s, names[0], x, width, s->fp8_current || s->block_scaled ? s->e : kept);
        op->module_bytes = x * kept + 4 * s->tokens / s->sp;
        op->saved_bytes = x * s->e + op->module_bytes;
        ss_op_offers(ops, op, QKV_LINEAR, x, s->e);
        ss_op_offers(ops, op, QKV_LINEAR, x, kept)->made = 1;
    }
    if (ss_precision_is_quantized(s->gemm_precision))
        ss_op_fp8_cast(ops, s, stack, width, columns, SS_TP_COLUMN,
                       s->model->qk_norm > SS_QK_NORM_NONE ? SS_CAST_OF_NORM : SS_CAST_OF_OWN);
    op = ss_op_linear(ops, names[1], s, columns, width, SS_TP_COLUMN, s->gemm_precision, 0);
    if (s->model->qk_norm <= SS_QK_NORM_NONE) {
        op->saved_bytes = x * s->e;
        ss_op_offers(ops, op, QKV_LINEAR, x, s->e);
    }
    for (int i = first; i < ops->n; i++)
        ops->op[i].module |= SS_MODULE_BIT(SS_MODULE_MLA_UP_PROJ);
}

/* Turns the part with position of queries in place; keys are put together of each head's own part and the one that all
 * heads share, values made contiguous. Keeps Q, K and V for attention. PyTorch's operators of Megatron core's
 * MultiLatentAttention: angles 6, each rotation 9, halves put together and made contiguous 6. Strided are the turned channels as above
 * and once more, for every second one comes first; both parts of queries and of keys put together, and values; backward the
 * gradients of what the up-projections made. */
static void latent_rope(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack)
{
    const struct ss_model *m = s->model;
    double up = m->qk_head_dim + s->d_v, made = s->d + s->d_v, turned = 2 * m->qk_pos_emb_head_dim;
    double bytes = s->tokens * s->heads * (up + made + turned * stack->rope_passes) * s->e;
    int fused = stack->fused_latent_rope > 0;
    double apart = fused ? 0 : s->tokens * s->heads, again = (TURNED_STRIDED + 1) * m->qk_pos_emb_head_dim;
    struct ss_op *op = ss_op_add(ops, "rope", SS_OP_ELEMENTWISE);
    ss_op_elementwise(op, bytes, bytes, fused ? 3 : 30, fused ? 3 : 25);
    ss_op_strided(op, apart * (again + s->d + made), apart * (again + s->d + up), 2 * s->e);
    op->module = SS_MODULE_BIT(SS_MODULE_MLA_UP_PROJ);
    op->saved_bytes = op->module_bytes = s->tokens * s->heads * (2 * s->d + s->d_v) * s->e;
    for (int i = 0; i < 3; i++)
        ss_op_offers(ops, op, CORE_ATTN, s->tokens * s->heads * (i < 2 ? s->d : s->d_v), s->e)->made = 1;
}

static void latent_qkv(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack)
{
    static const char *const q_names[2] = {"q norm", "q up"}, *const kv_names[2] = {"kv norm", "kv up"};
    const struct ss_model *m = s->model;
    double q = s->heads * s->d, kv = s->heads * (m->qk_head_dim + s->d_v);
    if (m->q_lora_rank > 0) {
        down_projection(ops, s, stack, "q down", m->q_lora_rank);
    } else {
        if (ss_precision_is_quantized(s->gemm_precision))
            ss_op_fp8_cast(ops, s, stack, s->h, q, SS_TP_COLUMN, SS_CAST_OF_OWN);
        ss_op_linear(ops, "q", s, q, s->h, SS_TP_COLUMN, s->gemm_precision, 0);
        ops->op[ops->n - 1].module = SS_MODULE_BIT(SS_MODULE_MLA_UP_PROJ);
    }
    down_projection(ops, s, stack, "kv down", m->kv_lora_rank + m->qk_pos_emb_head_dim);
    if (m->q_lora_rank > 0)
        up_projection(ops, s, stack, q_names, m->q_lora_rank, q);
    up_projection(ops, s, stack, kv_names, m->kv_lora_rank, kv);
    latent_rope(ops, s, stack);
}

/* The norm is a module of its own, whose output stays in 16 bit for both down-projections. */
static void latent_norm(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack)
{
    double x = s->tokens * s->h / s->sp, kept = ss_op_kept_in_fp8(s, stack) ? 1 : s->e;
    struct ss_op *op = ss_op_norm_of(ops, s, "input norm", x, s->h, s->e);
    op->module = SS_MODULE_BIT(SS_MODULE_LAYERNORM);
    op->module_bytes = (kept > 1 && ss_precision_is_quantized(s->gemm_precision) && s->te ? 0 : x * kept) +
                       4 * s->tokens / s->sp;
    op->saved_bytes = x * s->e + op->module_bytes;
    ss_op_offers(ops, op, SS_OFFLOAD_BIT(SS_OFFLOAD_ATTN_NORM), x, s->e);
    if (ss_precision_is_quantized(s->gemm_precision) && s->te && kept > 1)
        return;
    /* Two layers keep it; a tensor that is moved twice is two on the host. */
    ss_op_offers(ops, op, QKV_LINEAR, x, kept)->made = 1;
    ss_op_offers(ops, op, QKV_LINEAR, x, kept)->bytes = 0;
}

/* The part of the keys with position, which all heads share, is gathered, and its gradient scattered. */
static void latent_borders(struct ss_ops *ops, const struct ss_shape *s)
{
    double shared = s->tokens * s->model->qk_pos_emb_head_dim * s->e;
    if (s->sp <= 1 || shared <= 0)
        return;
    ss_op_border(ops, s, SS_PHASE_F, SS_COLL_ALL_GATHER, shared);
    ss_op_border(ops, s, SS_PHASE_I, SS_COLL_REDUCE_SCATTER, shared);
}

/* ---- the block ---- */

void ss_op_attention_block(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack,
                           int local)
{
    int latent = s->model->kv_lora_rank > 0;
    double a = s->heads * s->d_v;
    if (latent) {
        latent_norm(ops, s, stack);
        latent_qkv(ops, s, stack);
    } else {
        double out = ss_op_saved_in_fp8(s, stack) ? s->quantized : s->e;
        ss_op_norm(ops, s, stack, "input norm"); /* a part of Transformer Engine's layer of Q, K and V */
        ss_op_offers(ops, &ops->op[ops->n - 1], QKV_LINEAR, s->tokens * s->h / s->sp, s->e);
        ss_op_offers(ops, &ops->op[ops->n - 1], QKV_LINEAR, ss_op_kept_input(s, stack, 1), out);
        joint_qkv(ops, s, stack, local);
    }
    attention_cast(ops, s);
    attention_add(ops, s, stack, local, latent);
    if (ss_precision_is_quantized(s->gemm_precision))
        ss_op_fp8_cast(ops, s, stack, a, s->h, SS_TP_ROW, SS_CAST_OF_KEPT);
    struct ss_op *op = ss_op_linear(ops, "projection", s, s->h, a, SS_TP_ROW, s->gemm_precision, s->out_bias);
    op->saved_bytes = projection_keeps(s, stack) ? s->tokens * a * s->quantized : 0;
    if (projection_keeps(s, stack))
        ss_op_offers(ops, op, ATTN_PROJ, s->tokens * a, s->quantized);
    ss_op_scattered(ops, s, stack);
    if (s->model->parallel_residual <= SS_RESIDUAL_SERIAL)
        ss_op_branch_end(ops, s, "attention post norm");
    if (latent)
        latent_borders(ops, s);
}
