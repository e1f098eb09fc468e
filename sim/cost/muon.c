/* SPDX-License-Identifier: Apache-2.0 */
/* The step of Muon on the matrices of a rank. */
#include "cost/muon.h"

#include <math.h>
#include <string.h>

/* Bytes a parameter that Muon's step moves, operator by operator: weight decay 8 and momentum 12; norm 4,
 * division 8, cast to bf16 6, back 6, scale 8; update 12. The copy reads the master copy and writes the
 * 16-bit parameter. */
enum { MUON_BYTES = 8 + 12 + 4 + 8 + 6 + 6 + 8 + 12, MUON_COPY = 4 };
/* Kernels of a step for each tensor, and for each matrix that is made orthogonal; GEMMs of one iteration. */
enum { TENSOR_KERNELS = 4, MATRIX_KERNELS = 7, NS_GEMMS = 3 };

/* A matrix of a rank: rows and columns of the rank's part, and the number of ranks of the tensor group that
 * share it by columns. */
struct matrix {
    double rows, columns;
    int ranks;
};

struct work {
    double flops, seconds;
};

static void gemm_add(const struct ss_cost_context *c, double m, double n, double k, struct work *sum)
{
    sum->flops += 2 * m * n * k;
    sum->seconds += ss_kernel_gemm(c->card, SS_BF16, m, n, k, 0, c->card->sm_count, 1);
}

/* Prices Newton-Schulz on X, m x n: A = X X^T, B = b A + c A A, X = a X + B X, repeated, in bf16. */
static struct work iterate(const struct ss_cost_context *c, double m, double n)
{
    struct work step = {0, 0};
    gemm_add(c, m, m, n, &step);
    gemm_add(c, m, m, m, &step);
    gemm_add(c, m, n, m, &step);
    return (struct work){step.flops * c->job->optimizer.muon_steps,
                         step.seconds * c->job->optimizer.muon_steps};
}

/* Prices a matrix. The shorter side is m, unless ranks hold parts: each then multiplies its columns, and the
 * products are summed. */
static struct work orthogonalise(const struct ss_cost_context *c, const struct matrix *x)
{
    double whole = x->columns * x->ranks, steps = c->job->optimizer.muon_steps;
    struct work w;
    if (x->ranks > 1 && c->job->optimizer.muon_tp == SS_MUON_DISTRIBUTED) {
        w = iterate(c, x->rows, x->columns);
        w.seconds +=
            steps * ss_collective_seconds(&c->net, SS_COLL_ALL_REDUCE, 2 * x->rows * x->rows, &c->tp);
        return w;
    }
    if (x->ranks > 1 && c->job->optimizer.muon_tp == SS_MUON_DUPLICATED) {
        w = iterate(c, fmin(x->rows, whole), fmax(x->rows, whole));
        w.seconds += ss_collective_seconds(&c->net, SS_COLL_ALL_GATHER, 4 * x->rows * whole, &c->tp);
        return w;
    }
    return iterate(c, fmin(x->rows, x->columns), fmax(x->rows, x->columns));
}

/* Fills the matrices of one tensor of an operator and returns their number. */
static int matrices_of(const struct ss_cost_context *c, const struct ss_op *op, struct matrix out[3])
{
    int ranks = op->gemm.role == SS_TP_NONE || c->tp.n <= 1 ? 1 : c->tp.n;
    int n = 0;
    for (; n < 3 && op->gemm.joined[n] > 0 && !c->job->optimizer.muon_joint_qkv; n++)
        out[n] = (struct matrix){op->gemm.k, op->gemm.joined[n], ranks};
    if (n > 0)
        return n;
    out[0] = op->gemm.role == SS_TP_ROW ? (struct matrix){op->gemm.n, op->gemm.k, ranks}
                                        : (struct matrix){op->gemm.k, op->gemm.n, ranks};
    return 1;
}

/* Adds the tensors of an operator in `count` layers. The host calls each operator without module or autograd
 * around it; the GPU waits where the host takes longer than itself. */
static void operator_add(const struct ss_cost_context *c, const struct ss_op *op, int count,
                         struct ss_muon_matrices *sum)
{
    double tensors = op->gemm.groups > 0 ? op->gemm.groups : 1,
           written = ss_parameter_bytes(c->job, c->stack).weight;
    double clip = c->job->optimizer.clip_grad ? 4 + 8 : 0;
    struct matrix x[3];
    int n = matrices_of(c, op, x), kernels = TENSOR_KERNELS + n * MATRIX_KERNELS;
    struct work all = {0, 0};
    for (int i = 0; i < n; i++) {
        struct work one = orthogonalise(c, &x[i]);
        all.flops += one.flops;
        all.seconds += one.seconds;
    }
    all.seconds += ss_kernel_elementwise(
        c->card, op->gemm.n * op->gemm.k * (clip + MUON_BYTES + MUON_COPY + written), kernels);
    double host = (kernels + n * c->job->optimizer.muon_steps * NS_GEMMS) * ss_host_launch(c);
    double one = fmax(all.seconds, host);
    sum->params += count * tensors * op->gemm.n * op->gemm.k;
    sum->tensors += count * tensors;
    sum->flops += count * tensors * all.flops;
    sum->seconds += count * tensors * one;
    sum->longest = fmax(sum->longest, one);
}

struct ss_muon ss_muon_of(const struct ss_cost_context *c, const struct ss_layer_set *set)
{
    struct ss_muon muon;
    memset(&muon, 0, sizeof muon);
    if (c->job->optimizer.kind != SS_OPTIMIZER_MUON)
        return muon;
    for (int k = 0; k < set->nchunks; k++)
        for (size_t r = 0; r < set->chunks[k].n; r++) {
            const struct ss_layer_run *run = &set->chunks[k].run[r];
            const struct ss_ops *ops = ss_layer_part(set, run)->ops;
            int steps =
                !ops->is_loss && !run->shares && ss_layer_part(set, run)->treatment != SS_TREAT_FROZEN;
            for (int i = 0; i < ops->n && steps; i++) {
                const struct ss_op *op = &ops->op[i];
                if ((op->kind == SS_OP_GEMM || op->kind == SS_OP_GROUPED_GEMM) && op->params > 0)
                    operator_add(c, op, run->count,
                                 op->expert && set->experts_apart ? &muon.expert : &muon.dense);
            }
        }
    return muon;
}

/* Returns how many of the stepped tensors, which are those of `tensors` that the rank has a part of, are Adam's. */
static double adam_steps(double steps, int tensors, const struct ss_muon_matrices *muon)
{
    return tensors > 0 ? steps * (tensors - muon->tensors) / tensors : 0;
}

/* Returns the seconds of dense or of expert parameters, of which Adam steps `tensors`. Whole matrices are dealt so that no rank has more
 * than its share, or more than one matrix. */
static double group_seconds(const struct ss_cost_context *c, double params, double tensors,
                            const struct ss_muon_matrices *muon, double shards)
{
    double others = params - muon->params, own = fmax(muon->seconds / shards, muon->longest);
    if (muon->tensors > 0 && others <= 0)
        return own;
    return own + ss_cost_optimizer(c, others, tensors, shards);
}

/* The optimizer of the experts that are counted apart steps after the other optimizer. */
double ss_optimizer_seconds(const struct ss_cost_context *c, const struct ss_param_count *params,
                            const struct ss_muon *muon, struct ss_optimizer_shards shards)
{
    double steps = adam_steps(params->steps, params->tensors - params->expert_tensors, &muon->dense);
    double of_experts = adam_steps(params->expert_steps, params->expert_tensors, &muon->expert);
    double dense = group_seconds(c, params->all - params->expert, steps, &muon->dense, shards.dense);
    return params->expert > 0
               ? dense + group_seconds(c, params->expert, of_experts, &muon->expert, shards.expert)
               : dense;
}

double ss_optimizer_calls(const struct ss_cost_context *c, const struct ss_param_count *params,
                          const struct ss_muon *muon)
{
    int dense = params->tensors - params->expert_tensors;
    return ss_cost_optimizer_calls(
        c, adam_steps(params->steps, dense, &muon->dense) +
               adam_steps(params->expert_steps, params->expert_tensors, &muon->expert));
}
