/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that predict many jobs. */
#include "ask/ask.h"
#include "base/base.h"
#include "stepsim/search.h"

#define MOST_CLUSTERS 64

int ss_ask_sweep(struct ss_ask *a, struct ss_error *err)
{
    const struct ss_scenario_options how = {.asker = ss_simgrid_ask_routes, .files = &a->files};
    const struct ss_run_options run = {.engine = a->how.options.engine};
    const struct ss_sweep_options options = {
        .how = &how, .run = &run, .workers = a->workers, .progress = ss_ask_tell, .ctx = &a->watcher};
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
    if (!rc && !ss_sweep_count(s, SS_OUTCOME_FITS) && !ss_sweep_count(s, SS_OUTCOME_NEAR_LIMIT))
        a->status = ss_status_exit(ss_sweep_count(s, SS_OUTCOME_TOO_LARGE) ? SS_ERR_OOM : SS_ERR_CONFIG);
    return rc;
}

/* 0 where a layout fits, or is near the limit, on one of the numbers of nodes. */
static int verdict(const struct ss_find_result *found)
{
    for (int g = 0; g < found->ngroups; g++)
        if (found->groups[g].best >= 0 || found->groups[g].near >= 0)
            return 0;
    return ss_status_exit(SS_ERR_OOM);
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
    const struct ss_run_options run = {.engine = SS_ENGINE_NATIVE, .bands = a->how.options.bands};
    const struct ss_find_options options = {.vary = a->vary,
                                            .how = &how,
                                            .run = &run,
                                            .workers = a->workers,
                                            .axes = a->axes,
                                            .exhaustive = a->exhaustive,
                                            .confirm = !a->unconfirmed,
                                            .progress = tell,
                                            .ctx = &a->watcher};
    int rc = ss_find_run(&a->request, &options, &found, err);
    SS_THEN(rc, ss_find_write(found, &(struct ss_display){.json = 1}, 0, a->out, err));
    if (!rc)
        a->status = verdict(found);
    ss_find_free(found);
    return rc;
}

int ss_ask_capacity(struct ss_ask *a, struct ss_error *err)
{
    const struct ss_scenario_options how = {.asker = ss_simgrid_ask_routes, .files = &a->files};
    struct ss_capacity *plan = NULL;

    SS_TRY(ss_ask_bands(a, err));
    const struct ss_run_options run = {
        .engine = SS_ENGINE_NATIVE, .unchecked = 1, .bands = a->how.options.bands};
    a->capacity.how = &how;
    a->capacity.run = &run;
    a->capacity.workers = a->workers;
    a->capacity.vary = a->vary;
    a->capacity.progress = ss_ask_tell;
    a->capacity.ctx = &a->watcher;
    int rc = ss_capacity_run(&a->request, &a->capacity, &plan, err);
    SS_THEN(rc, ss_capacity_write(plan, SS_CAPACITY_JSON, NULL, a->out, err));
    if (!rc && !ss_capacity_is_answered(plan))
        a->status = ss_status_exit(SS_ERR_OOM);
    ss_capacity_free(plan);
    return rc;
}
