/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a template from its XML and checks that the body is what the template says. */
#include "platform/platform_internal.h"

#define WAY_OUT                                                                                              \
    "write it with 'stepsim platform show NAME --xml', or remove the prop ss.template to have "              \
    "it read as any SimGrid platform"

static const struct ss_xml_node *skip_props(const struct ss_xml_node *node)
{
    while (node != NULL && ss_tag_is(node, "prop"))
        node = node->next;
    return node;
}

static int wrong_item(const struct ss_platform *p, const struct ss_xml_node *node, const struct ss_item *want,
                      struct ss_error *err)
{
    const char *id = ss_xml_attr(node, "id"), *src = ss_xml_attr(node, "src"),
               *dst = ss_xml_attr(node, "dst");
    char expected[160], found[160];

    if (strcmp(want->tag, "route") == 0)
        snprintf(expected, sizeof(expected), "<route src=\"%s\" dst=\"%s\">", want->id, want->dst);
    else
        snprintf(expected, sizeof(expected), "<%s id=\"%s\">", want->tag, want->id);
    if (ss_tag_is(node, "route"))
        snprintf(found, sizeof(found), "<route src=\"%.50s\" dst=\"%.50s\">", src != NULL ? src : "",
                 dst != NULL ? dst : "");
    else
        snprintf(found, sizeof(found), "<%.20s id=\"%.50s\">", node->tag, id != NULL ? id : "");
    return ss_fail(err, SS_ERR_INPUT, p->file, node->line,
                   "the template has %s here, the file %s" SS_HINT WAY_OUT, expected, found);
}

struct checker {
    const struct ss_platform *p;
    const struct ss_xml_node *zone, *at; /* next element */
    struct ss_error *err;
};

static int check_value(const struct checker *c, const struct ss_item *want, const char *attr, int kind,
                       double expected)
{
    char text[64];
    static const int units[] = {SS_UNIT_BANDWIDTH, SS_UNIT_TIME, SS_UNIT_FLOPS};
    int code;

    if (fabs(ss_quantity_of(c->at, attr, kind) - expected) <= 1e-9 * fabs(expected))
        return SS_OK;
    code = ss_fail(c->err, SS_ERR_INPUT, c->p->file, c->at->line, "%s of \"%s\" is %s, the template's is %s",
                   attr, want->id, ss_xml_attr(c->at, attr) != NULL ? ss_xml_attr(c->at, attr) : "0",
                   ss_unit_format(expected, units[kind], text, sizeof(text)));
    if (strncmp(want->id, "uplink-", 7) == 0 && kind == SS_QUANTITY_BANDWIDTH)
        return ss_hint(c->err, code, "an uplink has ss.nodes_per_leaf x NIC / ss.oversubscription");
    if (kind == SS_QUANTITY_SPEED)
        return ss_hint(c->err, code, "a host's speed is ss.peak.bf16, or ss.peak.fp16 without bf16");
    return ss_hint(c->err, code, "all nodes of a template are equal; " WAY_OUT);
}

static int check_route(const struct checker *c, const struct ss_item *want)
{
    const struct ss_xml_node *ctn = c->at->first_child;
    const char *direction = ctn != NULL ? ss_xml_attr(ctn, "direction") : NULL;
    const char *symmetrical = ss_xml_attr(c->at, "symmetrical");

    if (ctn != NULL && ctn->next == NULL && strcmp(ss_xml_attr(ctn, "id"), want->link) == 0 &&
        direction != NULL && strcmp(direction, "UP") == 0 &&
        (symmetrical == NULL || strcasecmp(symmetrical, "yes") == 0))
        return SS_OK;
    return ss_fail(
        c->err, SS_ERR_INPUT, c->p->file, c->at->line,
        "the template's route from \"%s\" to \"%s\" is symmetrical and goes by the one link \"%s\" UP" SS_HINT
            WAY_OUT,
        want->id, want->dst, want->link);
}

static int check_link(const struct checker *c, const struct ss_item *want)
{
    const char *policy = ss_xml_attr(c->at, "sharing_policy");

    if (policy == NULL || strcmp(policy, "SPLITDUPLEX") != 0)
        return ss_fail(c->err, SS_ERR_INPUT, c->p->file, c->at->line,
                       "link \"%s\" of a template needs sharing_policy=\"SPLITDUPLEX\"" SS_HINT
                       "full speed in both directions at once",
                       want->id);
    int rc = check_value(c, want, "bandwidth", SS_QUANTITY_BANDWIDTH, want->value);
    return rc ? rc : check_value(c, want, "latency", SS_QUANTITY_TIME, want->delay);
}

static int check_item(void *ctx, const struct ss_item *want)
{
    struct checker *c = ctx;
    bool route = strcmp(want->tag, "route") == 0;
    const char *id, *dst;
    int rc = SS_OK;

    if (c->at == NULL) {
        return ss_fail(c->err, SS_ERR_INPUT, c->p->file, c->zone->line,
                       "missing <%s %s=\"%s\"%s%s%s>" SS_HINT WAY_OUT, want->tag, route ? "src" : "id",
                       want->id, route ? " dst=\"" : "", route ? want->dst : "", route ? "\"" : "");
    }
    id = ss_xml_attr(c->at, route ? "src" : "id");
    dst = route ? ss_xml_attr(c->at, "dst") : want->dst;
    if (!ss_tag_is(c->at, want->tag) || id == NULL || strcmp(id, want->id) != 0 || dst == NULL ||
        strcmp(dst, want->dst) != 0)
        return wrong_item(c->p, c->at, want, c->err);
    if (route)
        rc = check_route(c, want);
    else if (strcmp(want->tag, "host") == 0)
        rc = check_value(c, want, "speed", SS_QUANTITY_SPEED, want->value);
    else if (strcmp(want->tag, "link") == 0)
        rc = check_link(c, want);
    c->at = c->at->next;
    return rc;
}

/* ss. props belong in the zone of a template: on one element they would make nodes unequal. */
static int no_inner_props(const struct ss_xml_node *zone, const char *file, struct ss_error *err)
{
    for (const struct ss_xml_node *e = zone->first_child; e != NULL; e = e->next)
        for (const struct ss_xml_node *c = e->first_child; c != NULL; c = c->next) {
            const char *id = ss_tag_is(c, "prop") ? ss_xml_attr(c, "id") : NULL;

            if (id == NULL || strncmp(id, "ss.", 3) != 0)
                continue;
            if (ss_prop_find(id, SS_OF_PLATFORM) < 0)
                return ss_prop_unknown(id, file, c->line, err);
            return ss_fail(err, SS_ERR_INPUT, file, c->line,
                           "prop \"%s\" in <%s>: a template has them in its zone" SS_HINT
                           "move it into the zone",
                           id, e->tag);
        }
    return SS_OK;
}

static int need(const struct ss_props *props, int prop, const char *file, int line, int *out,
                struct ss_error *err)
{
    if (props->value[prop].text == NULL)
        return ss_fail(err, SS_ERR_INPUT, file, line, "missing prop \"%s\"" SS_HINT "a template needs it",
                       ss_prop_at(prop)->id);
    *out = (int)props->value[prop].number;
    return SS_OK;
}

/* The first element whose id is that of `kind`'s first link gives the values of all of them. */
static bool first_link(struct ss_platform *p, const struct ss_xml_node *zone, int kind, const char *id)
{
    for (const struct ss_xml_node *e = zone->first_child; e != NULL; e = e->next)
        if (ss_tag_is(e, "link") && strcmp(ss_xml_attr(e, "id"), id) == 0) {
            p->bandwidth[kind] = ss_quantity_of(e, "bandwidth", SS_QUANTITY_BANDWIDTH);
            p->latency[kind] = ss_quantity_of(e, "latency", SS_QUANTITY_TIME);
            return true;
        }
    return false;
}

/* Links may be called by either word, whatever the fabric's name: a card may be changed in a file that has its links. */
static void first_fabric_link(struct ss_platform *p, const struct ss_xml_node *zone)
{
    static const char *const words[] = {"nvlink", "fabric"};
    const char *end = p->template_kind == SS_TEMPLATE_MESH ? "-0-0-1" : "-0-0";

    for (size_t i = 0; i < SS_ARRAY_LEN(words); i++) {
        char id[32];

        snprintf(id, sizeof id, "%s%s", words[i], end);
        if (first_link(p, zone, SS_LINK_FABRIC, id))
            p->fabric_word = words[i];
    }
}

int ss_template_check_size(const struct ss_platform *p, int line, struct ss_error *err)
{
    if (p->template_kind == SS_TEMPLATE_MESH && (p->gpus_per_node < 2 || p->gpus_per_node > SS_MAX_MESH_GPUS))
        return ss_fail(err, SS_ERR_INPUT, p->file, line,
                       "a mesh has 2 to %d GPUs a node, not %d" SS_HINT "use the template nvswitch",
                       SS_MAX_MESH_GPUS, p->gpus_per_node);
    if (p->nics_per_node > 0 && p->gpus_per_node % p->nics_per_node != 0)
        return ss_fail(err, SS_ERR_INPUT, p->file, line,
                       "%d GPUs cannot share %d NICs equally" SS_HINT
                       "ss.nics_per_node must divide ss.gpus_per_node",
                       p->gpus_per_node, p->nics_per_node);
    if (p->nodes > 1 && p->nics_per_node == 0)
        return ss_fail(err, SS_ERR_INPUT, p->file, line,
                       "%d nodes without a NIC cannot reach each other" SS_HINT
                       "set ss.nics_per_node, or use one node",
                       p->nodes);
    if ((int64_t)p->nodes * p->gpus_per_node > SS_MAX_GPUS)
        return ss_fail(err, SS_ERR_INPUT, p->file, line,
                       "%d nodes of %d GPUs are more than %d GPUs" SS_HINT "take fewer nodes", p->nodes,
                       p->gpus_per_node, SS_MAX_GPUS);
    return SS_OK;
}

static int read_shape(struct ss_platform *p, const struct ss_xml_node *zone, const struct ss_props *props,
                      struct ss_error *err)
{
    int rc = need(props, SS_PROP_GPUS_PER_NODE, p->file, zone->line, &p->gpus_per_node, err);
    long hosts = 0;

    if (rc)
        return rc;
    p->template_kind =
        strcmp(props->value[SS_PROP_TEMPLATE].text, "mesh") == 0 ? SS_TEMPLATE_MESH : SS_TEMPLATE_NVSWITCH;
    p->nics_per_node = (int)ss_props_number(props, SS_PROP_NICS_PER_NODE, p->gpus_per_node);
    p->fabric_nodes = (int)ss_props_number(props, SS_PROP_FABRIC_NODES, p->fabric_nodes);
    p->nodes_per_leaf = 1;
    if (p->nics_per_node > 0)
        rc = need(props, SS_PROP_NODES_PER_LEAF, p->file, zone->line, &p->nodes_per_leaf, err);
    if (rc)
        return rc;
    p->oversubscription = ss_props_number(props, SS_PROP_OVERSUBSCRIPTION, 1);
    for (const struct ss_xml_node *e = zone->first_child; e != NULL; e = e->next)
        hosts += ss_tag_is(e, "host");
    if (hosts == 0 || hosts % p->gpus_per_node != 0)
        return ss_fail(err, SS_ERR_INPUT, p->file, zone->line,
                       "%ld hosts are no whole nodes of %d GPUs" SS_HINT WAY_OUT, hosts, p->gpus_per_node);
    p->nodes = (int)(hosts / p->gpus_per_node);
    return ss_template_check_size(p, zone->line, err);
}

int ss_template_read(struct ss_platform *p, const struct ss_xml_node *zone, const struct ss_props *props,
                     int nodes, struct ss_error *err)
{
    struct checker c = {p, zone, skip_props(zone->first_child), err};
    const char *routing = ss_xml_attr(zone, "routing");

    if (!ss_tag_is(zone, "zone") || strcasecmp(routing, "Dijkstra") != 0)
        return ss_fail(err, SS_ERR_INPUT, p->file, zone->line,
                       "a template is one <zone> with routing=\"Dijkstra\"" SS_HINT WAY_OUT);
    int rc = no_inner_props(zone, p->file, err);
    SS_THEN(rc, ss_props_card(props, p->file, zone->line, &p->card, err));
    SS_THEN(rc, ss_props_fabric(props, p, err));
    SS_THEN(rc, ss_props_assumed(props, p->fabric_word, &p->assumed, err));
    SS_THEN(rc, ss_props_library(props, p, err));
    SS_THEN(rc, ss_props_basis(props, p, err));
    SS_THEN(rc, read_shape(p, zone, props, err));
    if (rc)
        return rc;
    first_fabric_link(p, zone);
    first_link(p, zone, SS_LINK_NIC, "nic-0-0");
    first_link(p, zone, SS_LINK_UPLINK, "uplink-0-0");
    ss_template_derive(p);
    rc = ss_template_walk(p, check_item, &c);
    if (!rc && c.at != NULL)
        rc = ss_fail(err, SS_ERR_INPUT, p->file, c.at->line,
                     "<%s>: the template ends before this element" SS_HINT WAY_OUT, c.at->tag);
    if (nodes == 0)
        nodes = (int)ss_props_number(props, SS_PROP_NODES, 0);
    if (rc || nodes == 0)
        return rc;
    p->nodes = nodes;
    return ss_template_check_size(p, 0, err);
}
