/* SPDX-License-Identifier: Apache-2.0 */
/* Measures an order whose stages differ. */
#include "base/base.h"
#include "study/schedule_order.h"
#include "study/schedule_strip.h"

int ss_search_stage(const struct ss_search *q, int rank, int chunk)
{
    return q->v_shape && chunk == 1 ? 2 * q->stages - 1 - rank : chunk * q->stages + rank;
}

double ss_search_length(const struct ss_search *q, const struct ss_measure *m)
{
    return q->barrier ? m->makespan : m->span;
}

struct sweep {
    const struct ss_search *q;
    const struct ss_schedule *s;
    double *forward, *backward;      /* [virtual stage, microbatch]: end, < 0 not yet */
    int *stage_of;                   /* [rank * chunks + chunk] */
    struct ss_schedule_strip *strip; /* gets the slots, or NULL */
    int failed;
};

static double *done(const struct sweep *x, double *table, int stage, int mb)
{
    return &table[(size_t)stage * (size_t)x->s->microbatches + (size_t)mb];
}

static double need_forward(const struct sweep *x, int stage, int mb)
{
    int before = ss_schedule_before(x->s, stage);
    return before < 0 ? 0 : *done(x, x->forward, before, mb);
}

static double need_backward(const struct sweep *x, int stage, int mb)
{
    int after = ss_schedule_after(x->s, stage);
    double own = *done(x, x->forward, stage, mb), next = after < 0 ? 0 : *done(x, x->backward, after, mb);
    return own < 0 || next < 0 ? -1 : fmax(own, next);
}

/* Runs a slot that begins no sooner than `now`. Returns its end, or < 0 when it has to wait. */
static double run_slot(struct sweep *x, int rank, const struct ss_slot *slot, double now, double *work)
{
    const struct ss_search *q = x->q;
    int at = rank * q->chunks + slot->chunk, stage = x->stage_of[at], mb = slot->microbatch;
    double ready = 0;
    *work = 0;
    if (slot->phase == SS_PHASE_F || slot->phase == SS_PHASE_FB)
        ready = need_forward(x, stage, mb);
    if (slot->phase == SS_PHASE_B || slot->phase == SS_PHASE_I)
        ready = need_backward(x, stage, mb);
    if (slot->phase == SS_PHASE_FB && ready >= 0) {
        double other = need_backward(x, x->stage_of[rank * q->chunks + slot->chunk2], slot->microbatch2);
        ready = other < 0 ? other : fmax(ready, other);
    }
    if (ready < 0)
        return -1;
    int back = slot->phase == SS_PHASE_FB ? rank * q->chunks + slot->chunk2 : at;
    if (slot->phase == SS_PHASE_F || slot->phase == SS_PHASE_FB)
        *work += q->f[at];
    if (slot->phase != SS_PHASE_F && slot->phase != SS_PHASE_W)
        *work += q->i[back];
    if (slot->phase == SS_PHASE_B || slot->phase == SS_PHASE_W || slot->phase == SS_PHASE_FB)
        *work += q->w[back];
    double end = fmax(ready, now) + *work;
    if (slot->phase == SS_PHASE_F || slot->phase == SS_PHASE_FB)
        *done(x, x->forward, stage, mb) = end;
    if (slot->phase == SS_PHASE_B || slot->phase == SS_PHASE_I)
        *done(x, x->backward, stage, mb) = end;
    if (slot->phase == SS_PHASE_FB)
        *done(x, x->backward, x->stage_of[back], slot->microbatch2) = end;
    return end;
}

static double peak_of(const struct ss_search *q, const struct ss_schedule *s, int rank)
{
    double now = 0, peak = 0;
    for (int i = 0; i < s->nslots[rank]; i++) {
        const struct ss_slot *slot = &s->slots[rank][i];
        int at = rank * q->chunks + slot->chunk, paired = slot->phase == SS_PHASE_FB;
        int back = paired ? rank * q->chunks + slot->chunk2 : at;
        if (slot->phase == SS_PHASE_F || paired)
            now += q->activation[at];
        peak = fmax(peak, now);
        if (slot->phase == SS_PHASE_B || paired)
            now -= q->activation[back];
        if (slot->phase == SS_PHASE_I)
            now -= q->activation[at] - q->weight[at];
        if (slot->phase == SS_PHASE_W)
            now -= q->weight[at];
        peak = fmax(peak, now);
    }
    return peak;
}

static void note(struct sweep *x, int rank, const struct ss_slot *slot, double start, double end)
{
    if (x->strip && !x->failed)
        x->failed =
            ss_strip_add(x->strip, (struct ss_slot_time){rank, slot->phase, slot->chunk, slot->microbatch,
                                                         slot->chunk2, slot->microbatch2, start, end}) != 0;
}

/* Forwards go from the first rank to the last and backwards the other way, and so do the rounds in turn. */
static void sweep_ranks(struct sweep *x, struct ss_measure *out, int *at, double *end, double *start,
                        double *busy)
{
    int p = x->s->stages, left = 0;
    for (int moved = 1, round = 0; moved; round++) {
        moved = left = 0;
        for (int k = 0; k < p; k++) {
            int r = round % 2 ? p - 1 - k : k;
            for (; at[r] < x->s->nslots[r]; at[r]++, moved = 1) {
                double work, stop = run_slot(x, r, &x->s->slots[r][at[r]], end[r], &work);
                if (stop < 0)
                    break;
                if (at[r] == 0)
                    start[r] = stop - work;
                end[r] = stop;
                busy[r] += work;
                note(x, r, &x->s->slots[r][at[r]], stop - work, stop);
            }
            left += at[r] < x->s->nslots[r];
        }
    }
    out->feasible = !left;
    for (int r = 0; r < p; r++) {
        out->makespan = fmax(out->makespan, end[r]);
        out->span = fmax(out->span, end[r] - start[r]);
        out->idle += end[r] - start[r] - busy[r];
    }
}

static int measure(const struct ss_search *q, const struct ss_schedule *s, struct ss_measure *out,
                   double *peak, struct ss_schedule_strip *strip)
{
    size_t p = (size_t)s->stages, n = p * (size_t)s->chunks, all = n * (size_t)s->microbatches;
    struct sweep x = {.q = q, .s = s, .strip = strip};
    *out = (struct ss_measure){0};
    x.forward = ss_calloc(2 * all, sizeof *x.forward);
    x.stage_of = ss_calloc(n, sizeof *x.stage_of);
    int *at = ss_calloc(p, sizeof *at);
    double *times = ss_calloc(3 * p, sizeof *times);
    int ok = x.forward && x.stage_of && at && times;
    if (ok) {
        x.backward = x.forward + all;
        for (size_t i = 0; i < 2 * all; i++)
            x.forward[i] = -1;
        for (size_t v = 0; v < n; v++)
            x.stage_of[s->virtual_rank[v] * s->chunks + s->virtual_chunk[v]] = (int)v;
        sweep_ranks(&x, out, at, times, times + p, times + 2 * p);
        for (size_t r = 0; r < p; r++) {
            double own = peak_of(q, s, (int)r);
            out->feasible = out->feasible && ss_search_fits(q, r, own);
            if (peak)
                peak[r] = own;
        }
    }
    SS_FREE(x.forward, x.stage_of, at, times);
    return ok && !x.failed ? SS_OK : SS_ERR_NOMEM;
}

int ss_search_measure(const struct ss_search *q, const struct ss_schedule *s, struct ss_measure *out,
                      double *peak)
{
    return measure(q, s, out, peak, NULL);
}

int ss_search_strip(const struct ss_search *q, const struct ss_schedule *s, struct ss_schedule_strip **out)
{
    struct ss_schedule_strip *strip = ss_strip_new(s->stages, s->chunks);
    struct ss_measure m;
    int rc = strip ? measure(q, s, &m, NULL, strip) : SS_ERR_NOMEM;
    if (rc) {
        ss_strip_free(strip);
        return rc;
    }
    ss_strip_sort(strip);
    strip->length = m.makespan;
    *out = strip;
    return SS_OK;
}
