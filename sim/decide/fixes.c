/* SPDX-License-Identifier: Apache-2.0 */
/* Finds changes by which a job fits; none is trusted without a run. */
#include "base/base.h"
#include "decide/search_internal.h"
#include "plan/bounds.h"
#include "stepsim/result.h"
#include "study/changes.h"

#define MOST_FIXES 3
#define MOST_CHANGES 64
#define WORTH 16      /* a batch of so many times a few microbatches is worth a run of the few before */
#define MAX_CHANGES 3 /* the most changes that are taken together, when fewer do not give three fixes */

/* A changed job that may fit. */
struct candidate {
    struct ss_fix fix; /* the summary once it is run */
    struct ss_scenario *scenario;
    double least_s; /* lower bound of its iteration */
    int alone;      /* the only change of it; -1: it has several */
};

struct search {
    const struct ss_scenario *base;
    struct ss_run_options options;
    int bounded;              /* 1: bounds hold under the options */
    char alone[MOST_CHANGES]; /* [change]: 1: it is a fix alone, so no second change is tried with it */
    struct candidate *list;   /* those of as many changes */
    size_t n, cap;
};

static int predict(const struct ss_run_options *how, const struct ss_scenario *s, struct ss_summary *summary)
{
    struct ss_run run;
    int fits;

    if (ss_run_scenario(s, how, &run, NULL))
        return 0;
    *summary = run.summary;
    fits = run.result->fits && !run.result->thrash;
    ss_run_free(&run);
    return fits;
}

/* Returns 0 where the least memory of a job is too much; else *least_s is a lower bound of its time, s. */
static int may_fit(const struct search *x, const struct ss_scenario *s, double *least_s)
{
    const double capacity = ss_platform_card(s->platform)->device_memory;
    const int microbatches = ss_job_microbatches(s->job, s->world_size);
    struct ss_find_flight flight = {0};
    struct ss_plan_bounds bounds;
    struct ss_find_bounds least;

    *least_s = 0;
    if (!x->bounded || ss_plan_bounds_find(s->job, s->stack, s->platform, 1, x->options.cache, &bounds, NULL))
        return 1; /* what refuses the job refuses a run of it */
    ss_find_bounds_set(&bounds, &flight, s->job, s->stack, microbatches, &least);
    *least_s = least.seconds;
    return least.least_bytes <= capacity && capacity - least.bytes >= s->stack->thrash_margin * capacity;
}

/*
 * Returns 1 if the job fits with a few microbatches. The peak of memory is reached as soon as the pipeline
 * is full, so this tells whether the whole batch is worth a run.
 */
static int fits_with_few_microbatches(const struct search *x, const struct ss_scenario *s)
{
    const struct ss_scenario_options like = {.like = x->base};
    const struct ss_job *job = s->job;
    struct ss_run_options quick = x->options; /* bytes are the same at every level */
    struct ss_scenario *few;
    struct ss_request r;
    struct ss_summary ignored;
    int group = job->microbatch_group_size > job->pp ? job->microbatch_group_size : job->pp, fits;
    int64_t batch = (int64_t)4 * group * job->micro_batch * ss_job_dp(job, s->world_size);
    char text[24];

    if (WORTH * batch >= job->global_batch)
        return 1;
    snprintf(text, sizeof text, "%lld", (long long)batch);
    fits = !ss_request_copy(s->request, &r, NULL);
    if (!fits)
        return 0;
    fits =
        !ss_request_set(&r, "--global-batch-size", text, NULL) && !ss_scenario_build(&r, &like, &few, NULL);
    ss_request_free(&r);
    if (!fits)
        return 0;
    quick.brief = 1;
    quick.level_choice = SS_LEVEL_BLIND;
    fits = predict(&quick, few, &ignored);
    ss_scenario_free(few);
    return fits;
}

/* Predicts the job; flows, which take longer, are asked of one that fits without them. */
static int predict_whole(const struct search *x, const struct ss_scenario *s, struct ss_summary *summary)
{
    struct ss_run_options without = x->options;

    if (x->options.level_choice == SS_LEVEL_FOLLOWS)
        without.level_choice = SS_LEVEL_DOUBTS;
    if (!predict(&without, s, summary))
        return 0;
    return !summary->doubted || predict(&x->options, s, summary);
}

/* Adds the changed job to the candidates, if it can be built and may fit. A refusal is an answer, not an error. */
static int add(struct search *x, const struct ss_changed *c, const char *flags, int alone)
{
    const struct ss_scenario_options like = {.like = x->base};
    struct candidate new = {.alone = alone};

    if (ss_scenario_build(&c->request, &like, &new.scenario, NULL))
        return SS_OK;
    if (!may_fit(x, new.scenario, &new.least_s)) {
        ss_scenario_free(new.scenario);
        return SS_OK;
    }
    if (ss_grow(&x->list, &x->cap, x->n + 1, sizeof *x->list)) {
        ss_scenario_free(new.scenario);
        return SS_ERR_NOMEM;
    }
    ss_change_tell(x->base, &c->asked.job, flags, new.fix.change, sizeof new.fix.change);
    x->list[x->n++] = new;
    return SS_OK;
}

/* Returns whether the first of these flags is among the earlier ones, or beats one of them: the last flag
 * about recompute decides how much is recomputed. */
static int stands(const char *done, const char *flags)
{
    static const char recompute[] = "--recompute-";
    size_t n = strcspn(flags, " ");

    if (!strncmp(flags, recompute, strlen(recompute)) && strstr(done, recompute))
        return 1;

    for (const char *at = done; *at; at += strcspn(at, " "), at += *at == ' ')
        if (!strncmp(at, flags, n) && (at[n] == ' ' || !at[n]))
            return 1;
    return 0;
}

/* Makes `depth` more changes from `first` on, and adds the jobs that may fit. */
static int explore(struct search *x, const struct ss_changed *from, const char *done, int first, int depth)
{
    int dp = x->base->world_size / (from->asked.job.tp * from->asked.job.pp * from->asked.job.cp);

    for (int i = first; i < ss_change_count(); i++) {
        struct ss_changed c;
        char words[160], all[160];
        if (x->alone[i] ||
            !ss_change_words(i, SS_CHANGE_FOR_MEMORY, &from->asked.job, dp, words, sizeof words) ||
            stands(done, words))
            continue;
        if (snprintf(all, sizeof all, "%s%s%s", done, done[0] ? " " : "", words) >= (int)sizeof all)
            continue;
        SS_TRY(ss_change_apply(from, words, &c));
        int rc = depth > 1 ? explore(x, &c, all, i + 1, depth - 1) : add(x, &c, all, done[0] ? -1 : i);
        ss_request_free(&c.request);
        if (rc)
            return rc;
    }
    return SS_OK;
}

static int faster(const void *a, const void *b)
{
    const struct ss_fix *x = a, *y = b;

    if (x->summary.iteration_s != y->summary.iteration_s)
        return x->summary.iteration_s < y->summary.iteration_s ? -1 : 1;
    return strcmp(x->change, y->change);
}

static int by_bound(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    if (x->least_s != y->least_s)
        return x->least_s < y->least_s ? -1 : 1;
    return strcmp(x->fix.change, y->fix.change);
}

/* Runs the candidates, and puts the fastest that fit into fixes[from] and behind it, in their order. None is run that is surely slower
 * than those; where there are fewer, all are run. Returns the number of fixes. */
static int run_candidates(struct search *x, struct ss_fix fixes[MOST_FIXES], int from)
{
    int n = from;

    if (x->n > 1)
        qsort(x->list, x->n, sizeof *x->list, by_bound);
    for (size_t i = 0; i < x->n; i++) {
        struct candidate *c = &x->list[i];
        if (n == MOST_FIXES && c->least_s > fixes[n - 1].summary.iteration_s)
            break;
        if (!fits_with_few_microbatches(x, c->scenario) || !predict_whole(x, c->scenario, &c->fix.summary))
            continue;
        if (c->alone >= 0)
            x->alone[c->alone] = 1;
        if (n < MOST_FIXES)
            fixes[n++] = c->fix;
        else if (faster(&c->fix, &fixes[n - 1]) < 0)
            fixes[n - 1] = c->fix;
        qsort(&fixes[from], (size_t)(n - from), sizeof *fixes, faster);
    }
    return n;
}

static void forget_candidates(struct search *x)
{
    for (size_t i = 0; i < x->n; i++)
        ss_scenario_free(x->list[i].scenario);
    x->n = 0;
}

/* Whether nothing is told that a bound does not know: ranks on other GPUs, GPUs that differ, another level. */
static int is_bounded(const struct ss_job *job, const struct ss_plan_options *plan)
{
    const struct ss_plan_options usual = {.cache = plan->cache};

    return !memcmp(plan, &usual, sizeof usual) && job->nfailed == 0 && !ss_job_is_placed(job);
}

int ss_fixes_find(const struct ss_scenario *s, const struct ss_run_options *options,
                  struct ss_fix fixes[MOST_FIXES], int *n, struct ss_error *err)
{
    struct search x = {.base = s};
    struct ss_changed from;
    struct ss_summary ignored;
    struct ss_cache *own = NULL;
    double least;
    int rc = SS_OK;

    SS_TRY(ss_change_start(s, &from, err));
    if (options) {
        x.options.plan = options->plan;
        x.options.bands = options->bands;
        x.options.cache = options->cache;
        if (options->level_choice != SS_LEVEL_FOLLOWS)
            x.options.level_choice =
                SS_LEVEL_BLIND; /* the run of the job itself tells how far the level is off */
    }
    x.options.engine = SS_ENGINE_NATIVE;
    x.options.unchecked = 1;
    x.options.brief = 1;
    x.bounded = is_bounded(s->job, &x.options.plan);
    if (!x.options.cache && !ss_cache_open(&own, NULL)) /* without one it takes longer */
        x.options.cache = own;
    *n = 0;
    int fits = may_fit(&x, s, &least) && fits_with_few_microbatches(&x, s) && predict_whole(&x, s, &ignored);
    for (int depth = 1; !fits && !rc && depth <= MAX_CHANGES && *n < MOST_FIXES; depth++) {
        rc = explore(&x, &from, "", 0, depth);
        if (!rc)
            *n = run_candidates(&x, fixes, *n);
        forget_candidates(&x);
    }
    if (*n > 1) /* a pair may be faster than a single change */
        qsort(fixes, (size_t)*n, sizeof *fixes, faster);
    free(x.list);
    ss_cache_close(own);
    ss_request_free(&from.request);
    if (rc)
        return ss_fail(err, rc, NULL, 0, "no memory for the search of fixes");
    return SS_OK;
}
