/* SPDX-License-Identifier: Apache-2.0 */
/* The phases of a chunk: where its buckets are due, and its steps. */
#include "cost/issue.h"

/* Returns how many layers of a run are done at the place behind the first `layers` of `all` transformer
 * layers of a phase; `left` of them are still to come before this run. Other layers are done before the first
 * transformer layer; in a backward those that lie before it come last. */
static int done_of_run(const struct ss_layer_set *set, const struct ss_layer_run *run, int phase, int layers,
                       int all, int left)
{
    int where = ss_layer_where(set, run);
    if (where == SS_WHERE_TRANSFORMER)
        return left < run->count ? left : run->count;
    int first = phase == SS_PHASE_F ? where == SS_WHERE_BEFORE : where == SS_WHERE_BEHIND;
    return first || (phase != SS_PHASE_F && layers == all) ? run->count : 0;
}

static int count_layers(const struct ss_layer_set *set, const struct ss_layer_runs *runs)
{
    int n = 0;
    for (size_t i = 0; i < runs->n; i++)
        n += ss_layer_is_numbered(set, &runs->run[i]) ? runs->run[i].count : 0;
    return n;
}

/* Returns how many steps the first n layers of a run have, waits for the host included; 0 at chunk level. */
static int count_steps(const struct ss_layer_set *set, const struct ss_issue_walk *w,
                       const struct ss_layer_run *run, int phase, int n)
{
    if (!set->with_steps)
        return 0;
    return n * (int)ss_layer_part(set, run)->steps.phase[phase].n + ss_issue_waits(w, set, run, phase, n);
}

/* Returns the place of a mark. What a program adds behind the last layer is part of the phase. */
struct ss_chunk_place ss_chunk_place_at(const struct ss_layer_set *set, int k, int phase, int layers)
{
    const struct ss_layer_runs *runs = &set->chunks[k];
    int fixed = phase != SS_PHASE_W && set->fixed > 0, left = layers, steps = fixed, all_steps = fixed;
    int all = count_layers(set, runs), stream = ss_issue_is_stream(set, k, phase);
    struct ss_issue_walk w = ss_issue_begin(set, phase), at = w;
    struct ss_chunk_place place = {0};
    if (phase == SS_PHASE_B && set->delay_wgrad) {
        place.fraction = 1;
        return ss_delayed_place(set, k, layers < all ? layers : all + 1, &place)
                   ? (struct ss_chunk_place){.fraction = 1}
                   : place;
    }
    for (size_t i = 0; i < runs->n; i++) {
        const struct ss_layer_run *run = ss_run_at(runs, phase, i);
        int here = done_of_run(set, run, phase, layers, all, left);
        if (here > 0) {
            at = w;
            steps = all_steps + count_steps(set, &w, run, phase, here);
            ss_issue_walk_on(&at, set, run, phase, here);
        }
        all_steps += count_steps(set, &w, run, phase, run->count);
        ss_issue_walk_on(&w, set, run, phase, run->count);
        left -= ss_layer_is_numbered(set, run) ? here : 0;
    }
    double end = stream ? w.work : w.gpu, here = stream ? at.work : at.gpu;
    if (layers > 0 || phase != SS_PHASE_F)
        place = (struct ss_chunk_place){end > 0 ? here / end : 1, steps, at.host, ss_issue_tail(&at, w.work)};
    if (layers >= all && phase != SS_PHASE_F)
        place = (struct ss_chunk_place){1, all_steps, w.host, ss_issue_tail(&w, w.work)};
    return place;
}

/* Visits the step at which the GPU waits for the host: for its stream, or for so many seconds. */
static int visit_wait(int stream, double seconds, int phase, ss_step_visitor visit, void *ctx)
{
    const struct ss_layer_step wait = {.kind = SS_STEP_WAIT, .comm = SS_COMM_ISSUE, .phase = phase};
    const struct ss_layer_step idle = {
        .kind = SS_STEP_COMPUTE, .label = SS_LABEL_OTHER, .seconds = seconds, .phase = phase};
    return visit(ctx, stream ? &wait : &idle);
}

/* Visits the steps of a run, which the walk stands before; then it stands behind the run. */
static int visit_run(const struct ss_layer_set *set, const struct ss_layer_run *run, int phase, int stream,
                     struct ss_issue_walk *w, ss_step_visitor visit, void *ctx)
{
    const struct ss_step_list *l = &ss_layer_part(set, run)->steps.phase[phase];
    const struct ss_issue_walk begin = *w;
    int status = 0;
    for (int n = 1, waits = 0; n <= run->count && !status; n++) {
        double was = w->gpu - w->work;
        for (size_t j = 0; j < l->n && !status; j++)
            status = visit(ctx, &l->step[j]);
        ss_issue_walk_on(w, set, run, phase, 1);
        int until = phase == SS_PHASE_I ? 0 : ss_issue_waits(&begin, set, run, phase, n);
        if (until > waits && !status)
            status = visit_wait(stream, fmax(0, w->gpu - w->work - was), phase, visit, ctx);
        waits = until;
    }
    return status;
}

int ss_chunk_steps_visit(const struct ss_layer_set *set, int k, int phase, ss_step_visitor visit, void *ctx)
{
    const struct ss_layer_step fixed = {
        .kind = SS_STEP_COMPUTE, .label = SS_LABEL_OTHER, .seconds = set->fixed};
    const struct ss_layer_runs *runs = &set->chunks[k];
    int stream = ss_issue_is_stream(set, k, phase);
    struct ss_issue_walk w = ss_issue_begin(set, phase);
    if (phase == SS_PHASE_B && set->delay_wgrad)
        return ss_pair_steps_visit(set, -1, k, visit, ctx);
    int status = phase != SS_PHASE_W && set->fixed > 0 ? visit(ctx, &fixed) : 0;
    for (size_t i = 0; i < runs->n && !status; i++)
        status = visit_run(set, ss_run_at(runs, phase, i), phase, stream, &w, visit, ctx);
    if (stream && !status && set->ahead && w.host > w.issued)
        return visit_wait(stream, 0, phase, visit, ctx);
    double waits = phase == SS_PHASE_I ? ss_issue_slot_of(set, k, SS_PHASE_B).waits : 0;
    return waits > 0 && !status ? visit_wait(0, waits, phase, visit, ctx) : status;
}

int ss_chunk_kernels_visit(const struct ss_layer_set *set, int k, int phase, int *count,
                           ss_step_visitor visit, void *ctx)
{
    const struct ss_layer_runs *runs = &set->chunks[k];
    int status = 0;
    *count = 1;
    if (phase == SS_PHASE_B && set->delay_wgrad)
        return ss_pair_steps_visit(set, -1, k, visit, ctx);
    for (size_t i = 0; i < runs->n && !status; i++) {
        const struct ss_layer_run *run = ss_run_at(runs, phase, i);
        const struct ss_step_list *l = &ss_layer_part(set, run)->steps.phase[phase];
        *count = run->count;
        for (size_t j = 0; j < l->n && !status; j++)
            status = visit(ctx, &l->step[j]);
    }
    return status;
}
