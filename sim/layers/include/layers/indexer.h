/* SPDX-License-Identifier: Apache-2.0 */
/* The lightning indexer of DeepSeek's sparse attention, which chooses the keys of each query. */
#ifndef SS_LAYERS_INDEXER_H
#define SS_LAYERS_INDEXER_H

#include "layers/operators.h"

/* Sizes of a sparse attention on one rank. */
struct ss_sparse {
    double heads; /* of the rank */
    double key,
        value;   /* elements of the one key of all heads, and of its value, which is a part of the key */
    double rank; /* of compressed queries; h where they are not compressed */
    double top;  /* most keys that a query is given */
    /* Lengths of causal sequences whose queries see equally many keys on average: all, and those chosen. */
    double square, bounded;
    double pairs, chosen; /* of the rank's queries, and keys before them; likewise of those chosen */
};
struct ss_sparse ss_sparse_of(const struct ss_shape *s);
/* Appends the indexer, and its loss where it trains. */
void ss_op_indexer(struct ss_ops *ops, const struct ss_shape *s, const struct ss_sparse *a);

#endif
