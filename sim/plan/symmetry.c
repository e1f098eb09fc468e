/* SPDX-License-Identifier: Apache-2.0 */
/* Shifts along data parallelism that map a whole job onto itself. */
#include "plan/symmetry.h"

#include "stepsim/job.h"

static int64_t common_multiple(int64_t a, int64_t b)
{
    int64_t x = a, y = b;
    while (y) {
        int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

/* Returns whether a shift keeps the order of each group's members, or turns it round the ring. */
static int keeps_order(const struct ss_ranks *grid, int comm)
{
    unsigned axes = ss_comm_axes(comm);
    if (!(axes & 1u << SS_AXIS_DP))
        return 1;
    for (int a = 0; a < SS_AXIS_COUNT; a++)
        if (axes & 1u << a && grid->size[a] > 1 && grid->stride[a] > grid->stride[SS_AXIS_DP])
            return 0;
    return 1;
}

/* Returns whether groups have trees: a tree has a root, so no shift maps it onto itself. */
static int has_trees(const struct ss_groups *groups)
{
    int found = 0;
    for (int comm = 0; comm < SS_COMM_COUNT; comm++)
        found |= groups->width[comm][SS_HOP_TREE] > 0;
    return found;
}

static int groups_keep_order(const struct ss_plan *plan, unsigned comms)
{
    for (int comm = 0; comm < SS_COMM_COUNT; comm++) {
        int expert = ss_comm_facts(comm)->members == SS_MEMBERS_EXPERT ||
                     ss_comm_facts(comm)->members == SS_MEMBERS_EXPERT_SHARDS;
        if (comms >> comm & 1 && !keeps_order(expert ? &plan->expert_ranks : &plan->ranks, comm))
            return 0;
    }
    return 1;
}

/* A shift is of whole leaf switches, and of steps of the data parallelism of both grids. */
struct ss_periodic ss_symmetry_shift(const struct ss_plan *plan, unsigned comms)
{
    const struct ss_ranks *dense = &plan->ranks, *experts = &plan->expert_ranks;
    int gpus = ss_platform_gpus_per_node(plan->platform), leaf = ss_platform_leaf_nodes(plan->platform);
    if (leaf <= 0 || !groups_keep_order(plan, comms))
        return (struct ss_periodic){plan->world_size, plan->world_size};
    int64_t block = (int64_t)dense->stride[SS_AXIS_DP] * dense->size[SS_AXIS_DP], period;
    period = common_multiple((int64_t)gpus * leaf, dense->stride[SS_AXIS_DP]);
    if (plan->experts) {
        if ((int64_t)experts->stride[SS_AXIS_DP] * experts->size[SS_AXIS_DP] != block)
            period = block;
        else
            period = common_multiple(period, experts->stride[SS_AXIS_DP]);
    }
    if (period < block && block % period == 0)
        return (struct ss_periodic){(int)block, (int)period};
    return (struct ss_periodic){plan->world_size, plan->world_size};
}

static void add_row(struct ss_symmetry *s, int row, int count, int width, int ranks)
{
    struct ss_link_row *r = &s->row[row];
    r->first = row ? s->row[row - 1].first + s->row[row - 1].count * s->row[row - 1].width : 0;
    r->at = s->nlinks;
    r->width = width;
    r->count = count;
    r->owner = (struct ss_periodic){1, 1};
    if (s->shifts > 1)
        r->owner = (struct ss_periodic){s->rank.block / ranks, s->rank.period / ranks};
    s->nlinks += count / s->shifts * width;
}

struct ss_symmetry ss_symmetry_of(const struct ss_plan *plan, const struct ss_groups *groups, int alike)
{
    const struct ss_platform *p = plan->platform;
    int gpus = ss_platform_gpus_per_node(p), links = ss_platform_link_count(p),
        leaf = ss_platform_leaf_nodes(p);
    struct ss_symmetry s = {.rank = {plan->world_size, plan->world_size}};
    unsigned comms = 0;
    for (int comm = 0; comm < SS_COMM_COUNT; comm++)
        comms |= groups->first[comm] ? 1u << comm : 0;
    if (alike && !has_trees(groups))
        s.rank = ss_symmetry_shift(plan, comms);
    s.shifts = s.rank.block / s.rank.period;
    s.nranks = plan->world_size / s.shifts;
    if (s.shifts > 1) {
        int nodes = ss_platform_nodes(p), leaves = nodes / leaf, per_leaf = 2 * ss_platform_nics_per_node(p);
        add_row(&s, 0, nodes, (links - leaves * per_leaf) / nodes, gpus);
        add_row(&s, 1, leaves, per_leaf, gpus * leaf);
    } else {
        add_row(&s, 0, links, 1, 1);
        add_row(&s, 1, 0, 1, 1);
    }
    add_row(&s, 2, plan->gpus, 2, 1);
    return s;
}

int ss_symmetry_rank(const struct ss_symmetry *s, int at)
{
    return ss_periodic_rank(s->rank, at);
}

static const struct ss_link_row *row_of(const struct ss_symmetry *s, int link)
{
    int row = SS_LINK_ROWS - 1;
    while (link < s->row[row].first)
        row--;
    return &s->row[row];
}

int ss_symmetry_link_at(const struct ss_symmetry *s, int link)
{
    if (s->shifts == 1)
        return link;
    const struct ss_link_row *r = row_of(s, link);
    int owner = (link - r->first) / r->width;
    return r->at + ss_periodic_at(r->owner, owner) * r->width + (link - r->first) % r->width;
}

int ss_symmetry_link(const struct ss_symmetry *s, int at)
{
    int row = SS_LINK_ROWS - 1;
    if (s->shifts == 1)
        return at;
    while (at < s->row[row].at)
        row--;
    const struct ss_link_row *r = &s->row[row];
    int owner = (at - r->at) / r->width;
    owner = owner / r->owner.period * r->owner.block + owner % r->owner.period;
    return r->first + owner * r->width + (at - r->at) % r->width;
}

int ss_symmetry_link_beside(const struct ss_symmetry *s, int link, int other)
{
    if (s->shifts == 1)
        return link;
    const struct ss_link_row *r = row_of(s, other);
    int shift = (other - r->first) / r->width % r->owner.block / r->owner.period;
    r = row_of(s, link);
    int owner = (link - r->first) / r->width, in = owner % r->owner.block;
    in = (in + (s->shifts - shift) * r->owner.period) % r->owner.block;
    return r->first + (owner - owner % r->owner.block + in) * r->width + (link - r->first) % r->width;
}

int ss_plan_in_order(const struct ss_plan *plan, const struct ss_plan_options *o)
{
    return !o->placement && plan->job->nfailed == 0 && !ss_job_is_placed(plan->job);
}

int ss_plan_is_alike(const struct ss_plan *plan, const struct ss_plan_options *o)
{
    return !plan->unfolded && !o->apart && !o->draw_spread && o->nstragglers == 0 && o->nslow_links == 0 &&
           ss_plan_in_order(plan, o);
}
