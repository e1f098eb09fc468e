/* SPDX-License-Identifier: Apache-2.0 */
#include "stepsim/scenario.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "job/job_internal.h"

/* A scenario and what it points to, in one block. */
struct whole {
    struct ss_scenario s;
    struct ss_job job;
    struct ss_stack stack;
    struct ss_platform *platform;
    struct ss_request request;
};

static int no_platform(struct ss_error *err)
{
    ss_fail(err, SS_ERR_USAGE, NULL, 0, "no --platform given");
    return ss_hint(err, SS_ERR_USAGE, "add --platform NAME; \"stepsim list platforms\" shows the names");
}

/* A name that is not found was read in the file of the job. */
static int located(const struct whole *w, const char *flag, int rc, struct ss_error *err)
{
    if (rc)
        ss_request_locate(&w->request, flag, err);
    return rc;
}

static int load(struct whole *w, const struct ss_scenario_options *o, struct ss_error *err)
{
    const struct ss_platform_options options = {
        .nodes = w->job.nodes, .gpus_per_node = w->job.gpus_per_node, .asker = o ? o->asker : NULL,
        .files = o ? o->files : NULL};
    int rc = located(w, "--platform", ss_platform_load(w->job.platform, &options, &w->platform, err), err);

    if (rc)
        return rc;
    return located(w, "--stack",
                   ss_stack_load_with(w->job.stack, ss_platform_card(w->platform)->name, options.files, &w->stack, err),
                   err);
}

static int note_files(const struct whole *w, struct ss_files *files, struct ss_error *err)
{
    int rc = ss_request_files(&w->request, files, err);

    return rc ? rc : ss_data_note("workloads/models", w->job.model_ref, ".json", files, err);
}

static int build(struct whole *w, const struct ss_scenario_options *o, struct ss_error *err)
{
    struct ss_scenario *s = &w->s;
    int rc = ss_job_parse(&w->job, &w->request, &s->notes, err), gpus;

    if (!rc && !w->job.platform[0])
        rc = no_platform(err);
    if (!rc)
        rc = load(w, o, err);
    if (!rc)
        rc = ss_sets_apply(&w->request, w->platform, &w->stack, err);
    if (rc)
        return rc;
    gpus = ss_platform_gpus_per_node(w->platform);
    s->world_size = ss_platform_nodes(w->platform) * gpus;
    s->platform = w->platform;
    s->measured_s = w->job.measured_ms / 1e3;
    s->measured_bytes = w->job.measured_mib * SS_MIB;
    rc = ss_job_finish(&w->job, &w->request, &w->stack, s->world_size, gpus, &s->notes, err);
    return rc ? rc : note_files(w, o ? o->files : NULL, err);
}

int ss_scenario_build(const struct ss_request *r, const struct ss_scenario_options *o, struct ss_scenario **out,
                      struct ss_error *err)
{
    struct whole *w = ss_calloc(1, sizeof *w);
    int rc;

    if (!w)
        return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory");
    w->s.job = &w->job;
    w->s.stack = &w->stack;
    w->s.request = &w->request;
    ss_job_init(&w->job);
    rc = ss_request_copy(r, &w->request, err);
    if (!rc)
        rc = build(w, o, err);
    if (rc) {
        ss_scenario_free(&w->s);
        return rc;
    }
    *out = &w->s;
    return SS_OK;
}

void ss_scenario_free(struct ss_scenario *s)
{
    struct whole *w = (struct whole *)s; /* its first member */

    if (!w)
        return;
    ss_platform_free(w->platform);
    ss_notes_free(&w->s.notes);
    ss_request_free(&w->request);
    free(w);
}
