/* SPDX-License-Identifier: Apache-2.0 */
/* The native engine: an event heap, state machines for the classes, exact max-min sharing. */
#ifndef SS_REPLAY_NATIVE_H
#define SS_REPLAY_NATIVE_H

#include "replay/engine.h"
#include "replay/state.h"

struct ss_timer_entry {
    double time;
    int id;
};

/* One timer an id: compute of class c = c, latency of instance i = nclasses + i, latency or flow of a
 * channel or of a collective = flow0 + f. Ties in time break by id. */
struct ss_timers {
    int n, ids;
    struct ss_timer_entry *heap; /* four children a node */
    int *at;                     /* [ids]: place in the heap, -1 = not set */
};

struct ss_hop {
    int link;
    double weight; /* share of the link that one byte/s of the flow takes; > 0, one hop a link */
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
};

struct ss_fluid_link {
    double bandwidth;
    int head, count; /* flow nodes that cross it now */
    int mark, dirty;
    double since;        /* when it became busy */
    double room, weight; /* while filling */
    int open;
};

struct ss_fluid {
    int nlinks, nflows, nchannels, free_flow;
    struct ss_hop *hops;
    struct ss_fluid_path *paths;
    struct ss_fluid_link *links;
    struct ss_fluid_flow *flows;  /* channels first */
    int *node_next, *node_prev;   /* [nflows * SS_ROUTE_MAX]: flow f on its hop j */
    int *dirty, ndirty;           /* links whose flows must be shared anew */
    int *part_links, *part_flows; /* the connected component at hand */
    size_t cap_part_flows;
    int epoch;
    double *busy;     /* [nlinks] or NULL */
    double slowed;    /* of the component at hand: old over new rate of the flow that lost most, >= 1 */
    double doublings; /* struct ss_timeline */
    int64_t started;  /* flows so far */
};

struct ss_native_class {
    const struct ss_event *first, *ev, *end; /* of the slot's template; ev: the next event */
    int slot, nslots;
    int blocked; /* enum ss_event_kind, or -1 */
    int target;  /* channel or stream waited for */
    double since;
    double left, rate, last; /* the COMPUTE under way */
    int hold0, nholds;       /* shares held, ascending */
    int stale, dirty;        /* rate does not know the holds; is in the list of these */
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
    double *holds;
    int flow0, inst0;
    uint64_t *runnable; /* bits */
    int lowest;         /* no runnable class below 64 * lowest */
    int *sm_dirty, nsm_dirty;
    int *scratch;            /* streams of one collective */
    int left;                /* classes not at their end */
    int64_t events, skipped; /* skipped: of events, those jumped over */
    int failed;              /* out of memory */
    struct ss_jump *jump;    /* NULL: every slot is run */
    int anchor, anchor_slot; /* class and slot at which to look for a steady state */
    int anchored;            /* it was reached at this instant */
};

/* ---- native_heap.c ---- */
int ss_timers_init(struct ss_timers *t, int ids);
int ss_timers_grow(struct ss_timers *t, int ids);
void ss_timers_set(struct ss_timers *t, int id, double time);
int ss_timers_pop(struct ss_timers *t);
void ss_timers_free(struct ss_timers *t);

/* ---- native_flow.c ---- */
int ss_fluid_init(struct ss_fluid *f, const struct ss_program *p, double *busy);
void ss_fluid_free(struct ss_fluid *f);
/* Flow number of a collective's flow, or -1 out of memory. */
int ss_fluid_new(struct ss_native *k, int owner);
/* Starts `bytes` on a path: 1, or 0 when it ends at once. */
int ss_fluid_start(struct ss_native *k, int flow, int path, double bytes);
void ss_fluid_stop(struct ss_native *k, int flow);
/* Shares the links touched at this instant anew and sets the timers of the flows that changed. */
void ss_fluid_settle(struct ss_native *k);
/* Counts no link time beyond now. */
void ss_fluid_close(struct ss_native *k);

/* ---- native_jump.c: a steady state is jumped over ---- */
int ss_jump_init(struct ss_native *k);
void ss_jump_look(struct ss_native *k);
void ss_jump_free(struct ss_native *k);

/* ---- native_sm.c ---- */
int ss_sm_init(struct ss_native *k);
void ss_sm_hold(struct ss_native *k, int cls, double share);
void ss_sm_release(struct ss_native *k, int cls, double share);
void ss_sm_start(struct ss_native *k, int cls, double seconds);
void ss_sm_settle(struct ss_native *k);

#endif
