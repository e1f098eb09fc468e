/* SPDX-License-Identifier: Apache-2.0 */
/* A software profile: what a framework release fuses and how well it uses a card. */
#ifndef STEPSIM_STACK_H
#define STEPSIM_STACK_H

#include "stepsim/error.h"
#include "stepsim/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * X(field, prop id, unit, default, low, high, meaning); all are <prop> of workloads/stacks/NAME.xml.
 * A stack may name a base: values not given are the base's. A prop may be limited to one card:
 * <prop id="ss.attention.flash.forward" card="H20" value="…"/>.
 * Flags are 0 or 1 of unit COUNT. Attention rates are shares of the card's dense peak at 16 bit.
 */
#define SS_STACK_PROPS(X)                                                                         \
    X(flash_fwd, "ss.attention.flash.forward", FRACTION, 0.5, 0.01, 1, "flash attention forward, share of the 16-bit peak on the causal half") \
    X(flash_bwd, "ss.attention.flash.backward", FRACTION, 0.35, 0.01, 1, "flash attention backward (2.5 x the forward's FLOP)") \
    X(fused_fwd, "ss.attention.fused.forward", FRACTION, 0.6, 0.01, 1, "cuDNN fused attention forward") \
    X(fused_bwd, "ss.attention.fused.backward", FRACTION, 0.45, 0.01, 1, "cuDNN fused attention backward") \
    X(attention_half_tokens, "ss.attention.half_tokens", NONE, 256, 0, 1e6, "tokens a sequence chunk needs to reach half of the flash or fused rate") \
    X(unfused_passes_fwd, "ss.attention.unfused.passes_forward", NONE, 4, 1, 40, "times that unfused attention moves the score matrix through HBM, forward") \
    X(unfused_passes_bwd, "ss.attention.unfused.passes_backward", NONE, 6, 1, 40, "the same, backward") \
    X(fused_cross_entropy, "ss.fused.cross_entropy", COUNT, 0, 0, 1, "cross entropy works in place on the logits") \
    X(fused_rope, "ss.fused.rope", COUNT, 0, 0, 1, "rotary embedding is one kernel")              \
    X(fused_swiglu, "ss.fused.swiglu", COUNT, 1, 0, 1, "bias + activation are one kernel")        \
    X(fused_norm, "ss.fused.norm", COUNT, 1, 0, 1, "normalisation is one kernel")                 \
    X(fused_wgrad_accumulation, "ss.fused.wgrad_accumulation", COUNT, 1, 0, 1, "weight gradients accumulate inside the GEMM") \
    X(te_layers, "ss.te.layers", COUNT, 1, 0, 1, "Transformer Engine layers: fused norm + linear, their saved tensors") \
    X(fp8_allgather, "ss.te.fp8_allgather", COUNT, 0, 0, 1, "sequence-parallel all-gathers move 1-byte activations in fp8") \
    X(fp8_cast_passes, "ss.te.fp8_cast_passes", NONE, 1, 0, 8, "times that fp8 casts and transposes move each GEMM operand through HBM, beside the fused ones") \
    X(tp_overlap_gemm, "ss.tp.overlap", FRACTION, 0.6, 0, 1, "share of the TP collectives that --tp-comm-overlap hides under their GEMMs, at most the GEMM's own time") \
    X(comm_sm_nvlink, "ss.comm.sm_share.nvlink", FRACTION, 0.1, 0, 0.5, "share of the SMs and of HBM bandwidth that an NVLink collective takes from compute beside it") \
    X(comm_sm_nic, "ss.comm.sm_share.nic", FRACTION, 0.02, 0, 0.5, "the same for traffic over the NICs") \
    X(host_gap, "ss.host.gap", TIME, 0, 0, 1e-3, "extra time between kernels that the host cannot hide, a kernel") \
    X(fixed_iteration, "ss.iteration.fixed", TIME, 0, 0, 10, "data loader, logging and host work of an iteration that nothing overlaps") \
    X(fixed_microbatch, "ss.microbatch.fixed", TIME, 0, 0, 1, "host work of a microbatch on a stage: schedule, batch, p2p set-up") \
    X(adam_passes, "ss.optimizer.passes", NONE, 1, 0.5, 8, "times that the optimizer step moves parameters, gradients and states through HBM") \
    X(grad_norm_barrier, "ss.optimizer.barrier", COUNT, 1, 0, 1, "gradient norm and found-inf wait for every rank before the step") \
    X(param_bytes_grad_fp16, "ss.optimizer.grad_copy", COUNT, 0, 0, 1, "16-bit gradients are copied to fp32 before the step (no fused main gradient)") \
    X(context_bytes, "ss.memory.context", BYTES, 1.5e9, 0, 2e10, "CUDA context, cuBLAS and cuDNN workspaces") \
    X(nccl_bytes, "ss.memory.nccl_per_group", BYTES, 2e8, 0, 2e10, "NCCL buffers of one communicator with more than one rank") \
    X(fragmentation, "ss.memory.fragmentation", FRACTION, 0.03, 0, 0.5, "share of activations that the caching allocator reserves beside them") \
    X(thrash_margin, "ss.memory.thrash_margin", FRACTION, 0.02, 0, 0.2, "free share of the device under which the allocator retries: the run is slow")

struct ss_stack {
    char name[64];
    char attention_auto[16];  /* backend of --attention-backend auto in 16 bit: flash or fused */
    char timers[16];          /* timer names: megatron-2021, megatron, nemo or none */
    char framework[32];       /* "megatron" or "nemo": whose refusals apply */
#define X(field, id, unit, def, lo, hi, doc) double field;
    SS_STACK_PROPS(X)
#undef X
};

/* Loads workloads/stacks/NAME.xml or a path for a card (its name as in ss.card, may be NULL). */
int ss_stack_load(const char *name_or_path, const char *card, struct ss_stack *out,
                  struct ss_error *err);
/* Sets one prop from a text with unit. */
int ss_stack_set(struct ss_stack *s, const char *id, const char *value, struct ss_error *err);

#ifdef __cplusplus
}
#endif
#endif
