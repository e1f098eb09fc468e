/* SPDX-License-Identifier: Apache-2.0 */
/* Work that passes over all parameters once an iteration, when no exchange of tokens holds SMs. */
#include "cost/cost.h"
#include "cost/kernel.h"
#include "cost/memory.h"
#include "stepsim/job.h"

/* Gradients pass into their buckets and back; each way reads and writes. A rank alone has no buckets, and
 * PyTorch frees the gradients that it does not set to zero. */
#define BUCKET_PASSES 4

double ss_cost_gradients(const struct ss_cost_context *c, double params)
{
    /* a norm reads the gradients once */
    double passes = c->stack->grad_passes + (c->job->optimizer.check_for_nan ? 1 : 0);
    if (c->stack->ddp_copies > 0)
        passes = c->replicas > 1 ? BUCKET_PASSES : 0;
    double bytes = params * passes * ss_parameter_bytes(c->job, c->stack).grad;
    return c->fsdp.n > 1 ? 0 : ss_kernel_elementwise(c->card, bytes, 0);
}

/* Returns the bytes that the step of one parameter moves. The gradient norm reads the gradient; clipping
 * reads and writes it. Adam reads gradient, two moments and the master copy, and writes the last three and
 * the 16-bit parameter. fp16 unscales the gradients first. *adam: Adam's own bytes. */
static double step_bytes(const struct ss_cost_context *c, double *adam)
{
    int own = ss_optimizer_in_model_type(c->job, c->stack); /* 1: the step changes the parameter itself */
    double e = ss_parameter_bytes(c->job, c->stack).weight,
           grad = own ? 2 : c->job->optimizer.main_grad_bytes;
    double master = own ? 2 : c->job->optimizer.master_bytes,
           moments = own ? 4 : c->job->optimizer.moment_bytes;
    double unscale = c->shape.storage_precision == SS_FP16 ? 8 : 0;
    *adam = grad + 2 * (moments + master);
    return ((c->job->optimizer.clip_grad ? 3 * grad : 0) + unscale + *adam + (!own && e < 4 ? e : 0)) *
           c->stack->adam_passes;
}

double ss_cost_optimizer(const struct ss_cost_context *c, double params, int tensors, double shards)
{
    double local = params / shards, e = ss_parameter_bytes(c->job, c->stack).weight, device, host, adam;
    double step = local * step_bytes(c, &adam);
    double copies = ss_memory_copied(c, params, shards) * 2 * (e + 4); /* gradients in, parameters out */
    device = ss_kernel_elementwise(c->card, step * (1 - c->job->offload.optimizer) + copies, 12);
    /* With offload, gradients go out and parameters come back over PCIe, and the host steps for all GPUs of
     * its node. */
    host = c->job->offload.optimizer * local;
    if (host > 0)
        host *= (4 + e) / c->card->pcie_bandwidth + adam * c->net.host_gpus / c->card->host_step;
    /* Python gathers the tensors before each pass, while the GPU has nothing to do. */
    return device + host +
           tensors / (c->fsdp.n > 1 ? 1 : shards) * c->stack->step_operators * ss_host_call(c);
}
