/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/routes.h"

#include "base/base.h"
#include "plan/exchange.h"
#include "stepsim/job.h"

/* The build at hand. */
struct routing {
    const struct ss_plan *plan;
    const struct ss_groups *groups;
    struct ss_routes *r;
    struct ss_error *err;
    struct ss_rails rails;
    int gpus, nodes, mesh;
};

/* ---- kinds ---- */

static int peer_known(const int *peers, int n, int stage)
{
    for (int j = 0; j < n; j++)
        if (peers[j] == stage)
            return 1;
    return 0;
}

/* Finds the pipeline ranks that exchange activations, by stage; peers has room for `stages` a stage. */
static int find_peers(const struct ss_schedule *s, int *peers, int *count)
{
    int most = 0;
    for (int v = 0; v < s->stages * s->chunks; v++) {
        int next = ss_schedule_after(s, v), a = s->virtual_rank[v];
        int b = next < 0 ? a : s->virtual_rank[next];
        for (int i = 0; i < 2 && a != b; i++) {
            int from = i ? b : a, to = i ? a : b;
            int *own = peers + (size_t)from * (size_t)s->stages;
            if (!peer_known(own, count[from], to))
                own[count[from]++] = to;
        }
    }
    for (int i = 0; i < s->stages; i++)
        most = count[i] > most ? count[i] : most;
    return most;
}

/* Returns the number of kinds that a hop needs: its last kinds may have no flow in any group. */
static int used_width(const struct routing *b, int comm, int hop)
{
    const struct ss_symmetry *s = &b->r->symmetry;
    int most = ss_comm_has_flows(b->plan, comm) ? b->groups->width[comm][hop] : 0;
    for (int width = most; width > 0; width--) {
        for (int at = 0; at < s->nranks; at++) {
            int rank = ss_symmetry_rank(s, at);
            if (width == 1 || ss_groups_target(b->groups, comm, hop, width - 1, rank) != rank)
                return width;
        }
    }
    return 0;
}

static int make_kinds(struct routing *b)
{
    const struct ss_schedule *s = b->plan->schedule;
    struct ss_routes *r = b->r;
    size_t p = (size_t)s->stages;
    int *all = ss_calloc(p * p, sizeof *all), *count = ss_calloc(p, sizeof *count);
    if (all && count)
        r->npeers = find_peers(s, all, count);
    r->peer = ss_calloc(p * (size_t)(r->npeers + 1), sizeof *r->peer);
    if (!all || !count || !r->peer) {
        SS_FREE(all, count);
        return ss_nomem(b->err);
    }
    for (int i = 0; i < s->stages; i++)
        for (int j = 0; j < r->npeers; j++)
            r->peer[i * r->npeers + j] = j < count[i] ? all[(size_t)i * p + (size_t)j] : -1;
    SS_FREE(all, count);
    r->nkinds = r->npeers;
    r->embedding = ss_job_copies_embedding(b->plan->job) && s->stages > 1 ? r->nkinds++ : -1;
    for (int comm = 0; comm < SS_COMM_COUNT; comm++)
        for (int hop = 0; hop < SS_HOP_COUNT; hop++) {
            r->width[comm][hop] = used_width(b, comm, hop);
            r->hop[comm][hop] = r->width[comm][hop] ? r->nkinds : -1;
            r->nkinds += r->width[comm][hop];
        }
    return SS_OK;
}

static void set_to(struct ss_routes *r, int at, int kind, int to)
{
    if (to != ss_symmetry_rank(&r->symmetry, at))
        r->to[(size_t)at * (size_t)r->nkinds + (size_t)kind] = to;
}

static void make_hops(struct routing *b)
{
    const struct ss_symmetry *s = &b->r->symmetry;
    for (int comm = 0; comm < SS_COMM_COUNT; comm++)
        for (int hop = 0; hop < SS_HOP_COUNT; hop++)
            for (int j = 0; j < b->r->width[comm][hop]; j++)
                for (int at = 0; at < s->nranks; at++)
                    set_to(b->r, at, b->r->hop[comm][hop] + j,
                           ss_groups_target(b->groups, comm, hop, j, ss_symmetry_rank(s, at)));
}

static void make_peers(struct routing *b)
{
    const struct ss_plan *plan = b->plan;
    const struct ss_schedule *s = plan->schedule;
    struct ss_routes *r = b->r;
    int first = s->virtual_rank[0], last = s->virtual_rank[s->stages * s->chunks - 1];
    for (int at = 0; at < r->symmetry.nranks; at++) {
        int rank = ss_symmetry_rank(&r->symmetry, at);
        int stage = ss_ranks_coordinate(&plan->ranks, rank, SS_AXIS_PP);
        for (int j = 0; j < r->npeers; j++)
            if (r->peer[stage * r->npeers + j] >= 0)
                set_to(r, at, j, ss_plan_stage_peer(plan, rank, r->peer[stage * r->npeers + j]));
        if (r->embedding >= 0 && (stage == first || stage == last))
            set_to(r, at, r->embedding, ss_plan_stage_peer(plan, rank, stage == first ? last : first));
    }
}

/* ---- routes ---- */

static int link_kind(const struct routing *b, int link)
{
    double bandwidth;
    int kind;
    ss_platform_link_facts(b->plan->platform, link, &kind, &bandwidth);
    return kind;
}

/* A route under construction. */
struct route {
    int n, failed; /* 1: it crosses a failed link */
    int missing;   /* 1: the platform has no way there */
    int link[2 * SS_ROUTE_MAX],
        at[2 * SS_ROUTE_MAX]; /* links of the platform, and those that stand for them */
    double latency;
};

static void cross(const struct routing *b, struct route *route, int link)
{
    const int at = ss_symmetry_link_at(&b->r->symmetry, link);
    if (route->n == SS_ROUTE_MAX || !(b->r->bandwidth[at] > 0)) {
        route->failed = 1;
        return;
    }
    route->link[route->n] = link;
    route->at[route->n++] = at;
}

/* Returns whether the way goes up one link of the fabric and down another; all fabric links of a GPU are one link there. */
static int by_switch(const struct routing *b, const struct ss_route *way)
{
    return way->nlinks == 2 && link_kind(b, way->link[0]) == SS_LINK_FABRIC &&
           link_kind(b, way->link[1]) == SS_LINK_FABRIC;
}

/* Extends the route from one GPU to another. On a node of a file that writes each link, a way other than up
 * one link of the fabric and down another (PCIe) also takes the GPUs' ports, which stand for all their links. A ring
 * takes only the ports, because it uses all of these links alike. */
static void go(const struct routing *b, struct route *route, int from, int to, int ring)
{
    struct ss_route more;
    int near = from / b->gpus == to / b->gpus, ports;
    if (from == to)
        return;
    ss_platform_route(b->plan->platform, from, to, &more);
    route->missing |= more.nlinks == 0;
    ports = near && !b->mesh && !by_switch(b, &more);
    if (ports)
        cross(b, route, b->r->nplatform + 2 * from);
    for (int i = 0; i < more.nlinks && !(ports && ring); i++)
        cross(b, route, more.link[i]);
    if (ports)
        cross(b, route, b->r->nplatform + 2 * to + 1);
    route->latency += more.latency;
}

/* Goes around a failed link: over another GPU of the source's node, of the target's, or of both (traffic
 * reaches that GPU's NIC over the fabric, as in NCCL). The first route that works counts, in the order of the
 * GPUs. */
static int go_around(const struct routing *b, struct route *route, int from, int to)
{
    int g = b->gpus, source = from / g * g, target = to / g * g;
    for (int pass = 0; pass < 3; pass++)
        for (int i = 0; i < g; i++)
            for (int j = 0; j < g; j++) {
                int via = pass == 1 ? from : source + (from + i) % g,
                    last = pass == 0 ? to : target + (to + j) % g;
                *route = (struct route){0};
                go(b, route, from, via, 0);
                go(b, route, via, last, 0);
                go(b, route, last, to, 0);
                if (!route->failed)
                    return 1;
            }
    return 0;
}

/* Makes room for one more route. */
static int grow_pool(struct routing *b)
{
    struct ss_routes *r = b->r;
    size_t need = r->npool + SS_ROUTE_MAX;
    if (need > INT_MAX)
        return ss_fail(b->err, SS_ERR_UNSUPPORTED, NULL, 0,
                       "flows between %d ranks cross more than %d links" SS_HINT
                       "take --level chunk, or fewer nodes",
                       b->plan->world_size, INT_MAX);
    if (need > r->cap_pool && ss_grow(&r->pool, &r->cap_pool, need, sizeof *r->pool))
        return ss_nomem(b->err);
    if (r->symmetry.shifts > 1 && need > r->cap_link &&
        ss_grow(&r->link, &r->cap_link, need, sizeof *r->link))
        return ss_nomem(b->err);
    return SS_OK;
}

static int is_slow(const struct routing *b, int link)
{
    double bandwidth;
    int kind;
    ss_platform_link_facts(b->plan->platform, link, &kind, &bandwidth);
    return b->r->bandwidth[ss_symmetry_link_at(&b->r->symmetry, link)] <
           bandwidth * ss_link_efficiency(b->plan, kind);
}

/* Refuses a failed link among those of a port: a ring crosses ports only, which do not know single links. */
static int check_ports(const struct routing *b, int gpu)
{
    for (int i = 0, node = gpu / b->gpus; i < b->gpus; i++) {
        struct ss_route way;
        int other = node * b->gpus + i;
        if (other == gpu)
            continue;
        ss_platform_route(b->plan->platform, gpu, other, &way);
        for (int k = 0; k < way.nlinks && !by_switch(b, &way); k++)
            if (is_slow(b, way.link[k])) {
                struct ss_link link;
                ss_platform_link(b->plan->platform, way.link[k], &link);
                return ss_fail(b->err, SS_ERR_UNSUPPORTED, NULL, 0,
                               "%s is one of several links of GPU %d of node %d, over all of which "
                               "collectives go: one slow or failed among them is not modelled" SS_HINT
                               "slow all of them, as %ss-%d-%d",
                               link.name, gpu % b->gpus, node, ss_platform_fabric_word(b->plan->platform),
                               node, gpu % b->gpus);
            }
    }
    return SS_OK;
}

/* ring: 1 for a flow of a ring; pair: 1 for a flow of an all-to-all across nodes. */
static int find_route(const struct routing *b, int src, int dst, int ring, int pair, struct route *route)
{
    int from = ss_plan_gpu(b->plan, src), to = ss_plan_gpu(b->plan, dst),
        via = pair ? ss_rails_via(&b->rails, from, to) : from;
    int near = from / b->gpus == to / b->gpus;
    SS_TRY(b->r->slow && ring && near && !b->mesh ? check_ports(b, from) : SS_OK);
    *route = (struct route){0};
    go(b, route, from, via, ring);
    go(b, route, via, to, ring);
    if (route->missing)
        return ss_fail(
            b->err, SS_ERR_CONFIG, ss_platform_file(b->plan->platform), 0,
            "no route from GPU %d of node %d to GPU %d of node %d, where rank %d sends to rank %d" SS_HINT
            "take nodes that reach each other (--nodes, --on-nodes), or add the route",
            from % b->gpus, from / b->gpus, to % b->gpus, to / b->gpus, src, dst);
    if (!route->failed || go_around(b, route, from, to))
        return SS_OK;
    return ss_fail(b->err, SS_ERR_CONFIG, NULL, 0,
                   "rank %d cannot reach rank %d: there is no way around the failed links", src, dst);
}

static int add_route(struct routing *b, int src, int dst, int ring, int pair, double *latency)
{
    struct ss_routes *r = b->r;
    struct route route;
    int rc = find_route(b, src, dst, ring, pair, &route);
    if (rc || (rc = grow_pool(b)) != 0)
        return rc;
    for (int i = 0; i < route.n; i++) {
        if (r->link)
            r->link[r->npool] = route.link[i];
        r->pool[r->npool++] = route.at[i];
    }
    *latency = route.latency;
    return SS_OK;
}

/* Returns whether the kind is a flow of an all-to-all across nodes. */
static int is_pair(const struct ss_routes *r, int kind)
{
    for (int comm = 0; comm < SS_COMM_COUNT; comm++) {
        int first = r->hop[comm][SS_HOP_APART];
        if (first >= 0 && kind >= first && kind < first + r->width[comm][SS_HOP_APART])
            return 1;
    }
    return 0;
}

static int make_routes(struct routing *b)
{
    struct ss_routes *r = b->r;
    size_t nkinds = (size_t)r->nkinds, n = (size_t)r->symmetry.nranks * nkinds;
    char *pair = ss_calloc(nkinds + 1, 1);
    int rc = pair ? SS_OK : ss_nomem(b->err);
    for (int kind = 0; kind < r->nkinds && !rc; kind++)
        pair[kind] = (char)is_pair(r, kind);
    for (size_t i = 0; i < n && !rc; i++) {
        int kind = (int)(i % nkinds), ring = kind >= r->npeers && kind != r->embedding;
        r->first[i] = (int)r->npool;
        if (r->to[i] >= 0)
            rc = add_route(b, ss_symmetry_rank(&r->symmetry, (int)(i / nkinds)), r->to[i], ring, pair[kind],
                           &r->latency[i]);
    }
    r->first[n] = (int)r->npool;
    free(pair);
    return rc;
}

/* ---- all together ---- */

static int make_room(struct routing *b)
{
    struct ss_routes *r = b->r;
    size_t flows = (size_t)r->symmetry.nranks * (size_t)r->nkinds;
    r->to = malloc((flows + 1) * sizeof *r->to);
    r->first = malloc((flows + 1) * sizeof *r->first);
    r->latency = ss_calloc(flows + 1, sizeof *r->latency);
    SS_NEED(r->to && r->first && r->latency &&
                !ss_grow(&r->pool, &r->cap_pool, flows * 3 + SS_ROUTE_MAX + 2, sizeof *r->pool),
            b->err);
    memset(r->to, -1, (flows + 1) * sizeof *r->to);
    return SS_OK;
}

static struct routing routing_of(const struct ss_plan *plan, struct ss_routes *r, struct ss_error *err)
{
    return (struct routing){.plan = plan,
                            .r = r,
                            .err = err,
                            .rails = ss_rails(plan->platform),
                            .gpus = ss_platform_gpus_per_node(plan->platform),
                            .nodes = ss_platform_nodes(plan->platform),
                            .mesh = ss_platform_is_mesh(plan->platform)};
}

int ss_routes_between(const struct ss_plan *plan, struct ss_routes *r, int src, int dst, int hop,
                      int link[SS_ROUTE_MAX], int *n, struct ss_error *err)
{
    const struct routing b = routing_of(plan, r, err);
    struct route route;
    SS_TRY(find_route(&b, src, dst, 1, hop == SS_HOP_APART, &route));
    memcpy(link, route.link, (size_t)route.n * sizeof *link);
    *n = route.n;
    return SS_OK;
}

int ss_routes_build(const struct ss_plan *plan, const struct ss_groups *groups, const struct ss_net *net,
                    const struct ss_plan_options *options, struct ss_routes *r, struct ss_error *err)
{
    struct routing b = routing_of(plan, r, err);
    b.groups = groups;
    memset(r, 0, sizeof *r);
    r->symmetry = ss_symmetry_of(plan, groups, ss_plan_is_alike(plan, options));
    SS_TRY(make_kinds(&b));
    SS_TRY(make_room(&b));
    SS_TRY(ss_routes_make_links(plan, net, options, r, err));
    make_hops(&b);
    make_peers(&b);
    SS_TRY(make_routes(&b));
    return ss_routes_drop_links(r, options->keep_links, err);
}

void ss_routes_free(struct ss_routes *r)
{
    SS_FREE(r->peer, r->to, r->first, r->pool, r->link, r->latency, r->bandwidth, r->inner, r->kept);
    memset(r, 0, sizeof *r);
}
