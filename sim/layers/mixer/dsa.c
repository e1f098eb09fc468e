/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DeepSeek's sparse attention, as Megatron core has it (megatron/core/transformer/experimental_attention_variant): latent attention in its
 * absorbed form, where all heads share one key of the latent and the positional part, over the keys that an indexer chose for a query
 * (layers/indexer.h). Queries go to the latent, and outputs from it, by a matrix a head. Tensor ranks divide heads; context ranks gather
 * keys.
 */
#include <math.h>

#include "job/packing.h"
#include "layers/attention.h"
#include "layers/indexer.h"
#include "layers/kinds.h"
#include "layers/linear.h"
#include "stepsim/job_kinds.h"
#include "stepsim/precision.h"

#define UP_PROJ SS_MODULE_BIT(SS_MODULE_MLA_UP_PROJ)
#define CORE_ATTN SS_MODULE_BIT(SS_MODULE_CORE_ATTN)

double ss_sparse_seen(const struct ss_shape *s, double most)
{
    return s->packing ? ss_packing_keys(s->packing, most, 0) : ss_document_keys(s->sequence, most, 0);
}

struct ss_sparse ss_sparse_of(const struct ss_shape *s)
{
    const struct ss_model *m = s->model;
    struct ss_sparse a = {.heads = (double)m->num_attention_heads / s->tp,
                          .key = m->kv_lora_rank + m->qk_pos_emb_head_dim,
                          .value = m->kv_lora_rank,
                          .rank = m->q_lora_rank > 0 ? m->q_lora_rank : s->h,
                          .block = 1,
                          .keys = s->tokens * s->cp,
                          .again = s->dsa_kernels == SS_DSA_TILELANG,
                          .top = fmin(m->index_topk, s->sequence)};
    a.square = ss_sparse_seen(s, 0);
    a.bounded = ss_sparse_seen(s, m->index_topk);
    a.pairs = s->tokens * a.square / 2;
    a.chosen = s->tokens * a.bounded / 2;
    return a;
}

struct ss_op *ss_op_by_head(struct ss_ops *ops, const char *name, const struct ss_shape *s, double heads,
                            double n, double k)
{
    struct ss_op *op = ss_op_linear(ops, name, s, n, k, SS_TP_NONE, s->storage_precision, 0);
    op->kind = SS_OP_GROUPED_GEMM;
    op->gemm.m *= heads;
    op->gemm.groups = heads;
    op->gemm.one_kernel = 1;
    op->params *= heads;
    op->gemm_params = 0;
    op->forward_flops *= heads;
    op->backward_flops *= heads;
    op->model_flops *= heads;
    return op;
}

/* Appends both latents, whose parts for the keys tensor ranks gather, and their norms. Under tensor parallelism Megatron wants sequence
 * parallelism. */
static void latents(struct ss_ops *ops, const struct ss_shape *s, const struct ss_sparse *a)
{
    static const char *const q_names[2] = {"q norm", "q up"};
    const struct ss_model *m = s->model;
    double q = a->heads * (m->qk_head_dim + m->qk_pos_emb_head_dim), x = s->tokens * a->value / s->sp;
    if (m->q_lora_rank > 0)
        ss_op_latent_down(ops, s, "q down", m->q_lora_rank, m->q_lora_rank);
    ss_op_latent_down(ops, s, "kv down", a->key, a->value);
    if (m->q_lora_rank > 0) {
        ss_op_latent_up(ops, s, q_names, m->q_lora_rank, q);
    } else {
        if (ss_precision_is_quantized(s->gemm_precision))
            ss_op_fp8_cast(ops, s, s->h, q, SS_TP_COLUMN, SS_CAST_OF_OWN);
        ss_op_linear(ops, "q", s, q, s->h, SS_TP_COLUMN, s->gemm_precision, 0)->modules = UP_PROJ;
    }
    ss_op_norm_of(ops, s, "kv norm", x, a->value, s->e)->saved_bytes = x * s->e + 4 * s->tokens / s->sp;
    if (s->sp > 1) {
        ss_op_border(ops, s, SS_PHASE_F, SS_COLL_ALL_GATHER, s->tokens * a->key * s->e);
        ss_op_border(ops, s, SS_PHASE_I, SS_COLL_REDUCE_SCATTER, s->tokens * a->key * s->e);
    }
}

/* Appends queries in the latent, and the rotary embedding of the positional parts of queries and of the one key, which are joined with
 * theirs. Operators of PyTorch: angles 6, a rotation 9, joining and making contiguous 3. They keep queries and keys for attention; the
 * product keeps all of a query. */
static void queries(struct ss_ops *ops, const struct ss_shape *s, const struct ss_sparse *a)
{
    const struct ss_model *m = s->model;
    double turned = m->qk_pos_emb_head_dim, rows = s->tokens * (a->heads + 1);
    double bytes = rows * (2 * a->key + 2 * turned * s->stack->rope_passes) * s->e;
    double strided = rows * ((SS_TURNED_STRIDED + 1) * turned + a->key);
    struct ss_op *op = ss_op_by_head(ops, "q to latent", s, a->heads, a->value, m->qk_head_dim);
    op->modules = UP_PROJ;
    op->model_flops = 0; /* Megatron counts the up-projection: see `project` */
    op->saved_bytes = op->redone_bytes = s->tokens * a->heads * (m->qk_head_dim + turned) * s->e;
    op = ss_op_kernels(ops, "rope", bytes, bytes, 6 + 2 * 9 + 3, 22);
    ss_op_strided(op, strided, strided, 2 * s->e);
    op->modules = UP_PROJ;
    op->saved_bytes = op->redone_bytes = rows * a->key * s->e;
}

/* Appends the gather of keys, and of those of the indexer, from context ranks, and their way into the order of the sequence. The gradient is
 * scattered, which takes as long as a gather. Two calls count as one. */
static void gathered(struct ss_ops *ops, const struct ss_shape *s, const struct ss_sparse *a, double index)
{
    double all = s->tokens * s->cp * s->e, back = a->key + (s->index_loss ? index : 0);
    if (s->cp <= 1)
        return;
    ss_op_exchange(ops, "keys of context ranks", SS_COMM_CP, SS_COLL_ALL_GATHER, SS_COLL_ALL_GATHER,
                   all * (a->key + index), all * back);
    ss_op_kernels(ops, "order of keys", 2 * all * (a->key + index), 2 * all * back, 2, 1 + (back > a->key))
        ->saved_bytes =
        (s->cp - 1) * s->tokens * a->key * s->e; /* the rank's own part is kept with the queries */
}

/* FlashMLA computes no fewer heads (cudnn); TileLang's kernel has tiles of so many. */
enum { FLASH_HEADS = 64, TILE_HEADS = 16 };

/*
 * Appends the sparse attention. FLOP of a pair of a query and a chosen key, a head: forward 2 (key + value); backward the scores again, the
 * gradient of the probabilities, of queries, keys and values, 2 (3 key + 2 value). TileLang's backward begins with the forward, because
 * SparseMLA keeps neither output nor statistics. A chosen key is read once for all heads, from L2, whose rate is twice that of HBM; the
 * backward adds a gradient of 4 bytes an element to each (atomics in L2, at the rate of HBM).
 */
struct ss_op *ss_op_sparse_attention(struct ss_ops *ops, const struct ss_shape *s, const struct ss_sparse *a,
                                     double slots)
{
    int again = a->again, few = s->dsa_kernels == SS_DSA_TILELANG;
    double heads = fmax(a->heads, few ? TILE_HEADS : FLASH_HEADS), one = 2 * heads * a->chosen;
    double q = s->tokens * a->heads * a->key * s->e, out = s->tokens * a->heads * a->value * s->e;
    double keys = a->keys * a->key, indices = 4 * s->tokens * slots;
    double read = a->chosen * a->key * s->e / 2 + keys * s->e + indices, forward = q + out + read;
    double backward =
        2 * q + 3 * out + read + 4 * a->chosen * a->key + (4 + 4 + s->e) * keys + again * forward;
    struct ss_op *op = ss_op_scan(ops, "sparse attention", SS_SCAN_SPARSE, forward, backward, 1, 4 + again);
    op->forward_flops = one * (a->key + a->value);
    op->backward_flops = one * (3 * a->key + 2 * a->value) + again * op->forward_flops;
    op->saved_bytes = op->redone_bytes = indices + (again ? 0 : 4 * s->tokens * heads);
    op->working_bytes = 2 * 4 * keys;
    return op;
}

static void attention(struct ss_ops *ops, const struct ss_shape *s, const struct ss_sparse *a)
{
    struct ss_op *op = ss_op_sparse_attention(ops, s, a, a->top);
    /* Megatron counts the heads of latent attention, and all keys. */
    op->model_flops = 2 * s->tokens * s->sequence * a->heads *
                      (s->model->qk_head_dim + s->model->qk_pos_emb_head_dim + s->model->v_head_dim);
    op->attention.seen = a->bounded / a->square / 2;
    op->attention.bounded = fmin(s->model->index_topk, a->bounded) / a->square;
    op->modules = CORE_ATTN;
}

/* Appends values from the latent, and the output's projection. Megatron's count has the up-projection of keys and values. */
static void project(struct ss_ops *ops, const struct ss_shape *s, const struct ss_sparse *a)
{
    const struct ss_model *m = s->model;
    double out = a->heads * m->v_head_dim, up = a->heads * (m->qk_head_dim + m->v_head_dim) * a->value;
    struct ss_op *op = ss_op_by_head(ops, "v from latent", s, a->heads, m->v_head_dim, a->value);
    op->modules = CORE_ATTN;
    op->saved_bytes = op->redone_bytes = s->tokens * a->heads * a->value * s->e;
    op->model_flops = 2 * s->tokens * up;
    /* Both halves of its gradient are joined, and added to that of earlier microbatches. */
    ss_op_kernels(ops, "kv up gradient", 0, up * (2 * s->e + s->e + 8), 0, 2);
    ss_op_mixer_out(ops, s, "projection", out, s->out_bias, 0);
    ss_op_branch_end(ops, s, "attention post norm");
}

static void layer(struct ss_ops *ops, const struct ss_shape *s, int has_indexer)
{
    const struct ss_sparse a = ss_sparse_of(s);
    ss_op_latent_norm(ops, s);
    latents(ops, s, &a);
    queries(ops, s, &a);
    gathered(ops, s, &a, has_indexer ? s->model->index_head_dim : 0);
    if (has_indexer)
        ss_op_indexer(ops, s, &a);
    attention(ops, s, &a);
    project(ops, s, &a);
}

static void operators(struct ss_ops *ops, const struct ss_shape *s)
{
    layer(ops, s, 1);
}

static void operators_shared(struct ss_ops *ops, const struct ss_shape *s)
{
    layer(ops, s, 0);
}

const struct ss_mixer ss_mixer_dsa = {.operators = operators, .exchanges = SS_COLL_BIT(SS_COLL_ALL_GATHER)};
const struct ss_mixer ss_mixer_dsa_shared = {.operators = operators_shared,
                                             .exchanges = SS_COLL_BIT(SS_COLL_ALL_GATHER)};
