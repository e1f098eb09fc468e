/* SPDX-License-Identifier: Apache-2.0 */
/* Names of a platform file: hosts, routers, zones and links, including those that a <cluster> makes. */
#include "platform/platform_internal.h"

#define MAX_NUMBERS 64

struct numbers {
    int n, part[MAX_NUMBERS]; /* part: how many numbers each part between ';' has */
    long value[MAX_NUMBERS];
};

static bool read_numbers(const char *text, struct numbers *out)
{
    int part = 0;

    out->n = 0;
    while (out->n < MAX_NUMBERS) {
        char *end;
        long value = *text >= '0' && *text <= '9' ? strtol(text, &end, 10) : 0;

        if (value < 1 || value > SS_MAX_HOSTS)
            return false;
        out->part[out->n] = part;
        out->value[out->n++] = value;
        if (*end == 0)
            return true;
        if (*end != ',' && *end != ';')
            return false;
        part += *end == ';';
        text = end + 1;
    }
    return false;
}

/* Hosts that the parameters make, 0: they have not the form that they should. */
static long hosts_of(const char *topology, const struct numbers *p, const char **form)
{
    const long *v = p->value;
    long hosts = 1;

    if (strcmp(topology, "TORUS") == 0) {
        *form = "the size of each dimension, like \"4,4,2\"";
        for (int i = 0; i < p->n && hosts <= SS_MAX_HOSTS; i++)
            hosts = p->part[i] == 0 ? hosts * v[i] : 0;
        return hosts;
    }
    if (strcmp(topology, "FAT_TREE") == 0) {
        int levels = (int)v[0];

        *form = "levels; children of a switch, parents, links to each of them, a number a level: "
                "\"2;4,4;1,2;1,2\"";
        if (levels > 16 || p->n != 1 + 3 * levels)
            return 0;
        for (int i = 1; i < p->n; i++)
            if (p->part[i] != 1 + (i - 1) / levels)
                return 0;
        for (int i = 0; i < levels && hosts <= SS_MAX_HOSTS; i++)
            hosts *= v[1 + i];
        return hosts;
    }
    *form = "groups,links; chassis,links; blades,links; nodes, like \"3,1;2,1;4,1;2\", with no more groups "
            "than blades";
    if (p->n != 7 || p->part[1] != 0 || p->part[3] != 1 || p->part[5] != 2 || p->part[6] != 3 || v[0] > v[4])
        return 0;
    for (int i = 0; i < 7 && hosts <= SS_MAX_HOSTS; i += 2)
        hosts *= v[i];
    return hosts;
}

/* ---- <cluster> of TORUS, FAT_TREE or DRAGONFLY: SimGrid makes its links and routes, and breaks down on numbers that do not fit ---- */
static bool cluster_is_flat(const struct ss_xml_node *node)
{
    const char *topology = ss_xml_attr(node, "topology");

    return topology == NULL || strcmp(topology, "FLAT") == 0;
}

/* Checks that the parameters of a cluster that is not flat make `hosts` hosts. */
static int cluster_check(const struct ss_xml_node *node, long hosts, const char *file, struct ss_error *err)
{
    const char *topology = ss_xml_attr(node, "topology"), *text = ss_xml_attr(node, "topo_parameters");
    const char *policy = ss_xml_attr(node, "sharing_policy"), *form = "";
    struct numbers numbers = {.n = 1, .value = {1}};
    bool read = text != NULL && read_numbers(text, &numbers);
    long made = hosts_of(topology, &numbers, &form);

    if (!read || made == 0)
        return ss_fail(err, SS_ERR_INPUT, file, node->line,
                       "topo_parameters=\"%.100s\" of a %s" SS_HINT "write %s", text != NULL ? text : "",
                       topology, form);
    if (made != hosts)
        return ss_fail(err, SS_ERR_INPUT, file, node->line,
                       "topo_parameters=\"%.100s\" make %ld hosts, radical=\"%.60s\" %ld" SS_HINT
                       "they must be as many",
                       text, made, ss_xml_attr(node, "radical"), hosts);
    if (policy != NULL && strcmp(policy, "FATPIPE") == 0)
        return ss_fail(err, SS_ERR_UNSUPPORTED, file, node->line,
                       "a %s of FATPIPE links" SS_HINT "use SPLITDUPLEX or SHARED", topology);
    return SS_OK;
}

/* ---- the index ---- */

SS_NAMES(ss_link_kind_name, SS_LINK_KIND_LIST, SS_SECOND)

/* A name kept as long as the index; NULL when out of memory. */
static const char *keep(struct ss_index *ix, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static const char *keep(struct ss_index *ix, const char *fmt, ...)
{
    char *text = NULL;
    va_list args;

    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) < 0)
        text = NULL;
    va_end(args);
    if (text == NULL ||
        ss_grow(&ix->strings, &ix->strings_cap, ix->nstrings + 1, sizeof(*ix->strings)) != SS_OK) {
        free(text);
        return NULL;
    }
    ix->strings[ix->nstrings++] = text;
    return text;
}

static int add_point(struct ss_index *ix, int kind, const char *name, int zone,
                     const struct ss_xml_node *node, const char *file, struct ss_error *err)
{
    SS_NEED(name && !ss_grow(&ix->points, &ix->points_cap, ix->npoints + 1, sizeof(*ix->points)), err);
    if (kind == SS_ENTRY_HOST && ++ix->nhosts > SS_MAX_HOSTS)
        return ss_fail(err, SS_ERR_INPUT, file, node->line, "more than %d hosts" SS_HINT "split the platform",
                       SS_MAX_HOSTS);
    ix->points[ix->npoints] =
        (struct ss_entry){.name = name, .kind = kind, .zone = zone, .order = (int)ix->npoints, .node = node};
    ix->npoints++;
    return SS_OK;
}

static int add_link(struct ss_index *ix, const char *name, const char *base, const struct ss_xml_node *node,
                    double bandwidth, double latency, int fatpipe, struct ss_error *err)
{
    SS_NEED(name && !ss_grow(&ix->links, &ix->links_cap, ix->nlinks + 1, sizeof(*ix->links)), err);
    ix->links[ix->nlinks] = (struct ss_entry){.name = name,
                                              .kind = SS_ENTRY_LINK,
                                              .zone = -1,
                                              .order = (int)ix->nlinks,
                                              .node = node,
                                              .bandwidth = bandwidth,
                                              .latency = latency,
                                              .fatpipe = fatpipe,
                                              .base = base};
    ix->nlinks++;
    return SS_OK;
}

static int add_policy_link(struct ss_index *ix, const char *id, const char *policy,
                           const struct ss_xml_node *node, double bandwidth, double latency,
                           struct ss_error *err)
{
    if (strcmp(policy, "SPLITDUPLEX") != 0)
        return add_link(ix, id, NULL, node, bandwidth, latency, strcmp(policy, "FATPIPE") == 0, err);
    int rc = add_link(ix, keep(ix, "%s_UP", id), id, node, bandwidth, latency, 0, err);
    return rc ? rc : add_link(ix, keep(ix, "%s_DOWN", id), id, node, bandwidth, latency, 0, err);
}

/* One host of a cluster, with the links that SimGrid makes for it. */
static int add_member(struct ss_index *ix, const struct ss_xml_node *node, int zone, long number,
                      const char *file, struct ss_error *err)
{
    const char *policy = ss_xml_attr(node, "sharing_policy"), *id = ss_xml_attr(node, "id");
    bool cabinet = ss_tag_is(node, "cabinet");
    const char *limiter = ss_xml_attr(node, "limiter_link"), *name;
    int rc = add_point(ix, SS_ENTRY_HOST,
                       keep(ix, "%s%ld%s", ss_xml_attr(node, "prefix"), number, ss_xml_attr(node, "suffix")),
                       zone, node, file, err);

    if (rc || !cluster_is_flat(node)) /* SimGrid alone knows the links of others */
        return rc;
    name =
        cabinet ? keep(ix, "link_%s", ix->points[ix->npoints - 1].name) : keep(ix, "%s_link_%ld", id, number);
    SS_NEED(name, err);
    rc = add_policy_link(ix, name, policy != NULL ? policy : "SPLITDUPLEX", node,
                         ss_quantity_of(node, "bw", SS_QUANTITY_BANDWIDTH),
                         ss_quantity_of(node, "lat", SS_QUANTITY_TIME), err);
    if (!rc && limiter != NULL && limiter[0] != 0)
        rc = add_link(ix, keep(ix, "%s_limiter", name), NULL, node,
                      ss_quantity_of(node, "limiter_link", SS_QUANTITY_BANDWIDTH), 0, 0, err);
    return rc;
}

/* "0-15,20": every number, bounded. */
static int add_radical(struct ss_index *ix, const struct ss_xml_node *node, int zone, const char *file,
                       struct ss_error *err)
{
    const char *text = ss_xml_attr(node, "radical"), *at = text;

    while (true) {
        char *end;
        long first, last;
        int rc = SS_OK;

        first = *at >= '0' && *at <= '9' ? strtol(at, &end, 10) : -1;
        last = first;
        if (first >= 0 && *end == '-') {
            at = end + 1;
            last = *at >= '0' && *at <= '9' ? strtol(at, &end, 10) : -1;
        }
        if (first < 0 || last < first || last >= INT32_MAX || (*end != 0 && *end != ','))
            return ss_fail(err, SS_ERR_INPUT, file, node->line,
                           "radical=\"%s\" of a cluster" SS_HINT "write numbers and ranges, like 0-15,20",
                           text);
        for (long i = first; i <= last && !rc; i++)
            rc = add_member(ix, node, zone, i, file, err);
        if (rc)
            return rc;
        if (*end == 0)
            return SS_OK;
        at = end + 1;
    }
}

static int add_cluster(struct ss_index *ix, const struct ss_xml_node *node, int zone, const char *file,
                       struct ss_error *err)
{
    const char *id = ss_xml_attr(node, "id"), *router = ss_xml_attr(node, "router_id");
    const char *bb = ss_xml_attr(node, "bb_bw"), *policy = ss_xml_attr(node, "bb_sharing_policy");
    int self = (int)ix->npoints;
    int rc = add_point(ix, SS_ENTRY_ZONE, id, zone, node, file, err);

    SS_THEN(rc, add_radical(ix, node, self, file, err));
    if (!rc && !cluster_is_flat(node))
        rc = cluster_check(node, (long)ix->npoints - self - 1, file, err);
    SS_THEN(rc, add_point(ix, SS_ENTRY_ROUTER,
                          router != NULL && router[0] != 0
                              ? router
                              : keep(ix, "%s%s_router%s", ss_xml_attr(node, "prefix"), id,
                                     ss_xml_attr(node, "suffix")),
                          self, node, file, err));
    if (!rc && bb != NULL && bb[0] != 0)
        rc = add_link(ix, keep(ix, "%s_backbone", id), NULL, node,
                      ss_quantity_of(node, "bb_bw", SS_QUANTITY_BANDWIDTH),
                      ss_quantity_of(node, "bb_lat", SS_QUANTITY_TIME),
                      policy != NULL && strcmp(policy, "FATPIPE") == 0, err);
    return rc;
}

static int add_children(struct ss_index *ix, const struct ss_xml_node *parent, int zone, const char *file,
                        struct ss_error *err)
{
    for (const struct ss_xml_node *c = parent->first_child; c != NULL; c = c->next) {
        const char *id = ss_xml_attr(c, "id"), *policy = ss_xml_attr(c, "sharing_policy");
        int self = (int)ix->npoints, rc = SS_OK;

        if (ss_tag_is(c, "host") || ss_tag_is(c, "router"))
            rc =
                add_point(ix, ss_tag_is(c, "host") ? SS_ENTRY_HOST : SS_ENTRY_ROUTER, id, zone, c, file, err);
        else if (ss_tag_is(c, "link"))
            rc = add_policy_link(ix, id, policy != NULL ? policy : "SHARED", c,
                                 ss_quantity_of(c, "bandwidth", SS_QUANTITY_BANDWIDTH),
                                 ss_quantity_of(c, "latency", SS_QUANTITY_TIME), err);
        else if (ss_tag_is(c, "cluster"))
            rc = add_cluster(ix, c, zone, file, err);
        else if (ss_tag_is(c, "cabinet"))
            rc = add_radical(ix, c, zone, file, err);
        else if (ss_tag_is(c, "backbone"))
            rc = add_policy_link(ix, id, "SHARED", c, ss_quantity_of(c, "bandwidth", SS_QUANTITY_BANDWIDTH),
                                 ss_quantity_of(c, "latency", SS_QUANTITY_TIME), err);
        else if (ss_tag_is(c, "zone")) {
            rc = add_point(ix, SS_ENTRY_ZONE, id, zone, c, file, err);
            SS_THEN(rc, add_children(ix, c, self, file, err));
        }
        if (rc)
            return rc;
    }
    return SS_OK;
}

static int by_name(const void *a, const void *b, void *entries)
{
    const struct ss_entry *x = (struct ss_entry *)entries + *(const int *)a;
    const struct ss_entry *y = (struct ss_entry *)entries + *(const int *)b;
    int order = strcmp(x->name, y->name);

    return order != 0 ? order : (x->order > y->order) - (x->order < y->order);
}

/* Sorts by name; the first duplicate in document order is an error. */
static int sort(struct ss_entry *entries, size_t n, int **out, const char *what, const char *file,
                struct ss_error *err)
{
    const struct ss_entry *again = NULL, *first = NULL;
    int *order = ss_calloc(n + 1, sizeof(*order));

    SS_NEED(order, err);
    *out = order;
    for (size_t i = 0; i < n; i++)
        order[i] = (int)i;
    qsort_r(order, n, sizeof(*order), by_name, entries);
    for (size_t i = 1; i < n; i++) {
        const struct ss_entry *x = &entries[order[i - 1]], *y = &entries[order[i]];

        if (strcmp(x->name, y->name) == 0 && (again == NULL || y->order < again->order)) {
            again = y;
            first = x;
        }
    }
    if (again == NULL)
        return SS_OK;
    if (again->kind == SS_ENTRY_HOST)
        what = "host";
    else if (again->kind == SS_ENTRY_ROUTER)
        what = "router";
    return ss_fail(err, SS_ERR_INPUT, file, again->node->line,
                   "duplicate %s \"%s\" (first in line %d)" SS_HINT "every name must be used once", what,
                   again->base != NULL ? again->base : again->name, first->node->line);
}

int ss_index_build(struct ss_index *ix, const struct ss_xml_node *root, const char *file,
                   struct ss_error *err)
{
    int rc = add_children(ix, root, -1, file, err);

    SS_THEN(rc, sort(ix->points, ix->npoints, &ix->point_by_name, "zone", file, err));
    SS_THEN(rc, sort(ix->links, ix->nlinks, &ix->link_by_name, "link", file, err));
    if (!rc && ix->nhosts == 0)
        rc = ss_fail(err, SS_ERR_INPUT, file, ss_zone_of(root)->line,
                     "zone \"%s\" has no hosts" SS_HINT "every GPU is a <host>", ix->points[0].name);
    return rc;
}

void ss_index_free(struct ss_index *ix)
{
    for (size_t i = 0; i < ix->nstrings; i++)
        free(ix->strings[i]);
    SS_FREE(ix->strings, ix->points, ix->links, ix->point_by_name, ix->link_by_name);
    memset(ix, 0, sizeof(*ix));
}

static int find(const struct ss_entry *entries, const int *order, size_t n, const char *name)
{
    size_t lo = 0, hi = n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int cmp = strcmp(entries[order[mid]].name, name);

        if (cmp == 0)
            return order[mid];
        if (cmp < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return -1;
}

int ss_index_point(const struct ss_index *ix, const char *name)
{
    return find(ix->points, ix->point_by_name, ix->npoints, name);
}

int ss_index_link(const struct ss_index *ix, const char *name)
{
    return find(ix->links, ix->link_by_name, ix->nlinks, name);
}
