/* SPDX-License-Identifier: Apache-2.0 */
/* The operator, FLOP and bytes of kernels, for reports only: no time comes from them. */
#pragma once

#include "cost/cost.h"

/* Describes an operator for the steps of its layer; is_loss: 1 in an output layer with its loss. */
struct ss_step_of ss_work_of(const struct ss_cost_context *c, const struct ss_op *op, int is_loss);
/* Fills FLOP and bytes of the GEMMs of a linear layer, grouped or not. */
void ss_work_gemm(const struct ss_cost_context *c, const struct ss_op *op, struct ss_linear_times *t);
/* Returns the bytes of Q, K, V and the output of attention, each counted once. */
double ss_work_attention_bytes(const struct ss_cost_context *c, const struct ss_op_attention *a);
