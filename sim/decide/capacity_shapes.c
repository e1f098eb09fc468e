/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts that are best on a row are lent to other numbers of nodes. There all of them are bounded, and those with the least bounds are
 * predicted until no bound is below the best prediction. */
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "decide/capacity_internal.h"
#include "decide/search_internal.h"

#define ALIKE 2      /* layouts of the same tensor, context and pipeline sizes that a row lends at most */
#define MOST_MICRO 4 /* times that a row's micro batch may grow or shrink on another number of nodes */
#define ROUNDING (1 + 1e-4) /* of whole iterations, between batches */

/* ---- what a row lends ---- */

/* Copies the words of a layout without its micro batch, which another number of nodes may not divide. */
static void copy_words(char *to, size_t size, const char *words)
{
    static const char flag[] = "--mbs ";
    const char *at = strstr(words, flag), *end = at ? at + strlen(flag) : NULL;

    snprintf(to, size, "%.*s%s", at ? (int)(at - words) : (int)strlen(words), words,
             end ? end + strcspn(end, " ") : "");
}

/* Takes the layouts that are best, of `points`, the fastest first, and returns how many; gpu_s is how long an iteration takes. */
static int take_shapes(const struct ss_find_point *const *points, int npoints,
                       struct ss_capacity_shape shape[SS_CAPACITY_SHAPES])
{
    int n = 0;

    for (int i = 0; n < SS_CAPACITY_SHAPES && i < npoints; i++) {
        const struct ss_find_point *p = points[i];
        struct ss_capacity_shape *s = &shape[n];
        char words[sizeof s->words];
        int alike = 0, same = 0;
        copy_words(words, sizeof words, p->flags);
        if (p->summary.outcome !=
            points[0]->summary.outcome) /* those that surely fit, else those near the limit */
            break;
        for (int k = 0; k < n; k++) {
            alike += shape[k].tp == p->tp && shape[k].cp == p->cp && shape[k].pp == p->pp;
            same |= !strcmp(shape[k].words, words);
        }
        if (alike == ALIKE || same)
            continue;
        *s = (struct ss_capacity_shape){.tp = p->tp,
                                        .cp = p->cp,
                                        .pp = p->pp,
                                        .micro_batch = p->micro_batch,
                                        .gpu_s = p->summary.iteration_s};
        ss_copy(s->words, sizeof s->words, words);
        n++;
    }
    return n;
}

double ss_capacity_slowest_lent(void *ctx, const struct ss_find_point *const *points, int n)
{
    struct ss_capacity_shape shape[SS_CAPACITY_SHAPES];

    (void)ctx;
    return take_shapes(points, n, shape) < SS_CAPACITY_SHAPES ? INFINITY
                                                              : shape[SS_CAPACITY_SHAPES - 1].gpu_s;
}

int ss_capacity_lend(const struct ss_find_result *found, double tokens, struct ss_capacity_answer *a,
                     struct ss_error *err)
{
    const struct ss_find_point **points = ss_calloc((size_t)found->npoints + 1, sizeof *points);

    SS_NEED(points, err);
    for (int i = 0; i < found->npoints; i++)
        points[i] = &found->points[i];
    int n = take_shapes(points, found->npoints, a->shape);
    free(points);
    for (int i = 0; i < n; i++)
        a->shape[i].gpu_s = a->shape[i].gpu_s * a->point.gpus / tokens;
    if (n < SS_CAPACITY_SHAPES)
        a->shape[n].tp = 0;
    return SS_OK;
}

/* ---- what another number takes ---- */

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
        char words[SS_FIND_FLAGS + 16]; /* empty: none */
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
