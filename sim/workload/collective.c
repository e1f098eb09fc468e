/* SPDX-License-Identifier: Apache-2.0 */
#include "workload/collective.h"

#include <math.h>

void ss_net_init(struct ss_net *net, const struct ss_platform *p)
{
    const struct ss_card *card = ss_platform_card(p);
    net->nvlink_busbw = ss_platform_nvlink_bandwidth(p) * card->nvlink_efficiency;
    net->nvlink_step = card->nvlink_latency;
    net->nvlink_half = card->nvlink_half_size;
    net->nic_busbw = ss_platform_nic_bandwidth(p) * card->nic_efficiency;
    net->nic_step = card->nic_latency;
    net->gpus_per_node = ss_platform_gpus_per_node(p);
    net->nics_per_node = ss_platform_nics_per_node(p);
    if (net->nvlink_busbw <= 0) /* no NVLink: GPUs of a node talk over PCIe */
        net->nvlink_busbw = card->pcie_bandwidth;
}

/* NICs that a group's members on one node drive. */
static double nics_driven(const struct ss_net *net, const struct ss_group_shape *g)
{
    return fmax(1, floor((double)g->per_node * net->nics_per_node / net->gpus_per_node));
}

double ss_collective_traffic(int kind, double bytes, int n)
{
    double ring = bytes * (n - 1) / n;
    return kind == SS_COLL_ALL_REDUCE ? 2 * ring : ring;
}

double ss_collective_latency(const struct ss_net *net, int kind, double bytes, const struct ss_group_shape *g)
{
    double start = g->per_node > 1
                       ? ss_collective_traffic(kind, fmin(bytes, net->nvlink_half), g->n) / net->nvlink_busbw
                       : 0;
    int far = g->nodes > 1 ? g->nodes : 0; /* ring steps that leave a node */
    double once = (g->n - 1 - fmin(far, g->n - 1)) * net->nvlink_step + fmin(far, g->n - 1) * net->nic_step;
    return start + (kind == SS_COLL_ALL_REDUCE ? 2 * once : once);
}

double ss_collective_seconds(const struct ss_net *net, int kind, double bytes, const struct ss_group_shape *g)
{
    double traffic, slowest;
    if (g->n <= 1)
        return 0;
    traffic = ss_collective_traffic(kind, bytes, g->n);
    slowest = g->per_node > 1 ? traffic / net->nvlink_busbw : 0;
    if (g->nodes > 1)
        slowest = fmax(slowest, traffic / (net->nic_busbw * nics_driven(net, g)));
    return ss_collective_latency(net, kind, bytes, g) + slowest;
}

double ss_collective_sm_share(const struct ss_stack *stack, const struct ss_card *card,
                              const struct ss_group_shape *g)
{
    return fmin(0.5, (g->nodes > 1 ? stack->comm_sms_nic : stack->comm_sms_nvlink) / card->sm_count);
}
