/* SPDX-License-Identifier: Apache-2.0 */
/* What tokens choose, kind by kind: the probability that a token chooses an expert. */
#include "base/base.h"
#include "base/draw.h"
#include "base/map.h"
#include "cost/load_internal.h"
#include "stepsim/job.h"

/* The workloads, drawn as routing_for_step of the request does. A share `hot` of the tokens choose among the
 * pool, the others among all experts. The hot pool has max(top_k, experts / 4) experts, from expert 0 on. */
enum pool { POOL_ALL, POOL_HOT, POOL_SPREAD, POOL_UPPER_HALF, POOL_ROTATING };
struct workload {
    int pool; /* enum pool */
    double hot;
    /* share of the passes that have a pool; in the others all tokens choose among all experts */
    double passes;
    double source; /* most tokens of a source, over the mean */
    int in_turn;
};
enum {
#define X(sym, name) WORKLOAD_##sym,
    SS_MOE_WORKLOAD_LIST(X)
#undef X
        WORKLOADS
};
static const char *const workload_names[WORKLOADS] = {
#define X(sym, name) name,
    SS_MOE_WORKLOAD_LIST(X)
#undef X
};
static const struct workload workloads[WORKLOADS] = {
    [WORKLOAD_BALANCED] = {POOL_ALL, 0, 1, 1, 1},
    [WORKLOAD_HOT_EXPERT_SET] = {POOL_HOT, 0.75, 1, 1, 0},
    [WORKLOAD_HOT_RANK] = {POOL_HOT, 0.75, 1, 1, 0}, /* the same pool: the layout decides which rank has it */
    [WORKLOAD_SPREAD_HOT_EXPERTS] = {POOL_SPREAD, 0.75, 1, 1, 0}, /* every other expert */
    /* Sources route from half the mean to one and a half; the request does not say how ragged they are. */
    [WORKLOAD_SOURCE_RAGGED] = {POOL_ALL, 0, 1, 1.5, 0},
    [WORKLOAD_ZERO_EXPERT_RANK] = {POOL_UPPER_HALF, 1, 1, 1, 0},
    [WORKLOAD_ROTATING_HOTSPOT] = {POOL_ROTATING, 0.75, 1, 1, 0}, /* the pool moves on by its size */
    [WORKLOAD_BURST] = {POOL_HOT, 0.5, 0.25, 1, 0},               /* one step of four */
};

static const struct workload *workload_of(const char *name)
{
    for (int i = 0; name && i < WORKLOADS; i++)
        if (strcmp(workload_names[i], name) == 0)
            return &workloads[i];
    return NULL;
}

double ss_load_source(const struct ss_load_input *in)
{
    const struct workload *w = in->kind == SS_LOAD_WORKLOAD ? workload_of(in->workload) : NULL;
    return w && (in->sources ? in->sources : in->ep) > 1 ? w->source : 1;
}

static int hot_size(const struct ss_load_input *in)
{
    return in->top_k > in->experts / 4 ? in->top_k : in->experts / 4;
}

/* Returns after how many steps the rotating pool is back where it began. */
static int rotations(const struct ss_load_input *in)
{
    int n = 1;
    while ((long)n * hot_size(in) % in->experts)
        n++;
    return n;
}

int ss_load_phases(const struct ss_load_input *in, struct ss_error *err)
{
    const struct workload *w = workload_of(in->workload);
    switch (in->kind) {
    case SS_LOAD_BALANCED:
    case SS_LOAD_UNIFORM:
    case SS_LOAD_ZIPF: return 1;
    case SS_LOAD_BIASED: return in->draws > 0 ? in->draws : 8;
    case SS_LOAD_FILE:
        if (!in->loads || in->layers < 1)
            return ss_fail(err, SS_ERR_INPUT, NULL, 0, "no loads of the experts were read");
        if (in->layer >= in->layers)
            return ss_fail(err, SS_ERR_INPUT, NULL, 0, "no loads of layer %d: there are %d layers", in->layer,
                           in->layers);
        return in->layer < 0 ? in->layers : 1;
    default:
        if (in->kind != SS_LOAD_WORKLOAD || !w)
            return ss_fail(err, SS_ERR_INPUT, NULL, 0, "there is no workload \"%s\" of experts: %s to %s",
                           in->workload ? in->workload : "", workload_names[0],
                           workload_names[WORKLOADS - 1]);
        return w->pool == POOL_ROTATING ? rotations(in) : w->passes < 1 ? 2 : 1;
    }
}

/* Makes probabilities in the ratio of the weights, at most 1 each, sum top_k; other experts get what that
 * limit cuts. */
static int share_out(double *p, int experts, int top_k, struct ss_error *err)
{
    int certain = 0, before = -1;
    while (certain > before) {
        double rest = 0;
        for (int e = 0; e < experts; e++)
            rest += p[e] < 0 ? 0 : p[e];
        if (certain < top_k && !(rest > 0))
            return ss_fail(err, SS_ERR_INPUT, NULL, 0, "only %d experts have a load, a token chooses %d",
                           certain, top_k);
        before = certain;
        double scale = certain < top_k ? (top_k - certain) / rest : 0;
        for (int e = 0; e < experts; e++)
            if (p[e] >= 0 && p[e] * scale >= 1) {
                p[e] = -1; /* chosen for certain */
                certain++;
            }
        if (certain == before)
            for (int e = 0; e < experts; e++)
                p[e] = p[e] < 0 ? 1 : p[e] * scale;
    }
    return SS_OK;
}

static int zipf(const struct ss_load_input *in, double *p, struct ss_error *err)
{
    for (int e = 0; e < in->experts; e++)
        p[e] = pow(e + 1, -in->exponent);
    return share_out(p, in->experts, in->top_k, err);
}

static int from_file(const struct ss_load_input *in, int layer, double *p, struct ss_error *err)
{
    memcpy(p, in->loads + (size_t)layer * (size_t)in->experts, (size_t)in->experts * sizeof *p);
    return share_out(p, in->experts, in->top_k, err);
}

/* Returns a number in (0, 1] from a counter, the same on every machine. */
static double uniform(uint64_t seed, uint64_t draw, uint64_t i)
{
    return ss_uniform(ss_mix64(ss_mix64(seed * 0x9e3779b97f4a7c15ULL + draw + 1) + i + 1));
}

static double upper_tail(double x)
{
    return erfc(x * 0.7071067811865476) / 2;
}

/* Fills probabilities for biased logits, which are normal with variance 1 about the bias. A token chooses an
 * expert whose logit is above a threshold. The threshold is common to all tokens and lets top_k logits pass
 * on average. */
static int biased(const struct ss_load_input *in, int draw, double *p)
{
    double low = -10 * (1 + in->exponent), high = -low;
    for (int e = 0; e < in->experts; e += 2) { /* Box and Muller's pair */
        double r = in->exponent * sqrt(-2 * log(uniform(in->seed, (uint64_t)draw, (uint64_t)e)));
        double turn = 6.283185307179586 * uniform(in->seed, (uint64_t)draw, (uint64_t)e + 1);
        p[e] = r * cos(turn);
        if (e + 1 < in->experts)
            p[e + 1] = r * sin(turn);
    }
    double at = 0;
    for (int i = 0; i < 100 && high - low > 1e-12; i++) { /* Newton's steps inside a shrinking interval */
        double sum = -in->top_k, slope = 0;
        for (int e = 0; e < in->experts; e++) {
            double x = at - p[e];
            sum += upper_tail(x);
            slope -= 0.3989422804014327 * exp(-x * x / 2);
        }
        if (sum > 0)
            low = at;
        else
            high = at;
        double next = slope < 0 ? at - sum / slope : low - 1;
        if (fabs(next - at) < 1e-9)
            break;
        at = next > low && next < high ? next : (low + high) / 2;
    }
    for (int e = 0; e < in->experts; e++)
        p[e] = upper_tail(at - p[e]);
    return SS_OK;
}

static void even(const struct ss_load_input *in, double *p)
{
    for (int e = 0; e < in->experts; e++)
        p[e] = (double)in->top_k / in->experts;
}

/* Marks the experts of the pool and returns their number. */
static int mark_pool(const struct ss_load_input *in, int pool, int turn, double *p)
{
    const int n = in->experts, hot = hot_size(in);
    int marked = 0;
    memset(p, 0, (size_t)n * sizeof *p);
    if (pool == POOL_UPPER_HALF)
        for (int e = n / 2; e < n; e++)
            p[e] = 1;
    else if (pool == POOL_SPREAD)
        for (int i = 0; i < (in->top_k > n / 2 ? in->top_k : n / 2); i++)
            p[2 * i % n] = 1;
    else
        for (int i = 0; i < hot; i++)
            p[((long)turn * hot + i) % n] = 1;
    for (int e = 0; e < n; e++)
        marked += p[e] > 0;
    return marked;
}

static int workload(const struct ss_load_input *in, int i, struct ss_load_phase *out, struct ss_error *err)
{
    const struct workload *w = workload_of(in->workload);
    const int steady = w->hot == 0 || (w->passes < 1 && i > 0);
    out->repeated = 1;
    out->in_turn = out->even = w->in_turn;
    out->weight = w->pool == POOL_ROTATING ? 1.0 / rotations(in) : i > 0 ? 1 - w->passes : w->passes;
    even(in, out->p[0]);
    if (steady)
        return SS_OK;
    int marked = mark_pool(in, w->pool, w->pool == POOL_ROTATING ? i : 0, out->p[1]);
    /* too few experts for a token, which then chooses among all */
    if (marked < in->top_k && w->pool == POOL_SPREAD)
        return SS_OK;
    if (marked < in->top_k)
        return ss_fail(err, SS_ERR_INPUT, NULL, 0, "%s has %d experts to choose from, a token chooses %d",
                       in->workload, marked, in->top_k);
    for (int e = 0; e < in->experts; e++)
        out->p[1][e] *= (double)in->top_k / marked;
    out->types = 2;
    out->share[0] = 1 - w->hot;
    out->share[1] = w->hot;
    return SS_OK;
}

static int fill(const struct ss_load_input *in, int i, struct ss_load_phase *out, struct ss_error *err)
{
    out->types = 1;
    out->share[0] = 1;
    out->weight = 1;
    out->even = out->repeated = out->in_turn = 0;
    switch (in->kind) {
    case SS_LOAD_ZIPF: return zipf(in, out->p[0], err);
    case SS_LOAD_BIASED: out->weight = 1.0 / ss_load_phases(in, NULL); return biased(in, i, out->p[0]);
    case SS_LOAD_FILE:
        out->weight = 1.0 / ss_load_phases(in, NULL);
        return from_file(in, in->layer < 0 ? i : in->layer, out->p[0], err);
    case SS_LOAD_WORKLOAD: return workload(in, i, out, err);
    default:
        even(in, out->p[0]);
        out->even = in->kind == SS_LOAD_BALANCED;
        return SS_OK;
    }
}

/* Makes near-certain probabilities certain: the moments of counts with probabilities like 1e-200 would be no
 * numbers. */
static void make_certain(double *p, int n)
{
    for (int e = 0; e < n; e++)
        p[e] = p[e] < 1e-12 ? 0 : p[e] > 1 - 1e-12 ? 1 : p[e];
}

int ss_load_phase(const struct ss_load_input *in, int i, struct ss_load_phase *out, struct ss_error *err)
{
    int status = fill(in, i, out, err);
    for (int t = 0; t < out->types && status == SS_OK; t++)
        make_certain(out->p[t], in->experts);
    return status;
}
