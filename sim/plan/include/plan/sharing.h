/* SPDX-License-Identifier: Apache-2.0 */
/* What the flows of one group put on links, for shares.c. */
#ifndef SS_PLAN_SHARING_H
#define SS_PLAN_SHARING_H

#include "plan/exchange.h"
#include "plan/routes.h"

/* The communicator and hop at hand, and what its flows put on links: of the platform (routes.h), or of rails. */
struct ss_sharing {
    struct ss_plan *plan;
    struct ss_routes *routes;
    const struct ss_net *net;
    struct ss_groups *groups;
    struct ss_error *err;
    struct ss_rail_links rails;
    int unlike;          /* links may be others than closed forms take: pairs are walked, the fabric too */
    int apart;           /* ranks differ in pace: groups that are alike need not be in step */
    int *members, *gpus; /* of the group at hand: [world_size] each */
    int n, comm, hop;
    int counted;        /* links are those of rails */
    double *bandwidth;  /* [links of rails], bytes/s */
    double *load;       /* [link]: of all groups of a stage, in flows */
    double *total;      /* [link]: of all stages */
    double *alone;      /* [link]: of one group; 0 but while it is looked at */
    const double *seen; /* one of these: what is looked at */
    double worst;       /* of the group at hand: s a byte of a flow on its worst link */
    int worst_link;
    /* of uneven amounts: which way they go, what the members at hand give and take, the worst link of a kind */
    int way;
    double *row, *col; /* [world_size] each */
    double worst_of[SS_LINK_KIND_COUNT];
};

/* Visitors of links that so many flows of the group at hand cross (`ctx` is the struct). To load and total: */
void ss_sharing_add(void *ctx, int link, double flows);
/* The same of what leaves a node over another GPU's fabric, which the closed form takes for two ways. */
void ss_sharing_add_far(void *ctx, int link, double flows);
/* Keeps the worst link of those that are `seen`. */
void ss_sharing_find_worst(void *ctx, int link, double flows);

/* Whether flows of the hop stay inside a node. */
int ss_sharing_is_near(int hop);
/* By a ring or a tree. What an exchange puts on the fabric on its way to a rail its closed form counts. */
int ss_sharing_leaves_node(const struct ss_sharing *s);
/* Visits the links between two ranks. Errors: SS_ERR_NOMEM, SS_ERR_CONFIG (no route). */
int ss_sharing_visit_flow(struct ss_sharing *s, int from, int to, double flows, ss_pairs_visitor visit);
/* Visits those of the group whose lowest rank is `first`, which becomes the group at hand. The same errors. */
int ss_sharing_visit_group(struct ss_sharing *s, int first, ss_pairs_visitor visit);
typedef int ss_sharing_visit(struct ss_sharing *s, int first, ss_pairs_visitor visit);
/*
 * Keeps in plan->shares what part of its time the group gets back where no other group is on its links: `worst` is with all of them.
 * The same errors.
 */
int ss_sharing_note_taken(struct ss_sharing *s, int first, ss_sharing_visit *group);
/* Of the worst link. */
void ss_sharing_name_link(const struct ss_sharing *s, char name[64]);

#endif
