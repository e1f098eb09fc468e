/* SPDX-License-Identifier: Apache-2.0 */
/* What a dense MLP and a mixture of experts have in common. */
#ifndef SS_LAYERS_MLP_H
#define SS_LAYERS_MLP_H

#include "layers/operators.h"

/* The norm before an MLP, and what comes behind it. Beside a parallel attention the norm may be attention's, and one add joins both
 * branches. */
void ss_op_mlp_begin(struct ss_ops *ops, const struct ss_shape *s);
void ss_op_mlp_end(struct ss_ops *ops, const struct ss_shape *s);
/* An MLP of `ffn` columns of one rank, from FC1 to FC2: a dense one, or that of shared experts. */
struct ss_mlp_names {
    const char *fc1, *fc2;
    const char *gate; /* the other half of a gated FC1, where it is a layer of its own */
    int input_of;     /* what FC1 casts (SS_CAST_OF_NORM, ...) */
};
void ss_op_mlp(struct ss_ops *ops, const struct ss_shape *s, const struct ss_mlp_names *names, double ffn);
/* The function between FC1 and FC2 on `rows` tokens. */
struct ss_op *ss_op_activation(struct ss_ops *ops, const struct ss_shape *s, double rows, double ffn);

/* ---- tokens.c: tokens of a rank beside the exchanges of a mixture ---- */
/* Whether tokens reach their experts in two stages. */
int ss_op_by_stages(const struct ss_shape *s);
/* Bytes of an element that is dispatched, of tokens and of the gradients of what the experts made. */
double ss_op_dispatched(const struct ss_shape *s);
/* Puts tokens into the order of the ranks of their experts, or `back`. */
void ss_op_permutation(struct ss_ops *ops, const struct ss_shape *s, const char *name, int back);
/* Puts what came into the order of the rank's experts, or back. */
void ss_op_sort(struct ss_ops *ops, const struct ss_shape *s, const char *name);
/* Puts rows of zeros behind what goes to each expert, or takes them away (`back`). */
void ss_op_pad(struct ss_ops *ops, const struct ss_shape *s, int back);
/* Joins the tokens of experts that work one after the other. */
void ss_op_join_experts(struct ss_ops *ops, const struct ss_shape *s);

#endif
