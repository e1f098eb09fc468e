/* SPDX-License-Identifier: Apache-2.0 */
/* Links and routes of a platform that is no template, as they are kept. */
#include "platform/foreign.h"

int ss_foreign_add_link(struct ss_foreign_reader *r, const char *name, int kind, double bandwidth,
                        double latency)
{
    struct ss_foreign *f = r->p->foreign;

    if (ss_grow(&f->links, &r->links_cap, (size_t)f->nlinks + 1, sizeof(*f->links)) != SS_OK)
        return -1;
    f->links[f->nlinks] = (struct ss_foreign_link){
        .name = strdup(name), .kind = kind, .bandwidth = bandwidth, .latency = latency};
    return f->links[f->nlinks].name != NULL ? f->nlinks++ : -1;
}

int ss_foreign_store(struct ss_foreign_reader *r, int src, int dst, const struct ss_pair_route *route)
{
    struct ss_foreign *f = r->p->foreign;
    struct ss_foreign_route *to = &f->routes[src * f->ngpus + dst];

    SS_NEED(!ss_grow(&f->pool, &f->pool_cap, f->npool + (size_t)route->n, sizeof(*f->pool)), r->err);
    to->first = (int)f->npool;
    to->nlinks = route->n;
    to->latency = route->latency;
    for (int i = 0; i < route->n; i++)
        f->pool[f->npool++] = route->link[i];
    return SS_OK;
}
