/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mixture of experts, as Megatron-LM's MoELayer: router, permutation, exchange between the ranks of the
 * expert group, experts as grouped GEMMs, exchange and permutation back. Shared experts run beside them.
 */
#include <math.h>
#include <string.h>

#include "layers/kinds.h"
#include "layers/mlp.h"
#include "stepsim/job_kinds.h"

/* Appends the norm before the mixture. Router, permutation and shared experts read its output, so that stays
 * in 16 bit. */
static void norm(struct ss_ops *ops, const struct ss_shape *s)
{
    double x = s->tokens * s->h / s->sp;
    if (s->experts <= 1) {
        ss_op_norm(ops, s, "mlp norm");
        return;
    }
    struct ss_op *op = ss_op_norm_of(ops, s, "mlp norm", x, s->h, s->e);
    op->modules = SS_MODULE_BIT(SS_MODULE_LAYERNORM);
    op->redone_bytes = x * s->e;
    op->saved_bytes = 2 * x * s->e + 4 * s->tokens / s->sp;
    ss_op_offers(ops, op, SS_OFFLOAD_BIT(SS_OFFLOAD_MLP_NORM), x, s->e);
}

/* Further operators of some routers: the best of the groups; sigmoid scores with a choosing bias, which are
 * gathered, divided by their sum and scaled, and divided again for the auxiliary loss; and the counts that
 * move the bias. */
enum { GROUP_KERNELS = 9, BIAS_KERNELS = 11, BIAS_BACKWARD_KERNELS = 11, COUNT_KERNELS = 2 };

/* Appends Megatron's apply_input_jitter, which multiplies the router's input by noise: numbers are drawn,
 * scaled, moved and multiplied. It keeps the noise, and the product, which the router's GEMM reads. */
static void jitter(struct ss_ops *ops, const struct ss_shape *s)
{
    double pass = s->tokens / s->sp * s->h * s->e;
    if (!s->input_jitter)
        return;
    struct ss_op *op = ss_op_kernels(ops, "input jitter", 8 * pass, 3 * pass, 4, 1);
    op->saved_bytes = 2 * pass;
}

/* Appends the router: scores of all experts, and the choice of top-k in PyTorch's operators as Megatron core
 * 0.13 calls them: top-k, softmax, map of the tokens (10); scores and map again for the auxiliary loss, its
 * sums, its log (16). Fused there is one kernel each for top-k, scores and loss, and those for counts, map
 * and log. */
static void router(struct ss_ops *ops, const struct ss_shape *s)
{
    double own = s->tokens / s->sp, scores = own * s->experts;
    jitter(ops, s);
    struct ss_op *op = ss_op_replicated(ops, "router", s, s->experts, s->h, s->storage_precision);
    op->gemm_params = op->model_flops = 0; /* 16 bit under fp8, as the logits; Megatron does not count it */
    op->params +=
        (s->model->router_bias > 0 ? s->experts : 0) + (s->model->router_linear_bias > 0 ? s->experts : 0);
    op->tensors += (s->model->router_bias > 0) + (s->model->router_linear_bias > 0);
    op->saved_bytes = scores * 4; /* keeps the logits; the norm keeps the input */
    if (s->router_fp32 && s->e < 4) {
        /* Forward: cuBLAS writes fp32 from 16-bit inputs. Backward: input, weight and their gradients are
         * cast, and the GEMMs move 4 bytes instead of 2. */
        double x = own * s->h, w = s->experts * s->h;
        ss_op_kernels(ops, "router casts", 0, 16 * (x + w), 0, 4);
        ops->op[ops->n - 1].is_cast = 1;
    }
    op = ss_op_add(ops, "routing", SS_OP_ELEMENTWISE);
    int groups = s->model->router_groups > 0, bias = s->model->router_bias > 0;
    if (s->router_fused)
        ss_op_traffic(op, scores * 4 * 4, scores * 4 * 4, 8 + bias * COUNT_KERNELS, 4);
    else
        ss_op_traffic(op, scores * 4 * 10, scores * 4 * 6, 26 + groups * GROUP_KERNELS + bias * BIAS_KERNELS,
                      12 + bias * BIAS_BACKWARD_KERNELS);
    op->saved_bytes = scores * (4 + 1); /* probabilities, map */
}

/* Appends the counts of the experts' tokens, for which the host waits: sums, their exchange, copies to the
 * host. HybridEP gathers the map from all tokens of the expert group to experts, one byte each, and each rank
 * reads all of it. */
static void counts(struct ss_ops *ops, const struct ss_shape *s)
{
    int kernels = s->dispatcher == SS_DISPATCH_ALLTOALL ? 12 : ss_op_by_stages(s) ? 3 : 5;
    int hybrid = s->dispatcher == SS_DISPATCH_HYBRIDEP;
    if (s->ep * s->etp > 1) {
        struct ss_op *op = ss_op_add(ops, "counts", SS_OP_ELEMENTWISE);
        double map = hybrid && s->ep > 1 ? s->ep * s->tokens / s->sp * s->experts : 0;
        ss_op_traffic(op, map, 0, kernels, 0);
        op->gathers_first = map;
        if (hybrid) { /* its dispatch calls NCCL and launches the other kernels */
            op->forward_kernels = 1;
            op->forward_launches = kernels - 1;
        }
    }
    ops->op[ops->n - 1].host_waits = s->ep * s->etp > 1 && !s->padded;
}

/* Returns the bytes of one member's buffer in 16 bit, to the experts or back: the copies of tokens that the
 * busiest rank gets or sends; or tokens, where a dispatcher copies them on the way (struct
 * ss_token_spread). */
static double moved(const struct ss_shape *s)
{
    return (ss_op_by_stages(s) ? s->tokens / s->sp : s->sent * fmax(1, s->busiest)) * s->moe_h * s->e;
}

/* Returns these bytes where a dispatch moves 1 byte an element and one scale for 128 elements. */
static double moved_in_fp8(const struct ss_shape *s)
{
    return moved(s) / s->e * ss_op_dispatched(s);
}

/* Return the kinds of the exchange to the experts and of the exchange back; both are one kind where amounts
 * are even. */
static int kind_there(const struct ss_shape *s)
{
    return ss_op_by_stages(s) ? SS_COLL_DISPATCH : SS_COLL_ALL_TO_ALL;
}

static int kind_back(const struct ss_shape *s)
{
    if (ss_op_by_stages(s))
        return SS_COLL_COMBINE;
    return s->uneven ? SS_COLL_ALL_TO_ALL_BACK : SS_COLL_ALL_TO_ALL;
}

/* Appends the dispatch: an all-to-all in the expert group, then a gather in its tensor group. Tensors that
 * are summed stay in 16 bit. The fp32 probability of each copy weighs the activation there; it and its
 * gradient have all-to-alls of their own. HybridEP sends with each copy the probabilities of all experts that
 * fabric joins. */
static void dispatch(struct ss_ops *ops, const struct ss_shape *s)
{
    double row = s->moe_h * s->e, own = s->tokens / s->sp * row;
    double weights = s->dispatcher == SS_DISPATCH_HYBRIDEP ? 4 * s->tokens / s->sp * s->near_experts : 0;
    int apart = s->dispatcher == SS_DISPATCH_ALLTOALL && s->stack->moe_probabilities > 0;
    int group = s->ep * s->etp;
    if (s->dispatcher == SS_DISPATCH_ALLGATHER && group > 1) {
        ss_op_exchange(ops, "dispatch", SS_COMM_ETP_EP, SS_COLL_ALL_GATHER, SS_COLL_REDUCE_SCATTER,
                       group * own, group * own);
        return;
    }
    if (s->ep <= 1)
        return;
    ss_op_exchange(ops, "dispatch", SS_COMM_EP, kind_there(s), kind_back(s), moved_in_fp8(s) + weights,
                   moved(s) + weights);
    struct ss_op *op = &ops->op[ops->n - 1];
    op->exchange.ahead = apart ? 4 * s->sent * fmax(1, s->busiest) : 0;
    op->forward_kernels = op->backward_kernels = apart ? 2 : 1;
}

static void gather(struct ss_ops *ops, const struct ss_shape *s)
{
    double bytes = s->routed * s->moe_h * s->e;
    if (s->dispatcher != SS_DISPATCH_ALLGATHER && s->etp > 1)
        ss_op_exchange(ops, "gather", SS_COMM_ETP, SS_COLL_ALL_GATHER, SS_COLL_REDUCE_SCATTER, bytes, bytes);
}

/* Appends the combine. Its backward dispatches the gradients of the experts' outputs, which go to fp8
 * GEMMs. */
static void combine(struct ss_ops *ops, const struct ss_shape *s)
{
    double row = s->moe_h * s->e, own = s->tokens / s->sp * row;
    int group = s->ep * s->etp;
    if (s->dispatcher == SS_DISPATCH_ALLGATHER && group > 1) {
        ss_op_exchange(ops, "combine", SS_COMM_ETP_EP, SS_COLL_REDUCE_SCATTER, SS_COLL_ALL_GATHER,
                       group * own, group * own);
        return;
    }
    if (s->etp > 1)
        ss_op_exchange(ops, "scatter", SS_COMM_ETP, SS_COLL_REDUCE_SCATTER, SS_COLL_ALL_GATHER,
                       s->routed * row, s->routed * row);
    if (s->ep > 1)
        ss_op_exchange(ops, "combine", SS_COMM_EP, kind_back(s), kind_there(s), moved(s), moved_in_fp8(s));
}

/* Appends one linear layer of all experts of a rank. */
static struct ss_op *grouped(struct ss_ops *ops, const struct ss_shape *s, const char *name, double n,
                             double k)
{
    struct ss_op *op = ss_op_linear(ops, name, s, n, k, SS_TP_NONE, s->gemm_precision, 0);
    op->kind = SS_OP_GROUPED_GEMM;
    op->expert = 1;
    op->gemm.groups = s->local_experts;
    op->gemm.scattered = s->scattered;
    op->gemm.m = s->routed;
    op->forward_flops = op->model_flops = 2 * op->gemm.m * n * k;
    op->backward_flops = 2 * op->forward_flops;
    op->gemm_params = op->params = op->gemm.groups * n * k;
    op->tensors = (int)op->gemm.groups;
    op->forward_launches = op->tensors; /* cuBLAS runs a GEMM for each expert, on streams side by side */
    /* one is the hook that reports a finished gradient, one may add it to the main gradient */
    op->backward_launches = (3 + op->backward_launches) * op->tensors;
    if (s->fused_experts) {
        op->gemm.one_kernel = 1;
        op->forward_launches = 0;
        op->backward_launches = op->tensors;
    }
    if (s->sequential) { /* each expert has a call of its own, whose latency is that of its GEMM */
        op->forward_kernels = op->forward_launches;
        op->backward_kernels = 2 * op->tensors;
        op->forward_launches = op->backward_launches = 0;
    }
    if (s->model->expert_bias > 0) {
        op->params += op->gemm.groups * n;
        op->tensors *= 2;
    }
    return op;
}

/* Offers the input and output of the experts' FC1. Where the input is moved, Transformer Engine keeps its
 * 16-bit form instead of its cast. */
static void offer(struct ss_ops *ops, const struct ss_op *op, const struct ss_shape *s, double fc1,
                  double kept, double kept_output)
{
    if (s->experts > 1)
        ss_op_offers(ops, op, SS_OFFLOAD_BIT(SS_OFFLOAD_EXPERT_FC1), s->routed * s->moe_h, kept)->copied =
            s->routed * s->moe_h * s->e;
    ss_op_offers(ops, op, SS_OFFLOAD_BIT(SS_OFFLOAD_MOE_ACT), s->routed * fc1, kept_output);
}

/* PyTorch's kernels clamp both halves of the activation's input and join them. In the backward a half with
 * one bound is compared (a flag of 1 byte an element) and chosen; the other half is compared twice; then the
 * halves are joined. The rows of a half lie apart, so kernels that read one are strided: two forward, five
 * backward. */
enum { CLAMP_KERNELS = 3, CLAMP_BACKWARD_KERNELS = 7, CLAMP_BACKWARD_PASSES = 11, CLAMP_FLAGS = 8 };

static void clamp(struct ss_ops *ops, const struct ss_shape *s)
{
    double half = s->routed * s->moe_ffn;
    if (s->model->activation_clamp <= 0 || !s->gated)
        return;
    struct ss_op *op = ss_op_kernels(ops, "activation clamp", 8 * half * s->e,
                                     half * (CLAMP_BACKWARD_PASSES * s->e + CLAMP_FLAGS), CLAMP_KERNELS,
                                     CLAMP_BACKWARD_KERNELS);
    ss_op_strided(op, 2 * half, 5 * half, 2 * s->e);
    op->modules = SS_MODULE_BIT(SS_MODULE_MOE_ACT);
    op->saved_bytes = op->redone_bytes = 2 * half * s->e;
}

/* Appends the casts of the experts. Fused, the epilogue of the first product clamps, activates and quantizes,
 * and that of the second product's backward quantizes what goes on to the first. The input of the first
 * product and the gradient of the second have kernels of their own. */
static void cast(struct ss_ops *ops, const struct ss_shape *s, double in, double out, int first)
{
    if (!ss_precision_is_quantized(s->gemm_precision))
        return;
    if (!s->fused_experts) {
        ss_op_expert_cast(ops, s, in, out);
        return;
    }
    ss_op_expert_cast(ops, s, first ? in : 0, first ? 0 : out);
    struct ss_op *op = &ops->op[ops->n - 1];
    if (first)
        op->backward_kernels = op->backward_launches = 0;
    else
        op->forward_kernels = op->forward_launches = 0;
}

static void activation(struct ss_ops *ops, const struct ss_shape *s, double kept)
{
    struct ss_op *op;
    if (!s->fused_experts)
        clamp(ops, s);
    op = ss_op_activation(ops, s, s->routed, s->moe_ffn);
    if (s->fused_experts)
        ss_op_traffic(op, 0, 0, 0, 0);
    op->modules = SS_MODULE_BIT(SS_MODULE_MOE_ACT); /* keeps its output here: the input of FC2 */
    op->saved_bytes = op->redone_bytes = s->routed * s->moe_ffn * kept;
}

/* Appends the experts of a rank on the tokens that they got. Probabilities weigh the activation, so nothing
 * behind it is kept. In fp8 the inputs of both products are cast, and transposed for the weight gradients. */
static void experts(struct ss_ops *ops, const struct ss_shape *s)
{
    double fc1 = s->moe_ffn * (s->gated ? 2 : 1), kept = ss_op_saved_in_fp8(s) ? s->quantized : s->e;
    cast(ops, s, s->moe_h, fc1, 1);
    struct ss_op *op = grouped(ops, s, "experts fc1", fc1, s->moe_h);
    /* It keeps its input (for a single expert the norm keeps that) and the input of the activation. */
    op->saved_bytes =
        s->routed * ((s->experts > 1 ? s->moe_h * kept : 0) + fc1 * (ss_op_kept_in_fp8(s) ? 1 : s->e));
    offer(ops, op, s, fc1, kept, ss_op_kept_in_fp8(s) ? 1 : s->e);
    activation(ops, s, kept);
    cast(ops, s, s->moe_ffn, s->moe_h, 0);
    op = grouped(ops, s, "experts fc2", s->moe_h, s->moe_ffn);
    /* Gradients are alive as in a dense MLP, and those of the copies of tokens beyond the tokens
     * themselves. */
    double copies = s->routed - s->tokens / s->sp, inplace = s->stack->inplace_activation > 0;
    op->working_bytes = (s->routed * (s->moe_ffn + (inplace ? 0 : fc1)) + copies * s->moe_h) * s->e -
                        s->routed * s->moe_ffn * kept;
}

/* Returns whether the experts' probabilities are in fp32, so that PyTorch computes in fp32 with them. */
static int wide_probabilities(const struct ss_shape *s)
{
    return s->e < 4 && (s->router_fp32 || ss_op_by_stages(s));
}

/* Appends FC2's bias, weighed by the tokens' probabilities. Megatron splits the tokens by expert, multiplies
 * and adds for each expert, and joins them. The backward joins the parts of the gradient, multiplies them by
 * bias and by probability, and sums both. In fp32 the tensors between are twice as wide, and cast. Products
 * with a broadcast operand are strided. */
static void bias(struct ss_ops *ops, const struct ss_shape *s)
{
    double pass = s->routed * s->moe_h * s->e;
    int groups = (int)s->local_experts, wide = wide_probabilities(s);
    if (s->model->expert_bias > 0 && s->fused_experts) /* one kernel for both sums of the gradient */
        ss_op_kernels(ops, "experts bias", 0, pass, 0, 1);
    if (s->model->expert_bias <= 0 || s->fused_experts)
        return;
    struct ss_op *op = ss_op_kernels(ops, "experts bias", (wide ? 14 : 6) * pass, (wide ? 20 : 8) * pass,
                                     2 * groups + 1 + wide, (4 + wide) * groups + 1 + wide);
    ss_op_strided(op, pass / s->e, 2 * pass / s->e, 2 * s->e * (1 + wide));
}

/* Appends the shared experts, on all tokens, tensor parallel as a dense MLP; a gate weighs their output by
 * one number a token. */
static void shared_experts(struct ss_ops *ops, const struct ss_shape *s)
{
    const struct ss_mlp_names names = {"shared fc1", "shared fc2", "shared fc3",
                                       s->shared_redone ? SS_CAST_OF_OWN : SS_CAST_OF_KEPT};
    double x = s->tokens / s->sp * s->h * s->e;
    int first = ops->n;
    if (s->shared_ffn <= 0)
        return;
    ss_op_mlp(ops, s, &names, s->shared_ffn);
    for (int i = first; i < ops->n; i++) {
        ops->op[i].modules = SS_MODULE_BIT(SS_MODULE_SHARED_EXPERTS);
        ops->op[i].beside_exchange = s->shared_overlap;
    }
    struct ss_op *op =
        ss_op_kernels(ops, "shared output", (s->model->shared_expert_gate ? 5 : 3) * x,
                      (s->model->shared_expert_gate ? 5 : 0) * x, s->model->shared_expert_gate ? 3 : 1,
                      s->model->shared_expert_gate ? 4 : 0);
    op->params = s->model->shared_expert_gate ? s->h : 0;
    op->tensors = s->model->shared_expert_gate ? 1 : 0;
    op->saved_bytes = s->model->shared_expert_gate ? x : 0; /* output before the gate */
}

/* Operators that are made together, but placed later in the list. */
struct held_back {
    int n;
    struct ss_op op[4];
};

static void hold_back(struct ss_ops *ops, int n, struct held_back *held)
{
    ops->n -= n;
    held->n = n;
    memcpy(held->op, &ops->op[ops->n], (size_t)n * sizeof *held->op);
}

static void release(struct ss_ops *ops, const struct held_back *held, int from, int to)
{
    for (int i = from; i < to; i++)
        ops->op[ops->n++] = held->op[i];
}

/* Places shared experts beside the exchanges: FC1 and activation behind the post of the dispatch, FC2 behind
 * that of the combine; between both where another microbatch's compute hides the exchanges. */
static void early_shared(struct ss_ops *ops, const struct ss_shape *s, struct held_back *held)
{
    held->n = 0;
    if (s->shared_ffn <= 0 || !(s->shared_overlap || s->paired))
        return;
    shared_experts(ops, s);
    hold_back(ops,
              s->paired                                      ? 1
              : ss_precision_is_quantized(s->gemm_precision) ? 3
                                                             : 2,
              held); /* [cast,] FC2, output */
}

/* A single expert takes all tokens as they are. */
static void mixture(struct ss_ops *ops, const struct ss_shape *s)
{
    struct held_back held;
    int first = ops->n, several = s->experts > 1, sized = first;
    int late = several && ss_op_by_stages(s), early = several && !late;
    if (several) {
        router(ops, s);
        ss_op_latent_tokens(ops, s, 0);
        sized = ops->n; /* HybridEP counts in its dispatch, which no graph holds */
        counts(ops, s);
    }
    if (!several || s->dispatcher != SS_DISPATCH_HYBRIDEP)
        sized = ops->n;
    if (early)
        ss_op_permutation(ops, s, "permute", 0);
    dispatch(ops, s);
    early_shared(ops, s, &held);
    gather(ops, s);
    if (late)
        ss_op_permutation(ops, s, "permute", 0);
    ss_op_sort(ops, s, "sort");
    ss_op_pad(ops, s, 0);
    experts(ops, s);
    ss_op_join_experts(ops, s);
    bias(ops, s);
    ss_op_pad(ops, s, 1);
    ss_op_sort(ops, s, "sort back");
    if (late)
        ss_op_permutation(ops, s, "unpermute", 1);
    combine(ops, s);
    release(ops, &held, 0, held.n - 1);
    if (early)
        ss_op_permutation(ops, s, "unpermute", 1);
    if (several)
        ss_op_latent_tokens(ops, s, 1);
    if (held.n > 0)
        release(ops, &held, held.n - 1, held.n);
    else
        shared_experts(ops, s);
    for (int i = first; i < ops->n; i++) {
        ops->op[i].modules |= SS_MODULE_BIT(SS_MODULE_MOE);
        ops->op[i].dynamic = i >= sized && !(ops->op[i].modules & SS_MODULE_BIT(SS_MODULE_SHARED_EXPERTS));
    }
}

static int has(const struct ss_model *m, int layer)
{
    return m->num_experts > 0 && ss_layer_rule_may(&m->moe_layers, layer);
}

static void operators(struct ss_ops *ops, const struct ss_shape *s)
{
    norm(ops, s);
    mixture(ops, s);
    ss_op_mlp_end(ops, s);
}

static int has_hash(const struct ss_model *m, int layer)
{
    return m->hash_layers > 0 && layer < m->hash_layers && has(m, layer);
}

/* The table of tokens is a buffer of integers. The router keeps its weights, whose scores weigh the experts, and needs no bias. */
static void operators_hash(struct ss_ops *ops, const struct ss_shape *s)
{
    struct ss_model model = *s->model;
    struct ss_shape own = *s;
    own.model = &model;
    model.router_bias = model.router_groups = 0;
    operators(ops, &own);
}

const struct ss_mlp ss_mlp_hash = {.has = has_hash, .operators = operators_hash, .graph = SS_GRAPH_ROUTER};
const struct ss_mlp ss_mlp_moe = {.has = has, .operators = operators, .graph = SS_GRAPH_ROUTER};
