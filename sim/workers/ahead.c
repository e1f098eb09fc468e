/* SPDX-License-Identifier: Apache-2.0 */
/* Items that workers begin before a list asks for them, so that nobody idles while the last items of a list are worked at. */
#include "base/base.h"
#include "workers/deal.h"

/* Returns the index of the item of `ahead`, or -1. */
static int find(const struct ss_ahead *ahead, int item)
{
    return ss_map_get(&ahead->at, (uint64_t)item);
}

/* Makes an entry for an item, or finds the one whose answer is gone. Returns its index, or -1: it needs none, or there is no
 * memory. */
static int entry_of(struct ss_ahead *ahead, int item)
{
    int i = find(ahead, item);
    if (i >= 0)
        return ahead->entry[i].state == SS_AHEAD_GONE ? i : -1;
    if (ss_grow(&ahead->entry, &ahead->cap, (size_t)ahead->n + 1, sizeof *ahead->entry) ||
        ss_map_put(&ahead->at, (uint64_t)item, ahead->n) < 0)
        return -1;
    ahead->entry[ahead->n] = (struct ss_ahead_entry){.item = item};
    return ahead->n++;
}

int ss_ahead_give(struct ss_deal *d, struct ss_worker *s)
{
    const struct ss_pool *pool = d->crew->pool;
    struct ss_ahead *ahead = &d->crew->ahead;
    int worker = (int)(s - d->crew->workers);
    for (int item; pool->ahead && (item = pool->ahead(pool->ctx, worker)) >= 0;) {
        int i = entry_of(ahead, item);
        if (i < 0)
            continue;
        if (!s->pid && ss_worker_hire(pool, s))
            return 0;
        ahead->entry[i].state = SS_AHEAD_BEGUN;
        ss_homes_take(d->crew, item, worker);
        ss_worker_give(s, -1 - i, item);
        return 1;
    }
    return 0;
}

int ss_ahead_take(struct ss_crew *c, struct ss_worker *s, const struct ss_reply *reply)
{
    const struct ss_pool *pool = c->pool;
    struct ss_ahead_entry *e = &c->ahead.entry[-1 - s->at[0]];
    void *answer = reply->status ? NULL : malloc(reply->bytes);
    e->state = SS_AHEAD_GONE;
    if (reply->status) /* whoever asks for it gets the error */
        return 0;
    if (!answer || ss_worker_read_answer(s, answer, reply->bytes)) {
        free(answer);
        return -1;
    }
    e->answer = answer;
    e->state = SS_AHEAD_ANSWERED;
    if (pool->on_item)
        pool->on_item(pool->ctx, e->item, answer);
    return 0;
}

/* Returns whether a worker is at the entry; its answer is then that at a place of the list. */
static int take_over(struct ss_deal *d, int entry, int at)
{
    for (int i = 0; i < d->crew->nworkers; i++) {
        struct ss_worker *s = &d->crew->workers[i];
        for (int k = 0; k < s->n; k++)
            if (s->at[k] == -1 - entry) {
                s->at[k] = at;
                return 1;
            }
    }
    return 0;
}

void ss_ahead_claim(struct ss_deal *d)
{
    struct ss_ahead *ahead = &d->crew->ahead;
    int kept = 0;
    for (int k = 0; k < d->ntodo && d->crew->pool->ahead; k++) {
        int at = d->todo[k], fresh = entry_of(ahead, d->items[at]), i = find(ahead, d->items[at]);
        struct ss_ahead_entry none = {0}, *e = i >= 0 ? &ahead->entry[i] : &none;
        if (fresh < 0 && e->state == SS_AHEAD_ANSWERED) {
            memcpy(ss_deal_answer(d, at), e->answer, d->crew->pool->size);
            free(e->answer);
            ss_deal_count(d, at);
        } else if (fresh < 0 && e->state == SS_AHEAD_BEGUN && take_over(d, i, at)) {
            d->in_flight++;
        } else {
            d->todo[kept++] = at;
        }
        e->state = SS_AHEAD_ASKED;
        e->answer = NULL;
    }
    d->ntodo = d->crew->pool->ahead ? kept : d->ntodo;
}

void ss_ahead_free(struct ss_ahead *ahead)
{
    for (int i = 0; i < ahead->n; i++)
        free(ahead->entry[i].answer);
    free(ahead->entry);
    ss_map_free(&ahead->at);
}
