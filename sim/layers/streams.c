/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hyper-connections (mHC, arXiv 2512.24880) as Megatron core has them (transformer/hyper_connection.py): the residual is n streams of h,
 * x <- M x + p f(a x) for each branch f. Three mappings of a token, a and p of n numbers and M of n x n, come from a projection of all its
 * streams, whose RMS scales it; iterations of Sinkhorn and Knopp make M doubly stochastic. Kernels are functions that PyTorch compiles, or
 * fused ones (--use-fused-mhc). Every tensor rank has all weights; sequence parallelism divides the tokens. Memory, not FLOP, is what
 * takes time: a stream's element meets n^2 + 2n weights.
 */
#include "layers/operators.h"
#include "stepsim/job_kinds.h"

#define MHC SS_MODULE_BIT(SS_MODULE_MHC)

/* Returns the bytes of one stream, and the numbers of a token's mappings. */
static double stream(const struct ss_shape *s)
{
    return s->tokens * s->h / s->sp * s->e;
}

static double mappings(const struct ss_shape *s)
{
    return s->streams * (s->streams + 2);
}

/*
 * Appends the mappings. Passes over the streams, forward: the product and the norm read them, or one kernel. Backward: their gradient by the
 * product is written, the weight's gradient reads them, and the norm reads them and that gradient and writes another: 5; fused 2. The
 * gradients by the mappings, the branch's input and the mixed streams are then added: 4. They keep what the projection gives, mappings,
 * and the matrix that Sinkhorn's iterations begin with, which the backward repeats.
 */
static void map(struct ss_ops *ops, const struct ss_shape *s)
{
    double n = s->streams, own = s->tokens / s->sp, x = n * stream(s), numbers = mappings(s);
    int fused = s->streams_fused;
    struct ss_op *op = ss_op_kernels(ops, "stream mappings", (fused ? 1 : 2) * x, (fused ? 2 + 4 : 5 + 4) * x,
                                     fused ? 2 : 3, fused ? 4 : 5);
    op->forward_flops = 2 * own * numbers * n * s->h;
    op->backward_flops = 2 * op->forward_flops;
    op->params = numbers * n * s->h + numbers + 3;
    op->tensors = 5;
    op->saved_bytes = own * (2 * numbers + 2 * n * n + 1) * s->e;
    op->working_bytes = x; /* the sum, beside the three gradients */
    op = ss_op_kernels(ops, "sinkhorn", own * 2 * 4 * n * n, own * 3 * 4 * n * n, 1, 2);
    op->forward_flops = own * s->model->sinkhorn_iterations * 2 * (2 * n * n - n);
    op->backward_flops = 3 * op->forward_flops; /* forward again, and two gradients an operation */
}

void ss_op_streams_in(struct ss_ops *ops, const struct ss_shape *s)
{
    double n = s->streams, x = stream(s);
    if (s->model->residual_rank > 0)
        ss_op_gates_in(ops, s);
    if (n <= 1 || s->model->residual_rank > 0)
        return;
    map(ops, s);
    struct ss_op *op = ss_op_kernels(ops, "streams joined", (n + 1) * x, (2 * n + 1) * x, 1, 1);
    op->forward_flops = 2 * n * x / s->e;
    op->backward_flops = 2 * op->forward_flops;
    op->modules = MHC;
    op->saved_bytes = op->redone_bytes = x; /* its output, which the norm reads */
}

void ss_op_streams_norm(struct ss_ops *ops, const struct ss_shape *s, int first)
{
    while (first < ops->n && !ops->op[first].is_norm)
        first++;
    if (s->streams <= 1 || first == ops->n)
        return;
    ops->op[first].modules |= MHC;
    ops->op[first].saved_bytes -= stream(s);
    if (s->model->residual_rank > 0)
        ss_op_gates_norm(&ops->op[first], s);
}

/*
 * Passes over the streams, of n and of one. Forward: the product with M reads and writes n, the sum reads them and one and writes n: 4 n + 1; in
 * one kernel 2 n + 1. Backward: gradients of M (2 n), of the streams (2 n), of the branch and of p (n + 1 each); in one kernel 3 n + 2. It
 * keeps the streams before the branch, which the recompute of hyper-connections makes again, and the branch's output.
 */
void ss_op_streams_out(struct ss_ops *ops, const struct ss_shape *s)
{
    double n = s->streams, x = stream(s), mask = s->hidden_dropout > 0 ? n * x / s->e : 0;
    int fused = s->streams_fused;
    if (s->model->residual_rank > 0) {
        ss_op_gates_out(ops, s);
        return;
    }
    struct ss_op *op =
        ss_op_kernels(ops, "streams mixed", (fused ? 2 * n + 1 : 4 * n + 1) * x + mask,
                      (fused ? 3 * n + 2 : 6 * n + 2) * x + mask, fused ? 1 : 2, fused ? 1 : 4);
    op->forward_flops = 2 * n * (n + 1) * x / s->e;
    op->backward_flops = 2 * op->forward_flops;
    op->modules = MHC;
    op->redone_bytes = n * x;
    op->saved_bytes = n * x + x + mask;
}

void ss_op_streams_expand(struct ss_ops *ops, const struct ss_shape *s)
{
    double moved = (s->streams + 1) * stream(s);
    if (s->streams > 1)
        ss_op_kernels(ops, "streams", moved, moved, 1, 1);
}

/* The mean; or a sum by weights, in fp32: the streams are cast, and projected to a number each, and their RMS and the sum read them; both
 * gradients of the cast streams, by the projection and by the sum, are in fp32. */
void ss_op_streams_contract(struct ss_ops *ops, const struct ss_shape *s)
{
    double n = s->streams, x = stream(s), wide = n * x / s->e * 4;
    if (s->model->residual_rank > 0)
        ss_op_gates_in(ops, s);
    if (n <= 1 || s->model->residual_rank > 0)
        return;
    if (s->model->streams_head <= 0) {
        ss_op_kernels(ops, "streams mean", (n + 1) * x, (n + 1) * x, 1, 1);
        return;
    }
    struct ss_op *op =
        ss_op_kernels(ops, "streams head", n * x + 3 * wide + x, 3 * wide + 2 * n * x + x, 4, 5);
    op->forward_flops = 2 * n * n * x / s->e + 2 * n * x / s->e;
    op->backward_flops = 2 * op->forward_flops;
    op->params = n * n * s->h + n + 1;
    op->tensors = 3;
    op->saved_bytes = n * x + wide;
}
