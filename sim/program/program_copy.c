/* SPDX-License-Identifier: Apache-2.0 */
/* Parts that a program copies from its plan: links, paths, collectives, classes without slots. */
#include "base/arena.h"
#include "base/base.h"
#include "program/program_internal.h"
#include "stepsim/plan.h"

static void *copy(struct ss_arena *arena, const void *of, size_t n, size_t align)
{
    void *to = ss_arena_take(arena, n, align);

    return to && n ? memcpy(to, of, n) : to;
}

int ss_program_collective_copy(struct ss_program *p, const struct ss_collective *in,
                               struct ss_collective *out)
{
    struct ss_arena arena = {p->parts};
    const size_t phases = (size_t)in->nphases * sizeof *in->phases,
                 members = (size_t)in->nmembers * sizeof *in->members;

    *out = *in;
    out->phases = copy(&arena, in->phases, phases, _Alignof(struct ss_flow_phase));
    out->members = copy(&arena, in->members, members, _Alignof(int));
    bool whole = out->phases && out->members;
    for (int i = 0; whole && i < in->nphases; i++) {
        const size_t flows = (size_t)in->phases[i].nflows * sizeof *in->phases->flows;
        out->phases[i].flows = copy(&arena, in->phases[i].flows, flows, _Alignof(struct ss_flow));
        whole = out->phases[i].flows != NULL;
    }
    p->parts = arena.blocks;
    return whole ? SS_OK : SS_ERR_NOMEM;
}

static int copy_tables(const struct ss_plan *plan, struct ss_program *p, struct ss_error *err)
{
    p->links = malloc(((size_t)plan->nlinks + 1) * sizeof *p->links);
    p->paths = malloc(((size_t)plan->npaths + 1) * sizeof *p->paths);
    p->collectives = ss_calloc((size_t)plan->ncollectives, sizeof *p->collectives);
    p->classes = ss_calloc((size_t)plan->nclasses, sizeof *p->classes);
    SS_NEED(p->links && p->paths && p->collectives && p->classes, err);
    if (plan->nlinks)
        memcpy(p->links, plan->links, (size_t)plan->nlinks * sizeof *p->links);
    if (plan->npaths)
        memcpy(p->paths, plan->paths, (size_t)plan->npaths * sizeof *p->paths);
    p->nlinks = plan->nlinks;
    p->npaths = plan->npaths;
    p->nclasses = plan->nclasses;
    for (; p->ncollectives < plan->ncollectives; p->ncollectives++)
        SS_NEED(!ss_program_collective_copy(p, &plan->collectives[p->ncollectives],
                                            &p->collectives[p->ncollectives]),
                err);
    const struct ss_schedule *s = plan->schedule;
    snprintf(p->name, sizeof p->name, "%.24s-p%d-v%d-m%d", s->name, s->stages, s->chunks,
             s->microbatches + s->loop_more * s->loop_step);
    p->memory_overhead_factor = 1 + plan->fragmentation;
    return SS_OK;
}

static void name_class(struct ss_program_class *out, int stage, const int *per_stage, int *nth)
{
    char *at = ss_write_int(stpcpy(out->name, "stage"), stage);
    if (per_stage[stage] > 1) {
        *at++ = '.';
        at = ss_write_int(at, nth[stage]++);
    }
    *at = '\0';
}

int ss_program_issues(const struct ss_plan *plan, int cls)
{
    const struct ss_plan_class *c = &plan->classes[cls];
    int n = 0;
    for (int k = 0; k < plan->schedule->chunks; k++)
        n += c->chunks[k].issue[SS_PHASE_F].n + c->chunks[k].issue[SS_PHASE_B].n;
    return n > 0;
}

static int copy_classes(const struct ss_plan *plan, struct ss_program *p, struct ss_error *err)
{
    int stages = plan->schedule->stages;
    int *per_stage = ss_calloc(2 * (size_t)stages, sizeof *per_stage);
    SS_NEED(per_stage, err);
    for (int c = 0; c < plan->nclasses; c++)
        per_stage[plan->classes[c].stage]++;
    for (int c = 0; c < plan->nclasses; c++) {
        const struct ss_plan_class *in = &plan->classes[c];
        struct ss_program_class *out = &p->classes[c];
        name_class(out, in->stage, per_stage, per_stage + stages);
        out->stage = in->stage;
        out->count = in->count;
        out->first_rank = in->representative;
        out->draws = ss_plan_lockstep(plan, in->representative);
        out->nstreams = plan->level > SS_LEVEL_CHUNK ? ss_stream_count(plan->experts)
                        : in->norm >= 0              ? SS_STREAM(SS_COMM_WORLD) + 1
                                                     : SS_STREAM(SS_COMM_DP_CP) + 1;
        if (ss_program_issues(plan, c))
            out->nstreams = SS_STREAM(SS_COMM_ISSUE) + 1;
        memcpy(out->memory, in->memory, sizeof out->memory);
    }
    free(per_stage);
    return SS_OK;
}

int ss_program_copy(const struct ss_plan *plan, struct ss_program *p, struct ss_error *err)
{
    int rc = copy_tables(plan, p, err);
    return rc ? rc : copy_classes(plan, p, err);
}

int ss_program_unroll(const struct ss_program *p, struct ss_program *out, struct ss_error *err)
{
    *out = *p;
    out->classes = ss_calloc((size_t)p->nclasses, sizeof *out->classes);
    for (int c = 0; out->classes && c < p->nclasses; c++) {
        const struct ss_program_class *from = &p->classes[c];
        struct ss_program_class *to = &out->classes[c];
        *to = *from;
        to->loop = (struct ss_program_loop){0};
        to->slots = malloc(((size_t)from->nslots + 1) * sizeof *to->slots);
        for (int i = 0; to->slots && i < from->nslots; i++)
            to->slots[i] = ss_program_slot_at(from, i);
        if (!to->slots) {
            ss_program_unroll_free(out);
            break;
        }
    }
    return out->classes ? SS_OK : ss_nomem(err);
}

void ss_program_unroll_free(struct ss_program *out)
{
    for (int c = 0; out->classes && c < out->nclasses; c++)
        free(out->classes[c].slots);
    free(out->classes);
    out->classes = NULL;
}
