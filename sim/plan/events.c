/* SPDX-License-Identifier: Apache-2.0 */
/* How many events and flows the steps of a plan become, before they are written out. Layer and flow level only. */
#include "base/base.h"
#include "plan/plan_internal.h"

/* A tally of one list of steps, which runs `times` times. */
struct tally {
    double n, times, most;
    int work;                 /* 1: the steps since the last post or wait compute, as one event */
    int flows[SS_COMM_COUNT]; /* flows of a rank's post beyond the first, which goes with the post */
};

static int add_step(void *ctx, const struct ss_layer_step *s)
{
    struct tally *t = ctx;
    if (s->kind == SS_STEP_COMPUTE) {
        t->work = 1;
        return 0;
    }
    t->n += t->times * (1 + t->work + (s->kind == SS_STEP_POST ? t->flows[s->comm] : 0));
    t->work = 0;
    return t->n > t->most;
}

/* Folded ranks share flows, so that few are left. */
static void count_flows(const struct ss_plan_builder *b, int flows[SS_COMM_COUNT])
{
    for (int comm = 0; comm < SS_COMM_COUNT && b->plan->unfolded; comm++) {
        int width = 0;
        for (int hop = 0; hop < SS_HOP_COUNT; hop++)
            width += b->routes.width[comm][hop];
        flows[comm] = width > 1 ? width - 1 : 0;
    }
}

/* Fills in how often the slots of a rank run each phase of each chunk: out[chunk][phase]. A pair has the steps
 * of both of its halves. */
static void count_slots(const struct ss_schedule *s, int rank, int (*out)[SS_PHASE_COUNT])
{
    for (int k = 0; k < s->chunks; k++)
        for (int phase = 0; phase < SS_PHASE_COUNT; phase++)
            out[k][phase] = 0;
    for (int i = 0; i < s->nslots[rank]; i++) {
        const struct ss_slot *slot = &s->slots[rank][i];
        int looped = s->loop_more > 0 && i >= s->loop_first[rank] && i < s->loop_first[rank] + s->loop_length,
            times = looped ? s->loop_more + 1 : 1;
        out[slot->chunk][slot->phase == SS_PHASE_FB ? SS_PHASE_F : slot->phase] += times;
        if (slot->phase == SS_PHASE_FB)
            out[slot->chunk2][SS_PHASE_B] += times;
    }
}

/* Adds the events of the `classes` classes that have this cost. */
static int add_cost(const struct ss_plan *plan, const struct ss_cost_entry *e, int classes,
                    int (*slots)[SS_PHASE_COUNT], struct tally *t)
{
    int rc = SS_OK;
    count_slots(plan->schedule, e->site.stage, slots);
    for (int k = 0; k < plan->schedule->chunks && !rc; k++)
        for (int phase = 0; phase < SS_PHASE_FB && !rc; phase++) {
            t->times = (double)classes * slots[k][phase];
            if (!(t->times > 0))
                continue;
            rc = ss_chunk_steps_visit(e->cost.set, k, phase, add_step, t);
            t->n += t->work * t->times;
            t->work = 0;
        }
    return rc;
}

int ss_plan_events_limit(struct ss_plan_builder *b, struct ss_error *err)
{
    const struct ss_plan *plan = b->plan;
    struct tally t = {.most = b->options->most_events};
    if (plan->level == SS_LEVEL_CHUNK || !(t.most > 0))
        return SS_OK;
    int *classes = ss_calloc((size_t)b->ncosts, sizeof *classes), rc = SS_OK;
    int(*slots)[SS_PHASE_COUNT] = ss_calloc((size_t)plan->schedule->chunks, sizeof *slots);
    if (!classes || !slots)
        rc = ss_nomem(err);
    count_flows(b, t.flows);
    for (int c = 0; c < plan->nclasses && !rc; c++)
        classes[b->cost_of[c]]++;
    for (int i = 0; i < b->ncosts && !rc; i++)
        rc = add_cost(plan, &b->costs[i], classes[i], slots, &t);
    SS_FREE(classes, slots);
    if (rc < 0)
        return rc == SS_ERR_NOMEM ? ss_nomem(err) : rc;
    if (!(t.n > t.most))
        return SS_OK;
    return ss_fail(err, SS_ERR_UNSUPPORTED, NULL, 0, "more than %.0f million events and flows at %s level",
                   t.most / 1e6, ss_level_name(plan->level));
}
