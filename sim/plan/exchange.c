/* SPDX-License-Identifier: Apache-2.0 */
/* The load of exchanges on links, from sums of rows and columns instead of pair by pair. */
#include "plan/exchange.h"

#include "base/base.h"
#include "stepsim/params.h"

struct ss_rails ss_rails(const struct ss_platform *p)
{
    struct ss_rails r = {.gpus = ss_platform_gpus_per_node(p)};
    int per_leaf = (int)ss_platform_get(p, SS_PROP_NODES_PER_LEAF);
    if (per_leaf > 0 && ss_platform_fabric_bandwidth(p) > 0) {
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
    *l = (struct ss_rail_links){
        .rails = ss_rails(p), .nodes = ss_platform_nodes(p), .fabric_word = ss_platform_fabric_word(p)};
    if (l->rails.n == 0)
        return SS_OK;
    l->places = l->nodes + (l->nodes - 1) / l->rails.per_leaf + 1;
    l->n = WAYS * l->places * l->rails.n;
    size_t rails = (size_t)l->rails.n, places = (size_t)l->places, gpus = (size_t)l->rails.gpus;
    l->seen = ss_calloc(places, sizeof *l->seen);
    l->inside = ss_calloc((places + 1) * 2 * (1 + rails) + gpus * ((size_t)l->nodes + 1), sizeof *l->inside);
    if (!l->inside || !l->seen)
        return SS_ERR_NOMEM;
    l->by_rail = l->inside + 2 * (places + 1);
    l->at_place = l->by_rail + 2 * (places + 1) * rails;
    return SS_OK;
}

void ss_rail_links_free(struct ss_rail_links *l)
{
    SS_FREE(l->inside, l->seen);
    memset(l, 0, sizeof *l);
}

int ss_rail_link_kind(const struct ss_rail_links *l, int link)
{
    if (link >= l->n)
        return SS_LINK_FABRIC;
    return link < WAYS * l->nodes * l->rails.n ? SS_LINK_NIC : SS_LINK_UPLINK;
}

double ss_rail_link_bandwidth(const struct ss_rail_links *l, const struct ss_platform *p, double nic,
                              int link)
{
    if (ss_rail_link_kind(l, link) == SS_LINK_NIC)
        return nic;
    return nic * l->rails.per_leaf / ss_platform_get(p, SS_PROP_OVERSUBSCRIPTION);
}

void ss_rail_link_name(const struct ss_rail_links *l, int link, char name[64])
{
    int place = link / WAYS / l->rails.n, leaf = place >= l->nodes, gpu = (link - l->n) / WAYS;
    if (link >= l->n) {
        snprintf(name, 64, "%s-%d-%d.%s", l->fabric_word, gpu / l->rails.gpus, gpu % l->rails.gpus,
                 link % WAYS == UP ? "up" : "down");
        return;
    }
    snprintf(name, 64, "%s-%d-%d.%s", leaf ? "uplink" : "nic", leaf ? place - l->nodes : place,
             link / WAYS % l->rails.n, link % WAYS == UP ? "up" : "down");
}

static int place_of(const struct ss_rail_links *l, int gpu, int leaf)
{
    int node = gpu / l->rails.gpus;
    return leaf ? l->nodes + node / l->rails.per_leaf : node;
}

/* ---- sums of rows and columns: over a place, over a rail of a place, and behind the last place over all
 * ---- */

enum { ROW, COL };

static double *inside_of(const struct ss_rail_links *l, int what, int place)
{
    return &l->inside[what * (l->places + 1) + place];
}

static double *rail_at(const struct ss_rail_links *l, int what, int place, int rail)
{
    return &l->by_rail[(what * (l->places + 1) + place) * l->rails.n + rail];
}

/* Returns the column sum of the members at a GPU's place on a node; behind the last node over all nodes. */
static double *column_at(const struct ss_rail_links *l, int node, int gpu)
{
    return &l->at_place[node * l->rails.gpus + gpu % l->rails.gpus];
}

static double part_of(const struct ss_exchange *e, int what, int i)
{
    const double *part = what == ROW ? e->row : e->col;
    return part ? part[i] : 1;
}

/* Adds a member's row and column to the sums, or removes them. */
static void count_member(struct ss_rail_links *l, const struct ss_exchange *e, int i, int forget)
{
    int gpu = e->gpus[i], rail = rail_of(&l->rails, gpu);
    const int at[] = {place_of(l, gpu, 0), place_of(l, gpu, 1), l->places};
    for (int what = ROW; what <= COL; what++)
        for (int k = 0; k < 3; k++) {
            double *sums[] = {inside_of(l, what, at[k]), rail_at(l, what, at[k], rail)};
            for (int j = 0; j < 2; j++)
                *sums[j] = forget ? 0 : *sums[j] + part_of(e, what, i);
        }
    double *own = column_at(l, at[0], gpu), *all = column_at(l, l->nodes, gpu);
    *own = forget ? 0 : *own + part_of(e, COL, i);
    *all = forget ? 0 : *all + part_of(e, COL, i);
}

static void count_members(struct ss_rail_links *l, const struct ss_exchange *e, int forget)
{
    for (int i = 0; i < e->n; i++)
        count_member(l, e, i, forget);
}

/* Visits the links of a place. By the target's rail, all members of the place send to members on a rail
 * elsewhere over the place's link of that rail, and its members on that rail receive over it from all members
 * elsewhere. By the source's rail it is the other way round. */
static void visit_place(const struct ss_rail_links *l, const struct ss_exchange *e, int place,
                        ss_pairs_visitor visit, void *ctx)
{
    int rails = l->rails.n, all = e->by_source ? COL : ROW, one = e->by_source ? ROW : COL;
    double inside = *inside_of(l, all, place), outside = *inside_of(l, all, l->places) - inside;
    for (int rail = 0; rail < rails; rail++) {
        double here = *rail_at(l, one, place, rail), elsewhere = *rail_at(l, one, l->places, rail) - here;
        double from_all = inside * elsewhere, to_one = here * outside;
        int link = WAYS * (place * rails + rail);
        double up = e->by_source ? to_one : from_all, down = e->by_source ? from_all : to_one;
        if (up > 0)
            visit(ctx, link + UP, up);
        if (down > 0)
            visit(ctx, link + DOWN, down);
    }
}

void ss_rail_links_visit(struct ss_rail_links *l, const struct ss_exchange *e, ss_pairs_visitor visit,
                         void *ctx)
{
    l->stamp++;
    count_members(l, e, 0);
    for (int i = 0; i < e->n; i++)
        for (int leaf = 0; leaf < 2; leaf++) {
            int place = place_of(l, e->gpus[i], leaf);
            if (l->seen[place] != l->stamp)
                visit_place(l, e, place, visit, ctx);
            l->seen[place] = l->stamp;
        }
    count_members(l, e, 1);
}

/* ---- the fabric ---- */

static void visit_fabric(const struct ss_rail_links *l, int gpu, double up, double down,
                         ss_pairs_visitor visit, void *ctx)
{
    if (up > 0)
        visit(ctx, l->n + WAYS * gpu + UP, up);
    if (down > 0)
        visit(ctx, l->n + WAYS * gpu + DOWN, down);
}

void ss_rail_links_visit_near(struct ss_rail_links *l, const struct ss_exchange *e, ss_pairs_visitor visit,
                              void *ctx)
{
    count_members(l, e, 0);
    for (int i = 0; i < e->n; i++) {
        int node = place_of(l, e->gpus[i], 0);
        double row = part_of(e, ROW, i), col = part_of(e, COL, i);
        visit_fabric(l, e->gpus[i], row * (*inside_of(l, COL, node) - col),
                     col * (*inside_of(l, ROW, node) - row), visit, ctx);
    }
    count_members(l, e, 1);
}

/* Visits what members hand to the GPU at the target's place: all that goes to other rails on other nodes. */
static void visit_handed(const struct ss_rail_links *l, int node, int gpu, ss_pairs_visitor visit, void *ctx)
{
    int rail = rail_of(&l->rails, gpu);
    double others = *inside_of(l, ROW, node) - *rail_at(l, ROW, node, rail);
    visit_fabric(l, gpu, 0, others * (*column_at(l, l->nodes, gpu) - *column_at(l, node, gpu)), visit, ctx);
}

void ss_rail_links_visit_handed(struct ss_rail_links *l, const struct ss_exchange *e, ss_pairs_visitor visit,
                                void *ctx)
{
    l->stamp++;
    count_members(l, e, 0);
    for (int i = 0; i < e->n; i++) {
        int gpu = e->gpus[i], node = place_of(l, gpu, 0), rail = rail_of(&l->rails, gpu);
        double elsewhere = *inside_of(l, COL, l->places) - *inside_of(l, COL, node);
        double on_rail = *rail_at(l, COL, l->places, rail) - *rail_at(l, COL, node, rail);
        visit_fabric(l, gpu, part_of(e, ROW, i) * (elsewhere - on_rail), 0, visit, ctx);
        for (int k = 0; k < l->rails.gpus && l->seen[node] != l->stamp; k++)
            visit_handed(l, node, node * l->rails.gpus + k, visit, ctx);
        l->seen[node] = l->stamp;
    }
    count_members(l, e, 1);
}
