/* SPDX-License-Identifier: Apache-2.0 */
/* From a plan and what its replay measured to the figures of docs/design/design.md section 5. */
#include "stepsim/result.h"
#include "stepsim/job.h"

#include "base/base.h"
#include "cost/kernel.h"
#include "result/build.h"
#include "result/pace_loss.h"
#include "schedule/spans.h"

/*
 * Returns the busy time of a stage, which decides the stage that sets the pace: kernels, exchanges of experts
 * (which differ between stages), and the extra time of slower GPUs.
 */
static double busy_time(const double spent[SS_LABEL_COUNT])
{
    return spent[SS_LABEL_COMPUTE] + spent[SS_LABEL_RECOMPUTE] + spent[SS_LABEL_OPTIMIZER] +
           spent[SS_LABEL_EP] + spent[SS_LABEL_SPREAD];
}

double ss_result_peak_flops(const struct ss_plan *plan, int sixteen_bit)
{
    const struct ss_card *card = ss_platform_card(plan->platform);

    if (sixteen_bit)
        return card->peak_bf16 > 0 ? card->peak_bf16 : card->peak_fp16;
    return ss_kernel_peak(card, plan->job->precision);
}

int ss_result_largest(const struct ss_result *r, int stage)
{
    int best = 0;

    for (int m = 1; m < SS_MEM_COUNT; m++)
        if (r->stages[stage].memory[m] > r->stages[stage].memory[best])
            best = m;
    return best;
}

int ss_result_stage_like(const struct ss_result *r, double measured)
{
    double peak = fabs(r->peak_device / measured - 1), best = peak;
    int found = -1;

    for (int s = 0; peak > 0.05 && s < r->nstages; s++) {
        double off = fabs(r->stages[s].device / measured - 1);
        if (off < 0.05 && off < best) {
            best = off;
            found = s;
        }
    }
    return found;
}

double ss_result_least(const struct ss_stage_result *s)
{
    return s->device - (s->reserved - s->allocated - s->pooled - s->waiting);
}

double ss_result_beside(const struct ss_stage_result *s)
{
    double tensors = 0;

    for (int m = 0; m < SS_MEM_COUNT; m++)
        tensors += s->memory[m];
    return s->device - tensors;
}

/* Beyond rounding, in which the engines differ. */
static int busier(const struct ss_timeline *t, int a, int b)
{
    return busy_time(t->spent[a]) > busy_time(t->spent[b]) * (1 + 1e-9);
}

/* The class of `stage` with the most busy time; the lowest of equals. -1: none. */
static int busiest_class(const struct ss_plan *plan, const struct ss_timeline *t, int stage)
{
    int best = -1;

    for (int c = 0; c < plan->nclasses; c++) {
        if (plan->classes[c].stage != stage)
            continue;
        if (best < 0 || busier(t, c, best))
            best = c;
    }
    return best;
}

void ss_result_class_memory(const struct ss_plan *plan, const struct ss_timeline *t, int cls,
                            struct ss_stage_result *out)
{
    const struct ss_plan_class *c = &plan->classes[cls];
    double fixed = 0, dynamic = 0;

    for (int m = 0; m < SS_MEM_COUNT; m++) {
        fixed += c->memory[m];
        dynamic += t->dynamic_peak[cls][m];
        out->memory[m] = c->memory[m] + t->dynamic_peak[cls][m];
    }
    /* The step's own tensors and the activations share no moment, but in flat blocks no segment either. */
    out->pooled = c->pooled_bytes;
    out->allocated = fixed - out->pooled + fmax(dynamic - fmin(c->step_bytes, dynamic), c->main_gradients);
    out->reserved = fixed + dynamic * (1 + plan->stack->fragmentation) + c->idle_bytes + c->waiting_bytes;
    out->waiting = c->waiting_bytes;
    out->device = out->reserved + ss_plan_overhead_bytes(plan, cls);
}

/* Fills the memory from the class of this stage that needs most. */
static void stage_memory(const struct ss_plan *plan, const struct ss_timeline *t, struct ss_stage_result *s)
{
    struct ss_stage_result of = *s;

    s->device = -1;
    for (int c = 0; c < plan->nclasses; c++) {
        if (plan->classes[c].stage != s->stage)
            continue;
        ss_result_class_memory(plan, t, c, &of);
        if (of.device > s->device)
            *s = of;
    }
}

/* Without what the spread of GPUs adds. */
static double even_seconds(const double by_label[SS_LABEL_COUNT])
{
    return ss_label_sum(by_label) - by_label[SS_LABEL_SPREAD];
}

/* Mean over the chunks of a class of the time of one phase. */
static double mean_phase(const struct ss_plan_class *c, int chunks, int phase)
{
    double sum = 0;

    for (int k = 0; k < chunks; k++)
        sum += even_seconds(ss_chunk_labels(&c->chunks[k], phase));
    return sum / chunks;
}

/* Returns the mean over the pairs of the class; 0: it has none. */
static double mean_pair(const struct ss_plan_class *c, int chunks)
{
    double sum = 0, n = 0;
    for (int i = 0; c->pairs && i < chunks * chunks; i++) {
        sum += even_seconds(c->pairs[i].seconds);
        n += ss_label_sum(c->pairs[i].seconds) > 0;
    }
    return n > 0 ? sum / n : 0;
}

/* Mean durations of class c for all stages and chunks: of a phase in buffer[phase * chunks ..]. */
static void mean_durations(const struct ss_plan *plan, int c, double *buffer,
                           const double *duration[SS_PHASE_COUNT])
{
    int chunks = plan->schedule->chunks;
    for (int phase = 0; phase < SS_PHASE_COUNT; phase++) {
        double mean = phase < SS_PHASE_FB ? mean_phase(&plan->classes[c], chunks, phase)
                                          : mean_pair(&plan->classes[c], chunks);
        duration[phase] = buffer + (size_t)phase * (size_t)chunks;
        for (int k = 0; k < chunks; k++)
            buffer[phase * chunks + k] = mean;
        if (phase == SS_PHASE_FB && !(mean > 0))
            duration[phase] = NULL; /* F of one chunk + B of the other */
    }
}

/* Finds the idle time of class c's rank under a schedule of its plan. */
static int idle_of(const struct ss_schedule *s, const struct ss_plan_class *c,
                   const double *const duration[SS_PHASE_COUNT], struct ss_cache *cache, double *rank_idle,
                   double *idle, struct ss_error *err)
{
    double makespan;
    int rc = ss_schedule_makespan_kept(s, duration, cache, &makespan, rank_idle, err);
    if (!rc)
        *idle = fmax(0, rank_idle[c->stage]);
    if (!rc && c->norm < 0) { /* ranks do not wait for the last one: the worst inner gap stays */
        rc = ss_schedule_bubble(s, duration, rank_idle, err);
        *idle = 0;
        for (int r = 0; !rc && r < s->stages; r++)
            *idle = fmax(*idle, rank_idle[r]);
    }
    return rc;
}

/*
 * Finds the schedule's own bubble: the idle time if all stages and chunks took the average times of class c,
 * with free communication. Idle time beyond it comes from unequal stages and from transfers.
 */
static int schedule_bubble(const struct ss_plan *plan, int c, struct ss_cache *cache, double *idle,
                           struct ss_error *err)
{
    const struct ss_schedule *s = plan->schedule;
    size_t v = (size_t)s->chunks, p = (size_t)s->stages;
    double *buffer = ss_calloc(SS_PHASE_COUNT * v + p, sizeof *buffer);
    const double *duration[SS_PHASE_COUNT];

    SS_NEED(buffer, err);
    mean_durations(plan, c, buffer, duration);
    int rc = idle_of(s, &plan->classes[c], duration, cache, buffer + SS_PHASE_COUNT * v, idle, err);
    free(buffer);
    return rc;
}

/* Gives back what slower kernels hide: the label then is as long as if they hid no more than others. A label that they make longer
 * loses no more than a replay that overlaps more than closed forms has of it. */
static void give_back_hidden(const double hidden[SS_LABEL_COUNT], double breakdown[SS_LABEL_COUNT])
{
    double back[SS_LABEL_COUNT];
    for (int l = 0; l < SS_LABEL_COUNT; l++)
        back[l] = fmax(hidden[l], -breakdown[l]);
    double sum = ss_label_sum(back);
    double share = sum > breakdown[SS_LABEL_SPREAD] ? breakdown[SS_LABEL_SPREAD] / sum : 1;
    if (!(sum > 0))
        return;
    for (int l = 0; l < SS_LABEL_COUNT; l++)
        breakdown[l] += share * back[l];
    breakdown[SS_LABEL_SPREAD] -= share * sum;
}

/* Splits the idle time, which the timeline gives as bubble, and what slower GPUs add to kernels: into the schedule's share, which is
 * that of GPUs that do not differ, the `spread` s by which an iteration is longer because they do, and imbalance. */
static int stage_breakdown(const struct ss_plan *plan, const struct ss_timeline *t, double bubble,
                           double spread, struct ss_stage_result *s, struct ss_error *err)
{
    int c = busiest_class(plan, t, s->stage);

    if (c < 0)
        return ss_fail(err, SS_ERR_ENGINE, NULL, 0, "no rank was simulated for pipeline stage %d", s->stage);
    s->rank = plan->classes[c].representative;
    for (int l = 0; l < SS_LABEL_COUNT; l++)
        s->breakdown[l] = t->spent[c][l];
    give_back_hidden(plan->classes[c].hidden, s->breakdown);
    double idle = s->breakdown[SS_LABEL_BUBBLE] + s->breakdown[SS_LABEL_SPREAD];
    s->breakdown[SS_LABEL_SPREAD] = fmin(idle, spread);
    idle -= s->breakdown[SS_LABEL_SPREAD];
    s->breakdown[SS_LABEL_BUBBLE] = fmin(idle, bubble);
    s->breakdown[SS_LABEL_IMBALANCE] += idle - fmin(idle, bubble);
    stage_memory(plan, t, s);
    return SS_OK;
}

static int critical_stage(const struct ss_plan *plan, const struct ss_timeline *t, int *class_out)
{
    int best = -1, stage = 0;

    for (int s = 0; s < plan->schedule->stages; s++) {
        int c = busiest_class(plan, t, s);
        if (c >= 0 && (best < 0 || busier(t, c, best))) {
            best = c;
            stage = s;
        }
    }
    *class_out = best;
    return stage;
}

static void fill_memory(struct ss_result *r, const struct ss_plan *plan)
{
    double least = 0;
    r->capacity = ss_platform_card(plan->platform)->device_memory;
    r->peak_stage = 0;
    for (int s = 0; s < r->nstages; s++) {
        const struct ss_stage_result *stage = &r->stages[s];
        if (stage->device > r->stages[r->peak_stage].device)
            r->peak_stage = s;
        r->peak_reserved = fmax(r->peak_reserved, stage->reserved);
        r->peak_allocated = fmax(r->peak_allocated, stage->allocated);
        least = fmax(least, ss_result_least(stage));
    }
    r->peak_device = r->stages[r->peak_stage].device;
    r->fits = least <= r->capacity;
    r->thrash = r->fits && r->capacity - r->peak_device < plan->stack->thrash_margin * r->capacity;
}

/* Splits the critical class's idle time: the schedule's own part, and the part from slower GPUs. */
static int split_idle(const struct ss_plan *plan, const struct ss_timeline *t, int cls,
                      struct ss_cache *cache, double *idle, double *spread, struct ss_error *err)
{
    int rc = schedule_bubble(plan, cls, cache, idle, err);
    return rc ? rc : ss_result_pace(plan, t, cls, *idle, cache, spread, err);
}

int ss_result_build_brief(const struct ss_plan *plan, const struct ss_timeline *timeline, int engine,
                          int brief, struct ss_cache *cache, struct ss_result **out, struct ss_error *err)
{
    double idle = 0, spread = 0;
    int critical_class, rc = SS_OK;
    struct ss_result *r = ss_calloc(1, sizeof *r);

    if (r)
        r->stages = ss_calloc((size_t)plan->schedule->stages, sizeof *r->stages);
    if (!r || !r->stages) {
        ss_result_free(r);
        return ss_nomem(err);
    }
    r->nstages = plan->schedule->stages;
    r->iteration_s = timeline->iteration_s;
    r->events = timeline->events;
    r->engine = engine;
    r->level = plan->level;
    r->ranks_simulated = timeline->nclasses;
    r->brief = brief;
    r->critical_stage = critical_stage(plan, timeline, &critical_class);
    if (critical_class < 0)
        rc = ss_fail(err, SS_ERR_ENGINE, NULL, 0, "no rank was simulated");
    else if (!brief)
        rc = split_idle(plan, timeline, critical_class, cache, &idle, &spread, err);
    for (int s = 0; !rc && s < r->nstages; s++) {
        r->stages[s].stage = s;
        rc = stage_breakdown(plan, timeline, idle, spread, &r->stages[s], err);
    }
    if (rc) {
        ss_result_free(r);
        return rc;
    }
    fill_memory(r, plan);
    *out = r;
    return SS_OK;
}

int ss_result_build(const struct ss_plan *plan, const struct ss_timeline *timeline, int engine,
                    struct ss_result **out, struct ss_error *err)
{
    return ss_result_build_brief(plan, timeline, engine, 0, NULL, out, err);
}

void ss_result_free(struct ss_result *r)
{
    if (!r)
        return;
    SS_FREE(r->stages, r->timers, r->links, r);
}

double ss_error_pct(double predicted, double measured)
{
    return 100 * (predicted - measured) / measured;
}

int ss_is_other_unit(double predicted, double measured)
{
    return predicted > 0 && measured > 0 && (predicted > 20 * measured || measured > 20 * predicted);
}
