/* SPDX-License-Identifier: Apache-2.0 */
/* Finds changes by which a job fits; none is trusted without a run. */
#include "base/base.h"
#include "stepsim/result.h"
#include "study/changes.h"

#define MOST_CHANGES 64
#define WORTH 16      /* a batch of so many times a few microbatches is worth a run of the few before */
#define MAX_CHANGES 3 /* the most changes that are taken together, when fewer do not give three fixes */

struct search {
    const struct ss_scenario *base;
    struct ss_run_options options;
    char alone[MOST_CHANGES]; /* [change]: 1: it is a fix alone, so no second change is tried with it */
    struct ss_fix *found;     /* every fix that fits, unsorted */
    size_t nfound, cap;
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

/* Returns 1 if the changed job can be built and fits; then *summary has its figures. A refusal is an
 * answer, not an error. */
static int try_changed(const struct search *x, const struct ss_changed *c, struct ss_summary *summary)
{
    const struct ss_scenario_options like = {.like = x->base};
    struct ss_scenario *s;
    int fits;

    if (ss_scenario_build(&c->request, &like, &s, NULL))
        return 0;
    fits = fits_with_few_microbatches(x, s) && predict_whole(x, s, summary);
    ss_scenario_free(s);
    return fits;
}

static int keep(struct search *x, const struct ss_job *job, const char *flags,
                const struct ss_summary *summary)
{
    if (ss_grow(&x->found, &x->cap, x->nfound + 1, sizeof *x->found))
        return SS_ERR_NOMEM;
    struct ss_fix *f = &x->found[x->nfound++];
    memset(f, 0, sizeof *f);
    ss_change_tell(x->base, job, flags, f->change, sizeof f->change);
    f->summary = *summary;
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

/* Makes `depth` more changes from `first` on, and keeps those that fit. */
static int explore(struct search *x, const struct ss_changed *from, const char *done, int first, int depth)
{
    int dp = x->base->world_size / (from->asked.job.tp * from->asked.job.pp * from->asked.job.cp);

    for (int i = first; i < ss_change_count(); i++) {
        struct ss_changed c;
        char words[160], all[160];
        struct ss_summary summary;
        if (x->alone[i] ||
            !ss_change_words(i, SS_CHANGE_FOR_MEMORY, &from->asked.job, dp, words, sizeof words) ||
            stands(done, words))
            continue;
        if (snprintf(all, sizeof all, "%s%s%s", done, done[0] ? " " : "", words) >= (int)sizeof all)
            continue;
        int rc = ss_change_apply(from, words, &c);
        if (rc)
            return rc;
        if (depth > 1) {
            rc = explore(x, &c, all, i + 1, depth - 1);
        } else if (try_changed(x, &c, &summary)) {
            rc = keep(x, &c.asked.job, all, &summary);
            x->alone[i] = !done[0];
        }
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

int ss_fixes_find(const struct ss_scenario *s, const struct ss_run_options *options, struct ss_fix fixes[3],
                  int *n, struct ss_error *err)
{
    struct search x = {.base = s};
    struct ss_changed from;
    struct ss_summary ignored;
    struct ss_cache *own = NULL;
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
    if (!x.options.cache && !ss_cache_open(&own, NULL)) /* without one it takes longer */
        x.options.cache = own;
    *n = 0;
    int fits = fits_with_few_microbatches(&x, s) && predict_whole(&x, s, &ignored);
    for (int depth = 1; !fits && !rc && depth <= MAX_CHANGES && *n < 3; depth++) {
        x.nfound = 0;
        rc = explore(&x, &from, "", 0, depth);
        if (x.nfound > 1)
            qsort(x.found, x.nfound, sizeof *x.found, faster);
        for (size_t i = 0; !rc && i < x.nfound && *n < 3; i++)
            fixes[(*n)++] = x.found[i];
    }
    if (*n > 1) /* a pair may be faster than a single change */
        qsort(fixes, (size_t)*n, sizeof *fixes, faster);
    free(x.found);
    ss_cache_close(own);
    ss_request_free(&from.request);
    if (rc)
        return ss_fail(err, rc, NULL, 0, "no memory for the search of fixes");
    return SS_OK;
}
