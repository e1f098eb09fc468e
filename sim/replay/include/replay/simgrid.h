/* SPDX-License-Identifier: Apache-2.0 */
/* The SimGrid engine, in a program of its own (replay/helper.h). */
#pragma once

#include <stdarg.h>

#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/exec.h>
#include <simgrid/host.h>
#include <simgrid/link.h>
#include <simgrid/semaphore.h>

#include "replay/engine.h"
#include "replay/state.h"

/* A path as SimGrid sees it: a pair of hosts with that one-way route between them. */
struct ss_sg_pair {
    sg_host_t from, to; /* NULL: no links, takes no time */
};

enum ss_sg_job { SS_SG_CHANNEL, SS_SG_COLLECTIVE, SS_SG_FLOW, SS_SG_OWN };

struct ss_sg;
/* An actor that runs one background transfer at a time. */
struct ss_sg_worker {
    struct ss_sg *sg;
    sg_sem_t sem;
    int job, index;                      /* channel, instance; a flow: path; an own collective: class */
    int stream;                          /* of an own collective */
    void (*run)(struct ss_sg_worker *w); /* SS_SG_OWN */
    double bytes;                        /* of a flow */
    struct ss_sg_worker *parent;         /* of a flow: the collective's worker */
    int flows_left, waits;               /* of a collective: flows of the phase; blocked until they end */
    int quit;
    sg_exec_t *holds;
    size_t cap_holds;
    struct ss_sg_worker *next; /* idle ones */
};

struct ss_sg_class {
    struct ss_sg *sg;
    int index;
    sg_host_t host;
    sg_sem_t sem;
    struct ss_cursor at;
    int blocked, target; /* as in the native engine */
    double since;
    int held;   /* > 0: its SM resource may be held, by as many transfers that it has posted */
    double now; /* s: its own time, which may be ahead of SimGrid's clock */
    struct ss_sg_worker as_worker; /* of collectives that its own actor runs */
    int lazy;   /* stream whose last collective has flows and is left to the wait for it; -1: none */
    int beside; /* its collectives that are posted, or begun by a worker, and have not ended */
};

/* A collective on a stream on which a class runs ahead of the clock. One with flows begins in SimGrid when the class waits
 * for it, in the class's own actor, or before that, with a worker, where the class meets others or posts another one. */
enum ss_sg_own_state { SS_SG_LAZY, SS_SG_STARTED, SS_SG_ENDED };
struct ss_sg_own {
    double begin, end;
    int collective, state;
};
struct ss_sg_queue {
    int own;
    uint32_t posted, waited, ended, mask;
    double free_at;         /* s: end of the last one that has ended */
    struct ss_sg_own *ring; /* [waited, posted): own activities that have not ended */
};

struct ss_sg {
    const struct ss_program *p;
    struct ss_tape *tape;
    struct ss_board *board;
    struct ss_state st;
    struct ss_sg_class *classes;
    struct ss_sg_queue *queues; /* [streams] */
    struct ss_sg_pair *pairs;
    /* SimGrid's bytes are whole: flows and bandwidths times a power of 2 that keeps the fractions */
    double scale;
    char *instant;  /* [ncollectives]: takes no time */
    char *flows_of; /* [ncollectives]: has flows that take time */
    /* [ncollectives]: on links that nothing uses but collectives of its class, which is all its members */
    char *alone;
    int *link_flows;
    double *link_since;
    double *busy; /* NULL once the last class has ended, or when not wanted */
    struct ss_sg_worker *idle;
    int left, active; /* classes not at their end, transfers under way */
    int64_t events, flows;
};

/* ss_tape_events of the slot at which a class is. */
static inline double *ss_sg_events(const struct ss_sg_class *c)
{
    return ss_tape_events(c->sg->tape, ss_program_template_at(&c->sg->p->classes[c->index], c->at.slot));
}

/* ---- simgrid_platform.c ---- */
/* Loads the reduced platform and finds hosts and pairs. 0, or a status with the board's texts. */
int ss_sg_platform(struct ss_sg *sg);
/* longest: s, of a single activity. SimGrid ends activities together whose ends are nearer than its
 * precision, and contention amplifies such errors, so the precision is as small as rounding allows: a few
 * ulps of the longest step. The clock moves by now += end - now, which is exact except for steps that more
 * than double it. */
void ss_sg_init_engine(int quiet_deadlock, int guards, double longest);
/* ---- simgrid_memory.c ---- */
/* Stacks of actors, which use about 16 KiB of them. A guard behind a stack makes it two mappings, of which a
 * process may have 65,530; without guards SimGrid writes the whole stack. */
#define SS_SG_STACK_KIB 128
#define SS_SG_OPEN_STACK_KIB 64
/* Whether there are mappings for so many stacks with guards. */
int ss_sg_guards(size_t actors);
/* Checks that there is memory for all stacks. Returns 0, or SS_ERR_UNSUPPORTED with the board's texts. */
int ss_sg_check_memory(const struct ss_sg *sg, int guards);
/* ---- the end ---- */
/* Out of memory in the middle: ends the child, the caller gets the error. */
void ss_sg_give_up(struct ss_sg *sg) __attribute__((noreturn));
int ss_sg_fail(struct ss_board *board, int status, const char *hint, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* ---- simgrid_ahead.c: a class's own time ---- */
/* Which classes and streams may run ahead. 0, or a status with the board's texts. */
int ss_sg_find_ahead(struct ss_sg *sg);
/* Sleeps until SimGrid's clock has reached the class's; activities that were put off begin before. */
void ss_sg_catch_up(struct ss_sg_class *c);
/* On streams that are `own`. */
void ss_sg_post_own(struct ss_sg_class *c, int stream, int collective);
/* 0: it has not ended, and the class must be blocked until a worker ends it. */
int ss_sg_wait_own(struct ss_sg_class *c, int stream);
/* ---- simgrid_work.c: background transfers ---- */
/* Begins what may begin on a channel; from any actor. */
void ss_sg_advance_channel(struct ss_sg *sg, int channel);
void ss_sg_begin_ready(struct ss_sg *sg);
/* Hands a job to an idle worker, or to a new one. */
void ss_sg_start_job(struct ss_sg *sg, struct ss_sg_worker job);
/* A phase's flows, whose latency has passed. w: who waits for its helpers. */
void ss_sg_run_flows(struct ss_sg_worker *w, const struct ss_flow_phase *phase);
/* 1 where something moves. */
int ss_sg_takes_time(const struct ss_sg *sg, int path, double bytes);
void ss_sg_run_flow(struct ss_sg *sg, int path, double bytes);
/* Books the end of a wait of a class, whose semaphore the caller releases when its own books are in order. */
void ss_sg_end_wait(struct ss_sg *sg, int cls, int label, double busy_from);
/* Sends the idle workers home when nothing is left to do. */
void ss_sg_dismiss(struct ss_sg *sg);
/* ---- simgrid.c ---- */
void ss_sg_replay(struct ss_simgrid_call *call);
/* ---- simgrid_ask.c ---- */
void ss_sg_ask(struct ss_simgrid_call *call);
