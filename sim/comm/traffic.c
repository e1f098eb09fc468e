/* SPDX-License-Identifier: Apache-2.0 */
/* Links as collectives see them, and the time of traffic on them. */
#include <math.h>
#include <string.h>

#include "comm/collective.h"
#include "stepsim/job.h"
#include "stepsim/params.h"

/* SMs of a dispatcher by default: DeepEP's Buffer.num_sms, and Megatron core's value for HybridEP
 * (moe_hybridep_num_sms). */
#define DEEPEP_SMS 20
#define HYBRIDEP_SMS 16
int ss_net_has(const struct ss_net *net, int algorithm)
{
    return !net->library || ss_library_has(net->library, algorithm);
}

void ss_net_init(struct ss_net *net, const struct ss_platform *p)
{
    const struct ss_card *card = ss_platform_card(p);
    memset(net, 0, sizeof *net);
    net->library = ss_platform_library(p);
    net->fabric_busbw = ss_platform_fabric_bandwidth(p) * card->fabric_efficiency;
    net->exchange_busbw = ss_platform_fabric_bandwidth(p) * card->fabric_exchange;
    net->fabric_step = card->fabric_latency;
    net->fabric_half = card->fabric_half_size;
    net->fabric = ss_platform_fabric_bandwidth(p);
    if (net->fabric > 0 && net->library->protocol[SS_PROTOCOL_LL128].line > 0)
        net->card = card;
    if (ss_net_has(net, SS_LIBRARY_NVLS))
        net->nvls_busbw = ss_platform_fabric_bandwidth(p) * card->nvls_efficiency;
    net->nvls_latency = card->nvls_latency;
    net->nic_busbw = ss_platform_nic_bandwidth(p) * card->nic_efficiency;
    net->nic_step = card->nic_latency;
    net->nic_half = card->nic_exchange_half;
    net->pat = net->nvls_tree = 0; /* the stack's NCCL decides */
    net->nccl = 1;
    net->ll_busbw = card->nccl_ll_busbw;
    net->nccl_far = card->nccl_far;
    net->nccl_fabric = card->nccl_fabric;
    net->tree_share = card->nccl_tree_share;
    net->nccl_piece = net->library->channels * card->nccl_buffer / net->library->pieces;
    net->net_simple = card->nccl_simple > 0;
    net->net_trees = card->nccl_trees > 0;
    net->launch = card->kernel_latency;
    net->mesh = ss_platform_is_mesh(p);
    net->gpus_per_node = ss_platform_gpus_per_node(p);
    net->host_gpus = ss_platform_file_gpus(p);
    net->nics_per_node = ss_platform_nics_per_node(p);
    net->rails = ss_platform_get(p, SS_PROP_NODES_PER_LEAF) > 0 && net->fabric_busbw > 0 &&
                 net->nics_per_node == net->gpus_per_node;
    net->dispatch_sms = DEEPEP_SMS;
    if (net->fabric_busbw <= 0) /* without fabric the GPUs of a node use PCIe */
        net->fabric_busbw = card->pcie_bandwidth;
}

double ss_dispatch_sms(const struct ss_job *job)
{
    int usual = job->moe.dispatcher == SS_DISPATCH_HYBRIDEP ? HYBRIDEP_SMS : DEEPEP_SMS;
    return job->moe.dispatch_sms > 0 ? job->moe.dispatch_sms : usual;
}

void ss_net_dispatcher(struct ss_net *net, double sms, const struct ss_stack *stack)
{
    net->dispatch_sms = sms > 0 ? sms : DEEPEP_SMS;
    net->dispatch_rate = net->dispatch_sms * stack->dispatch_sm_rate_alone;
    net->dispatch_rate_beside = net->dispatch_sms * stack->dispatch_sm_rate;
    net->dispatch_rounds = net->combine_rounds = 0;
}

void ss_net_chunks(struct ss_net *net, double tokens, const struct ss_stack *stack)
{
    net->dispatch_rate = net->dispatch_rate_beside = 0; /* a stack's rates are DeepEP's */
    net->dispatch_rounds = ceil(ceil(tokens / stack->dispatch_chunk) / net->dispatch_sms);
    net->combine_rounds = ceil(ceil(tokens / stack->combine_chunk) / net->dispatch_sms);
}

void ss_net_user_buffers(struct ss_net *net, double busbw)
{
    if (!(busbw > 0))
        return;
    net->fabric_busbw *= busbw;
    net->fabric_half = 0;
    net->card = NULL;
    net->nccl = 0;
}

double ss_nics_driven(const struct ss_net *net, const struct ss_group_shape *g)
{
    return (double)g->per_node * net->nics_per_node / net->gpus_per_node;
}

double ss_mesh_busbw(const struct ss_net *net, const struct ss_group_shape *g)
{
    int members = g->few > 0 ? g->few : g->per_node;
    /* benchmarks on larger nodes are priced, too */
    return net->fabric_busbw * (members > 1 ? fmin(1, (members - 1.) / (net->gpus_per_node - 1)) : 1);
}

double ss_pair_busbw(const struct ss_net *net)
{
    return ss_near_busbw(net, &(struct ss_group_shape){.per_node = 2});
}

struct ss_traffic ss_traffic(const struct ss_net *net, double factor, double steps, double bytes,
                             const struct ss_group_shape *g)
{
    double start = g->per_node > 1 ? factor * fmin(bytes, net->fabric_half) / ss_near_busbw(net, g) : 0;
    return (struct ss_traffic){.latency = steps + start,
                               .intra = factor * bytes,
                               .inter = factor * bytes,
                               .near = net->mesh ? SS_HOP_NODE : SS_HOP_INTRA_NODE,
                               .far = SS_HOP_INTER_NODE};
}

double ss_traffic_seconds(const struct ss_net *net, struct ss_traffic t, const struct ss_group_shape *g)
{
    double slowest = g->per_node > 1 ? t.intra * ss_stretch(g, t.near) / ss_near_busbw(net, g) : 0;
    if (g->nodes > 1)
        slowest = fmax(slowest, t.inter * ss_stretch(g, t.far) / (net->nic_busbw * ss_nics_driven(net, g)));
    return t.latency + slowest;
}

/* Returns the seconds a byte on the slower of both: fabric links at the share `fed` of their rate, and the links
 * behind the NICs. */
static double slower(const struct ss_exchange_rate *p, double fed)
{
    return fmax(p->near / fed, p->far);
}

double ss_uneven_seconds(int kind, double latency, double bytes, double fed, const struct ss_group_shape *g)
{
    return latency + bytes * slower(&g->priced[ss_way_of(kind)], fed);
}

struct ss_collective_flows ss_uneven_flows(int kind, double latency, double bytes, double fed,
                                           const struct ss_group_shape *g, int far)
{
    int way = ss_way_of(kind);
    struct ss_collective_flows f = {
        .latency = latency + bytes * (slower(&g->priced[way], fed) - slower(&g->sent[way], fed))};
    f.bytes[SS_HOP_NODE] = bytes / fed;
    f.bytes[far] = g->nodes > 1 ? bytes : 0;
    return f;
}

struct ss_collective_flows ss_traffic_flows(struct ss_traffic t, int local)
{
    struct ss_collective_flows f = {.latency = t.latency, .bytes = {[SS_HOP_INTER_NODE] = t.inter / local}};
    f.bytes[t.near] = t.near == SS_HOP_NODE ? t.intra / fmax(1, local - 1) : t.intra;
    return f;
}

double ss_ring_far(const struct ss_group_shape *g)
{
    return g->nodes > 1 ? fmin(g->nodes, g->n - 1) : 0;
}

double ss_ring_latency(const struct ss_net *net, const struct ss_group_shape *g)
{
    double far = ss_ring_far(g);
    return (g->n - 1 - far) * net->fabric_step + far * net->nic_step;
}
