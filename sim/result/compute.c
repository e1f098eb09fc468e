/* SPDX-License-Identifier: Apache-2.0 */
/* From the steps of the slots to seconds by operator. */
#include "stepsim/compute.h"

#include "base/base.h"
#include "cost/kernel.h"
#include "stepsim/result.h"

#define EXACT 1e-9 /* of a stage's kernels: a smaller difference is rounding */

SS_NAMES(ss_part_key, SS_PART_LIST, SS_SECOND)
SS_NAMES(ss_part_words, SS_PART_LIST, SS_THIRD)
SS_NAMES(ss_launch_kind_key, SS_LAUNCH_LIST, SS_SECOND)
SS_NAMES(ss_launch_kind_words, SS_LAUNCH_LIST, SS_THIRD)

const char *ss_kernel_bound(const struct ss_kernel_use *kernel)
{
    return kernel->flops_share >= kernel->bytes_share ? "compute" : "memory";
}

/* Kernels of a class by operator and pass. */
struct table {
    struct ss_kernel_use *use;
    size_t cap;
    int n, last; /* the one that was counted last: layers have the same kernels in the same order */
};

static int is_same(const struct ss_kernel_use *u, const struct ss_step *s, int again)
{
    return u->phase == s->phase && u->part == s->part && u->precision == s->precision && u->again == again &&
           (u->op == s->op || !strcmp(u->op, s->op));
}

static int count_kernel(struct table *t, const struct ss_step *s, double times)
{
    int i = t->last + 1, again = s->label == SS_LABEL_RECOMPUTE;

    if (i >= t->n || !is_same(&t->use[i], s, again))
        for (i = 0; i < t->n && !is_same(&t->use[i], s, again);)
            i++;
    t->last = i;
    if (i == t->n) {
        if (ss_grow(&t->use, &t->cap, (size_t)t->n + 1, sizeof *t->use))
            return SS_ERR_NOMEM;
        t->use[t->n++] = (struct ss_kernel_use){.op = s->op,
                                                .op_kind = s->op_kind,
                                                .phase = s->phase,
                                                .part = s->part,
                                                .precision = s->precision,
                                                .again = again};
    }
    t->use[i].calls += times;
    t->use[i].seconds += times * s->seconds;
    t->use[i].flops += times * s->flops;
    t->use[i].bytes += times * s->bytes;
    return SS_OK;
}

/* How often the i-th slot of a stage runs. */
static double times_of(const struct ss_schedule *s, int stage, int i)
{
    int first = s->loop_first ? s->loop_first[stage] : 0;

    return s->loop_more && i >= first && i < first + s->loop_length ? 1.0 + s->loop_more : 1;
}

/* The class at hand. */
struct counting {
    int chunks;
    double *times; /* how often the slots of a phase and chunk run in an iteration; those of pairs follow */
    struct ss_compute_stage *out;
    struct table *kernels; /* NULL: not wanted */
};

static size_t place_of(int chunks, int phase, int chunk, int chunk2)
{
    return phase == SS_PHASE_FB ? (size_t)(SS_PHASE_FB * chunks + chunk * chunks + chunk2)
                                : (size_t)(phase * chunks + chunk);
}

static int runs(void *ctx, const struct ss_kernel_place *at)
{
    const struct counting *c = ctx;

    return c->times[place_of(c->chunks, at->phase, at->chunk, at->chunk2)] > 0;
}

static int count_step(void *ctx, const struct ss_kernel_place *at, const struct ss_step *s)
{
    struct counting *c = ctx;
    double times = at->count * c->times[place_of(c->chunks, at->phase, at->chunk, at->chunk2)];

    if (s->label != SS_LABEL_COMPUTE && s->label != SS_LABEL_RECOMPUTE)
        return SS_OK;
    (s->label == SS_LABEL_COMPUTE ? c->out->compute : c->out->recompute)[s->part] += times * s->seconds;
    return c->kernels && s->op ? count_kernel(c->kernels, s, times) : SS_OK;
}

/* Adds up what the host issues in all slots of a class, and in its step. */
static void count_launches(const struct ss_plan_class *pc, int chunks, const double *times, double *launches)
{
    for (int k = 0; k < chunks; k++)
        for (int i = 0; i < SS_LAUNCHES; i++) {
            double forwards = times[place_of(chunks, SS_PHASE_F, k, 0)];
            double backwards =
                times[place_of(chunks, SS_PHASE_B, k, 0)] + times[place_of(chunks, SS_PHASE_I, k, 0)];
            for (int other = 0; other < chunks; other++) {
                forwards += times[place_of(chunks, SS_PHASE_FB, k, other)];
                backwards += times[place_of(chunks, SS_PHASE_FB, other, k)];
            }
            launches[i] += forwards * pc->chunks[k].launches[0][i] + backwards * pc->chunks[k].launches[1][i];
        }
    launches[SS_LAUNCH_OPTIMIZER] += pc->optimizer_calls_s;
}

/* Counts how often the slots of a class run. */
static void count_slots(const struct ss_plan *plan, int cls, double *times)
{
    const struct ss_schedule *s = plan->schedule;
    int chunks = s->chunks, stage = plan->classes[cls].stage;

    for (int i = 0; i < s->nslots[stage]; i++) {
        const struct ss_slot *slot = &s->slots[stage][i];
        int apart = slot->phase == SS_PHASE_FB && !plan->classes[cls].pairs; /* one after the other */
        int phase = apart ? SS_PHASE_F : slot->phase;
        times[place_of(chunks, phase, slot->chunk, slot->chunk2)] += times_of(s, stage, i);
        if (apart)
            times[place_of(chunks, SS_PHASE_B, slot->chunk2, 0)] += times_of(s, stage, i);
    }
}

static double sum(const double *parts)
{
    double all = 0;

    for (int i = 0; i < SS_PARTS; i++)
        all += parts[i];
    return all;
}

static int longer(const void *pa, const void *pb)
{
    const struct ss_kernel_use *a = pa, *b = pb;

    if (a->seconds != b->seconds)
        return (a->seconds < b->seconds) - (a->seconds > b->seconds);
    return a->phase != b->phase ? a->phase - b->phase : strcmp(a->op, b->op);
}

static void find_heaviest(const struct ss_plan *plan, struct table *t, struct ss_compute *out)
{
    const struct ss_card *card = ss_platform_card(plan->platform);

    if (t->n)
        qsort(t->use, (size_t)t->n, sizeof *t->use, longer);
    for (int i = 0; i < t->n && i < SS_HEAVIEST; i++) {
        struct ss_kernel_use *u = &out->kernels[out->nkernels++];
        double peak = ss_kernel_peak(card, t->use[i].precision);
        *u = t->use[i];
        u->flops_share = peak > 0 ? u->flops / u->seconds / peak : 0;
        u->bytes_share = u->bytes / u->seconds / card->hbm_bandwidth;
    }
}

/* Returns what the label has beyond the kernels; 0 where that is rounding. */
static double rest_of(double label, const double *parts)
{
    double rest = label - sum(parts);

    return fabs(rest) > EXACT * label ? rest : 0;
}

static double kernels_of(const struct ss_compute_stage *s)
{
    return sum(s->compute) + sum(s->recompute);
}

/* Finds the longest stage, its excess over the mean of the shorter stages, and the parts of that. Among
 * equally long stages it is the critical one if that is among them, else the first. */
static void find_longest(struct ss_compute *out, int critical)
{
    double most = 0, others[SS_PARTS] = {0}, mean;
    int shorter = 0;

    for (int s = 0; s < out->nstages; s++)
        most = fmax(most, kernels_of(&out->stages[s]));
    out->longest = -1;
    for (int s = 0; s < out->nstages; s++) {
        if (kernels_of(&out->stages[s]) < most * (1 - EXACT)) {
            shorter++;
            continue;
        }
        out->longest = out->longest < 0 || s == critical ? s : out->longest;
    }
    out->alike = out->nstages - shorter - 1;
    for (int s = 0; s < out->nstages; s++)
        for (int i = 0; kernels_of(&out->stages[s]) < most * (1 - EXACT) && i < SS_PARTS; i++)
            others[i] += (out->stages[s].compute[i] + out->stages[s].recompute[i]) / shorter;
    mean = sum(others);
    if (!(mean > 0))
        return;
    out->longer = most / mean - 1;
    for (int i = 0; i < SS_PARTS; i++) {
        const struct ss_compute_stage *s = &out->stages[out->longest];
        double more = (s->compute[i] + s->recompute[i] - others[i]) / mean;
        out->more[i] = fabs(more) > EXACT ? more : 0;
    }
}

static int open_stages(const struct ss_plan *plan, const struct ss_result *r, struct ss_cache *cache,
                       struct ss_compute *out, struct ss_error *err)
{
    struct table t = {0};
    const int chunks = plan->schedule->chunks;
    const size_t places = place_of(chunks, SS_PHASE_FB, chunks, 0);
    double *all = ss_calloc((size_t)out->nstages * places, sizeof *all);
    int rc = all ? SS_OK : ss_nomem(err);

    for (int s = 0; s < out->nstages && !rc; s++) {
        struct ss_compute_stage *stage = &out->stages[s];
        struct counting c = {chunks, all + (size_t)s * places, stage, s == r->critical_stage ? &t : NULL};
        const int cls = plan->class_of[r->stages[s].rank];
        int like = 0; /* an earlier stage with as many of the same kernels */
        count_slots(plan, cls, c.times);
        while (like < s &&
               (c.kernels || !ss_plan_kernels_same(plan, plan->class_of[r->stages[like].rank], cls) ||
                memcmp(all + (size_t)like * places, c.times, places * sizeof *all) != 0))
            like++;
        if (like < s)
            *stage = out->stages[like];
        else
            rc = ss_plan_kernels_visit(plan, cls, &(struct ss_kernel_visitor){count_step, runs, &c, cache},
                                       err);
        memset(stage->launches, 0, sizeof stage->launches);
        count_launches(&plan->classes[cls], chunks, c.times, stage->launches);
        stage->compute_rest = rest_of(r->stages[s].breakdown[SS_LABEL_COMPUTE], stage->compute);
        stage->recompute_rest = rest_of(r->stages[s].breakdown[SS_LABEL_RECOMPUTE], stage->recompute);
    }
    if (!rc) {
        find_heaviest(plan, &t, out);
        find_longest(out, r->critical_stage);
    }
    SS_FREE(all, t.use);
    return rc;
}

int ss_compute_open(const struct ss_run *run, struct ss_cache *cache, struct ss_compute **out,
                    struct ss_error *err)
{
    struct ss_compute *c = ss_calloc(1, sizeof *c);
    int rc;

    if (c)
        c->stages = ss_calloc((size_t)run->result->nstages, sizeof *c->stages);
    if (!c || !c->stages) {
        ss_compute_free(c);
        return ss_nomem(err);
    }
    c->nstages = run->result->nstages;
    rc = open_stages(run->plan, run->result, cache, c, err);
    SS_HAND(rc, c, out, ss_compute_free);
}

void ss_compute_free(struct ss_compute *compute)
{
    if (compute)
        free(compute->stages);
    free(compute);
}
