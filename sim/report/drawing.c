/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of a platform from its routes, which are all that is known of a file that SimGrid alone understands: where one link
 * of a route ends and the next one begins is one switch. A link that goes both ways is one edge: its names end in up and down.
 * A few nodes of a template tell all. */
#include "report/drawing.h"

#include "base/base.h"

struct wire {
    char name[64];
    int link;      /* the link of the platform */
    int base;      /* the first wire of the same name, which stands for both directions */
    int backwards; /* 1: from end 1 to end 0 */
    int one_name;  /* 1: both directions share this name; the place on the route tells the direction */
};

struct graph {
    struct ss_drawing *d;
    int g;        /* GPUs of a node */
    int *wire_of; /* [link of the platform]: its wire + 1 */
    int *from;    /* [link]: the node + 1 that alone sends over it; -1: several nodes do */
    struct wire *wires;
    size_t nwires, wires_cap;
    int *up;      /* union-find of ends: 2 * base + end */
    char *at_gpu; /* [end]: 1: a GPU is there */
    struct hold {
        int gpu, end;
    } * holds; /* which GPU is at which end */
    size_t nholds, holds_cap;
    int *vertex; /* [root of ends]: its vertex + 1 */
};

typedef void (*walker)(struct graph *g, const struct ss_route *r, int src, int dst);

/* ---- GPUs and wires ---- */

static int gpu_of(const struct graph *g, int vertex)
{
    return g->d->nodes[vertex / g->g].node * g->g + vertex % g->g;
}

/* SimGrid 3.32 puts the part of a route that is in the receiver's zone before the others. A route begins with links over which
 * the sender's node alone sends, so that it is turned until it does. */
static void turn(const struct graph *g, struct ss_route *r, int node)
{
    int link[SS_ROUTE_MAX], start = -1;

    for (int i = 0; i < r->nlinks && start < 0; i++)
        if (g->from[r->link[i]] == node + 1 && g->from[r->link[(i + r->nlinks - 1) % r->nlinks]] != node + 1)
            start = i;
    if (start <= 0)
        return;
    memcpy(link, r->link, sizeof link);
    for (int i = 0; i < r->nlinks; i++)
        r->link[i] = link[(start + i) % r->nlinks];
}

static void every_route(struct graph *g, walker visit)
{
    struct ss_route r;

    for (int s = 0; s < g->d->ngpus; s++)
        for (int t = 0; t < g->d->ngpus; t++)
            if (s != t) {
                ss_platform_route(g->d->p, gpu_of(g, s), gpu_of(g, t), &r);
                if (g->nwires)
                    turn(g, &r, s / g->g);
                visit(g, &r, s, t);
            }
}

static void note_wires(struct graph *g, const struct ss_route *r, int src, int dst)
{
    int node = src / g->g + 1;

    (void)dst;
    for (int i = 0; i < r->nlinks; i++) {
        int *from = &g->from[r->link[i]];

        g->wire_of[r->link[i]] = 1;
        *from = *from == 0 || *from == node ? node : -1;
    }
}

/* "nic-0-0_UP", "nic-0-0.down" -> "nic-0-0" */
static void split_name(struct wire *w)
{
    static const char *const ends[] = {".up", "_UP", ".down", "_DOWN"};
    size_t n = strlen(w->name);

    w->one_name = 1;
    for (int i = 0; i < 4; i++) {
        size_t k = strlen(ends[i]);

        if (n > k && strcmp(w->name + n - k, ends[i]) == 0) {
            w->name[n - k] = 0;
            w->backwards = i >= 2;
            w->one_name = 0;
            return;
        }
    }
}

static int by_name(const void *a, const void *b)
{
    const struct wire *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    return order != 0 ? order : (x->link > y->link) - (x->link < y->link);
}

static int find_wires(struct graph *g)
{
    int n = ss_platform_link_count(g->d->p);
    struct ss_link link;

    g->wire_of = ss_calloc((size_t)n + 1, sizeof *g->wire_of);
    g->from = ss_calloc((size_t)n + 1, sizeof *g->from);
    if (!g->wire_of || !g->from)
        return SS_ERR_NOMEM;
    every_route(g, note_wires);
    for (int i = 0; i < n; i++) {
        if (!g->wire_of[i])
            continue;
        if (ss_grow(&g->wires, &g->wires_cap, g->nwires + 1, sizeof *g->wires))
            return SS_ERR_NOMEM;
        struct wire *w = &g->wires[g->nwires++];
        memset(w, 0, sizeof *w);
        ss_platform_link(g->d->p, i, &link);
        ss_copy(w->name, sizeof w->name, link.name);
        w->link = i;
        split_name(w);
    }
    if (g->nwires)
        qsort(g->wires, g->nwires, sizeof *g->wires, by_name);
    for (size_t i = 0; i < g->nwires; i++) {
        g->wire_of[g->wires[i].link] = (int)i + 1;
        g->wires[i].base =
            i > 0 && !strcmp(g->wires[i].name, g->wires[i - 1].name) ? g->wires[i - 1].base : (int)i;
    }
    g->up = ss_calloc(2 * g->nwires + 1, sizeof *g->up);
    g->at_gpu = ss_calloc(2 * g->nwires + 1, 1);
    g->vertex = ss_calloc(2 * g->nwires + 1, sizeof *g->vertex);
    for (size_t i = 0; g->up && i < 2 * g->nwires; i++)
        g->up[i] = (int)i;
    return g->up && g->at_gpu && g->vertex ? SS_OK : SS_ERR_NOMEM;
}

/* ---- ends ---- */

static int root_of(int *up, int i)
{
    while (up[i] != i)
        i = up[i] = up[up[i]];
    return i;
}

/* Returns the end at which a route enters link i. `from` is the end that the route left before, -1:
 * none. A link of one name is entered at end 0 by routes that begin with it, and left there by routes
 * that end with it. */
static int entry_of(struct graph *g, const struct ss_route *r, int i, int src, int dst, int from)
{
    const struct wire *w = &g->wires[g->wire_of[r->link[i]] - 1];
    int side = w->backwards;

    if (w->one_name && r->nlinks == 1)
        side = src > dst;
    else if (w->one_name && i == r->nlinks - 1)
        side = 1;
    else if (w->one_name && i > 0)
        side = from >= 0 && root_of(g->up, from) == root_of(g->up, 2 * w->base + 1);
    return 2 * w->base + side;
}

static void hold(struct graph *g, int gpu, int end)
{
    for (size_t i = g->nholds; i-- > 0 && g->holds[i].gpu == gpu;)
        if (g->holds[i].end == end)
            return;
    if (ss_grow(&g->holds, &g->holds_cap, g->nholds + 1, sizeof *g->holds))
        return; /* an edge less in a picture */
    g->holds[g->nholds++] = (struct hold){gpu, end};
}

/* Notes which GPU is at an end. The sender tells it; routes are visited sender by sender. */
static void note_ends(struct graph *g, const struct ss_route *r, int src, int dst)
{
    int first = entry_of(g, r, 0, src, dst, -1), last = entry_of(g, r, r->nlinks - 1, src, dst, -1) ^ 1;

    hold(g, src, first);
    g->at_gpu[first] = g->at_gpu[last] = 1;
}

static void join_ends(struct graph *g, const struct ss_route *r, int src, int dst)
{
    int from = -1;

    for (int i = 0; i < r->nlinks; i++) {
        int to = entry_of(g, r, i, src, dst, from);

        if (from >= 0 && !g->at_gpu[from] && !g->at_gpu[to])
            g->up[root_of(g->up, from)] = root_of(g->up, to);
        from = to ^ 1;
    }
}

/* ---- vertices and edges ---- */

static int add_switches(struct graph *g)
{
    struct ss_drawing *d = g->d;
    int n = d->ngpus;

    for (size_t e = 0; e < 2 * g->nwires; e++)
        if ((size_t)g->wires[e / 2].base == e / 2 && !g->at_gpu[e] && !g->vertex[root_of(g->up, (int)e)])
            g->vertex[root_of(g->up, (int)e)] = ++n;
    d->nvertices = n;
    d->vertices = ss_calloc((size_t)n + 1, sizeof *d->vertices);
    for (int v = 0; d->vertices && v < n; v++)
        d->vertices[v] =
            (struct ss_drawn_vertex){.level = v < d->ngpus ? 0 : -1, .node = v < d->ngpus ? v / g->g : -1};
    return d->vertices ? SS_OK : SS_ERR_NOMEM;
}

static int by_end(const void *a, const void *b)
{
    const struct hold *x = a, *y = b;

    return x->end != y->end ? (x->end > y->end) - (x->end < y->end) : (x->gpu > y->gpu) - (x->gpu < y->gpu);
}

/* Finds the GPUs at an end, or the switch there. */
static void vertices_at(struct graph *g, int end, size_t *first, size_t *n, int *vertex)
{
    size_t lo = 0, hi = g->nholds;

    *n = 1;
    *first = 0;
    *vertex = g->vertex[root_of(g->up, end)] - 1;
    if (!g->at_gpu[end])
        return;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (g->holds[mid].end < end)
            lo = mid + 1;
        else
            hi = mid;
    }
    *first = lo;
    for (*n = 0; lo + *n < g->nholds && g->holds[lo + *n].end == end;)
        ++*n;
    *vertex = -1;
}

static int add_edges(struct graph *g)
{
    struct ss_drawing *d = g->d;

    if (g->nholds)
        qsort(g->holds, g->nholds, sizeof *g->holds, by_end);
    for (size_t w = 0; w < g->nwires; w++) {
        size_t fa, na, fb, nb;
        int a, b, kind;
        double bandwidth;

        if ((size_t)g->wires[w].base != w)
            continue;
        vertices_at(g, 2 * (int)w, &fa, &na, &a);
        vertices_at(g, 2 * (int)w + 1, &fb, &nb, &b);
        ss_platform_link_facts(d->p, g->wires[w].link, &kind, &bandwidth);
        for (size_t i = 0; i < na; i++)
            for (size_t j = 0; j < nb; j++) {
                int from = a >= 0 ? a : g->holds[fa + i].gpu, to = b >= 0 ? b : g->holds[fb + j].gpu;

                if (ss_grow(&d->edges, &d->edges_cap, d->nedges + 1, sizeof *d->edges))
                    return SS_ERR_NOMEM;
                d->edges[d->nedges++] =
                    (struct ss_drawn_edge){from, to, kind, (int)(na > nb ? na : nb), bandwidth};
            }
    }
    return SS_OK;
}

static int by_vertices(const void *a, const void *b)
{
    const struct ss_drawn_edge *x = a, *y = b;

    return x->a != y->a ? (x->a > y->a) - (x->a < y->a) : (x->b > y->b) - (x->b < y->b);
}

/* Sets the levels from the GPUs up. Then it turns each edge to lead from the lower vertex, and sorts the
 * edges. */
static void set_levels(struct ss_drawing *d)
{
    int moved = 1;

    for (int level = 0; moved; level++) {
        moved = 0;
        for (size_t e = 0; e < d->nedges; e++)
            for (int turn = 0; turn < 2; turn++) {
                const struct ss_drawn_edge *x = &d->edges[e];
                struct ss_drawn_vertex *from = &d->vertices[turn ? x->b : x->a],
                                       *to = &d->vertices[turn ? x->a : x->b];

                if (from->level == level && to->level < 0) {
                    to->level = level + 1;
                    d->levels = level + 1;
                    moved = 1;
                }
            }
    }
    for (size_t e = 0; e < d->nedges; e++) {
        struct ss_drawn_edge *x = &d->edges[e];
        int a = x->a, la = d->vertices[a].level, lb = d->vertices[x->b].level;

        if (la > lb || (la == lb && a > x->b)) {
            x->a = x->b;
            x->b = a;
        }
    }
    if (d->nedges)
        qsort(d->edges, d->nedges, sizeof *d->edges, by_vertices);
}

/* ---- all of it ---- */

/* Chooses the nodes whose routes are read. In a template the first two nodes and one node of each
 * further leaf tell where the links lead; the last leaf may be smaller. */
static void choose_nodes(struct ss_drawing *d)
{
    int n = ss_platform_nodes(d->p), leaf = ss_platform_leaf_nodes(d->p),
        whole = leaf > 0 ? n / leaf * leaf : n;
    const int chosen[] = {0, 1, leaf, whole < n ? whole : n - 1};

    if (leaf == 0 || n <= SS_DRAWN_NODES) {
        for (; d->nnodes < n; d->nnodes++)
            d->nodes[d->nnodes] = (struct ss_drawn_node){.node = d->nnodes};
        return;
    }
    for (int i = 0; i < 4; i++)
        if (chosen[i] < n && (d->nnodes == 0 || chosen[i] > d->nodes[d->nnodes - 1].node))
            d->nodes[d->nnodes++] = (struct ss_drawn_node){.node = chosen[i]};
}

int ss_drawing_make(struct ss_drawing *d, const struct ss_platform *p)
{
    struct graph g = {.d = d, .g = ss_platform_gpus_per_node(p)};
    int n = ss_platform_nodes(p), rc;

    *d = (struct ss_drawing){.p = p};
    snprintf(d->fabric_switch, sizeof d->fabric_switch, "%s switch", ss_platform_fabric(p));
    if (ss_platform_leaf_nodes(p) > 0)
        n = n < SS_DRAWN_NODES ? n : SS_DRAWN_NODES;
    d->nodes = ss_calloc((size_t)n + 1, sizeof *d->nodes);
    if (!d->nodes)
        return SS_ERR_NOMEM;
    choose_nodes(d);
    d->ngpus = d->nnodes * g.g;
    rc = find_wires(&g);
    if (!rc) {
        every_route(&g, note_ends);
        every_route(&g, join_ends);
        rc = add_switches(&g);
    }
    SS_THEN(rc, add_edges(&g));
    if (!rc) {
        set_levels(d);
        rc = ss_drawing_fold(d);
    }
    SS_FREE(g.wire_of, g.from, g.wires, g.up, g.at_gpu, g.holds, g.vertex);
    return rc;
}

void ss_drawing_free(struct ss_drawing *d)
{
    SS_FREE(d->vertices, d->edges, d->nodes);
    memset(d, 0, sizeof *d);
}
