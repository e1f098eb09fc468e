/* SPDX-License-Identifier: Apache-2.0 */
/* --fine-grained-activation-offloading: what Megatron-LM refuses, with its words, and which modules have nothing to move. */
#include "base/base.h"
#include "job/job_internal.h"

#define OF_EXPERTS (SS_OFFLOAD_BIT(SS_OFFLOAD_MOE_ACT) | SS_OFFLOAD_BIT(SS_OFFLOAD_EXPERT_FC1))

/* ---- checks ---- */

static int check_graphs(struct ss_finish *f)
{
    const struct ss_job *job = f->job;

    if (job->graphs.impl == SS_GRAPHS_LOCAL && job->offload.modules & ~OF_EXPERTS)
        REFUSE(f, "--offload-modules --cuda-graph-impl", "take --cuda-graph-impl transformer_engine",
               "fine-grained activation offloading with cuda_graph_impl='local' only supports "
               "offload_modules 'expert_fc1', 'moe_act', and 'fused_group_mlp'.");
    if (job->graphs.impl == SS_GRAPHS_LOCAL && !job->graphs.scope)
        REFUSE(f, "--fine-grained-activation-offloading --cuda-graph-impl", "add --cuda-graph-scope attn",
               "fine-grained activation offloading with cuda_graph_impl='local' is not supported with "
               "whole-layer CUDA graph capture.");
    if (job->graphs.impl == SS_GRAPHS_ITERATION && job->offload.inflight < 0)
        REFUSE(f, "--fine-grained-activation-offloading --cuda-graph-impl",
               "add --fine-grained-offloading-max-inflight-offloads 1",
               "fine_grained_offloading_max_inflight_offloads must be a non-negative integer when using "
               "fine-grained activation offloading with full-iteration CUDA graphs");
    return SS_OK;
}

int ss_job_check_offload_modules(struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    unsigned set = job->offload.modules;

    if (!job->offload.fine_grained)
        return SS_OK;
    if (ss_job_offloads_layers(f))
        REFUSE(f, "--fine-grained-activation-offloading --cpu-offloading", "drop one of the two",
               "fine_grained_activation_offloading cannot be enabled with cpu_offloading.");
    if (!set)
        REFUSE(f, "--fine-grained-activation-offloading", "add --offload-modules",
               "fine_grained_activation_offloading needs at least one of --offload-modules");
    if (set & SS_OFFLOAD_BIT(SS_OFFLOAD_ATTN_PROJ) && !(set & SS_OFFLOAD_BIT(SS_OFFLOAD_CORE_ATTN)))
        REFUSE(f, "--offload-modules", "add core_attn",
               "attn_proj cannot be set to offload_modules alone without core_attn");
    if (job->recompute.granularity == SS_RECOMPUTE_SELECTIVE &&
        job->recompute.modules & SS_MODULE_BIT(SS_MODULE_MOE) && set & OF_EXPERTS)
        REFUSE(f, "--offload-modules --recompute-modules", "drop one of the two",
               "Cannot offload moe_act or expert_fc1 while recomputing the entire MoE layer.");
    if (job->transformer_local || f->stack->te_layers == 0)
        REFUSE(f, "--fine-grained-activation-offloading --transformer-impl",
               "take another --stack or --transformer-impl, or drop it",
               "Fine-grained activation offloading is only supported with transformer_engine implementation");
    return check_graphs(f);
}

int ss_job_offloads_layers(const struct ss_finish *f)
{
    return f->job->offload.layers > 0 || (f->asked->cpu_offloading && !SS_GIVEN(f->asked, offload_layers));
}

/* ---- modules with nothing to move ---- */

/* Notes the modules of `set` that the job names, and leaves them out. */
static void leave_out(struct ss_finish *f, unsigned set, const char *why)
{
    static const char *const words[] = {
#define X(sym, word) word,
        SS_OFFLOAD_MODULE_LIST(X)
#undef X
    };
    char text[128] = "";

    for (int k = 0; k < SS_OFFLOAD_COUNT; k++)
        if (f->job->offload.modules & set & SS_OFFLOAD_BIT(k))
            ss_append(text, sizeof text, " %s", words[k]);
    if (text[0])
        ss_note(f->notes, "--offload-modules%s: not active, %s", text, why);
    f->job->offload.modules &= ~set;
}

void ss_job_complete_offload_modules(struct ss_finish *f)
{
    struct ss_job *job = f->job;
    const unsigned attention = SS_OFFLOAD_BIT(SS_OFFLOAD_ATTN_NORM),
                   mlp = SS_OFFLOAD_BIT(SS_OFFLOAD_MLP_NORM);
    unsigned graphs = job->graphs.impl == SS_GRAPHS_TE ? job->graphs.scope : 0;

    if (!job->offload.fine_grained) {
        job->offload.modules = 0; /* ss_job_note_idle says so */
        return;
    }
    if (!job->model.num_experts)
        leave_out(f, OF_EXPERTS, "the model has no experts");
    if (!job->model.num_experts)
        leave_out(f, mlp, "the norm is a part of the linear layer behind it");
    if (!job->model.kv_lora_rank)
        leave_out(f, attention, "the norm is a part of the linear layer behind it: qkv_linear");
    if (job->recompute.modules & SS_MODULE_BIT(SS_MODULE_CORE_ATTN))
        leave_out(f, SS_OFFLOAD_BIT(SS_OFFLOAD_CORE_ATTN), "it is recomputed");
    if (graphs & SS_GRAPH_ATTN)
        leave_out(f, attention, "CUDA graphs hold the attention");
    if (graphs & (SS_GRAPH_ATTN | SS_GRAPH_ROUTER))
        leave_out(f, mlp, "CUDA graphs hold the attention or the router");
}
