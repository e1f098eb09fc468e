/* SPDX-License-Identifier: Apache-2.0 */
/* The two stages of DeepEP and HybridEP: a token crosses to each of its other nodes once, from a GPU to that at the same
 * place there, and goes on over the fabric to the GPUs of its experts. Both stages run as a pipeline, so the slower one
 * counts. Combine goes the same way back. */
#include <math.h>

#include "comm/collective.h"

/* The rate of copies over that of NCCL's collectives: SMs that feed the fabric more slowly than it could take hold it for longer. */
static double fed_share(const struct ss_net *net, const struct ss_group_shape *g)
{
    double links = net->exchange_busbw > 0 ? net->exchange_busbw / net->fabric_busbw : 1;
    return net->dispatch_rate > 0 ? fmin(links, net->dispatch_rate / ss_near_busbw(net, g)) : links;
}

/* Where chunks are large the stages are no smooth pipeline. Behind the last chunk that comes over NICs what it holds goes on over the fabric,
 * of the last round what each node's tokens have; a combine collects the first round before anything leaves, too. */
static double apart(const struct ss_net *net, int kind, double bytes, const struct ss_group_shape *g)
{
    double rounds = kind == SS_COLL_COMBINE ? net->combine_rounds : net->dispatch_rounds;
    double all = bytes * g->spread.copies / (fed_share(net, g) * ss_near_busbw(net, g));
    return g->nodes > 1 && rounds > 0 ? (kind == SS_COLL_COMBINE ? 2 : 1) * all / (g->nodes * rounds) : 0;
}

/* Kernels of one call of HybridEP: what is expected is counted, ranks wait for one another before and behind the exchange, over NICs once
 * more. */
enum { NEAR_KERNELS = 4, FAR_KERNELS = 5 };

static struct ss_traffic traffic(const struct ss_net *net, int kind, double bytes,
                                 const struct ss_group_shape *g)
{
    return (struct ss_traffic){.latency = net->fabric_step + (g->nodes > 1 ? net->nic_step : 0) +
                                          apart(net, kind, bytes, g) +
                                          net->dispatch_kernels * (g->nodes > 1 ? FAR_KERNELS : NEAR_KERNELS),
                               .intra = bytes * g->spread.copies / fed_share(net, g),
                               .inter = g->per_node * bytes * g->spread.nodes, /* of all members on a node */
                               .near = SS_HOP_NODE,
                               .far = SS_HOP_RAIL};
}

static double seconds(const struct ss_net *net, int kind, double bytes, const struct ss_group_shape *g)
{
    struct ss_traffic t = traffic(net, kind, bytes, g);
    return ss_is_uneven(g) ? ss_uneven_seconds(kind, t.latency, bytes, fed_share(net, g), g)
                           : ss_traffic_seconds(net, t, g);
}

/* Tokens go to all other nodes, and to all GPUs of a node, alike, unless they are uneven. */
static struct ss_collective_flows flows(const struct ss_net *net, int kind, double bytes,
                                        const struct ss_group_shape *g, int local)
{
    struct ss_traffic t = traffic(net, kind, bytes, g);
    if (ss_is_uneven(g))
        return ss_uneven_flows(kind, t.latency, bytes, fed_share(net, g), g, SS_HOP_RAIL);
    return (struct ss_collective_flows){
        .latency = t.latency,
        .bytes = {[SS_HOP_NODE] = local > 1 ? t.intra / (local - 1) : 0,
                  [SS_HOP_RAIL] = g->nodes > 1 ? bytes * g->spread.nodes / (g->nodes - 1) : 0}};
}

const struct ss_collective_algorithm ss_collective_dispatch = {
    .name = "dispatch",
    .kinds = SS_COLL_BIT(SS_COLL_DISPATCH) | SS_COLL_BIT(SS_COLL_COMBINE),
    .hops = SS_HOP_BIT(SS_HOP_NODE) | SS_HOP_BIT(SS_HOP_RAIL),
    .seconds = seconds,
    .flows = flows,
};
