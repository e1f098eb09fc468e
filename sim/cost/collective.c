/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/collective.h"

#include <math.h>

void ss_net_init(struct ss_net *net, const struct ss_platform *p)
{
    const struct ss_card *card = ss_platform_card(p);
    net->nvlink_busbw = ss_platform_nvlink_bandwidth(p) * card->nvlink_efficiency;
    net->nvlink_step = card->nvlink_latency;
    net->nvlink_half = card->nvlink_half_size;
    net->nvls_busbw = ss_platform_nvlink_bandwidth(p) * card->nvls_efficiency;
    net->nvls_latency = card->nvls_latency;
    net->nic_busbw = ss_platform_nic_bandwidth(p) * card->nic_efficiency;
    net->nic_step = card->nic_latency;
    net->gpus_per_node = ss_platform_gpus_per_node(p);
    net->nics_per_node = ss_platform_nics_per_node(p);
    if (net->nvlink_busbw <= 0) /* no NVLink: GPUs of a node talk over PCIe */
        net->nvlink_busbw = card->pcie_bandwidth;
}

/* NICs that a group's members on one node drive: their share, for the node's other GPUs are members of groups that
 * do the same at the same time. */
static double nics_driven(const struct ss_net *net, const struct ss_group_shape *g)
{
    return (double)g->per_node * net->nics_per_node / net->gpus_per_node;
}

/* One algorithm: `factor` times the buffer moves, its first bytes at half the speed; `step` is paid once. */
static struct ss_collective_way way(const struct ss_net *net, int algorithm, double factor, double step,
                                    double bytes, const struct ss_group_shape *g)
{
    double start = g->per_node > 1 ? factor * fmin(bytes, net->nvlink_half) / net->nvlink_busbw : 0;
    return (struct ss_collective_way){algorithm, step + start, factor * bytes, factor * bytes};
}

static double way_seconds(const struct ss_net *net, const struct ss_collective_way *w,
                          const struct ss_group_shape *g)
{
    double slowest = g->per_node > 1 ? w->near / net->nvlink_busbw : 0;
    if (g->nodes > 1)
        slowest = fmax(slowest, w->far / (net->nic_busbw * nics_driven(net, g)));
    return w->latency + slowest;
}

struct ss_collective_way ss_collective_way(const struct ss_net *net, int kind, double bytes,
                                           const struct ss_group_shape *g)
{
    double n = g->n, far = g->nodes > 1 ? fmin(g->nodes, n - 1) : 0; /* ring steps that leave a node */
    double round = (n - 1 - far) * net->nvlink_step + far * net->nic_step;
    if (kind == SS_COLL_ALL_TO_ALL) {
        struct ss_collective_way all = way(net, SS_ALGORITHM_RING, (g->per_node - 1) / n, round, bytes, g);
        all.far = g->per_node * (n - g->per_node) / n * bytes; /* all buffers of a node */
        return all;
    }
    if (kind != SS_COLL_ALL_REDUCE)
        return way(net, SS_ALGORITHM_RING, (n - 1) / n, round, bytes, g);
    double up = (g->per_node - 1) * net->nvlink_step + ceil(log2(g->nodes)) * net->nic_step;
    struct ss_collective_way best = way(net, SS_ALGORITHM_RING, 2 * (n - 1) / n, 2 * round, bytes, g);
    struct ss_collective_way tree = way(net, SS_ALGORITHM_TREE, 2, 2 * up, bytes, g);
    if (way_seconds(net, &tree, g) < way_seconds(net, &best, g))
        best = tree;
    if (net->nvls_busbw > 0 && g->nodes == 1) {
        double factor = (1 + 1 / n) * net->nvlink_busbw / net->nvls_busbw;
        struct ss_collective_way nvls = way(net, SS_ALGORITHM_NVLS, factor, net->nvls_latency, bytes, g);
        if (way_seconds(net, &nvls, g) < way_seconds(net, &best, g))
            best = nvls;
    }
    return best;
}

double ss_collective_seconds(const struct ss_net *net, int kind, double bytes, const struct ss_group_shape *g)
{
    if (g->n <= 1)
        return 0;
    struct ss_collective_way best = ss_collective_way(net, kind, bytes, g);
    return way_seconds(net, &best, g);
}

double ss_collective_sm_share(const struct ss_stack *stack, const struct ss_card *card,
                              const struct ss_group_shape *g)
{
    return fmin(0.5, (g->nodes > 1 ? stack->comm_sms_nic : stack->comm_sms_nvlink) / card->sm_count);
}
