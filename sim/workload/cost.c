/* SPDX-License-Identifier: Apache-2.0 */
#include "workload/cost.h"

#include <math.h>
#include <string.h>

#include "base/base.h"

double ss_cost_peak(const struct ss_card *card, int precision)
{
    const double peak[SS_PRECISION_COUNT] = {card->peak_fp32, card->peak_fp16, card->peak_bf16,
                                             card->peak_fp8};
    return peak[precision];
}

static double gemm_efficiency(const struct ss_card *card, int precision)
{
    const double eff[SS_PRECISION_COUNT] = {card->gemm_eff_fp32, card->gemm_eff_fp16, card->gemm_eff_bf16,
                                            card->gemm_eff_fp8};
    return eff[precision];
}

static double kernels_s(const struct ss_cost_context *c, double n)
{
    return n * c->card->kernel_latency;
}

double ss_cost_elementwise(const struct ss_cost_context *c, double bytes, int kernels)
{
    return bytes / (c->card->hbm_bandwidth * c->card->hbm_efficiency) + kernels_s(c, kernels);
}

double ss_cost_gemm(const struct ss_cost_context *c, int precision, double m, double n, double k,
                    int accumulate, double sms)
{
    const struct ss_card *card = c->card;
    double tm = card->gemm_tile_m, tn = card->gemm_tile_n, small = card->gemm_small_tile;
    const double tiles[6][3] = {{tm, tn, 1},
                                {tn, tm, 1},
                                {tm, tn * 0.75, sqrt(small)},
                                {tm, tn / 2, small},
                                {tm / 2, tn / 2, small * small},
                                {tm / 2, tn / 4, small * small * small}};
    double sm_rate = ss_cost_peak(card, precision) * gemm_efficiency(card, precision) / card->sm_count;
    double steps = k + (precision == SS_FP8 ? card->gemm_k_prologue_fp8 : card->gemm_k_prologue);
    double element = precision == SS_FP8 ? 1 : precision == SS_FP32 ? 4 : 2;
    double bandwidth = card->hbm_bandwidth * card->hbm_efficiency;
    double moved = ((m * k + k * n) * element + (accumulate ? 0 : m * n * fmax(element, 2))) / bandwidth;
    double best = INFINITY;
    for (size_t i = 0; i < SS_ARRAY_LEN(tiles); i++) {
        double waves = ceil(ceil(m / tiles[i][0]) * ceil(n / tiles[i][1]) / sms);
        best = fmin(best, waves * 2 * tiles[i][0] * tiles[i][1] * steps / (sm_rate * tiles[i][2]));
    }
    return fmax(best, moved) + (accumulate ? m * n * 8 / bandwidth : 0) + kernels_s(c, 1);
}

/* Tensor cores are fed 16 bytes at a time: whether matrices with rows of `a` and `b` elements suit them. */
static int rows_aligned(int precision, double a, double b)
{
    double vector = precision == SS_FP32 ? 4 : precision == SS_FP8 ? 16 : 8;
    return fmod(a, vector) == 0 && fmod(b, vector) == 0;
}

/* ss_cost_gemm, or where the rows are not aligned what the libraries fall back to: tiles of tile_m columns on the
 * CUDA cores. */
static double gemm(const struct ss_cost_context *c, int precision, double m, double n, double k,
                   int accumulate, double sms, int aligned)
{
    double t = ss_cost_gemm(c, precision, m, n, k, accumulate, sms);
    double cores = c->card->peak_cuda_cores * gemm_efficiency(c->card, precision), tile = c->card->gemm_tile_m;
    return aligned || cores <= 0 ? t : fmax(t, 2 * m * ceil(n / tile) * tile * k / cores);
}

static void add_all(double *to, const double *from)
{
    for (int i = 0; i < SS_LABEL_COUNT; i++)
        to[i] += from[i];
}

/* Attention rate over that of 8192 query tokens and a head dimension of 128: the diagonal weighs more in a
 * short chunk, the exponentials in a small head. */
static double attention_saturation(const struct ss_cost_context *c)
{
    double half = c->stack->attention_half_tokens, at = 8192;
    double half_d = c->stack->attention_half_dim, d = c->shape.d, at_d = 128;
    return c->shape.chunk / (c->shape.chunk + half) * (at + half) / at *
           (d / (d + half_d) * (at_d + half_d) / at_d);
}

struct ss_layer_step ss_cost_ring_step(const struct ss_cost_context *c, double tensors)
{
    const struct ss_shape *s = &c->shape;
    const struct ss_group_shape *g = &c->cp;
    double kv = 2 * s->tokens * s->groups * s->d * s->e;
    double qo = 2 * s->tokens * s->heads * s->d * s->e;
    struct ss_layer_step step = {
        .kind = SS_STEP_POST, .label = SS_LABEL_CP, .stream = SS_STREAM_CP, .speed = 1, .part = 1};
    if (c->job->cp_comm_type == SS_CP_A2A || c->job->cp_comm_type == SS_CP_ALLGATHER) {
        int all = c->job->cp_comm_type == SS_CP_A2A;
        step.coll = all ? SS_COLL_ALL_TO_ALL : SS_COLL_ALL_GATHER;
        step.bytes = all ? kv + qo : kv * g->n;
        step.seconds = ss_collective_seconds(&c->net, step.coll, step.bytes, g);
    } else {
        double busbw = g->nodes > 1 ? fmin(c->net.nvlink_busbw, c->net.nic_busbw) : c->net.nvlink_busbw;
        step.coll = SS_COLL_ALL_GATHER;
        step.bytes = tensors * kv;
        step.seconds = step.bytes / busbw + (g->nodes > 1 ? c->net.nic_step : c->net.nvlink_step);
    }
    return step;
}

/* Ring passes of K and V (P2P), each hidden under the attention of one chunk; the others are exposed. */
static double cp_exposed(const struct ss_cost_context *c, double attention_s, double tensors)
{
    if (c->cp.n <= 1)
        return 0;
    if (c->job->cp_comm_type == SS_CP_A2A || c->job->cp_comm_type == SS_CP_ALLGATHER)
        return tensors * ss_cost_ring_step(c, 1).seconds;
    double step = ss_cost_ring_step(c, tensors).seconds;
    return (c->cp.n - 1) *
           fmax(step - c->stack->cp_overlap * attention_s / c->cp.n, (1 - c->stack->cp_overlap) * step);
}

/* Partial results of the chunks are rescaled and added in fp32 (ring attention). */
static double cp_correction(const struct ss_cost_context *c)
{
    const struct ss_shape *s = &c->shape;
    if (c->cp.n <= 1 || c->job->cp_comm_type == SS_CP_A2A)
        return 0;
    return ss_cost_elementwise(c, (c->cp.n - 1) * s->tokens * s->heads * s->d * (s->e + 8),
                               3 * (c->cp.n - 1));
}

/* The batched GEMMs of unfused attention, all heads as one: scores (K = d) and context (N = d), and in the
 * backward two of each kind for every one of the forward. */
static void unfused_cost(const struct ss_cost_context *c, const struct ss_op *op, double *forward,
                         double *backward)
{
    const struct ss_shape *s = &c->shape;
    double rows = s->tokens * s->heads, sms = c->card->sm_count;
    int p = s->storage_precision, aligned = rows_aligned(p, s->sequence, s->d);
    double scores = gemm(c, p, rows, s->sequence, s->d, 0, sms, aligned);
    double context = gemm(c, p, rows, s->d, s->sequence, 0, sms, aligned);
    *forward = scores + context + ss_cost_elementwise(c, op->forward_bytes, op->forward_kernels);
    *backward = scores + 3 * context + ss_cost_elementwise(c, op->backward_bytes, op->backward_kernels);
}

static void attention_cost(const struct ss_cost_context *c, const struct ss_op *op, double *forward,
                           double *backward)
{
    const struct ss_stack *st = c->stack;
    double peak = ss_cost_peak(c->card, c->shape.storage_precision);
    if (c->shape.attention == SS_ATTENTION_UNFUSED) {
        unfused_cost(c, op, forward, backward);
        return;
    }
    int fused = c->shape.attention == SS_ATTENTION_FUSED;
    double rate = peak * attention_saturation(c);
    *forward = op->forward_flops / (rate * (fused ? st->fused_fwd : st->flash_fwd)) +
               kernels_s(c, op->forward_kernels) + cp_correction(c);
    *backward = op->backward_flops / (rate * (fused ? st->fused_bwd : st->flash_bwd)) +
                kernels_s(c, op->backward_kernels) + 2 * cp_correction(c);
}

/* Times of the collectives around one linear layer; sequence parallel: all-gather and reduce-scatter, else
 * `scatter` is the all-reduce. */
static void tp_times(const struct ss_cost_context *c, int precision, struct ss_linear_times *t)
{
    const struct ss_shape *s = &c->shape;
    struct ss_net net = c->net;
    double full = s->tokens * s->h * s->e;
    t->speed = 1;
    t->gather_bytes = precision == SS_FP8 && c->stack->fp8_allgather ? s->tokens * s->h : full;
    t->scatter_bytes = full;
    if (c->tp.n <= 1)
        return;
    if (s->tp_comm_overlap && c->tp.nodes == 1) { /* user buffers, not NCCL */
        t->speed = c->stack->tp_overlap_busbw / c->card->nvlink_efficiency;
        net.nvlink_half = 0;
    }
    net.nvlink_busbw *= t->speed;
    if (s->sp > 1) {
        t->gather = ss_collective_seconds(&net, SS_COLL_ALL_GATHER, t->gather_bytes, &c->tp);
        t->scatter = ss_collective_seconds(&net, SS_COLL_REDUCE_SCATTER, full, &c->tp);
    } else {
        t->scatter = ss_collective_seconds(&net, SS_COLL_ALL_REDUCE, full, &c->tp);
    }
}

static double exposed(double communication, double beside)
{
    return fmax(0, communication - beside);
}

/* fp8: the backward's GEMMs move their sums out of the tensor cores every few products, the forward's do not. */
static double forward_gain(const struct ss_cost_context *c, int precision)
{
    return precision == SS_FP8 ? c->stack->fp8_forward_gain : 1;
}

/* A linear layer with its TP collectives. With --tp-comm-overlap every collective runs beside its GEMM,
 * which has `overlap_sms` SMs less; without it only the backward's input gather (beside the input
 * gradient) and its scatter or all-reduce (beside the weight gradient) are asynchronous. */
static void linear_cost(const struct ss_cost_context *c, const struct ss_op *op, double *fwd, double *dgrad,
                        double *wgrad)
{
    int sp = c->shape.sp > 1, tp = op->role != SS_TP_NONE && c->tp.n > 1;
    int overlap = tp && c->shape.tp_comm_overlap && op->precision == c->shape.gemm_precision;
    int column = op->role == SS_TP_COLUMN, acc = c->stack->fused_wgrad_accumulation > 0;
    double all = c->card->sm_count, part = all - (overlap ? fmin(c->stack->tp_overlap_sms, all - 1) : 0);
    struct ss_linear_times t = {.column = column, .sp = sp, .overlap = overlap};
    int aligned = rows_aligned(op->precision, op->n, op->k);
    t.f = gemm(c, op->precision, op->m, op->n, op->k, 0, part, aligned) / forward_gain(c, op->precision);
    t.d = gemm(c, op->precision, op->m, op->k, op->n, 0, part, aligned);
    t.w = gemm(c, op->precision, op->n, op->k, op->m, acc, column ? part : all, aligned);
    if (!acc) /* a kernel of its own adds the gradient to those of earlier microbatches */
        t.accumulate = c->accumulated * ss_cost_elementwise(c, op->n * op->k * (c->shape.e * 3), 1);
    fwd[SS_LABEL_COMPUTE] += t.f;
    dgrad[SS_LABEL_COMPUTE] += t.d;
    wgrad[SS_LABEL_COMPUTE] += t.w + t.accumulate;
    if (tp)
        tp_times(c, op->precision, &t);
    t.async = c->stack->tp_async_backward > 0;
    ss_record_linear(c->record, &t);
    if (!tp)
        return;
    double beside_d = t.async ? t.d : 0, beside_w = t.async ? t.w : 0;
    if (!sp) {
        fwd[SS_LABEL_TP] += column ? 0 : t.scatter;
        dgrad[SS_LABEL_TP] += column ? exposed(t.scatter, beside_w) : 0;
    } else if (column) {
        fwd[SS_LABEL_TP] += overlap ? exposed(t.gather, t.f) : t.gather;
        dgrad[SS_LABEL_TP] += exposed(t.gather, beside_d) + exposed(t.scatter, beside_w);
    } else {
        fwd[SS_LABEL_TP] += overlap ? exposed(t.scatter, t.f) : t.scatter;
        dgrad[SS_LABEL_TP] += overlap ? exposed(t.gather, t.d) : t.gather;
    }
}

/* What collectives of `seconds` that hold a share of the SMs add to the compute beside them. */
static double held(double seconds, double share, double compute)
{
    return fmax(seconds, compute + share * seconds) - compute;
}

static double sum(const double *by_label)
{
    double s = 0;
    for (int i = 0; i < SS_LABEL_COUNT; i++)
        s += by_label[i];
    return s;
}

/* Sharded parameters are gathered before each pass and gradients scattered after the backward, each
 * beside the layer's own compute (prefetch of one layer). */
static void fsdp_cost(const struct ss_cost_context *c, double params, struct ss_layer_cost *out)
{
    double e = c->shape.e, f = sum(out->forward), b = sum(out->input_grad) + sum(out->weight_grad);
    double share = ss_collective_sm_share(c->stack, c->card, &c->fsdp);
    int grads = c->job->sharding >= SS_SHARD_OPTIM_GRADS,
        parameters = c->job->sharding >= SS_SHARD_OPTIM_GRADS_PARAMS, n = 0;
    if (c->fsdp.n <= 1)
        return;
    struct ss_layer_step post[2];
    const double bytes[2] = {params * e, params * (c->job->grad_reduce_fp32 ? 4 : e)};
    for (int i = parameters ? 0 : 1; i < (grads ? 2 : 1); i++, n++) {
        int coll = i ? SS_COLL_REDUCE_SCATTER : SS_COLL_ALL_GATHER;
        post[n] = (struct ss_layer_step){SS_STEP_POST,
                                         SS_LABEL_DP,
                                         ss_collective_seconds(&c->net, coll, bytes[i], &c->fsdp),
                                         SS_STREAM_FSDP,
                                         coll,
                                         bytes[i],
                                         1,
                                         1,
                                         share};
    }
    double bf = parameters ? post[0].seconds : 0,
           bb = (n > 0 ? post[0].seconds : 0) + (n > 1 ? post[1].seconds : 0);
    /* HBM traffic of the flat buffers: gathered parameters written and read, gradients cast and reduced. */
    double flat_f = parameters ? ss_cost_elementwise(c, params * 2 * e, 1) : 0;
    double flat_b = ss_cost_elementwise(c, params * ((parameters ? 2 * e : 0) + (grads ? e + 8 : 0)), 3);
    ss_record_beside(c->record, SS_PHASE_F, post, parameters, flat_f);
    ss_record_beside(c->record, SS_PHASE_B, post, n, flat_b);
    ss_record_beside(c->record, SS_PHASE_I, post, n, flat_b);
    out->forward[SS_LABEL_COMPUTE] += flat_f;
    out->input_grad[SS_LABEL_COMPUTE] += flat_b;
    /* The collectives take their share of the SMs from the compute that hides them. */
    out->forward[SS_LABEL_DP] += held(bf, share, f);
    out->input_grad[SS_LABEL_DP] += held(bb, share, b);
}

/* Scatter of the embedding's output and gather of the logits' input under sequence parallelism. */
static void border_cost(const struct ss_cost_context *c, int layer_kind, struct ss_layer_cost *out)
{
    double full = c->shape.tokens * c->shape.h * c->shape.e, tokens = c->shape.tokens * 4, seconds;
    int coll = c->shape.sp > 1 ? SS_COLL_REDUCE_SCATTER : SS_COLL_ALL_REDUCE;
    if (c->tp.n <= 1)
        return;
    if (layer_kind == SS_LAYER_EMBEDDING) {
        seconds = ss_collective_seconds(&c->net, coll, full, &c->tp);
        out->forward[SS_LABEL_TP] += seconds;
        ss_record_border(c->record, SS_PHASE_F, coll, full, seconds);
        if (c->shape.sp > 1) {
            seconds = ss_collective_seconds(&c->net, SS_COLL_ALL_GATHER, full, &c->tp);
            out->weight_grad[SS_LABEL_TP] += seconds;
            ss_record_border(c->record, SS_PHASE_W, SS_COLL_ALL_GATHER, full, seconds);
        }
    } else if (layer_kind ==
               SS_LAYER_LOSS) { /* maximum, target logit and sum of the parallel cross entropy */
        seconds = ss_collective_seconds(&c->net, SS_COLL_ALL_REDUCE, tokens, &c->tp);
        out->forward[SS_LABEL_TP] += 3 * seconds;
        for (int i = 0; i < 3; i++)
            ss_record_border(c->record, SS_PHASE_F, SS_COLL_ALL_REDUCE, tokens, seconds);
    }
}

void ss_cost_pp_gather(const struct ss_cost_context *c, int phase, struct ss_layer_cost *out)
{
    double full = ss_shape_border_bytes(&c->shape);
    memset(out, 0, sizeof *out);
    ss_record_begin(c->record);
    if (c->shape.pp_shares <= 1)
        return;
    double seconds = ss_collective_seconds(&c->net, SS_COLL_ALL_GATHER, full, &c->tp);
    (phase == SS_PHASE_F ? out->forward : out->input_grad)[SS_LABEL_TP] = seconds;
    ss_record_border(c->record, phase, SS_COLL_ALL_GATHER, full, seconds);
}

/* Collectives of an operator in one direction of the pass. */
static int collectives_of(const struct ss_cost_context *c, const struct ss_op *op, int forward)
{
    int sp = c->shape.sp > 1, column = op->role == SS_TP_COLUMN;
    if (op->role == SS_TP_NONE || c->tp.n <= 1)
        return 0;
    return forward ? sp || !column : column + sp;
}

/* The host issues an operator's kernels and collectives one after the other and runs ahead of the GPU: a pass
 * over a layer takes the longer of both. What the host adds is labelled `other`. */
static void host_cost(const struct ss_cost_context *c, const struct ss_ops *ops, struct ss_layer_cost *out)
{
    double forward = 0, backward = 0;
    for (int i = 0; i < ops->n; i++) {
        const struct ss_op *op = &ops->op[i];
        forward += (op->forward_kernels + collectives_of(c, op, 1)) * c->stack->host_operator;
        backward += (op->backward_kernels + collectives_of(c, op, 0)) * c->stack->host_operator;
    }
    forward = exposed(forward, sum(out->forward));
    backward = exposed(backward, sum(out->input_grad) + sum(out->weight_grad));
    out->forward[SS_LABEL_OTHER] += forward;
    out->input_grad[SS_LABEL_OTHER] += backward;
    ss_record_other(c->record, forward, backward);
}

/* Activations of the offloaded layers cross PCIe beside the layer's compute, each way once. */
static void offload_cost(const struct ss_cost_context *c, const struct ss_ops *ops, struct ss_layer_cost *out)
{
    double bytes = (c->job->cpu_offload_activations ? ss_ops_saved_bytes(ops, 0) : 0) +
                   (c->job->cpu_offload_weights ? ss_ops_params(ops) * c->shape.e : 0);
    double copy = bytes / c->card->pcie_bandwidth;
    double f = exposed(copy, sum(out->forward)),
           b = exposed(copy, sum(out->input_grad) + sum(out->weight_grad));
    const struct ss_layer_step post = {.kind = SS_STEP_POST,
                                       .label = SS_LABEL_OFFLOAD,
                                       .seconds = copy,
                                       .stream = SS_STREAM_OFFLOAD,
                                       .bytes = bytes,
                                       .speed = 1,
                                       .part = 1};
    for (int phase = SS_PHASE_F; phase <= SS_PHASE_I; phase++)
        ss_record_beside(c->record, phase, &post, 1, 0);
    out->forward[SS_LABEL_OFFLOAD] += f;
    out->input_grad[SS_LABEL_OFFLOAD] += b;
}

static void recompute_cost(const struct ss_cost_context *c, const struct ss_ops *ops, int recompute,
                           const double *forward, struct ss_layer_cost *out)
{
    double f, b;
    if (recompute == SS_RECOMPUTE_FULL) {
        for (int i = 0; i < SS_LABEL_COUNT; i++)
            out->input_grad[i == SS_LABEL_COMPUTE ? SS_LABEL_RECOMPUTE : i] += forward[i];
        out->recompute_flops += out->forward_flops;
        ss_record_recompute(c->record);
    }
    for (int i = 0; i < ops->n && recompute == SS_RECOMPUTE_SELECTIVE; i++) {
        const struct ss_op *op = &ops->op[i];
        if (!op->core_attention)
            continue;
        attention_cost(c, op, &f, &b);
        out->input_grad[SS_LABEL_RECOMPUTE] += f;
        out->input_grad[SS_LABEL_CP] += cp_exposed(c, f, 1);
        out->recompute_flops += op->forward_flops;
    }
}

void ss_cost_layer(const struct ss_cost_context *c, const struct ss_ops *ops, int layer_kind, int recompute,
                   struct ss_layer_cost *out)
{
    double forward[SS_LABEL_COUNT] = {0};
    memset(out, 0, sizeof *out);
    ss_record_begin(c->record);
    for (int i = 0; i < ops->n; i++) {
        const struct ss_op *op = &ops->op[i];
        double f, b;
        switch (op->kind) {
        case SS_OP_GEMM: linear_cost(c, op, forward, out->input_grad, out->weight_grad); break;
        case SS_OP_ATTENTION:
            attention_cost(c, op, &f, &b);
            forward[SS_LABEL_COMPUTE] += f;
            out->input_grad[SS_LABEL_COMPUTE] += b;
            ss_record_attention(c->record, c, f, b,
                                recompute == SS_RECOMPUTE_SELECTIVE && op->core_attention ? f : 0);
            forward[SS_LABEL_CP] += cp_exposed(c, f, 1);
            out->input_grad[SS_LABEL_CP] += cp_exposed(c, b, 2);
            break;
        default:
            f = ss_cost_elementwise(c, op->forward_bytes, op->forward_kernels);
            b = ss_cost_elementwise(c, op->backward_bytes, op->backward_kernels);
            forward[SS_LABEL_COMPUTE] += f;
            out->input_grad[SS_LABEL_COMPUTE] += b;
            ss_record_kernels(c->record, f, b);
        }
        out->forward_flops += op->forward_flops;
        out->backward_flops += op->backward_flops;
    }
    add_all(out->forward, forward);
    border_cost(c, layer_kind, out);
    host_cost(c, ops, out);
    recompute_cost(c, ops, recompute, out->forward, out);
    fsdp_cost(c, ss_ops_params(ops), out);
}

void ss_cost_layer_offload(const struct ss_cost_context *c, const struct ss_ops *ops,
                           struct ss_layer_cost *out)
{
    offload_cost(c, ops, out);
}

double ss_cost_optimizer(const struct ss_cost_context *c, double params, double shards)
{
    double local = params / shards, e = c->shape.e, device, host;
    /* Gradient norm reads 4 B, clipping reads and writes them; the step reads gradient, two moments and the
     * master copy, writes the last three and the 16-bit parameter. fp16 unscales the gradients first. */
    double unscale = c->shape.storage_precision == SS_FP16 ? 8 : 0;
    double step = local * (4 + 8 + unscale + 4 + 12 + 12 + (e < 4 ? e : 0)) * c->stack->adam_passes;
    double copies = c->stack->grad_copy > 0 && e < 4 ? params * (e + 4) + params * (4 + e) : 0;
    double gradient = e < 4 && c->job->grad_reduce_fp32 <= 0 ? e : 4;
    double whole = c->fsdp.n > 1 ? 0 : params * gradient * c->stack->grad_passes;
    device = (step * (1 - c->job->optimizer_offload) + copies + whole) /
             (c->card->hbm_bandwidth * c->card->hbm_efficiency);
    /* Offloaded: gradients go out and parameters come back over PCIe; the host steps at memory speed,
     * which PCIe bounds from above on every node here. */
    host = c->job->optimizer_offload * local * (4 + e) / c->card->pcie_bandwidth +
           c->job->optimizer_offload * local * 28 / c->card->pcie_bandwidth;
    return device + host + kernels_s(c, 12);
}
