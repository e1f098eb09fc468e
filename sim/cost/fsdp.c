/* SPDX-License-Identifier: Apache-2.0 */
/* Gathers of sharded parameters and scatters of their gradients, beside the layer that they belong to. */
#include <math.h>

#include "cost/cost.h"
#include "cost/memory.h"
#include "stepsim/job.h"

/* The parameters of a layer that one group shards, and their collectives. */
struct fsdp_part {
    int comm;
    const struct ss_group_shape *group;
    double params, gemm;
    double sm_share;   /* share of the SMs that the collectives take of the kernels beside them */
    double seconds[2]; /* of the collectives of the forward, and of the backward */
};

static struct ss_layer_step fsdp_step(const struct ss_cost_context *c, const struct fsdp_part *part, int coll,
                                      double bytes)
{
    double seconds = ss_collective_seconds(&c->net, coll, bytes, part->group);
    struct ss_layer_step step = ss_step_post(part->comm, coll, bytes, seconds);
    step.sm_share = part->sm_share;
    return step;
}

/* Fills the parts of a layer and returns their number. Parameters of experts that lie on other ranks are
 * sharded in a group of their own. */
static int fsdp_parts(const struct ss_cost_context *c, const struct ss_ops *ops, struct fsdp_part parts[2])
{
    double expert = 0, gemm = 0;
    int n = 0;
    if (c->fsdp.n <= 1 || c->job->dp.sharding < SS_SHARD_OPTIM_GRADS)
        return 0;
    if (ss_job_experts_apart(c->job))
        expert = ops->sum.expert, gemm = ops->sum.expert_gemm;
    double dense = ops->sum.params - expert;
    if (dense > 0)
        parts[n++] =
            (struct fsdp_part){SS_COMM_FSDP, &c->fsdp, dense, ops->sum.gemm_params - gemm, 0, {0, 0}};
    if (expert > 0 && c->edp.n > 1)
        parts[n++] = (struct fsdp_part){SS_COMM_EXPERT_FSDP, &c->edp, expert, gemm, 0, {0, 0}};
    return n;
}

static double kernels(const double by_label[SS_LABEL_COUNT])
{
    return by_label[SS_LABEL_COMPUTE] + by_label[SS_LABEL_RECOMPUTE];
}

static double backward_kernels(const struct ss_layer_cost *cost)
{
    return kernels(cost->input_grad) + kernels(cost->weight_grad) + kernels(cost->joint);
}

/* Returns the share of a layer's kernels, diluted by the host's time between them, that a collective beside
 * the layer takes; the fold and the replay take the same share. */
static double taken(const struct ss_cost_context *c, const struct ss_layer_cost *cost,
                    const struct ss_group_shape *group)
{
    double busy = kernels(cost->forward) + backward_kernels(cost);
    double host =
        cost->forward[SS_LABEL_OTHER] + cost->input_grad[SS_LABEL_OTHER] + cost->weight_grad[SS_LABEL_OTHER];
    double gemms = busy > 0 ? fmin(1, (cost->gemms[0] + cost->gemms[1]) / busy) : 0;
    double share = ss_sm_share_taken(c->card, ss_collective_sm_share(c->stack, c->card, group), gemms);
    return ss_sm_share_diluted(share, busy, host);
}

/* Seconds of one pass of a layer, and the share of them that SMs taken away slow: all but waits. */
struct fsdp_beside {
    double seconds, slowed;
};

static struct fsdp_beside beside(const struct ss_cost_context *c, const struct ss_layer_cost *cost,
                                 int backward)
{
    double seconds = backward ? ss_cost_slowed_backward(c, cost) : ss_cost_slowed(c, cost->forward);
    double busy = (backward ? backward_kernels(cost) : kernels(cost->forward)) * (1 + c->slower);
    double host = backward ? cost->input_grad[SS_LABEL_OTHER] + cost->weight_grad[SS_LABEL_OTHER]
                           : cost->forward[SS_LABEL_OTHER];
    return (struct fsdp_beside){seconds, seconds > 0 ? fmin(1, (busy + host) / seconds) : 0};
}

/* Returns what the parts' collectives add to one pass. They run one after the other from its beginning. Their
 * SMs slow the pass, waits excepted, and the end of the last may stick out. */
static double held(const struct fsdp_part *parts, int n, int backward, const struct fsdp_beside *b)
{
    double left = b->seconds, slowed = 0, all = 0;
    for (int i = 0; i < n; i++) {
        double longer = 1 - b->slowed + b->slowed / (1 - parts[i].sm_share);
        double done = fmin(left, parts[i].seconds[backward] / longer);
        slowed += done * (longer - 1);
        left -= done;
        all += parts[i].seconds[backward];
    }
    return fmax(all - b->seconds, slowed);
}

/* Adds the collectives of FSDP. Sharded parameters are gathered before each pass, and gradients are scattered
 * after the backward, each beside the layer's own compute (prefetch of one layer), from which it takes its
 * share of the SMs. Where only gradients and states are sharded (ZeRO-2) the forward gathers: in every
 * microbatch, or on average once an iteration. */
void ss_cost_fsdp(const struct ss_cost_context *c, const struct ss_ops *ops, int kept,
                  struct ss_layer_cost *out)
{
    struct fsdp_part parts[2];
    struct ss_layer_step gather[2], back[4];
    int n = fsdp_parts(c, ops, parts), whole = c->job->dp.sharding >= SS_SHARD_OPTIM_GRADS_PARAMS,
        again = whole && !kept, nback = again ? n : 0;
    const struct fsdp_beside forward = beside(c, out, 0), backward = beside(c, out, 1);
    double e = c->shape.e, params = 0, times = whole || c->stack->fsdp_pytorch > 0 ? 1 : c->once;
    for (int i = 0; i < n; i++) {
        struct fsdp_part *p = &parts[i];
        double narrow = c->job->fp8_param_gather ? p->gemm : 0;
        double grad = p->params * ss_parameter_bytes(c->job, c->stack).grad;
        double gathered = ((p->params - narrow) * e + narrow * c->shape.quantized) * times;
        p->sm_share = taken(c, out, p->group);
        gather[i] = back[i] = fsdp_step(c, p, SS_COLL_ALL_GATHER, gathered);
        back[nback + i] = fsdp_step(c, p, SS_COLL_REDUCE_SCATTER, grad);
        p->seconds[0] = gather[i].seconds;
        p->seconds[1] = back[nback + i].seconds + (again ? gather[i].seconds : 0);
        params += p->params;
    }
    nback += n;
    if (n == 0)
        return;
    /* HBM traffic of the flat buffers: gathered parameters written and read, gradients cast and reduced. */
    double flat_f = ss_cost_elementwise(c, params * 2 * e * times, 1);
    double flat_b = ss_cost_elementwise(c, params * ((again ? 2 * e : 0) + e + 8), 3);
    ss_record_beside(c->record, SS_PHASE_F, gather, n, flat_f);
    ss_record_beside(c->record, SS_PHASE_B, back, nback, flat_b);
    ss_record_beside(c->record, SS_PHASE_I, back, nback, flat_b);
    out->forward[SS_LABEL_COMPUTE] += flat_f;
    out->input_grad[SS_LABEL_COMPUTE] += flat_b;
    out->forward[SS_LABEL_DP] += held(parts, n, 0, &forward);
    out->input_grad[SS_LABEL_DP] += held(parts, n, 1, &backward);
}
