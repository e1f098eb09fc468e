/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool: many like pieces of work, the items, done by worker processes. A worker is a copy of the process at
 * the time of its start. It reads what the caller has made until then; of its own changes only its answers
 * come back. An answer depends on its item alone, so any number of workers gives the same bytes.
 *
 *     ss_pool_run(&pool, answers, &err);                 all items, once
 *
 *     ss_pool_open(&pool, &crew, &err);                  some items now, others later: workers stay
 *     ss_pool_deal(crew, items, n, answers, &err);
 *     ss_pool_close(crew);
 *
 * In a team (stepsim/workers.h) all processes make the same calls on the same items, and all get all answers.
 * Items go one by one to workers that idle. Where a worker dies another worker gets its item; where that
 * worker dies too the item is an error, SS_ERR_ENGINE. docs/design/design.md, section 10.
 */
#pragma once

#include <stdint.h>

#include "stepsim/workers.h"

/* Most worker processes of one process. */
#define SS_WORKERS_MAX 1024

struct ss_pool {
    struct ss_workers workers;
    int nitems;
    size_t
        size; /* bytes of one answer, which holds no pointers; all are 0 before `work` runs, unless `used` is there */
    /* Returns how many bytes of an answer count, where answers are of many lengths: `answers` of ss_pool_deal are then
     * pointers, each of which gets a block that the caller frees, and no journal keeps them. NULL: all bytes count. */
    size_t (*used)(const void *answer);
    /* Writes the answer to an item, 0 <= item < nitems, in a worker. */
    int (*work)(void *ctx, int item, void *answer, struct ss_error *err);
    void *ctx;
    /* Returns a number that items have in common which share work in one process: they go to the worker that had the first of
     * them, as long as others have items of their own. NULL: items go in their order. */
    uint64_t (*home)(void *ctx, int item);
    /* Returns an item that a later list is likely to ask for: a worker that would idle begins it, and its answer is kept
     * until then. -1: there is none. An item that is begun or kept is passed over. NULL, or a team: nobody works ahead. */
    int (*ahead)(void *ctx, int worker);
    /* Returns another crew, whose lists follow those of this one: where `ahead` has nothing more, workers of that crew begin what its
     * own `ahead` has, each in the place of one that idles. NULL, or it returns NULL, as it must when that crew is closed: there is none. */
    struct ss_crew *(*next)(void *ctx);
    /* Called in this process with each answer of a worker of this machine, also one that nobody has asked for yet, where
     * `ahead` is there; may be NULL. */
    void (*on_item)(void *ctx, int item, const void *answer);
    /* Called in this process after each answer, with the number of answers of this call so far; may be
     * NULL. */
    void (*on_answer)(void *ctx, int done);
    void *on_answer_ctx;
    /* word of the journal's head that says what the items are; NULL: workers.journal is not used */
    const char *what;
    uint64_t digest; /* of everything that the answers depend on beside the library */
};
struct ss_crew;
/* Returns 1 where a worker has the home of this number, or nobody has. */
int ss_crew_is_home(const struct ss_crew *crew, uint64_t home, int worker);

/* Returns how many cores this process may use, >= 1. */
int ss_pool_cores(void);
/* Returns how many worker processes this process starts for so many items; 0: it does the work itself. */
int ss_pool_forks(const struct ss_workers *workers, int nitems);
/* Opens a crew for the items of *pool, which must outlive the crew. A worker starts when it gets its first
 * item. Errors: SS_ERR_NOMEM, those of ss_journal_open. */
int ss_pool_open(const struct ss_pool *pool, struct ss_crew **out, struct ss_error *err);
/* Fills answers[i] with the answer to items[i], 0 <= i < n; each item is named once. Returns the error of the
 * first item in the list that fails; answers are then not complete. SS_ERR_ENGINE: a process cannot be
 * started, or died twice at one item. SS_ERR_IO: the journal cannot be written. */
int ss_pool_deal(struct ss_crew *crew, const int *items, int n, void *answers, struct ss_error *err);
/* Ends the workers that are at items which nobody has asked for. */
void ss_pool_drop_ahead(struct ss_crew *crew);
/* Ends the workers. NULL is allowed. */
void ss_pool_close(struct ss_crew *crew);
/* Opens a crew, deals all items, and closes the crew. */
int ss_pool_run(const struct ss_pool *pool, void *answers, struct ss_error *err);
