/* SPDX-License-Identifier: Apache-2.0 */
/* All-to-all: each member sends a share to every other member. With q members a node, (q-1)/n of each buffer
 * stays on the node and (n-q)/n leaves it. As flows every pair is one flow on its own route. On rails the fabric
 * carries more than what stays: data for the places of the q-1 others is handed to them first (PXN), in all
 * (q-1)/q of the buffer. */
#include <math.h>

#include "comm/collective.h"

/* Sets *fed to the share of their rate at which an uneven exchange gets data through the fabric links. */
static struct ss_traffic traffic(const struct ss_net *net, double bytes, const struct ss_group_shape *g,
                                 double *fed)
{
    double n = g->n, away = (n - g->per_node) / n;
    struct ss_traffic t = ss_traffic(net, (g->per_node - 1) / n, ss_ring_latency(net, g), bytes, g);
    *fed = 1;
    if (ss_net_is_inside(net, g)) {
        double seconds = ss_inside_alltoall(net->card, ss_inside_fabric(net, g), n, bytes, &t.latency);
        double sent = t.intra / ss_near_busbw(net, g);
        *fed = fmin(1, sent / (seconds - t.latency));
        if (!ss_is_uneven(g))
            t.latency = fmax(0, seconds - sent);
    }
    if (g->nodes > 1)
        t.latency +=
            away * fmin(bytes, net->nic_half) * net->gpus_per_node / (net->nic_busbw * net->nics_per_node);
    t.near = SS_HOP_NODE;
    t.far = SS_HOP_APART;
    t.inter = g->per_node * (n - g->per_node) / n * bytes; /* from all buffers of a node */
    return t;
}

static double seconds(const struct ss_net *net, int kind, double bytes, const struct ss_group_shape *g)
{
    double fed;
    struct ss_traffic t = traffic(net, bytes, g, &fed);
    if (ss_is_uneven(g))
        return ss_uneven_seconds(kind, t.latency, bytes, fed, g);
    if (net->rails && g->nodes > 1)
        t.intra = (g->per_node - 1.) / g->per_node * bytes;
    return ss_traffic_seconds(net, t, g);
}

static struct ss_collective_flows flows(const struct ss_net *net, int kind, double bytes,
                                        const struct ss_group_shape *g, int local)
{
    double share = bytes / g->n, fed, latency = traffic(net, bytes, g, &fed).latency;
    (void)local;
    if (ss_is_uneven(g))
        return ss_uneven_flows(kind, latency, bytes, fed, g, SS_HOP_APART);
    return (struct ss_collective_flows){
        .latency = latency, .bytes = {[SS_HOP_NODE] = share, [SS_HOP_APART] = g->nodes > 1 ? share : 0}};
}

const struct ss_collective_algorithm ss_collective_alltoall = {
    .name = "alltoall",
    .kinds = SS_COLLS_TO_ALL,
    .hops = SS_HOP_BIT(SS_HOP_NODE) | SS_HOP_BIT(SS_HOP_APART),
    .seconds = seconds,
    .flows = flows,
};
