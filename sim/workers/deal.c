/* SPDX-License-Identifier: Apache-2.0 */
#include "workers/deal.h"

#include "base/base.h"

/* An item may end the process that works at it this often. */
#define TRIES 2

void *ss_deal_answer(const struct ss_deal *d, int at)
{
    const struct ss_pool *pool = d->crew->pool;
    return pool->used ? ((void **)d->answers)[at] : (char *)d->answers + (size_t)at * pool->size;
}

void *ss_deal_room(struct ss_deal *d, int at, size_t bytes)
{
    void **block = (void **)d->answers + at;
    if (!d->crew->pool->used)
        return ss_deal_answer(d, at);
    free(*block);
    *block = malloc(bytes);
    if (!*block && !d->broken)
        d->broken = ss_nomem(&d->error);
    return *block;
}

void ss_deal_fail(struct ss_deal *d, int at, int status, const struct ss_error *error)
{
    if (at >= d->failed || d->broken)
        return;
    d->failed = at;
    d->status = status;
    d->error = *error;
}

void ss_deal_count(struct ss_deal *d, int at)
{
    const struct ss_pool *pool = d->crew->pool;
    struct ss_journal *journal = d->crew->journal;
    if (journal && !d->broken)
        d->broken = ss_journal_put(journal, d->items[at], ss_deal_answer(d, at), &d->error);
    d->done++;
    if (pool->on_answer)
        pool->on_answer(pool->on_answer_ctx, d->done);
}

void ss_deal_put_back(struct ss_deal *d, int at)
{
    if (ss_grow(&d->back, &d->cap_back, (size_t)d->nback + 1, sizeof *d->back)) {
        d->broken = ss_nomem(&d->error);
        return;
    }
    d->back[d->nback++] = at;
}

void ss_deal_put_all_back(struct ss_deal *d, struct ss_worker *s)
{
    for (; s->n > 0; s->n--) {
        int at = s->at[s->n - 1];
        d->in_flight -= at >= 0;
        if (at >= 0)
            ss_deal_put_back(d, at);
        else
            d->crew->ahead.entry[-1 - at].state = SS_AHEAD_GONE;
    }
    s->took = 0;
}

void ss_deal_bury(struct ss_deal *d, struct ss_worker *s)
{
    struct ss_error error = {0};
    int at = s->at[0];
    ss_worker_dismiss(s);
    ss_deal_put_all_back(d, s);
    if (at < 0 || ++d->tries[at] < TRIES)
        return;
    ss_fail(&error, SS_ERR_ENGINE, NULL, 0, "worker processes died at item %d of %d, one after another",
            d->items[at], d->crew->pool->nitems);
    ss_hint(&error, SS_ERR_ENGINE, "this machine may be short of memory: use fewer workers");
    ss_deal_fail(d, at, SS_ERR_ENGINE, &error);
}

void ss_deal_note(struct ss_deal *d, int at, int status, const struct ss_error *error)
{
    d->in_flight--;
    if (status)
        ss_deal_fail(d, at, status, error);
    else
        ss_deal_count(d, at);
}
