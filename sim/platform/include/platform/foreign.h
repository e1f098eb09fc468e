/* SPDX-License-Identifier: Apache-2.0 */
/* What reads a platform that is no template: who its GPUs are (foreign.c), and how they reach each other
 * (foreign_routes.c, and foreign_nodes.c where hosts are nodes; foreign_store.c keeps it). */
#pragma once

#include "base/map.h"
#include "platform/platform_internal.h"

struct ss_foreign_gpu {
    int point;
    long node;
};

struct ss_foreign_reader {
    struct ss_platform *p;
    const struct ss_index *ix;
    const struct ss_xml_node *root_zone;
    const struct ss_props *props; /* of the root's zone */
    struct ss_error *err;
    int next; /* point that the walk comes to */
    bool have_card;
    const char *first_host;
    struct ss_foreign_gpu *gpus; /* every host, node -1 where none is said */
    size_t ngpus, cap;
    bool numbered;
    bool of_nodes;       /* ss.hosts: a host is a node */
    struct ss_map links; /* by hash of the name: links that have a number */
    size_t links_cap;
};

/* The links between two hosts, in order, as numbers of the platform's links. */
struct ss_pair_route {
    int n, link[SS_ROUTE_MAX];
    double narrowest, fat, latency;
};

/* Adds a link; its number, or -1: no memory. */
int ss_foreign_add_link(struct ss_foreign_reader *r, const char *name, int kind, double bandwidth,
                        double latency);
/* Stores the route of GPU src to GPU dst. */
int ss_foreign_store(struct ss_foreign_reader *r, int src, int dst, const struct ss_pair_route *route);
/* Makes p->foreign: links and routes of the first p->nodes nodes. */
int ss_foreign_make(struct ss_foreign_reader *r, const struct ss_platform_options *options);

/* ---- foreign_nodes.c: hosts that are nodes, whose GPUs ss. props of the outermost zone tell ---- */
int ss_foreign_nodes_check(const struct ss_foreign_reader *r, const struct ss_props *props);
/* Adds NVLinks and NICs of all nodes, and the routes inside nodes. */
int ss_foreign_nodes_begin(struct ss_foreign_reader *r);
/* Stores the routes of all GPUs of node src to those of node dst; a route runs between the nodes' hosts. */
int ss_foreign_nodes_store(struct ss_foreign_reader *r, int src, int dst, const struct ss_pair_route *hosts);
