/* SPDX-License-Identifier: Apache-2.0 */
/* Plans one number of nodes, with the job's own layout or the best one of a search. */
#include "base/base.h"
#include "decide/capacity_internal.h"
#include "decide/search_internal.h"

#define A_SEARCH 500        /* layouts that are bounded in the time that any search takes, */
#define A_PREDICTION 16     /* layouts that are bounded in the time of a prediction */
#define MOST_NEAR_RANKS 128 /* of tensor or context parallelism that are tried about an answer */
#define MOST_FLOWS 8        /* layouts of a search whose flows are asked beside the first one's */

/* Makes a refusal the outcome of an answer. Other errors end the plan. */
static int refuse(const struct ss_error *why, struct ss_capacity_answer *a, struct ss_error *err)
{
    if (!ss_status_refuses(why->code)) {
        if (err)
            *err = *why;
        return why->code;
    }
    ss_summary_refuse(why, &a->point.summary);
    a->why = *why;
    return SS_OK;
}

/* ---- with the job's own layout ---- */

/* Where data parallelism does not divide the batch, the nearest batch is taken; with interleaved stages its
 * microbatches are a multiple of the pipeline ranks. */
static int plan_given(const struct ss_capacity_planner *x, const struct ss_request *site,
                      const struct ss_asked *asked, struct ss_capacity_answer *a, struct ss_error *err)
{
    const struct ss_job *job = &asked->job;
    int dp = ss_job_dp(job, a->point.gpus),
        unit = (job->micro_batch > 0 ? job->micro_batch : 1) * (dp > 0 ? dp : 1);
    const int batches[] = {job->global_batch, ss_capacity_nearest(job->global_batch, unit),
                           ss_capacity_nearest(job->global_batch, unit * (job->pp > 0 ? job->pp : 1))};
    struct ss_error why = {0}, first = {0};

    for (size_t i = 0; i < SS_ARRAY_LEN(batches); i++) {
        int rc = ss_capacity_predict_words(
            x, site, batches[i], "", x->limited ? SS_CAPACITY_NARROW : SS_CAPACITY_WIDE, &a->point, &why);
        if (!rc && x->limited)
            return ss_capacity_widen(x, site, "", &a->point, err);
        if (!rc)
            return SS_OK;
        if (!first.code)
            first = why;
        if (!ss_has_word(why.flags, "--gbs"))
            break;
    }
    ss_capacity_write_flags(&a->point, a->point.batch, "");
    return refuse(&first, a, err);
}

/* ---- with the best layout of a search ---- */

/* Adds an axis with the values that the board's layouts have of it and twice those, unless the words say more: with many factors of a number of
 * GPUs an axis has many values, of which no row was best. */
static void vary_near(const struct ss_capacity_board *b, const struct ss_request *site, const char *flag,
                      int cp, struct ss_sweep *vary)
{
    char text[128];
    size_t n = (size_t)snprintf(text, sizeof text, "%s=", flag + 2), start = n;

    if (ss_find_gives(site, flag))
        return;
    for (int value = 1; value <= MOST_NEAR_RANKS; value++) {
        int has = 0;
        for (int i = 0; i < b->nnear; i++)
            has |= value == b->near[i][cp] || value == 2 * b->near[i][cp];
        if (has)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%d", n > start ? "," : "", value);
    }
    ss_sweep_vary(vary, text, NULL); /* which refuses what is varied already, or one flag too many */
}

static int gives(const struct ss_sweep *vary, const char *flag)
{
    int found = 0;

    for (int f = 0; f < vary->nflags; f++)
        found |= ss_has_word(flag, vary->flags[f].name);
    return found;
}

/* Finds what other rows' layouts, where micro batches are free, and the best of a small part of the layouts tell of a row. That part has no FSDP,
 * and is not searched where the best one of other rows has. */
static struct ss_capacity_known find_some(const struct ss_capacity_planner *x, const struct ss_request *site,
                                          const struct ss_find_options *all,
                                          const struct ss_capacity_answer *a, int batch)
{
    static const struct {
        int axis;
        const char *values;
    } few[] = {{SS_FIND_TP, "tp=1,2,4,8"},
               {SS_FIND_CP, "cp=1,2,4"},
               {SS_FIND_MBS, "mbs=1,2"},
               {SS_FIND_FSDP, "fsdp=none"}};
    struct ss_sweep *vary = malloc(sizeof *vary);
    struct ss_find_options options = *all;
    struct ss_find_result *found = NULL;
    struct ss_capacity_known known = {INFINITY, INFINITY};
    const struct ss_capacity_board *board = &x->boards[a->point.cluster];

    if (!ss_find_gives_axis(site, SS_FIND_MBS) && !gives(all->vary, "--mbs"))
        known = ss_capacity_try_shapes(x, site, a, batch);
    if (!vary || (isfinite(known.best_s) && board->nshapes && strstr(board->shape[0].words, "--fsdp"))) {
        free(vary);
        return known;
    }
    *vary = *all->vary;
    options.vary = vary;
    options.also_alike = 0;
    options.wanted = NULL;
    options.below = &known.best_s;
    for (size_t i = 0; i < SS_ARRAY_LEN(few); i++)
        if (!ss_find_gives_axis(site, few[i].axis))
            ss_sweep_vary(vary, few[i].values, NULL);
    if (!ss_find_run(site, &options, &found, NULL) && found->groups[0].best >= 0)
        ss_capacity_know(&known, &found->points[found->groups[0].best].summary);
    ss_find_free(found);
    free(vary);
    return known;
}

/* Predicts the layouts of a search behind the `first`, of which *p is the prediction, the fastest by closed forms first, until none can be
 * faster where flows are asked. */
static int predict_best(const struct ss_capacity_planner *x, const struct ss_request *site, int batch,
                        const struct ss_find_result *found, int first, struct ss_capacity_point *p,
                        struct ss_error *why)
{
    struct ss_capacity_point next = *p;
    int best = first, rc = SS_OK;

    for (int i = first + 1; i < found->npoints && i <= first + MOST_FLOWS && !rc; i++) {
        const struct ss_find_point *f = &found->points[i];
        if (f->summary.outcome != found->points[first].summary.outcome ||
            p->summary.iteration_s <= f->summary.iteration_s)
            break;
        rc = ss_capacity_predict_words(x, site, batch, f->flags, SS_CAPACITY_NARROW, &next, why);
        if (!rc && ss_capacity_is_better(x->plan, &next, p)) {
            *p = next;
            best = i;
        }
    }
    return rc ? rc : ss_capacity_widen(x, site, found->points[best].flags, p, why);
}

/*
 * Searches by closed forms, and predicts the best layout. A row wants that and what it may lend. Where flows make its best slower, or what is
 * known has not been found again, all are wanted that are not told apart from the best. A number that is limited, and where only layouts near
 * the limit of memory are below that time, is searched again without: a dearer one that surely fits is its best.
 */
static int find_best(const struct ss_capacity_planner *x, const struct ss_request *site,
                     struct ss_find_options *o, const struct ss_capacity_known *known,
                     struct ss_capacity_answer *a, struct ss_find_result **found, struct ss_capacity_point *p,
                     struct ss_error *why)
{
    double lent_s = x->boards[p->cluster].lent_gpu_s * x->tokens_a_row * p->batch / p->gpus * (1 + 1e-9),
           below = *o->below;
    const struct ss_find_group *g;
    int rc, settled = 0, again = 0;

    do {
        const double most_s = x->limited ? below : fmin(known->alike_s, fmax(known->best_s, lent_s));
        o->below = &most_s;
        o->ctx = &lent_s;
        ss_find_free(*found);
        *found = NULL;
        rc = ss_find_run(site, o, found, why);
        if (rc)
            return rc;
        g = &(*found)->groups[0];
        int best = g->best >= 0 ? g->best : g->near;
        a->layouts += g->layouts - g->refused + A_PREDICTION * g->predicted + A_SEARCH;
        if (best >= 0)
            rc = ss_capacity_predict_words(x, site, p->batch, (*found)->points[best].flags,
                                           SS_CAPACITY_NARROW, p, why);
        settled = x->limited ? best < 0 || g->best >= 0 || isinf(most_s)
                             : isinf(lent_s) || (g->best >= 0 ? p->summary.iteration_s <=
                                                                    (*found)->points[best].summary.iteration_s
                                                              : isinf(most_s));
        /* what surely fits, and is known, ends a second search of a limited number sooner */
        below = settled || !x->limited || again++ ? INFINITY : find_some(x, site, o, a, p->batch).best_s;
        lent_s = INFINITY;
    } while (!rc && !settled);
    return rc;
}

/* Searches with a batch, and takes the best layout into the answer where it is better. */
static int search_batch(const struct ss_capacity_planner *x, struct ss_request *site, int batch,
                        struct ss_capacity_answer *a, struct ss_error *why)
{
    struct ss_sweep *vary = ss_calloc(1, sizeof *vary);
    const int helpers = x->boards[a->point.cluster].helpers;
    double most_s = x->limited ? ss_capacity_most_s(x, a->point.cluster, a->point.gpus, batch) : INFINITY;
    struct ss_run_options blind = x->run;
    struct ss_find_options options = {.vary = vary,
                                      .how = x->options->how,
                                      .run = &blind,
                                      .workers = {.n = helpers > 1 ? helpers : 1},
                                      .best_only = 1,
                                      .also_alike = !x->limited,
                                      .wanted = x->limited ? NULL : ss_capacity_slowest_lent,
                                      .brief = 1,
                                      .below = &most_s};
    struct ss_capacity_known known = {INFINITY, INFINITY};
    struct ss_find_result *found = NULL;
    struct ss_capacity_point p = a->point;
    int rc = vary ? ss_capacity_set_number(site, "--global-batch-size", batch, why) : ss_nomem(why);

    blind.level_choice = SS_LEVEL_BLIND;
    if (vary)
        *vary = *x->vary;
    if (!rc && x->near) {
        vary_near(&x->boards[p.cluster], site, "--tp", 0, vary);
        vary_near(&x->boards[p.cluster], site, "--cp", 1, vary);
    }
    if (!rc && !x->limited)
        known = find_some(x, site, &options, a, batch);
    p.batch = batch;
    SS_THEN(rc, find_best(x, site, &options, &known, a, &found, &p, why));
    free(vary);
    if (!found)
        return rc;
    const struct ss_find_group *g = &found->groups[0];
    int best = g->best >= 0 ? g->best : g->near;
    if (rc) {
        ss_find_free(found);
        return rc;
    }
    if (best >= 0) {
        rc = predict_best(x, site, batch, found, best, &p, why);
    } else {
        p.summary.outcome = SS_OUTCOME_TOO_LARGE;
        snprintf(p.summary.reason, sizeof p.summary.reason, "none of %lld layouts fits",
                 (long long)(g->layouts - g->refused));
        ss_capacity_write_flags(&p,
                                x->plan->asked_batch, /* which make a job, of which is told what would fit */
                                found->npoints ? found->points[0].flags : g->held);
    }
    if (!rc && (!a->point.flags[0] || ss_capacity_is_better(x->plan, &p, &a->point))) {
        a->point = p;
        rc = ss_capacity_lend(found, x->tokens_a_row * batch, a, why);
    }
    ss_find_free(found);
    return rc;
}

static int plan_searched(const struct ss_capacity_planner *x, struct ss_request *site,
                         struct ss_capacity_answer *a, struct ss_error *err)
{
    int batch[2], n = ss_capacity_batches(x->plan->asked_batch, a->point.gpus, batch);
    struct ss_error why = {0}, first = {0};

    for (int i = 0; i < n; i++) {
        int rc = search_batch(x, site, batch[i], a, &why);
        if (rc && !ss_status_refuses(rc))
            return refuse(&why, a, err);
        if (rc && !first.code)
            first = why;
    }
    if (a->point.flags[0])
        return SS_OK;
    a->point.batch = batch[0];
    ss_capacity_write_flags(&a->point, x->plan->asked_batch, "");
    return refuse(&first, a, err);
}

int ss_capacity_plan_full(struct ss_capacity_planner *x, struct ss_capacity_answer *a, struct ss_error *err)
{
    struct ss_request site = {0};
    struct ss_asked asked;
    struct ss_error why = {0};
    int rc = ss_capacity_open_point(x, a, &site, &asked, &why);

    rc = rc                                        ? refuse(&why, a, err)
         : x->options->layout == SS_CAPACITY_GIVEN ? plan_given(x, &site, &asked, a, err)
                                                   : plan_searched(x, &site, a, err);
    ss_request_free(&site);
    return rc;
}
