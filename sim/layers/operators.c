/* SPDX-License-Identifier: Apache-2.0 */
#include "layers/operators.h"
#include "stepsim/precision.h"

#include <assert.h>

#include "base/base.h"
#include "stepsim/job_kinds.h"

struct ss_op *ss_op_add(struct ss_ops *ops, const char *name, int kind)
{
    assert(ops->n < SS_OPS_MAX);
    struct ss_op *op = &ops->op[ops->n++];
    memset(op, 0, sizeof *op);
    op->name = name;
    op->kind = kind;
    op->forward_kernels = op->backward_kernels = 1;
    return op;
}

struct ss_op *ss_op_exchange(struct ss_ops *ops, const char *name, int comm, int coll, int back, double bytes,
                             double back_bytes)
{
    struct ss_op *op = ss_op_add(ops, name, SS_OP_EXCHANGE);
    op->exchange = (struct ss_op_exchange){comm, coll, back, bytes, back_bytes, 0};
    return op;
}

void ss_op_border(struct ss_ops *ops, const struct ss_shape *s, int phase, int coll, double bytes)
{
    if (s->tp > 1)
        ops->border[ops->nborders++] = (struct ss_border){phase, SS_COMM_TP, coll, bytes};
}

struct ss_op *ss_op_linear(struct ss_ops *ops, const char *name, const struct ss_shape *s, double n, double k,
                           int role, int precision, int bias)
{
    struct ss_op *op = ss_op_add(ops, name, SS_OP_GEMM);
    op->gemm = (struct ss_op_gemm){.precision = precision, .role = role, .m = s->tokens, .n = n, .k = k};
    op->gemm_params = n * k;
    op->params = n * k + (bias ? n : 0);
    op->tensors = bias ? 2 : 1;
    op->forward_flops = op->model_flops = 2 * s->tokens * n * k;
    op->backward_flops = 2 * op->forward_flops;
    op->backward_kernels = 2;
    op->backward_launches = !s->wgrad_fused && s->stack->fused_wgrad_accumulation > 0;
    if (bias)
        ops->bias_columns += role == SS_TP_ROW ? n / s->sp : n;
    /* Under sequence parallelism the backward holds whole tensors of width h: the gathered input or gradient
     * (in fp8 its transpose, too) and, in a column-parallel layer, the gradient of the input before its
     * scatter. */
    double whole = s->tokens * ss_op_whole_columns(op);
    if (s->sp > 1 && role != SS_TP_NONE)
        op->working_bytes =
            whole *
                (ss_precision_is_quantized(precision) ? (s->any_layout ? 1 : 2) * s->quantized : 2 * s->e) +
            (role == SS_TP_COLUMN ? whole * s->e : 0);
    return op;
}

struct ss_op *ss_op_replicated(struct ss_ops *ops, const char *name, const struct ss_shape *s, double n,
                               double k, int precision)
{
    struct ss_op *op = ss_op_linear(ops, name, s, n, k, SS_TP_NONE, precision, 0);
    op->gemm.m = s->tokens / s->sp;
    op->forward_flops /= s->sp;
    op->backward_flops /= s->sp;
    op->model_flops /= s->sp;
    return op;
}

double ss_op_whole_columns(const struct ss_op *op)
{
    return op->gemm.role == SS_TP_COLUMN ? op->gemm.k : op->gemm.n;
}

void ss_op_traffic(struct ss_op *op, double forward_bytes, double backward_bytes, int forward_kernels,
                   int backward_kernels)
{
    op->forward_bytes = forward_bytes;
    op->backward_bytes = backward_bytes;
    op->forward_kernels = forward_kernels;
    op->backward_kernels = backward_kernels;
}

struct ss_op *ss_op_kernels(struct ss_ops *ops, const char *name, double forward_bytes, double backward_bytes,
                            int forward_kernels, int backward_kernels)
{
    struct ss_op *op = ss_op_add(ops, name, SS_OP_ELEMENTWISE);
    ss_op_traffic(op, forward_bytes, backward_bytes, forward_kernels, backward_kernels);
    return op;
}

void ss_op_calls(struct ss_op *op, int calls)
{
    op->forward_launches += op->forward_kernels - calls;
    op->backward_launches += op->backward_kernels - calls;
    op->forward_kernels = op->backward_kernels = calls;
}

struct ss_op *ss_op_scan(struct ss_ops *ops, const char *name, int scan, double forward_bytes,
                         double backward_bytes, int forward_kernels, int backward_kernels)
{
    struct ss_op *op =
        ss_op_kernels(ops, name, forward_bytes, backward_bytes, forward_kernels, backward_kernels);
    op->kind = SS_OP_SCAN;
    op->scan = scan;
    ss_op_calls(op, 1);
    return op;
}

void ss_op_strided(struct ss_op *op, double forward, double backward, double bytes)
{
    op->forward_strided = forward;
    op->backward_strided = backward;
    op->strided_bytes = bytes;
}

/* Returns whether a collective over sequence parallelism reads or writes a copy; overlapped collectives work
 * on the tensors themselves. */
static int copies(const struct ss_shape *s)
{
    return s->sp > 1 && s->stack->sequence_copies > 0 && !s->tp_comm_overlap;
}

double ss_op_gathered_width(const struct ss_shape *s, int precision)
{
    return ss_precision_is_quantized(precision) && s->stack->fp8_allgather > 0 ? s->quantized : s->e;
}

/* Returns whether the collective works in pieces of a buffer into which a rank copies its own piece. */
static int in_pieces(const struct ss_shape *s)
{
    return s->sp > 1 && s->stack->tp_overlap_pieces > 0 && s->tp_comm_overlap;
}

/* Returns the bytes moved to copy a rank's own piece of the gathered tensor. */
static double piece_copy(const struct ss_shape *s)
{
    double width = ss_op_gathered_width(s, s->gemm_precision);
    return in_pieces(s) ? 2 * width * s->tokens * s->h / s->sp : 0;
}

/* Returns the bytes moved to reorder a tensor gathered in pieces, whose sequence is outermost. Weight
 * gradients in 16 bit read it in the order of the batch; those of torchao's fp8 transpose it in any case. */
static double reordered(const struct ss_shape *s)
{
    int in_order = s->micro_batch <= 1 || ss_precision_is_quantized(s->gemm_precision);
    return in_pieces(s) && !in_order ? 2 * s->e * s->tokens * s->h : 0;
}

/* Returns the bytes moved to copy a gathered tensor. */
static double gathered_copy(const struct ss_shape *s)
{
    return copies(s) ? 2 * ss_op_gathered_width(s, s->gemm_precision) * s->tokens * s->h : 0;
}

/* Fused, the norm's backward reads the sum of the gradients, or the copy makes the sum. */
void ss_op_gathered(struct ss_ops *ops, const struct ss_shape *s, int layers)
{
    double pass = s->tokens * s->h * s->e, copy = copies(s) ? 2 * pass : 0;
    double sum = !s->compiled ? 3 * (layers - 1) * pass + copy
                 : s->sp > 1  ? (layers + 1) * pass
                              : (layers - 1) * pass;
    double piece = piece_copy(s), again = reordered(s);
    if (layers < 2 && copy <= 0 && piece <= 0)
        return;
    ss_op_kernels(ops, "gathered", gathered_copy(s) + piece, (layers < 2 ? copy : sum) + again,
                  copy > 0 || piece > 0, (s->compiled ? s->sp > 1 : layers - 1 + (copy > 0)) + (again > 0));
}

void ss_op_scattered(struct ss_ops *ops, const struct ss_shape *s)
{
    double pass = s->e * s->tokens * s->h;
    if (copies(s))
        ss_op_kernels(ops, "scattered", 2 * pass, gathered_copy(s), 1, 1);
    else if (in_pieces(s)) /* the shares of the ranks are added up */
        ss_op_kernels(ops, "scattered", pass + pass / s->sp, piece_copy(s) + reordered(s), 1,
                      1 + (reordered(s) > 0));
}

int ss_op_saved_in_fp8(const struct ss_shape *s)
{
    return ss_precision_is_quantized(s->gemm_precision) && s->te && s->stack->fp8_dynamic <= 0;
}

int ss_op_kept_in_fp8(const struct ss_shape *s)
{
    return ss_op_saved_in_fp8(s) && s->stack->fp8_keeps_less > 0;
}

int ss_op_cast_apart(const struct ss_shape *s)
{
    return s->fp8_blocks || s->fp8_current || s->block_scaled;
}

int ss_op_casts_again(const struct ss_shape *s)
{
    return ss_op_saved_in_fp8(s) && ss_op_cast_apart(s) && s->stack->fp8_saves_inputs > s->scaled_twice;
}

int ss_op_keeps_codes(const struct ss_shape *s)
{
    return s->gemm_precision == SS_NVFP4 && s->stack->fp8_dynamic > 0 && s->experts <= 1;
}

void ss_ops_codes(struct ss_ops *ops, const struct ss_shape *s)
{
    for (int i = 0; i < ops->n; i++) {
        struct ss_op *op = &ops->op[i];
        if (op->kind == SS_OP_GEMM && op->gemm.precision == SS_NVFP4)
            op->saved_bytes += (op->gemm.m + op->gemm.n) * op->gemm.k * s->quantized;
    }
}

/* Returns the bytes kept of the input of a column-parallel layer: its shard, or gathered. */
double ss_op_kept_input(const struct ss_shape *s, double element)
{
    return s->tokens * s->h / (s->stack->saves_gathered > 0 ? 1 : s->sp) * element;
}

/* The forward reads x and writes the norm; the backward reads x and the gradient and writes one. Without
 * Transformer Engine a kernel for the weight's gradient reads both again. Operators of PyTorch are counted by
 * the stack (ss.norm.passes, ss.norm.kernels). */
struct ss_op *ss_op_norm_of(struct ss_ops *ops, const struct ss_shape *s, const char *name, double x,
                            double weights, double out)
{
    double passes = s->norm_passes;
    int kernels = s->stack->norm_kernels > 1 ? (int)s->stack->norm_kernels : 1;
    struct ss_op *op = ss_op_kernels(ops, name, x * (s->e + out) * passes,
                                     x * (s->te ? 3 : 5) * s->e * passes, kernels, 2 * kernels);
    ss_op_strided(op, x * s->stack->norm_strided_forward, x * s->stack->norm_strided_backward, 2 * s->e);
    op->tensors = s->norm_vectors;
    op->params = weights * op->tensors;
    op->forward_fresh = x * out;
    op->backward_fresh = x * s->e;
    op->is_norm = 1;
    return op;
}

void ss_op_norm(struct ss_ops *ops, const struct ss_shape *s, const char *name)
{
    double x = s->tokens * s->h / s->sp, out = ss_op_saved_in_fp8(s) ? s->quantized : s->e;
    struct ss_op *op = ss_op_norm_of(ops, s, name, x, s->h, ss_op_cast_apart(s) ? s->e : out);
    /* It keeps its input, and its output for the weight gradient of the next GEMM. */
    op->coded_bytes = ss_op_keeps_codes(s) ? ss_op_kept_input(s, out) : 0;
    op->saved_bytes = x * s->e + ss_op_kept_input(s, out) - op->coded_bytes + 4 * s->tokens / s->sp;
    if (s->stack->norm_kernels > 1) /* the product with the weight keeps the normed input */
        op->saved_bytes += x * s->e;
}

void ss_ops_sum(struct ss_ops *ops)
{
    struct ss_op_sums *sum = &ops->sum;
    *sum = (struct ss_op_sums){0};
    for (const struct ss_op *op = ops->op; op < ops->op + ops->n; op++) {
        sum->params += op->params;
        sum->gemm_params += op->gemm_params;
        sum->tensors += op->tensors;
        sum->looked_up += op->looked_up;
        sum->largest = fmax(sum->largest, op->params);
        sum->working = fmax(sum->working, op->working_bytes);
        sum->coded += op->coded_bytes;
        if (op->expert) {
            sum->expert += op->params;
            sum->expert_gemm += op->gemm_params;
            sum->expert_tensors += op->tensors;
        }
        if (op->makes_logits) {
            sum->logits += op->saved_bytes;
            sum->logits_working = fmax(sum->logits_working, op->working_bytes);
        }
    }
}

#define WHOLE_MODULES                                                                                        \
    (SS_MODULE_BIT(SS_MODULE_MLP) | SS_MODULE_BIT(SS_MODULE_MOE) | SS_MODULE_BIT(SS_MODULE_SHARED_EXPERTS))

/* Returns the bytes that an operator keeps. A module that is repeated as a whole keeps only its input, which
 * the norm before it keeps. */
static double kept_bytes(const struct ss_op *op, unsigned modules)
{
    unsigned redone = op->modules & modules;
    if (modules & SS_MODULE_BIT(SS_MODULE_OPERATORS))
        return op->operator_bytes;
    if (redone & WHOLE_MODULES)
        return 0;
    return redone ? op->saved_bytes - op->redone_bytes : op->saved_bytes;
}

double ss_ops_saved_bytes(const struct ss_ops *ops, unsigned modules)
{
    double sum = 0;
    for (int i = 0; i < ops->n; i++)
        sum += kept_bytes(&ops->op[i], modules);
    return sum;
}

struct ss_saved *ss_op_offers(struct ss_ops *ops, const struct ss_op *op, unsigned modules, double elements,
                              double width)
{
    assert(ops->nsaved < SS_SAVED_MAX);
    struct ss_saved *saved = &ops->saved[ops->nsaved++];
    *saved = (struct ss_saved){.op = (int)(op - ops->op),
                               .modules = modules,
                               .elements = elements,
                               .bytes = elements * width,
                               .copied = elements * width};
    return saved;
}

static double next_power_of_two(double bytes)
{
    return bytes > 0 ? exp2(ceil(log2(bytes))) : 0;
}

/* Recomputed attention does not offload: its inputs belong to the checkpoint. Tensors that another recompute
 * makes again are moved all the same, but the recompute frees them. */
struct ss_offloaded ss_ops_offloaded(const struct ss_ops *ops, unsigned modules, double least,
                                     unsigned redone)
{
    struct ss_offloaded out = {0};
    double group[SS_OFFLOAD_COUNT] = {0};
    unsigned idle = redone & SS_MODULE_BIT(SS_MODULE_CORE_ATTN) ? SS_OFFLOAD_BIT(SS_OFFLOAD_CORE_ATTN) : 0;
    for (int i = 0; i < ops->nsaved; i++) {
        const struct ss_saved *t = &ops->saved[i];
        const struct ss_op *op = &ops->op[t->op];
        unsigned keep = t->modules & ~idle, move = keep & modules;
        if (t->elements < least || move == 0 || op->modules & redone & WHOLE_MODULES)
            continue;
        for (int k = 0; k < SS_OFFLOAD_COUNT; k++)
            if (move & SS_OFFLOAD_BIT(k)) {
                group[k] += t->copied;
                out.copied += t->copied;
                out.host += next_power_of_two(t->copied);
            }
        if (move == keep && !(t->is_output && op->modules & redone))
            out.freed += t->bytes;
    }
    for (int k = 0; k < SS_OFFLOAD_COUNT; k++)
        out.group = fmax(out.group, group[k]);
    return out;
}

double ss_ops_weight_grad_bytes(const struct ss_ops *ops, const struct ss_shape *s)
{
    double sum = 0;
    for (int i = 0; i < ops->n; i++) {
        const struct ss_op *op = &ops->op[i];
        if ((op->kind != SS_OP_GEMM && op->kind != SS_OP_GROUPED_GEMM) || op->gemm.no_weight_grad)
            continue;
        double in = op->gemm.m * op->gemm.k / (op->gemm.role == SS_TP_COLUMN ? s->sp : 1);
        double gradient = op->gemm.m * op->gemm.n / (op->gemm.role == SS_TP_ROW ? s->sp : 1);
        sum += (in + gradient) * (ss_precision_is_quantized(op->gemm.precision) ? s->quantized : s->e);
    }
    return sum;
}
