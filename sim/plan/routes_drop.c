/* SPDX-License-Identifier: Apache-2.0 */
/* Links of the fabric that cannot hold any flow below what its ends allow. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/map.h"
#include "plan/routes.h"

static int no_memory(const struct ss_plan *plan, struct ss_error *err)
{
    return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for the flows of %d ranks", plan->world_size);
}

/* Whether this pair (link, end of a route that crosses it) is a new one; -1 out of memory. */
static int add_pair(struct ss_map *pairs, int link, int end)
{
    size_t before = pairs->n;
    if (ss_map_put(pairs, (uint64_t)(unsigned)link << 32 | (unsigned)end, 0) < 0)
        return -1;
    return pairs->n > before;
}

/* What the ends of the routes that cross a link carry together: no more can come to it. */
struct feed {
    double sources, targets; /* bytes/s */
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

/* Adds what the ends of all routes can bring to the inner links that they cross; each end of a link once. */
static int sum_feeds(const struct ss_routes *r, struct ss_map *pairs, struct feed *feed)
{
    size_t flows = (size_t)r->symmetry.nranks * (size_t)r->nkinds;
    for (size_t i = 0; i < flows; i++)
        for (int j = r->first[i] + 1; j < r->first[i + 1] - 1; j++) {
            int link = r->pool[j];
            if (!r->inner[link])
                continue;
            int source = end_of(r, i, j, -1), target = end_of(r, i, j, 1);
            int from = add_pair(pairs, link, end_beside(r, source, j));
            if (from > 0)
                feed[link].sources += r->bandwidth[r->pool[source]];
            int to = from < 0 ? -1 : add_pair(pairs, link, end_beside(r, target, j));
            if (to > 0)
                feed[link].targets += r->bandwidth[r->pool[target]];
            if (to < 0)
                return -1;
        }
    return 0;
}

/* A link inside the fabric whose bandwidth is no less than that of all ends before it (or behind it) never
 * holds a flow below what these ends allow: it is left out, unless others may use it too (keep). */
int ss_routes_drop_links(const struct ss_plan *plan, struct ss_routes *r, int keep, struct ss_error *err)
{
    r->kept = malloc((size_t)r->nlinks);
    if (!r->kept)
        return no_memory(plan, err);
    memset(r->kept, 1, (size_t)r->nlinks);
    if (keep || !has_inner(r))
        return SS_OK;
    struct ss_map pairs = {0};
    struct feed *feed = ss_calloc((size_t)r->nlinks, sizeof *feed);
    int failed = !feed || sum_feeds(r, &pairs, feed);
    for (int l = 0; l < r->nlinks && !failed; l++)
        if (feed[l].sources > 0 && fmin(feed[l].sources, feed[l].targets) <= r->bandwidth[l] * (1 + 1e-12))
            r->kept[l] = 0;
    ss_map_free(&pairs);
    free(feed);
    return failed ? no_memory(plan, err) : SS_OK;
}
