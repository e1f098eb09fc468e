/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recompute by operator (pytorch/torchtitan@b5bcd76:torchtitan/distributed/activation_checkpoint.py). Outputs
 * of attention, of all-to-alls (from September 2025 on), of collectives that reduce, and of every second linear
 * layer, from the first on, are kept, but none in nvfp4, whose product is a function of torchao's own and not
 * aten.mm; the router's linear layer is repeated and does not count (force_recompute_mm_shapes_by_fqns).
 * All other operators are repeated, grouped GEMMs of experts too (they are in no list of operators to save).
 * A dense layer is compiled, and repeats only what the backward reads: never its last linear layer. A mixture
 * runs operator by operator, to the end of its forward (early_stop is off).
 */
#include <string.h>

#include "layers/mlp.h"
#include "stepsim/job_kinds.h"
#include "stepsim/precision.h"

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

static int is(const struct ss_op *op, const char *name)
{
    return !strcmp(op->name, name);
}

/* Returns how many linear layers ran when this one has, in the order of torchtitan's code: latent attention has
 * its queries' up-projection before the down-projection of keys and values, which stands before it here. */
static int position(const struct ss_ops *ops, int i)
{
    int n = 0, later = 0;
    for (int k = 0; k <= i; k++)
        n += ops->op[k].kind == SS_OP_GEMM && !is(&ops->op[k], "router");
    for (int k = i + 1; k < ops->n; k++)
        later |= is(&ops->op[k], "q up");
    return n + (is(&ops->op[i], "kv down") && later) - is(&ops->op[i], "q up");
}

/* Keeps or repeats the nth linear layer, counted from 1; the last one of a dense layer does not come here. */
static void linear(struct ss_op *op, const struct ss_shape *s, int nth)
{
    if (is(op, "router") || op->gemm.precision == SS_NVFP4)
        op->modules |= SS_MODULE_BIT(SS_MODULE_OPERATORS);
    else if (op->gemm.role == SS_TP_ROW && s->tp > 1)
        op->operator_bytes = s->tokens * s->h * s->e / s->sp; /* its reduced output */
    else if (nth % 2)
        op->operator_bytes = op->gemm.m * op->gemm.n * s->e;
    else
        op->modules |= SS_MODULE_BIT(SS_MODULE_OPERATORS);
}

/* Returns what PyTorch's cache holds of a dense layer's last linear layer, which nothing reads: a compiler leaves
 * it out, operator by operator it is held till the layer's backward. */
static double unread_bytes(const struct ss_ops *ops, const struct ss_shape *s)
{
    int last = last_linear(ops);
    const struct ss_op *op = &ops->op[last];
    if (s->compiled || op->kind != SS_OP_GEMM || op->gemm.precision == SS_NVFP4)
        return 0;
    return (op->gemm.role == SS_TP_ROW && s->tp > 1 ? s->tokens * s->h * s->e / s->sp : 0) +
           (position(ops, last) % 2 ? op->gemm.m * op->gemm.n * s->e : 0);
}

/* Keeps what an exchange gives: rows of tokens or copies that came to this rank's experts, or back to its own
 * tokens. A gather is repeated. */
static void exchange(struct ss_op *op, const struct ss_shape *s)
{
    int stages = ss_op_by_stages(s);
    double own = s->tokens / s->sp, row = s->moe_h * s->e;
    int reduces = op->exchange.forward_coll == SS_COLL_REDUCE_SCATTER;
    if (op->exchange.forward_coll == SS_COLL_ALL_GATHER || (!reduces && s->stack->by_operator < 2))
        op->modules |= SS_MODULE_BIT(SS_MODULE_OPERATORS);
    else if (reduces)
        op->operator_bytes =
            op->exchange.forward / (op->exchange.comm == SS_COMM_ETP ? s->etp : s->etp * s->ep);
    else if (is(op, "dispatch"))
        op->operator_bytes = (stages ? s->received : s->routed) * row;
    else
        op->operator_bytes = (stages ? own : s->sent) * row;
}

void ss_ops_by_operator(struct ss_ops *ops, const struct ss_shape *s)
{
    int end = ss_ops_repeated_early(ops);
    for (int i = 0; i < end; i++) {
        struct ss_op *op = &ops->op[i];
        if (op->kind == SS_OP_GEMM)
            linear(op, s, position(ops, i));
        else if (op->kind == SS_OP_EXCHANGE)
            exchange(op, s);
        else if (op->kind != SS_OP_ATTENTION && !op->host_waits) /* what the host reads is kept, too */
            op->modules |= SS_MODULE_BIT(SS_MODULE_OPERATORS);
    }
    if (end < ops->n)
        ops->op[end].operator_bytes += unread_bytes(ops, s);
    ops->op[0].operator_bytes += s->tokens * s->h / s->sp * s->e; /* the layer's input */
}
