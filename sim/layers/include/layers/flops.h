/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Megatron-LM's num_floating_point_operations as a sum over operators. Each GEMM counts three times, once
 * forward and twice backward, at the model's own size (model_flops of struct ss_op). Only experts
 * that a token uses count. Routers do not count. Attention counts the full square of scores, as in Megatron until
 * 2025, or less of it.
 */
#pragma once

#include "stepsim/job.h"
#include "stepsim/schedule.h"
#include "stepsim/stack.h"

/* FLOP of one iteration on all ranks; the fields are those of struct ss_plan. */
struct ss_model_flops {
    double model, causal, hardware;
    double seen;             /* what the causal mask, windows and chunks leave */
    double bounded;          /* the whole square, but of a query no more keys than its window or chunk has */
    double bounded_hardware; /* likewise, recompute included */
};
struct ss_model_flops ss_model_flops_of(const struct ss_job *job, const struct ss_stack *stack,
                                        const struct ss_schedule *schedule, int padded_vocab);
