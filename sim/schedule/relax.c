/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the slots of a schedule by their dependencies, with free communication. */
#include "base/base.h"
#include "schedule/builder.h"

/* A chunk of a rank: where the microbatches of its virtual stage, of the one before and of the one behind begin in forward[] and
 * backward[], and the ranks of these two. -1: there is none. */
struct place {
    int64_t own, before, after;
    int before_rank, after_rank;
};

struct relaxation {
    const struct ss_schedule *s;
    ss_slot_timer timer; /* NULL: no slot takes time */
    void *ctx;
    struct place *place;     /* [rank * chunks + chunk] */
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
static double forward_ready(const struct relaxation *x, const struct place *p, int microbatch)
{
    return p->before < 0 ? 0 : x->forward[p->before + microbatch];
}

static double backward_ready(const struct relaxation *x, const struct place *p, int microbatch)
{
    double own = x->forward[p->own + microbatch];
    if (own < 0 || p->after < 0)
        return own;
    double next = x->backward[p->after + microbatch];
    return next < 0 || next > own ? next : own;
}

/* `places`: of the chunks of the slot's rank. */
static double slot_ready(const struct relaxation *x, const struct place *places, const struct ss_slot *slot)
{
    const struct place *p = &places[slot->chunk];
    switch (slot->phase) {
    case SS_PHASE_F: return forward_ready(x, p, slot->microbatch);
    case SS_PHASE_W: return x->backward[p->own + slot->microbatch];
    case SS_PHASE_FB: {
        double f = forward_ready(x, p, slot->microbatch);
        double b = backward_ready(x, &places[slot->chunk2], slot->microbatch2);
        return f < 0 || b < 0 ? -1 : f > b ? f : b;
    }
    default: return backward_ready(x, p, slot->microbatch);
    }
}

static void forward_done(struct relaxation *x, const struct place *p, int microbatch, double end)
{
    x->forward[p->own + microbatch] = end;
    if (p->after >= 0)
        wake(x, p->after_rank);
}

static void backward_done(struct relaxation *x, const struct place *p, int microbatch, double end)
{
    x->backward[p->own + microbatch] = end;
    if (p->before >= 0)
        wake(x, p->before_rank);
}

static void slot_done(struct relaxation *x, const struct place *places, const struct ss_slot *slot,
                      double end)
{
    if (slot->phase == SS_PHASE_F || slot->phase == SS_PHASE_FB)
        forward_done(x, &places[slot->chunk], slot->microbatch, end);
    if (slot->phase == SS_PHASE_B || slot->phase == SS_PHASE_I)
        backward_done(x, &places[slot->chunk], slot->microbatch, end);
    if (slot->phase == SS_PHASE_FB)
        backward_done(x, &places[slot->chunk2], slot->microbatch2, end);
}

static void fill_places(struct relaxation *x)
{
    const struct ss_schedule *s = x->s;
    for (int v = 0; v < s->stages * s->chunks; v++) {
        int before = ss_schedule_before(s, v), after = ss_schedule_after(s, v);
        x->place[s->virtual_rank[v] * s->chunks + s->virtual_chunk[v]] = (struct place){
            ss_schedule_index(s, v, 0), before < 0 ? -1 : ss_schedule_index(s, before, 0),
            after < 0 ? -1 : ss_schedule_index(s, after, 0), before < 0 ? -1 : s->virtual_rank[before],
            after < 0 ? -1 : s->virtual_rank[after]};
    }
}

static void run(struct relaxation *x, int *at, double *end, double *work, double *const *starts,
                double *const *ends)
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
        const struct place *places = x->place + (size_t)rank * (size_t)x->s->chunks;
        for (; at[rank] < x->s->nslots[rank]; at[rank]++) {
            const struct ss_slot *slot = &x->s->slots[rank][at[rank]];
            double ready = slot_ready(x, places, slot);
            if (ready < 0)
                break;
            double start = ready > end[rank] ? ready : end[rank];
            double seconds = x->timer ? x->timer(x->ctx, rank, slot) : 0;
            end[rank] = start + seconds;
            if (work)
                work[rank] += seconds;
            slot_done(x, places, slot, end[rank]);
            if (starts)
                starts[rank][at[rank]] = start;
            if (ends)
                ends[rank][at[rank]] = end[rank];
        }
    }
}

int ss_schedule_relax(const struct ss_schedule *s, ss_slot_timer timer, void *ctx, int *at, double *work,
                      double *const *starts, double *const *ends, struct ss_error *err)
{
    size_t n = (size_t)s->stages * (size_t)s->chunks * (size_t)s->microbatches, p = (size_t)s->stages;
    struct relaxation x = {.s = s, .timer = timer, .ctx = ctx};
    double *end = ss_calloc(p, sizeof *end);
    x.place = ss_calloc(p * (size_t)s->chunks, sizeof *x.place);
    x.forward = malloc(n * sizeof *x.forward);
    x.backward = malloc(n * sizeof *x.backward);
    x.queue = ss_calloc(p, sizeof *x.queue);
    x.queued = ss_calloc(p, 1);
    int rc = SS_OK;
    if (!x.place || !x.forward || !x.backward || !x.queue || !x.queued || !end) {
        rc = ss_nomem(err);
    } else {
        fill_places(&x);
        for (size_t i = 0; i < n; i++)
            x.forward[i] = x.backward[i] = -1;
        run(&x, at, end, work, starts, ends);
    }
    free(end);
    free(x.place);
    free(x.forward);
    free(x.backward);
    free(x.queue);
    free(x.queued);
    return rc;
}
