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
    double sm_share; /* share of the SMs that the collectives take of the kernels beside them */
};

static struct ss_layer_step fsdp_step(const struct ss_cost_context *c, const struct fsdp_part *part, int coll,
                                      double bytes)
{
    double seconds = ss_collective_seconds(&c->net, coll, bytes, part->group);
    struct ss_layer_step step = ss_step_post(part->comm, coll, bytes, seconds);
    step.sm_share = part->sm_share;
    return step;
}

static int shards_layers(const struct ss_cost_context *c)
{
    return c->fsdp.n > 1 && c->job->dp.sharding >= SS_SHARD_OPTIM_GRADS;
}

int ss_cost_fetches_layers(const struct ss_cost_context *c)
{
    return shards_layers(c) || c->job->offload.params;
}

/* Fills the parts of a layer and returns their number. Parameters of experts that lie on other ranks are
 * sharded in a group of their own. */
static int fsdp_parts(const struct ss_cost_context *c, const struct ss_ops *ops, struct fsdp_part parts[2])
{
    double expert = 0, gemm = 0;
    int n = 0;
    if (!shards_layers(c))
        return 0;
    if (ss_job_experts_apart(c->job))
        expert = ops->sum.expert, gemm = ops->sum.expert_gemm;
    double dense = ops->sum.params - expert;
    if (dense > 0)
        parts[n++] = (struct fsdp_part){SS_COMM_FSDP, &c->fsdp, dense, ops->sum.gemm_params - gemm, 0};
    if (expert > 0 && c->edp.n > 1)
        parts[n++] = (struct fsdp_part){SS_COMM_EXPERT_FSDP, &c->edp, expert, gemm, 0};
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

/* Replaces the seconds of a layer by those of its recorded steps, collectives beside kernels among them. A whole backward hides more
 * than I and W apart. */
static void fold_steps(const struct ss_cost_context *c, struct ss_layer_cost *out)
{
    struct ss_step_list *list = c->record->out.phase;
    double backward[SS_LABEL_COUNT];
    list[SS_PHASE_F].failed |= ss_steps_fold(&list[SS_PHASE_F], c->slower, out->forward) ||
                               ss_steps_fold(&list[SS_PHASE_B], c->slower, backward) ||
                               ss_steps_fold(&list[SS_PHASE_I], c->slower, out->input_grad);
    for (int l = 0; l < SS_LABEL_COUNT; l++)
        out->joint[l] = backward[l] - out->input_grad[l] - out->weight_grad[l];
}

/* ---- parameters on the host ---- */

/* Returns the share of a layer's parameters that DeepSpeed fetches before the layer needs them: as far as they are live beside the
 * layer's own (stage3_max_live_parameters). Other FSDP fetches one layer ahead. */
static double prefetched(const struct ss_cost_context *c, double params)
{
    if (c->stack->zero_bucket <= 0)
        return 1;
    if (c->stack->zero_prefetch <= 0)
        return 0;
    return fmin(1, fmax(0, c->stack->zero_live / params - 1));
}

/* Adds to one pass what it waits for `copy` seconds of copies. They stand in one stream with the collectives of the pass, which take
 * `all`, and `share` of them is issued beside the layer's own `seconds`. */
static void add_copies(const struct ss_cost_context *c, const double all, double seconds, double copy,
                       double share, int backward, struct ss_layer_cost *out)
{
    double wait =
        (1 - share) * copy + ss_cost_exposed(share * copy + all, seconds) - ss_cost_exposed(all, seconds);
    double pass = backward ? ss_cost_slowed_backward(c, out) : ss_cost_slowed(c, out->forward);
    struct ss_layer_step step = ss_step_post(SS_COMM_HOST, 0, 0, wait > 0 ? pass + wait : fmin(copy, pass));

    for (int phase = backward ? SS_PHASE_B : SS_PHASE_F; phase <= (backward ? SS_PHASE_I : SS_PHASE_F);
         phase++)
        ss_record_beside(c->record, phase, &step, 1, 0);
    (backward ? out->input_grad : out->forward)[SS_LABEL_OFFLOAD] += wait;
}

/* Adds the copies of a layer whose shards of parameters lie on the host or on NVMe (partition_parameters.py and stage3.py of DeepSpeed).
 * Each gather begins with a copy of the rank's shard to the device. Where the host steps, a shard of gradients goes there in every
 * microbatch, comes back to be added to, and goes in fp32 behind the last one. Directions run side by side, as do NVMe and the link. */
static void host_copies(const struct ss_cost_context *c, const struct ss_ops *ops, int again,
                        const double all[2], const double pass[2], struct ss_layer_cost *out)
{
    const struct ss_job *job = c->job;
    double expert = ss_job_experts_apart(job) ? ops->sum.expert : 0, params = ops->sum.params;
    double local = (params - expert) / c->fsdp.n + expert / c->edp.n,
           stepped = local * job->offload.optimizer;
    double grad = stepped * ss_parameter_bytes(job, c->stack).grad, whole = 4 * stepped * c->once;
    double in = local * c->shape.e, back = again ? in : 0, link = c->card->pcie_bandwidth;
    double nvme = c->card->nvme_bandwidth / c->net.host_gpus, read = c->on_nvme / nvme;
    double share = prefetched(c, params);

    if (params <= 0)
        return;
    double to_host = fmax(back + grad * (1 - c->once), grad + whole) / link;
    double drives = back * read + (job->offload.optimizer_nvme ? whole / nvme : 0);
    add_copies(c, all[0], pass[0], fmax(in / link, in * read), share, 0, out);
    add_copies(c, all[1], pass[1], fmax(to_host, drives), share, 1, out);
}

/* Adds the collectives of FSDP. Sharded parameters are gathered before each pass, and gradients are scattered
 * after the backward, each beside the layer's own compute (prefetch of one layer), from which it takes its
 * share of the SMs. Where only gradients and states are sharded (ZeRO-2) the forward gathers: in every
 * microbatch, or on average once an iteration. Where parameters stay gathered between microbatches, gradients
 * are scattered on average once an iteration, too. */
void ss_cost_fsdp(const struct ss_cost_context *c, const struct ss_ops *ops, struct ss_layer_cost *out)
{
    /* PyTorch's FSDP keeps what it does not wrap */
    int kept = c->stack->fsdp_pytorch > 0 && ops->where != SS_WHERE_TRANSFORMER && !ops->encoder;
    struct fsdp_part parts[2];
    struct ss_layer_step gather[2], back[4];
    int n = fsdp_parts(c, ops, parts), once = ss_job_fsdp_once(c->job, c->stack);
    int whole = c->job->dp.sharding >= SS_SHARD_OPTIM_GRADS_PARAMS && !once, again = whole && !kept,
        nback = again ? n : 0;
    const double pass[2] = {ss_cost_slowed(c, out->forward), ss_cost_slowed_backward(c, out)};
    double e = c->shape.e, params = 0, all[2] = {0, 0},
           times = whole || (c->stack->fsdp_pytorch > 0 && !once) ? 1 : c->once;
    for (int i = 0; i < n; i++) {
        struct fsdp_part *p = &parts[i];
        double narrow = c->job->fp8_param_gather ? p->gemm : 0;
        double grad = p->params * ss_fsdp_gradient_bytes(c) * (once ? c->once : 1);
        double gathered = ((p->params - narrow) * e + narrow * c->shape.quantized) * times;
        p->sm_share = taken(c, out, p->group);
        gather[i] = back[i] = fsdp_step(c, p, SS_COLL_ALL_GATHER, gathered);
        back[nback + i] = fsdp_step(c, p, SS_COLL_REDUCE_SCATTER, grad);
        params += p->params;
        all[0] += gather[i].seconds;
        all[1] += back[nback + i].seconds + (again ? gather[i].seconds : 0);
    }
    nback += n;
    if (n == 0 && !c->job->offload.params)
        return;
    /* HBM traffic of the flat buffers: gathered parameters written and read, gradients cast and reduced. */
    double flat_f = ss_cost_elementwise(c, params * 2 * e * times, 1);
    double flat_b = ss_cost_elementwise(c, params * ((again ? 2 * e : 0) + e + 8), 3);
    ss_record_beside(c->record, SS_PHASE_F, gather, n, flat_f);
    ss_record_beside(c->record, SS_PHASE_B, back, nback, flat_b);
    ss_record_beside(c->record, SS_PHASE_I, back, nback, flat_b);
    fold_steps(c, out);
    if (c->job->offload.params)
        host_copies(c, ops, !kept, all, pass, out);
}
