/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that predict one job. */
#include "ask/ask.h"
#include "base/base.h"
#include "stepsim/assumed.h"
#include "stepsim/check.h"
#include "stepsim/explain.h"
#include "stepsim/job.h"
#include "stepsim/schedule.h"

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

/* Words, bands, scenario, and how it is simulated. */
static int begin(struct ss_ask *a, int n, char **words, struct ss_scenario **s, struct ss_error *err)
{
    int rc = ss_ask_read(a, n, words, err);

    SS_THEN(rc, ss_ask_scenario(a, s, err));
    if (!rc && ss_schedule_is_file((*s)->job->schedule))
        rc = ss_files_add(&a->files, (*s)->job->schedule, err);
    SS_THEN(rc, ss_ask_how(a, *s, err));
    return rc ? rc : ss_ask_bands(a, err);
}

int ss_ask_run(struct ss_ask *a, int n, char **words, FILE *out, int *status, struct ss_error *err)
{
    struct ss_scenario *s = NULL;
    int fits = 1, rc = begin(a, n, words, &s, err);

    SS_THEN(rc, ss_ask_write_run(s, &a->how.options, &a->told, &a->files, &fits, out, err));
    *status = fits ? 0 : ss_status_exit(SS_ERR_OOM);
    ss_scenario_free(s);
    return rc;
}

int ss_ask_plan(struct ss_ask *a, int n, char **words, FILE *out, int *status, struct ss_error *err)
{
    struct ss_scenario *s = NULL;
    struct ss_run run = {0};
    int rc = begin(a, n, words, &s, err);
    const struct ss_run_options options = {.bands = a->how.options.bands};

    (void)status;
    SS_THEN(rc, ss_run_scenario(s, &options, &run, err));
    if (!rc) {
        struct ss_report_options report = ss_report_of(s);
        report.json = 1;
        report.how = &a->told;
        report.files = &a->files;
        rc = ss_report_plan(&run, &report, out, err);
    }
    ss_run_free(&run);
    ss_scenario_free(s);
    return rc;
}

int ss_ask_explain(struct ss_ask *a, int n, char **words, FILE *out, int *status, struct ss_error *err)
{
    struct ss_explanation *x = ss_calloc(1, sizeof *x);
    struct ss_scenario *s = NULL;
    struct ss_run run = {0};
    int rc = x ? begin(a, n, words, &s, err) : ss_nomem(err);

    a->how.options.open_compute = 1;
    SS_THEN(rc, ss_run_weighed(s, &a->how.options, &run, err));
    SS_THEN(rc, ss_explain(&run, &a->how.options, x, err));
    SS_THEN(rc, ss_explanation_write(x, &run, &(struct ss_display){.json = 1}, out, err));
    if (!rc && !run.result->fits)
        *status = ss_status_exit(SS_ERR_OOM);
    ss_run_free(&run);
    ss_scenario_free(s);
    free(x);
    return rc;
}

/* What options, the job and the log tell. */
static int measure(struct ss_ask *a, const struct ss_scenario *s, struct ss_error *err)
{
    struct ss_measurement *m = &a->measured;
    struct ss_train_log *log;
    int rc = a->log[0] ? ss_train_log_load(a->log, &log, err) : SS_OK;

    m->told[SS_TOLD_SECONDS] = s->measured_s;
    if (s->measured_bytes > 0)
        m->told[SS_TOLD_DEVICE] = s->measured_bytes;
    if (!rc && a->log[0]) {
        ss_measurement_log(m, log, a->log);
        ss_train_log_free(log);
    }
    if (rc || ss_measurement_tells(m))
        return rc;
    return ss_fail(err, SS_ERR_USAGE, NULL, 0,
                   "nothing that was measured" SS_HINT
                   "give --log, --measured, --tokens-per-second, --tflops, --mfu or --memory");
}

int ss_ask_check(struct ss_ask *a, int n, char **words, FILE *out, int *status, struct ss_error *err)
{
    struct ss_checked *c = ss_calloc(1, sizeof *c);
    struct ss_scenario *s = NULL;
    struct ss_run run = {0};
    int rc = c ? begin(a, n, words, &s, err) : ss_nomem(err);

    a->how.options.open_compute = 1;
    SS_THEN(rc, measure(a, s, err));
    SS_THEN(rc, ss_run_weighed(s, &a->how.options, &run, err));
    SS_THEN(rc, ss_check(&run, &a->how.options, &a->measured, SS_CHECK_SUSPECTS, c, err));
    SS_THEN(rc, ss_check_write(c, &run, SS_CHECK_JSON, NULL, out, err));
    *status = rc ? 0 : ss_check_status(c);
    ss_run_free(&run);
    ss_scenario_free(s);
    free(c);
    return rc;
}
