/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes: the links of the platform that each flow of each rank crosses. A rank has at most one flow of a
 * kind, and all that a program sends is such a flow. A hop to several members has one kind for each. Ranks
 * and links are those that stand for all (plan/symmetry.h), by their numbers there.
 */
#pragma once

#include "plan/symmetry.h"

struct ss_routes {
    struct ss_symmetry symmetry;
    int nkinds;                             /* kinds of flows that a rank may have */
    int npeers;                             /* kinds 0 .. npeers - 1: to the j-th peer stage */
    int embedding;                          /* kind, or -1 */
    int hop[SS_COMM_COUNT][SS_HOP_COUNT];   /* first kind of the hop, or -1 */
    int width[SS_COMM_COUNT][SS_HOP_COUNT]; /* number of kinds of the hop */
    int *peer;                              /* [stage * npeers + j]: pipeline rank, or -1 */
    int *to;                                /* [rank * nkinds + kind]: target, any rank of the job, or -1 */
    /* [rank * nkinds + kind]: start of its route in pool; the route ends where the next one starts */
    int *first;
    int *pool;
    int *link; /* [npool]: the actual link of the platform; NULL where pool holds it */
    size_t npool, cap_pool, cap_link;
    double *latency; /* [rank * nkinds + kind], s */
    int slow;        /* 1: some links are slow or have failed */
    int nlinks; /* links of the platform, then two ports for each GPU that stand for all its fabric links */
    int nplatform;     /* all links of the platform; the first port has this number */
    double *bandwidth; /* [nlinks]: bandwidth of flows */
    char *inner;       /* [nlinks]: 1 inside the fabric */
    char *kept;        /* [nlinks]: 1 if it can limit */
};

/* Builds the routes of a plan whose ranks, schedule, level and gpu_of are set. *r is safe to free after a
 * failure. */
int ss_routes_build(const struct ss_plan *plan, const struct ss_groups *groups, const struct ss_net *net,
                    const struct ss_plan_options *options, struct ss_routes *r, struct ss_error *err);
/* routes_links.c: makes the links and their bandwidths, before the routes. */
int ss_routes_make_links(const struct ss_plan *plan, const struct ss_net *net,
                         const struct ss_plan_options *options, struct ss_routes *r, struct ss_error *err);
/* Returns the busbw of a kind of link over its bandwidth. */
double ss_link_efficiency(const struct ss_plan *plan, int kind);
/* routes_drop.c, the last part: fills kept[]. */
int ss_routes_drop_links(struct ss_routes *r, int keep, struct ss_error *err);
void ss_routes_free(struct ss_routes *r);
/* Returns the actual link of the platform that pool[j] stands for. */
static inline int ss_routes_link_at(const struct ss_routes *r, int j)
{
    return r->link ? r->link[j] : r->pool[j];
}
/* Finds the links from one rank to another on a hop that the job need not have: *n links, by their numbers
 * among all. The routes must be built. */
int ss_routes_between(const struct ss_plan *plan, struct ss_routes *r, int src, int dst, int hop,
                      int link[SS_ROUTE_MAX], int *n, struct ss_error *err);
/* Bandwidth of flows on a link by its number among all; and the count of all links and ports. */
static inline double ss_routes_bandwidth(const struct ss_routes *r, int link)
{
    return r->bandwidth[ss_symmetry_link_at(&r->symmetry, link)];
}
static inline int ss_routes_all_links(const struct ss_plan *plan, const struct ss_routes *r)
{
    return r->nplatform + 2 * plan->gpus;
}
/* Writes name, kind and latency of a link or port by its number among all. */
void ss_routes_link(const struct ss_plan *plan, const struct ss_routes *r, int link, struct ss_link *out);
