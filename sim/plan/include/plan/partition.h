/* SPDX-License-Identifier: Apache-2.0 */
/* Colour refinement of ranks, flows and links: colours are hashes of what each of them sees. */
#ifndef SS_PLAN_PARTITION_H
#define SS_PLAN_PARTITION_H

#include "plan/plan_internal.h"

/* Communicator whose hop a kind of flow is, -1: a send; and the kinds of that hop, whose flows are alike in all but the
 * member that they go to: where they carry different parts each is a kind. */
struct ss_hop_kinds {
    int comm, first, width, hop;
};

/* Colours at work, of ranks and links that stand for all. */
struct ss_partition {
    const struct ss_plan *plan;
    const struct ss_routes *routes;
    const struct ss_groups *groups;
    size_t nranks;
    uint64_t *rank, *next;        /* [nranks] */
    uint64_t *flow;               /* [nranks * nkinds] */
    uint64_t *link;               /* [nlinks] */
    uint64_t *sum[SS_COMM_COUNT]; /* [nranks]: of the members of the group whose lowest rank it is */
    int *first[SS_COMM_COUNT];    /* [nranks]: that lowest rank of a rank's group, by its number */
    int *local[SS_COMM_COUNT];    /* [nranks]: members of it on the rank's node */
    struct ss_hop_kinds *hop;     /* [kind] */
};

/* Colours of what is equal by itself; `slowness` as in struct ss_plan_builder. *c is safe to free after a failure. */
int ss_partition_init(struct ss_partition *c, const struct ss_plan_builder *b, const struct ss_routes *routes,
                      const double *slowness);
/* Frees all but flow and link, which the builder keeps. */
void ss_partition_free(struct ss_partition *c);

/* Splits until nothing is split any more, or there are more than `most` colours of ranks: *done tells. */
int ss_partition_refine(struct ss_partition *c, int most, int *done);
/* Splits ranks by their groups and peers alone, until nothing is split any more. */
int ss_partition_close(struct ss_partition *c);
/* One look at groups, peers, flows and links: flow and link are renewed, next is what rank becomes. */
void ss_partition_look(struct ss_partition *c);
/* Number of different ones among n, of which those `step` apart are often equal; -1 out of memory. */
int ss_partition_count(const uint64_t *colour, size_t n, size_t step);

/* Takes what next became. */
void ss_partition_take(struct ss_partition *c);

/* partition_near.c: ranks that differ near what is slow or has failed; *c is fresh from ss_partition_init. Then, with classes numbered and the
 * builder's colours set, who stands for each class. */
int ss_partition_near_colour(struct ss_plan_builder *b, struct ss_partition *c, struct ss_error *err);
int ss_partition_near_represent(struct ss_plan_builder *b, const struct ss_partition *c,
                                struct ss_error *err);

#endif
