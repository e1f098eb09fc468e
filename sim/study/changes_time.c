/* SPDX-License-Identifier: Apache-2.0 */
/* Changes that may make a job faster, with or without more memory. */
#include "base/base.h"
#include "study/changes_table.h"

#define BESIDE (SS_CHANGE_FOR_TIME | SS_CHANGE_BESIDE)
#define SWITCH (BESIDE | SS_CHANGE_SWITCH)
#define ARITHMETIC "another arithmetic: watch the loss"

DEFINE(overlap_gradients)
{
    int gather = job->dp.distributed_optimizer && !job->dp.overlap_param_gather;

    snprintf(words, size, "--overlap-grad-reduce%s", gather ? " --overlap-param-gather" : "");
    return dp * job->cp >= 2 && !job->dp.fsdp && (!job->dp.overlap_grad_reduce || gather);
}

DEFINE(overlap_tp)
{
    (void)dp;
    snprintf(words, size, "--tp-comm-overlap%s", job->sequence_parallel ? "" : " --sequence-parallel");
    return job->tp >= 2 && !job->tp_comm_overlap;
}

DEFINE(use_fused)
{
    (void)dp;
    snprintf(words, size, "--attention-backend fused");
    return job->attention != SS_ATTENTION_FUSED && job->precision != SS_FP32 &&
           job->model.attention_softcap <= 0;
}

/* The overlap below, with the weight gradients behind what is exchanged. */
DEFINE(overlap_experts_more)
{
    (void)dp;
    snprintf(words, size, "--overlap-moe-expert-parallel-comm --delay-wgrad-compute");
    return job->model.num_experts > 0 && job->ep >= 2 && !job->moe.delay_wgrad;
}

DEFINE(overlap_experts)
{
    (void)dp;
    snprintf(words, size, "--overlap-moe-expert-parallel-comm");
    return job->model.num_experts > 0 && job->ep >= 2 && !job->moe.overlap;
}

DEFINE(overlap_shared_experts)
{
    (void)dp;
    snprintf(words, size, "--moe-shared-expert-overlap");
    return job->model.shared_expert_ffn_hidden_size > 0 && !job->moe.shared_expert_overlap;
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
    return job->model.num_experts > 0 && !job->moe.grouped_gemm;
}

DEFINE(fuse_permutation)
{
    (void)dp;
    snprintf(words, size, "--moe-permute-fusion");
    return job->model.num_experts > 0 && !job->moe.permute_fusion;
}

DEFINE(fuse_router)
{
    (void)dp;
    snprintf(words, size, "--moe-router-fusion");
    return job->model.num_experts > 0 && !job->moe.router_fusion;
}

/* It applies where nothing stands between the joint layer and the rotary embedding (ss_job_fuses_qkv_rope). */
DEFINE(fuse_qkv_rope)
{
    const struct ss_model *m = &job->model;
    (void)dp;
    snprintf(words, size, "--fused-single-qkv-rope");
    return !job->fused_qkv_rope && m->position == SS_POSITION_ROPE && m->kv_lora_rank <= 0 &&
           m->qk_norm <= SS_QK_NORM_NONE && m->attention_gate <= 0 && m->full_unturned <= 0;
}

DEFINE(recompute_none)
{
    (void)dp;
    snprintf(words, size, "--recompute none");
    return job->recompute.granularity != SS_RECOMPUTE_NONE;
}

DEFINE(recompute_less)
{
    (void)dp;
    snprintf(words, size, "--recompute selective");
    return job->recompute.granularity == SS_RECOMPUTE_FULL;
}

/* Recomputes only the first layers of each virtual stage, one in `of`. It applies where all stages have
 * equally many layers. */
static int recompute_blocks(const struct ss_job *job, int of, char *words, size_t size)
{
    int stages = job->pp * ss_job_chunks(job), even = !job->layout.n && job->model.num_layers % stages == 0,
        layers = even ? job->model.num_layers / stages / of : 0;

    snprintf(words, size, "--recompute-granularity full --recompute-method block --recompute-num-layers %d",
             layers);
    return job->recompute.granularity == SS_RECOMPUTE_FULL && layers >= 1 &&
           (job->recompute.method == SS_RECOMPUTE_UNIFORM || job->recompute.num_layers > layers);
}

DEFINE(recompute_half)
{
    (void)dp;
    return recompute_blocks(job, 2, words, size);
}

DEFINE(recompute_quarter)
{
    (void)dp;
    return recompute_blocks(job, 4, words, size);
}

DEFINE(double_micro_batch)
{
    snprintf(words, size, "--micro-batch-size %d", 2 * job->micro_batch);
    return job->global_batch % (2 * job->micro_batch * dp) == 0;
}

DEFINE(use_graphs)
{
    int whole = !job->model.num_experts || (job->moe.capacity_factor > 0 && job->moe.pad_to_capacity);
    (void)dp;
    snprintf(words, size, "%s",
             whole ? "--cuda-graph-impl local"
                   : "--cuda-graph-impl transformer_engine --cuda-graph-scope attn moe_router");
    return job->graphs.impl == SS_GRAPHS_NONE && job->recompute.granularity != SS_RECOMPUTE_FULL &&
           !job->offload.layers;
}

DEFINE(reduce_in_bf16)
{
    snprintf(words, size, "--grad-reduce-in-bf16");
    return dp * job->cp >= 2 && !job->dp.grad_reduce_bf16 && job->precision != SS_FP32 &&
           job->precision != SS_FP16;
}

DEFINE(use_fp8)
{
    (void)dp;
    snprintf(words, size, "--fp8-format hybrid");
    return job->precision == SS_BF16;
}

const struct ss_change_row ss_changes_for_time[] = {
    {overlap_gradients, SWITCH, SS_CHANGE_PLAIN, NULL},
    {overlap_tp, SWITCH, SS_CHANGE_PLAIN, NULL},
    {use_fused, SWITCH, SS_CHANGE_PLAIN, NULL},
    {use_deepep, SWITCH, SS_CHANGE_PLAIN, NULL},
    {overlap_experts_more, SWITCH, SS_CHANGE_PLAIN, NULL},
    {overlap_experts, SWITCH, SS_CHANGE_PLAIN, NULL},
    {overlap_shared_experts, SWITCH, SS_CHANGE_PLAIN, NULL},
    {group_gemms, SWITCH, SS_CHANGE_PLAIN, NULL},
    {fuse_permutation, SWITCH, SS_CHANGE_PLAIN, NULL},
    {fuse_router, SWITCH, SS_CHANGE_PLAIN, NULL},
    {fuse_qkv_rope, SWITCH, SS_CHANGE_PLAIN, NULL},
    {recompute_none, SS_CHANGE_FOR_TIME, SS_CHANGE_PLAIN, NULL},
    {recompute_less, SS_CHANGE_FOR_TIME, SS_CHANGE_PLAIN, NULL},
    {recompute_half, SS_CHANGE_FOR_TIME, SS_CHANGE_PLAIN, NULL},
    {recompute_quarter, SS_CHANGE_FOR_TIME, SS_CHANGE_PLAIN, NULL},
    {double_micro_batch, SS_CHANGE_FOR_TIME, SS_CHANGE_PLAIN, NULL},
    {use_graphs, BESIDE, SS_CHANGE_PLAIN, NULL},
    {reduce_in_bf16, BESIDE, SS_CHANGE_ARITHMETIC, ARITHMETIC},
    {use_fp8, BESIDE, SS_CHANGE_ARITHMETIC, ARITHMETIC},
};
const int ss_nchanges_for_time = (int)SS_ARRAY_LEN(ss_changes_for_time);
