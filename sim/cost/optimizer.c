/* SPDX-License-Identifier: Apache-2.0 */
/* Work that passes over all parameters once an iteration, when no exchange of tokens holds SMs. */
#include <math.h>

#include "cost/cost.h"
#include "cost/kernel.h"
#include "cost/memory.h"

/* Gradients pass into their buckets and back; each way reads and writes. A rank alone has no buckets, and
 * PyTorch frees the gradients that it does not set to zero. */
#define BUCKET_PASSES 4

/* Passes over a gradient in Megatron core's buffers: it is set to zero, and read and written to divide it. */
enum { ZERO_PASSES = 1, DIVIDE_PASSES = 2 };

/* Returns how often a gradient passes HBM outside the step. Where the reduction averages, that of experts does so over its own ranks, edp,
 * and a pass divides by what is left, dp/edp (Megatron core 0.8 and later, distributed_data_parallel.py, expert_gradient_scaling_factor). */
static double passes_of(const struct ss_cost_context *c, int expert)
{
    const enum ss_gradient_average average = c->job->dp.gradient_average;
    double passes = average == SS_AVERAGE_OF_STACK ? c->stack->grad_passes
                    : average == SS_AVERAGE_PASS   ? ZERO_PASSES + DIVIDE_PASSES
                                                   : ZERO_PASSES;
    return expert && c->edp.n != c->replicas ? fmax(passes, ZERO_PASSES + DIVIDE_PASSES) : passes;
}

double ss_cost_gradients(const struct ss_cost_context *c, double params, double experts)
{
    /* a norm reads the gradients once */
    double shared = params > 0 ? experts / params : 0, nan = c->job->optimizer.check_for_nan ? 1 : 0;
    double passes = (1 - shared) * passes_of(c, 0) + shared * passes_of(c, 1) + nan;
    int whole =
        c->stack->zero_whole > 0 && c->job->dp.distributed_optimizer; /* they are reduced where they lie */
    if (c->stack->ddp_copies > 0)
        passes = c->replicas > 1 && !whole ? BUCKET_PASSES : 0;
    double bytes =
        params * passes *
        (c->stack->ddp_copies > 0 ? ss_ddp_copy_bytes(c) : ss_parameter_bytes(c->job, c->stack).grad);
    if (ss_accumulates_apart(c)) /* set to zero */
        bytes += params * ss_parameter_bytes(c->job, c->stack).grad;
    return c->fsdp.n > 1 ? 0 : ss_kernel_elementwise(c->card, bytes, 0);
}

/* Returns the bytes of the gradient norm, which reads a gradient, and of clipping, which reads and writes it. */
static double clip_bytes(const struct ss_cost_context *c)
{
    double grad = ss_optimizer_in_model_type(c->job, c->stack) ? 2 : c->job->optimizer.main_grad_bytes;
    return c->job->optimizer.clip_grad ? 3 * grad * c->stack->adam_passes : 0;
}

/* Returns the bytes that the step of one parameter moves beside those of its clipping. Adam reads gradient, two moments and the master copy, and writes the last three and
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
    return (unscale + *adam + (!own && e < 4 ? e : 0)) * c->stack->adam_passes;
}

/* Returns the seconds of the host's step on `params` parameters whose states lie on NVMe: read with the gradients, stepped, written, one
 * after the other or side by side. */
static double nvme_step(const struct ss_cost_context *c, double params, double step)
{
    double states = params * ss_parameter_bytes(c->job, c->stack).states, each = c->net.host_gpus;
    double read = (states + 4 * params) * each / c->card->nvme_bandwidth;
    double write = states * each / c->card->nvme_bandwidth;
    switch (c->job->offload.nvme_pipeline) {
    case 1: return fmax(read, step) + write;
    case 2: return fmax(write, step) + read;
    case 3: return fmax(read + write, step);
    default: return read + step + write;
    }
}

/* Returns the seconds of copies over the host's link in a step, of the `local` parameters of a rank: gradients go out and parameters come
 * back where the host steps on parameters of the device; where the device steps on parameters of the host, they go there. Gradients
 * of parameters that lie on the host have gone beside the backward. */
static double step_copies(const struct ss_cost_context *c, double local)
{
    double e = ss_parameter_bytes(c->job, c->stack).weight, stepped = c->job->offload.optimizer * local;
    double written = c->on_nvme * e * local * c->net.host_gpus / c->card->nvme_bandwidth;
    if (c->job->offload.swap) /* MindSpeed waits for a part to leave before the next one comes */
        return 2 * local * ss_parameter_bytes(c->job, c->stack).states / c->card->pcie_bandwidth;
    if (c->job->offload.params)
        return (local - stepped) * e / c->card->pcie_bandwidth + written;
    return stepped * (4 + e) / c->card->pcie_bandwidth;
}

/* Returns the seconds of a step that are not the device's. */
static double host_seconds(const struct ss_cost_context *c, double local, double adam)
{
    double stepped = c->job->offload.optimizer * local, step = 0;
    if (stepped > 0) /* the host steps for all GPUs of its node */
        step = stepped * adam * c->net.host_gpus / c->card->host_step;
    if (stepped > 0 && c->job->offload.optimizer_nvme)
        step = nvme_step(c, stepped, step);
    int copies = stepped > 0 || c->job->offload.params || c->job->offload.swap;
    return step + (copies ? step_copies(c, local) : 0);
}

/* Kernels of count_zeros_fp32 for a tensor (Megatron-LM, core/optimizer/clip_grads.py): a comparison with zero, which writes flags of
 * 1 byte, their sum, which reads them, and two on one number. They run without autograd. */
enum { ZEROS_KERNELS = 4, ZEROS_FLAG_BYTES = 2 };

/* Returns the seconds of what Megatron-LM logs of the `local` parameters of a rank every step: the count of zero gradients, a tensor after
 * the other, and the norm of the fp32 parameters, in one kernel for many tensors. */
static double logged_seconds(const struct ss_cost_context *c, double local, double tensors)
{
    double seconds = 0;
    if (c->job->optimizer.counts_zeros)
        seconds += fmax(
            ss_kernel_elementwise(c->card, local * (c->job->optimizer.main_grad_bytes + ZEROS_FLAG_BYTES), 0),
            tensors * ZEROS_KERNELS * ss_host_launch(c));
    if (c->job->optimizer.params_norm)
        seconds += ss_kernel_elementwise(c->card, local * 4, 1);
    return seconds;
}

/* Returns the seconds behind the gather of all parameters, of which each rank has a slice of each tensor. The slices are joined, the
 * gather's output is parted by ranks, and each slice is copied back, a call each; each way reads and writes. */
static double slices_seconds(const struct ss_cost_context *c, double params, double tensors, double shards)
{
    if (c->stack->zero_whole <= 0 || shards <= 1)
        return 0;
    double e = ss_parameter_bytes(c->job, c->stack).weight;
    return fmax(ss_kernel_elementwise(c->card, 3 * 2 * e * params, 0), tensors * shards * ss_host_launch(c));
}

double ss_cost_optimizer_calls(const struct ss_cost_context *c, double tensors)
{
    return c->job->optimizer.graph ? 0 : tensors * c->stack->step_operators * ss_host_call(c);
}

double ss_cost_optimizer(const struct ss_cost_context *c, double params, double tensors, double shards)
{
    double local = params / shards, e = ss_parameter_bytes(c->job, c->stack).weight, device, adam;
    /* Gradients that are all-reduced as a whole are clipped as a whole. */
    double clipped = c->stack->zero_whole > 0 ? params : local;
    double step = local * step_bytes(c, &adam) + clipped * clip_bytes(c);
    double copies = ss_memory_copied(c, params, shards) * 2 * (e + 4); /* gradients in, parameters out */
    device = ss_kernel_elementwise(c->card, step * (1 - c->job->offload.optimizer) + copies, 12);
    /* Python gathers the tensors before each pass, while the GPU has nothing to do. */
    return device + host_seconds(c, local, adam) + ss_cost_optimizer_calls(c, tensors) +
           slices_seconds(c, params, tensors, shards) + logged_seconds(c, local, tensors);
}
