/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What both engines share with the caller: a board for the outcome (in shared memory where the engine runs in
 * another process) and a tape for observed events.
 */
#pragma once

#include <stdlib.h>

#include "stepsim/replay.h"

/* ---- time by label and memory of one class, gathered on the fly ---- */

/* The fields that every event changes come first: the accounts of many ranks do not stay in the caches. */
struct ss_account {
    double end;                      /* s: when the main thread was last seen busy */
    double now[SS_MEM_COUNT], total; /* dynamic bytes */
    double peak_total;
    struct {
        double sum, rest;
    } label[SS_LABEL_COUNT]; /* s, Neumaier's compensated sums */
    double peak[SS_MEM_COUNT], peak_time;
    int peak_slot;
};

/* The labels of a mix that are not 0; the last one takes what the others leave, so that nothing is lost. */
struct ss_blend {
    int n;
    int label[SS_LABEL_COUNT];
    double fraction[SS_LABEL_COUNT];
};

/* ---- outcome ---- */

struct ss_board {
    size_t mapped;             /* bytes of shared memory, 0: from the heap */
    int fd;                    /* of the shared memory */
    int full_replay;           /* native: no steady state is jumped over */
    _Atomic int64_t slots_run; /* SimGrid: so far, of all classes; read while the child runs */
    int finished;              /* 1: the rest is valid */
    int status;                /* 0, SS_ERR_DEADLOCK (then `at` says where) or an error with its texts */
    char message[512], hint[512];
    double makespan;
    double doublings; /* struct ss_timeline */
    int64_t events;
    int64_t flows;               /* flows that moved over links */
    int64_t events_run;          /* native: without those of a steady state that was jumped over */
    int64_t events_apart;        /* native: those of events_run that were not run in the order of time */
    struct ss_cursor *at;        /* [nclasses]: the blocked event; slot = nslots at the end */
    struct ss_account *accounts; /* [nclasses] or NULL: not wanted */
    struct ss_blend *blends;     /* [nmixes], with accounts */
    double *link_busy;           /* [nlinks] or NULL: not wanted */
    double *event_s;  /* [events of all templates], with accounts: s that each took, all slots together */
    int *first_event; /* [ntemplates], with accounts: where a template's events begin there */
};

/* ---- tape ---- */

enum ss_record_kind { SS_RECORD_TRANSFER, SS_RECORD_SPAN, SS_RECORD_MEMORY };

/* transfer: slot = channel, event = collective, cls = -1. memory: mem in `extra`, bytes in `value`. */
struct ss_record {
    double time, start, value; /* value: busy_from of a span, bytes of the others */
    int kind, cls, slot, event, extra;
    int order; /* as it came, within one instant */
};

struct ss_tape {
    const struct ss_program *program;
    struct ss_board *board;
    struct ss_account *accounts; /* the board's */
    int wanted;                  /* records are kept */
    int failed;                  /* out of memory, or nobody reads any more */
    double now;                  /* the instant of the records kept */
    size_t n, cap;
    struct ss_record *records;
    /* delivery: to observers or, in a child, into a pipe */
    const struct ss_observer *observers;
    int nobservers, fd;
    char *out;
    size_t nout;
};

void ss_tape_init(struct ss_tape *tape, const struct ss_program *p, struct ss_board *board,
                  const struct ss_observer *observers, int nobservers);
/* Sorts the records of the instant and delivers them. */
void ss_tape_flush(struct ss_tape *tape);
/* Delivers the remaining events. */
void ss_tape_end(struct ss_tape *tape);
void ss_tape_free(struct ss_tape *tape);
/* Calls the observers with one record. */
void ss_tape_observe(const struct ss_observer *observers, int nobservers, const struct ss_record *r);

static inline void ss_account_add(struct ss_account *a, int label, double seconds)
{
    double s = a->label[label].sum, t = s + seconds;
    a->label[label].rest += s >= seconds ? (s - t) + seconds : (seconds - t) + s;
    a->label[label].sum = t;
}

static inline void ss_account_compute(struct ss_account *a, const struct ss_blend *b, double start,
                                      double end)
{
    double left = end - start;
    for (int i = 0; i < b->n - 1; i++) {
        double part = b->fraction[i] * (end - start);
        ss_account_add(a, b->label[i], part);
        left -= part;
    }
    ss_account_add(a, b->label[b->n - 1], left);
    a->end = end;
}

static inline void ss_account_wait(struct ss_account *a, int label, double start, double busy_from,
                                   double end)
{
    if (busy_from > start)
        ss_account_add(a, SS_LABEL_BUBBLE, busy_from - start);
    ss_account_add(a, label, end - busy_from);
    a->end = end;
}

static inline void ss_account_memory(struct ss_account *a, int slot, int mem, double time, double bytes)
{
    a->now[mem] += bytes;
    a->total += bytes;
    if (a->total > a->peak_total) {
        a->peak_total = a->total;
        a->peak_time = time;
        a->peak_slot = slot;
        for (int i = 0; i < SS_MEM_COUNT; i++)
            a->peak[i] = a->now[i];
    }
}

static inline void ss_tape_keep(struct ss_tape *t, struct ss_record r)
{
    if (r.time != t->now)
        ss_tape_flush(t);
    if (t->n == t->cap) {
        size_t cap = t->cap ? 2 * t->cap : 64;
        struct ss_record *grown = realloc(t->records, cap * sizeof *grown);
        if (!grown) {
            t->failed = 1;
            return;
        }
        t->records = grown;
        t->cap = cap;
    }
    t->now = r.time;
    r.order = (int)t->n;
    t->records[t->n++] = r;
}

/* Where the times of the events of a slot's template are; NULL where they are not wanted. */
static inline double *ss_tape_events(const struct ss_tape *t, int template_index)
{
    return t->accounts ? t->board->event_s + t->board->first_event[template_index] : NULL;
}

/* A wait that took time; label: of what was waited for. `events`: ss_tape_events of the slot. */
static inline void ss_tape_wait(struct ss_tape *t, int cls, int slot, int event, double *events, int label,
                                double start, double busy_from, double end)
{
    if (!(end > start))
        return;
    busy_from = busy_from < start ? start : busy_from > end ? end : busy_from;
    if (t->accounts) {
        ss_account_wait(&t->accounts[cls], label, start, busy_from, end);
        events[event] += end - start;
    }
    if (t->wanted)
        ss_tape_keep(t, (struct ss_record){end, start, busy_from, SS_RECORD_SPAN, cls, slot, event, 0, 0});
}

static inline void ss_tape_compute(struct ss_tape *t, int cls, int slot, int event, double *events, int mix,
                                   double start, double end)
{
    if (!(end > start))
        return;
    if (t->accounts) {
        ss_account_compute(&t->accounts[cls], &t->board->blends[mix], start, end);
        events[event] += end - start;
    }
    if (t->wanted)
        ss_tape_keep(t, (struct ss_record){end, start, start, SS_RECORD_SPAN, cls, slot, event, 0, 0});
}

static inline void ss_tape_memory(struct ss_tape *t, int cls, int slot, int event, double time, int mem,
                                  double bytes)
{
    if (t->accounts)
        ss_account_memory(&t->accounts[cls], slot, mem, time, bytes);
    if (t->wanted)
        ss_tape_keep(t, (struct ss_record){time, time, bytes, SS_RECORD_MEMORY, cls, slot, event, mem, 0});
}

static inline void ss_tape_transfer(struct ss_tape *t, int channel, int collective, double start, double end,
                                    double bytes)
{
    if (t->wanted)
        ss_tape_keep(
            t, (struct ss_record){end, start, bytes, SS_RECORD_TRANSFER, -1, channel, collective, 0, 0});
}

/* ---- what SimGrid is asked for, in the helper's children only (replay/helper.h) ---- */

struct ss_simgrid_call {
    int task;                         /* enum ss_helper_task */
    const struct ss_program *program; /* replay */
    struct ss_tape *tape;
    const char *file; /* routes, probe */
    int npairs;
    const char *const (*hosts)[2];
    int fd; /* routes are written here: one NUL-terminated text a pair */
    struct ss_board *board;
};

/* ---- inside the library ---- */

void ss_native_run(const struct ss_program *p, struct ss_tape *tape, struct ss_board *board,
                   const struct ss_replay_options *options);
/* board.c: `shared`: with the helper; `accounts`: with room for times by label, links and events. NULL: out of memory. */
struct ss_board *ss_board_new(const struct ss_program *p, int shared, int accounts);
/* A board of `size` bytes that may be shared; NULL: out of memory. */
struct ss_board *ss_board_share(size_t size);
/* Sets what points into the board, whose block is mapped elsewhere in each process; returns the bytes of the block. b may be NULL. */
size_t ss_board_place(struct ss_board *b, const struct ss_program *p, int accounts);
void ss_board_free(struct ss_board *board);
/* child.c: has the helper replay and reads the records back. */
int ss_child_replay(const struct ss_program *p, struct ss_tape *tape, struct ss_board *board,
                    const struct ss_replay_options *options, struct ss_error *err);
/* pack.c: the program as one block of shared memory, in which pointers are offsets. A file, -1: out of memory. */
int ss_program_pack(const struct ss_program *p, size_t *size);
/* Makes pointers of the offsets of a block that was mapped. */
struct ss_program *ss_program_unpack(char *block, size_t size);
/* One replay with everything: observers and, where asked for, accounts. */
int ss_replay_board(const struct ss_program *p, const struct ss_replay_options *options,
                    const struct ss_observer *observers, int nobservers, int accounts, struct ss_board **out,
                    struct ss_error *err);
/* Events of all templates together. */
size_t ss_template_events(const struct ss_program *p);
/* Structure that a replay relies on: indices in range, amounts finite. Cheaper than ss_program_check. */
int ss_replay_precheck(const struct ss_program *p, struct ss_error *err);
/* SS_ERR_DEADLOCK with the blocked events named, from where every class stands. */
int ss_deadlock_fail(const struct ss_program *p, const struct ss_cursor *at, struct ss_error *err);
