/* SPDX-License-Identifier: Apache-2.0 */
/* Links of the fabric that cannot hold any flow below what its ends allow. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "plan/routes.h"
#include "stepsim/platform.h"

static int no_memory(const struct ss_plan *plan, struct ss_error *err)
{
    return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for the flows of %d ranks", plan->world_size);
}

/* Pairs (link, end of a route that crosses it), each once. */
struct pair_set {
    uint64_t *key; /* 0: free */
    size_t mask;
};

static int add_pair(struct pair_set *s, int link, int end)
{
    uint64_t key = ((uint64_t)(unsigned)link << 32 | (unsigned)end) + 1;
    size_t at = (size_t)(key * 0x9e3779b97f4a7c15ULL >> 20) & s->mask;
    for (; s->key[at]; at = (at + 1) & s->mask)
        if (s->key[at] == key)
            return 0;
    s->key[at] = key;
    return 1;
}

/* What the ends of the routes that cross a link carry together: no more can come to it. */
struct feed {
    double sources, targets; /* bytes/s */
};

static size_t count_inner(const struct ss_plan *plan, const struct ss_routes *r)
{
    size_t n = 0, flows = (size_t)plan->world_size * (size_t)r->nkinds;
    for (size_t i = 0; i < flows; i++)
        if (r->first[i + 1] - r->first[i] > 2)
            n += (size_t)(r->first[i + 1] - r->first[i] - 2);
    return n;
}

static int inner(const struct ss_plan *plan, const struct ss_routes *r, int link)
{
    double bandwidth;
    int kind;
    if (link >= r->nplatform)
        return 0;
    ss_platform_link_facts(plan->platform, link, &kind, &bandwidth);
    return kind == SS_LINK_UPLINK || kind == SS_LINK_OTHER;
}

/* A link inside the fabric whose bandwidth is no less than that of all ends before it (or behind it) never
 * holds a flow below what these ends allow: it is left out. */
int ss_routes_drop_links(const struct ss_plan *plan, struct ss_routes *r, struct ss_error *err)
{
    size_t n = count_inner(plan, r), flows = (size_t)plan->world_size * (size_t)r->nkinds, room = 64;
    r->kept = malloc((size_t)r->nlinks);
    if (!r->kept)
        return no_memory(plan, err);
    memset(r->kept, 1, (size_t)r->nlinks);
    if (n == 0)
        return SS_OK;
    while (room < 4 * n)
        room *= 2;
    struct pair_set set = {ss_calloc(room, sizeof *set.key), room - 1};
    struct feed *feed = ss_calloc((size_t)r->nlinks, sizeof *feed);
    if (!set.key || !feed) {
        free(set.key);
        free(feed);
        return no_memory(plan, err);
    }
    for (size_t i = 0; i < flows; i++)
        for (int j = r->first[i] + 1; j < r->first[i + 1] - 1; j++) {
            int link = r->pool[j], source = r->pool[r->first[i]], target = r->pool[r->first[i + 1] - 1];
            if (!inner(plan, r, link))
                continue;
            if (add_pair(&set, link, source))
                feed[link].sources += r->bandwidth[source];
            if (add_pair(&set, link, target))
                feed[link].targets += r->bandwidth[target];
        }
    for (int l = 0; l < r->nplatform; l++)
        if (feed[l].sources > 0 && fmin(feed[l].sources, feed[l].targets) <= r->bandwidth[l] * (1 + 1e-12))
            r->kept[l] = 0;
    free(set.key);
    free(feed);
    return SS_OK;
}
