/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts predicted by worker processes. */
#include <string.h>

#include "base/base.h"
#include "base/pool.h"
#include "decide/search_internal.h"

struct work {
    const struct ss_find_space *space;
    const struct ss_find_leaf *const *leaves;
    struct ss_run_options options;
};

static void fill_point(const struct ss_find_space *s, const struct ss_find_leaf *leaf,
                       const struct ss_job *job, struct ss_find_point *p)
{
    const struct ss_find_cluster *c = &s->clusters[leaf->cluster];
    p->group = leaf->cluster;
    p->tp = job->tp;
    p->cp = job->cp;
    p->pp = job->pp;
    p->ep = job->ep;
    p->chunks = ss_job_chunks(job);
    p->dp = ss_job_dp(job, c->world_size);
    p->micro_batch = job->micro_batch;
    p->microbatches = ss_job_microbatches(job, c->world_size);
    p->recompute = job->recompute;
    p->fsdp = job->fsdp;
    ss_copy(p->schedule, sizeof p->schedule, job->schedule[0] ? job->schedule : "auto");
    p->least_s = leaf->seconds;
    p->least_bytes = leaf->bytes;
    ss_find_flags(c, leaf->at, p->flags, sizeof p->flags);
}

static int predict(void *ctx, int item, void *answer, struct ss_error *err)
{
    const struct work *w = ctx;
    const struct ss_find_leaf *leaf = w->leaves[item];
    const struct ss_find_cluster *c = &w->space->clusters[leaf->cluster];
    struct ss_find_point *p = answer;
    struct ss_job job;

    int rc = ss_find_job(w->space, leaf, &job, err);
    if (rc)
        return rc;
    const struct ss_scenario scenario = {.job = &job,
                                         .stack = c->stack,
                                         .platform = c->platform,
                                         .world_size = c->world_size,
                                         .gpus_per_node = c->gpus_per_node,
                                         .request = &c->request};
    fill_point(w->space, leaf, &job, p);
    return ss_predict(&scenario, &w->options, &p->summary, err);
}

int ss_find_predict(const struct ss_find_space *s, const struct ss_find_options *o,
                    const struct ss_find_leaf *const *leaves, int n, struct ss_find_point *out,
                    struct ss_error *err)
{
    struct work w = {.space = s, .leaves = leaves};
    if (o->run)
        w.options = *o->run;
    else
        w.options.engine = SS_ENGINE_NATIVE;
    w.options.unchecked = 1;
    const struct ss_pool pool = {
        .workers = o->workers, .nitems = n, .size = sizeof *out, .work = predict, .ctx = &w};
    return n ? ss_pool_run(&pool, out, err) : SS_OK;
}
