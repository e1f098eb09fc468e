/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Embeddings of n-grams before a layer of gated delta nets (Qwen3.8: transformers qwen4_exp, Automodel models/qwen3_8_flash_next/engram.py).
 * Hashes of the last tokens choose a row a head of a large table, whose rows are divided among the ranks of the expert group: numbers go to
 * the owners, rows come back. A projection of the rows makes a key a stream and another a value; normed keys and streams give the gate of
 * the value in each stream, to which a convolution of few tokens is added. All but products and norms are operators of PyTorch.
 */
#include "layers/kinds.h"
#include "stepsim/model.h"

extern const struct ss_mixer ss_mixer_gated_delta;

/* Operators of PyTorch that hash tokens: shifts by so many positions that stop at an end of text, products and remainders. */
enum { HASH_KERNELS = 3 * 8 + 2 * 6 + 1, HASH_PASSES = 16 };

/* Appends hashes and the rows. The gradient of the table is a dense tensor of zeros to which rows are added, and is then added up. */
static void lookup(struct ss_ops *ops, const struct ss_shape *s)
{
    const struct ss_model *m = s->model;
    double own = s->tokens / s->sp, numbers = 8 * own * m->ngram_heads, rows = own * m->ngram_width * s->e;
    double table = (double)m->ngram_rows * m->ngram_width / m->ngram_heads / (s->ep > 1 ? s->ep : 1);
    ss_op_kernels(ops, "n-gram hashes", HASH_PASSES * numbers, 0, HASH_KERNELS, 0);
    if (s->ep > 1)
        ss_op_exchange(ops, "n-gram rows", SS_COMM_EP, SS_COLL_ALL_TO_ALL, SS_COLL_ALL_TO_ALL, numbers + rows,
                       rows);
    struct ss_op *op =
        ss_op_kernels(ops, "n-gram table", 2 * rows, rows * (s->e + 8) / s->e + 4 * table * s->e, 1, 3);
    op->params = op->looked_up = table;
    op->tensors = 1;
    op->expert = 1;
    op->saved_bytes = numbers;
}

static struct ss_op *project(struct ss_ops *ops, const struct ss_shape *s, const char *name, double n)
{
    struct ss_op *op = ss_op_replicated(ops, name, s, n, s->model->ngram_width, s->storage_precision);
    op->gemm_params = 0;
    return op;
}

/*
 * Passes of a stream. Forward: norms of keys, streams and gated values 2 n each, product and sum of keys and streams 4 n, gated values n + 1,
 * convolution 2 n, silu 2 n, two sums 6 n: 21 n + 1; backward twice as much. Kept: keys and streams before and behind their norms, gated
 * values before and behind theirs, the convolution's output.
 */
static void gate(struct ss_ops *ops, const struct ss_shape *s)
{
    double n = s->streams, x = s->tokens * s->h / s->sp * s->e, wide = n * s->h;
    struct ss_op *op = project(ops, s, "n-gram keys", wide);
    op->saved_bytes = s->tokens / s->sp * s->model->ngram_width * s->e;
    project(ops, s, "n-gram values", s->h)->saved_bytes = x;
    op = ss_op_kernels(ops, "n-gram gate", (21 * n + 1) * x, (42 * n + 2) * x, 16, 32);
    op->params = 3 * wide + s->model->ngram_taps * wide;
    op->tensors = 4;
    op->saved_bytes = 7 * n * x;
}

static void operators(struct ss_ops *ops, const struct ss_shape *s)
{
    lookup(ops, s);
    gate(ops, s);
    ss_mixer_gated_delta.operators(ops, s);
}

const struct ss_mixer ss_mixer_ngram_delta = {.operators = operators,
                                              .exchanges = SS_COLL_BIT(SS_COLL_ALL_TO_ALL)};
