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

int ss_ask_run(struct ss_ask *a, struct ss_error *err)
{
    int fits;

    SS_TRY(ss_ask_write_run(a->scenario, &a->how.options, &a->told, &a->files, &fits, a->out, err));
    a->status = fits ? 0 : ss_status_exit(SS_ERR_OOM);
    return SS_OK;
}

int ss_ask_plan(struct ss_ask *a, struct ss_error *err)
{
    const struct ss_run_options options = {.bands = a->how.options.bands};
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
    a->how.options.open_compute = 1;
    int rc = ss_run_weighed(a->scenario, &a->how.options, &a->run, err);
    SS_THEN(rc, ss_explain(&a->run, &a->how.options, x, err));
    SS_THEN(rc, ss_explanation_write(x, &a->run, &(struct ss_display){.json = 1}, a->out, err));
    if (!rc && !a->run.result->fits)
        a->status = ss_status_exit(SS_ERR_OOM);
    free(x);
    return rc;
}

/* What options, the job and the log tell. */
static int measure(struct ss_ask *a, struct ss_error *err)
{
    struct ss_measurement *m = &a->measured;
    struct ss_train_log *log;
    int rc = a->log[0] ? ss_train_log_load(a->log, &log, err) : SS_OK;

    m->told[SS_TOLD_SECONDS] = a->scenario->measured_s;
    if (a->scenario->measured_bytes > 0)
        m->told[SS_TOLD_DEVICE] = a->scenario->measured_bytes;
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

int ss_ask_check(struct ss_ask *a, struct ss_error *err)
{
    struct ss_checked *c = ss_calloc(1, sizeof *c);

    SS_NEED(c, err);
    a->how.options.open_compute = 1;
    int rc = measure(a, err);
    SS_THEN(rc, ss_run_weighed(a->scenario, &a->how.options, &a->run, err));
    SS_THEN(rc, ss_check(&a->run, &a->how.options, &a->measured, SS_CHECK_SUSPECTS, c, err));
    SS_THEN(rc, ss_check_write(c, &a->run, SS_CHECK_JSON, NULL, a->out, err));
    a->status = rc ? 0 : ss_check_status(c);
    free(c);
    return rc;
}
