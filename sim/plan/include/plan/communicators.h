/* SPDX-License-Identifier: Apache-2.0 */
/* The groups of a job's communicators (stepsim/communicator.h) on the GPUs that its ranks have. */
#ifndef SS_PLAN_COMMUNICATORS_H
#define SS_PLAN_COMMUNICATORS_H

#include "comm/collective.h"
#include "stepsim/plan.h"

struct ss_groups {
    /* [comm]; NULL: the job has no such collectives. `first` is the lowest rank of the group, equal for all
     * its members. */
    int *first[SS_COMM_COUNT];                   /* [rank] */
    int *local[SS_COMM_COUNT];                   /* [rank]: number of members of its group on its node */
    int *number[SS_COMM_COUNT];                  /* [rank]: number of its group's shape */
    struct ss_group_shape *shape[SS_COMM_COUNT]; /* [number]: all groups of one member share one number */
    /* [comm][hop][j * world_size + rank]: rank that its j-th flow goes to, the rank itself for no flow; NULL:
     * no flows, and no closed form that shares links */
    int *target[SS_COMM_COUNT][SS_HOP_COUNT];
    int width[SS_COMM_COUNT][SS_HOP_COUNT]; /* most flows of a hop that a rank has */
    /* factors of expert groups with uneven amounts (plan/matrix.h), [0] inside nodes and [1] between them;
     * NULL: amounts are even */
    double *give[2], *take[2]; /* [rank] */
};

/* Builds the groups of a plan whose ranks, schedule, level and gpu_of are set. `unlike`: links may differ
 * from what closed forms assume. *g is safe to free after a failure. */
int ss_groups_build(const struct ss_plan *plan, int unlike, struct ss_groups *g, struct ss_error *err);
void ss_groups_free(struct ss_groups *g);
/* Returns the shape of the rank's group; the job must have the communicator. */
static inline struct ss_group_shape *ss_groups_at(const struct ss_groups *g, int comm, int rank)
{
    return &g->shape[comm][g->number[comm][rank]];
}
/* Returns the shape of the group that holds `rank`; one member where the job has no such collectives. */
struct ss_group_shape ss_groups_shape(const struct ss_groups *g, int comm, int rank);

/* Writes the members of the group that holds `rank`: those of the rank grid, except for FSDP's shards, their
 * replicas, and the second copy of a model. `out` has room for 2 * plan->gpus; the part behind the world's
 * ranks counts nodes. */
void ss_comm_members(const struct ss_plan *plan, int comm, int rank, int *out, int *n);
/* Returns the set of SS_COLL_BIT that the communicator does in this job. */
unsigned ss_comm_kinds(const struct ss_plan *plan, int comm);
/* Returns 1 when the communicator's collectives are flows at the plan's level. */
int ss_comm_has_flows(const struct ss_plan *plan, int comm);
/* Returns 1 when it has collectives that the plan's level prices in closed form. */
int ss_comm_in_closed_form(const struct ss_plan *plan, int comm);
/* Returns the rank on pipeline stage `stage` whose other coordinates are those of `rank`. */
int ss_plan_stage_peer(const struct ss_plan *plan, int rank, int stage);

#endif
