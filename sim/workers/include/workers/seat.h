/* SPDX-License-Identifier: Apache-2.0 */
/* A seat: a worker process, here or of another process of a team, and the items that it was given and has not answered yet, in their
 * order. */
#ifndef SS_WORKERS_SEAT_H
#define SS_WORKERS_SEAT_H

#include <sys/types.h>

#include "workers/pool.h"

/* Items that wait for a worker which answers each within SS_SEAT_SHORT_S, so that it never waits for the next one; of longer ones
 * none waits, for another worker may be idle sooner. */
#define SS_SEAT_DEPTH 16
#define SS_SEAT_SHORT_S 2e-3

struct ss_seat {
    pid_t pid;      /* 0: no process of ours (yet) */
    int fd;         /* item numbers there, replies back */
    int rank, slot; /* of the team, 0: here; and which of its workers */
    int open;       /* of another process: it is at this list */
    int n;
    int at[2 * SS_SEAT_DEPTH]; /* places in the list that is dealt */
    double since, took; /* s: when the first of them began; what the last answer took, 0: none came yet */
};

/* What a worker writes before an answer; an error follows where status is one. */
struct ss_reply {
    int item, status;
};

/* Starts the process of a seat, which has no file of the caller but the first three. Returns 0, or -1 with errno. */
int ss_seat_hire(const struct ss_pool *pool, struct ss_seat *s);
/* How many items it may have waiting. */
int ss_seat_depth(const struct ss_seat *s);
/* Puts place `at` behind those on its list. */
void ss_seat_push(struct ss_seat *s, int at);
/* Gives it item `item`, which is at place `at` of the list. A worker that has died is noticed when its reply is read. */
void ss_seat_give(struct ss_seat *s, int at, int item);
/* Reads the reply to its first item: an answer of `size` bytes, or an error. Returns 0, or -1 where the worker has died. */
int ss_seat_read(struct ss_seat *s, size_t size, struct ss_reply *reply, void *answer,
                 struct ss_error *error);
/* Takes its first item off its list. */
void ss_seat_next(struct ss_seat *s);
/* Ends its process, if there is one. */
void ss_seat_dismiss(struct ss_seat *s);

#endif
