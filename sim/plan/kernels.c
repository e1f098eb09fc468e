/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of a class, step by step, at any level of the plan. */
#include "base/base.h"
#include "plan/plan_internal.h"

/* The sites of the classes, kept for later looks at kernels: at chunk level a plan has no steps. */
struct ss_plan_sites {
    struct ss_net net;
    int *of_class; /* [nclasses]: index of its site, or of the first whose kernels are the same */
    struct ss_rank_site site[];
};

int ss_plan_sites_keep(struct ss_plan_builder *b, struct ss_error *err)
{
    struct ss_plan_sites *sites = malloc(sizeof *sites + (size_t)b->ncosts * sizeof sites->site[0]);
    SS_NEED(sites, err);
    sites->net = b->net;
    for (int i = 0; i < b->ncosts; i++)
        sites->site[i] = b->costs[i].site;
    sites->of_class = b->cost_of;
    for (int c = 0; c < b->plan->nclasses; c++)
        sites->of_class[c] = b->costs[b->cost_of[c]].like;
    b->cost_of = NULL;
    b->plan->sites = sites;
    return SS_OK;
}

void ss_plan_sites_free(struct ss_plan_sites *sites)
{
    if (sites)
        free(sites->of_class);
    free(sites);
}

int ss_plan_kernels_same(const struct ss_plan *plan, int a, int b)
{
    return plan->level <= SS_LEVEL_CHUNK && plan->sites->of_class[a] == plan->sites->of_class[b];
}

/* Passes on steps that compute, with the phase and chunks at hand. */
struct visiting {
    const struct ss_kernel_visitor *visitor;
    double own; /* straggler's factor */
    struct ss_kernel_place at;
};

static int hand_on(struct visiting *v, const struct ss_step *step)
{
    return step->kind == SS_STEP_COMPUTE ? v->visitor->visit(v->visitor->ctx, &v->at, step) : SS_OK;
}

static int visit_layer_step(void *ctx, const struct ss_layer_step *s)
{
    struct visiting *v = ctx;
    if (s->kind != SS_STEP_COMPUTE)
        return SS_OK;
    const struct ss_step step = ss_plan_step_of(s, v->own);
    return v->visitor->visit(v->visitor->ctx, &v->at, &step);
}

static int visit_list(struct visiting *v, const struct ss_step *list, int n)
{
    int rc = SS_OK;
    for (int i = 0; i < n && !rc; i++)
        rc = hand_on(v, &list[i]);
    return rc;
}

/* Visits the steps of a phase of a chunk, or of a pair; without cost they are the plan's. */
static int visit_slot(struct visiting *v, const struct ss_plan *plan, int cls,
                      const struct ss_rank_cost *cost)
{
    const struct ss_plan_class *pc = &plan->classes[cls];
    const int phase = v->at.phase, f = v->at.chunk, b = v->at.chunk2,
              pair = phase == SS_PHASE_FB ? f * plan->schedule->chunks + b : 0;
    if (!v->visitor->wants(v->visitor->ctx, &v->at))
        return SS_OK;
    if (phase != SS_PHASE_FB)
        return cost ? ss_chunk_kernels_visit(cost->set, f, phase, &v->at.count, visit_layer_step, v)
                    : visit_list(v, pc->chunks[f].steps[phase], pc->chunks[f].nsteps[phase]);
    if (!cost)
        return visit_list(v, pc->pairs[pair].steps, pc->pairs[pair].nsteps);
    return ss_label_sum(cost->pairs[pair].seconds) > 0
               ? ss_pair_steps_visit(cost->set, f, b, visit_layer_step, v)
               : SS_OK;
}

static int visit_all(struct visiting *v, const struct ss_plan *plan, int cls, const struct ss_rank_cost *cost)
{
    int chunks = plan->schedule->chunks, pairs = plan->classes[cls].pairs ? chunks * chunks : 0, rc = SS_OK;
    for (int i = 0; i < SS_PHASE_FB * chunks && !rc; i++) {
        v->at = (struct ss_kernel_place){i / chunks, i % chunks, 0, 1};
        rc = visit_slot(v, plan, cls, cost);
    }
    for (int i = 0; i < pairs && !rc; i++) {
        v->at = (struct ss_kernel_place){SS_PHASE_FB, i / chunks, i % chunks, 1};
        rc = visit_slot(v, plan, cls, cost);
    }
    return rc;
}

int ss_plan_kernels_visit(const struct ss_plan *plan, int cls, const struct ss_kernel_visitor *visitor,
                          struct ss_error *err)
{
    struct visiting v = {.visitor = visitor};
    struct ss_cost_input in = ss_plan_cost_input(plan, &plan->sites->net);
    const struct ss_layer_keeper keeper =
        ss_layer_keeper(visitor->cache, plan->job, plan->stack, in.card, in.net);
    struct ss_rank_site site = plan->sites->site[plan->sites->of_class[cls]];
    struct ss_rank_cost cost;
    int rc;
    if (plan->level > SS_LEVEL_CHUNK)
        return visit_all(&v, plan, cls, NULL);
    site.pace = site.own_pace = 1;
    v.own = site.own;
    in.with_steps = 1;
    in.keeper = &keeper;
    rc = ss_rank_cost_build(&in, &site, NULL, &cost, err);
    SS_THEN(rc, visit_all(&v, plan, cls, &cost));
    ss_rank_cost_free(&cost);
    return rc == SS_ERR_NOMEM ? ss_fail(err, rc, NULL, 0, "out of memory for kernels") : rc;
}
