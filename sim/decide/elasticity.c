/* SPDX-License-Identifier: Apache-2.0 */
/* Computes by how many per cent the time changes for one per cent more of the hardware. */
#include "base/base.h"
#include "stepsim/explain.h"

#define STEP 0.01

SS_NAMES(ss_elasticity_name, SS_ELASTICITY_LIST, SS_SECOND)
SS_NAMES(ss_elasticity_words, SS_ELASTICITY_LIST, SS_THIRD)

/* Predicts the seconds of an iteration with a number multiplied by `factor`; NaN where there is nothing
 * to multiply. */
static int predict(const struct ss_scenario *s, const struct ss_run_options *options, const char *name,
                   double factor, double *seconds, struct ss_error *err)
{
    const struct ss_scenario_options like = {.like = s};
    struct ss_scenario *scaled = NULL;
    struct ss_error why = {0};
    struct ss_request r;
    struct ss_run run;
    char text[64];
    int rc = ss_request_copy(s->request, &r, err);

    *seconds = NAN;
    if (rc)
        return rc;
    snprintf(text, sizeof text, "%s=%.4fx", name, factor);
    rc = ss_request_set(&r, "--scale", text, err);
    int built = rc ? rc : ss_scenario_build(&r, &like, &scaled, &why);
    ss_request_free(&r);
    if (rc || built)
        return rc ? rc : built == SS_ERR_NOMEM ? built : SS_OK;
    rc = ss_run_scenario(scaled, options, &run, err);
    if (!rc) {
        *seconds = run.result->iteration_s;
        ss_run_free(&run);
    }
    ss_scenario_free(scaled);
    return rc;
}

int ss_elasticities_find(const struct ss_scenario *s, const struct ss_run_options *options,
                         double percent[SS_ELASTICITIES], struct ss_error *err)
{
    struct ss_run_options native = {
        .engine = SS_ENGINE_NATIVE, .unchecked = 1, .level_choice = SS_LEVEL_BLIND};
    int rc = SS_OK;

    if (options)
        native.plan = options->plan;
    for (int e = 0; e < SS_ELASTICITIES && !rc; e++) {
        double less = NAN, more = NAN;
        rc = predict(s, &native, ss_elasticity_name(e), 1 - STEP, &less, err);
        SS_THEN(rc, predict(s, &native, ss_elasticity_name(e), 1 + STEP, &more, err));
        percent[e] = (more - less) / (more + less) / STEP; /* per cent over per cent */
    }
    return rc;
}
