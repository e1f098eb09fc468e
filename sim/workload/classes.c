/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classes: the coarsest partition in which two ranks of a class have the same pipeline rank, groups of
 * the same shape, the same kinds of links to their pipeline peers, and peers in the same classes
 * (equitable partition; docs/design.md proves that such ranks do the same at the same time).
 */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "workload/plan_internal.h"

struct ss_group_shape ss_plan_group_shape(const struct ss_plan *plan, int kind, int rank, int *scratch)
{
    struct ss_group_shape g = {0, 0, 0};
    int gpus = ss_platform_gpus_per_node(plan->platform), first_on_node = 0, last_node = -1;
    ss_ranks_group(&plan->ranks, kind, rank, scratch, &g.n);
    for (int i = 0; i < g.n; i++) { /* members ascend, so a node's members are neighbours */
        int node = scratch[i] / gpus;
        if (node != last_node) {
            g.nodes++;
            last_node = node;
            first_on_node = i;
        }
        if (i - first_on_node + 1 > g.per_node)
            g.per_node = i - first_on_node + 1;
    }
    return g;
}

int ss_plan_stage_peer(const struct ss_plan *plan, int rank, int stage)
{
    const struct ss_ranks *r = &plan->ranks;
    int own = ss_ranks_coordinate(r, rank, SS_AXIS_PP);
    return rank + (stage - own) * r->stride[SS_AXIS_PP];
}

/* Kind and number of links on the way to a peer. */
static uint64_t hash_route(uint64_t h, const struct ss_plan *plan, int src, int dst)
{
    struct ss_route route;
    struct ss_link link;
    if (src == dst)
        return h;
    ss_platform_route(plan->platform, src, dst, &route);
    h = ss_hash(h, &route.nlinks, sizeof route.nlinks);
    for (int i = 0; i < route.nlinks; i++) {
        ss_platform_link(plan->platform, route.link[i], &link);
        h = ss_hash(h, &link.kind, sizeof link.kind);
        h = ss_hash(h, &link.bandwidth, sizeof link.bandwidth);
        h = ss_hash(h, &link.latency, sizeof link.latency);
    }
    return h;
}

/* Two pipeline ranks work together under the schedule: they hold virtual neighbours or, with two copies of the model,
 * the same layers. */
static int stages_talk(const struct ss_schedule *s, int stage, int peer)
{
    if (s->pipelines > 1 && peer == s->stages - 1 - stage)
        return 1;
    for (int v = 0; v + 1 < s->stages * s->chunks; v++) {
        int from = s->virtual_rank[v], to = s->virtual_rank[v + 1];
        if ((from == stage && to == peer) || (from == peer && to == stage))
            return 1;
    }
    return 0;
}

static uint64_t hash_peers(uint64_t h, const struct ss_plan *plan, int rank, int stage)
{
    for (int peer = 0; peer < plan->schedule->stages; peer++)
        if (peer != stage && stages_talk(plan->schedule, stage, peer))
            h = hash_route(h, plan, rank, ss_plan_stage_peer(plan, rank, peer));
    return h;
}

static void colour_by_groups(struct ss_plan_builder *b, uint64_t *colour)
{
    static const int kinds[] = {SS_GROUP_TP, SS_GROUP_CP, SS_GROUP_DP_CP};
    struct ss_plan *plan = b->plan;
    for (size_t k = 0; k < SS_ARRAY_LEN(kinds); k++) {
        for (int r = 0; r < plan->world_size; r++) {
            struct ss_group_shape g = ss_plan_group_shape(plan, kinds[k], r, b->scratch);
            if (b->scratch[0] != r)
                continue; /* done when its first member came by */
            for (int i = 0; i < g.n; i++)
                colour[b->scratch[i]] = ss_hash(colour[b->scratch[i]], &g, sizeof g);
        }
    }
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static int distinct(const uint64_t *colour, int n, uint64_t *sorted)
{
    int count = 0;
    memcpy(sorted, colour, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, compare_u64);
    for (int i = 0; i < n; i++)
        count += i == 0 || sorted[i] != sorted[i - 1];
    return count;
}

/* One round: a rank's new colour is its own and those of its pipeline neighbours. */
static void refine(const struct ss_plan *plan, const uint64_t *colour, uint64_t *next)
{
    int p = plan->schedule->stages;
    for (int r = 0; r < plan->world_size; r++) {
        int stage = ss_ranks_coordinate(&plan->ranks, r, SS_AXIS_PP);
        int after = ss_plan_stage_peer(plan, r, (stage + 1) % p),
            before = ss_plan_stage_peer(plan, r, (stage + p - 1) % p);
        next[r] = ss_hash(SS_HASH_INIT, &colour[r], sizeof *colour);
        next[r] = ss_hash(next[r], &colour[after], sizeof *colour);
        next[r] = ss_hash(next[r], &colour[before], sizeof *colour);
        for (int peer = 0; peer < p; peer++)
            if (peer != stage && stages_talk(plan->schedule, stage, peer))
                next[r] = ss_hash(next[r], &colour[ss_plan_stage_peer(plan, r, peer)], sizeof *colour);
    }
}

/* Numbers the colours by (pipeline rank, lowest member). */
static int number_classes(struct ss_plan *plan, const uint64_t *colour, int nclasses, struct ss_error *err)
{
    int found = 0;
    plan->classes = ss_calloc((size_t)nclasses, sizeof *plan->classes);
    uint64_t *of = ss_calloc((size_t)nclasses, sizeof *of);
    if (!plan->classes || !of) {
        free(of);
        return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for %d classes", nclasses);
    }
    for (int stage = 0; stage < plan->schedule->stages; stage++) {
        int begin = found;
        for (int r = 0; r < plan->world_size; r++) {
            int c = begin;
            if (ss_ranks_coordinate(&plan->ranks, r, SS_AXIS_PP) != stage)
                continue;
            while (c < found && of[c] != colour[r])
                c++;
            if (c == found) {
                of[found++] = colour[r];
                plan->classes[c].stage = stage;
                plan->classes[c].representative = r;
            }
            plan->classes[c].count++;
            plan->class_of[r] = c;
        }
    }
    plan->nclasses = found;
    free(of);
    return SS_OK;
}

int ss_plan_classes_build(struct ss_plan_builder *b, struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    size_t n = (size_t)plan->world_size;
    uint64_t *colour = ss_calloc(n, sizeof *colour), *next = ss_calloc(n, sizeof *next),
             *sorted = ss_calloc(n, sizeof *sorted);
    int status = SS_OK, p = plan->schedule->stages;
    plan->class_of = ss_calloc(n, sizeof *plan->class_of);
    if (!colour || !next || !sorted || !plan->class_of) {
        status = ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for %d ranks", plan->world_size);
        goto out;
    }
    for (int r = 0; r < plan->world_size; r++) {
        int stage = ss_ranks_coordinate(&plan->ranks, r, SS_AXIS_PP);
        colour[r] = ss_hash(SS_HASH_INIT, &stage, sizeof stage);
        colour[r] = hash_route(colour[r], plan, r, ss_plan_stage_peer(plan, r, (stage + 1) % p));
        colour[r] = hash_route(colour[r], plan, r, ss_plan_stage_peer(plan, r, (stage + p - 1) % p));
        colour[r] = hash_peers(colour[r], plan, r, stage);
    }
    colour_by_groups(b, colour);
    for (int before = distinct(colour, plan->world_size, sorted);;) {
        uint64_t *swap;
        int now;
        refine(plan, colour, next);
        now = distinct(next, plan->world_size, sorted);
        if (now == before) /* a refinement never merges: equal counts mean the same partition */
            break;
        swap = colour;
        colour = next;
        next = swap;
        before = now;
    }
    status = number_classes(plan, colour, distinct(colour, plan->world_size, sorted), err);
out:
    free(colour);
    free(next);
    free(sorted);
    return status;
}
