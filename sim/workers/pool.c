/* SPDX-License-Identifier: Apache-2.0 */
#include "workers/pool.h"

#include <errno.h>
#include <sched.h>

#include "base/base.h"
#include "workers/deal.h"

/* Milliseconds between two looks for messages of the team. */
#define NAP_MS 1
/* Milliseconds between two questions whether to stop. */
#define STOP_MS 100

int ss_pool_cores(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    return n < 1 ? 1 : n > SS_WORKERS_MAX ? SS_WORKERS_MAX : n;
}

static void take_reply(struct ss_deal *d, struct ss_worker *s)
{
    struct ss_reply reply;
    struct ss_error error;
    int at = s->at[0], dead = ss_worker_read(s, &reply, &error);
    if (at < 0) {
        if (dead || ss_ahead_take(d->crew, s, &reply))
            ss_deal_bury(d, s);
        else
            ss_worker_next(s);
        return;
    }
    void *answer = dead || reply.status ? NULL : ss_deal_room(d, at, reply.bytes);
    if (dead || (answer && ss_worker_read_answer(s, answer, reply.bytes))) {
        ss_deal_bury(d, s);
        return;
    }
    if (d->broken)
        return;
    ss_worker_next(s);
    ss_deal_note(d, at, reply.status, &error);
    if (!reply.status && d->crew->pool->on_item)
        d->crew->pool->on_item(d->crew->pool->ctx, d->items[at], answer);
}

/* ---- dealing out ---- */

/* Finds the index into todo of the next place to deal out to a worker; -1: it is on top of those that are dealt out again.
 * Places behind a failed one are not wanted any more. Returns whether there is one. */
static int next_place(struct ss_deal *d, int worker, int *index)
{
    while (d->nback && d->back[d->nback - 1] >= d->failed)
        d->nback--;
    *index = -1;
    if (d->nback)
        return 1;
    while (d->next < d->ntodo && (d->given[d->next] || d->todo[d->next] >= d->failed))
        d->next++;
    if (d->next == d->ntodo)
        return 0;
    *index = d->home ? ss_homes_place(d, worker) : d->next;
    return 1;
}

/* Returns how many items may wait at a worker: fewer when few are left, so that all workers end together, and none behind an item
 * that nobody has asked for. */
static int depth_of(const struct ss_deal *d, const struct ss_worker *s)
{
    if (s->n && s->at[0] < 0)
        return 1;
    int most = ss_worker_depth(s), share = 1 + d->left / (2 * d->crew->nworkers);
    return most < share ? most : share;
}

static int give(struct ss_deal *d, struct ss_worker *s, int index)
{
    const struct ss_crew *c = d->crew;
    int at = index < 0 ? d->back[d->nback - 1] : d->todo[index];
    const struct ss_team_message m = {
        .kind = SS_TEAM_GIVE, .list = d->list, .slot = s->slot, .item = d->items[at]};
    if (!s->rank && !s->pid && ss_worker_hire(c->pool, s))
        return errno;
    if (index < 0) {
        d->nback--;
    } else {
        d->given[index] = 1;
        d->left--;
    }
    d->in_flight++;
    if (s->rank) {
        ss_worker_push(s, at);
        ss_team_send(c->team, s->rank, &m, NULL, 0);
    } else {
        ss_worker_give(s, at, d->items[at]);
    }
    return 0;
}

static void find_next(struct ss_crew *c)
{
    c->next = c->pool->next && !c->team ? c->pool->next(c->pool->ctx) : NULL;
}

/* Returns the worker of the next crew in the place of one of this crew; NULL: there is none. */
static struct ss_worker *next_of(const struct ss_crew *c, int i)
{
    return c->next && i < c->next->nhere ? &c->next->workers[i] : NULL;
}

/* Returns whether a worker has an item, or the one of the next crew in its place. */
static int is_busy(const struct ss_crew *c, int i)
{
    const struct ss_worker *next = next_of(c, i);
    return c->workers[i].n > 0 || (next && next->n > 0);
}

/* Gives an item of a later list to a worker that idles, or to one of the next crew in its place. Returns 0 where there is none. */
static int give_ahead(struct ss_deal *d, int i)
{
    struct ss_crew *c = d->crew;
    if (ss_ahead_give(d, &c->workers[i]))
        return 1;
    find_next(c);
    struct ss_deal next = {.crew = c->next};
    return next_of(c, i) && ss_ahead_give(&next, next_of(c, i));
}

/* Returns whether a worker of the next crew has an item. */
static int is_next_busy(const struct ss_crew *c)
{
    int busy = 0;
    for (int i = 0; i < c->nhere; i++)
        busy |= next_of(c, i) && next_of(c, i)->n > 0;
    return busy;
}

/* Gives one item to each worker in turn as long as a worker may take one, so that the last items are spread
 * evenly. Where not all processes can be started the others go on alone. */
static int give_all(struct ss_deal *d, struct ss_error *err)
{
    struct ss_crew *c = d->crew;
    int index, any = 1, why = 0;
    find_next(c);
    for (int depth = 0, given = 1; given && depth < SS_WORKER_DEPTH; depth++) {
        given = 0;
        for (int i = 0; i < c->nworkers && any; i++) {
            struct ss_worker *s = &c->workers[i];
            if (s->n > depth || s->n >= depth_of(d, s) || (s->rank && !s->open) || (!s->n && is_busy(c, i)) ||
                !(any = next_place(d, i, &index)))
                continue;
            int failed = give(d, s, index);
            why = failed ? failed : why;
            given |= !failed;
        }
    }
    for (int i = 0; i < c->nhere && !c->team && d->in_flight > 0 && !next_place(d, i, &index); i++)
        if (!is_busy(c, i) && !give_ahead(d, i))
            break;
    if (d->in_flight > 0 || is_next_busy(c) || !next_place(d, 0, &index))
        return SS_OK;
    return ss_fail(err, SS_ERR_ENGINE, NULL, 0, "cannot start a worker process: %s", strerror(why));
}

static bool goes_on(struct ss_deal *d)
{
    const struct ss_workers *w = &d->crew->pool->workers;
    if (!d->broken && w->stop && w->stop(w->stop_ctx))
        d->broken = ss_fail(&d->error, SS_ERR_STOPPED, NULL, 0, "stopped before the end");
    return !d->broken;
}

/* Waits for workers, of the next crew, too, and takes what they say. */
static void wait_for_replies(struct ss_deal *d)
{
    struct ss_crew *c = d->crew;
    int n = c->nhere;
    ss_relay_watch(c->workers, c->ready, n);
    for (int i = 0; i < c->nhere && next_of(c, i); i++)
        ss_relay_watch(next_of(c, i), &c->ready[n++], 1);
    if (poll(c->ready, (nfds_t)n, c->team ? NAP_MS : c->pool->workers.stop ? STOP_MS : -1) <= 0)
        return;
    for (int i = 0; i < c->nhere; i++)
        if (c->ready[i].revents)
            take_reply(d, &c->workers[i]);
    for (int i = c->nhere; i < n; i++) {
        struct ss_deal next = {.crew = c->next};
        if (c->ready[i].revents)
            take_reply(&next, next_of(c, i - c->nhere));
    }
}

static int run_workers(struct ss_deal *d, struct ss_error *err)
{
    struct ss_crew *c = d->crew;
    int rc = SS_OK, index;
    while (!rc && goes_on(d)) {
        if (c->team)
            ss_deal_hear(d);
        rc = d->broken ? SS_OK : give_all(d, err);
        if (rc || d->broken || (d->in_flight == 0 && !next_place(d, 0, &index)))
            break;
        wait_for_replies(d);
    }
    return rc;
}

/* Moves an answer to its place, unless it was made there. Returns 0 without memory. */
static int put_answer(struct ss_deal *d, int at, const void *answer, size_t bytes)
{
    void *room = d->crew->scratch ? ss_deal_room(d, at, bytes) : NULL;
    if (room)
        memcpy(room, answer, bytes);
    return room || !d->crew->scratch;
}

static int run_here(struct ss_deal *d)
{
    const struct ss_pool *pool = d->crew->pool;
    for (; d->next < d->ntodo && d->failed == d->n && goes_on(d); d->next++) {
        int at = d->todo[d->next];
        struct ss_error error = {0};
        size_t bytes;
        void *answer = d->crew->scratch ? d->crew->scratch : ss_deal_answer(d, at);
        int status = ss_pool_work(pool, d->items[at], answer, &bytes, &error);
        if (status)
            ss_deal_fail(d, at, status, &error);
        else if (put_answer(d, at, answer, bytes))
            ss_deal_count(d, at);
    }
    return SS_OK;
}

/* Takes the answers that the journal has; the other items are to be done. */
static int read_journal(struct ss_deal *d, struct ss_error *err)
{
    const struct ss_pool *pool = d->crew->pool;
    struct ss_journal *journal = d->crew->journal;
    int rc = SS_OK;
    for (int at = 0; at < d->n && !rc; at++) {
        if (!journal || !ss_journal_has(journal, d->items[at])) {
            d->todo[d->ntodo++] = at;
            continue;
        }
        rc = ss_journal_get(journal, d->items[at], ss_deal_answer(d, at), err);
        d->done++;
    }
    if (!rc && d->done && pool->on_answer)
        pool->on_answer(pool->on_answer_ctx, d->done);
    return rc;
}

static int find_homes(struct ss_deal *d, struct ss_error *err)
{
    const struct ss_pool *pool = d->crew->pool;
    if (!d->crew->nworkers)
        return SS_OK;
    ss_ahead_claim(d);
    d->left = d->ntodo;
    d->given = ss_calloc((size_t)d->ntodo + 1, 1);
    return d->given && !(pool->home && ss_homes_find(d)) ? SS_OK : ss_nomem(err);
}

/* ---- the crew ---- */

/* Hashes what must be equal in all processes of a team. */
static uint64_t digest_of(const struct ss_pool *pool)
{
    char build[41];
    uint64_t h = ss_hash(SS_HASH_INIT, &pool->digest, sizeof pool->digest);
    ss_build_id(build);
    h = ss_hash(h, build, strlen(build));
    h = ss_hash(h, &pool->size, sizeof pool->size);
    return ss_hash(h, &pool->nitems, sizeof pool->nitems);
}

static int open_journal(struct ss_crew *c, struct ss_error *err)
{
    const struct ss_pool *pool = c->pool;
    const struct ss_journal_head head = {pool->what, pool->size, pool->nitems, pool->digest};
    if (!pool->what || !pool->workers.journal || ss_team_rank(c->team))
        return SS_OK;
    return ss_journal_open(pool->workers.journal, pool->workers.resume, &head, &c->journal, err);
}

int ss_pool_forks(const struct ss_workers *w, int nitems)
{
    int n = w->n > 0 ? w->n : w->team ? 1 : ss_pool_cores();
    n = n > SS_WORKERS_MAX ? SS_WORKERS_MAX : n > nitems ? nitems : n;
    return n > 1 || w->team ? n : 0;
}

int ss_pool_open(const struct ss_pool *pool, struct ss_crew **out, struct ss_error *err)
{
    struct ss_crew *c = ss_calloc(1, sizeof *c);
    struct ss_team *team = pool->workers.team;
    SS_NEED(c, err);
    c->pool = pool;
    c->team = team;
    c->nhere = c->nworkers = ss_pool_forks(&pool->workers, pool->nitems);
    c->cap = (size_t)c->nhere + 1;
    c->workers = ss_calloc(c->cap, sizeof *c->workers);
    c->ready = ss_calloc(2 * c->cap, sizeof *c->ready);
    c->scratch = pool->used && !c->nworkers ? malloc(pool->size) : NULL;
    int there = c->workers && c->ready && (c->scratch || !pool->used || c->nworkers);
    int rc = there ? open_journal(c, err) : ss_nomem(err);
    if (rc) {
        ss_pool_close(c);
        return rc;
    }
    c->digest = digest_of(pool);
    fflush(NULL); /* a worker that starts SimGrid would else write our buffers a second time */
    *out = c;
    return SS_OK;
}

void ss_pool_drop_ahead(struct ss_crew *c)
{
    struct ss_deal d = {.crew = c};
    for (int i = 0; i < c->nhere; i++)
        if (c->workers[i].n > 0 && c->workers[i].at[0] < 0)
            ss_deal_bury(&d, &c->workers[i]);
}

void ss_pool_close(struct ss_crew *c)
{
    if (!c)
        return;
    for (int i = 0; c->workers && i < c->nhere; i++)
        ss_worker_dismiss(&c->workers[i]);
    ss_journal_close(c->journal);
    ss_ahead_free(&c->ahead);
    free(c->homes.home);
    ss_map_free(&c->homes.at);
    SS_FREE(c->workers, c->ready, c->scratch, c);
}

static int deal(struct ss_deal *d, struct ss_error *err)
{
    struct ss_crew *c = d->crew;
    struct ss_error why = {0};
    if (c->team)
        d->list = ss_team_next_list(c->team);
    for (int i = 0; i < c->nworkers; i++)
        c->workers[i].open = 0; /* until the other process says that it is at this list, too */
    int rc = read_journal(d, &why);
    SS_THEN(rc, find_homes(d, &why));
    SS_THEN(rc, c->nworkers ? run_workers(d, &why) : run_here(d));
    if (!rc && (d->broken || d->failed < d->n))
        rc = d->broken ? d->broken : d->status;
    else
        d->error = why;
    if (c->team)
        ss_deal_tell(d, rc);
    if (rc && err)
        *err = d->error;
    return rc;
}

int ss_pool_deal(struct ss_crew *c, const int *items, int n, void *answers, struct ss_error *err)
{
    struct ss_deal d = {.crew = c, .items = items, .n = n, .answers = answers, .failed = n};
    if (ss_team_rank(c->team)) {
        struct ss_relay relay = {c->pool, c->digest, c->nhere, c->workers, c->ready};
        return ss_relay_serve(&relay, n, answers, err);
    }
    d.tries = ss_calloc((size_t)n + 1, 1);
    d.todo = ss_calloc((size_t)n + 1, sizeof *d.todo);
    int rc = d.tries && d.todo ? deal(&d, err) : ss_nomem(err);
    for (int i = 0; i < c->nworkers; i++)
        c->workers[i].n = c->workers[i].rank ? 0 : c->workers[i].n;
    SS_FREE(d.back, d.given, d.home, d.follow, d.tries, d.todo);
    return rc;
}

int ss_pool_run(const struct ss_pool *pool, void *answers, struct ss_error *err)
{
    struct ss_crew *c;
    int *items = ss_calloc((size_t)pool->nitems + 1, sizeof *items);
    int rc = items ? ss_pool_open(pool, &c, err) : ss_nomem(err);
    for (int i = 0; i < pool->nitems && !rc; i++)
        items[i] = i;
    if (!rc) {
        rc = ss_pool_deal(c, items, pool->nitems, answers, err);
        ss_pool_close(c);
    }
    free(items);
    return rc;
}
