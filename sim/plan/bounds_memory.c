/* SPDX-License-Identifier: Apache-2.0 */
/* What unlike stages hold under Megatron's orders, as a bound of a plan. */
#include "base/base.h"
#include "plan/bounds.h"
#include "plan/plan_internal.h"
#include "stepsim/job.h"

/* What a rank keeps from slot to slot, and the most so far, bytes. */
struct kept {
    double now, most;
};

static void keep(struct kept *k, const struct ss_chunk_cost *chunk, int phase)
{
    double bytes = chunk->activation_bytes + chunk->logits_bytes;
    double during = phase == SS_PHASE_F ? bytes + chunk->forward_extra_bytes : chunk->backward_extra_bytes;
    k->most = fmax(k->most, k->now + during);
    k->now += phase == SS_PHASE_F ? bytes : -bytes;
}

/* Returns the chunk of the i-th forward of a rank: a group of microbatches on each chunk in turn. The last group may be short. */
static int chunk_at(int i, int chunks, int group, int microbatches)
{
    int turn = i / (chunks * group), first = turn * group;
    int here = microbatches - first < group ? microbatches - first : group;
    return (i - turn * chunks * group) / here;
}

/* Returns the most that a rank keeps under Megatron's orders. Behind the warm-up what is kept repeats from turn to turn. */
static double most_kept(const struct ss_job *job, const struct ss_rank_cost *cost, int stage,
                        int microbatches)
{
    int v = ss_job_chunks(job), n = v * microbatches,
        warmup = ss_plan_bounds_warmup(job, stage, microbatches);
    int asked = job->microbatch_group_size ? job->microbatch_group_size : job->pp,
        group = asked < microbatches ? asked : microbatches,
        turns = warmup + v * group < n ? v * group : n - warmup;
    struct kept k = {0};
    for (int i = 0; i < warmup; i++)
        keep(&k, &cost->chunks[chunk_at(i, v, group, microbatches)], SS_PHASE_F);
    for (int i = 0; i < turns; i++) {
        keep(&k, &cost->chunks[chunk_at(warmup + i, v, group, microbatches)], SS_PHASE_F);
        keep(&k, &cost->chunks[v - 1 - chunk_at(i, v, group, microbatches)], SS_PHASE_B);
    }
    if (!turns)
        keep(&k, &cost->chunks[v - 1], SS_PHASE_B);
    return k.most;
}

void ss_plan_bounds_raise_bytes(const struct ss_plan *plan, const struct ss_rank_cost *cost, int stage,
                                const struct ss_stage_bounds *s, struct ss_plan_bounds *all)
{
    double kept = fmax(most_kept(plan->job, cost, stage, plan->microbatches), s->main_gradients);
    double reserved =
        s->fixed + kept * (1 + plan->stack->fragmentation) + cost->idle_bytes + cost->waiting_bytes;
    double allocated = s->fixed + fmax(kept - fmin(s->step_bytes, kept), s->main_gradients);
    all->bytes = fmax(all->bytes, reserved + s->beside);
    all->least_bytes = fmax(all->least_bytes, (allocated + cost->waiting_bytes + s->beside) * (1 - 1e-12));
}
