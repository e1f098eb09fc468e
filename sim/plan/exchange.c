/* SPDX-License-Identifier: Apache-2.0 */
/* What exchanges put on the links between nodes, counted in pairs of members, whose shares are equal. */
#include "plan/exchange.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "stepsim/params.h"
#include "stepsim/platform.h"

struct ss_rails ss_rails(const struct ss_platform *p)
{
    struct ss_rails r = {.gpus = ss_platform_gpus_per_node(p)};
    int per_leaf = (int)ss_platform_get(p, SS_PROP_NODES_PER_LEAF);
    if (per_leaf > 0 && ss_platform_nvlink_bandwidth(p) > 0) {
        r.n = ss_platform_nics_per_node(p);
        r.per_leaf = per_leaf;
    }
    return r;
}

static int rail_of(const struct ss_rails *r, int gpu)
{
    return gpu % r->gpus / (r->gpus / r->n);
}

int ss_rails_via(const struct ss_rails *r, int from, int to)
{
    if (r->n == 0 || from / r->gpus == to / r->gpus || rail_of(r, from) == rail_of(r, to))
        return from;
    return from / r->gpus * r->gpus + to % r->gpus;
}

/* ---- loads ---- */

enum { UP, DOWN, WAYS };

/*
 * The stage at hand. With rails a place is a node or, behind all nodes, a leaf; from each a link a rail leads up, and one
 * comes down: WAYS * (place * rails + rail) + way. Without rails links are those of the platform.
 */
struct loads {
    const struct ss_plan *plan;
    struct ss_rails rails;
    int *members, n; /* of the group at hand */
    int nodes, places, nlinks, stamp;
    int *inside, *seen; /* [place]: members of the group at hand; the group that saw it last */
    int *by_rail;       /* [place * rails + rail]: members there */
    int *on_rail;       /* [rail] */
    double *pairs;      /* [link]: of all groups that cross it */
    double *bandwidth;  /* [link], bytes/s; 0: inside a node */
};

static int gpu_of(const struct loads *l, int member)
{
    return l->plan->gpu_of[l->members[member]];
}

static int place_of(const struct loads *l, int gpu, int leaf)
{
    int node = gpu / l->rails.gpus;
    return leaf ? l->nodes + node / l->rails.per_leaf : node;
}

/* Adds `step`, 1 or -1, for every member of the group at hand. */
static void count_members(struct loads *l, int step)
{
    for (int i = 0; i < l->n; i++) {
        int gpu = gpu_of(l, i), rail = rail_of(&l->rails, gpu);
        l->on_rail[rail] += step;
        for (int leaf = 0; leaf < 2; leaf++) {
            int place = place_of(l, gpu, leaf);
            l->inside[place] += step;
            l->by_rail[place * l->rails.n + rail] += step;
        }
    }
}

/* Is told how many pairs of the group at hand cross a link. */
typedef void (*link_visitor)(struct loads *l, int link, double pairs, double *worst);

/* All members of a place send to those of a rail elsewhere over its link of that rail, by which those on this rail hear
 * from all elsewhere. */
static void visit_place(struct loads *l, int place, link_visitor visit, double *worst)
{
    int n = l->rails.n, inside = l->inside[place];
    for (int rail = 0; rail < n; rail++) {
        int here = l->by_rail[place * n + rail], link = WAYS * (place * n + rail);
        visit(l, link + UP, (double)inside * (l->on_rail[rail] - here), worst);
        visit(l, link + DOWN, (double)here * (l->n - inside), worst);
    }
}

static void visit_rails(struct loads *l, link_visitor visit, double *worst)
{
    l->stamp++;
    count_members(l, 1);
    for (int i = 0; i < l->n; i++)
        for (int leaf = 0; leaf < 2; leaf++) {
            int place = place_of(l, gpu_of(l, i), leaf);
            if (l->seen[place] != l->stamp)
                visit_place(l, place, visit, worst);
            l->seen[place] = l->stamp;
        }
    count_members(l, -1);
}

static void visit_routes(struct loads *l, link_visitor visit, double *worst)
{
    for (int i = 0; i < l->n; i++)
        for (int j = 0; j < l->n; j++) {
            int from = gpu_of(l, i), to = gpu_of(l, j);
            struct ss_route route;
            if (from / l->rails.gpus == to / l->rails.gpus)
                continue;
            ss_platform_route(l->plan->platform, from, to, &route);
            for (int k = 0; k < route.nlinks; k++)
                visit(l, route.link[k], 1, worst);
        }
}

static void add_pairs(struct loads *l, int link, double pairs, double *worst)
{
    (void)worst;
    l->pairs[link] += pairs;
}

static void find_worst(struct loads *l, int link, double pairs, double *worst)
{
    if (pairs > 0 && l->bandwidth[link] > 0)
        *worst = fmax(*worst, l->pairs[link] / l->bandwidth[link]);
}

/* Over all groups of a stage: adds their pairs, or fills their factors from what all have added. */
static void walk_groups(struct loads *l, const struct ss_net *net, struct ss_groups *groups, int comm,
                        int stage, int fill)
{
    for (int r = 0; r < l->plan->world_size; r++) {
        struct ss_group_shape *g = &groups->shape[comm][r];
        double worst = 0, own = net->nic_busbw * net->nics_per_node / net->gpus_per_node;
        if (groups->first[comm][r] != r || g->nodes < 2 ||
            ss_ranks_coordinate(&l->plan->ranks, r, SS_AXIS_PP) != stage)
            continue;
        ss_comm_members(l->plan, comm, r, l->members, &l->n);
        (l->rails.n ? visit_rails : visit_routes)(l, fill ? find_worst : add_pairs, &worst);
        if (fill)
            g->across = fmax(1, worst * own / (g->n - g->per_node));
    }
}

/* ---- all together ---- */

/* As flows see it; 0 inside a node. */
static double bandwidth_of(const struct loads *l, const struct ss_net *net, int link)
{
    const struct ss_platform *p = l->plan->platform;
    double bandwidth;
    int kind;
    if (l->rails.n && link < WAYS * l->nodes * l->rails.n)
        return net->nic_busbw;
    if (l->rails.n)
        return net->nic_busbw * l->rails.per_leaf / ss_platform_get(p, SS_PROP_OVERSUBSCRIPTION);
    ss_platform_link_facts(p, link, &kind, &bandwidth);
    return kind == SS_LINK_NVLINK ? 0 : bandwidth * ss_platform_card(p)->nic_efficiency;
}

static int make_room(struct loads *l, const struct ss_net *net)
{
    size_t rails = (size_t)l->rails.n, places;
    l->nodes = ss_platform_nodes(l->plan->platform);
    l->places = rails ? l->nodes + (l->nodes - 1) / l->rails.per_leaf + 1 : 0;
    l->nlinks = rails ? WAYS * l->places * l->rails.n : ss_platform_link_count(l->plan->platform);
    places = (size_t)l->places;
    l->inside = ss_calloc(places * (2 + rails) + rails + 1, sizeof *l->inside);
    l->pairs = ss_calloc(2 * (size_t)l->nlinks + 1, sizeof *l->pairs);
    if (!l->inside || !l->pairs)
        return SS_ERR_NOMEM;
    l->seen = l->inside + places;
    l->by_rail = l->seen + places;
    l->on_rail = l->by_rail + places * rails;
    l->bandwidth = l->pairs + l->nlinks;
    for (int i = 0; i < l->nlinks; i++)
        l->bandwidth[i] = bandwidth_of(l, net, i);
    return SS_OK;
}

static int crosses_nodes(const struct ss_plan *plan, const struct ss_groups *groups, int comm)
{
    if (!groups->first[comm] || !(ss_comm_kinds(plan, comm) & SS_COLLS_ROUTED))
        return 0;
    for (int r = 0; r < plan->world_size; r++)
        if (groups->shape[comm][groups->first[comm][r]].nodes > 1)
            return 1;
    return 0;
}

int ss_groups_price_across(const struct ss_plan *plan, const struct ss_net *net, struct ss_groups *groups,
                           int *room, struct ss_error *err)
{
    struct loads l = {.plan = plan, .rails = ss_rails(plan->platform), .members = room};
    int status = SS_OK;
    for (int comm = 0; comm < SS_COMM_COUNT && !status; comm++) {
        if (!crosses_nodes(plan, groups, comm))
            continue;
        status = l.pairs ? SS_OK : make_room(&l, net);
        for (int stage = 0; stage < plan->schedule->stages && !status; stage++) {
            memset(l.pairs, 0, (size_t)l.nlinks * sizeof *l.pairs);
            for (int fill = 0; fill < 2; fill++)
                walk_groups(&l, net, groups, comm, stage, fill);
        }
    }
    free(l.inside);
    free(l.pairs);
    return status ? ss_fail(err, status, NULL, 0, "out of memory for the links of %d ranks", plan->world_size)
                  : SS_OK;
}

void ss_groups_warn_across(struct ss_plan *plan, const struct ss_groups *groups)
{
    for (int comm = 0; comm < SS_COMM_COUNT; comm++) {
        double most = 0;
        for (int r = 0; r < plan->world_size && groups->first[comm] && ss_comm_in_closed_form(plan, comm);
             r++)
            most = fmax(most, ss_groups_shape(groups, comm, r).across);
        if (most > 1 + 1e-9)
            ss_notes_add(&plan->warnings,
                         "across nodes exchanges of %s take %.3g times as long as on a rank's share of the "
                         "NICs: groups share links of the fabric, or lie unevenly on nodes",
                         ss_comm_facts(comm)->name, most);
    }
}
