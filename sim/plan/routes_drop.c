/* SPDX-License-Identifier: Apache-2.0 */
/* Links of the fabric that cannot hold any flow below what its ends allow. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "plan/routes.h"

/* A route over a link inside the fabric: places in pool of the link itself and of the ends of the route beside it. */
struct crossing {
    int at, source, target;
};

/* All of them, those of one link together; what is told of many flows is looked up in the order of links. */
struct crossings {
    int *first; /* [nlinks + 1] */
    struct crossing *all;
    int *seen; /* [links of the platform, all]: the last link + 1 of which it was an end */
};

/* Whether any route has links between its first and its last. */
static int has_inner(const struct ss_routes *r)
{
    size_t flows = (size_t)r->symmetry.nranks * (size_t)r->nkinds;
    for (size_t i = 0; i < flows; i++)
        if (r->first[i + 1] - r->first[i] > 2)
            return 1;
    return 0;
}

/* Place in pool of the nearest link before (step -1) or behind (1) the j-th of a route that is not inside the fabric, or else
 * of the route's end. */
static int end_of(const struct ss_routes *r, size_t flow, int j, int step)
{
    int end = step < 0 ? r->first[flow] : r->first[flow + 1] - 1;
    for (j += step; j != end && r->inner[r->pool[j]]; j += step)
        ;
    return r->inner[r->pool[j]] ? end : j;
}

/* Which end it is of those of all flows over the link that stands for the j-th. */
static int end_beside(const struct ss_routes *r, int end, int j)
{
    return ss_symmetry_link_beside(&r->symmetry, ss_routes_link_at(r, end), ss_routes_link_at(r, j));
}

/* Counts the crossings of each link in `first`, or, where there is room for them, puts them in their places. */
static void walk_crossings(const struct ss_routes *r, struct crossings *c)
{
    size_t flows = (size_t)r->symmetry.nranks * (size_t)r->nkinds;
    for (size_t i = 0; i < flows; i++)
        for (int j = r->first[i] + 1; j < r->first[i + 1] - 1; j++) {
            if (!r->inner[r->pool[j]])
                continue;
            int *place = &c->first[r->pool[j]];
            if (c->all)
                c->all[*place] = (struct crossing){j, end_of(r, i, j, -1), end_of(r, i, j, 1)};
            ++*place;
        }
}

/* 0, or -1 out of memory. */
static int find_crossings(const struct ss_plan *plan, const struct ss_routes *r, struct crossings *c)
{
    int n = 0;
    c->first = ss_calloc((size_t)r->nlinks + 1, sizeof *c->first);
    c->seen = ss_calloc((size_t)ss_routes_all_links(plan, r), sizeof *c->seen);
    if (!c->first || !c->seen)
        return -1;
    walk_crossings(r, c);
    for (int l = 0; l <= r->nlinks; l++) {
        int count = c->first[l];
        c->first[l] = n;
        n += count;
    }
    c->all = malloc(((size_t)n + 1) * sizeof *c->all);
    if (!c->all)
        return -1;
    walk_crossings(r, c);
    memmove(c->first + 1, c->first, (size_t)r->nlinks * sizeof *c->first); /* each is at the next one's */
    c->first[0] = 0;
    return 0;
}

/* Bandwidth of the end, or 0 where it was seen at this link. */
static double new_end(const struct ss_routes *r, struct crossings *c, const struct crossing *x, int end)
{
    int *seen = &c->seen[end_beside(r, end, x->at)], link = r->pool[x->at];
    if (*seen == link + 1)
        return 0;
    *seen = link + 1;
    return r->bandwidth[r->pool[end]];
}

/* Whether the ends of the routes that cross a link, each counted once, bring no more to it, or take no more from it, than it
 * carries. */
static int is_wide(const struct ss_routes *r, struct crossings *c, int link)
{
    double sources = 0, targets = 0;
    for (int i = c->first[link]; i < c->first[link + 1]; i++) {
        sources += new_end(r, c, &c->all[i], c->all[i].source);
        targets += new_end(r, c, &c->all[i], c->all[i].target);
    }
    return sources > 0 && fmin(sources, targets) <= r->bandwidth[link] * (1 + 1e-12);
}

/* A link inside the fabric whose bandwidth is no less than that of all ends before it (or behind it) never
 * holds a flow below what these ends allow: it is left out, unless others may use it too (keep). */
int ss_routes_drop_links(const struct ss_plan *plan, struct ss_routes *r, int keep, struct ss_error *err)
{
    r->kept = malloc((size_t)r->nlinks);
    if (!r->kept)
        return ss_nomem(err);
    memset(r->kept, 1, (size_t)r->nlinks);
    if (keep || !has_inner(r))
        return SS_OK;
    struct crossings c = {0};
    int failed = find_crossings(plan, r, &c);
    for (int l = 0; l < r->nlinks && !failed; l++)
        r->kept[l] = !is_wide(r, &c, l);
    free(c.first);
    free(c.all);
    free(c.seen);
    return failed ? ss_nomem(err) : SS_OK;
}
