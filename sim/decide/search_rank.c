/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which layouts are looked at; which predicted ones are best for each number of nodes, and which are on the front. */
#include "base/base.h"
#include "decide/search_internal.h"

static int by_bound(const void *left, const void *right)
{
    const struct ss_find_leaf *a = left, *b = right;
    int d = a->cluster - b->cluster;
    d = d ? d : a->seconds < b->seconds ? -1 : a->seconds > b->seconds;
    return d ? d : memcmp(a->at, b->at, sizeof a->at);
}

static int by_place(const void *left, const void *right)
{
    const struct ss_find_leaf *a = left, *b = right;
    int d = a->place < b->place ? -1 : a->place > b->place;
    return d ? d : a->cluster - b->cluster;
}

void ss_find_order(struct ss_find_space *s)
{
    if (s->nleaves == 0)
        return;
    qsort(s->leaves, s->nleaves, sizeof *s->leaves, by_bound);
    for (size_t i = 0; i < s->nleaves; i++)
        s->leaves[i].place =
            i && s->leaves[i].cluster == s->leaves[i - 1].cluster ? s->leaves[i - 1].place + 1 : 0;
    if (s->nclusters > 1)
        qsort(s->leaves, s->nleaves, sizeof *s->leaves, by_place);
}

static int order(double a, double b)
{
    return a < b ? -1 : a > b;
}

struct piece {
    double labour;
    int number;
};

static int by_labour(const void *left, const void *right)
{
    const struct piece *a = left, *b = right;
    int d = order(b->labour, a->labour);
    return d ? d : a->number - b->number;
}

int ss_find_longest_first(const struct ss_find_space *s, int *numbers, int n, struct ss_error *err)
{
    struct piece *pieces = ss_calloc((size_t)n + 1, sizeof *pieces);
    SS_NEED(pieces, err);
    for (int i = 0; i < n; i++) {
        const struct ss_find_leaf *leaf = &s->leaves[numbers[i]];
        pieces[i] = (struct piece){ss_find_labour(&s->clusters[leaf->cluster], leaf->at), numbers[i]};
    }
    qsort(pieces, (size_t)n, sizeof *pieces, by_labour);
    for (int i = 0; i < n; i++)
        numbers[i] = pieces[i].number;
    free(pieces);
    return SS_OK;
}

/* Orders points by group, outcome, time and memory; then by their words, so that equal points have a
 * fixed order. */
static int by_rank(const void *left, const void *right)
{
    const struct ss_find_point *a = left, *b = right;
    int d = a->group - b->group;
    d = d ? d : a->summary.outcome - b->summary.outcome;
    d = d ? d : order(a->summary.iteration_s, b->summary.iteration_s);
    d = d ? d : order(a->summary.peak_device, b->summary.peak_device);
    return d ? d : strcmp(a->flags, b->flags);
}

/* Returns whether i is faster at the same work, or smaller, and in nothing worse; the first of equals wins. */
static int beats(const struct ss_find_result *f, int i, int k)
{
    const struct ss_summary *a = &f->points[i].summary, *b = &f->points[k].summary;
    if (f->groups[f->points[i].group].work != f->groups[f->points[k].group].work)
        return 0;
    if (a->gpus > b->gpus || a->iteration_s > b->iteration_s || a->peak_device > b->peak_device)
        return 0;
    return a->gpus < b->gpus || a->iteration_s < b->iteration_s || a->peak_device < b->peak_device || i < k;
}

static void find_front(struct ss_find_result *f)
{
    int *front = malloc((size_t)(f->npoints ? f->npoints : 1) * sizeof *front), n = 0;
    for (int i = 0; front && i < f->npoints; i++) {
        if (f->points[i].summary.outcome != SS_OUTCOME_FITS)
            continue;
        int beaten = 0, kept = 0;
        for (int k = 0; k < n && !beaten; k++)
            beaten = beats(f, front[k], i);
        if (beaten)
            continue;
        for (int k = 0; k < n; k++)
            if (!beats(f, i, front[k]))
                front[kept++] = front[k];
        n = kept;
        front[n++] = i;
    }
    for (int k = 0; front && k < n; k++)
        f->points[front[k]].front = 1;
    free(front);
}

static void find_best(struct ss_find_result *f, int at)
{
    struct ss_find_group *g = &f->groups[at];
    g->best = g->near = -1;
    for (int i = 0; i < f->npoints; i++) {
        const struct ss_find_point *p = &f->points[i];
        if (p->group != at)
            continue;
        if (g->best < 0 && p->summary.outcome == SS_OUTCOME_FITS)
            g->best = i;
        if (g->near < 0 && p->summary.outcome == SS_OUTCOME_NEAR_LIMIT)
            g->near = i;
    }
    if (g->best < 0)
        return;
    const struct ss_summary *best = &f->points[g->best].summary;
    if (g->near >= 0 && f->points[g->near].summary.iteration_s >= best->iteration_s)
        g->near = -1;
    for (int i = g->best + 1; i < f->npoints; i++) {
        struct ss_find_point *p = &f->points[i];
        p->like_best = p->group == at && p->summary.outcome == SS_OUTCOME_FITS &&
                       p->summary.iteration_s <= best->iteration_s * (1 + best->apart_pct / 100);
        g->like_best += p->like_best;
    }
}

void ss_find_rank(struct ss_find_result *f)
{
    if (f->npoints > 0)
        qsort(f->points, (size_t)f->npoints, sizeof *f->points, by_rank);
    for (int g = 0; g < f->ngroups; g++)
        find_best(f, g);
    find_front(f);
}

int ss_find_status(const struct ss_find_result *found)
{
    for (int g = 0; g < found->ngroups; g++)
        if (found->groups[g].best >= 0 || found->groups[g].near >= 0)
            return 0;
    return ss_status_exit(SS_ERR_OOM);
}

void ss_find_free(struct ss_find_result *found)
{
    if (!found)
        return;
    SS_FREE(found->groups, found->rules, found->points);
    ss_notes_free(&found->warnings);
    SS_FREE(found->advice, found);
}
