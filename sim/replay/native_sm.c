/* SPDX-License-Identifier: Apache-2.0 */
/* The SM resource of a class: capacity 1, max-min between its COMPUTE and the holds on it. */
#include "replay/native_error.h"

static void changed(struct ss_native *k, int cls)
{
    struct ss_native_class *c = &k->classes[cls];
    c->stale = 1;
    if (c->blocked == SS_EV_COMPUTE && !c->dirty) {
        c->dirty = 1;
        k->sm_dirty[k->nsm_dirty++] = cls;
    }
}

int ss_sm_init(struct ss_native *k)
{
    const struct ss_program *p = k->p;
    size_t n = 0;
    for (int c = 0; c < p->nclasses; c++)
        k->classes[c].hold0 = p->classes[c].nstreams;
    for (int i = 0; i < p->nchannels; i++) {
        k->classes[p->channels[i].from].hold0++;
        k->classes[p->channels[i].to].hold0++;
    }
    for (int c = 0; c < p->nclasses; c++) {
        size_t room = (size_t)k->classes[c].hold0;
        k->classes[c].hold0 = (int)n;
        k->classes[c].rate = 1;
        n += room;
    }
    k->holds = malloc((n + 1) * sizeof *k->holds);
    k->sm_dirty = malloc(((size_t)p->nclasses + 1) * sizeof *k->sm_dirty);
    return k->holds && k->sm_dirty ? 0 : -1;
}

static void hold(struct ss_native *k, int cls, double share)
{
    struct ss_native_class *c = &k->classes[cls];
    double *h = k->holds + c->hold0;
    int i = c->nholds++;
    for (; i > 0 && h[i - 1] > share; i--)
        h[i] = h[i - 1];
    h[i] = share;
    changed(k, cls);
}

static void release(struct ss_native *k, int cls, double share)
{
    struct ss_native_class *c = &k->classes[cls];
    double *h = k->holds + c->hold0;
    int i = 0;
    while (h[i] != share)
        i++;
    for (c->nholds--; i < c->nholds; i++)
        h[i] = h[i + 1];
    changed(k, cls);
}

void ss_sm_hold_ends(struct ss_native *k, const struct ss_channel *ch, double doublings, int on)
{
    if (!(ch->sm_share > 0))
        return;
    void (*change)(struct ss_native *, int, double) = on ? hold : release;
    change(k, ch->from, ch->sm_share);
    if (ch->to != ch->from)
        change(k, ch->to, ch->sm_share);
    if (doublings > 0) {
        ss_error_held(k, ch->from, ch->sm_share, doublings);
        ss_error_held(k, ch->to, ch->sm_share, doublings);
    }
}

void ss_sm_hold_members(struct ss_native *k, const struct ss_collective *g, double doublings, int on)
{
    if (!(g->sm_share > 0))
        return;
    for (int i = 0; i < g->nmembers; i++) {
        (on ? hold : release)(k, g->members[i], g->sm_share);
        if (doublings > 0)
            ss_error_held(k, g->members[i], g->sm_share, doublings);
    }
}

/* A hold that asks for less than an equal share gets what it asks for; the rest is divided equally. */
static double compute_rate(const struct ss_native *k, const struct ss_native_class *c)
{
    const double *h = k->holds + c->hold0;
    double room = 1;
    int sharers = c->nholds + 1;
    for (int i = 0; i < c->nholds && h[i] * sharers < room; i++, sharers--)
        room -= h[i];
    return room / sharers;
}

void ss_sm_start(struct ss_native *k, int cls, double seconds)
{
    struct ss_native_class *c = &k->classes[cls];
    if (c->stale) {
        c->rate = compute_rate(k, c);
        c->stale = 0;
    }
    c->left = seconds;
    c->last = k->now;
    ss_timers_set(&k->timers, cls, c->rate == 1 ? k->now + seconds : k->now + seconds / c->rate);
}

void ss_sm_settle(struct ss_native *k)
{
    for (int i = 0; i < k->nsm_dirty; i++) {
        struct ss_native_class *c = &k->classes[k->sm_dirty[i]];
        c->dirty = 0;
        if (c->blocked != SS_EV_COMPUTE || !c->stale)
            continue;
        double rate = compute_rate(k, c);
        c->stale = 0;
        if (rate == c->rate)
            continue;
        c->left = fmax(0, c->left - c->rate * (k->now - c->last));
        c->last = k->now;
        c->rate = rate;
        ss_timers_set(&k->timers, k->sm_dirty[i], k->now + c->left / rate);
    }
    k->nsm_dirty = 0;
}
