/* SPDX-License-Identifier: Apache-2.0 */
/* Memory beside tensors: the CUDA context, NCCL's buffers, gradients that lie scattered. */
#include "cost/memory.h"
#include "stepsim/job.h"

/* Returns the bytes a parameter of gradients that lie scattered, outside the buffers of mixed precision and
 * of ZeRO. */
static double flattened_bytes(const struct ss_job *job)
{
    if (job->dp.distributed_optimizer || job->dp.fsdp)
        return 0;
    return job->precision == SS_FP32 ? 4 : job->dp.grad_reduce_fp32 ? 0 : 2;
}

double ss_memory_overhead(const struct ss_job *job, const struct ss_stack *stack, int world_size,
                          double parameters)
{
    const int size[SS_AXIS_COUNT] = {job->tp, job->cp, 1, ss_job_dp(job, world_size), job->pp};
    const int64_t one = (int64_t)job->etp * job->ep * job->pp; /* ranks of one copy of the experts */
    const int expert[SS_AXIS_COUNT] = {job->etp, 1, job->ep, one > 0 ? (int)(world_size / one) : 1, job->pp};
    int groups = stack->world_group > 0 && world_size > 1;
    for (int comm = 0; comm < SS_COMM_COUNT; comm++) {
        int experts = ss_comm_facts(comm)->members == SS_MEMBERS_EXPERT;
        if (!experts || ss_job_experts_apart(job))
            groups += ss_comm_has_buffers(comm, experts ? expert : size);
    }
    return stack->context_bytes + groups * stack->nccl_bytes +
           stack->flat_gradients * flattened_bytes(job) * parameters;
}
