/* SPDX-License-Identifier: Apache-2.0 */
/* Which layers of a job each stage has, how it runs them, and what they exchange. Operators play no part here. */
#pragma once

#include "stepsim/schedule.h"

struct ss_job;

/* Where the layers of a chunk are. */
struct ss_stage_place {
    int virtual_stage, first_layer, nlayers;
    int has_embedding, has_loss;
};
/* Makes the places of all chunks: *out is [stage * schedule->chunks + chunk], freed with free(). SS_ERR_NOMEM. */
int ss_stage_places(const struct ss_job *job, const struct ss_schedule *s, struct ss_stage_place **out,
                    struct ss_error *err);

/* Returns the number of transformer layers of a virtual stage. */
int ss_stage_layers(const struct ss_job *job, const struct ss_schedule *s, int virtual_stage);
/* Returns the number of transformer layers before a virtual stage. */
int ss_stage_first_layer(const struct ss_job *job, const struct ss_schedule *s, int virtual_stage);
/* Returns how many layers of a chunk of `nlayers` are recomputed whole; they are its first ones. */
int ss_recomputed_layers(const struct ss_job *job, int nlayers);
/* Returns how many layers of a chunk are offloaded: the first ones that are not recomputed. `nlayers`
 * includes the layers of multi-token prediction, which lie behind the numbered ones. `last`: 1 where the
 * backward follows at once, so that the last layer stays on the device. */
int ss_offloaded_layers(const struct ss_job *job, int nlayers, int last);
/* Returns the tokens of a microbatch that one rank has between its layers; sequence parallelism divides them
 * among the tensor ranks. */
double ss_rank_tokens(const struct ss_job *job);
/* Returns the set of SS_COLL_BIT of collectives that mixers beside attention make context ranks do. */
unsigned ss_layer_context_exchanges(const struct ss_job *job);
