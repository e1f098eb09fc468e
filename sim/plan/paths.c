/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links that flows cross. One link of the plan stands for all equal links of the platform, and a class's flow
 * for the flows of all its ranks. Its weight on a link is the number of these flows on one link of the
 * platform.
 */
#include "base/base.h"
#include "plan/plan_internal.h"

/* Returns the number of the thing at `place` of `n`. It gets `fresh` where neither it nor a thing of its
 * colour has a number; -1: out of memory. */
static int number_put(struct ss_numbers *numbers, const uint64_t *colour, size_t n, size_t place, int fresh)
{
    if (colour)
        return ss_map_put(&numbers->by_colour, colour[place], fresh);
    if (!numbers->by_place && !(numbers->by_place = ss_calloc(n, sizeof *numbers->by_place)))
        return -1;
    if (!numbers->by_place[place])
        numbers->by_place[place] = fresh + 1;
    return numbers->by_place[place] - 1;
}

void ss_numbers_free(struct ss_numbers *numbers)
{
    ss_map_free(&numbers->by_colour);
    free(numbers->by_place);
}

static uint64_t load_key(int link, uint64_t colour)
{
    return ss_mix_in(colour, (uint64_t)link);
}

/* Marks the links of a rank's flows, from `flow` on. */
static void want_flows(const struct ss_routes *r, size_t flow, char *wanted)
{
    for (int j = r->first[flow]; j < r->first[flow + (size_t)r->nkinds]; j++)
        wanted[r->pool[j]] = r->kept[r->pool[j]];
}

/* Counts the flows on every link that the routes of a class's representative cross, and links that are alike. */
int ss_plan_loads_count(struct ss_plan_builder *b, struct ss_error *err)
{
    const struct ss_plan *plan = b->plan;
    const struct ss_routes *r = &b->routes;
    size_t n = (size_t)r->symmetry.nranks * (size_t)r->nkinds;
    if (plan->unfolded)
        return SS_OK;
    char *wanted = ss_calloc((size_t)r->nlinks, 1);
    int rc = wanted ? 0 : -1;
    for (int c = 0; c < plan->nclasses && !rc; c++)
        want_flows(r, ss_plan_flow_of(b, c, 0), wanted);
    for (int i = 0; i < b->nodd && !rc; i++)
        want_flows(r, (size_t)b->odd[i] * (size_t)r->nkinds, wanted);
    for (size_t i = 0; i < n && !rc; i++)
        for (int j = r->first[i]; j < r->first[i + 1] && !rc; j++)
            if (wanted[r->pool[j]])
                rc = ss_map_add(&b->load, load_key(r->pool[j], b->flow_colour[i]), 1);
    for (int l = 0; l < r->nlinks && !rc; l++)
        rc = ss_map_add(&b->alike, b->link_colour[l], 1);
    free(wanted);
    return rc ? ss_nomem(err) : SS_OK;
}

int ss_plan_links_count(struct ss_plan_builder *b, struct ss_error *err)
{
    const struct ss_routes *r = &b->routes;
    struct ss_plan *plan = b->plan;
    plan->link_count = ss_calloc((size_t)plan->nlinks, sizeof *plan->link_count);
    SS_NEED(plan->link_count, err);
    for (int l = 0; b->links.by_place && l < r->nlinks; l++)
        if (b->links.by_place[l])
            plan->link_count[b->links.by_place[l] - 1] += r->symmetry.shifts;
    for (size_t i = 0; i < b->links.by_colour.size; i++) {
        const struct ss_map_slot *s = &b->links.by_colour.slot[i];
        if (s->value)
            plan->link_count[s->value - 1] = ss_map_get(&b->alike, s->key) * r->symmetry.shifts;
    }
    return SS_OK;
}

/* Finds the plan's link for pool[j] of the routes. */
static int link_of(struct ss_plan_builder *b, int j, int *index, struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    *index = number_put(&b->links, b->link_colour, (size_t)b->routes.nlinks, (size_t)b->routes.pool[j],
                        plan->nlinks);
    if (*index < 0 ||
        ss_grow(&plan->links, &b->cap_links, (size_t)plan->nlinks + 1, sizeof *plan->links) != 0)
        return ss_nomem(err);
    if (*index < plan->nlinks)
        return SS_OK;
    memset(&plan->links[plan->nlinks], 0, sizeof *plan->links);
    ss_routes_link(plan, &b->routes, ss_routes_link_at(&b->routes, j), &plan->links[plan->nlinks++]);
    return SS_OK;
}

/* Returns whether the path already has the link that was added last. */
static int names_last(const struct ss_path *p)
{
    for (int k = 0; k < p->nlinks; k++)
        if (p->link[k] == p->link[p->nlinks])
            return 1;
    return 0;
}

/* Fills a path. Folded, a flow that crosses several equal links names their link once: its weight there
 * counts all flows of one of them. */
static int path_fill(struct ss_plan_builder *b, size_t flow, struct ss_path *p, struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    const struct ss_routes *r = &b->routes;
    for (int j = r->first[flow]; j < r->first[flow + 1]; j++) {
        if (!r->kept[r->pool[j]])
            continue;
        SS_TRY(link_of(b, j, &p->link[p->nlinks], err));
        if (!plan->unfolded && names_last(p))
            continue;
        p->weight[p->nlinks] =
            plan->unfolded ? 1 : ss_map_get(&b->load, load_key(r->pool[j], b->flow_colour[flow]));
        plan->weighted |= p->weight[p->nlinks++] != 1;
    }
    return SS_OK;
}

int ss_plan_path(struct ss_plan_builder *b, int cls, int kind, int *index, struct ss_error *err)
{
    *index = -1;
    return kind < 0 ? SS_OK : ss_plan_path_at(b, ss_plan_flow_of(b, cls, kind), index, err);
}

int ss_plan_path_at(struct ss_plan_builder *b, size_t flow, int *index, struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    struct ss_path p;
    *index = -1;
    if (b->routes.to[flow] < 0)
        return SS_OK;
    *index = number_put(&b->path_of, b->flow_colour,
                        (size_t)b->routes.symmetry.nranks * (size_t)b->routes.nkinds, flow, plan->npaths);
    if (*index < 0)
        return ss_nomem(err);
    if (*index < plan->npaths)
        return SS_OK;
    memset(&p, 0, sizeof p);
    SS_TRY(path_fill(b, flow, &p, err));
    if (ss_grow(&plan->paths, &b->cap_paths, (size_t)plan->npaths + 1, sizeof *plan->paths) != 0)
        return ss_nomem(err);
    plan->paths[plan->npaths++] = p;
    return SS_OK;
}

static int p2p_add(struct ss_plan_builder *b, int cls, int kind, struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    size_t i = ss_plan_flow_of(b, cls, kind);
    struct ss_p2p_path edge;
    memset(&edge, 0, sizeof edge);
    if (b->routes.to[i] < 0)
        return SS_OK;
    edge.from = cls;
    edge.to = plan->class_of[b->routes.to[i]];
    edge.latency = b->routes.latency[i];
    edge.sm_share = 0; /* NCCL sends use one or two channels, and are short beside the compute */
    SS_TRY(ss_plan_path(b, cls, kind, &edge.path, err));
    if (ss_grow(&plan->p2p, &b->cap_p2p, (size_t)plan->np2p + 1, sizeof *plan->p2p) != 0)
        return ss_nomem(err);
    plan->p2p[plan->np2p++] = edge;
    return SS_OK;
}

int ss_plan_p2p_build(struct ss_plan_builder *b, struct ss_error *err)
{
    int rc = SS_OK;
    for (int c = 0; c < b->plan->nclasses && !rc; c++)
        for (int k = 0; k < b->routes.npeers && !rc; k++)
            rc = p2p_add(b, c, k, err);
    return rc;
}
