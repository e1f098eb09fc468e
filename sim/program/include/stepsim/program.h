/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of one steady iteration, from global barrier to global barrier: for each class of equal
 * ranks a list of slots, each slot a shared template of events. It says nothing of models.
 *
 * Semantics (one contract for every engine, docs/design/design.md "replay contract"):
 * A class has one main thread that runs its events in order, and two kinds of background queues.
 *   COMPUTE   runs on the class's SM resource (capacity 1, max-min shared with the holds of
 *             collectives and sends in progress) until `seconds` of full capacity are done.
 *   SEND, RECV post to a channel (from class -> to class, tag) and go on at once. The k-th send
 *             meets the k-th receive. A channel moves one message at a time, in order. The transfer
 *             begins when the message before it has ended and the send is posted and, if the channel is
 *             `rendezvous`, the receive too; it pays the channel's latency, then its flow of `bytes`.
 *   WAIT_SEND, WAIT_RECV  wait for the end of the oldest own post on the channel not yet waited for.
 *   POST      appends a collective to the class's stream `stream` (in order, one at a time). It
 *             begins when it is at the head of the stream of every member; then phase by phase:
 *             latency, then its flows together. While flows run (latency included) each member's SM
 *             resource carries a hold that asks for at most sm_share.
 *   WAIT      waits for the end of the oldest post on `stream` not yet waited for.
 *   ALLOC, FREE  device memory by class, no time.
 * Flows share links max-min, with weights; a flow of 0 bytes or without links ends at once.
 * Events that happen at one instant are handled in the order (class, event index).
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "stepsim/cache.h"
#include "stepsim/network.h"

SS_C_BEGIN

#define SS_EVENT_LIST(X)                                                                                     \
    X(SS_EV_COMPUTE, "compute")                                                                              \
    X(SS_EV_SEND, "send")                                                                                    \
    X(SS_EV_RECV, "recv")                                                                                    \
    X(SS_EV_WAIT_SEND, "wait-send")                                                                          \
    X(SS_EV_WAIT_RECV, "wait-recv")                                                                          \
    X(SS_EV_POST, "post")                                                                                    \
    X(SS_EV_WAIT, "wait")                                                                                    \
    X(SS_EV_ALLOC, "alloc")                                                                                  \
    X(SS_EV_FREE, "free")
enum ss_event_kind {
#define X(sym, name) sym,
    SS_EVENT_LIST(X)
#undef X
        SS_EVENT_COUNT
};
/* Returns the word of an event in program texts (enum ss_event_kind): "wait-send". */
const char *ss_event_name(int kind);

/* COMPUTE: seconds, index = mix. SEND, RECV, WAIT_SEND, WAIT_RECV: index = channel (SEND: bytes).
 * POST: index = collective, aux = stream. WAIT: aux = stream. ALLOC, FREE: index = enum ss_mem, bytes. */
struct ss_event {
    int kind, index, aux;
    double amount; /* seconds or bytes */
};

/* How the seconds of a COMPUTE event divide over labels: fractions that sum to 1. */
struct ss_mix {
    double fraction[SS_LABEL_COUNT];
};

struct ss_template {
    char name[40]; /* "F chunk 1", unique, no spaces in the text form */
    int nevents;
    struct ss_event *events;
};

/* One slot of a class: its template, and what the slot stands for in reports and pictures. */
struct ss_program_slot {
    int template_index;
    int phase;             /* enum ss_phase, or -1 outside the schedule (optimizer, ...) */
    int chunk, microbatch; /* -1 where phase is -1 */
};

struct ss_channel {
    int from, to; /* classes */
    int tag;
    int rendezvous;
    int path;
    double latency, sm_share;
};

/* Jitter: every COMPUTE takes a random factor, log-normal with mean 1 and standard deviation `sigma` of the
 * logarithm, drawn by (seed, replica, rank, slot, event). */
struct ss_jitter {
    double sigma; /* 0: none */
    uint64_t seed;
    int replica;
};
/* Returns the factor of one COMPUTE, > 0; the same arguments give the same factor. */
double ss_jitter_factor(const struct ss_jitter *j, int rank, int slot, int event);

/* Slots that run several times: slots[first .. first + length - 1] of a class run `more` times more, each
 * time with microbatches higher by `step`. All 0: no loop. */
struct ss_program_loop {
    int first, length, more, step;
};

struct ss_program_class {
    char name[40];               /* "stage0" */
    int stage;                   /* pipeline rank, for reports */
    int count;                   /* number of ranks that it stands for */
    int first_rank;              /* lowest of these ranks */
    int draws;                   /* rank whose draws its jitter takes; for ranks in lockstep the lowest */
    int nstreams;                /* collective streams */
    double memory[SS_MEM_COUNT]; /* static bytes */
    int nslots;                  /* number of slots that run, a loop's as often as they run */
    /* [nslots - loop.length * loop.more]; ss_program_slot_at finds the n-th slot that runs */
    struct ss_program_slot *slots;
    struct ss_program_loop loop;
};

struct ss_program {
    char name[64];
    int nlinks, npaths, nmixes, ntemplates, nchannels, ncollectives, nclasses;
    struct ss_link *links;
    struct ss_path *paths;
    struct ss_mix *mixes;
    struct ss_template *templates;
    struct ss_channel *channels;
    struct ss_collective *collectives;
    struct ss_program_class *classes;
    struct ss_jitter jitter;
    double memory_overhead_factor;    /* reserved bytes over the peak of allocated dynamic bytes, >= 1 */
    struct ss_program_source *source; /* lines of the text that it was read from; NULL when it was built */
    /* [nevents]: events of the templates that point into it; other templates have their own */
    struct ss_event *events;
    size_t nevents;
    struct ss_arena_block
        *parts; /* of collectives that were copied; those of other programs have their own */
};

struct ss_plan;
/* Lowers a plan to a program at the plan's level. The program does not need the plan afterwards; the caller frees *out with
 * ss_program_free. Error: SS_ERR_NOMEM. */
int ss_program_build(const struct ss_plan *plan, struct ss_program **out, struct ss_error *err);
/* Lowers a plan to the same program as ss_program_build does, with a cache, which may be NULL. Owner and
 * error are the same. */
int ss_program_build_kept(const struct ss_plan *plan, struct ss_cache *cache, struct ss_program **out,
                          struct ss_error *err);
/* Frees a program. NULL is allowed. */
void ss_program_free(struct ss_program *p);
/* Checks a program that was read, or that a caller made, before it is replayed. Indices must be in range,
 * amounts finite and >= 0, no more memory freed than allocated, waits must have posts and sends receives;
 * otherwise SS_ERR_INPUT. The order must be able to run, whatever the times are; otherwise SS_ERR_DEADLOCK
 * names two blocked events. Errors name file and line of a program that was read. */
int ss_program_check(const struct ss_program *p, struct ss_error *err);
/* Writes a program as text (docs/reference/formats-program.md): templates and slots, or, where `expanded` is 1, every event of
 * every class. Error: SS_ERR_IO. */
int ss_program_write(const struct ss_program *p, int expanded, FILE *out, struct ss_error *err);
/* Reads a program text of either form; `path` "-" is stdin. ss_program_check comes next. The caller frees *out with
 * ss_program_free. Errors: SS_ERR_IO, SS_ERR_INPUT with the line. */
int ss_program_read(const char *path, struct ss_program **out, struct ss_error *err);
/* Reads a program text from `len` bytes of memory, as ss_program_read; messages call it `name`. */
int ss_program_parse(const char *text, unsigned long len, const char *name, struct ss_program **out,
                     struct ss_error *err);
/* Makes a program without loops that shares all but the slots with p. The caller frees *out with
 * ss_program_unroll_free, before p. Error: SS_ERR_NOMEM. */
int ss_program_unroll(const struct ss_program *p, struct ss_program *out, struct ss_error *err);
/* Frees what ss_program_unroll made. */
void ss_program_unroll_free(struct ss_program *out);
/* A part: one program among several on one network. */
struct ss_program_part {
    const struct ss_program *program;
    int times;    /* iterations in a row */
    double delay; /* s until its first iteration begins */
    /* prefix of the names of its classes and templates, without blanks, different for each part */
    const char *prefix;
};
/* Makes one program of several, which share the links of equal names; its classes are those of the parts in
 * order. Jitter and memory are left out. The caller frees *out with ss_program_free; the parts may be freed
 * earlier. Errors: SS_ERR_CONFIG (a link has different widths), SS_ERR_NOMEM. */
int ss_programs_join(const struct ss_program_part *parts, int n, struct ss_program **out,
                     struct ss_error *err);
/* Returns the number of events of one iteration over all classes. */
int64_t ss_program_event_count(const struct ss_program *p);

/* Returns how often the loop has begun anew before slot i among all that run, 0 <= result <= loop.more. */
static inline int ss_program_turn(const struct ss_program_class *c, int i)
{
    if (c->loop.more == 0 || i < c->loop.first + c->loop.length)
        return 0;
    int turn = (i - c->loop.first) / c->loop.length;
    return turn < c->loop.more ? turn : c->loop.more;
}
/* Returns slot i among all that run, 0 <= i < nslots. */
static inline struct ss_program_slot ss_program_slot_at(const struct ss_program_class *c, int i)
{
    int turn = ss_program_turn(c, i);
    struct ss_program_slot slot = c->slots[i - turn * c->loop.length];
    if (slot.microbatch >= 0)
        slot.microbatch += turn * c->loop.step;
    return slot;
}
/* Returns the template of slot i among all that run. */
static inline int ss_program_template_at(const struct ss_program_class *c, int i)
{
    return c->slots[i - ss_program_turn(c, i) * c->loop.length].template_index;
}
/* Returns how many entries `slots` of a class has. */
static inline int ss_program_stored(const struct ss_program_class *c)
{
    return c->nslots - c->loop.length * c->loop.more;
}
/* Returns how often entry i of `slots` runs. */
static inline int ss_program_times(const struct ss_program_class *c, int i)
{
    return i >= c->loop.first && i < c->loop.first + c->loop.length ? c->loop.more + 1 : 1;
}
/* Returns the duration of a COMPUTE event of class c at full capacity, in s: its amount, multiplied by its
 * factor under jitter. */
static inline double ss_program_seconds(const struct ss_program *p, int c, int slot, int event, double amount)
{
    return p->jitter.sigma > 0 ? amount * ss_jitter_factor(&p->jitter, p->classes[c].draws, slot, event)
                               : amount;
}

/* An iterator over a class's events that unfolds nothing. */
struct ss_cursor {
    int slot, event;
};
/* Returns the next event of class c, or NULL at the end. *cur begins as {0, 0}; after the call it points to
 * the event behind the returned one ({nslots, 0} at the end). No template of the program may be empty. */
const struct ss_event *ss_program_next(const struct ss_program *p, int c, struct ss_cursor *cur);

SS_C_END
