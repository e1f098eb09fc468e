/* SPDX-License-Identifier: Apache-2.0 */
/* Finds which vertices of a drawing are equal, and which of them are drawn. */
#include "base/base.h"
#include "report/drawing.h"

#define ROUNDS 16

/* ---- equal vertices ---- */

static uint64_t mix(uint64_t a, uint64_t b)
{
    return ss_hash(ss_hash(SS_HASH_INIT, &a, sizeof a), &b, sizeof b);
}

static uint64_t edge_color(const struct ss_drawn_edge *e, uint64_t other)
{
    uint64_t h = mix(other, (uint64_t)(e->kind * 4096 + e->sharers));

    return ss_hash(h, &e->bandwidth, sizeof e->bandwidth);
}

/* Gives a vertex a colour made of its own colour, of its edges and the vertices that they lead to, and
 * of its node. Vertices with equal colours have equal places. */
static int color(struct ss_drawing *d)
{
    uint64_t *next = ss_calloc((size_t)d->nvertices + 1, sizeof *next),
             *nodes = ss_calloc((size_t)d->nnodes + 1, sizeof *nodes);
    int rc = next && nodes ? SS_OK : SS_ERR_NOMEM;

    for (int v = 0; !rc && v < d->nvertices; v++)
        d->vertices[v].color = (uint64_t)d->vertices[v].level;
    for (int round = 0; !rc && round < ROUNDS; round++) {
        memset(next, 0, (size_t)d->nvertices * sizeof *next);
        memset(nodes, 0, (size_t)d->nnodes * sizeof *nodes);
        for (size_t e = 0; e < d->nedges; e++) {
            const struct ss_drawn_edge *x = &d->edges[e];
            next[x->a] += edge_color(x, d->vertices[x->b].color);
            next[x->b] += edge_color(x, d->vertices[x->a].color);
        }
        for (int v = 0; v < d->nvertices; v++)
            if (d->vertices[v].node >= 0)
                nodes[d->vertices[v].node] += mix(d->vertices[v].color, 1);
        for (int v = 0; v < d->nvertices; v++) {
            int node = d->vertices[v].node;
            d->vertices[v].color = mix(mix(d->vertices[v].color, next[v]), node >= 0 ? nodes[node] : 0);
        }
    }
    SS_FREE(next, nodes);
    return rc;
}

static uint64_t node_color(const struct ss_drawing *d, int node)
{
    int g = d->ngpus / d->nnodes;
    uint64_t sum = 0;

    for (int l = 0; l < g; l++)
        sum += mix(d->vertices[node * g + l].color, 2);
    return sum;
}

/* ---- which nodes ---- */

/* Places a switch into a node if it joins only GPUs and switches of that node. */
static void place_switches(struct ss_drawing *d)
{
    char *between = ss_calloc((size_t)d->nvertices + 1, 1);

    for (size_t e = 0; between && e < d->nedges; e++) {
        const struct ss_drawn_edge *x = &d->edges[e];
        struct ss_drawn_vertex *a = &d->vertices[x->a], *b = &d->vertices[x->b];

        if (x->kind == SS_LINK_NIC || x->kind == SS_LINK_UPLINK || a->level > 0)
            between[x->b] = 1;
        if (a->level > 0)
            between[x->a] = 1;
        if (a->level == 0 && b->level > 0 && b->node >= 0 && b->node != a->node)
            between[x->b] = 1;
        else if (a->level == 0 && b->level > 0)
            b->node = a->node;
    }
    for (int v = d->ngpus; between && v < d->nvertices; v++)
        if (between[v])
            d->vertices[v].node = -1;
    free(between);
}

/* Returns 1 if links lead directly from a GPU of a node to a GPU of another, as in a torus. */
static int is_direct(const struct ss_drawing *d)
{
    for (size_t e = 0; e < d->nedges; e++) {
        const struct ss_drawn_vertex *a = &d->vertices[d->edges[e].a], *b = &d->vertices[d->edges[e].b];

        if (a->level == 0 && b->level == 0 && a->node != b->node)
            return 1;
    }
    return 0;
}

/* Counts equal nodes. In a template whole groups of leaves are equal; elsewhere the colours tell. */
static void count_nodes(struct ss_drawing *d)
{
    int n = ss_platform_nodes(d->p), leaf = ss_platform_leaf_nodes(d->p), kinds = 0;

    for (int i = 0; i < d->nnodes; i++)
        d->nodes[i].equal = d->nodes[i].drawn = 1;
    if (n <= (is_direct(d) ? SS_DRAWN_LAYER : SS_DRAWN_NODES))
        return;
    if (leaf > 0) {
        int rest = n % leaf;

        for (int i = 0; i < d->nnodes; i++)
            d->nodes[i].drawn = i == 0 || (n > leaf && rest > 0 && d->nodes[i].node == n - rest);
        for (int i = 1; i < d->nnodes; i++)
            d->nodes[i].equal = d->nodes[i].drawn ? rest : 0;
        d->nodes[0].equal = n > leaf ? n - rest : n;
        return;
    }
    for (int i = 0; i < d->nnodes; i++) {
        int like = 0;

        while (like < i && !(d->nodes[like].drawn && node_color(d, like) == node_color(d, i)))
            like++;
        if (like < i) {
            d->nodes[like].equal++;
            d->nodes[i].drawn = 0;
        } else {
            d->nodes[i].drawn = ++kinds <= SS_DRAWN_KINDS;
        }
    }
}

/* ---- which switches ---- */

/* Marks what is drawn: the switches above drawn nodes, and one layer of what is beside a drawn switch. */
static void climb(struct ss_drawing *d)
{
    char *beside = ss_calloc((size_t)d->nvertices + 1, 1);

    for (int v = 0; v < d->nvertices; v++) {
        int node = d->vertices[v].node;
        d->vertices[v].shows = node >= 0 && d->nodes[node].drawn ? v : -1;
    }
    for (int level = 0; level < d->levels; level++)
        for (size_t e = 0; e < d->nedges; e++) {
            const struct ss_drawn_vertex *a = &d->vertices[d->edges[e].a];
            struct ss_drawn_vertex *b = &d->vertices[d->edges[e].b];

            if (a->level == level && a->shows >= 0 && b->level > level && b->node < 0)
                b->shows = d->edges[e].b;
        }
    for (size_t e = 0; beside && e < d->nedges; e++) {
        const struct ss_drawn_edge *x = &d->edges[e];
        const struct ss_drawn_vertex *a = &d->vertices[x->a], *b = &d->vertices[x->b];

        if (a->level == b->level && a->level > 0 && (a->shows >= 0) != (b->shows >= 0))
            beside[a->shows >= 0 ? x->b : x->a] = 1;
    }
    for (int v = 0; beside && v < d->nvertices; v++)
        if (beside[v])
            d->vertices[v].shows = v;
    free(beside);
}

/* Folds a row with too many boxes: one of each kind stands for all. Rows are the switches of a level,
 * and the GPUs of a node. */
static void fold_row(struct ss_drawing *d, int from, int to, int level, int node)
{
    int n = 0;

    for (int v = from; v < to; v++)
        n += d->vertices[v].shows == v && d->vertices[v].level == level && d->vertices[v].node == node;
    if (n <= SS_DRAWN_LAYER)
        return;
    for (int v = from; v < to; v++) {
        struct ss_drawn_vertex *x = &d->vertices[v];

        for (int like = from; x->shows == v && x->level == level && x->node == node && like < v; like++)
            if (d->vertices[like].shows == like && d->vertices[like].level == level &&
                d->vertices[like].node == node && d->vertices[like].color == x->color)
                x->shows = like;
    }
}

/* Counts how many vertices of the platform are equal to a drawn one. In a template the groups of leaves
 * are equal. */
static void count_equal(struct ss_drawing *d)
{
    int nodes = ss_platform_nodes(d->p), leaf = ss_platform_leaf_nodes(d->p),
        nics = ss_platform_nics_per_node(d->p);

    for (int v = 0; v < d->nvertices; v++) {
        struct ss_drawn_vertex *x = &d->vertices[v];

        if (x->shows != v || x->node >= 0)
            continue;
        for (int like = d->ngpus; like < d->nvertices && leaf == 0; like++)
            x->equal += d->vertices[like].color == x->color;
        if (leaf > 0)
            x->equal = x->level > 1 ? 1 : (int64_t)nics * ((nodes + leaf - 1) / leaf);
    }
}

/* Returns 1 for the point where all NICs of a node meet before the first switch, as in SimGrid's clusters. */
static int is_port(const struct ss_drawing *d, int v)
{
    int node = -1, n = 0;

    for (size_t e = 0; e < d->nedges; e++) {
        const struct ss_drawn_edge *x = &d->edges[e];

        if (x->b != v || d->vertices[x->a].level > 0)
            continue;
        if (node >= 0 && d->vertices[x->a].node != node)
            return 0;
        node = d->vertices[x->a].node;
        n++;
    }
    return n > 1 && n == d->ngpus / d->nnodes && d->nnodes > 1;
}

static const char *role_of(const struct ss_drawing *d, const struct ss_drawn_vertex *v, int ports)
{
    if (v->level == 1)
        return ports ? "port" : "leaf";
    return v->level == d->levels ? "spine" : v->level == 2 && ports ? "leaf" : "switch";
}

static void name_switches(struct ss_drawing *d)
{
    int ports = 1;

    for (int v = d->ngpus; v < d->nvertices; v++)
        if (d->vertices[v].level == 1 && d->vertices[v].node < 0)
            ports = ports && is_port(d, v);
    for (int v = d->ngpus; v < d->nvertices; v++)
        d->vertices[v].role = role_of(d, &d->vertices[v], ports);
    for (size_t e = 0; e < d->nedges; e++) {
        const struct ss_drawn_edge *x = &d->edges[e];
        struct ss_drawn_vertex *a = &d->vertices[x->a], *b = &d->vertices[x->b];

        if (a->level > 0 && a->level == b->level) /* routers of a dragonfly */
            a->role = b->role = "switch";
        else if (a->level == 0 && b->level == 1 && x->kind == SS_LINK_FABRIC)
            b->role = d->fabric_switch;
        else if (a->level == 0 && b->level == 1 && b->node >= 0)
            b->role = "host";
    }
}

int ss_drawing_fold(struct ss_drawing *d)
{
    place_switches(d);

    SS_TRY(color(d));
    count_nodes(d);
    climb(d);
    for (int level = 1; level <= d->levels; level++)
        fold_row(d, d->ngpus, d->nvertices, level, -1);
    for (int i = 0; i < d->nnodes; i++)
        if (d->nodes[i].drawn)
            fold_row(d, i * (d->ngpus / d->nnodes), (i + 1) * (d->ngpus / d->nnodes), 0, i);
    count_equal(d);
    name_switches(d);
    return SS_OK;
}
