/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exchanges across nodes: all-to-all, dispatch and combine. On a rail-optimised fabric NCCL sends data over
 * fabric to the GPU of the source's node that is on the target's rail, and from there over its NIC (PXN), so
 * no flow changes rails.
 */
#pragma once

#include "plan/communicators.h"

struct ss_rails {
    int gpus;     /* GPUs of a node */
    int n;        /* rails, one for each NIC of a node; 0: the fabric has no rails, or GPUs have no fabric */
    int per_leaf; /* nodes whose NICs of one rail share a leaf */
};
struct ss_rails ss_rails(const struct ss_platform *p);
/* Returns the GPU whose NIC carries what goes from one GPU to another: the source itself, or the GPU of its
 * node at the target's place. */
int ss_rails_via(const struct ss_rails *rails, int from, int to);

/* What the members of a group send each other: member i sends row[i] col[j] to member j, in any unit. */
struct ss_exchange {
    const int *gpus; /* [n] */
    int n;
    const double *row, *col; /* [n]; NULL: 1 each */
    /* 1: traffic leaves on the source's rail and reaches the target over NVLink; 0: it leaves on the target's
     * rail */
    int by_source;
};

/* NICs and uplinks of rails by number, then two fabric links for each GPU, up and down; and sums over the exchange
 * at hand, so that pairs are not walked. */
struct ss_rail_links {
    struct ss_rails rails;
    const char *fabric_word; /* of the platform */
    int nodes, places, n,
        /* a place is a node or, behind all nodes, a leaf; n: number of links, two (up and down) for each
         * place and rail */
        stamp;
    int *seen; /* [place]: number of the exchange that saw it last */
    /* [2][places + 1]: sums of rows and of columns over the members of a place, then over all members */
    double *inside;
    double *by_rail;  /* [2][places + 1][rail] */
    double *at_place; /* [nodes + 1][GPU of a node]: sums of columns */
};
/* Error: SS_ERR_NOMEM; *l is safe to free. */
int ss_rail_links_init(struct ss_rail_links *l, const struct ss_platform *p);
void ss_rail_links_free(struct ss_rail_links *l);
/* Kind (enum ss_link_kind), bandwidth and name of a link. The bandwidth is that of a link other than one of the fabric,
 * where a NIC has `nic`. */
int ss_rail_link_kind(const struct ss_rail_links *l, int link);
double ss_rail_link_bandwidth(const struct ss_rail_links *l, const struct ss_platform *p, double nic,
                              int link);
void ss_rail_link_name(const struct ss_rail_links *l, int link, char name[64]);
/* Called with the amount on each loaded link; a link may come in several parts. */
typedef void (*ss_pairs_visitor)(void *ctx, int link, double amount);
/* Visits NICs and uplinks, with what goes to other nodes. */
void ss_rail_links_visit(struct ss_rail_links *l, const struct ss_exchange *e, ss_pairs_visitor visit,
                         void *ctx);
/* Visit fabric links: with what stays on a node, and with what goes to a GPU on the target's rail before it
 * leaves. */
void ss_rail_links_visit_near(struct ss_rail_links *l, const struct ss_exchange *e, ss_pairs_visitor visit,
                              void *ctx);
void ss_rail_links_visit_handed(struct ss_rail_links *l, const struct ss_exchange *e, ss_pairs_visitor visit,
                                void *ctx);
