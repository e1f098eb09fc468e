/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/bounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "plan/plan_internal.h"
#include "stepsim/job.h"

int ss_plan_bounds_is_even(const struct ss_job *job, int alike)
{
    int given = job->layout.n > 0 || job->first_stage_layers > 0 || job->account_for_embedding ||
                job->account_for_loss;
    int by_chunk = job->recompute.method == SS_RECOMPUTE_BLOCK || job->offload.layers > 0 ||
                   job->offload.modules || job->recompute.num_layers > 1;
    if (given || by_chunk || job->packed.rows || ss_experts_loads_by_layer(job) ||
        job->model.mtp_num_layers > 0 || ss_job_encodes(job))
        return 0;
    return alike;
}

/* Makes a schedule with few microbatches, for its stages only, so that it costs nothing. */
static int make_schedule(const struct ss_job *job, int one_chunk, struct ss_schedule **out,
                         struct ss_error *err)
{
    const struct ss_schedule_params params = {
        .stages = job->pp, .chunks = one_chunk ? 1 : ss_job_chunks(job), .microbatches = 1};
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
    out->largest = fmax(out->largest, chunk->activation_bytes);
    out->activations += chunk->activation_bytes;
    out->layers += chunk->activation_bytes - chunk->border_bytes;
    out->logits += chunk->logits_bytes;
    out->extra = fmax(out->extra, chunk->backward_extra_bytes);
}

/* Returns the seconds of labels that no host's wait is part of. */
static double without_host(const double *by_label)
{
    return ss_label_sum(by_label) - by_label[SS_LABEL_OTHER];
}

/*
 * Returns what a rank's forwards take beyond all kernels, at least, however they are paired: a forward alone takes its
 * exchanges, one beside a backward what the pair takes beyond the kernels of both, with whichever backward that is least.
 * A backward alone takes no less than its kernels.
 */
static double exposed_of(const struct ss_rank_cost *cost, int chunks)
{
    double sum = 0, lowest = INFINITY;
    for (int f = 0; f < chunks && cost->pairs; f++) {
        const double *forward = cost->chunks[f].forward, kernels = seconds_of(forward, 1);
        const struct ss_pair_cost *pair = &cost->pairs[f * chunks];
        double least = INFINITY;
        for (int b = 0; b < chunks; b++) {
            double both = without_host(pair[b].seconds);
            if (both > 0)
                least = fmin(least, both - kernels - seconds_of(cost->chunks[b].backward, 1));
        }
        if (isinf(least)) /* the chunk is like one before it */
            least = lowest;
        least = fmax(0, fmin(least, without_host(forward) - kernels));
        lowest = fmin(lowest, least);
        sum += least;
    }
    return sum;
}

/* Finds the bounds of a stage. *before is the site that of the stage before it, or has stage -1, and becomes this one's; *out has the
 * bounds of the stage before it, which hold for one that is alike. */
static int find_stage(const struct ss_plan_builder *b, int stage, double pace, int pairs,
                      struct ss_rank_site *before, struct ss_stage_bounds *out, struct ss_plan_bounds *all,
                      struct ss_error *err)
{
    const struct ss_plan *plan = b->plan;
    struct ss_cost_input in = ss_plan_cost_input(plan, &b->net);
    struct ss_rank_site site = ss_plan_site(b, stage * plan->ranks.stride[SS_AXIS_PP], stage);
    struct ss_rank_cost cost;
    int unlike = plan->uneven || site.ep.spread.uneven;
    int kernels = plan->experts && (unlike || plan->job->moe.overlap);
    in.any_order = 1;
    in.pairs = pairs && !unlike;
    all->loose |= kernels && !unlike;
    site.pace = site.own_pace = pace;
    int alike =
        before->stage >= 0 && ss_stages_alike(&in, stage, before->stage) && ss_rank_site_equal(&site, before);
    *before = site;
    if (alike)
        return SS_OK;
    memset(out, 0, sizeof *out);
    int rc = ss_rank_cost_build(&in, &site, NULL, &cost, err);
    for (int k = 0; k < plan->schedule->chunks && !rc; k++)
        add_chunk(&cost.chunks[k], kernels, out);
    if (!rc) {
        out->exposed = exposed_of(&cost, plan->schedule->chunks);
        out->step = cost.optimizer_s + cost.gradients_s + plan->stack->fixed_iteration;
        for (int m = 0; m < SS_MEM_COUNT; m++)
            out->fixed += cost.memory[m];
        all->states = fmax(all->states, cost.memory[SS_MEM_WEIGHTS] + cost.memory[SS_MEM_GRADIENTS] +
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
    if (s->forward + s->backward + s->exposed > to->forward + to->backward + to->exposed) {
        to->forward = s->forward;
        to->backward = s->backward;
        to->exposed = s->exposed;
    }
    to->step = fmin(to->step, s->step);
    if (s->fixed + s->beside > to->fixed + to->beside) {
        to->fixed = s->fixed;
        to->beside = s->beside;
        to->step_bytes = s->step_bytes;
        to->main_gradients = s->main_gradients;
    }
}

static int find_stages(struct ss_plan_builder *b, int pairs, struct ss_plan_bounds *out, struct ss_error *err)
{
    int p = b->plan->schedule->stages, last = p - 1, middle = p > 2 ? 1 : last;
    double pace = pace_of(b);
    struct ss_rank_site site = {.stage = -1};
    struct ss_stage_bounds stage;
    int rc = SS_OK;
    for (int s = 0; s < p && !rc; s++) {
        if (out->even && s > middle && s < last) {
            out->all += out->stage[1].split;
            continue;
        }
        rc = find_stage(b, s, pace, pairs, &site, &stage, out, err);
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
                        const struct ss_platform *platform, int pairs, struct ss_cache *cache,
                        struct ss_plan_bounds *out, struct ss_error *err)
{
    const struct ss_plan_options options = {.cache = cache};
    struct ss_plan_builder b;
    struct ss_schedule *schedule;
    memset(out, 0, sizeof *out);
    out->even = ss_plan_bounds_is_even(job, ss_layers_alike(job));
    int rc = make_schedule(job, out->even && !pairs, &schedule, err);
    if (rc)
        return rc;
    rc = ss_plan_begin(&b, job, stack, platform, schedule, &options, err);
    SS_THEN(rc, ss_plan_group(&b, err));
    SS_THEN(rc, find_stages(&b, pairs, out, err));
    out->barrier = ss_plan_asks_barrier(job, stack);
    ss_plan_end(&b);
    ss_plan_free(b.plan);
    ss_schedule_free(schedule);
    return rc;
}
