/* SPDX-License-Identifier: Apache-2.0 */
/* A bound of an iteration from what single layers take, which layouts that differ in stages and chunks share. */
#include "base/base.h"
#include "plan/bounds.h"
#include "plan/plan_internal.h"
#include "stepsim/job.h"

int ss_plan_bounds_has_layers(const struct ss_job *job, const struct ss_stack *stack,
                              const struct ss_platform *platform)
{
    int offloads = job->offload.layers > 0 || job->offload.modules || job->offload.params,
        mixed = job->recompute.granularity == SS_RECOMPUTE_FULL && job->recompute.num_layers > 1,
        uneven = job->packed.rows || job->moe.load != SS_LOAD_BALANCED || job->moe.loads;
    return !job->dp.fsdp && !job->moe.overlap && !offloads && !mixed &&
           job->recompute.method != SS_RECOMPUTE_BLOCK && !uneven && !ss_job_encodes(job) &&
           ss_job_reduces_amax(job, stack) <= 1 && !strcmp(job->rank_order, "tp-cp-ep-dp-pp") &&
           ss_platform_is_template(platform);
}

/* Returns whether a group of so many ranks that begins with a node exchanges no slower than any other: it fills whole nodes, as all others
 * do, or lies in one. */
static int is_aligned(int ranks, int gpus)
{
    return ranks % gpus == 0 || ranks <= gpus;
}

/* Returns whether no exchange of a stage is faster than those of the first stage's first groups, which begin with a node. */
static int are_aligned(const struct ss_job *job, int gpus, int microbatches)
{
    int64_t ranks = (int64_t)job->tp * job->cp * (job->global_batch / (microbatches * job->micro_batch));
    return ranks % gpus == 0 || (is_aligned(job->tp, gpus) && is_aligned(job->tp * job->cp, gpus) &&
                                 (!job->model.num_experts ||
                                  (is_aligned(job->etp, gpus) && is_aligned(job->etp * job->ep, gpus))));
}

/* Sums up the bound of ss_find_seconds from the layers: a rank's slots behind the way of a microbatch to them and back, or those of the
 * last stage between the way of the first microbatch through all chunks and that of the last one. */
static double sum_up(const struct ss_layer_bounds *layers, const struct ss_job *job, int aligned, int barrier,
                     const struct ss_stage_place *places, int microbatches, double *work)
{
    int v = ss_job_chunks(job), group = ss_plan_bounds_group(job, microbatches);
    double way = 0, all = 0, most = 0, stage = 0, chunk = 0;
    for (int s = 0; s < job->pp; s++) {
        double first = 0;
        stage = 0;
        for (int k = 0; k < v; k++) {
            chunk = ss_layers_seconds(layers->kind, layers->kinds, job, &places[s * v + k], aligned);
            first = k ? first : chunk;
            stage += chunk;
        }
        most = fmax(most, way + microbatches * stage);
        way += barrier ? first : 0;
        all += stage;
    }
    *work = microbatches * all / job->pp;
    return barrier && group ? fmax(most, all + (microbatches - group) * stage + (group - 1) * chunk) : most;
}

double ss_plan_bounds_by_layers(const struct ss_layer_bounds *layers, const struct ss_job *job,
                                const struct ss_stack *stack, const struct ss_platform *platform,
                                int microbatches, double *work)
{
    const struct ss_schedule_params params = {
        .stages = job->pp, .chunks = ss_job_chunks(job), .microbatches = 1};
    const int aligned = are_aligned(job, ss_platform_gpus_per_node(platform), microbatches);
    struct ss_stage_place *places = NULL;
    struct ss_schedule *schedule = NULL;
    double seconds = *work = 0;
    if (!layers->kinds || microbatches < layers->microbatches ||
        !ss_plan_bounds_has_layers(job, stack, platform))
        return 0;
    if (!ss_schedule_build(ss_schedule_undemanding(params.chunks, 0), &params, &schedule, NULL) &&
        !ss_stage_places(job, schedule, &places, NULL))
        seconds = sum_up(layers, job, aligned, ss_plan_asks_barrier(job, stack), places, microbatches, work);
    free(places);
    ss_schedule_free(schedule);
    return isfinite(seconds) ? seconds : 0; /* the card lacks the precision */
}
