/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mixture of block attention (arXiv 2502.13189), as flash-linear-attention has it (fla/layers/moba.py, fla/ops/moba/parallel.py at bc3b101): a query
 * attends to its own block of keys, causal, and to the blocks before it whose mean key has the largest products with the query, each a call of
 * FlashAttention; both outputs are merged by their statistics, and normed by heads. No public framework divides it over tensor or context ranks.
 */
#include <math.h>

#include "layers/attention.h"
#include "layers/kinds.h"

struct sizes {
    double heads, d,
        x; /* heads of queries, keys and values; channels of each; elements of all tokens' queries */
    double block, others; /* keys of a block; blocks that a query is given beside its own */
    double rows;          /* queries of all tokens and heads, once a block beside their own */
};

static struct sizes sizes_of(const struct ss_shape *s, const struct ss_heads *a)
{
    double length = fmin(s->document, s->sequence), blocks = ceil(length / s->model->sparse_block);
    struct sizes z = {.heads = a->heads, .d = a->d, .block = s->model->sparse_block};
    z.x = s->tokens * a->heads * a->d;
    z.others = fmin(s->model->sparse_blocks, blocks) - 1;
    /* A query of the n-th block has n - 1 blocks before it. */
    z.rows = s->tokens * a->heads * (z.others - z.others * (z.others + 1) / 2 / blocks);
    return z;
}

/* Bytes that PyTorch's operators move for a product of a query, a head and a mean, in fp32: masked (8), the largest ones of a block's column by a
 * radix select (20), and flags of one byte made, set, joined, listed and counted (14). */
enum { CHOICE_BYTES = 8 + 20 + 14, CHOICE_KERNELS = 24 };

/* Appends means of keys by blocks and their products with queries, in fp32, and the choice; none has a gradient. The host waits for the list of
 * the chosen. */
static void choice(struct ss_ops *ops, const struct ss_shape *s, const struct sizes *z)
{
    double means = s->sequence / z->block, scores = s->tokens * z->heads * means;
    ss_op_kernels(ops, "means of blocks", 2 * 2 * 2 * z->x * s->e + z->x * (s->e + s->e + 4), 0, 5, 0);
    struct ss_op *op = ss_op_linear(ops, "block scores", s, means, z->d, SS_TP_NONE, SS_FP32, 0);
    op->gemm.m *= z->heads;
    op->gemm.no_input_grad = op->gemm.no_weight_grad = 1;
    op->forward_flops *= z->heads;
    op->backward_flops = op->model_flops = op->params = op->gemm_params = 0;
    op->tensors = op->backward_kernels = op->backward_launches = 0;
    op->working_bytes = 4 * scores;
    ss_op_kernels(ops, "choice of blocks", CHOICE_BYTES * scores, 0, CHOICE_KERNELS, 0)->host_waits = 1;
}

/* Appends the attention to the chosen blocks. FLOP of a query and a key: forward 4 a channel, backward 10. Queries are gathered, keys and values put
 * in the order of heads and blocks, twice; all are kept, with the list. Backward: the gradient of the output and the output are gathered, the
 * gradient of gathered queries is added, those of keys and values go back. */
static void chosen(struct ss_ops *ops, const struct ss_shape *s, const struct sizes *z)
{
    double q = z->rows * z->d * s->e, kv = 2 * z->x * s->e;
    double gathered = 2 * z->x * s->e + 2 * q + 2 * 2 * kv, list = 8 * z->rows;
    struct ss_op *op = ss_op_scan(ops, "chosen blocks", SS_SCAN_SPARSE, gathered + 2 * q + kv,
                                  2 * 2 * q + (4 * q + 2 * kv) + 3 * q + 2 * 2 * kv, 1 + 5, 1 + 8);
    op->forward_flops = op->model_flops = 4 * z->rows * z->block * z->d;
    op->backward_flops = 10 * z->rows * z->block * z->d;
    op->saved_bytes = q + kv + list;
    op->working_bytes = q;
}

/* Appends the merge in fp32: its tensor of zeros; both outputs times a factor, added to it; its cast. Statistics of heads are small. */
static void merge(struct ss_ops *ops, const struct ss_shape *s, const struct sizes *z)
{
    double own = z->x * (4 + 2 * s->e + (4 + s->e + 4) + 4 + s->e);
    double others = z->rows * z->d * (2 * s->e + s->e + 8);
    ss_op_kernels(ops, "merge", own + others, 0, 20, 0);
}

static void operators(struct ss_ops *ops, const struct ss_shape *s)
{
    struct ss_heads a = ss_heads_joint(s);
    const struct sizes z = sizes_of(s, &a);
    if (z.others > 0) {
        choice(ops, s, &z);
        chosen(ops, s, &z);
        merge(ops, s, &z);
        a.chunk = z.block;
    }
    struct ss_op *op = ss_op_norm_of(ops, s, "output norm", z.x, z.d, s->e);
    op->saved_bytes = z.x * s->e + 4 * s->tokens * z.heads;
    ss_op_joint_attention(ops, s, &a);
}

const struct ss_mixer ss_mixer_moba = {.operators = operators};
