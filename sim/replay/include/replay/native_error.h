/* SPDX-License-Identifier: Apache-2.0 */
/* How an error of a time goes on to others (docs/design/replay-contract.md, "Sensitivity"): with classes, messages and
 * collectives; native_flow.c has what flows do to each other. */
#pragma once

#include "replay/native.h"

/* A time that is a maximum depends on those alone that an error could make the latest: errors that matter are smaller
 * than this share of the time. */
#define SS_NEAR 1e-9

static inline int ss_is_near(const struct ss_native *k, double time)
{
    return k->now - time <= SS_NEAR * k->now;
}

static inline void ss_raise(double *doublings, double least)
{
    if (least > *doublings)
        *doublings = least;
}

/* The time of a class that has waited is that of what it waited for, whatever its own was, unless it came just before. */
static inline void ss_error_end_wait(struct ss_native *k, struct ss_native_class *c,
                                     const struct ss_last *last)
{
    if (last->doublings > c->doublings || !ss_is_near(k, c->since))
        c->doublings = last->doublings;
}

/* A class that goes on at once depends on an error of what it would have waited for only where that has just ended. */
static inline void ss_error_waited(struct ss_native *k, int cls, const struct ss_last *last)
{
    if (last->doublings > 0 && ss_is_near(k, last->time))
        ss_raise(&k->classes[cls].doublings, last->doublings);
}

/* A computation takes longer by the share of SMs that are held, and so does an error of when they are. */
static inline void ss_error_held(struct ss_native *k, int cls, double share, double doublings)
{
    struct ss_native_class *c = &k->classes[cls];
    if (c->blocked != SS_EV_COMPUTE || doublings <= c->doublings)
        return;
    if (share != k->held) {
        k->held = share;
        k->held_growth = log2(2 * share);
    }
    ss_raise(&c->doublings, doublings + k->held_growth);
}

static inline void ss_error_message(struct ss_native *k, int channel)
{
    const struct ss_channel *ch = &k->p->channels[channel];
    const struct ss_channel_state *s = &k->st.channels[channel];
    double *doublings = &k->fluid.flows[channel].doublings;
    *doublings = ss_is_near(k, s->last.time) ? s->last.doublings : 0;
    if (ss_is_near(k, s->sent))
        ss_raise(doublings, k->classes[ch->from].doublings);
    if (ch->rendezvous && ss_is_near(k, s->received))
        ss_raise(doublings, k->classes[ch->to].doublings);
}

/* When each member came to the collective is not kept, so that all count. */
static inline void ss_error_collective(struct ss_native *k, struct ss_instance *in)
{
    const struct ss_collective *g = &k->p->collectives[in->collective];
    in->doublings = 0;
    for (int i = 0; i < g->nmembers && k->fluid.doublings > 0; i++)
        ss_raise(&in->doublings, k->classes[g->members[i]].doublings);
}
