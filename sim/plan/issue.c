/* SPDX-License-Identifier: Apache-2.0 */
/* The host's launches as collectives of one member, which the GPU waits for (docs/design/host.md). */
#include "base/base.h"
#include "plan/plan_internal.h"

/* The class at hand. */
struct issuing {
    struct ss_plan_builder *b;
    struct ss_error *err;
    int cls;
    struct ss_chunk_issue *issue;
};

/* Finds or makes the collective of some seconds of launches. */
static int find_launches(const struct issuing *x, double seconds, int *index)
{
    struct ss_plan_builder *b = x->b;
    char name[48];
    const struct ss_collective_spec spec = {
        .name = name, .comm = SS_COMM_ISSUE, .role = SS_ROLE_LAUNCH, .part = 1, .seconds = seconds};
    uint64_t key = ss_mix_in(ss_mix_in((uint64_t)x->cls, SS_COMM_ISSUE), ss_bits_of(seconds));
    int fresh = b->plan->ncollectives;
    snprintf(name, sizeof name, "launches class%d #%d", x->cls, fresh);
    *index = ss_map_put(&b->step_collectives, key, fresh);
    if (*index < 0)
        return ss_nomem(x->err);
    return *index < fresh ? SS_OK : ss_plan_collective_add(b, &spec, &x->cls, 1, 0, index, x->err);
}

static int add_launches(void *ctx, double seconds)
{
    struct issuing *x = ctx;
    int index, rc = find_launches(x, seconds, &index);
    return rc ? rc : ss_plan_list_add(&x->issue->collective, &x->issue->n, index, x->err);
}

/* Chunk level: the launches up to each mark, and behind the last one. */
static int mark_launches(struct issuing *x, struct ss_bucket_mark *marks, int n)
{
    double done = 0;
    int rc = SS_OK;
    for (int i = 0; i < n && !rc; i++)
        if (marks[i].host > done) {
            rc = find_launches(x, marks[i].host - done, &marks[i].issue);
            done = marks[i].host;
        }
    return rc || !(x->issue->host > done) ? rc : find_launches(x, x->issue->host - done, &x->issue->rest);
}

static int chunk_launches(struct issuing *x, struct ss_chunk_cost *chunk, int k, int phase)
{
    const int marked = phase == SS_PHASE_F ? chunk->ngather : chunk->nreduce;
    x->issue = &chunk->issue[phase];
    if (!(x->issue->host > 0))
        return SS_OK;
    if (x->b->plan->level > SS_LEVEL_CHUNK)
        return ss_chunk_issues_visit(ss_plan_cost_of(x->b, x->cls)->set, k, phase, add_launches, x);
    int rc = add_launches(x, x->issue->host);
    return rc ? rc : mark_launches(x, phase == SS_PHASE_F ? chunk->gather : chunk->reduce, marked);
}

int ss_plan_issues_build(struct ss_plan_builder *b, struct ss_error *err)
{
    int rc = SS_OK;
    for (int c = 0; c < b->plan->nclasses; c++) {
        struct issuing x = {.b = b, .err = err, .cls = c};
        for (int k = 0; k < b->plan->schedule->chunks && !rc; k++)
            for (int phase = SS_PHASE_F; phase <= SS_PHASE_B && !rc; phase++)
                rc = chunk_launches(&x, &b->plan->classes[c].chunks[k], k, phase);
    }
    return rc;
}
