/* SPDX-License-Identifier: Apache-2.0 */
/* Plans a number of nodes with the layouts that are best on the rows: all of them are bounded, and those with the least bounds are
 * predicted until no bound is below the best prediction. */

#include "base/base.h"
#include "decide/capacity_internal.h"
#include "decide/search_internal.h"

#define MOST_MICRO 4        /* times that a row's micro batch may grow or shrink on another number of nodes */
#define ROUNDING (1 + 1e-4) /* of whole iterations, between batches */

/* A layout of the board on a number of nodes: its micro batch is one that the number allows. */
struct trial {
    const struct ss_capacity_shape *shape;
    int micro_batch, batch;
    double bound; /* s of a sequence, at least */
};

struct trials {
    const struct ss_capacity_planner *x;
    const struct ss_request *site;
    struct ss_capacity_answer *answer;
    int n, hopeful; /* hopeful: trials of which one may be the answer */
    size_t cap;
    struct trial *trial;
    struct best {
        struct ss_capacity_point point;
        char words[SS_FIND_FLAGS + 24]; /* empty: none */
    } best[2];                          /* with the asked batch, and with another */
};

static const char *words_of(const struct trial *t, char *words, size_t size)
{
    snprintf(words, size, "%s --mbs %d", t->shape->words, t->micro_batch);
    return words;
}

/* ---- bounds ---- */

/* Adds a trial with its bound. Errors: refusals of the layout. */
static int add_trial(struct trials *all, struct trial t, struct ss_error *err)
{
    const struct ss_capacity_point *p = &all->answer->point;
    struct ss_scenario *s = NULL;
    struct ss_find_bounds bounds;
    char words[sizeof all->best->words];
    int rc = ss_capacity_build(all->x, all->site, t.batch, words_of(&t, words, sizeof words), &s, err);

    all->answer->layouts++;
    if (rc)
        return rc;
    if (ss_find_bound_scenario(s, all->x->run.cache, &bounds) ||
        ss_grow(&all->trial, &all->cap, (size_t)all->n + 1, sizeof t))
        rc = ss_nomem(err);
    ss_scenario_free(s);
    if (rc)
        return rc;
    t.bound = bounds.seconds / t.batch;
    all->hopeful |= bounds.seconds < ss_capacity_most_s(all->x, p->cluster, p->gpus, t.batch);
    all->trial[all->n++] = t;
    return SS_OK;
}

/* Adds a shape with a batch: with each micro batch that divides the rows of a replica and is within MOST_MICRO of its row's. */
static int add_shape(struct trials *all, const struct ss_capacity_shape *s, int batch, int rows,
                     struct ss_error *err)
{
    int rc = SS_OK;

    for (int m = 1; m <= rows && m <= MOST_MICRO * s->micro_batch && !rc; m++) {
        struct ss_error why = {0};
        if (rows % m || MOST_MICRO * m < s->micro_batch)
            continue;
        rc = add_trial(all, (struct trial){s, m, batch, 0}, &why);
        if (rc && !ss_status_refuses(rc) && err)
            *err = why;
        rc = ss_status_refuses(rc) ? SS_OK : rc;
    }
    return rc;
}

/* Adds the shapes that a number of GPUs allows. One that is much dearer than another is not tried. */
static int add_all(struct trials *all, struct ss_error *err)
{
    const struct ss_capacity_point *p = &all->answer->point;
    const struct ss_capacity_board *board = &all->x->boards[p->cluster];
    const int asked = all->x->plan->asked_batch;
    double most = INFINITY;
    int rc = SS_OK;

    for (int i = 0; i < board->nshapes && board->shape[i].gpu_s <= most && !rc; i++) {
        const struct ss_capacity_shape *s = &board->shape[i];
        int dp = p->gpus % (s->tp * s->cp * s->pp) ? 0 : p->gpus / (s->tp * s->cp * s->pp), before = all->n;
        int batches[] = {dp ? ss_capacity_nearest(asked, dp) : 0,
                         dp ? ss_capacity_nearest(asked, dp * s->pp) : 0};
        for (int k = 0; k < 2 && dp && !rc; k++)
            if (ss_capacity_is_near(batches[k], asked) && !(k && batches[1] == batches[0]))
                rc = add_shape(all, s, batches[k], batches[k] / dp, err);
        if (all->n > before)
            most = fmin(most, SS_CAPACITY_WORTH * s->gpu_s);
    }
    return rc;
}

/* ---- predictions ---- */

/* The order is one of all trials, which no library's sort may choose. */
static int by_bound(const void *left, const void *right)
{
    const struct trial *a = left, *b = right;
    if (a->bound != b->bound)
        return a->bound < b->bound ? -1 : 1;
    if (a->shape != b->shape)
        return a->shape < b->shape ? -1 : 1;
    return a->batch != b->batch ? a->batch - b->batch : a->micro_batch - b->micro_batch;
}

/* Returns whether a trial is worse than the best that surely fits, whichever of them has another batch. */
static int is_slow(const struct trials *all, const struct trial *t)
{
    int slow = 0;

    for (int k = 0; k < 2; k++) {
        const struct ss_capacity_point *p = &all->best[k].point;
        slow |= all->best[k].words[0] && !ss_capacity_doubt(p) &&
                SS_CAPACITY_A_BATCH * t->bound >= ROUNDING * p->summary.iteration_s / p->batch;
    }
    return slow;
}

static int predict(struct trials *all, const struct trial *t, struct ss_error *err)
{
    struct best next = {.point = all->answer->point},
                *best = &all->best[t->batch != all->x->plan->asked_batch];
    struct ss_scenario *s = NULL;
    struct ss_error why = {0};

    words_of(t, next.words, sizeof next.words);
    int rc = ss_capacity_build(all->x, all->site, t->batch, next.words, &s, &why);
    SS_THEN(rc, ss_capacity_predict(all->x, s, next.words, SS_CAPACITY_BLIND, &next.point, &why));
    ss_scenario_free(s);
    if (!rc && (!best->words[0] || ss_capacity_is_better(all->x->plan, &next.point, &best->point)))
        *best = next;
    if (rc && !ss_status_refuses(rc) && err)
        *err = why;
    return ss_status_refuses(rc) ? SS_OK : rc;
}

static int plan(struct trials *all, struct ss_error *err)
{
    const struct best *best = all->best;
    int rc = add_all(all, err);

    if (rc || !all->hopeful)
        return rc;
    qsort(all->trial, (size_t)all->n, sizeof *all->trial, by_bound);
    for (int i = 0; i < all->n && !rc && !is_slow(all, &all->trial[i]); i++)
        rc = predict(all, &all->trial[i], err);
    if (best[1].words[0] &&
        (!best->words[0] || ss_capacity_is_better(all->x->plan, &best[1].point, &best->point)))
        best++;
    if (rc || !best->words[0] || !ss_capacity_holds(&best->point))
        return rc;
    all->answer->point = best->point;
    return ss_capacity_widen(all->x, all->site, best->words, &all->answer->point, err);
}

int ss_capacity_plan_shapes(struct ss_capacity_planner *x, struct ss_capacity_answer *a, struct ss_error *err)
{
    struct ss_request site = {0};
    struct ss_asked words;
    struct trials all = {.x = x, .site = &site, .answer = a};
    int rc = ss_capacity_open_point(x, a, &site, &words, err);

    SS_THEN(rc, plan(&all, err));
    free(all.trial);
    ss_request_free(&site);
    return rc;
}

void ss_capacity_know(struct ss_capacity_known *known, const struct ss_summary *fits)
{
    known->best_s = fmin(known->best_s, fits->iteration_s);
    known->alike_s = fmin(known->alike_s, ss_capacity_not_apart(fits));
}

struct ss_capacity_known ss_capacity_try_shapes(const struct ss_capacity_planner *x,
                                                const struct ss_request *site,
                                                const struct ss_capacity_answer *a, int batch)
{
    const struct ss_capacity_board *board = &x->boards[a->point.cluster];
    struct ss_capacity_answer some = *a;
    struct trials all = {.x = x, .site = site, .answer = &some};
    const struct best *best = &all.best[batch != x->plan->asked_batch];
    struct ss_capacity_known known = {INFINITY, INFINITY};
    int rc = SS_OK;

    some.point.batch = batch;
    for (int i = 0; i < board->nshapes && !rc; i++) {
        const struct ss_capacity_shape *s = &board->shape[i];
        const int ranks = s->tp * s->cp * s->pp, dp = a->point.gpus % ranks ? 0 : a->point.gpus / ranks;
        if (dp && batch % dp == 0)
            rc = add_shape(&all, s, batch, batch / dp, NULL);
    }
    if (all.n)
        qsort(all.trial, (size_t)all.n, sizeof *all.trial, by_bound);
    for (int i = 0; i < all.n && !rc && all.trial[i].bound * batch < known.best_s; i++) {
        rc = predict(&all, &all.trial[i], NULL);
        if (best->words[0] && !ss_capacity_doubt(&best->point))
            ss_capacity_know(&known, &best->point.summary);
    }
    free(all.trial);
    return known;
}
