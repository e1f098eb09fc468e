/* SPDX-License-Identifier: Apache-2.0 */
/* The premises of jobs that were predicted among many, when their scenarios are gone. */
#include "report/premises.h"

#include "base/base.h"
#include "stepsim/sweep.h"
#include "study/study_internal.h"

/* Writes the names of the flags that vary, with blanks between. */
static void put_varied(const struct ss_sweep *vary, char *buf, size_t size)
{
    buf[0] = '\0';
    for (int f = 0; vary && f < vary->nflags; f++)
        ss_append(buf, size, "%s ", vary->flags[f].name);
}

int ss_premises_find(const struct ss_request *r, const struct ss_scenario_options *how,
                     const struct ss_sweep *vary, char *buf, size_t size, struct ss_error *err)
{
    const struct ss_scenario_options quiet = {.asker = how ? how->asker : NULL,
                                              .like = how ? how->like : NULL};
    char varied[sizeof vary->flags->name * SS_SWEEP_FLAGS];
    struct ss_scenario *scenario = NULL;
    struct ss_error why = {0};
    int rc = ss_scenario_build(r, &quiet, &scenario, &why);

    buf[0] = '\0';
    put_varied(vary, varied, sizeof varied);
    if (!rc)
        ss_report_premises(scenario, varied, buf, size);
    ss_scenario_free(scenario);
    if (ss_status_refuses(rc)) /* a refusal is an outcome, which is shown elsewhere */
        return SS_OK;
    if (rc && err)
        *err = why;
    return rc;
}

int ss_premises_behind(const struct ss_request *base, const char *words,
                       const struct ss_scenario_options *how, const struct ss_sweep *vary, char *buf,
                       size_t size, struct ss_error *err)
{
    struct ss_request r;

    SS_TRY(ss_request_behind(base, words, &r, err));
    int rc = ss_premises_find(&r, how, vary, buf, size, err);
    ss_request_free(&r);
    return rc;
}
