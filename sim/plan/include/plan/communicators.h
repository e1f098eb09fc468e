/* SPDX-License-Identifier: Apache-2.0 */
/* The groups of a job's communicators (stepsim/communicator.h) on the GPUs that its ranks have. */
#ifndef SS_PLAN_COMMUNICATORS_H
#define SS_PLAN_COMMUNICATORS_H

#include "comm/collective.h"
#include "stepsim/plan.h"

struct ss_groups {
    /* [comm]; NULL: the job has no such collectives. Members of a group share `first`, the lowest of their ranks. */
    int *first[SS_COMM_COUNT];  /* [rank] */
    int *local[SS_COMM_COUNT];  /* [rank]: members of its group on its node */
    int *number[SS_COMM_COUNT]; /* [rank]: of its group */
    struct ss_group_shape
        *shape[SS_COMM_COUNT]; /* [number]: a million groups of one member each have one number */
    /* [comm][hop][j * world_size + rank]: the rank to which its j-th flow goes, itself where there is none; NULL: no flows,
     * and no closed form that shares links */
    int *target[SS_COMM_COUNT][SS_HOP_COUNT];
    int width[SS_COMM_COUNT][SS_HOP_COUNT]; /* flows of a hop that a rank has at most */
    /* of expert groups with uneven amounts (plan/matrix.h), [0] inside nodes and [1] between them; NULL: all are even */
    double *give[2], *take[2]; /* [rank] */
};

/* Of a plan whose ranks, schedule, level and gpu_of are set, whose links are `unlike` those that closed forms take them for, or may be. *g is
 * safe to free after a failure. */
int ss_groups_build(const struct ss_plan *plan, int unlike, struct ss_groups *g, struct ss_error *err);
void ss_groups_free(struct ss_groups *g);
/* Shape of the group of a communicator that the job has. */
static inline struct ss_group_shape *ss_groups_at(const struct ss_groups *g, int comm, int rank)
{
    return &g->shape[comm][g->number[comm][rank]];
}
/* Shape of the group that holds `rank`; one member where the job has no such collectives. */
struct ss_group_shape ss_groups_shape(const struct ss_groups *g, int comm, int rank);

/* Members of the group that holds `rank`, as the job has it: the rank grid's, but for FSDP's shards, their replicas, and
 * the second copy of a model. `out` holds 2 * plan->gpus, of which those behind the world's are for counting nodes. */
void ss_comm_members(const struct ss_plan *plan, int comm, int rank, int *out, int *n);
/* Set of SS_COLL_BIT that it does in this job. */
unsigned ss_comm_kinds(const struct ss_plan *plan, int comm);
/* Whether the communicator's collectives are flows at the plan's level. */
int ss_comm_has_flows(const struct ss_plan *plan, int comm);
/* Whether it has collectives that the level prices without the links. */
int ss_comm_in_closed_form(const struct ss_plan *plan, int comm);
/* Rank of the pipeline neighbour `stage` with the other coordinates of `rank`. */
int ss_plan_stage_peer(const struct ss_plan *plan, int rank, int stage);

#endif
