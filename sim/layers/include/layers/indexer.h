/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse attention of DeepSeek's models, and the lightning indexer, which chooses the keys of each query. */
#pragma once

#include "layers/operators.h"

/* Sizes of a sparse attention on one rank. */
struct ss_sparse {
    double heads; /* of the rank */
    double key,
        value;    /* elements of the one key of all heads, and of its value, which is a part of the key */
    double rank;  /* of compressed queries; h where they are not compressed */
    double top;   /* most keys that a query is given */
    double block; /* tokens whose keys are one; 1 where each token has its own */
    double keys;  /* rows of keys of the rank */
    int again; /* 1: the backward begins with the forward, because the kernel keeps neither output nor statistics */
    /* Lengths of causal sequences whose queries see equally many keys on average: all, and those chosen. */
    double square, bounded;
    double pairs, chosen; /* of the rank's queries, and keys before them; likewise of those chosen */
};
struct ss_sparse ss_sparse_of(const struct ss_shape *s);
/* Returns the tokens of a causal sequence whose queries see as many of the tokens before them, at most `most`, as those of the job; 0: all. */
double ss_sparse_seen(const struct ss_shape *s, double most);
/* Appends the attention of the rank's queries over the chosen keys; `slots` indices a query say which, and each is kept. */
struct ss_op *ss_op_sparse_attention(struct ss_ops *ops, const struct ss_shape *s, const struct ss_sparse *a,
                                     double slots);
/* Appends a product with a matrix a head, or a group of heads, [tokens x k] -> [tokens x n], which PyTorch calls a batched GEMM in 16 bit. */
struct ss_op *ss_op_by_head(struct ss_ops *ops, const char *name, const struct ss_shape *s, double heads,
                            double n, double k);
/* Appends what one key of each block is made by: two projections of `width` columns of the hidden state, whose blocks overlap where they are
 * small, a softmax over the tokens of a block, and a norm. trained 0: it has no gradients, 1: those of its weights, 2: that of its input too. */
void ss_op_compressor(struct ss_ops *ops, const struct ss_shape *s, const char *const names[4], double width,
                      double block, int trained);
/* Appends the indexer, and its loss where it trains. */
void ss_op_indexer(struct ss_ops *ops, const struct ss_shape *s, const struct ss_sparse *a);
