/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words that several parts of the library share: labels of time, classes of memory, phases, levels. Every
 * quantity of the library is in s, bytes, bytes/s, FLOP or FLOP/s unless its comment names another unit.
 */
#pragma once

#include "stepsim/error.h"

SS_C_BEGIN

/* A label says what a rank does with a moment of its compute stream. compute, recompute and optimizer:
 * kernels run. tp, cp, ep, dp, offload and pp: the rank waits for communication of that kind. The rank idles
 * because of the schedule (bubble), because other ranks have more work (imbalance), because other GPUs are
 * slower than the mean GPU (spread; the kernels of a slow GPU take longer, too), or because of the host
 * (other). X(symbol, name in JSON, words for people: text, pictures and pages have the same) */
#define SS_LABEL_LIST(X)                                                                                     \
    X(SS_LABEL_COMPUTE, "compute", "compute")                                                                \
    X(SS_LABEL_RECOMPUTE, "recompute", "recompute")                                                          \
    X(SS_LABEL_OPTIMIZER, "optimizer", "optimizer step")                                                     \
    X(SS_LABEL_TP, "tp", "exposed TP")                                                                       \
    X(SS_LABEL_CP, "cp", "exposed CP")                                                                       \
    X(SS_LABEL_EP, "ep", "exposed EP")                                                                       \
    X(SS_LABEL_DP, "dp", "exposed DP")                                                                       \
    X(SS_LABEL_OFFLOAD, "offload", "exposed offload")                                                        \
    X(SS_LABEL_PP, "pp", "exposed PP")                                                                       \
    X(SS_LABEL_BUBBLE, "bubble", "pipeline bubble")                                                          \
    X(SS_LABEL_IMBALANCE, "imbalance", "slower stages")                                                      \
    X(SS_LABEL_SPREAD, "spread", "slower GPUs")                                                              \
    X(SS_LABEL_OTHER, "other", "host (launches)")
enum ss_label {
#define X(sym, name, words) sym,
    SS_LABEL_LIST(X)
#undef X
        SS_LABEL_COUNT
};

/* Classes of device memory. X(symbol, JSON name) */
#define SS_MEM_LIST(X)                                                                                       \
    X(SS_MEM_WEIGHTS, "weights")                                                                             \
    X(SS_MEM_GRADIENTS, "gradients")                                                                         \
    X(SS_MEM_OPTIMIZER, "optimizer")                                                                         \
    X(SS_MEM_ACTIVATIONS, "activations")                                                                     \
    X(SS_MEM_LOGITS, "logits")                                                                               \
    X(SS_MEM_OTHER, "other")
enum ss_mem {
#define X(sym, name) sym,
    SS_MEM_LIST(X)
#undef X
        SS_MEM_COUNT
};

/* A phase is the part of a microbatch's work on one chunk that a slot does. X(symbol, name) */
#define SS_PHASE_LIST(X)                                                                                     \
    X(SS_PHASE_F, "F")   /* forward */                                                                       \
    X(SS_PHASE_B, "B")   /* full backward */                                                                 \
    X(SS_PHASE_I, "I")   /* gradient of the input */                                                         \
    X(SS_PHASE_W, "W")   /* gradient of the weight */                                                        \
    X(SS_PHASE_FB, "FB") /* a forward paired with a backward */
enum ss_phase {
#define X(symbol, name) symbol,
    SS_PHASE_LIST(X)
#undef X
        SS_PHASE_COUNT
};

/* Level of detail of a program. X(symbol, name) */
#define SS_LEVEL_LIST(X)                                                                                     \
    X(SS_LEVEL_CHUNK, "chunk") /* one event a slot; pipeline and data-parallel traffic as flows */           \
    X(SS_LEVEL_LAYER, "layer") /* operators, and the collectives beside them as flows on the links */        \
    X(SS_LEVEL_FLOW, "flow")   /* as layer; docs/design/replay-contract.md, "Levels", has the difference */
enum ss_level {
#define X(sym, name) sym,
    SS_LEVEL_LIST(X)
#undef X
        SS_LEVEL_COUNT
};

/* Returns the name of a label (enum ss_label), "compute", or "unknown". Never NULL. */
const char *ss_label_name(int label);
/* Returns the words of a label for people, "exposed TP". Never NULL. */
const char *ss_label_words(int label);
/* Returns the sum over all labels. */
double ss_label_sum(const double by_label[SS_LABEL_COUNT]);
/* Returns the name of a class of memory (enum ss_mem), "weights", or "unknown". Never NULL. */
const char *ss_mem_name(int mem);
/* Returns the name of a level (enum ss_level), "chunk", or "unknown". Never NULL. */
const char *ss_level_name(int level);
/* Returns the name of a phase (enum ss_phase): "F", "B", "I", "W", "FB", or "unknown". Never NULL. */
const char *ss_phase_name(int phase);

SS_C_END
