/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classes: the coarsest partition of ranks, flows and links in which
 *   ranks of a class have the same pipeline rank, speed and (of plans for jitter) draws, groups of the same shape and of the same classes,
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

/* Number of different ones among n, of which those `step` apart are often equal; -1 out of memory. */
static int distinct(const uint64_t *colour, size_t n, size_t step)
{
    struct ss_map seen = {0};
    int status = 0;
    for (size_t i = 0; i < n && status >= 0; i++)
        if (i < step || colour[i] != colour[i - step])
            status = ss_map_put(&seen, colour[i], 0);
    int count = status < 0 ? -1 : (int)seen.n;
    ss_map_free(&seen);
    return count;
}

/* Colours at work, of ranks and links that stand for all. */
struct colours {
    const struct ss_plan *plan;
    const struct ss_routes *routes;
    const struct ss_groups *groups;
    size_t nranks;
    uint64_t *rank, *next;        /* [nranks] */
    uint64_t *flow;               /* [nranks * nkinds] */
    uint64_t *link;               /* [nlinks] */
    uint64_t *sum[SS_COMM_COUNT]; /* [nranks]: of the members of the group whose lowest rank it is */
    int *first[SS_COMM_COUNT];    /* [nranks]: that lowest rank of a rank's group, by its number */
    int *local[SS_COMM_COUNT];    /* [nranks]: members of it on the rank's node */
    int *width;                   /* [kind]: kinds of its hop, of the first one of each */
};

static uint64_t first_colour(const struct ss_plan_builder *b, int at)
{
    const struct ss_routes *routes = &b->routes;
    const struct ss_groups *groups = &b->groups;
    const size_t flow = (size_t)at * (size_t)routes->nkinds;
    const int r = ss_symmetry_rank(&routes->symmetry, at);
    uint64_t h = ss_mix_in(0, (uint64_t)ss_ranks_coordinate(&b->plan->ranks, r, SS_AXIS_PP));
    if (b->slowness)
        h = ss_mix_in(h, ss_bits_of(b->slowness[r]));
    if (b->options->apart)
        h = ss_mix_in(h, (uint64_t)ss_plan_lockstep(b->plan, r));
    for (int g = 0; g < SS_COMM_COUNT; g++) {
        if (!groups->first[g])
            continue;
        struct ss_group_shape s = groups->shape[g][groups->first[g][r]];
        h = ss_mix_in(h, (uint64_t)s.n << 42 | (uint64_t)s.nodes << 21 | (uint64_t)s.per_node);
        for (int hop = 0; hop < SS_HOP_COUNT; hop++)
            if (s.stretch[hop] > 0)
                h = ss_mix_in(ss_mix_in(h, (uint64_t)hop), ss_bits_of(s.stretch[hop]));
        if (routes->hop[g][SS_HOP_INTER_NODE] >= 0 || routes->hop[g][SS_HOP_NODE] >= 0)
            h = ss_mix_in(h, (uint64_t)groups->local[g][r]);
    }
    for (int k = 0; k < routes->npeers || k == routes->embedding; k++)
        h = ss_mix_in(h,
                      routes->to[flow + (size_t)k] < 0 ? 1 : ss_bits_of(routes->latency[flow + (size_t)k]));
    return h;
}

static void sum_groups(struct colours *c)
{
    for (int g = 0; g < SS_COMM_COUNT; g++) {
        if (!c->sum[g])
            continue;
        memset(c->sum[g], 0, c->nranks * sizeof *c->sum[g]);
        for (size_t r = 0; r < c->nranks; r++)
            c->sum[g][c->first[g][r]] += ss_mix64(c->rank[r]);
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
        for (size_t r = 0; r < c->nranks; r++) {
            size_t i = r * (size_t)routes->nkinds + (size_t)k;
            uint64_t h = 0;
            c->flow[i] = 0;
            if (routes->to[i] < 0)
                continue;
            if (g >= 0)
                h = ss_mix_in(c->sum[g][c->first[g][r]] + (uint64_t)c->local[g][r], (uint64_t)hop.first);
            else
                h = ss_mix_in(
                    ss_mix_in(c->rank[r], c->rank[ss_symmetry_at(&routes->symmetry, routes->to[i])]),
                    (uint64_t)k);
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
    size_t n = c->nranks * (size_t)routes->nkinds;
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
    for (size_t r = 0; r < c->nranks; r++) {
        uint64_t h = c->rank[r];
        const uint64_t *flow = c->flow + r * (size_t)routes->nkinds;
        for (int k = 0, width; k < routes->nkinds; k += width) {
            uint64_t sum = flow[k];
            width = c->width[k];
            for (int j = 1; j < width; j++)
                sum += flow[k + j];
            h = ss_mix_in(h, sum);
        }
        for (int g = 0; g < SS_COMM_COUNT; g++)
            if (c->sum[g])
                h = ss_mix_in(h, c->sum[g][c->first[g][r]]);
        c->next[r] = h;
    }
}

static int count_colours(const struct colours *c, const uint64_t *rank)
{
    size_t nkinds = (size_t)c->routes->nkinds;
    int ranks = distinct(rank, c->nranks, 1), flows = distinct(c->flow, c->nranks * nkinds, nkinds);
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

/* The classes of the ranks that stand for all, by (pipeline rank, lowest member); a rank of its own each where colour is NULL. */
static int number_colours(struct ss_plan *plan, const struct ss_symmetry *s, const uint64_t *colour,
                          int *class_at)
{
    struct ss_map of = {0};
    int found = 0, status = 0;
    for (int stage = 0; stage < plan->schedule->stages && status >= 0; stage++)
        for (int at = 0; at < s->nranks; at++) {
            int r = ss_symmetry_rank(s, at);
            if (ss_ranks_coordinate(&plan->ranks, r, SS_AXIS_PP) != stage)
                continue;
            int c = status = colour ? ss_map_put(&of, colour[at], found) : found;
            if (c < 0)
                break;
            if (c == found) {
                found++;
                plan->classes[c].stage = stage;
                plan->classes[c].representative = r;
            }
            plan->classes[c].count += s->shifts;
            class_at[at] = c;
        }
    plan->nclasses = found;
    ss_map_free(&of);
    return status < 0 ? SS_ERR_NOMEM : SS_OK;
}

/* The classes of all ranks. */
static int number_classes(struct ss_plan *plan, const struct ss_symmetry *s, const uint64_t *colour,
                          int nclasses, struct ss_error *err)
{
    int *class_at = s->shifts > 1 ? ss_calloc((size_t)s->nranks, sizeof *class_at) : plan->class_of;
    int status = SS_ERR_NOMEM;
    plan->classes = ss_calloc((size_t)nclasses, sizeof *plan->classes);
    if (plan->classes && class_at)
        status = number_colours(plan, s, colour, class_at);
    for (int from = 0, at = 0; s->shifts > 1 && !status && from < plan->world_size;
         from += s->rank.block, at += s->rank.period)
        for (int i = 0; i < s->shifts; i++)
            memcpy(plan->class_of + from + i * s->rank.period, class_at + at,
                   (size_t)s->rank.period * sizeof *class_at);
    if (s->shifts > 1)
        free(class_at);
    return status ? ss_fail(err, status, NULL, 0, "out of memory for %d classes", nclasses) : SS_OK;
}

static int colours_init(struct colours *c)
{
    const struct ss_symmetry *s = &c->routes->symmetry;
    size_t n = c->nranks = (size_t)s->nranks;
    c->rank = ss_calloc(n, sizeof *c->rank);
    c->next = ss_calloc(n, sizeof *c->next);
    c->flow = ss_calloc(n * (size_t)c->routes->nkinds, sizeof *c->flow);
    c->link = ss_calloc((size_t)c->routes->nlinks, sizeof *c->link);
    c->width = ss_calloc((size_t)c->routes->nkinds + 1, sizeof *c->width);
    if (!c->width || !c->rank || !c->next || !c->flow || !c->link)
        return SS_ERR_NOMEM;
    for (int k = 0; k < c->routes->nkinds; k++)
        c->width[k] = hop_of_kind(c->routes, k).width;
    for (int g = 0; g < SS_COMM_COUNT; g++) {
        if (!c->groups->first[g])
            continue;
        c->sum[g] = ss_calloc(n, sizeof *c->sum[g]);
        c->first[g] = malloc(n * sizeof *c->first[g]);
        c->local[g] = malloc(n * sizeof *c->local[g]);
        if (!c->sum[g] || !c->first[g] || !c->local[g])
            return SS_ERR_NOMEM;
        for (size_t at = 0; at < n; at++) {
            int r = ss_symmetry_rank(s, (int)at);
            c->first[g][at] = ss_symmetry_at(s, c->groups->first[g][r]);
            c->local[g][at] = c->groups->local[g][r];
        }
    }
    return SS_OK;
}

static void colours_free(struct colours *c)
{
    free(c->rank);
    free(c->next);
    free(c->width);
    for (int g = 0; g < SS_COMM_COUNT; g++) {
        free(c->sum[g]);
        free(c->first[g]);
        free(c->local[g]);
    }
}

static int fold(struct ss_plan_builder *b, struct ss_error *err)
{
    struct colours c = {.plan = b->plan, .routes = &b->routes, .groups = &b->groups};
    int status = colours_init(&c);
    for (size_t r = 0; r < c.nranks && !status; r++)
        c.rank[r] = first_colour(b, (int)r);
    for (int l = 0; l < b->routes.nlinks && !status; l++)
        c.link[l] = ss_bits_of(b->routes.bandwidth[l]);
    if (!status)
        status = refine(&c);
    status = status
                 ? ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for %d ranks", b->plan->world_size)
                 : number_classes(b->plan, &b->routes.symmetry, c.rank, distinct(c.rank, c.nranks, 1), err);
    b->link_colour = c.link;
    b->flow_colour = c.flow;
    colours_free(&c);
    return status;
}

int ss_plan_classes_build(struct ss_plan_builder *b, struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    plan->class_of = ss_calloc((size_t)plan->world_size, sizeof *plan->class_of);
    if (!plan->class_of)
        return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for %d ranks", plan->world_size);
    return plan->unfolded ? number_classes(plan, &b->routes.symmetry, NULL, plan->world_size, err)
                          : fold(b, err);
}
