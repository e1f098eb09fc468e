/* SPDX-License-Identifier: Apache-2.0 */
/* Direct all-reduce of a full mesh, as in RCCL for small buffers. Each GPU of the node sends every other GPU
 * its share at once, and then the sums back, over one link each: two steps for any number of GPUs. */
#include <math.h>

#include "comm/collective.h"

static int applies(const struct ss_net *net, const struct ss_group_shape *g)
{
    return net->library && ss_library_has(net->library, SS_LIBRARY_DIRECT) && net->mesh && g->nodes == 1 &&
           g->n == net->gpus_per_node;
}

static struct ss_traffic traffic(const struct ss_net *net, double bytes, const struct ss_group_shape *g)
{
    return ss_traffic_nccl(net, 1, 1, 2 * (g->n - 1.) / g->n, 2, 0, bytes, g);
}

static double seconds(const struct ss_net *net, int kind, double bytes, const struct ss_group_shape *g)
{
    (void)kind;
    return ss_traffic_seconds(net, traffic(net, bytes, g), g);
}

static double judged(const struct ss_net *net, int kind, double bytes, const struct ss_group_shape *g)
{
    return bytes <= net->library->direct_most ? seconds(net, kind, bytes, g) : INFINITY;
}

static struct ss_collective_flows flows(const struct ss_net *net, int kind, double bytes,
                                        const struct ss_group_shape *g, int local)
{
    (void)kind;
    return ss_traffic_flows(traffic(net, bytes, g), local);
}

const struct ss_collective_algorithm ss_collective_direct = {
    .name = "direct",
    .kinds = SS_COLL_BIT(SS_COLL_ALL_REDUCE),
    .hops = SS_HOP_BIT(SS_HOP_INTRA_NODE), /* in a mesh a flow to each member */
    .applies = applies,
    .seconds = seconds,
    .judged = judged,
    .flows = flows,
};
