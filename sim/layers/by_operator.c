/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recompute by operator (pytorch/torchtitan@b5bcd76:torchtitan/distributed/activation_checkpoint.py). Outputs
 * of attention, of collectives that reduce, and of every second linear layer, from the first on, are kept.
 * All other operators are repeated, as far as the backward reads their outputs. The layer's last linear layer
 * is never repeated, because only the next layer reads its output.
 */
#include "layers/operators.h"
#include "stepsim/job_kinds.h"

static int last_linear(const struct ss_ops *ops)
{
    int last = ops->n - 1;
    while (last > 0 && ops->op[last].kind != SS_OP_GEMM)
        last--;
    return last;
}

int ss_ops_repeated_early(const struct ss_ops *ops)
{
    int last = last_linear(ops);
    for (int i = 0; i < ops->n; i++)
        if (ops->op[i].kind == SS_OP_GROUPED_GEMM || ops->op[i].kind == SS_OP_EXCHANGE)
            return ops->n;
    /* the backward casts its input for the weight gradient, and counts that cast */
    return last > 0 && ops->op[last - 1].is_cast ? last - 1 : last;
}

/* Keeps or repeats the nth linear layer, counted from 1; the last one does not come here. */
static void linear(struct ss_op *op, const struct ss_shape *s, int nth)
{
    if (op->gemm.role == SS_TP_ROW && s->tp > 1)
        op->operator_bytes = s->tokens * s->h * s->e / s->sp; /* its reduced output */
    else if (nth % 2)
        op->operator_bytes = op->gemm.m * op->gemm.n * s->e;
    else
        op->modules |= SS_MODULE_BIT(SS_MODULE_OPERATORS);
}

void ss_ops_by_operator(struct ss_ops *ops, const struct ss_shape *s)
{
    int end = ss_ops_repeated_early(ops), nth = 0;
    for (int i = 0; i < end; i++) {
        struct ss_op *op = &ops->op[i];
        if (op->kind == SS_OP_GEMM)
            linear(op, s, ++nth);
        else if (op->kind != SS_OP_ATTENTION)
            op->modules |= SS_MODULE_BIT(SS_MODULE_OPERATORS);
    }
    ops->op[0].operator_bytes += s->tokens * s->h / s->sp * s->e; /* the layer's input */
}
