/* SPDX-License-Identifier: Apache-2.0 */
/* A worker: a worker process, here or of another process of a team, and the items that it was given and has not answered yet, in their
 * order. */
#ifndef SS_WORKERS_WORKER_H
#define SS_WORKERS_WORKER_H

#include <sys/types.h>

#include "workers/pool.h"

/* Items that wait for a worker which answers each within SS_WORKER_SHORT_S, so that it never waits for the next one; of longer ones
 * none waits, for another worker may be idle sooner. */
#define SS_WORKER_DEPTH 16
#define SS_WORKER_SHORT_S 2e-3

struct ss_worker {
    pid_t pid;      /* 0: no process of ours (yet) */
    int fd;         /* item numbers there, replies back */
    int rank, slot; /* of the team, 0: here; and which of its workers */
    int open;       /* of another process: it is at this list */
    int n;
    int at[2 * SS_WORKER_DEPTH]; /* places in the list that is dealt */
    double since, took; /* s: when the first of them began; what the last answer took, 0: none came yet */
};

/* What a worker writes before an answer; an error follows where status is one. */
struct ss_reply {
    int item, status;
};

/* Starts the process of a worker, which has no file of the caller but the first three. Returns 0, or -1 with errno. */
int ss_worker_hire(const struct ss_pool *pool, struct ss_worker *s);
/* How many items it may have waiting. */
int ss_worker_depth(const struct ss_worker *s);
/* Puts place `at` behind those on its list. */
void ss_worker_push(struct ss_worker *s, int at);
/* Gives it item `item`, which is at place `at` of the list. A worker that has died is noticed when its reply is read. */
void ss_worker_give(struct ss_worker *s, int at, int item);
/* Reads the reply to its first item: an answer of `size` bytes, or an error. Returns 0, or -1 where the worker has died. */
int ss_worker_read(struct ss_worker *s, size_t size, struct ss_reply *reply, void *answer,
                   struct ss_error *error);
/* Takes its first item off its list. */
void ss_worker_next(struct ss_worker *s);
/* Ends its process, if there is one. */
void ss_worker_dismiss(struct ss_worker *s);

#endif
