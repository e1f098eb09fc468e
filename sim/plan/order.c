/* SPDX-License-Identifier: Apache-2.0 */
/* The order of a job's slots. Where chunks differ ranks wait for one another in each turn, not on the ways of the first and the last
 * microbatch alone. */
#include "plan/order.h"
#include "base/base.h"
#include "plan/plan_internal.h"
#include "schedule/builder.h"
#include "stepsim/job.h"

int ss_order_build(const struct ss_job *job, const struct ss_stack *stack, int world_size,
                   struct ss_cache *cache, struct ss_schedule **out, struct ss_error *err)
{
    int named = job->schedule[0] && strcmp(job->schedule, "auto") != 0, asked = ss_job_chunks(job);
    const char *name = named ? job->schedule : ss_schedule_default(asked);
    int group = job->microbatch_group_size;
    const struct ss_schedule_params params = {
        .stages = job->pp,
        /* a schedule made for one number of chunks has that one */
        .chunks = asked > 1 ? asked : ss_schedule_chunks(name, asked),
        .microbatches = ss_job_microbatches(job, world_size),
        /* without the flag N = p; 0 is what says that the release knows the case m = p */
        .microbatch_group_size = group || stack->pp_all_warmup > 0 ? group : job->pp,
        .overlap_p2p = ss_job_overlaps_p2p(job, stack),
        .ordered_p2p = stack->p2p_ordered > 0,
        .paired = job->moe.overlap && job->model.num_experts > 0,
    };

    if (ss_schedule_is_file(job->schedule))
        return ss_schedule_load(job->schedule, out, err);
    if (job->packed.law != SS_PACKED_NONE) /* microbatches differ */
        return ss_schedule_build(name, &params, out, err);
    return ss_schedule_build_kept(name, &params, cache, out, err);
}

struct chain {
    const struct ss_slot_bounds *slot;
    int chunks, waits;
};

static double slot_seconds(void *ctx, int rank, const struct ss_slot *slot)
{
    const struct chain *c = ctx;
    const struct ss_slot_bounds *s = &c->slot[rank * c->chunks + slot->chunk];
    return s->seconds[slot->phase == SS_PHASE_B][c->waits];
}

int ss_order_least(const struct ss_plan *plan, const struct ss_slot_bounds *slot, struct ss_cache *cache,
                   double passing[2], struct ss_error *err)
{
    struct chain c = {slot, plan->schedule->chunks, 0};
    struct ss_schedule *order;
    SS_TRY(ss_order_build(plan->job, plan->stack, plan->world_size, cache, &order, err));
    int rc = SS_OK;
    for (; c.waits < 2 && !rc; c.waits++) {
        double seconds;
        rc = ss_schedule_makespan_timed(order, slot_seconds, &c, &seconds, NULL, err);
        passing[c.waits] = rc ? 0 : fmax(passing[c.waits], seconds);
    }
    ss_schedule_free(order);
    return rc;
}
