/* SPDX-License-Identifier: Apache-2.0 */
/* Structure of a SimGrid platform, DTD 4.1: which tag may stand where, with which attributes. SimGrid itself
 * aborts on most mistakes, and often without a line. */
#include "platform/platform_internal.h"

enum type { TEXT, NAME, BANDWIDTH, TIME, SPEED, COUNT, POLICY, SHAPE, YESNO, DIRECTION, ROUTING, FORBIDDEN };
struct attr {
    const char *name;
    int type;
    bool required;
};

/* Phases of a zone's content, which must come in this order. */
enum phase { PHASE_PROP, PHASE_ELEMENT, PHASE_ROUTE };
struct tag {
    const char *name;
    const char *parents; /* space around each */
    int phase;
    struct attr attrs[18];
};

#define TAG(name, parents, phase, ...) SS_VALUES(name, parents, phase, SS_VALUES(__VA_ARGS__))
#define MUST(name, type) SS_VALUES(name, type, true)
#define MAY(name, type) SS_VALUES(name, type, false)
static const struct tag tags[] = {
    TAG("platform", "", 0, MUST("version", TEXT)),
    TAG("config", " platform ", PHASE_PROP, MAY("id", TEXT)),
    TAG("zone", " platform zone ", PHASE_ELEMENT, MUST("id", NAME), MUST("routing", ROUTING)),
    TAG("prop", " zone host cluster link disk config ", PHASE_PROP, MUST("id", NAME), MUST("value", TEXT)),
    TAG("host", " zone ", PHASE_ELEMENT, MUST("id", NAME), MUST("speed", SPEED), MAY("core", COUNT),
        MAY("coordinates", TEXT), MAY("pstate", TEXT), MAY("speed_file", FORBIDDEN),
        MAY("availability_file", FORBIDDEN), MAY("state_file", FORBIDDEN)),
    TAG("disk", " host ", PHASE_PROP, MAY("id", TEXT), MUST("read_bw", BANDWIDTH),
        MUST("write_bw", BANDWIDTH)),
    TAG("router", " zone ", PHASE_ELEMENT, MUST("id", NAME), MAY("coordinates", TEXT)),
    TAG("link", " zone ", PHASE_ELEMENT, MUST("id", NAME), MUST("bandwidth", BANDWIDTH), MAY("latency", TIME),
        MAY("sharing_policy", POLICY), MAY("bandwidth_file", FORBIDDEN), MAY("latency_file", FORBIDDEN),
        MAY("state_file", FORBIDDEN)),
    TAG("cluster", " platform zone ", PHASE_ELEMENT, MUST("id", NAME), MUST("prefix", TEXT),
        MUST("suffix", TEXT), MUST("radical", NAME), MUST("speed", SPEED), MAY("core", COUNT),
        MUST("bw", BANDWIDTH), MUST("lat", TIME), MAY("sharing_policy", POLICY), MAY("topology", SHAPE),
        MAY("topo_parameters", TEXT), MAY("bb_bw", BANDWIDTH), MAY("bb_lat", TIME),
        MAY("bb_sharing_policy", POLICY), MAY("router_id", TEXT), MAY("limiter_link", BANDWIDTH),
        MAY("loopback_bw", BANDWIDTH), MAY("loopback_lat", TIME)),
    TAG("cabinet", " zone ", PHASE_ELEMENT, MUST("id", NAME), MUST("prefix", TEXT), MUST("suffix", TEXT),
        MUST("radical", NAME), MUST("speed", SPEED), MUST("bw", BANDWIDTH), MUST("lat", TIME)),
    TAG("backbone", " zone ", PHASE_ELEMENT, MUST("id", NAME), MUST("bandwidth", BANDWIDTH),
        MUST("latency", TIME)),
    TAG("host_link", " zone ", PHASE_ELEMENT, MUST("id", NAME), MUST("up", NAME), MUST("down", NAME)),
    TAG("route", " zone ", PHASE_ROUTE, MUST("src", NAME), MUST("dst", NAME), MAY("symmetrical", YESNO)),
    TAG("bypassRoute", " zone ", PHASE_ROUTE, MUST("src", NAME), MUST("dst", NAME)),
    TAG("zoneRoute", " zone ", PHASE_ROUTE, MUST("src", NAME), MUST("dst", NAME), MUST("gw_src", NAME),
        MUST("gw_dst", NAME), MAY("symmetrical", YESNO)),
    TAG("bypassZoneRoute", " zone ", PHASE_ROUTE, MUST("src", NAME), MUST("dst", NAME), MUST("gw_src", NAME),
        MUST("gw_dst", NAME)),
    TAG("link_ctn", " route bypassRoute zoneRoute bypassZoneRoute ", PHASE_PROP, MUST("id", NAME),
        MAY("direction", DIRECTION)),
};

/* Tags of SimGrid that change over time, are deprecated, or have no meaning here. */
static const char *const refused[] = {"actor",   "argument",     "include", "model_prop",
                                      "mount",   "peer",         "process", "random",
                                      "storage", "storage_type", "trace",   "trace_connect"};

/* Names of older days, which SimGrid still takes. */
static const char *const older[][2] = {
    {"AS", "zone"}, {"ASroute", "zoneRoute"}, {"bypassASroute", "bypassZoneRoute"}};

static const char *const policies[] = {"SHARED", "SPLITDUPLEX", "FATPIPE", NULL};
static const char *const topologies[] = {"FLAT", "TORUS", "FAT_TREE", "DRAGONFLY", NULL};
static const char *const yesno[] = {"YES", "NO", "yes", "no", NULL};
static const char *const directions[] = {"UP", "DOWN", "NONE", NULL};
static const char *const routings[] = {"Full", "Floyd", "Dijkstra", "DijkstraCache", "Cluster", "None", NULL};

/* Today's name. */
static const char *tag_of(const struct ss_xml_node *node)
{
    for (size_t i = 0; i < SS_ARRAY_LEN(older); i++)
        if (older[i][0][0] == node->tag[0] && strcmp(older[i][0], node->tag) == 0)
            return older[i][1];
    return node->tag;
}

bool ss_tag_is(const struct ss_xml_node *node, const char *tag)
{
    return strcmp(tag_of(node), tag) == 0;
}

const struct ss_xml_node *ss_zone_of(const struct ss_xml_node *root)
{
    const struct ss_xml_node *c = root->first_child;

    while (c != NULL && ss_tag_is(c, "config"))
        c = c->next;
    return c;
}

bool ss_tag_in(const struct ss_xml_node *node, const char *tags_spaced)
{
    const char *tag = tag_of(node);
    size_t n = strnlen(tag, 30);
    char word[40] = " ";

    memcpy(word + 1, tag, n);
    word[n + 1] = ' ';
    return strstr(tags_spaced, word) != NULL;
}

static const struct tag *find_tag(const char *name)
{
    for (size_t i = 0; i < SS_ARRAY_LEN(tags); i++)
        if (strcmp(tags[i].name, name) == 0)
            return &tags[i];
    return NULL;
}

static int unknown_tag(const struct ss_xml_node *node, const char *file, struct ss_error *err)
{
    const char *names[SS_ARRAY_LEN(tags)];
    const char *near;
    int code;

    for (size_t i = 0; i < SS_ARRAY_LEN(refused); i++)
        if (strcmp(refused[i], node->tag) == 0)
            return ss_fail(err, SS_ERR_UNSUPPORTED, file, node->line,
                           "<%s> is SimGrid's, but not supported here" SS_HINT
                           "describe the platform with zone, host, router, link, route and cluster",
                           node->tag);
    for (size_t i = 0; i < SS_ARRAY_LEN(tags); i++)
        names[i] = tags[i].name;
    near = ss_nearest(node->tag, names, SS_ARRAY_LEN(tags));
    code = ss_fail(err, SS_ERR_INPUT, file, node->line, "unknown tag <%s>", node->tag);
    return near != NULL
               ? ss_hint(err, code, "did you mean <%s>?", near)
               : ss_hint(err, code, "see docs/reference/formats-platform.md for the tags of a platform");
}

static int one_of(const struct ss_xml_node *node, const struct ss_xml_attr *a, const char *const *words,
                  const char *file, struct ss_error *err)
{
    char list[160] = "";

    for (size_t i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], a->value) == 0)
            return SS_OK;
        strncat(list, i > 0 ? ", " : "", sizeof(list) - strlen(list) - 1);
        strncat(list, words[i], sizeof(list) - strlen(list) - 1);
    }
    return ss_fail(err, SS_ERR_INPUT, file, node->line, "%s=\"%s\" in <%s>" SS_HINT "use one of %s", a->name,
                   a->value, node->tag, list);
}

static int check_quantity(const struct ss_xml_node *node, const struct ss_xml_attr *a, int type,
                          const char *file, struct ss_error *err)
{
    double value;
    const char *why = "";
    int quantity = type == BANDWIDTH ? SS_QUANTITY_BANDWIDTH
                   : type == TIME    ? SS_QUANTITY_TIME
                                     : SS_QUANTITY_SPEED;
    const char *id = ss_xml_attr(node, "id");

    if (ss_quantity_parse(a->value, quantity, &value, &why) != SS_OK)
        return ss_fail(err, SS_ERR_INPUT, file, node->line,
                       "%s=\"%s\" of <%s id=\"%s\"> %s" SS_HINT
                       "SimGrid's units: 50GBps or 400Gbps, 2us, 100Gf",
                       a->name, a->value, node->tag, id != NULL ? id : "", why);
    if (value < 0 || (value == 0 && type != TIME))
        return ss_fail(
            err, SS_ERR_INPUT, file, node->line,
            "%s=\"%s\" of <%s id=\"%s\"> must %s" SS_HINT "give a value that the hardware can have", a->name,
            a->value, node->tag, id != NULL ? id : "", type == TIME ? "not be negative" : "be positive");
    return SS_OK;
}

static int check_value(const struct ss_xml_node *node, const struct ss_xml_attr *a, int type,
                       const char *file, struct ss_error *err)
{
    int64_t count;

    switch (type) {
    case NAME:
        return a->value[0] != 0 ? SS_OK
                                : ss_fail(err, SS_ERR_INPUT, file, node->line,
                                          "empty %s in <%s>" SS_HINT "give it a name", a->name, node->tag);
    case BANDWIDTH:
    case TIME:
    case SPEED: return check_quantity(node, a, type, file, err);
    case COUNT:
        return ss_parse_i64(a->value, 1, INT32_MAX, &count) == SS_OK
                   ? SS_OK
                   : ss_fail(err, SS_ERR_INPUT, file, node->line,
                             "%s=\"%s\" in <%s> is not a whole number above 0" SS_HINT
                             "write a number like 1",
                             a->name, a->value, node->tag);
    case POLICY: return one_of(node, a, policies, file, err);
    case SHAPE: return one_of(node, a, topologies, file, err);
    case YESNO: return one_of(node, a, yesno, file, err);
    case DIRECTION: return one_of(node, a, directions, file, err);
    case ROUTING:
        if (strcmp(a->value, "Vivaldi") == 0 || strcasecmp(a->value, "Wifi") == 0)
            return ss_fail(err, SS_ERR_UNSUPPORTED, file, node->line,
                           "routing=\"%s\"" SS_HINT "use Full, Floyd, Dijkstra, or a <cluster>", a->value);
        return one_of(node, a, routings, file, err);
    case FORBIDDEN:
        return a->value[0] == 0 ? SS_OK
                                : ss_fail(err, SS_ERR_UNSUPPORTED, file, node->line,
                                          "%s in <%s>: resources that change over time" SS_HINT
                                          "give the value that holds during training",
                                          a->name, node->tag);
    default: return SS_OK;
    }
}

static int check_attrs(const struct ss_xml_node *node, const struct tag *tag, const char *file,
                       struct ss_error *err)
{
    for (int i = 0; i < node->nattrs; i++) {
        const char *names[SS_ARRAY_LEN(tag->attrs)];
        const struct attr *found = NULL;
        size_t n = 0;
        int rc;

        for (; n < SS_ARRAY_LEN(tag->attrs) && tag->attrs[n].name != NULL; n++) {
            names[n] = tag->attrs[n].name;
            if (strcmp(names[n], node->attrs[i].name) == 0)
                found = &tag->attrs[n];
        }
        if (found == NULL) {
            const char *near = ss_nearest(node->attrs[i].name, names, n);

            rc = ss_fail(err, SS_ERR_INPUT, file, node->line, "unknown attribute \"%s\" in <%s>",
                         node->attrs[i].name, node->tag);
            return near != NULL ? ss_hint(err, rc, "did you mean \"%s\"?", near)
                                : ss_hint(err, rc, "remove it");
        }
        /* SimGrid's DTD has "" for an absent one of these. */
        if (node->attrs[i].value[0] == 0 && !found->required &&
            (found->type == BANDWIDTH || found->type == TIME))
            continue;
        SS_TRY(check_value(node, &node->attrs[i], found->type, file, err));
    }
    for (size_t n = 0; n < SS_ARRAY_LEN(tag->attrs) && tag->attrs[n].name != NULL; n++)
        if (tag->attrs[n].required && ss_xml_attr(node, tag->attrs[n].name) == NULL) {
            const char *id = ss_xml_attr(node, "id");

            return ss_fail(err, SS_ERR_INPUT, file, node->line,
                           "<%s%s%s%s> has no attribute \"%s\"" SS_HINT "add %s=\"...\"", node->tag,
                           id != NULL ? " id=\"" : "", id != NULL ? id : "", id != NULL ? "\"" : "",
                           tag->attrs[n].name, tag->attrs[n].name);
        }
    return SS_OK;
}

/* Order of a zone's content, and no zones beside hosts. */
struct content {
    int phase;
    const struct ss_xml_node *zone, *leaf; /* first subzone or cluster, first host or router */
};

static int check_place(const struct ss_xml_node *node, const struct tag *tag, struct content *c,
                       const char *file, struct ss_error *err)
{
    static const char *const phases[] = {"props", "hosts, routers, links and zones", "routes"};
    bool inner = ss_tag_is(node, "zone") || ss_tag_is(node, "cluster");
    bool leaf = ss_tag_in(node, " host router cabinet ");

    if (!ss_tag_in(node->parent, tag->parents))
        return ss_fail(err, SS_ERR_INPUT, file, node->line,
                       "<%s> cannot stand in <%s>" SS_HINT "it may stand in:%s", node->tag, node->parent->tag,
                       tag->parents);
    if (!ss_tag_is(node->parent, "zone"))
        return SS_OK;
    if (tag->phase < c->phase)
        return ss_fail(err, SS_ERR_INPUT, file, node->line,
                       "<%s> comes too late in its zone" SS_HINT "SimGrid wants %s before %s", node->tag,
                       phases[tag->phase], phases[c->phase]);
    c->phase = tag->phase;
    if (inner && c->zone == NULL)
        c->zone = node;
    if (leaf && c->leaf == NULL)
        c->leaf = node;
    if (c->zone != NULL && c->leaf != NULL && (inner || leaf))
        return ss_fail(err, SS_ERR_INPUT, file, node->line,
                       "<%s> in a zone that also holds <%s> (line %d)" SS_HINT
                       "put the hosts into a zone of their own",
                       node->tag, inner ? c->leaf->tag : c->zone->tag, inner ? c->leaf->line : c->zone->line);
    return SS_OK;
}

static int check_children(const struct ss_xml_node *node, const char *file, struct ss_error *err)
{
    struct content content = {PHASE_PROP, NULL, NULL};

    for (const struct ss_xml_node *c = node->first_child; c != NULL; c = c->next) {
        const struct tag *tag = find_tag(tag_of(c));
        int rc;

        if (tag == NULL)
            return unknown_tag(c, file, err);
        rc = check_place(c, tag, &content, file, err);
        SS_THEN(rc, check_attrs(c, tag, file, err));
        if (!rc && c->first_child == NULL && tag->phase == PHASE_ROUTE)
            rc = ss_fail(err, SS_ERR_INPUT, file, c->line,
                         "a <%s> without links" SS_HINT "add <link_ctn id=\"...\"/>", c->tag);
        if (!rc && c->first_child != NULL)
            rc = check_children(c, file, err); /* depth bounded by the reader */
        if (rc)
            return rc;
    }
    return SS_OK;
}

static int check_root(const struct ss_xml_node *root, const char *file, struct ss_error *err)
{
    const char *version = ss_xml_attr(root, "version");

    if (version == NULL || (strcmp(version, "4.1") != 0 && strcmp(version, "4") != 0))
        return ss_fail(err, SS_ERR_INPUT, file, root->line,
                       "platform version \"%s\" is not 4.1" SS_HINT
                       "SimGrid's tool simgrid_update_xml updates older files",
                       version != NULL ? version : "");
    return check_attrs(root, &tags[0], file, err);
}

int ss_schema_check_variant(const struct ss_xml_node *root, const char *file, struct ss_error *err)
{
    int rc = check_root(root, file, err);

    return rc ? rc : check_attrs(ss_zone_of(root), find_tag("zone"), file, err);
}

int ss_schema_check(const struct ss_xml_node *root, int is_known, const char *file, struct ss_error *err)
{
    const struct ss_xml_node *zone = ss_zone_of(root);

    if (!ss_tag_is(root, "platform"))
        return ss_fail(
            err, SS_ERR_INPUT, file, root->line, "the root is <%s>, not <platform>" SS_HINT "%s", root->tag,
            ss_tag_is(root, "topology") ? "this looks like lstopo output: 'stepsim platform import' reads it"
            : ss_tag_is(root, "card")   ? "a card is named by the prop ss.card.base of a platform"
                                        : "give a SimGrid platform file");
    int rc = check_root(root, file, err);
    if (rc || is_known)
        return rc;
    SS_TRY(check_children(root, file, err));
    if (zone == NULL)
        return ss_fail(err, SS_ERR_INPUT, file, root->line,
                       "a platform without a zone" SS_HINT
                       "add <zone id=\"...\" routing=\"...\"> with hosts, links and routes");
    if (zone->next != NULL)
        return ss_fail(err, SS_ERR_INPUT, file, zone->next->line,
                       "a second outermost zone" SS_HINT
                       "put both into one zone, with a zoneRoute between them");
    return SS_OK;
}
