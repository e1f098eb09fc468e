/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DeepSeek-V4's attention, as Megatron core has it (experimental_attention_variant: deepseek_v4_hybrid_attention.py, csa.py): queries by
 * way of a latent, one key of all heads that is its own value, and for each query the keys of a window and keys of blocks of tokens
 * (compressor.c): those that an indexer chose (compressed sparse attention, CSA), all (heavily compressed attention, HCA), or none. Groups
 * of heads are projected to a rank each, and the ranks to the hidden state. Tensor ranks do not divide it. Context ranks have consecutive
 * tokens each, get the hidden states of a window from the rank before them, and gather the keys of blocks.
 */
#include <math.h>

#include "layers/attention.h"
#include "layers/indexer.h"
#include "layers/kinds.h"
#include "stepsim/job_kinds.h"
#include "stepsim/precision.h"

#define UP_PROJ SS_MODULE_BIT(SS_MODULE_MLA_UP_PROJ)
#define CORE_ATTN SS_OFFLOAD_BIT(SS_OFFLOAD_CORE_ATTN)

/* FlashMLA's kernel takes a multiple of so many keys a query; indices that are none fill the rest. */
enum { SLOTS = 64 };

/* Returns the sizes; block 0: the window alone. */
static struct ss_sparse sizes(const struct ss_shape *s, double block)
{
    const struct ss_model *m = s->model;
    double each = block > 0 ? block : 1, most = block == SS_CSA_BLOCK ? m->index_topk : 0;
    double compressed = block > 0 ? s->tokens * s->cp / block : 0;
    struct ss_sparse a = {.heads = m->num_attention_heads,
                          .key = m->v_head_dim,
                          .value = m->v_head_dim,
                          .rank = m->q_lora_rank,
                          .block = each,
                          .keys = s->tokens + compressed};
    a.top = block > 0 ? s->sequence / block : 0;
    a.top = most > 0 ? fmin(most, a.top) : a.top;
    a.square = ss_sparse_seen(s, 0) / each;
    a.bounded = ss_sparse_seen(s, most * each) / each;
    /* The last of the context ranks has the tokens that see most. */
    double late = s->packing ? 1 : 2 - 1. / s->cp;
    a.pairs = block > 0 ? s->tokens * a.square / 2 * late : 0;
    a.chosen = block > 0 ? s->tokens * a.bounded / 2 * fmin(late, 2 * a.top / a.bounded) : 0;
    return a;
}

/* Appends the rotary embedding of a part of each row, fused in place; or by operators of PyTorch: angles and rotation, and a copy that
 * joins both parts. */
static struct ss_op *turn(struct ss_ops *ops, const struct ss_shape *s, const char *name, double rows)
{
    const struct ss_model *m = s->model;
    int fused = s->stack->fused_latent_rope > 0;
    double turned = m->qk_pos_emb_head_dim * s->e, row = 2 * m->v_head_dim * s->e;
    double bytes = rows * (fused ? 2 * turned : row + turned * s->stack->rope_passes);
    return ss_op_kernels(ops, name, bytes, bytes, fused ? 1 : 6 + 9 + 1, fused ? 1 : 9 + 1);
}

/* Appends queries and the key of each token. Recompute of the up-projections repeats what lies behind the latent of queries. */
static void queries(struct ss_ops *ops, const struct ss_shape *s, const struct ss_sparse *a)
{
    static const char *const names[2] = {"q norm", "q up"};
    double q = s->tokens * a->heads * a->key * s->e, x = s->tokens * a->key;
    ss_op_latent_down(ops, s, "q down", a->rank, a->rank);
    int first = ops->n;
    ss_op_latent_up(ops, s, names, a->rank, a->heads * a->key);
    ops->op[first].modules = 0; /* the latent behind its norm is what recompute starts from */
    ops->op[first].redone_bytes = 0;
    first = ops->n;
    struct ss_op *op = ss_op_kernels(ops, "q heads norm", 2 * q, 3 * q, 1, 1); /* compiled, without weights */
    op->saved_bytes = op->redone_bytes = q;
    ss_op_latent_down(ops, s, "key", a->key, a->key);
    ss_op_norm_of(ops, s, "key norm", x, a->key, s->e)->saved_bytes = x * s->e + 4 * s->tokens;
    op = turn(ops, s, "rope", s->tokens * (a->heads + 1));
    op->saved_bytes = op->redone_bytes = q;
    ss_op_offers(ops, op, CORE_ATTN, q / s->e, s->e)->is_output = 1;
    for (int i = first; i < ops->n; i++)
        ops->op[i].modules |= UP_PROJ;
}

/* Appends what context ranks exchange: hidden states of a window, or of a block, and the keys of blocks, whose gradients are scattered,
 * which takes as long. */
static void exchanges(struct ss_ops *ops, const struct ss_shape *s, const struct ss_sparse *a, double block)
{
    const struct ss_model *m = s->model;
    double window = fmax(m->sliding_window, block == SS_CSA_BLOCK ? 2 * block : block);
    double halo = s->micro_batch * window * s->h * s->e, all = s->tokens * s->cp / a->block * s->e;
    double index = block == SS_CSA_BLOCK ? m->index_head_dim : 0;
    if (s->cp <= 1)
        return;
    ss_op_exchange(ops, "window of context ranks", SS_COMM_CP, SS_COLL_RING_STEP, SS_COLL_RING_STEP, halo,
                   halo);
    if (block > 0)
        ss_op_exchange(ops, "keys of context ranks", SS_COMM_CP, SS_COLL_ALL_GATHER, SS_COLL_ALL_GATHER,
                       all * (a->key + index), all * (a->key + (s->index_loss ? index : 0)));
}

/* Passes over the indices of a query's keys, 4 B each, read and written: those of the window and of blocks are made, joined, counted from the
 * first row of the batch, and filled up. */
enum { INDEX_PASSES = 4, INDEX_KERNELS = 8 };

/* Appends keys of blocks behind those of tokens, indices, and the attention, which computes every key that it has an index of, one that
 * is none, too. It keeps the keys and its output; the rotation of the output back makes a copy. */
static void attention(struct ss_ops *ops, const struct ss_shape *s, struct ss_sparse a, double block)
{
    static const char *const names[4] = {"compressed values", "compressed gates", "compression",
                                         "compression norm"};
    double window = s->model->sliding_window, slots = ceil((window + a.top) / SLOTS) * SLOTS;
    double pairs = s->tokens * ss_sparse_seen(s, window) / 2 + a.chosen,
           out = s->tokens * a.heads * a.value * s->e;
    if (block > 0) {
        ss_op_compressor(ops, s, names, a.key, block, 2);
        turn(ops, s, "compression rope", s->tokens / block);
    }
    exchanges(ops, s, &a, block);
    if (block > 0)
        ss_op_kernels(ops, "keys joined", 2 * a.keys * a.key * s->e, 0, 1, 0);
    ops->op[ops->n - 1].saved_bytes += a.keys * a.key * s->e;
    ss_op_offers(ops, &ops->op[ops->n - 1], CORE_ATTN, a.keys * a.key, s->e);
    if (block == SS_CSA_BLOCK)
        ss_op_indexer(ops, s, &a);
    double indices = 2 * 4 * s->tokens * slots;
    ss_op_kernels(ops, "indices of keys", INDEX_PASSES * indices, 0, INDEX_KERNELS, 0);
    a.chosen = s->tokens * slots;
    struct ss_op *op = ss_op_sparse_attention(ops, s, &a, slots);
    op->saved_bytes += out;
    op->redone_bytes = 0;
    ss_op_offers(ops, op, CORE_ATTN, out / s->e, s->e)->is_output = 1;
    op->params = a.heads; /* sinks */
    op->tensors = 1;
    op->model_flops = 2 * a.heads * (a.key + a.value) * pairs;
}

/* Appends the output: rotated back, a matrix a group of heads, which PyTorch calls a batched GEMM in 16 bit and whose gradient a kernel adds,
 * and the projection. */
static void output(struct ss_ops *ops, const struct ss_shape *s, const struct ss_sparse *a)
{
    const struct ss_model *m = s->model;
    double groups = m->output_groups, in = a->heads * a->value, rank = m->output_rank,
           x = s->tokens * in * s->e;
    struct ss_op *op = turn(ops, s, "output rope", s->tokens * a->heads);
    op->forward_bytes += s->stack->fused_latent_rope > 0 ? 2 * x : 0;
    op = ss_op_by_head(ops, "output groups", s, groups, rank, in / groups);
    op->saved_bytes = x;
    double made = s->tokens * groups * rank;
    ss_op_kernels(ops, "output groups joined", 2 * made * s->e, 2 * made * s->e + rank * in * (s->e + 8), 1,
                  2);
    if (ss_precision_is_quantized(s->gemm_precision))
        ss_op_fp8_cast(ops, s, groups * rank, s->h, SS_TP_ROW, SS_CAST_OF_OWN);
    op = ss_op_linear(ops, "projection", s, s->h, groups * rank, SS_TP_ROW, s->gemm_precision, s->out_bias);
    double kept = ss_op_saved_in_fp8(s) ? s->quantized : s->e;
    op->saved_bytes = made * kept;
    ss_op_offers(ops, op, SS_OFFLOAD_BIT(SS_OFFLOAD_ATTN_PROJ), made, kept);
    ss_op_scattered(ops, s);
    ss_op_branch_end(ops, s, "attention post norm");
}

static void layer(struct ss_ops *ops, const struct ss_shape *s, double block)
{
    const struct ss_sparse a = sizes(s, block);
    ss_op_latent_norm(ops, s);
    queries(ops, s, &a);
    attention(ops, s, a, block);
    output(ops, s, &a);
}

static void operators_csa(struct ss_ops *ops, const struct ss_shape *s)
{
    layer(ops, s, SS_CSA_BLOCK);
}

static void operators_hca(struct ss_ops *ops, const struct ss_shape *s)
{
    layer(ops, s, SS_HCA_BLOCK);
}

static void operators_local(struct ss_ops *ops, const struct ss_shape *s)
{
    layer(ops, s, 0);
}

#define EXCHANGES (SS_COLL_BIT(SS_COLL_RING_STEP) | SS_COLL_BIT(SS_COLL_ALL_GATHER))
const struct ss_mixer ss_mixer_csa = {.operators = operators_csa, .exchanges = EXCHANGES};
const struct ss_mixer ss_mixer_hca = {.operators = operators_hca, .exchanges = EXCHANGES};
const struct ss_mixer ss_mixer_csa_local = {.operators = operators_local, .exchanges = EXCHANGES};
