/* SPDX-License-Identifier: Apache-2.0 */
/* Tied embeddings: the first and the last stage add up their gradients. */
#include <math.h>

#include "model/model_internal.h"
#include "plan/plan_internal.h"
#include "stepsim/job.h"

/* Adds the collective of the first and the last stage of a class; each sends its gradient to the other. */
static int embedding_add(struct ss_plan_builder *b, int cls, int peer, double bytes, struct ss_error *err)
{
    const int both[2] = {cls, peer};
    const struct ss_collective_spec spec = {
        .name = "embedding grads",
        .comm = SS_COMM_EMBEDDING,
        .role = SS_ROLE_EMBEDDING,
        .kind = SS_COLL_ALL_REDUCE,
        .bytes = bytes,
        .seconds = 2 * fmax(b->routes.latency[ss_plan_flow_of(b, cls, b->routes.embedding)], b->net.nic_step),
    };
    int index, rc = ss_plan_collective_add(b, &spec, both, 2, 2, &index, err);
    for (int i = 0; i < 2 && !rc; i++) {
        struct ss_plan_class *pc = &b->plan->classes[both[i]];
        int path;
        rc = ss_plan_path(b, both[i], b->routes.embedding, &path, err);
        if (!rc) {
            ss_plan_flow_add(b, index, path, bytes);
            rc = ss_plan_list_add(&pc->post, &pc->npost, index, err);
        }
    }
    return rc;
}

double ss_plan_embedding_bytes(const struct ss_plan *plan)
{
    return (double)plan->padded_vocab / plan->job->tp * ss_model_embedding_row(&plan->job->model) *
           ss_parameter_bytes(plan->job, plan->stack).grad;
}

int ss_plan_embedding_build(struct ss_plan_builder *b, struct ss_error *err)
{
    const struct ss_plan *plan = b->plan;
    double bytes = ss_plan_embedding_bytes(plan);
    int rc = SS_OK;
    for (int c = 0; c < plan->nclasses && !rc && b->routes.embedding >= 0; c++) {
        if (plan->classes[c].stage != plan->schedule->virtual_rank[0])
            continue;
        int peer = b->routes.to[ss_plan_flow_of(b, c, b->routes.embedding)];
        if (peer >= 0)
            rc = embedding_add(b, c, plan->class_of[peer], bytes, err);
    }
    return rc;
}
