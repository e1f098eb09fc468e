/* SPDX-License-Identifier: Apache-2.0 */
/* The layers of a class's chunks as runs of equal ones: their operators, times, steps, parameters. */
#ifndef SS_COST_LAYER_SET_H
#define SS_COST_LAYER_SET_H

#include "cost/cost.h"
#include "cost/rank_cost.h"
#include "layers/kinds.h"

/* How a transformer layer is run. In a chunk the recomputed ones come first, then the offloaded ones. */
enum ss_treatment { SS_TREAT_KEPT, SS_TREAT_RECOMPUTED, SS_TREAT_OFFLOADED, SS_TREATMENTS };

/* The operators of one kind of layer. */
struct ss_layer_list {
    int kind; /* layers/kinds.h */
    struct ss_ops ops;
};
/* One kind under one treatment: what a single layer of it takes. */
struct ss_layer_part {
    int kind, treatment;
    const struct ss_ops *ops;
    struct ss_layer_cost cost;
    struct ss_layer_steps steps; /* where they are recorded: with_steps, or kernels beside exchanges */
};
/* `count` equal layers in a row. */
struct ss_layer_run {
    int part; /* index into parts */
    int count;
    int predicts; /* 1: of multi-token prediction: behind the numbered layers, whatever its kind */
};
/* Of one chunk, in the order of the forward. */
struct ss_layer_runs {
    size_t n, cap;
    struct ss_layer_run *run;
};

/* What classes with equal costs share. */
struct ss_layer_set {
    int sharers;                     /* costs that have it beside the first one */
    const struct ss_cost_context *c; /* while chunks are added */
    /* likewise: a set whose layers cost the same, of another stage, from which what it has is taken; NULL: none */
    const struct ss_layer_set *like;
    const struct ss_card *card;
    int with_steps;
    double fixed;      /* s: host time before F, B and I */
    int experts_apart; /* ss_job_experts_apart */
    double slower;     /* as in struct ss_cost_context */
    int delay_wgrad;   /* weight gradients run apart from the rest of the backward, beside exchanges */
    int nparts;
    size_t cap_parts;
    struct ss_layer_part *part;
    int nlists;
    size_t cap_lists;
    struct ss_layer_list **list; /* of each kind that its layers are of */
    int nchunks;
    struct ss_layer_runs *chunks;
};
/* A set of chunks without layers yet. `c` is read by the next function too. */
int ss_layer_set_init(struct ss_layer_set *set, const struct ss_cost_context *c, int nchunks, int with_steps,
                      struct ss_error *err);
/* The layers of the k-th chunk, whose place (layers, embedding, loss, bytes at its borders) is filled. Fills its times. */
int ss_layer_set_chunk(struct ss_layer_set *set, int k, struct ss_chunk_cost *chunk, struct ss_error *err);
/* The k-th chunk has the layers of the one before it. SS_ERR_NOMEM. */
int ss_layer_set_repeat(struct ss_layer_set *set, int k, struct ss_error *err);
void ss_layer_set_free(struct ss_layer_set *set);

/* The steps of a forward of chunk f (-1: none) beside a backward of chunk b (pair.c); steps of all layers are recorded. The caller frees
 * out->step, also after SS_ERR_NOMEM. */
int ss_pair_steps(const struct ss_layer_set *set, int f, int b, struct ss_step_list *out);
/* ss_chunk_place_at of a backward alone whose weight gradients run apart; more layers than the chunk has: its end.
 * SS_ERR_NOMEM. */
int ss_delayed_place(const struct ss_layer_set *set, int k, int layers, struct ss_chunk_place *place);

/* Walks over the runs of a chunk: kind and treatment of each. */
static inline const struct ss_layer_part *ss_layer_part(const struct ss_layer_set *set,
                                                        const struct ss_layer_run *run)
{
    return &set->part[run->part];
}
/* Whether its layers are transformer layers. */
static inline int ss_layer_is_transformer(const struct ss_layer_set *set, const struct ss_layer_run *run)
{
    return ss_layer_part(set, run)->ops->where == SS_WHERE_TRANSFORMER;
}

/* Of the k-th chunk; second_copy: 1 where its output layer holds a copy of a tied embedding that lies on another rank. */
struct ss_param_count ss_layer_set_params(const struct ss_layer_set *set, const struct ss_cost_context *c,
                                          int k, int second_copy);
/* Adds a chunk's count to the rank's. */
void ss_param_count_add(struct ss_param_count *sum, const struct ss_param_count *chunk);

#endif
