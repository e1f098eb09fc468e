/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL's ring: each link carries (n-1)/n of the buffer, twice in an all-reduce (nccl-tests,
 * PERFORMANCE.md). */
#include "comm/collective.h"

static struct ss_traffic traffic(const struct ss_net *net, int kind, double bytes,
                                 const struct ss_group_shape *g)
{
    double n = g->n, far = ss_ring_far(g);
    int rounds = kind == SS_COLL_ALL_REDUCE ? 2 : 1;
    if (ss_net_is_inside(net, g))
        return ss_traffic_inside(net, rounds * (n - 1) / n,
                                 ss_inside_ring(net->card, ss_inside_fabric(net, g), rounds, n, bytes), bytes,
                                 g);
    return ss_traffic_nccl(net, 1, 1, rounds * (n - 1) / n, rounds * (n - 1 - far), rounds * far, bytes, g);
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

const struct ss_collective_algorithm ss_collective_ring = {
    .name = "ring",
    .kinds = SS_COLLS_REDUCED,
    .hops = SS_HOP_BIT(SS_HOP_INTRA_NODE) | SS_HOP_BIT(SS_HOP_INTER_NODE),
    .seconds = seconds,
    .flows = flows,
};
