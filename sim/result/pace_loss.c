/* SPDX-License-Identifier: Apache-2.0 */
/* Time that the lasting spread of GPUs adds to an iteration. */
#include "result/pace_loss.h"

#include "base/base.h"
#include "schedule/spans.h"

/* Seconds of slots: of the first class of each stage, with or without SS_LABEL_SPREAD. */
struct paced {
    const struct ss_plan *plan;
    int *of_stage; /* class */
    int rank;      /* the busiest one */
    int even;      /* 1: without */
    double net;    /* the share of it that is not hidden, 0..1 */
};

static double seconds_of(const struct paced *p, const double *by_label)
{
    return ss_label_sum(by_label) - (p->even ? p->net * by_label[SS_LABEL_SPREAD] : 0);
}

static double phase_of(const struct paced *p, int rank, int phase, int chunk)
{
    return seconds_of(p, ss_chunk_labels(&p->plan->classes[p->of_stage[rank]].chunks[chunk], phase));
}

static double slot_seconds(void *ctx, int rank, const struct ss_slot *slot)
{
    const struct paced *p = ctx;
    const struct ss_plan_class *c = &p->plan->classes[p->of_stage[rank]];
    if (slot->phase != SS_PHASE_FB)
        return phase_of(p, rank, slot->phase, slot->chunk);
    if (c->pairs)
        return seconds_of(p, c->pairs[slot->chunk * p->plan->schedule->chunks + slot->chunk2].seconds);
    return phase_of(p, rank, SS_PHASE_F, slot->chunk) + phase_of(p, rank, SS_PHASE_B, slot->chunk2);
}

/* Shares of the iteration. */
#define NOT_SEEN 1e-4

/* Finds how much longer a rank idles in the schedule than on GPUs that are alike. idle: [2 * stages]. */
static int idles_longer(const struct paced *p, struct ss_cache *cache, double *idle, double *out,
                        struct ss_error *err)
{
    const struct ss_schedule *s = p->plan->schedule;
    struct paced even = *p, paced = *p;
    void *const both[] = {&even, &paced};
    double seconds[2];
    even.even = 1;
    int rc = ss_schedule_makespans_kept(s, slot_seconds, both, cache, seconds, idle, err);
    *out = rc ? 0 : idle[s->stages + p->rank] - idle[p->rank];
    return rc;
}

static double largest_pace(const struct ss_plan *plan)
{
    double most = 0;
    for (int c = 0; c < plan->nclasses; c++)
        most = fmax(most, plan->classes[c].pace);
    return most;
}

static int differs(const struct ss_plan *plan)
{
    for (int c = 0; c < plan->nclasses; c++)
        if (plan->classes[c].pace != 1)
            return 1;
    return 0;
}

static int idles_longer_all(struct paced *p, struct ss_cache *cache, double *out, struct ss_error *err)
{
    size_t stages = (size_t)p->plan->schedule->stages;
    double *idle = ss_calloc(2 * stages, sizeof *idle);
    p->of_stage = ss_calloc(stages, sizeof *p->of_stage);
    for (int c = p->plan->nclasses - 1; p->of_stage && c >= 0; c--)
        p->of_stage[p->plan->classes[c].stage] = c;
    int rc = idle && p->of_stage ? idles_longer(p, cache, idle, out, err) : ss_nomem(err);
    SS_FREE(p->of_stage, idle);
    return rc;
}

int ss_result_pace(const struct ss_plan *plan, const struct ss_timeline *t, int cls, double bubble,
                   struct ss_cache *cache, double *seconds, struct ss_error *err)
{
    struct paced p = {.plan = plan, .rank = plan->classes[cls].stage};
    double more = 0;
    int rc = SS_OK;
    *seconds = 0;
    if (!differs(plan))
        return SS_OK;
    const double own = t->spent[cls][SS_LABEL_SPREAD], hidden = ss_label_sum(plan->classes[cls].hidden);
    *seconds = fmax(0, plan->even_s > 0 ? t->iteration_s - plan->even_s : own - hidden);
    if (plan->even_s > 0 || bubble * (largest_pace(plan) - 1) < NOT_SEEN * t->iteration_s)
        return SS_OK;
    p.net = own > 0 ? fmax(0, 1 - hidden / own) : 0;
    rc = idles_longer_all(&p, cache, &more, err);
    *seconds = fmax(0, *seconds + more);
    return rc;
}
