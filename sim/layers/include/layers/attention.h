/* SPDX-License-Identifier: Apache-2.0 */
/* What mixers of attention have in common. */
#ifndef SS_LAYERS_ATTENTION_H
#define SS_LAYERS_ATTENTION_H

#include "layers/operators.h"

/* The heads of an attention on one rank, and what their queries see. */
struct ss_heads {
    double heads, groups; /* heads of queries; heads of keys and values */
    double d, d_v;        /* elements of a query or key of one head, and of a value */
    double window;        /* keys that a query sees at most, itself included; 0: all before it */
    double chunk;         /* length of chunks that see themselves alone; 0: a document is one */
    int unturned;         /* as full_unturned of struct ss_model, of this layer */
};
/* Heads of the model's multi-head or grouped-query attention, and of its latent attention, which see all keys before them. */
struct ss_heads ss_heads_joint(const struct ss_shape *s);
struct ss_heads ss_heads_latent(const struct ss_shape *s);

/* Both blocks from the input norm to the residual: Q, K and V from linear layers of the hidden state, or by way of latents. */
void ss_op_joint_attention(struct ss_ops *ops, const struct ss_shape *s, const struct ss_heads *a);
void ss_op_latent_attention(struct ss_ops *ops, const struct ss_shape *s, const struct ss_heads *a);
/* The end of both, from Q, K and V to the residual. kept: 1 where the operators before it keep Q, K and V. */
void ss_op_attention(struct ss_ops *ops, const struct ss_shape *s, const struct ss_heads *a, int kept);
/* Elements of each turned channel of a head that PyTorch's rotary embedding makes of strided or broadcast operands, each way. */
#define SS_TURNED_STRIDED 3.5

#endif
