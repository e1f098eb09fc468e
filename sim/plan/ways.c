/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/ways.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "plan/plan_internal.h"

/* The build at hand. */
struct maker {
    const struct ss_plan *plan;
    const struct ss_net *net;
    struct ss_ways *w;
    struct ss_error *err;
    int gpus, nodes;
    int *members; /* [2 * world_size] */
    /* of one group */
    int *node_of;    /* [member]: number among the group's nodes */
    int *place;      /* [member]: number among the members on its node */
    int *count;      /* [group node]: members there */
    int *start;      /* [group node + 1] in by_node */
    int *by_node;    /* members' indices, node by node */
    int *node_stamp; /* [node]: group that saw it last */
    int *node_index; /* [node]: its number there */
};

static int no_memory(const struct maker *m)
{
    return ss_fail(m->err, SS_ERR_NOMEM, NULL, 0, "out of memory for the flows of %d ranks", m->plan->world_size);
}

static int fsdp_in_use(const struct ss_job *job)
{
    return job->fsdp && job->sharding >= SS_SHARD_OPTIM_GRADS;
}

int ss_ways_in_use(const struct ss_plan *plan, int group)
{
    const struct ss_job *job = plan->job;
    switch (group) {
    case SS_WAY_DP: /* with FSDP the replicas of a hybrid job */
        return (plan->dp * job->cp > 1 || plan->schedule->pipelines > 1) &&
               (!fsdp_in_use(job) || ss_job_is_hybrid(job));
    case SS_WAY_TP: return plan->level == SS_LEVEL_FLOW && job->tp > 1;
    case SS_WAY_CP: return plan->level == SS_LEVEL_FLOW && job->cp > 1;
    default: return plan->level == SS_LEVEL_FLOW && plan->dp * job->cp > 1 && fsdp_in_use(job);
    }
}

/* With two copies of the model, the data-parallel groups of both ranks that hold the same layers. */
static void dp_of_copies(const struct ss_plan *plan, int rank, int *out, int *n)
{
    int stage = ss_ranks_coordinate(&plan->ranks, rank, SS_AXIS_PP), twin = plan->schedule->stages - 1 - stage, more;
    int low = stage < twin ? stage : twin, high = stage < twin ? twin : stage;
    ss_ranks_group(&plan->ranks, SS_GROUP_DP_CP, ss_plan_stage_peer(plan, rank, low), out, n);
    if (low == high)
        return;
    ss_ranks_group(&plan->ranks, SS_GROUP_DP_CP, ss_plan_stage_peer(plan, rank, high), out + *n, &more);
    *n += more;
}

static int node_of(const struct ss_plan *plan, int rank)
{
    return plan->gpu_of[rank] / ss_platform_gpus_per_node(plan->platform);
}

/* Of a hybrid job's data-parallel ranks those on the node of `rank`, which shard among them, or those that hold the same
 * shard on every node: of the ranks of a node the one at the same place. */
static void keep_part(const struct ss_plan *plan, int shards, int rank, int *out, int *n)
{
    int own = 0, kept = 0, all = *n, *count = out + plan->world_size; /* [node] */
    memset(count, 0, (size_t)ss_platform_nodes(plan->platform) * sizeof *count);
    for (int i = 0; i < all && out[i] != rank; i++)
        own += node_of(plan, out[i]) == node_of(plan, rank);
    for (int i = 0; i < all; i++) {
        int r = out[i], place = count[node_of(plan, r)]++;
        if (shards ? node_of(plan, r) == node_of(plan, rank) : place == own)
            out[kept++] = r;
    }
    *n = kept;
}

void ss_ways_members(const struct ss_plan *plan, int group, int rank, int *out, int *n)
{
    static const int kinds[SS_WAY_GROUPS] = {SS_GROUP_DP_CP, SS_GROUP_TP, SS_GROUP_CP, SS_GROUP_DP_CP};
    if (group == SS_WAY_DP && plan->schedule->pipelines > 1) {
        dp_of_copies(plan, rank, out, n);
        return;
    }
    ss_ranks_group(&plan->ranks, kinds[group], rank, out, n);
    if (ss_job_is_hybrid(plan->job) && (group == SS_WAY_FSDP || group == SS_WAY_DP))
        keep_part(plan, group == SS_WAY_FSDP, rank, out, n);
}

/* ---- kinds ---- */

static int peer_known(const int *peers, int n, int stage)
{
    for (int j = 0; j < n; j++)
        if (peers[j] == stage)
            return 1;
    return 0;
}

/* Pipeline ranks that exchange activations, by stage; peers holds room for `stages` a stage. */
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

static int make_kinds(struct maker *m)
{
    const struct ss_schedule *s = m->plan->schedule;
    struct ss_ways *w = m->w;
    size_t p = (size_t)s->stages;
    int *all = ss_calloc(p * p, sizeof *all), *count = ss_calloc(p, sizeof *count);
    if (all && count)
        w->npeers = find_peers(s, all, count);
    w->peer = ss_calloc(p * (size_t)(w->npeers + 1), sizeof *w->peer);
    if (!all || !count || !w->peer) {
        free(all);
        free(count);
        return no_memory(m);
    }
    for (int i = 0; i < s->stages; i++)
        for (int j = 0; j < w->npeers; j++)
            w->peer[i * w->npeers + j] = j < count[i] ? all[(size_t)i * p + (size_t)j] : -1;
    free(all);
    free(count);
    w->nkinds = w->npeers;
    w->embedding = m->plan->job->model.tied_embeddings && s->stages > 1 ? w->nkinds++ : -1;
    for (int g = 0; g < SS_WAY_GROUPS; g++)
        for (int l = 0; l < SS_LEGS; l++) {
            int step = g == SS_WAY_CP && ss_job_cp_in_ring(m->plan->job);
            w->leg[g][l] = ss_ways_in_use(m->plan, g) && (l == SS_LEG_STEP) == step ? w->nkinds++ : -1;
        }
    return SS_OK;
}

/* ---- groups ---- */

/* Which members share a node. */
static void split_by_node(struct maker *m, int n, int stamp, struct ss_group_shape *g)
{
    int nodes = 0;
    for (int i = 0; i < n; i++) {
        int node = m->plan->gpu_of[m->members[i]] / m->gpus;
        if (m->node_stamp[node] != stamp) {
            m->node_stamp[node] = stamp;
            m->node_index[node] = nodes;
            m->count[nodes++] = 0;
        }
        m->node_of[i] = m->node_index[node];
        m->place[i] = m->count[m->node_of[i]]++;
    }
    *g = (struct ss_group_shape){n, nodes, 0};
    m->start[0] = 0;
    for (int k = 0; k < nodes; k++) {
        m->start[k + 1] = m->start[k] + m->count[k];
        if (m->count[k] > g->per_node)
            g->per_node = m->count[k];
    }
    for (int i = 0; i < n; i++)
        m->by_node[m->start[m->node_of[i]] + m->place[i]] = i;
}

static void set_to(struct ss_ways *w, int rank, int kind, int to)
{
    if (kind >= 0 && to != rank)
        w->to[rank * w->nkinds + kind] = to;
}

static void group_legs(struct maker *m, int group, int n, int lowest, const struct ss_group_shape *g)
{
    struct ss_ways *w = m->w;
    const int *kind = w->leg[group];
    for (int i = 0; i < n; i++) {
        int k = m->node_of[i], c = m->count[k], next = (k + 1) % g->nodes, rank = m->members[i];
        w->group[group][rank] = lowest;
        w->beside[group][rank] = c;
        set_to(w, rank, kind[SS_LEG_NODE], m->members[m->by_node[m->start[k] + (m->place[i] + 1) % c]]);
        set_to(w, rank, kind[SS_LEG_FAR],
               g->nodes > 1 ? m->members[m->by_node[m->start[next] + m->place[i] % m->count[next]]] : rank);
        set_to(w, rank, kind[SS_LEG_STEP], m->members[(i + 1) % n]);
    }
}

/* stamp: of the last group of all kinds so far */
static void make_groups(struct maker *m, int group, int *stamp)
{
    struct ss_ways *w = m->w;
    for (int r = 0; r < m->plan->world_size; r++) {
        int n;
        if (w->group[group][r] >= 0)
            continue;
        ss_ways_members(m->plan, group, r, m->members, &n); /* r is the lowest of them */
        split_by_node(m, n, ++*stamp, &w->shape[group][r]);
        group_legs(m, group, n, r, &w->shape[group][r]);
    }
}

static int make_all_groups(struct maker *m)
{
    size_t n = (size_t)m->plan->world_size;
    int stamp = 0;
    for (int g = 0; g < SS_WAY_GROUPS; g++) {
        if (g == SS_WAY_FSDP && !fsdp_in_use(m->plan->job))
            continue;
        m->w->group[g] = malloc(n * sizeof(int));
        m->w->beside[g] = malloc(n * sizeof(int));
        m->w->shape[g] = malloc(n * sizeof(struct ss_group_shape));
        if (!m->w->group[g] || !m->w->beside[g] || !m->w->shape[g])
            return no_memory(m);
        memset(m->w->group[g], -1, n * sizeof(int));
        make_groups(m, g, &stamp);
    }
    return SS_OK;
}

static void make_peers(struct maker *m)
{
    const struct ss_plan *plan = m->plan;
    const struct ss_schedule *s = plan->schedule;
    struct ss_ways *w = m->w;
    int first = s->virtual_rank[0], last = s->virtual_rank[s->stages * s->chunks - 1];
    for (int r = 0; r < plan->world_size; r++) {
        int stage = ss_ranks_coordinate(&plan->ranks, r, SS_AXIS_PP);
        for (int j = 0; j < w->npeers; j++)
            if (w->peer[stage * w->npeers + j] >= 0)
                set_to(w, r, j, ss_plan_stage_peer(plan, r, w->peer[stage * w->npeers + j]));
        if (w->embedding >= 0 && (stage == first || stage == last))
            set_to(w, r, w->embedding, ss_plan_stage_peer(plan, r, stage == first ? last : first));
    }
}

/* ---- routes ---- */

static double efficiency(const struct ss_plan *plan, int kind)
{
    const struct ss_card *card = ss_platform_card(plan->platform);
    return kind == SS_LINK_NVLINK ? card->nvlink_efficiency : card->nic_efficiency;
}

static int link_kind(const struct maker *m, int link)
{
    double bandwidth;
    int kind;
    ss_platform_link_facts(m->plan->platform, link, &kind, &bandwidth);
    return kind;
}

/* A way under construction. */
struct way {
    int n, failed; /* failed: it crosses a link that does not work */
    int link[2 * SS_ROUTE_MAX];
    double latency;
};

static void cross(const struct maker *m, struct way *way, int link)
{
    if (way->n == SS_ROUTE_MAX || !(m->w->bandwidth[link] > 0)) {
        way->failed = 1;
        return;
    }
    way->link[way->n++] = link;
}

/* Goes on from one GPU to another. On one node, where it is not up one NVLink and down another (a mesh, PCIe), it
 * also takes the GPUs' ports, which stand for all their NVLinks; a ring takes nothing else, for it uses all of
 * these alike. */
static void go(const struct maker *m, struct way *way, int a, int b, int ring)
{
    struct ss_route route;
    int near = a / m->gpus == b / m->gpus, ports;
    if (a == b)
        return;
    ss_platform_route(m->plan->platform, a, b, &route);
    ports = near && !(route.nlinks == 2 && link_kind(m, route.link[0]) == SS_LINK_NVLINK &&
                      link_kind(m, route.link[1]) == SS_LINK_NVLINK);
    if (ports)
        cross(m, way, m->w->nplatform + 2 * a);
    for (int i = 0; i < route.nlinks && !(ports && ring); i++)
        cross(m, way, route.link[i]);
    if (ports)
        cross(m, way, m->w->nplatform + 2 * b + 1);
    way->latency += route.latency;
}

/* Around a failed link: over another GPU of the source's node, of the target's, or of both (what leaves by its
 * NIC gets there over NVLink, as NCCL does). The first way that works, in the order of the GPUs. */
static int go_around(const struct maker *m, struct way *way, int a, int b)
{
    int g = m->gpus, from = a / g * g, to = b / g * g;
    for (int pass = 0; pass < 3; pass++)
        for (int i = 0; i < g; i++)
            for (int j = 0; j < g; j++) {
                int via = pass == 1 ? a : from + (a + i) % g, last = pass == 0 ? b : to + (b + j) % g;
                *way = (struct way){0};
                go(m, way, a, via, 0);
                go(m, way, via, last, 0);
                go(m, way, last, b, 0);
                if (!way->failed)
                    return 1;
            }
    return 0;
}

static int add_route(struct maker *m, int src, int dst, int ring, double *latency)
{
    struct ss_ways *w = m->w;
    struct way way = {0};
    int a = m->plan->gpu_of[src], b = m->plan->gpu_of[dst];
    go(m, &way, a, b, ring);
    if (way.failed && !go_around(m, &way, a, b))
        return ss_fail(m->err, SS_ERR_CONFIG, NULL, 0, "rank %d cannot reach rank %d: there is no way around the failed links",
                       src, dst);
    if (w->npool + SS_ROUTE_MAX > w->cap_pool &&
        ss_grow(&w->pool, &w->cap_pool, w->npool + SS_ROUTE_MAX, sizeof *w->pool))
        return no_memory(m);
    for (int i = 0; i < way.n; i++)
        w->pool[w->npool++] = way.link[i];
    *latency = way.latency;
    return SS_OK;
}

static int make_routes(struct maker *m)
{
    struct ss_ways *w = m->w;
    size_t n = (size_t)m->plan->world_size * (size_t)w->nkinds;
    for (size_t i = 0; i < n; i++) {
        int kind = (int)(i % (size_t)w->nkinds), ring = kind >= w->npeers && kind != w->embedding, status;
        w->first[i] = (int)w->npool;
        if (w->to[i] < 0)
            continue;
        status = add_route(m, (int)(i / (size_t)w->nkinds), w->to[i], ring, &w->latency[i]);
        if (status)
            return status;
    }
    w->first[n] = (int)w->npool;
    return SS_OK;
}

/* ---- links ---- */

void ss_ways_link(const struct ss_plan *plan, const struct ss_ways *w, int link, struct ss_link *out)
{
    if (link < w->nplatform) {
        ss_platform_link(plan->platform, link, out);
    } else {
        int gpus = ss_platform_gpus_per_node(plan->platform), gpu = (link - w->nplatform) / 2;
        snprintf(out->name, sizeof out->name, "nvlinks-%d-%d.%s", gpu / gpus, gpu % gpus,
                 (link - w->nplatform) % 2 ? "down" : "up");
        out->kind = SS_LINK_NVLINK;
        out->latency = 0;
    }
    out->bandwidth = w->bandwidth[link];
}

/* "nic-3-0" is "nic-3-0.up" and "nic-3-0.down". */
static int named(const char *link, const char *name)
{
    size_t n = strlen(name);
    return !strncmp(link, name, n) && (!link[n] || !strcmp(link + n, ".up") || !strcmp(link + n, ".down"));
}

static int slow_down(struct maker *m, const struct ss_slow_link *slow)
{
    struct ss_ways *w = m->w;
    int found = 0;
    for (int i = 0; i < w->nlinks; i++) {
        struct ss_link link;
        ss_ways_link(m->plan, w, i, &link);
        if (!named(link.name, slow->name))
            continue;
        w->bandwidth[i] = slow->factor > 0 ? w->bandwidth[i] / slow->factor : 0;
        found = 1;
    }
    if (found)
        return SS_OK;
    return ss_hint(m->err,
                   ss_fail(m->err, SS_ERR_CONFIG, NULL, 0, "the platform has no link '%s' to slow down", slow->name),
                   "links of our platforms are named nvlink-NODE-GPU, nic-NODE-NIC and uplink-LEAF-RAIL");
}

static int make_links(struct maker *m, const struct ss_plan_options *options)
{
    struct ss_ways *w = m->w;
    double eff[SS_LINK_KIND_COUNT];
    int status = SS_OK;
    for (int k = 0; k < SS_LINK_KIND_COUNT; k++)
        eff[k] = efficiency(m->plan, k);
    w->nplatform = ss_platform_link_count(m->plan->platform);
    w->nlinks = w->nplatform + 2 * m->nodes * m->gpus;
    w->bandwidth = malloc((size_t)w->nlinks * sizeof *w->bandwidth);
    if (!w->bandwidth)
        return no_memory(m);
    for (int i = 0; i < w->nplatform; i++) {
        int kind;
        ss_platform_link_facts(m->plan->platform, i, &kind, &w->bandwidth[i]);
        w->bandwidth[i] *= eff[kind];
    }
    for (int i = w->nplatform; i < w->nlinks; i++)
        w->bandwidth[i] = m->net->nvlink_busbw;
    for (int i = 0; i < options->nslow_links && !status; i++)
        status = slow_down(m, &options->slow_links[i]);
    return status;
}

/* ---- all together ---- */

static int make_room(struct maker *m)
{
    struct ss_ways *w = m->w;
    size_t n = (size_t)m->plan->world_size, nodes = (size_t)m->nodes;
    int **arrays[] = {&m->members, &m->node_of, &m->place, &m->count, &m->by_node};
    for (size_t i = 0; i < SS_ARRAY_LEN(arrays); i++)
        if (!(*arrays[i] = malloc((2 * n + 1) * sizeof(int))))
            return no_memory(m);
    m->start = malloc((nodes + 2) * sizeof *m->start);
    m->node_stamp = ss_calloc(nodes, sizeof *m->node_stamp);
    m->node_index = ss_calloc(nodes, sizeof *m->node_index);
    size_t ways = n * (size_t)w->nkinds;
    w->to = malloc((ways + 1) * sizeof *w->to);
    w->first = malloc((ways + 1) * sizeof *w->first);
    w->latency = ss_calloc(ways + 1, sizeof *w->latency);
    if (!m->start || !m->node_stamp || !m->node_index || !w->to || !w->first || !w->latency ||
        ss_grow(&w->pool, &w->cap_pool, ways * 3 + SS_ROUTE_MAX + 2, sizeof *w->pool))
        return no_memory(m);
    memset(w->to, -1, (ways + 1) * sizeof *w->to);
    return SS_OK;
}

static void free_room(struct maker *m)
{
    free(m->members);
    free(m->node_of);
    free(m->place);
    free(m->count);
    free(m->by_node);
    free(m->start);
    free(m->node_stamp);
    free(m->node_index);
}

int ss_ways_build(const struct ss_plan *plan, const struct ss_net *net, const struct ss_plan_options *options,
                  struct ss_ways *w, struct ss_error *err)
{
    struct maker m = {.plan = plan, .net = net, .w = w, .err = err};
    int status;
    m.gpus = ss_platform_gpus_per_node(plan->platform);
    m.nodes = ss_platform_nodes(plan->platform);
    memset(w, 0, sizeof *w);
    if ((status = make_kinds(&m)) == 0 && (status = make_room(&m)) == 0 && (status = make_all_groups(&m)) == 0 &&
        (status = make_links(&m, options)) == 0) {
        make_peers(&m);
        if ((status = make_routes(&m)) == 0)
            status = ss_ways_drop_links(plan, w, err);
    }
    free_room(&m);
    return status;
}

void ss_ways_free(struct ss_ways *w)
{
    free(w->peer);
    free(w->to);
    free(w->first);
    free(w->pool);
    free(w->latency);
    free(w->bandwidth);
    free(w->kept);
    for (int g = 0; g < SS_WAY_GROUPS; g++) {
        free(w->group[g]);
        free(w->beside[g]);
        free(w->shape[g]);
    }
    memset(w, 0, sizeof *w);
}
