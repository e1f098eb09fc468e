/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives of the plan: one a process group (or a class of equal groups), with all classes that take part. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "plan/plan_internal.h"

int ss_plan_collective_add(struct ss_plan_builder *b, const char *name, int label, double bytes, int nmembers,
                           int nflows, int *index, struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    struct ss_collective *c;
    if (ss_grow(&plan->collectives, &b->cap_collectives, (size_t)plan->ncollectives + 1, sizeof *c) != 0)
        return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for collectives");
    c = &plan->collectives[plan->ncollectives];
    memset(c, 0, sizeof *c);
    *index = plan->ncollectives++; /* from here ss_plan_free releases it */
    ss_copy(c->name, sizeof c->name, name);
    c->label = label;
    c->bytes = bytes;
    c->members = ss_calloc((size_t)nmembers, sizeof *c->members);
    c->phases = ss_calloc(1, sizeof *c->phases);
    if (!c->members || !c->phases)
        return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for a collective");
    c->nmembers = nmembers;
    c->nphases = 1;
    c->phases[0].flows = nflows ? ss_calloc((size_t)nflows, sizeof *c->phases[0].flows) : NULL;
    if (nflows && !c->phases[0].flows)
        return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for flows");
    return SS_OK;
}

void ss_plan_flow_add(struct ss_plan_builder *b, int collective, int path, double bytes)
{
    struct ss_flow_phase *phase = &b->plan->collectives[collective].phases[0];
    phase->flows[phase->nflows].path = path;
    phase->flows[phase->nflows++].bytes = bytes;
}

int ss_plan_list_add(int **list, int *n, int value, struct ss_error *err)
{
    int *grown = realloc(*list, (size_t)(*n + 1) * sizeof **list);
    if (!grown)
        return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for collectives");
    *list = grown;
    grown[(*n)++] = value;
    return SS_OK;
}

static int compare_int(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

int ss_plan_group_classes(struct ss_plan_builder *b, int cls, int group)
{
    const struct ss_plan *plan = b->plan;
    int n, distinct = 0;
    ss_ways_members(plan, group, plan->classes[cls].representative, b->scratch, &n);
    for (int i = 0; i < n; i++)
        b->scratch[i] = plan->class_of[b->scratch[i]];
    qsort(b->scratch, (size_t)n, sizeof *b->scratch, compare_int);
    for (int i = 0; i < n; i++)
        if (i == 0 || b->scratch[i] != b->scratch[distinct - 1])
            b->scratch[distinct++] = b->scratch[i];
    return distinct;
}

/* A flow that is like one of another member stands for both. */
static int known_flow(const struct ss_plan_builder *b, int index, int path)
{
    const struct ss_flow_phase *phase = &b->plan->collectives[index].phases[0];
    for (int i = 0; i < phase->nflows && !b->plan->unfolded; i++)
        if (phase->flows[i].path == path)
            return 1;
    return 0;
}

/* The flows of one member, side by side; all its ranks have equal ones. */
static int member_flows(struct ss_plan_builder *b, int cls, const struct ss_ring *ring, const struct ss_collective_way *way, int index,
                        struct ss_error *err)
{
    const struct ss_ways *w = &b->ways;
    int rank = b->plan->classes[cls].representative, path, status;
    const int *leg = w->leg[ring->group];
    double step = ring->bytes * ring->part;
    const double bytes[SS_LEGS] = {way->near / ring->speed, way->far / ring->speed / w->beside[ring->group][rank], step};
    for (int l = 0; l < SS_LEGS; l++) {
        if ((status = ss_plan_path(b, cls, leg[l], &path, err)) != 0)
            return status;
        if (path >= 0 && !known_flow(b, index, path))
            ss_plan_flow_add(b, index, path, bytes[l]);
    }
    return SS_OK;
}

int ss_plan_ring_add(struct ss_plan_builder *b, int cls, const struct ss_ring *ring, int *index, struct ss_error *err)
{
    struct ss_group_shape g = ss_plan_shape(b, ring->group, b->plan->classes[cls].representative);
    int n = ss_plan_group_classes(b, cls, ring->group), flows = ring->seconds < 0, status;
    status = ss_plan_collective_add(b, ring->name, ring->label, ring->bytes, n, flows ? SS_LEGS * n : 0, index, err);
    if (status)
        return status;
    struct ss_collective *c = &b->plan->collectives[*index];
    struct ss_net net = b->net;
    net.nvlink_busbw *= ring->speed;
    if (ring->speed != 1) /* other than NCCL's: user buffers, which have no slow start */
        net.nvlink_half = 0;
    struct ss_collective_way way = ss_collective_way(&net, ring->kind, ring->bytes, &g);
    int step = b->ways.leg[ring->group][SS_LEG_STEP] >= 0;
    memcpy(c->members, b->scratch, (size_t)n * sizeof *c->members);
    c->sm_share = ring->sm_share;
    c->phases[0].latency = !flows ? ring->seconds
                           : step ? (g.nodes > 1 ? b->net.nic_step : b->net.nvlink_step) * ring->part
                                  : way.latency;
    for (int i = 0; flows && i < n; i++)
        if ((status = member_flows(b, b->plan->collectives[*index].members[i], ring, &way, *index, err)) != 0)
            return status;
    return SS_OK;
}
