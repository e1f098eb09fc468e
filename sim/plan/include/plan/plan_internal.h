/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of ss_plan_build; each fills its own arrays of the plan. */
#pragma once

#include "base/cache.h"
#include "base/map.h"
#include "cost/gpu_spread.h"
#include "cost/rank_cost.h"
#include "plan/routes.h"

/* A site of a class, and what a rank there costs. */
struct ss_cost_entry {
    struct ss_rank_site site;
    /* index of the first entry with an equal site on a stage that is alike: both cost the same at equal
     * paces */
    int like;
    int rebuilt; /* 1: built again for its paces */
    struct ss_rank_cost cost;
    double hidden[SS_LABEL_COUNT]; /* as in struct ss_plan_class */
};

/* Numbers of things in the order of first request. Folded, things of one colour share a number; unfolded,
 * there are no colours and each thing has its own. */
struct ss_numbers {
    struct ss_map by_colour;
    int *by_place; /* number + 1; 0: none yet */
};

struct ss_plan_kept;

/* The plan under construction. One step of plan_fill writes each group of fields, in this order, and later
 * steps read it. */
/* What the flows of a bucket depend on, and the collective of the plan that has them. */
struct ss_bucket_flows {
    int cls, comm, kind, index;
    double bytes;
};
#define SS_LAST_BUCKETS                                                                                      \
    16 /* buckets that tensors fill come in a few sizes, which repeat from layer to layer */

struct ss_plan_builder {
    struct ss_plan *plan;
    const struct ss_plan_options *options;
    /* place: where the ranks are, and their links */
    struct ss_net net;
    double *slowness; /* [world_size]: factors of stragglers, NULL without */
    double *drawn;    /* [world_size]: drawn paces of GPUs, NULL without */
    int *members;     /* [2 * gpus]: scratch room for one group at a time */
    /* groups up to the loads of classes, where a cache has them: the fields from `groups` to `alike` then
     * belong to the cache and are only read */
    const struct ss_plan_kept *kept;
    struct ss_cache_key key;
    struct ss_group_shape *own; /* shapes of expert groups that do not belong to the cache; NULL: none */
    /* groups, routes */
    struct ss_groups groups;
    struct ss_routes routes;
    /* classes: which things are alike, when folded */
    uint64_t *link_colour; /* [routes.nlinks]: equal where links are alike; NULL when unfolded */
    uint64_t *flow_colour; /* [flow]: equal where flows are alike, 0: no flow */
    struct ss_map load;    /* (link, flow's colour) -> flows that cross it */
    struct ss_map alike;   /* link's colour -> links that have it */
    /* classes with plan.near */
    uint64_t *nearer; /* [world_size]: colours after two steps fewer */
    int *odd, nodd;   /* ranks whose flows in collectives differ from those of their class's representative */
    /* costs */
    struct ss_layer_keeper keeper;
    struct ss_cost_entry *costs;
    int ncosts;
    int *cost_of; /* [nclasses]: entry of costs */
    /* steps, buckets, sends: the parts of the plan so far */
    struct ss_numbers links;        /* links of the platform -> links of the plan */
    struct ss_numbers path_of;      /* flows -> paths of the plan */
    struct ss_map step_collectives; /* collectives of layers -> collectives of the plan */
    struct ss_bucket_flows flows[SS_LAST_BUCKETS];
    int nflows; /* of all buckets so far; the last of them are known */
    size_t cap_links, cap_paths, cap_collectives, cap_p2p, cap_costs, cap_odd;
};

static inline uint64_t ss_bits_of(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
static inline uint64_t ss_mix_in(uint64_t h, uint64_t value)
{
    return ss_mix64(h * 0x9e3779b97f4a7c15ULL + value + 1);
}

/* plan_cache.c: takes all parts up to the loads of classes from the cache; `kept` is then set. */
int ss_plan_cache_take(struct ss_plan_builder *b, struct ss_error *err);
/* Puts these parts into the cache, which then owns them. Both functions do nothing without a cache, or where
 * too little is alike. */
int ss_plan_cache_put(struct ss_plan_builder *b, struct ss_error *err);
/* Takes the groups of the first rank of each stage: those that a cached plan has, or new ones made by `build`, which the cache keeps. Where
 * tokens go to experts is not told: the plan has shapes of its own for that. Returns 0 in *out where groups are not kept. */
typedef int ss_plan_step_function(struct ss_plan_builder *b, struct ss_error *err);
int ss_plan_cache_stages(struct ss_plan_builder *b, ss_plan_step_function *build, int *out,
                         struct ss_error *err);
/* Gives back what a builder with `kept` has taken. */
void ss_plan_cache_end(struct ss_plan_builder *b);

/* classes.c: classes of equal ranks by colour refinement. */
int ss_plan_classes_build(struct ss_plan_builder *b, struct ss_error *err);

/* Returns the number of the flow of a kind (struct ss_routes) for a class's representative; the next kinds
 * follow behind it. */
static inline size_t ss_plan_flow_of(const struct ss_plan_builder *b, int cls, int kind)
{
    int at = ss_symmetry_at(&b->routes.symmetry, b->plan->classes[cls].representative);
    return (size_t)at * (size_t)b->routes.nkinds + (size_t)kind;
}

/* paths.c: links that flows cross, and sends between classes. */
void ss_numbers_free(struct ss_numbers *numbers);
/* Fills `load` and `alike`; does nothing when unfolded. */
int ss_plan_loads_count(struct ss_plan_builder *b, struct ss_error *err);
/* Counts how many links of the platform each link stands for, once all paths are made. */
int ss_plan_links_count(struct ss_plan_builder *b, struct ss_error *err);
int ss_plan_p2p_build(struct ss_plan_builder *b, struct ss_error *err);
/* Finds or makes the path of a flow by its number (struct ss_routes); *path is -1 where there is no flow.
 * Flows that are alike share a path. */
int ss_plan_path_at(struct ss_plan_builder *b, size_t flow, int *path, struct ss_error *err);
/* Does the same for the flow of a kind of a class's representative. */
int ss_plan_path(struct ss_plan_builder *b, int cls, int kind, int *path, struct ss_error *err);

/* collectives.c: collectives of a group, with all classes that take part. */
struct ss_collective_spec {
    const char *name;
    int comm;     /* enum ss_communicator */
    int role;     /* enum ss_role */
    int kind;     /* enum ss_collective_kind */
    double bytes; /* of the full buffer; of a ring step those of one member */
    double sm_share;
    double part;         /* share of the whole collective, 0..1 */
    double user_buffers; /* as in struct ss_layer_step */
    double beside;       /* as in struct ss_layer_step */
    double seconds;      /* duration of a collective without flows; < 0: it has flows */
};
/* Adds a collective of these classes that takes spec->seconds, with room for `nflows` flows. */
int ss_plan_collective_add(struct ss_plan_builder *b, const struct ss_collective_spec *spec,
                           const int *members, int nmembers, int nflows, int *index, struct ss_error *err);
void ss_plan_flow_add(struct ss_plan_builder *b, int collective, int path, double bytes);
/* The classes of a group. */
struct ss_class_list {
    int n;
    int *cls; /* ascending */
};
/* Adds a collective of the group that holds the class's ranks, by the algorithm that is fastest there. `classes` are the group's; NULL:
 * they are listed here. */
int ss_plan_group_collective_add(struct ss_plan_builder *b, int cls, const struct ss_collective_spec *spec,
                                 const struct ss_class_list *classes, int *index, struct ss_error *err);
/* Does so for a bucket: most have as many bytes as the one before them, and then its flows. */
int ss_plan_bucket_add(struct ss_plan_builder *b, int cls, const struct ss_collective_spec *spec,
                       const struct ss_class_list *classes, int *index, struct ss_error *err);
/* Lists the classes of the group that holds the class's ranks; the caller frees out->cls with free(). */
int ss_plan_group_classes(const struct ss_plan_builder *b, int cls, int comm, struct ss_class_list *out,
                          struct ss_error *err);
int ss_plan_list_add(int **list, int *n, int value, struct ss_error *err);

/* plan.c: begins a plan in which nothing is built yet; ss_plan_end frees what the builder holds beside the
 * plan. */
int ss_plan_begin(struct ss_plan_builder *b, const struct ss_job *job, const struct ss_stack *stack,
                  const struct ss_platform *platform, const struct ss_schedule *schedule,
                  const struct ss_plan_options *options, struct ss_error *err);
/* Runs the steps up to the groups, without checking the job against the schedule. Only the first rank of each stage has groups for sure,
 * and no flows. */
int ss_plan_group(struct ss_plan_builder *b, struct ss_error *err);
void ss_plan_end(struct ss_plan_builder *b);

/* costs.c: times and memory of all classes. */
/* Returns the site of a rank of a pipeline stage, with GPUs that are equally fast except stragglers. */
struct ss_rank_site ss_plan_site(const struct ss_plan_builder *b, int rank, int stage);
int ss_plan_costs_build(struct ss_plan_builder *b, struct ss_error *err);
/* Returns the inputs that all ranks share. */
struct ss_cost_input ss_plan_cost_input(const struct ss_plan *plan, const struct ss_net *net);
/* Sets the builder's keeper of costs of layers. */
void ss_plan_keep_layers(struct ss_plan_builder *b);
/* rank_pace.c: paces of GPUs that differ for good; does nothing without a spread. */
int ss_plan_pace_draw(struct ss_plan_builder *b, struct ss_error *err);  /* before classes */
int ss_plan_pace_build(struct ss_plan_builder *b, struct ss_error *err); /* after the costs are known */
/* Returns how many data-parallel replicas, a rank's own included, wait for each other in every layer: for
 * experts, or for shards. */
int ss_plan_lockstep_replicas(const struct ss_plan_builder *b);
/* imbalance.c: time lost because packed rows differ; does nothing without packed rows. */
int ss_plan_imbalance_build(struct ss_plan_builder *b, struct ss_error *err);
static inline const struct ss_rank_cost *ss_plan_cost_of(const struct ss_plan_builder *b, int cls)
{
    return &b->costs[b->cost_of[cls]].cost;
}

/* events.c, lower.c: layer level. */
/* Error: SS_ERR_UNSUPPORTED where steps would become more events than options->most_events. */
int ss_plan_events_limit(struct ss_plan_builder *b, struct ss_error *err);
int ss_plan_steps_build(struct ss_plan_builder *b, struct ss_error *err);
/* Returns a layer's step on a GPU whose kernels take `own` times as long; its collective is not set. */
struct ss_step ss_plan_step_of(const struct ss_layer_step *s, double own);

/* kernels.c: takes over cost_of after the last step that needs it. */
int ss_plan_sites_keep(struct ss_plan_builder *b, struct ss_error *err);
/* Warns of tensor or expert groups that lie on two fabric domains although one could hold them, and sets `straddles`. */
void ss_plan_warn_straddling(struct ss_plan *plan);
void ss_plan_sites_free(struct ss_plan_sites *sites);

/* plan_check.c: refuses a card without the precision, and a schedule of another shape than the job. */
int ss_plan_check(struct ss_plan_builder *b, struct ss_error *err);

/* buckets.c: data-parallel buckets, norm barrier; embedding.c: embedding all-reduce. */
int ss_plan_buckets_build(struct ss_plan_builder *b, struct ss_error *err);
/* How the ranks of a data-parallel communicator, SS_COMM_DP_CP or SS_COMM_EDP (of experts), keep their replicas equal. */
struct ss_replicas {
    double grad_bytes,
        param_bytes;   /* bytes of a parameter in the reduction and in the gather, divided by FSDP's shards */
    double fp8_saving; /* bytes that the gather saves for a parameter of a GEMM */
    double cast;       /* bytes that move for a gathered parameter of a GEMM before it is used */
    int fp8_apart;     /* 1: fp8 parameters have buckets of their own, of which the last takes all others */
    int scatter;       /* 1: a rank steps on its share: gradients are scattered and parameters gathered */
    int reduce;        /* SS_COLL_* of the gradients */
    int reduce_early, gather_late; /* 1: beside compute */
};
struct ss_replicas ss_plan_replicas(const struct ss_plan_builder *b, int comm, int rank);
int ss_plan_issues_build(struct ss_plan_builder *b, struct ss_error *err);
/* Returns 1 when ranks exchange the norm, or overflows, before they step. */
int ss_plan_asks_barrier(const struct ss_job *job, const struct ss_stack *stack);
int ss_plan_barrier_build(struct ss_plan_builder *b, struct ss_error *err);
int ss_plan_embedding_build(struct ss_plan_builder *b, struct ss_error *err);
/* Returns the bytes of gradients that each of the two stages sends. */
double ss_plan_embedding_bytes(const struct ss_plan *plan);
