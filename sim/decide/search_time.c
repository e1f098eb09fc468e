/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lower bounds of an iteration's time (docs/design/design.md, section 9): what one rank does, alone, and what lies before and behind
 * that on other ranks.
 */
#include <math.h>

#include "decide/search_internal.h"
#include "plan/bounds.h"

/* How a layout runs, as far as its bounds go. */
struct order {
    const struct ss_job *job;
    int stages, chunks, microbatches;
    int ahead; /* 1: the host may go on to the next slot before the GPU has ended this one */
};

static struct order order_of(const struct ss_job *job, const struct ss_stack *stack, int microbatches)
{
    return (struct order){.job = job,
                          .stages = job->pp,
                          .chunks = ss_job_chunks(job),
                          .microbatches = microbatches,
                          .ahead = ss_rank_runs_ahead(job, stack, job->pp, ss_plan_bounds_p2p(job, stack))};
}

/* ---- the host beside the GPU ---- */

/* A slot of a rank, s. */
struct slot {
    double work, host; /* of the GPU, and of the host to issue the slot */
    double after;      /* from the host's begin to the GPU's end, at least */
    int in_step;       /* 1: the host ends the slot with the GPU, which issues the next one then */
};

/* Where a rank is that waits for no other one. The host issues a slot once the slot before begins. */
struct pace {
    double gpu, host; /* s: both are done with all slots so far */
    double begin;     /* the last slot began */
};

static void run_slot(struct pace *at, const struct slot *s)
{
    double issued = fmax(at->host, at->begin), end = fmax(at->gpu + s->work, issued + s->after);
    at->begin = s->in_step ? end : at->gpu;
    at->host = s->in_step ? end : issued + s->host;
    at->gpu = end;
}

/* Runs slots, one after the other, `times` times. As soon as a turn leaves host and GPU as far apart as the turn before, all others
 * do. */
static void run_slots(struct pace *at, const struct slot *slots, int n, int times)
{
    for (int i = 0; i < times; i++) {
        const struct pace was = *at;
        for (int k = 0; k < n; k++)
            run_slot(at, &slots[k]);
        double turn = at->gpu - was.gpu, near = 1e-12 * turn;
        if (fabs(at->host - was.host - turn) > near || fabs(at->begin - was.begin - turn) > near)
            continue;
        double rest = (times - i - 1) * turn;
        *at = (struct pace){at->gpu + rest, at->host + rest, at->begin + rest};
        return;
    }
}

/* Returns the slot of a phase on the rank's chunk, or the least on one of several with equal layers, without what lies around them. */
static struct slot slot_of(const struct ss_stage_bounds *s, int phase, int chunks)
{
    double work = phase == SS_PHASE_F ? s->forward + s->exposed : s->backward,
           host = s->layers_host[phase] / chunks;
    if (chunks > 1)
        return (struct slot){s->layers_work[phase] / chunks, host, host, s->in_step[phase]};
    return (struct slot){.work = work + (s->issues ? 0 : s->waits[phase]),
                         .host = s->host[phase],
                         .after = s->after[phase],
                         .in_step = s->in_step[phase]};
}

/* Returns how long the slots of a rank with so many forwards of warm-up take under Megatron's orders, if they wait for no other rank:
 * these, forwards and backwards in turn, the backwards that are left. */
static double run_rank(const struct order *o, const struct ss_stage_bounds *s, int warmup)
{
    int turns = o->microbatches * o->chunks - warmup;
    const struct slot slots[2] = {slot_of(s, SS_PHASE_F, o->chunks), slot_of(s, SS_PHASE_B, o->chunks)};
    struct pace at = {0};
    run_slots(&at, &slots[0], 1, warmup);
    run_slots(&at, slots, 2, turns);
    run_slots(&at, &slots[1], 1, warmup);
    return at.gpu;
}

/* ---- Megatron's orders ---- */

/* Returns how long a rank takes for all its slots, one after the other. `one`: its costs are of one stage, whose chunks are
 * alike. */
static double slots_of(const struct order *o, const struct ss_stage_bounds *s, int before, int one)
{
    double work = s->forward + s->backward + s->exposed, waits = s->waits[SS_PHASE_F] + s->waits[SS_PHASE_B];
    if (!o->ahead)
        return o->microbatches * (work + waits);
    int warmup = ss_plan_bounds_warmup(o->job, before, o->microbatches);
    double most = one && o->chunks > 1
                      ? o->microbatches * fmax(work, s->host[SS_PHASE_F] + s->host[SS_PHASE_B])
                      : ss_plan_bounds_ahead(s, o->microbatches, warmup);
    return one ? fmax(most, run_rank(o, s, warmup)) : most;
}

/* Returns how long a microbatch takes through a stage and back, where a rank behind it waits for that. */
static double way_through(const struct order *o, const struct ss_stage_bounds *s)
{
    return s->forward + s->backward + (o->ahead ? 0 : s->waits[SS_PHASE_F] + s->waits[SS_PHASE_B]);
}

/*
 * Returns a bound of the iteration from the i-th of the three stages, behind `before` stages, the first of which has the first chunk of
 * the model. Its first forward starts when a microbatch has passed the first chunks of those stages; behind its last backward a
 * gradient goes back through them. The step of the first stage comes before, and its work on gradients behind, because all ranks wait
 * for one another in between.
 */
static double seconds_of_stage(const struct ss_plan_bounds *l, const struct order *o, int i, int before)
{
    const struct ss_stage_bounds *first = &l->stage[0], *middle = &l->stage[1], *s = &l->stage[i];
    double slots = slots_of(o, s, before, l->even || (o->chunks == 1 && i != 1)), way = 0,
           alone = s->step + s->gather + slots + s->reduce + (i == 1 ? 0 : l->tied);
    if (!l->barrier || !l->even)
        return alone;
    if (before > 0)
        way = way_through(o, first) + (before - 1) * way_through(o, middle);
    double behind = fmin(s->reduce, first->reduce) + l->tied, begin = first->step + first->gather;
    alone = fmax(alone, begin + way / o->chunks + slots + behind);
    if (i != 2 || !ss_plan_bounds_group(o->job, o->microbatches))
        return alone;
    /* the ways of a microbatch through all chunks and back take as long without messages */
    double busy = o->microbatches * way_through(o, s) + way / o->chunks;
    return fmax(alone, begin + busy + ss_plan_bounds_messages(l, o->chunks) + behind);
}

/* Returns the bound of unlike stages from the one behind which most lies. */
static double seconds_of_passing(const struct ss_plan_bounds *l, const struct order *o)
{
    const struct ss_stage_bounds *first = &l->stage[0], *least = &l->stage[1];
    return l->barrier && !l->even
               ? first->step + first->gather + l->passing[!o->ahead] + least->reduce + l->tied
               : 0;
}

/* ---- other orders ---- */

/* Returns the bound of other schedules, which may split the backward and put its second part off: only
 * forwards come before a rank's first slot. */
static double seconds_by_order(const struct ss_plan_bounds *l, const struct ss_find_flight *flight,
                               const struct order *o)
{
    int p = o->stages, microbatches = o->microbatches;
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
            most = fmax(most, l->stage[0].step + before / o->chunks + microbatches * s->split);
    }
    return most;
}

double ss_find_seconds(const struct ss_plan_bounds *l, const struct ss_find_flight *flight,
                       const struct ss_job *job, const struct ss_stack *stack, int microbatches)
{
    const struct order o = order_of(job, stack, microbatches);
    int p = o.stages;
    if (!ss_plan_bounds_is_megatrons(job))
        return seconds_by_order(l, flight, &o);
    double most = fmax(seconds_of_stage(l, &o, 0, 0), seconds_of_passing(l, &o));
    if (p > 2 || !l->even)
        most = fmax(most, seconds_of_stage(l, &o, 1, p - 2));
    return p > 1 ? fmax(most, seconds_of_stage(l, &o, 2, p - 1)) : most;
}
