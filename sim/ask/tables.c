/* SPDX-License-Identifier: Apache-2.0 */
/* Commands without a job. */
#include "ask/ask.h"
#include "base/base.h"
#include "stepsim/doctor.h"
#include "stepsim/study.h"

#define MOST_TABLES 64

static int write_coverage(const char *table, FILE *out, struct ss_error *err)
{
    struct ss_bands *bands = NULL;
    int rc = ss_bands_load(table ? table : "results", NULL, &bands, err);

    SS_THEN(rc, ss_coverage_write(bands, &(struct ss_display){.json = 1}, out, err));
    ss_bands_free(bands);
    return rc;
}

static void tell(void *ctx, int done, int all, const char *id)
{
    (void)id;
    ss_ask_tell(ctx, done, all);
}

int ss_ask_validate(struct ss_ask *a, struct ss_error *err)
{
    struct ss_validate_options options = {.engine = SS_ENGINE_NATIVE};
    const char *tables[MOST_TABLES] = {"runs"};
    struct ss_validation *v = NULL;
    const int ntables = a->n ? a->n : 1;

    if (a->n > (a->options.coverage ? 1 : MOST_TABLES))
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "too many tables");
    if (a->options.coverage && a->options.regret)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "--regret beside --coverage, which predicts nothing");
    if (a->options.coverage)
        return write_coverage(a->n ? a->words[0] : NULL, a->out, err);
    for (int i = 0; i < a->n; i++)
        tables[i] = a->words[i];
    for (int i = 0; i < ntables; i++)
        if (!strcmp(tables[i], "runs") && !a->options.regret)
            options.timer_rows = "gpt2-timers";
    options.engine = a->options.how.options.engine;
    options.spread = a->options.spread >= 0 ? &a->options.spread : NULL;
    options.workers = a->options.workers;
    options.progress = tell;
    options.ctx = &a->watcher;
    int rc = ss_validate(tables, ntables, &options, &v, err);
    SS_THEN(rc, (a->options.regret ? ss_regret_write_json : ss_validation_write_json)(v, a->out, err));
    ss_validation_free(v);
    return rc;
}

int ss_ask_list(struct ss_ask *a, struct ss_error *err)
{
    if (a->n > 1)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "list takes one word at most");
    return ss_report_list(a->n ? a->words[0] : NULL, &(struct ss_display){.json = 1}, a->out, err);
}

int ss_ask_version(struct ss_ask *a, struct ss_error *err)
{
    if (a->n)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "version takes no words");
    fprintf(a->out, "{\n  \"schema_version\": %d,\n  \"version\": \"%s\"\n}\n", SS_SCHEMA_VERSION,
            ss_version());
    return SS_OK;
}

int ss_ask_doctor(struct ss_ask *a, struct ss_error *err)
{
    struct ss_doctor doctor;

    if (a->n)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "doctor takes no words");
    ss_doctor_run(&doctor);
    a->status = !doctor.healthy;
    return ss_doctor_write(&doctor, 1, a->out, err);
}
