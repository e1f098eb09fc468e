/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classes: the coarsest partition of ranks, flows and links in which
 *   ranks of a class have the same pipeline rank and speed, groups of the same shape and of the same classes,
 *   peers in the same classes, and flows of the same classes;
 *   flows of a class start together and are as large (a send's because its ends are of the same classes, a
 *   collective's because its group is), and cross links of the same classes in the same order;
 *   links of a class have the same bandwidth and are crossed by as many flows of every class
 * (equitable partition; docs/design/design.md proves that such ranks do the same at the same time). Found by colour
 * refinement: colours are hashes of what a rank, flow or link sees.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "plan/plan_internal.h"

/* Number of different ones among n, `step` apart; -1 out of memory. */
static int distinct(const uint64_t *colour, int n, int step)
{
    struct ss_map seen = {0};
    int status = 0;
    uint64_t last = 0;
    for (int i = 0; i < n && status >= 0; i++) {
        uint64_t own = colour[(size_t)i * (size_t)step];
        if (i == 0 || own != last)
            status = ss_map_put(&seen, own, 0);
        last = own;
    }
    int count = status < 0 ? -1 : (int)seen.n;
    ss_map_free(&seen);
    return count;
}

/* Colours at work; sum[g]: of the members of a group, by its lowest rank. */
struct colours {
    const struct ss_plan *plan;
    const struct ss_routes *routes;
    const struct ss_groups *groups;
    uint64_t *rank, *next; /* [world_size] */
    uint64_t *flow;        /* [world_size * nkinds] */
    uint64_t *link;        /* [nlinks] */
    uint64_t *sum[SS_COMM_COUNT];
    int *width; /* [kind]: kinds of its hop, of the first one of each */
};

static uint64_t first_colour(const struct ss_plan_builder *b, int r)
{
    const struct ss_routes *routes = &b->routes;
    const struct ss_groups *groups = &b->groups;
    uint64_t h = ss_mix_in(0, (uint64_t)ss_ranks_coordinate(&b->plan->ranks, r, SS_AXIS_PP));
    if (b->slowness)
        h = ss_mix_in(h, ss_bits_of(b->slowness[r]));
    for (int g = 0; g < SS_COMM_COUNT; g++) {
        if (!groups->first[g])
            continue;
        struct ss_group_shape s = groups->shape[g][groups->first[g][r]];
        h = ss_mix_in(h, (uint64_t)s.n << 42 | (uint64_t)s.nodes << 21 | (uint64_t)s.per_node);
        if (s.across > 0)
            h = ss_mix_in(h, ss_bits_of(s.across));
        if (routes->hop[g][SS_HOP_INTER_NODE] >= 0 || routes->hop[g][SS_HOP_NODE] >= 0)
            h = ss_mix_in(h, (uint64_t)groups->local[g][r]);
    }
    for (int k = 0; k < routes->npeers || k == routes->embedding; k++)
        h = ss_mix_in(h, routes->to[r * routes->nkinds + k] < 0
                             ? 1
                             : ss_bits_of(routes->latency[r * routes->nkinds + k]));
    return h;
}

static void sum_groups(struct colours *c)
{
    int n = c->plan->world_size;
    for (int g = 0; g < SS_COMM_COUNT; g++) {
        if (!c->sum[g])
            continue;
        memset(c->sum[g], 0, (size_t)n * sizeof *c->sum[g]);
        for (int r = 0; r < n; r++)
            c->sum[g][c->groups->first[g][r]] += ss_mix64(c->rank[r]);
    }
}

/* Communicator whose hop a kind of flow is, -1: a send; and the kinds of that hop, whose flows are alike in all but the
 * member that they go to. */
struct hop_kinds {
    int comm, first, width;
};

static struct hop_kinds hop_of_kind(const struct ss_routes *routes, int kind)
{
    for (int g = 0; g < SS_COMM_COUNT; g++)
        for (int hop = 0; hop < SS_HOP_COUNT; hop++) {
            int first = routes->hop[g][hop], width = routes->width[g][hop];
            if (first >= 0 && kind >= first && kind < first + width)
                return (struct hop_kinds){g, first, width};
        }
    return (struct hop_kinds){-1, kind, 1};
}

/* A flow sees what starts it, and its links in their order. */
static void colour_flows(struct colours *c)
{
    const struct ss_routes *routes = c->routes;
    for (int k = 0; k < routes->nkinds; k++) {
        struct hop_kinds hop = hop_of_kind(routes, k);
        int g = hop.comm;
        for (int r = 0; r < c->plan->world_size; r++) {
            size_t i = (size_t)r * (size_t)routes->nkinds + (size_t)k;
            uint64_t h = 0;
            c->flow[i] = 0;
            if (routes->to[i] < 0)
                continue;
            if (g >= 0)
                h = ss_mix_in(c->sum[g][c->groups->first[g][r]] + (uint64_t)c->groups->local[g][r],
                              (uint64_t)hop.first);
            else
                h = ss_mix_in(ss_mix_in(c->rank[r], c->rank[routes->to[i]]), (uint64_t)k);
            for (int j = routes->first[i]; j < routes->first[i + 1]; j++)
                if (routes->kept[routes->pool[j]])
                    h = ss_mix_in(h, c->link[routes->pool[j]]);
            c->flow[i] = h;
        }
    }
}

/* A link sees its bandwidth and the flows that cross it, in no order. */
static void colour_links(struct colours *c)
{
    const struct ss_routes *routes = c->routes;
    size_t n = (size_t)c->plan->world_size * (size_t)routes->nkinds;
    for (int l = 0; l < routes->nlinks; l++)
        c->link[l] = ss_bits_of(routes->bandwidth[l]);
    for (size_t i = 0; i < n; i++) {
        uint64_t hop = 1; /* so that up and down differ */
        for (int j = routes->first[i]; j < routes->first[i + 1]; j++)
            if (routes->kept[routes->pool[j]]) {
                c->link[routes->pool[j]] += c->flow[i] * hop;
                hop += 2;
            }
    }
}

/* A rank sees itself, its peers and flows, and the members of its groups and the flows of one hop in no order. */
static void colour_ranks(struct colours *c)
{
    const struct ss_routes *routes = c->routes;
    for (int r = 0; r < c->plan->world_size; r++) {
        uint64_t h = c->rank[r];
        const uint64_t *flow = c->flow + (size_t)r * (size_t)routes->nkinds;
        for (int k = 0, width; k < routes->nkinds; k += width) {
            uint64_t sum = flow[k];
            width = c->width[k];
            for (int j = 1; j < width; j++)
                sum += flow[k + j];
            h = ss_mix_in(h, sum);
        }
        for (int g = 0; g < SS_COMM_COUNT; g++)
            if (c->sum[g])
                h = ss_mix_in(h, c->sum[g][c->groups->first[g][r]]);
        c->next[r] = h;
    }
}

static int count_colours(const struct colours *c, const uint64_t *rank)
{
    int ranks = distinct(rank, c->plan->world_size, 1), flows = 0;
    for (int k = 0; k < c->routes->nkinds && ranks >= 0 && flows >= 0; k++) {
        int more = distinct(c->flow + k, c->plan->world_size, c->routes->nkinds);
        flows = more < 0 ? -1 : flows + more;
    }
    return ranks < 0 || flows < 0 ? -1 : ranks + flows;
}

/* Refines until nothing is split any more: a refinement never merges, so equal counts mean the same
 * partition. */
static int refine(struct colours *c)
{
    for (int before = 0;;) {
        sum_groups(c);
        colour_flows(c);
        colour_links(c);
        colour_ranks(c);
        int now = count_colours(c, c->next);
        if (now <= before)
            return now < 0 ? SS_ERR_NOMEM : SS_OK;
        uint64_t *swap = c->rank;
        c->rank = c->next;
        c->next = swap;
        before = now;
    }
}

/* Numbers the colours by (pipeline rank, lowest member). */
static int number_classes(struct ss_plan *plan, const uint64_t *colour, int nclasses, struct ss_error *err)
{
    struct ss_map of = {0};
    int found = 0, status = 0;
    plan->classes = ss_calloc((size_t)nclasses, sizeof *plan->classes);
    if (!plan->classes)
        status = -1;
    for (int stage = 0; stage < plan->schedule->stages && status >= 0; stage++)
        for (int r = 0; r < plan->world_size && status >= 0; r++) {
            if (ss_ranks_coordinate(&plan->ranks, r, SS_AXIS_PP) != stage)
                continue;
            int c = status = colour ? ss_map_put(&of, colour[r], found) : found;
            if (c < 0)
                break;
            if (c == found) {
                found++;
                plan->classes[c].stage = stage;
                plan->classes[c].representative = r;
            }
            plan->classes[c].count++;
            plan->class_of[r] = c;
        }
    plan->nclasses = found;
    ss_map_free(&of);
    return status < 0 ? ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for %d classes", nclasses) : SS_OK;
}

static int colours_init(struct colours *c)
{
    size_t n = (size_t)c->plan->world_size;
    c->rank = ss_calloc(n, sizeof *c->rank);
    c->next = ss_calloc(n, sizeof *c->next);
    c->flow = ss_calloc(n * (size_t)c->routes->nkinds, sizeof *c->flow);
    c->link = ss_calloc((size_t)c->routes->nlinks, sizeof *c->link);
    c->width = ss_calloc((size_t)c->routes->nkinds + 1, sizeof *c->width);
    if (!c->width)
        return SS_ERR_NOMEM;
    for (int k = 0; k < c->routes->nkinds; k++)
        c->width[k] = hop_of_kind(c->routes, k).width;
    for (int g = 0; g < SS_COMM_COUNT; g++)
        if (c->groups->first[g] && !(c->sum[g] = ss_calloc(n, sizeof *c->sum[g])))
            return SS_ERR_NOMEM;
    return c->rank && c->next && c->flow && c->link ? SS_OK : SS_ERR_NOMEM;
}

static int fold(struct ss_plan_builder *b, struct ss_error *err)
{
    struct colours c = {.plan = b->plan, .routes = &b->routes, .groups = &b->groups};
    int status = colours_init(&c), world = b->plan->world_size;
    for (int r = 0; r < world && !status; r++)
        c.rank[r] = first_colour(b, r);
    for (int l = 0; l < b->routes.nlinks && !status; l++)
        c.link[l] = ss_bits_of(b->routes.bandwidth[l]);
    if (!status)
        status = refine(&c);
    status = status ? ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for %d ranks", world)
                    : number_classes(b->plan, c.rank, distinct(c.rank, world, 1), err);
    b->link_colour = c.link;
    b->flow_colour = c.flow;
    free(c.rank);
    free(c.next);
    free(c.width);
    for (int g = 0; g < SS_COMM_COUNT; g++)
        free(c.sum[g]);
    return status;
}

int ss_plan_classes_build(struct ss_plan_builder *b, struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    plan->class_of = ss_calloc((size_t)plan->world_size, sizeof *plan->class_of);
    if (!plan->class_of)
        return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for %d ranks", plan->world_size);
    return plan->unfolded ? number_classes(plan, NULL, plan->world_size, err) : fold(b, err);
}
