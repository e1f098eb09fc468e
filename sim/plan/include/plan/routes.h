/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes: the links of the platform that the flows of every rank cross. A rank has at most one flow of a kind; all that a
 * program sends is one of these. A hop to several members is as many kinds. Ranks and links are those that stand for all by
 * plan/symmetry.h, by their numbers there.
 */
#ifndef SS_PLAN_ROUTES_H
#define SS_PLAN_ROUTES_H

#include <stddef.h>

#include "plan/symmetry.h"

struct ss_routes {
    struct ss_symmetry symmetry;
    int nkinds;                             /* of flows a rank has */
    int npeers;                             /* kinds 0 .. npeers - 1: to the j-th peer stage */
    int embedding;                          /* kind, or -1 */
    int hop[SS_COMM_COUNT][SS_HOP_COUNT];   /* first kind, or -1 */
    int width[SS_COMM_COUNT][SS_HOP_COUNT]; /* kinds */
    int *peer;                              /* [stage * npeers + j]: pipeline rank, or -1 */
    int *to;                                /* [rank * nkinds + kind]: any rank of the job, or -1 */
    int *first;                             /* [rank * nkinds + kind]: route in pool, up to the next one's */
    int *pool;
    int *link; /* [npool]: the very link of the platform; NULL where each stands for itself */
    size_t npool, cap_pool, cap_link;
    double *latency;   /* [rank * nkinds + kind], s */
    int slow;          /* there are links that are slow or have failed */
    int nlinks;        /* of the platform, and two ports a GPU that stand for all its fabric links */
    int nplatform;     /* links of the platform, all of them: its first port has this number */
    double *bandwidth; /* [nlinks], as flows see it */
    char *inner;       /* [nlinks]: 1 inside the fabric */
    char *kept;        /* [nlinks]: 1 if it can limit */
};

/* Of a plan whose ranks, schedule, level and gpu_of are set. *r is safe to free after a failure. */
int ss_routes_build(const struct ss_plan *plan, const struct ss_groups *groups, const struct ss_net *net,
                    const struct ss_plan_options *options, struct ss_routes *r, struct ss_error *err);
/* Its parts in files of their own: links and what they carry, before the routes. */
int ss_routes_make_links(const struct ss_plan *plan, const struct ss_net *net,
                         const struct ss_plan_options *options, struct ss_routes *r, struct ss_error *err);
/* Busbw of a kind of link over its bandwidth. */
double ss_link_efficiency(const struct ss_plan *plan, int kind);
/* The last part: fills kept[]. */
int ss_routes_drop_links(const struct ss_plan *plan, struct ss_routes *r, int keep, struct ss_error *err);
void ss_routes_free(struct ss_routes *r);
/* The very link of the platform that route[j] in pool crosses. */
static inline int ss_routes_link_at(const struct ss_routes *r, int j)
{
    return r->link ? r->link[j] : r->pool[j];
}
/* Links of a flow of a hop from one rank to another, of which the job may have none: *n of them, by their numbers among all. Of
 * routes that are built. */
int ss_routes_between(const struct ss_plan *plan, struct ss_routes *r, int src, int dst, int hop,
                      int link[SS_ROUTE_MAX], int *n, struct ss_error *err);
/* Bandwidth, as flows see it, of a link by its number among all, of which there are so many. */
static inline double ss_routes_bandwidth(const struct ss_routes *r, int link)
{
    return r->bandwidth[ss_symmetry_link_at(&r->symmetry, link)];
}
static inline int ss_routes_all_links(const struct ss_plan *plan, const struct ss_routes *r)
{
    return r->nplatform + 2 * plan->gpus;
}
/* Name, kind and latency of a link of the platform or port, by its number among all of them. */
void ss_routes_link(const struct ss_plan *plan, const struct ss_routes *r, int link, struct ss_link *out);

#endif
