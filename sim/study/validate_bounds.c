/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds for a mixture whose source does not say what it recomputed: with nothing and with everything
 * recomputed. */
#include "base/base.h"
#include "study/study_internal.h"

/* Changes the job of a case to the other choice of recompute. */
static void choose(struct ss_job *job, int recompute)
{
    job->recompute.granularity = recompute;
    job->recompute.modules = 0;
    job->recompute.method = SS_RECOMPUTE_UNIFORM;
    job->recompute.num_layers = recompute == SS_RECOMPUTE_FULL ? 1 : 0;
}

static int predict(const struct ss_case *c, const struct ss_run_options *options, int recompute,
                   struct ss_validation_bound *out, struct ss_error *err)
{
    struct ss_run_options without = *options; /* bands */
    struct ss_case other = *c;                /* borrows all that it points to */
    struct ss_prediction p;

    choose(&other.job, recompute);
    without.bands = NULL;
    int rc = ss_case_predict(&other, &without, &p, err);
    if (rc || p.state != SS_CASE_READY)
        return rc;
    out->seconds = p.summary.iteration_s;
    out->bytes = ss_prediction_memory(&p, ss_case_memory_kind(c));
    return SS_OK;
}

int ss_validation_bounds(const struct ss_case *c, const struct ss_run_options *options,
                         struct ss_validation_row *row, struct ss_error *err)
{
    if (c->state != SS_CASE_READY || !row->experts ||
        strcmp(ss_table_get(c->table, c->row, "recompute"), "unknown") != 0)
        return SS_OK;
    int rc = predict(c, options, SS_RECOMPUTE_NONE, &row->none, err);
    /* Megatron-LM refuses full recompute beside an overlapped exchange */
    return rc || c->job.moe.overlap ? rc : predict(c, options, SS_RECOMPUTE_FULL, &row->full, err);
}
