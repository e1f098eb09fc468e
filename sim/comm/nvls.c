/* SPDX-License-Identifier: Apache-2.0 */
/* NVLink SHARP: the switch of one node reduces and multicasts. 1 + 1/n of the buffer passes each GPU's link, at the
 * switch's own busbw. */
#include "comm/collective.h"

static int applies(const struct ss_net *net, const struct ss_group_shape *g)
{
    return net->nvls_busbw > 0 && g->nodes == 1;
}

/* In bytes at the busbw of the fabric. */
static struct ss_traffic traffic(const struct ss_net *net, int kind, double bytes,
                                 const struct ss_group_shape *g)
{
    (void)kind;
    double n = g->n, factor = (1 + 1 / n) * ss_near_busbw(net, g) / net->nvls_busbw;
    return ss_traffic(net, factor, net->nvls_latency, bytes, g);
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

const struct ss_collective_algorithm ss_collective_nvls = {
    .name = "nvls",
    .kinds = SS_COLL_BIT(SS_COLL_ALL_REDUCE),
    .hops = SS_HOP_BIT(SS_HOP_INTRA_NODE),
    .applies = applies,
    .seconds = seconds,
    .flows = flows,
};
