/* SPDX-License-Identifier: Apache-2.0 */
/* Muon on one rank: its matrices, and the optimizer's step with it (docs/reference/model.md, section 8). */
#pragma once

#include "cost/memory.h"

/* The matrices that Muon steps. */
struct ss_muon_matrices {
    double params, tensors;
    double flops, seconds; /* of one step of all matrices */
    double longest;        /* s of the matrix that takes longest */
};
/* A rank's matrices; `expert` holds those of experts that are counted apart. All 0 in a job without Muon. */
struct ss_muon {
    struct ss_muon_matrices dense, expert;
};
/* Counts the matrices that Megatron-LM gives to Muon: every matrix of the layers, the router's included, but
 * neither embeddings nor output layer. */
struct ss_muon ss_muon_of(const struct ss_cost_context *c, const struct ss_layer_set *set);

/* Returns the seconds of the whole step: Muon on its matrices, which are dealt whole to the ranks that share
 * the states, and Adam on the other parameters. */
double ss_optimizer_seconds(const struct ss_cost_context *c, const struct ss_param_count *params,
                            const struct ss_muon *muon, struct ss_optimizer_shards shards);
/* Returns the part of those seconds in which Python gathers the tensors of Adam. */
double ss_optimizer_calls(const struct ss_cost_context *c, const struct ss_param_count *params,
                          const struct ss_muon *muon);
