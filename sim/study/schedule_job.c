/* SPDX-License-Identifier: Apache-2.0 */
/* What a search needs of a real job: times and memory of its stages, and what the card leaves for activations. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "stepsim/result.h"
#include "stepsim/schedule_study.h"

static void take_class(struct ss_search *q, const struct ss_plan *plan, int cls)
{
    const struct ss_plan_class *c = &plan->classes[cls];
    double fixed = ss_plan_overhead_bytes(plan, cls), extra = 0;
    for (int k = 0; k < q->chunks; k++) {
        const struct ss_chunk_cost *chunk = &c->chunks[k];
        int at = c->stage * q->chunks + k;
        q->f[at] = fmax(q->f[at], ss_label_sum(chunk->forward));
        q->i[at] = fmax(q->i[at], ss_label_sum(chunk->input_grad));
        q->w[at] = fmax(q->w[at], ss_label_sum(chunk->weight_grad));
        q->activation[at] = chunk->activation_bytes + chunk->logits_bytes;
        q->weight[at] = chunk->weight_grad_bytes;
        extra = fmax(extra, fmax(chunk->forward_extra_bytes, chunk->backward_extra_bytes));
    }
    for (int m = 0; m < SS_MEM_COUNT; m++)
        fixed += c->memory[m];
    q->fixed[c->stage] = fmax(q->fixed[c->stage], fixed);
    q->extra[c->stage] = fmax(q->extra[c->stage], extra);
}

double ss_search_device(const struct ss_search *q, int rank, double peak)
{
    return q->fixed[rank] + q->growth * (peak + q->extra[rank]);
}

/* A microbatch is in all chunks of a rank before its first backward. */
static double least_device(const struct ss_search *q, int rank)
{
    double sum = 0;
    for (int k = 0; k < q->chunks; k++)
        sum += q->activation[rank * q->chunks + k];
    return ss_search_device(q, rank, sum);
}

static void set_caps(struct ss_search *q)
{
    for (int r = 0; r < q->stages; r++)
        q->cap[r] = fmax(0, (q->limit - q->fixed[r]) / q->growth - q->extra[r]);
}

int ss_search_limit(struct ss_search *q, double bytes, struct ss_error *err)
{
    int worst = 0;
    for (int r = 1; r < q->stages; r++)
        if (least_device(q, r) > least_device(q, worst))
            worst = r;
    if (least_device(q, worst) > bytes) {
        ss_fail(err, SS_ERR_CONFIG, NULL, 0, "search: no order exists under a cap of %.4g GiB", bytes / SS_GIB);
        return ss_hint(err, SS_ERR_CONFIG, "stage %d needs %.4g GiB for one microbatch", worst,
                       least_device(q, worst) / SS_GIB);
    }
    q->limit = fmin(q->limit, bytes);
    set_caps(q);
    return SS_OK;
}

int ss_search_from_job(const struct ss_job *job, const struct ss_stack *stack,
                       const struct ss_platform *platform, int v_shape, struct ss_search **out,
                       struct ss_error *err)
{
    struct ss_job own = *job;
    struct ss_run run;
    int chunks = v_shape ? 2 : ss_job_chunks(job);
    /* Any schedule of the same placement gives the plan its stages; what these need of the microbatches is no matter here. */
    int world = ss_platform_nodes(platform) * ss_platform_gpus_per_node(platform);
    int microbatches = ss_job_microbatches(job, world);
    if (microbatches > 0 && microbatches < 2 * job->pp) {
        int64_t batch = (int64_t)job->global_batch * ((2 * job->pp + microbatches - 1) / microbatches);
        if (batch > INT_MAX) {
            ss_fail(err, SS_ERR_CONFIG, NULL, 0, "the batch is too large to search a schedule for");
            return ss_hint(err, SS_ERR_CONFIG, "take a smaller --micro-batch-size and --global-batch-size");
        }
        own.global_batch = (int)batch;
    }
    ss_copy(own.schedule, sizeof own.schedule, ss_schedule_undemanding(chunks, v_shape));
    int rc = ss_run_job(&own, stack, platform, SS_ENGINE_NATIVE, &run, err);
    if (rc)
        return rc;
    struct ss_search *q = ss_search_new(job->pp, chunks, microbatches);
    if (q) {
        q->v_shape = v_shape;
        q->barrier = ss_plan_has_barrier(run.plan);
        for (int c = 0; c < run.plan->nclasses; c++)
            take_class(q, run.plan, c);
        q->growth = 1 + stack->fragmentation;
        q->limit = ss_platform_card(platform)->device_memory;
        set_caps(q);
    }
    ss_run_free(&run);
    if (!q)
        return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "no memory to search schedules");
    *out = q;
    return SS_OK;
}
