/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Megatron-LM's num_floating_point_operations as a sum over operators: three GEMMs forward and backward for each of the model
 * (model_flops of struct ss_op), of experts those that a token meets, over the full square of scores, as Megatron counted until 2025.
 * It counts no router and no window of local attention.
 */
#ifndef SS_LAYERS_FLOPS_H
#define SS_LAYERS_FLOPS_H

#include "stepsim/job.h"
#include "stepsim/schedule.h"
#include "stepsim/stack.h"

/* FLOP of one iteration, all ranks; fields as in struct ss_plan. */
struct ss_model_flops {
    double model, causal, hardware;
};
struct ss_model_flops ss_model_flops_of(const struct ss_job *job, const struct ss_stack *stack,
                                        const struct ss_schedule *schedule, int padded_vocab);

#endif
