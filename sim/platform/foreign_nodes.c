/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts that are nodes: the file has the network between them, props of its outermost zone what is inside. */
#include "platform/foreign.h"

static double value(const struct ss_foreign_reader *r, int prop)
{
    return ss_props_number(r->props, prop, 0);
}

int ss_foreign_nodes_check(const struct ss_foreign_reader *r, const struct ss_props *props)
{
    int gpus = (int)value(r, SS_PROP_GPUS_PER_NODE), nics = (int)value(r, SS_PROP_NICS_PER_NODE);
    int line = props->value[SS_PROP_HOSTS].line, missing = -1;

    if (gpus == 0)
        missing = SS_PROP_GPUS_PER_NODE;
    else if (gpus > 1 && value(r, SS_PROP_FABRIC_BANDWIDTH) == 0)
        missing = SS_PROP_FABRIC_BANDWIDTH;
    else if (nics > 0 && value(r, SS_PROP_NIC_BANDWIDTH) == 0)
        missing = SS_PROP_NIC_BANDWIDTH;
    if (missing >= 0)
        return ss_fail(r->err, SS_ERR_INPUT, r->p->file, line,
                       "missing prop \"%s\"" SS_HINT "hosts that are nodes need it in the outermost zone",
                       ss_prop_at(missing)->id);
    if (nics > 0 && gpus % nics != 0)
        return ss_fail(r->err, SS_ERR_INPUT, r->p->file, props->value[SS_PROP_NICS_PER_NODE].line,
                       "%d GPUs cannot share %d NICs equally" SS_HINT
                       "ss.nics_per_node must divide ss.gpus_per_node",
                       gpus, nics);
    if (r->numbered)
        return ss_fail(r->err, SS_ERR_INPUT, r->p->file, line,
                       "ss.node beside ss.hosts=\"nodes\"" SS_HINT "each host is a node of its own");
    return SS_OK;
}

/* NICs of a node that are links of their own; 0: the host's links are all there is. */
static int nics_of(const struct ss_foreign_reader *r)
{
    int nics = (int)value(r, SS_PROP_NICS_PER_NODE);

    return value(r, SS_PROP_NIC_BANDWIDTH) == 0 ? 0 : nics > 0 ? nics : r->p->gpus_per_node;
}

/* Links come node by node: up and down of each NVLink, then of each NIC. */
static int links_of_node(const struct ss_foreign_reader *r)
{
    return 2 * ((r->p->gpus_per_node > 1 ? r->p->gpus_per_node : 0) + nics_of(r));
}

static int nic_of(const struct ss_foreign_reader *r, int node, int local)
{
    int gpus = r->p->gpus_per_node;

    return node * links_of_node(r) + 2 * ((gpus > 1 ? gpus : 0) + local / (gpus / nics_of(r)));
}

static int add_pair(struct ss_foreign_reader *r, const char *what, int node, int number, int kind,
                    int bandwidth, int latency)
{
    char name[300];

    for (int down = 0; down < 2; down++) {
        snprintf(name, sizeof(name), "%s-%.200s-%d_%s", what, r->ix->points[r->gpus[node].point].name, number,
                 down ? "DOWN" : "UP");
        if (ss_foreign_add_link(r, name, kind, value(r, bandwidth), value(r, latency)) < 0)
            return ss_nomem(r->err);
    }
    return SS_OK;
}

static int begin_node(struct ss_foreign_reader *r, int node)
{
    struct ss_foreign *f = r->p->foreign;
    int gpus = r->p->gpus_per_node, first = node * links_of_node(r), rc = SS_OK;

    for (int l = 0; l < gpus && !rc; l++) {
        if (asprintf(&f->gpus[node * gpus + l], "%s-gpu-%d", r->ix->points[r->gpus[node].point].name, l) <
            0) {
            f->gpus[node * gpus + l] = NULL;
            return ss_nomem(r->err);
        }
        if (gpus > 1)
            rc = add_pair(r, r->p->fabric_word, node, l, SS_LINK_FABRIC, SS_PROP_FABRIC_BANDWIDTH,
                          SS_PROP_FABRIC_LATENCY);
    }
    for (int n = 0; n < nics_of(r) && !rc; n++)
        rc = add_pair(r, "nic", node, n, SS_LINK_NIC, SS_PROP_NIC_BANDWIDTH, SS_PROP_NIC_LATENCY);
    for (int a = 0; a < gpus && !rc; a++)
        for (int b = 0; b < gpus && !rc; b++) {
            struct ss_pair_route route = {.n = 2, .link = {first + 2 * a, first + 2 * b + 1}};

            route.latency = 2 * value(r, SS_PROP_FABRIC_LATENCY);
            if (a != b)
                rc = ss_foreign_store(r, node * gpus + a, node * gpus + b, &route);
        }
    return rc;
}

int ss_foreign_nodes_begin(struct ss_foreign_reader *r)
{
    int rc = SS_OK;

    for (int n = 0; n < r->p->nodes && !rc; n++)
        rc = begin_node(r, n);
    return rc;
}

int ss_foreign_nodes_store(struct ss_foreign_reader *r, int src, int dst, const struct ss_pair_route *hosts)
{
    int gpus = r->p->gpus_per_node, nics = nics_of(r) > 0, rc = SS_OK;

    if (hosts->n == 0)
        return SS_OK; /* no way from the one node to the other */
    if (hosts->n + 2 * nics > SS_ROUTE_MAX)
        return ss_fail(r->err, SS_ERR_UNSUPPORTED, r->p->file, r->root_zone->line,
                       "a route between nodes has more than %d links" SS_HINT
                       "leave out links that never limit",
                       SS_ROUTE_MAX);
    for (int a = 0; a < gpus && !rc; a++)
        for (int b = 0; b < gpus && !rc; b++) {
            struct ss_pair_route route = {.latency =
                                              hosts->latency + 2 * nics * value(r, SS_PROP_NIC_LATENCY)};

            if (nics)
                route.link[route.n++] = nic_of(r, src, a);
            memcpy(route.link + route.n, hosts->link, (size_t)hosts->n * sizeof(*hosts->link));
            route.n += hosts->n;
            if (nics)
                route.link[route.n++] = nic_of(r, dst, b) + 1;
            rc = ss_foreign_store(r, src * gpus + a, dst * gpus + b, &route);
        }
    return rc;
}
