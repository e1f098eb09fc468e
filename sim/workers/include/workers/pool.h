/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many like pieces of work, items, done by worker processes. A worker is a copy of the process at the time when it is started: it
 * reads what the caller has made until then, and what it changes is lost but for its answers. An answer depends on its item alone,
 * so any number of workers gives the same bytes.
 *
 *     ss_pool_run(&pool, answers, &err);                 all items, once
 *
 *     ss_pool_open(&pool, &crew, &err);                  some items now, others later: workers stay
 *     ss_pool_deal(crew, items, n, answers, &err);
 *     ss_pool_close(crew);
 *
 * In a team (stepsim/workers.h) all processes make the same calls on the same items, and all get all answers.
 *
 * Items are dealt out one by one to whoever is idle. Where a worker dies another one gets its item; where that dies too the item
 * is an error, SS_ERR_ENGINE. docs/design/design.md, section 10.
 */
#ifndef SS_WORKERS_POOL_H
#define SS_WORKERS_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "stepsim/error.h"
#include "stepsim/workers.h"

/* Processes at most. */
#define SS_WORKERS_MAX 1024

struct ss_pool {
    struct ss_workers workers;
    int nitems;
    size_t size; /* bytes of one answer, which holds no pointers; they are 0 before `work` */
    /* Writes the answer to an item, 0 <= item < nitems. */
    int (*work)(void *ctx, int item, void *answer, struct ss_error *err);
    void *ctx;
    /* Called in this process whenever an answer has come, with the number of those of this call that have; may be NULL. */
    void (*told)(void *ctx, int done);
    void *told_ctx;
    const char *
        what; /* of a journal: one word that says what the items are; NULL: workers.journal is not looked at */
    uint64_t digest; /* of everything that answers depend on beside the library */
};
struct ss_crew;

/* Cores that this process may use, >= 1. */
int ss_pool_cores(void);
/* Opens a crew for items of *pool, which outlives it. Workers are started when they get their first item. Errors:
 * SS_ERR_NOMEM, those of ss_journal_open. */
int ss_pool_open(const struct ss_pool *pool, struct ss_crew **out, struct ss_error *err);
/* Fills answers[i] with the answer to items[i], 0 <= i < n; each item is named once. Error: that of the item that fails and comes
 * first in the list; answers are then not complete. SS_ERR_ENGINE: a process cannot be started, or died twice at one item.
 * SS_ERR_IO: the journal cannot be written. */
int ss_pool_deal(struct ss_crew *crew, const int *items, int n, void *answers, struct ss_error *err);
/* Ends the workers. NULL is allowed. */
void ss_pool_close(struct ss_crew *crew);
/* Opens, deals all items, closes. */
int ss_pool_run(const struct ss_pool *pool, void *answers, struct ss_error *err);

#endif
