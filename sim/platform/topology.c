/* SPDX-License-Identifier: Apache-2.0 */
/* A platform as XML that SimGrid loads and ss_platform_load reads back to the same values. */
#include "platform/platform_internal.h"
#include "stepsim/text.h"

void ss_topology_begin(FILE *out, const char *name, const char *routing, const char *comment)
{
    fputs("<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n<platform "
          "version=\"4.1\">\n  <zone id=\"",
          out);
    ss_xml_escape(out, name);
    fprintf(out, "\" routing=\"%s\">\n    <!-- %s -->\n", routing, comment);
}

void ss_topology_word(FILE *out, int prop, const char *text)
{
    fprintf(out, "    <prop id=\"%s\" value=\"", ss_prop_at(prop)->id);
    ss_xml_escape(out, text);
    fputs("\"/>\n", out);
}

void ss_topology_prop(FILE *out, int prop, double value)
{
    char text[64];

    ss_topology_word(out, prop, ss_unit_format(value, ss_prop_at(prop)->unit, text, sizeof(text)));
}

/* card: what ss.card.base names, NULL: the card's props one by one. */
static void put_head(const struct ss_platform *p, const char *routing, const char *card, FILE *out)
{
    ss_topology_begin(out, p->name, routing,
                      "The card, and how kernels and links perform: docs/reference/formats-platform.md");
    ss_topology_word(out, card != NULL ? SS_PROP_CARD_BASE : SS_PROP_CARD,
                     card != NULL ? card : p->card.name);
    for (int i = 0; i < SS_PROP_CARD_COUNT && card == NULL; i++)
        if (ss_prop_at(i)->required || ss_prop_get(i, &p->card) != 0 || ss_prop_at(i)->def != 0)
            ss_topology_prop(out, i, ss_prop_get(i, &p->card));
    if (card == NULL && p->library_file[0] != 0)
        ss_topology_word(out, SS_PROP_LIBRARY, p->library_file);
    if (card == NULL && strcmp(p->fabric, "NVLink") != 0)
        ss_topology_word(out, SS_PROP_FABRIC_NAME, p->fabric);
    if (card == NULL && p->price_basis[0] != 0)
        ss_topology_word(out, SS_PROP_PRICE_BASIS, p->price_basis);
    if (card != NULL && p->card.price > 0)
        ss_topology_prop(out, SS_PROP_price, p->card.price);
    if (p->assumed != NULL && p->assumed[0] != 0)
        ss_topology_word(out, SS_PROP_ASSUMED, p->assumed);
    ss_topology_prop(out, SS_PROP_GPUS_PER_NODE, p->gpus_per_node);
}

void ss_topology_link(FILE *out, const char *name, const char *kind, const char *policy, double bandwidth,
                      double latency)
{
    char bw[64], lat[64];

    fputs("    <link id=\"", out);
    ss_xml_escape(out, name);
    fprintf(out, "\" bandwidth=\"%s\" latency=\"%s\"",
            ss_unit_format(bandwidth, SS_UNIT_BANDWIDTH, bw, sizeof(bw)),
            ss_unit_format(latency, SS_UNIT_TIME, lat, sizeof(lat)));
    if (policy != NULL)
        fprintf(out, " sharing_policy=\"%s\"", policy);
    if (kind != NULL)
        fprintf(out, "><prop id=\"ss.kind\" value=\"%s\"/></link>\n", kind);
    else
        fputs("/>\n", out);
}

void ss_topology_route(FILE *out, const char *src, const char *dst, const char *link)
{
    fprintf(out, "    <route src=\"%s\" dst=\"%s\"><link_ctn id=\"%s\" direction=\"UP\"/></route>\n", src,
            dst, link);
}

struct writer {
    FILE *out;
    int section;
};

static int put_item(void *ctx, const struct ss_item *it)
{
    static const char *const comments[] = {
        [SS_SECTION_NODE] = "Nodes: GPUs, their links, NICs; the first node is the template of all others",
        [SS_SECTION_NETWORK] = "Leaf switches by node group and rail, and the spine",
        [SS_SECTION_FABRIC_ROUTES] =
            "One-hop routes. The kernel takes, of equally short paths, the one whose elements come first:\n"
            "         a link of the fabric before a NIC keeps a flow on the sender's rail, off the spine",
        [SS_SECTION_NIC_ROUTES] = "GPU to its rail's leaf",
        [SS_SECTION_UPLINK_ROUTES] = "Leaf to spine"};
    struct writer *w = ctx;
    char text[64];

    if (it->section != w->section) {
        w->section = it->section;
        fprintf(w->out, "    <!-- %s -->\n", comments[it->section]);
    }
    if (strcmp(it->tag, "link") == 0)
        ss_topology_link(w->out, it->id, NULL, "SPLITDUPLEX", it->value, it->delay);
    else if (strcmp(it->tag, "host") == 0)
        fprintf(w->out, "    <host id=\"%s\" speed=\"%s\"/>\n", it->id,
                ss_unit_format(it->value, SS_UNIT_FLOPS, text, sizeof(text)));
    else if (strcmp(it->tag, "router") == 0)
        fprintf(w->out, "    <router id=\"%s\"/>\n", it->id);
    else
        ss_topology_route(w->out, it->id, it->dst, it->link);
    return 0;
}

/* nodes: ss.nodes, 0: none. */
static void put_template(const struct ss_platform *p, int nodes, const char *card, FILE *out)
{
    struct writer w = {out, -1};

    put_head(p, "Dijkstra", card, out);
    if (nodes > 0)
        ss_topology_prop(out, SS_PROP_NODES, nodes);
    if (p->fabric_nodes > 0 && p->joined == 0)
        ss_topology_prop(out, SS_PROP_FABRIC_NODES, p->fabric_nodes);
    ss_topology_prop(out, SS_PROP_NICS_PER_NODE, p->nics_per_node);
    if (p->nics_per_node > 0) {
        ss_topology_prop(out, SS_PROP_NODES_PER_LEAF, p->nodes_per_leaf);
        ss_topology_prop(out, SS_PROP_OVERSUBSCRIPTION, p->oversubscription);
    }
    ss_topology_word(out, SS_PROP_TEMPLATE, p->template_kind == SS_TEMPLATE_MESH ? "mesh" : "nvswitch");
    ss_template_walk(p, put_item, &w);
}

static void put_foreign_route(const struct ss_foreign *f, int src, int dst, FILE *out)
{
    const struct ss_foreign_route *r = &f->routes[src * f->ngpus + dst];

    fputs("    <route src=\"", out);
    ss_xml_escape(out, f->gpus[src]);
    fputs("\" dst=\"", out);
    ss_xml_escape(out, f->gpus[dst]);
    fputs("\" symmetrical=\"NO\">", out);
    for (int i = 0; i < r->nlinks; i++) {
        fputs("<link_ctn id=\"", out);
        ss_xml_escape(out, f->links[f->pool[r->first + i]].name);
        fputs("\"/>", out);
    }
    fputs("</route>\n", out);
}

/* Flat: the GPUs, the links that their routes cross, and every route. */
static void put_foreign(const struct ss_platform *p, FILE *out)
{
    static const char *const kinds[] = {"nvlink", "nic", "uplink", "other"};
    const struct ss_foreign *f = p->foreign;
    char speed[64];

    put_head(p, "Full", NULL, out);
    ss_topology_prop(out, SS_PROP_NICS_PER_NODE, p->nics_per_node);
    ss_unit_format(ss_template_speed(p), SS_UNIT_FLOPS, speed, sizeof(speed));
    for (int i = 0; i < f->ngpus; i++) {
        fputs("    <host id=\"", out);
        ss_xml_escape(out, f->gpus[i]);
        fprintf(out, "\" speed=\"%s\"/>\n", speed);
    }
    for (int i = 0; i < f->nlinks; i++)
        ss_topology_link(out, f->links[i].name, kinds[f->links[i].kind], NULL, f->links[i].bandwidth,
                         f->links[i].latency);
    for (int s = 0; s < f->ngpus; s++)
        for (int d = 0; d < f->ngpus; d++)
            if (s != d && f->routes[s * f->ngpus + d].nlinks > 0)
                put_foreign_route(f, s, d, out);
}

int ss_topology_end(FILE *out, struct ss_error *err)
{
    fputs("  </zone>\n</platform>\n", out);
    return ss_text_written(out, "the platform", err);
}

int ss_template_write(const struct ss_platform *p, int nodes, const char *card, FILE *out,
                      struct ss_error *err)
{
    put_template(p, nodes, card, out);
    return ss_topology_end(out, err);
}

int ss_platform_write(const struct ss_platform *p, FILE *out, struct ss_error *err)
{
    if (p->foreign != NULL)
        put_foreign(p, out);
    else
        put_template(p, 0, NULL, out);
    return ss_topology_end(out, err);
}
