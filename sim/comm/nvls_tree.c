/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL's NVLSTree: the switch of each node reduces its members' buffers to shares and multicasts the sums (nvls.c), and
 * between the nodes each share goes up and down a double tree (tree.c). */
#include <math.h>

#include "base/stats.h"
#include "comm/collective.h"

static int applies(const struct ss_net *net, const struct ss_group_shape *g)
{
    return net->nvls_tree && ss_net_has(net, SS_LIBRARY_NVLS_TREE) && net->nvls_busbw > 0 && g->nodes > 1 &&
           g->per_node > 1;
}

/* In bytes at the busbw of the fabric and of NICs. */
static struct ss_traffic traffic(const struct ss_net *net, int kind, double bytes,
                                 const struct ss_group_shape *g)
{
    (void)kind;
    double inside = (1 + 1.0 / g->per_node) * ss_near_busbw(net, g) / net->nvls_busbw;
    double steps = net->nvls_latency + 2 * ss_log2_up(g->nodes) * (ss_nccl_hop(net) + net->nccl_far);
    double nics = ss_nics_driven(net, g), sent = ss_tree_flows(g->nodes) / 2.;
    struct ss_traffic t = ss_traffic(net, inside, steps, bytes, g);
    /* NICs start slowly, too: the first of each one's share, as in an all-to-all. */
    t.latency = fmax(t.latency, steps + sent * fmin(bytes / nics, net->nic_half) / net->nic_busbw);
    t.inter = bytes * sent;
    t.far = ss_tree_hop(g);
    return t;
}

static double seconds(const struct ss_net *net, int kind, double bytes, const struct ss_group_shape *g)
{
    return ss_traffic_seconds(net, traffic(net, kind, bytes, g), g);
}

static struct ss_collective_flows flows(const struct ss_net *net, int kind, double bytes,
                                        const struct ss_group_shape *g, int local)
{
    return ss_tree_lower(traffic(net, kind, bytes, g), g, local);
}

const struct ss_collective_algorithm ss_collective_nvls_tree = {
    .name = "nvls_tree",
    .kinds = SS_COLL_BIT(SS_COLL_ALL_REDUCE),
    .hops = SS_HOP_BIT(SS_HOP_INTRA_NODE) | SS_HOP_BIT(SS_HOP_INTER_NODE) | SS_HOP_BIT(SS_HOP_TREE),
    .applies = applies,
    .seconds = seconds,
    .flows = flows,
};
