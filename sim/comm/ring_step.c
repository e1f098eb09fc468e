/* SPDX-License-Identifier: Apache-2.0 */
/* One step of a ring that the caller drives, as ring attention does: each member sends its buffer to the next one, by
 * the fabric or its NIC. */
#include <math.h>

#include "comm/collective.h"

static double latency(const struct ss_net *net, const struct ss_group_shape *g)
{
    return g->nodes > 1 ? net->nic_step : net->fabric_step;
}

static double seconds(const struct ss_net *net, int kind, double bytes, const struct ss_group_shape *g)
{
    double near = ss_pair_busbw(net), busbw = g->nodes > 1 ? fmin(near, net->nic_busbw) : near;
    (void)kind;
    return bytes * ss_stretch(g, SS_HOP_NEXT) / busbw + latency(net, g);
}

static struct ss_collective_flows flows(const struct ss_net *net, int kind, double bytes,
                                        const struct ss_group_shape *g, int local)
{
    (void)kind;
    (void)local;
    return (struct ss_collective_flows){.latency = latency(net, g), .bytes = {[SS_HOP_NEXT] = bytes}};
}

const struct ss_collective_algorithm ss_collective_ring_step = {
    .name = "ring step",
    .kinds = SS_COLL_BIT(SS_COLL_RING_STEP),
    .hops = SS_HOP_BIT(SS_HOP_NEXT),
    .seconds = seconds,
    .flows = flows,
};
