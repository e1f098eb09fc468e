/* SPDX-License-Identifier: Apache-2.0 */
/* Completes what flags of experts leave open. */
#include "base/base.h"
#include "job/job_internal.h"

/* Flags of experts that a model without them has been given: "a, b". */
static void note_inactive(struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    const struct ss_model *m = &job->model;
    const struct {
        int given;
        const char *name;
    } flags[] = {
        {SS_GIVEN(f->asked, dispatcher), "--moe-token-dispatcher-type"},
        {f->asked->flex_backend >= 0, "--moe-flex-dispatcher-backend"},
        {job->recompute.modules & SS_MODULE_BIT(SS_MODULE_MOE) && !f->asked->modules_given,
         "--moe-layer-recompute"},
        {SS_GIVEN(f->asked, permute_fusion), "--moe-permute-fusion"},
        {SS_GIVEN(f->asked, grouped_gemm), "--moe-grouped-gemm"},
        {job->moe.pad_to_capacity, "--moe-pad-expert-input-to-capacity"},
        {job->moe.capacity_factor > 0, "--moe-expert-capacity-factor"},
        {job->moe.shared_expert_overlap, "--moe-shared-expert-overlap"},
        {m->moe_latent_size, "--moe-latent-size"},
        {job->moe.dispatch_sms, "--moe-flex-dispatcher-num-sms"},
        {job->moe.fp8_dispatch, "--fp8-dispatch"},
        {job->moe.load, "--moe-load"},
        {job->etp != job->tp, "--expert-tensor-parallel-size"},
        {job->moe.router_dtype, "--moe-router-dtype"},
        {job->moe.router_fusion, "--moe-router-fusion"},
        {job->moe.input_jitter > 0, "--moe-input-jitter-eps"},
        {m->moe_layers.period || m->moe_layers.n, "--moe-layer-freq"},
        {m->moe_ffn_hidden_size, "--moe-ffn-hidden-size"},
        {m->top_k, "--moe-router-topk"},
        {m->shared_expert_ffn_hidden_size, "--moe-shared-expert-intermediate-size"},
        {m->router_groups, "--moe-router-num-groups"},
        {m->router_group_topk, "--moe-router-group-topk"},
        {m->router_bias, "--moe-router-enable-expert-bias"},
        {m->shared_expert_gate, "--moe-shared-expert-gate"},
    };
    char text[800] = "";

    for (size_t i = 0; i < SS_ARRAY_LEN(flags); i++)
        if (flags[i].given)
            ss_append(text, sizeof text, "%s%s", text[0] ? ", " : "", flags[i].name);
    if (text[0])
        ss_note(f->notes, "not active without --num-experts: %s", text);
}

static void complete_dispatcher(struct ss_finish *f)
{
    struct ss_job *job = f->job;
    int two_stages;

    two_stages = ss_dispatcher_has_stages(job->moe.dispatcher);
    if (f->asked->flex_backend >= 0 && !two_stages)
        ss_note(f->notes,
                "--moe-flex-dispatcher-backend is not active without --moe-token-dispatcher-type flex");
    else if (f->asked->flex_backend >= 0)
        job->moe.dispatcher = f->asked->flex_backend;
    if (job->moe.dispatch_sms > 0 && !two_stages)
        ss_note(f->notes,
                "--moe-flex-dispatcher-num-sms is not active without --moe-token-dispatcher-type flex");
    else if (job->moe.dispatch_sms > 0 &&
             (job->moe.dispatcher == SS_DISPATCH_HYBRIDEP ||
              !(f->stack->dispatch_sm_rate > 0 || f->stack->dispatch_sm_rate_alone > 0)))
        ss_note(
            f->notes,
            "--moe-flex-dispatcher-num-sms: fewer SMs slow no exchange down, for the stack does not say what "
            "one moves (ss.dispatch.sm_rate, of DeepEP)");
}

void ss_job_complete_experts(struct ss_finish *f)
{
    struct ss_job *job = f->job;

    if (!job->model.num_experts) {
        note_inactive(f);
        return;
    }
    complete_dispatcher(f);
    if (job->moe.router_dtype == 2)
        ss_note(f->notes, "--moe-router-dtype fp64 is priced as fp32");
    if (job->moe.shared_expert_overlap && !job->model.shared_expert_ffn_hidden_size) {
        job->moe.shared_expert_overlap = 0;
        ss_note(f->notes, "--moe-shared-expert-overlap is not active without shared experts");
    }
}
