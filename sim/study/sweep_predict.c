/* SPDX-License-Identifier: Apache-2.0 */
/* Predicts the combinations of a sweep, from words to figures. */
#include "base/base.h"
#include "stepsim/sweep.h"
#include "study/study_internal.h"
#include "workers/pool.h"

/* Adds the words of a combination behind all others, as if they stood on the command line. */
static int add_words(const struct ss_sweep *s, const struct ss_sweep_row *row, struct ss_request *r,
                     struct ss_error *err)
{
    int rc = r->nplaces == 0 || r->place[r->nplaces - 1].file ? ss_request_add_place(r, NULL, err) : SS_OK;

    for (int f = 0; f < s->nflags && !rc; f++) {
        const char *value = s->flags[f].value[row->at[f]];
        if (!strcmp(value, "off"))
            continue;
        rc = ss_request_add(r, s->flags[f].name, 0, err);
        if (!rc && strcmp(value, "on") != 0)
            rc = ss_request_add(r, value, 0, err);
    }
    return rc;
}

/* Refuses a combination whose flag is off where a recipe has put it on. */
static int check_off(const struct ss_sweep *s, const struct ss_sweep_row *row, const struct ss_request *r,
                     struct ss_error *err)
{
    for (int f = 0; f < s->nflags; f++) {
        if (strcmp(s->flags[f].value[row->at[f]], "off") != 0 || ss_request_find(r, s->flags[f].name) == r->n)
            continue;
        return ss_fail(err, SS_ERR_UNSUPPORTED, NULL, 0,
                       "%s is not off: the recipe of the release has it" SS_HINT "add --recipe none",
                       s->flags[f].name);
    }
    return SS_OK;
}

static int predict(const struct ss_sweep *s, const struct ss_request *r,
                   const struct ss_scenario_options *how, const struct ss_run_options *options,
                   struct ss_sweep_row *out, struct ss_error *err)
{
    struct ss_scenario *scenario = NULL;
    int rc = ss_scenario_build(r, how, &scenario, err);

    if (!rc && how && how->files && ss_schedule_is_file(scenario->job->schedule))
        rc = ss_files_add(how->files, scenario->job->schedule, err);
    SS_THEN(rc, check_off(s, out, scenario->request, err));
    SS_THEN(rc, ss_predict(scenario, options, &out->summary, err));
    ss_scenario_free(scenario);
    return rc;
}

int ss_sweep_predict(const struct ss_sweep *s, int i, const struct ss_request *base,
                     const struct ss_scenario_options *how, const struct ss_run_options *options,
                     struct ss_sweep_row *out, struct ss_error *err)
{
    struct ss_request r;
    struct ss_error why = {0};

    SS_TRY(ss_request_copy(base, &r, err));
    ss_sweep_combination(s, i, out);
    int rc = add_words(s, out, &r, &why);
    SS_THEN(rc, predict(s, &r, how, options, out, &why));
    ss_request_free(&r);
    if (ss_status_refuses(rc)) {
        ss_summary_refuse(&why, &out->summary);
        return SS_OK;
    }
    if (rc && err)
        *err = why;
    return rc;
}

/* Finds the warnings of a row, and with `premises` what it stands on. */
static int row_warnings(const struct ss_sweep *s, int row, const struct ss_request *base,
                        const struct ss_scenario_options *how, struct ss_notes *out, char *premises,
                        struct ss_error *err)
{
    struct ss_request r;

    SS_TRY(ss_request_copy(base, &r, err));
    int rc = add_words(s, &s->rows[row], &r, err);
    SS_THEN(rc, ss_warnings_find(&r, how, out, err));
    if (!rc && premises)
        rc = ss_premises_find(&r, how, s, premises, sizeof s->premises, err);
    ss_request_free(&r);
    return rc;
}

int ss_sweep_warnings(struct ss_sweep *s, const struct ss_request *base,
                      const struct ss_scenario_options *how, struct ss_notes *out, struct ss_error *err)
{
    struct ss_notes one = {0}, other = {0};
    int first = 0, last = s->nrows - 1, rc;

    while (first <= last && s->rows[first].summary.outcome == SS_OUTCOME_REFUSED)
        first++;
    while (last > first && s->rows[last].summary.outcome == SS_OUTCOME_REFUSED)
        last--;
    if (first > last) { /* of the job without what is varied, where that is a job */
        rc = ss_premises_find(base, how, s, s->premises, sizeof s->premises, err);
        return rc == SS_ERR_USAGE ? SS_OK : rc;
    }
    rc = row_warnings(s, first, base, how, &one, s->premises, err);
    SS_THEN(rc, row_warnings(s, last, base, how, &other, NULL, err));
    for (unsigned long i = 0; i < one.n && !rc; i++) {
        unsigned long k = 0;
        while (k < other.n && strcmp(one.text[i], other.text[k]) != 0)
            k++;
        if (k < other.n)
            rc = ss_notes_add(out, "%s", one.text[i]);
        else if (!strncmp(one.text[i], SS_ASSUMED_HERE, strlen(SS_ASSUMED_HERE)))
            rc =
                ss_notes_add(out, "rows have assumed words of their own, as of the nearest recipe: run shows "
                                  "those of a row, --recipe none leaves recipes out");
    }
    ss_notes_free(&one);
    ss_notes_free(&other);
    return rc;
}

/* ---- all combinations ---- */

struct work {
    const struct ss_sweep *sweep;
    const struct ss_request *base;
    struct ss_scenario_options how;
    struct ss_run_options run;
    const struct ss_sweep_options *options;
    int n;
};

static int work(void *ctx, int item, void *answer, struct ss_error *err)
{
    struct work *w = ctx;

    return ss_sweep_predict(w->sweep, item, w->base, &w->how, &w->run, answer, err);
}

static void tell(void *ctx, int done)
{
    const struct work *w = ctx;

    w->options->progress(w->options->ctx, done, w->n);
}

/* Builds the combination with value i of flag f and the first value of the other flags. A refused combination
 * leaves files unread, which is no error here. The first that can be built is kept in *like. */
static int build(const struct work *w, int f, int i, struct ss_scenario **like, struct ss_error *err)
{
    struct ss_scenario_options how = w->how;
    struct ss_sweep_row row = {0};
    struct ss_scenario *scenario = NULL;
    struct ss_request r;
    struct ss_error why = {0};

    SS_TRY(ss_request_copy(w->base, &r, err));
    row.at[f] = i;
    how.like = *like;
    int rc = add_words(w->sweep, &row, &r, &why);
    SS_THEN(rc, ss_scenario_build(&r, &how, &scenario, &why));
    if (!rc && ss_schedule_is_file(scenario->job->schedule))
        rc = ss_files_add(how.files, scenario->job->schedule, &why);
    ss_request_free(&r);
    if (!rc && !*like)
        *like = scenario;
    else
        ss_scenario_free(scenario);
    if (rc && !ss_status_refuses(rc) && err)
        *err = why;
    return ss_status_refuses(rc) ? SS_OK : rc;
}

/* Reads here, once, all that workers read, so that the list of files has it: which files there are depends on
 * one flag at a time. */
static int read_files(const struct work *w, struct ss_scenario **like, struct ss_error *err)
{
    const struct ss_sweep *s = w->sweep;
    int rc = SS_OK;

    for (int f = 0; f < s->nflags && !rc; f++)
        for (int i = f > 0; i < s->flags[f].nvalues && !rc; i++)
            rc = build(w, f, i, like, err);
    return rc;
}

static int predict_all(struct work *w, struct ss_sweep *s, struct ss_error *err)
{
    struct ss_pool pool = {.workers = w->options->workers,
                           .nitems = w->n,
                           .size = sizeof *s->rows,
                           .work = work,
                           .ctx = w,
                           .on_answer = w->options->progress ? tell : NULL,
                           .on_answer_ctx = w,
                           .what = "sweep"};
    struct ss_sweep_row *rows = ss_calloc((size_t)w->n, sizeof *rows);
    int rc = rows ? SS_OK : ss_nomem(err);

    if (!rc && (pool.workers.journal || pool.workers.team))
        rc = ss_sweep_digest(s, w->base, w->run.engine, w->how.files, &pool.digest, err);
    SS_THEN(rc, ss_pool_run(&pool, rows, err));

    if (rc) {
        free(rows);
        return rc;
    }
    s->rows = rows;
    s->nrows = w->n;
    return SS_OK;
}

int ss_sweep_run(struct ss_sweep *s, const struct ss_request *base, const struct ss_sweep_options *options,
                 int most, struct ss_error *err)
{
    static const struct ss_sweep_options none;
    options = options ? options : &none;
    struct work w = {.sweep = s, .base = base, .options = options, .n = ss_sweep_size(s, most)};
    struct ss_scenario *like = NULL;
    struct ss_cache *cache = NULL; /* of each worker, which is a copy of this process */
    struct ss_bands *bands = NULL;
    struct ss_files files = {0};

    if (options->how)
        w.how = *options->how;
    if (!w.how.files) /* of a journal's digest */
        w.how.files = &files;
    if (options->run)
        w.run = *options->run;
    else
        w.run.engine = SS_ENGINE_NATIVE;
    if (!w.n)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0,
                       "more than %d combinations" SS_HINT "vary fewer flags, or fewer values of them", most);
    int rc = w.run.bands ? SS_OK : ss_bands_load(NULL, w.how.files, &bands, err);
    if (bands)
        w.run.bands = bands;
    SS_THEN(rc, read_files(&w, &like, err));
    w.how.like = like;
    if (!rc && !w.run.cache)
        rc = ss_cache_open(&cache, err);
    if (cache)
        w.run.cache = cache;
    SS_THEN(rc, predict_all(&w, s, err));
    ss_cache_close(cache);
    ss_scenario_free(like);
    ss_bands_free(bands);
    ss_files_free(&files);
    return rc;
}
