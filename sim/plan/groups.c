/* SPDX-License-Identifier: Apache-2.0 */
/* On which nodes groups are, and where each member sends to. */

#include "base/base.h"
#include "base/stats.h"
#include "cost/rank_cost.h"
#include "layers/stages.h"
#include "plan/symmetry.h"
#include "stepsim/job.h"
#include "stepsim/params.h"

/* A group that others repeat, so many ranks on: on other nodes, or at places of the same nodes that no member
 * leaves. */
struct pattern {
    int n, lowest; /* n: members that the tables have; the group's lowest rank */
    int highest;   /* the highest place of a member on its node */
    const int *members;
};

/* The build, and the group at hand. */
struct grouping {
    const struct ss_plan *plan;
    struct ss_groups *groups;
    struct ss_error *err;
    int gpus;     /* GPUs of a node */
    int unlike;   /* 1: links may differ from what closed forms assume */
    int in_order; /* 1: rank r is on GPU r, and members are those of the grid */
    struct pattern
        *patterns; /* [place on a node], of the communicator at hand; none where ranks are not in order */
    int npatterns, nkept;
    int *kept;        /* members of patterns */
    int shapes_alone; /* 1: nobody asks where flows go */
    int mesh;         /* 1: GPUs of a node are joined in pairs */
    int n, nodes;     /* members, and nodes that they lie on */
    int *members;     /* [2 * gpus of the cluster] */
    int *node_of;     /* [member]: number of its node among the group's nodes */
    int *place;       /* [member]: number among the members on its node */
    int *count;       /* [group node]: number of members there */
    int *start;       /* [group node + 1]: start of its members in by_node */
    int *by_node;     /* members' indices, node by node */
    int *node_at;     /* [node]: its number among the nodes of all groups, those of each group in a row */
    int nodes_seen;   /* number of the first node of the group at hand, 1 or more */
    int *room;        /* of the lists above but node_at */
    int hops[SS_HOP_COUNT], nhops; /* of the communicator at hand, which have tables */
    /* shapes of the communicator at hand */
    int single; /* the number of the shape of groups with one member, or -1 */
    size_t cap_shapes;
};

/* ---- hops: the member that the j-th flow of the i-th member goes to; the member itself for none ---- */

static int on_node(const struct grouping *b, int i, int j)
{
    int k = b->node_of[i];
    return j < b->count[k] - 1 ? b->by_node[b->start[k] + (b->place[i] + 1 + j) % b->count[k]] : i;
}

static int apart(const struct grouping *b, int i, int j)
{
    int k = b->node_of[i];
    return j < b->n - b->count[k] ? b->by_node[(b->start[k + 1] + j) % b->n] : i;
}

/* Returns the member at the same place, or one of the fewer that are there. */
static int on_rail(const struct grouping *b, int i, int j)
{
    int next = (b->node_of[i] + 1 + j) % b->nodes;
    return j < b->nodes - 1 ? b->by_node[b->start[next] + b->place[i] % b->count[next]] : i;
}

static int in_tree(const struct grouping *b, int i, int j)
{
    int to[SS_TREE_NEIGHBOURS];
    ss_tree_neighbours(b->nodes, b->node_of[i], to);
    return to[j] < 0 ? i : b->by_node[b->start[to[j]] + b->place[i] % b->count[to[j]]];
}

static int places_on(const struct grouping *b, int i, int j)
{
    return 1 << j < b->n ? (i + (1 << j)) % b->n : i;
}

static int next_member(const struct grouping *b, int i, int j)
{
    (void)j;
    return (i + 1) % b->n;
}

static int (*const hop_target[SS_HOP_COUNT])(const struct grouping *b, int i, int j) = {
    [SS_HOP_INTRA_NODE] = on_node, [SS_HOP_INTER_NODE] = on_rail, [SS_HOP_NEXT] = next_member,
    [SS_HOP_NODE] = on_node,       [SS_HOP_APART] = apart,        [SS_HOP_RAIL] = on_rail,
    [SS_HOP_TREE] = in_tree,       [SS_HOP_PAT] = places_on};

/* Returns the most flows of a hop that a member of a group of n has. */
static int hop_width(const struct grouping *b, int hop, int n)
{
    switch (hop) {
    case SS_HOP_NODE: return n < b->gpus ? n - 1 : b->gpus - 1;
    case SS_HOP_APART: return n - 1;
    case SS_HOP_RAIL: return ss_platform_nodes(b->plan->platform) - 1;
    case SS_HOP_TREE: return SS_TREE_NEIGHBOURS;
    case SS_HOP_PAT: return ss_log2_up(n);
    default: return 1;
    }
}

/* ---- groups ---- */

/* Sorts the members by node. */
static struct ss_group_shape split_by_node(struct grouping *b)
{
    struct ss_group_shape shape = {.n = b->n};
    b->nodes_seen += b->nodes;
    for (int i = 0; i < b->n; i++) {
        int *at = &b->node_at[ss_plan_gpu(b->plan, b->members[i]) / b->gpus];
        if (*at < b->nodes_seen) {
            *at = b->nodes_seen + shape.nodes;
            b->count[shape.nodes++] = 0;
        }
        b->node_of[i] = *at - b->nodes_seen;
        b->place[i] = b->count[b->node_of[i]]++;
    }
    b->nodes = shape.nodes;
    b->start[0] = 0;
    for (int k = 0; k < b->nodes; k++) {
        b->start[k + 1] = b->start[k] + b->count[k];
        if (b->count[k] > shape.per_node)
            shape.per_node = b->count[k];
        if (b->mesh && b->count[k] > 1 && (!shape.few || b->count[k] < shape.few))
            shape.few = b->count[k];
    }
    for (int i = 0; i < b->n; i++)
        b->by_node[b->start[b->node_of[i]] + b->place[i]] = i;
    return shape;
}

/* Returns whether the tables have the rank, and do not have another one that stands for it. */
static int has_place(const struct ss_groups *g, int rank)
{
    return rank % g->ranks.block < g->ranks.period;
}

static void add_group(struct grouping *b, int comm, int first, int number)
{
    struct ss_groups *g = b->groups;
    for (int i = 0; i < b->n; i++) {
        if (!has_place(g, b->members[i]))
            continue;
        size_t at = (size_t)ss_periodic_at(g->ranks, b->members[i]);
        g->first[comm][at] = first;
        g->number[comm][at] = number;
        g->local[comm][at] = b->count[b->node_of[i]];
        for (int k = 0; k < b->nhops; k++) {
            int hop = b->hops[k];
            for (int j = 0; j < g->width[comm][hop]; j++)
                g->target[comm][hop][(size_t)j * (size_t)g->n + at] = b->members[hop_target[hop](b, i, j)];
        }
    }
}

static void keep_pattern(struct grouping *b, int lowest)
{
    struct pattern *p = &b->patterns[b->npatterns++];
    *p = (struct pattern){.lowest = lowest, .members = b->kept + b->nkept};
    for (int i = 0; i < b->n; i++) {
        int place = b->members[i] % b->gpus;
        p->highest = place > p->highest ? place : p->highest;
        if (has_place(b->groups, b->members[i]))
            b->kept[b->nkept + p->n++] = b->members[i];
    }
    b->nkept += p->n;
}

/* Returns the pattern that the group with this lowest rank repeats; NULL: there is none yet. */
static const struct pattern *pattern_of(const struct grouping *b, int lowest)
{
    for (int i = 0; i < b->npatterns; i++) {
        const struct pattern *p = &b->patterns[i];
        int on = lowest % b->gpus - p->lowest % b->gpus;
        if (on == 0 || (on > 0 && p->highest + on < b->gpus))
            return p;
    }
    return NULL;
}

/* Adds the group of the pattern whose lowest rank is `first`. */
static void repeat_group(const struct grouping *b, int comm, const struct pattern *p, int first, int number)
{
    struct ss_groups *g = b->groups;
    int on = first - p->lowest;
    for (int i = 0; i < p->n; i++) {
        size_t from = (size_t)ss_periodic_at(g->ranks, p->members[i]),
               to = (size_t)ss_periodic_at(g->ranks, p->members[i] + on), n = (size_t)g->n;
        g->first[comm][to] = first;
        g->number[comm][to] = number;
        g->local[comm][to] = g->local[comm][from];
        for (int k = 0; k < b->nhops; k++) {
            int hop = b->hops[k], *target = g->target[comm][hop];
            for (size_t j = 0; j < (size_t)g->width[comm][hop]; j++)
                target[j * n + to] = target[j * n + from] + on;
        }
    }
}

/* Makes room for the flows of the communicator's hops, empty until a group has them. */
static int add_hops(struct grouping *b, int comm, unsigned hops)
{
    struct ss_groups *g = b->groups;
    int n = ss_ranks_group_size(ss_comm_grid(b->plan, comm), comm);
    size_t places = (size_t)g->n;
    for (int hop = 0; hop < SS_HOP_COUNT; hop++) {
        int width = hops & SS_HOP_BIT(hop) ? hop_width(b, hop, n) : 0;
        g->width[comm][hop] = width > 0 ? width : 0;
        if (width <= 0 || b->shapes_alone)
            continue;
        int *target = g->target[comm][hop] = malloc(places * (size_t)width * sizeof *target);
        SS_NEED(target, b->err);
        for (size_t j = 0; j < (size_t)width; j++)
            for (size_t at = 0; at < places; at++)
                target[j * places + at] = ss_periodic_rank(g->ranks, (int)at);
        b->hops[b->nhops++] = hop;
    }
    return SS_OK;
}

/* Returns whether links inside the fabric may be narrower than the NICs that feed them. */
static int is_narrow(const struct grouping *b)
{
    const struct ss_platform *p = b->plan->platform;
    return b->unlike || ss_platform_get(p, SS_PROP_OVERSUBSCRIPTION) > 1;
}

/* Returns whether the communicator all-reduces: tensor parallelism, and data parallelism without a shared
 * optimizer. */
static int all_reduces(const struct ss_plan *plan, int comm)
{
    return comm == SS_COMM_TP || (ss_comm_is_data_parallel(comm) && !plan->job->dp.distributed_optimizer);
}

/* Returns where the flows of the group at hand may go. Flows of trees go to tree neighbours where it matters
 * which nodes these are, because they make unlike the ranks that are otherwise alike. */
static unsigned group_hops(struct grouping *b, int comm)
{
    unsigned hops = ss_collective_hops(ss_comm_kinds(b->plan, comm), b->mesh);
    if (b->nodes < 2 || !is_narrow(b) || !all_reduces(b->plan, comm))
        hops &= ~SS_HOP_BIT(SS_HOP_TREE);
    int apart = b->nodes == b->n && b->n > 2 && hops & SS_HOP_BIT(SS_HOP_PAT);
    b->groups->apart |= apart;
    if (!b->plan->stack->nccl_pat || !apart)
        hops &= ~SS_HOP_BIT(SS_HOP_PAT);
    return hops;
}

/* Returns the hops whose flows are wanted: all where the communicator's collectives are flows. A closed form
 * wants those that tell its share of the links, where that may be less than its own. */
static unsigned wanted_hops(struct grouping *b, int comm, int nodes)
{
    unsigned hops = group_hops(b, comm);
    if (ss_comm_has_flows(b->plan, comm))
        return hops;
    return ss_comm_in_closed_form(b->plan, comm) && (nodes > 1 || b->unlike) ? hops & ~SS_HOPS_OF_PAIRS : 0;
}

/* Finds a place for the shape of the group at hand. Groups of one member share a shape, except where experts
 * there are sent tokens. */
static int add_shape(struct grouping *b, int comm, struct ss_group_shape shape, int *number)
{
    struct ss_groups *g = b->groups;
    if (b->n == 1 && b->single >= 0) {
        *number = b->single;
        return SS_OK;
    }
    SS_NEED(!ss_grow(&g->shape[comm], &b->cap_shapes, (size_t)g->nshapes[comm] + 1, sizeof shape), b->err);
    *number = g->nshapes[comm]++;
    g->shape[comm][*number] = shape;
    if (b->n == 1 && !ss_comm_is_of_experts(comm))
        b->single = *number;
    return SS_OK;
}

static int make_table(struct grouping *b, int comm)
{
    struct ss_groups *g = b->groups;
    size_t n = (size_t)g->n;
    g->first[comm] = malloc(n * sizeof(int));
    g->local[comm] = malloc(n * sizeof(int));
    g->number[comm] = malloc(n * sizeof(int));
    SS_NEED(g->first[comm] && g->local[comm] && g->number[comm], b->err);
    memset(g->first[comm], -1, n * sizeof(int));
    b->npatterns = b->nkept = b->nhops = 0;
    b->cap_shapes = 0;
    b->single = -1;
    return SS_OK;
}

/* Adds the group whose lowest rank is r, member by member. */
static int find_group(struct grouping *b, int comm, int r, int *hops)
{
    struct ss_groups *g = b->groups;
    int number = 0, rc = SS_OK;
    ss_comm_members(b->plan, comm, r, b->members, &b->n);
    struct ss_group_shape shape = split_by_node(b);
    if (!*hops && wanted_hops(b, comm, b->nodes)) {
        *hops = 1;
        rc = add_hops(b, comm, wanted_hops(b, comm, b->nodes));
        b->npatterns = b->nkept = 0; /* groups so far have no flows */
    }
    shape.trees = b->nodes > 1 && g->width[comm][SS_HOP_TREE] > 0;
    SS_THEN(rc, add_shape(b, comm, shape, &number));
    if (rc)
        return rc;
    add_group(b, comm, r, number);
    if (b->in_order)
        keep_pattern(b, r);
    return SS_OK;
}

/* Adds a group like an earlier one. Groups share a shape where one of them stands for others. */
static int find_like(struct grouping *b, int comm, int r, const struct pattern *p)
{
    struct ss_groups *g = b->groups;
    int number = g->number[comm][ss_periodic_at(g->ranks, p->lowest)], rc = SS_OK;
    const struct ss_group_shape shape = g->shape[comm][number];
    b->n = shape.n;
    if (g->n == b->plan->world_size)
        rc = add_shape(b, comm, shape, &number);
    if (!rc)
        repeat_group(b, comm, p, r, number);
    return rc;
}

static int add_comm(struct grouping *b, int comm)
{
    struct ss_groups *g = b->groups;
    int hops = !ss_comm_has_flows(b->plan, comm) && !ss_comm_in_closed_form(b->plan, comm),
        rc = make_table(b, comm);
    for (int at = 0; at < g->n && !rc; at++) {
        if (g->first[comm][at] >= 0)
            continue;
        int r = ss_periodic_rank(g->ranks, at); /* the lowest rank of its group */
        const struct pattern *p = pattern_of(b, r);
        rc = p ? find_like(b, comm, r, p) : find_group(b, comm, r, &hops);
    }
    return rc;
}

static int make_room(struct grouping *b)
{
    const size_t n = 2 * (size_t)b->plan->gpus + 2;
    int **lists[] = {&b->members, &b->node_of, &b->place, &b->count, &b->by_node, &b->start, &b->kept};
    b->room = malloc(SS_ARRAY_LEN(lists) * n * sizeof *b->room);
    b->node_at = ss_calloc((size_t)ss_platform_nodes(b->plan->platform), sizeof *b->node_at);
    b->patterns = malloc((size_t)b->gpus * sizeof *b->patterns);
    for (size_t i = 0; i < SS_ARRAY_LEN(lists) && b->room; i++)
        *lists[i] = b->room + i * n;
    b->nodes_seen = 1;
    return b->room && b->node_at && b->patterns ? SS_OK : ss_nomem(b->err);
}

/* Returns whether the groups' shares of links are looked for, which takes all groups (plan/shares.h). */
static int shares_links(const struct ss_plan *plan, const struct ss_groups *g)
{
    for (int comm = 0; comm < SS_COMM_COUNT; comm++)
        for (int i = 0; i < g->nshapes[comm] && ss_comm_facts(comm)->flows > SS_LEVEL_CHUNK; i++)
            if (g->shape[comm][i].nodes > 1 && ss_comm_has_collectives(plan, comm))
                return 1;
    return 0;
}

static int build(struct grouping *b)
{
    struct ss_groups *g = b->groups;
    int rc = make_room(b);
    g->n = b->plan->world_size / (g->ranks.block / g->ranks.period);
    for (int comm = 0; comm < SS_COMM_COUNT && !rc; comm++)
        if (ss_comm_has_groups(b->plan, comm))
            rc = add_comm(b, comm);
    SS_FREE(b->room, b->node_at, b->patterns);
    return rc;
}

int ss_groups_build(const struct ss_plan *plan, int how, struct ss_groups *g, struct ss_error *err)
{
    struct grouping b = {.plan = plan,
                         .groups = g,
                         .err = err,
                         .gpus = ss_platform_gpus_per_node(plan->platform),
                         .unlike = how & SS_GROUPS_UNLIKE,
                         .in_order = how & SS_GROUPS_IN_ORDER && plan->schedule->pipelines == 1 &&
                                     !ss_job_is_hybrid(plan->job),
                         .mesh = ss_platform_is_mesh(plan->platform)};
    unsigned comms = 0;
    for (int comm = 0; comm < SS_COMM_COUNT; comm++)
        comms |= ss_comm_has_groups(plan, comm) ? 1u << comm : 0;
    memset(g, 0, sizeof *g);
    g->ranks = (struct ss_periodic){plan->world_size, plan->world_size};
    if (how & SS_GROUPS_OF_STAGES) {
        g->ranks = (struct ss_periodic){plan->ranks.stride[SS_AXIS_PP], 1};
        b.shapes_alone = 1;
    } else if (how & SS_GROUPS_ALIKE && b.in_order && !plan->experts && !is_narrow(&b)) {
        g->ranks = ss_symmetry_shift(plan, comms);
        int rc = build(&b);
        if (rc || g->n == plan->world_size || !shares_links(plan, g))
            return rc;
        ss_groups_free(g);
        g->ranks = (struct ss_periodic){plan->world_size, plan->world_size};
    }
    return build(&b);
}

void ss_groups_free(struct ss_groups *g)
{
    for (int comm = 0; comm < SS_COMM_COUNT; comm++) {
        SS_FREE(g->first[comm], g->local[comm], g->number[comm], g->shape[comm]);
        for (int hop = 0; hop < SS_HOP_COUNT; hop++)
            free(g->target[comm][hop]);
    }
    for (int far = 0; far < 2; far++) {
        SS_FREE(g->give[far], g->take[far]);
    }
    memset(g, 0, sizeof *g);
}

struct ss_group_shape ss_groups_shape(const struct ss_groups *g, int comm, int rank)
{
    if (!g->first[comm])
        return (struct ss_group_shape){.n = 1, .nodes = 1, .per_node = 1};
    return *ss_groups_at(g, comm, rank);
}
