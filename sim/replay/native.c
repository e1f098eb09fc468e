/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native engine's loop. An instant: all timers due, then the classes that may go on, lowest first,
 * until none is left; then what was touched is shared anew and the clock moves to the next timer.
 */
#include <limits.h>

#include "replay/native.h"
#include "replay/native_error.h"

static void wake(struct ss_native *k, int cls)
{
    k->classes[cls].blocked = -1;
    int word = cls / 64, group = word / 64;
    k->runnable[word] |= 1ULL << (cls % 64);
    k->words[group] |= 1ULL << (word % 64);
    k->nrunnable++;
    if (group < k->lowest)
        k->lowest = group;
}

/* The end of a wait of class cls. */
static void end_wait(struct ss_native *k, int cls, uint32_t *waits, const struct ss_last *last, int label,
                     double busy_from)
{
    struct ss_native_class *c = &k->classes[cls];
    ++*waits;
    ss_error_end_wait(k, c, last);
    ss_tape_wait(k->tape, cls, c->slot, (int)(c->ev - c->first), c->event_s, label, c->since, busy_from,
                 k->now);
    c->ev++;
    wake(k, cls);
}

/* ---- channels ---- */

static void end_message(struct ss_native *k, int channel)
{
    const struct ss_channel *ch = &k->p->channels[channel];
    struct ss_channel_state *s = &k->st.channels[channel];
    s->busy = 0;
    s->ended++;
    s->last = (struct ss_last){k->now, k->fluid.flows[channel].doublings};
    ss_sm_hold_ends(k, ch, s->last.doublings, 0);
    ss_tape_transfer(k->tape, channel, -1, s->begin, k->now, s->bytes);
    struct ss_native_class *from = &k->classes[ch->from], *to = &k->classes[ch->to];
    if (from->blocked == SS_EV_WAIT_SEND && from->target == channel && ss_state_sent(s))
        end_wait(k, ch->from, &s->send_waits, &s->last, SS_LABEL_PP, s->begin);
    if (to->blocked == SS_EV_WAIT_RECV && to->target == channel && ss_state_received(s))
        end_wait(k, ch->to, &s->recv_waits, &s->last, SS_LABEL_PP, s->begin);
}

/* Begins messages until one takes time. */
static void advance_channel(struct ss_native *k, int channel)
{
    const struct ss_channel *ch = &k->p->channels[channel];
    struct ss_channel_state *s = &k->st.channels[channel];
    while (ss_state_can_begin(s, ch->rendezvous)) {
        ss_state_begin(s, k->now);
        ss_error_message(k, channel);
        ss_sm_hold_ends(k, ch, k->fluid.flows[channel].doublings, 1);
        if (ch->latency > 0) {
            double start = k->now + ch->latency;
            if (!ss_fluid_plan(k, channel, ch->path, s->bytes, start))
                ss_timers_set(&k->timers, k->flow0 + channel, start);
            return;
        }
        if (ss_fluid_start(k, channel, ch->path, s->bytes))
            return;
        end_message(k, channel);
    }
}

/* Mostly the other end is not there yet, or a message is on its way. */
static inline void come_to_channel(struct ss_native *k, int channel)
{
    if (ss_state_can_begin(&k->st.channels[channel], k->p->channels[channel].rendezvous))
        advance_channel(k, channel);
}

static void channel_due(struct ss_native *k, int channel)
{
    if (k->fluid.flows[channel].path >= 0)
        ss_fluid_stop(k, channel);
    else if (ss_fluid_start(k, channel, k->p->channels[channel].path, k->st.channels[channel].bytes))
        return;
    end_message(k, channel);
    come_to_channel(k, channel);
}

/* ---- collectives ---- */

static void end_collective(struct ss_native *k, int instance)
{
    struct ss_instance in = k->st.instances[instance];
    const struct ss_collective *g = &k->p->collectives[in.collective];
    const int *members = k->st.member + k->st.member0[in.collective];
    ss_sm_hold_members(k, g, in.doublings, 0);
    ss_tape_transfer(k->tape, -1, in.collective, in.begin, k->now, g->bytes);
    ss_state_end_instance(&k->st, instance, k->scratch);
    for (int i = 0; i < g->nmembers; i++) {
        struct ss_stream_state *s = &k->st.streams[k->scratch[i]];
        struct ss_native_class *c = &k->classes[members[i]];
        s->last = (struct ss_last){k->now, in.doublings};
        if (c->blocked == SS_EV_WAIT && c->target == k->scratch[i] && ss_state_joined(s))
            end_wait(k, members[i], &s->waited, &s->last, g->label, in.begin);
        ss_state_next(&k->st, k->scratch[i]);
        ss_islands_untie(k, members[i]);
    }
}

/* Starts the flows of the phase; returns how many of them take time. */
static int start_flows(struct ss_native *k, int instance, const struct ss_flow_phase *phase)
{
    int n = 0;
    for (int i = 0; i < phase->nflows; i++) {
        const struct ss_flow *w = &phase->flows[i];
        if (!(w->bytes > 0) || w->path < 0 || k->fluid.paths[w->path].n == 0)
            continue;
        int flow = ss_fluid_new(k, instance);
        if (flow < 0) {
            k->failed = 1;
            break;
        }
        k->fluid.flows[flow].doublings = k->st.instances[instance].doublings;
        n += ss_fluid_start(k, flow, w->path, w->bytes);
    }
    return n;
}

/* From the start of the instance's phase, or from the end of its latency, until something takes time. */
static void advance_collective(struct ss_native *k, int instance, int latency_paid)
{
    struct ss_instance *in = &k->st.instances[instance];
    const struct ss_collective *g = &k->p->collectives[in->collective];
    for (; in->phase < g->nphases; in->phase++, latency_paid = 0) {
        const struct ss_flow_phase *phase = &g->phases[in->phase];
        if (!latency_paid && phase->latency > 0) {
            ss_timers_set(&k->timers, k->inst0 + instance, k->now + phase->latency);
            return;
        }
        in->flows_left = start_flows(k, instance, phase);
        if (in->flows_left > 0)
            return;
    }
    end_collective(k, instance);
}

static void begin_ready(struct ss_native *k)
{
    while (k->st.nready) {
        int i = k->st.ready[--k->st.nready];
        k->st.instances[i].begin = k->now;
        ss_error_collective(k, &k->st.instances[i]);
        ss_sm_hold_members(k, &k->p->collectives[k->st.instances[i].collective], k->st.instances[i].doublings,
                           1);
        advance_collective(k, i, 0);
    }
}

static void flow_due(struct ss_native *k, int flow)
{
    int owner = k->fluid.flows[flow].owner;
    ss_raise(&k->st.instances[owner].doublings, k->fluid.flows[flow].doublings);
    ss_fluid_stop(k, flow);
    if (--k->st.instances[owner].flows_left)
        return;
    k->st.instances[owner].phase++;
    advance_collective(k, owner, 0);
    begin_ready(k);
}

/* ---- classes ---- */

static int next_slot(struct ss_native *k, int cls)
{
    struct ss_native_class *c = &k->classes[cls];
    const struct ss_native_template *t;
    while (++c->slot < c->kind->nslots) {
        t = c->then;
        ss_slots_step(c);
        if (cls == k->anchor && c->slot >= k->anchor_slot)
            k->anchored = 1;
        if (t->first == t->end)
            continue;
        ss_slots_enter(c, t);
        return 1;
    }
    k->left--;
    k->board->makespan = fmax(k->board->makespan, k->now);
    ss_raise(&k->board->doublings, c->doublings);
    return 0;
}

static void block(struct ss_native *k, struct ss_native_class *c, int kind, int target)
{
    c->blocked = kind;
    c->target = target;
    c->since = k->now;
}

/* 1, or 0: a collective is between islands, so the class goes on when all that is before this moment has been run elsewhere. */
static int post(struct ss_native *k, int cls, const struct ss_event *e)
{
    struct ss_native_class *c = &k->classes[cls];
    struct ss_state *st = &k->st;
    int collective = k->maps[c->map0 + e->index];
    if (k->alone) {
        k->alone = 2;
        k->events--;
        block(k, c, SS_EV_POST, -1);
        ss_timers_set(&k->islands.timers, cls, k->now);
        return 0;
    }
    ss_islands_tie(k, cls);
    k->failed |=
        ss_state_post(st, st->stream0[cls] + e->aux, collective, ss_state_member(st, collective, cls));
    begin_ready(k);
    return 1;
}

/* Returns whether the class goes on at once. */
static inline int wait_for(struct ss_native *k, int cls, int kind, int target, int ended, uint32_t *waits,
                           const struct ss_last *last)
{
    if (!ended) {
        block(k, &k->classes[cls], kind, target);
        return 0;
    }
    ++*waits;
    ss_error_waited(k, cls, last);
    return 1;
}

/* Runs one class until something takes time. */
static void run_class(struct ss_native *k, int cls)
{
    struct ss_native_class *c = &k->classes[cls];
    struct ss_state *st = &k->st;
    const int *map = k->maps ? k->maps + c->map0 : NULL;
    while (c->ev < c->end || next_slot(k, cls)) {
        const struct ss_event *e = c->ev;
        k->events++;
        switch (e->kind) {
        case SS_EV_COMPUTE:
            if (e->amount > 0) {
                block(k, c, SS_EV_COMPUTE, -1);
                ss_sm_start(k, cls, ss_program_seconds(k->p, cls, c->slot, (int)(e - c->first), e->amount));
                return;
            }
            break;
        case SS_EV_SEND:
            k->failed |= ss_state_send(&st->channels[map[e->index]], e->amount);
            st->channels[map[e->index]].sent = k->now;
            come_to_channel(k, map[e->index]);
            break;
        case SS_EV_RECV:
            st->channels[map[e->index]].recvs++;
            st->channels[map[e->index]].received = k->now;
            come_to_channel(k, map[e->index]);
            break;
        case SS_EV_WAIT_SEND: {
            struct ss_channel_state *ch = &st->channels[map[e->index]];
            if (!wait_for(k, cls, e->kind, map[e->index], ss_state_sent(ch), &ch->send_waits, &ch->last))
                return;
            break;
        }
        case SS_EV_WAIT_RECV: {
            struct ss_channel_state *ch = &st->channels[map[e->index]];
            if (!wait_for(k, cls, e->kind, map[e->index], ss_state_received(ch), &ch->recv_waits, &ch->last))
                return;
            break;
        }
        case SS_EV_POST:
            if (!post(k, cls, e))
                return;
            break;
        case SS_EV_WAIT: {
            int stream = st->stream0[cls] + e->aux;
            struct ss_stream_state *of = &st->streams[stream];
            if (!wait_for(k, cls, e->kind, stream, ss_state_joined(of), &of->waited, &of->last))
                return;
            break;
        }
        case SS_EV_ALLOC:
        case SS_EV_FREE:
            ss_tape_memory(k->tape, cls, c->slot, (int)(e - c->first), k->now, e->index,
                           e->kind == SS_EV_ALLOC ? e->amount : -e->amount);
            break;
        default: break;
        }
        c->ev++;
    }
}

static void compute_due(struct ss_native *k, int cls)
{
    struct ss_native_class *c = &k->classes[cls];
    if (c->blocked == SS_EV_COMPUTE) {
        ss_tape_compute(k->tape, cls, c->slot, (int)(c->ev - c->first), c->event_s, c->ev->index, c->since,
                        k->now);
        c->ev++;
    }
    c->blocked = -1;
    run_class(k, cls); /* no other one may go on now */
}

static void timer_due(struct ss_native *k, int id)
{
    if (id < k->inst0) {
        compute_due(k, id);
    } else if (id < k->flow0) {
        advance_collective(k, id - k->inst0, 1);
        begin_ready(k);
    } else if (id < k->flow0 + k->p->nchannels) {
        channel_due(k, id - k->flow0);
    } else {
        flow_due(k, id - k->flow0);
    }
}

static void run_runnable(struct ss_native *k)
{
    while (k->nrunnable) {
        while (!k->words[k->lowest])
            k->lowest++;
        int word = 64 * k->lowest + __builtin_ctzll(k->words[k->lowest]);
        int bit = __builtin_ctzll(k->runnable[word]);
        k->runnable[word] &= k->runnable[word] - 1;
        if (!k->runnable[word])
            k->words[k->lowest] &= k->words[k->lowest] - 1;
        k->nrunnable--;
        run_class(k, 64 * word + bit);
    }
    k->lowest = INT_MAX;
}

/* Moments between two calls of who wants to know: some milliseconds, a second where thousands of flows share links. */
#define TELL_EVERY 16384

static void tell_progress(struct ss_native *k)
{
    double done = 0, all = 0;
    k->instants = 0;
    for (int c = 0; c < k->p->nclasses; c++) {
        done += k->classes[c].slot < 0 ? 0 : k->classes[c].slot;
        all += k->p->classes[c].nslots;
    }
    k->options->progress(k->options->ctx, all > 0 ? done / all : 0);
}

static void run_moment(struct ss_native *k)
{
    while (ss_timers_any(&k->timers) && k->timers.heap[0].time <= k->now) {
        k->due = ss_timers_pop(&k->timers);
        timer_due(k, k->due);
        if (k->nrunnable)
            run_runnable(k);
    }
    if (k->nsm_dirty)
        ss_sm_settle(k);
    if (k->fluid.ndirty)
        ss_fluid_settle(k);
    if (k->options->progress && ++k->instants == TELL_EVERY)
        tell_progress(k);
}

static inline void next_moment(struct ss_native *k)
{
    if (k->timers.heap[0].time > k->now)
        k->now = k->timers.heap[0].time;
}

/* Runs each island that nothing outside may touch on its own, until it posts a collective or its classes have
 * ended. Messages that nobody waits for may last longer than all classes, and then do not count. */
static void run_islands(struct ss_native *k)
{
    struct ss_islands *s = &k->islands;
    const double now = k->now;
    const int64_t before = k->events;
    while (s->nfree && !k->failed) {
        int island = s->free[--s->nfree];
        s->all[island].listed = 0;
        if (s->all[island].tied)
            continue;
        int others = k->left - ss_islands_enter(k, island);
        for (k->alone = 1; k->alone == 1 && k->timers.n > 0 && k->left > others && !k->failed;) {
            next_moment(k);
            run_moment(k);
        }
        k->alone = 0;
        k->now = now;
        ss_islands_leave(k);
    }
    k->board->events_apart += k->events - before;
}

static void run(struct ss_native *k)
{
    for (int c = 0; c < k->p->nclasses; c++)
        wake(k, c);
    run_runnable(k);
    for (;;) {
        run_moment(k);
        if (k->islands.nfree)
            run_islands(k);
        if (k->failed || k->tape->failed)
            return;
        if (k->left == 0 && (k->timers.n == 0 || k->timers.heap[0].time > k->board->makespan))
            ss_fluid_close(k);
        if (k->timers.n == 0)
            return;
        if (k->anchored && k->left) {
            k->anchored = 0;
            ss_jump_look(k);
        }
        next_moment(k);
    }
}

static int init(struct ss_native *k)
{
    const struct ss_program *p = k->p;
    size_t nc = (size_t)p->nclasses;
    int members = 1;
    if (ss_state_init(&k->st, p))
        return -1;
    for (int g = 0; g < p->ncollectives; g++)
        if (p->collectives[g].nmembers > members)
            members = p->collectives[g].nmembers;
    k->classes = calloc(nc + 1, sizeof *k->classes);
    k->runnable = calloc(nc / 64 + 1, sizeof *k->runnable);
    k->words = calloc(nc / 4096 + 1, sizeof *k->words);
    k->scratch = calloc((size_t)members, sizeof *k->scratch);
    k->inst0 = p->nclasses;
    k->flow0 = k->inst0 + k->st.nstreams;
    k->left = p->nclasses;
    if (!k->classes || !k->runnable || !k->words || !k->scratch ||
        ss_timers_init(&k->timers, k->flow0 + p->nchannels) || ss_slots_init(k) || ss_sm_init(k) ||
        ss_fluid_init(&k->fluid, p, k->board->link_busy))
        return -1;
    for (int c = 0; c < p->nclasses; c++) {
        k->classes[c].slot = -1;
        ss_slots_look_up(&k->classes[c]);
    }
    return 0;
}

static void release(struct ss_native *k)
{
    ss_state_free(&k->st);
    ss_timers_free(&k->timers);
    ss_fluid_free(&k->fluid);
    ss_slots_free(k);
    free(k->classes);
    free(k->holds);
    free(k->runnable);
    free(k->words);
    ss_islands_free(k);
    free(k->sm_dirty);
    free(k->scratch);
    ss_jump_free(k);
    ss_leaps_free(k->leaps);
    ss_kept_free(k);
}

static void write_board(struct ss_native *k, struct ss_board *board)
{
    board->status = k->failed || k->tape->failed ? SS_ERR_NOMEM : k->left ? SS_ERR_DEADLOCK : 0;
    board->events = board->events_run = k->events;
    board->flows = k->fluid.started;
    for (int c = 0; !k->failed && c < k->p->nclasses; c++) {
        board->at[c].slot = k->classes[c].slot;
        board->at[c].event = (int)(k->classes[c].ev - k->classes[c].first);
    }
    board->finished = 1;
    if (!board->status)
        ss_kept_end(k);
}

void ss_native_run(const struct ss_program *p, struct ss_tape *tape, struct ss_board *board,
                   const struct ss_replay_options *options)
{
    struct ss_native k = {.p = p, .tape = tape, .board = board, .options = options, .anchor = -1};
    k.failed = !tape->wanted && !board->full_replay && !(p->jitter.sigma > 0) && ss_jump_init(&k);
    if (k.failed || !ss_kept_find(&k)) {
        if (!k.failed && init(&k) == 0 && (tape->wanted || k.jump || ss_islands_init(&k) == 0))
            run(&k);
        else
            k.failed = 1;
        write_board(&k, board);
    }
    release(&k);
}
