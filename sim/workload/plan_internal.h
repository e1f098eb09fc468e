/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of ss_plan_build; each fills its own arrays of the plan. */
#ifndef SS_WORKLOAD_PLAN_INTERNAL_H
#define SS_WORKLOAD_PLAN_INTERNAL_H

#include "workload/cost.h"

/* Growing arrays of the plan under construction. */
struct ss_plan_builder {
    struct ss_plan *plan;
    struct ss_net net;
    size_t cap_links, cap_paths, cap_collectives, cap_p2p;
    /* Links by (class, kind, up/down) and shared ones by platform index; -1 = not yet made. */
    int *class_link;
    int *shared_link;
    int *scratch; /* [world_size] members of a group */
};

/* classes.c: classes of equal ranks by colour refinement. */
int ss_plan_classes_build(struct ss_plan_builder *b, struct ss_error *err);
/* Shape of the group of `kind` that holds `rank`. */
struct ss_group_shape ss_plan_group_shape(const struct ss_plan *plan, int kind, int rank, int *scratch);
/* Rank of the pipeline neighbour `stage` with the other coordinates of `rank`. */
int ss_plan_stage_peer(const struct ss_plan *plan, int rank, int stage);

/* paths.c: links that flows cross, and sends between classes. */
int ss_plan_p2p_build(struct ss_plan_builder *b, struct ss_error *err);
/* Path of a flow from a rank of class `from` to a rank of class `to`; *latency in s. */
int ss_plan_path_between(struct ss_plan_builder *b, int src, int dst, int *path, double *latency,
                         struct ss_error *err);
/* Path over the class's own NVLink (kind SS_LINK_NVLINK) or NIC, up and down: a ring step inside the class. */
int ss_plan_path_ring(struct ss_plan_builder *b, int cls, int link_kind, int *path, struct ss_error *err);

/* dp.c: data-parallel buckets, norm barrier, embedding all-reduce. */
int ss_plan_dp_build(struct ss_plan_builder *b, const struct ss_cost_context *cost, int cls,
                     const double *chunk_params, const double *layer_params, struct ss_error *err);
int ss_plan_barrier_build(struct ss_plan_builder *b, struct ss_error *err);
int ss_plan_embedding_build(struct ss_plan_builder *b, double bytes, struct ss_error *err);

#endif
