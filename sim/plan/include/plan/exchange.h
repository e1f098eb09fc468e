/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exchanges across nodes: all-to-all, dispatch and combine. On a rail-optimised fabric NCCL sends from the GPU of the source's
 * node that is on the target's rail, to which the data goes over NVLink first (PXN), so that no flow changes rails.
 */
#ifndef SS_PLAN_EXCHANGE_H
#define SS_PLAN_EXCHANGE_H

#include "plan/communicators.h"

struct ss_rails {
    int gpus;     /* of a node */
    int n;        /* rails, one a NIC of a node; 0: the fabric has none, or GPUs have no NVLink */
    int per_leaf; /* nodes whose NICs of one rail share a leaf */
};
struct ss_rails ss_rails(const struct ss_platform *p);
/* GPU from which what goes from one GPU to another leaves the node: the source itself, or that at the target's place. */
int ss_rails_via(const struct ss_rails *rails, int from, int to);

/* NICs and uplinks of rails by number, and the members of a group on them: pairs of members are counted, not walked. */
struct ss_rail_links {
    struct ss_rails rails;
    int nodes, places, n,
        stamp; /* a place is a node or, behind all nodes, a leaf; n: links, one up and one down a place and rail */
    int *inside, *seen; /* [place]: members of the group at hand; the group that saw it last */
    int *by_rail;       /* [place * rails + rail]: members there */
    int *on_rail;       /* [rail] */
};
/* SS_ERR_NOMEM; *l is safe to free. */
int ss_rail_links_init(struct ss_rail_links *l, const struct ss_platform *p);
void ss_rail_links_free(struct ss_rail_links *l);
/* Bandwidth of a link where that of a NIC is `nic`, and its name. */
double ss_rail_link_bandwidth(const struct ss_rail_links *l, const struct ss_platform *p, double nic,
                              int link);
void ss_rail_link_name(const struct ss_rail_links *l, int link, char name[64]);
/* Tells how many pairs of a group of n GPUs cross each link that any cross. */
typedef void (*ss_pairs_visitor)(void *ctx, int link, double pairs);
void ss_rail_links_visit(struct ss_rail_links *l, const int *gpus, int n, ss_pairs_visitor visit, void *ctx);

#endif
