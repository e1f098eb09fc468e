/* SPDX-License-Identifier: Apache-2.0 */
/* Seconds of operators and layers on one rank without contention (docs/reference/model.md has the
 * equations). */
#ifndef SS_COST_COST_H
#define SS_COST_COST_H

#include <math.h>

#include "comm/collective.h"
#include "cost/kernel.h"
#include "cost/rank_cost.h"
#include "cost/steps.h"
#include "layers/operators.h"
#include "stepsim/platform.h"

struct ss_job;
struct ss_stack;

struct ss_cost_context {
    const struct ss_card *card;
    const struct ss_stack *stack;
    const struct ss_job *job;
    struct ss_shape shape;
    const struct ss_tower *tower[SS_ENCODERS]; /* of the encoders before the language model, NULL: none */
    struct ss_net net;
    struct ss_group_shape tp, cp, fsdp;         /* fsdp: n = 1 when parameters are not sharded */
    struct ss_group_shape ep, etp, etp_ep, edp; /* n = 1 in a job without experts */
    /* extra time of kernels on the slowest GPU that the rank waits for in every layer, as a share; 0: none */
    double slower;
    int without_grad;   /* 1: no backward follows, as in the first forward of a layer that is repeated */
    int p2p_overlapped; /* pipeline transfers run beside compute */
    int replicas;       /* ranks that reduce gradients together, 1: none */
    double on_nvme;     /* share of the rank's parameters that lie on NVMe, 0..1 */
    double once;        /* 1 / microbatches of an iteration */
    double accumulated; /* share of microbatches that add their weight gradients to earlier ones, 0..1 */
    struct ss_recorder *record; /* records the steps of a layer; may be NULL */
    /* [operator of the layer]: times of GEMMs and of the collectives beside them, which no pace changes: those that are there are taken, others
     * are filled (f > 0); NULL: neither */
    struct ss_linear_times *linear;
};

/* What one layer costs for one microbatch, by label. */
struct ss_layer_cost {
    double forward[SS_LABEL_COUNT];
    double input_grad[SS_LABEL_COUNT];  /* I, recompute included */
    double weight_grad[SS_LABEL_COUNT]; /* W */
    double gemms[2]; /* s of GEMMs: in the forward, and in the backward with its recompute */
    double host[2];  /* s that the host takes to issue the forward, and to issue the backward */
    double launches[2][SS_LAUNCHES]; /* the same by what is issued */
    int in_step[2]; /* 1: the host ends that pass no sooner than the GPU, and SS_LABEL_OTHER has its excess */
    double joint[SS_LABEL_COUNT]; /* B minus (I + W): below 0 where kernels of W hide exchanges in B */
    double forward_flops, backward_flops, recompute_flops; /* of one rank; causal attention counts half */
};

/* Returns the context in which layers of the encoder are priced: no context ranks, and no tensor ranks where none divide it. */
static inline struct ss_cost_context ss_cost_of_encoder(const struct ss_cost_context *c, int encoder)
{
    struct ss_cost_context own = *c;
    own.shape = c->tower[encoder]->shape;
    own.cp = (struct ss_group_shape){.n = 1, .nodes = 1, .per_node = 1};
    if (own.shape.tp == 1)
        own.tp = own.cp;
    return own;
}
/* Returns the bytes of an element of the gradients that GEMMs add weight gradients to; 0 where a separate
 * kernel adds them. */
static inline int ss_cost_main_gradient_bytes(const struct ss_cost_context *c)
{
    return c->shape.wgrad_fused ? (int)ss_parameter_bytes(c->job, c->stack).grad : 0;
}
/* Returns the SMs that kernels have: the dispatcher of tokens keeps some to itself. */
static inline double ss_cost_own_sms(const struct ss_cost_context *c)
{
    return fmax(1, c->card->sm_count - c->shape.reserved_sms);
}

/* attention.c: FLOP/s of attention whose kernel reaches `share` of the peak. */
double ss_cost_attention_rate(const struct ss_cost_context *c, const struct ss_op_attention *a, double share,
                              int backward);
/* Returns what a context group's collectives expose. Each ring step hides under the attention of one chunk;
 * other collectives are exposed. */
double ss_cost_cp_exposed(const struct ss_cost_context *c, const struct ss_op_attention *a,
                          double attention_s, int backward);
/* Returns the seconds of the kernels between the steps of that ring. */
double ss_cost_cp_correction(const struct ss_cost_context *c, const struct ss_op_attention *a, int backward);
/* Returns the seconds of kernels that move `bytes`. Kernels that lack some SMs lack the same share of the HBM
 * bandwidth. */
static inline double ss_cost_elementwise(const struct ss_cost_context *c, double bytes, int kernels)
{
    double share = c->shape.reserved_sms > 0 ? ss_cost_own_sms(c) / c->card->sm_count : 1;
    return ss_kernel_elementwise(c->card, bytes / share, kernels);
}

/* Returns whether the GEMMs of the experts are kernels on several streams. */
static inline int ss_cost_on_streams(const struct ss_cost_context *c, const struct ss_op *op)
{
    return op->gemm.groups > 1 && !op->gemm.one_kernel && c->stack->host_group > 0 && !c->shape.sequential;
}

/* Returns what strided operands add to a kernel on the SMs that it has. */
static inline double ss_cost_strided(const struct ss_cost_context *c, double elements, double bytes)
{
    return ss_kernel_strided(c->card, elements, bytes) * c->card->sm_count / ss_cost_own_sms(c);
}

/* Returns the seconds of a pass at the kernel pace of the slowest GPU that the rank waits for. */
static inline double ss_cost_slowed(const struct ss_cost_context *c, const double *by_label)
{
    return ss_label_sum(by_label) + c->slower * (by_label[SS_LABEL_COMPUTE] + by_label[SS_LABEL_RECOMPUTE]);
}
static inline double ss_cost_slowed_backward(const struct ss_cost_context *c,
                                             const struct ss_layer_cost *cost)
{
    return ss_cost_slowed(c, cost->input_grad) + ss_cost_slowed(c, cost->weight_grad) +
           ss_cost_slowed(c, cost->joint);
}
/* Returns the part of `seconds` that `beside` seconds of other work do not hide. */
static inline double ss_cost_exposed(double seconds, double beside)
{
    return seconds > beside ? seconds - beside : 0;
}

/* deterministic.c. Returns how many thread blocks share a head in FlashAttention 2's deterministic backward, so many that all SMs have
 * one; 0 where the attention is no such backward. */
double ss_deterministic_splits(const struct ss_cost_context *c, const struct ss_op_attention *a);
/* Returns how full that backward keeps the card, 0..1. */
double ss_deterministic_fill(const struct ss_cost_context *c, const struct ss_op_attention *a);
/* Returns the seconds of memory traffic that only the deterministic backward of flash and fused attention has, and sets *rate to its rate
 * over that of the other. Both are 0 and 1 where the backward may be the other. */
double ss_deterministic_seconds(const struct ss_cost_context *c, const struct ss_op_attention *a,
                                double *rate);

/* Returns the host's seconds for a launch without PyTorch around it, as in a grouped GEMM; at most those for
 * an operator. */
double ss_host_launch(const struct ss_cost_context *c);
/* Returns 1 where each microbatch's gradients are added to a buffer by a kernel of their own for each tensor, the first's too. */
int ss_accumulates_apart(const struct ss_cost_context *c);
/* Returns the host's seconds to call an operator. */
double ss_host_call(const struct ss_cost_context *c);
/* Returns what the host waits in a collective of tensor ranks for PyTorch's checks of it. */
double ss_host_checks(const struct ss_cost_context *c);
/* What a backward repeats of its layer's forward: modules of selective recompute (set of SS_MODULE_BIT), or
 * the first `operators` operators. */
struct ss_repeated {
    unsigned modules;
    int operators;
};
/* host.c: fills out->host and out->in_step. Where the host waits for the GPU inside a pass, adds the time
 * that the GPU waits for the host; elsewhere chunks do (cost/issue.h). gpu[ops->n]: seconds of each
 * operator's forward. *out already has the seconds of repeated modules. */
void ss_cost_host(const struct ss_cost_context *c, const struct ss_ops *ops, const double *gpu,
                  const struct ss_repeated *repeated, struct ss_layer_cost *out);
/* fsdp.c. Returns 1 where a layer's parameters or gradients are gathered, scattered or copied beside it. */
int ss_cost_fetches_layers(const struct ss_cost_context *c);
/* Adds the gathers of the layer's sharded parameters and the scatters of their gradients to the recorded steps, whose seconds the
 * layer then has. Such layers need c->record. */
void ss_cost_fsdp(const struct ss_cost_context *c, const struct ss_ops *ops, struct ss_layer_cost *out);
/* Prices one layer; recompute: enum ss_recompute of this layer. A layer whose operators run beside an exchange, or whose
 * parameters are fetched, needs c->record. */
void ss_cost_layer(const struct ss_cost_context *c, const struct ss_ops *ops, int recompute,
                   struct ss_layer_cost *out);
/* Adds what an operator gathers from all ranks of the expert group before it starts. */
void ss_cost_gathered(const struct ss_cost_context *c, const struct ss_op *op, struct ss_layer_cost *out);
/* Adds the kernels of a scan. */
void ss_cost_scan(const struct ss_cost_context *c, const struct ss_op *op, struct ss_layer_cost *out);
/* Adds an exchange as if nothing hid it. */
void ss_cost_exchange(const struct ss_cost_context *c, const struct ss_op *op, struct ss_layer_cost *out);
/* Subtracts what recorded kernels hide of the exchanges beside them, and adds what exchanges take of the
 * kernels' SMs. A whole backward hides more than I and W apart. */
void ss_cost_beside(const struct ss_cost_context *c, struct ss_layer_cost *out);
/* Adds a collective of the tensor group that nothing hides to phase F, I or W; bytes: of the full buffer. */
void ss_cost_bare(const struct ss_cost_context *c, int phase, int coll, double bytes,
                  struct ss_layer_cost *out);
/* Returns the step of context parallelism for an attention, forward or backward: one step of a ring, or the
 * whole exchange. */
static inline struct ss_layer_step ss_cost_cp_step(const struct ss_cost_context *c,
                                                   const struct ss_op_context *x, int backward)
{
    double bytes = backward ? x->backward : x->forward;
    return ss_step_post(SS_COMM_CP, x->coll, bytes, ss_collective_seconds(&c->net, x->coll, bytes, &c->cp));
}
/* Returns the seconds that work on the gradients of all `params` parameters takes beside their reduction. experts: those of them that other
 * ranks reduce. */
double ss_cost_gradients(const struct ss_cost_context *c, double params, double experts);
/* Returns the seconds that the host takes to gather the `tensors` that a rank steps, or parts of, while the GPU has nothing to do. */
double ss_cost_optimizer_calls(const struct ss_cost_context *c, double tensors);
/* Returns the seconds of optimizer step, clipping and copies. The rank steps 1/shards of `params` parameters
 * in parts of `tensors` tensors. */
double ss_cost_optimizer(const struct ss_cost_context *c, double params, double tensors, double shards);

#endif
