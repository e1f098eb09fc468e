/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/partition.h"

#include "base/base.h"
#include "plan/matrix.h"

/* Returns the number of different colours among n, where colours `step` apart are often equal; -1: out of
 * memory. */
int ss_partition_count(const uint64_t *colour, size_t n, size_t step)
{
    struct ss_map seen = {0};
    int rc = 0;
    for (size_t i = 0; i < n && rc >= 0; i++)
        if (i < step || colour[i] != colour[i - step])
            rc = ss_map_put(&seen, colour[i], 0);
    int count = rc < 0 ? -1 : (int)seen.n;
    ss_map_free(&seen);
    return count;
}

static uint64_t first_colour(const struct ss_partition *c, const struct ss_plan_builder *b,
                             const double *slowness, int at)
{
    const struct ss_routes *routes = c->routes;
    const struct ss_groups *groups = c->groups;
    const size_t flow = (size_t)at * (size_t)routes->nkinds;
    const int r = ss_symmetry_rank(&routes->symmetry, at);
    uint64_t h = ss_mix_in(0, (uint64_t)ss_ranks_coordinate(&c->plan->ranks, r, SS_AXIS_PP));
    if (slowness)
        h = ss_mix_in(h, ss_bits_of(slowness[r]));
    if (b->drawn)
        h = ss_mix_in(h, ss_bits_of(b->drawn[r]));
    if (b->options->apart)
        h = ss_mix_in(h, (uint64_t)ss_plan_lockstep(c->plan, r));
    for (int g = 0; g < SS_COMM_COUNT; g++) {
        if (!groups->first[g])
            continue;
        struct ss_group_shape s = *ss_groups_at(groups, g, r);
        h = ss_mix_in(h, (uint64_t)s.n << 42 | (uint64_t)s.nodes << 21 | (uint64_t)s.per_node);
        h = s.few > 0 ? ss_mix_in(h, (uint64_t)s.few) : h;
        for (int hop = 0; hop < SS_HOP_COUNT; hop++)
            if (s.stretch[hop] > 0)
                h = ss_mix_in(ss_mix_in(h, (uint64_t)hop), ss_bits_of(s.stretch[hop]));
        /* stage and shape, like these times, decide the rest of a load; amounts are in the colours of
         * flows */
        for (int way = 0; way < SS_WAYS && ss_is_uneven(&s); way++)
            h = ss_mix_in(ss_mix_in(h, ss_bits_of(s.priced[way].near)), ss_bits_of(s.priced[way].far));
        if (routes->hop[g][SS_HOP_INTER_NODE] >= 0 || routes->hop[g][SS_HOP_NODE] >= 0)
            h = ss_mix_in(h, (uint64_t)ss_groups_local(groups, g, r));
    }
    for (int k = 0; k < routes->npeers || k == routes->embedding; k++)
        h = ss_mix_in(h,
                      routes->to[flow + (size_t)k] < 0 ? 1 : ss_bits_of(routes->latency[flow + (size_t)k]));
    return h;
}

static void sum_groups(struct ss_partition *c)
{
    for (int g = 0; g < SS_COMM_COUNT; g++) {
        if (!c->sum[g])
            continue;
        memset(c->sum[g], 0, c->nranks * sizeof *c->sum[g]);
        for (size_t r = 0; r < c->nranks; r++)
            c->sum[g][c->first[g][r]] += ss_mix64(c->rank[r]);
    }
}

static struct ss_hop_kinds hop_of_kind(const struct ss_routes *routes, int kind)
{
    for (int g = 0; g < SS_COMM_COUNT; g++)
        for (int hop = 0; hop < SS_HOP_COUNT; hop++) {
            int first = routes->hop[g][hop], width = routes->width[g][hop];
            if (first >= 0 && kind >= first && kind < first + width)
                return ss_hop_has_parts(hop) ? (struct ss_hop_kinds){g, kind, 1, hop}
                                             : (struct ss_hop_kinds){g, first, width, hop};
        }
    return (struct ss_hop_kinds){-1, kind, 1, 0};
}

/* Mixes in how large a flow of an expert group with uneven amounts is, on either way. */
static uint64_t mix_amounts(const struct ss_partition *c, uint64_t h, int hop, int from, int to)
{
    for (int way = 0; way < SS_WAYS; way++)
        h = ss_mix_in(h, ss_bits_of(ss_groups_amount(c->groups, hop, way, from, to)));
    return h;
}

/* Colours a flow by what starts it, its size, and its links in their order. */
static uint64_t colour_of_flow(const struct ss_partition *c, size_t r, int kind,
                               const struct ss_hop_kinds *hop)
{
    const struct ss_routes *routes = c->routes;
    const size_t i = r * (size_t)routes->nkinds + (size_t)kind;
    const int g = hop->comm;
    uint64_t h;
    if (routes->to[i] < 0)
        return 0;
    if (g >= 0)
        h = ss_mix_in(c->sum[g][c->first[g][r]] + (uint64_t)c->local[g][r], (uint64_t)hop->first);
    else
        h = ss_mix_in(ss_mix_in(c->rank[r], c->rank[ss_symmetry_at(&routes->symmetry, routes->to[i])]),
                      (uint64_t)kind);
    if (g == SS_COMM_EP && c->groups->give[0])
        h = mix_amounts(c, h, hop->hop, ss_symmetry_rank(&routes->symmetry, (int)r), routes->to[i]);
    for (int j = routes->first[i]; j < routes->first[i + 1]; j++)
        if (routes->kept[routes->pool[j]])
            h = ss_mix_in(h, c->link[routes->pool[j]]);
    return h;
}

static void colour_flows(struct ss_partition *c)
{
    uint64_t *flow = c->flow;
    for (size_t r = 0; r < c->nranks; r++)
        for (int k = 0; k < c->routes->nkinds; k++)
            *flow++ = colour_of_flow(c, r, k, &c->hop[k]);
}

/* Colours links by their bandwidth and the flows that cross them, in no order. */
static void colour_links(struct ss_partition *c)
{
    const struct ss_routes *routes = c->routes;
    size_t n = c->nranks * (size_t)routes->nkinds;
    for (int l = 0; l < routes->nlinks; l++)
        c->link[l] = ss_bits_of(routes->bandwidth[l]);
    for (size_t i = 0; i < n; i++) {
        uint64_t hop = 1; /* a different start makes up and down differ */
        for (int j = routes->first[i]; j < routes->first[i + 1]; j++)
            if (routes->kept[routes->pool[j]]) {
                c->link[routes->pool[j]] += c->flow[i] * hop;
                hop += 2;
            }
    }
}

/* Colours ranks by themselves, their peers and flows, and, in no order, the members of their groups and the
 * flows of a hop. */
static void colour_ranks(struct ss_partition *c)
{
    const struct ss_routes *routes = c->routes;
    for (size_t r = 0; r < c->nranks; r++) {
        uint64_t h = c->rank[r];
        const uint64_t *flow = c->flow + r * (size_t)routes->nkinds;
        for (int k = 0, width; k < routes->nkinds; k += width) {
            uint64_t sum = flow[k];
            width = c->hop[k].width;
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

/* Returns the number of colours of flows, -1: out of memory. */
static int count_flows(const struct ss_partition *c)
{
    size_t nkinds = (size_t)c->routes->nkinds;
    return ss_partition_count(c->flow, c->nranks * nkinds, nkinds);
}

void ss_partition_look(struct ss_partition *c)
{
    sum_groups(c);
    colour_flows(c);
    colour_links(c);
    colour_ranks(c);
}

void ss_partition_take(struct ss_partition *c)
{
    uint64_t *swap = c->rank;
    c->rank = c->next;
    c->next = swap;
}

/* Refinement never merges colours, so equal counts mean the same partition. */
int ss_partition_refine(struct ss_partition *c, int most, int *done)
{
    *done = 0;
    for (int before = 0;;) {
        ss_partition_look(c);
        int ranks = ss_partition_count(c->next, c->nranks, 1), now = ranks < 0 ? -1 : ranks + count_flows(c);
        if (now < 0)
            return SS_ERR_NOMEM;
        *done = now <= before;
        if (*done || ranks > most)
            return SS_OK;
        ss_partition_take(c);
        before = now;
    }
}

/* Colours ranks by the members of their groups and by their peers. */
static void colour_synchronised(struct ss_partition *c)
{
    const struct ss_routes *routes = c->routes;
    for (size_t r = 0; r < c->nranks; r++) {
        uint64_t h = c->rank[r];
        const int *to = routes->to + r * (size_t)routes->nkinds;
        for (int k = 0; k < routes->npeers || k == routes->embedding; k++)
            h = ss_mix_in(h, to[k] < 0 ? 1 : c->rank[ss_symmetry_at(&routes->symmetry, to[k])]);
        for (int g = 0; g < SS_COMM_COUNT; g++)
            if (c->sum[g])
                h = ss_mix_in(h, c->sum[g][c->first[g][r]]);
        c->next[r] = h;
    }
}

int ss_partition_close(struct ss_partition *c)
{
    for (int before = 0;;) {
        sum_groups(c);
        colour_synchronised(c);
        int now = ss_partition_count(c->next, c->nranks, 1);
        if (now <= before)
            return now < 0 ? SS_ERR_NOMEM : SS_OK;
        ss_partition_take(c);
        before = now;
    }
}

/* ---- begin and end ---- */

int ss_partition_init(struct ss_partition *c, const struct ss_plan_builder *b, const struct ss_routes *routes,
                      const double *slowness)
{
    *c = (struct ss_partition){.plan = b->plan, .groups = &b->groups, .routes = routes};
    const struct ss_symmetry *s = &c->routes->symmetry;
    size_t n = c->nranks = (size_t)s->nranks;
    c->rank = malloc((n + 1) * sizeof *c->rank);
    c->next = malloc((n + 1) * sizeof *c->next);
    c->flow = malloc((n * (size_t)c->routes->nkinds + 1) * sizeof *c->flow);
    c->link = ss_calloc((size_t)c->routes->nlinks, sizeof *c->link);
    c->hop = ss_calloc((size_t)c->routes->nkinds + 1, sizeof *c->hop);
    if (!c->hop || !c->rank || !c->next || !c->flow || !c->link)
        return SS_ERR_NOMEM;
    for (int k = 0; k < c->routes->nkinds; k++)
        c->hop[k] = hop_of_kind(c->routes, k);
    for (int g = 0; g < SS_COMM_COUNT; g++) {
        if (!c->groups->first[g])
            continue;
        c->sum[g] = malloc(n * sizeof *c->sum[g]);
        c->first[g] = malloc(n * sizeof *c->first[g]);
        c->local[g] = malloc(n * sizeof *c->local[g]);
        if (!c->sum[g] || !c->first[g] || !c->local[g])
            return SS_ERR_NOMEM;
        for (size_t at = 0; at < n; at++) {
            int r = ss_symmetry_rank(s, (int)at);
            c->first[g][at] = ss_symmetry_at(s, ss_groups_first(c->groups, g, r));
            c->local[g][at] = ss_groups_local(c->groups, g, r);
        }
    }
    for (size_t r = 0; r < n; r++)
        c->rank[r] = first_colour(c, b, slowness, (int)r);
    for (int l = 0; l < routes->nlinks; l++)
        c->link[l] = ss_bits_of(routes->bandwidth[l]);
    return SS_OK;
}

void ss_partition_free(struct ss_partition *c)
{
    SS_FREE(c->rank, c->next, c->hop);
    for (int g = 0; g < SS_COMM_COUNT; g++) {
        SS_FREE(c->sum[g], c->first[g], c->local[g]);
    }
}
