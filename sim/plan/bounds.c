/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/bounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "plan/plan_internal.h"
#include "stepsim/job.h"

int ss_plan_bounds_is_even(const struct ss_job *job)
{
    int given = job->layout.n > 0 || job->first_stage_layers > 0 || job->account_for_embedding ||
                job->account_for_loss;
    int by_chunk = job->recompute.method == SS_RECOMPUTE_BLOCK || job->offload.layers > 0 ||
                   job->offload.modules || job->recompute.num_layers > 1;
    if (given || by_chunk || job->packed.rows || ss_experts_loads_by_layer(job) ||
        job->model.mtp_num_layers > 0)
        return 0;
    return ss_layers_alike(job);
}

/* Makes a schedule with few microbatches, for its stages only, so that it costs nothing. */
static int make_schedule(const struct ss_job *job, int even, struct ss_schedule **out, struct ss_error *err)
{
    const struct ss_schedule_params params = {
        .stages = job->pp, .chunks = even ? 1 : ss_job_chunks(job), .microbatches = 1};
    return ss_schedule_build(ss_schedule_undemanding(params.chunks, 0), &params, out, err);
}

/* Returns the pace of the ranks that wait for each other in every layer; no stage is faster. */
static double pace_of(const struct ss_plan_builder *b)
{
    const struct ss_plan *plan = b->plan;
    const struct ss_gpu_spread spread = ss_pace_of(ss_platform_card(plan->platform), plan->job->spread,
                                                   ss_platform_gpus_per_node(plan->platform));
    int together = plan->job->tp * plan->job->cp * ss_plan_lockstep_replicas(b);
    if (plan->world_size == 1 || !ss_pace_differs(&spread))
        return 1;
    return ss_pace_slowest_kept(b->options->cache, &spread,
                                plan->schedule->stages == 1 ? plan->world_size : together);
}

/* Returns the seconds of a slot; of a slot whose exchanges may be hidden, or take less than the busiest
 * rank's, only the kernels. */
static double seconds_of(const double *by_label, int kernels)
{
    return kernels ? by_label[SS_LABEL_COMPUTE] + by_label[SS_LABEL_RECOMPUTE] + by_label[SS_LABEL_SPREAD]
                   : ss_label_sum(by_label);
}

/* A host that runs ahead of the GPU is waited for less: what the GPU waits for launches does not count. */
static void add_chunk(const struct ss_chunk_cost *chunk, int kernels, struct ss_stage_bounds *out)
{
    const double f_waits = kernels ? 0 : chunk->issue[SS_PHASE_F].waits,
                 b_waits = kernels ? 0 : chunk->issue[SS_PHASE_B].waits;
    double f = seconds_of(chunk->forward, kernels) - f_waits;
    double b = seconds_of(chunk->backward, kernels) - b_waits;
    double split = seconds_of(chunk->input_grad, kernels) + seconds_of(chunk->weight_grad, kernels) - b_waits;
    out->forward += f;
    out->backward += b;
    out->split += f + fmin(b, split);
    out->chunk = out->activations > 0 ? fmin(out->chunk, chunk->activation_bytes) : chunk->activation_bytes;
    out->activations += chunk->activation_bytes;
    out->logits += chunk->logits_bytes;
    out->extra = fmax(out->extra, chunk->backward_extra_bytes);
}

static int find_stage(const struct ss_plan_builder *b, int stage, double pace, struct ss_stage_bounds *out,
                      double *states, struct ss_error *err)
{
    const struct ss_plan *plan = b->plan;
    const struct ss_cost_input in = ss_plan_cost_input(plan, &b->net);
    struct ss_rank_site site = ss_plan_site(b, stage * plan->ranks.stride[SS_AXIS_PP], stage);
    struct ss_rank_cost cost;
    int kernels = plan->experts && (plan->uneven || plan->job->moe.overlap || site.ep.spread.uneven);
    site.pace = site.own_pace = pace;
    memset(out, 0, sizeof *out);
    int rc = ss_rank_cost_build(&in, &site, NULL, &cost, err);
    for (int k = 0; k < plan->schedule->chunks && !rc; k++)
        add_chunk(&cost.chunks[k], kernels, out);
    if (!rc) {
        out->step = cost.optimizer_s + cost.gradients_s + plan->stack->fixed_iteration;
        for (int m = 0; m < SS_MEM_COUNT; m++)
            out->fixed += cost.memory[m];
        *states = fmax(*states, cost.memory[SS_MEM_WEIGHTS] + cost.memory[SS_MEM_GRADIENTS] +
                                    cost.memory[SS_MEM_OPTIMIZER]);
        out->step_bytes = cost.step_bytes;
        out->main_gradients = cost.main_gradients;
        out->beside = ss_memory_overhead(plan->job, plan->stack, plan->world_size, cost.parameters);
    }
    ss_rank_cost_free(&cost);
    return rc;
}

/* Raises each field to the larger one, and `step` to the smaller. */
static void raise(struct ss_stage_bounds *to, const struct ss_stage_bounds *s)
{
    if (s->forward + s->backward > to->forward + to->backward) {
        to->forward = s->forward;
        to->backward = s->backward;
    }
    to->step = fmin(to->step, s->step);
    if (s->fixed + s->beside > to->fixed + to->beside) {
        to->fixed = s->fixed;
        to->beside = s->beside;
        to->step_bytes = s->step_bytes;
        to->main_gradients = s->main_gradients;
    }
}

static int find_stages(struct ss_plan_builder *b, struct ss_plan_bounds *out, struct ss_error *err)
{
    int p = b->plan->schedule->stages, last = p - 1, middle = p > 2 ? 1 : last;
    double pace = pace_of(b);
    int rc = SS_OK;
    for (int s = 0; s < p && !rc; s++) {
        struct ss_stage_bounds stage;
        if (out->even && s > middle && s < last) {
            out->all += out->stage[1].split;
            continue;
        }
        rc = find_stage(b, s, pace, &stage, &out->states, err);
        out->all += stage.split;
        if (s == 0)
            out->stage[0] = stage;
        if (s == last)
            out->stage[2] = stage;
        if (s == (out->even ? middle : 0))
            out->stage[1] = stage;
        else if (!out->even)
            raise(&out->stage[1], &stage);
    }
    if (!out->even)
        out->stage[1].activations = out->stage[1].chunk = out->stage[1].logits = out->stage[1].extra = 0;
    return rc;
}

int ss_plan_bounds_find(const struct ss_job *job, const struct ss_stack *stack,
                        const struct ss_platform *platform, struct ss_cache *cache,
                        struct ss_plan_bounds *out, struct ss_error *err)
{
    const struct ss_plan_options options = {.cache = cache};
    struct ss_plan_builder b;
    struct ss_schedule *schedule;
    memset(out, 0, sizeof *out);
    out->even = ss_plan_bounds_is_even(job);
    int rc = make_schedule(job, out->even, &schedule, err);
    if (rc)
        return rc;
    rc = ss_plan_begin(&b, job, stack, platform, schedule, &options, err);
    SS_THEN(rc, ss_plan_group(&b, err));
    SS_THEN(rc, find_stages(&b, out, err));
    out->barrier = ss_plan_asks_barrier(job, stack);
    ss_plan_end(&b);
    ss_plan_free(b.plan);
    ss_schedule_free(schedule);
    return rc;
}
