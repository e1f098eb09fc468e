/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a search from a real job: the times and memory of its stages, and the memory that the card
 * leaves for activations. */
#include "base/base.h"
#include "stepsim/job.h"
#include "stepsim/schedule_study.h"
#include "stepsim/stack.h"

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

/* Returns the least memory of a rank: a microbatch has passed all its chunks before the first backward. */
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
    if (least_device(q, worst) > bytes)
        return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                       "search: no order exists under a cap of %.4g GiB" SS_HINT
                       "stage %d needs %.4g GiB for one microbatch",
                       bytes / SS_GIB, worst, least_device(q, worst) / SS_GIB);
    q->limit = fmin(q->limit, bytes);
    set_caps(q);
    return SS_OK;
}

/* Builds the scenario under some schedule of the placement, so that the plan has its stages. It does not
 * matter here what the schedule demands of the microbatches. */
static int build_placed(const struct ss_scenario *s, const char *schedule, struct ss_scenario **out,
                        struct ss_error *err)
{
    const struct ss_scenario_options like = {.like = s};
    const struct ss_job *job = s->job;
    int microbatches = ss_job_microbatches(job, s->world_size);
    int64_t batch = job->global_batch;
    char text[24];
    struct ss_request r;

    if (microbatches > 0 && microbatches < 2 * job->pp)
        batch *= (2 * job->pp + microbatches - 1) / microbatches;
    if (batch > INT_MAX)
        return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                       "the batch is too large to search a schedule for" SS_HINT
                       "take a smaller --micro-batch-size and --global-batch-size");
    SS_TRY(ss_request_copy(s->request, &r, err));
    snprintf(text, sizeof text, "%lld", (long long)batch);
    int rc = ss_request_set(&r, "--global-batch-size", text, err);
    SS_THEN(rc, ss_request_set(&r, "--schedule", schedule, err));
    SS_THEN(rc, ss_scenario_build(&r, &like, out, err));
    ss_request_free(&r);
    return rc;
}

static struct ss_search *make(const struct ss_run *run, int chunks, int microbatches, int v_shape)
{
    const struct ss_plan *plan = run->plan;
    struct ss_search *q = ss_search_new(plan->job->pp, chunks, microbatches);

    if (!q)
        return NULL;
    q->v_shape = v_shape;
    q->barrier = ss_plan_has_barrier(plan);
    for (int c = 0; c < plan->nclasses; c++)
        take_class(q, plan, c);
    q->growth = 1 + plan->stack->fragmentation;
    q->limit = ss_platform_card(plan->platform)->device_memory;
    set_caps(q);
    return q;
}

int ss_search_from_job(const struct ss_scenario *s, int v_shape, struct ss_search **out, struct ss_error *err)
{
    int chunks = v_shape ? 2 : ss_job_chunks(s->job);
    struct ss_scenario *placed;
    struct ss_run run;

    SS_TRY(build_placed(s, ss_schedule_undemanding(chunks, v_shape), &placed, err));
    int rc = ss_run_scenario(placed, NULL, &run, err);
    if (!rc) {
        *out = make(&run, chunks, ss_job_microbatches(s->job, s->world_size), v_shape);
        ss_run_free(&run);
        if (!*out)
            rc = ss_nomem(err);
    }
    ss_scenario_free(placed);
    return rc;
}
