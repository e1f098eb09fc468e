/* SPDX-License-Identifier: Apache-2.0 */
#include "stepsim/job.h"

#include "base/base.h"
#include "job/job_internal.h"

void ss_job_init(struct ss_job *job)
{
    static const struct ss_job unset = {
#define SS_FIELD(type, field, unset, key) .field = unset,
#define SS_MEMBER(group, type, field, unset, key) .group.field = unset,
#include "stepsim/job_fields.def"
    };

    memcpy(job, &unset, sizeof unset); /* padding too: jobs are compared as bytes */
    ss_model_init(&job->model);
}

int ss_job_world_size(const struct ss_job *job, int nodes, int gpus_per_node)
{
    int named = ss_job_named_nodes(job, NULL);

    if (named)
        return named * gpus_per_node;
    return (job->cluster_nodes ? job->nodes : nodes - job->nfailed) * gpus_per_node;
}

int ss_job_is_placed(const struct ss_job *job)
{
    return job->cluster_nodes || job->nranges;
}

int ss_job_named_nodes(const struct ss_job *job, int *last)
{
    int n = 0, most = 0;

    for (int i = 0; i < job->nranges; i++) {
        n += job->on_nodes[i].last - job->on_nodes[i].first + 1;
        most = job->on_nodes[i].last > most ? job->on_nodes[i].last : most;
    }
    if (last)
        *last = most;
    return n;
}

int ss_job_node(const struct ss_job *job, int i)
{
    for (int k = 0; k < job->nranges; k++) {
        int length = job->on_nodes[k].last - job->on_nodes[k].first + 1;
        if (i < length)
            return job->on_nodes[k].first + i;
        i -= length;
    }
    return i;
}

void ss_job_nodes_text(const struct ss_job *job, int nodes, char *out, size_t size)
{
    out[0] = '\0';
    for (int i = 0, last; i < nodes; i = last + 1) {
        int from = ss_job_node(job, i);
        for (last = i; last + 1 < nodes && ss_job_node(job, last + 1) == from + last + 1 - i;)
            last++;
        if (!ss_append(out, size, last > i ? "%s%d-%d" : "%s%d", i ? "," : "", from, from + last - i))
            return;
    }
}

struct ss_media ss_job_media(const struct ss_job *job, int encoder)
{
    const struct ss_encoder *e = ss_model_encoder(&job->model, encoder);
    if (e->num_layers == 0)
        return (struct ss_media){0};
    if (encoder == SS_AUDIO)
        return (struct ss_media){1, SS_AUDIO_TOKENS * (double)job->audio.seconds, job->audio.frozen,
                                 job->audio.recompute};
    int rows = job->vision.height / e->patch_size, columns = job->vision.width / e->patch_size;
    return (struct ss_media){job->vision.images, (double)rows * columns, job->vision.frozen,
                             job->vision.recompute};
}

int ss_job_encodes(const struct ss_job *job)
{
    return job->model.vision.num_layers > 0 || job->model.audio.num_layers > 0;
}

int ss_job_recipe(const struct ss_job *job)
{
    return job->precision == SS_FP8 ? (int)job->fp8_recipe : ss_precision_at(job->precision)->recipe;
}

double ss_job_quantized_bytes(const struct ss_job *job)
{
    return ss_precision_is_quantized(job->precision) ? ss_recipe_bytes(ss_job_recipe(job)) : 1;
}

int ss_job_dp(const struct ss_job *job, int world_size)
{
    return (int)(world_size / ((int64_t)job->tp * job->pp * job->cp));
}

int ss_job_microbatches(const struct ss_job *job, int world_size)
{
    return (int)(job->global_batch / ((int64_t)job->micro_batch * ss_job_dp(job, world_size)));
}

int ss_job_split_layers(const struct ss_job *job)
{
    return job->model.num_layers + job->account_for_embedding + job->account_for_loss;
}

int ss_job_has_stage_layers(const struct ss_job *job)
{
    return job->layout.n || job->first_stage_layers || job->last_stage_layers;
}

int ss_job_cp_in_ring(const struct ss_job *job)
{
    return job->cp_comm_type != SS_CP_A2A && job->cp_comm_type != SS_CP_ALLGATHER;
}

int ss_job_copies_embedding(const struct ss_job *job)
{
    return job->model.tied_embeddings || job->model.mtp_num_layers > 0;
}

int ss_job_is_hybrid(const struct ss_job *job)
{
    return job->dp.fsdp && job->dp.fsdp_hybrid && job->dp.sharding >= SS_SHARD_OPTIM_GRADS;
}

int ss_job_fsdp_once(const struct ss_job *job, const struct ss_stack *stack)
{
    return job->dp.fsdp && job->dp.sharding >= SS_SHARD_OPTIM_GRADS &&
           ((stack->fsdp_once > 0 && job->pp > 1) || (stack->fsdp_once > 1 && job->model.num_experts > 0));
}

int ss_job_experts_apart(const struct ss_job *job)
{
    return job->model.num_experts > 0 && (job->ep > 1 || job->etp != job->tp);
}

int ss_job_autocasts(const struct ss_job *job, const struct ss_stack *stack)
{
    return stack->fp32_params > 0 && stack->fsdp_pytorch > 0 && job->stored == SS_BF16 &&
           job->dp.sharding <= SS_SHARD_OPTIM && (stack->te_layers <= 0 || job->transformer_local);
}

int ss_job_fuses_qkv_rope(const struct ss_job *job, const struct ss_stack *stack)
{
    const struct ss_model *m = &job->model;
    int joint =
        stack->te_layers > 0 && !job->transformer_local && stack->split_linear <= 0 && m->kv_lora_rank == 0;
    int between = m->qk_norm > SS_QK_NORM_NONE || m->attention_gate > 0 || m->full_unturned > 0;
    return job->fused_qkv_rope && joint && !between && m->position == SS_POSITION_ROPE &&
           job->packed.law == SS_PACKED_NONE;
}

int ss_job_reduces_amax(const struct ss_job *job, const struct ss_stack *stack)
{
    int delayed = ss_job_recipe(job) == SS_FP8_DELAYED && stack->te_layers > 0 && !(stack->fp8_dynamic > 0);
    return delayed ? (int)stack->amax_group : 0;
}

int ss_job_overlaps_p2p(const struct ss_job *job, const struct ss_stack *stack)
{
    return job->overlap_p2p && ss_job_chunks(job) > 1 && stack->pp_overlap > 0;
}

int ss_job_chunks(const struct ss_job *job)
{
    if (job->pp == 1)
        return 1;
    if (job->layout.n > 0)
        return job->layout.n / job->pp;
    if (job->virtual_stages)
        return job->virtual_stages;
    if (!job->layers_per_virtual_stage)
        return 1;
    int v = ss_job_split_layers(job) / job->pp / job->layers_per_virtual_stage;
    return v > 1 ? v : 1;
}

int ss_job_refuse(struct ss_finish *f, const char *fmt, ...)
{
    char text[512];
    va_list args;

    if (!f->err)
        return SS_ERR_CONFIG;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    size_t n = strlen(text);
    if (n && text[n - 1] == '.') /* a hint follows */
        text[n - 1] = '\0';
    return ss_fail(f->err, SS_ERR_CONFIG, NULL, 0, "%s", text);
}

void ss_job_blame(struct ss_finish *f, const char *flags)
{
    char *blamed = f->err ? f->err->flags : f->blamed;
    if (blamed)
        ss_copy(blamed, SS_BLAMED, flags);
    ss_request_locate(f->request, flags, f->err);
}

int ss_job_attention(const struct ss_job *job, const struct ss_stack *stack)
{
    static const int backends[] = {[SS_STACK_FLASH] = SS_ATTENTION_FLASH,
                                   [SS_STACK_FUSED] = SS_ATTENTION_FUSED,
                                   [SS_STACK_UNFUSED] = SS_ATTENTION_UNFUSED};

    if (job->precision == SS_FP32)
        return SS_ATTENTION_UNFUSED;
    if (job->attention != SS_ATTENTION_AUTO)
        return job->attention;
    if (job->transformer_local && stack->te_layers > 0)
        return SS_ATTENTION_UNFUSED; /* Megatron core's own layers have no other */
    if (job->model.attention_softcap > 0 && stack->attention_auto == SS_STACK_FUSED)
        return SS_ATTENTION_FLASH; /* cuDNN has no soft cap */
    return backends[stack->attention_auto];
}

int ss_dispatcher_has_stages(int dispatcher)
{
    return dispatcher == SS_DISPATCH_DEEPEP || dispatcher == SS_DISPATCH_HYBRIDEP;
}

unsigned ss_job_redone_modules(const struct ss_job *job)
{
    if (job->recompute.granularity != SS_RECOMPUTE_SELECTIVE)
        return 0;
    return job->recompute.modules ? job->recompute.modules : SS_MODULE_BIT(SS_MODULE_CORE_ATTN);
}
