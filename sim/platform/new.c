/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster from a few sizes, as a file that a person edits and SimGrid loads. */
#include "platform/node_facts.h"

struct maker {
    const struct ss_new_cluster *c;
    struct ss_platform *p; /* one node */
    struct ss_error *err;
    FILE *out;
};

const char *ss_network_name(int network)
{
    static const char *const names[] = {"rail", "fat-tree", "dragonfly"};

    return network >= 0 && network < (int)SS_ARRAY_LEN(names) ? names[network] : NULL;
}

#define REFUSE(m, ...) ss_fail((m)->err, SS_ERR_USAGE, NULL, 0, __VA_ARGS__)

/* Completes values that were not given from the card's platform, and marks them as assumed. */
static int settle(const struct maker *m, bool known)
{
    const struct ss_new_cluster *c = m->c;
    struct ss_platform *p = m->p;

    ss_platform_base_name(c->name, p->name, sizeof(p->name));
    ss_copy(p->file, sizeof(p->file), "the new platform");
    if (ss_platform_is_mesh(p) && c->gpus_per_node > p->gpus_per_node)
        return REFUSE(m,
                      "a node of %s is a mesh of %d GPUs, which says nothing of %d" SS_HINT
                      "take fewer, or a platform of your own (platform show --xml writes one to start from)",
                      c->card, p->gpus_per_node, c->gpus_per_node);
    if (c->gpus_per_node > 0)
        p->gpus_per_node = c->gpus_per_node;
    if (p->gpus_per_node == 1) {
        p->bandwidth[SS_LINK_FABRIC] = ss_platform_fabric_bandwidth(p);
        p->template_kind = SS_TEMPLATE_NVSWITCH;
    }
    p->nics_per_node = c->nics_per_node >= 0 ? c->nics_per_node : p->gpus_per_node;
    if (c->nic_bandwidth > 0)
        p->bandwidth[SS_LINK_NIC] = c->nic_bandwidth;
    if (c->fabric_bandwidth > 0)
        p->bandwidth[SS_LINK_FABRIC] =
            c->fabric_bandwidth / (ss_platform_is_mesh(p) ? p->gpus_per_node - 1 : 1);
    p->fabric_nodes = c->fabric_nodes > 0 ? c->fabric_nodes : known ? p->fabric_nodes : 0;
    p->oversubscription = c->oversubscription > 0 ? c->oversubscription : 1;
    p->nodes_per_leaf = c->nodes_per_leaf > 0 ? c->nodes_per_leaf : p->nodes_per_leaf;
    p->card.price = c->price;
    free(p->assumed);
    p->assumed = NULL;
    if (asprintf(&p->assumed, "fabric.latency nic.latency%s%s%s%s%s",
                 c->network == SS_NETWORK_RAIL ? " uplink.latency" : "",
                 c->network == SS_NETWORK_RAIL && c->nodes_per_leaf == 0 ? " nodes_per_leaf" : "",
                 c->network == SS_NETWORK_RAIL && c->oversubscription == 0 ? " oversubscription" : "",
                 c->nic_bandwidth > 0 ? "" : " nic.bandwidth",
                 c->fabric_bandwidth > 0 || known ? "" : " fabric.bandwidth") < 0) {
        p->assumed = NULL;
        return ss_nomem(m->err);
    }
    ss_template_derive(p);
    return ss_template_check_size(p, 0, m->err);
}

/* A file whose hosts are nodes: one <cluster>, whose links and routes SimGrid makes. */
static int write_cluster(const struct maker *m, const char *topology, const char *parameters,
                         const char *comment)
{
    const struct ss_platform *p = m->p;
    char speed[64], bw[64], lat[64];

    ss_topology_begin(m->out, p->name, "Full",
                      "The card: \"stepsim list cards\", or the path of a card's file; props of it beside "
                      "this line change it");
    ss_topology_word(m->out, SS_PROP_CARD_BASE, m->c->card);
    if (m->c->price > 0)
        ss_topology_prop(m->out, SS_PROP_price, m->c->price);
    ss_topology_word(m->out, SS_PROP_ASSUMED, p->assumed);
    fputs("    <!-- A host of the cluster below is a node. Its GPUs are on one NVLink switch, each uses its "
          "NIC, and all NICs the "
          "host's link -->\n",
          m->out);
    ss_topology_word(m->out, SS_PROP_HOSTS, "nodes");
    ss_topology_prop(m->out, SS_PROP_GPUS_PER_NODE, p->gpus_per_node);
    ss_topology_prop(m->out, SS_PROP_NICS_PER_NODE, p->nics_per_node);
    ss_topology_prop(m->out, SS_PROP_FABRIC_BANDWIDTH, p->bandwidth[SS_LINK_FABRIC]);
    ss_topology_prop(m->out, SS_PROP_FABRIC_LATENCY, p->latency[SS_LINK_FABRIC]);
    ss_topology_prop(m->out, SS_PROP_NIC_BANDWIDTH, p->bandwidth[SS_LINK_NIC]);
    ss_topology_prop(m->out, SS_PROP_NIC_LATENCY, p->latency[SS_LINK_NIC]);
    fprintf(m->out,
            "    <!-- %s -->\n    <cluster id=\"fabric\" prefix=\"node-\" suffix=\"\" radical=\"0-%d\" "
            "speed=\"%s\"\n"
            "             bw=\"%s\" lat=\"%s\" topology=\"%s\" topo_parameters=\"%s\"/>\n",
            comment, m->c->nodes - 1,
            ss_unit_format(ss_template_speed(p), SS_UNIT_FLOPS, speed, sizeof(speed)),
            ss_unit_format(p->nics_per_node * p->bandwidth[SS_LINK_NIC], SS_UNIT_BANDWIDTH, bw, sizeof(bw)),
            ss_unit_format(p->latency[SS_LINK_UPLINK], SS_UNIT_TIME, lat, sizeof(lat)), topology, parameters);
    return ss_topology_end(m->out, m->err);
}

/* The largest divisor of n that is no larger than `most`. */
static int divisor(int n, int most)
{
    int d = most < n ? most : n;

    while (n % d != 0)
        d--;
    return d;
}

static int make_fat_tree(const struct maker *m)
{
    int nodes = m->c->nodes, leaf = m->c->nodes_per_leaf > 0 ? m->c->nodes_per_leaf : divisor(nodes, 16);
    double up = leaf / m->p->oversubscription;
    char parameters[100], comment[400];

    if (leaf >= nodes)
        snprintf(parameters, sizeof(parameters), "1;%d;1;1", nodes);
    else if (nodes % leaf != 0)
        return REFUSE(m,
                      "%d nodes do not fill leaf switches of %d" SS_HINT
                      "take a number of nodes that fills the leaves",
                      nodes, leaf);
    else if (up < 1 || up != floor(up))
        return REFUSE(m,
                      "%d nodes a leaf, oversubscribed %g:1, make %g uplinks" SS_HINT
                      "the uplinks of a leaf are whole, each as wide as a node's NICs together",
                      leaf, m->p->oversubscription, up);
    else
        snprintf(parameters, sizeof(parameters), "2;%d,%d;1,%d;1,1", leaf, nodes / leaf, (int)up);
    snprintf(comment, sizeof(comment),
             "Levels; nodes below a leaf switch and leaves below a spine; leaves of a node and spines of a "
             "leaf; links to each "
             "of them.\n         All links are as wide as a node's NICs together: fewer spines than nodes a "
             "leaf oversubscribe");
    return write_cluster(m, "FAT_TREE", parameters, comment);
}

/* Finds the most groups of equal routers: SimGrid wants no more groups than routers in each. */
static bool share_out(int nodes, int *groups, int *routers)
{
    int g = *groups > 0 ? *groups : (int)sqrt((double)nodes), least = *groups > 0 ? *groups : 1;

    for (; g >= least; g--)
        for (int r = *routers > 0 ? *routers : g; r >= g && (long)g * r <= nodes; r++) {
            if (nodes % (g * r) == 0) {
                *groups = g;
                *routers = r;
                return true;
            }
            if (*routers > 0)
                break;
        }
    return false;
}

static int make_dragonfly(const struct maker *m)
{
    int groups = m->c->groups, routers = m->c->routers, nodes = m->c->nodes, per_router;
    double global;
    char parameters[100], comment[400];

    if (!share_out(nodes, &groups, &routers))
        return REFUSE(
            m,
            "%d nodes make no dragonfly of %d groups of %d routers" SS_HINT
            "nodes must be groups x routers x nodes a router, with no more groups than routers in each",
            nodes, groups, routers);
    per_router = nodes / (groups * routers);
    global = groups > 1 ? routers * per_router / m->p->oversubscription / (groups - 1) : 1;
    snprintf(parameters, sizeof(parameters), "%d,%d;1,1;%d,%d;%d", groups,
             global > 1 ? (int)ceil(global - 1e-9) : 1, routers, per_router, per_router);
    snprintf(comment, sizeof(comment),
             "Groups, and links between each two of them; chassis of a group, and links between them; "
             "routers of a chassis, and\n"
             "         links between each two of them; nodes of a router. All links are as wide as a node's "
             "NICs together");
    return write_cluster(m, "DRAGONFLY", parameters, comment);
}

static int make(const struct maker *m)
{
    long gpus = (long)m->c->nodes * m->p->gpus_per_node;

    if (ss_platform_is_mesh(m->p) && (m->c->network != SS_NETWORK_RAIL || m->c->fabric_nodes > 1))
        return REFUSE(m,
                      "a node of %s is a mesh; GPUs of a node of a %s%s are on one switch" SS_HINT
                      "take --fabric rail without --nvlink-nodes",
                      m->c->card, ss_network_name(m->c->network),
                      m->c->fabric_nodes > 1 ? " with --nvlink-nodes" : "");
    if (m->c->network == SS_NETWORK_RAIL) {
        m->p->nodes = m->c->nodes;
        if (ss_template_check_size(m->p, 0, m->err) != SS_OK)
            return m->err != NULL ? m->err->code : SS_ERR_INPUT;
        m->p->nodes = 1;
        return ss_template_write(m->p, m->c->nodes, m->c->card, m->out, m->err);
    }
    if (m->c->fabric_nodes > 1)
        return REFUSE(m, "domains of the fabric over nodes in a %s" SS_HINT "take --fabric rail",
                      ss_network_name(m->c->network));
    if (gpus > SS_MAX_WRITTEN_GPUS)
        return REFUSE(m,
                      "%ld GPUs in a %s; at most %d" SS_HINT
                      "take fewer nodes, or --fabric rail, which has any number",
                      gpus, ss_network_name(m->c->network), SS_MAX_WRITTEN_GPUS);
    if (m->p->nics_per_node == 0)
        return REFUSE(m, "nodes without a NIC cannot reach each other" SS_HINT "give --nics");
    return m->c->network == SS_NETWORK_FAT_TREE ? make_fat_tree(m) : make_dragonfly(m);
}

int ss_platform_new(const struct ss_new_cluster *c, FILE *out, struct ss_error *err)
{
    struct maker m = {.c = c, .err = err, .out = out};
    bool known;
    if (!c->name || !c->card)
        return REFUSE(&m, "a cluster without name or card" SS_HINT "give both");
    if (ss_network_name(c->network) == NULL)
        return REFUSE(&m, "fabric %d is none" SS_HINT "rail, fat-tree and dragonfly are", c->network);
    int rc = ss_platform_of_card(c->card, c->files, &m.p, &known, err);

    if (!rc && c->nodes < 1)
        rc = REFUSE(&m, "%d nodes" SS_HINT "give one node or more", c->nodes);
    SS_THEN(rc, settle(&m, known));
    SS_THEN(rc, make(&m));
    ss_platform_free(m.p);
    return rc;
}
