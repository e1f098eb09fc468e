/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL's parallel aggregated trees (PAT, since 2.23). In log2(n) steps a member sends to members 2^k places
 * on: few shares far away, many shares near by. NCCL uses PAT where every member of a communicator is on a
 * node of its own. */

#include "base/stats.h"
#include "comm/collective.h"

static int applies(const struct ss_net *net, const struct ss_group_shape *g)
{
    return net->pat && net->library && ss_library_has(net->library, SS_LIBRARY_PAT) && g->nodes == g->n &&
           g->n > 2;
}

/* Returns the share of members whose data comes over 2^step places: those at distances whose lowest set bit
 * is 2^step. */
static double part(const struct ss_group_shape *g, int step)
{
    return (double)((g->n - 1 + (1 << step)) >> (step + 1)) / (g->n - 1);
}

static struct ss_traffic traffic(const struct ss_net *net, int kind, double bytes,
                                 const struct ss_group_shape *g)
{
    (void)kind;
    double n = g->n, steps = ss_log2_up(g->n) * net->nic_step;
    const struct ss_library *l = net->library;
    if (net->nccl)
        steps = net->launch + l->pat_once +
                ss_log2_up(g->n) * (l->pat_step + net->nccl_far + net->nccl_fabric) * (1 / l->pat_hidden) +
                n * l->pat_member;
    struct ss_traffic t = ss_traffic(net, (n - 1) / n / l->pat_busbw, steps, bytes, g);
    t.far = SS_HOP_PAT;
    return t;
}

static double seconds(const struct ss_net *net, int kind, double bytes, const struct ss_group_shape *g)
{
    return ss_traffic_seconds(net, traffic(net, kind, bytes, g), g);
}

static struct ss_collective_flows flows(const struct ss_net *net, int kind, double bytes,
                                        const struct ss_group_shape *g, int local)
{
    struct ss_traffic t = traffic(net, kind, bytes, g);
    (void)local;
    return (struct ss_collective_flows){.latency = t.latency, .bytes = {[SS_HOP_PAT] = t.inter}};
}

const struct ss_collective_algorithm ss_collective_pat = {
    .name = "pat",
    .kinds = SS_COLLS_SHARDED,
    .hops = SS_HOP_BIT(SS_HOP_PAT),
    .applies = applies,
    .seconds = seconds,
    .flows = flows,
    .part = part,
};
