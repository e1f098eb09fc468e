/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/shares.h"

#include "base/base.h"
#include "plan/sharing.h"
#include "stepsim/job.h"

/* ---- all groups ---- */

/* Returns the seconds a byte of a flow that the closed form assumes. */
static double own_share(const struct ss_sharing *s, const struct ss_group_shape *g)
{
    const struct ss_net *net = s->net;
    double nic = net->gpus_per_node / (net->nic_busbw * net->nics_per_node);
    switch (s->hop) {
    case SS_HOP_INTRA_NODE: return 1 / net->fabric_busbw;
    case SS_HOP_NODE: return (g->per_node - 1) / ss_near_busbw(net, g);
    case SS_HOP_NEXT:
        return 1 / (g->nodes > 1 ? fmin(ss_pair_busbw(net), net->nic_busbw) : ss_pair_busbw(net));
    case SS_HOP_TREE: return ss_tree_flows(g->nodes) * nic;
    case SS_HOP_PAT:
    case SS_HOP_INTER_NODE: return nic;
    default: return (g->n - g->per_node) * nic;
    }
}

/* Returns the factor of the group at hand: a number near 1 becomes 1, and values that differ by rounding
 * become equal. */
static double factor_of(const struct ss_sharing *s, const struct ss_group_shape *g)
{
    const double digits = 1e12;
    double factor = s->worst / own_share(s, g);
    return factor > 1 + 1e-9 ? rint(factor * digits) / digits : 1;
}

static int is_idle(const struct ss_sharing *s, const struct ss_group_shape *g)
{
    return g->n < 2 || (ss_sharing_is_near(s->hop) ? g->per_node < 2 : s->hop != SS_HOP_NEXT && g->nodes < 2);
}

enum { ADD, FILL, BOUND };

/* Keeps the factors of the group at hand, or finds what they are with all stages busy. */
static void note_factor(struct ss_sharing *s, int first, int pass, double *low, double *high, char link[64])
{
    struct ss_group_shape *g = ss_groups_at(s->groups, s->comm, first);
    double factor = factor_of(s, g);
    if (pass == FILL) {
        g->stretch[s->hop] = factor > 1 ? factor : 0;
        *low = fmin(*low, factor);
    } else if (factor > *high) {
        *high = factor;
        ss_sharing_name_link(s, link);
    }
}

/* Lists the groups of the communicator by stage. */
static void list_groups(struct ss_sharing *s)
{
    const struct ss_ranks *ranks = &s->plan->ranks;
    int n = 0, *at = s->of_stage + 1;
    memset(s->of_stage, 0, (size_t)(s->plan->schedule->stages + 2) * sizeof *at);
    for (int pass = 0; pass < 2; pass++) {
        for (int r = 0; r < s->plan->world_size; r++) {
            if (s->groups->first[s->comm][r] != r)
                continue;
            int *place = &at[ss_ranks_coordinate(ranks, r, SS_AXIS_PP)];
            if (pass)
                s->lowest[*place] = r;
            ++*place;
        }
        for (int stage = 0; stage < s->plan->schedule->stages && !pass; stage++) {
            int count = at[stage];
            at[stage] = n;
            n += count;
        }
    }
}

/* Walks the groups of a stage, or of all stages, in the order of ranks, where it is negative. */
static int walk_groups(struct ss_sharing *s, int stage, int pass, double *low, double *high, char link[64])
{
    int rc = SS_OK;
    s->seen = pass == BOUND ? s->total : s->load;
    int i = stage < 0 ? 0 : s->of_stage[stage],
        end = stage < 0 ? s->plan->world_size : s->of_stage[stage + 1];
    for (; i < end && !rc; i++) {
        int r = stage < 0 ? i : s->lowest[i];
        if (s->groups->first[s->comm][r] != r || is_idle(s, ss_groups_at(s->groups, s->comm, r)))
            continue;
        s->worst = 0;
        rc = pass == ADD ? ss_sharing_add_group(s, r) : ss_sharing_find_worst_kept(s, r);
        if (pass != ADD && !rc)
            note_factor(s, r, pass, low, high, link);
        if (pass == FILL && !rc && s->apart)
            rc = ss_sharing_note_taken(s, r, ss_sharing_visit_group);
    }
    return rc;
}

/* Notes the share of groups whose factors are `low` and more, up to `high` if all stages are busy. */
static void note_beyond(struct ss_sharing *s, double low, double high, const char *link)
{
    struct ss_share *share = &s->plan->shares[s->comm];
    if (high > low * (1 + 1e-9) && high / low > share->beyond) {
        share->beyond = high / low;
        ss_copy(share->link, sizeof share->link, link);
    }
}

static int share_hop(struct ss_sharing *s)
{
    int stages = s->plan->schedule->stages, rc = SS_OK;
    double low = INFINITY, high = 0;
    char link[64];
    s->counted = s->rails.rails.n > 0 && SS_HOPS_OF_PAIRS & SS_HOP_BIT(s->hop) && !s->unlike;
    size_t nlinks = (size_t)(s->counted ? s->rails.n : ss_routes_all_links(s->plan, s->routes));
    memset(s->total, 0, nlinks * sizeof *s->total);
    s->ncrossed = 0;
    s->unkept = 0;
    for (int stage = 0; stage < stages && !rc; stage++) {
        memset(s->load, 0, nlinks * sizeof *s->load);
        rc = walk_groups(s, stage, ADD, &low, &high, link);
        SS_THEN(rc, walk_groups(s, stage, FILL, &low, &high, link));
    }
    SS_THEN(rc, walk_groups(s, -1, BOUND, &low, &high, link));
    note_beyond(s, low, high, link);
    return rc;
}

/* ---- uneven amounts of an expert group ---- */

static int is_uneven(const struct ss_sharing *s)
{
    return s->comm == SS_COMM_EP && s->groups->give[0];
}

static int by_stages(const struct ss_sharing *s)
{
    return s->plan->job->moe.dispatcher != SS_DISPATCH_ALLTOALL;
}

/* Sets what the members at hand send and get inside nodes, or between them: a token's copy for a node is
 * shared out among the members there. */
static void set_parts(struct ss_sharing *s, int far, double divided)
{
    double *give = s->way == SS_WAY_THERE ? s->row : s->col, *take = give == s->row ? s->col : s->row;
    for (int i = 0; i < s->n; i++) {
        s->gpus[i] = ss_plan_gpu(s->plan, s->members[i]);
        give[i] = s->groups->give[far][s->members[i]];
        take[i] = s->groups->take[far][s->members[i]] / divided;
    }
}

static int walk_uneven_pairs(struct ss_sharing *s, int far, ss_pairs_visitor visit)
{
    const int gpus = s->rails.rails.gpus;
    int rc = SS_OK;
    s->hop = !far ? SS_HOP_NODE : by_stages(s) ? SS_HOP_RAIL : SS_HOP_APART;
    for (int i = 0; i < s->n; i++)
        for (int j = 0; j < s->n && !rc; j++)
            if (i != j && (s->gpus[i] / gpus != s->gpus[j] / gpus) == far && s->row[i] * s->col[j] > 0)
                rc = ss_sharing_visit_flow(s, s->members[i], s->members[j], s->row[i] * s->col[j], visit);
    return rc;
}

static int visit_uneven(struct ss_sharing *s, int first, ss_pairs_visitor visit)
{
    const struct ss_group_shape *g = ss_groups_at(s->groups, SS_COMM_EP, first);
    const struct ss_exchange near = {s->gpus, g->n, s->row, s->col, 0},
                             far = {s->gpus, g->n, s->row, s->col, by_stages(s) && s->way == SS_WAY_THERE};
    int rc = SS_OK;
    ss_comm_members(s->plan, SS_COMM_EP, first, s->members, &s->n);
    set_parts(s, 0, 1);
    if (s->counted)
        ss_rail_links_visit_near(&s->rails, &near, visit, s);
    else
        rc = walk_uneven_pairs(s, 0, visit);
    if (g->nodes < 2 || rc)
        return rc;
    set_parts(s, 1, by_stages(s) ? g->per_node : 1);
    if (!s->counted)
        return walk_uneven_pairs(s, 1, visit);
    ss_rail_links_visit(&s->rails, &far, visit, s);
    if (!by_stages(s))
        ss_rail_links_visit_handed(&s->rails, &far, visit, s);
    return SS_OK;
}

static int kind_of(const struct ss_sharing *s, int link)
{
    int kind = SS_LINK_FABRIC;
    double bandwidth;
    if (s->counted)
        return ss_rail_link_kind(&s->rails, link);
    if (link < s->routes->nplatform)
        ss_platform_link_facts(s->plan->platform, link, &kind, &bandwidth);
    return kind;
}

/* Keeps the worst link of its kind; links behind the NICs are one kind. */
static void find_worst_of_kind(void *ctx, int link, double amount)
{
    struct ss_sharing *s = ctx;
    int kind = kind_of(s, link);
    ss_sharing_find_worst(ctx, link, amount);
    double bandwidth = s->counted ? s->bandwidth[link] : ss_routes_bandwidth(s->routes, link);
    s->worst_of[kind] = fmax(s->worst_of[kind], s->seen[link] / bandwidth);
}

/* Returns the rate of the hottest rank of a pass at its own links: draws scatter, so it gets more than on
 * average. On rails, what it sends back leaves over all NICs of its node. */
static struct ss_exchange_rate hottest_pace(const struct ss_sharing *s, const struct ss_group_shape *g)
{
    const struct ss_net *net = s->net;
    const double nic = net->gpus_per_node / (net->nic_busbw * net->nics_per_node), n = g->n, q = g->per_node;
    const double busbw = ss_near_busbw(net, g);
    const double hot = g->spread.hot_copies / g->spread.busiest, mean = 1 / g->spread.busiest;
    int handed = net->rails && g->nodes > 1 && q > 1, back = s->way == SS_WAY_BACK;
    if (by_stages(s))
        return (struct ss_exchange_rate){q > 1 ? g->spread.hot_tokens / busbw : 0,
                                         g->nodes > 1 ? g->spread.hot_nodes * nic : 0};
    double handed_on = back ? hot * (n - q) : mean * (n - q);
    return (struct ss_exchange_rate){(q - 1) / n * (hot + (handed ? handed_on / q : 0)) / busbw,
                                     (handed && back ? mean : hot) * (n - q) / n * nic};
}

/* Makes values equal that differ by rounding. */
static double rounded(double x)
{
    int exponent;
    double digits = frexp(x, &exponent);
    return ldexp(rint(digits * 0x1p40) * 0x1p-40, exponent);
}

static void note_pace(struct ss_sharing *s, int first)
{
    struct ss_group_shape *g = ss_groups_at(s->groups, SS_COMM_EP, first);
    const struct ss_exchange_rate hottest = hottest_pace(s, g);
    struct ss_exchange_rate *sent = &g->sent[s->way], *priced = &g->priced[s->way];
    sent->near = rounded(s->worst_of[SS_LINK_FABRIC]);
    for (int kind = 0; kind < SS_LINK_KIND_COUNT; kind++)
        if (kind != SS_LINK_FABRIC)
            sent->far = fmax(sent->far, rounded(s->worst_of[kind]));
    priced->near = fmax(sent->near, rounded(hottest.near));
    priced->far = fmax(sent->far, rounded(hottest.far));
}

/* Walks the groups of a stage, or of all stages where it is negative. */
static int walk_uneven(struct ss_sharing *s, int stage, int pass, double *low, double *high, char link[64])
{
    int rc = SS_OK;
    s->seen = pass == BOUND ? s->total : s->load;
    for (int r = 0; r < s->plan->world_size && !rc; r++) {
        if (s->groups->first[SS_COMM_EP][r] != r ||
            (stage >= 0 && ss_ranks_coordinate(&s->plan->ranks, r, SS_AXIS_PP) != stage))
            continue;
        s->worst = 0;
        memset(s->worst_of, 0, sizeof s->worst_of);
        rc = visit_uneven(s, r, pass == ADD ? ss_sharing_add : find_worst_of_kind);
        if (pass == FILL && !rc)
            note_pace(s, r);
        if (pass == FILL)
            *low = fmin(*low, s->worst);
        if (pass == BOUND && s->worst > *high) {
            *high = s->worst;
            ss_sharing_name_link(s, link);
        }
        if (pass == FILL && !rc && s->apart)
            rc = ss_sharing_note_taken(s, r, visit_uneven);
    }
    return rc;
}

/* Shares links for one way of an exchange. */
static int share_uneven(struct ss_sharing *s)
{
    int stages = s->plan->schedule->stages, rc = SS_OK;
    double low = INFINITY, high = 0;
    char link[64];
    s->counted = s->rails.rails.n > 0 && !s->unlike && !s->net->mesh; /* rails count links of a switch */
    size_t nlinks =
        (size_t)(s->counted ? s->rails.n + 2 * s->plan->gpus : ss_routes_all_links(s->plan, s->routes));
    memset(s->total, 0, nlinks * sizeof *s->total);
    for (int stage = 0; stage < stages && !rc; stage++) {
        memset(s->load, 0, nlinks * sizeof *s->load);
        rc = walk_uneven(s, stage, ADD, &low, &high, link);
        SS_THEN(rc, walk_uneven(s, stage, FILL, &low, &high, link));
    }
    SS_THEN(rc, walk_uneven(s, -1, BOUND, &low, &high, link));
    note_beyond(s, low, high, link);
    return rc;
}

static int share_comm(struct ss_sharing *s)
{
    unsigned hops = ss_collective_hops(ss_comm_kinds(s->plan, s->comm), s->net->mesh);
    int rc = SS_OK;
    if (is_uneven(s)) {
        for (s->way = 0; s->way < SS_WAYS && !rc; s->way++)
            rc = share_uneven(s);
        return rc;
    }
    list_groups(s);
    for (s->hop = 0; s->hop < SS_HOP_COUNT && !rc; s->hop++) {
        int pairs = SS_HOPS_OF_PAIRS >> s->hop & 1;
        if (hops >> s->hop & 1 &&
            (pairs ? s->unlike || !ss_sharing_is_near(s->hop) : s->groups->width[s->comm][s->hop] > 0))
            rc = share_hop(s);
    }
    return rc;
}

/* Returns whether groups of the communicator may have less than their own share of links. */
static int is_shared(const struct ss_sharing *s)
{
    const struct ss_groups *g = s->groups;
    struct ss_share *share = &s->plan->shares[s->comm];
    if (!g->first[s->comm] || ss_comm_facts(s->comm)->flows <= SS_LEVEL_CHUNK ||
        !(ss_comm_has_flows(s->plan, s->comm) || ss_comm_in_closed_form(s->plan, s->comm)))
        return 0;
    for (int i = 0; i < g->nshapes[s->comm]; i++) {
        share->across |= g->shape[s->comm][i].nodes > 1;
        share->inside |= g->shape[s->comm][i].per_node > 1;
    }
    return share->across || s->unlike || is_uneven(s);
}

static int make_room(struct ss_sharing *s)
{
    int nlinks = ss_routes_all_links(s->plan, s->routes), counted;
    size_t world = (size_t)s->plan->world_size;
    if (s->load)
        return SS_OK;
    if (ss_rail_links_init(&s->rails, s->plan->platform))
        return SS_ERR_NOMEM;
    counted = s->rails.n + 2 * s->plan->gpus;
    nlinks = counted > nlinks ? counted : nlinks;
    s->lowest = malloc((2 * world + (size_t)s->plan->schedule->stages + 2) * sizeof *s->lowest);
    if (!s->lowest)
        return SS_ERR_NOMEM;
    s->from = s->lowest + world;
    s->of_stage = s->from + world;
    s->load = ss_calloc(3 * (size_t)nlinks + (size_t)counted + 2 * world, sizeof *s->load);
    if (!s->load)
        return SS_ERR_NOMEM;
    s->total = s->load + nlinks;
    s->alone = s->total + nlinks;
    s->bandwidth = s->alone + nlinks;
    s->row = s->bandwidth + counted;
    s->col = s->row + world;
    for (int i = 0; i < counted; i++)
        s->bandwidth[i] = i < s->rails.n
                              ? ss_rail_link_bandwidth(&s->rails, s->plan->platform, s->net->nic_busbw, i)
                              : s->net->fabric_busbw;
    return SS_OK;
}

int ss_groups_share_links(struct ss_plan *plan, struct ss_routes *routes, const struct ss_net *net,
                          int unlike, int apart, struct ss_groups *groups, int *room, struct ss_error *err)
{
    struct ss_sharing s = {.plan = plan,
                           .routes = routes,
                           .net = net,
                           .groups = groups,
                           .err = err,
                           .unlike = unlike,
                           .apart = apart,
                           .members = room,
                           .gpus = room + plan->world_size};
    int rc = SS_OK;
    for (s.comm = 0; s.comm < SS_COMM_COUNT && !rc; s.comm++) {
        if (!is_shared(&s))
            continue;
        rc = make_room(&s);
        if (rc)
            ss_fail(err, rc, NULL, 0, "out of memory for the links of %d ranks", plan->world_size);
        else
            rc = share_comm(&s);
    }
    ss_rail_links_free(&s.rails);
    SS_FREE(s.load, s.lowest, s.crossed);
    return rc;
}
