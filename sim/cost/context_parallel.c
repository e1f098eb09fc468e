/* SPDX-License-Identifier: Apache-2.0 */
/* The collectives of context parallelism. */
#include "cost/cost.h"
#include "stepsim/job.h"

struct ss_layer_step ss_cost_cp_step(const struct ss_cost_context *c, double tensors)
{
    const struct ss_shape *s = &c->shape;
    const struct ss_group_shape *g = &c->cp;
    double kv = s->tokens * s->groups * (s->d + s->d_v) * s->e, q = s->tokens * s->heads * s->d * s->e,
           o = s->tokens * s->heads * s->d_v * s->e;
    int coll = SS_COLL_ALL_GATHER;
    double bytes = tensors * kv * g->n;
    if (ss_job_cp_in_ring(c->job)) {
        coll = SS_COLL_RING_STEP;
        bytes = tensors * kv;
    } else if (c->job->cp_comm_type == SS_CP_A2A) {
        coll = SS_COLL_ALL_TO_ALL;
        /* backward: output and its gradient, then those of Q, K and V */
        bytes = kv + q + (tensors > 1 ? 2 : 1) * o;
    }
    return ss_step_post(SS_COMM_CP, coll, bytes, ss_collective_seconds(&c->net, coll, bytes, g));
}
