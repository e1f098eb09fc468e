/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways: where the flows of every rank go, on the links of the platform. A rank has at most one flow of a
 * kind; all that a program sends is one of these.
 */
#ifndef SS_PLAN_WAYS_H
#define SS_PLAN_WAYS_H

#include "stepsim/plan.h"
#include "cost/collective.h"

/* Groups whose collectives become flows. Legs of a ring: NODE goes to the next member on the same node over
 * NVLink, FAR to a member on the next node over NICs; both flow side by side. STEP goes to the next member,
 * wherever it is. */
enum ss_way_group { SS_WAY_DP, SS_WAY_TP, SS_WAY_CP, SS_WAY_FSDP, SS_WAY_GROUPS };
enum ss_way_leg { SS_LEG_NODE, SS_LEG_FAR, SS_LEG_STEP, SS_LEGS };

struct ss_ways {
    int nkinds; /* of flows a rank has */
    int npeers; /* kinds 0 .. npeers - 1: to the j-th peer stage */
    int embedding; /* kind, or -1 */
    int leg[SS_WAY_GROUPS][SS_LEGS]; /* kind, or -1 */
    int *peer;   /* [stage * npeers + j]: pipeline rank, or -1 */
    int *to;     /* [rank * nkinds + kind]: rank, or -1 */
    int *first;  /* [rank * nkinds + kind]: route in pool, up to the next one's */
    int *pool;
    size_t npool, cap_pool;
    double *latency; /* [rank * nkinds + kind], s; peers and embedding only */
    int nlinks;        /* of the platform, and two ports a GPU that stand for all its NVLinks */
    int nplatform;     /* of these, links of the platform */
    double *bandwidth; /* [nlinks], as flows see it */
    char *kept;        /* [nlinks]: 1 if it can limit */
    /* groups: members of rank r's group share group[g][r], its lowest rank */
    int *group[SS_WAY_GROUPS];
    int *beside[SS_WAY_GROUPS]; /* members of r's group on r's node */
    struct ss_group_shape *shape[SS_WAY_GROUPS]; /* [lowest rank] */
};

/* Of a plan whose ranks, schedule, level and gpu_of are set. */
int ss_ways_build(const struct ss_plan *plan, const struct ss_net *net, const struct ss_plan_options *options,
                  struct ss_ways *w, struct ss_error *err);
/* The last part of it: fills kept[]. */
int ss_ways_drop_links(const struct ss_plan *plan, struct ss_ways *w, struct ss_error *err);
void ss_ways_free(struct ss_ways *w);
/* Name, kind and latency of a link. */
void ss_ways_link(const struct ss_plan *plan, const struct ss_ways *w, int link, struct ss_link *out);
/* Members of a group: ss_ranks_group, but for FSDP's, which may be the part on one node. `out` holds
 * 2 * world_size, of which the second half is for counting nodes. */
void ss_ways_members(const struct ss_plan *plan, int group, int rank, int *out, int *n);
/* Whether a group's collectives are lowered, at this level, to flows. */
int ss_ways_in_use(const struct ss_plan *plan, int group);

#endif
