/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Borders of a chunk inside the pipeline: where tensor ranks send shares of a tensor (ss.pp.scatter_gather), the receiver
 * gathers the activation in its forward and its gradient in the backward.
 */
#include "cost/layer_kinds.h"

static void gather(const struct ss_cost_context *c, int phase, struct ss_layer_cost *out)
{
    if (c->shape.pp_shares > 1)
        ss_cost_bare(c, phase, SS_COLL_ALL_GATHER, ss_shape_border_bytes(&c->shape), out);
}

static void received(const struct ss_cost_context *c, struct ss_layer_cost *out)
{
    gather(c, SS_PHASE_F, out);
}

static void returned(const struct ss_cost_context *c, struct ss_layer_cost *out)
{
    gather(c, SS_PHASE_I, out);
}

const struct ss_layer_kind ss_layer_received = {
    .name = "received",
    .where = SS_WHERE_BEFORE,
    .borders = received,
};
const struct ss_layer_kind ss_layer_returned = {
    .name = "returned",
    .where = SS_WHERE_BEHIND,
    .borders = returned,
};
