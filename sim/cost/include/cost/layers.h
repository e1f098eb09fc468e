/* SPDX-License-Identifier: Apache-2.0 */
/* The layers of a job on one kind of class: operators, times, steps; and how chunks are made of them. */
#ifndef SS_COST_LAYERS_H
#define SS_COST_LAYERS_H

#include "cost/cost.h"
#include "cost/rank_cost.h"

/* Parts of a chunk, in forward order; REDONE to DENSE are transformer layers. RECEIVED gathers the activation of the
 * stage before, RETURNED the gradient of the stage behind. */
enum ss_part {
    SS_PART_RECEIVED,
    SS_PART_EMBEDDING,
    SS_PART_REDONE,
    SS_PART_OFFLOADED,
    SS_PART_DENSE,
    SS_PART_LOSS,
    SS_PART_RETURNED,
    SS_PARTS
};

struct ss_layer_set {
    struct ss_ops embedding, dense, loss;
    struct ss_layer_cost cost[SS_PARTS];
    struct ss_layer_steps steps[SS_PARTS]; /* with_steps only */
    double fixed; /* host time before F, B and I */
};
int ss_layer_set_build(struct ss_layer_set *set, const struct ss_cost_context *c, int with_steps, struct ss_error *err);
void ss_layer_set_free(struct ss_layer_set *set);

/* Times of a chunk whose place is known. */
void ss_chunk_cost_fill(const struct ss_job *job, const struct ss_layer_set *set, struct ss_chunk_cost *chunk);

#endif
