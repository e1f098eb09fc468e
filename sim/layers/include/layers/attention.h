/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that all mixers of attention share. */
#pragma once

#include "layers/operators.h"

/* The heads of an attention on one rank, and the keys that a query sees. */
struct ss_heads {
    double heads, groups; /* heads of queries; heads of keys and values */
    double d, d_v;        /* elements of a query or key of one head, and of a value */
    double window;        /* most keys that a query sees, its own included; 0: all keys before it */
    double chunk; /* length of chunks whose queries see only their own chunk; 0: a document is one chunk */
    int unturned; /* full_unturned of struct ss_model, for this layer */
};
/* Return the heads of the model's multi-head or grouped-query attention, and of its latent attention. Their
 * queries see all keys before them. */
struct ss_heads ss_heads_joint(const struct ss_shape *s);
struct ss_heads ss_heads_latent(const struct ss_shape *s);

/* Append both blocks from the input norm to the residual. Q, K and V come from linear layers of the hidden
 * state, or by way of latents. */
void ss_op_joint_attention(struct ss_ops *ops, const struct ss_shape *s, const struct ss_heads *a);
void ss_op_latent_attention(struct ss_ops *ops, const struct ss_shape *s, const struct ss_heads *a);
/* Parts of latent attention. The first appends the input norm, a module of its own; its output stays in 16 bit for both
 * down-projections. */
void ss_op_latent_norm(struct ss_ops *ops, const struct ss_shape *s);
/* Appends the projection from the hidden state to a latent of `width` elements; `normed` of them go through a
 * norm. Every tensor rank has all of the weights and works on its share of the tokens. */
void ss_op_latent_down(struct ss_ops *ops, const struct ss_shape *s, const char *name, double width,
                       double normed);
/* Appends the projection from a latent to the rank's heads, and the norm of the latent, which is kept before
 * and behind the norm. */
void ss_op_latent_up(struct ss_ops *ops, const struct ss_shape *s, const char *const names[2], double width,
                     double columns);
/* Appends the end of both blocks, from Q, K and V to the residual. kept: 1 where the operators before keep Q,
 * K and V. */
void ss_op_attention(struct ss_ops *ops, const struct ss_shape *s, const struct ss_heads *a, int kept);
/* Strided or broadcast operands that PyTorch's rotary embedding reads for each rotated channel of a head,
 * each way. */
#define SS_TURNED_STRIDED 3.5
