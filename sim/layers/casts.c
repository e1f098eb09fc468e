/* SPDX-License-Identifier: Apache-2.0 */
/* Casts of the operands of quantized GEMMs, and their transposes. */
#include <math.h>
#include <string.h>

#include "layers/operators.h"

/* Kernels that cast for the backward of a linear layer. Where neither transposed weights nor inputs by columns are kept: the
 * gradient by rows and by columns, the input by columns, the weight transposed, scales put in order (DeepSeek-V3's profile). */
static int backward_casts(const struct ss_shape *s, const struct ss_stack *stack, int kept)
{
    return ss_op_kept_in_fp8(s, stack) ? 5 : kept;
}

/* Where the scale of a tensor is made of its largest value (current scaling; Transformer Engine), a pass more reads 2 B, by three
 * launches beside the cast's: that value is set to 0 and found, the scale made of it. Of a norm's output the norm finds it. */
enum { LARGEST_BYTES = 2, LARGEST_LAUNCHES = 3, NORM_LAUNCHES = 2 };

/* Bytes an element that casts to mxfp8 and nvfp4 move (Transformer Engine): one kernel reads and writes both orientations. The
 * second scale of nvfp4 is made of the tensor's largest value, which a pass more finds, and orientations are a kernel each, for the
 * one of the weight gradients goes through a Hadamard transform. */
static double block_cast(const struct ss_shape *s)
{
    return (s->scaled_twice ? 3 : 1) * s->e + 2 * s->quantized;
}

/* Of these, those of the orientation that the backward reads. */
static double block_turned(const struct ss_shape *s)
{
    return (s->scaled_twice ? s->e : 0) + s->quantized;
}

/* Kernels of such a cast beside the first, which Transformer Engine launches from the calls of the cast and of the GEMM: those that
 * put the scales of both operands in the order of the tensor cores, in nvfp4 the largest value and the other orientation. */
static int block_launches(const struct ss_shape *s)
{
    return s->scaled_twice ? 4 : 2;
}

/* What is gathered is cast as a shard, in both orientations; `again`: the input in one each way. */
static void block_casts(struct ss_op *op, const struct ss_shape *s, double in, double out, int role,
                        int again)
{
    double input = in / (role == SS_TP_COLUMN ? s->sp : 1), output = out / (role == SS_TP_ROW ? s->sp : 1);
    double one_way = block_cast(s) - block_turned(s);
    int apart = again && s->scaled_twice; /* orientations are kernels, and the largest value is found anew */
    ss_op_elementwise(op, s->tokens * input * (again ? one_way : block_cast(s)),
                      s->tokens * (output * block_cast(s) + (again ? input * one_way : 0)), 1, 1 + again);
    op->turned_bytes = again ? 0 : s->tokens * input * block_turned(s);
    op->forward_launches = block_launches(s) - apart;
    op->backward_launches = block_launches(s) + apart;
}

/* Copies that torchao makes of operands for the products of the backward, which want the summed dimension innermost: of what is
 * gathered 1 B read and 1 B written; of a gradient that is not, its cast's kernel reads it once more and writes 1 B. An input that is
 * not gathered, and the weight, are cast into that order at once. */
static double turned(const struct ss_shape *s, double in, double out, int role)
{
    int column = role == SS_TP_COLUMN, parts = s->sp > 1;
    return s->tokens * ((column && parts ? 2 * in : 0) + (!column && parts ? 2 : 3) * out);
}

/* A weight that is kept in fp8 alone, transposed for the input gradient: 1 B read, 1 B written. */
static void turn_weight(struct ss_op *op, const struct ss_shape *s, const struct ss_stack *stack,
                        double weight)
{
    if (!s->weights_turned)
        return;
    op->backward_bytes += stack->fp8_cast_passes * 2 * weight;
    op->backward_kernels++;
}

/* Traffic of the fp8 casts and transposes of one linear layer (Transformer Engine). Cast: 2 B read, 1 B
 * written; transpose: 1 B read, 1 B written; of a tensor that is not gathered both are one kernel that
 * reads once. Dynamic scaling (torchao) reads an operand for its largest value, reads it again and writes 1 B: activations
 * and weights in the forward, gradients and both again in the backward. `in`, `out`: width. A norm of the same layer wrote its
 * input in fp8, but with scales of blocks or of the tensor itself a kernel of its own does; the backward transposes it after the
 * gather. An input that something else keeps in 16 bit may be kept so alone, and cast again in the backward. A gradient that
 * sequence parallelism splits is cast as a shard. The largest value of a shard is reduced by a collective that the host issues. */
void ss_op_fp8_cast(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack, double in,
                    double out, int role, int input_of)
{
    struct ss_op *op = ss_op_add(ops, "fp8 cast", SS_OP_ELEMENTWISE);
    op->casts = 1;
    double passes = stack->fp8_cast_passes * s->tokens;
    int column = role == SS_TP_COLUMN, gathered = !column && s->sp > 1, normed = input_of == SS_CAST_OF_NORM;
    int again = input_of == SS_CAST_OF_KEPT && ss_op_casts_again(s, stack);
    if (stack->fp8_dynamic > 0) { /* every operand of every GEMM, as a shard where it is gathered */
        double input = s->tokens * in / (column ? s->sp : 1), output = s->tokens * out / (column ? 1 : s->sp);
        double read =
            s->compiled ? 3 : 5; /* the kernel that made it finds the largest value, which is kept */
        ss_op_elementwise(op, stack->fp8_cast_passes * (read * input + 5 * in * out),
                          stack->fp8_cast_passes * (5 * output + read * (input + in * out)) +
                              (s->compiled ? turned(s, in, out, role) : 0),
                          4, 6);
        return;
    }
    if (s->block_scaled) {
        block_casts(op, s, in, out, role, again);
        return;
    }
    int apart = !normed || ss_op_cast_apart(s), largest = s->fp8_current ? LARGEST_BYTES : 0;
    double turn = s->any_layout ? 0 : 2, whole = s->any_layout ? 3 : 4;
    double gradient = gathered ? (3 + largest) * out / s->sp + turn * out : (whole + largest) * out;
    int behind = column && (!apart || s->sp > 1); /* the input is transposed behind its gather */
    int late = behind || (gathered && stack->row_transposes_late > 0);
    double shard = in / (column ? s->sp : 1), one_way = late || s->fp8_blocks ? 3 : whole;
    double input = apart ? ((late || again ? 3 : whole) + (normed ? 0 : largest)) * shard : 0;
    double anew = again ? (one_way + largest) * shard : 0;
    ss_op_elementwise(op, passes * input, passes * (gradient + (late ? turn * in : 0) + anew),
                      input > 0 ? 2 : 0,
                      again + backward_casts(s, stack, turn > 0 ? 2 + gathered + late : 2));
    turn_weight(op, s, stack, in * out);
    if (!late && !again && input > 0)
        op->turned_bytes = passes * (whole - 3) * in;
    if (!s->fp8_current)
        return;
    op->forward_launches = normed ? NORM_LAUNCHES : LARGEST_LAUNCHES;
    op->backward_launches = LARGEST_LAUNCHES * (1 + again);
    op->forward_kernels += column && s->sp > 1;
    op->backward_kernels += gathered + (again && column && s->sp > 1);
}

/* The same of the experts' linear layers, whose input is whole on the rank. */
void ss_op_cast_rows(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack,
                     const char *name, double rows, double in, double out, double weights)
{
    struct ss_op *op = ss_op_add(ops, name, SS_OP_ELEMENTWISE);
    op->casts = 1;
    double passes = stack->fp8_cast_passes * rows, moved = s->any_layout ? 3 : 4;
    if (s->fp8_current)
        moved += LARGEST_BYTES;
    if (stack->fp8_dynamic > 0)
        ss_op_elementwise(op, 5 * (passes * in + weights), 5 * (passes * (in + out) + weights), 4, 6);
    else if (s->block_scaled)
        ss_op_elementwise(op, rows * block_cast(s) * in, rows * block_cast(s) * out, 1, 1);
    else
        ss_op_elementwise(op, passes * moved * in, passes * moved * out, 2, backward_casts(s, stack, 2));
    turn_weight(op, s, stack, weights);
    if (stack->fp8_dynamic <= 0)
        op->turned_bytes = s->block_scaled ? rows * block_turned(s) * in : s->any_layout ? 0 : passes * in;
    if (s->fp8_current && stack->fp8_dynamic <= 0)
        op->forward_launches = op->backward_launches = LARGEST_LAUNCHES;
    if (s->block_scaled)
        op->forward_launches = op->backward_launches = block_launches(s);
}

/* With scaling by history one kernel casts what goes to all experts, and with blocks where DeepSeek's framework does, or Transformer
 * Engine's fuser. Else each expert's part is cast by a kernel of its own. */
void ss_op_expert_cast(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack, double in,
                       double out)
{
    int groups = (int)s->local_experts;
    ss_op_cast_rows(ops, s, stack, "expert fp8 cast", s->routed, in, out, s->local_experts * in * out);
    struct ss_op *op = &ops->op[ops->n - 1];
    if (ss_op_kept_in_fp8(s, stack)) /* their weights are transposed in the forward, once for both */
        op->backward_kernels--;
    if (s->fp8_current)
        op->forward_launches = op->backward_launches = (LARGEST_LAUNCHES + 1) * groups;
    if (s->weights_turned)
        op->backward_launches += groups - 1;
    if ((s->block_scaled && !s->fused_experts) || (s->fp8_blocks && !ss_op_kept_in_fp8(s, stack)))
        op->forward_launches = op->backward_launches = op->forward_launches + groups - 1;
}

/* Weight: 4 B read, 2 B written; its gradient, which the GEMM leaves in 16 bit: 2 B read, 4 B written. */
void ss_op_weight_casts(struct ss_ops *ops)
{
    double weights = 0;
    int matrices = 0;

    for (int i = 0; i < ops->n; i++) {
        const struct ss_op *op = &ops->op[i];
        if ((op->kind != SS_OP_GEMM && op->kind != SS_OP_GROUPED_GEMM) ||
            ss_precision_is_quantized(op->precision))
            continue;
        weights += fmax(1, op->groups) * op->n * op->k;
        matrices += (int)fmax(1, op->groups);
    }
    if (!matrices)
        return;
    struct ss_op casts = *ss_op_add(ops, "weight casts", SS_OP_ELEMENTWISE);
    ss_op_elementwise(&casts, 6 * weights, 6 * weights, matrices, matrices);
    casts.casts = 1;
    casts.saved_bytes = 2 * weights;
    casts.module = SS_MODULE_BIT(SS_MODULE_OPERATORS); /* torchtitan's policy keeps no casts */
    memmove(&ops->op[1], &ops->op[0], (size_t)(ops->n - 1) * sizeof *ops->op);
    ops->op[0] = casts;
    for (int i = 0; i < ops->nsaved; i++)
        ops->saved[i].op++;
}
