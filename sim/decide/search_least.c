/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds of the time and memory of a layout, from those of its ranks (docs/design/design.md, section 9, proves them). */
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "decide/search_internal.h"
#include "plan/bounds.h"
#include "stepsim/schedule.h"
#include "stepsim/stack.h"

/* share of a sum, more than its rounding in another order */
#define ROUNDING 1e-9

int ss_find_is_megatrons(const struct ss_job *job)
{
    return !job->schedule[0] || !strcmp(job->schedule, "auto") ||
           !strcmp(job->schedule, ss_schedule_default(ss_job_chunks(job)));
}

/* ---- time ---- */

/* Returns how long a rank is busy: it runs all its slots one after the other, and its step. */
static double busy(const struct ss_stage_bounds *s, double microbatches)
{
    return s->step + microbatches * (s->forward + s->backward + s->exposed);
}

/*
 * Returns a bound of the iteration from the rank behind `before` stages, the first of which has the first
 * chunk of the model. Its first forward starts when a microbatch has passed the first chunks of those stages;
 * behind its last backward a gradient goes back through them. The step of the first stage comes before, and
 * its work on gradients behind, because all ranks wait for one another in between.
 */
static double seconds_of_stage(const struct ss_plan_bounds *l, const struct ss_stage_bounds *s, int before,
                               double microbatches, int chunks)
{
    const struct ss_stage_bounds *first = &l->stage[0], *middle = &l->stage[1];
    double way = 0;
    if (before > 0)
        way = first->forward + first->backward + (before - 1) * (middle->forward + middle->backward);
    double passing = first->step + way / chunks + busy(s, microbatches) - s->step;
    return fmax(busy(s, microbatches), l->barrier && l->even ? passing : 0);
}

/* Returns the bound of other schedules, which may split the backward and put its second part off: only
 * forwards come before a rank's first slot. */
static double seconds_by_order(const struct ss_plan_bounds *l, const struct ss_find_flight *flight, int p,
                               int v, int microbatches)
{
    double most = l->stage[0].step + microbatches * l->all / p, before = 0;
    if (!flight->plain || !l->even)
        return most;
    for (int i = 0; i < 3; i++) {
        const struct ss_stage_bounds *s = &l->stage[i];
        int rank = i == 0 ? 0 : i == 1 ? p - 2 : p - 1;
        if (i == 1 && p < 3)
            continue;
        before = rank > 0 ? l->stage[0].forward + (rank - 1) * l->stage[1].forward : 0;
        most = fmax(most, s->step + microbatches * s->split);
        if (l->barrier)
            most = fmax(most, l->stage[0].step + before / v + microbatches * s->split);
    }
    return most;
}

static double seconds_of(const struct ss_plan_bounds *l, const struct ss_find_flight *flight,
                         const struct ss_job *job, int microbatches)
{
    int p = job->pp, v = ss_job_chunks(job);
    if (!ss_find_is_megatrons(job))
        return seconds_by_order(l, flight, p, v, microbatches);
    double most = seconds_of_stage(l, &l->stage[0], 0, microbatches, v);
    if (p > 2 || !l->even)
        most = fmax(most, seconds_of_stage(l, &l->stage[1], p - 2, microbatches, v));
    return p > 1 ? fmax(most, seconds_of_stage(l, &l->stage[2], p - 1, microbatches, v)) : most;
}

/* ---- memory ---- */

/* Returns the microbatches of a chunk whose forward has ended when a rank's first backward runs, including
 * its own. */
static double in_flight(const struct ss_job *job, int microbatches, int rank)
{
    int p = job->pp, v = ss_job_chunks(job), all = v * microbatches;
    int group = job->microbatch_group_size ? job->microbatch_group_size : p;
    int warmup = v > 1 ? 2 * (p - rank - 1) + (v - 1) * group : p - rank - 1;
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
 * middle stage, which has neither embedding nor loss. */
static double chunk_of(const struct ss_plan_bounds *l, int i, const struct ss_job *job)
{
    return (job->pp > 2 ? l->stage[1].activations : l->stage[i].layers) / ss_job_chunks(job);
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
    int megatrons = ss_find_is_megatrons(job);
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
    out->seconds = seconds_of(least, flight, job, microbatches) * (1 - ROUNDING);
    memory_of(least, flight, job, stack, microbatches, out);
    out->bytes *= 1 - ROUNDING;
    out->least_bytes *= 1 - ROUNDING;
    if (!(out->seconds >= 0 && out->bytes >= 0 && out->least_bytes >= 0)) /* the card lacks the precision */
        out->seconds = out->bytes = out->least_bytes = 0;
}
