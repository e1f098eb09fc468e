/* SPDX-License-Identifier: Apache-2.0 */
/* The layers of a rank's chunks as runs of equal layers: operators, times, steps and parameters. */
#ifndef SS_COST_LAYER_SET_H
#define SS_COST_LAYER_SET_H

#include "cost/cost.h"
#include "cost/layer_kept.h"
#include "cost/rank_cost.h"
#include "layers/kinds.h"

/* A treatment says what happens to a layer's activations. A chunk has its recomputed layers first, then its
 * offloaded ones. Frozen layers of an encoder have no backward. */
enum ss_treatment { SS_TREAT_KEPT, SS_TREAT_RECOMPUTED, SS_TREAT_OFFLOADED, SS_TREAT_FROZEN, SS_TREATMENTS };

/* The operators of one kind of layer. */
struct ss_layer_list {
    int kind; /* layers/kinds.h */
    struct ss_ops ops;
};
/* What a single layer of one kind takes under one treatment. */
struct ss_layer_part {
    int kind, treatment;
    const struct ss_ops *ops;
    struct ss_layer_cost cost;
    /* s of F, B, I and W, with kernels as slow as on the slowest GPU that the rank waits for */
    double seconds[SS_PHASE_FB];
    double host; /* page-locked bytes of a microbatch on the host */
    struct ss_linear_times
        *linear; /* [ops->n], as in struct ss_cost_context; of the set that has the operators */
    struct ss_layer_steps steps; /* empty unless the set has steps or kernels run beside exchanges */
};
/* `count` equal layers in a row. */
struct ss_layer_run {
    int part; /* index of its struct ss_layer_part */
    int count;
    int predicts; /* 1: the layer predicts further tokens (MTP) and lies behind the numbered layers */
    int shares;   /* 1: its weights are those of an earlier run */
};
/* The runs of one chunk, in the order of the forward. */
struct ss_layer_runs {
    size_t n, cap;
    struct ss_layer_run *run;
};

/* The layers that ranks with equal costs share. */
struct ss_layer_set {
    int sharers; /* number of further rank costs and sets that hold this set */
    /* set whose operators this one has, and holds; NULL: it has its own */
    struct ss_layer_set *operators_of;
    const struct ss_cost_context *c; /* NULL after the last chunk is added */
    /* set of another stage with equal layers, whose parts are copied while chunks are added; NULL: none */
    const struct ss_layer_set *like;
    struct ss_layer_keeper keeper; /* of the rank's layers, while chunks are added */
    const struct ss_card *card;
    int with_steps;
    double fixed; /* s of the host before each F, B and I */
    /* 1: the host goes on to the next slot while the GPU is at this one (docs/design/host.md) */
    int ahead;
    int apart;         /* 1: every slot is a forward or a whole backward */
    int issues;        /* 1: programs have the host as a stream of its own (ss_issue_find) */
    int experts_apart; /* ss_job_experts_apart */
    double slower;     /* as in struct ss_cost_context */
    /* 1: weight gradients run beside exchanges, apart from the other parts of the backward */
    int delay_wgrad;
    int nparts;
    size_t cap_parts;
    struct ss_layer_part *part;
    int nlists;
    size_t cap_lists;
    struct ss_layer_list **list; /* one for each kind among the layers */
    int nchunks;
    struct ss_layer_runs *chunks;
};
/* Makes a set of chunks without layers. It borrows `c` until all chunks are added. */
int ss_layer_set_init(struct ss_layer_set *set, const struct ss_cost_context *c, int nchunks, int with_steps,
                      struct ss_error *err);
/* Adds the layers of the k-th chunk and fills the chunk's times. *chunk says which layers it has and what
 * bytes cross its borders. */
int ss_layer_set_chunk(struct ss_layer_set *set, int k, struct ss_chunk_cost *chunk, struct ss_error *err);
/* Fills the times of the k-th chunk, whose layers are added, anew. Error: SS_ERR_NOMEM. */
int ss_layer_set_times(const struct ss_layer_set *set, int k, struct ss_chunk_cost *chunk,
                       struct ss_error *err);
/* Gives all chunks the layers of another set of the same job and stage, at the pace of this one. Error: SS_ERR_NOMEM. */
int ss_layer_set_paced(struct ss_layer_set *set, struct ss_layer_set *from, struct ss_error *err);
/* Gives the k-th chunk the layers of the chunk before it. SS_ERR_NOMEM. */
int ss_layer_set_repeat(struct ss_layer_set *set, int k, struct ss_error *err);
/* Bytes of a set with its operators, but for steps. */
size_t ss_layer_set_bytes(const struct ss_layer_set *set);
void ss_layer_set_free(struct ss_layer_set *set);

/* Lists the steps of a forward of chunk f (-1: none) beside a backward of chunk b (pair.c). The set must have
 * steps. The caller frees out->step, after SS_ERR_NOMEM, too. */
int ss_pair_steps(const struct ss_layer_set *set, int f, int b, struct ss_step_list *out);
/* Finds ss_chunk_place_at for a backward whose weight gradients run apart; the end where the chunk has fewer
 * than `layers` layers. Error: SS_ERR_NOMEM. */
int ss_delayed_place(const struct ss_layer_set *set, int k, int layers, struct ss_chunk_place *place);

/* Returns the operators of the i-th numbered layer of the k-th chunk; NULL: it has fewer. */
const struct ss_ops *ss_chunk_layer_ops(const struct ss_layer_set *set, int k, int i);
/* Returns the part that a layer of the run is. */
static inline const struct ss_layer_part *ss_layer_part(const struct ss_layer_set *set,
                                                        const struct ss_layer_run *run)
{
    return &set->part[run->part];
}
/* Returns the i-th run in the order of a phase: a backward begins with the last run. */
static inline const struct ss_layer_run *ss_run_at(const struct ss_layer_runs *runs, int phase, size_t i)
{
    return &runs->run[phase == SS_PHASE_F ? i : runs->n - 1 - i];
}
/* Returns where a run lies: before, in or behind the numbered layers (enum ss_layer_where). */
static inline int ss_layer_where(const struct ss_layer_set *set, const struct ss_layer_run *run)
{
    return run->predicts ? SS_WHERE_BEHIND : ss_layer_part(set, run)->ops->where;
}
static inline int ss_layer_is_numbered(const struct ss_layer_set *set, const struct ss_layer_run *run)
{
    return ss_layer_where(set, run) == SS_WHERE_TRANSFORMER;
}
/* Returns 1 when the run consists of transformer layers. */
static inline int ss_layer_is_transformer(const struct ss_layer_set *set, const struct ss_layer_run *run)
{
    return ss_layer_part(set, run)->ops->where == SS_WHERE_TRANSFORMER;
}

/* Counts the parameters of the k-th chunk. second_copy: 1 where its output layer holds a copy of a tied
 * embedding of another rank. */
struct ss_param_count ss_layer_set_params(const struct ss_layer_set *set, const struct ss_cost_context *c,
                                          int k, int second_copy);
/* Adds a chunk's count to the rank's. */
void ss_param_count_add(struct ss_param_count *sum, const struct ss_param_count *chunk);

#endif
