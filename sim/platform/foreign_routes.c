/* SPDX-License-Identifier: Apache-2.0 */
/* Links and routes of a platform that is no template, as the kernel says. */
#include "platform/foreign.h"

static const char *link_kind_prop(const struct ss_entry *link)
{
    for (const struct ss_xml_node *c = link->node->first_child; c != NULL; c = c->next)
        if (ss_tag_is(c, "prop") && strcmp(ss_xml_attr(c, "id"), ss_prop_at(SS_PROP_KIND)->id) == 0 &&
            ss_tag_is(link->node, "link"))
            return ss_xml_attr(c, "value");
    return NULL;
}

/* A link as a route names it. SimGrid makes links of its own for clusters, and tells their values behind the name. */
struct named {
    const char *name, *kind;
    double bandwidth, latency;
    bool fatpipe, known;
};

static struct named find_link(const struct ss_foreign_reader *r, char *name)
{
    char *values = strchr(name, SS_ROUTE_VALUES), *end;
    struct named link = {.name = name};
    int at;

    if (values != NULL)
        *values++ = 0;
    at = ss_index_link(r->ix, name);
    link.known = at >= 0 || values != NULL;
    if (at >= 0) {
        const struct ss_entry *e = &r->ix->links[at];

        link = (struct named){name, link_kind_prop(e), e->bandwidth, e->latency, e->fatpipe != 0, true};
    } else if (values != NULL) {
        link.bandwidth = strtod(values, &end);
        link.latency = *end != 0 ? strtod(end + 1, NULL) : 0;
        link.known = link.bandwidth > 0 && link.latency >= 0;
        link.fatpipe =
            strcmp(name, "__loopback__") == 0; /* SimGrid's own, where a gateway is an end of a bypass */
    }
    return link;
}

/* Number of the link in the platform, made when it is new. */
static int take_link(struct ss_foreign_reader *r, const struct named *link)
{
    uint64_t key = ss_hash(SS_HASH_INIT, link->name, strlen(link->name));
    int at = ss_map_get(&r->links, key);

    if (at >= 0)
        return at;
    at = ss_foreign_add_link(r, link->name, ss_link_kind_of(link->name, link->kind, r->p->fabric_word),
                             link->bandwidth, link->latency);
    return at < 0 ? -1 : ss_map_put(&r->links, key, at);
}

/* Splits the names of a route. A FATPIPE link slows every flow for itself, which nothing here models:
 * it is left out where another link is no wider, else refused. */
static int split_route(struct ss_foreign_reader *r, const char *src, const char *dst, char *text,
                       struct ss_pair_route *out)
{
    char *state = NULL;

    *out = (struct ss_pair_route){.narrowest = INFINITY, .fat = INFINITY};
    for (char *name = strtok_r(text, " ", &state); name != NULL; name = strtok_r(NULL, " ", &state)) {
        struct named link = find_link(r, name);

        if (!link.known)
            return ss_fail(r->err, SS_ERR_UNSUPPORTED, r->p->file, r->root_zone->line,
                           "the route from \"%s\" to \"%s\" crosses \"%s\", which no <link> or <cluster> "
                           "declares" SS_HINT "describe it with links of its own",
                           src, dst, name);
        out->latency += link.latency;
        if (link.fatpipe) {
            out->fat = fmin(out->fat, link.bandwidth);
            continue;
        }
        if (out->n == SS_ROUTE_MAX) {
            return ss_fail(r->err, SS_ERR_UNSUPPORTED, r->p->file, r->root_zone->line,
                           "the route from \"%s\" to \"%s\" has more than %d links" SS_HINT
                           "leave out links that never limit",
                           src, dst, SS_ROUTE_MAX);
        }
        out->narrowest = fmin(out->narrowest, link.bandwidth);
        out->link[out->n] = take_link(r, &link);
        if (out->link[out->n++] < 0)
            return ss_nomem(r->err);
    }
    return SS_OK;
}

static int check_route(const struct ss_foreign_reader *r, const char *src, const char *dst,
                       const struct ss_pair_route *route)
{
    if (route->fat == INFINITY || (route->n > 0 && route->narrowest <= route->fat))
        return SS_OK; /* without links: whoever sends there is told */
    return ss_fail(r->err, SS_ERR_UNSUPPORTED, r->p->file, r->root_zone->line,
                   "a FATPIPE link limits the route from \"%s\" to \"%s\"" SS_HINT
                   "make it SHARED or SPLITDUPLEX, or wider than the links around it",
                   src, dst);
}

/* The name of host i: of GPU i, or of node i. */
static const char *host_of(const struct ss_foreign_reader *r, int i)
{
    return r->ix->points[r->gpus[i].point].name;
}

static int store_route(struct ss_foreign_reader *r, int src, int dst, char *text)
{
    struct ss_pair_route route;
    int rc = split_route(r, host_of(r, src), host_of(r, dst), text, &route);

    SS_THEN(rc, check_route(r, host_of(r, src), host_of(r, dst), &route));
    if (rc)
        return rc;
    return r->of_nodes ? ss_foreign_nodes_store(r, src, dst, &route) : ss_foreign_store(r, src, dst, &route);
}

/* Asks for the routes from host `src` and those behind it to all of `n`, as many hosts as one piece has, and stores them;
 * *next: the first host that is left. pairs and routes have room for the piece. */
static int ask_piece(struct ss_foreign_reader *r, int n, int src, const struct ss_platform_options *options,
                     const char *(*pairs)[2], char **routes, int *next)
{
    int npairs = 0, at = 0, rc;

    for (*next = src; *next < n && npairs + n - 1 <= SS_ASKED_PAIRS; ++*next)
        for (int d = 0; d < n; d++)
            if (d != *next) {
                routes[npairs] = NULL;
                pairs[npairs][0] = host_of(r, *next);
                pairs[npairs++][1] = host_of(r, d);
            }
    rc = options->asker(r->p->file, npairs, (const char *const(*)[2])pairs, routes, r->err);
    for (int s = src; s < *next && !rc; s++)
        for (int d = 0; d < n && !rc; d++)
            if (d != s) {
                char empty[] = "";

                rc = store_route(r, s, d, routes[at] != NULL ? routes[at] : empty);
                at++;
            }
    for (int i = 0; i < npairs; i++)
        free(routes[i]);
    return rc;
}

/* hosts: the first so many, GPUs or nodes. */
static int ask_routes(struct ss_foreign_reader *r, int hosts, const struct ss_platform_options *options)
{
    size_t room =
        (size_t)hosts * (size_t)hosts < SS_ASKED_PAIRS ? (size_t)hosts * (size_t)hosts : SS_ASKED_PAIRS;
    const char *(*pairs)[2] = ss_calloc(room, sizeof(*pairs));
    char **routes = ss_calloc(room, sizeof(*routes));
    int rc = pairs == NULL || routes == NULL ? ss_nomem(r->err) : SS_OK;

    for (int s = 0; s < hosts && !rc;)
        rc = ask_piece(r, hosts, s, options, pairs, routes, &s);
    SS_FREE(pairs, routes);
    ss_map_free(&r->links);
    return rc;
}

/* Without its cache SimGrid searches the graph anew for every pair: minutes for 1024 GPUs, not seconds. */
static int check_speed(const struct ss_foreign_reader *r, int ngpus)
{
    for (size_t i = 0; i < r->ix->npoints && ngpus > SS_MAX_UNCACHED_GPUS; i++) {
        const struct ss_entry *e = &r->ix->points[i];
        const char *routing = ss_xml_attr(e->node, "routing");

        if (e->kind == SS_ENTRY_ZONE && routing != NULL && strcmp(routing, "Dijkstra") == 0)
            return ss_fail(r->err, SS_ERR_UNSUPPORTED, r->p->file, e->node->line,
                           "routing=\"Dijkstra\" is too slow for the routes of %d GPUs" SS_HINT
                           "write routing=\"DijkstraCache\": the same routes",
                           ngpus);
    }
    return SS_OK;
}

int ss_foreign_make(struct ss_foreign_reader *r, const struct ss_platform_options *options)
{
    struct ss_platform *p = r->p;
    struct ss_foreign *f;
    int n = p->nodes * p->gpus_per_node, hosts = r->of_nodes ? p->nodes : n, rc = check_speed(r, hosts);

    if (rc)
        return rc;
    if (n > SS_MAX_FOREIGN_GPUS)
        return ss_fail(r->err, SS_ERR_UNSUPPORTED, p->file, r->root_zone->line,
                       "%d GPUs in a file without ss.template; at most %d" SS_HINT
                       "take fewer nodes (--nodes), or describe one node and use ss.template",
                       n, SS_MAX_FOREIGN_GPUS);
    if (hosts > 1 && (options == NULL || options->asker == NULL))
        return ss_fail(r->err, SS_ERR_UNSUPPORTED, p->file, r->root_zone->line,
                       "the routes of this platform need the SimGrid kernel, which is not at hand" SS_HINT
                       "install SimGrid, or use a platform with ss.template");
    f = p->foreign = ss_calloc(1, sizeof(*f));
    SS_NEED(f, r->err);
    f->ngpus = n;
    f->gpus = ss_calloc((size_t)n, sizeof(*f->gpus));
    f->routes = ss_calloc((size_t)n * (size_t)n, sizeof(*f->routes));
    SS_NEED(f->gpus && f->routes, r->err);
    for (int i = 0; i < n && !r->of_nodes; i++)
        if ((f->gpus[i] = strdup(host_of(r, i))) == NULL)
            return ss_nomem(r->err);
    if (r->of_nodes)
        rc = ss_foreign_nodes_begin(r);
    return !rc && hosts > 1 ? ask_routes(r, hosts, options) : rc;
}
