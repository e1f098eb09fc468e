/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Native sparse attention (arXiv 2502.11089), as flash-linear-attention has it (fla/layers/nsa.py, fla/ops/nsa at bc3b101): grouped-query
 * attention in three branches, whose outputs a gate each weighs: over means of blocks of keys and values; over blocks that the first branch's
 * scores chose for a query and a group; over a window, FlashAttention's. No public framework divides it over tensor or context ranks.
 */
#include "job/packing.h"
#include "layers/attention.h"
#include "layers/kinds.h"
#include "layers/linear.h"

struct sizes {
    double q, kv;         /* elements of a token's queries; of its keys, or values */
    double heads;         /* of queries */
    double block, blocks; /* keys of a block; blocks that a query is given */
    double means,
        chosen; /* pairs of a query and a mean, and of a query and a chosen key before it, of all tokens */
};

static struct sizes sizes_of(const struct ss_shape *s, const struct ss_heads *a)
{
    const struct ss_model *m = s->model;
    struct sizes z = {.q = a->heads * a->d,
                      .kv = a->groups * a->d,
                      .heads = a->heads,
                      .block = m->sparse_block,
                      .blocks = m->sparse_blocks};
    double most = z.block * z.blocks;
    double all = s->packing ? ss_packing_keys(s->packing, 0, 0) : ss_document_keys(s->sequence, 0, 0);
    double seen = s->packing ? ss_packing_keys(s->packing, most, 0) : ss_document_keys(s->sequence, most, 0);
    z.means = s->tokens * all / 2 / z.block;
    z.chosen = s->tokens * seen / 2;
    return z;
}

/* Appends the gates of the branches, h -> a gate a branch and head, and their sigmoid, which is kept; and the sum of the gradients of the normed
 * input. */
static void gates(struct ss_ops *ops, const struct ss_shape *s, const struct ss_heads *a)
{
    double all = s->tokens * 3 * a->heads * s->e;
    ss_op_undivided(ops, s, "branch gates", 3 * a->heads, s->h, 0, SS_CAST_OF_NORM);
    ss_op_kernels(ops, "gates", 2 * all, 3 * all + 3 * s->tokens * s->h * s->e, 1, 2)->saved_bytes = all;
}

/*
 * Appends a branch over `pairs` of queries and rows of keys and values. FLOP of a pair and channel of a query: forward 4, and 2 for the scores again
 * where they choose blocks; backward scores and gradients for queries 6, for keys and values 8. Rows are read once for the heads of a group, and
 * queries once for a block of rows in the gradients of keys and values, from L2, whose rate is twice that of HBM. It keeps its output and a
 * statistic a head.
 */
static struct ss_op *branch(struct ss_ops *ops, const struct ss_shape *s, const struct sizes *z,
                            const char *name, double pairs, int chooses)
{
    double q = s->tokens * z->q * s->e, rows = pairs * 2 * z->kv * s->e / 2;
    double queries = pairs / z->block * 2 * z->q * s->e / 2;
    struct ss_op *op = ss_op_scan(ops, name, SS_SCAN_SPARSE, 2 * q + rows + chooses * (q + rows / 2),
                                  5 * q + rows + queries, 1 + chooses, 1 + 1 + 1 + 2);
    op->forward_flops = (4 + 2 * chooses) * z->q * pairs;
    op->backward_flops = (6 + 8) * z->q * pairs;
    op->model_flops = 4 * z->q * pairs;
    op->saved_bytes = q + 4 * s->tokens * z->heads;
    return op;
}

/* Appends means of keys and values by blocks, which are kept, and the gradients of both. */
static void pool(struct ss_ops *ops, const struct ss_shape *s, const struct sizes *z)
{
    double pass = 2 * s->tokens * z->kv * s->e, means = pass / z->block;
    ss_op_kernels(ops, "means of blocks", pass + means, means + pass, 2, 2)->saved_bytes = means;
}

/* Appends the sum of the branches, each times its gate: products, of which two are added to the first. Backward, each branch: its gradient, the
 * product for its gate and the sum of it; queries, keys and values get gradients from three. It keeps the sum for the projection. */
static void join(struct ss_ops *ops, const struct ss_shape *s, const struct sizes *z)
{
    double q = s->tokens * z->q * s->e, kv = 2 * s->tokens * z->kv * s->e;
    ss_op_kernels(ops, "sum of branches", (2 + 3 + 3) * q, 3 * (2 + 3 + 1) * q + 2 * 3 * (q + kv), 3,
                  3 * 3 + 2 * 3)
        ->saved_bytes = q;
}

static void operators(struct ss_ops *ops, const struct ss_shape *s)
{
    struct ss_heads a = ss_heads_joint(s);
    const struct sizes z = sizes_of(s, &a);
    double indices = 4 * s->tokens * a.groups * z.blocks;
    gates(ops, s, &a);
    pool(ops, s, &z);
    branch(ops, s, &z, "compressed branch", z.means, 1);
    struct ss_op *op = branch(ops, s, &z, "chosen branch", z.chosen, 0);
    op->saved_bytes += indices;
    /* The backward lists the queries of each block: it counts them, then writes them. */
    op->backward_bytes += 3 * indices;
    op->backward_launches += 5;
    join(ops, s, &z);
    a.window = s->model->sparse_window < s->sequence ? s->model->sparse_window : 0;
    ss_op_joint_attention(ops, s, &a);
}

const struct ss_mixer ss_mixer_nsa = {.operators = operators};
