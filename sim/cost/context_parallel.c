/* SPDX-License-Identifier: Apache-2.0 */
/* The collectives of context parallelism. */
#include "cost/cost.h"

struct ss_layer_step ss_cost_cp_step(const struct ss_cost_context *c, const struct ss_op_attention *a,
                                     int backward)
{
    int coll = a->context.coll;
    double bytes = backward ? a->context.backward : a->context.forward;
    return ss_step_post(SS_COMM_CP, coll, bytes, ss_collective_seconds(&c->net, coll, bytes, &c->cp));
}
