/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which layouts are looked at; which predicted ones are best for each number of nodes, and which are on the front. */
#include "base/base.h"
#include "decide/search_internal.h"

struct key {
    uint64_t value;
    int leaf;
};

/* Sorts n keys, behind which there is room for n more, byte by byte; equal ones keep their order. Comparisons would take a third of what one
 * process does alone between the walk and the predictions. */
static void sort(struct key *keys, size_t n)
{
    struct key *from = keys, *to = keys + n;
    uint64_t differ = 0;
    for (size_t i = 0; i < n; i++)
        differ |= keys[i].value ^ keys[0].value;
    for (int shift = 0; shift < 64; shift += 8) {
        size_t at[257] = {0};
        if (!(differ >> shift & 255))
            continue;
        for (size_t i = 0; i < n; i++)
            at[(from[i].value >> shift & 255) + 1]++;
        for (int byte = 0; byte < 256; byte++)
            at[byte + 1] += at[byte];
        for (size_t i = 0; i < n; i++)
            to[at[from[i].value >> shift & 255]++] = from[i];
        struct key *sorted = to;
        to = from;
        from = sorted;
    }
    if (from != keys)
        memcpy(keys, from, n * sizeof *keys);
}

int ss_find_order(struct ss_find_space *s, struct ss_error *err)
{
    const size_t n = s->nleaves;
    struct key *keys = ss_calloc(2 * n + 1, sizeof *keys);
    struct ss_find_leaf *leaves = ss_calloc(n + 1, sizeof *leaves);
    if (!keys || !leaves) {
        SS_FREE(keys, leaves);
        return ss_nomem(err);
    }
    for (
        size_t i = 0; i < n;
        i++) { /* in the order of the walk; the bits of times are in that of times, none of which is below 0 */
        keys[i].leaf = (int)i;
        memcpy(&keys[i].value, &s->leaves[i].seconds, sizeof keys[i].value);
    }
    sort(keys, n);
    for (size_t i = 0; i < n; i++)
        keys[i].value = (uint64_t)s->leaves[keys[i].leaf].cluster;
    sort(keys, n);
    for (size_t i = 0, first = 0; i < n; i++) {
        first = keys[i].value == keys[first].value ? first : i;
        s->leaves[keys[i].leaf].place = (int)(i - first);
    }
    for (size_t i = 0; i < n; i++)
        keys[i].value = (uint64_t)s->leaves[keys[i].leaf].place;
    if (s->nclusters > 1)
        sort(keys, n);
    for (size_t i = 0; i < n; i++)
        leaves[i] = s->leaves[keys[i].leaf];
    SS_FREE(keys, s->leaves);
    s->leaves = leaves;
    s->cap_leaves = n + 1;
    return SS_OK;
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
