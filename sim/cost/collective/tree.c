/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL's tree over the nodes with a chain inside each: the whole buffer goes up once and down once. */
#include <math.h>

#include "cost/collective.h"

static struct ss_traffic traffic(const struct ss_net *net, int kind, double bytes,
                                 const struct ss_group_shape *g)
{
    (void)kind;
    double up = (g->per_node - 1) * net->nvlink_step + ceil(log2(g->nodes)) * net->nic_step;
    return ss_traffic(net, 2, 2 * up, bytes, g);
}

static double seconds(const struct ss_net *net, int kind, double bytes, const struct ss_group_shape *g)
{
    return ss_traffic_seconds(net, traffic(net, kind, bytes, g), g);
}

static struct ss_collective_flows flows(const struct ss_net *net, int kind, double bytes,
                                        const struct ss_group_shape *g, int local)
{
    return ss_traffic_flows(traffic(net, kind, bytes, g), local);
}

const struct ss_collective_algorithm ss_collective_tree = {
    .name = "tree",
    .kinds = SS_COLL_BIT(SS_COLL_ALL_REDUCE),
    .hops = SS_HOP_BIT(SS_HOP_INTRA_NODE) | SS_HOP_BIT(SS_HOP_INTER_NODE),
    .seconds = seconds,
    .flows = flows,
};
