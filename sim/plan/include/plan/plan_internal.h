/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of ss_plan_build; each fills its own arrays of the plan. */
#ifndef SS_PLAN_PLAN_INTERNAL_H
#define SS_PLAN_PLAN_INTERNAL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cost/rank_cost.h"
#include "plan/ways.h"

/* Numbers by 64-bit key; grows. */
struct ss_key_map {
    struct ss_key_slot {
        uint64_t key;
        int value; /* + 1; 0: free */
    } *slot;
    size_t n, size;
};
/* The value of `key`, `value` if it is new; -1 out of memory. */
int ss_key_map_put(struct ss_key_map *m, uint64_t key, int value);
/* -1: not there. */
int ss_key_map_get(const struct ss_key_map *m, uint64_t key);
/* Adds to the value of a key that begins at 0. */
int ss_key_map_add(struct ss_key_map *m, uint64_t key, int more);
void ss_key_map_free(struct ss_key_map *m);

/* Sites seen, and what a rank there costs. */
struct ss_cost_entry {
    struct ss_rank_site site;
    struct ss_rank_cost cost;
};

/* The plan under construction. */
struct ss_plan_builder {
    struct ss_plan *plan;
    const struct ss_plan_options *options;
    struct ss_net net;
    struct ss_ways ways;
    size_t cap_links, cap_paths, cap_collectives, cap_p2p, cap_costs;
    uint64_t *link_colour;      /* [ways.nlinks]: equal where links are alike; NULL when unfolded */
    uint64_t *flow_colour;      /* [rank * ways.nkinds + kind]: equal where flows are alike, 0 where there is none */
    struct ss_key_map links;    /* colour, or link of the platform when unfolded -> plan link */
    struct ss_key_map load;     /* (link, flow's colour) -> flows that cross it */
    struct ss_key_map path_of;  /* colour, or number of the flow when unfolded -> plan path */
    double *slowness;           /* [world_size]: factors of stragglers, NULL without */
    struct ss_cost_entry *costs;
    int ncosts;
    int *cost_of;               /* [nclasses]: entry of costs */
    struct ss_key_map step_collectives; /* what a collective of the layers is -> plan collective */
    int *scratch; /* [2 * world_size] members of a group */
    char *done;   /* [nclasses] */
};

static inline uint64_t ss_mix64(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}
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

/* classes.c: classes of equal ranks by colour refinement. */
int ss_plan_classes_build(struct ss_plan_builder *b, struct ss_error *err);
/* Shape of the group (enum ss_way_group) that holds `rank`. */
struct ss_group_shape ss_plan_shape(const struct ss_plan_builder *b, int group, int rank);
/* Rank of the pipeline neighbour `stage` with the other coordinates of `rank`. */
int ss_plan_stage_peer(const struct ss_plan *plan, int rank, int stage);

/* paths.c: links that flows cross, and sends between classes. */
int ss_plan_paths_init(struct ss_plan_builder *b, struct ss_error *err);
/* How many links of the platform each one stands for; when all paths are made. */
int ss_plan_links_count(struct ss_plan_builder *b, struct ss_error *err);
int ss_plan_p2p_build(struct ss_plan_builder *b, struct ss_error *err);
/* Path of the flow of a kind (of struct ss_ways) of a class; -1: it has none. Flows that are alike share one. */
int ss_plan_path(struct ss_plan_builder *b, int cls, int kind, int *path, struct ss_error *err);

/* group_collectives.c: collectives of a group with all classes that take part. */
struct ss_ring {
    const char *name;
    int group; /* enum ss_way_group */
    int kind;  /* enum ss_collective_kind */
    int label;
    double bytes; /* full buffer */
    double sm_share;
    double part;  /* of a ring step that this is; else 1 */
    double speed; /* 1, or what the busbw of NVLink is multiplied by */
    double seconds; /* without flows: how long it takes; < 0: flows */
};
int ss_plan_collective_add(struct ss_plan_builder *b, const char *name, int label, double bytes, int nmembers,
                           int nflows, int *index, struct ss_error *err);
void ss_plan_flow_add(struct ss_plan_builder *b, int collective, int path, double bytes);
/* A ring collective of the group that holds the class's ranks. */
int ss_plan_ring_add(struct ss_plan_builder *b, int cls, const struct ss_ring *ring, int *index, struct ss_error *err);
/* Classes of that group, ascending, into b->scratch; their number. */
int ss_plan_group_classes(struct ss_plan_builder *b, int cls, int group);
int ss_plan_list_add(int **list, int *n, int value, struct ss_error *err);

/* class_cost.c: times and memory of a class's chunks. */
int ss_plan_class_cost_build(struct ss_plan_builder *b, int cls, struct ss_error *err);
static inline const struct ss_rank_cost *ss_plan_cost_of(const struct ss_plan_builder *b, int cls)
{
    return &b->costs[b->cost_of[cls]].cost;
}

/* class_steps.c: layer level. Marks hold numbers of layers in `step` until they are placed. */
int ss_plan_steps_build(struct ss_plan_builder *b, struct ss_error *err);
void ss_plan_marks_place(struct ss_plan_builder *b);

/* plan_check.c: a card without the precision; a schedule of another shape than the job. */
int ss_plan_check_card(const struct ss_plan *plan, struct ss_error *err);
int ss_plan_check_schedule(const struct ss_plan *plan, struct ss_error *err);

/* dp.c: data-parallel buckets, norm barrier, embedding all-reduce. */
int ss_plan_dp_build(struct ss_plan_builder *b, struct ss_error *err);
int ss_plan_barrier_build(struct ss_plan_builder *b, struct ss_error *err);
int ss_plan_embedding_build(struct ss_plan_builder *b, double bytes, struct ss_error *err);

#endif
