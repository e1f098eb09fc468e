/* SPDX-License-Identifier: Apache-2.0 */
/* Routes name hosts, gateways and links that exist, and every host reaches every other. */
#include "platform/platform_internal.h"

struct edge {
    int src, dst, line;
};

/* A zone that is being checked. Its points and those of its subzones are entries self + 1 to end - 1. */
struct zone {
    const struct ss_index *ix;
    const struct ss_xml_node *node;
    int self, end;
    struct edge *edges;
    size_t nedges, cap;
    const char *file;
    struct ss_error *err;
};

static int find_point(const struct zone *z, const struct ss_xml_node *route, const char *attr, bool zones,
                      bool direct, int *out)
{
    const char *name = ss_xml_attr(route, attr);
    int at = ss_index_point(z->ix, name);
    const struct ss_entry *e = at >= 0 ? &z->ix->points[at] : NULL;

    if (e == NULL || (e->kind == SS_ENTRY_ZONE) != zones) {
        return ss_fail(z->err, SS_ERR_INPUT, z->file, route->line,
                       "%s=\"%s\" of a %s names no %s" SS_HINT
                       "every end of a route must be declared, with exactly this name",
                       attr, name, route->tag, zones ? "zone" : "host or router");
    }
    if (direct && e->zone != z->self) {
        return ss_fail(z->err, SS_ERR_INPUT, z->file, route->line,
                       "%s=\"%s\" of a %s stands in another zone" SS_HINT
                       "zones are connected by <zoneRoute> in the zone around both",
                       attr, name, route->tag);
    }
    *out = at;
    return SS_OK;
}

static int check_gateway(const struct zone *z, const struct ss_xml_node *route, const char *attr, int zone)
{
    int at, up, rc = find_point(z, route, attr, false, false, &at);

    if (rc)
        return rc;
    for (up = z->ix->points[at].zone; up >= 0 && up != zone; up = z->ix->points[up].zone)
        ;
    if (up == zone)
        return SS_OK;
    return ss_fail(z->err, SS_ERR_INPUT, z->file, route->line,
                   "gateway %s=\"%s\" is not in zone \"%s\"" SS_HINT
                   "a gateway is a host or router of the zone that it opens",
                   attr, ss_xml_attr(route, attr), z->ix->points[zone].name);
}

static int check_links(const struct zone *z, const struct ss_xml_node *route)
{
    for (const struct ss_xml_node *c = route->first_child; c != NULL; c = c->next) {
        const char *id = ss_xml_attr(c, "id"), *direction = ss_xml_attr(c, "direction");
        bool none = direction == NULL || strcmp(direction, "NONE") == 0;
        char name[300];
        bool split, found = ss_index_link(z->ix, id) >= 0;
        int code;

        snprintf(name, sizeof(name), "%.250s_UP", id);
        split = ss_index_link(z->ix, name) >= 0;
        if (none ? found : split)
            continue;
        code = ss_fail(z->err, SS_ERR_INPUT, z->file, c->line, "%s \"%s\"",
                       none && split ? "no direction for the SPLITDUPLEX link"
                       : found       ? "a direction for a link that is not SPLITDUPLEX:"
                                     : "unknown link",
                       id);
        return ss_hint(z->err, code,
                       none && split ? "add direction=\"UP\" or \"DOWN\""
                       : found       ? "remove the direction, or make the link SPLITDUPLEX"
                                     : "declare it with <link id=\"%.200s\" ...>",
                       id);
    }
    return SS_OK;
}

static int add_edge(struct zone *z, int src, int dst, int line)
{
    SS_NEED(!ss_grow(&z->edges, &z->cap, z->nedges + 1, sizeof(*z->edges)), z->err);
    z->edges[z->nedges++] = (struct edge){src, dst, line};
    return SS_OK;
}

static int check_route(struct zone *z, const struct ss_xml_node *route)
{
    bool zones = ss_tag_is(route, "zoneRoute") || ss_tag_is(route, "bypassZoneRoute");
    bool bypass = strncmp(route->tag, "bypass", 6) == 0;
    const char *symmetrical = ss_xml_attr(route, "symmetrical");
    int src, dst, rc;

    rc = find_point(z, route, "src", zones, !bypass, &src);
    SS_THEN(rc, find_point(z, route, "dst", zones, !bypass, &dst));
    if (!rc && zones)
        rc = check_gateway(z, route, "gw_src", src);
    if (!rc && zones)
        rc = check_gateway(z, route, "gw_dst", dst);
    SS_THEN(rc, check_links(z, route));
    if (rc || bypass)
        return rc;
    rc = add_edge(z, src, dst, route->line);
    if (!rc && src != dst && (symmetrical == NULL || strcasecmp(symmetrical, "yes") == 0))
        rc = add_edge(z, dst, src, route->line);
    return rc;
}

static int by_ends(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;

    if (x->src != y->src)
        return x->src < y->src ? -1 : 1;
    if (x->dst != y->dst)
        return x->dst < y->dst ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

static int check_duplicates(struct zone *z)
{
    const struct edge *again = NULL;
    int first = 0;

    if (z->nedges > 0)
        qsort(z->edges, z->nedges, sizeof(*z->edges), by_ends);
    for (size_t i = 1; i < z->nedges; i++) {
        const struct edge *x = &z->edges[i - 1], *y = &z->edges[i];

        if (x->src == y->src && x->dst == y->dst && (again == NULL || y->line < again->line)) {
            again = y;
            first = x->line;
        }
    }
    if (again == NULL)
        return SS_OK;
    return ss_fail(z->err, SS_ERR_INPUT, z->file, again->line,
                   "duplicate route between \"%s\" and \"%s\" (first in line %d)" SS_HINT
                   "routes are symmetrical unless they say symmetrical=\"NO\"",
                   z->ix->points[again->src].name, z->ix->points[again->dst].name, first);
}

static bool is_target(const struct zone *z, int point)
{
    const struct ss_entry *e = &z->ix->points[point];

    return e->zone == z->self && e->kind != SS_ENTRY_ROUTER;
}

static int no_route(const struct zone *z, int line, int a, int b)
{
    const struct ss_entry *points = z->ix->points;
    return ss_fail(z->err, SS_ERR_INPUT, z->file, line,
                   "missing route from \"%s\" to \"%s\"" SS_HINT
                   "zone \"%s\" needs a route between all of its hosts or zones",
                   points[a].name, points[b].name, points[z->self].name);
}

/* Full routing: an edge for each ordered pair. Edges are sorted. */
static int check_pairs(const struct zone *z)
{
    size_t at = 0;

    for (int a = z->self + 1; a < z->end; a++) {
        if (!is_target(z, a))
            continue;
        while (at < z->nedges && z->edges[at].src < a)
            at++;
        for (int b = z->self + 1; b < z->end; b++) {
            while (at < z->nedges && z->edges[at].src == a && z->edges[at].dst < b)
                at++;
            if (is_target(z, b) && b != a &&
                (at == z->nedges || z->edges[at].src != a || z->edges[at].dst != b))
                return no_route(z, z->node->line, a, b);
        }
    }
    return SS_OK;
}

static int root_of(int *up, int i)
{
    while (up[i] != i)
        i = up[i] = up[up[i]];
    return i;
}

/* Floyd and Dijkstra: one connected graph. */
static int check_connected(const struct zone *z)
{
    int n = z->end - z->self, first = -1, rc = SS_OK;
    int *up = ss_calloc((size_t)n, sizeof(*up));

    SS_NEED(up, z->err);
    for (int i = 0; i < n; i++)
        up[i] = i;
    for (size_t i = 0; i < z->nedges; i++)
        up[root_of(up, z->edges[i].src - z->self)] = root_of(up, z->edges[i].dst - z->self);
    for (int i = z->self + 1; i < z->end && !rc; i++) {
        if (!is_target(z, i))
            continue;
        if (first < 0)
            first = i;
        else if (root_of(up, i - z->self) != root_of(up, first - z->self))
            rc = no_route(z, z->node->line, first, i);
    }
    free(up);
    return rc;
}

/* A host or zone that no route names is the plainest mistake: say it at its own line. */
static int check_lonely(const struct zone *z)
{
    int n = z->end - z->self, rc = SS_OK;
    char *named = ss_calloc((size_t)n, 1);

    SS_NEED(named, z->err);
    for (size_t i = 0; i < z->nedges; i++)
        if (z->edges[i].src != z->edges[i].dst)
            named[z->edges[i].src - z->self] = named[z->edges[i].dst - z->self] = 1;
    for (int i = z->self + 1; i < z->end && !rc; i++) {
        const struct ss_entry *e = &z->ix->points[i];

        if (is_target(z, i) && !named[i - z->self])
            rc = ss_fail(z->err, SS_ERR_INPUT, z->file, e->node->line,
                         "%s \"%s\" has no route" SS_HINT "add a %s for it to zone \"%s\"",
                         e->kind == SS_ENTRY_HOST ? "host" : "zone", e->name,
                         e->kind == SS_ENTRY_HOST ? "<route>" : "<zoneRoute>", z->ix->points[z->self].name);
    }
    free(named);
    return rc;
}

static int check_reach(const struct zone *z)
{
    const char *routing = ss_xml_attr(z->node, "routing");
    bool zones = false, some = strcmp(routing, "Full") == 0 || strcmp(routing, "Cluster") == 0;
    int targets = 0;

    for (int i = z->self + 1; i < z->end; i++) {
        targets += is_target(z, i);
        zones = zones || (is_target(z, i) && z->ix->points[i].kind == SS_ENTRY_ZONE);
    }
    if (targets < 2)
        return SS_OK;
    if (!zones &&
        some) /* hosts need no route while nobody sends there; elsewhere SimGrid ends where there is none */
        return SS_OK;
    if (strcmp(routing, "None") == 0)
        return ss_fail(z->err, SS_ERR_INPUT, z->file, z->node->line,
                       "routing=\"None\" leaves %d hosts or zones apart" SS_HINT
                       "use Full, Floyd or Dijkstra, with routes",
                       targets);
    SS_TRY(check_lonely(z));
    return strcmp(routing, "Full") == 0 ? check_pairs(z) : check_connected(z);
}

static int check_zone(const struct ss_index *ix, const struct ss_xml_node *node, const char *file,
                      struct ss_error *err)
{
    struct zone z = {.ix = ix,
                     .node = node,
                     .self = ss_index_point(ix, ss_xml_attr(node, "id")),
                     .file = file,
                     .err = err};
    int rc = SS_OK;

    /* Points are in document order: those inside have a zone of at least self. */
    for (z.end = z.self + 1; z.end < (int)ix->npoints && ix->points[z.end].zone >= z.self; z.end++)
        ;
    for (const struct ss_xml_node *c = node->first_child; c != NULL && !rc; c = c->next) {
        if (ss_tag_is(c, "zone"))
            rc = check_zone(ix, c, file, err); /* depth bounded by the reader */
        else if (ss_tag_in(c, " route bypassRoute zoneRoute bypassZoneRoute "))
            rc = check_route(&z, c);
    }
    SS_THEN(rc, check_duplicates(&z));
    SS_THEN(rc, check_reach(&z));
    free(z.edges);
    return rc;
}

int ss_refs_check(const struct ss_index *ix, const struct ss_xml_node *root, const char *file,
                  struct ss_error *err)
{
    const struct ss_xml_node *zone = ss_zone_of(root);

    return ss_tag_is(zone, "zone") ? check_zone(ix, zone, file, err) : SS_OK;
}
