/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steady state of a replay, and the jump over it. Whenever one class (the anchor) has run one more period of
 * its slots, the state relative to now is compared with those of earlier such moments (the bases): of the first
 * ones, as many as there is room for, and behind them of those that follow each power of two, so that a period of
 * any length is found (Brent's method). When two are the same, all that follows repeats as long as every class's
 * slots do: so many periods are left out, the replay goes on as if the loop had no more turns, and what one period
 * adds is added as many times at the end.
 *
 * The same means: every count and index equal, every time and amount equal but for rounding. The error of a jump
 * over n periods is at most n times that rounding, 1e-12 of the time at which the period was found.
 */
#include <limits.h>

#include "replay/native.h"

#define ROUNDING 1e-12
#define MOST_BASES 32
#define BASES_ROOM (1 << 20) /* of all bases, where there are several */

/* State to compare: numbers that must be equal, and times and amounts that may differ by rounding. */
struct state_text {
    size_t nexact, cap_exact, nreal, cap_real;
    int64_t *exact;
    double *real;
    int failed;
};

/* A moment at which the anchor had run another period: its state, and what was counted up to there. */
struct base {
    struct state_text state;
    struct ss_leap *counted;
};

struct ss_jump {
    int anchor, period; /* class, slots */
    int count, power;   /* looks since the first base; when that many are made, the bases are new ones */
    int n, room;        /* bases; as many as there can be, 0: not known yet */
    struct base bases[MOST_BASES];
    struct state_text now;
};

int ss_jump_init(struct ss_native *k)
{
    const struct ss_program *p = k->p;
    int anchor = 0;
    k->jump = NULL;
    for (int c = 1; c < p->nclasses; c++)
        if (p->classes[c].nslots > p->classes[anchor].nslots)
            anchor = c;
    int n = p->nclasses ? p->classes[anchor].nslots : 0, from = n / 4, middle = n / 2;
    if (n < 32)
        return 0;
    const struct ss_program_class *pc = &p->classes[anchor];
    /* of a long loop a few turns tell */
    if (middle > 4 * pc->loop.length && pc->loop.more > 8) {
        from = pc->loop.first + pc->loop.length;
        middle = 4 * pc->loop.length;
    }
    int period = ss_slots_period(pc, from, middle);
    if (period <= 0)
        return -1;
    int first = 2 * period <= middle ? ss_slots_first_look(pc, from, period) : -1;
    if (first < 0)
        return 0;
    struct ss_jump *j = calloc(1, sizeof *j);
    if (!j)
        return -1;
    j->anchor = anchor;
    j->period = period;
    k->jump = j;
    k->anchor = anchor;
    k->anchor_slot = first;
    return 0;
}

void ss_jump_free(struct ss_native *k)
{
    struct ss_jump *j = k->jump;
    if (!j)
        return;
    for (int i = 0; i < MOST_BASES; i++) {
        free(j->bases[i].state.exact);
        free(j->bases[i].state.real);
        free(j->bases[i].counted);
    }
    free(j->now.exact);
    free(j->now.real);
    free(j);
    k->jump = NULL;
}

/* ---- the state relative to now ---- */

__attribute__((noinline)) static int more_exact(struct state_text *t)
{
    size_t cap = t->cap_exact ? 2 * t->cap_exact : 256;
    int64_t *grown = realloc(t->exact, cap * sizeof *grown);
    t->failed |= !grown;
    if (grown) {
        t->exact = grown;
        t->cap_exact = cap;
    }
    return grown != NULL;
}

static inline void exact(struct state_text *t, int64_t value)
{
    if (t->nexact < t->cap_exact || more_exact(t))
        t->exact[t->nexact++] = value;
}

/* Two counts in one; either may be a difference that has wrapped below zero. */
static inline void exact_pair(struct state_text *t, uint32_t high, uint32_t low)
{
    exact(t, (int64_t)((uint64_t)high << 32 | low));
}

__attribute__((noinline)) static int more_real(struct state_text *t)
{
    size_t cap = t->cap_real ? 2 * t->cap_real : 256;
    double *grown = realloc(t->real, cap * sizeof *grown);
    t->failed |= !grown;
    if (grown) {
        t->real = grown;
        t->cap_real = cap;
    }
    return grown != NULL;
}

static inline void real(struct state_text *t, double value)
{
    if (t->nreal < t->cap_real || more_real(t))
        t->real[t->nreal++] = value;
}

/* Time until a timer, or that there is none. */
static void timer(const struct ss_native *k, struct state_text *t, int id)
{
    int moment = k->timers.timers[id].moment;
    exact(t, moment >= 0);
    if (moment >= 0)
        real(t, k->timers.moments[moment].time - k->now);
}

static void write_class(const struct ss_native *k, int cls, struct state_text *t)
{
    const struct ss_native_class *c = &k->classes[cls];
    int at_end = c->slot >= c->kind->nslots;
    exact(t, at_end ? -1 : ss_program_template_at(&k->p->classes[cls], c->slot));
    exact(t, at_end ? 0 : c->ev - c->first);
    exact(t, c->blocked); /* -1: not blocked */
    exact(t, c->target);
    exact(t, c->nholds);
    if (!at_end)
        real(t, k->now - c->since);
    for (int i = 0; i < c->nholds; i++)
        real(t, k->holds[c->hold0 + i]);
    timer(k, t, cls);
    if (c->blocked == SS_EV_COMPUTE)
        real(t, c->rate);
}

static void write_flow(const struct ss_native *k, int flow, struct state_text *t)
{
    const struct ss_fluid_flow *w = &k->fluid.flows[flow];
    exact(t, w->path);
    timer(k, t, k->flow0 + flow);
    if (w->path >= 0) {
        exact(t, w->owner);
        real(t, w->rate / k->fluid.paths[w->path].solo);
    }
}

static void write_channel(const struct ss_native *k, int channel, struct state_text *t)
{
    const struct ss_channel_state *s = &k->st.channels[channel];
    exact_pair(t, s->sends - s->begun, s->recvs - s->begun);
    exact_pair(t, s->begun - s->ended, s->sends - s->send_waits);
    exact_pair(t, s->recvs - s->recv_waits, (uint32_t)s->busy);
    for (uint32_t i = s->begun; i != s->sends; i++)
        exact(t, (int64_t)ss_state_posted(s, i));
    if (s->busy) {
        real(t, k->now - s->begin);
        exact(t, (int64_t)s->bytes);
    }
    write_flow(k, channel, t);
}

static void write_stream(const struct ss_native *k, int cls, int stream, struct state_text *t)
{
    const struct ss_stream_state *s = &k->st.streams[stream];
    exact_pair(t, s->posted - s->ended, s->ended - s->waited);
    for (uint32_t i = s->ended; i != s->posted; i++) {
        struct ss_queued q = s->ring[i & s->mask];
        exact_pair(t, (uint32_t)q.collective,
                   k->st.posts[ss_state_member(&k->st, q.collective, cls)] - q.instance);
    }
}

static void write_instance(const struct ss_native *k, int i, struct state_text *t)
{
    const struct ss_instance *in = &k->st.instances[i];
    exact(t, in->collective);
    if (in->collective < 0)
        return;
    exact_pair(t, k->st.posts[k->st.member0[in->collective]] - in->number, (uint32_t)in->arrived);
    exact_pair(t, (uint32_t)in->phase, (uint32_t)in->flows_left);
    timer(k, t, k->inst0 + i);
    if (in->arrived == k->p->collectives[in->collective].nmembers)
        real(t, k->now - in->begin);
}

/* A state is compared while it is written, where it is large: most differ from a base in their first classes. */
struct comparison {
    const struct state_text *base; /* NULL: with nothing */
    double rounding;
    size_t nexact, nreal; /* compared */
};

/* Whether what was written since the last call is the same in the base. */
static int agrees(struct comparison *with, const struct state_text *t)
{
    const struct state_text *base = with->base;
    if (!base)
        return 1;
    if (t->nexact > base->nexact || t->nreal > base->nreal)
        return 0;
    for (; with->nexact < t->nexact; with->nexact++)
        if (base->exact[with->nexact] != t->exact[with->nexact])
            return 0;
    for (; with->nreal < t->nreal; with->nreal++)
        if (!(fabs(base->real[with->nreal] - t->real[with->nreal]) <= with->rounding))
            return 0;
    return 1;
}

/* Whether a whole state is the base. */
static int is_base(struct comparison *with, const struct state_text *t)
{
    return t->nexact == with->base->nexact && t->nreal == with->base->nreal && agrees(with, t);
}

/* Returns 0 as soon as the state differs. */
static int write_state(const struct ss_native *k, struct state_text *t, struct comparison with)
{
    t->nexact = t->nreal = 0;
    for (int c = 0; c < k->p->nclasses; c++) {
        if (!agrees(&with, t))
            return 0;
        write_class(k, c, t);
    }
    for (int c = 0; c < k->p->nclasses; c++) {
        if (!agrees(&with, t))
            return 0;
        for (int s = k->st.stream0[c]; s < k->st.stream0[c + 1]; s++)
            write_stream(k, c, s, t);
        if (k->board->accounts)
            for (int m = 0; m < SS_MEM_COUNT; m++)
                exact(t, llround(k->board->accounts[c].now[m]));
    }
    for (int i = 0; i < k->p->nchannels; i++) {
        if (!agrees(&with, t))
            return 0;
        write_channel(k, i, t);
    }
    for (int i = k->p->nchannels; i < k->fluid.nflows; i++)
        write_flow(k, i, t);
    for (int i = 0; i < k->st.nstreams; i++)
        write_instance(k, i, t);
    return !with.base || is_base(&with, t);
}

/* Writes the state and returns a base that is the same, or NULL. */
static const struct base *find_same(const struct ss_native *k, struct ss_jump *j)
{
    struct comparison with = {NULL, ROUNDING * k->now, 0, 0};
    if (j->room == 1 && j->n) {
        with.base = &j->bases[0].state;
        return write_state(k, &j->now, with) ? &j->bases[0] : NULL;
    }
    write_state(k, &j->now, with);
    for (int i = j->n - 1; i >= 0; i--) {
        with = (struct comparison){&j->bases[i].state, with.rounding, 0, 0};
        if (is_base(&with, &j->now))
            return &j->bases[i];
    }
    return NULL;
}

/* ---- jump ---- */

/* Returns the seconds in which the link has carried a flow, running flows included: the board gets them only
 * when the link is idle again, which may be later than a period. */
static double busy_until_now(const struct ss_native *k, int link)
{
    const struct ss_fluid_link *l = &k->fluid.links[link];
    return l->busy + (l->count ? k->now - l->since : 0);
}

/* Writes down what was counted so far. */
static void count(const struct ss_native *k, struct ss_leap *out)
{
    const struct ss_board *board = k->board;
    out->now = out->seconds = k->now;
    out->events = k->events;
    out->flows = k->fluid.started;
    for (int c = 0; c < k->p->nclasses; c++)
        out->slot[c] = out->shift[c] = k->classes[c].slot;
    if (!board->accounts)
        return;
    for (int c = 0; c < k->p->nclasses; c++)
        for (int l = 0; l < SS_LABEL_COUNT; l++)
            out->label[c][l] = board->accounts[c].label[l].sum + board->accounts[c].label[l].rest;
    memcpy(out->event_s, board->event_s, ss_template_events(k->p) * sizeof *out->event_s);
    for (int l = 0; l < k->p->nlinks; l++)
        out->link_busy[l] = busy_until_now(k, l);
}

/* Leaves of a count what has been counted since the base. */
static void subtract(const struct ss_program *p, struct ss_leap *from, const struct ss_leap *base)
{
    const size_t nevents = ss_template_events(p);
    from->seconds -= base->seconds;
    from->events -= base->events;
    from->flows -= base->flows;
    for (int c = 0; c < p->nclasses; c++)
        from->shift[c] -= base->shift[c];
    if (!from->label)
        return;
    for (int c = 0; c < p->nclasses; c++)
        for (int l = 0; l < SS_LABEL_COUNT; l++)
            from->label[c][l] -= base->label[c][l];
    for (size_t i = 0; i < nevents; i++)
        from->event_s[i] -= base->event_s[i];
    for (int l = 0; l < p->nlinks; l++)
        from->link_busy[l] -= base->link_busy[l];
}

static void set_next(struct ss_native *k)
{
    const struct ss_jump *j = k->jump;
    int next = k->classes[j->anchor].slot + j->period;
    k->anchor_slot =
        next + j->period <= k->p->classes[j->anchor].nslots ? next : INT_MAX; /* none is left to jump over */
}

/* Leaves out as many periods as possible. */
static void jump(struct ss_native *k, const struct ss_leap *base)
{
    struct ss_jump *j = k->jump;
    struct ss_leap **end = &k->leaps, *leap = ss_leap_new(k->p, k->board->accounts != NULL);
    if (!leap) {
        k->failed = 1;
        return;
    }
    count(k, leap);
    subtract(k->p, leap, base);
    leap->times = ss_jump_left(k->p, leap->slot, leap->shift);
    if (leap->times < 1) {
        k->others |= !k->leaps;
        free(leap);
        return;
    }
    for (int c = 0; c < k->p->nclasses; c++) {
        k->classes[c].slot += (int)leap->times * leap->shift[c];
        ss_slots_look_up(&k->classes[c]);
    }
    while (*end)
        end = &(*end)->next;
    *end = leap;
    j->n = j->count = 0;
    j->power = j->room;
}

int ss_jump_period(const struct ss_native *k)
{
    return k->jump->period;
}

/* There is room for one base at least. */
static void find_room(const struct ss_native *k, struct ss_jump *j)
{
    size_t one = ss_leap_size(k->p, k->board->accounts != NULL) + j->now.cap_exact * sizeof *j->now.exact +
                 j->now.cap_real * sizeof *j->now.real;
    j->room = one > BASES_ROOM ? 1 : BASES_ROOM / one > MOST_BASES ? MOST_BASES : (int)(BASES_ROOM / one);
    j->power = j->room;
}

/* Makes the state at hand a base. */
static void add_base(struct ss_native *k)
{
    struct ss_jump *j = k->jump;
    if (!j->room)
        find_room(k, j);
    if (j->n == j->room) {
        if (j->count < j->power)
            return;
        if (j->room == 1)
            write_state(k, &j->now, (struct comparison){0});
        j->n = j->count = 0;
        j->power *= 2;
    }
    struct base *b = &j->bases[j->n++];
    struct state_text swap = b->state;
    b->state = j->now;
    j->now = swap;
    if (!b->counted)
        b->counted = ss_leap_new(k->p, k->board->accounts != NULL);
    k->failed |= !b->counted || b->state.failed;
    if (!k->failed)
        count(k, b->counted);
}

void ss_jump_look(struct ss_native *k)
{
    struct ss_jump *j = k->jump;
    k->due = INT_MAX;
    ss_fluid_forget_plans(k);
    j->count += j->n > 0;
    const struct base *base = find_same(k, j);
    k->failed |= j->now.failed;
    if (base)
        jump(k, base->counted);
    else if (!k->failed)
        add_base(k);
    set_next(k);
}
