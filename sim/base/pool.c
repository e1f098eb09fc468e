/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pool.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/journal.h"
#include "base/relay.h"
#include "base/seat.h"
#include "base/team.h"

/* How often an item may end the process that works at it. */
#define TRIES 2
/* Between two looks for messages of a team. */
#define NAP_MS 1
/* Bytes of answers in a message to a team. */
#define PART ((size_t)16 << 20)
/* Workers of a process of a team, at most. */
#define SLOTS 1024

struct ss_crew {
    const struct ss_pool *pool;
    int nseats; /* 0: all is done in this process */
    int nhere;  /* the first so many are of this process */
    size_t cap;
    struct ss_seat *seats;
    struct pollfd *ready;       /* [nhere] */
    struct ss_team *team;       /* NULL: none */
    uint64_t digest;            /* of the pool and the build, the same in all processes of the team */
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
    int *back; /* places whose workers died */
    int nback;
    size_t cap_back;
    int list;    /* of a team */
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

static void put_back(struct deal *d, int at)
{
    if (ss_grow(&d->back, &d->cap_back, (size_t)d->nback + 1, sizeof *d->back)) {
        d->broken = ss_fail(&d->error, SS_ERR_NOMEM, NULL, 0, "out of memory for items");
        return;
    }
    d->back[d->nback++] = at;
}

/* Nobody is to blame. */
static void put_all_back(struct deal *d, struct ss_seat *s)
{
    d->in_flight -= s->n;
    for (; s->n > 0; s->n--)
        put_back(d, s->at[s->n - 1]);
    s->took = 0;
}

/* The item that a process died at is dealt out again, for the machine may have ended it for reasons of its own. Those that waited
 * behind it are not to blame. */
static void bury(struct deal *d, struct ss_seat *s)
{
    struct ss_error error = {0};
    int at = s->at[0];
    ss_seat_dismiss(s);
    put_all_back(d, s);
    if (++d->tries[at] < TRIES)
        return;
    ss_fail(&error, SS_ERR_ENGINE, NULL, 0, "worker processes died at item %d of %d, one after another",
            d->items[at], d->crew->pool->nitems);
    ss_hint(&error, SS_ERR_ENGINE, "this machine may be short of memory: take fewer of them");
    note_failure(d, at, SS_ERR_ENGINE, &error);
}

static void note_reply(struct deal *d, int at, int status, const struct ss_error *error)
{
    d->in_flight--;
    if (status)
        note_failure(d, at, status, error);
    else
        count_answer(d, at);
}

static void take_reply(void *ctx, struct ss_seat *s)
{
    struct deal *d = ctx;
    struct ss_reply reply;
    struct ss_error error;
    int at = s->at[0];
    if (ss_seat_read(s, d->crew->pool->size, &reply, answer_at(d, at), &error)) {
        bury(d, s);
        return;
    }
    ss_seat_next(s);
    note_reply(d, at, reply.status, &error);
}

/* ---- what a team says ---- */

static struct ss_seat *seat_of(const struct ss_crew *c, int rank, int slot)
{
    for (int i = c->nhere; i < c->nseats; i++)
        if (c->seats[i].rank == rank && c->seats[i].slot == slot)
            return &c->seats[i];
    return NULL;
}

/* Takes an item off the list of a seat: an answer may come for one that was dealt out again since, which is of no use any more. */
static int take_off(const struct deal *d, struct ss_seat *s, int item)
{
    for (int i = 0; i < s->n; i++) {
        int at = s->at[i];
        if (d->items[at] != item)
            continue;
        s->n--;
        memmove(s->at + i, s->at + i + 1, (size_t)(s->n - i) * sizeof *s->at);
        return at;
    }
    return -1;
}

static void take_answer(struct deal *d, struct ss_seat *s, const struct ss_team_message *m, const void *data,
                        size_t n)
{
    struct ss_error error;
    size_t size = d->crew->pool->size;
    int at = n == (m->status ? sizeof error : size) ? take_off(d, s, m->item) : -1;
    if (at < 0)
        return;
    memcpy(m->status ? (void *)&error : answer_at(d, at), data, n);
    s->took = m->took;
    note_reply(d, at, m->status, &error);
}

static void take_loss(struct deal *d, struct ss_seat *s, int item)
{
    if (s->n > 0 && d->items[s->at[0]] == item) {
        bury(d, s);
        return;
    }
    int at = take_off(d, s, item);
    if (at >= 0) {
        d->in_flight--;
        put_back(d, at);
    }
}

/* Seats of a process that walks with us. */
static void welcome(struct deal *d, int rank, const struct ss_team_message *m, const void *data, size_t n)
{
    struct ss_crew *c = d->crew;
    struct ss_team_ready ready;
    int slots = m->status > SLOTS ? SLOTS : m->status;
    memcpy(&ready, data, n < sizeof ready ? n : sizeof ready);
    if (n < sizeof ready || ready.digest != c->digest) {
        d->broken =
            ss_fail(&d->error, SS_ERR_INPUT, NULL, 0,
                    "process %d of the team has another build of stepsim, other words or other files", rank);
        ss_hint(&d->error, SS_ERR_INPUT,
                "files must be the same on all machines; stdin is only the first one's");
        return;
    }
    for (int slot = 0; slot < slots; slot++) {
        if (seat_of(c, rank, slot))
            continue;
        if (ss_grow(&c->seats, &c->cap, (size_t)c->nseats + 1, sizeof *c->seats))
            return; /* those that there are do */
        c->seats[c->nseats++] = (struct ss_seat){.rank = rank, .slot = slot};
    }
    for (int i = c->nhere; i < c->nseats; i++)
        if (c->seats[i].rank == rank)
            c->seats[i].open = 1;
}

static void take_messages(struct deal *d)
{
    struct ss_crew *c = d->crew;
    struct ss_team_message m;
    const void *data;
    size_t n;
    int from;
    while (!d->broken && ss_team_take(c->team, &from, &m, &data, &n)) {
        struct ss_seat *s = m.list == d->list ? seat_of(c, from, m.slot) : NULL;
        if (m.kind == SS_TEAM_READY && m.list == d->list)
            welcome(d, from, &m, data, n);
        else if (s && m.kind == SS_TEAM_ANSWER)
            take_answer(d, s, &m, data, n);
        else if (s && m.kind == SS_TEAM_LOST)
            take_loss(d, s, m.item);
    }
    for (int i = c->nhere; i < c->nseats; i++)
        if (c->seats[i].open && ss_team_is_dead(c->team, c->seats[i].rank)) {
            put_all_back(d, &c->seats[i]);
            c->seats[i].open = 0;
        }
}

/* All answers, or the error, to all others: they go on from them as this process does. */
static void tell_team(const struct deal *d, int rc)
{
    const struct ss_crew *c = d->crew;
    size_t size = c->pool->size, most = PART / size + 1;
    struct ss_team_message m = {.kind = SS_TEAM_DONE, .list = d->list, .status = rc};
    for (int r = 1; r < ss_team_size(c->team); r++) {
        for (m.item = 0; !rc && d->n - m.item > (int)most; m.item += (int)most)
            ss_team_send(c->team, r, &m, answer_at(d, m.item), most * size);
        m.slot = 1;
        if (rc)
            ss_team_send(c->team, r, &m, &d->error, sizeof d->error);
        else
            ss_team_send(c->team, r, &m, answer_at(d, m.item), (size_t)(d->n - m.item) * size);
        m.slot = m.item = 0;
    }
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
    const struct ss_crew *c = d->crew;
    const struct ss_team_message m = {
        .kind = SS_TEAM_GIVE, .list = d->list, .slot = s->slot, .item = d->items[at]};
    if (!s->rank && !s->pid && ss_seat_hire(c->pool, c->seats, c->nhere, s))
        return errno;
    if (d->nback)
        d->nback--;
    else
        d->next++;
    d->in_flight++;
    if (s->rank) {
        ss_seat_push(s, at);
        ss_team_send(c->team, s->rank, &m, NULL, 0);
    } else {
        ss_seat_give(s, at, d->items[at]);
    }
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
            if (s->n > depth || s->n >= ss_seat_depth(s) || (s->rank && !s->open))
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
    struct ss_crew *c = d->crew;
    int rc = SS_OK;
    while (!rc && !d->broken) {
        if (c->team)
            take_messages(d);
        rc = d->broken ? SS_OK : give_all(d, err);
        if (rc || d->broken || d->in_flight == 0)
            break;
        ss_relay_poll(c->seats, c->ready, c->nhere, c->team ? NAP_MS : -1, take_reply, d);
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

/* What must be the same in all processes of a team. */
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

int ss_pool_open(const struct ss_pool *pool, struct ss_crew **out, struct ss_error *err)
{
    struct ss_crew *c = ss_calloc(1, sizeof *c);
    struct ss_team *team = pool->workers.team;
    int n = pool->workers.n > 0 ? pool->workers.n : team ? 1 : ss_pool_cores();
    if (!c)
        return no_memory(pool, err);
    n = n > SS_WORKERS_MAX ? SS_WORKERS_MAX : n > pool->nitems ? pool->nitems : n;
    c->pool = pool;
    c->team = team;
    c->nhere = c->nseats = n > 1 || team ? n : 0;
    c->cap = (size_t)c->nhere + 1;
    c->seats = ss_calloc(c->cap, sizeof *c->seats);
    c->ready = ss_calloc(c->cap, sizeof *c->ready);
    int rc = c->seats && c->ready ? open_journal(c, err) : no_memory(pool, err);
    if (rc) {
        ss_pool_close(c);
        return rc;
    }
    c->digest = digest_of(pool);
    fflush(NULL); /* else a worker that starts SimGrid would write our buffers a second time */
    *out = c;
    return SS_OK;
}

void ss_pool_close(struct ss_crew *c)
{
    if (!c)
        return;
    for (int i = 0; c->seats && i < c->nhere; i++)
        ss_seat_dismiss(&c->seats[i]);
    ss_journal_close(c->journal);
    free(c->seats);
    free(c->ready);
    free(c);
}

static int deal(struct deal *d, struct ss_error *err)
{
    struct ss_crew *c = d->crew;
    struct ss_error why = {0};
    if (c->team)
        d->list = ss_team_next_list(c->team);
    for (int i = c->nhere; i < c->nseats; i++)
        c->seats[i].open = 0; /* until it says that it is there too */
    int rc = read_journal(d, &why);
    if (!rc)
        rc = c->nseats ? run_seats(d, &why) : run_here(d);
    if (!rc && (d->broken || d->failed < d->n))
        rc = d->broken ? d->broken : d->status;
    else
        d->error = why;
    if (c->team)
        tell_team(d, rc);
    if (rc && err)
        *err = d->error;
    return rc;
}

int ss_pool_deal(struct ss_crew *c, const int *items, int n, void *answers, struct ss_error *err)
{
    struct deal d = {.crew = c, .items = items, .n = n, .answers = answers, .failed = n};
    if (ss_team_rank(c->team)) {
        struct ss_relay relay = {c->pool, c->digest, c->nhere, c->seats, c->ready};
        return ss_relay_serve(&relay, n, answers, err);
    }
    d.tries = ss_calloc((size_t)n + 1, 1);
    d.todo = ss_calloc((size_t)n + 1, sizeof *d.todo);
    int rc = d.tries && d.todo ? deal(&d, err) : no_memory(c->pool, err);
    for (int i = 0; i < c->nseats; i++)
        c->seats[i].n = c->seats[i].rank ? 0 : c->seats[i].n;
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
