/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the dense MLP and the mixture of experts share. */
#pragma once

#include "layers/operators.h"

/* Append the norm before an MLP, and what follows the MLP. Beside a parallel attention the norm may be that
 * of the attention, and one add joins both branches. */
void ss_op_mlp_begin(struct ss_ops *ops, const struct ss_shape *s);
void ss_op_mlp_end(struct ss_ops *ops, const struct ss_shape *s);
/* Appends FC1 to FC2 of an MLP with `ffn` columns on one rank: a dense MLP, or the shared experts. */
struct ss_mlp_names {
    const char *fc1, *fc2;
    const char *gate; /* the second half of a gated FC1, where it is a layer of its own */
    int input_of;     /* what the cast of FC1 reads (SS_CAST_OF_NORM, ...) */
};
void ss_op_mlp(struct ss_ops *ops, const struct ss_shape *s, const struct ss_mlp_names *names, double ffn);
/* Appends the activation function between FC1 and FC2 on `rows` tokens. */
struct ss_op *ss_op_activation(struct ss_ops *ops, const struct ss_shape *s, double rows, double ffn);

/* ---- tokens.c: tokens of a rank beside the exchanges of a mixture ---- */
/* Returns 1 when tokens reach their experts in two stages. */
int ss_op_by_stages(const struct ss_shape *s);
/* Returns the bytes of an element that is dispatched: of tokens, and of the gradients of the experts'
 * outputs. */
double ss_op_dispatched(const struct ss_shape *s);
/* Appends kernels that put tokens into the order of their experts' ranks, or back (`back`). */
void ss_op_permutation(struct ss_ops *ops, const struct ss_shape *s, const char *name, int back);
/* Appends kernels that put received tokens into the order of the rank's experts, or back. */
void ss_op_sort(struct ss_ops *ops, const struct ss_shape *s, const char *name);
/* Appends kernels that put rows of zeros behind the rows of each expert, or take them away (`back`). */
void ss_op_pad(struct ss_ops *ops, const struct ss_shape *s, int back);
/* Appends kernels that join the tokens of experts that work one after the other. */
void ss_op_join_experts(struct ss_ops *ops, const struct ss_shape *s);
/* Appends the projection of tokens to the latent in which experts work, or back; nothing where they work in h. */
void ss_op_latent_tokens(struct ss_ops *ops, const struct ss_shape *s, int back);
