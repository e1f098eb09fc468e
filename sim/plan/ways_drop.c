/* SPDX-License-Identifier: Apache-2.0 */
/* Links of the fabric that cannot hold any flow below what its ends allow. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "plan/ways.h"

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

static size_t count_inner(const struct ss_plan *plan, const struct ss_ways *w)
{
    size_t n = 0, ways = (size_t)plan->world_size * (size_t)w->nkinds;
    for (size_t i = 0; i < ways; i++)
        if (w->first[i + 1] - w->first[i] > 2)
            n += (size_t)(w->first[i + 1] - w->first[i] - 2);
    return n;
}

static int inner(const struct ss_plan *plan, const struct ss_ways *w, int link)
{
    double bandwidth;
    int kind;
    if (link >= w->nplatform)
        return 0;
    ss_platform_link_facts(plan->platform, link, &kind, &bandwidth);
    return kind == SS_LINK_UPLINK || kind == SS_LINK_OTHER;
}

/* A link inside the fabric whose bandwidth is no less than that of all ends before it (or behind it) never
 * holds a flow below what these ends allow: it is left out. */
int ss_ways_drop_links(const struct ss_plan *plan, struct ss_ways *w, struct ss_error *err)
{
    size_t n = count_inner(plan, w), ways = (size_t)plan->world_size * (size_t)w->nkinds, room = 64;
    w->kept = malloc((size_t)w->nlinks);
    if (!w->kept)
        return no_memory(plan, err);
    memset(w->kept, 1, (size_t)w->nlinks);
    if (n == 0)
        return SS_OK;
    while (room < 4 * n)
        room *= 2;
    struct pair_set set = {ss_calloc(room, sizeof *set.key), room - 1};
    struct feed *feed = ss_calloc((size_t)w->nlinks, sizeof *feed);
    if (!set.key || !feed) {
        free(set.key);
        free(feed);
        return no_memory(plan, err);
    }
    for (size_t i = 0; i < ways; i++)
        for (int j = w->first[i] + 1; j < w->first[i + 1] - 1; j++) {
            int link = w->pool[j], source = w->pool[w->first[i]], target = w->pool[w->first[i + 1] - 1];
            if (!inner(plan, w, link))
                continue;
            if (add_pair(&set, link, source))
                feed[link].sources += w->bandwidth[source];
            if (add_pair(&set, link, target))
                feed[link].targets += w->bandwidth[target];
        }
    for (int l = 0; l < w->nplatform; l++)
        if (feed[l].sources > 0 && fmin(feed[l].sources, feed[l].targets) <= w->bandwidth[l] * (1 + 1e-12))
            w->kept[l] = 0;
    free(set.key);
    free(feed);
    return SS_OK;
}
