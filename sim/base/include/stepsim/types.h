/* SPDX-License-Identifier: Apache-2.0 */
/* Words shared by several boxes of the pipeline. Inside the library only s, bytes, bytes/s, FLOP, FLOP/s. */
#ifndef STEPSIM_TYPES_H
#define STEPSIM_TYPES_H

#ifdef __cplusplus
extern "C" {
#endif

/* GEMM precision. fp32 matmuls run as TF32 where the card has tensor cores for it. X(symbol, name) */
#define SS_PRECISION_LIST(X) X(SS_FP32, "fp32") X(SS_FP16, "fp16") X(SS_BF16, "bf16") X(SS_FP8, "fp8")
enum ss_precision {
#define X(sym, name) sym,
    SS_PRECISION_LIST(X)
#undef X
    SS_PRECISION_COUNT
};

/* What an instant of a rank's compute stream is spent on; breakdown_ms has one entry each.
 * The first group are running kernels, the second operations waited for, the third idle time. */
#define SS_LABEL_LIST(X)                                                                          \
    X(SS_LABEL_COMPUTE, "compute")                                                                \
    X(SS_LABEL_RECOMPUTE, "recompute")                                                            \
    X(SS_LABEL_OPTIMIZER, "optimizer")                                                            \
    X(SS_LABEL_TP, "tp")                                                                          \
    X(SS_LABEL_CP, "cp")                                                                          \
    X(SS_LABEL_EP, "ep")                                                                          \
    X(SS_LABEL_DP, "dp")                                                                          \
    X(SS_LABEL_OFFLOAD, "offload")                                                                \
    X(SS_LABEL_PP, "pp")                                                                          \
    X(SS_LABEL_BUBBLE, "bubble")                                                                  \
    X(SS_LABEL_IMBALANCE, "imbalance")                                                            \
    X(SS_LABEL_OTHER, "other")
enum ss_label {
#define X(sym, name) sym,
    SS_LABEL_LIST(X)
#undef X
    SS_LABEL_COUNT
};

/* Classes of device memory. X(symbol, JSON name) */
#define SS_MEM_LIST(X)                                                                            \
    X(SS_MEM_WEIGHTS, "weights")                                                                  \
    X(SS_MEM_GRADIENTS, "gradients")                                                              \
    X(SS_MEM_OPTIMIZER, "optimizer")                                                              \
    X(SS_MEM_ACTIVATIONS, "activations")                                                          \
    X(SS_MEM_LOGITS, "logits")                                                                    \
    X(SS_MEM_OTHER, "other")
enum ss_mem {
#define X(sym, name) sym,
    SS_MEM_LIST(X)
#undef X
    SS_MEM_COUNT
};

/* Part of one microbatch's work on one chunk: forward, full backward, gradient of the input,
 * gradient of the weight, paired forward + backward. */
enum ss_phase { SS_PHASE_F, SS_PHASE_B, SS_PHASE_I, SS_PHASE_W, SS_PHASE_FB, SS_PHASE_COUNT };

/* Level of detail of a program. X(symbol, name) */
#define SS_LEVEL_LIST(X)                                                                          \
    X(SS_LEVEL_CHUNK, "chunk") /* one event a slot; pipeline and data-parallel traffic as flows */ \
    X(SS_LEVEL_LAYER, "layer") /* operators, and the TP, CP and FSDP collectives beside them */   \
    X(SS_LEVEL_FLOW, "flow")   /* these collectives as flows on the links, too */
enum ss_level {
#define X(sym, name) sym,
    SS_LEVEL_LIST(X)
#undef X
    SS_LEVEL_COUNT
};

const char *ss_precision_name(int precision);
const char *ss_label_name(int label);
const char *ss_mem_name(int mem);
const char *ss_level_name(int level);
/* "F" "B" "I" "W" "FB" */
const char *ss_phase_name(int phase);

#ifdef __cplusplus
}
#endif
#endif
