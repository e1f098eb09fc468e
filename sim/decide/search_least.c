/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds of the memory of a layout, from those of its ranks (docs/design/design.md, section 9, proves them). */
#include "base/base.h"
#include "decide/search_internal.h"
#include "plan/bounds.h"
#include "stepsim/stack.h"

/* share of a sum, more than its rounding in another order */
#define ROUNDING 1e-9

/* ---- memory ---- */

/* Returns the microbatches of a chunk whose forward has ended when a rank's first backward runs, including
 * its own. */
static double in_flight(const struct ss_job *job, int microbatches, int rank)
{
    int warmup = ss_plan_bounds_warmup(job, rank, microbatches), all = ss_job_chunks(job) * microbatches;
    return warmup + 1 < all ? warmup + 1 : all;
}

/* Adds what a rank of a stage needs, under Megatron's orders with its activations. */
static void add_memory(const struct ss_stage_bounds *s, const struct ss_stack *stack, double activations,
                       struct ss_find_bounds *out)
{
    double held = fmax(activations, s->main_gradients) * (1 + stack->fragmentation);
    double least = fmax(activations - fmin(s->step_bytes, activations), s->main_gradients);
    out->bytes = fmax(out->bytes, s->beside + s->fixed + held);
    out->least_bytes = fmax(out->least_bytes, s->beside + s->fixed + least);
}

/* Returns what n chunks keep that a rank runs forward one after the other, a group of microbatches on each chunk in
 * turn, where chunks differ: those of whole turns, without what the last turn has not run yet. */
static double kept_in_turns(const struct ss_stage_bounds *s, const struct ss_job *job, int microbatches,
                            double n)
{
    int v = ss_job_chunks(job), asked = job->microbatch_group_size ? job->microbatch_group_size : job->pp,
        group = asked < microbatches ? asked : microbatches;
    double turns = ceil(n / (v * group));
    return fmax(n * s->chunk, turns * group * s->activations - (turns * v * group - n) * s->largest);
}

/* Returns what each of several chunks of the i-th of the three stages keeps at least: as much as a chunk of a
 * middle stage, which has neither embedding nor loss; of a last stage with other layers what these keep. */
static double chunk_of(const struct ss_plan_bounds *l, int i, const struct ss_job *job)
{
    const int alike = job->pp > 2 && !(i == 2 && job->last_stage_layers);
    return (alike ? l->stage[1].activations : l->stage[i].layers) / ss_job_chunks(job);
}

/* Returns what the i-th of the three stages keeps when its first backward runs. The chunk with the loss is one of
 * its chunks. */
static double activations_of(const struct ss_plan_bounds *l, int i, const struct ss_job *job,
                             int microbatches, double n)
{
    const struct ss_stage_bounds *s = &l->stage[i], *middle = &l->stage[1];
    int v = ss_job_chunks(job);
    if (!l->even)
        return i == 1 ? 0 : kept_in_turns(s, job, microbatches, n);
    if (v == 1)
        return n * s->activations + (i == 2 ? s->logits : 0) + s->extra;
    if (i == 2)
        return (n - 1) * chunk_of(l, i, job) + s->activations / v + s->logits + s->extra;
    return n * chunk_of(l, i, job) + (job->pp > 2 ? middle->extra : 0);
}

/* Does the same for other schedules, whose last chunk need not be kept at the peak. */
static double kept_by_order(const struct ss_plan_bounds *l, int i, const struct ss_job *job, double n)
{
    const struct ss_stage_bounds *s = &l->stage[i];
    int v = ss_job_chunks(job);
    if (!l->even)
        return i == 1 ? 0 : n * s->chunk;
    if (v == 1)
        return n * s->activations + (i == 2 && n > 0 ? s->logits : 0);
    return n * chunk_of(l, i, job);
}

static void memory_of(const struct ss_plan_bounds *l, const struct ss_find_flight *flight,
                      const struct ss_job *job, const struct ss_stack *stack, int microbatches,
                      struct ss_find_bounds *out)
{
    int megatrons = ss_plan_bounds_is_megatrons(job);
    out->bytes = out->least_bytes = 0;
    for (int i = 0; i < 3; i++) {
        int there = i == 2 || (i == 0 && job->pp > 1) || job->pp > 2 || !l->even;
        if (there && megatrons)
            add_memory(&l->stage[i], stack,
                       activations_of(l, i, job, microbatches,
                                      in_flight(job, microbatches, i < 2 ? i : job->pp - 1)),
                       out);
        else if (there && flight->plain)
            add_memory(&l->stage[i], stack, kept_by_order(l, i, job, flight->n[i]), out);
    }
}

void ss_find_bounds_set(const struct ss_plan_bounds *least, const struct ss_find_flight *flight,
                        const struct ss_job *job, const struct ss_stack *stack, int microbatches,
                        struct ss_find_bounds *out)
{
    out->seconds = ss_find_seconds(least, flight, job, stack, microbatches) * (1 - ROUNDING);
    memory_of(least, flight, job, stack, microbatches, out);
    out->bytes *= 1 - ROUNDING;
    out->least_bytes *= 1 - ROUNDING;
    if (ss_plan_bounds_is_megatrons(job)) { /* summed up as results are */
        out->bytes = fmax(out->bytes, least->bytes);
        out->least_bytes = fmax(out->least_bytes, least->least_bytes);
    }
    if (!(out->seconds >= 0 && out->bytes >= 0 && out->least_bytes >= 0)) /* the card lacks the precision */
        out->seconds = out->bytes = out->least_bytes = 0;
}
