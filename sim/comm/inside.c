/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL inside a node. Time grows with what a rank moves: what it sends, and a part of its own share, which
 * the kernel of an all-gather, a reduce-scatter or an all-to-all copies to where the result lies. */
#include "base/base.h"
#include "comm/collective.h"

double ss_inside_ring(const struct ss_card *card, double fabric, int passes, double gpus, double bytes)
{
    double part = passes * (gpus - 1) / gpus, whole = card->fabric_efficiency * fabric;
    double moved = part * bytes + (passes == 1 ? card->curve_ring_copy * bytes / gpus : 0);
    double small = card->curve_ring_launch + moved / (card->curve_ring_small * fabric);
    double middle = card->curve_ring_middle_latency + moved / (card->curve_ring_middle * fabric);
    double large = card->curve_ring_launch + (part * card->fabric_half_size + moved) / whole;

    return passes * (gpus - 1) * card->curve_ring_step + fmin(small, fmin(middle, large));
}

double ss_inside_alltoall(const struct ss_card *card, double fabric, double gpus, double bytes,
                          double *latency)
{
    const double steps = (gpus - 1) * card->curve_alltoall_step;
    const double once[] = {steps + card->curve_alltoall_launch, steps + card->curve_alltoall_middle_latency,
                           card->curve_alltoall_latency};
    const double rate[] = {card->curve_alltoall_small, card->curve_alltoall_middle,
                           card->curve_alltoall_large};
    double moved = bytes * (gpus - 1 + card->curve_alltoall_copy) / gpus / fabric, least = INFINITY;

    for (size_t i = 0; i < SS_ARRAY_LEN(rate); i++) {
        if (once[i] + moved / rate[i] >= least)
            continue;
        least = once[i] + moved / rate[i];
        *latency = once[i];
    }
    return least;
}

int ss_net_is_inside(const struct ss_net *net, const struct ss_group_shape *g)
{
    return net->card && net->nccl && g->nodes == 1 && g->per_node > 1;
}

double ss_inside_fabric(const struct ss_net *net, const struct ss_group_shape *g)
{
    return net->fabric * ss_near_busbw(net, g) / net->fabric_busbw;
}

struct ss_traffic ss_traffic_inside(const struct ss_net *net, double factor, double seconds, double bytes,
                                    const struct ss_group_shape *g)
{
    struct ss_traffic t = ss_traffic(net, factor, 0, bytes, g);

    t.latency = fmax(0, seconds - t.intra / ss_near_busbw(net, g));
    return t;
}
