/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the slots of a schedule by their dependencies, with free communication. */
#include <stdlib.h>

#include "base/base.h"
#include "schedule/builder.h"

struct relaxation {
    const struct ss_schedule *s;
    ss_slot_timer timer; /* NULL: no slot takes time */
    void *ctx;
    int *stage_of;           /* [rank * chunks + chunk] */
    int *before, *after;     /* of each virtual stage, -1: none */
    double *forward;         /* end of F by (virtual stage, microbatch), < 0: not yet */
    double *backward;        /* end of B or I */
    int *queue, head, count; /* ranks that may have become able to run, a ring of `stages` */
    char *queued;
};

static void wake(struct relaxation *x, int rank)
{
    if (x->queued[rank])
        return;
    x->queued[rank] = 1;
    x->queue[(x->head + x->count++) % x->s->stages] = rank;
}

/* Earliest time at which the inputs of a forward are there, or < 0. */
static double forward_ready(const struct relaxation *x, int stage, int microbatch)
{
    int before = x->before[stage];
    return before < 0 ? 0 : x->forward[ss_schedule_index(x->s, before, microbatch)];
}

static double backward_ready(const struct relaxation *x, int stage, int microbatch)
{
    double own = x->forward[ss_schedule_index(x->s, stage, microbatch)];
    int after = x->after[stage];
    if (own < 0 || after < 0)
        return own;
    double next = x->backward[ss_schedule_index(x->s, after, microbatch)];
    return next < 0 || next > own ? next : own;
}

static double slot_ready(const struct relaxation *x, int rank, const struct ss_slot *slot)
{
    int stage = x->stage_of[rank * x->s->chunks + slot->chunk];
    switch (slot->phase) {
    case SS_PHASE_F: return forward_ready(x, stage, slot->microbatch);
    case SS_PHASE_W: return x->backward[ss_schedule_index(x->s, stage, slot->microbatch)];
    case SS_PHASE_FB: {
        double f = forward_ready(x, stage, slot->microbatch);
        double b = backward_ready(x, x->stage_of[rank * x->s->chunks + slot->chunk2], slot->microbatch2);
        return f < 0 || b < 0 ? -1 : f > b ? f : b;
    }
    default: return backward_ready(x, stage, slot->microbatch);
    }
}

static void forward_done(struct relaxation *x, int stage, int microbatch, double end)
{
    x->forward[ss_schedule_index(x->s, stage, microbatch)] = end;
    int after = x->after[stage];
    if (after >= 0)
        wake(x, x->s->virtual_rank[after]);
}

static void backward_done(struct relaxation *x, int stage, int microbatch, double end)
{
    x->backward[ss_schedule_index(x->s, stage, microbatch)] = end;
    int before = x->before[stage];
    if (before >= 0)
        wake(x, x->s->virtual_rank[before]);
}

static void slot_done(struct relaxation *x, int rank, const struct ss_slot *slot, double end)
{
    int stage = x->stage_of[rank * x->s->chunks + slot->chunk];
    if (slot->phase == SS_PHASE_F || slot->phase == SS_PHASE_FB)
        forward_done(x, stage, slot->microbatch, end);
    if (slot->phase == SS_PHASE_B || slot->phase == SS_PHASE_I)
        backward_done(x, stage, slot->microbatch, end);
    if (slot->phase == SS_PHASE_FB)
        backward_done(x, x->stage_of[rank * x->s->chunks + slot->chunk2], slot->microbatch2, end);
}

static void run(struct relaxation *x, int *at, double *end, double *const *starts, double *const *ends)
{
    for (int r = 0; r < x->s->stages; r++) {
        at[r] = 0;
        end[r] = 0;
        wake(x, r);
    }
    while (x->count) {
        int rank = x->queue[x->head];
        x->head = (x->head + 1) % x->s->stages;
        x->count--;
        x->queued[rank] = 0;
        for (; at[rank] < x->s->nslots[rank]; at[rank]++) {
            const struct ss_slot *slot = &x->s->slots[rank][at[rank]];
            double ready = slot_ready(x, rank, slot);
            if (ready < 0)
                break;
            double start = ready > end[rank] ? ready : end[rank];
            end[rank] = start + (x->timer ? x->timer(x->ctx, rank, slot) : 0);
            slot_done(x, rank, slot, end[rank]);
            if (starts)
                starts[rank][at[rank]] = start;
            if (ends)
                ends[rank][at[rank]] = end[rank];
        }
    }
}

int ss_schedule_relax(const struct ss_schedule *s, ss_slot_timer timer, void *ctx, int *at, double *end,
                      double *const *starts, double *const *ends, struct ss_error *err)
{
    size_t n = (size_t)s->stages * (size_t)s->chunks * (size_t)s->microbatches, p = (size_t)s->stages;
    struct relaxation x = {.s = s, .timer = timer, .ctx = ctx};
    double *own_end = end ? NULL : ss_calloc(p, sizeof *own_end);
    size_t stages = p * (size_t)s->chunks;
    x.stage_of = ss_schedule_stage_map(s);
    x.before = ss_calloc(2 * stages, sizeof *x.before);
    x.after = x.before ? x.before + stages : NULL;
    x.forward = ss_calloc(n, sizeof *x.forward);
    x.backward = ss_calloc(n, sizeof *x.backward);
    x.queue = ss_calloc(p, sizeof *x.queue);
    x.queued = ss_calloc(p, 1);
    int rc = SS_OK;
    if (!x.stage_of || !x.before || !x.forward || !x.backward || !x.queue || !x.queued ||
        (!end && !own_end)) {
        rc = ss_nomem(err);
    } else {
        for (int v = 0; v < (int)stages; v++) {
            x.before[v] = ss_schedule_before(s, v);
            x.after[v] = ss_schedule_after(s, v);
        }
        for (size_t i = 0; i < n; i++)
            x.forward[i] = x.backward[i] = -1;
        run(&x, at, end ? end : own_end, starts, ends);
    }
    free(own_end);
    free(x.stage_of);
    free(x.before);
    free(x.forward);
    free(x.backward);
    free(x.queue);
    free(x.queued);
    return rc;
}
