/* SPDX-License-Identifier: Apache-2.0 */
/* One combination of a sweep, from words to figures. */
#include <string.h>

#include "base/base.h"
#include "stepsim/scenario.h"
#include "stepsim/schedule.h"
#include "stepsim/sweep.h"

/* The words of the combination stand on the command line, behind all others. */
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

static int predict(const struct ss_request *r, const struct ss_scenario_options *how,
                   const struct ss_run_options *options, struct ss_summary *out, struct ss_error *err)
{
    struct ss_scenario *scenario = NULL;
    int rc = ss_scenario_build(r, how, &scenario, err);

    if (!rc && how && how->files && ss_schedule_is_file(scenario->job->schedule))
        rc = ss_files_add(how->files, scenario->job->schedule, err);
    if (!rc)
        rc = ss_predict(scenario, options, out, err);
    ss_scenario_free(scenario);
    return rc;
}

int ss_sweep_predict(const struct ss_sweep *s, int i, const struct ss_request *base,
                     const struct ss_scenario_options *how, const struct ss_run_options *options,
                     struct ss_sweep_row *out, struct ss_error *err)
{
    struct ss_request r;
    struct ss_error why = {0};
    int rc = ss_request_copy(base, &r, err);

    if (rc)
        return rc;
    ss_sweep_combination(s, i, out);
    rc = add_words(s, out, &r, &why);
    if (!rc)
        rc = predict(&r, how, options, &out->summary, &why);
    ss_request_free(&r);
    if (ss_status_refuses(rc)) {
        ss_summary_refuse(&why, &out->summary);
        return SS_OK;
    }
    if (rc && err)
        *err = why;
    return rc;
}
