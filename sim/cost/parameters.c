/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of parameters, gradients and optimizer states. */
#include <math.h>

#include "cost/memory.h"
#include "stepsim/job.h"

int ss_optimizer_in_model_type(const struct ss_job *job, const struct ss_stack *stack)
{
    return stack->model_type > 0 && job->precision != SS_FP32 && job->optimizer.kind != SS_OPTIMIZER_MUON;
}

struct ss_parameter_bytes ss_parameter_bytes(const struct ss_job *job, const struct ss_stack *stack)
{
    enum ss_precision stored = job->stored;
    double moments = job->optimizer.moment_bytes;
    if (stored == SS_FP32 || (stack->fp32_params > 0 && stored == SS_BF16))
        return (struct ss_parameter_bytes){4, 4, moments};
    if (ss_optimizer_in_model_type(job, stack))
        return (struct ss_parameter_bytes){2, 2, fmin(4, moments)};
    double master = job->optimizer.master_bytes;
    int half = stack->param_remainders > 0 && job->precision == SS_BF16 && job->dp.distributed_optimizer &&
               job->optimizer.kind != SS_OPTIMIZER_MUON; /* Apex's Adam */
    return (struct ss_parameter_bytes){2, job->dp.grad_reduce_fp32 ? 4 : 2,
                                       (half ? fmin(2, master) : master) + moments};
}

double ss_accumulate_bytes(const struct ss_cost_context *c)
{
    double own = c->shape.autocast ? 4 : c->shape.e;
    if (c->shape.wgrad_fused)
        return 0;
    if (!ss_accumulates_apart(c) && (!c->job->wgrad_apart || c->stack->fused_wgrad_accumulation <= 0))
        return 3 * own;
    return c->fsdp.n > 1 ? 0 : own + 2 * ss_parameter_bytes(c->job, c->stack).grad;
}

double ss_fsdp_gradient_bytes(const struct ss_cost_context *c)
{
    int wider = c->stack->fsdp_reduced > 0 && ss_job_fsdp_once(c->job, c->stack);
    return wider ? c->stack->fsdp_reduced : ss_parameter_bytes(c->job, c->stack).grad;
}

double ss_ddp_copy_bytes(const struct ss_cost_context *c)
{
    double grad = ss_parameter_bytes(c->job, c->stack).grad;
    return c->stack->ddp_copies > 1 ? fmin(grad, c->shape.e) : grad;
}

double ss_memory_copied(const struct ss_cost_context *c, double params, double shards)
{
    const struct ss_stack *stack = c->stack;
    if (stack->grad_copy <= 0 || c->shape.e >= 4)
        return 0;
    if (stack->grad_copy < 2) /* Megatron-LM: none where they accumulate in fp32 */
        return ss_parameter_bytes(c->job, stack).grad < 4 ? params : 0;
    return stack->zero_bucket > 0 && c->job->precision == SS_FP16 ? params / shards : params;
}
