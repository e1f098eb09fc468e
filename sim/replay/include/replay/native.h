/* SPDX-License-Identifier: Apache-2.0 */
/* The native engine: an event heap, state machines for the classes, exact max-min sharing. */
#pragma once

#include "replay/engine.h"
#include "replay/state.h"

struct ss_timer_entry {
    double time;
    int moment;
};

/* The timers that are due at one time: a list, which pop puts in the order of ids. */
struct ss_moment {
    double time;
    int head, tail, unsorted;
    int at;          /* place in the heap */
    int slot, chain; /* in the table; next one of the same slot, or next free one */
};

struct ss_timer {
    int moment;     /* -1: not set */
    int next, prev; /* of the same moment, or -1 */
};

/* One timer an id: compute of class c = c, latency of instance i = nclasses + i, latency or flow of a
 * channel or of a collective = flow0 + f. Ties in time break by id. */
struct ss_timers {
    int n, ids;                  /* moments, timers */
    int hole;                    /* 1: heap[0] is due and done with; the next new moment takes its place */
    int few;                     /* 1: heap is a list in the order of times, without a hole or a table */
    struct ss_timer_entry *heap; /* [n] four children a node; in `room` */
    struct ss_timer_entry *room; /* a list moves up in it as its moments pass */
    struct ss_moment *moments;
    struct ss_timer *timers; /* [ids] */
    int *table, shift;       /* [2^(64 - shift)] chains of moments by time */
    int free_moment, fresh;  /* from `fresh` on none was used */
};

struct ss_hop {
    int link;
    double weight; /* share of the link that one byte/s of the flow takes, > 0; one hop for each link */
};

struct ss_fluid_path {
    int first, n; /* hops */
    double solo;  /* bytes/s when alone */
};

struct ss_fluid_flow {
    double left, rate, last; /* bytes left at time `last`, since when the rate holds */
    int path;                /* -1: none moves */
    int owner;               /* instance; -1 for a channel's flow (its number is the channel's) */
    int mark, next_free;
    double
        doublings; /* of the error of its end, if all goes on as it does; a channel's: of all its messages */
};

struct ss_fluid_link {
    double bandwidth;
    int head, count; /* flow nodes that cross it now; count < 0: one that is planned will */
    int mark, dirty;
    double since, busy;  /* when it became busy; s that it was busy before */
    double cause;        /* while dirty: most doublings among the flows that began or ended */
    double room, weight; /* while filling */
    int open;
};

/* A node of the list of flows on a link. The node of a flow that is alone on its link is not read, because it
 * is mostly not in the caches. */
struct ss_fluid_node {
    int next, prev;
};

struct ss_fluid {
    int nlinks, nflows, nchannels, free_flow;
    struct ss_hop *hops;
    struct ss_fluid_path *paths;
    struct ss_fluid_link *links;
    struct ss_fluid_flow *flows;  /* channels first */
    int node_shift;               /* a flow has 2^node_shift nodes, one for each hop of the longest path */
    struct ss_fluid_node *nodes;  /* [nflows << node_shift]: flow f on its hop j */
    int *dirty, ndirty;           /* links whose flows must be shared anew */
    int *part_links, *part_flows; /* the connected component at hand */
    size_t cap_part_flows;
    int epoch;
    double *busy;          /* [nlinks] or NULL */
    double cause;          /* of the component at hand */
    double slowed, growth; /* of the last flow that was slowed: its old rate over its new one, doublings */
    double doublings;      /* the most so far */
    int64_t started;       /* flows so far */
};

/* A template whose channels and collectives are numbers in a class's table. */
struct ss_native_template {
    const struct ss_event *first, *end;
    size_t event0; /* where its events are behind event_s0 of a class */
};

/* Data that like classes share, so that it stays in the caches. Unfolded ranks of a stage differ only in
 * channels and collectives. */
struct ss_native_kind {
    int *order; /* [entries of the program's slots]: template */
    struct ss_native_template *templates;
    struct ss_event *events; /* NULL: they are the program's */
    struct ss_program_loop loop;
    int nslots;
};

struct ss_native_class {
    const struct ss_event *first, *ev, *end; /* of the slot's template; ev: the next event */
    double *event_s, *event_s0;              /* ss_tape_events of the slot; of its lowest template */
    const struct ss_native_template *then;   /* of the next slot; known early, read late */
    const struct ss_native_kind *kind;
    int map0; /* its table in maps: channels and collectives by their numbers in events */
    int slot;
    int blocked; /* enum ss_event_kind, or -1 */
    int target;  /* channel or stream waited for */
    double since;
    double doublings;        /* of an error of its time */
    double left, rate, last; /* the COMPUTE under way */
    int hold0, nholds;       /* shares held, ascending */
    int next;                /* of `then` in kind->order */
    char stale, dirty;       /* rate does not know the holds; is in the list of these */
};

/* Classes whose messages, and the links of these, nobody else uses: only collectives, which they post, join them with others. */
struct ss_island {
    /* its first class and channel in the lists of all; those of the next island follow */
    int class0, channel0;
    int tied;   /* posts of its classes that have not ended; while there are any, others may touch it */
    int listed; /* it is in the list `free` */
};

struct ss_islands {
    int n;                 /* 0: all is run in the order of time */
    struct ss_island *all; /* [n + 1] */
    int *of;               /* [nclasses] */
    int *classes, *channels;
    int *free, nfree;        /* those whose last tie was loosened in this moment */
    struct ss_timers timers; /* timers of all other islands, while one island runs on its own */
};

struct ss_native {
    const struct ss_program *p;
    struct ss_tape *tape;
    struct ss_board *board;
    double now;
    struct ss_state st;
    struct ss_timers timers;
    struct ss_fluid fluid;
    struct ss_native_class *classes;
    struct ss_native_kind *kinds;
    int nkinds;
    int *maps; /* of all classes */
    double *holds;
    double held, held_growth; /* a share of SMs, and doublings of an error behind it */
    int flow0, inst0;
    int due;                    /* the timer at hand, of those due now; INT_MAX: all were */
    uint64_t *runnable, *words; /* bits: classes; words of these that are not 0 */
    int nrunnable, lowest;      /* no class below 4096 * lowest can run */
    struct ss_islands islands;
    int alone;  /* 1: an island runs on its own; 2: one of its classes has come to a collective */
    int shared; /* 1: classes may have templates in common */
    int *sm_dirty, nsm_dirty;
    int *scratch;   /* streams of one collective */
    int left;       /* classes not at their end */
    int64_t events; /* run */
    int failed;     /* out of memory */
    const struct ss_replay_options *options;
    int instants;               /* since somebody was told how far it is */
    struct ss_jump *jump;       /* NULL: every slot is run */
    int anchor, anchor_slot;    /* class and slot at which to look for a steady state */
    int anchored;               /* it was reached at this instant */
    struct ss_leap *leaps;      /* jumps so far, in the order of time */
    int others;                 /* 1: with more turns, it might have jumped earlier */
    struct ss_keeping *keeping; /* NULL: this replay is not to be kept */
};

/* ---- native_heap.c ---- */
int ss_timers_init(struct ss_timers *t, int ids);
int ss_timers_grow(struct ss_timers *t, int ids);
void ss_timers_set(struct ss_timers *t, int id, double time);
void ss_timers_close(struct ss_timers *t);
/* Is any set? Its time is heap[0].time, then, until another one is set. */
static inline int ss_timers_any(struct ss_timers *t)
{
    if (t->hole)
        ss_timers_close(t);
    return t->n > 0;
}
/* Takes a timer out before it is due: 1, or 0 where it is not set. Only after ss_timers_any. */
int ss_timers_take(struct ss_timers *t, int id, double *time);
/* Puts the timers of a moment in the order of ids. */
void ss_timers_sort(struct ss_timers *t, struct ss_moment *m);
static inline void ss_timers_free_moment(struct ss_timers *t, int moment)
{
    struct ss_moment *m = &t->moments[moment];
    if (!t->few) {
        int *link = &t->table[m->slot];
        while (*link != moment)
            link = &t->moments[*link].chain;
        *link = m->chain;
    }
    m->chain = t->free_moment;
    t->free_moment = moment;
}
/* The lowest id of the first moment. Only after ss_timers_any. */
static inline int ss_timers_pop(struct ss_timers *t)
{
    int first = t->heap[0].moment;
    struct ss_moment *m = &t->moments[first];
    if (m->unsorted)
        ss_timers_sort(t, m);
    int id = m->head, next = t->timers[id].next;
    t->timers[id].moment = -1;
    m->head = next;
    if (next >= 0) {
        t->timers[next].prev = -1;
    } else {
        ss_timers_free_moment(t, first);
        t->hole = !t->few;
        t->heap += t->few;
        t->n -= t->few;
    }
    return id;
}
void ss_timers_free(struct ss_timers *t);

/* ---- native_flow.c ---- */
int ss_fluid_init(struct ss_fluid *f, const struct ss_program *p, double *busy);
void ss_fluid_free(struct ss_fluid *f);
/* Flow number of a collective's flow, or -1 out of memory. */
int ss_fluid_new(struct ss_native *k, int owner);
/* Starts `bytes` on a path: 1, or 0 when it ends at once. */
int ss_fluid_start(struct ss_native *k, int flow, int path, double bytes);
/* Plans a flow of a channel that begins at `start`, later than now, and seems to be alone on its links: its
 * only timer is that of its end. If another flow comes to its links first, ss_fluid_start is called at
 * `start` after all. Returns 0, and does nothing, where links are in use or planned for, or the flow ends at
 * once. */
int ss_fluid_plan(struct ss_native *k, int flow, int path, double bytes, double start);
/* Flows that were planned are under way or have a timer for their beginning. Not while timers are due. */
void ss_fluid_forget_plans(struct ss_native *k);
void ss_fluid_stop(struct ss_native *k, int flow);
/* Shares the links touched at this instant anew and sets the timers of the flows that changed. */
void ss_fluid_settle(struct ss_native *k);
/* Counts no link time beyond now. */
void ss_fluid_close(struct ss_native *k);

/* ---- native_slots.c: where slots and events are, laid out for the caches ---- */
/* 0, or -1 out of memory; call ss_slots_free in both cases. */
int ss_slots_init(struct ss_native *k);
void ss_slots_free(struct ss_native *k);
static inline void ss_slots_find(struct ss_native_class *c)
{
    c->then = c->slot + 1 < c->kind->nslots ? c->kind->templates + c->kind->order[c->next] : NULL;
}
/* Finds the template of the slot behind the one at which a class is. */
static inline void ss_slots_look_up(struct ss_native_class *c)
{
    const struct ss_program_loop *l = &c->kind->loop;
    c->next = c->slot + 1;
    if (l->more > 0 && c->next >= l->first + l->length) {
        int turn = (c->next - l->first) / l->length;
        c->next -= (turn < l->more ? turn : l->more) * l->length;
    }
    ss_slots_find(c);
}
/* Steps to the next slot of a class without a division. */
static inline void ss_slots_step(struct ss_native_class *c)
{
    const struct ss_program_loop *l = &c->kind->loop;
    c->next++;
    if (l->more > 0 && c->next == l->first + l->length && c->slot + 1 < l->first + l->length * (l->more + 1))
        c->next = l->first;
    ss_slots_find(c);
}
/* Begins with the events of a template. */
static inline void ss_slots_enter(struct ss_native_class *c, const struct ss_native_template *t)
{
    c->first = c->ev = t->first;
    c->end = t->end;
    c->event_s = c->event_s0 ? c->event_s0 + t->event0 : NULL;
}

/* ---- native_islands.c: what need not be run in the order of time ---- */
/* Finds the islands, where there are several and collectives are rare. 0, or -1 out of memory; call ss_islands_free in both
 * cases. */
int ss_islands_init(struct ss_native *k);
void ss_islands_free(struct ss_native *k);
/* Makes the island's timers those of the engine; all others wait. Returns the number of its classes that are
 * not at their end. */
int ss_islands_enter(struct ss_native *k, int island);
/* Joins its timers, all later than now, with the others again. */
void ss_islands_leave(struct ss_native *k);
static inline void ss_islands_tie(struct ss_native *k, int cls)
{
    if (k->islands.n)
        k->islands.all[k->islands.of[cls]].tied++;
}
static inline void ss_islands_untie(struct ss_native *k, int cls)
{
    struct ss_islands *s = &k->islands;
    struct ss_island *i = s->n ? &s->all[s->of[cls]] : NULL;
    if (!i || --i->tied || i->listed)
        return;
    i->listed = 1;
    s->free[s->nfree++] = s->of[cls];
}

/* ---- native_jump.c: a steady state is jumped over ---- */
int ss_jump_init(struct ss_native *k);
/* At the end of an instant in which the anchor came to its next period: jumps where the state has repeated. */
void ss_jump_look(struct ss_native *k);
void ss_jump_free(struct ss_native *k);
/* Slots of the anchor between two looks. */
int ss_jump_period(const struct ss_native *k);

/* ---- native_leap.c: what jumps leave out ---- */
/* A jump: how many periods are left out, and what one of them adds. The engine's clock and its accounts do not know of them. */
struct ss_leap {
    struct ss_leap *next;
    int64_t times;
    double now, seconds; /* of the engine's clock when it jumped; of a period */
    int64_t events, flows;
    double (*label)[SS_LABEL_COUNT]; /* [nclasses]; NULL, as what follows: no accounts */
    double *event_s, *link_busy;
    int *slot, *shift; /* [nclasses]: where a class was, slots of a period */
};
/* NULL: out of memory. */
struct ss_leap *ss_leap_new(const struct ss_program *p, int accounts);
size_t ss_leap_size(const struct ss_program *p, int accounts);
/* Frees a list of jumps. */
void ss_leaps_free(struct ss_leap *leaps);
/* Adds what was left out to the board of a replay that has ended. `times`: periods of the first jump. */
void ss_leaps_add(const struct ss_program *p, struct ss_board *board, const struct ss_leap *leaps,
                  int64_t times);

/* ---- native_period.c ---- */
/* Smallest period of slots [from, from + n) of a class; 0 out of memory. */
int ss_slots_period(const struct ss_program_class *c, int from, int n);
/* Returns the slot of the first look at the anchor, or -1 where too few slots repeat for a jump. `from`: a slot from which the period
 * holds. */
int ss_slots_first_look(const struct ss_program_class *c, int from, int period);
/* Returns how many periods more every class's slots repeat, from where they are, with so many slots a period. */
int64_t ss_jump_left(const struct ss_program *p, const int *slot, const int *shift);

/* ---- native_kept.c: replays, kept for programs that differ in the number of turns alone ---- */
/* Asks the cache, behind ss_jump_init: 1 where the replay was kept, and the board is filled. */
int ss_kept_find(struct ss_native *k);
/* Adds what the jumps of a replay that has ended left out, and keeps the replay where the cache has asked for that. */
void ss_kept_end(struct ss_native *k);
void ss_kept_free(struct ss_native *k);

/* ---- native_sm.c ---- */
int ss_sm_init(struct ss_native *k);
/* Hold the SMs of both ends of a message, or of all members of a collective, or release them (on 0); doublings: of an
 * error of now. */
void ss_sm_hold_ends(struct ss_native *k, const struct ss_channel *ch, double doublings, int on);
void ss_sm_hold_members(struct ss_native *k, const struct ss_collective *g, double doublings, int on);
void ss_sm_start(struct ss_native *k, int cls, double seconds);
void ss_sm_settle(struct ss_native *k);
