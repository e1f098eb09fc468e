/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/matrix.h"

#include "base/base.h"
#include "cost/rank_cost.h"
#include "stepsim/job.h"

/* All groups; the group at hand; what its ranks and nodes send and get. */
struct spreading {
    struct ss_plan *plan;
    struct ss_groups *groups;
    struct ss_cache *cache;
    struct ss_error *err;
    int gpus, by_layer;
    int *members, n;
    struct ss_load_ranks ranks;
    double *place; /* [GPU of a node]: what the members at this place route */
    double *loads; /* loads of the layers of a stage */
    /* 1: a group of two-stage exchanges lies on nodes otherwise than any load deals ranks to nodes */
    int out_of_order;
};

static int make_room(struct spreading *s)
{
    size_t ep = (size_t)s->plan->job->ep, experts = (size_t)s->plan->job->model.num_experts;
    double *all = ss_calloc(4 * ep + (size_t)s->gpus, sizeof *all);
    s->ranks = (struct ss_load_ranks){.copies = all};
    s->by_layer = ss_experts_loads_by_layer(s->plan->job);
    if (s->by_layer)
        s->loads = ss_calloc((size_t)s->plan->job->moe.load_layers * experts, sizeof *s->loads);
    if (!all || (s->by_layer && !s->loads))
        return ss_nomem(s->err);
    s->ranks.tokens = all + ep;
    s->ranks.node_tokens = all + 2 * ep;
    s->ranks.sources = all + 3 * ep;
    s->place = all + 4 * ep;
    return SS_OK;
}

/* Returns the job with the loads of one stage's layers only. */
static struct ss_job job_of_stage(const struct spreading *s, int stage)
{
    const struct ss_schedule *schedule = s->plan->schedule;
    struct ss_job own = *s->plan->job;
    const size_t experts = (size_t)own.model.num_experts;
    int n = 0;
    for (int v = 0; v < schedule->stages * schedule->chunks; v++) {
        int at, rows;
        if (schedule->virtual_rank[v] != stage)
            continue;
        ss_experts_rows(&own, ss_stage_first_layer(&own, schedule, v), ss_stage_layers(&own, schedule, v),
                        &at, &rows);
        memcpy(s->loads + (size_t)n * experts, own.moe.loads + (size_t)at * experts,
               (size_t)rows * experts * sizeof *s->loads);
        n += rows;
    }
    if (n > 0) {
        own.moe.loads = s->loads;
        own.moe.load_layers = n;
    }
    return own;
}

/* ---- the matrix of one group ---- */

static int node_of(const struct spreading *s, int i)
{
    return ss_plan_gpu(s->plan, s->members[i]) / s->gpus;
}

/* Returns whether members lie on nodes as the load deals ranks to nodes: in order, equally many on each. */
static int in_order(const struct spreading *s, const struct ss_group_shape *g)
{
    for (int i = 0; i < s->n; i++)
        if (node_of(s, i) != node_of(s, i - i % g->per_node))
            return 0;
    return s->n == g->nodes * g->per_node;
}

static void fill_copies(struct spreading *s, const struct ss_group_shape *g)
{
    for (int i = 0; i < s->n; i++)
        for (int far = 0; far < 2; far++) {
            s->groups->give[far][s->members[i]] = s->ranks.sources[i] / s->n;
            s->groups->take[far][s->members[i]] = s->ranks.copies[i] / g->spread.busiest;
        }
}

/* Fills the token factors of two stages. On its node a token goes on from the member at its source's place.
 * That member sends no token to itself, so the others take its part. */
static void fill_tokens(struct spreading *s, const struct ss_group_shape *g)
{
    const double q = g->per_node, others = q > 1 ? q / (q - 1) : 0;
    memset(s->place, 0, (size_t)s->gpus * sizeof *s->place);
    for (int i = 0; i < s->n; i++)
        s->place[i % g->per_node] += s->ranks.sources[i];
    for (int i = 0; i < s->n; i++) {
        int rank = s->members[i];
        s->groups->give[0][rank] = others * s->place[i % g->per_node];
        s->groups->take[0][rank] = s->ranks.tokens[i];
        s->groups->give[1][rank] = s->ranks.sources[i];
        s->groups->take[1][rank] = s->ranks.node_tokens[i / g->per_node];
    }
}

static int make_matrix(struct spreading *s)
{
    size_t n = (size_t)s->plan->world_size;
    for (int far = 0; far < 2; far++) {
        if (!s->groups->give[far])
            s->groups->give[far] = ss_calloc(n, sizeof **s->groups->give);
        if (!s->groups->take[far])
            s->groups->take[far] = ss_calloc(n, sizeof **s->groups->take);
        SS_NEED(s->groups->give[far] && s->groups->take[far], s->err);
    }
    return SS_OK;
}

static int fill_group(struct spreading *s, int first)
{
    struct ss_group_shape *g = ss_groups_at(s->groups, SS_COMM_EP, first);
    ss_comm_members(s->plan, SS_COMM_EP, first, s->members, &s->n);
    s->out_of_order |= ss_dispatcher_has_stages(s->plan->job->moe.dispatcher) && !in_order(s, g);
    if (s->out_of_order)
        return SS_OK;
    SS_TRY(make_matrix(s));
    if (ss_dispatcher_has_stages(s->plan->job->moe.dispatcher))
        fill_tokens(s, g);
    else
        fill_copies(s, g);
    return SS_OK;
}

/* ---- all groups ---- */

/* Forgets the matrix: all members of all groups then count as busy as the busiest. */
static void forget_matrix(struct spreading *s)
{
    struct ss_groups *g = s->groups;
    for (int far = 0; far < 2; far++) {
        SS_FREE(g->give[far], g->take[far]);
        g->give[far] = g->take[far] = NULL;
    }
    for (int at = 0; at < g->n; at++)
        g->shape[SS_COMM_EP][g->number[SS_COMM_EP][at]].spread.uneven = 0;
}

/* Finds the load of a group, or takes that of the group before where it is equal. Each group has its own
 * hottest rank: groups meet only at the gradients, and over the passes of an iteration all come to the same
 * mean. */
static int find_load(struct spreading *s, int first, const struct ss_group_shape *last, int last_stage)
{
    struct ss_group_shape *g = ss_groups_at(s->groups, SS_COMM_EP, first);
    const struct ss_job *job = s->plan->job;
    int stage = ss_ranks_coordinate(&s->plan->ranks, first, SS_AXIS_PP), rc = SS_OK;
    if (last && last->nodes == g->nodes && last->per_node == g->per_node &&
        (!s->by_layer || stage == last_stage)) {
        g->spread = last->spread;
        return SS_OK;
    }
    rc = ss_experts_matrix(job, g, s->cache, &g->spread, first == 0 ? &s->plan->load : NULL, &s->ranks,
                           s->err);
    if (!rc && s->by_layer) {
        const struct ss_job own = job_of_stage(s, stage);
        rc = ss_experts_matrix(&own, g, s->cache, &g->spread, NULL, &s->ranks, s->err);
    }
    return rc;
}

int ss_groups_spread_tokens(struct ss_plan *plan, struct ss_groups *g, int *room, int even,
                            struct ss_cache *cache, struct ss_error *err)
{
    struct spreading s = {.plan = plan,
                          .groups = g,
                          .cache = cache,
                          .err = err,
                          .gpus = ss_platform_gpus_per_node(plan->platform),
                          .members = room};
    const struct ss_group_shape *last = NULL; /* equal groups have equal loads */
    int rc = make_room(&s), last_stage = -1;
    even = even || plan->job->moe.dispatcher == SS_DISPATCH_ALLGATHER;
    for (int at = 0; at < g->n && !rc; at++) {
        int r = ss_periodic_rank(g->ranks, at);
        if (g->first[SS_COMM_EP][at] != r)
            continue;
        rc = find_load(&s, r, last, last_stage);
        last = ss_groups_at(g, SS_COMM_EP, r);
        last_stage = ss_ranks_coordinate(&plan->ranks, r, SS_AXIS_PP);
        if (!rc && last->spread.uneven && !even)
            rc = fill_group(&s, r);
    }
    if (s.out_of_order || even)
        forget_matrix(&s);
    plan->uneven = g->give[0] != NULL;
    SS_FREE(s.ranks.copies, s.loads);
    return rc;
}
