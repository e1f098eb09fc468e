/* SPDX-License-Identifier: Apache-2.0 */
/* A worker process of this process, or of another process of the team, and the items that it was given and
 * has not answered yet, in their order. */
#pragma once

#include <sys/types.h>

#include "workers/pool.h"

/* How many items may wait at a worker that answers each within SS_WORKER_SHORT_S, so that the worker never
 * idles between two items. No long item waits at a worker, because another worker may be idle sooner. */
#define SS_WORKER_DEPTH 16
#define SS_WORKER_SHORT_S 2e-3

struct ss_worker {
    pid_t pid;      /* 0: not started, or a process of another process of the team */
    int fd;         /* socket: item numbers go in, replies come out */
    int rank, slot; /* process of the team (0: this one), and the number of the worker in that process */
    int open;       /* worker of another process: that process works at this list */
    int home,
        look; /* the home that it is at (-1: none), and the first home of the list where it did not look for its own */
    int n;
    int at[2 * SS_WORKER_DEPTH]; /* places of its items in the list that is dealt */
    double since,
        took; /* s: when the first of the items began, and what the last answer took (0: no answer yet) */
};

/* A worker writes this before an answer of so many bytes. Where status is an error, a struct ss_error follows. */
struct ss_reply {
    int item, status;
    size_t bytes;
};

/* Does the work of an item in this process. *bytes is how many bytes of the answer count. */
int ss_pool_work(const struct ss_pool *pool, int item, void *answer, size_t *bytes, struct ss_error *err);
/* Starts a worker process, which keeps no file of the caller but stdin, stdout and stderr. Returns 0, or -1
 * with errno. */
int ss_worker_hire(const struct ss_pool *pool, struct ss_worker *s);
/* Returns how many items may wait at the worker. */
int ss_worker_depth(const struct ss_worker *s);
/* Appends place `at` to the worker's list. */
void ss_worker_push(struct ss_worker *s, int at);
/* Sends item `item`, at place `at` of the list, to the worker. The death of a worker is noticed when its
 * reply is read. */
void ss_worker_give(struct ss_worker *s, int at, int item);
/* Reads what stands before the answer to the worker's first item, or its error. Returns 0, or -1 where the worker has
 * died. */
int ss_worker_read(struct ss_worker *s, struct ss_reply *reply, struct ss_error *error);
/* Reads the answer behind it, which has that many bytes. Returns the same. */
int ss_worker_read_answer(struct ss_worker *s, void *answer, size_t bytes);
/* Takes the worker's first item off its list. */
void ss_worker_next(struct ss_worker *s);
/* Ends the worker's process, if there is one. */
void ss_worker_dismiss(struct ss_worker *s);
