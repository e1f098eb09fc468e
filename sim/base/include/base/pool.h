/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Worker processes for many like pieces of work. A worker is a copy of the process at the call: it reads what the caller has
 * made, and what it changes is lost but for its answers. Answers depend on the item alone, so any number of workers gives the
 * same bytes.
 */
#ifndef SS_BASE_POOL_H
#define SS_BASE_POOL_H

#include <stddef.h>

#include "stepsim/error.h"

/* Processes at most. */
#define SS_WORKERS_MAX 1024

struct ss_pool {
    int workers; /* 1: all is done in this process; 0: one for each core that it may use */
    int nitems;
    size_t size; /* bytes of one answer, which holds no pointers */
    /* Writes the answer to an item, 0 <= item < nitems. */
    int (*work)(void *ctx, int item, void *answer, struct ss_error *err);
    void *ctx;
    /* Called in this process whenever an answer has come, with the number of those that have; may be NULL. */
    void (*told)(void *ctx, int done);
    void *told_ctx;
};

/* Cores that this process may use, >= 1. */
int ss_pool_cores(void);
/* Fills answers[nitems], `size` bytes each. Items are dealt out one by one to whoever is idle. Where a worker dies another one
 * gets its item; SS_ERR_ENGINE where that dies too. Error: that of the lowest item that fails; answers are then not complete. */
int ss_pool_run(const struct ss_pool *pool, void *answers, struct ss_error *err);

#endif
