/* SPDX-License-Identifier: Apache-2.0 */
/* How far the host is ahead of the GPU in a slot (docs/design/host.md). */
#include "cost/issue.h"

#include <math.h>

#include "cost/rank_cost.h"

/* Waits of the GPU that are shorter than this share of a slot are added to the slot. */
#define SHORT 0.01

/* What one layer takes in a phase. */
struct layer {
    double gpu, host;
    int in_step;
};

static struct layer layer_of(const struct ss_layer_set *set, const struct ss_layer_run *run, int phase)
{
    const struct ss_layer_part *part = ss_layer_part(set, run);
    int way = phase != SS_PHASE_F;
    return (struct layer){.gpu = part->seconds[phase],
                          .host = phase == SS_PHASE_W ? 0 : part->cost.host[way],
                          .in_step = phase == SS_PHASE_W || part->cost.in_step[way]};
}

/* Returns the first of equal layers that the GPU waits for, counted from 1; INFINITY: it waits for none. */
static double first_wait(const struct ss_issue_walk *w, const struct layer *l)
{
    if (l->in_step)
        return INFINITY;
    if (w->host + l->host > w->gpu + l->gpu)
        return 1;
    return l->host > l->gpu ? floor((w->gpu - w->host) / (l->host - l->gpu)) + 1 : INFINITY;
}

int ss_issue_waits(const struct ss_issue_walk *w, const struct ss_layer_set *set,
                   const struct ss_layer_run *run, int phase, int n)
{
    const struct layer l = layer_of(set, run, phase);
    double first = first_wait(w, &l);
    return first > n ? 0 : l.host > l.gpu ? n - (int)first + 1 : 1;
}

struct ss_issue_walk ss_issue_begin(const struct ss_layer_set *set, int phase)
{
    double fixed = phase == SS_PHASE_W ? 0 : set->fixed;
    return (struct ss_issue_walk){.gpu = fixed, .work = fixed, .host = set->ahead ? 0 : fixed};
}

/* Where the GPU does not wait for the host it is at gpu + n g. Where it waits behind layer k it is, after n
 * layers, at host + k h + (n - k) g, which is largest for the first or the last layer. */
void ss_issue_walk_on(struct ss_issue_walk *w, const struct ss_layer_set *set, const struct ss_layer_run *run,
                      int phase, int n)
{
    const struct layer l = layer_of(set, run, phase);
    if (n == 0)
        return;
    w->work += n * l.gpu;
    if (l.in_step) {
        w->gpu += n * l.gpu;
        w->host = w->bound = w->gpu;
        w->in_step = 1;
        return;
    }
    double bound = w->host + fmax(l.host + (n - 1) * l.gpu, n * l.host);
    if (first_wait(w, &l) <= n)
        w->issued = w->host + (l.host > l.gpu ? n : 1) * l.host;
    w->gpu = fmax(w->gpu + n * l.gpu, bound);
    w->bound = fmax(w->bound + n * l.gpu, bound);
    w->host += n * l.host;
}

double ss_issue_tail(const struct ss_issue_walk *w, double work)
{
    return work > 0 ? fmax(0, w->bound - w->host) / work : 0;
}

struct ss_issue_slot ss_issue_slot_of(const struct ss_layer_set *set, int k, int phase)
{
    const struct ss_layer_runs *runs = &set->chunks[k];
    struct ss_issue_walk w = ss_issue_begin(set, phase);
    if (phase == SS_PHASE_B && set->delay_wgrad) /* pair.c has the host's time */
        return (struct ss_issue_slot){.in_step = 1};
    for (size_t i = 0; i < runs->n; i++)
        ss_issue_walk_on(&w, set, ss_run_at(runs, phase, i), phase, ss_run_at(runs, phase, i)->count);
    return (struct ss_issue_slot){.work = w.work,
                                  .host = w.host,
                                  .waits = w.gpu - w.work,
                                  .tail = ss_issue_tail(&w, w.work),
                                  .in_step = w.in_step};
}

void ss_issue_find(struct ss_layer_set *set)
{
    for (int k = 0; k < set->nchunks && set->apart && !set->issues; k++)
        for (int phase = SS_PHASE_F; phase <= SS_PHASE_B; phase++) {
            const struct ss_issue_slot slot = ss_issue_slot_of(set, k, phase);
            set->issues |= !slot.in_step && slot.waits > SHORT * slot.work;
        }
}

/* ---- for bounds ---- */

struct ss_chunk_host ss_chunk_host_of(const struct ss_rank_cost *cost, int k, int phase)
{
    struct ss_layer_set set = *cost->set;
    struct ss_chunk_host out = {0};
    for (set.ahead = 0; set.ahead < 2; set.ahead++) {
        const struct ss_issue_slot slot = ss_issue_slot_of(&set, k, phase);
        if (slot.in_step)
            return (struct ss_chunk_host){.in_step = 1};
        out.waits[set.ahead] = slot.waits;
        out.host = slot.host;
    }
    for (size_t i = 0; i < set.chunks[k].n; i++) {
        const struct ss_layer_run *run = &set.chunks[k].run[i];
        if (ss_layer_is_numbered(&set, run))
            out.layers_host += run->count * ss_layer_part(&set, run)->cost.host[phase != SS_PHASE_F];
    }
    return out;
}

double ss_chunk_layers_seconds(const struct ss_rank_cost *cost, int k, int phase)
{
    const struct ss_layer_runs *runs = &cost->set->chunks[k];
    double sum = 0;
    for (size_t i = 0; i < runs->n; i++)
        if (ss_layer_is_numbered(cost->set, &runs->run[i]))
            sum += runs->run[i].count * ss_layer_part(cost->set, &runs->run[i])->seconds[phase];
    return sum;
}

int ss_rank_layers(const struct ss_rank_cost *cost, int beside, struct ss_layer_seconds *out, int n, int most)
{
    const struct ss_layer_set *set = cost->set;
    const int had = n;
    for (int i = 0; i < set->nparts; i++) {
        const struct ss_layer_part *part = &set->part[i];
        const double *f = part->cost.forward,
                     *parts[] = {part->cost.input_grad, part->cost.weight_grad, part->cost.joint};
        double kernels = f[SS_LABEL_COMPUTE] + f[SS_LABEL_RECOMPUTE];
        int k = 0;
        for (int p = 0; p < 3; p++)
            kernels += parts[p][SS_LABEL_COMPUTE] + parts[p][SS_LABEL_RECOMPUTE];
        struct ss_layer_seconds s = {part->kind, part->seconds[SS_PHASE_F] + part->seconds[SS_PHASE_B],
                                     (1 + set->slower) * kernels};
        s.all = beside ? s.kernels : s.all;
        while (k < n && out[k].kind != s.kind)
            k++;
        if (k < had || k == most)
            continue;
        if (k == n || s.all < out[k].all)
            out[k] = s;
        n += k == n;
    }
    return n;
}

/* The layers of n kinds, by which others are summed up. */
struct known {
    const struct ss_layer_seconds *layers;
    int n, aligned;
};

static double seconds_of(const struct known *known, int kind)
{
    for (int k = 0; k < known->n; k++)
        if (known->layers[k].kind == kind)
            return known->aligned ? known->layers[k].all : known->layers[k].kernels;
    return 0;
}

double ss_layers_seconds(const struct ss_layer_seconds *layers, int n, const struct ss_job *job,
                         const struct ss_stage_place *place, int aligned)
{
    const struct known known = {layers, n, aligned};
    const struct ss_layer_kinds kinds = ss_layer_kinds_of(job);
    double sum = place->has_embedding ? seconds_of(&known, SS_LAYER_EMBEDDING) : 0;
    for (int i = 0; i < place->nlayers; i++)
        sum += seconds_of(&known, ss_layer_kind_at(&kinds, place->first_layer + i));
    if (!place->has_loss)
        return sum;
    double depth = seconds_of(&known, SS_LAYER_MTP_EMBEDDING) + seconds_of(&known, SS_LAYER_MTP) +
                   seconds_of(&known, SS_LAYER_MTP_LOSS);
    for (int i = 0; i < ss_layer_mtp_layers(&job->model); i++)
        depth += seconds_of(&known, ss_layer_mtp_kind_in(&job->model, job->seq_length, i));
    return sum + job->model.mtp_num_layers * depth + seconds_of(&known, SS_LAYER_LOSS);
}

int ss_rank_issues(const struct ss_rank_cost *cost)
{
    struct ss_layer_set set = *cost->set;
    set.apart = 1;
    set.issues = 0;
    ss_issue_find(&set);
    return set.issues;
}

/* ---- for programs ---- */

/* The host's launches between two waits, and behind the last one. */
int ss_chunk_issues_visit(const struct ss_layer_set *set, int k, int phase, ss_issue_visitor visit, void *ctx)
{
    const struct ss_layer_runs *runs = &set->chunks[k];
    struct ss_issue_walk w = ss_issue_begin(set, phase);
    double issued = w.issued;
    int status = 0;
    for (size_t i = 0; i < runs->n && !status; i++) {
        const struct ss_layer_run *run = ss_run_at(runs, phase, i);
        const struct layer l = layer_of(set, run, phase);
        for (int n = 1, waits = 0; n <= run->count && !status; n++) {
            int until = ss_issue_waits(&w, set, run, phase, n);
            if (until > waits) {
                status = visit(ctx, w.host + n * l.host - issued);
                issued = w.host + n * l.host;
            }
            waits = until;
        }
        ss_issue_walk_on(&w, set, run, phase, run->count);
    }
    return status || !(w.host > issued) || !set->ahead ? status : visit(ctx, w.host - issued);
}

int ss_issue_is_stream(const struct ss_layer_set *set, int k, int phase)
{
    return set->issues && phase <= SS_PHASE_B && !ss_issue_slot_of(set, k, phase).in_step;
}
