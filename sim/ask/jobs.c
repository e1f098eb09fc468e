/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that predict one job. */
#include "ask/ask.h"
#include "base/base.h"
#include "stepsim/assumed.h"
#include "stepsim/search.h"

int ss_ask_write_run(const struct ss_scenario *s, const struct ss_run_options *options,
                     const struct ss_request *how, const struct ss_files *files, int *fits, FILE *out,
                     struct ss_error *err)
{
    struct ss_report_options report = ss_report_of(s);
    struct ss_run_options opened = *options;
    struct ss_smallest smallest = {0};
    struct ss_run run = {0};
    struct ss_fix fixes[3];

    opened.open_compute = 1;
    report.json = 1;
    report.how = how;
    report.files = files;
    report.cache = options->cache;
    report.fixes = fixes;
    report.smallest = &smallest;
    int rc = ss_run_weighed(s, &opened, &run, err);
    if (!rc && !run.result->fits) {
        rc = ss_fixes_find(s, &opened, fixes, &report.nfixes, err);
        ss_smallest_find(s, opened.cache, &smallest);
    }
    *fits = !rc && run.result->fits;
    SS_THEN(rc, ss_report_run(&run, &report, out, err));
    ss_run_free(&run);
    return rc;
}

int ss_ask_run(struct ss_ask *a, struct ss_error *err)
{
    int fits;

    SS_TRY(ss_ask_write_run(a->scenario, &a->options.how.options, &a->told, &a->files, &fits, a->out, err));
    a->status = fits ? 0 : ss_status_exit(SS_ERR_OOM);
    return SS_OK;
}

int ss_ask_plan(struct ss_ask *a, struct ss_error *err)
{
    const struct ss_run_options options = {.bands = a->options.how.options.bands};
    struct ss_report_options report = ss_report_of(a->scenario);

    report.json = 1;
    report.how = &a->told;
    report.files = &a->files;
    SS_TRY(ss_run_scenario(a->scenario, &options, &a->run, err));
    return ss_report_plan(&a->run, &report, a->out, err);
}

int ss_ask_explain(struct ss_ask *a, struct ss_error *err)
{
    struct ss_explanation *x = ss_calloc(1, sizeof *x);

    SS_NEED(x, err);
    a->options.how.options.open_compute = 1;
    int rc = ss_run_weighed(a->scenario, &a->options.how.options, &a->run, err);
    SS_THEN(rc, ss_explain(&a->run, &a->options.how.options, x, err));
    SS_THEN(rc, ss_explanation_write(x, &a->run, &(struct ss_display){.json = 1}, a->out, err));
    if (!rc && !a->run.result->fits)
        a->status = ss_status_exit(SS_ERR_OOM);
    free(x);
    return rc;
}

/* What options, the job and the log tell. */
static int measure(struct ss_ask *a, struct ss_error *err)
{
    struct ss_measurement *m = &a->options.measured;
    struct ss_train_log *log;

    ss_measurement_add_job(m, a->scenario);
    if (a->options.log) {
        SS_TRY(ss_train_log_load(a->options.log, &log, err));
        ss_measurement_log(m, log, a->options.log);
        ss_train_log_free(log);
    }
    if (ss_measurement_tells(m))
        return SS_OK;
    return ss_fail(err, SS_ERR_USAGE, NULL, 0,
                   "nothing that was measured" SS_HINT
                   "give --log, --measured, --tokens-per-second, --tflops, --mfu or --memory");
}

int ss_ask_check(struct ss_ask *a, struct ss_error *err)
{
    struct ss_checked *c = ss_calloc(1, sizeof *c);

    SS_NEED(c, err);
    a->options.how.options.open_compute = 1;
    int rc = measure(a, err);
    SS_THEN(rc, ss_run_weighed(a->scenario, &a->options.how.options, &a->run, err));
    SS_THEN(rc, ss_check(&a->run, &a->options.how.options, &a->options.measured, SS_CHECK_SUSPECTS, c, err));
    SS_THEN(rc, ss_check_write(c, &a->run, SS_CHECK_JSON, NULL, a->out, err));
    a->status = rc ? 0 : ss_check_status(c);
    free(c);
    return rc;
}

/* ---- many jobs ---- */

#define MOST_CLUSTERS 64

int ss_ask_sweep(struct ss_ask *a, struct ss_error *err)
{
    const struct ss_scenario_options how = {.asker = ss_simgrid_ask_routes, .files = &a->files};
    const struct ss_run_options run = {.engine = a->options.how.options.engine};
    const struct ss_sweep_options options = {
        .how = &how, .run = &run, .workers = a->options.workers, .progress = ss_ask_tell, .ctx = &a->watcher};
    struct ss_sweep *s = a->vary;
    struct ss_notes warnings = {0};

    SS_TRY(ss_sweep_open(s, &a->request, err));
    SS_TRY(ss_sweep_check(s, &a->request, err));
    SS_TRY(ss_sweep_run(s, &a->request, &options, SS_SWEEP_MOST, err));
    int rc = ss_sweep_warnings(s, &a->request, &how, &warnings, err);
    s->warnings = &warnings;
    SS_THEN(rc, ss_sweep_write(s, &(struct ss_display){.json = 1}, a->out, err));
    s->warnings = NULL;
    ss_notes_free(&warnings);
    a->status = rc ? 0 : ss_sweep_status(s);
    return rc;
}

static void tell(void *ctx, int64_t done, int64_t all)
{
    ss_ask_tell(ctx, (int)(1000 * (double)done / (double)(all > 0 ? all : 1)), 1000);
}

int ss_ask_search(struct ss_ask *a, struct ss_error *err)
{
    const struct ss_scenario_options how = {.asker = ss_simgrid_ask_routes, .files = &a->files};
    struct ss_find_result *found = NULL;

    SS_TRY(ss_sweep_open(a->vary, &a->request, err));
    if (a->vary->nflags && !ss_find_clusters(a->vary, MOST_CLUSTERS))
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "more than %d clusters", MOST_CLUSTERS);
    SS_TRY(ss_ask_bands(a, err));
    const struct ss_run_options run = {.engine = SS_ENGINE_NATIVE, .bands = a->options.how.options.bands};
    const struct ss_find_options options = {.vary = a->vary,
                                            .how = &how,
                                            .run = &run,
                                            .workers = a->options.workers,
                                            .axes = a->options.axes,
                                            .exhaustive = a->options.exhaustive,
                                            .confirm = !a->options.unconfirmed,
                                            .progress = tell,
                                            .ctx = &a->watcher};
    int rc = ss_find_run(&a->request, &options, &found, err);
    SS_THEN(rc, ss_find_write(found, &(struct ss_display){.json = 1}, 0, a->out, err));
    if (!rc)
        a->status = ss_find_status(found);
    ss_find_free(found);
    return rc;
}

int ss_ask_capacity(struct ss_ask *a, struct ss_error *err)
{
    const struct ss_scenario_options how = {.asker = ss_simgrid_ask_routes, .files = &a->files};
    struct ss_capacity *plan = NULL;

    SS_TRY(ss_ask_bands(a, err));
    const struct ss_run_options run = {
        .engine = SS_ENGINE_NATIVE, .unchecked = 1, .bands = a->options.how.options.bands};
    a->options.capacity.how = &how;
    a->options.capacity.run = &run;
    a->options.capacity.workers = a->options.workers;
    a->options.capacity.vary = a->vary;
    a->options.capacity.progress = ss_ask_tell;
    a->options.capacity.ctx = &a->watcher;
    int rc = ss_capacity_run(&a->request, &a->options.capacity, &plan, err);
    SS_THEN(rc, ss_capacity_write(plan, SS_CAPACITY_JSON, NULL, a->out, err));
    if (!rc && !ss_capacity_is_answered(plan))
        a->status = ss_status_exit(SS_ERR_OOM);
    ss_capacity_free(plan);
    return rc;
}

/* ---- jobs beside each other ---- */

/* The sides of a comparison: files, words that all sides have, and the words of each --with. */
struct sides {
    struct ss_ask *all;
    struct ss_sides_words told;
    struct ss_side side[SS_SIDES_MOST];
    struct ss_apart apart[SS_SIDES_MOST];
    struct ss_notes warnings[SS_SIDES_MOST];
};

/* Predicts the job of these words; a refusal is an answer of every side but the first. */
static int predict(void *ctx, int i, const char *name, int n, char *const *words, struct ss_error *err)
{
    struct sides *c = ctx;
    struct ss_error why = {0};
    struct ss_ask a;
    int rc = ss_ask_init(&a, SS_ASK_COMPARE, &why);

    a.options.behind = 1;
    SS_THEN(rc, ss_ask_read(&a, n, words, &why));
    SS_THEN(rc, ss_ask_scenario(&a, &why));
    struct ss_run_options options = a.options.how.options;
    options.open_compute = 1;
    options.bands = c->all->options.how.options.bands;
    SS_THEN(rc, ss_run_scenario(a.scenario, &options, &a.run, &why));
    if (!rc) {
        ss_side_fill(&a.run, name, &c->side[i]);
        c->side[i].warnings = &c->warnings[i];
        rc = ss_side_warn(&a.run, &c->warnings[i], &why);
    }
    ss_ask_end(&a);
    if (i > 0 && ss_status_refuses(rc)) {
        ss_side_refuse(&why, name, &c->side[i]);
        return SS_OK;
    }
    if (rc && err)
        *err = why;
    return rc;
}

static int compare(struct sides *c, int n, struct ss_error *err)
{
    struct ss_ask *a = c->all;
    int refused = 0;

    for (int i = 0; i < n; i++)
        SS_TRY(ss_side_tell(&c->told, i, predict, c, err));
    for (int i = 1; i < n; i++) {
        SS_TRY(ss_sides_judge(&c->side[0], &c->side[i], a->options.how.options.bands, &c->apart[i], err));
        refused += c->side[i].summary.outcome == SS_OUTCOME_REFUSED;
    }
    a->status = refused == n - 1 ? ss_status_exit(SS_ERR_CONFIG) : 0;
    return ss_contrast_write(c->side, c->apart, n, SS_CONTRAST_JSON, NULL, a->out, err);
}

int ss_ask_compare(struct ss_ask *a, struct ss_error *err)
{
    struct sides *c = ss_calloc(1, sizeof *c);
    int nfiles = 0;

    SS_NEED(c, err);
    while (nfiles < a->n && (a->words[nfiles][0] != '-' || !a->words[nfiles][1]))
        nfiles++;
    int rc = ss_ask_read(a, a->n - nfiles, a->words + nfiles, err);
    c->all = a;
    c->told = (struct ss_sides_words){nfiles,   a->n - nfiles,     a->options.with.n,
                                      a->words, a->words + nfiles, a->options.with.text};
    int nsides = ss_sides_count(&c->told);
    if (!rc && (nsides < 2 || nsides > SS_SIDES_MOST))
        rc = ss_fail(err, SS_ERR_USAGE, NULL, 0, "a comparison has 2 to %d sides, not %d", SS_SIDES_MOST,
                     nsides);
    SS_THEN(rc, ss_ask_bands(a, err));
    SS_THEN(rc, compare(c, nsides, err));
    for (int i = 0; i < SS_SIDES_MOST; i++)
        ss_notes_free(&c->warnings[i]);
    free(c);
    return rc;
}
