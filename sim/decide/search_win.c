/* SPDX-License-Identifier: Apache-2.0 */
/* Which layouts cannot win any more, by what was predicted so far. */
#include <math.h>

#include "decide/search_state.h"

int ss_find_is_beaten(const struct ss_find_state *x, const struct ss_find_leaf *leaf)
{
    const struct ss_find_result *f = x->space->found;
    const struct ss_find_group *b = &f->groups[leaf->cluster];
    for (int i = 0; i < x->nfit; i++) {
        const struct ss_find_point *p = &f->points[x->fit[i]];
        const struct ss_find_group *a = &f->groups[p->group];
        if (p->summary.peak_device > leaf->bytes)
            return 0;
        if (p->summary.iteration_s <= leaf->seconds && a->work == b->work && a->gpus <= b->gpus)
            return 1;
    }
    return 0;
}

int ss_find_cannot_win(const struct ss_find_state *x, const struct ss_find_leaf *leaf)
{
    const struct ss_find_cluster *c = &x->space->clusters[leaf->cluster];
    int block = ss_find_block_axis(c, leaf->at) >= 0;
    int late = x->within[leaf->cluster] <= leaf->seconds;
    if (leaf->unsure) /* the fastest of them is told, where it is faster than what surely fits */
        late = fmin(x->fastest[leaf->cluster], x->near[leaf->cluster]) <= leaf->seconds;
    if (block)
        return late || ss_map_get(&x->roomy, ss_find_block_key(c, leaf)) >= 0;
    return late && (leaf->unsure || x->options->best_only || ss_find_is_beaten(x, leaf));
}

int ss_find_waits(const struct ss_find_state *x, const struct ss_find_leaf *leaf, const int *batch, int n)
{
    const struct ss_find_group *groups = x->space->found->groups, *b = &groups[leaf->cluster];
    if (leaf->seconds < x->within[leaf->cluster])
        return 0;
    for (int i = 0; i < n; i++) {
        const struct ss_find_leaf *other = &x->space->leaves[batch[i]];
        const struct ss_find_group *a = &groups[other->cluster];
        if (a->work == b->work && a->gpus <= b->gpus && other->seconds <= leaf->seconds &&
            other->bytes <= leaf->bytes && !other->unsure && other->walk != leaf->walk)
            return 1;
    }
    return 0;
}

/* Share of a time by which closed forms that are doubted may be above flows (docs/design/design.md, section 9). */
#define ABOVE_FLOWS 0.2

double ss_find_least_as_flows(const struct ss_find_point *p, double bound)
{
    return fmax(bound, (1 - ABOVE_FLOWS) * p->summary.iteration_s);
}

int ss_find_asks_flows(const struct ss_find_state *x, const struct ss_find_point *p)
{
    struct ss_find_leaf as = x->space->leaves[p->number];
    as.seconds = ss_find_least_as_flows(p, p->least_s);
    as.bytes = p->summary.peak_device;
    as.unsure = 0;
    if (!p->summary.doubted || x->options->exhaustive)
        return p->summary.doubted;
    if (p->summary.outcome == SS_OUTCOME_FITS)
        return !ss_find_cannot_win(x, &as);
    return p->summary.outcome == SS_OUTCOME_NEAR_LIMIT &&
           as.seconds < fmin(x->fastest[p->group], x->near[p->group]);
}
