/* SPDX-License-Identifier: Apache-2.0 */
/* Operator, FLOP and bytes of kernels, for reports only: no time comes from them. */
#include "cost/work.h"
#include "stepsim/job_kinds.h"

#include <math.h>

/* Q, K, V and the output, once each. */
double ss_work_attention_bytes(const struct ss_cost_context *c, const struct ss_op_attention *a)
{
    return a->tokens * (a->heads + a->groups) * (a->d + a->d_v) * c->shape.e;
}

void ss_work_gemm(const struct ss_cost_context *c, const struct ss_op *op, struct ss_linear_times *t)
{
    double g = fmax(1, op->gemm.groups), pieces = fmax(1, op->gemm.pieces), m = op->gemm.m / pieces;
    int p = op->gemm.precision;
    t->flops = 2 * op->gemm.m * op->gemm.n * op->gemm.k;
    t->f_bytes = pieces * ss_kernel_gemm_bytes(p, g, m, op->gemm.n, op->gemm.k, 0);
    t->d_bytes = pieces * ss_kernel_gemm_bytes(p, g, m, op->gemm.k, op->gemm.n, 0);
    t->w_bytes = pieces * ss_kernel_gemm_bytes(p, g, g * op->gemm.n, op->gemm.k, m / g,
                                               ss_cost_main_gradient_bytes(c));
}

static const char *const op_kinds[] = {[SS_OP_GEMM] = "gemm",
                                       [SS_OP_ATTENTION] = "attention",
                                       [SS_OP_ELEMENTWISE] = "elementwise",
                                       [SS_OP_GROUPED_GEMM] = "grouped gemm",
                                       [SS_OP_EXCHANGE] = "exchange",
                                       [SS_OP_SCAN] = "scan"};

static int part_of(const struct ss_op *op, int is_loss, int mlp)
{
    if (is_loss)
        return SS_PART_LOSS;
    switch (op->kind) {
    case SS_OP_GEMM: return mlp ? SS_PART_MLP_GEMM : SS_PART_ATTENTION_GEMM;
    case SS_OP_GROUPED_GEMM: return op->expert ? SS_PART_EXPERT_GEMM : SS_PART_ATTENTION_GEMM;
    case SS_OP_ATTENTION: return SS_PART_ATTENTION;
    case SS_OP_SCAN: return SS_PART_SCAN;
    default: return op->is_cast ? SS_PART_CAST : SS_PART_ELEMENTWISE;
    }
}

static int works_in(const struct ss_cost_context *c, const struct ss_op *op)
{
    return op->kind == SS_OP_GEMM || op->kind == SS_OP_GROUPED_GEMM ? op->gemm.precision
                                                                    : c->shape.storage_precision;
}

struct ss_step_of ss_work_of(const struct ss_cost_context *c, const struct ss_op *op, int is_loss)
{
    const unsigned in_mlp = SS_MODULE_BIT(SS_MODULE_MLP) | SS_MODULE_BIT(SS_MODULE_MOE);
    int mlp = (op->modules & in_mlp) != 0;
    return (struct ss_step_of){op->name,        op_kinds[op->kind], mlp, part_of(op, is_loss, mlp),
                               works_in(c, op), op->in_exchange};
}
