/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks that PyTorch's allocator has and cannot use at a chunk's peak. A tensor that a collective reads or writes
 * is marked for NCCL's stream (record_stream, ProcessGroupNCCL.cpp): its block comes back when the device is where
 * the host was when the tensor died. The host runs ahead of the device, so blocks of many layers lie idle.
 */
#include <math.h>

#include "cost/memory.h"

/* A launch waits when so many are ahead of it on its stream. */
enum { LAUNCHES_AHEAD = 1024 };

/* A pass over the transformer layers of a chunk. */
struct pass {
    double gpu, host; /* s of the device, and s to issue the pass */
    double calls;     /* the launches of the pass */
    double bytes;     /* of marked tensors that die in the pass */
};

/* Returns the seconds of a layer on the device. */
static double gpu_seconds(const struct ss_layer_cost *cost, int backward)
{
    double s = 0;
    for (int l = 0; l < SS_LABEL_COUNT; l++)
        if (l != SS_LABEL_OTHER)
            s += backward ? cost->input_grad[l] + cost->weight_grad[l] + cost->joint[l] : cost->forward[l];
    return s;
}

/* Returns the bytes that a layer's tensor-parallel collectives mark and that die in the pass: in the forward the
 * outputs of row-parallel layers, whole and scattered; in the backward the gradients of inputs of column-parallel
 * ones. */
static double marked_bytes(const struct ss_cost_context *c, const struct ss_ops *ops, int backward)
{
    int role = backward ? SS_TP_COLUMN : SS_TP_ROW;
    double bytes = 0;
    for (const struct ss_op *op = ops->op; op < ops->op + ops->n; op++)
        if (op->kind == SS_OP_GEMM && op->gemm.role == role && !op->gemm.shares_input)
            bytes += op->gemm.m * ss_op_whole_columns(op) * c->shape.e *
                     (1 + (c->shape.sp > 1 ? 1 / c->shape.sp : 0));
    return bytes;
}

static struct pass pass_of(const struct ss_cost_context *c, const struct ss_layer_set *set, int k,
                           int backward)
{
    struct pass p = {0};
    double call = ss_host_call(c), checks = ss_host_checks(c);
    for (size_t i = 0; i < set->chunks[k].n; i++) {
        const struct ss_layer_run *run = &set->chunks[k].run[i];
        const struct ss_layer_part *part = ss_layer_part(set, run);
        if (!ss_layer_is_transformer(set, run))
            continue;
        p.gpu += run->count * gpu_seconds(&part->cost, backward);
        p.host += run->count * part->cost.host[backward];
        p.calls += run->count *
                   (part->cost.host[backward] -
                    part->cost.launches[backward][SS_LAUNCH_COLLECTIVES] * checks / (call + checks)) /
                   call;
        p.bytes += run->count * marked_bytes(c, part->ops, backward);
    }
    return p;
}

/* Returns the share of a pass that the device has before it when the pass is issued and it is `behind` seconds
 * late; *launches: those that are left of the queue. */
static double share_behind(const struct pass *p, double behind, double *launches)
{
    double share = p->gpu > 0 ? fmin(1, fmax(0, behind) / p->gpu) : 0;
    share = p->calls > 0 ? fmin(share, *launches / p->calls) : share;
    *launches -= share * p->calls;
    return share;
}

/* Where stages send to each other the host waits for the device in each slot, ahead of it in that slot alone: the metadata of a tensor are
 * read on the host. Without a pipeline it waits in the step alone. */
double ss_memory_waiting(const struct ss_cost_context *c, const struct ss_layer_set *set, int k)
{
    double launches = LAUNCHES_AHEAD;
    if (c->stack->marks_streams <= 0 || c->tp.n <= 1 || !(ss_host_call(c) > 0))
        return 0;
    const struct pass forward = pass_of(c, set, k, 0), backward = pass_of(c, set, k, 1);
    double further = c->job->pp > 1 ? 0 : 1 / c->once - 1; /* microbatches before */
    double late =
        forward.gpu - forward.host + further * (forward.gpu - forward.host + backward.gpu - backward.host);
    double bytes = share_behind(&forward, late, &launches) * forward.bytes;
    if (further > 0)
        bytes += share_behind(&backward, late - forward.gpu, &launches) * backward.bytes;
    return bytes;
}

double ss_memory_idle(const struct ss_cost_context *c, const struct ss_chunk_cost *chunk)
{
    double logits = c->shape.tokens * c->shape.vocab * (c->stack->loss_gathers > 0 ? c->shape.tp : 1);
    return chunk->has_loss ? c->stack->loss_idle_bytes * logits : 0;
}
