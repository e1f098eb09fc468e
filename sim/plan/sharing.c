/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/sharing.h"

#include "base/base.h"

#define MOST_KEPT (1u << 20) /* links of all groups of a hop, 4 bytes each */

void ss_sharing_add(void *ctx, int link, double flows)
{
    struct ss_sharing *s = ctx;
    s->load[link] += flows;
    s->total[link] += flows;
}

/* Adds what leaves a node over another GPU's link of the fabric, where the closed form counts two ways. */
static void add_far(struct ss_sharing *s, int link, double flows)
{
    char *both = s->plan->shares[s->comm].both;
    struct ss_link facts;
    ss_sharing_add(s, link, flows);
    if (both[0])
        return;
    ss_routes_link(s->plan, s->routes, link, &facts);
    if (facts.kind == SS_LINK_FABRIC)
        ss_copy(both, sizeof s->plan->shares[s->comm].both, facts.name);
}

void ss_sharing_find_worst(void *ctx, int link, double flows)
{
    struct ss_sharing *s = ctx;
    double bandwidth = s->counted ? s->bandwidth[link] : ss_routes_bandwidth(s->routes, link);
    double seconds = s->seen[link] / bandwidth;
    (void)flows;
    if (!(seconds > s->worst))
        return;
    s->worst = seconds;
    s->worst_link = link;
}

/* ---- flows of one group ---- */

int ss_sharing_is_near(int hop)
{
    return hop == SS_HOP_INTRA_NODE || hop == SS_HOP_NODE;
}

int ss_sharing_visit_flow(struct ss_sharing *s, int from, int to, double flows, ss_pairs_visitor visit)
{
    int link[SS_ROUTE_MAX], n;
    SS_TRY(ss_routes_between(s->plan, s->routes, from, to, s->hop, link, &n, s->err));
    for (int i = 0; i < n; i++)
        visit(s, link[i], flows);
    return SS_OK;
}

/* Visits all pairs of members on one node, or on two. */
static int visit_pairs(struct ss_sharing *s, ss_pairs_visitor visit)
{
    const struct ss_exchange even = {.gpus = s->gpus, .n = s->n};
    int rc = SS_OK, gpus = s->rails.rails.gpus;
    for (int i = 0; i < s->n && s->counted; i++)
        s->gpus[i] = ss_plan_gpu(s->plan, s->members[i]);
    if (s->counted) {
        ss_rail_links_visit(&s->rails, &even, visit, s);
        return SS_OK;
    }
    for (int i = 0; i < s->n; i++)
        for (int j = 0; j < s->n && !rc; j++) {
            int near =
                ss_plan_gpu(s->plan, s->members[i]) / gpus == ss_plan_gpu(s->plan, s->members[j]) / gpus;
            if (i != j && near == ss_sharing_is_near(s->hop))
                rc = ss_sharing_visit_flow(s, s->members[i], s->members[j], 1, visit);
        }
    return rc;
}

int ss_sharing_leaves_node(const struct ss_sharing *s)
{
    return s->hop == SS_HOP_INTER_NODE || s->hop == SS_HOP_TREE;
}

/* Visits a hop. Members of a node with fewer members send more each to the next node. */
static int visit_hop(struct ss_sharing *s, ss_pairs_visitor visit)
{
    const struct ss_groups *g = s->groups;
    const struct ss_group_shape shape = ss_groups_shape(g, s->comm, s->members[0]);
    const int width = g->width[s->comm][s->hop];
    int rc = SS_OK;
    for (int i = 0; i < s->n * width && !rc; i++) {
        int rank = s->members[i % s->n];
        int to = ss_groups_target(g, s->comm, s->hop, i / s->n, rank);
        double flows = ss_sharing_leaves_node(s) ? (double)shape.per_node / ss_groups_local(g, s->comm, rank)
                                                 : ss_hop_part(s->hop, &shape, i / s->n);
        if (to != rank)
            rc = ss_sharing_visit_flow(s, rank, to, flows, visit);
    }
    return rc;
}

int ss_sharing_visit_group(struct ss_sharing *s, int first, ss_pairs_visitor visit)
{
    ss_comm_members(s->plan, s->comm, first, s->members, &s->n);
    return SS_HOPS_OF_PAIRS & SS_HOP_BIT(s->hop) ? visit_pairs(s, visit) : visit_hop(s, visit);
}

/* ---- links that are kept between walks over the groups ---- */

/* Keeps a link, or the end of a group's, where there is room. */
static void keep(struct ss_sharing *s, int link)
{
    if (s->ncrossed >= MOST_KEPT || ss_grow(&s->crossed, &s->cross_cap, s->ncrossed + 1, sizeof *s->crossed))
        s->unkept = 1;
    else
        s->crossed[s->ncrossed++] = link;
}

static void add_kept(void *ctx, int link, double flows)
{
    struct ss_sharing *s = ctx;
    if (ss_sharing_leaves_node(s))
        add_far(s, link, flows);
    else
        ss_sharing_add(s, link, flows);
    keep(s, link);
}

int ss_sharing_add_group(struct ss_sharing *s, int first)
{
    s->from[first] = (int)s->ncrossed;
    int rc = ss_sharing_visit_group(s, first, add_kept);
    keep(s, -1);
    return rc;
}

int ss_sharing_find_worst_kept(struct ss_sharing *s, int first)
{
    if (s->unkept)
        return ss_sharing_visit_group(s, first, ss_sharing_find_worst);
    for (const int *link = s->crossed + s->from[first]; *link >= 0; link++)
        ss_sharing_find_worst(s, *link, 0);
    return SS_OK;
}

/* ---- groups that are not in step ---- */

static void add_alone(void *ctx, int link, double flows)
{
    struct ss_sharing *s = ctx;
    s->alone[link] += flows;
}

static void clear_alone(void *ctx, int link, double flows)
{
    struct ss_sharing *s = ctx;
    (void)flows;
    s->alone[link] = 0;
}

int ss_sharing_note_taken(struct ss_sharing *s, int first, ss_sharing_visit *group)
{
    struct ss_share *share = &s->plan->shares[s->comm];
    const double *seen = s->seen;
    double together = s->worst;
    int rc = group(s, first, add_alone);
    s->seen = s->alone;
    s->worst = 0;
    rc = rc ? rc : group(s, first, ss_sharing_find_worst);
    rc = rc ? rc : group(s, first, clear_alone);
    s->seen = seen;
    if (!rc && together > 0)
        share->taken = fmax(share->taken, 1 - s->worst / together);
    return rc;
}

void ss_sharing_name_link(const struct ss_sharing *s, char name[64])
{
    struct ss_link link;
    if (s->counted) {
        ss_rail_link_name(&s->rails, s->worst_link, name);
        return;
    }
    ss_routes_link(s->plan, s->routes, s->worst_link, &link);
    ss_copy(name, 64, link.name);
}
