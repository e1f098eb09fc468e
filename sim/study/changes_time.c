/* SPDX-License-Identifier: Apache-2.0 */
/* Changes that may make a job faster and take memory for it, or none. */
#include <stdio.h>

#include "base/base.h"
#include "study/changes_table.h"

#define DEFINE(name) static int name(const struct ss_job *job, int dp, char *words, size_t size)
#define ARITHMETIC "another arithmetic: watch the loss"

DEFINE(overlap_gradients)
{
    int gather = job->distributed_optimizer && !job->overlap_param_gather;

    snprintf(words, size, "--overlap-grad-reduce%s", gather ? " --overlap-param-gather" : "");
    return dp * job->cp >= 2 && !job->fsdp && (!job->overlap_grad_reduce || gather);
}

DEFINE(overlap_tp)
{
    (void)dp;
    snprintf(words, size, "--tp-comm-overlap%s", job->sequence_parallel ? "" : " --sequence-parallel");
    return job->tp >= 2 && !job->tp_comm_overlap;
}

DEFINE(overlap_experts)
{
    (void)dp;
    snprintf(words, size, "--overlap-moe-expert-parallel-comm");
    return job->model.num_experts > 0 && job->ep >= 2 && !job->overlap_ep;
}

DEFINE(use_deepep)
{
    (void)dp;
    snprintf(words, size, "--moe-token-dispatcher-type flex --moe-flex-dispatcher-backend deepep");
    return job->model.num_experts > 0 && job->ep >= 2;
}

DEFINE(group_gemms)
{
    (void)dp;
    snprintf(words, size, "--moe-grouped-gemm");
    return job->model.num_experts > 0 && !job->grouped_gemm;
}

DEFINE(fuse_permutation)
{
    (void)dp;
    snprintf(words, size, "--moe-permute-fusion");
    return job->model.num_experts > 0 && !job->permute_fusion;
}

DEFINE(recompute_none)
{
    (void)dp;
    snprintf(words, size, "--recompute none");
    return job->recompute != SS_RECOMPUTE_NONE;
}

DEFINE(recompute_less)
{
    (void)dp;
    snprintf(words, size, "--recompute selective");
    return job->recompute == SS_RECOMPUTE_FULL;
}

DEFINE(double_micro_batch)
{
    snprintf(words, size, "--micro-batch-size %d", 2 * job->micro_batch);
    return job->global_batch % (2 * job->micro_batch * dp) == 0;
}

DEFINE(halve_tp)
{
    (void)dp;
    snprintf(words, size, "--tensor-model-parallel-size %d", job->tp / 2);
    return job->tp % 2 == 0;
}

DEFINE(halve_cp)
{
    (void)dp;
    snprintf(words, size, "--context-parallel-size %d", job->cp / 2);
    return job->cp % 2 == 0;
}

DEFINE(halve_ep)
{
    (void)dp;
    snprintf(words, size, "--expert-model-parallel-size %d", job->ep / 2);
    return job->ep % 2 == 0;
}

/* Half the stages; virtual stages go where one stage is left. */
DEFINE(halve_pp)
{
    (void)dp;
    snprintf(words, size, "--pipeline-model-parallel-size %d%s", job->pp / 2,
             job->pp == 2 && ss_job_chunks(job) > 1 ? " --vp 1" : "");
    return job->pp % 2 == 0 && !ss_job_has_stage_layers(job);
}

/* Twice the chunks of a rank, with as many layers each. */
DEFINE(double_virtual_stages)
{
    int chunks = 2 * ss_job_chunks(job);

    (void)dp;
    snprintf(words, size, "--vp %d", chunks);
    return job->pp >= 2 && !ss_job_has_stage_layers(job) &&
           ss_job_split_layers(job) % (job->pp * chunks) == 0;
}

/* One chunk of each layer: the smallest bubble. */
DEFINE(most_virtual_stages)
{
    int layers = ss_job_split_layers(job);

    (void)dp;
    snprintf(words, size, "--vp %d", layers / job->pp);
    return job->pp >= 2 && !ss_job_has_stage_layers(job) && layers % job->pp == 0 &&
           layers / job->pp > 2 * ss_job_chunks(job);
}

/* The last stage has the loss as well: fewer layers there, as many on each of the others. */
static int shorten_last(const struct ss_job *job, int nth, char *words, size_t size)
{
    int layers = job->model.num_layers, each = job->pp > 1 ? layers / job->pp : 0;

    if (job->pp < 2 || ss_job_has_stage_layers(job) || ss_job_split_layers(job) != layers)
        return 0;
    each += nth;
    snprintf(words, size, "--decoder-last-pipeline-num-layers %d%s", layers - each * (job->pp - 1),
             ss_job_chunks(job) > 1 ? " --vp 1" : "");
    return layers - each * (job->pp - 1) >= 1;
}

DEFINE(shorten_last_stage)
{
    (void)dp;
    return shorten_last(job, 1, words, size);
}

DEFINE(count_embedding_and_loss)
{
    (void)dp;
    snprintf(words, size, "--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split");
    return job->pp >= 2 && !ss_job_has_stage_layers(job) &&
           ss_job_split_layers(job) == job->model.num_layers &&
           (job->model.num_layers + 2) % (job->pp * ss_job_chunks(job)) == 0;
}

DEFINE(use_graphs)
{
    (void)dp;
    snprintf(words, size, "--cuda-graph-impl local");
    return job->cuda_graphs == SS_GRAPHS_NONE;
}

DEFINE(reduce_in_bf16)
{
    snprintf(words, size, "--grad-reduce-in-bf16");
    return dp * job->cp >= 2 && !job->grad_reduce_bf16 && job->precision != SS_FP32 &&
           job->precision != SS_FP16;
}

DEFINE(use_fp8)
{
    (void)dp;
    snprintf(words, size, "--fp8-format hybrid");
    return job->precision == SS_BF16;
}

const struct ss_change_row ss_changes_for_time[] = {
    {overlap_gradients, SS_CHANGE_FOR_TIME, NULL},
    {overlap_tp, SS_CHANGE_FOR_TIME, NULL},
    {overlap_experts, SS_CHANGE_FOR_TIME, NULL},
    {use_deepep, SS_CHANGE_FOR_TIME, NULL},
    {group_gemms, SS_CHANGE_FOR_TIME, NULL},
    {fuse_permutation, SS_CHANGE_FOR_TIME, NULL},
    {recompute_none, SS_CHANGE_FOR_TIME, NULL},
    {recompute_less, SS_CHANGE_FOR_TIME, NULL},
    {double_micro_batch, SS_CHANGE_FOR_TIME, NULL},
    {halve_tp, SS_CHANGE_FOR_TIME, NULL},
    {halve_cp, SS_CHANGE_FOR_TIME, NULL},
    {halve_ep, SS_CHANGE_FOR_TIME, NULL},
    {halve_pp, SS_CHANGE_FOR_TIME, NULL},
    {double_virtual_stages, SS_CHANGE_FOR_TIME, NULL},
    {most_virtual_stages, SS_CHANGE_FOR_TIME, NULL},
    {shorten_last_stage, SS_CHANGE_FOR_TIME, NULL},
    {count_embedding_and_loss, SS_CHANGE_FOR_TIME, NULL},
    {use_graphs, SS_CHANGE_FOR_TIME, NULL},
    {reduce_in_bf16, SS_CHANGE_FOR_TIME, ARITHMETIC},
    {use_fp8, SS_CHANGE_FOR_TIME, ARITHMETIC},
};
const int ss_nchanges_for_time = (int)SS_ARRAY_LEN(ss_changes_for_time);
