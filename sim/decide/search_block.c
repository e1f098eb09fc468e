/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recompute of the first layers of each virtual stage (--recompute-method block), as few as fit. The number of layers
 * is no axis, for it follows from the rest of a layout: less time with fewer layers, less memory with more. A
 * layout that fits without recompute has none here.
 */
#include "base/base.h"
#include "base/map.h"
#include "decide/search_internal.h"
#include "layers/kinds.h"
#include "plan/bounds.h"
#include "result/bands.h"
#include "stepsim/stack.h"

int ss_find_block_axis(const struct ss_find_cluster *c, const unsigned char *at)
{
    return at[c->block_axis] + 1 == c->block_value ? c->block_axis : -1;
}

void ss_find_block_ends(const struct ss_find_cluster *c, const struct ss_find_leaf *leaf,
                        const struct ss_job *job, struct ss_find_leaf at[2], struct ss_job jobs[2])
{
    const int axis = ss_find_block_axis(c, leaf->at);
    const struct ss_find_axis *a = &c->axes[axis];
    for (int end = 0; end < 2; end++) {
        at[end] = *leaf;
        at[end].at[axis] = (unsigned char)ss_find_value(a, end ? "full" : "none", UINT8_MAX - end);
        jobs[end] = *job;
        jobs[end].recompute.granularity = end ? SS_RECOMPUTE_FULL : SS_RECOMPUTE_NONE;
        jobs[end].recompute.method = SS_RECOMPUTE_UNIFORM;
        jobs[end].recompute.num_layers = end;
    }
}

/* Finds the layers of the smallest and the largest virtual stage. */
static void stage_layers(const struct ss_job *job, int *least, int *most)
{
    int v = ss_job_chunks(job), first = job->first_stage_layers, last = job->last_stage_layers;
    int others = job->pp - (first > 0) - (last > 0), each = 0;
    *least = *most = job->layout.n ? job->layout.layers[0] : 0;
    for (int i = 1; i < job->layout.n; i++) {
        *least = job->layout.layers[i] < *least ? job->layout.layers[i] : *least;
        *most = job->layout.layers[i] > *most ? job->layout.layers[i] : *most;
    }
    if (job->layout.n)
        return;
    if (others > 0)
        each = (ss_job_split_layers(job) - first - last) / others / v;
    *least = *most = each ? each : first / v;
    const int sizes[] = {first / v, last / v};
    for (int i = 0; i < 2; i++)
        if (sizes[i] > 0) {
            *least = sizes[i] < *least ? sizes[i] : *least;
            *most = sizes[i] > *most ? sizes[i] : *most;
        }
    *least -= (job->account_for_embedding > 0) | (job->account_for_loss > 0);
}

int ss_find_block_most(const struct ss_find_cluster *c, const struct ss_find_leaf *leaf,
                       const struct ss_job *job)
{
    int least, most;
    stage_layers(job, &least, &most);
    most -= ss_find_value(&c->axes[ss_find_block_axis(c, leaf->at)], "full", -1) >= 0;
    return most < UINT8_MAX ? most : UINT8_MAX;
}

static double between(double none, double full, double share)
{
    return none + share * (full - none);
}

/* Sets what time and memory of a stage are at least. `time` is no more, `memory` no less than the share of its
 * layers that are recomputed. */
static void stage_between(const struct ss_stage_bounds *none, const struct ss_stage_bounds *full, double time,
                          double memory, struct ss_stage_bounds *out)
{
    *out = *none;
    out->backward = between(none->backward, full->backward, time);
    out->exposed = 0; /* the pairs of some recomputed layers are not known */
    for (int phase = SS_PHASE_F; phase <= SS_PHASE_B; phase++) {
        double work = phase == SS_PHASE_F ? out->forward : out->backward;
        out->host[phase] = between(none->host[phase], full->host[phase], time);
        out->waits[phase] = fmax(0, out->host[phase] - work);
        out->after[phase] = out->host[phase];
        out->layers_host[phase] = between(none->layers_host[phase], full->layers_host[phase], time);
        out->layers_work[phase] = between(none->layers_work[phase], full->layers_work[phase], time);
        out->in_step[phase] = none->in_step[phase];
    }
    out->most_back = fmax(none->most_back, full->most_back);
    for (int i = 0; i < 2; i++)
        out->least_back[i] = fmin(none->least_back[i], full->least_back[i]);
    out->issues = 1; /* which is no more than with the waits in each slot */
    out->split = between(none->split, full->split, time);
    out->activations = between(none->activations, full->activations, memory);
    out->layers = between(none->layers, full->layers, memory);
    out->chunk = between(none->chunk, full->chunk, memory);
    out->largest = fmax(none->largest, full->largest);
    out->extra = fmin(none->extra, full->extra);
}

/*
 * A recomputed layer costs what it costs in full recompute, and keeps as little. So with equal layers both are linear
 * in the number of layers: exact for a stage whose virtual stages have as many, a bound for others. Where stages differ
 * in their layers the first and the last are known, and the mean over all of them; no stage is slower than the
 * busiest. Where layers differ, time is bounded by that without recompute, and memory by that with all of it.
 */
void ss_find_block_between(const struct ss_plan_bounds ends[2], const struct ss_job *job, int alike,
                           int layers, struct ss_plan_bounds *out)
{
    const struct ss_plan_bounds *none = &ends[0], *full = &ends[1];
    alike = alike && !job->packed.rows && !ss_experts_loads_by_layer(job) && job->model.mtp_num_layers <= 0;
    int least, most;
    stage_layers(job, &least, &most);
    /* FSDP's exchanges beside the last recomputed layer are hidden otherwise than those beside others */
    double time = alike && most > 0 ? fmin(1, (double)(layers - (job->dp.fsdp != 0)) / most) : 0;
    double memory = alike && least > 0 ? fmin(1, (double)layers / least) : 1;

    *out = *none;
    out->bytes = out->least_bytes = 0;
    for (int i = 0; i < 3; i++)
        stage_between(&none->stage[i], &full->stage[i], time, memory, &out->stage[i]);
    out->all = between(none->all, full->all, time);
    if (none->even && full->even)
        return;
    out->even = 0;
    struct ss_stage_bounds *middle = &out->stage[1];
    middle->forward = middle->host[SS_PHASE_F] = middle->host[SS_PHASE_B] = 0;
    middle->waits[SS_PHASE_F] = middle->waits[SS_PHASE_B] = 0;
    middle->backward = out->all / job->pp;
    for (int i = 0; i < 3; i += 2)
        middle->backward = fmax(middle->backward, out->stage[i].forward + out->stage[i].backward);
}

double ss_find_room(const struct ss_find_cluster *c, const struct ss_bands *bands)
{
    const struct ss_card *card = ss_platform_card(c->platform);
    const struct ss_band_job job = {.card = card->name,
                                    .family = c->stack->family,
                                    .experts = c->model.num_experts,
                                    .hybrid = ss_layer_any_other(&c->model)};
    struct ss_band memory = {0};
    if (bands)
        ss_band_find(&bands->memory, &job, -1, &memory);
    double error = memory.high_pct / 100;
    return card->device_memory * fmin(1 / (1 + error), 1 - c->stack->thrash_margin);
}

/* ---- predictions ---- */

static int is_better(const struct ss_summary *a, const struct ss_summary *b)
{
    return a->outcome != b->outcome ? a->outcome < b->outcome : a->iteration_s < b->iteration_s;
}

/* Predicts every number of layers. */
static int try_all(struct ss_find_leaf *leaf, int most, ss_find_predicted *predict, void *ctx,
                   struct ss_find_point *p, struct ss_error *err)
{
    struct ss_find_leaf next = *leaf;
    struct ss_find_point point;
    int rc = predict(ctx, leaf, p, err);
    for (int n = leaf->at[SS_FIND_BLOCK_LAYERS] + 1; n <= most && !rc; n++) {
        next.at[SS_FIND_BLOCK_LAYERS] = (unsigned char)n;
        point = *p; /* what the caller has set */
        rc = predict(ctx, &next, &point, err);
        if (rc || !is_better(&point.summary, &p->summary))
            continue;
        *p = point;
        *leaf = next;
    }
    return rc;
}

/* Halves the numbers between one that does not fit as surely as *p and that of *leaf, which *p is of. */
static int halve(struct ss_find_leaf *leaf, int too_few, ss_find_predicted *predict, void *ctx,
                 struct ss_find_point *p, struct ss_error *err)
{
    while (leaf->at[SS_FIND_BLOCK_LAYERS] - too_few > 1) {
        struct ss_find_leaf next = *leaf;
        struct ss_find_point point = *p;
        int n = (too_few + leaf->at[SS_FIND_BLOCK_LAYERS]) / 2;
        next.at[SS_FIND_BLOCK_LAYERS] = (unsigned char)n;
        SS_TRY(predict(ctx, &next, &point, err));
        if (point.summary.outcome > p->summary.outcome) {
            too_few = n;
            continue;
        }
        *p = point;
        *leaf = next;
    }
    return SS_OK;
}

int ss_find_block_fewest(struct ss_find_leaf *leaf, int most, int exhaustive, ss_find_predicted *predict,
                         void *ctx, struct ss_find_point *p, struct ss_error *err)
{
    int too_few = leaf->at[SS_FIND_BLOCK_LAYERS] - 1, outcome, first = too_few, rc;
    if (exhaustive)
        return try_all(leaf, most, predict, ctx, p, err);
    for (int step = 1;; step *= 2) { /* bounds are near, so the first steps are small */
        rc = predict(ctx, leaf, p, err);
        outcome = p->summary.outcome;
        int n = leaf->at[SS_FIND_BLOCK_LAYERS];
        if (rc || outcome == SS_OUTCOME_FITS || outcome == SS_OUTCOME_REFUSED || n >= most)
            break;
        too_few = n;
        leaf->at[SS_FIND_BLOCK_LAYERS] = (unsigned char)(n + step < most ? n + step : most);
    }
    if (outcome == SS_OUTCOME_NEAR_LIMIT) /* the fewest that are near the limit may be any */
        too_few = first;
    return rc || outcome > SS_OUTCOME_NEAR_LIMIT ? rc : halve(leaf, too_few, predict, ctx, p, err);
}

uint64_t ss_find_block_key(const struct ss_find_cluster *c, const struct ss_find_leaf *leaf)
{
    uint64_t h = ss_mix64((uint64_t)leaf->cluster + 1);
    for (int a = 0; a < c->naxes; a++)
        h = ss_mix64(h * 0x9e3779b97f4a7c15ULL +
                     (c->axes[a].kind == SS_FIND_RECOMPUTE ? 0u : leaf->at[a] + 1u));
    return h;
}
