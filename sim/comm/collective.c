/* SPDX-License-Identifier: Apache-2.0 */
/* The table of algorithms, and the choice of the algorithm for a collective. */
#include "comm/collective.h"

#include "base/base.h"

static const struct ss_collective_algorithm *const algorithms[] = {
#define X(name) &ss_collective_##name,
    SS_ALGORITHM_LIST(X)
#undef X
};

const struct ss_collective_algorithm *ss_collective_choose(const struct ss_net *net, int kind, double bytes,
                                                           const struct ss_group_shape *g)
{
    const struct ss_collective_algorithm *best = NULL;
    struct ss_group_shape own = *g;
    double seconds = 0;
    memset(own.stretch, 0, sizeof own.stretch);
    for (size_t i = 0; i < SS_ARRAY_LEN(algorithms); i++) {
        const struct ss_collective_algorithm *a = algorithms[i];
        if (!(a->kinds & SS_COLL_BIT(kind)) || (a->applies && !a->applies(net, &own)))
            continue;
        if (net->rings && best) /* the ring is the first algorithm of the list */
            continue;
        if (net->net_trees && !net->rings && own.nodes > 1 && a == &ss_collective_ring &&
            kind == SS_COLL_ALL_REDUCE)
            continue;
        double s = (a->judged ? a->judged : a->seconds)(net, kind, bytes, &own);
        if (best && !(s < seconds))
            continue;
        best = a;
        seconds = s;
    }
    return best;
}

double ss_collective_seconds(const struct ss_net *net, int kind, double bytes, const struct ss_group_shape *g)
{
    return g->n > 1 ? ss_collective_choose(net, kind, bytes, g)->seconds(net, kind, bytes, g) : 0;
}

unsigned ss_algorithm_hops(const struct ss_collective_algorithm *a, int mesh)
{
    const unsigned ring = SS_HOP_BIT(SS_HOP_INTRA_NODE);
    return mesh && a->hops & ring ? (a->hops & ~ring) | SS_HOP_BIT(SS_HOP_NODE) : a->hops;
}

unsigned ss_collective_hops(unsigned kinds, int mesh)
{
    unsigned hops = 0;
    for (size_t i = 0; i < SS_ARRAY_LEN(algorithms); i++)
        if (algorithms[i]->kinds & kinds)
            hops |= ss_algorithm_hops(algorithms[i], mesh);
    return hops;
}

static const struct ss_collective_algorithm *in_parts(int hop)
{
    for (size_t i = 0; i < SS_ARRAY_LEN(algorithms); i++)
        if (algorithms[i]->part && algorithms[i]->hops & SS_HOP_BIT(hop))
            return algorithms[i];
    return NULL;
}

int ss_hop_has_parts(int hop)
{
    return in_parts(hop) != NULL;
}

double ss_hop_part(int hop, const struct ss_group_shape *g, int j)
{
    const struct ss_collective_algorithm *a = in_parts(hop);
    return a ? a->part(g, j) : 1;
}

double ss_collective_sm_share(const struct ss_stack *stack, const struct ss_card *card,
                              const struct ss_group_shape *g)
{
    return fmin(0.5, (g->nodes > 1 ? stack->comm_sms_nic : stack->comm_sms_fabric) / card->sm_count);
}

double ss_sm_share_taken(const struct ss_card *card, double share, double gemms)
{
    double left = 1 - share, beside = card->gemm_beside > 0 ? fmin(card->gemm_beside, left) : left;
    if (share <= 0 || beside >= left)
        return fmin(0.5, fmax(0, share));
    return fmin(0.5, 1 - 1 / ((1 - gemms) / left + gemms / beside));
}

double ss_sm_share_diluted(double taken, double kernels, double others)
{
    double part = kernels + others > 0 ? kernels / (kernels + others) : 1;
    return others > 0 ? 1 - 1 / (1 - part + part / (1 - taken)) : taken;
}

void ss_net_beside(struct ss_net *net, int kind, double bytes, const struct ss_group_shape *g, double part)
{
    const double rate = net->dispatch_rate_beside;
    if (!(rate > 0 && part > 0))
        return;
    double alone = part < 1 ? ss_collective_seconds(net, kind, bytes, g) : 0;
    net->dispatch_rate = rate;
    if (part >= 1)
        return;
    double slowed = ss_collective_seconds(net, kind, bytes, g);
    net->dispatch_rate = rate / 2;
    double moved = rate * (ss_collective_seconds(net, kind, bytes, g) - slowed);
    net->dispatch_rate = slowed > alone ? 1 / (1 / rate - (1 - part) * (slowed - alone) / moved) : rate;
}
