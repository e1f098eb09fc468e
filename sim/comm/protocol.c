/* SPDX-License-Identifier: Apache-2.0 */
/* The library's protocols: the latencies of its own table, by which it chooses, and the overhead of flags. */
#include <math.h>
#include <string.h>

#include "comm/collective.h"

/* Returns the bytes on a wire that carries `share` of the traffic for each byte of data; in LL at least what
 * the threads take that set and check flags. */
static double wire(const struct ss_protocol_facts *f, double share, double busbw, double most)
{
    double sent = share * f->line / f->data;
    return most > 0 ? fmax(sent, busbw / most) : sent;
}

/* Returns the time to fill a tree. A rank hands a piece on when it has all of it, so the first piece takes
 * every step one after the other; in a ring every rank has a piece to send at once. (src/enqueue.cc,
 * calcCollChunking; in LL and LL128 pieces are small.) */
static double filling(const struct ss_net *net, double near, double far, double bytes,
                      const struct ss_traffic *t, const struct ss_group_shape *g)
{
    double nics = net->nic_busbw * ss_nics_driven(net, g), busbw = ss_near_busbw(net, g);
    double piece = fmin(bytes, net->nccl_piece);
    double flowing = fmax(t->intra / busbw, t->inter / nics) / bytes;
    return bytes > 0 ? piece * fmax(0, near / busbw + far / nics - flowing) : 0;
}

static struct ss_traffic carried(const struct ss_net *net, int ring, double sent, int protocol, double factor,
                                 double near, double far, double bytes, const struct ss_group_shape *g)
{
    const struct ss_protocol_facts *f = &net->library->protocol[protocol];
    const double *latency = ring ? f->ring : f->tree;
    struct ss_net own = *net;
    /* With one rank a node nothing hides a ring's steps, which take as long as a tree's. */
    double far_step = (g->per_node == 1 ? f->tree : latency)[SS_LATENCY_FAR];
    if (protocol == SS_PROTOCOL_LL || g->nodes > 1) /* LL has no slow start, or the NICs hide it */
        own.fabric_half = 0;
    double steps = net->launch + latency[SS_LATENCY_ONCE] +
                   near * latency[SS_LATENCY_NEAR] * net->fabric_step / net->library->step +
                   far * (far_step + (protocol == SS_PROTOCOL_SIMPLE ? 2 : 1) * net->nccl_fabric +
                          (protocol == SS_PROTOCOL_LL ? 0 : net->nccl_far));
    struct ss_traffic t = ss_traffic(&own, factor, steps, bytes, g);
    t.intra *= wire(f, 1, ss_near_busbw(net, g), protocol == SS_PROTOCOL_LL ? net->ll_busbw : 0);
    t.inter *=
        wire(f, sent, net->nic_busbw * ss_nics_driven(net, g), g->nodes > 2 ? f->more_nodes : f->two_nodes);
    if (!ring && net->tree_share > 0)
        t.inter /= net->tree_share;
    if (!ring && protocol == SS_PROTOCOL_SIMPLE && g->nodes > 1)
        t.latency += filling(net, near, far, bytes, &t, g);
    return t;
}

struct ss_traffic ss_traffic_nccl(const struct ss_net *net, int ring, double sent, double factor, double near,
                                  double far, double bytes, const struct ss_group_shape *g)
{
    struct ss_group_shape own = *g;
    struct ss_traffic best;
    double seconds = INFINITY;
    if (!net->nccl)
        return ss_traffic(net, factor, near * net->fabric_step + far * net->nic_step, bytes, g);
    memset(own.stretch, 0, sizeof own.stretch);
    for (int p = 0; p < SS_PROTOCOL_COUNT; p++) {
        if (!(net->library->protocol[p].line > 0) ||
            (p != SS_PROTOCOL_SIMPLE && net->net_simple && g->nodes > 1))
            continue;
        struct ss_traffic t = carried(net, ring, sent, p, factor, near, far, bytes, g);
        double s = ss_traffic_seconds(net, t, &own);
        if (!(s < seconds))
            continue;
        best = t;
        seconds = s;
    }
    return best;
}

double ss_nccl_hop(const struct ss_net *net)
{
    if (!net->nccl)
        return net->nic_step;
    const struct ss_protocol_facts *f = net->library->protocol;
    return f[f[SS_PROTOCOL_LL].line > 0 ? SS_PROTOCOL_LL : SS_PROTOCOL_SIMPLE].tree[SS_LATENCY_FAR] +
           net->nccl_fabric;
}
