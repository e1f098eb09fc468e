/* SPDX-License-Identifier: Apache-2.0 */
/* Lowers layers to steps of every class, with the collectives of its own groups. Layer level only. */
#include "base/base.h"
#include "plan/plan_internal.h"

/* The class and phase at hand. */
struct lowering {
    struct ss_plan_builder *b;
    struct ss_error *err;
    int cls;
    double own;               /* straggler's factor */
    int first[SS_COMM_COUNT]; /* lowest class of the class's group; -1: not looked up yet */
    struct ss_step **steps;
    int *n;
    size_t cap;
};

static uint64_t collective_key(const struct lowering *l, const struct ss_layer_step *s)
{
    uint64_t h = ss_mix_in((uint64_t)l->first[s->comm], (uint64_t)s->comm);
    h = ss_mix_in(h, (uint64_t)s->coll);
    h = ss_mix_in(h, ss_bits_of(s->bytes));
    h = ss_mix_in(h, ss_bits_of(s->user_buffers));
    h = ss_mix_in(h, ss_bits_of(s->beside));
    /* FSDP's groups have members with unlike kernels */
    h = ss_mix_in(h, ss_bits_of(s->sms > 0 ? s->sm_share : 0));
    if (s->comm == SS_COMM_HOST) /* the visible part of a copy differs from pass to pass */
        h = ss_mix_in(h, ss_bits_of(s->seconds));
    return ss_mix_in(h, ss_bits_of(s->part));
}

static int make_collective(struct lowering *l, const struct ss_layer_step *s, int *index)
{
    struct ss_plan_builder *b = l->b;
    const struct ss_comm_facts *facts = ss_comm_facts(s->comm);
    int copy = facts->members == SS_MEMBERS_SELF;
    char name[48];
    const struct ss_collective_spec spec = {.name = name,
                                            .comm = s->comm,
                                            .role = copy ? SS_ROLE_OFFLOAD : SS_ROLE_LAYER,
                                            .kind = s->coll,
                                            .bytes = s->bytes,
                                            .sm_share = s->sm_share,
                                            .user_buffers = s->user_buffers,
                                            .part = s->part,
                                            .beside = s->beside,
                                            .seconds = b->plan->level >= facts->flows ? -1 : s->seconds};
    snprintf(name, sizeof name, "%s %s class%d #%d", ss_label_name(facts->label),
             copy ? "copy" : ss_collective_kind_name(s->coll), l->first[s->comm], b->plan->ncollectives);
    return copy ? ss_plan_collective_add(b, &spec, &l->cls, 1, 0, index, l->err)
                : ss_plan_group_collective_add(b, l->cls, &spec, NULL, index, l->err);
}

/* Returns the lowest class of the class's group. */
static int find_first(struct lowering *l, int comm)
{
    struct ss_class_list classes;
    if (l->first[comm] >= 0)
        return SS_OK;
    if (ss_comm_facts(comm)->members == SS_MEMBERS_SELF) {
        l->first[comm] = l->cls;
        return SS_OK;
    }
    SS_TRY(ss_plan_group_classes(l->b, l->cls, comm, &classes, l->err));
    l->first[comm] = classes.cls[0];
    free(classes.cls);
    return SS_OK;
}

static int find_collective(struct lowering *l, const struct ss_layer_step *s, int *index)
{
    struct ss_plan_builder *b = l->b;
    int fresh = b->plan->ncollectives, rc = find_first(l, s->comm);
    if (rc)
        return rc;
    *index = ss_map_put(&b->step_collectives, collective_key(l, s), fresh);
    if (*index < 0)
        return ss_nomem(l->err);
    return *index < fresh ? SS_OK : make_collective(l, s, index);
}

struct ss_step ss_plan_step_of(const struct ss_layer_step *s, double own)
{
    struct ss_step step = {.kind = s->kind,
                           .label = s->label,
                           .seconds = s->seconds,
                           .phase = s->phase,
                           .op = s->op,
                           .op_kind = s->op_kind,
                           .part = s->of_part,
                           .precision = s->precision,
                           .flops = s->flops,
                           .bytes = s->moved};
    if (s->kind != SS_STEP_COMPUTE)
        step.stream = ss_comm_facts(s->comm)->stream;
    if (s->kind == SS_STEP_COMPUTE && (s->label == SS_LABEL_COMPUTE || s->label == SS_LABEL_RECOMPUTE))
        step.seconds *= own;
    return step;
}

static int lower_step(void *ctx, const struct ss_layer_step *s)
{
    struct lowering *l = ctx;
    struct ss_step step = ss_plan_step_of(s, l->own);
    if (s->kind == SS_STEP_POST)
        SS_TRY(find_collective(l, s, &step.collective));
    if (ss_grow(l->steps, &l->cap, (size_t)*l->n + 1, sizeof step) != 0)
        return ss_nomem(l->err);
    (*l->steps)[(*l->n)++] = step;
    return SS_OK;
}

/* Marks the phases that the schedule has slots of. */
static void used_phases(const struct ss_schedule *s, int used[SS_PHASE_COUNT])
{
    memset(used, 0, SS_PHASE_COUNT * sizeof *used);
    for (int r = 0; r < s->stages; r++)
        for (int i = 0; i < s->nslots[r]; i++)
            used[s->slots[r][i].phase] = 1;
    if (used[SS_PHASE_FB])
        used[SS_PHASE_F] = used[SS_PHASE_B] = 1;
}

/* Lowers the pairs among the class's slots. */
static int lower_pairs(struct lowering *l, const struct ss_layer_set *set)
{
    const struct ss_plan *plan = l->b->plan;
    struct ss_plan_class *pc = &plan->classes[l->cls];
    int chunks = plan->schedule->chunks, rc = SS_OK;
    for (int i = 0; pc->pairs && i < chunks * chunks && !rc; i++) {
        l->steps = &pc->pairs[i].steps;
        l->n = &pc->pairs[i].nsteps;
        l->cap = 0;
        if (ss_label_sum(pc->pairs[i].seconds) > 0)
            rc = ss_pair_steps_visit(set, i / chunks, i % chunks, lower_step, l);
    }
    return rc == SS_ERR_NOMEM ? ss_fail(l->err, rc, NULL, 0, "out of memory for steps") : rc;
}

int ss_plan_steps_build(struct ss_plan_builder *b, struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    int used[SS_PHASE_COUNT], rc = SS_OK;
    if (plan->level == SS_LEVEL_CHUNK)
        return SS_OK;
    used_phases(plan->schedule, used);
    for (int c = 0; c < plan->nclasses; c++) {
        const struct ss_layer_set *set = ss_plan_cost_of(b, c)->set;
        struct lowering l = {.b = b, .err = err, .cls = c, .own = b->costs[b->cost_of[c]].site.own};
        memset(l.first, -1, sizeof l.first);
        for (int k = 0; k < plan->schedule->chunks; k++) {
            struct ss_chunk_cost *chunk = &plan->classes[c].chunks[k];
            for (int phase = 0; phase < SS_PHASE_FB && !rc; phase++) {
                l.steps = &chunk->steps[phase];
                l.n = &chunk->nsteps[phase];
                l.cap = 0;
                if (used[phase])
                    rc = ss_chunk_steps_visit(set, k, phase, lower_step, &l);
            }
        }
        SS_THEN(rc, lower_pairs(&l, set));
    }
    return rc;
}
