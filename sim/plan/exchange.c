/* SPDX-License-Identifier: Apache-2.0 */
/* What exchanges put on the links between nodes, counted in pairs of members, whose shares are equal. */
#include "plan/exchange.h"

#include <stdio.h>
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

/* ---- links of rails: WAYS * (place * rails + rail) + way ---- */

enum { UP, DOWN, WAYS };

int ss_rail_links_init(struct ss_rail_links *l, const struct ss_platform *p)
{
    *l = (struct ss_rail_links){.rails = ss_rails(p), .nodes = ss_platform_nodes(p)};
    if (l->rails.n == 0)
        return SS_OK;
    l->places = l->nodes + (l->nodes - 1) / l->rails.per_leaf + 1;
    l->n = WAYS * l->places * l->rails.n;
    size_t rails = (size_t)l->rails.n, places = (size_t)l->places;
    l->inside = ss_calloc(places * (2 + rails) + rails, sizeof *l->inside);
    if (!l->inside)
        return SS_ERR_NOMEM;
    l->seen = l->inside + places;
    l->by_rail = l->seen + places;
    l->on_rail = l->by_rail + places * rails;
    return SS_OK;
}

void ss_rail_links_free(struct ss_rail_links *l)
{
    free(l->inside);
    memset(l, 0, sizeof *l);
}

double ss_rail_link_bandwidth(const struct ss_rail_links *l, const struct ss_platform *p, double nic,
                              int link)
{
    if (link < WAYS * l->nodes * l->rails.n)
        return nic;
    return nic * l->rails.per_leaf / ss_platform_get(p, SS_PROP_OVERSUBSCRIPTION);
}

void ss_rail_link_name(const struct ss_rail_links *l, int link, char name[64])
{
    int place = link / WAYS / l->rails.n, leaf = place >= l->nodes;
    snprintf(name, 64, "%s-%d-%d.%s", leaf ? "uplink" : "nic", leaf ? place - l->nodes : place,
             link / WAYS % l->rails.n, link % WAYS == UP ? "up" : "down");
}

static int place_of(const struct ss_rail_links *l, int gpu, int leaf)
{
    int node = gpu / l->rails.gpus;
    return leaf ? l->nodes + node / l->rails.per_leaf : node;
}

/* Adds `step`, 1 or -1, for every member. */
static void count_members(struct ss_rail_links *l, const int *gpus, int n, int step)
{
    for (int i = 0; i < n; i++) {
        int rail = rail_of(&l->rails, gpus[i]);
        l->on_rail[rail] += step;
        for (int leaf = 0; leaf < 2; leaf++) {
            int place = place_of(l, gpus[i], leaf);
            l->inside[place] += step;
            l->by_rail[place * l->rails.n + rail] += step;
        }
    }
}

/* All members of a place send to those of a rail elsewhere over its link of that rail, by which those on this rail hear
 * from all elsewhere. */
static void visit_place(const struct ss_rail_links *l, int place, int n, ss_pairs_visitor visit, void *ctx)
{
    int rails = l->rails.n, inside = l->inside[place];
    for (int rail = 0; rail < rails; rail++) {
        int here = l->by_rail[place * rails + rail], link = WAYS * (place * rails + rail);
        double up = (double)inside * (l->on_rail[rail] - here), down = (double)here * (n - inside);
        if (up > 0)
            visit(ctx, link + UP, up);
        if (down > 0)
            visit(ctx, link + DOWN, down);
    }
}

void ss_rail_links_visit(struct ss_rail_links *l, const int *gpus, int n, ss_pairs_visitor visit, void *ctx)
{
    l->stamp++;
    count_members(l, gpus, n, 1);
    for (int i = 0; i < n; i++)
        for (int leaf = 0; leaf < 2; leaf++) {
            int place = place_of(l, gpus[i], leaf);
            if (l->seen[place] != l->stamp)
                visit_place(l, place, n, visit, ctx);
            l->seen[place] = l->stamp;
        }
    count_members(l, gpus, n, -1);
}
