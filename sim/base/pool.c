/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pool.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/journal.h"
#include "base/seat.h"

/* How often an item may end the process that works at it. */
#define TRIES 2

struct ss_crew {
    const struct ss_pool *pool;
    int nseats; /* 0: all is done in this process */
    struct ss_seat *seats;
    struct pollfd *ready;
    struct ss_journal *journal; /* NULL: none */
};

/* A list of items that is being dealt. */
struct deal {
    struct ss_crew *crew;
    const int *items;
    int n;
    char *answers;
    int *todo; /* [ntodo]: places whose answers are not in the journal */
    int ntodo;
    int next;  /* first of them that was never dealt out */
    int *back; /* [nseats * SS_SEAT_DEPTH]: places whose workers died */
    int nback;
    char *tries; /* [n]: how often a process died at it */
    int done, in_flight;
    int failed, status; /* first place that failed, n: none */
    struct ss_error error;
    int broken; /* the journal: nothing goes on without it */
};

int ss_pool_cores(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    return n < 1 ? 1 : n > SS_WORKERS_MAX ? SS_WORKERS_MAX : n;
}

static void *answer_at(const struct deal *d, int at)
{
    return d->answers + (size_t)at * d->crew->pool->size;
}

/* ---- what comes back ---- */

static void note_failure(struct deal *d, int at, int status, const struct ss_error *error)
{
    if (at >= d->failed || d->broken)
        return;
    d->failed = at;
    d->status = status;
    d->error = *error;
}

static void count_answer(struct deal *d, int at)
{
    const struct ss_pool *pool = d->crew->pool;
    struct ss_journal *journal = d->crew->journal;
    if (journal && !d->broken)
        d->broken = ss_journal_put(journal, d->items[at], answer_at(d, at), &d->error);
    d->done++;
    if (pool->told)
        pool->told(pool->told_ctx, d->done);
}

/* The item that a process died at is dealt out again, for the machine may have ended it for reasons of its own. Those that waited
 * behind it are not to blame. */
static void bury(struct deal *d, struct ss_seat *s)
{
    struct ss_error error = {0};
    int at = s->at[0];
    for (int i = s->n - 1; i > 0; i--)
        d->back[d->nback++] = s->at[i];
    d->in_flight -= s->n;
    ss_seat_dismiss(s);
    s->n = 0;
    s->took = 0;
    if (++d->tries[at] < TRIES) {
        d->back[d->nback++] = at;
        return;
    }
    ss_fail(&error, SS_ERR_ENGINE, NULL, 0, "worker processes died at item %d of %d, one after another",
            d->items[at], d->crew->pool->nitems);
    ss_hint(&error, SS_ERR_ENGINE, "this machine may be short of memory: take fewer of them");
    note_failure(d, at, SS_ERR_ENGINE, &error);
}

static void take_reply(struct deal *d, struct ss_seat *s)
{
    struct ss_reply reply;
    struct ss_error error;
    int at = s->at[0];
    if (ss_seat_read(s, d->crew->pool->size, &reply, answer_at(d, at), &error)) {
        bury(d, s);
        return;
    }
    ss_seat_next(s);
    d->in_flight--;
    if (reply.status)
        note_failure(d, at, reply.status, &error);
    else
        count_answer(d, at);
}

static void take_replies(struct deal *d)
{
    struct ss_crew *c = d->crew;
    for (int i = 0; i < c->nseats; i++) /* poll passes over negative ones */
        c->ready[i] = (struct pollfd){.fd = c->seats[i].n ? c->seats[i].fd : -1, .events = POLLIN};
    if (poll(c->ready, (nfds_t)c->nseats, -1) <= 0)
        return;
    for (int i = 0; i < c->nseats; i++)
        if (c->ready[i].revents)
            take_reply(d, &c->seats[i]);
}

/* ---- what is given ---- */

/* The next place, -1: none; those behind one that failed are not wanted any more. */
static int next_place(struct deal *d)
{
    while (d->nback && d->back[d->nback - 1] >= d->failed)
        d->nback--;
    int at = d->nback ? d->back[d->nback - 1] : d->next < d->ntodo ? d->todo[d->next] : d->n;
    return at < d->failed ? at : -1;
}

static int give(struct deal *d, struct ss_seat *s, int at)
{
    if (!s->pid && ss_seat_hire(d->crew->pool, d->crew->seats, d->crew->nseats, s))
        return errno;
    if (d->nback)
        d->nback--;
    else
        d->next++;
    d->in_flight++;
    ss_seat_give(s, at, d->items[at]);
    return 0;
}

/* One item each, as long as somebody may take one: the last ones are spread evenly. Where not all processes can be started the
 * others go on alone. */
static int give_all(struct deal *d, struct ss_error *err)
{
    struct ss_crew *c = d->crew;
    int at = next_place(d), why = 0;
    for (int depth = 0, given = 1; given && depth < SS_SEAT_DEPTH; depth++) {
        given = 0;
        for (int i = 0; i < c->nseats && at >= 0; i++) {
            struct ss_seat *s = &c->seats[i];
            if (s->n > depth || s->n >= ss_seat_depth(s))
                continue;
            int failed = give(d, s, at);
            why = failed ? failed : why;
            given |= !failed;
            at = next_place(d);
        }
    }
    if (at < 0 || d->in_flight > 0)
        return SS_OK;
    return ss_fail(err, SS_ERR_ENGINE, NULL, 0, "cannot start a worker process: %s", strerror(why));
}

static int run_seats(struct deal *d, struct ss_error *err)
{
    int rc = SS_OK;
    while (!rc && !d->broken) {
        rc = give_all(d, err);
        if (rc || d->in_flight == 0)
            break;
        take_replies(d);
    }
    return rc;
}

static int run_here(struct deal *d)
{
    const struct ss_pool *pool = d->crew->pool;
    for (; d->next < d->ntodo && d->failed == d->n && !d->broken; d->next++) {
        int at = d->todo[d->next];
        struct ss_error error = {0};
        memset(answer_at(d, at), 0, pool->size);
        int status = pool->work(pool->ctx, d->items[at], answer_at(d, at), &error);
        if (status)
            note_failure(d, at, status, &error);
        else
            count_answer(d, at);
    }
    return SS_OK;
}

/* Takes what the journal has; the rest is to be done. */
static int read_journal(struct deal *d, struct ss_error *err)
{
    const struct ss_pool *pool = d->crew->pool;
    struct ss_journal *journal = d->crew->journal;
    int rc = SS_OK;
    for (int at = 0; at < d->n && !rc; at++) {
        if (!journal || !ss_journal_has(journal, d->items[at])) {
            d->todo[d->ntodo++] = at;
            continue;
        }
        rc = ss_journal_get(journal, d->items[at], answer_at(d, at), err);
        d->done++;
    }
    if (!rc && d->done && pool->told)
        pool->told(pool->told_ctx, d->done);
    return rc;
}

/* ---- the crew ---- */

static int no_memory(const struct ss_pool *pool, struct ss_error *err)
{
    return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for the workers of %d items", pool->nitems);
}

int ss_pool_open(const struct ss_pool *pool, struct ss_crew **out, struct ss_error *err)
{
    struct ss_crew *c = ss_calloc(1, sizeof *c);
    int n = pool->workers.n > 0 ? pool->workers.n : ss_pool_cores();
    if (!c)
        return no_memory(pool, err);
    n = n > SS_WORKERS_MAX ? SS_WORKERS_MAX : n > pool->nitems ? pool->nitems : n;
    c->pool = pool;
    c->nseats = n > 1 ? n : 0;
    c->seats = ss_calloc((size_t)c->nseats + 1, sizeof *c->seats);
    c->ready = ss_calloc((size_t)c->nseats + 1, sizeof *c->ready);
    if (!c->seats || !c->ready) {
        ss_pool_close(c);
        return no_memory(pool, err);
    }
    const struct ss_journal_head head = {pool->what, pool->size, pool->nitems, pool->digest};
    if (pool->what && pool->workers.journal) {
        int rc = ss_journal_open(pool->workers.journal, pool->workers.resume, &head, &c->journal, err);
        if (rc) {
            ss_pool_close(c);
            return rc;
        }
    }
    fflush(NULL); /* else a worker that starts SimGrid would write our buffers a second time */
    *out = c;
    return SS_OK;
}

void ss_pool_close(struct ss_crew *c)
{
    if (!c)
        return;
    for (int i = 0; c->seats && i < c->nseats; i++)
        ss_seat_dismiss(&c->seats[i]);
    ss_journal_close(c->journal);
    free(c->seats);
    free(c->ready);
    free(c);
}

int ss_pool_deal(struct ss_crew *c, const int *items, int n, void *answers, struct ss_error *err)
{
    struct deal d = {.crew = c, .items = items, .n = n, .answers = answers, .failed = n};
    d.back = ss_calloc((size_t)c->nseats * SS_SEAT_DEPTH + 1, sizeof *d.back);
    d.tries = ss_calloc((size_t)n + 1, 1);
    d.todo = ss_calloc((size_t)n + 1, sizeof *d.todo);
    int rc = d.back && d.tries && d.todo ? read_journal(&d, err) : no_memory(c->pool, err);
    if (!rc)
        rc = c->nseats ? run_seats(&d, err) : run_here(&d);
    if (!rc && (d.broken || d.failed < n)) {
        rc = d.broken ? d.broken : d.status;
        if (err)
            *err = d.error;
    }
    free(d.back);
    free(d.tries);
    free(d.todo);
    return rc;
}

int ss_pool_run(const struct ss_pool *pool, void *answers, struct ss_error *err)
{
    struct ss_crew *c;
    int *items = ss_calloc((size_t)pool->nitems + 1, sizeof *items);
    int rc = items ? ss_pool_open(pool, &c, err) : no_memory(pool, err);
    for (int i = 0; i < pool->nitems && !rc; i++)
        items[i] = i;
    if (!rc) {
        rc = ss_pool_deal(c, items, pool->nitems, answers, err);
        ss_pool_close(c);
    }
    free(items);
    return rc;
}
