/* SPDX-License-Identifier: Apache-2.0 */
/* Flags that do nothing for want of another one: each is noted, for whoever gives one expects something of it. What the fields of the
 * job alone tell is noted where they are completed. */
#include <string.h>

#include "base/base.h"
#include "job/job_internal.h"
#include "stepsim/schedule.h"

static int moves_by_module(const struct ss_finish *f)
{
    return f->job->offload.fine_grained;
}

static int given(const struct ss_finish *f, const char *flag)
{
    return ss_request_find(f->request, flag) < f->request->n;
}

/* What puts an end to it itself, full recompute, has a note of its own. */
static int moves_layers(const struct ss_finish *f)
{
    return f->job->offload.layers > 0 || given(f, "--cpu-offloading-num-layers");
}

/* --no-cpu-offloading-weights is obeyed by moving nothing. */
static int moves_weights(const struct ss_finish *f)
{
    return !f->job->offload.weights || moves_layers(f);
}

static int moves_activations(const struct ss_finish *f)
{
    return !f->job->offload.activations || moves_layers(f);
}

static int says_shards(const struct ss_finish *f)
{
    return !f->job->dp.fsdp || f->job->dp.sharding > SS_SHARD_OPTIM ||
           given(f, "--data-parallel-sharding-strategy");
}

static int has_shared_experts(const struct ss_finish *f)
{
    return !f->job->model.num_experts || f->job->model.shared_expert_ffn_hidden_size > 0;
}

static int has_experts(const struct ss_finish *f)
{
    return f->job->model.num_experts > 0;
}

static const char *schedule_of(const struct ss_finish *f)
{
    const char *name = f->job->schedule;
    return name[0] && strcmp(name, "auto") != 0 ? name : ss_schedule_default(ss_job_chunks(f->job));
}

/* A file has its order already. */
static int orders_groups(const struct ss_finish *f)
{
    return f->job->pp > 1 && ss_schedule_heeds(schedule_of(f)) & SS_SCHEDULE_HEEDS_GROUP;
}

/* Elsewhere stages begin on their own to reduce gradients, or do so behind all. A file may be as Megatron's own. */
static int begins_at_once(const struct ss_finish *f)
{
    const char *name = schedule_of(f);
    return f->job->dp.overlap_grad_reduce && !f->job->dp.fsdp && f->stack->ddp_aligned > 0 &&
           f->job->pp > 1 && (!strcmp(name, "interleaved") || ss_schedule_is_file(name));
}

static int has_stages(const struct ss_finish *f)
{
    return f->job->pp > 1 || (!f->job->account_for_embedding && !f->job->account_for_loss);
}

/* A stack that overlaps nothing does as the flag says. (Here and below what was not given is told apart by its field, for a look
 * through the words of a job takes longer.) */
static int overlaps_p2p(const struct ss_finish *f)
{
    return f->job->overlap_p2p || !(f->stack->pp_overlap > 0) ||
           (ss_job_chunks(f->job) > 1 && !strcmp(schedule_of(f), "interleaved"));
}

/* As cost/shape.c has it. */
static int scatters(const struct ss_finish *f)
{
    return f->job->scatter_gather || (f->job->pp > 1 && f->job->tp > 1 && f->stack->pp_scatter_gather > 0 &&
                                      !f->job->sequence_parallel);
}

/* As plan/buckets.c has it: else the gradients of a rank are one, or those of a layer. */
static int has_buckets(const struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    return !(job->dp.bucket_size > 0) || job->dp.fsdp ||
           (job->dp.overlap_grad_reduce && f->world_size > job->tp * job->pp);
}

static int shards_no_layers(const struct ss_finish *f)
{
    return !f->job->dp.fsdp || ss_job_is_hybrid(f->job);
}

/* As cost/experts.c has it: what is fused elsewhere is what the stack says. */
static int fuses_experts(const struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    return !job->moe.op_fuser || (ss_job_recipe(job) == SS_FP8_MXFP8 && job->model.num_experts > 0 &&
                                  job->model.gated_mlp && job->moe.grouped_gemm);
}

void ss_job_note_idle(struct ss_finish *f)
{
    static const struct {
        const char *flag;
        int (*active)(const struct ss_finish *);
        const char *why; /* it is not */
    } rows[] = {
        {"--offload-modules", moves_by_module, "without --fine-grained-activation-offloading"},
        {"--min-offloaded-tensor-size", moves_by_module, "without --fine-grained-activation-offloading"},
        {"--activation-offload-fraction", moves_by_module, "without --fine-grained-activation-offloading"},
        {"--fine-grained-offloading-max-inflight-offloads", moves_by_module,
         "without --fine-grained-activation-offloading"},
        {"--cpu-offloading-weights", moves_weights, "without --cpu-offloading-num-layers"},
        {"--cpu-offloading-activations", moves_activations, "without --cpu-offloading-num-layers"},
        {"--use-megatron-fsdp", says_shards,
         "without --data-parallel-sharding-strategy: it shards neither gradients nor parameters"},
        {"--microbatch-group-size-per-virtual-pipeline-stage", orders_groups,
         "with this schedule: it orders the microbatches of virtual stages (--vp)"},
        {"--no-align-grad-reduce", begins_at_once,
         "without --overlap-grad-reduce and Megatron's interleaved schedule (--vp)"},
        {"--no-overlap-p2p-communication", overlaps_p2p,
         "without Megatron's interleaved schedule (--vp): no other overlaps its sends"},
        {"--no-scatter-gather-tensors-in-pipeline", scatters,
         "with this stack and layout, which scatter none"},
        {"--account-for-embedding-in-pipeline-split", has_stages, "without pipeline stages (--pp)"},
        {"--account-for-loss-in-pipeline-split", has_stages, "without pipeline stages (--pp)"},
        {"--ddp-bucket-size", has_buckets, "without --overlap-grad-reduce between data-parallel ranks"},
        {"--ddp-bucket-size", shards_no_layers, "under FSDP, which gathers and reduces layers"},
        {"--use-transformer-engine-op-fuser", fuses_experts,
         "without gated experts in mxfp8 and --moe-grouped-gemm: what else is fused the stack says"},
        {"--moe-shared-expert-gate", has_shared_experts, "without shared experts"},
        {"--activation-func-clamp-value", has_experts,
         "without --num-experts: it is priced of experts alone"},
    };

    for (size_t i = 0; f->request && i < SS_ARRAY_LEN(rows); i++)
        if (!rows[i].active(f) && given(f, rows[i].flag))
            ss_note(f->notes, "%s is not active %s", rows[i].flag, rows[i].why);
}
