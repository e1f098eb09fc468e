/* SPDX-License-Identifier: Apache-2.0 */
/* Casts of the operands of quantized GEMMs, and their transposes. */
#include <math.h>
#include <string.h>

#include "layers/operators.h"
#include "stepsim/job_kinds.h"
#include "stepsim/precision.h"

/* Returns the kernels that cast for the backward of a linear layer. Without kept transposed weights and kept
 * inputs by columns these make: the gradient by rows and by columns, the input by columns, the transposed
 * weight, and the order of scales (DeepSeek-V3's profile). */
static int backward_casts(const struct ss_shape *s, int kept)
{
    return ss_op_kept_in_fp8(s) ? 5 : kept;
}

/* Costs of a scale made from the largest value of the tensor itself (current scaling; Transformer Engine). A
 * further pass reads 2 B, with three launches beside the cast's: one sets the value to 0, one finds it, one
 * makes the scale. A norm finds the value of its own output. */
enum { LARGEST_BYTES = 2, LARGEST_LAUNCHES = 3, NORM_LAUNCHES = 2 };

/* Returns the bytes an element that casts to mxfp8 and nvfp4 move (Transformer Engine). For mxfp8 one kernel
 * reads the input and writes both orientations. For nvfp4 a further pass finds the tensor's largest value,
 * which gives the second scale, and each orientation has its own kernel, because that of the weight gradients
 * goes through a Hadamard transform. */
static double block_cast(const struct ss_shape *s)
{
    return (s->scaled_twice ? 3 : 1) * s->e + 2 * s->quantized;
}

/* Returns the part of these bytes that makes the orientation for the backward. */
static double block_turned(const struct ss_shape *s)
{
    return (s->scaled_twice ? s->e : 0) + s->quantized;
}

/* Returns the kernels of a block cast beside the first, which Transformer Engine launches from the calls of
 * the cast and of the GEMM. They put the scales of both operands into the order of the tensor cores; in nvfp4
 * they also find the largest value and make the other orientation. */
static int block_launches(const struct ss_shape *s)
{
    return s->scaled_twice ? 4 : 2;
}

/* A linear layer whose operands are cast. An operand that sequence parallelism gathers is cast as a shard,
 * before the gather. */
struct linear {
    double in, out;           /* widths of its input, and of the gradient of its output */
    double in_cast, out_cast; /* the part of both that this rank casts */
    int gathers_in, gathers_out;
    int normed; /* 1: a norm of the layer makes its input */
    int again;  /* 1: the backward casts the input again, which another operator keeps in 16 bit */
};

static struct linear linear_of(const struct ss_shape *s, double in, double out, int role, int input_of)
{
    int column = role == SS_TP_COLUMN, split = s->sp > 1;
    return (struct linear){.in = in,
                           .out = out,
                           .in_cast = in / (column ? s->sp : 1),
                           .out_cast = out / (column ? 1 : s->sp),
                           .gathers_in = column && split,
                           .gathers_out = !column && split,
                           .normed = input_of == SS_CAST_OF_NORM,
                           .again = input_of == SS_CAST_OF_KEPT && ss_op_casts_again(s)};
}

/* Adds what nvfp4 has where sequence parallelism gathers an operand (Transformer Engine's distributed.py, _all_gather_nvfp4): the
 * largest values of shards are reduced first, and what the weight gradient reads, which lies with the tokens innermost, arrives rank by
 * rank and is put in order, values and scales. */
static void gathered_twice(struct ss_op *op, const struct ss_shape *s, const struct linear *l)
{
    op->forward_kernels += l->gathers_in;
    op->backward_kernels += l->gathers_out;
    op->backward_bytes += 2 * s->quantized * s->tokens * (l->gathers_in * l->in + l->gathers_out * l->out);
    op->backward_launches += 2 * (l->gathers_in + l->gathers_out);
}

/* Prices the casts to mxfp8 and nvfp4: both orientations at once, or one each way for an input that is cast
 * again. */
static void block_casts(struct ss_op *op, const struct ss_shape *s, const struct linear *l)
{
    double one_way = block_cast(s) - block_turned(s);
    int apart = l->again && s->scaled_twice; /* the second kernel finds the largest value again */
    ss_op_traffic(op, s->tokens * l->in_cast * (l->again ? one_way : block_cast(s)),
                  s->tokens * (l->out_cast * block_cast(s) + (l->again ? l->in_cast * one_way : 0)), 1,
                  1 + l->again);
    op->transposed_bytes = l->again ? 0 : s->tokens * l->in_cast * block_turned(s);
    op->forward_launches = block_launches(s) - apart;
    op->backward_launches = block_launches(s) + apart;
    if (s->scaled_twice)
        gathered_twice(op, s, l);
}

/* Returns the copies that torchao makes of operands for the products of the backward, which want the summed
 * dimension innermost. A gathered operand: 1 B read and 1 B written. A gradient that is not gathered: its
 * cast's kernel reads it once more and writes 1 B. The weight, and an input that is not gathered, are cast
 * into that order at once. */
static double turned(const struct ss_shape *s, const struct linear *l)
{
    return s->tokens * ((l->gathers_in ? 2 * l->in : 0) + (l->gathers_out ? 2 : 3) * l->out);
}

/* Prices torchao's dynamic scaling. It reads an operand for its largest value, reads it again and writes 1 B:
 * activations and weights in the forward, gradients and both again in the backward. Compiled, the kernel that
 * makes an operand also finds that value, which is kept. */
static void dynamic_casts(struct ss_op *op, const struct ss_shape *s, const struct linear *l)
{
    double passes = s->stack->fp8_cast_passes, read = s->compiled ? 3 : 5, weight = l->in * l->out;
    double input = s->tokens * l->in_cast, output = s->tokens * l->out_cast;
    ss_op_traffic(op, passes * (read * input + 5 * weight),
                  passes * (5 * output + read * (input + weight)) + (s->compiled ? turned(s, l) : 0), 4, 6);
}

/* Prices the transpose for the input gradient of a weight that is kept in fp8 only: 1 B read, 1 B written. */
static void turn_weight(struct ss_op *op, const struct ss_shape *s, double weight)
{
    if (!s->weights_turned)
        return;
    op->backward_bytes += s->stack->fp8_cast_passes * 2 * weight;
    op->backward_kernels++;
}

/* Bytes an element of a cast: 2 B read and 1 B written; and of a cast that also writes the transpose, where
 * GEMMs need both orientations. */
enum { CAST = 3 };
static double whole_cast(const struct ss_shape *s)
{
    return s->any_layout ? CAST : CAST + 1;
}

/* Returns the bytes of a transpose by its own kernel: 1 B read, 1 B written. */
static double transpose(const struct ss_shape *s)
{
    return s->any_layout ? 0 : 2;
}

/* Returns whether a separate kernel transposes the input for the backward: behind its gather, where the norm
 * has cast it, or where the stack puts the transpose off. */
static int transposes_late(const struct ss_shape *s, const struct linear *l, int column)
{
    return (column && ((l->normed && !ss_op_cast_apart(s)) || l->gathers_in)) ||
           (l->gathers_out && s->stack->row_transposes_late > 0);
}

/* Prices the casts of Transformer Engine with scales from history, from the tensor itself or from its blocks.
 * With scales from history a norm casts its own output. */
static void scaled_casts(struct ss_op *op, const struct ss_shape *s, const struct linear *l, int late)
{
    double passes = s->stack->fp8_cast_passes * s->tokens, whole = whole_cast(s), turn = transpose(s);
    int largest = s->fp8_current ? LARGEST_BYTES : 0, apart = !l->normed || ss_op_cast_apart(s);
    double first = late || l->again ? CAST : whole, one_way = late || s->fp8_blocks ? CAST : whole;
    double input = apart ? (first + (l->normed ? 0 : largest)) * l->in_cast : 0;
    double anew = l->again ? (one_way + largest) * l->in_cast : 0;
    double gradient =
        l->gathers_out ? (CAST + largest) * l->out / s->sp + turn * l->out : (whole + largest) * l->out;
    int kept = turn > 0 ? 2 + l->gathers_out + late : 2;
    ss_op_traffic(op, passes * input, passes * (gradient + (late ? turn * l->in : 0) + anew),
                  input > 0 ? 2 : 0, l->again + backward_casts(s, kept));
    if (!late && !l->again && input > 0)
        op->transposed_bytes = passes * (whole - CAST) * l->in;
}

/* Adds the launches that make a scale from the tensor itself. A collective that the host issues reduces the
 * largest values of shards. */
static void find_largest(struct ss_op *op, const struct linear *l)
{
    op->forward_launches = l->normed ? NORM_LAUNCHES : LARGEST_LAUNCHES;
    op->backward_launches = LARGEST_LAUNCHES * (1 + l->again);
    op->forward_kernels += l->gathers_in;
    op->backward_kernels += l->gathers_out + (l->again && l->gathers_in);
}

void ss_op_fp8_cast(struct ss_ops *ops, const struct ss_shape *s, double in, double out, int role,
                    int input_of)
{
    struct ss_op *op = ss_op_add(ops, "fp8 cast", SS_OP_ELEMENTWISE);
    const struct linear l = linear_of(s, in, out, role, input_of);
    op->is_cast = 1;
    if (s->stack->fp8_dynamic > 0) {
        dynamic_casts(op, s, &l);
    } else if (s->block_scaled) {
        block_casts(op, s, &l);
    } else {
        scaled_casts(op, s, &l, transposes_late(s, &l, role == SS_TP_COLUMN));
        turn_weight(op, s, in * out);
        if (s->fp8_current)
            find_largest(op, &l);
    }
}

/* The input is whole on the rank. */
void ss_op_cast_rows(struct ss_ops *ops, const struct ss_shape *s, const char *name, double rows, double in,
                     double out, double weights)
{
    struct ss_op *op = ss_op_add(ops, name, SS_OP_ELEMENTWISE);
    op->is_cast = 1;
    double passes = s->stack->fp8_cast_passes * rows, moved = whole_cast(s);
    if (s->fp8_current)
        moved += LARGEST_BYTES;
    if (s->stack->fp8_dynamic > 0)
        ss_op_traffic(op, 5 * (passes * in + weights), 5 * (passes * (in + out) + weights), 4, 6);
    else if (s->block_scaled)
        ss_op_traffic(op, rows * block_cast(s) * in, rows * block_cast(s) * out, 1, 1);
    else
        ss_op_traffic(op, passes * moved * in, passes * moved * out, 2, backward_casts(s, 2));
    turn_weight(op, s, weights);
    if (s->stack->fp8_dynamic <= 0)
        op->transposed_bytes = s->block_scaled ? rows * block_turned(s) * in
                               : s->any_layout ? 0
                                               : passes * in;
    if (s->fp8_current && s->stack->fp8_dynamic <= 0)
        op->forward_launches = op->backward_launches = LARGEST_LAUNCHES;
    if (s->block_scaled)
        op->forward_launches = op->backward_launches = block_launches(s);
}

/* With scales from history one kernel casts the input of all experts; with block scales, too, in DeepSeek's
 * framework and in Transformer Engine's fuser. Elsewhere each expert's part has its own kernel. */
void ss_op_expert_cast(struct ss_ops *ops, const struct ss_shape *s, double in, double out)
{
    int groups = (int)s->local_experts;
    ss_op_cast_rows(ops, s, "expert fp8 cast", s->routed, in, out, s->local_experts * in * out);
    struct ss_op *op = &ops->op[ops->n - 1];
    if (ss_op_kept_in_fp8(s)) /* their weights are transposed in the forward, once for both */
        op->backward_kernels--;
    if (s->fp8_current)
        op->forward_launches = op->backward_launches = (LARGEST_LAUNCHES + 1) * groups;
    if (s->weights_turned)
        op->backward_launches += groups - 1;
    if ((s->block_scaled && !s->fused_experts) || (s->fp8_blocks && !ss_op_kept_in_fp8(s)))
        op->forward_launches = op->backward_launches = op->forward_launches + groups - 1;
}

/* Weight: 4 B read, 2 B written. Its gradient, 16 bit from the GEMM: 2 B read, 4 B written. */
void ss_op_weight_casts(struct ss_ops *ops)
{
    double weights = 0;
    int matrices = 0;

    for (int i = 0; i < ops->n; i++) {
        const struct ss_op *op = &ops->op[i];
        if ((op->kind != SS_OP_GEMM && op->kind != SS_OP_GROUPED_GEMM) ||
            ss_precision_is_quantized(op->gemm.precision))
            continue;
        weights += fmax(1, op->gemm.groups) * op->gemm.n * op->gemm.k;
        matrices += (int)fmax(1, op->gemm.groups);
    }
    if (!matrices)
        return;
    struct ss_op casts = *ss_op_add(ops, "weight casts", SS_OP_ELEMENTWISE);
    ss_op_traffic(&casts, 6 * weights, 6 * weights, matrices, matrices);
    casts.is_cast = 1;
    casts.saved_bytes = 2 * weights;
    casts.modules = SS_MODULE_BIT(SS_MODULE_OPERATORS); /* torchtitan's policy keeps no casts */
    memmove(&ops->op[1], &ops->op[0], (size_t)(ops->n - 1) * sizeof *ops->op);
    ops->op[0] = casts;
    for (int i = 0; i < ops->nsaved; i++)
        ops->saved[i].op++;
}
