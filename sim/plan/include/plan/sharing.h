/* SPDX-License-Identifier: Apache-2.0 */
/* The load that the flows of one group put on links, for shares.c. */
#pragma once

#include "plan/exchange.h"
#include "plan/routes.h"

/* The communicator and hop at hand, and the loads of its flows on links: of the platform (routes.h), or of
 * rails. */
struct ss_sharing {
    /* lowest ranks of the groups of the communicator at hand, stage by stage and ascending */
    int *lowest, *of_stage; /* of_stage[stage .. stage + 1]: those of a stage */
    struct ss_plan *plan;
    struct ss_routes *routes;
    const struct ss_net *net;
    struct ss_groups *groups;
    struct ss_error *err;
    struct ss_rail_links rails;
    int unlike; /* 1: links may differ from what closed forms assume, so pairs are walked, over the fabric, too */
    int apart;           /* 1: ranks differ in pace, so groups that are alike need not be in step */
    int *members, *gpus; /* [world_size] each: of the group at hand */
    int n, comm, hop;
    int counted;        /* 1: the links are those of rails */
    double *bandwidth;  /* [links of rails], bytes/s */
    double *load;       /* [link]: flows of all groups of a stage */
    double *total;      /* [link]: flows of all stages */
    double *alone;      /* [link]: flows of one group; 0 outside the look at that group */
    const double *seen; /* one of the three above: the load that is looked at */
    /* the links that each group of the hop crosses, in their order and with a -1 behind them, from crossed[from[lowest rank]] on */
    int *crossed, *from;
    size_t ncrossed, cross_cap;
    int unkept;   /* 1: they were too many to be kept, and are found anew */
    double worst; /* of the group at hand: s a byte of a flow on its worst link */
    int worst_link;
    /* for uneven amounts: the way, what the members at hand give and take, the worst link of each kind */
    int way;
    double *row, *col; /* [world_size] each */
    double worst_of[SS_LINK_KIND_COUNT];
};

/* Visitors of a link that `flows` flows of the group at hand cross (`ctx` is the struct). This one adds to
 * load and total. */
void ss_sharing_add(void *ctx, int link, double flows);
/* Keeps the worst link by the load `seen`. */
void ss_sharing_find_worst(void *ctx, int link, double flows);

/* Returns 1 when flows of the hop stay inside a node. */
int ss_sharing_is_near(int hop);
/* Returns 1 when the hop leaves a node by a ring or a tree. The fabric part of an exchange on its way to a
 * rail is in the closed form. */
int ss_sharing_leaves_node(const struct ss_sharing *s);
/* Visits the links between two ranks. Errors: SS_ERR_NOMEM, SS_ERR_CONFIG (no route). */
int ss_sharing_visit_flow(struct ss_sharing *s, int from, int to, double flows, ss_pairs_visitor visit);
/* Visits the links of the group whose lowest rank is `first`, which becomes the group at hand. Errors as
 * above. */
int ss_sharing_visit_group(struct ss_sharing *s, int first, ss_pairs_visitor visit);
/* Visits the links of a group as ss_sharing_visit_group does, and keeps them for ss_sharing_find_worst_kept. Errors as above. */
int ss_sharing_add_group(struct ss_sharing *s, int first);
/* Does ss_sharing_find_worst for all links of a group that was added. Errors as above. */
int ss_sharing_find_worst_kept(struct ss_sharing *s, int first);
typedef int ss_sharing_visit(struct ss_sharing *s, int first, ss_pairs_visitor visit);
/*
 * Keeps in plan->shares what part of its time the group gets back where no other group is on its links;
 * `worst` counts all groups. Errors as above.
 */
int ss_sharing_note_taken(struct ss_sharing *s, int first, ss_sharing_visit *group);
/* Writes the name of the worst link. */
void ss_sharing_name_link(const struct ss_sharing *s, char name[64]);
