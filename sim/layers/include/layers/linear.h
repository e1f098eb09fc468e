/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that mixers of linear attention share. */
#ifndef SS_LAYERS_LINEAR_H
#define SS_LAYERS_LINEAR_H

#include "layers/operators.h"

/* Tokens of a chunk in the kernels of flash-linear-attention. */
#define SS_LINEAR_CHUNK 64

/* Appends the norm before a mixer, the gather of its output for `layers` linear layers, and casts for `columns` columns of all. */
void ss_op_mixer_begin(struct ss_ops *ops, const struct ss_shape *s, int layers, double columns);
/* Appends a linear layer of the gathered hidden state; the first of them gathers it. */
struct ss_op *ss_op_mixer_linear(struct ss_ops *ops, const struct ss_shape *s, const char *name,
                                 double columns, int first);
/* Appends the row-parallel layer from `columns` columns to the hidden state, and the end of the branch. kept: 1 where an operator before
 * keeps its input. */
void ss_op_mixer_end(struct ss_ops *ops, const struct ss_shape *s, const char *name, double columns,
                     int kept);
/* Appends `kernels` short convolutions of flash-linear-attention over `channels` channels in all, with silu. They keep their input. */
struct ss_op *ss_op_short_convolution(struct ss_ops *ops, const struct ss_shape *s, double channels,
                                      int kernels);
/* Appends a norm by heads of `width` channels whose output a gate of as many columns weighs, in one kernel. It keeps both inputs. */
struct ss_op *ss_op_gated_norm(struct ss_ops *ops, const struct ss_shape *s, const char *name, double heads,
                               double width);
/* Says what the curves of a card ask for: heads of one rank, whose context ranks see all tokens of a sequence (whole 1) or a part. */
void ss_op_call(struct ss_op *op, const struct ss_shape *s, int whole, double heads, double key_dim,
                double value_dim);

#endif
