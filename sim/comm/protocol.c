/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL's protocols. LL writes a flag beside every 4 bytes of data, LL128 one beside 120, so that a receiver sees data without a
 * fence; Simple has no flags and waits for fences. Latencies are those of the table from which NCCL chooses (src/graph/tuning.cc
 * of NVIDIA/nccl at 5067397, baseLatencies and hwLatencies, NVLINK and NET). */
#include <math.h>
#include <string.h>

#include "comm/collective.h"

enum { LL, LL128, SIMPLE, PROTOCOLS };

/* s: once, and of a step over NVLink and between nodes. */
struct latency {
    double base, near, far;
};
static const struct latency latencies[2][PROTOCOLS] = {
    {{6.8e-6, 0.6e-6, 5e-6}, {14e-6, 1.25e-6, 8.5e-6}, {8.4e-6, 4e-6, 14e-6}},  /* tree */
    {{6.6e-6, 0.6e-6, 2.7e-6}, {14e-6, 1.9e-6, 4e-6}, {8.4e-6, 3.4e-6, 14e-6}}, /* ring */
};
/* The step that ss.nvlink.step_latency is: of a ring in LL128. */
#define NEAR_STEP 1.9e-6

/* Most that LL makes between two and more nodes, bytes/s of busbw (llMaxBws, AMD hosts). */
#define LL_TWO_NODES 22.5e9
#define LL_NODES 19e9

/* Bytes on a wire that carries `share` of the traffic for one of data, and at least what the threads that set and check flags take. */
static double wire(int protocol, double share, double busbw, double most)
{
    return protocol == SIMPLE  ? share
           : protocol == LL128 ? share * 128 / 120
                               : fmax(2 * share, most > 0 ? busbw / most : 0);
}

/* A rank of a tree hands a piece on when it has all of it, so the first piece takes every step one after the other; in a ring all
 * ranks have one to send. (src/enqueue.cc, calcCollChunking; in LL and LL128 pieces are small.) */
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
    struct latency l = latencies[ring][protocol];
    struct ss_net own = *net;
    if (g->per_node == 1) /* nothing hides a ring's steps: they take what a tree's do */
        l.far = latencies[0][protocol].far;
    if (protocol == LL || g->nodes > 1) /* no slow start, or the NICs hide it */
        own.nvlink_half = 0;
    double steps = net->launch + l.base + near * l.near * net->nvlink_step / NEAR_STEP +
                   far * (l.far + net->nccl_fabric + (protocol == LL ? 0 : net->nccl_far));
    struct ss_traffic t = ss_traffic(&own, factor, steps, bytes, g);
    t.intra *= wire(protocol, 1, ss_near_busbw(net, g), net->ll_busbw);
    t.inter *=
        wire(protocol, sent, net->nic_busbw * ss_nics_driven(net, g), g->nodes > 2 ? LL_NODES : LL_TWO_NODES);
    if (!ring && protocol == SIMPLE && g->nodes > 1)
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
        return ss_traffic(net, factor, near * net->nvlink_step + far * net->nic_step, bytes, g);
    memset(own.stretch, 0, sizeof own.stretch);
    for (int p = 0; p < PROTOCOLS; p++) {
        if (p != SIMPLE && net->net_simple && g->nodes > 1)
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
    return net->nccl ? latencies[0][LL].far + net->nccl_fabric : net->nic_step;
}
