/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/cost.h"

#include <math.h>
#include <string.h>

#include "cost/memory.h"
#include "cost/work.h"
#include "stepsim/job.h"

/* Returns whether rows of `a` and `b` elements suit tensor cores, which are fed 16 bytes at a time. */
static int rows_aligned(int precision, double a, double b)
{
    double rows = ss_precision_at(precision)->rows;
    return fmod(a, rows) == 0 && fmod(b, rows) == 0;
}

static double gemm(const struct ss_cost_context *c, int precision, double m, double n, double k,
                   int accumulate, double sms, double faster, int aligned)
{
    double t = ss_kernel_gemm(c->card, precision, m, n, k, accumulate, sms, faster);
    return aligned ? t : fmax(t, ss_kernel_gemm_on_cores(c->card, precision, m, n, k));
}

/* Prices the batched GEMMs of unfused attention, all heads as one: scores (K = d) and context (N = d_v). The
 * backward has the gradients of both products: one GEMM like the scores in d_v, one like the context, two
 * like the context in d. */
static void unfused_cost(const struct ss_cost_context *c, const struct ss_op *op, double *forward,
                         double *backward)
{
    const struct ss_op_attention *a = &op->attention;
    double rows = a->tokens * a->heads, sms = ss_cost_own_sms(c);
    int p = c->shape.storage_precision, aligned = rows_aligned(p, a->sequence, a->d);
    double scores = gemm(c, p, rows, a->sequence, a->d, 0, sms, 1, aligned);
    double context = gemm(c, p, rows, a->d_v, a->sequence, 0, sms, 1, aligned),
           products = scores + 3 * context;
    if (a->d != a->d_v)
        products = gemm(c, p, rows, a->sequence, a->d_v, 0, sms, 1, aligned) + context +
                   2 * gemm(c, p, rows, a->d, a->sequence, 0, sms, 1, aligned);
    *forward = scores + context +
               ss_cost_elementwise(c, op->forward_bytes, op->forward_kernels + op->forward_launches) +
               ss_cost_strided(c, op->forward_strided, op->strided_bytes);
    *backward = products + ss_cost_elementwise(c, op->backward_bytes, op->backward_kernels) +
                ss_cost_strided(c, op->backward_strided, op->strided_bytes);
}

/* Prices flash and fused attention at their measured rates, and the corrections between ring steps. */
static void flash_cost(const struct ss_cost_context *c, const struct ss_op *op, double *forward,
                       double *backward)
{
    const struct ss_stack *st = c->stack;
    const struct ss_op_attention *a = &op->attention;
    int fused = a->kernel == SS_ATTENTION_FUSED, fp8 = a->fp8;
    double fwd = fused ? st->fused_fwd * (fp8 ? st->mxfp8_fwd : 1) : st->flash_fwd;
    double bwd = fused ? st->fused_bwd * (fp8 ? st->mxfp8_bwd : 1) : st->flash_bwd;
    double slower, more = ss_deterministic_seconds(c, a, &slower);
    double scores = a->tokens * a->keys / 2 * a->heads;
    double drawn = c->shape.attention_dropout > 0 ? scores * st->score_drawn : 0;
    if (fused && !(fp8 && a->d <= 128)) { /* mxfp8 has a half of its own for heads of few channels */
        fwd *= ss_kernel_fused_head(c->card, st->attention_half_dim, a->d, a->d_v, 0);
        bwd *= ss_kernel_fused_head(c->card, st->attention_half_dim, a->d, a->d_v, 1);
    }
    bwd *= slower;
    *forward = op->forward_flops / ss_cost_attention_rate(c, a, fwd, 0) + drawn +
               ss_cost_elementwise(c, 0, op->forward_kernels) + ss_cost_cp_correction(c, a, 0);
    *backward = op->backward_flops / ss_cost_attention_rate(c, a, bwd, 1) + drawn + more +
                ss_cost_elementwise(c, 0, op->backward_kernels) + ss_cost_cp_correction(c, a, 1);
}

static void attention_seconds(const struct ss_cost_context *c, const struct ss_op *op, double *forward,
                              double *backward)
{
    if (op->attention.kernel == SS_ATTENTION_UNFUSED)
        unfused_cost(c, op, forward, backward);
    else
        flash_cost(c, op, forward, backward);
}

/* Returns whether selective recompute of this layer repeats the operator. */
static int redone(const struct ss_cost_context *c, const struct ss_op *op, int recompute)
{
    return recompute == SS_RECOMPUTE_SELECTIVE && op->modules & ss_job_redone_modules(c->job);
}

static void attention_cost(const struct ss_cost_context *c, const struct ss_op *op, int recompute,
                           struct ss_layer_cost *out)
{
    int again = redone(c, op, recompute);
    double f, b;
    attention_seconds(c, op, &f, &b);
    out->forward[SS_LABEL_COMPUTE] += f;
    out->input_grad[SS_LABEL_COMPUTE] += b;
    out->forward[SS_LABEL_CP] += ss_cost_cp_exposed(c, &op->attention, f, 0);
    out->input_grad[SS_LABEL_CP] += ss_cost_cp_exposed(c, &op->attention, b, 1);
    double bytes = ss_work_attention_bytes(c, &op->attention);
    ss_record_attention(c->record, c, &op->attention,
                        &(struct ss_step_work){f, op->forward_flops, bytes + op->forward_bytes},
                        &(struct ss_step_work){b, op->backward_flops, 2 * bytes + op->backward_bytes}, again);
}

static void elementwise_cost(const struct ss_cost_context *c, const struct ss_op *op,
                             struct ss_layer_cost *out)
{
    double bytes = op->forward_bytes - (c->without_grad ? op->transposed_bytes : 0);
    double f = ss_cost_elementwise(c, bytes, op->forward_kernels + op->forward_launches) +
               ss_cost_strided(c, op->forward_strided, op->strided_bytes);
    double b = ss_cost_elementwise(c, op->backward_bytes, op->backward_kernels + op->backward_launches) +
               ss_cost_strided(c, op->backward_strided, op->strided_bytes);
    out->forward[SS_LABEL_COMPUTE] += f;
    out->input_grad[SS_LABEL_COMPUTE] += b;
    ss_record_kernels(c->record, &(struct ss_step_work){f, 0, bytes},
                      &(struct ss_step_work){b, 0, op->backward_bytes});
}

/* Fills the times of the collectives around one linear layer. Sequence parallelism has an all-gather and a
 * reduce-scatter; otherwise `scatter` is the all-reduce. */
static void tp_times(const struct ss_cost_context *c, const struct ss_op *op, struct ss_linear_times *t)
{
    const struct ss_shape *s = &c->shape;
    struct ss_net net = c->net;
    double whole = op->gemm.m * ss_op_whole_columns(op), full = whole * s->e;
    /* Scales of blocks need a gradient in both orientations, of which user buffers gather one beside the GEMM. */
    int twice = s->block_scaled && op->gemm.precision == s->gemm_precision && !t->column && !t->overlap;
    t->gather_bytes = (1 + twice) * whole * ss_op_gathered_width(s, op->gemm.precision);
    t->scatter_bytes = full;
    t->regather = !t->column || c->stack->saves_gathered <= 0;
    if (t->overlap && c->tp.nodes == 1)
        t->user_buffers = c->stack->tp_overlap_busbw / c->card->fabric_efficiency;
    /* A scatter in pieces belongs to one GEMM. Layers with a common input sum their gradients, and NCCL
     * scatters the sum. */
    t->scatter_buffers = t->column && t->piece > 0 ? 0 : t->user_buffers;
    ss_net_user_buffers(&net, t->user_buffers);
    if (s->sp > 1 && !op->gemm.shares_input)
        t->gather = ss_collective_seconds(&net, SS_COLL_ALL_GATHER, t->gather_bytes, &c->tp);
    net = c->net;
    ss_net_user_buffers(&net, t->scatter_buffers);
    t->scatter =
        ss_collective_seconds(&net, s->sp > 1 ? SS_COLL_REDUCE_SCATTER : SS_COLL_ALL_REDUCE, full, &c->tp);
}

/* Returns the gain of a GEMM of depth k in phase F, I or W. */
static double gain(const struct ss_cost_context *c, int precision, int phase, double k)
{
    return ss_kernel_gemm_gain(c->card, c->stack, precision, ss_job_recipe(c->job), phase, k);
}

/* Returns the seconds of the kernels that add weight gradients to those of earlier microbatches. */
static double accumulate_seconds(const struct ss_cost_context *c, double elements, int matrices)
{
    int apart = c->job->wgrad_apart;
    double bytes = ss_accumulate_bytes(c), part = apart || ss_accumulates_apart(c) ? 1 : c->accumulated;
    return bytes > 0 ? part * ss_cost_elementwise(c, elements * bytes, apart ? matrices : 1) : 0;
}

/* Returns the seconds of a GEMM that begins with a rank's own shard of its m rows: own, those before and those behind, a GEMM each, on the
 * rank where they take longest, for which the others wait. *own: the share of the first. */
static double shard_gemms(const struct ss_cost_context *c, int precision, double m, double n, double k,
                          double sms, double gain, int aligned, double *own)
{
    double shard = m / c->tp.n, rest = 0;
    double first = gemm(c, precision, shard, n, k, 0, sms, gain, aligned);
    for (int before = 0; before <= (c->tp.n - 1) / 2; before++) {
        int behind = c->tp.n - 1 - before;
        double s = gemm(c, precision, behind * shard, n, k, 0, sms, gain, aligned);
        s += before > 0 ? gemm(c, precision, before * shard, n, k, 0, sms, gain, aligned) : 0;
        rest = fmax(rest, s);
    }
    *own = first / (first + rest);
    return first + rest;
}

/* Fills the GEMM times of a linear layer. With overlap by user buffers, GEMMs beside a collective have
 * `overlap_sms` SMs less. */
static void gemm_times(const struct ss_cost_context *c, const struct ss_op *op, struct ss_linear_times *t)
{
    const struct ss_op_gemm *g = &op->gemm;
    int p = g->precision, aligned = rows_aligned(p, g->n, g->k), acc = ss_cost_main_gradient_bytes(c);
    double all = ss_cost_own_sms(c), part = all - (t->overlap ? fmin(c->stack->tp_overlap_sms, all - 1) : 0);
    double pieces = fmax(1, g->pieces), m = g->m / pieces;
    double gain_f = gain(c, p, SS_PHASE_F, g->k), gain_d = gain(c, p, SS_PHASE_I, g->n);
    int first = t->own > 0;
    t->f = pieces * (first && t->column ? shard_gemms(c, p, m, g->n, g->k, part, gain_f, aligned, &t->own)
                                        : gemm(c, p, m, g->n, g->k, 0, part, gain_f, aligned));
    t->d = !g->no_input_grad * pieces *
           (first && !t->column ? shard_gemms(c, p, m, g->k, g->n, part, gain_d, aligned, &t->own)
                                : gemm(c, p, m, g->k, g->n, 0, part, gain_d, aligned));
    t->w = !g->no_weight_grad * pieces *
           gemm(c, p, g->n, g->k, m, acc, t->column ? part : all, gain(c, p, SS_PHASE_W, m), aligned);
}

/* Adds what the GEMMs of a linear layer do not hide of its TP collectives. With --tp-comm-overlap every
 * collective runs beside its GEMM. Without it only two of the backward do: the gather of the input (beside
 * the input gradient) and the scatter or all-reduce (beside the weight gradient). */
static void tp_cost(const struct ss_linear_times *t, struct ss_layer_cost *out)
{
    double hides = t->overlap * (1 - t->piece) * t->slow, own = t->own * t->slow;
    double beside_f = (hides + (t->column ? own : 0)) * t->f, beside_w = t->async * t->slow * t->w;
    double beside_d = t->column ? t->async * t->slow * t->d : (hides + own) * t->d;
    out->forward[SS_LABEL_TP] += ss_cost_exposed(t->column ? t->gather : t->scatter, beside_f);
    out->input_grad[SS_LABEL_TP] += (t->regather ? ss_cost_exposed(t->gather, beside_d) : 0) +
                                    (t->column ? ss_cost_exposed(t->scatter, beside_w) : 0);
}

static struct ss_linear_times linear_times(const struct ss_cost_context *c, const struct ss_op *op)
{
    int tp = op->gemm.role != SS_TP_NONE && c->tp.n > 1 &&
             (!op->gemm.shares_input || c->stack->tp_reduces_each > 0);
    struct ss_linear_times t = {
        .column = op->gemm.role == SS_TP_COLUMN,
        .sp = c->shape.sp > 1,
        .overlap = tp && c->shape.tp_comm_overlap && op->gemm_params > 0 && /* all but the logits */
                   !(c->without_grad && op->gemm.role == SS_TP_COLUMN),
        .async = c->stack->tp_async_backward > 0,
    };
    t.own = tp && t.sp && !t.overlap && c->stack->tp_own_shard_first > 0 ? 1.0 / c->tp.n : 0;
    t.piece = t.overlap && c->stack->tp_overlap_pieces > 0 ? 1.0 / c->tp.n : 0;
    gemm_times(c, op, &t);
    if (!tp)
        return t;
    tp_times(c, op, &t);
    ss_linear_beside(&t, ss_sm_share_taken(c->card, ss_collective_sm_share(c->stack, c->card, &c->tp), 1));
    return t;
}

static void linear_cost(const struct ss_cost_context *c, const struct ss_op *op, struct ss_linear_times t,
                        struct ss_layer_cost *out)
{
    t.slow = 1 + c->slower;
    out->forward[SS_LABEL_COMPUTE] += t.f;
    out->input_grad[SS_LABEL_COMPUTE] += t.d;
    out->weight_grad[SS_LABEL_COMPUTE] += t.w + t.accumulate;
    out->gemms[0] += t.f;
    out->gemms[1] += t.d + t.w;
    tp_cost(&t, out);
    ss_work_gemm(c, op, &t);
    ss_record_linear(c->record, &t);
}

/* Prices the GEMMs of the experts: one kernel, kernels on several streams where the host issues each, or one
 * expert after the other. */
static double grouped_gemm(const struct ss_cost_context *c, const struct ss_op *op, int phase, double m,
                           double n, double k)
{
    int acc = phase == SS_PHASE_W ? ss_cost_main_gradient_bytes(c) : 0, p = op->gemm.precision;
    int scattered = phase != SS_PHASE_W && op->gemm.scattered;
    double each = m / op->gemm.groups;
    if (c->shape.sequential && !op->gemm.one_kernel)
        return op->gemm.groups * gemm(c, p, each, n, k, acc, c->card->sm_count, gain(c, p, phase, k), 1);
    if (!ss_cost_on_streams(c, op))
        return ss_kernel_grouped_gemm(c->card, p, op->gemm.groups, scattered, m, n, k, acc,
                                      ss_cost_own_sms(c), gain(c, p, phase, k));
    double t = ss_kernel_stream_gemms(c->card, p, op->gemm.groups, scattered, m, n, k, acc,
                                      ss_cost_own_sms(c), gain(c, p, phase, k));
    return fmax(t, op->gemm.groups * c->stack->host_group * c->card->host_slowdown);
}

/* In the weight gradient the tokens of an expert are the inner dimension of the product. */
static struct ss_linear_times grouped_times(const struct ss_cost_context *c, const struct ss_op *op)
{
    double g = op->gemm.groups;
    struct ss_linear_times t = {
        .f = grouped_gemm(c, op, SS_PHASE_F, op->gemm.m, op->gemm.n, op->gemm.k),
        .d = grouped_gemm(c, op, SS_PHASE_I, op->gemm.m, op->gemm.k, op->gemm.n),
        .w = grouped_gemm(c, op, SS_PHASE_W, g * op->gemm.n, op->gemm.k, op->gemm.m / g),
    };
    return t;
}

static void grouped_cost(const struct ss_cost_context *c, const struct ss_op *op, struct ss_linear_times t,
                         struct ss_layer_cost *out)
{
    out->forward[SS_LABEL_COMPUTE] += t.f;
    out->input_grad[SS_LABEL_COMPUTE] += t.d;
    out->weight_grad[SS_LABEL_COMPUTE] += t.w + t.accumulate;
    int waits = !ss_cost_on_streams(c, op); /* else another stream's blocks fill idle SMs */
    out->gemms[0] += waits * t.f;
    out->gemms[1] += waits * (t.d + t.w);
    ss_work_gemm(c, op, &t);
    ss_record_linear(c->record, &t);
}

void ss_cost_bare(const struct ss_cost_context *c, int phase, int coll, double bytes,
                  struct ss_layer_cost *out)
{
    double seconds = ss_collective_seconds(&c->net, coll, bytes, &c->tp);
    double *by_label = phase == SS_PHASE_F   ? out->forward
                       : phase == SS_PHASE_I ? out->input_grad
                                             : out->weight_grad;
    by_label[SS_LABEL_TP] += seconds;
    ss_record_border(c->record, phase, coll, bytes, seconds);
}

/* Returns the times of the operator's GEMMs and collectives, which are kept in *known but for the sums that the batch decides. */
static struct ss_linear_times times_of(const struct ss_cost_context *c, const struct ss_op *op,
                                       struct ss_linear_times *known)
{
    const int grouped = op->kind == SS_OP_GROUPED_GEMM;
    const double matrices = grouped ? op->gemm.groups : 1;
    struct ss_linear_times t = known && known->f > 0 ? *known
                               : grouped             ? grouped_times(c, op)
                                                     : linear_times(c, op);
    if (known)
        *known = t;
    if (grouped || !op->gemm.no_weight_grad)
        t.accumulate = accumulate_seconds(c, matrices * op->gemm.n * op->gemm.k, (int)matrices);
    return t;
}

static void operator_cost(const struct ss_cost_context *c, const struct ss_op *op, int recompute,
                          struct ss_linear_times *known, struct ss_layer_cost *out)
{
    switch (op->kind) {
    case SS_OP_GEMM: linear_cost(c, op, times_of(c, op, known), out); break;
    case SS_OP_ATTENTION: attention_cost(c, op, recompute, out); break;
    case SS_OP_GROUPED_GEMM: grouped_cost(c, op, times_of(c, op, known), out); break;
    case SS_OP_EXCHANGE: ss_cost_exchange(c, op, out); break;
    case SS_OP_SCAN: ss_cost_scan(c, op, out); break;
    default: elementwise_cost(c, op, out); ss_cost_gathered(c, op, out);
    }
}

/* Returns the operator before which recompute of a whole layer stops. */
static int repeated_until(const struct ss_cost_context *c, const struct ss_ops *ops)
{
    return c->stack->stops_early > 0 && ops->where == SS_WHERE_TRANSFORMER ? ss_ops_repeated_early(ops)
                                                                           : ops->n;
}

/* Repeats the forward before the backward, without its operators from `until` on; their steps lie from `from`
 * to `to`. */
static void repeat_layer(const struct ss_cost_context *c, const struct ss_ops *ops, int until, size_t from,
                         size_t to, struct ss_layer_cost *out)
{
    struct ss_cost_context quiet = *c;
    struct ss_layer_cost rest = {0};
    quiet.record = NULL;
    for (int i = until; i < ops->n; i++) {
        operator_cost(&quiet, &ops->op[i], SS_RECOMPUTE_NONE, NULL, &rest);
        rest.forward_flops += ops->op[i].forward_flops;
    }
    for (int i = 0; i < SS_LABEL_COUNT; i++)
        out->input_grad[i == SS_LABEL_COMPUTE ? SS_LABEL_RECOMPUTE : i] += out->forward[i] - rest.forward[i];
    out->gemms[1] += out->gemms[0] - rest.gemms[0];
    out->recompute_flops += out->forward_flops - rest.forward_flops;
    /* each repetition goes before the earlier ones */
    ss_record_again(c->record, to, ss_record_length(c->record));
    ss_record_again(c->record, 0, from);
    if (c->job->recompute.distributed && ops->where == SS_WHERE_TRANSFORMER)
        ss_cost_bare(c, SS_PHASE_I, SS_COLL_ALL_GATHER, ss_memory_group_input(c), out);
}

/* Prices the first forward of a layer that is repeated. With Megatron core's checkpointing that forward knows
 * of no backward: Transformer Engine then casts in one orientation and gathers before its products
 * (layernorm_linear.py: ub_overlap_ag, is_grad_enabled). PyTorch's non-reentrant checkpointing records it as
 * any other forward. */
static void forward_first(const struct ss_cost_context *c, const struct ss_ops *ops,
                          struct ss_layer_cost *out)
{
    struct ss_cost_context first = *c;
    struct ss_recorder recorder;
    struct ss_layer_cost cost;
    int casts = 0;
    for (int i = 0; i < ops->n; i++)
        casts |= ops->op[i].transposed_bytes > 0;
    if (!c->shape.te || c->stack->stops_early > 0 || !(casts || c->shape.tp_comm_overlap))
        return;
    first.without_grad = 1;
    first.linear = NULL;
    first.record = c->record ? &recorder : NULL;
    ss_cost_layer(&first, ops, SS_RECOMPUTE_NONE, &cost);
    memcpy(out->forward, cost.forward, sizeof out->forward);
    ss_record_forward(c->record, first.record);
}

/* Adds what selective recompute repeats. */
static void repeat_operators(const struct ss_cost_context *c, const struct ss_ops *ops, int recompute,
                             struct ss_layer_cost *out)
{
    struct ss_cost_context quiet = *c; /* the steps are recorded with the operator itself */
    quiet.record = NULL;
    for (int i = 0; i < ops->n; i++) {
        struct ss_layer_cost again = {0};
        if (!redone(c, &ops->op[i], recompute))
            continue;
        operator_cost(&quiet, &ops->op[i], SS_RECOMPUTE_NONE, NULL, &again);
        for (int l = 0; l < SS_LABEL_COUNT; l++)
            out->input_grad[l == SS_LABEL_COMPUTE ? SS_LABEL_RECOMPUTE : l] += again.forward[l];
        out->gemms[1] += again.gemms[0];
        out->recompute_flops += ops->op[i].forward_flops;
    }
}

/* Adds gathers that are repeated. Recompute by operator keeps the output of the first layer that reads an
 * input; the other layers of that input want it gathered again. */
static void repeat_gathers(const struct ss_cost_context *c, const struct ss_ops *ops,
                           struct ss_layer_cost *out)
{
    int by_operator = ss_job_redone_modules(c->job) & SS_MODULE_BIT(SS_MODULE_OPERATORS);
    for (int i = 0; i + 1 < ops->n && by_operator && c->tp.n > 1 && c->shape.sp > 1; i++) {
        const struct ss_op *op = &ops->op[i];
        if (op->kind == SS_OP_GEMM && !op->gemm.shares_input && ops->op[i + 1].gemm.shares_input)
            ss_cost_bare(c, SS_PHASE_I, SS_COLL_ALL_GATHER,
                         c->shape.tokens * op->gemm.k * ss_op_gathered_width(&c->shape, op->gemm.precision),
                         out);
    }
}

/* Adds the reductions of the largest values of shards, which set the scale of an fp8 tensor
 * (ss_op_fp8_cast). */
static void scale_reductions(const struct ss_cost_context *c, const struct ss_ops *ops,
                             struct ss_layer_cost *out)
{
    if (!c->shape.fp8_current || c->shape.sp <= 1 || c->tp.n <= 1 || c->stack->fp8_dynamic > 0)
        return;
    for (int i = 0; i < ops->n; i++) {
        const struct ss_op *op = &ops->op[i];
        if (op->kind == SS_OP_GEMM && op->gemm.role != SS_TP_NONE &&
            ss_precision_is_quantized(op->gemm.precision))
            ss_cost_bare(c, op->gemm.role == SS_TP_COLUMN ? SS_PHASE_F : SS_PHASE_I, SS_COLL_ALL_REDUCE, 4,
                         out);
    }
}

void ss_cost_layer(const struct ss_cost_context *c, const struct ss_ops *ops, int recompute,
                   struct ss_layer_cost *out)
{
    double gpu[SS_OPS_MAX], done = 0;
    int beside = 0, until = repeated_until(c, ops);
    struct ss_repeated repeated = {0, recompute == SS_RECOMPUTE_FULL ? until : 0};
    size_t from = 0, to;
    memset(out, 0, sizeof *out);
    ss_record_begin(c->record);
    for (int i = 0; i < ops->n; i++) {
        const struct ss_op *op = &ops->op[i];
        const struct ss_step_of of = ss_work_of(c, op, ops->is_loss);
        ss_record_operator(c->record, &of);
        if (!op->beside_exchange)
            ss_record_exchange_end(c->record);
        beside |= op->beside_exchange;
        size_t before = ss_record_length(c->record);
        from = i == until ? before : from;
        operator_cost(c, op, recompute, c->linear ? &c->linear[i] : NULL, out);
        /* an attention has recorded its repetition itself */
        if (redone(c, op, recompute) && op->kind != SS_OP_ATTENTION) {
            ss_record_exchange_end(c->record);
            ss_record_again(c->record, before, ss_record_length(c->record));
        }
        gpu[i] = ss_cost_slowed(c, out->forward) - done;
        done += gpu[i];
        out->forward_flops += op->forward_flops;
        out->backward_flops += op->backward_flops;
    }
    ss_record_exchange_end(c->record);
    ss_record_operators_end(c->record);
    to = ss_record_length(c->record);
    if (beside)
        ss_cost_beside(c, out);
    for (int i = 0; i < ops->nborders; i++)
        ss_cost_bare(c, ops->border[i].phase, ops->border[i].coll, ops->border[i].bytes, out);
    scale_reductions(c, ops, out);
    /* recompute of modules runs beside all that the host issues; of whole layers it repeats the waits, too */
    if (recompute == SS_RECOMPUTE_SELECTIVE) {
        repeated.modules = ss_job_redone_modules(c->job);
        repeat_operators(c, ops, recompute, out);
        repeat_gathers(c, ops, out);
    }
    ss_cost_host(c, ops, gpu, &repeated, out);
    if (recompute == SS_RECOMPUTE_FULL)
        repeat_layer(c, ops, until, until < ops->n ? from : to, to, out);
    ss_cost_fsdp(c, ops, out);
    if (recompute == SS_RECOMPUTE_FULL)
        forward_first(c, ops, out);
}
