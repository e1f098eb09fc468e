/* SPDX-License-Identifier: Apache-2.0 */
/* What messages between stages add to the bounds of a plan, and what Megatron's orders are. */
#include "base/base.h"
#include "plan/bounds.h"
#include "plan/plan_internal.h"
#include "stepsim/job.h"

/* Returns the least seconds of a message of the first rank of a stage to that of another: those on the slowest NIC of its route. */
static double message_of(const struct ss_plan *plan, int from, int to, double bytes)
{
    const int stride = plan->ranks.stride[SS_AXIS_PP];
    double seconds = 0;
    struct ss_route way;
    ss_platform_route(plan->platform, ss_plan_gpu(plan, from * stride), ss_plan_gpu(plan, to * stride), &way);
    for (int i = 0; i < way.nlinks; i++) {
        double bandwidth;
        int kind;
        ss_platform_link_facts(plan->platform, way.link[i], &kind, &bandwidth);
        if (kind == SS_LINK_NIC)
            seconds = fmax(seconds, bytes / (bandwidth * ss_link_efficiency(plan, kind)));
    }
    return seconds;
}

void ss_plan_bounds_add_messages(const struct ss_plan *plan, struct ss_plan_bounds *out)
{
    int p = plan->schedule->stages;
    if (p < 2 || !ss_platform_is_template(plan->platform))
        return;
    if (ss_job_copies_embedding(plan->job))
        out->tied = message_of(plan, 0, p - 1, ss_plan_embedding_bytes(plan));
    if (plan->job->moe.overlap)
        return;
    for (int s = 0; s + 1 < p; s++)
        out->hops += message_of(plan, s, s + 1, out->sent);
    out->wrap = message_of(plan, p - 1, 0, out->sent);
}

int ss_plan_bounds_group(const struct ss_job *job, int microbatches)
{
    int group = ss_job_chunks(job) == 1      ? 1
                : job->microbatch_group_size ? job->microbatch_group_size
                                             : job->pp;
    return microbatches % group == 0 ? group : 0;
}

double ss_plan_bounds_messages(const struct ss_plan_bounds *b, int chunks)
{
    return 2 * (chunks * b->hops + (chunks - 1) * b->wrap);
}

int ss_plan_bounds_is_megatrons(const struct ss_job *job)
{
    return !job->schedule[0] || !strcmp(job->schedule, "auto") ||
           !strcmp(job->schedule, ss_schedule_default(ss_job_chunks(job)));
}

int ss_plan_bounds_warmup(const struct ss_job *job, int stage, int microbatches)
{
    int p = job->pp, v = ss_job_chunks(job), all = v * microbatches;
    int group = job->microbatch_group_size ? job->microbatch_group_size : p;
    int warmup = v > 1 ? 2 * (p - stage - 1) + (v - 1) * group : p - stage - 1;
    return warmup < all ? warmup : all;
}
