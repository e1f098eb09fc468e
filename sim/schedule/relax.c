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
    const struct ss_slot_times *times;
    struct place *place;     /* [rank * chunks + chunk] */
    double *forward;         /* end of F by (virtual stage, microbatch, lane of times), < 0: not yet */
    double *backward;        /* end of B or I */
    int *queue, head, count; /* ranks that may have become able to run, a ring of `stages` */
    char *queued;
};

static inline void wake(struct relaxation *x, int rank)
{
    if (x->queued[rank])
        return;
    x->queued[rank] = 1;
    int at = x->head + x->count++;
    x->queue[at < x->s->stages ? at : at - x->s->stages] = rank;
}

/* The compiler knows the number of lanes, n, of each copy of these: a slot then takes half as long. */
#define LANES static inline __attribute__((always_inline))

/* Earliest time at which the inputs of a forward are there in a lane, or < 0. */
LANES double forward_ready(const struct relaxation *x, const struct place *p, int microbatch, int lane, int n)
{
    return p->before < 0 ? 0 : x->forward[(p->before + microbatch) * n + lane];
}

LANES double backward_ready(const struct relaxation *x, const struct place *p, int microbatch, int lane,
                            int n)
{
    double own = x->forward[(p->own + microbatch) * n + lane];
    if (own < 0 || p->after < 0)
        return own;
    double next = x->backward[(p->after + microbatch) * n + lane];
    return next < 0 || next > own ? next : own;
}

/* `places`: of the chunks of the slot's rank. All lanes are ready, or none. */
LANES double slot_ready(const struct relaxation *x, const struct place *places, const struct ss_slot *slot,
                        int lane, int n)
{
    const struct place *p = &places[slot->chunk];
    if (slot->phase == SS_PHASE_F)
        return forward_ready(x, p, slot->microbatch, lane, n);
    if (slot->phase == SS_PHASE_W)
        return x->backward[(p->own + slot->microbatch) * n + lane];
    if (slot->phase != SS_PHASE_FB)
        return backward_ready(x, p, slot->microbatch, lane, n);
    double f = forward_ready(x, p, slot->microbatch, lane, n);
    double b = backward_ready(x, &places[slot->chunk2], slot->microbatch2, lane, n);
    return f < 0 || b < 0 ? -1 : f > b ? f : b;
}

LANES void forward_done(struct relaxation *x, const struct place *p, int microbatch, const double *end, int n)
{
    for (int lane = 0; lane < n; lane++)
        x->forward[(p->own + microbatch) * n + lane] = end[lane];
    if (p->after >= 0)
        wake(x, p->after_rank);
}

LANES void backward_done(struct relaxation *x, const struct place *p, int microbatch, const double *end,
                         int n)
{
    for (int lane = 0; lane < n; lane++)
        x->backward[(p->own + microbatch) * n + lane] = end[lane];
    if (p->before >= 0)
        wake(x, p->before_rank);
}

LANES void slot_done(struct relaxation *x, const struct place *places, const struct ss_slot *slot,
                     const double *end, int n)
{
    if (slot->phase == SS_PHASE_F || slot->phase == SS_PHASE_FB)
        forward_done(x, &places[slot->chunk], slot->microbatch, end, n);
    if (slot->phase == SS_PHASE_B || slot->phase == SS_PHASE_I)
        backward_done(x, &places[slot->chunk], slot->microbatch, end, n);
    if (slot->phase == SS_PHASE_FB)
        backward_done(x, &places[slot->chunk2], slot->microbatch2, end, n);
}

LANES double seconds_of(const struct ss_slot_times *t, int chunks, int rank, const struct ss_slot *slot,
                        int lane, int n)
{
    if (t->table && slot->phase != SS_PHASE_FB)
        return t->table[((rank * SS_PHASE_FB + slot->phase) * chunks + slot->chunk) * n + lane];
    return t->timer ? t->timer(t->ctx[lane], rank, slot) : 0;
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

/* What a walk writes: ss_schedule_relax. */
struct walk {
    int *at;
    double *end, *work; /* [rank * n + lane] */
    double *const *starts, *const *ends;
};

/* Runs the slots of a rank up to the first whose inputs are not there. */
LANES void run_rank(struct relaxation *x, int rank, const struct walk *w, int n)
{
    const int chunks = x->s->chunks, last = x->s->nslots[rank];
    const struct place *places = x->place + (size_t)rank * (size_t)chunks;
    const struct ss_slot *slots = x->s->slots[rank];
    double *end = w->end + rank * n, *work = w->work ? w->work + rank * n : NULL;
    double *starts = w->starts ? w->starts[rank] : NULL, *ends = w->ends ? w->ends[rank] : NULL;
    int at = w->at[rank];
    for (; at < last && !(slot_ready(x, places, &slots[at], 0, n) < 0); at++) {
        for (int lane = 0; lane < n; lane++) {
            double ready = slot_ready(x, places, &slots[at], lane, n);
            double start = ready > end[lane] ? ready : end[lane];
            double seconds = seconds_of(x->times, chunks, rank, &slots[at], lane, n);
            end[lane] = start + seconds;
            if (work)
                work[lane] += seconds;
            if (starts)
                starts[at * n + lane] = start;
            if (ends)
                ends[at * n + lane] = end[lane];
        }
        slot_done(x, places, &slots[at], end, n);
    }
    w->at[rank] = at;
}

static void run(struct relaxation *x, const struct walk *w)
{
    for (int r = 0; r < x->s->stages; r++) {
        w->at[r] = 0;
        wake(x, r);
    }
    while (x->count) {
        int rank = x->queue[x->head];
        x->head = x->head + 1 < x->s->stages ? x->head + 1 : 0;
        x->count--;
        x->queued[rank] = 0;
        if (x->times->n == 1)
            run_rank(x, rank, w, 1);
        else
            run_rank(x, rank, w, SS_SLOT_LANES);
    }
}

int ss_schedule_relax(const struct ss_schedule *s, const struct ss_slot_times *times, int *at, double *work,
                      double *const *starts, double *const *ends, struct ss_error *err)
{
    static const struct ss_slot_times none = {.n = 1};
    struct relaxation x = {.s = s, .times = times ? times : &none};
    size_t p = (size_t)s->stages, lanes = (size_t)x.times->n,
           n = p * (size_t)s->chunks * (size_t)s->microbatches * lanes;
    double *end = ss_calloc(p * lanes, sizeof *end);
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
        run(&x, &(struct walk){at, end, work, starts, ends});
    }
    SS_FREE(end, x.place, x.forward, x.backward, x.queue, x.queued);
    return rc;
}
