/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Borders of a chunk inside the pipeline. Where tensor ranks send shares of a tensor (ss.pp.scatter_gather),
 * the receiver gathers the activation in its forward and the gradient in the backward.
 */
#include "layers/kinds.h"

static void gather(struct ss_ops *ops, const struct ss_shape *s, int phase)
{
    if (s->pp_shares > 1)
        ss_op_border(ops, s, phase, SS_COLL_ALL_GATHER, ss_shape_border_bytes(s));
}

static void received(struct ss_ops *ops, const struct ss_shape *s)
{
    gather(ops, s, SS_PHASE_F);
}

static void returned(struct ss_ops *ops, const struct ss_shape *s)
{
    gather(ops, s, SS_PHASE_I);
}

const struct ss_layer_border ss_border_received = {
    .where = SS_WHERE_BEFORE,
    .operators = received,
};
const struct ss_layer_border ss_border_returned = {
    .where = SS_WHERE_BEHIND,
    .operators = returned,
};
