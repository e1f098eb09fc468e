/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes: the links of the platform that the flows of every rank cross. A rank has at most one flow of a kind; all that a
 * program sends is one of these. A hop to several members is as many kinds.
 */
#ifndef SS_PLAN_ROUTES_H
#define SS_PLAN_ROUTES_H

#include <stddef.h>

#include "plan/communicators.h"

struct ss_routes {
    int nkinds;                             /* of flows a rank has */
    int npeers;                             /* kinds 0 .. npeers - 1: to the j-th peer stage */
    int embedding;                          /* kind, or -1 */
    int hop[SS_COMM_COUNT][SS_HOP_COUNT];   /* first kind, or -1 */
    int width[SS_COMM_COUNT][SS_HOP_COUNT]; /* kinds */
    int *peer;                              /* [stage * npeers + j]: pipeline rank, or -1 */
    int *to;                                /* [rank * nkinds + kind]: rank, or -1 */
    int *first;                             /* [rank * nkinds + kind]: route in pool, up to the next one's */
    int *pool;
    size_t npool, cap_pool;
    double *latency;   /* [rank * nkinds + kind], s */
    int nlinks;        /* of the platform, and two ports a GPU that stand for all its NVLinks */
    int nplatform;     /* of these, links of the platform */
    double *bandwidth; /* [nlinks], as flows see it */
    char *inner;       /* [nlinks]: 1 inside the fabric */
    char *kept;        /* [nlinks]: 1 if it can limit */
};

/* Of a plan whose ranks, schedule, level and gpu_of are set. *r is safe to free after a failure. */
int ss_routes_build(const struct ss_plan *plan, const struct ss_groups *groups, const struct ss_net *net,
                    const struct ss_plan_options *options, struct ss_routes *r, struct ss_error *err);
/* The last part of it: fills kept[]. */
int ss_routes_drop_links(const struct ss_plan *plan, struct ss_routes *r, struct ss_error *err);
void ss_routes_free(struct ss_routes *r);
/* Name, kind and latency of a link. */
void ss_routes_link(const struct ss_plan *plan, const struct ss_routes *r, int link, struct ss_link *out);

#endif
