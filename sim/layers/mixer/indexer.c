/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lightning indexer (Megatron core's DSAIndexer): queries from the compressed queries, one key and a weight a head from the hidden
 * state; the score of a query and a key is the weighted sum over heads of relu(q k); the keys of the highest scores are chosen. Every
 * tensor rank has all of it, and works on all tokens of its context rank. No gradient passes to the model: without a loss nothing has
 * one. The loss is the divergence of the scores from the sum over heads of attention's probabilities, over all keys (warm-up) or those
 * chosen.
 */
#include "layers/indexer.h"

#include <math.h>

#include "stepsim/job_kinds.h"
#include "stepsim/precision.h"

#define CORE_ATTN SS_MODULE_BIT(SS_MODULE_CORE_ATTN)

/* Marks the operators from `first` on as those of core attention, which recompute repeats together. */
static void in_core(struct ss_ops *ops, int first)
{
    for (struct ss_op *op = ops->op + first; op < ops->op + ops->n; op++) {
        op->modules |= CORE_ATTN;
        op->redone_bytes = op->saved_bytes;
    }
}

/* Leaves an operator of the indexer no gradient but that of its weights, with a loss. */
static void detach(struct ss_op *op, const struct ss_shape *s)
{
    op->gemm.no_input_grad = 1;
    op->gemm.no_weight_grad = !s->index_loss;
    op->backward_flops = s->index_loss ? op->forward_flops : 0;
    op->backward_kernels = s->index_loss;
}

static void linear(struct ss_ops *ops, const struct ss_shape *s, const char *name, double n, double k)
{
    if (ss_precision_is_quantized(s->gemm_precision))
        ss_op_cast_rows(ops, s, "fp8 cast", s->tokens, k, n, n * k);
    detach(ss_op_linear(ops, name, s, n, k, SS_TP_NONE, s->gemm_precision, 0), s);
    ops->op[ops->n - 1].model_flops = 0; /* Megatron does not count it */
}

/* Appends the key of each token, behind a LayerNorm, whatever the model's norms are; or one of each block. */
static void keys(struct ss_ops *ops, const struct ss_shape *s, const struct ss_sparse *a, double d)
{
    static const char *const names[4] = {"index k values", "index k gates", "index k blocks", "index k norm"};
    if (a->block > 1) {
        ss_op_compressor(ops, s, names, d, a->block, s->index_loss != SS_INDEX_LOSS_NONE);
        return;
    }
    linear(ops, s, "index k", d, s->h);
    struct ss_op *op = ss_op_norm_of(ops, s, "index k norm", s->tokens * d, d, s->e);
    op->params = 2 * d;
    op->tensors = 2;
    if (!s->index_loss)
        ss_op_traffic(op, op->forward_bytes, 0, op->forward_kernels, 0);
}

/* Appends queries, keys and weights of the heads. Operators of PyTorch: angles 6, a rotation 9 and joining of queries and of keys, or a
 * fused kernel each; the
 * Hadamard transform of both; two products of the weights. */
static void projections(struct ss_ops *ops, const struct ss_shape *s, const struct ss_sparse *a)
{
    const struct ss_model *m = s->model;
    double heads = m->index_num_heads, d = m->index_head_dim, gathered = s->tokens * (s->h + a->rank) * s->e;
    double rows = s->tokens * (heads + 1 / a->block),
           turned = 2 * m->qk_pos_emb_head_dim * s->stack->rope_passes;
    double bytes = (rows * (4 * d + turned) + 4 * s->tokens * heads) * s->e;
    if (s->sp > 1)
        ss_op_border(ops, s, SS_PHASE_F, SS_COLL_ALL_GATHER, gathered);
    linear(ops, s, "index q", heads * d, a->rank);
    keys(ops, s, a, d);
    linear(ops, s, "index weights", heads, s->h);
    int turns = a->block > 1 && s->stack->fused_latent_rope > 0 ? 2 : 2 * 9 + 2, angles = turns > 2 ? 6 : 0;
    struct ss_op *op = ss_op_kernels(ops, "index rope", bytes, s->index_loss ? bytes : 0,
                                     angles + turns + 2 + 2, s->index_loss ? turns + 2 + 2 : 0);
    /* Gathered inputs, the norm's input and statistics, rotated queries and keys, weights. */
    if (s->index_loss)
        op->saved_bytes = (s->sp > 1 ? gathered : 0) + (a->block > 1 ? 0 : s->tokens * (d * s->e + 4)) +
                          (rows * d + s->tokens * heads) * s->e;
}

/* Rows whose scores are in memory at once. The radix select of PyTorch's topk reads a row four times, 8 bits each, and once to collect;
 * masks of indices that are no keys follow. */
enum { CHUNK_ROWS = 8192, TOPK_READS = 5, TOPK_KERNELS = 7, MASK_KERNELS = 4 };

/* Appends the scores, fp32 in memory, and the choice, each for so many rows at once. */
static void choice(struct ss_ops *ops, const struct ss_shape *s, const struct ss_sparse *a)
{
    const struct ss_model *m = s->model;
    double d = m->index_head_dim, q = s->tokens * m->index_num_heads * d;
    double rows = s->micro_batch * s->chunk, row = 4 * s->sequence / a->block;
    int chunks = (int)ceil(rows / CHUNK_ROWS);
    struct ss_op *op = ss_op_scan(ops, "index scores", SS_SCAN_INDEX,
                                  4 * a->pairs + (q + s->tokens * s->cp / a->block * d) * s->e, 0, chunks, 0);
    op->forward_flops = 2 * m->index_num_heads * d * a->pairs;
    op->working_bytes = fmin(rows, CHUNK_ROWS) * row;
    op->backward_kernels = op->backward_launches = 0;
    ss_op_kernels(ops, "choice of keys", TOPK_READS * rows * row + s->tokens * a->top * (8 + 4 + 8 + 4), 0,
                  chunks * (TOPK_KERNELS + MASK_KERNELS), 0);
}

/* Passes over fp32 scores of queries and keys in the loss: two softmaxes, sum, logarithm, difference, its product, and the gradient. */
enum { LOSS_PASSES = 12, LOSS_KERNELS = 9 };

/*
 * Appends the loss over `pairs` of queries and keys: attention's scores again for the target, which tensor ranks sum; then the gradient of
 * the indexer's queries and keys. cuDNN's kernels make that gradient in the forward and keep it; TileLang's keep indices and the gradient
 * of the scores, and make it in the backward.
 */
static void loss(struct ss_ops *ops, const struct ss_shape *s, const struct ss_sparse *a)
{
    const struct ss_model *m = s->model;
    int late = s->dsa_kernels == SS_DSA_TILELANG, whole = s->index_loss == SS_INDEX_LOSS_ALL;
    double pairs = whole ? a->pairs : a->chosen, width = whole ? s->sequence / a->block : a->top;
    double d = m->index_head_dim, q = s->tokens * m->index_num_heads * d,
           k = s->tokens * s->cp / a->block * d;
    double target = 2 * a->heads * a->key * pairs, gradient = 3 * 2 * m->index_num_heads * d * pairs;
    double moved = (4 * q + 4 * k) * s->e + 4 * pairs;
    struct ss_op *op = ss_op_scan(
        ops, "index target", SS_SCAN_SPARSE,
        s->tokens * a->heads * a->key * s->e + 4 * pairs + (whole ? 0 : pairs * a->key * s->e / 2), 0, 1, 0);
    op->forward_flops = target;
    op->backward_kernels = op->backward_launches = 0;
    op->working_bytes = 2 * 4 * s->tokens * width;
    ss_op_kernels(ops, "index loss", LOSS_PASSES * 4 * pairs, 0, LOSS_KERNELS, 0);
    op = ss_op_scan(ops, "index gradient", SS_SCAN_INDEX, late ? 0 : moved, late ? moved : 3 * (q + k) * s->e,
                    late ? 0 : 2, late ? 2 : 3);
    op->forward_flops = late ? 0 : gradient;
    op->backward_flops = late ? gradient : 0;
    if (late) {
        op->forward_kernels = op->forward_launches = 0;
        op->saved_bytes = 4 * s->tokens * width;
    } else {
        op->saved_bytes = (q + k + s->tokens * m->index_num_heads) * s->e;
    }
    ss_op_border(ops, s, SS_PHASE_F, SS_COLL_ALL_REDUCE, 4 * s->tokens * width);
}

void ss_op_indexer(struct ss_ops *ops, const struct ss_shape *s, const struct ss_sparse *a)
{
    int first = ops->n;
    projections(ops, s, a);
    choice(ops, s, a);
    if (s->index_loss)
        loss(ops, s, a);
    in_core(ops, first);
}
