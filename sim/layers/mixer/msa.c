/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MiniMax-M3's and Qwen3.8's sparse attention, as Automodel has them (models/minimax_m3_vl/layers.py, models/qwen3_8_flash_next/qsa.py):
 * grouped-query attention over the blocks of keys that an indexer chose for a query, its own block among them. Scores of the indexer are
 * PyTorch's operators in fp32, over the full square; those of Qwen3.8 are of blocks of tokens, whose keys are averaged first. The choice has
 * no gradient, so that the indexer trains by nothing. Attention skips blocks that nobody chose (FlexAttention).
 */
#include <math.h>

#include "layers/attention.h"
#include "layers/kinds.h"

/* Appends a product of the indexer, which has no gradients. */
static struct ss_op *product(struct ss_ops *ops, const struct ss_shape *s, const char *name, double n,
                             double k, int precision)
{
    struct ss_op *op = ss_op_linear(ops, name, s, n, k, SS_TP_NONE, precision, 0);
    op->gemm.no_input_grad = op->gemm.no_weight_grad = 1;
    op->backward_flops = op->model_flops = 0;
    op->backward_kernels = 0;
    return op;
}

/* Passes over the scores: scaled and masked, each read and written, and read for the largest of a block; or relu of each head, and their sum,
 * which is scaled, masked and read five times for the largest, as much of a head's: 3 and 1 + 1 + 2 + 2 + 5 quarters of four heads. Scores of so many bytes are in
 * memory at once. Angles 6, two rotations of 9 and two norms stand beside them. */
enum {
    SCORE_PASSES = 5,
    SCORE_KERNELS = 12,
    HEAD_PASSES = 3,
    SUM_PASSES = 10,
    BESIDE_KERNELS = 6 + 2 * 9 + 2
};
#define SCORES_AT_ONCE (2. * (1 << 30))

static void indexer(struct ss_ops *ops, const struct ss_shape *s)
{
    const struct ss_model *m = s->model;
    double heads = m->index_num_heads, d = m->index_head_dim, rows = s->tokens * (heads + 1) * d * s->e;
    double block = m->index_block > 0 ? m->index_block : 1, square = s->tokens * s->sequence / block;
    double scores = 4 * heads * square;
    double passes = block > 1 ? HEAD_PASSES * scores + SUM_PASSES * 4 * square : SCORE_PASSES * scores;
    int chunks = (int)ceil(scores / SCORES_AT_ONCE);
    product(ops, s, "index q", heads * d, s->h, s->storage_precision);
    product(ops, s, "index k", d, s->h, s->storage_precision);
    struct ss_op *op =
        ss_op_kernels(ops, "index norms, rope", (2 + 2 * s->stack->rope_passes) * rows, 0, BESIDE_KERNELS, 0);
    op->params = 2 * d;
    op->tensors = 2;
    op = product(ops, s, "index scores", s->sequence / block, d, SS_FP32);
    op->gemm.m *= heads;
    op->forward_flops *= heads;
    op->params = op->gemm_params = op->tensors = 0;
    op->working_bytes = fmin(scores, SCORES_AT_ONCE);
    ss_op_kernels(ops, "choice of blocks", passes, 0, SCORE_KERNELS * chunks, 0);
}

static void operators(struct ss_ops *ops, const struct ss_shape *s)
{
    struct ss_heads a = ss_heads_joint(s);
    a.window = s->model->index_topk < s->sequence ? s->model->index_topk : 0;
    indexer(ops, s);
    ss_op_joint_attention(ops, s, &a);
}

const struct ss_mixer ss_mixer_msa = {.operators = operators};
const struct ss_mixer ss_mixer_qsa = {.operators = operators};
