/* SPDX-License-Identifier: Apache-2.0 */
/* A plan made by hand, for tests that need no model: equal stages, F = 1 s, B = 2 s, free communication. */
#ifndef PLAN_FIXTURE_H
#define PLAN_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stepsim/plan.h"

enum {
    FIXTURE_DP = 1,    /* buckets, optimizer, embedding, norm */
    FIXTURE_EXTRA = 2, /* memory */
    FIXTURE_TWO = 4,   /* two classes a stage */
    FIXTURE_ODD = 8,   /* numbers that are not round, bytes on the links */
    FIXTURE_PAIRED = 16
};

struct fixture {
    struct ss_plan plan;
    struct ss_schedule *schedule;
};

static int fixture_collective(struct ss_plan *plan, const char *name, const int *members, int n, int odd)
{
    struct ss_collective *k = &plan->collectives[plan->ncollectives];
    memset(k, 0, sizeof *k);
    snprintf(k->name, sizeof k->name, "%s", name);
    k->label = SS_LABEL_DP;
    k->nmembers = n;
    k->members = malloc((size_t)n * sizeof *k->members);
    memcpy(k->members, members, (size_t)n * sizeof *k->members);
    if (odd) {
        k->bytes = 1e9 / 3;
        k->sm_share = 0.1;
        k->nphases = 1;
        k->phases = calloc(1, sizeof *k->phases);
        k->phases[0].latency = 1e-5 / 7;
        k->phases[0].nflows = 1;
        k->phases[0].flows = calloc(1, sizeof *k->phases[0].flows);
        k->phases[0].flows[0].bytes = 1e9 / 9;
    }
    return plan->ncollectives++;
}

static void fixture_chunk(struct fixture *f, int cls, int chunk, int flags)
{
    struct ss_plan *plan = &f->plan;
    struct ss_chunk_cost *c = &plan->classes[cls].chunks[chunk];
    int stage = plan->classes[cls].stage, odd = !!(flags & FIXTURE_ODD);
    char name[48];
    c->virtual_stage = chunk * f->schedule->stages + stage;
    c->has_loss = c->virtual_stage == f->schedule->stages * f->schedule->chunks - 1;
    c->forward[SS_LABEL_COMPUTE] = odd ? 0.7 : 1;
    c->forward[SS_LABEL_TP] = odd ? 0.1 * (1 + chunk) : 0;
    c->backward[SS_LABEL_COMPUTE] = 2;
    c->input_grad[SS_LABEL_COMPUTE] = 1.25;
    c->weight_grad[SS_LABEL_COMPUTE] = 0.75;
    if (odd)
        c->send_bytes = c->recv_bytes = 1e8 / 3;
    if (flags & FIXTURE_EXTRA) {
        c->activation_bytes = 100;
        c->weight_grad_bytes = 40;
        c->logits_bytes = c->has_loss ? 11 : 0;
        c->forward_extra_bytes = 7;
        c->backward_extra_bytes = 9;
    }
    if (!(flags & FIXTURE_DP))
        return;
    c->ngather = c->nreduce = 1;
    c->gather = calloc(1, sizeof *c->gather);
    c->reduce = calloc(1, sizeof *c->reduce);
    snprintf(name, sizeof name, odd ? "all-gather %d" : "gather%d.%d", stage, chunk);
    c->gather[0] =
        (struct ss_bucket_mark){.collective = fixture_collective(plan, name, &cls, 1, odd), .first = 1};
    snprintf(name, sizeof name, odd ? "k1" : "reduce%d.%d", stage, chunk);
    c->reduce[0] = (struct ss_bucket_mark){.collective = fixture_collective(plan, name, &cls, 1, odd)};
    c->reduce[0].fraction = c->reduce[0].weight_fraction = odd ? 1.0 / 3 : 0.5;
}

static void fixture_class(struct fixture *f, int cls, int stage, int flags)
{
    struct ss_plan_class *c = &f->plan.classes[cls];
    c->stage = stage;
    c->count = 1;
    c->representative = cls;
    c->norm = -1;
    c->chunks = calloc((size_t)f->schedule->chunks, sizeof *c->chunks);
    if (flags & FIXTURE_EXTRA)
        c->memory[SS_MEM_WEIGHTS] = 1e9 + stage / 3.0;
    for (int chunk = 0; chunk < f->schedule->chunks; chunk++)
        fixture_chunk(f, cls, chunk, flags);
    if (flags & FIXTURE_DP) {
        c->optimizer_s = 0.5;
        c->fixed_s = 0.25;
    }
}

static void fixture_paths(struct fixture *f, int per_stage)
{
    int p = f->schedule->stages;
    struct ss_plan *plan = &f->plan;
    plan->p2p = calloc((size_t)(2 * p * per_stage), sizeof *plan->p2p);
    for (int i = 0; i < p && p > 1; i++)
        for (int k = 0; k < per_stage; k++) {
            int a = i * per_stage + k, b = (i + 1) % p * per_stage + k;
            if (p == 2 && i == 1)
                continue; /* the pair is there already */
            if (i == p - 1 && f->schedule->chunks == 1)
                continue; /* nothing wraps around */
            plan->p2p[plan->np2p++] = (struct ss_p2p_path){.from = a, .to = b};
            plan->p2p[plan->np2p++] = (struct ss_p2p_path){.from = b, .to = a};
        }
}

static struct fixture *fixture_make_group(const char *name, int p, int v, int m, int group, int overlap,
                                          int flags)
{
    struct ss_schedule_params params = {.stages = p,
                                        .chunks = v,
                                        .microbatches = m,
                                        .microbatch_group_size = group,
                                        .overlap_p2p = overlap,
                                        .paired = (flags & FIXTURE_PAIRED) != 0};
    struct fixture *f = calloc(1, sizeof *f);
    if (ss_schedule_build(name, &params, &f->schedule, NULL)) {
        free(f);
        return NULL;
    }
    int per_stage = flags & FIXTURE_TWO ? 2 : 1, n = p * per_stage;
    struct ss_plan *plan = &f->plan;
    plan->schedule = f->schedule;
    plan->nclasses = n;
    plan->classes = calloc((size_t)n, sizeof *plan->classes);
    plan->collectives = calloc((size_t)(2 * n * v + 4), sizeof *plan->collectives);
    plan->nlinks = plan->npaths = 1;
    plan->links = calloc(1, sizeof *plan->links);
    plan->paths = calloc(1, sizeof *plan->paths);
    snprintf(plan->links[0].name, sizeof plan->links[0].name, "nic 0.up");
    plan->links[0].bandwidth = 25e9 / 3;
    plan->paths[0].nlinks = 1;
    plan->paths[0].weight[0] = flags & FIXTURE_ODD ? 1 + 1e-9 : 1;
    for (int c = 0; c < n; c++)
        fixture_class(f, c, c / per_stage, flags);
    fixture_paths(f, per_stage);
    int *all = malloc((size_t)n * sizeof *all);
    for (int c = 0; c < n; c++)
        all[c] = c;
    if (flags & FIXTURE_DP) {
        int embedding = fixture_collective(plan, "embedding", all, n, 0),
            norm = fixture_collective(plan, "norm", all, n, 0);
        for (int c = 0; c < n; c++) {
            plan->classes[c].npost = 1;
            plan->classes[c].post = malloc(sizeof(int));
            plan->classes[c].post[0] = embedding;
            plan->classes[c].norm = norm;
        }
    }
    free(all);
    return f;
}

static struct fixture *fixture_make(const char *name, int p, int v, int m, int overlap, int flags)
{
    return fixture_make_group(name, p, v, m, 0, overlap, flags);
}

static void fixture_free(struct fixture *f)
{
    if (!f)
        return;
    for (int c = 0; c < f->plan.nclasses; c++) {
        for (int k = 0; k < f->schedule->chunks; k++) {
            free(f->plan.classes[c].chunks[k].gather);
            free(f->plan.classes[c].chunks[k].reduce);
        }
        free(f->plan.classes[c].chunks);
        free(f->plan.classes[c].post);
    }
    for (int i = 0; i < f->plan.ncollectives; i++) {
        if (f->plan.collectives[i].phases)
            free(f->plan.collectives[i].phases[0].flows);
        free(f->plan.collectives[i].phases);
        free(f->plan.collectives[i].members);
    }
    free(f->plan.classes);
    free(f->plan.collectives);
    free(f->plan.links);
    free(f->plan.paths);
    free(f->plan.p2p);
    ss_schedule_free(f->schedule);
    free(f);
}

#endif
