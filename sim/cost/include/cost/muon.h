/* SPDX-License-Identifier: Apache-2.0 */
/* Muon on one rank: its matrices, and the optimizer's step with it (docs/reference/model.md, section 8). */
#ifndef SS_COST_MUON_H
#define SS_COST_MUON_H

#include "cost/layer_set.h"
#include "cost/memory.h"

/* Of matrices that Muon steps: parameters, tensors, FLOP and seconds of the step of all of them, seconds of the one that takes
 * longest. */
struct ss_muon_matrices {
    double params, tensors, flops, seconds, longest;
};
/* Those of a rank: of all but the experts that are counted apart, and of these. Zero in a job without Muon. */
struct ss_muon {
    struct ss_muon_matrices dense, expert;
};
/* As Megatron-LM chooses them: every matrix of the layers, the router's too; neither embeddings nor output layer. */
struct ss_muon ss_muon_of(const struct ss_cost_context *c, const struct ss_layer_set *set);

/* The whole step: Adam's, and Muon's on its matrices, whole ones dealt to the ranks that share the states. */
double ss_optimizer_seconds(const struct ss_cost_context *c, const struct ss_param_count *params,
                            const struct ss_muon *muon, struct ss_optimizer_shards shards);

#endif
