/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that mixers of linear attention and of convolutions share. */
#pragma once

#include "layers/operators.h"

/* Tokens of a chunk in the kernels of flash-linear-attention. */
#define SS_LINEAR_CHUNK 64

/* Append the gather of the normed hidden state for `layers` linear layers, and casts for `columns` columns of all; mixer_begin also the norm
 * before it. */
void ss_op_mixer_in(struct ss_ops *ops, const struct ss_shape *s, int layers, double columns);
void ss_op_mixer_begin(struct ss_ops *ops, const struct ss_shape *s, int layers, double columns);
/* Appends a linear layer of the gathered hidden state; the first of them gathers it. */
struct ss_op *ss_op_mixer_linear(struct ss_ops *ops, const struct ss_shape *s, const char *name,
                                 double columns, int first);
/* Append the row-parallel layer from `columns` columns to the hidden state, with its casts; mixer_end also the end of the branch. kept: 1 where an
 * operator before keeps its input. */
void ss_op_mixer_out(struct ss_ops *ops, const struct ss_shape *s, const char *name, double columns, int bias,
                     int kept);
void ss_op_mixer_end(struct ss_ops *ops, const struct ss_shape *s, const char *name, double columns,
                     int kept);
/* Appends a linear layer that no tensor ranks divide, with the casts that it needs. Where its cast reads SS_CAST_OF_OWN, it keeps its input. */
struct ss_op *ss_op_undivided(struct ss_ops *ops, const struct ss_shape *s, const char *name, double n,
                              double k, int bias, int input_of);
/* Appends both matrices of a low rank, h -> rank -> columns, the second in this role; every tensor rank has the first whole. The second keeps
 * its input. */
struct ss_op *ss_op_low_rank(struct ss_ops *ops, const struct ss_shape *s, const char *const names[2],
                             double rank, double columns, int role, int bias);
/* Append the exchanges of context ranks that have parts of a sequence, as flash-linear-attention has them (fla/ops/cp): each gathers from
 * all the last `tokens` tokens of `channels` channels, or `elements` elements of states in fp32 a sequence. Nothing with one rank. */
void ss_op_halo(struct ss_ops *ops, const struct ss_shape *s, const char *name, double tokens,
                double channels);
void ss_op_states(struct ss_ops *ops, const struct ss_shape *s, double elements);
/* Appends the difference of the hidden state and that of the token before, which the caller's mixtures keep; h channels. */
void ss_op_token_shift(struct ss_ops *ops, const struct ss_shape *s);
/* Appends `kernels` short convolutions of flash-linear-attention over `channels` channels in all, with silu. They keep their input. */
struct ss_op *ss_op_short_convolution(struct ss_ops *ops, const struct ss_shape *s, double channels,
                                      int kernels);
/* Appends a norm by heads of `width` channels whose output a gate of as many columns weighs, in one kernel. It keeps both inputs. */
struct ss_op *ss_op_gated_norm(struct ss_ops *ops, const struct ss_shape *s, const char *name, double heads,
                               double width);
/* Says what the curves of a card ask for: heads of one rank, whose context ranks see all tokens of a sequence (whole 1) or a part. */
void ss_op_call(struct ss_op *op, const struct ss_shape *s, int whole, double heads, double key_dim,
                double value_dim);
