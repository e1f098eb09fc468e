/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/memory.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "cost/offload.h"
#include "stepsim/job.h"

/* Returns all parameters but those of experts that are counted apart. */
static double dense_of(const struct ss_param_count *params)
{
    return params->all - params->expert;
}

/* Returns what DeepSpeed needs beside its bucket to step on its share of 16-bit gradients (stage_1_and_2.py):
 * a flat copy in 16 bit, then one in fp32 where the norm had one gradient in fp64. Without shares
 * (FP16_Optimizer) it needs all of them in fp32, twice. */
static double zero_copies(const struct ss_cost_context *c, const struct ss_param_count *params,
                          struct ss_optimizer_shards shards)
{
    double share = dense_of(params) / shards.dense + params->expert / shards.expert;
    if (!c->job->dp.distributed_optimizer && c->fsdp.n <= 1)
        return 8 * params->all;
    return 2 * share + fmax(4 * share, 8 * fmin(params->tensor, share));
}

/* Returns the bytes of gradient copies that the step needs beside 16-bit gradients. bf16 accumulates in fp32
 * and copies all gradients, with ZeRO too. */
static double gradient_copies(const struct ss_cost_context *c, const struct ss_param_count *params,
                              struct ss_optimizer_shards shards)
{
    double copied = ss_memory_copied(c, dense_of(params), shards.dense) +
                    ss_memory_copied(c, params->expert, shards.expert);
    if (copied > 0 && c->stack->zero_bucket > 0 && c->job->precision == SS_FP16)
        return zero_copies(c, params, shards);
    return 4 * copied;
}

/* Returns the bytes of the 16-bit bucket in which ZeRO reduces. ZeRO-3 also puts its tensors in the order of
 * the ranks, in a copy of the bucket (coalesced_collectives.py). */
static double zero_buckets(const struct ss_cost_context *c)
{
    int copies = c->fsdp.n > 1 && c->job->dp.sharding >= SS_SHARD_OPTIM_GRADS_PARAMS ? 2 : 1;
    return c->shape.e < 4 ? copies * c->shape.e * c->stack->zero_bucket : 0;
}

/* Returns whether 16-bit gradients are added to fp32 ones when a backward is over (ss.ddp.copies 2). */
static int adds_gradients(const struct ss_cost_context *c)
{
    return c->stack->ddp_copies > 1 && ss_ddp_copy_bytes(c) > 0;
}

/* Returns the bytes of flat blocks in which nanotron's ZeRO-1 gathers parameters behind the step
 * (all_gather_coalesced): a rank's share, and the block into which NCCL gathers. The copies of each rank's share
 * are as large again, but take the room of activations. */
static double gather_copies(const struct ss_cost_context *c, const struct ss_param_count *params,
                            struct ss_optimizer_shards shards)
{
    if (!adds_gradients(c) || !c->job->dp.distributed_optimizer || c->replicas < 2)
        return 0;
    return c->shape.e * params->all * (1 + 1 / shards.dense);
}

double ss_memory_step(const struct ss_cost_context *c, const struct ss_param_count *params,
                      struct ss_optimizer_shards shards)
{
    return gather_copies(c, params, shards) +
           (c->stack->grad_copy > 1 && c->job->precision == SS_FP16 ? gradient_copies(c, params, shards) : 0);
}

/* Returns 1 where the optimizer reads 16-bit gradients without a copy: it is not Megatron core's (but Apex's
 * or FSDP's), or it is precision-aware. A precision-aware one copies for fp8 that scales by itself
 * (distrib_optimizer.py, use_precision_aware_optimizer_no_fp8_or_ds_fp8). */
static int reads_gradients(const struct ss_cost_context *c)
{
    const struct ss_job *job = c->job;
    if (c->stack->param_remainders > 0 || c->fsdp.n > 1 || c->stack->fsdp_pytorch > 0)
        return 1;
    return job->optimizer.precision_aware &&
           (!ss_precision_is_quantized(job->precision) || job->fp8_recipe == SS_FP8_DELAYED ||
            job->optimizer.master_bytes < 4);
}

/* DeepSpeed flattens gradients before it copies them for a step; ZeRO-3 steps this many parameters at a time
 * (zero_optimization.sub_group_size). */
#define SUB_GROUP 1e9

double ss_memory_main_gradients(const struct ss_cost_context *c, const struct ss_param_count *params,
                                struct ss_optimizer_shards shards)
{
    struct ss_parameter_bytes bytes = ss_parameter_bytes(c->job, c->stack);
    double own = dense_of(params) / shards.dense + params->expert / shards.expert;
    int zero = c->stack->zero_bucket > 0;
    if (adds_gradients(c)) /* they are there when the activations are gone */
        return ss_ddp_copy_bytes(c) * params->all;
    if (bytes.grad >= 4 || c->stack->grad_copy > 0 || ss_optimizer_in_model_type(c->job, c->stack) ||
        (!zero && reads_gradients(c)))
        return 0;
    if (zero && c->fsdp.n > 1)
        own = fmin(own, SUB_GROUP);
    return (zero ? 4 + bytes.grad : 4) * own * (1 - c->job->offload.optimizer);
}

/* Returns whether shards are their own master copy: PyTorch's FSDP shards fp32 parameters and gathers them in
 * 16 bit. */
static int shard_is_master(const struct ss_cost_context *c)
{
    return c->stack->fsdp_pytorch > 0 && ss_parameter_bytes(c->job, c->stack).weight < 4 &&
           c->job->dp.sharding >= SS_SHARD_OPTIM_GRADS_PARAMS;
}

/* Returns whether quantized weights stay from one microbatch to the next. */
static int caches_fp8(const struct ss_cost_context *c)
{
    return ss_precision_is_quantized(c->job->precision) && !c->stack->fp8_dynamic;
}

/* Returns the bytes of `params` parameters; `gemm` of them are in GEMMs, which may keep them quantized. */
static double weight_bytes(const struct ss_cost_context *c, double params, double gemm)
{
    double narrow = caches_fp8(c) && c->job->fp8_param_gather ? gemm : 0;
    return (params - narrow) * ss_parameter_bytes(c->job, c->stack).weight + narrow * c->shape.quantized;
}

/* Returns one rank's part of `bytes` bytes of parameters, `expert` of them of experts; each kind is sharded
 * in its own group. */
static double sharded(const struct ss_cost_context *c, double bytes, double expert)
{
    return (bytes - expert) / c->fsdp.n + (expert > 0 ? expert / c->edp.n : 0);
}

/* Returns the parameters of which FSDP has shards. */
static double apart(const struct ss_cost_context *c, const struct ss_param_count *params)
{
    return dense_of(params) + (c->edp.n > 1 ? params->expert : 0);
}

/* Shards what the job shards inside a group, and adds what is gathered at a time. */
static void shard_fully(const struct ss_cost_context *c, const struct ss_param_count *params, double grad,
                        struct ss_optimizer_shards shards, double memory[SS_MEM_COUNT])
{
    int pytorch = c->stack->fsdp_pytorch > 0, once = ss_job_fsdp_once(c->job, c->stack);
    int single = ss_memory_per_parameter(c);
    double e = c->shape.e, largest = pytorch ? params->layer : fmax(params->layer, params->border);
    if (c->job->dp.sharding >= SS_SHARD_OPTIM_GRADS_PARAMS) {
        memory[SS_MEM_WEIGHTS] =
            c->job->offload.params
                ? 0
                : sharded(c, memory[SS_MEM_WEIGHTS], weight_bytes(c, params->expert, params->expert_gemm));
        /* this layer and the next one, or all; experts of one rank alone are no shards */
        if (!single)
            memory[SS_MEM_OTHER] +=
                once ? apart(c, params) * e
                     : fmax(params->layer + largest, fmin(params->all, c->stack->zero_live)) * e;
        if (pytorch && !single && !once)
            memory[SS_MEM_OTHER] += params->borders * e;
        if (shard_is_master(c)) {
            memory[SS_MEM_WEIGHTS] = sharded(c, 4 * params->all, 4 * params->expert);
            memory[SS_MEM_OPTIMIZER] -=
                (4 * dense_of(params) / shards.dense + 4 * params->expert / shards.expert) *
                (1 - c->job->offload.optimizer);
        }
    }
    if (once) {
        memory[SS_MEM_GRADIENTS] += apart(c, params) * (ss_fsdp_gradient_bytes(c) - grad);
    } else if (c->job->dp.sharding >= SS_SHARD_OPTIM_GRADS) {
        memory[SS_MEM_GRADIENTS] = sharded(c, memory[SS_MEM_GRADIENTS], params->expert * grad);
        if (c->job->offload.params) /* those of what the host steps lie there */
            memory[SS_MEM_GRADIENTS] *= 1 - c->job->offload.optimizer;
        memory[SS_MEM_OTHER] +=
            single ? ss_memory_gathered(c, params) : largest * grad + (pytorch ? params->borders * e : 0);
    }
}

/* Buffers that DeepEP registers for a group of `ranks`, in bytes: queues of tokens by channel (two SMs) and
 * peer, over the fabric inside the node, and between nodes for sending and for receiving (deepseek-ai/DeepEP
 * csrc/config.hpp, lengths of deep_ep/buffer.py). Tokens are of 16 bit, as Megatron asks for; each brings its
 * source and up to 128 experts, weights and scales. */
double ss_memory_deepep(int ranks, double hidden, int sms)
{
    static const struct {
        int ranks, nvlink, rdma; /* tokens of a queue, the longer of dispatch and combine */
    } lengths[] = {{8, 256, 0},    {16, 288, 140},  {32, 288, 128},
                   {64, 288, 140}, {128, 560, 128}, {INT_MAX, 720, 132}};
    enum { PEERS = 8, TOP_K = 128, SCALES = 128, SOURCE = 8, CONTROL = 16, SPARE = 1 << 20 };
    double channels = sms / 2, inside = ranks < PEERS ? ranks : PEERS, nodes = ranks / PEERS;
    double token = 2 * hidden + SOURCE + TOP_K * (8 + 4) + SCALES * 4;
    int i = 0;
    while (lengths[i].ranks < ranks)
        i++;
    double bytes = channels * inside * lengths[i].nvlink * token;
    if (lengths[i].rdma)
        bytes += channels * nodes * lengths[i].rdma * 2 * (token + CONTROL) + SPARE;
    return bytes;
}

/* HybridEP has room on each rank for all tokens of the group, as if all chose that rank. Dispatch and combine
 * share the fp32 probabilities of the node's experts and the scales of 128 elements. For each other node a
 * rank has room for its own tokens, once in dispatch and twice in combine (deepseek-ai/DeepEP, branch
 * hybrid-ep: csrc/hybrid_ep/buffer and hybrid_ep.cu). */
double ss_memory_hybridep(int ranks, int local, double experts, double tokens, double hidden, double wide)
{
    double probabilities = 4 * experts * local, scales = 4 * hidden / 128;
    double inside = 2 * hidden + probabilities + scales;
    double dispatched = wide * hidden + probabilities + scales, combined = 2 * (2 * hidden + probabilities);
    return tokens * (ranks * inside + (ranks / local - 1) * (dispatched + combined));
}

/* Returns the dispatcher's buffers on a stage with experts. NCCL's all-to-all and gather use the buffers of
 * their groups. Megatron's allgather dispatcher gathers the tokens of all ranks into a buffer of its own,
 * which stays (use_global_buffer in token_dispatcher.py). */
static double dispatcher_buffers(const struct ss_cost_context *c, const struct ss_param_count *params)
{
    const struct ss_shape *s = &c->shape;
    int ranks = s->ep * s->etp;
    if (!(params->expert > 0) || ranks < 2)
        return 0;
    if (s->dispatcher == SS_DISPATCH_HYBRIDEP)
        return ss_memory_hybridep(ranks, c->etp_ep.per_node > 0 ? c->etp_ep.per_node : ranks,
                                  s->local_experts, s->tokens / s->sp, s->moe_h, s->fp8_dispatch ? 1 : 2);
    if (s->dispatcher == SS_DISPATCH_ALLGATHER)
        return ranks * s->tokens / s->sp * s->moe_h * s->e;
    return s->dispatcher == SS_DISPATCH_DEEPEP ? ss_memory_deepep(ranks, s->moe_h, (int)c->net.dispatch_sms)
                                               : 0;
}

/* Returns the share of the states that the device holds; of those that are swapped, the part that is stepped. */
static double kept_states(const struct ss_job *job)
{
    return job->offload.swap ? 1. / (job->offload.swap_times > 0 ? job->offload.swap_times : 1)
                             : 1 - job->offload.optimizer;
}

/* Returns the bytes of weights that are not trained: shards where parameters are sharded. */
static double frozen_bytes(const struct ss_cost_context *c, const struct ss_param_count *params)
{
    double shards = c->job->dp.sharding >= SS_SHARD_OPTIM_GRADS_PARAMS ? c->fsdp.n : 1;
    return params->frozen * (shard_is_master(c) ? 4 : ss_parameter_bytes(c->job, c->stack).weight) / shards;
}

void ss_memory_static(const struct ss_cost_context *c, const struct ss_param_count *params,
                      struct ss_optimizer_shards shards, double memory[SS_MEM_COUNT])
{
    const struct ss_job *job = c->job;
    struct ss_parameter_bytes bytes = ss_parameter_bytes(job, c->stack);
    double states =
        /* Muon has no second moment */
        dense_of(params) * (bytes.states / shards.dense) + params->expert * (bytes.states / shards.expert) -
        4 * (params->muon / shards.dense + params->expert_muon / shards.expert);
    memset(memory, 0, SS_MEM_COUNT * sizeof *memory);
    memory[SS_MEM_WEIGHTS] = weight_bytes(c, params->all, params->gemm);
    memory[SS_MEM_GRADIENTS] = params->all * bytes.grad;
    memory[SS_MEM_OPTIMIZER] = states * kept_states(job) + gradient_copies(c, params, shards) +
                               gather_copies(c, params, shards) + zero_buckets(c);
    if (c->fsdp.n > 1 || job->offload.params)
        shard_fully(c, params, bytes.grad, shards, memory);
    else if (c->stack->ddp_copies > 0 && c->replicas > 1 &&
             !(adds_gradients(c) && job->dp.distributed_optimizer)) /* nanotron has no buckets with ZeRO */
        memory[SS_MEM_GRADIENTS] += params->all * ss_ddp_copy_bytes(c);
    if (caches_fp8(
            /* copies by rows and by columns over the microbatches; one of them may be the parameter itself */
            c))
        memory[SS_MEM_WEIGHTS] +=
            params->gemm * c->shape.quantized *
            ((c->shape.any_layout || c->shape.weights_turned || c->stack->fp8_keeps_less > 0 ? 1 : 2) -
             job->fp8_param_gather);
    if (c->shape.tp_comm_overlap)
        memory[SS_MEM_OTHER] += c->stack->tp_overlap_buffers * c->shape.tokens * c->shape.h * 2;
    memory[SS_MEM_OTHER] += dispatcher_buffers(c, params);
    memory[SS_MEM_WEIGHTS] += frozen_bytes(c, params);
    if (c->stack->dummy_gradients > 0 && c->shape.wgrad_fused)
        memory[SS_MEM_OTHER] += params->shapes * c->shape.e;
    if (job->pp > 1) /* received activation and gradient; twice where sends overlap */
        memory[SS_MEM_OTHER] += (c->p2p_overlapped ? 4 : 2) * ss_shape_border_bytes(&c->shape);
}

double ss_memory_host(const struct ss_cost_context *c, const struct ss_param_count *params,
                      struct ss_optimizer_shards shards, const struct ss_layer_set *set)
{
    const struct ss_parameter_bytes bytes = ss_parameter_bytes(c->job, c->stack);
    double offload = c->job->offload.optimizer, kept = 0;
    double local = dense_of(params) / shards.dense + params->expert / shards.expert;
    double states = local * (offload * (bytes.states + 4) + (c->job->offload.swap ? bytes.states : 0));
    for (int i = 0; i < set->nlists && c->job->offload.activations; i++)
        if (set->list[i]->ops.where == SS_WHERE_TRANSFORMER)
            kept = fmax(kept, ss_ops_saved_bytes(&set->list[i]->ops, 0));
    if (c->job->offload.optimizer_nvme) /* buffers of a parameter, its gradient and its two moments in fp32 */
        states = 16 * fmin(offload * local, SUB_GROUP);
    if (c->job->offload.params)
        states += local * ((1 - c->on_nvme) * bytes.weight + offload * bytes.grad);
    return states + c->job->offload.layers * kept;
}

/* Sums over the transformer layers of a chunk. */
struct layers {
    int redone;       /* number of recomputed layers */
    double kept;      /* bytes that the other layers keep from F to B */
    double offloaded; /* the part of `kept` on the host */
    /* offload by module: the most that a layer, and that one of its modules, has on its way from or to the
     * host */
    double moving, moving_group;
    double weight_grad;
    double working; /* largest of the kinds of layers */
    double hidden;  /* largest difference between what a layer makes and what it keeps */
    double redo;    /* most that one recomputed layer makes */
    double streams; /* most that recompute of its hyper-connections makes again in one layer */
    double passing; /* most that the forward of a layer makes and gives back */
};

/* Adds up the numbered layers, or those of an encoder (1 + SS_VISION or SS_AUDIO) in its own context. */
static struct layers sum_layers(const struct ss_cost_context *c, const struct ss_layer_set *set, int k,
                                int encoder)
{
    struct layers l = {0};
    unsigned modules = encoder ? 0 : ss_job_redone_modules(c->job);
    for (size_t i = 0; i < set->chunks[k].n; i++) {
        const struct ss_layer_run *run = &set->chunks[k].run[i];
        const struct ss_layer_part *part = ss_layer_part(set, run);
        const struct ss_ops *ops = part->ops;
        if (encoder ? ops->encoder != encoder : !ss_layer_is_transformer(set, run))
            continue;
        double full = ss_ops_saved_bytes(ops, 0), kept = ss_ops_saved_bytes(ops, modules);
        l.working = fmax(l.working, ops->sum.working);
        if (part->treatment == SS_TREAT_FROZEN) {
            l.passing = fmax(l.passing, full);
            continue;
        }
        l.hidden = fmax(l.hidden, full - kept);
        l.streams = fmax(l.streams, full - ss_ops_saved_bytes(ops, modules & SS_MODULE_BIT(SS_MODULE_MHC)));
        double passes = full + ops->sum.coded - kept;
        if (part->treatment == SS_TREAT_RECOMPUTED || passes > 0)
            l.passing = fmax(l.passing, ss_memory_passing(ops, passes));
        l.weight_grad += run->count * ss_ops_weight_grad_bytes(ops, &c->shape);
        if (part->treatment == SS_TREAT_RECOMPUTED) {
            l.redone += run->count;
            l.redo = fmax(l.redo, full);
        } else {
            l.kept += run->count * kept;
        }
        if (part->treatment == SS_TREAT_OFFLOADED) {
            const struct ss_offloaded moved = ss_layer_offloaded(c->job, ops);
            l.offloaded += run->count * moved.freed;
            l.moving = fmax(l.moving, c->job->offload.modules ? moved.copied : 0);
            l.moving_group = fmax(l.moving_group, moved.group);
        }
    }
    return l;
}

double ss_memory_group_input(const struct ss_cost_context *c)
{
    int uniform = c->job->recompute.method == SS_RECOMPUTE_UNIFORM && c->job->recompute.num_layers > 0;
    return ss_shape_border_bytes(&c->shape) / (uniform ? c->job->recompute.num_layers : 1);
}

/* Returns the bytes of a recomputed layer's input, of which a tensor rank may keep its part. */
static double kept_input(const struct ss_cost_context *c)
{
    return ss_shape_border_bytes(&c->shape) / (c->job->recompute.distributed ? c->tp.n : 1);
}

/* Adds what recompute of hyper-connections keeps: the streams before each block of layers. A backward makes a block's again at once. */
static void streams_memory(const struct ss_cost_context *c, const struct layers *l,
                           struct ss_chunk_cost *chunk)
{
    int layers = chunk->nlayers, block = c->job->recompute.mhc_layers;
    if (l->streams <= 0 || layers < 1)
        return;
    block = block > 0 && block < layers ? block : layers;
    chunk->activation_bytes += ceil((double)layers / block) * ss_shape_border_bytes(&c->shape);
    chunk->backward_extra_bytes += (block - 1) * l->streams;
}

/* Adds up what the transformer layers keep from F to B, and the working sets of F and B. Returns, of FSDP by
 * single parameters, the bytes that a forward makes between tensors that stay: they leave holes in the pool
 * that the loss's blocks do not fit. */
static double layers_memory(const struct ss_cost_context *c, const struct ss_layer_set *set, int k,
                            struct ss_chunk_cost *chunk)
{
    const struct ss_job *job = c->job;
    const struct layers l = sum_layers(c, set, k, 0);
    int group = job->recompute.method == SS_RECOMPUTE_UNIFORM && job->recompute.num_layers > 0
                    ? job->recompute.num_layers
                    : 1;
    double border = ss_shape_border_bytes(&c->shape);
    /* of the residual stream, of the running branch, and of the output of its norm */
    double gradients = 3 * border;
    chunk->activation_bytes = ceil((double)l.redone / group) * kept_input(c) + l.kept;
    chunk->activation_bytes -= l.offloaded; /* offloaded bytes live on the host */
    chunk->forward_extra_bytes = l.working;
    chunk->backward_extra_bytes = l.working + gradients + l.hidden;
    /* The backward recomputes the activations of one group, whose input was kept; the kept activations of
     * later layers are gone by then. */
    if (l.redone > 0)
        chunk->backward_extra_bytes =
            l.working + gradients +
            fmax(l.redone < chunk->nlayers ? l.hidden : 0, fmin(group, l.redone) * l.redo - border - l.kept);
    streams_memory(c, &l, chunk);
    if (ss_memory_per_parameter(c))
        chunk->backward_extra_bytes += ss_memory_layer_gradients(c, set, k);
    /* Forward: a layer's tensors on their way to the host. Backward: the tensors of its first layer, which
     * are back early where other slots lie between; and a module's tensors that arrive while the layer behind
     * still has its own. */
    chunk->forward_extra_bytes += (chunk->has_loss ? 1 : 2) * l.moving;
    chunk->backward_extra_bytes += (chunk->has_loss ? 0 : l.moving) + l.moving_group;
    chunk->weight_grad_bytes = l.weight_grad;
    return ss_memory_per_parameter(c) ? l.passing : 0;
}

/* Adds what an encoder keeps from F to B, which is over when the language model's layers are. Frozen layers pass on what they make. */
static void encoder_memory(const struct ss_cost_context *c, const struct ss_layer_set *set, int k,
                           int encoder, struct ss_chunk_cost *chunk)
{
    const struct ss_cost_context own = ss_cost_of_encoder(c, encoder);
    const struct layers l = sum_layers(&own, set, k, 1 + encoder);
    double border = ss_shape_border_bytes(&own.shape);
    chunk->activation_bytes += l.redone * border + l.kept;
    chunk->forward_extra_bytes = fmax(chunk->forward_extra_bytes, l.working + l.passing);
    chunk->backward_extra_bytes = fmax(chunk->backward_extra_bytes, l.working + 3 * border + l.redo);
    chunk->weight_grad_bytes += l.weight_grad;
}

/* Adds embedding, output layer, or what multi-token prediction has beside its layer. Logits are a class of
 * memory of their own. A recomputed part keeps its input. */
static void border_memory(const struct ss_cost_context *c, const struct ss_layer_set *set,
                          const struct ss_layer_run *run, double passing, struct ss_chunk_cost *chunk)
{
    const struct ss_ops *ops = ss_layer_part(set, run)->ops;
    int redone = ss_layer_part(set, run)->treatment == SS_TREAT_RECOMPUTED;
    double logits = ops->sum.logits, kept = ss_ops_saved_bytes(ops, 0) - logits;
    chunk->logits_bytes += logits;
    chunk->border_bytes += redone ? ss_shape_border_bytes(&c->shape) : kept;
    chunk->backward_extra_bytes += redone ? kept : 0;
    double loss = ops->sum.logits_working;
    if (ops->is_loss && ss_memory_per_parameter(c)) { /* layers' backwards have the room of logits */
        loss = fmax(loss, ss_memory_output_gradients(c, ops)) + passing;
        chunk->backward_extra_bytes -= logits;
    }
    chunk->backward_extra_bytes = fmax(chunk->backward_extra_bytes, loss);
    chunk->weight_grad_bytes += ss_ops_weight_grad_bytes(ops, &c->shape);
}

/* Returns what a chunk keeps of the output that it has sent to the next chunk: see ss.memory.keep_outputs. */
static double kept_output(const struct ss_cost_context *c)
{
    double keeps = c->stack->keep_outputs;
    return keeps > 1 ? ss_shape_send_bytes(&c->shape) : keeps > 0 ? ss_shape_border_bytes(&c->shape) : 0;
}

/* Rounds to whole bytes. Uneven loads of experts are averages, so bytes have fractions, and rounding errors
 * of sums would decide which of several equal moments is the peak. */
static void whole_bytes(struct ss_chunk_cost *chunk)
{
    chunk->activation_bytes = round(chunk->activation_bytes);
    chunk->logits_bytes = round(chunk->logits_bytes);
    chunk->forward_extra_bytes = round(chunk->forward_extra_bytes);
    chunk->backward_extra_bytes = round(chunk->backward_extra_bytes);
    chunk->weight_grad_bytes = round(chunk->weight_grad_bytes);
}

void ss_memory_chunk(const struct ss_cost_context *c, const struct ss_layer_set *set, int k,
                     struct ss_chunk_cost *chunk)
{
    double passing = layers_memory(c, set, k, chunk);
    chunk->logits_bytes = chunk->border_bytes = 0;
    for (size_t i = 0; i < set->chunks[k].n; i++)
        if (!ss_layer_is_transformer(set, &set->chunks[k].run[i]) &&
            !ss_layer_part(set, &set->chunks[k].run[i])->ops->encoder)
            border_memory(c, set, &set->chunks[k].run[i], passing, chunk);
    chunk->activation_bytes += chunk->border_bytes;
    for (int e = 0; e < SS_ENCODERS && chunk->has_embedding; e++)
        if (c->tower[e])
            encoder_memory(c, set, k, e, chunk);
    if (!chunk->has_loss)
        chunk->activation_bytes += kept_output(c);
    whole_bytes(chunk);
}
