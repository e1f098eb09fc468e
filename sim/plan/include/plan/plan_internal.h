/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of ss_plan_build; each fills its own arrays of the plan. */
#ifndef SS_PLAN_PLAN_INTERNAL_H
#define SS_PLAN_PLAN_INTERNAL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cache.h"
#include "base/map.h"
#include "cost/pace.h"
#include "cost/rank_cost.h"
#include "plan/routes.h"

/* A site that a class has, and what a rank there costs. */
struct ss_cost_entry {
    struct ss_rank_site site;
    int like; /* the first one whose site is equal on a stage that is alike: they cost the same at equal paces */
    int rebuilt; /* 1: for its paces */
    struct ss_rank_cost cost;
    double hidden[SS_LABEL_COUNT]; /* as in struct ss_plan_class */
};

/* Numbers of things in the order in which they are first asked for: things of one colour share theirs; unfolded there are no
 * colours, and each thing has its own. */
struct ss_numbers {
    struct ss_map by_colour;
    int *by_place; /* + 1; 0: none yet */
};

struct ss_plan_kept;

/* The plan under construction. Each group of fields is written by one step of plan_fill, in this order, and read by
 * those after it. */
struct ss_plan_builder {
    struct ss_plan *plan;
    const struct ss_plan_options *options;
    /* place: where the ranks are, and what they work with */
    struct ss_net net;
    double *slowness; /* [world_size]: factors of stragglers, NULL without */
    double *drawn;    /* [world_size]: drawn paces of GPUs, NULL without */
    int *members;     /* [2 * gpus]: room for one group at a time; nothing is handed on in it */
    /* what follows up to the classes' loads, where a cache has it: then groups to load are its own, and only read */
    const struct ss_plan_kept *kept;
    struct ss_cache_key key;
    /* groups, routes */
    struct ss_groups groups;
    struct ss_routes routes;
    /* classes: where folded, what is alike */
    uint64_t *link_colour; /* [routes.nlinks]: equal where links are alike; NULL when unfolded */
    uint64_t *flow_colour; /* [flow]: equal where flows are alike, 0: no flow */
    struct ss_map load;    /* (link, flow's colour) -> flows that cross it */
    /* near */
    uint64_t *nearer; /* [world_size]: colours of two steps fewer */
    int *odd,
        nodd; /* ranks whose flows in collectives are others than those of their class's representative */
    /* costs */
    struct ss_cost_entry *costs;
    int ncosts;
    int *cost_of; /* [nclasses]: entry of costs */
    /* steps, buckets, sends: what the plan has so far */
    struct ss_numbers links;        /* of the platform -> plan links */
    struct ss_numbers path_of;      /* flows -> plan paths */
    struct ss_map step_collectives; /* what a collective of the layers is -> plan collective */
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

/* plan_cache.c: *b has all up to its load where kept is set after this. */
int ss_plan_cache_take(struct ss_plan_builder *b, struct ss_error *err);
/* Puts that there, which then is the cache's. Either: nothing to do without a cache, or where too little is alike. */
int ss_plan_cache_put(struct ss_plan_builder *b, struct ss_error *err);
/* The groups alone, for who needs nothing else: those of a plan that has the same, or new ones by `build`, which are kept. */
typedef int ss_plan_step_function(struct ss_plan_builder *b, struct ss_error *err);
int ss_plan_cache_groups(struct ss_plan_builder *b, ss_plan_step_function *build, struct ss_error *err);
/* Of a builder with kept. */
void ss_plan_cache_end(struct ss_plan_builder *b);

/* classes.c: classes of equal ranks by colour refinement. */
int ss_plan_classes_build(struct ss_plan_builder *b, struct ss_error *err);

/* Number of the flow of a kind (struct ss_routes) of a class's representative; behind it are those of the next kinds. */
static inline size_t ss_plan_flow_of(const struct ss_plan_builder *b, int cls, int kind)
{
    int at = ss_symmetry_at(&b->routes.symmetry, b->plan->classes[cls].representative);
    return (size_t)at * (size_t)b->routes.nkinds + (size_t)kind;
}

/* paths.c: links that flows cross, and sends between classes. */
void ss_numbers_free(struct ss_numbers *numbers);
/* Fills load; nothing to do when unfolded. */
int ss_plan_loads_count(struct ss_plan_builder *b, struct ss_error *err);
/* How many links of the platform each one stands for; when all paths are made. */
int ss_plan_links_count(struct ss_plan_builder *b, struct ss_error *err);
int ss_plan_p2p_build(struct ss_plan_builder *b, struct ss_error *err);
/* Path of a flow by its number (struct ss_routes); -1: there is none. Flows that are alike share one. */
int ss_plan_path_at(struct ss_plan_builder *b, size_t flow, int *path, struct ss_error *err);
/* That of the flow of a kind of a class's representative. */
int ss_plan_path(struct ss_plan_builder *b, int cls, int kind, int *path, struct ss_error *err);

/* collectives.c: collectives of a group with all classes that take part. */
struct ss_collective_spec {
    const char *name;
    int comm;     /* enum ss_communicator */
    int role;     /* enum ss_role */
    int kind;     /* enum ss_collective_kind */
    double bytes; /* full buffer; of a ring step those of one member */
    double sm_share;
    double part;         /* of the collective that this is, 0..1 */
    double user_buffers; /* as in struct ss_layer_step */
    double beside;       /* the same */
    double seconds;      /* without flows: how long it takes; < 0: flows */
};
/* One of these classes, which takes spec->seconds, with room for `nflows` flows. */
int ss_plan_collective_add(struct ss_plan_builder *b, const struct ss_collective_spec *spec,
                           const int *members, int nmembers, int nflows, int *index, struct ss_error *err);
void ss_plan_flow_add(struct ss_plan_builder *b, int collective, int path, double bytes);
/* That of the group that holds the class's ranks, by the algorithm that is fastest there. */
int ss_plan_group_collective_add(struct ss_plan_builder *b, int cls, const struct ss_collective_spec *spec,
                                 int *index, struct ss_error *err);
/* Classes of a group. */
struct ss_class_list {
    int n;
    int *cls; /* ascending */
};
/* Those of the group that holds the class's ranks; out->cls is freed with free(). */
int ss_plan_group_classes(const struct ss_plan_builder *b, int cls, int comm, struct ss_class_list *out,
                          struct ss_error *err);
int ss_plan_list_add(int **list, int *n, int value, struct ss_error *err);

/* plan.c: a plan of which nothing is built yet; what it holds beside the plan ends with ss_plan_end. */
int ss_plan_begin(struct ss_plan_builder *b, const struct ss_job *job, const struct ss_stack *stack,
                  const struct ss_platform *platform, const struct ss_schedule *schedule,
                  const struct ss_plan_options *options, struct ss_error *err);
/* The steps up to its groups; what the job asks of the schedule is not checked. */
int ss_plan_group(struct ss_plan_builder *b, struct ss_error *err);
void ss_plan_end(struct ss_plan_builder *b);

/* costs.c: times and memory of all classes. */
/* Where a rank of a pipeline stage is, with GPUs that are all as fast but for stragglers. */
struct ss_rank_site ss_plan_site(const struct ss_plan_builder *b, int rank, int stage);
int ss_plan_costs_build(struct ss_plan_builder *b, struct ss_error *err);
/* What all ranks share. */
struct ss_cost_input ss_plan_cost_input(const struct ss_plan *plan, const struct ss_net *net);
/* pace.c: paces of GPUs that differ for good; nothing to do without. */
int ss_plan_pace_draw(struct ss_plan_builder *b, struct ss_error *err);  /* before classes */
int ss_plan_pace_build(struct ss_plan_builder *b, struct ss_error *err); /* when costs are known */
/* Data-parallel replicas, a rank's own among them, that wait for each other in every layer: for experts, or for shards. */
int ss_plan_lockstep_replicas(const struct ss_plan_builder *b);
/* imbalance.c: what packed rows that differ cost; nothing to do without. */
int ss_plan_imbalance_build(struct ss_plan_builder *b, struct ss_error *err);
static inline const struct ss_rank_cost *ss_plan_cost_of(const struct ss_plan_builder *b, int cls)
{
    return &b->costs[b->cost_of[cls]].cost;
}

/* lower.c: layer level. */
int ss_plan_steps_build(struct ss_plan_builder *b, struct ss_error *err);
/* A layer's step, of a GPU that takes `own` times as long for kernels; its collective is not set. */
struct ss_step ss_plan_step_of(const struct ss_layer_step *s, double own);

/* kernels.c: takes cost_of; the last step that needs it is before. */
int ss_plan_sites_keep(struct ss_plan_builder *b, struct ss_error *err);
/* Warns of tensor or expert groups that one domain of the fabric could hold and that are on two, and sets `straddles`. Error: SS_ERR_NOMEM. */
int ss_plan_warn_straddling(struct ss_plan *plan);
void ss_plan_sites_free(struct ss_plan_sites *sites);

/* plan_check.c: a card without the precision; a schedule of another shape than the job. */
int ss_plan_check(struct ss_plan_builder *b, struct ss_error *err);

/* buckets.c: data-parallel buckets, norm barrier, embedding all-reduce. */
int ss_plan_buckets_build(struct ss_plan_builder *b, struct ss_error *err);
/* Whether ranks ask one another for the norm, or for overflows, before they step. */
int ss_plan_asks_barrier(const struct ss_job *job, const struct ss_stack *stack);
int ss_plan_barrier_build(struct ss_plan_builder *b, struct ss_error *err);
int ss_plan_embedding_build(struct ss_plan_builder *b, struct ss_error *err);

#endif
