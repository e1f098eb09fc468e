/* SPDX-License-Identifier: Apache-2.0 */
/* Flags that have no effect because another one is missing: each gets a note, because its user expects
 * something of it. What fields of the job alone tell is noted where they are completed. */
#include "base/base.h"
#include "job/flags.h"
#include "job/job_internal.h"
#include "stepsim/schedule.h"

#define BY_MODULE "without --fine-grained-activation-offloading"
#define NO_LAYERS "without --cpu-offloading-num-layers"
#define NO_ROPE                                                                                              \
    "without Transformer Engine's joint layer of Q, K and V that are turned; with norms or a gate behind "   \
    "it, layers that turn nothing, or packed rows"
#define NO_STAGES "without pipeline stages (--pp)"
#define NO_EXPERTS "without --num-experts: it is priced of experts alone"
#define NO_HOOKS                                                                                             \
    "without --overlap-param-gather and the hooks of Megatron core 0.9 and later (ss.ddp.gather_hooks)"

static int given(const struct ss_finish *f, const char *flag)
{
    return ss_request_find(f->request, flag) < f->request->n;
}

/* Returns whether a word may store a number of offloading. */
static int sets_offload(const struct ss_finish *f)
{
    const size_t begin = offsetof(struct ss_asked, job.offload);
    int found = 0;

    for (size_t i = 0; f->request && i < f->request->n && !found; i++) {
        const struct ss_request_word *w = &f->request->word[i];
        found = f->request->place[w->place].program ||
                (w->setter && w->setter->kind < SS_FLAG_CALL && w->setter->offset >= begin &&
                 w->setter->offset < begin + sizeof f->asked->job.offload);
    }
    return found;
}

static const char *schedule_of(const struct ss_job *job)
{
    const char *name = job->schedule;
    return name[0] && strcmp(name, "auto") != 0 ? name : ss_schedule_default(ss_job_chunks(job));
}

/* A file has its own order. */
static int groups_microbatches(const struct ss_job *job, const char *schedule)
{
    return job->pp > 1 && ss_schedule_heeds(schedule) & SS_SCHEDULE_HEEDS_GROUP;
}

/* Elsewhere stages begin on their own to reduce gradients, or do so behind all. A file may be as Megatron's own. */
static int begins_at_once(const struct ss_finish *f, const char *schedule)
{
    return f->job->dp.overlap_grad_reduce && !f->job->dp.fsdp && f->stack->ddp_aligned > 0 &&
           f->job->pp > 1 && (!strcmp(schedule, "interleaved") || ss_schedule_is_file(schedule));
}

static int hooks_gather(const struct ss_finish *f)
{
    return f->job->dp.overlap_param_gather && !f->job->dp.fsdp && f->stack->ddp_hooks > 0;
}

/* As cost/shape.c has it. */
static int scatters(const struct ss_finish *f)
{
    return f->job->pp > 1 && f->job->tp > 1 && f->stack->pp_scatter_gather > 0 && !f->job->sequence_parallel;
}

/* As in cost/experts.c: elsewhere the stack decides what is fused. */
static int fuses_experts(const struct ss_job *job)
{
    return ss_job_recipe(job) == SS_FP8_MXFP8 && job->model.num_experts > 0 && job->model.gated_mlp &&
           job->moe.grouped_gemm;
}

/* A flag that was not given is recognised by its field where possible, because a look through the words of a
 * job takes longer. */
void ss_job_note_idle(struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    const char *schedule = schedule_of(job);
    int sizes = !job->offload.fine_grained && sets_offload(f), experts = job->model.num_experts > 0;
    /* Full recompute, which ends it itself, has a note of its own. */
    int layers = job->offload.layers > 0 || SS_GIVEN(f->asked, offload_layers);
    int overlaps = ss_job_chunks(job) > 1 && !strcmp(schedule, "interleaved");
    int splits = job->account_for_embedding || job->account_for_loss;
    const struct {
        int idle;
        const char *flag, *why;
    } rows[] = {
        {!job->offload.fine_grained && f->asked->job.offload.modules, "--offload-modules", BY_MODULE},
        {sizes, "--min-offloaded-tensor-size", BY_MODULE},
        {sizes, "--activation-offload-fraction", BY_MODULE},
        {sizes, "--fine-grained-offloading-max-inflight-offloads", BY_MODULE},
        {job->offload.max_in_cpu != 1e9 && job->offload.params != SS_OFFLOAD_NVME,
         "--param-offload-max-in-cpu", "without --param-offload nvme"},
        {job->offload.swap_times != 16 && !job->offload.swap, "--swap-optimizer-times",
         "without --swap-optimizer"},
        {job->offload.optimizer_nvme && job->offload.optimizer <= 0, "--optimizer-offload-nvme",
         "without --optimizer-cpu-offload"},
        {job->offload.nvme_pipeline && !job->offload.optimizer_nvme, "--optimizer-offload-pipeline",
         "without --optimizer-offload-nvme"},
        {job->offload.weights && !layers, "--cpu-offloading-weights", NO_LAYERS},
        {job->offload.activations && !layers, "--cpu-offloading-activations", NO_LAYERS},
        {job->dp.fsdp && job->dp.sharding <= SS_SHARD_OPTIM && f->request &&
             !given(f, "--data-parallel-sharding-strategy"),
         "--use-megatron-fsdp",
         "without --data-parallel-sharding-strategy: it shards neither gradients nor parameters"},
        {f->asked->job.microbatch_group_size > 0 && !groups_microbatches(job, schedule),
         "--microbatch-group-size-per-virtual-pipeline-stage",
         "with this schedule: it orders the microbatches of virtual stages (--vp)"},
        {!f->asked->job.dp.align_grad_reduce && !begins_at_once(f, schedule), "--no-align-grad-reduce",
         "without --overlap-grad-reduce and Megatron's interleaved schedule (--vp)"},
        {job->dp.align_param_gather > 1 && !hooks_gather(f), "--align-param-gather", NO_HOOKS},
        /* A stack that overlaps nothing does as the flag says. */
        {!job->overlap_p2p && f->stack->pp_overlap > 0 && !overlaps, "--no-overlap-p2p-communication",
         "without Megatron's interleaved schedule (--vp): no other overlaps its sends"},
        {!job->scatter_gather && !scatters(f), "--no-scatter-gather-tensors-in-pipeline",
         "with this stack and layout, which scatter none"},
        {job->pp == 1 && splits, "--account-for-embedding-in-pipeline-split", NO_STAGES},
        {job->pp == 1 && splits, "--account-for-loss-in-pipeline-split", NO_STAGES},
        /* As in plan/buckets.c: otherwise the gradients of a rank, or of a layer, are one bucket. */
        {job->dp.bucket_size > 0 && !job->dp.fsdp &&
             !(job->dp.overlap_grad_reduce && f->world_size > job->tp * job->pp),
         "--ddp-bucket-size", "without --overlap-grad-reduce between data-parallel ranks"},
        {job->dp.fsdp && !ss_job_is_hybrid(job), "--ddp-bucket-size",
         "under FSDP, which gathers and reduces layers"},
        {job->moe.op_fuser && !fuses_experts(job), "--use-transformer-engine-op-fuser",
         "without gated experts in mxfp8 and --moe-grouped-gemm: what else is fused the stack says"},
        {job->fused_qkv_rope && !ss_job_fuses_qkv_rope(job, f->stack), "--fused-single-qkv-rope", NO_ROPE},
        {experts && job->model.shared_expert_ffn_hidden_size == 0, "--moe-shared-expert-gate",
         "without shared experts"},
        {!experts && f->asked->job.model.activation_clamp, "--activation-func-clamp-value", NO_EXPERTS},
    };

    for (size_t i = 0; f->request && i < SS_ARRAY_LEN(rows); i++)
        if (rows[i].idle && given(f, rows[i].flag))
            ss_note(f->notes, "%s is not active %s", rows[i].flag, rows[i].why);
}
