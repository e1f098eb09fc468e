/* SPDX-License-Identifier: Apache-2.0 */
/* The groups of a job's communicators (stepsim/communicator.h) on the GPUs that its ranks have. */
#pragma once

#include "comm/collective.h"
#include "stepsim/plan.h"

/* Things in rows of `block`; a shift moves each by `period`. The first `period` things of a row stand for the
 * row. */
struct ss_periodic {
    int block, period;
};
static inline int ss_periodic_at(struct ss_periodic p, int i)
{
    return p.block == p.period ? i : i / p.block * p.period + i % p.block % p.period;
}

/* Returns the thing of a number, the lowest that stands for others. */
static inline int ss_periodic_rank(struct ss_periodic p, int at)
{
    return at / p.period * p.block + at % p.period;
}

/* Tables have a place for each rank; or, where all that is asked of groups is asked of ranks that stand for
 * others (plan/symmetry.h), a place for each of these. */
struct ss_groups {
    struct ss_periodic ranks;
    int n; /* places */
    /* [comm]; NULL: the job has no such collectives. `first` is the lowest rank of the group, equal for all
     * its members. */
    int *first[SS_COMM_COUNT];                   /* [place] */
    int *local[SS_COMM_COUNT];                   /* [place]: number of members of its group on its node */
    int *number[SS_COMM_COUNT];                  /* [place]: number of its group's shape */
    struct ss_group_shape *shape[SS_COMM_COUNT]; /* [number]: all groups of one member share one number */
    int nshapes[SS_COMM_COUNT];
    /* [comm][hop][j * n + place]: rank that its j-th flow goes to, the rank itself for no flow; NULL:
     * no flows, and no closed form that shares links */
    int *target[SS_COMM_COUNT][SS_HOP_COUNT];
    int width[SS_COMM_COUNT][SS_HOP_COUNT]; /* most flows of a hop that a rank has */
    /* factors of expert groups with uneven amounts (plan/matrix.h), [0] inside nodes and [1] between them;
     * NULL: amounts are even */
    double *give[2], *take[2]; /* [rank] */
    int apart; /* 1: PAT may carry a collective, for a group has three members or more, each on a node of its own */
};

/* SS_GROUPS_UNLIKE: links may differ from what closed forms assume. SS_GROUPS_IN_ORDER: rank r is on GPU r.
 * SS_GROUPS_ALIKE: ranks may stand for others. SS_GROUPS_OF_STAGES: only shapes are asked for, and only of the first rank of each
 * stage. */
enum { SS_GROUPS_UNLIKE = 1, SS_GROUPS_IN_ORDER = 2, SS_GROUPS_ALIKE = 4, SS_GROUPS_OF_STAGES = 8 };
/* Builds the groups of a plan whose ranks, schedule, level and gpu_of are set; `how`: set of SS_GROUPS_. *g is safe to
 * free after a failure. */
int ss_groups_build(const struct ss_plan *plan, int how, struct ss_groups *g, struct ss_error *err);
void ss_groups_free(struct ss_groups *g);
/* Returns the shape of the rank's group; the job must have the communicator. */
static inline struct ss_group_shape *ss_groups_at(const struct ss_groups *g, int comm, int rank)
{
    return &g->shape[comm][g->number[comm][ss_periodic_at(g->ranks, rank)]];
}
static inline int ss_groups_first(const struct ss_groups *g, int comm, int rank)
{
    return g->first[comm][ss_periodic_at(g->ranks, rank)];
}
static inline int ss_groups_local(const struct ss_groups *g, int comm, int rank)
{
    return g->local[comm][ss_periodic_at(g->ranks, rank)];
}
static inline int ss_groups_target(const struct ss_groups *g, int comm, int hop, int j, int rank)
{
    return g->target[comm][hop][(size_t)j * (size_t)g->n + (size_t)ss_periodic_at(g->ranks, rank)];
}
/* Returns the shape of the group that holds `rank`; one member where the job has no such collectives. */
struct ss_group_shape ss_groups_shape(const struct ss_groups *g, int comm, int rank);

/* Writes the members of the group that holds `rank`: those of the rank grid, except for FSDP's shards, their
 * replicas, and the second copy of a model. `out` has room for 2 * plan->gpus; the part behind the world's
 * ranks counts nodes. */
void ss_comm_members(const struct ss_plan *plan, int comm, int rank, int *out, int *n);
/* Returns the rank grid that gives the communicator's members. */
const struct ss_ranks *ss_comm_grid(const struct ss_plan *plan, int comm);
int ss_comm_is_of_experts(int comm);
/* Returns whether its ranks reduce gradients and share the optimizer, of dense parameters or of experts. */
int ss_comm_is_data_parallel(int comm);
/* Returns whether the job may have groups of the communicator. */
int ss_comm_has_groups(const struct ss_plan *plan, int comm);
/* Returns whether these have collectives. */
int ss_comm_has_collectives(const struct ss_plan *plan, int comm);
/* Returns the set of SS_COLL_BIT that the communicator does in this job. */
unsigned ss_comm_kinds(const struct ss_plan *plan, int comm);
/* Returns 1 when the communicator's collectives are flows at the plan's level. */
int ss_comm_has_flows(const struct ss_plan *plan, int comm);
/* Returns 1 when it has collectives that the plan's level prices in closed form. */
int ss_comm_in_closed_form(const struct ss_plan *plan, int comm);
/* Returns the rank on pipeline stage `stage` whose other coordinates are those of `rank`. */
int ss_plan_stage_peer(const struct ss_plan *plan, int rank, int stage);
