/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exchanges across nodes: all-to-all, dispatch and combine. On a rail-optimised network NCCL sends from the GPU of the source's
 * node that is on the target's rail, to which the data goes over the fabric first (PXN), so that no flow changes rails.
 */
#ifndef SS_PLAN_EXCHANGE_H
#define SS_PLAN_EXCHANGE_H

#include "plan/communicators.h"

struct ss_rails {
    int gpus;     /* of a node */
    int n;        /* rails, one a NIC of a node; 0: the network has none, or nodes have no fabric */
    int per_leaf; /* nodes whose NICs of one rail share a leaf */
};
struct ss_rails ss_rails(const struct ss_platform *p);
/* GPU from which what goes from one GPU to another leaves the node: the source itself, or that at the target's place. */
int ss_rails_via(const struct ss_rails *rails, int from, int to);

/* What the members of a group send each other: row[i] col[j] of i to j, in any unit. */
struct ss_exchange {
    const int *gpus; /* [n] */
    int n;
    const double *row, *col; /* [n]; NULL: 1 each */
    int by_source; /* 1: it leaves its node on the source's rail, and comes to the GPU on it; 0: on the target's */
};

/* NICs and uplinks of rails by number, behind them two links of the fabric a GPU, up and down; and sums of the exchange at hand, so that pairs are
 * not walked. */
struct ss_rail_links {
    struct ss_rails rails;
    const char *fabric_word; /* of the platform */
    int nodes, places, n,
        stamp; /* a place is a node or, behind all nodes, a leaf; n: links, one up and one down a place and rail */
    int *seen;        /* [place]: the exchange that saw it last */
    double *inside;   /* [2][places + 1]: rows, columns of members there, of all members */
    double *by_rail;  /* [2][places + 1][rail] */
    double *at_place; /* [nodes + 1][GPU of a node]: columns */
};
/* SS_ERR_NOMEM; *l is safe to free. */
int ss_rail_links_init(struct ss_rail_links *l, const struct ss_platform *p);
void ss_rail_links_free(struct ss_rail_links *l);
/* enum ss_link_kind, and name, of a link; bandwidth of one outside the fabric where that of a NIC is `nic`. */
int ss_rail_link_kind(const struct ss_rail_links *l, int link);
double ss_rail_link_bandwidth(const struct ss_rail_links *l, const struct ss_platform *p, double nic,
                              int link);
void ss_rail_link_name(const struct ss_rail_links *l, int link, char name[64]);
/* Tells what crosses each link that anything crosses, some links in several parts. */
typedef void (*ss_pairs_visitor)(void *ctx, int link, double amount);
/* NICs and uplinks: what goes to other nodes. */
void ss_rail_links_visit(struct ss_rail_links *l, const struct ss_exchange *e, ss_pairs_visitor visit,
                         void *ctx);
/* Links of the fabric: what stays on a node; and what is handed to a GPU on the target's rail before it leaves. */
void ss_rail_links_visit_near(struct ss_rail_links *l, const struct ss_exchange *e, ss_pairs_visitor visit,
                              void *ctx);
void ss_rail_links_visit_handed(struct ss_rail_links *l, const struct ss_exchange *e, ss_pairs_visitor visit,
                                void *ctx);

#endif
