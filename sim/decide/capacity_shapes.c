/* SPDX-License-Identifier: Apache-2.0 */
/* Plans a number of nodes with the layouts that are best on the rows. */
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "decide/capacity_internal.h"
#include "decide/search_internal.h"

#define MOST_MICRO 4        /* times that a row's micro batch may grow or shrink on another number of nodes */
#define ROUNDING (1 + 1e-4) /* of whole iterations, between batches */

/* A layout of the board on a number of nodes: its micro batch is one that the number allows. */
struct trial {
    const struct ss_capacity_planner *x;
    const struct ss_request *site;
    struct ss_capacity_answer *answer;
    char words[SS_FIND_FLAGS + 16]; /* of the best layout so far; empty: none */
    int legal;                      /* 1: a layout of this shape is one that the framework takes */
};

/* Finds whether by its bound a layout of a trial is worse than the best that surely fits. */
static int find_slow(const struct trial *t, const struct ss_scenario *s, int *out, struct ss_error *err)
{
    const struct ss_capacity_point *best = &t->answer->point;
    struct ss_find_bounds bounds;

    if (!t->words[0] || ss_capacity_doubt(best))
        return SS_OK;
    if (ss_find_bound_scenario(s, NULL, &bounds))
        return ss_nomem(err);
    *out = bounds.seconds / s->job->global_batch >= ROUNDING * best->summary.iteration_s / best->batch;
    return SS_OK;
}

/* Tries a layout with a batch. */
static int try_words(struct trial *t, const char *words, int batch, struct ss_error *err)
{
    struct ss_capacity_point p = t->answer->point;
    struct ss_scenario *s = NULL;
    int slow = 0, rc = ss_capacity_build(t->x, t->site, batch, words, &s, err);

    SS_THEN(rc, find_slow(t, s, &slow, err));
    if (!rc && !slow)
        rc = ss_capacity_predict(t->x, s, words, SS_CAPACITY_BLIND, &p, err);
    t->answer->layouts++;
    t->legal |= !rc;
    if (!rc && !slow && ss_capacity_is_better(t->x->plan, &p, &t->answer->point)) {
        t->answer->point = p;
        ss_copy(t->words, sizeof t->words, words);
    }
    ss_scenario_free(s);
    return rc;
}

/* Tries a shape with a batch: by each micro batch that divides the rows of a replica and is within MOST_MICRO of its row's. */
static int try_shape(struct trial *t, const struct ss_capacity_shape *s, int batch, int rows,
                     struct ss_error *err)
{
    int rc = SS_OK;

    for (int m = 1; m <= rows && m <= MOST_MICRO * s->micro_batch && !rc; m++) {
        struct ss_error why = {0};
        char words[sizeof t->words];
        if (rows % m || MOST_MICRO * m < s->micro_batch)
            continue;
        snprintf(words, sizeof words, "%s --mbs %d", s->words, m);
        rc = try_words(t, words, batch, &why);
        if (rc && !ss_status_refuses(rc) && err)
            *err = why;
        rc = ss_status_refuses(rc) ? SS_OK : rc;
    }
    return rc;
}

int ss_capacity_plan_shapes(struct ss_capacity_planner *x, struct ss_capacity_answer *a, struct ss_error *err)
{
    const struct ss_capacity_board *board = &x->boards[a->point.cluster];
    struct ss_request site = {0};
    struct ss_asked words;
    struct trial t = {.x = x, .site = &site, .answer = a};
    int rc = ss_capacity_open_point(x, a, &site, &words, err), asked = x->plan->asked_batch,
        gpus = a->point.gpus;
    double most = INFINITY;

    for (int i = 0; i < board->nshapes && board->shape[i].gpu_s <= most && !rc; i++) {
        const struct ss_capacity_shape *s = &board->shape[i];
        int dp = gpus % (s->tp * s->cp * s->pp) ? 0 : gpus / (s->tp * s->cp * s->pp);
        int batches[] = {dp ? ss_capacity_nearest(asked, dp) : 0,
                         dp ? ss_capacity_nearest(asked, dp * s->pp) : 0};
        t.legal = 0;
        for (int k = 0; k < 2 && dp && !rc; k++)
            if (ss_capacity_is_near(batches[k], asked) && !(k && batches[1] == batches[0]))
                rc = try_shape(&t, s, batches[k], batches[k] / dp, err);
        if (t.legal)
            most = fmin(most, SS_CAPACITY_WORTH * s->gpu_s);
    }
    if (!rc && t.words[0])
        rc = ss_capacity_widen(x, &site, t.words, &a->point, err);
    ss_request_free(&site);
    return rc;
}
