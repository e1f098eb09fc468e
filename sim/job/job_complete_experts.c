/* SPDX-License-Identifier: Apache-2.0 */
/* Completes what experts, latent attention and windows leave open. */
#include <string.h>

#include "base/base.h"
#include "job/job_internal.h"
#include "model/model_internal.h"

/* ---- attention ---- */

/* Megatron's arguments: ranks and heads of latent attention where the model has none. */
static void complete_latent(struct ss_finish *f, struct ss_model *m)
{
    int *const sizes[] = {&m->kv_lora_rank, &m->qk_head_dim, &m->qk_pos_emb_head_dim, &m->v_head_dim};
    static const int megatron[] = {32, 128, 64, 128};

    if (m->kv_lora_rank > 0 || f->job->multi_latent)
        for (size_t i = 0; i < SS_ARRAY_LEN(sizes); i++)
            *sizes[i] = *sizes[i] ? *sizes[i] : megatron[i];
}

/* Sizes of latent attention are nothing to a model that has none. */
static void drop_latent(struct ss_finish *f, struct ss_model *m, int latent)
{
    if (latent || f->job->multi_latent)
        return;
    if (m->q_lora_rank | m->kv_lora_rank | m->qk_head_dim | m->qk_pos_emb_head_dim | m->v_head_dim)
        ss_note(f->notes,
                "ranks and head sizes of latent attention are not active without --multi-latent-attention");
    m->q_lora_rank = m->kv_lora_rank = m->qk_head_dim = m->qk_pos_emb_head_dim = m->v_head_dim = 0;
}

/* Layers that see no more than the window: all of them, all but each N-th, or as a list says. A window given by a flag takes the
 * place of the chunks of a model. */
static int complete_window(struct ss_finish *f, struct ss_model *m)
{
    const struct ss_job *job = f->job;
    int skip = job->window_skip_freq, list = job->model.local_layers.n;

    if (job->window_given) {
        m->sliding_window = job->model.sliding_window;
        m->attention_chunk = 0;
    }
    if (list > 0 && list != m->num_layers)
        REFUSE(f, "--window-attn-skip-freq --num-layers", "name each layer once",
               "Invalid length of window_attn_skip_freq: %d, expected %d", list, m->num_layers);
    if (skip > 0 && m->num_layers > SS_LAYER_RULE_MAX)
        REFUSE(f, "--window-attn-skip-freq", "fewer layers", "more than %d layers by --window-attn-skip-freq",
               SS_LAYER_RULE_MAX);
    if (job->window_given && !skip && !list)
        m->local_layers = (struct ss_layer_rule){.period = 1};
    if (skip > 0) {
        m->local_layers = (struct ss_layer_rule){.n = m->num_layers};
        for (int i = 0; i < m->num_layers; i++)
            m->local_layers.bits[i / 64] |= (uint64_t)((i + 1) % skip != 0) << i % 64;
    }
    if ((skip || list) && !m->sliding_window)
        ss_note(f->notes, "--window-attn-skip-freq is not active without --window-size");
    if (!m->sliding_window && !m->attention_chunk)
        memset(&m->local_layers, 0, sizeof m->local_layers);
    return SS_OK;
}

int ss_job_complete_attention_flags(struct ss_finish *f, struct ss_model *m)
{
    drop_latent(f, m, f->model_is_latent);
    complete_latent(f, m);
    return complete_window(f, m);
}

/* ---- experts ---- */

/* Flags of experts that a model without them has been given: "a, b". */
static void note_inactive(struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    const struct ss_model *m = &job->model;
    const struct {
        int given;
        const char *name;
    } flags[] = {
        {job->dispatcher >= 0, "--moe-token-dispatcher-type"},
        {job->flex_backend >= 0, "--moe-flex-dispatcher-backend"},
        {job->recompute_modules & SS_MODULE_BIT(SS_MODULE_MOE) && !job->modules_given,
         "--moe-layer-recompute"},
        {job->permute_fusion >= 0, "--moe-permute-fusion"},
        {job->grouped_gemm >= 0, "--moe-grouped-gemm"},
        {job->pad_to_capacity, "--moe-pad-expert-input-to-capacity"},
        {job->capacity_factor > 0, "--moe-expert-capacity-factor"},
        {job->shared_expert_overlap, "--moe-shared-expert-overlap"},
        {job->dispatch_sms, "--moe-flex-dispatcher-num-sms"},
        {job->fp8_dispatch, "--fp8-dispatch"},
        {job->moe_load, "--moe-load"},
        {job->etp != job->tp, "--expert-tensor-parallel-size"},
        {job->router_dtype, "--moe-router-dtype"},
        {job->router_fusion, "--moe-router-fusion"},
        {job->input_jitter > 0, "--moe-input-jitter-eps"},
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
    size_t used = 0;

    for (size_t i = 0; i < SS_ARRAY_LEN(flags); i++)
        if (flags[i].given && used < sizeof text)
            used +=
                (size_t)snprintf(text + used, sizeof text - used, "%s%s", used ? ", " : "", flags[i].name);
    if (used)
        ss_note(f->notes, "not active without --num-experts: %s", text);
}

static void complete_dispatcher(struct ss_finish *f)
{
    struct ss_job *job = f->job;
    int two_stages;

    if (job->dispatcher < 0) /* the words of the stack are in the order of enum ss_dispatcher */
        job->dispatcher = f->stack->dispatcher;
    two_stages = ss_dispatcher_has_stages(job->dispatcher);
    if (job->flex_backend >= 0 && !two_stages)
        ss_note(f->notes,
                "--moe-flex-dispatcher-backend is not active without --moe-token-dispatcher-type flex");
    else if (job->flex_backend >= 0)
        job->dispatcher = job->flex_backend;
    if (job->dispatch_sms > 0 && !two_stages)
        ss_note(f->notes,
                "--moe-flex-dispatcher-num-sms is not active without --moe-token-dispatcher-type flex");
    else if (job->dispatch_sms > 0 &&
             (job->dispatcher == SS_DISPATCH_HYBRIDEP ||
              !(f->stack->dispatch_sm_rate > 0 || f->stack->dispatch_sm_rate_alone > 0)))
        ss_note(
            f->notes,
            "--moe-flex-dispatcher-num-sms: fewer SMs slow no exchange down, for the stack does not say what "
            "one moves (ss.dispatch.sm_rate, of DeepEP)");
}

/* Modules to repeat that the model has not. */
static void note_idle_modules(struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    const struct {
        int module, there;
        const char *name, *lacks;
    } modules[] = {{SS_MODULE_MOE, job->model.num_experts > 0, "moe", "experts"},
                   {SS_MODULE_SHARED_EXPERTS, job->model.shared_expert_ffn_hidden_size > 0, "shared_experts",
                    "shared experts"},
                   {SS_MODULE_MLP, ss_job_has_dense_layer(job), "mlp", "layers without experts"}};

    for (size_t i = 0; i < SS_ARRAY_LEN(modules); i++)
        if (job->modules_given && job->recompute_modules & SS_MODULE_BIT(modules[i].module) &&
            !modules[i].there)
            ss_note(f->notes, "--recompute-modules %s: not active, the model has no %s", modules[i].name,
                    modules[i].lacks);
}

void ss_job_complete_experts(struct ss_finish *f)
{
    struct ss_job *job = f->job;

    if (!job->model.num_experts)
        note_inactive(f);
    else
        complete_dispatcher(f);
    if (job->dispatcher < 0)
        job->dispatcher = f->stack->dispatcher;
    if (job->model.num_experts && job->router_dtype == 2)
        ss_note(f->notes, "--moe-router-dtype fp64 is priced as fp32");
    if (job->permute_fusion < 0)
        job->permute_fusion = f->stack->permute_fusion > 0;
    if (job->grouped_gemm < 0)
        job->grouped_gemm = f->stack->grouped_gemm > 0;
    if (job->model.num_experts && job->shared_expert_overlap && !job->model.shared_expert_ffn_hidden_size) {
        job->shared_expert_overlap = 0;
        ss_note(f->notes, "--moe-shared-expert-overlap is not active without shared experts");
    }
    if (job->recompute == SS_RECOMPUTE_SELECTIVE && !job->recompute_modules)
        job->recompute_modules = SS_MODULE_BIT(SS_MODULE_CORE_ATTN);
    if (job->recompute != SS_RECOMPUTE_SELECTIVE && job->modules_given)
        ss_note(f->notes, "--recompute-modules is not active without --recompute-granularity selective");
    if (job->recompute == SS_RECOMPUTE_NONE && (job->recompute_method >= 0 || job->recompute_num_layers))
        ss_note(f->notes, "--recompute-method and --recompute-num-layers are not active without "
                          "--recompute-granularity full");
    if (job->recompute != SS_RECOMPUTE_SELECTIVE)
        job->recompute_modules = 0; /* as in Megatron, which reads them of selective recompute alone */
    note_idle_modules(f);
    ss_job_complete_offload_modules(f);
    if (job->optimizer != SS_OPTIMIZER_MUON &&
        (job->muon_steps != 5 || job->muon_tp != SS_MUON_BLOCKWISE || job->muon_joint_qkv))
        ss_note(f->notes, "flags of Muon are not active without --optimizer muon");
    if (job->fp8_dispatch && job->model.num_experts && job->dispatcher == SS_DISPATCH_ALLGATHER)
        ss_note(f->notes, "--fp8-dispatch is not active with --moe-token-dispatcher-type allgather");
    if (job->deterministic)
        ss_note(f->notes, "--deterministic-mode: what fused attention, the embedding's sorted gradient and "
                          "fresh memory that "
                          "PyTorch fills cost more is not counted");
    if (ss_job_autocasts(job, f->stack))
        ss_note(f->notes, "bf16 is autocast: the residual stream and norms in fp32 are not counted, time and "
                          "memory are low");
    if (job->graph_scope_given && !job->cuda_graphs)
        ss_note(f->notes, "--cuda-graph-scope is not active without --cuda-graph-impl");
    if (job->cuda_graphs)
        ss_note(f->notes, "memory that CUDA graphs keep for themselves is not counted");
    job->bf16_moments = job->exp_avg_bf16 && job->exp_avg_sq_bf16;
    if (job->layout_mtp_apart)
        ss_note(f->notes,
                "layers of multi-token prediction are priced beside the loss, not in a stage before it");
    if (job->model.num_experts && job->pad_for_fp8)
        ss_note(f->notes, "the tokens that --moe-router-padding-for-fp8 adds to an expert are not counted");
}
