/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL's two binary trees over the nodes, with a chain inside each node. Half of the buffer goes up and down
 * each tree. A node inside one tree is a leaf of the other (Sanders et al., Two-Tree Algorithms, 2009). */

#include "base/stats.h"
#include "comm/collective.h"

/* ---- trees: the height of node k is its lowest set bit; its parent has the next higher one ---- */

static int lowest_bit(int k)
{
    return k & -k;
}

static int parent(int nodes, int k)
{
    int bit = lowest_bit(k), above = (k ^ bit) | bit << 1;
    if (k == 0)
        return -1;
    return above < nodes ? above : k ^ bit;
}

/* upper: 1 for the child with the larger number. */
static int child(int nodes, int k, int upper)
{
    int half = lowest_bit(k) / 2;
    if (k == 0) { /* node 0 has the highest other node as its child */
        for (half = 1; half * 2 < nodes;)
            half *= 2;
        return upper && nodes > 1 ? half : -1;
    }
    while (upper && half > 0 && k + half >= nodes)
        half /= 2;
    return half == 0 ? -1 : upper ? k + half : k - half;
}

void ss_tree_neighbours(int nodes, int node, int to[SS_TREE_NEIGHBOURS])
{
    for (int second = 0; second < 2; second++) {
        /* the second tree is the first one shifted, or mirrored for an even number of nodes */
        int even = nodes % 2 == 0, k = !second ? node : even ? nodes - 1 - node : (node - 1 + nodes) % nodes;
        int found[] = {parent(nodes, k), child(nodes, k, 0), child(nodes, k, 1)};
        for (int i = 0; i < 3; i++)
            to[3 * second + i] = found[i] < 0 || !second ? found[i]
                                 : even                  ? nodes - 1 - found[i]
                                                         : (found[i] + 1) % nodes;
    }
}

int ss_tree_flows(int nodes)
{
    return nodes < 4 ? nodes : 4; /* three inside one tree, and the parent of a leaf in the other */
}

int ss_tree_hop(const struct ss_group_shape *g)
{
    return g->trees ? SS_HOP_TREE : SS_HOP_INTER_NODE;
}

struct ss_collective_flows ss_tree_lower(struct ss_traffic t, const struct ss_group_shape *g, int local)
{
    struct ss_collective_flows f = ss_traffic_flows(t, local);
    if (!g->trees)
        return f;
    f.bytes[SS_HOP_TREE] = f.bytes[SS_HOP_INTER_NODE] / ss_tree_flows(g->nodes);
    f.bytes[SS_HOP_INTER_NODE] = 0;
    return f;
}

/* ---- the algorithm ---- */

static struct ss_traffic up_and_down(const struct ss_net *net, double sent, double bytes,
                                     const struct ss_group_shape *g)
{
    struct ss_traffic t =
        ss_traffic_nccl(net, 0, sent, 2, 2 * (g->per_node - 1.), 2 * ss_log2_up(g->nodes), bytes, g);
    t.far = ss_tree_hop(g);
    return t;
}

/* Half of the buffer goes up and half comes down each tree. Only with four or more nodes has a node so many
 * neighbours that it sends the buffer twice. */
static struct ss_traffic traffic(const struct ss_net *net, double bytes, const struct ss_group_shape *g)
{
    return up_and_down(net, ss_tree_flows(g->nodes) / 4., bytes, g);
}

static int applies(const struct ss_net *net, const struct ss_group_shape *g)
{
    (void)g;
    return ss_net_has(net, SS_LIBRARY_TREE);
}

static double seconds(const struct ss_net *net, int kind, double bytes, const struct ss_group_shape *g)
{
    (void)kind;
    return ss_traffic_seconds(net, traffic(net, bytes, g), g);
}

/* NCCL's own model of trees sends the buffer twice for any number of nodes (src/graph/tuning.cc). */
static double judged(const struct ss_net *net, int kind, double bytes, const struct ss_group_shape *g)
{
    (void)kind;
    return ss_traffic_seconds(net, up_and_down(net, 1, bytes, g), g);
}

static struct ss_collective_flows flows(const struct ss_net *net, int kind, double bytes,
                                        const struct ss_group_shape *g, int local)
{
    (void)kind;
    return ss_tree_lower(traffic(net, bytes, g), g, local);
}

const struct ss_collective_algorithm ss_collective_tree = {
    .name = "tree",
    .kinds = SS_COLL_BIT(SS_COLL_ALL_REDUCE),
    .hops = SS_HOP_BIT(SS_HOP_INTRA_NODE) | SS_HOP_BIT(SS_HOP_INTER_NODE) | SS_HOP_BIT(SS_HOP_TREE),
    .applies = applies,
    .seconds = seconds,
    .judged = judged,
    .flows = flows,
};
