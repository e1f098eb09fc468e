/* SPDX-License-Identifier: Apache-2.0 */
/* What Megatron-LM refuses of experts, of their exchange, and of recomputed modules, with its words. */
#include "base/base.h"
#include "job/job_internal.h"
#include "stepsim/schedule.h"

/* ---- sizes ---- */

static int check_groups(struct ss_finish *f)
{
    const struct ss_model *m = &f->job->model;

    if (!m->router_group_topk)
        return SS_OK;
    if (!m->router_groups)
        REFUSE(f, "--moe-router-group-topk", "add --moe-router-num-groups",
               "When using group limited routing, moe_router_num_groups must be specified.");
    if (m->router_group_topk > m->router_groups)
        REFUSE(f, "--moe-router-group-topk", "take no more groups than there are",
               "moe_router_group_topk (%d) should be smaller than moe_router_num_groups (%d).",
               m->router_group_topk, m->router_groups);
    return SS_OK;
}

/* Checks that the experts' matrices can be divided. */
static int check_widths(struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    const struct ss_model *m = &job->model;
    int etp = job->etp;

    if (m->moe_ffn_hidden_size % etp)
        REFUSE(f, "--etp --moe-ffn-hidden-size", "take an --expert-tensor-parallel-size that divides it",
               "%d is not divisible by %d (moe ffn hidden size, expert tensor parallel size)",
               m->moe_ffn_hidden_size, etp);
    if (m->shared_expert_ffn_hidden_size % job->tp)
        REFUSE(f, "--tp --moe-shared-expert-intermediate-size", "take a --tp that divides it",
               "%d is not divisible by %d (shared expert intermediate size, tensor parallel size)",
               m->shared_expert_ffn_hidden_size, job->tp);
    if (m->expert_bias > 0 && etp > 1)
        REFUSE(f, "--etp --disable-bias-linear", "add --disable-bias-linear, or take --etp 1",
               "Bias in Moe is only supported when ETP==1");
    return SS_OK;
}

int ss_job_check_expert_layout(struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    const struct ss_model *m = &job->model;

    if (m->mtp_num_layers > 0 && m->position == SS_POSITION_LEARNED)
        REFUSE(f, "--mtp-num-layers --position-embedding-type",
               "take --position-embedding-type rope, or --mtp-num-layers 0",
               "Multi-Token Prediction (MTP) is not supported with learned_absolute position embedding type. "
               "The supported position embedding types are rope and none.");
    if (job->ep > 1 && !m->num_experts)
        REFUSE(f, "--ep", "drop --expert-model-parallel-size",
               "num_experts must be non None to use expert model parallelism");
    if (!m->num_experts)
        return SS_OK;
    if (m->num_experts % job->ep)
        REFUSE(f, "--ep --num-experts", "take an --expert-model-parallel-size that divides the experts",
               "Number of experts should be a multiple of expert model parallel_size. (%d experts, expert "
               "parallel %d)",
               m->num_experts, job->ep);
    if (m->moe_layers.n > 0 && m->moe_layers.n != m->num_layers + m->mtp_depth_layers)
        REFUSE(f, "--moe-layer-freq --num-layers", "name each layer once",
               "Invalid length of moe_layer_pattern: %d, expected %d", m->moe_layers.n, m->num_layers);
    if (job->tp > 1 && !job->sequence_parallel)
        REFUSE(
            f, "--sequence-parallel --tp", "add --sequence-parallel",
            "During training, performance may degrade if MoE and tensor parallelism are enabled without also "
            "enabling sequence parallelism.");
    int rc = check_groups(f);
    return rc ? rc : check_widths(f);
}

int ss_job_check_expert_world(struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    int64_t need = (int64_t)job->etp * job->pp; /* each at most 2^20 */

    if (!job->model.num_experts)
        return SS_OK;
    if (need <= f->world_size && f->world_size % (need * job->ep) == 0)
        return SS_OK;
    if (!SS_GIVEN(f->asked, etp) && job->tp > 1 && f->world_size % ((int64_t)job->pp * job->ep) == 0)
        REFUSE(f, "--ep --etp --pp --nodes", "add --etp 1: without it experts are split by --tp, too",
               "world_size (%d) is not divisible by expert_tensor_model_pipeline_parallel size (%lld)",
               f->world_size, (long long)(need * job->ep));
    REFUSE(f, "--ep --etp --pp --nodes", "take sizes whose product divides it",
           "world_size (%d) is not divisible by expert_tensor_model_pipeline_parallel size (%lld)",
           f->world_size, (long long)(need * job->ep));
}

/* ---- dispatchers and overlap ---- */

/* Returns the dispatcher of the job, which may not be complete. */
static int dispatcher_of(const struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    int d = job->moe.dispatcher;

    return ss_dispatcher_has_stages(d) && f->asked->flex_backend >= 0 ? f->asked->flex_backend : d;
}

static int check_dispatcher(struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    int d = dispatcher_of(f), flex = ss_dispatcher_has_stages(d);

    if (f->asked->enable_deepep && !flex)
        REFUSE(f, "--moe-enable-deepep", "add --moe-token-dispatcher-type flex",
               "DeepEP backend is only supported with flex token dispatcher.");
    if (f->asked->enable_deepep && d == SS_DISPATCH_HYBRIDEP)
        REFUSE(f, "--moe-enable-deepep --moe-flex-dispatcher-backend", "drop --moe-enable-deepep",
               "Only one backend is supported for flex token dispatcher.");
    if (SS_GIVEN(f->asked, dispatcher) && flex && job->etp * (int64_t)job->ep < 2)
        REFUSE(f, "--moe-token-dispatcher-type --ep",
               "take alltoall, or a larger --expert-model-parallel-size",
               "Flex token dispatcher requires TPxEP > 1");
    if (d == SS_DISPATCH_DEEPEP && job->moe.pad_to_capacity)
        REFUSE(f, "--moe-pad-expert-input-to-capacity --moe-flex-dispatcher-backend",
               "take the backend hybridep, or alltoall",
               "Flex token dispatcher with deepep backend does not support moe_pad_expert_input_to_capacity");
    if (job->moe.pad_to_capacity && !(job->moe.capacity_factor > 0))
        REFUSE(f, "--moe-pad-expert-input-to-capacity", "add --moe-expert-capacity-factor",
               "moe_expert_capacity_factor must be set to use moe_pad_expert_input_to_capacity");
    if (job->moe.shared_expert_overlap && job->model.moe_latent_size)
        REFUSE(f, "--moe-shared-expert-overlap --moe-latent-size", "drop --moe-shared-expert-overlap",
               "Shared expert overlap with MoE latent projections is not supported during training. Disable "
               "moe_shared_expert_overlap.");
    if (job->moe.shared_expert_overlap && job->model.shared_expert_ffn_hidden_size &&
        d == SS_DISPATCH_ALLGATHER)
        REFUSE(f, "--moe-shared-expert-overlap --moe-token-dispatcher-type",
               "take --moe-token-dispatcher-type alltoall",
               "moe_shared_expert_overlap only works with alltoall or flex token dispatcher.");
    if (job->moe.pad_for_fp8 && d == SS_DISPATCH_ALLGATHER)
        REFUSE(f, "--moe-router-padding-for-quantization --moe-token-dispatcher-type",
               "take --moe-token-dispatcher-type alltoall",
               "allgather and alltoall_seq dispatcher does not support moe_router_padding_for_quantization.");
    return SS_OK;
}

static int check_overlap(struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    const char *flag = "--overlap-moe-expert-parallel-comm";

    if (job->moe.delay_wgrad && !job->moe.overlap)
        REFUSE(f, "--delay-wgrad-compute", "add --overlap-moe-expert-parallel-comm",
               "overlap_moe_expert_parallel_comm must be enabled when enabling delay_wgrad_compute");
    if (!job->moe.overlap)
        return SS_OK;
    if (job->pp > 1 && ss_schedule_chunks(job->schedule, ss_job_chunks(job)) < 2)
        REFUSE(f, flag, "add --num-layers-per-virtual-pipeline-stage, or drop it",
               "If enabling EP A2A overlap, virtual_pipeline_model_parallel_size must be specified when "
               "pipeline_model_parallel_size > 1");
    if (job->ep < 2)
        REFUSE(f, flag, "drop it, or take a larger --expert-model-parallel-size",
               "overlap_moe_expert_parallel_comm is only supported with expert model parallelism");
    if (dispatcher_of(f) == SS_DISPATCH_ALLGATHER)
        REFUSE(f, "--overlap-moe-expert-parallel-comm --moe-token-dispatcher-type",
               "take --moe-token-dispatcher-type alltoall",
               "overlap_moe_expert_parallel_comm is supported with alltoall/flex token dispatcher");
    if (job->recompute.granularity == SS_RECOMPUTE_FULL)
        REFUSE(f, flag, "drop one of the two",
               "disable full recomputation when enabling overlap_moe_expert_parallel_comm");
    if (job->recompute.granularity == SS_RECOMPUTE_SELECTIVE &&
        job->recompute.modules & SS_MODULE_BIT(SS_MODULE_MOE))
        REFUSE(f, "--recompute-modules --overlap-moe-expert-parallel-comm", "drop one of the two",
               "disable moe in recompute_modules when enabling overlap_moe_expert_parallel_comm");
    if (job->precision == SS_FP32)
        REFUSE(f, flag, "add --bf16",
               "overlap_moe_expert_parallel_comm is only supported with bf16 or fp16 model");
    if (job->moe.shared_expert_overlap)
        REFUSE(f, "--moe-shared-expert-overlap --overlap-moe-expert-parallel-comm", "drop one of the two",
               "disable moe_shared_expert_overlap when enabling overlap_moe_expert_parallel_comm");
    if (job->model.mtp_num_layers > 1)
        REFUSE(f, "--mtp-num-layers --overlap-moe-expert-parallel-comm", "take --mtp-num-layers 1",
               "MTP supports at most one layer when enabling overlap_moe_expert_parallel_comm.");
    return SS_OK;
}

/* ---- modules ---- */

static int check_modules(struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    unsigned modules = job->recompute.granularity == SS_RECOMPUTE_SELECTIVE ? job->recompute.modules : 0;

    if (modules & SS_MODULE_BIT(SS_MODULE_MOE_ACT) && !job->moe.grouped_gemm)
        REFUSE(f, "--recompute-modules --moe-grouped-gemm", "add --moe-grouped-gemm",
               "moe_act in recompute_modules is only supported with moe_grouped_gemm.");
    if (modules & SS_MODULE_BIT(SS_MODULE_MLA_UP_PROJ) && !job->model.kv_lora_rank)
        REFUSE(f, "--recompute-modules --multi-latent-attention", "leave mla_up_proj out",
               "mla_up_proj in recompute_modules is only supported with multi_latent_attention.");
    if (modules & SS_MODULE_BIT(SS_MODULE_GDN_NORM_OUT) && !job->model.linear_num_key_heads)
        REFUSE(f, "--recompute-modules --experimental-attention-variant", "leave gdn_norm_out out",
               "gdn_norm_out in recompute_modules is only supported with "
               "experimental_attention_variant='gdn' or 'gdn2'.");
    if (modules & SS_MODULE_BIT(SS_MODULE_SHARED_EXPERTS) && job->moe.shared_expert_overlap)
        REFUSE(f, "--recompute-modules --moe-shared-expert-overlap", "drop one of the two",
               "shared_experts recompute cannot work with --moe-shared-expert-overlap.");
    if (modules & (SS_MODULE_BIT(SS_MODULE_MOE_ACT) | SS_MODULE_BIT(SS_MODULE_LAYERNORM)) &&
        ss_job_recipe(job) == SS_FP8_DELAYED)
        REFUSE(f, "--recompute-modules --fp8-recipe", "take --fp8-recipe tensorwise",
               "Delayed scaling does not support moe_act and layernorm recompute for fp8.");
    return SS_OK;
}

int ss_job_check_expert_features(struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    int rc = SS_OK;

    SS_TRY(ss_job_check_graphs(f));
    if (job->model.num_experts) {
        if (job->dp.fsdp2 && job->ep > 1)
            REFUSE(f, "--ep --use-torch-fsdp2", "take --ep 1",
                   "--use-torch-fsdp2 is not supported with expert parallelism");
        rc = check_dispatcher(f);
    }
    if (job->moe.pad_for_fp8 && !ss_precision_is_quantized(job->precision))
        REFUSE(f, "--moe-router-padding-for-quantization --moe-router-padding-for-fp8",
               "add --fp8-format hybrid",
               "fp8/fp4 must be specified when moe_router_padding_for_quantization is True.");
    if (f->asked->group_query_attention && f->asked->multi_latent)
        REFUSE(f, "--group-query-attention --multi-latent-attention", "drop --group-query-attention",
               "Group query attention is mutually exclusive with multi latent attention.");
    SS_THEN(rc, check_overlap(f));
    SS_THEN(rc, check_modules(f));
    SS_THEN(rc, ss_job_check_offload_modules(f));
    return rc;
}

/* ---- flags that are read and have no price ---- */

static int unpriced(struct ss_finish *f, const char *flag, const char *hint, const char *what)
{
    ss_fail(f->err, SS_ERR_UNSUPPORTED, NULL, 0, "%s", what);
    ss_request_locate(f->request, flag, f->err);
    return ss_hint(f->err, SS_ERR_UNSUPPORTED, "%s", hint);
}

int ss_job_check_unpriced(struct ss_finish *f)
{
    const struct ss_job *job = f->job;

    if (job->offload.fine_grained && job->recompute.granularity == SS_RECOMPUTE_FULL)
        return unpriced(f, "--offload-modules",
                        "take --recompute-granularity selective, or drop one of the two",
                        "offloading by module beside full recompute is not modelled");
    if (job->offload.params && ss_precision_is_quantized(job->precision))
        return unpriced(f, "--param-offload", "take --bf16, or drop it",
                        "fp8 beside parameters on the host is not modelled");
    if (job->optimizer.kind == SS_OPTIMIZER_MUON && job->dp.fsdp)
        return unpriced(f, "--optimizer", "take --use-distributed-optimizer instead of FSDP",
                        "Muon with FSDP is not modelled");
    if (job->optimizer.kind == SS_OPTIMIZER_MUON && (job->offload.optimizer > 0 || job->offload.swap))
        return unpriced(f, job->offload.swap ? "--swap-optimizer" : "--optimizer-cpu-offload",
                        "drop it, or take --optimizer adam",
                        job->offload.swap ? "Muon with states that are swapped is not modelled"
                                          : "Muon's step on the host is not modelled");
    if (job->optimizer.kind == SS_OPTIMIZER_MUON && job->precision == SS_FP32)
        return unpriced(f, "--optimizer", "add --bf16", "Muon is modelled with parameters in bf16 alone");
    if (job->optimizer.kind == SS_OPTIMIZER_MUON && job->optimizer.muon_tp != SS_MUON_BLOCKWISE &&
        SS_GIVEN(f->asked, etp) && job->etp > 1)
        return unpriced(f, "--muon-tp-mode", "take --muon-tp-mode blockwise, or --etp 1",
                        "Muon on experts that tensor ranks share is modelled blockwise alone");
    return SS_OK;
}
