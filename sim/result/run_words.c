/* SPDX-License-Identifier: Apache-2.0 */
/* From words to the options of a run. */
#include "stepsim/run_words.h"
#include "stepsim/job.h"

#include "base/base.h"

void ss_run_words_init(struct ss_run_words *how, int engine)
{
    memset(how, 0, sizeof *how);
    how->options.engine = engine;
    how->seed = how->replicas = how->spread_seed = -1;
}

void ss_run_words_free(struct ss_run_words *how)
{
    free(how->gpu_of);
    how->gpu_of = NULL;
}

static int refuse(struct ss_error *err, const char *hint, const char *option, const char *value,
                  const char *why)
{
    return ss_fail(err, SS_ERR_USAGE, NULL, 0, "%s %.300s: %s" SS_HINT "%s", option, value, why, hint);
}

/* WHAT:FACTOR; `what` has room for `size` characters. */
static int split_factor(const char *option, const char *value, int may_fail, char *what, size_t size,
                        double *factor, struct ss_error *err)
{
    const char *colon = strrchr(value, ':');
    size_t n = colon ? (size_t)(colon - value) : 0;
    char *end;

    if (!colon || n == 0 || n >= size)
        return refuse(err, "1.2 means a fifth slower", option, value,
                      may_fail ? "not LINK:FACTOR" : "not RANK:FACTOR");
    *factor = strtod(colon + 1, &end);
    if (may_fail && !strcmp(colon + 1, "failed"))
        *factor = 0;
    else if (end == colon + 1 || *end || !(*factor >= 1 && *factor <= 1e6))
        return refuse(err, "", option, value, "the factor is not a number from 1 to 1000000");
    memcpy(what, value, n);
    what[n] = '\0';
    return SS_OK;
}

static int too_many(const char *option, struct ss_error *err)
{
    return ss_fail(err, SS_ERR_USAGE, NULL, 0, "more than %d %s", SS_RUN_WORDS_SLOW, option);
}

int ss_run_words_straggler(struct ss_run_words *how, const char *value, struct ss_error *err)
{
    static const char option[] = "--straggler";
    int *n = &how->options.plan.nstragglers;
    char rank[16];
    int64_t number;

    if (*n == SS_RUN_WORDS_SLOW)
        return too_many(option, err);
    struct ss_straggler *to = &how->stragglers[*n];
    SS_TRY(split_factor(option, value, 0, rank, sizeof rank, &to->factor, err));
    if (ss_parse_i64(rank, 0, 1 << 24, &number))
        return refuse(err, "", option, value, "not a rank");
    to->rank = (int)number;
    ++*n;
    return SS_OK;
}

int ss_run_words_slow_link(struct ss_run_words *how, const char *value, struct ss_error *err)
{
    static const char option[] = "--slow-link";
    int *n = &how->options.plan.nslow_links;

    if (*n == SS_RUN_WORDS_SLOW)
        return too_many(option, err);
    struct ss_slow_link *to = &how->slow_links[*n];
    int rc = split_factor(option, value, 1, to->name, sizeof to->name, &to->factor, err);
    *n += !rc;
    return rc;
}

static int load_placement(struct ss_run_words *how, const struct ss_scenario *s, struct ss_files *files,
                          struct ss_error *err)
{
    if (s->job->nfailed)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0,
                       "--failed-gpu beside --placement" SS_HINT
                       "a placement names the GPUs that are left; give --failed-gpu or --placement");
    if (ss_job_is_placed(s->job))
        return ss_fail(err, SS_ERR_USAGE, NULL, 0,
                       "--placement beside --on-nodes or --cluster-nodes" SS_HINT
                       "a placement names every GPU of the job's own cluster; give one of them");
    int rc = ss_placement_load(how->placement, s->platform, &how->gpu_of, err);
    return rc ? rc : ss_files_add(files, how->placement, err);
}

/* Does the flag stand on the command line? */
static int told_here(const struct ss_request *r, const char *flag)
{
    for (size_t i = 0; i < r->n; i++)
        if (!r->place[r->word[i].place].file && !strncmp(r->word[i].text, flag, strlen(flag)) &&
            strchr("=", r->word[i].text[strlen(flag)]))
            return 1;
    return 0;
}

/* A job file's measurement is of GPUs and links as they are. */
static void leave_measured(const struct ss_run_words *how, struct ss_scenario *s)
{
    const struct ss_run_options *o = &how->options;
    int time = s->measured_s > 0 && !told_here(s->request, "--measured");
    int memory = s->measured_bytes > 0 && !told_here(s->request, "--measured-memory");

    if ((!time && !memory) || (!o->plan.nstragglers && !o->plan.nslow_links && !(o->jitter.sigma > 0)))
        return;
    s->measured_s = time ? 0 : s->measured_s;
    s->measured_bytes = memory ? 0 : s->measured_bytes;
    ss_note(&s->notes,
            "the measurement of the job file is left out: it is of a run without stragglers, slow links "
            "and jitter");
}

int ss_run_words_finish(struct ss_run_words *how, struct ss_scenario *s, struct ss_files *files,
                        struct ss_error *err)
{
    struct ss_run_options *o = &how->options;

    o->jitter.seed = how->seed >= 0 ? (uint64_t)how->seed : 0;
    o->replicas = how->replicas >= 1 ? (int)how->replicas : 100;
    o->plan.draw_spread = how->spread_seed >= 0;
    o->plan.spread_seed = how->spread_seed >= 0 ? (uint64_t)how->spread_seed : 0;
    /* a plan of which nothing is told is told by its zeros: a run of it is its own quick simulation, and bounds hold */
    o->plan.stragglers = o->plan.nstragglers ? how->stragglers : NULL;
    o->plan.slow_links = o->plan.nslow_links ? how->slow_links : NULL;
    int rc = how->placement[0] ? load_placement(how, s, files, err) : SS_OK;
    o->plan.placement = how->gpu_of;
    leave_measured(how, s);
    return rc;
}
