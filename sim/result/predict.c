/* SPDX-License-Identifier: Apache-2.0 */
/* From a scenario to a summary in one call. */
#include "stepsim/assumed.h"

static int predict(const struct ss_scenario *s, const struct ss_run_options *options, struct ss_summary *out,
                   struct ss_error *err)
{
    struct ss_error why = {0};
    struct ss_run run;
    int rc = (options->narrow ? ss_run_scenario : ss_run_widened)(s, options, &run, &why);

    if (!rc) {
        *out = run.summary;
        ss_run_free(&run);
        return SS_OK;
    }
    if (ss_status_refuses(rc)) {
        ss_summary_refuse(&why, out);
        return SS_OK;
    }
    if (err)
        *err = why;
    return rc;
}

int ss_predict(const struct ss_scenario *s, const struct ss_run_options *options, struct ss_summary *out,
               struct ss_error *err)
{
    struct ss_run_options with = {.engine = SS_ENGINE_NATIVE};
    struct ss_bands *bands = NULL;

    if (options)
        with = *options;
    if (!with.bands) {
        int rc = ss_bands_load(NULL, NULL, &bands, err);
        if (rc)
            return rc;
        with.bands = bands;
    }
    int rc = predict(s, &with, out, err);
    ss_bands_free(bands);
    return rc;
}
