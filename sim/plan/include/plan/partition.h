/* SPDX-License-Identifier: Apache-2.0 */
/* Partition of ranks, flows and links by colour refinement (Weisfeiler-Lehman). A colour is a hash of what a
 * rank, flow or link sees; things of one colour are alike. */
#pragma once

#include "plan/plan_internal.h"

/* What a kind of flow is: the communicator (-1: a send) and the hop. The kinds from `first` on, `width` of
 * them, belong to the hop; their flows differ only in the member that they go to, or in the part that they
 * carry. */
struct ss_hop_kinds {
    int comm, first, width, hop;
};

/* Working colours of the ranks and links that stand for all. */
struct ss_partition {
    const struct ss_plan *plan;
    const struct ss_routes *routes;
    const struct ss_groups *groups;
    size_t nranks;
    uint64_t *rank, *next;        /* [nranks] */
    uint64_t *flow;               /* [nranks * nkinds] */
    uint64_t *link;               /* [nlinks] */
    uint64_t *sum[SS_COMM_COUNT]; /* [nranks]: sum over the members of the group whose lowest rank this is */
    int *first[SS_COMM_COUNT];    /* [nranks]: number of the lowest rank of a rank's group */
    int *local[SS_COMM_COUNT];    /* [nranks]: members of the group on the rank's node */
    struct ss_hop_kinds *hop;     /* [kind] */
};

/* Sets first colours from what each thing is by itself; `slowness` as in struct ss_plan_builder. *c is safe
 * to free after a failure. */
int ss_partition_init(struct ss_partition *c, const struct ss_plan_builder *b, const struct ss_routes *routes,
                      const double *slowness);
/* Frees all but flow and link, which the builder keeps. */
void ss_partition_free(struct ss_partition *c);

/* Splits colours until none is split any more (*done is 1), or there are more than `most` colours of ranks
 * (*done is 0). */
int ss_partition_refine(struct ss_partition *c, int most, int *done);
/* Splits ranks by their groups and peers only, until no colour is split any more. */
int ss_partition_close(struct ss_partition *c);
/* Looks once at groups, peers, flows and links: renews flow and link, and writes the ranks' new colours to
 * next. */
void ss_partition_look(struct ss_partition *c);
/* Returns the number of different colours among n, where colours `step` apart are often equal; -1: out of
 * memory. */
int ss_partition_count(const uint64_t *colour, size_t n, size_t step);

/* Makes next the colours of ranks. */
void ss_partition_take(struct ss_partition *c);

/* partition_near.c: the first function tells ranks apart near what is slow or has failed; *c comes from
 * ss_partition_init. The second, once classes are numbered and the builder's colours are set, chooses the
 * representative of each class. */
int ss_partition_near_colour(struct ss_plan_builder *b, struct ss_partition *c, struct ss_error *err);
int ss_partition_near_represent(struct ss_plan_builder *b, const struct ss_partition *c,
                                struct ss_error *err);
