/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that need more than the job, or more than the schedule. */
#include "base/base.h"
#include "cost/kernel.h"
#include "plan/plan_internal.h"
#include "stepsim/job.h"
#include "stepsim/params.h"

/* Refuses what the card cannot run at all. */
static int check_card(const struct ss_plan *plan, struct ss_error *err)
{
    const struct ss_card *card = ss_platform_card(plan->platform);
    const struct ss_job *job = plan->job;
    const struct ss_recipe_facts *recipe = ss_recipe_at(ss_job_recipe(job));
    enum ss_precision storage = job->stored;
    if (ss_kernel_peak(card, job->precision) <= 0 || ss_kernel_peak(card, storage) <= 0)
        return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                       "%s has no %s matrix units" SS_HINT "choose another precision or card", card->name,
                       ss_precision_name(ss_kernel_peak(card, storage) <= 0 ? storage : job->precision));
    if (recipe->casts >= SS_CASTS_UNITS && ss_prop_get(recipe->efficiency, card) <= 0)
        return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                       "%s %s: the matrix units of %s cannot scale blocks of %d" SS_HINT
                       "take --fp8-recipe tensorwise, or a card of Blackwell",
                       job->precision == SS_FP8 ? "--fp8-recipe" : "--precision", recipe->word, card->name,
                       recipe->block);
    if (job->model.num_experts > 0 && job->moe.dispatch_sms >= card->sm_count && job->ep > 1 &&
        ss_dispatcher_has_stages(job->moe.dispatcher))
        return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                       "the dispatcher takes %d SMs, %s has %.0f" SS_HINT
                       "take a smaller --moe-flex-dispatcher-num-sms: 20 or 24 are usual",
                       job->moe.dispatch_sms, card->name, card->sm_count);
    return SS_OK;
}

/* Checks the schedule against the job: it was made apart from the job, by a name or in a file. */
static int check_schedule(const struct ss_plan *plan, struct ss_error *err)
{
    const struct ss_schedule *s = plan->schedule;
    const struct ss_job *job = plan->job;
    int world =
        ss_job_world_size(job, ss_platform_nodes(plan->platform), ss_platform_gpus_per_node(plan->platform));
    int m = ss_job_microbatches(job, world), depth = ss_schedule_depth(s), megatron = s->pipelines <= 1;
    for (int v = 0; v < depth; v++)
        megatron &= s->virtual_rank[v] == v % s->stages;
    if (s->stages != job->pp)
        return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                       "schedule %s has %d ranks, the job %d pipeline stages" SS_HINT
                       "use --pipeline-model-parallel-size %d",
                       s->name, s->stages, job->pp, s->stages);
    if (!job->layout.n && ss_job_chunks(job) > 1 && s->chunks != ss_job_chunks(job))
        return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                       "schedule %s has %d model chunks a rank, the job %d" SS_HINT
                       "leave the virtual stages out (--vp 1), or take --schedule auto",
                       s->name, s->chunks, ss_job_chunks(job));
    if (ss_schedule_microbatches(s) != m)
        return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                       "schedule %s has %d microbatches, the job %d" SS_HINT "use --global-batch-size %d",
                       s->name, ss_schedule_microbatches(s), m,
                       ss_schedule_microbatches(s) * job->micro_batch * ss_job_dp(job, world));
    if ((job->first_stage_layers || job->last_stage_layers) && !megatron)
        return ss_fail(
            err, SS_ERR_CONFIG, NULL, 0,
            "schedule %s places stages in another order than Megatron: uneven first and last stages have no "
            "meaning there",
            s->name);
    if (job->layout.n > 0 && job->layout.n != depth)
        return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                       "the pipeline layout has %d virtual stages, schedule %s %d" SS_HINT
                       "write the layout for this schedule, or take --schedule auto",
                       job->layout.n, s->name, depth);
    if (!job->layout.n && !job->first_stage_layers && !job->last_stage_layers &&
        ss_job_split_layers(job) % depth)
        return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                       "%d layers do not divide by the %d virtual stages of schedule %s" SS_HINT
                       "use another --pipeline-model-parallel-size or schedule",
                       ss_job_split_layers(job), depth, s->name);
    return SS_OK;
}

int ss_plan_check(struct ss_plan_builder *b, struct ss_error *err)
{
    int rc = check_schedule(b->plan, err);
    return rc ? rc : check_card(b->plan, err);
}
