/* SPDX-License-Identifier: Apache-2.0 */
/* Homes: who works at items that share work in one process. A home belongs to the worker that takes its first item, in all lists of the
 * crew, so that homes of unlike sizes are spread as workers are free. */
#include "base/base.h"
#include "workers/deal.h"

/* Returns the index of an item's home among those of the crew; -1: no memory. */
static int index_of(struct ss_crew *c, int item)
{
    struct ss_homes *h = &c->homes;
    int i = ss_map_put(&h->at, c->pool->home(c->pool->ctx, item), h->n);
    if (i < 0 || i < h->n)
        return i;
    if (ss_grow(&h->home, &h->cap, (size_t)h->n + 1, sizeof *h->home))
        return -1;
    h->home[h->n] = (struct ss_homes_entry){.owner = -1, .next = -1};
    return h->n++;
}

int ss_homes_find(struct ss_deal *d)
{
    struct ss_crew *c = d->crew;
    d->home = ss_calloc((size_t)d->ntodo + 1, sizeof *d->home);
    d->follow = ss_calloc((size_t)d->ntodo + 1, sizeof *d->follow);
    if (!d->home || !d->follow)
        return SS_ERR_NOMEM;
    for (int i = 0; i < c->homes.n; i++)
        c->homes.home[i].next = -1;
    for (int i = 0; i < c->nworkers; i++) {
        c->workers[i].look = 0;
        c->workers[i].home = -1;
    }
    for (int i = 0; i < d->ntodo; i++) {
        int at = index_of(c, d->items[d->todo[i]]);
        if (at < 0)
            return SS_ERR_NOMEM;
        struct ss_homes_entry *h = &c->homes.home[at];
        if (h->next < 0)
            d->home[d->nhomes++] = at;
        *(h->next < 0 ? &h->next : &d->follow[h->last]) = i;
        d->follow[i] = -1;
        h->last = i;
    }
    return SS_OK;
}

/* Returns the index into todo of the first place of a home that was never dealt out, or -1. */
static int place_of(struct ss_deal *d, int home)
{
    int *next = &d->crew->homes.home[home].next;
    while (*next >= 0 && d->given[*next])
        *next = d->follow[*next];
    return *next;
}

int ss_homes_place(struct ss_deal *d, int worker)
{
    struct ss_worker *s = &d->crew->workers[worker];
    struct ss_homes_entry *homes = d->crew->homes.home;
    int i = s->home < 0 ? -1 : place_of(d, s->home);
    for (; i < 0 && s->look < d->nhomes; s->look++)
        if (homes[d->home[s->look]].owner == worker) {
            s->home = d->home[s->look];
            i = place_of(d, s->home);
        }
    for (; i < 0 && d->fresh < d->nhomes; d->fresh++)
        if (homes[d->home[d->fresh]].owner < 0) {
            s->home = d->home[d->fresh];
            homes[s->home].owner = worker;
            i = place_of(d, s->home);
        }
    if (i >= 0)
        return i;
    return d->next;
}

void ss_homes_take(struct ss_crew *c, int item, int worker)
{
    int i = c->pool->home ? index_of(c, item) : -1;
    if (i >= 0 && c->homes.home[i].owner < 0)
        c->homes.home[i].owner = worker;
}

int ss_crew_is_home(const struct ss_crew *c, uint64_t home, int worker)
{
    int i = ss_map_get(&c->homes.at, home);
    return i < 0 || c->homes.home[i].owner < 0 || c->homes.home[i].owner == worker;
}
