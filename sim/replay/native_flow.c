/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Max-min fair sharing of links, with a weight per (flow, link), by progressive filling: the rates of
 * all flows rise together; when a link is full its flows stay as they are and the others go on.
 * A flow of weight w on a link takes w times its rate there. Only the connected component of flows and
 * links that was touched is shared anew; a flow alone on its links needs no sharing.
 */
#include "replay/native.h"

#define PLANNED -1 /* count of a link that a planned flow, and none else, will use */

/* One hop a link: a path that crosses a link twice loads it twice. */
static int merge_hops(const struct ss_path *path, struct ss_hop *out)
{
    int n = 0;
    for (int i = 0; i < path->nlinks; i++) {
        int j = 0;
        while (j < n && out[j].link != path->link[i])
            j++;
        if (j == n)
            out[n++] = (struct ss_hop){path->link[i], 0};
        out[j].weight += path->weight[i];
    }
    return n;
}

static int grow_flows(struct ss_fluid *f, int n)
{
    size_t room = (size_t)n + 1;
    struct ss_fluid_flow *flows = realloc(f->flows, room * sizeof *flows);
    if (flows)
        f->flows = flows;
    struct ss_fluid_node *nodes = realloc(f->nodes, (room << f->node_shift) * sizeof *nodes);
    if (nodes)
        f->nodes = nodes;
    int *part = realloc(f->part_flows, room * sizeof *part);
    if (part)
        f->part_flows = part;
    if (!flows || !nodes || !part)
        return -1;
    for (int i = f->nflows; i < n; i++) {
        flows[i] = (struct ss_fluid_flow){.path = -1, .owner = -1};
        if (i >= f->nchannels) {
            flows[i].next_free = f->free_flow;
            f->free_flow = i;
        }
    }
    f->nflows = n;
    return 0;
}

int ss_fluid_init(struct ss_fluid *f, const struct ss_program *p, double *busy)
{
    f->nlinks = p->nlinks;
    f->nchannels = p->nchannels;
    f->free_flow = -1;
    f->busy = busy;
    size_t nhops = 0;
    for (int i = 0; i < p->npaths; i++) {
        nhops += (size_t)p->paths[i].nlinks;
        while (p->paths[i].nlinks > 1 << f->node_shift)
            f->node_shift++;
    }
    f->hops = malloc((nhops + 1) * sizeof *f->hops);
    f->paths = calloc((size_t)p->npaths + 1, sizeof *f->paths);
    f->links = calloc((size_t)p->nlinks + 1, sizeof *f->links);
    f->dirty = malloc(((size_t)p->nlinks + 1) * sizeof *f->dirty);
    f->part_links = malloc(((size_t)p->nlinks + 1) * sizeof *f->part_links);
    if (!f->hops || !f->paths || !f->links || !f->dirty || !f->part_links || grow_flows(f, p->nchannels))
        return -1;
    for (int l = 0; l < p->nlinks; l++) {
        f->links[l].bandwidth = p->links[l].bandwidth;
        f->links[l].head = -1;
    }
    int first = 0;
    for (int i = 0; i < p->npaths; i++) {
        int n = merge_hops(&p->paths[i], f->hops + first);
        double solo = INFINITY;
        for (int j = first; j < first + n; j++)
            solo = fmin(solo, f->links[f->hops[j].link].bandwidth / f->hops[j].weight);
        f->paths[i] = (struct ss_fluid_path){first, n, solo};
        first += n;
    }
    return 0;
}

void ss_fluid_free(struct ss_fluid *f)
{
    free(f->hops);
    free(f->paths);
    free(f->links);
    free(f->flows);
    free(f->nodes);
    free(f->dirty);
    free(f->part_links);
    free(f->part_flows);
}

int ss_fluid_new(struct ss_native *k, int owner)
{
    struct ss_fluid *f = &k->fluid;
    if (f->free_flow < 0) {
        int n = f->nflows + (f->nflows < 64 ? 64 : f->nflows);
        if (grow_flows(f, n) || ss_timers_grow(&k->timers, k->flow0 + n))
            return -1;
    }
    int i = f->free_flow;
    f->free_flow = f->flows[i].next_free;
    f->flows[i].owner = owner;
    return i;
}

static void touch(struct ss_fluid *f, int link, const struct ss_fluid_flow *by)
{
    if (!f->links[link].dirty) {
        f->links[link].dirty = 1;
        f->links[link].cause = 0;
        f->dirty[f->ndirty++] = link;
    }
    if (by->doublings > f->links[link].cause)
        f->links[link].cause = by->doublings;
}

/* l->count counts the flow of this node already. */
static void add_node(struct ss_fluid *f, struct ss_fluid_link *l, int node)
{
    if (l->count == 2)
        f->nodes[l->head] = (struct ss_fluid_node){-1, node};
    else if (l->count > 2)
        f->nodes[l->head].prev = node;
    if (l->count > 1)
        f->nodes[node] = (struct ss_fluid_node){l->head, -1};
    l->head = node;
}

/* l->count still counts the flow of this node. */
static void remove_node(struct ss_fluid *f, struct ss_fluid_link *l, int node)
{
    if (l->count <= 1) {
        l->head = -1;
        return;
    }
    int next = f->nodes[node].next, prev = f->nodes[node].prev;
    *(prev >= 0 ? &f->nodes[prev].next : &l->head) = next;
    if (next >= 0)
        f->nodes[next].prev = prev;
}

static int next_node(const struct ss_fluid *f, const struct ss_fluid_link *l, int node)
{
    return l->count > 1 ? f->nodes[node].next : -1;
}

int ss_fluid_plan(struct ss_native *k, int flow, int path, double bytes, double start)
{
    struct ss_fluid *f = &k->fluid;
    if (!(bytes > 0) || path < 0 || f->paths[path].n == 0)
        return 0;
    const struct ss_fluid_path *way = &f->paths[path];
    const struct ss_hop *hops = f->hops + way->first;
    double end = start + bytes / way->solo;
    if (!(start > k->now) || !(end > start))
        return 0;
    for (int j = 0; j < way->n; j++)
        if (f->links[hops[j].link].count)
            return 0;
    for (int j = 0; j < way->n; j++) {
        struct ss_fluid_link *l = &f->links[hops[j].link];
        l->count = PLANNED;
        l->head = (flow << f->node_shift) + j;
        l->since = start;
    }
    struct ss_fluid_flow *w = &f->flows[flow];
    w->path = path;
    w->left = bytes;
    w->last = start;
    w->rate = way->solo;
    f->started++;
    ss_timers_set(&k->timers, k->flow0 + flow, end);
    return 1;
}

/* Forgets a plan. A flow that has begun becomes a flow like any other; otherwise the timer is that of its
 * beginning again. At one moment the lower timer comes first. */
static void forget_plan(struct ss_native *k, int flow)
{
    struct ss_fluid *f = &k->fluid;
    struct ss_fluid_flow *w = &f->flows[flow];
    const struct ss_fluid_path *way = &f->paths[w->path];
    int timer = k->flow0 + flow, begun = w->last < k->now || (w->last == k->now && timer < k->due);
    for (int j = 0; j < way->n; j++) {
        struct ss_fluid_link *l = &f->links[f->hops[way->first + j].link];
        l->count = begun;
        l->head = begun ? l->head : -1;
    }
    if (begun)
        return;
    f->started--;
    w->path = -1;
    ss_timers_set(&k->timers, timer, w->last);
}

void ss_fluid_forget_plans(struct ss_native *k)
{
    const struct ss_fluid *f = &k->fluid;
    for (int i = 0; i < f->nlinks; i++)
        if (f->links[i].count == PLANNED)
            forget_plan(k, f->links[i].head >> f->node_shift);
}

int ss_fluid_start(struct ss_native *k, int flow, int path, double bytes)
{
    struct ss_fluid *f = &k->fluid;
    if (!(bytes > 0) || path < 0 || f->paths[path].n == 0)
        return 0;
    const struct ss_fluid_path *way = &f->paths[path];
    int shared = -1;
    f->started++;
    for (int j = 0; j < way->n; j++) {
        struct ss_fluid_link *l = &f->links[f->hops[way->first + j].link];
        int node = (flow << f->node_shift) + j;
        if (l->count == PLANNED)
            forget_plan(k, l->head >> f->node_shift);
        if (l->count++)
            shared = f->hops[way->first + j].link;
        else
            l->since = k->now;
        add_node(f, l, node);
    }
    struct ss_fluid_flow *w = &f->flows[flow];
    w->path = path;
    w->left = bytes;
    w->last = k->now;
    w->rate = 0;
    if (shared >= 0) {
        touch(f, shared, w); /* leads to all others */
    } else {
        w->rate = way->solo;
        ss_timers_set(&k->timers, k->flow0 + flow, k->now + bytes / way->solo);
    }
    return 1;
}

void ss_fluid_stop(struct ss_native *k, int flow)
{
    struct ss_fluid *f = &k->fluid;
    struct ss_fluid_flow *w = &f->flows[flow];
    const struct ss_fluid_path *way = &f->paths[w->path];
    for (int j = 0; j < way->n; j++) {
        int link = f->hops[way->first + j].link;
        struct ss_fluid_link *l = &f->links[link];
        remove_node(f, l, (flow << f->node_shift) + j);
        l->count = l->count == PLANNED ? 0 : l->count - 1;
        if (l->count)
            touch(f, link, w);
        else
            l->busy += k->now - l->since;
    }
    w->path = -1;
    if (flow >= f->nchannels) {
        w->next_free = f->free_flow;
        f->free_flow = flow;
    }
}

void ss_fluid_close(struct ss_native *k)
{
    struct ss_fluid *f = &k->fluid;
    for (int i = 0; f->busy && i < f->nlinks; i++) {
        const struct ss_fluid_link *l = &f->links[i];
        int busy = l->count && l->since <= k->board->makespan; /* a planned flow may begin later */
        f->busy[i] = l->busy + (busy ? k->board->makespan - l->since : 0);
    }
    f->busy = NULL;
}

/* Flows and links reached from a link; numbers of both. */
static void gather(struct ss_fluid *f, int start, int *nlinks, int *nflows)
{
    int nl = 0, nf = 0;
    f->part_links[nl++] = start;
    f->links[start].mark = f->epoch;
    f->cause = 0;
    for (int i = 0; i < nl; i++) {
        struct ss_fluid_link *l = &f->links[f->part_links[i]];
        l->room = l->bandwidth;
        l->weight = 0;
        l->open = 0;
        f->cause = l->dirty && l->cause > f->cause ? l->cause : f->cause;
        l->dirty = 0;
        for (int node = l->head; node >= 0; node = next_node(f, l, node)) {
            struct ss_fluid_flow *w = &f->flows[node >> f->node_shift];
            const struct ss_fluid_path *way = &f->paths[w->path];
            l->weight += f->hops[way->first + (node & ((1 << f->node_shift) - 1))].weight;
            l->open++;
            if (w->mark == f->epoch)
                continue;
            w->mark = f->epoch;
            f->part_flows[nf++] = node >> f->node_shift;
            for (int j = 0; j < way->n; j++) {
                int link = f->hops[way->first + j].link;
                if (f->links[link].mark != f->epoch) {
                    f->links[link].mark = f->epoch;
                    f->part_links[nl++] = link;
                }
            }
        }
    }
    *nlinks = nl;
    *nflows = nf;
}

/* How an error of a flow's end grows, or what becomes of that of the moment: docs/design/replay-contract.md,
 * "Sensitivity". */
static void pass_error(struct ss_fluid *f, struct ss_fluid_flow *w, double rate)
{
    w->doublings = w->doublings > f->cause ? w->doublings : f->cause;
    if (!(rate < w->rate))
        return;
    if (w->rate / rate != f->slowed) {
        f->slowed = w->rate / rate;
        f->growth = log2(2 * f->slowed - 1);
    }
    w->doublings += f->growth;
    f->doublings = f->doublings > w->doublings ? f->doublings : w->doublings;
}

/* The rate of a flow is found. */
static void fix_flow(struct ss_native *k, int flow, double rate)
{
    struct ss_fluid *f = &k->fluid;
    struct ss_fluid_flow *w = &f->flows[flow];
    const struct ss_fluid_path *way = &f->paths[w->path];
    for (int j = 0; j < way->n; j++) {
        struct ss_hop h = f->hops[way->first + j];
        struct ss_fluid_link *l = &f->links[h.link];
        l->room -= h.weight * rate;
        l->weight -= h.weight;
        l->open--;
    }
    w->mark = -f->epoch;
    if (rate == w->rate)
        return;
    w->left = fmax(0, w->left - w->rate * (k->now - w->last));
    w->last = k->now;
    pass_error(f, w, rate);
    w->rate = rate;
    ss_timers_set(&k->timers, k->flow0 + flow, k->now + w->left / rate);
}

static void fill(struct ss_native *k, int nlinks, int nflows)
{
    struct ss_fluid *f = &k->fluid;
    double level = 0;
    while (nflows > 0) {
        int full = -1;
        double least = INFINITY;
        for (int i = 0; i < nlinks;) {
            const struct ss_fluid_link *l = &f->links[f->part_links[i]];
            if (l->open == 0) {
                f->part_links[i] = f->part_links[--nlinks];
                continue;
            }
            double share = l->room / l->weight;
            if (share < least || (share == least && f->part_links[i] < full)) {
                least = share;
                full = f->part_links[i];
            }
            i++;
        }
        level = fmax(level, least); /* rounding must not let it sink */
        for (int node = f->links[full].head; node >= 0; node = next_node(f, &f->links[full], node)) {
            int flow = node >> f->node_shift;
            if (f->flows[flow].mark != f->epoch)
                continue;
            fix_flow(k, flow, level);
            nflows--;
        }
    }
}

void ss_fluid_settle(struct ss_native *k)
{
    struct ss_fluid *f = &k->fluid;
    f->epoch++;
    for (int i = 0; i < f->ndirty; i++) {
        int link = f->dirty[i], nlinks, nflows;
        if (f->links[link].count <= 0 || f->links[link].mark == f->epoch) {
            f->links[link].dirty = 0;
            continue;
        }
        gather(f, link, &nlinks, &nflows);
        fill(k, nlinks, nflows);
    }
    f->ndirty = 0;
}
