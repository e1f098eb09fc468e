/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own clusters: any number of equal nodes on a rail-optimised leaf/spine network. Links and
 * routes are arithmetic, nothing is stored per GPU.
 *
 * Link indices: node by node the links of its fabric, then its NICs, last the uplinks; each link has two
 * directions, .up (even, away from the GPU; a mesh: from the lower local index) and .down (odd).
 *
 * Routes are those of SimGrid's Dijkstra on the same file: fewest links; of equal paths the one
 * whose fabric elements come first in the file. That makes one case deliberate: between two nodes
 * of a leaf group, sender and receiver on different rails, the flow stays on the sender's NIC and
 * rail and reaches its GPU over the receiving node's fabric, rather than crossing the spine.
 */
#include "platform/platform_internal.h"

static int fabric_links_per_node(const struct ss_platform *p)
{
    int g = p->gpus_per_node;

    return p->template_kind == SS_TEMPLATE_MESH ? g * (g - 1) / 2 : g;
}

static int links_per_node(const struct ss_platform *p)
{
    return 2 * (fabric_links_per_node(p) + p->nics_per_node);
}

static int leaf_groups(const struct ss_platform *p)
{
    return p->nics_per_node == 0 ? 0 : (p->nodes + p->nodes_per_leaf - 1) / p->nodes_per_leaf;
}

static int rail_of(const struct ss_platform *p, int local)
{
    return local / (p->gpus_per_node / p->nics_per_node);
}

/* Position of the pair a < b among the pairs of a node, ordered by a, then b. */
static int mesh_pair(const struct ss_platform *p, int a, int b)
{
    return a * (2 * p->gpus_per_node - a - 1) / 2 + (b - a - 1);
}

void ss_template_derive(struct ss_platform *p)
{
    p->bandwidth[SS_LINK_UPLINK] = p->nodes_per_leaf * p->bandwidth[SS_LINK_NIC] / p->oversubscription;
}

double ss_template_speed(const struct ss_platform *p)
{
    return p->card.peak_bf16 > 0 ? p->card.peak_bf16 : p->card.peak_fp16;
}

int ss_template_link_count(const struct ss_platform *p)
{
    return p->nodes * links_per_node(p) + 2 * leaf_groups(p) * p->nics_per_node;
}

int ss_template_link_kind(const struct ss_platform *p, int index)
{
    int per_node = links_per_node(p);

    if (index >= p->nodes * per_node)
        return SS_LINK_UPLINK;
    return index % per_node / 2 >= fabric_links_per_node(p) ? SS_LINK_NIC : SS_LINK_FABRIC;
}

/* "nic-3-5.up": a word, some numbers >= 0, a direction. */
static void name_link(struct ss_link *out, const char *word, const int *numbers, int n, int index)
{
    char *at = out->name;

    while (*word)
        *at++ = *word++;
    for (int i = 0; i < n; i++) {
        *at++ = '-';
        at = ss_write_int(at, numbers[i]);
    }
    for (word = index % 2 == 0 ? ".up" : ".down"; *word;)
        *at++ = *word++;
    *at = '\0';
}

void ss_template_link(const struct ss_platform *p, int index, struct ss_link *out)
{
    int per_node = links_per_node(p), in_nodes = p->nodes * per_node;
    int node = index / per_node, k = index % per_node / 2;

    if (index >= in_nodes) {
        k = (index - in_nodes) / 2;
        out->kind = SS_LINK_UPLINK;
        name_link(out, "uplink", (const int[]){k / p->nics_per_node, k % p->nics_per_node}, 2, index);
    } else if (k >= fabric_links_per_node(p)) {
        out->kind = SS_LINK_NIC;
        name_link(out, "nic", (const int[]){node, k - fabric_links_per_node(p)}, 2, index);
    } else if (p->template_kind == SS_TEMPLATE_MESH) {
        int a = 0;

        out->kind = SS_LINK_FABRIC;
        while (mesh_pair(p, a + 1, a + 2) <= k && a + 2 < p->gpus_per_node)
            a++;
        name_link(out, p->fabric_word, (const int[]){node, a, a + 1 + k - mesh_pair(p, a, a + 1)}, 3, index);
    } else {
        out->kind = SS_LINK_FABRIC;
        name_link(out, p->fabric_word, (const int[]){node, k}, 2, index);
    }
    out->bandwidth = p->bandwidth[out->kind];
    out->latency = p->latency[out->kind];
}

static void cross(const struct ss_platform *p, struct ss_route *out, int link, int kind, int down)
{
    out->link[out->nlinks++] = link + down;
    out->latency += p->latency[kind];
}

/* Inside one node, between different local indices. */
static void cross_node(const struct ss_platform *p, struct ss_route *out, int node, int a, int b)
{
    int base = node * links_per_node(p);

    if (p->template_kind == SS_TEMPLATE_MESH) {
        cross(p, out, base + 2 * mesh_pair(p, a < b ? a : b, a < b ? b : a), SS_LINK_FABRIC, a > b);
    } else {
        cross(p, out, base + 2 * a, SS_LINK_FABRIC, 0);
        cross(p, out, base + 2 * b, SS_LINK_FABRIC, 1);
    }
}

static void cross_nic(const struct ss_platform *p, struct ss_route *out, int node, int rail, int down)
{
    cross(p, out, node * links_per_node(p) + 2 * (fabric_links_per_node(p) + rail), SS_LINK_NIC, down);
}

void ss_template_route(const struct ss_platform *p, int src, int dst, struct ss_route *out)
{
    int g = p->gpus_per_node;
    int from = src / g, to = dst / g, a = src % g, b = dst % g;
    int rail, other, group, target;

    out->nlinks = 0;
    out->latency = 0;
    if (from == to) {
        cross_node(p, out, from, a, b);
        return;
    }
    rail = rail_of(p, a);
    other = rail_of(p, b);
    group = from / p->nodes_per_leaf;
    target = to / p->nodes_per_leaf;
    cross_nic(p, out, from, rail, 0);
    if (group != target) {
        int uplinks = p->nodes * links_per_node(p);

        cross(p, out, uplinks + 2 * (group * p->nics_per_node + rail), SS_LINK_UPLINK, 0);
        cross(p, out, uplinks + 2 * (target * p->nics_per_node + other), SS_LINK_UPLINK, 1);
        rail = other;
    }
    cross_nic(p, out, to, rail, 1);
    if (rail != other) /* same leaf: on from the first GPU of the sender's rail */
        cross_node(p, out, to, rail * (g / p->nics_per_node), b);
}

static int visit_link(const struct ss_platform *p, struct ss_item *it, int kind, ss_item_visitor visit,
                      void *ctx)
{
    it->tag = "link";
    it->value = p->bandwidth[kind];
    it->delay = p->latency[kind];
    return visit(ctx, it);
}

/* Every link of a node's fabric, as element or as route. */
static int walk_fabric(const struct ss_platform *p, struct ss_item *it, int n, bool route,
                       ss_item_visitor visit, void *ctx)
{
    char *name = route ? it->link : it->id;
    int rc = 0;

    it->tag = "route";
    for (int a = 0; a < p->gpus_per_node && rc == 0; a++)
        for (int b = a + 1; b <= p->gpus_per_node && rc == 0; b++) {
            if (p->template_kind != SS_TEMPLATE_MESH) {
                snprintf(name, sizeof(it->id), "%s-%d-%d", p->fabric_word, n, a);
                snprintf(it->dst, sizeof(it->dst), "nvswitch-%d", n);
            } else if (b < p->gpus_per_node) {
                snprintf(name, sizeof(it->id), "%s-%d-%d-%d", p->fabric_word, n, a, b);
                snprintf(it->dst, sizeof(it->dst), "gpu-%d-%d", n, b);
            } else {
                break;
            }
            if (route)
                snprintf(it->id, sizeof(it->id), "gpu-%d-%d", n, a);
            rc = route ? visit(ctx, it) : visit_link(p, it, SS_LINK_FABRIC, visit, ctx);
            if (p->template_kind != SS_TEMPLATE_MESH)
                break;
        }
    return rc;
}

static int walk_node(const struct ss_platform *p, struct ss_item *it, int n, ss_item_visitor visit, void *ctx)
{
    int rc = 0;

    it->tag = "host";
    it->value = ss_template_speed(p);
    for (int l = 0; l < p->gpus_per_node && rc == 0; l++) {
        snprintf(it->id, sizeof(it->id), "gpu-%d-%d", n, l);
        rc = visit(ctx, it);
    }
    if (p->template_kind == SS_TEMPLATE_NVSWITCH && rc == 0) {
        it->tag = "router";
        snprintf(it->id, sizeof(it->id), "nvswitch-%d", n);
        rc = visit(ctx, it);
    }
    if (rc == 0)
        rc = walk_fabric(p, it, n, false, visit, ctx);
    for (int r = 0; r < p->nics_per_node && rc == 0; r++) {
        snprintf(it->id, sizeof(it->id), "nic-%d-%d", n, r);
        rc = visit_link(p, it, SS_LINK_NIC, visit, ctx);
    }
    return rc;
}

/* Leaves, spine and their links; or the routes between them. */
static int walk_network(const struct ss_platform *p, struct ss_item *it, bool route, ss_item_visitor visit,
                        void *ctx)
{
    int rc = 0;

    for (int q = 0; q < leaf_groups(p); q++)
        for (int r = 0; r < p->nics_per_node && rc == 0; r++) {
            it->tag = route ? "route" : "router";
            snprintf(it->id, sizeof(it->id), "leaf-%d-%d", q, r);
            snprintf(it->dst, sizeof(it->dst), "spine");
            snprintf(it->link, sizeof(it->link), "uplink-%d-%d", q, r);
            rc = visit(ctx, it);
            if (route || rc != 0)
                continue;
            snprintf(it->id, sizeof(it->id), "uplink-%d-%d", q, r);
            rc = visit_link(p, it, SS_LINK_UPLINK, visit, ctx);
        }
    if (!route && p->nics_per_node > 0 && rc == 0) {
        it->tag = "router";
        snprintf(it->id, sizeof(it->id), "spine");
        rc = visit(ctx, it);
    }
    return rc;
}

static int walk_nic_routes(const struct ss_platform *p, struct ss_item *it, int n, ss_item_visitor visit,
                           void *ctx)
{
    int rc = 0;

    it->tag = "route";
    for (int l = 0; l < p->gpus_per_node && rc == 0 && p->nics_per_node > 0; l++) {
        snprintf(it->id, sizeof(it->id), "gpu-%d-%d", n, l);
        snprintf(it->dst, sizeof(it->dst), "leaf-%d-%d", n / p->nodes_per_leaf, rail_of(p, l));
        snprintf(it->link, sizeof(it->link), "nic-%d-%d", n, rail_of(p, l));
        rc = visit(ctx, it);
    }
    return rc;
}

int ss_template_walk(const struct ss_platform *p, ss_item_visitor visit, void *ctx)
{
    struct ss_item it = {.section = SS_SECTION_NODE};
    int rc = 0;

    for (int n = 0; n < p->nodes && rc == 0; n++)
        rc = walk_node(p, &it, n, visit, ctx);
    it.section = SS_SECTION_NETWORK;
    if (rc == 0)
        rc = walk_network(p, &it, false, visit, ctx);
    it.section = SS_SECTION_FABRIC_ROUTES;
    for (int n = 0; n < p->nodes && rc == 0; n++)
        rc = walk_fabric(p, &it, n, true, visit, ctx);
    it.section = SS_SECTION_NIC_ROUTES;
    for (int n = 0; n < p->nodes && rc == 0; n++)
        rc = walk_nic_routes(p, &it, n, visit, ctx);
    it.section = SS_SECTION_UPLINK_ROUTES;
    if (rc == 0)
        rc = walk_network(p, &it, true, visit, ctx);
    return rc;
}
