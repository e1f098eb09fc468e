/* SPDX-License-Identifier: Apache-2.0 */
/* Flags that do nothing for want of another one: each is noted, for whoever gives one expects something of it. What the fields of the
 * job alone tell is noted where they are completed. */
#include <string.h>

#include "base/base.h"
#include "job/job_internal.h"
#include "stepsim/schedule.h"

static int moves_by_module(const struct ss_finish *f)
{
    return f->job->fine_grained_offload;
}

/* --no-cpu-offloading-weights is obeyed by moving nothing. */
static int moves_layers(const struct ss_finish *f)
{
    return f->job->cpu_offload_layers > 0 || !f->job->cpu_offload_weights;
}

static int says_shards(const struct ss_finish *f)
{
    return !f->job->fsdp || f->job->sharding > SS_SHARD_OPTIM ||
           ss_request_find(f->request, "--data-parallel-sharding-strategy") < f->request->n;
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
    return f->job->overlap_grad_reduce && !f->job->fsdp && f->stack->ddp_aligned > 0 && f->job->pp > 1 &&
           (!strcmp(name, "interleaved") || ss_schedule_is_file(name));
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
        {"--cpu-offloading-weights", moves_layers, "without --cpu-offloading-num-layers"},
        {"--use-megatron-fsdp", says_shards,
         "without --data-parallel-sharding-strategy: it shards neither gradients nor parameters"},
        {"--microbatch-group-size-per-virtual-pipeline-stage", orders_groups,
         "with this schedule: it orders the microbatches of virtual stages (--vp)"},
        {"--no-align-grad-reduce", begins_at_once,
         "without --overlap-grad-reduce and Megatron's interleaved schedule (--vp)"},
        {"--moe-shared-expert-gate", has_shared_experts, "without shared experts"},
        {"--activation-func-clamp-value", has_experts,
         "without --num-experts: it is priced of experts alone"},
    };

    for (size_t i = 0; f->request && i < SS_ARRAY_LEN(rows); i++)
        if (!rows[i].active(f) && ss_request_find(f->request, rows[i].flag) < f->request->n)
            ss_note(f->notes, "%s is not active %s", rows[i].flag, rows[i].why);
}
