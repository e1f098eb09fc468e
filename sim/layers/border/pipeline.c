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

/* Says what a receive asks PyTorch for, where that is filled. */
static void fresh(struct ss_ops *ops, const struct ss_shape *s, int back)
{
    if (!s->fills)
        return;
    struct ss_op *op = ss_op_kernels(ops, "received", 0, 0, 0, 0);
    *(back ? &op->backward_fresh : &op->forward_fresh) = ss_shape_send_bytes(s);
}

static void received(struct ss_ops *ops, const struct ss_shape *s)
{
    fresh(ops, s, 0);
    gather(ops, s, SS_PHASE_F);
}

static void returned(struct ss_ops *ops, const struct ss_shape *s)
{
    fresh(ops, s, 1);
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
