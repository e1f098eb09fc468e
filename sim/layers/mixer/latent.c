/* SPDX-License-Identifier: Apache-2.0 */
/* Multi-head latent attention: Megatron's MLASelfAttention. */
#include "layers/attention.h"
#include "layers/kinds.h"

#define QKV_LINEAR SS_OFFLOAD_BIT(SS_OFFLOAD_QKV_LINEAR)
#define CORE_ATTN SS_OFFLOAD_BIT(SS_OFFLOAD_CORE_ATTN)

void ss_op_latent_down(struct ss_ops *ops, const struct ss_shape *s, const char *name, double width,
                       double normed)
{
    double own = s->tokens / s->sp;
    if (ss_precision_is_quantized(s->gemm_precision))
        ss_op_cast_rows(ops, s, "fp8 cast", own, s->h, width, s->h * width);
    struct ss_op *op = ss_op_replicated(ops, name, s, width, s->h, s->gemm_precision);
    op->params += s->qkv_bias ? width : 0;
    op->tensors += s->qkv_bias;
    /* Megatron counts the norm of the latent whether there is one or not */
    op->model_flops += 2 * own * normed;
    /* outside fp8 the norm keeps it for all */
    op->saved_bytes = ss_op_saved_in_fp8(s) && !ss_op_kept_in_fp8(s) ? own * s->h * s->quantized : 0;
    if (op->saved_bytes > 0)
        ss_op_offers(ops, op, QKV_LINEAR, own * s->h, s->quantized);
}

void ss_op_latent_up(struct ss_ops *ops, const struct ss_shape *s, const char *const names[2], double width,
                     double columns)
{
    double x = s->tokens * width / s->sp, kept = ss_op_saved_in_fp8(s) ? s->quantized : s->e;
    int first = ops->n;
    struct ss_op *op;
    if (s->model->qk_norm > SS_QK_NORM_NONE) {
        op = ss_op_norm_of(ops, s, names[0], x, width, s->fp8_current || s->block_scaled ? s->e : kept);
        op->redone_bytes = x * kept + 4 * s->tokens / s->sp;
        op->saved_bytes = x * s->e + op->redone_bytes;
        ss_op_offers(ops, op, QKV_LINEAR, x, s->e);
        ss_op_offers(ops, op, QKV_LINEAR, x, kept)->is_output = 1;
    }
    if (ss_precision_is_quantized(s->gemm_precision))
        ss_op_fp8_cast(ops, s, width, columns, SS_TP_COLUMN,
                       s->model->qk_norm > SS_QK_NORM_NONE ? SS_CAST_OF_NORM : SS_CAST_OF_OWN);
    op = ss_op_linear(ops, names[1], s, columns, width, SS_TP_COLUMN, s->gemm_precision, 0);
    if (s->model->qk_norm <= SS_QK_NORM_NONE) {
        op->saved_bytes = x * s->e;
        ss_op_offers(ops, op, QKV_LINEAR, x, s->e);
    }
    for (int i = first; i < ops->n; i++)
        ops->op[i].modules |= SS_MODULE_BIT(SS_MODULE_MLA_UP_PROJ);
}

/* Rotates the positional part of queries in place, joins the keys from each head's own part and the part that
 * all heads share, and makes values contiguous. It keeps Q, K and V for attention. PyTorch's operators of
 * Megatron core's MultiLatentAttention: angles 6, each rotation 9, joining the halves and making them
 * contiguous 6. Strided operands: the rotated channels as above and once more, because every second channel
 * comes first; both parts of queries and of joined keys, and values; in the backward the gradients of the
 * up-projections' outputs. Layers without a rotary embedding (Kimi) join and copy alone. */
static void rope(struct ss_ops *ops, const struct ss_shape *s, const struct ss_heads *a)
{
    const struct ss_model *m = s->model;
    double up = m->qk_head_dim + a->d_v, made = a->d + a->d_v;
    double turned = a->unturned ? 0 : 2 * m->qk_pos_emb_head_dim;
    double bytes = s->tokens * a->heads * (up + made + turned * s->stack->rope_passes) * s->e;
    int fused = s->stack->fused_latent_rope > 0;
    double apart = fused ? 0 : s->tokens * a->heads, again = (SS_TURNED_STRIDED + 1) * turned / 2;
    struct ss_op *op = ss_op_kernels(ops, "rope", bytes, bytes,
                                     fused         ? 3
                                     : a->unturned ? 6
                                                   : 30,
                                     fused         ? 3
                                     : a->unturned ? 6
                                                   : 25);
    ss_op_strided(op, apart * (again + a->d + made), apart * (again + a->d + up), 2 * s->e);
    op->modules = SS_MODULE_BIT(SS_MODULE_MLA_UP_PROJ);
    op->saved_bytes = op->redone_bytes = s->tokens * a->heads * (2 * a->d + a->d_v) * s->e;
    for (int i = 0; i < 3; i++)
        ss_op_offers(ops, op, CORE_ATTN, s->tokens * a->heads * (i < 2 ? a->d : a->d_v), s->e)->is_output = 1;
}

static void qkv(struct ss_ops *ops, const struct ss_shape *s, const struct ss_heads *a)
{
    static const char *const q_names[2] = {"q norm", "q up"}, *const kv_names[2] = {"kv norm", "kv up"};
    const struct ss_model *m = s->model;
    double q = a->heads * a->d, kv = a->heads * (m->qk_head_dim + a->d_v);
    if (m->q_lora_rank > 0) {
        ss_op_latent_down(ops, s, "q down", m->q_lora_rank, m->q_lora_rank);
    } else {
        if (ss_precision_is_quantized(s->gemm_precision))
            ss_op_fp8_cast(ops, s, s->h, q, SS_TP_COLUMN, SS_CAST_OF_OWN);
        ss_op_linear(ops, "q", s, q, s->h, SS_TP_COLUMN, s->gemm_precision, 0);
        ops->op[ops->n - 1].modules = SS_MODULE_BIT(SS_MODULE_MLA_UP_PROJ);
    }
    ss_op_latent_down(ops, s, "kv down", m->kv_lora_rank + m->qk_pos_emb_head_dim, m->kv_lora_rank);
    if (m->q_lora_rank > 0)
        ss_op_latent_up(ops, s, q_names, m->q_lora_rank, q);
    ss_op_latent_up(ops, s, kv_names, m->kv_lora_rank, kv);
    rope(ops, s, a);
}

void ss_op_latent_norm(struct ss_ops *ops, const struct ss_shape *s)
{
    double x = s->tokens * s->h / s->sp, kept = ss_op_kept_in_fp8(s) ? 1 : s->e;
    struct ss_op *op = ss_op_norm_of(ops, s, "input norm", x, s->h, s->e);
    op->modules = SS_MODULE_BIT(SS_MODULE_LAYERNORM);
    op->redone_bytes = (kept > 1 && ss_precision_is_quantized(s->gemm_precision) && s->te ? 0 : x * kept) +
                       4 * s->tokens / s->sp;
    op->saved_bytes = x * s->e + op->redone_bytes;
    ss_op_offers(ops, op, SS_OFFLOAD_BIT(SS_OFFLOAD_ATTN_NORM), x, s->e);
    if (ss_precision_is_quantized(s->gemm_precision) && s->te && kept > 1)
        return;
    /* Two layers keep the tensor, and a tensor that is moved twice is on the host twice. */
    ss_op_offers(ops, op, QKV_LINEAR, x, kept)->is_output = 1;
    ss_op_offers(ops, op, QKV_LINEAR, x, kept)->bytes = 0;
}

/* Appends the gather of the keys' positional part, which all heads share, and the scatter of its gradient. */
static void borders(struct ss_ops *ops, const struct ss_shape *s)
{
    double shared = s->tokens * s->model->qk_pos_emb_head_dim * s->e;
    if (s->sp <= 1 || shared <= 0)
        return;
    ss_op_border(ops, s, SS_PHASE_F, SS_COLL_ALL_GATHER, shared);
    ss_op_border(ops, s, SS_PHASE_I, SS_COLL_REDUCE_SCATTER, shared);
}

/* Returns the heads behind the up-projections, which are those of multi-head attention. */
struct ss_heads ss_heads_latent(const struct ss_shape *s)
{
    const struct ss_model *m = s->model;
    double heads = (double)m->num_attention_heads / s->tp;
    return (struct ss_heads){
        .heads = heads, .groups = heads, .d = m->qk_head_dim + m->qk_pos_emb_head_dim, .d_v = m->v_head_dim};
}

void ss_op_latent_attention(struct ss_ops *ops, const struct ss_shape *s, const struct ss_heads *a)
{
    ss_op_latent_norm(ops, s);
    qkv(ops, s, a);
    if (s->qkv_bias) /* counted like those of a joint layer */
        ops->bias_columns += 3 * a->heads * a->d;
    ss_op_attention(ops, s, a, 1);
    borders(ops, s);
}

static int has(const struct ss_model *m, int sequence, int layer)
{
    (void)sequence, (void)layer;
    return m->kv_lora_rank > 0;
}

static void operators(struct ss_ops *ops, const struct ss_shape *s)
{
    struct ss_heads a = ss_heads_latent(s);
    a.unturned = s->model->full_unturned > 0;
    ss_op_latent_attention(ops, s, &a);
}

const struct ss_mixer ss_mixer_latent = {.operators = operators, .has = has};
