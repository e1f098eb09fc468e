/* SPDX-License-Identifier: Apache-2.0 */
/* Which of a job's layers each stage has, and how it runs them. Nothing here is of operators. */
#ifndef SS_LAYERS_STAGES_H
#define SS_LAYERS_STAGES_H

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

/* Returns how many transformer layers a virtual stage has. */
int ss_stage_layers(const struct ss_job *job, const struct ss_schedule *s, int virtual_stage);
/* Returns how many are before it. */
int ss_stage_first_layer(const struct ss_job *job, const struct ss_schedule *s, int virtual_stage);
/* Layers of a chunk of `nlayers` that are recomputed whole: its first ones. */
int ss_recomputed_layers(const struct ss_job *job, int nlayers);
/* Layers of a chunk that are offloaded: the first ones that are not recomputed. Multi-token prediction's, which `nlayers` counts too,
 * are behind the numbered ones. `last`: 1 where the backward follows at once, so that the last layer stays. */
int ss_offloaded_layers(const struct ss_job *job, int nlayers, int last);
/* Tokens of a microbatch that one rank has between its layers: sequence parallelism leaves each tensor rank its part. */
double ss_rank_tokens(const struct ss_job *job);

#endif
