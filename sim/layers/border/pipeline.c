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

/* Messages that carry a tensor whose shape the receiver does not know, two ahead of it: a send or receive of the host each, between which
 * it starts kernels and reads numbers of the device, one after the other (nanotron's p2p.py, _recv_meta, create_empty_storage: the lengths
 * are added, compared and read; type, gradient, order, size, shape and strides are read; tensors are made and viewed). */
enum { SHAPE_MESSAGES = 3, SHAPE_KERNELS = 2, SHAPE_READS = 16, SHAPE_VIEWS = 7 };

/* The stage does nothing else while it passes on what the forward gives, as many tensors as the stack says, and one gradient back. */
static void shapes(struct ss_ops *ops, const struct ss_shape *s)
{
    int tensors = (int)s->stack->p2p_shapes;
    if (tensors <= 0)
        return;
    struct ss_op *op = ss_op_kernels(ops, "shapes", 0, 0, 0, 0);
    op->waiting[0] = (struct ss_op_waiting){tensors * SHAPE_MESSAGES,
                                            tensors * (SHAPE_KERNELS + SHAPE_READS + SHAPE_VIEWS)};
    op->waiting[1] = (struct ss_op_waiting){SHAPE_MESSAGES, SHAPE_KERNELS + SHAPE_READS + SHAPE_VIEWS};
}

static void received(struct ss_ops *ops, const struct ss_shape *s)
{
    fresh(ops, s, 0);
    shapes(ops, s);
    gather(ops, s, SS_PHASE_F);
}

static void returned(struct ss_ops *ops, const struct ss_shape *s)
{
    fresh(ops, s, 1);
    shapes(ops, s);
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
