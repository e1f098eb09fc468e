/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gated residual of Qwen3.8 (transformers qwen4_exp, Automodel models/qwen3_8_flash_next/layers.py): n streams of h. A branch reads the
 * mean of the normed streams, each element weighed by a gate of a low rank of all streams, in place of its own norm; its output is added to
 * each stream, weighed by a number. The norm is compiled, all else are operators of PyTorch. Passes are of a stream.
 */
#include "layers/operators.h"

static double stream(const struct ss_shape *s)
{
    return s->tokens * s->h / s->sp * s->e;
}

static struct ss_op *product(struct ss_ops *ops, const struct ss_shape *s, const char *name, double n,
                             double k)
{
    struct ss_op *op = ss_op_replicated(ops, name, s, n, k, s->storage_precision);
    op->gemm_params = op->model_flops = 0;
    return op;
}

/*
 * Forward: the norm 2 n, sigmoid 2 n, product 3 n, mean n + 1. Backward: the norm 3 n, both factors 2 n + 1 each, sigmoid 3 n, and sums of the
 * gradients of the normed streams by three readers, 6 n. Kept: streams, normed streams, gates, and a low rank before and behind silu.
 */
void ss_op_gates_in(struct ss_ops *ops, const struct ss_shape *s)
{
    double n = s->streams, x = stream(s), wide = n * s->h, rank = s->model->residual_rank;
    double low = s->tokens / s->sp * rank * s->e;
    struct ss_op *op = ss_op_kernels(ops, "streams norm", 2 * n * x, 3 * n * x, 1, 2);
    op->params = wide;
    op->tensors = 1;
    op->saved_bytes = n * x;
    product(ops, s, "streams gate down", rank, wide)->saved_bytes = n * x;
    ss_op_kernels(ops, "streams gate silu", 4 * low, 5 * low, 2, 2)->saved_bytes = 2 * low;
    product(ops, s, "streams gate up", wide, rank);
    op = ss_op_kernels(ops, "streams joined", (6 * n + 1) * x, (13 * n + 2) * x, 3, 6);
    op->saved_bytes = n * x;
    op->working_bytes = 2 * n * x;
}

void ss_op_gates_norm(struct ss_op *op, const struct ss_shape *s)
{
    ss_op_traffic(op, 0, 0, 0, 0);
    op->params = op->tensors = 0;
    op->modules = 0;
    op->redone_bytes = 0;
    op->saved_bytes -= 4 * s->tokens / s->sp;
    op->forward_fresh = op->backward_fresh = 0;
}

/*
 * Forward: the product n + 1, the sum 3 n. Backward: the gradient of the output 3 n + 1, of the weights 3 n + 1, and a sum of the streams' own
 * with that of their norm, 3 n. Kept: the branch's output.
 */
void ss_op_gates_out(struct ss_ops *ops, const struct ss_shape *s)
{
    double n = s->streams, x = stream(s);
    product(ops, s, "streams injection", n, n * s->h);
    ss_op_kernels(ops, "streams injected", (4 * n + 1) * x, (9 * n + 2) * x, 2 + 3, 5 + 3)->saved_bytes = x;
}
