/* SPDX-License-Identifier: Apache-2.0 */
/* Drops links of the fabric that cannot hold a flow below what its ends allow. */
#include "base/base.h"
#include "base/map.h"
#include "plan/routes.h"

/* A route over a link inside the fabric: the places in pool of the link and of the route's ends on both
 * sides. */
struct crossing {
    int at, source, target;
};

/* All crossings, sorted by link; scattered data of flows is looked up in the order of links. */
struct crossings {
    int *first; /* [nlinks + 1] */
    struct crossing *all;
    struct first_end {
        int by,
            end; /* last link + 1 that had such an end, and its first one, by its number on the platform */
    } * ends;    /* [nlinks] */
    struct ss_map seen; /* its further ends: last link + 1 that had it, by number on the platform */
    int failed;         /* 1: out of memory */
};

/* Returns whether any route has links between its first and its last. */
static int has_inner(const struct ss_routes *r)
{
    size_t flows = (size_t)r->symmetry.nranks * (size_t)r->nkinds;
    for (size_t i = 0; i < flows; i++)
        if (r->first[i + 1] - r->first[i] > 2)
            return 1;
    return 0;
}

/* Returns the place in pool of the nearest link before (step -1) or behind (1) the j-th link of a route that
 * is not inside the fabric, or else the route's end. */
static int end_of(const struct ss_routes *r, size_t flow, int j, int step)
{
    int end = step < 0 ? r->first[flow] : r->first[flow + 1] - 1;
    for (j += step; j != end && r->inner[r->pool[j]]; j += step)
        ;
    return r->inner[r->pool[j]] ? end : j;
}

/* Returns the end's counterpart among the flows over the link that stands for the j-th. */
static int end_beside(const struct ss_routes *r, int end, int j)
{
    return ss_symmetry_link_beside(&r->symmetry, ss_routes_link_at(r, end), ss_routes_link_at(r, j));
}

/* Counts the crossings of each link in `first` or, where there is room for them, stores them. */
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

/* Returns 0, or -1: out of memory. */
static int find_crossings(const struct ss_routes *r, struct crossings *c)
{
    int n = 0;
    c->first = ss_calloc((size_t)r->nlinks + 1, sizeof *c->first);
    c->ends = ss_calloc((size_t)r->nlinks + 1, sizeof *c->ends);
    if (!c->first || !c->ends)
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
    /* each start lies at the next link's place */
    memmove(c->first + 1, c->first, (size_t)r->nlinks * sizeof *c->first);
    c->first[0] = 0;
    return 0;
}

/* Returns whether this link has not seen the end yet. Ends that one link stands for are seldom several. */
static int is_new(struct crossings *c, struct first_end *first, int end, int by)
{
    if (first->by != by) {
        *first = (struct first_end){by, end};
        return 1;
    }
    if (first->end == end)
        return 0;
    size_t ends = c->seen.n;
    int seen = ss_map_put(&c->seen, (uint64_t)end, by);
    if (seen == by && c->seen.n == ends)
        return 0;
    c->failed |= seen < 0 || (seen != by && ss_map_add(&c->seen, (uint64_t)end, by - seen) < 0);
    return 1;
}

/* Returns the bandwidth of the end, or 0 where this link has seen it. */
static double new_end(const struct ss_routes *r, struct crossings *c, const struct crossing *x, int end)
{
    int at = r->pool[end];
    return is_new(c, &c->ends[at], end_beside(r, end, x->at), r->pool[x->at] + 1) ? r->bandwidth[at] : 0;
}

/* Returns whether the ends of the routes over a link, each counted once, bring no more to it, or take no more
 * from it, than it carries. */
static int is_wide(const struct ss_routes *r, struct crossings *c, int link)
{
    double sources = 0, targets = 0;
    for (int i = c->first[link]; i < c->first[link + 1]; i++) {
        sources += new_end(r, c, &c->all[i], c->all[i].source);
        targets += new_end(r, c, &c->all[i], c->all[i].target);
    }
    return sources > 0 && fmin(sources, targets) <= r->bandwidth[link] * (1 + 1e-12);
}

/* Leaves out a link inside the fabric whose bandwidth is at least that of all ends before it (or behind it):
 * it never holds a flow below what these ends allow. With `keep` others may use the link, so it stays. */
int ss_routes_drop_links(struct ss_routes *r, int keep, struct ss_error *err)
{
    r->kept = malloc((size_t)r->nlinks);
    SS_NEED(r->kept, err);
    memset(r->kept, 1, (size_t)r->nlinks);
    if (keep || !has_inner(r))
        return SS_OK;
    struct crossings c = {0};
    c.failed = find_crossings(r, &c);
    for (int l = 0; l < r->nlinks && !c.failed; l++)
        r->kept[l] = !is_wide(r, &c, l);
    SS_FREE(c.first, c.all, c.ends);
    ss_map_free(&c.seen);
    return c.failed ? ss_nomem(err) : SS_OK;
}
