/* SPDX-License-Identifier: Apache-2.0 */
#include "layers/stages.h"

#include "base/base.h"
#include "stepsim/job.h"

/* Returns the chunks of a rank in one copy of the model. */
static int chunks_of_copy(const struct ss_schedule *s)
{
    return ss_schedule_depth(s) / s->stages > 0 ? ss_schedule_depth(s) / s->stages : 1;
}

/* Returns the place of the stage in the model's order; each copy of the model begins at 0. */
static int depth_of(const struct ss_schedule *s, int virtual_stage)
{
    int depth = 0;
    for (int v = ss_schedule_before(s, virtual_stage); v >= 0; v = ss_schedule_before(s, v))
        depth++;
    return depth;
}

/* Returns the transformer layers of virtual stage s. A layout names them. Uneven first and last pipeline
 * ranks take what the flags say, and the others share the rest. Chunks of a rank are equal (ss_job_finish and
 * plan_check.c have checked the divisions), except that embedding and loss may count as a layer of the first
 * and the last one. */
int ss_stage_layers(const struct ss_job *job, const struct ss_schedule *s, int virtual_stage)
{
    int p = s->stages, rank = s->virtual_rank[virtual_stage], layers = ss_job_split_layers(job), others = p;
    if (job->layout.n > 0)
        return job->layout.layers[depth_of(s, virtual_stage)];
    if (job->first_stage_layers > 0) {
        if (rank == 0)
            return job->first_stage_layers / chunks_of_copy(s);
        layers -= job->first_stage_layers;
        others--;
    }
    if (job->last_stage_layers > 0) {
        if (rank == p - 1)
            return job->last_stage_layers / chunks_of_copy(s);
        layers -= job->last_stage_layers;
        others--;
    }
    return layers / (others * chunks_of_copy(s)) -
           (job->account_for_embedding && ss_schedule_before(s, virtual_stage) < 0) -
           (job->account_for_loss && ss_schedule_after(s, virtual_stage) < 0);
}

int ss_stage_first_layer(const struct ss_job *job, const struct ss_schedule *s, int virtual_stage)
{
    int first = 0;
    for (int v = ss_schedule_before(s, virtual_stage); v >= 0; v = ss_schedule_before(s, v))
        first += ss_stage_layers(job, s, v);
    return first;
}

int ss_stage_places(const struct ss_job *job, const struct ss_schedule *s, struct ss_stage_place **out,
                    struct ss_error *err)
{
    int n = s->stages * s->chunks, next = 0;
    struct ss_stage_place *places = *out = ss_calloc((size_t)n, sizeof *places);
    SS_NEED(places, err);
    for (int v = 0; v < n; v++) {
        struct ss_stage_place *p = &places[s->virtual_rank[v] * s->chunks + s->virtual_chunk[v]];
        p->virtual_stage = v;
        p->has_embedding = ss_schedule_before(s, v) < 0;
        p->has_loss = ss_schedule_after(s, v) < 0;
        p->first_layer = p->has_embedding ? 0 : next; /* the virtual stage before this one is v - 1 */
        p->nlayers = ss_stage_layers(job, s, v);
        next = p->first_layer + p->nlayers;
    }
    return SS_OK;
}

int ss_recomputed_layers(const struct ss_job *job, int nlayers)
{
    if (job->recompute.granularity != SS_RECOMPUTE_FULL)
        return 0;
    if (job->recompute.method == SS_RECOMPUTE_BLOCK)
        return job->recompute.num_layers < nlayers ? job->recompute.num_layers : nlayers;
    return nlayers;
}

int ss_offloaded_layers(const struct ss_job *job, int layers, int last)
{
    if (!job->offload.modules)
        return job->offload.layers;
    int some = layers - (int)(layers * (1 - job->offload.fraction)), most = layers - (last != 0);
    return some < most ? some : most;
}

double ss_rank_tokens(const struct ss_job *job)
{
    double sp = job->sequence_parallel && job->tp > 1 ? job->tp : 1;
    return (double)job->micro_batch * job->seq_length / job->cp / sp;
}
