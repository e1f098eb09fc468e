/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that are no template as a SimGrid platform: each GPU, NVLink and NIC by itself. */
#include "platform/node_facts.h"

struct writer {
    const struct ss_platform *p;
    FILE *out;
};

static void put_link(const struct writer *w, const char *name, double bandwidth, double latency)
{
    ss_topology_link(w->out, name, NULL, "SPLITDUPLEX", bandwidth, latency);
}

static double pair_of(const struct ss_node_facts *f, int a, int b)
{
    return f->nvlink.pair[a * SS_MAX_MESH_GPUS + b];
}

static bool has_switch(const struct ss_node_facts *f)
{
    return f->nvlink.switched || (f->nvlink.whole && !f->nvlink.mesh);
}

/* Returns the bandwidth of a GPU to the switch; 0: it is not on it. */
static double to_switch(const struct ss_node_facts *f, int gpu)
{
    return f->nvlink.switched ? ss_nvlink_most(f, gpu) : f->nvlink.link;
}

static bool needs_pcie(const struct ss_node_facts *f)
{
    for (int a = 0; a < f->ngpus; a++) {
        if (has_switch(f) && to_switch(f, a) <= 0)
            return true;
        for (int b = 0; b < a && !has_switch(f); b++)
            if (pair_of(f, a, b) <= 0)
                return true;
    }
    return false;
}

static int nics_of(const struct ss_node_facts *f)
{
    return f->nnics < f->ngpus ? f->nnics : f->ngpus;
}

/* NVLinks of a node: links, or routes. */
static void put_fabric(const struct writer *w, const struct ss_node_facts *f, int n, bool routes)
{
    double latency = w->p->latency[SS_LINK_FABRIC];
    char link[48], src[48], dst[48];

    for (int a = 0; a < f->ngpus && f->ngpus > 1; a++) {
        snprintf(src, sizeof(src), "gpu-%d-%d", n, a);
        snprintf(dst, sizeof(dst), "nvswitch-%d", n);
        snprintf(link, sizeof(link), "nvlink-%d-%d", n, a);
        if (has_switch(f) && to_switch(f, a) > 0 && routes)
            ss_topology_route(w->out, src, dst, link);
        else if (has_switch(f) && to_switch(f, a) > 0)
            put_link(w, link, to_switch(f, a), latency);
        for (int b = a + 1; b < f->ngpus && !has_switch(f); b++) {
            if (pair_of(f, a, b) <= 0)
                continue;
            snprintf(dst, sizeof(dst), "gpu-%d-%d", n, b);
            snprintf(link, sizeof(link), "nvlink-%d-%d-%d", n, a, b);
            if (routes)
                ss_topology_route(w->out, src, dst, link);
            else
                put_link(w, link, pair_of(f, a, b), latency);
        }
    }
}

static void put_node(const struct writer *w, const struct ss_node_facts *f, int n)
{
    char name[48], speed[64];

    ss_unit_format(ss_template_speed(w->p), SS_UNIT_FLOPS, speed, sizeof(speed));
    for (int l = 0; l < f->ngpus; l++)
        fprintf(w->out,
                "    <host id=\"gpu-%d-%d\" speed=\"%s\"><prop id=\"ss.node\" value=\"%d\"/></host>\n", n, l,
                speed, n);
    if (has_switch(f))
        fprintf(w->out, "    <router id=\"nvswitch-%d\"/>\n", n);
    if (needs_pcie(f))
        fprintf(w->out, "    <router id=\"pcie-root-%d\"/>\n", n);
    put_fabric(w, f, n, false);
    for (int l = 0; l < f->ngpus && needs_pcie(f); l++) {
        snprintf(name, sizeof(name), "pcie-%d-%d", n, l);
        put_link(w, name, f->nvlink.to_host > 0 ? f->nvlink.to_host : w->p->card.pcie_bandwidth,
                 w->p->latency[SS_LINK_FABRIC]);
    }
    for (int r = 0; r < nics_of(f); r++) {
        snprintf(name, sizeof(name), "nic-%d-%d", n, r);
        put_link(w, name, f->nic_bandwidth > 0 ? f->nic_bandwidth : w->p->bandwidth[SS_LINK_NIC],
                 w->p->latency[SS_LINK_NIC]);
    }
}

enum section { NVLINKS, PCIE, NICS, SECTIONS };

static void put_routes(const struct writer *w, const struct ss_node_facts *f, int n, int section)
{
    char src[48], dst[48], link[48];

    if (section == NVLINKS)
        put_fabric(w, f, n, true);
    for (int l = 0; l < f->ngpus && (section == PCIE ? needs_pcie(f) : section == NICS && f->nnics > 0);
         l++) {
        snprintf(src, sizeof(src), "gpu-%d-%d", n, l);
        if (section == PCIE)
            snprintf(dst, sizeof(dst), "pcie-root-%d", n);
        else
            snprintf(dst, sizeof(dst), "switch");
        if (section == PCIE)
            snprintf(link, sizeof(link), "pcie-%d-%d", n, l);
        else
            snprintf(link, sizeof(link), "nic-%d-%d", n, l * nics_of(f) / f->ngpus);
        ss_topology_route(w->out, src, dst, link);
    }
}

/* Latencies are nobody's measurement, and PCIe is as wide as the card's copies from the host. */
static void put_assumed(const struct ss_own_node *nodes, int n, FILE *out)
{
    bool nics = false;

    for (int i = 0; i < n; i++)
        nics = nics || (nodes[i].facts->nnics > 0 && nodes[i].facts->nic_bandwidth == 0);
    ss_topology_word(out, SS_PROP_ASSUMED,
                     nics ? "nvlink.latency nic.latency nic.bandwidth" : "nvlink.latency nic.latency");
}

int ss_own_nodes_write(const struct ss_platform *p, const char *card, const struct ss_own_node *nodes, int n,
                       FILE *out, struct ss_error *err)
{
    static const char *const comments[SECTIONS] = {
        "Routes. The kernel takes, of equally short paths, the one whose elements come first: NVLinks, also "
        "by\n"
        "         way of another GPU, before PCIe, and PCIe before the network",
        "GPU to the PCIe root, for those that no NVLink joins", "GPU to the switch"};
    struct writer w = {p, out};
    long gpus = 0;
    int number, nics = 0;

    for (int i = 0; i < n; i++) {
        gpus += (long)nodes[i].repeat * nodes[i].facts->ngpus;
        nics += nodes[i].facts->nnics > 0;
    }
    if (gpus > SS_MAX_WRITTEN_GPUS)
        return ss_fail(err, SS_ERR_UNSUPPORTED, p->file, 0,
                       "%ld GPUs in nodes that no template tells; at most %d" SS_HINT "take fewer nodes",
                       gpus, SS_MAX_WRITTEN_GPUS);
    ss_topology_begin(out, w.p->name, (int)gpus > SS_MAX_UNCACHED_GPUS ? "DijkstraCache" : "Dijkstra",
                      "All that is no link: \"stepsim list cards\", or the path of a card's file");
    ss_topology_word(out, SS_PROP_CARD_BASE, card);
    put_assumed(nodes, n, out);
    number = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < nodes[i].repeat; k++, number++) {
            fprintf(out, "    <!-- Node %d -->\n", number);
            put_node(&w, nodes[i].facts, number);
        }
    if (nics > 0)
        fputs(
            "    <!-- One switch that never blocks joins all NICs: no file of a node tells the network -->\n"
            "    <router id=\"switch\"/>\n",
            out);
    for (int s = 0; s < SECTIONS; s++) {
        number = 0;
        fprintf(out, "    <!-- %s -->\n", comments[s]);
        for (int i = 0; i < n; i++)
            for (int k = 0; k < nodes[i].repeat; k++)
                put_routes(&w, nodes[i].facts, number++, s);
    }
    return ss_topology_end(out, err);
}
