/* SPDX-License-Identifier: Apache-2.0 */
#include "stepsim/capacity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "decide/capacity_internal.h"
#include "decide/search_internal.h"
#include "job/input_cache.h"
#include "job/recipe.h"
#include "stepsim/assumed.h"
#include "stepsim/import.h"
#include "stepsim/params.h"
#include "stepsim/search.h"

/* What all points share, and is read once. */
struct planner {
    const struct ss_capacity_options *options;
    struct ss_capacity *plan;
    struct ss_request base; /* the job's words without --nodes */
    struct ss_input_cache *loaded;
    struct ss_bands *bands;
    struct ss_run_options run;
    int is_range;          /* 1: --nodes is a..b */
    struct ss_error first; /* the first refusal */
};

/* A number of nodes: the words of its job, and what they ask for before defaults are filled in. */
struct site {
    struct ss_request request;
    struct ss_asked asked;
    struct ss_platform *platform;
    int gpus;
};

static int usage(struct ss_error *err, const char *hint, const char *what)
{
    return ss_hint(err, ss_fail(err, SS_ERR_USAGE, NULL, 0, "%s", what), "%s", hint);
}

/* ---- a job of so many nodes ---- */

static int set_number(struct ss_request *r, const char *flag, int value, struct ss_error *err)
{
    char text[24];

    snprintf(text, sizeof text, "%d", value);
    return ss_request_set(r, flag, text, err);
}

static int check_job(const struct ss_job *job, struct ss_error *err)
{
    if (!job->platform[0])
        return usage(err, "add --platform NAME; \"stepsim list platforms\" shows the names",
                     "no --platform given");
    if (job->seq_length < 1)
        return usage(err, "add --seq N", "the tokens of an iteration are not known: the job has no --seq");
    if (job->global_batch < 1)
        return usage(err, "add --gbs N", "the tokens of an iteration are not known: the job has no --gbs");
    return SS_OK;
}

static int open_site(struct planner *x, int nodes, struct site *s, struct ss_error *err)
{
    const struct ss_scenario_options *how = x->options->how;
    struct ss_stack *stack;

    int rc = ss_request_copy(&x->base, &s->request, err);
    if (rc)
        return rc;
    ss_asked_init(&s->asked);
    rc = set_number(&s->request, "--nodes", nodes, err);
    SS_THEN(rc, ss_asked_parse(&s->asked, &s->request, NULL, NULL, err));
    SS_THEN(rc, check_job(&s->asked.job, err));
    SS_THEN(rc, ss_input_cache_find(x->loaded, &s->asked.job, &s->request, how ? how->asker : NULL,
                                    how ? how->files : NULL, &s->platform, &stack, err));
    if (!rc)
        s->gpus = ss_job_world_size(&s->asked.job, ss_platform_nodes(s->platform),
                                    ss_platform_gpus_per_node(s->platform));
    return rc;
}

/* Notes the inputs of money and energy, which all numbers of nodes share. */
static void note_inputs(struct ss_capacity *c, const struct site *s)
{
    const struct ss_card *card = ss_platform_card(s->platform);

    ss_copy(c->platform, sizeof c->platform, s->asked.job.platform);
    ss_copy(c->model, sizeof c->model,
            s->asked.job.model_ref[0] ? s->asked.job.model_ref : "the model of its flags");
    ss_copy(c->card, sizeof c->card, card->name);
    ss_copy(c->fabric, sizeof c->fabric, ss_platform_fabric(s->platform));
    c->asked_batch = s->asked.job.global_batch;
    c->gpu_w = card->power;
    c->idle = card->power_idle;
    c->node_w = card->power_node;
    c->pue = card->pue;
    c->price_is_example = !(card->price > 0);
    c->price = card->price > 0 ? card->price : card->price_example;
    c->mtbf_h = card->mtbf;
    c->restart_s = card->restart;
    c->storage = card->storage;
}

/* ---- points ---- */

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
    if (job->recompute.granularity != SS_RECOMPUTE_NONE)
        snprintf(at + n, size - n, " recompute %s", ss_job_word("--recompute", job->recompute.granularity));
}

/* Predicts the job of a site with `words` added. */
static int predict(const struct planner *x, const struct site *s, const char *words,
                   struct ss_capacity_point *p, struct ss_error *err)
{
    const struct ss_scenario_options *how = x->options->how;
    struct ss_scenario *scenario = NULL;
    struct ss_request r;
    struct ss_run run;

    int rc = ss_request_copy(&s->request, &r, err);
    if (rc)
        return rc;
    if (words[0])
        rc = ss_request_read_text(&r, words, strlen(words), "capacity", err);
    SS_THEN(rc, ss_scenario_build(&r, how, &scenario, err));
    SS_THEN(rc, ss_run_widened(scenario, &x->run, &run, err));
    if (!rc) {
        ss_capacity_measure(&run, p);
        tell_layout(&run, p);
        p->batch = scenario->job->global_batch;
        ss_capacity_figures(x->plan, p,
                            (double)scenario->job->seq_length * p->batch * (1 - run.plan->packing.padding));
        ss_run_free(&run);
    }
    ss_scenario_free(scenario);
    ss_request_free(&r);
    return rc;
}

/* Makes a refusal the outcome of a point. Other errors end the plan. */
static int refuse(struct planner *x, const struct ss_error *why, struct ss_capacity_point *p,
                  struct ss_error *err)
{
    if (!ss_status_refuses(why->code)) {
        if (err)
            *err = *why;
        return why->code;
    }
    ss_summary_refuse(why, &p->summary);
    if (!x->first.code)
        x->first = *why;
    return SS_OK;
}

static void write_flags(struct ss_capacity_point *p, int asked, const char *layout)
{
    int n = snprintf(p->flags, sizeof p->flags, "--nodes %d", p->nodes);

    if (p->batch != asked)
        n += snprintf(p->flags + n, sizeof p->flags - (size_t)n, " --global-batch-size %d", p->batch);
    snprintf(p->flags + n, sizeof p->flags - (size_t)n, "%s%s", layout[0] ? " " : "", layout);
}

/* Plans a point with the job's own layout. Where data parallelism does not divide the batch, the nearest
 * batch is taken; with interleaved stages its microbatches are a multiple of the pipeline ranks. */
static int plan_given(struct planner *x, const struct site *s, struct ss_capacity_point *p,
                      struct ss_error *err)
{
    const struct ss_job *job = &s->asked.job;
    int dp = ss_job_dp(job, s->gpus),
        unit = (job->micro_batch > 0 ? job->micro_batch : 1) * (dp > 0 ? dp : 1);
    const int batches[] = {job->global_batch, ss_capacity_nearest(job->global_batch, unit),
                           ss_capacity_nearest(job->global_batch, unit * (job->pp > 0 ? job->pp : 1))};
    struct ss_error why = {0}, first = {0};
    char words[48];

    for (size_t i = 0; i < SS_ARRAY_LEN(batches); i++) {
        snprintf(words, sizeof words, "--global-batch-size %d", batches[i]);
        int rc = predict(x, s, words, p, &why);
        if (!rc) {
            write_flags(p, job->global_batch, "");
            return SS_OK;
        }
        if (!first.code)
            first = why;
        if (!ss_has_word(why.flags, "--gbs"))
            break;
    }
    write_flags(p, p->batch, "");
    return refuse(x, &first, p, err);
}

/* Takes the best layout of a search into a point, if there is one. */
static int take_best(struct planner *x, const struct site *s, const struct ss_find_result *found,
                     struct ss_capacity_point *p, struct ss_error *err)
{
    const struct ss_find_group *g = &found->groups[0];
    int best = g->best >= 0 ? g->best : g->near;

    if (best < 0) {
        p->summary.outcome = SS_OUTCOME_TOO_LARGE;
        snprintf(p->summary.reason, sizeof p->summary.reason, "none of %lld layouts fits",
                 (long long)(g->layouts - g->refused));
        write_flags(p, x->plan->asked_batch, "");
        return SS_OK;
    }
    int rc = predict(x, s, found->points[best].flags, p, err);
    if (!rc)
        write_flags(p, x->plan->asked_batch, found->points[best].flags);
    return rc;
}

static int plan_searched(struct planner *x, struct site *s, struct ss_capacity_point *p, struct ss_error *err)
{
    const struct ss_find_options options = {.vary = x->options->vary,
                                            .how = x->options->how,
                                            .run = &x->run,
                                            .workers = x->options->workers,
                                            .best_only = 1,
                                            .brief = 1};
    struct ss_find_result *found = NULL;
    struct ss_error why = {0};

    p->batch = ss_capacity_search_batch(s->asked.job.global_batch, s->gpus);
    int rc = set_number(&s->request, "--global-batch-size", p->batch, err);
    if (rc)
        return rc;
    rc = ss_find_run(&s->request, &options, &found, &why);
    SS_THEN(rc, take_best(x, s, found, p, &why));
    ss_find_free(found);
    if (!rc)
        return rc;
    write_flags(p, x->plan->asked_batch, "");
    return refuse(x, &why, p, err);
}

static int plan_point(void *planner, int nodes, struct ss_capacity_point *p, struct ss_error *err)
{
    struct planner *x = planner;
    struct site s = {0};
    struct ss_error why = {0};

    p->nodes = nodes;
    int rc = open_site(x, nodes, &s, &why);
    if (rc) {
        rc = refuse(x, &why, p, err);
    } else {
        p->gpus = s.gpus;
        p->batch = s.asked.job.global_batch;
        if (!x->plan->card[0])
            note_inputs(x->plan, &s);
        rc = x->options->budget_usd > 0 && !(x->plan->price > 0)
                 ? usage(err, "add --price 2.5USD/h", "a budget buys nothing where the card has no price")
             : x->options->layout == SS_CAPACITY_GIVEN ? plan_given(x, &s, p, err)
                                                       : plan_searched(x, &s, p, err);
    }
    ss_request_free(&s.request);
    return rc;
}

/* ---- all numbers of nodes ---- */

static int wrong_nodes(const char *value, struct ss_error *err)
{
    ss_fail(err, SS_ERR_USAGE, NULL, 0, "--nodes %.60s: no number, list or range of nodes", value);
    return ss_hint(err, SS_ERR_USAGE, "write --nodes 16..256 or --nodes 16,24,32");
}

/* Reads --nodes, which here may name several numbers. */
static int read_nodes(const struct ss_request *base, struct ss_sweep *nodes, int *is_range,
                      struct ss_error *err)
{
    size_t at = ss_request_find(base, "--nodes");
    const char *word = at < base->n ? base->word[at].text : "", *value = strchr(word, '=');
    char text[256];

    value = value                                           ? value + 1
            : at < base->n && ss_request_span(base, at) > 1 ? base->word[at + 1].text
                                                            : "2..4096";
    snprintf(text, sizeof text, "nodes=%s", value);
    *is_range = strstr(value, "..") != NULL;
    return ss_sweep_vary(nodes, text, NULL) ? wrong_nodes(value, err) : SS_OK;
}

static int whole(const char *text, int *out)
{
    int64_t n;
    int rc = ss_parse_i64(text, 1, SS_MAX_GPUS, &n);

    *out = rc ? 0 : (int)n;
    return rc;
}

static int plan_all(struct planner *x, const struct ss_sweep_flag *nodes, struct ss_error *err)
{
    struct ss_capacity *c = x->plan;

    c->points = ss_calloc((size_t)nodes->nvalues + SS_CAPACITY_REFINED, sizeof *c->points);
    if (!c->points)
        return ss_nomem(err);
    for (int i = 0; i < nodes->nvalues; i++) {
        if (whole(nodes->value[i], &c->points[i].nodes))
            return wrong_nodes(nodes->value[i], err);
        int rc = plan_point(x, c->points[i].nodes, &c->points[i], err);
        if (rc)
            return rc;
        c->npoints++;
        if (x->options->progress)
            x->options->progress(x->options->ctx, (double)(i + 1) / nodes->nvalues);
    }
    ss_capacity_sort(c);
    return SS_OK;
}

/* Fails where every number of nodes is refused, because then there is no plan. */
static int check_any(const struct planner *x, struct ss_error *err)
{
    for (int i = 0; i < x->plan->npoints; i++)
        if (x->plan->points[i].summary.outcome != SS_OUTCOME_REFUSED)
            return SS_OK;
    if (err)
        *err = x->first;
    return x->first.code;
}

/* Refuses varied flags that are no part of a layout: the search for each number of nodes must have one
 * best layout. */
static int check_varied(const struct ss_capacity_options *o, struct ss_error *err)
{
    if (o->vary && o->vary->nflags && o->layout == SS_CAPACITY_GIVEN)
        return usage(err, "leave one of them out", "flags are varied, but the layout is the job's own");
    for (int f = 0; o->vary && f < o->vary->nflags; f++) {
        const char *name = o->vary->flags[f].name;
        if (ss_has_word("--nodes", name))
            return usage(err, "write --nodes 16..256 or --nodes 16,24", "nodes are no part of a layout");
        if (!ss_find_is_axis(name)) {
            ss_fail(err, SS_ERR_USAGE, NULL, 0, "%.40s is no flag of a layout: a plan is of one job", name);
            return ss_hint(err, SS_ERR_USAGE, "vary tp, cp, pp, ep, vp, mbs, recompute, fsdp or schedule");
        }
    }
    return SS_OK;
}

static int check_options(const struct ss_capacity_options *o, struct ss_error *err)
{
    if (!o || !(o->tokens >= 1) || isinf(o->tokens))
        return usage(err, "add --tokens 1T", "how much is to be trained is not known: no tokens");
    if (o->layout != SS_CAPACITY_SEARCH && o->layout != SS_CAPACITY_GIVEN)
        return usage(err, "0 searches, 1 takes the job's own", "unknown way to choose a layout");
    if (!(o->deadline_s >= 0 && o->budget_usd >= 0))
        return usage(err, "0 is none", "a deadline or budget is negative");
    if (o->deadline_s > 0 && o->budget_usd > 0)
        return usage(err, "give one of them: the answer tells the other",
                     "a deadline and a budget each choose a number of nodes");
    return check_varied(o, err);
}

static int find_warnings(const struct planner *x, struct ss_error *err)
{
    int i = x->plan->chosen;

    for (int k = 0; i < 0 && k < x->plan->npoints; k++)
        i = x->plan->points[k].summary.outcome == SS_OUTCOME_REFUSED ? -1 : k;
    return i < 0 ? SS_OK
                 : ss_warnings_behind(&x->base, x->plan->points[i].flags, x->options->how, &x->plan->warnings,
                                      err);
}

static int run(struct planner *x, const struct ss_request *base, struct ss_sweep *nodes, struct ss_error *err)
{
    struct ss_request one; /* a range of nodes is nothing that a job's words are */
    int rc = check_options(x->options, err);

    SS_THEN(rc, read_nodes(base, nodes, &x->is_range, err));
    SS_THEN(rc, ss_request_copy(base, &one, err));
    if (rc)
        return rc;
    ss_request_drop(&one, "--nodes");
    rc = ss_request_open(&one, &x->base, err);
    ss_request_free(&one);
    if (rc)
        return rc;
    x->loaded = ss_input_cache_new();
    x->plan = ss_calloc(1, sizeof *x->plan);
    if (!x->loaded || !x->plan)
        return ss_nomem(err);
    x->plan->tokens = x->options->tokens;
    x->plan->deadline_s = x->options->deadline_s;
    x->plan->budget_usd = x->options->budget_usd;
    x->plan->layout = x->options->layout;
    if (!x->run.bands) {
        rc = ss_bands_load(NULL, x->options->how ? x->options->how->files : NULL, &x->bands, err);
        x->run.bands = x->bands;
    }
    SS_THEN(rc, plan_all(x, &nodes->flags[0], err));
    if (!rc && x->is_range)
        rc = ss_capacity_refine(x->plan, plan_point, x, err);
    rc = rc ? rc : check_any(x, err);
    if (rc)
        return rc;
    ss_capacity_choose(x->plan);
    return find_warnings(x, err);
}

int ss_capacity_run(const struct ss_request *base, const struct ss_capacity_options *options,
                    struct ss_capacity **out, struct ss_error *err)
{
    struct planner x = {.options = options};
    struct ss_sweep *nodes = ss_calloc(1, sizeof *nodes);

    if (!nodes)
        return ss_nomem(err);
    x.run = options && options->run ? *options->run : (struct ss_run_options){.engine = SS_ENGINE_NATIVE};
    int rc = run(&x, base, nodes, err);
    if (rc)
        ss_capacity_free(x.plan);
    else
        *out = x.plan;
    ss_bands_free(x.bands);
    ss_input_cache_drop(x.loaded);
    ss_request_free(&x.base);
    free(nodes);
    return rc;
}

void ss_capacity_free(struct ss_capacity *plan)
{
    if (plan) {
        free(plan->points);
        ss_notes_free(&plan->warnings);
    }
    free(plan);
}
