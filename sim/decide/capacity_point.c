/* SPDX-License-Identifier: Apache-2.0 */
/* Plans one number of nodes of a platform. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "decide/capacity_internal.h"
#include "decide/search_internal.h"
#include "job/input_cache.h"
#include "model/model_internal.h"
#include "stepsim/assumed.h"
#include "stepsim/import.h"

#define A_SEARCH 500        /* layouts that are bounded in the time that any search takes, */
#define A_PREDICTION 16     /* layouts that are bounded in the time of a prediction */
#define MOST_NEAR_RANKS 128 /* of tensor or context parallelism that are tried about an answer */
#define MOST_FLOWS 8        /* layouts of a search whose flows are asked beside the first one's */

static int set_number(struct ss_request *r, const char *flag, int value, struct ss_error *err)
{
    char text[24];

    snprintf(text, sizeof text, "%d", value);
    return ss_request_set(r, flag, text, err);
}

/* ---- a platform ---- */

static int usage(struct ss_error *err, const char *hint, const char *what)
{
    return ss_hint(err, ss_fail(err, SS_ERR_USAGE, NULL, 0, "%s", what), "%s", hint);
}

/* Makes the words of a job on so many nodes, and what they ask for before defaults are filled in. */
static int open_site(const struct ss_capacity_planner *x, int cluster, int nodes, struct ss_request *r,
                     struct ss_asked *asked, struct ss_error *err)
{
    int rc = ss_request_copy(&x->bases[cluster], r, err);

    if (rc)
        return rc;
    ss_asked_init(asked);
    rc = set_number(r, "--nodes", nodes, err);
    return rc ? rc : ss_asked_parse(asked, r, NULL, NULL, err);
}

/* Does so for the point of an answer, and counts its GPUs. The platform is read here and stays as long as the caches of the number; what
 * is wrong with it is told of the jobs that are built on it. */
int ss_capacity_open_point(const struct ss_capacity_planner *x, struct ss_capacity_answer *a,
                           struct ss_request *r, struct ss_asked *asked, struct ss_error *err)
{
    struct ss_capacity_point *p = &a->point;
    const struct ss_scenario_options *how = x->options->how;
    struct ss_platform *platform;
    struct ss_stack *stack;
    int rc = open_site(x, p->cluster, p->nodes, r, asked, err);

    if (!rc)
        ss_input_cache_find(x->inputs, &asked->job, r, how ? how->asker : NULL, how ? how->files : NULL,
                            &platform, &stack, NULL);
    p->batch = x->plan->asked_batch;
    p->gpus = rc ? 0 : ss_job_world_size(&asked->job, p->nodes, x->plan->clusters[p->cluster].gpus_a_node);
    return rc;
}

int ss_capacity_open_cluster(struct ss_capacity_planner *x, int cluster, int nodes, struct ss_error *err)
{
    struct ss_capacity_cluster *k = &x->plan->clusters[cluster];
    const struct ss_scenario_options *how = x->options->how;
    struct ss_platform *platform;
    struct ss_stack *stack;
    struct ss_request r = {0};
    struct ss_asked asked;
    int rc = open_site(x, cluster, nodes, &r, &asked, err);

    SS_THEN(rc, ss_input_cache_find(x->loaded, &asked.job, &r, how ? how->asker : NULL,
                                    how ? how->files : NULL, &platform, &stack, err));
    ss_request_free(&r);
    if (rc)
        return rc;
    const struct ss_card *card = ss_platform_card(platform);
    ss_copy(k->platform, sizeof k->platform, asked.job.platform);
    ss_copy(k->card, sizeof k->card, card->name);
    ss_copy(k->fabric, sizeof k->fabric, ss_platform_fabric(platform));
    ss_copy(x->plan->model, sizeof x->plan->model,
            asked.job.model_ref[0] ? asked.job.model_ref : "the model of its flags");
    k->gpus_a_node = ss_platform_file_gpus(platform);
    k->rack = ss_platform_most_joined(platform) > 1 ? ss_platform_most_joined(platform) : 1;
    k->gpu_w = card->power;
    k->idle = card->power_idle;
    k->node_w = card->power_node;
    k->pue = card->pue;
    k->price_is_example = !(card->price > 0);
    k->price = card->price > 0 ? card->price : card->price_example;
    ss_copy(k->basis, sizeof k->basis, card->price > 0 ? "stated" : ss_platform_price_basis(platform));
    k->mtbf_h = card->mtbf;
    k->restart_s = card->restart;
    k->storage = card->storage;
    k->least_gpu_s = ss_capacity_least_gpu_s(x, &asked, card);
    x->given_gpus = asked.job.tp * asked.job.cp * asked.job.pp;
    x->plan->asked_batch = asked.job.global_batch;
    x->tokens_a_row = asked.job.seq_length;
    return x->options->budget_usd > 0 && !(k->price > 0)
               ? usage(err, "add --price 2.5USD/h", "a budget buys nothing where the card has no price")
               : SS_OK;
}

/* ---- predictions ---- */

static void tell_layout(const struct ss_run *run, struct ss_capacity_point *p)
{
    const struct ss_job *job = run->plan->job;
    char *at = p->layout;
    const size_t size = sizeof p->layout;
    size_t n = (size_t)snprintf(at, size, "tp %d cp %d pp %d", job->tp, job->cp, job->pp);
    if (ss_job_chunks(job) > 1)
        n += (size_t)snprintf(at + n, size - n, " x %d", ss_job_chunks(job));
    if (job->ep > 1)
        n += (size_t)snprintf(at + n, size - n, " ep %d", job->ep);
    if (job->model.num_experts > 0 && job->etp != job->tp)
        n += (size_t)snprintf(at + n, size - n, " etp %d", job->etp);
    n += (size_t)snprintf(at + n, size - n, " dp %d mbs %d%s", run->plan->dp, job->micro_batch,
                          job->dp.fsdp ? " fsdp" : "");
    if (job->recompute.method == SS_RECOMPUTE_BLOCK)
        snprintf(at + n, size - n, " recompute block %d", job->recompute.num_layers);
    else if (job->recompute.granularity != SS_RECOMPUTE_NONE)
        snprintf(at + n, size - n, " recompute %s", ss_job_word("--recompute", job->recompute.granularity));
}

static void write_flags(struct ss_capacity_point *p, int asked, const char *layout)
{
    int n = snprintf(p->flags, sizeof p->flags, "--nodes %d", p->nodes);

    if (p->batch != asked)
        n += snprintf(p->flags + n, sizeof p->flags - (size_t)n, " --global-batch-size %d", p->batch);
    snprintf(p->flags + n, sizeof p->flags - (size_t)n, "%s%s", layout[0] ? " " : "", layout);
}

/* Builds the job of a site with another batch and `words` added. */
int ss_capacity_build(const struct ss_capacity_planner *x, const struct ss_request *site, int batch,
                      const char *words, struct ss_scenario **out, struct ss_error *err)
{
    struct ss_request r;
    int rc = ss_request_copy(site, &r, err);

    if (rc)
        return rc;
    rc = set_number(&r, "--global-batch-size", batch, err);
    if (!rc && words[0])
        rc = ss_request_read_text(&r, words, strlen(words), "capacity", err);
    const struct ss_scenario_options *how = x->options->how;
    SS_THEN(rc, ss_scenario_build_from(x->inputs, &r, how ? how->asker : NULL, how ? how->files : NULL, out,
                                       err));
    ss_request_free(&r);
    return rc;
}

int ss_capacity_predict(const struct ss_capacity_planner *x, const struct ss_scenario *scenario,
                        const char *words, enum ss_capacity_depth depth, struct ss_capacity_point *p,
                        struct ss_error *err)
{
    struct ss_run_options narrow = x->run, wide = x->run;
    struct ss_run run;

    narrow.narrow = narrow.brief = 1;
    narrow.level_choice = depth == SS_CAPACITY_BLIND ? SS_LEVEL_BLIND : x->run.level_choice;
    wide.cache = NULL; /* of other values of the platform, which go */
    int rc = depth == SS_CAPACITY_WIDE ? ss_run_widened(scenario, &wide, &run, err)
                                       : ss_run_scenario(scenario, &narrow, &run, err);
    if (rc)
        return rc;
    ss_capacity_measure(&run, p);
    tell_layout(&run, p);
    p->batch = scenario->job->global_batch;
    write_flags(p, x->plan->asked_batch, words);
    ss_capacity_figures(x->plan, p,
                        (double)scenario->job->seq_length * p->batch * (1 - run.plan->packing.padding));
    ss_run_free(&run);
    return SS_OK;
}

static int predict(const struct ss_capacity_planner *x, const struct ss_request *site, int batch,
                   const char *words, enum ss_capacity_depth depth, struct ss_capacity_point *p,
                   struct ss_error *err)
{
    struct ss_scenario *scenario = NULL;
    int rc = ss_capacity_build(x, site, batch, words, &scenario, err);

    SS_THEN(rc, ss_capacity_predict(x, scenario, words, depth, p, err));
    ss_scenario_free(scenario);
    return rc;
}

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

/* Returns 0 for a point that surely fits, 1 near the limit, 2 for all others. */
int ss_capacity_doubt(const struct ss_capacity_point *p)
{
    return !ss_capacity_holds(p) ? 2 : p->summary.outcome != SS_OUTCOME_FITS;
}

int ss_capacity_is_better(const struct ss_capacity *c, const struct ss_capacity_point *a,
                          const struct ss_capacity_point *b)
{
    if (ss_capacity_doubt(a) != ss_capacity_doubt(b))
        return ss_capacity_doubt(a) < ss_capacity_doubt(b);
    double least = a->batch != c->asked_batch && b->batch == c->asked_batch ? SS_CAPACITY_A_BATCH : 1;
    return !(b->summary.iteration_s > 0) || a->gpu_hours.value < least * b->gpu_hours.value;
}

double ss_capacity_most_s(const struct ss_capacity_planner *x, int cluster, int gpus, int batch)
{
    const struct ss_capacity *c = x->plan;
    const struct ss_capacity_board *b = &x->boards[cluster];
    double least = ceil(c->tokens / (x->tokens_a_row * batch) * (1 - 1e-12)), /* iterations */
        time = c->deadline_s > 0 && !b->missed ? c->deadline_s : INFINITY;

    if (c->budget_usd > 0)
        time = fmin(time, c->budget_usd / c->clusters[cluster].price * 3600 / gpus);
    if (b->gpu_hours > 0)
        time = fmin(time, b->gpu_hours * 3600 / gpus);
    if (b->time_s > 0)
        time = fmin(time, b->time_s);
    return time / least;
}

/* Widens the bands of a point. Where points are limited, one that cannot be the answer is left without a prediction. */
int ss_capacity_widen(const struct ss_capacity_planner *x, const struct ss_request *site, const char *words,
                      struct ss_capacity_point *p, struct ss_error *err)
{
    if (!x->limited || p->summary.iteration_s < ss_capacity_most_s(x, p->cluster, p->gpus, p->batch))
        return predict(x, site, p->batch, words, SS_CAPACITY_WIDE, p, err);
    memset(&p->summary, 0, sizeof p->summary);
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
        int rc = predict(x, site, batches[i], "", x->limited ? SS_CAPACITY_NARROW : SS_CAPACITY_WIDE,
                         &a->point, &why);
        if (!rc && x->limited)
            return ss_capacity_widen(x, site, "", &a->point, err);
        if (!rc)
            return SS_OK;
        if (!first.code)
            first = why;
        if (!ss_has_word(why.flags, "--gbs"))
            break;
    }
    write_flags(&a->point, a->point.batch, "");
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
        for (int i = 0; i < b->nshapes; i++) {
            int one = cp ? b->shape[i].cp : b->shape[i].tp;
            has |= value == one || value == 2 * one;
        }
        if (has)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%d", n > start ? "," : "", value);
    }
    ss_sweep_vary(vary, text, NULL); /* which refuses what is varied already, or one flag too many */
}

/* Finds how long an iteration takes with the best of a small part of the layouts, s, and the share by which others may be slower and not
 * told apart; INFINITY: none of them surely fits. */
static double find_some(const struct ss_request *site, const struct ss_find_options *all)
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
    double most = INFINITY;

    if (!vary)
        return most;
    *vary = *all->vary;
    options.vary = vary;
    options.also_alike = 0;
    options.wanted = NULL;
    options.below = &most;
    for (size_t i = 0; i < SS_ARRAY_LEN(few); i++)
        if (!ss_find_gives_axis(site, few[i].axis))
            ss_sweep_vary(vary, few[i].values, NULL);
    if (!ss_find_run(site, &options, &found, NULL) && found->groups[0].best >= 0) {
        const struct ss_summary *best = &found->points[found->groups[0].best].summary;
        most = best->iteration_s * (1 + fmax(best->apart_pct > 0 ? best->apart_pct / 100 : 0, 1e-6));
    }
    ss_find_free(found);
    free(vary);
    return most;
}

/* Predicts the layouts of a search from the `first` on, the fastest by closed forms first, until none can be faster where flows are asked. */
static int predict_best(const struct ss_capacity_planner *x, const struct ss_request *site, int batch,
                        const struct ss_find_result *found, int first, struct ss_capacity_point *p,
                        struct ss_error *why)
{
    struct ss_capacity_point next = *p;
    int best = first, rc = predict(x, site, batch, found->points[first].flags, SS_CAPACITY_NARROW, p, why);

    for (int i = first + 1; i < found->npoints && i <= first + MOST_FLOWS && !rc; i++) {
        const struct ss_find_point *f = &found->points[i];
        if (f->summary.outcome != found->points[first].summary.outcome ||
            p->summary.iteration_s <= f->summary.iteration_s)
            break;
        rc = predict(x, site, batch, f->flags, SS_CAPACITY_NARROW, &next, why);
        if (!rc && ss_capacity_is_better(x->plan, &next, p)) {
            *p = next;
            best = i;
        }
    }
    return rc ? rc : ss_capacity_widen(x, site, found->points[best].flags, p, why);
}

/* Searches with a batch by closed forms, and takes the best layout into the answer where it is better. */
static int search_batch(const struct ss_capacity_planner *x, struct ss_request *site, int batch,
                        struct ss_capacity_answer *a, struct ss_error *why)
{
    struct ss_sweep *vary = ss_calloc(1, sizeof *vary);
    const int helpers = x->boards[a->point.cluster].helpers;
    double most_s = ss_capacity_most_s(x, a->point.cluster, a->point.gpus, batch);
    struct ss_run_options blind = x->run;
    struct ss_find_options options = {.vary = vary,
                                      .how = x->options->how,
                                      .run = &blind,
                                      .workers = {.n = helpers > 1 ? helpers : 1},
                                      .best_only = 1,
                                      .also_alike = !x->limited,
                                      .wanted = x->limited ? NULL : ss_capacity_slowest_lent,
                                      .brief = 1,
                                      .below = x->limited ? &most_s : NULL};
    struct ss_find_result *found = NULL;
    struct ss_capacity_point p = a->point;
    int rc = vary ? set_number(site, "--global-batch-size", batch, why) : ss_nomem(why);

    blind.level_choice = SS_LEVEL_BLIND;
    if (vary)
        *vary = *x->vary;
    if (!rc && x->near) {
        vary_near(&x->boards[p.cluster], site, "--tp", 0, vary);
        vary_near(&x->boards[p.cluster], site, "--cp", 1, vary);
    }
    if (!rc && !x->limited) {
        most_s = find_some(site, &options);
        options.below = &most_s;
    }
    SS_THEN(rc, ss_find_run(site, &options, &found, why));
    free(vary);
    if (rc)
        return rc;
    const struct ss_find_group *g = &found->groups[0];
    int best = g->best >= 0 ? g->best : g->near;
    a->layouts += g->layouts - g->refused + A_PREDICTION * g->predicted + A_SEARCH;
    p.batch = batch;
    if (best >= 0) {
        rc = predict_best(x, site, batch, found, best, &p, why);
    } else {
        p.summary.outcome = SS_OUTCOME_TOO_LARGE;
        snprintf(p.summary.reason, sizeof p.summary.reason, "none of %lld layouts fits",
                 (long long)(g->layouts - g->refused));
        write_flags(&p, x->plan->asked_batch, "");
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
    write_flags(&a->point, x->plan->asked_batch, "");
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
