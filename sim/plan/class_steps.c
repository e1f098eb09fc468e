/* SPDX-License-Identifier: Apache-2.0 */
/* Layer level: the steps of every class, with the collectives of its own groups. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "plan/plan_internal.h"

static const char *const coll_names[] = {"all-gather", "reduce-scatter", "all-reduce", "all-to-all"};

/* The class and phase at hand. */
struct lowering {
    struct ss_plan_builder *b;
    struct ss_error *err;
    int cls;
    double own;             /* straggler's factor */
    int first[SS_WAY_GROUPS]; /* lowest class of the class's group, -1: not looked at yet */
    struct ss_step **steps;
    int *n;
    size_t cap;
};

static int group_of_stream(int stream)
{
    return stream == SS_STREAM_TP ? SS_WAY_TP : stream == SS_STREAM_CP ? SS_WAY_CP : SS_WAY_FSDP;
}

static uint64_t collective_key(const struct lowering *l, const struct ss_layer_step *s, int group)
{
    uint64_t h = ss_mix_in((uint64_t)(group < 0 ? l->cls : l->first[group]), (uint64_t)(group + 1));
    h = ss_mix_in(h, (uint64_t)s->coll);
    h = ss_mix_in(h, (uint64_t)s->label);
    h = ss_mix_in(h, ss_bits_of(s->bytes));
    h = ss_mix_in(h, ss_bits_of(s->speed));
    return ss_mix_in(h, ss_bits_of(s->part));
}

static int make_collective(struct lowering *l, const struct ss_layer_step *s, int group, int *index)
{
    struct ss_plan_builder *b = l->b;
    char name[48];
    int first = group < 0 ? l->cls : l->first[group], status;
    snprintf(name, sizeof name, "%s %s class%d #%d", ss_label_name(s->label), group < 0 ? "copy" : coll_names[s->coll],
             first, b->plan->ncollectives);
    if (group < 0) {
        status = ss_plan_collective_add(b, name, s->label, s->bytes, 1, 0, index, l->err);
        if (!status) {
            b->plan->collectives[*index].members[0] = l->cls;
            b->plan->collectives[*index].phases[0].latency = s->seconds;
        }
        return status;
    }
    const struct ss_ring ring = {.name = name,
                                 .group = group,
                                 .kind = s->coll,
                                 .label = s->label,
                                 .bytes = s->bytes,
                                 .sm_share = s->sm_share,
                                 .speed = s->speed,
                                 .part = s->part,
                                 .seconds = b->plan->level == SS_LEVEL_FLOW ? -1 : s->seconds};
    return ss_plan_ring_add(b, l->cls, &ring, index, l->err);
}

static int find_collective(struct lowering *l, const struct ss_layer_step *s, int *index)
{
    struct ss_plan_builder *b = l->b;
    int group = s->stream == SS_STREAM_OFFLOAD ? -1 : group_of_stream(s->stream), fresh = b->plan->ncollectives;
    if (group >= 0 && l->first[group] < 0) {
        ss_plan_group_classes(b, l->cls, group);
        l->first[group] = b->scratch[0];
    }
    *index = ss_key_map_put(&b->step_collectives, collective_key(l, s, group), fresh);
    if (*index < 0)
        return ss_fail(l->err, SS_ERR_NOMEM, NULL, 0, "out of memory for collectives");
    return *index < fresh ? SS_OK : make_collective(l, s, group, index);
}

static int lower_step(void *ctx, const struct ss_layer_step *s)
{
    struct lowering *l = ctx;
    struct ss_step step = {.kind = s->kind, .label = s->label, .stream = s->stream, .seconds = s->seconds};
    int status = SS_OK;
    if (s->kind == SS_STEP_COMPUTE && (s->label == SS_LABEL_COMPUTE || s->label == SS_LABEL_RECOMPUTE))
        step.seconds *= l->own;
    if (s->kind == SS_STEP_POST)
        status = find_collective(l, s, &step.collective);
    if (status)
        return status;
    if (ss_grow(l->steps, &l->cap, (size_t)*l->n + 1, sizeof step) != 0)
        return ss_fail(l->err, SS_ERR_NOMEM, NULL, 0, "out of memory for steps");
    (*l->steps)[(*l->n)++] = step;
    return SS_OK;
}

/* Phases that the schedule has slots of. */
static void used_phases(const struct ss_schedule *s, int used[SS_PHASE_COUNT])
{
    memset(used, 0, SS_PHASE_COUNT * sizeof *used);
    for (int r = 0; r < s->stages; r++)
        for (int i = 0; i < s->nslots[r]; i++)
            used[s->slots[r][i].phase] = 1;
    if (used[SS_PHASE_FB])
        used[SS_PHASE_F] = used[SS_PHASE_B] = 1;
}

int ss_plan_steps_build(struct ss_plan_builder *b, struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    int used[SS_PHASE_COUNT], status = SS_OK;
    if (plan->level == SS_LEVEL_CHUNK)
        return SS_OK;
    used_phases(plan->schedule, used);
    for (int c = 0; c < plan->nclasses; c++) {
        const struct ss_layer_set *set = ss_plan_cost_of(b, c)->set;
        struct lowering l = {.b = b, .err = err, .cls = c, .own = b->costs[b->cost_of[c]].site.own};
        memset(l.first, -1, sizeof l.first);
        for (int k = 0; k < plan->schedule->chunks; k++) {
            struct ss_chunk_cost *chunk = &plan->classes[c].chunks[k];
            for (int phase = 0; phase < SS_PHASE_FB && !status; phase++) {
                l.steps = &chunk->steps[phase];
                l.n = &chunk->nsteps[phase];
                l.cap = 0;
                if (used[phase])
                    status = ss_chunk_steps_visit(set, k, phase, lower_step, &l);
            }
        }
    }
    return status;
}

static void place_mark(const struct ss_layer_set *set, int k, int gather, struct ss_bucket_mark *mark)
{
    int layers = mark->step;
    struct ss_chunk_place at = ss_chunk_place_at(set, k, gather ? SS_PHASE_F : SS_PHASE_B, layers);
    mark->fraction = at.fraction;
    mark->step = at.step;
    if (!gather) {
        struct ss_chunk_place weight = ss_chunk_place_at(set, k, SS_PHASE_W, layers);
        mark->weight_step = weight.step;
        mark->weight_fraction = weight.fraction;
    }
}

void ss_plan_marks_place(struct ss_plan_builder *b)
{
    struct ss_plan *plan = b->plan;
    for (int c = 0; c < plan->nclasses; c++)
        for (int k = 0; k < plan->schedule->chunks; k++) {
            struct ss_chunk_cost *chunk = &plan->classes[c].chunks[k];
            const struct ss_layer_set *set = ss_plan_cost_of(b, c)->set;
            for (int i = 0; i < chunk->nreduce; i++)
                place_mark(set, k, 0, &chunk->reduce[i]);
            for (int i = 0; i < chunk->ngather; i++)
                place_mark(set, k, 1, &chunk->gather[i]);
        }
}
