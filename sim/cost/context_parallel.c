/* SPDX-License-Identifier: Apache-2.0 */
/* The collectives of context parallelism. */
#include <math.h>

#include "cost/cost.h"

struct ss_layer_step ss_cost_cp_step(const struct ss_cost_context *c, double tensors)
{
    const struct ss_shape *s = &c->shape;
    const struct ss_group_shape *g = &c->cp;
    double kv = 2 * s->tokens * s->groups * s->d * s->e, qo = 2 * s->tokens * s->heads * s->d * s->e;
    int coll = SS_COLL_ALL_GATHER;
    double bytes = tensors * kv * g->n, seconds;
    if (ss_job_cp_in_ring(c->job)) {
        double far = c->net.nic_busbw / fmax(1, c->cp_sharers);
        double busbw = g->nodes > 1 ? fmin(c->net.nvlink_busbw, far) : c->net.nvlink_busbw;
        bytes = tensors * kv;
        seconds = bytes / busbw + (g->nodes > 1 ? c->net.nic_step : c->net.nvlink_step);
        return ss_step_post(SS_LABEL_CP, SS_STREAM_CP, coll, bytes, seconds);
    }
    if (c->job->cp_comm_type == SS_CP_A2A) {
        coll = SS_COLL_ALL_TO_ALL;
        bytes = kv + (tensors > 1 ? 1.5 : 1) * qo; /* backward: output and its gradient, then those of Q, K and V */
    }
    return ss_step_post(SS_LABEL_CP, SS_STREAM_CP, coll, bytes, ss_collective_seconds(&c->net, coll, bytes, g));
}
