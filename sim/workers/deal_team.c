/* SPDX-License-Identifier: Apache-2.0 */
/* Dealing to the other processes of a team. */
#include "base/base.h"
#include "workers/deal.h"

/* Bytes of answers in one message to the team. */
#define PART ((size_t)16 << 20)
/* Most workers of one process of a team. */
#define SLOTS 1024

static struct ss_worker *worker_of(const struct ss_crew *c, int rank, int slot)
{
    for (int i = c->nhere; i < c->nworkers; i++)
        if (c->workers[i].rank == rank && c->workers[i].slot == slot)
            return &c->workers[i];
    return NULL;
}

/* Takes an item off a worker's list and returns its place. An item that was dealt out again since is no
 * longer on the list, and its answer is of no use. */
static int take_off(const struct ss_deal *d, struct ss_worker *s, int item)
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

static void take_answer(struct ss_deal *d, struct ss_worker *s, const struct ss_team_message *m,
                        const void *data, size_t n)
{
    struct ss_error error;
    const struct ss_pool *pool = d->crew->pool;
    int whole = m->status ? n == sizeof error : n == pool->size || (pool->used && n < pool->size);
    int at = whole ? take_off(d, s, m->item) : -1;
    void *answer = at < 0 ? NULL : m->status ? &error : ss_deal_room(d, at, n);
    if (!answer)
        return;
    memcpy(answer, data, n);
    s->took = m->took;
    ss_deal_note(d, at, m->status, &error);
}

static void take_loss(struct ss_deal *d, struct ss_worker *s, int item)
{
    if (s->n > 0 && d->items[s->at[0]] == item) {
        ss_deal_bury(d, s);
        return;
    }
    int at = take_off(d, s, item);
    if (at >= 0) {
        d->in_flight--;
        ss_deal_put_back(d, at);
    }
}

/* Takes in the workers of a process that works at this list. */
static void welcome(struct ss_deal *d, int rank, const struct ss_team_message *m, const void *data, size_t n)
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
        if (worker_of(c, rank, slot))
            continue;
        if (ss_grow(&c->workers, &c->cap, (size_t)c->nworkers + 1, sizeof *c->workers))
            return; /* the workers that exist suffice */
        c->workers[c->nworkers++] = (struct ss_worker){.rank = rank, .slot = slot, .home = -1};
    }
    for (int i = 0; i < c->nworkers; i++)
        c->workers[i].open |= c->workers[i].rank == rank;
}

void ss_deal_hear(struct ss_deal *d)
{
    struct ss_crew *c = d->crew;
    struct ss_team_message m;
    const void *data;
    size_t n;
    int from;
    while (!d->broken && ss_team_take(c->team, &from, &m, &data, &n)) {
        struct ss_worker *s = m.list == d->list ? worker_of(c, from, m.slot) : NULL;
        if (m.kind == SS_TEAM_READY && m.list == d->list)
            welcome(d, from, &m, data, n);
        else if (s && m.kind == SS_TEAM_ANSWER)
            take_answer(d, s, &m, data, n);
        else if (s && m.kind == SS_TEAM_LOST)
            take_loss(d, s, m.item);
    }
    for (int i = c->nhere; i < c->nworkers; i++)
        if (c->workers[i].open && ss_team_is_dead(c->team, c->workers[i].rank)) {
            ss_deal_put_all_back(d, &c->workers[i]);
            c->workers[i].open = 0;
        }
}

/* Puts answers of many lengths into data[size], from place *at on, each behind its length. Returns how many bytes these are. */
static size_t pack(const struct ss_deal *d, int *at, char *data, size_t size)
{
    size_t n = 0;
    for (; *at < d->n; ++*at) {
        const void *answer = ss_deal_answer(d, *at);
        size_t bytes = d->crew->pool->used(answer);
        if (n + sizeof bytes + bytes > size)
            break;
        memcpy(data + n, &bytes, sizeof bytes);
        memcpy(data + n + sizeof bytes, answer, bytes);
        n += sizeof bytes + bytes;
    }
    return n;
}

/* Sends all answers of many lengths. Returns 0 without memory. */
static int tell_blocks(const struct ss_deal *d)
{
    const struct ss_crew *c = d->crew;
    size_t size = PART + c->pool->size + sizeof size;
    struct ss_team_message m = {.kind = SS_TEAM_DONE, .list = d->list};
    char *data = malloc(size);
    for (int at = 0; data && !m.slot; m.item = at) {
        size_t n = pack(d, &at, data, size);
        m.slot = at == d->n;
        ss_team_tell(c->team, &m, data, n);
    }
    free(data);
    return data != NULL;
}

void ss_deal_tell(struct ss_deal *d, int rc)
{
    if (!rc && d->crew->pool->used && tell_blocks(d))
        return;
    if (!rc && d->crew->pool->used)
        rc = ss_nomem(&d->error);
    const struct ss_crew *c = d->crew;
    size_t size = c->pool->size, most = PART / size + 1;
    struct ss_team_message m = {.kind = SS_TEAM_DONE, .list = d->list, .status = rc};
    for (; !rc && d->n - m.item > (int)most; m.item += (int)most)
        ss_team_tell(c->team, &m, ss_deal_answer(d, m.item), most * size);
    m.slot = 1;
    if (rc)
        ss_team_tell(c->team, &m, &d->error, sizeof d->error);
    else
        ss_team_tell(c->team, &m, ss_deal_answer(d, m.item), (size_t)(d->n - m.item) * size);
}
