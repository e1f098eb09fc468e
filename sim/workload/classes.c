/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classes: the coarsest partition of ranks and links in which two ranks of a class have the same pipeline
 * rank and speed, groups of the same shape and of the same classes, peers in the same classes, and flows over
 * links of the same classes; and two links of a class have the same bandwidth and are crossed by as many
 * flows of every kind and class (equitable partition; docs/design.md proves that such ranks do the same at
 * the same time). Found by colour refinement: colours are hashes of what a rank or link sees.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "workload/plan_internal.h"

struct ss_group_shape ss_plan_shape(const struct ss_plan_builder *b, int group, int rank)
{
    if (!b->ways.group[group])
        return (struct ss_group_shape){1, 1, 1};
    return b->ways.shape[group][b->ways.group[group][rank]];
}

int ss_plan_stage_peer(const struct ss_plan *plan, int rank, int stage)
{
    const struct ss_ranks *r = &plan->ranks;
    int own = ss_ranks_coordinate(r, rank, SS_AXIS_PP);
    return rank + (stage - own) * r->stride[SS_AXIS_PP];
}

int ss_plan_distinct(const uint64_t *colour, int n)
{
    struct ss_key_map seen = {0};
    int status = 0;
    uint64_t last = 0;
    for (int i = 0; i < n && status >= 0; i++) {
        if (i == 0 || colour[i] != last)
            status = ss_key_map_put(&seen, colour[i], 0);
        last = colour[i];
    }
    int count = status < 0 ? -1 : (int)seen.n;
    ss_key_map_free(&seen);
    return count;
}

static uint64_t bits_of(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

/* Colours at work. */
struct colours {
    const struct ss_plan *plan;
    const struct ss_ways *w;
    uint64_t *rank, *next; /* [world_size] */
    uint64_t *link;        /* [nlinks] */
    uint64_t *sum;         /* [world_size], of the members of a group */
};

static uint64_t first_colour(const struct ss_plan_builder *b, int r)
{
    const struct ss_ways *w = &b->ways;
    uint64_t h = ss_mix_in(0, (uint64_t)ss_ranks_coordinate(&b->plan->ranks, r, SS_AXIS_PP));
    if (b->slowness)
        h = ss_mix_in(h, bits_of(b->slowness[r]));
    for (int g = 0; g < SS_WAY_GROUPS; g++) {
        if (!w->group[g])
            continue;
        struct ss_group_shape s = w->shape[g][w->group[g][r]];
        h = ss_mix_in(h, (uint64_t)s.n << 42 | (uint64_t)s.nodes << 21 | (uint64_t)s.per_node);
        if (w->leg[g][SS_LEG_FAR] >= 0)
            h = ss_mix_in(h, (uint64_t)w->beside[g][r]);
    }
    for (int k = 0; k < w->npeers || k == w->embedding; k++)
        h = ss_mix_in(h, w->to[r * w->nkinds + k] < 0 ? 1 : bits_of(w->latency[r * w->nkinds + k]));
    return h;
}

/* A link sees its bandwidth and the flows that cross it, in no order. */
static void colour_links(struct colours *c)
{
    const struct ss_ways *w = c->w;
    for (int l = 0; l < w->nlinks; l++)
        c->link[l] = bits_of(w->bandwidth[l]);
    for (int r = 0; r < c->plan->world_size; r++)
        for (int k = 0; k < w->nkinds; k++) {
            size_t i = (size_t)r * (size_t)w->nkinds + (size_t)k;
            uint64_t flow = ss_mix_in(c->rank[r], (uint64_t)k), hop = 1; /* so that up and down differ */
            for (int j = w->first[i]; j < w->first[i + 1]; j++)
                if (w->kept[w->pool[j]]) {
                    c->link[w->pool[j]] += flow * hop;
                    hop += 2;
                }
        }
}

/* A rank sees itself, its peers and its links in their order, and its groups' members in no order. */
static void colour_ranks(struct colours *c)
{
    const struct ss_ways *w = c->w;
    int n = c->plan->world_size;
    for (int r = 0; r < n; r++) {
        uint64_t h = c->rank[r];
        for (int k = 0; k < w->nkinds; k++) {
            size_t i = (size_t)r * (size_t)w->nkinds + (size_t)k;
            if (k < w->npeers || k == w->embedding)
                h = ss_mix_in(h, w->to[i] < 0 ? 0 : c->rank[w->to[i]]);
            for (int j = w->first[i]; j < w->first[i + 1]; j++)
                if (w->kept[w->pool[j]])
                    h = ss_mix_in(h, c->link[w->pool[j]]);
        }
        c->next[r] = h;
    }
    for (int g = 0; g < SS_WAY_GROUPS; g++) {
        if (!w->group[g])
            continue;
        memset(c->sum, 0, (size_t)n * sizeof *c->sum);
        for (int r = 0; r < n; r++)
            c->sum[w->group[g][r]] += ss_mix64(c->rank[r]);
        for (int r = 0; r < n; r++)
            c->next[r] = ss_mix_in(c->next[r], c->sum[w->group[g][r]]);
    }
}

/* Refines until nothing is split any more: a refinement never merges, so equal counts mean the same
 * partition. *n: colours. */
static int refine(struct colours *c, int *n)
{
    int world = c->plan->world_size, before = ss_plan_distinct(c->rank, world);
    for (;;) {
        colour_links(c);
        colour_ranks(c);
        int now = ss_plan_distinct(c->next, world);
        if (before < 0 || now < 0)
            return SS_ERR_NOMEM;
        *n = before;
        if (now == before)
            return SS_OK;
        uint64_t *swap = c->rank;
        c->rank = c->next;
        c->next = swap;
        before = now;
    }
}

/* Numbers the colours by (pipeline rank, lowest member). */
static int number_classes(struct ss_plan *plan, const uint64_t *colour, int nclasses, struct ss_error *err)
{
    struct ss_key_map of = {0};
    int found = 0, status = 0;
    plan->classes = ss_calloc((size_t)nclasses, sizeof *plan->classes);
    if (!plan->classes)
        status = -1;
    for (int stage = 0; stage < plan->schedule->stages && status >= 0; stage++)
        for (int r = 0; r < plan->world_size && status >= 0; r++) {
            if (ss_ranks_coordinate(&plan->ranks, r, SS_AXIS_PP) != stage)
                continue;
            int c = status = colour ? ss_key_map_put(&of, colour[r], found) : found;
            if (c < 0)
                break;
            if (c == found) {
                found++;
                plan->classes[c].stage = stage;
                plan->classes[c].representative = r;
            }
            plan->classes[c].count++;
            plan->class_of[r] = c;
        }
    plan->nclasses = found;
    ss_key_map_free(&of);
    return status < 0 ? ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for %d classes", nclasses) : SS_OK;
}

static int fold(struct ss_plan_builder *b, struct ss_error *err)
{
    size_t n = (size_t)b->plan->world_size;
    struct colours c = {.plan = b->plan, .w = &b->ways};
    int count = 0, status = SS_ERR_NOMEM;
    c.rank = ss_calloc(n, sizeof *c.rank);
    c.next = ss_calloc(n, sizeof *c.next);
    c.sum = ss_calloc(n, sizeof *c.sum);
    c.link = ss_calloc((size_t)b->ways.nlinks, sizeof *c.link);
    if (c.rank && c.next && c.sum && c.link) {
        for (int r = 0; r < b->plan->world_size; r++)
            c.rank[r] = first_colour(b, r);
        status = refine(&c, &count);
    }
    status = status ? ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for %d ranks", b->plan->world_size)
                    : number_classes(b->plan, c.rank, count, err);
    b->link_colour = c.link;
    free(c.rank);
    free(c.next);
    free(c.sum);
    return status;
}

int ss_plan_classes_build(struct ss_plan_builder *b, struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    plan->class_of = ss_calloc((size_t)plan->world_size, sizeof *plan->class_of);
    if (!plan->class_of)
        return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for %d ranks", plan->world_size);
    return plan->unfolded ? number_classes(plan, NULL, plan->world_size, err) : fold(b, err);
}
