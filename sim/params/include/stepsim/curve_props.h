/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of a card's kernels alone on it, in short bursts without a power limit (docs/design/curves.md). */
#ifndef STEPSIM_CURVE_PROPS_H
#define STEPSIM_CURVE_PROPS_H

/*
 * Rows of SS_CARD_PROPS (stepsim/card.h). A number is a share of what the data sheet has, cycles of an SM's clock, or a latency,
 * so that it holds for other cards. Defaults are fitted on the rows of all measured cards together: a card without a curve of its
 * own, or of its base, has these.
 */
#define SS_CURVE_PROPS(X)                                                                                    \
    X(sm_clock, "ss.sm_clock", NONE, 0, 1.98e9, 1e8, 1e10, "highest clock of the SMs, cycles a second")      \
    X(curve_stream, "ss.curve.stream", FRACTION, 0, 0.88, 0.1, 1,                                            \
      "share of the HBM peak that a kernel alone sustains whose data pass once")                             \
    X(curve_launch, "ss.curve.launch", TIME, 0, 2.5e-6, 0, 1e-3,                                             \
      "from the start of a small kernel of a CUDA graph to the next one's")                                  \
    X(curve_cast, "ss.curve.cast", FRACTION, 0, 0.65, 0.01, 1,                                               \
      "share of the HBM peak that casts of a GEMM's input sustain")                                          \
    X(curve_gemm_bf16, "ss.curve.gemm.bf16", FRACTION, 0, 0.75, 0.1, 1,                                      \
      "share of the peak that a large GEMM alone sustains in a short burst, in 16 bit")                      \
    X(curve_gemm_fp8, "ss.curve.gemm.fp8", FRACTION, 0, 0.7, 0.1, 1, "the same, fp8 with a scale a tensor")  \
    X(curve_gemm_blocks, "ss.curve.gemm.fp8_blocks", FRACTION, 0, 0.68, 0.1, 1,                              \
      "the same, fp8 with a scale a block: of 128 elements, on Blackwell of 32 (mxfp8)")                     \
    X(curve_gemm_fp4, "ss.curve.gemm.fp4", FRACTION, 0, 0.53, 0.1, 1, "the same, nvfp4")                     \
    X(curve_prologue_bf16, "ss.curve.prologue.bf16", NONE, 0, 60, 0, 8192,                                   \
      "prologue and epilogue of a tile of these, in steps of K, in 16 bit")                                  \
    X(curve_prologue_fp8, "ss.curve.prologue.fp8", NONE, 0, 220, 0, 8192, "the same, fp8")                   \
    X(curve_prologue_blocks, "ss.curve.prologue.fp8_blocks", NONE, 0, 370, 0, 8192,                          \
      "the same, fp8 with a scale a block")                                                                  \
    X(curve_prologue_fp4, "ss.curve.prologue.fp4", NONE, 0, 590, 0, 8192, "the same, nvfp4")                 \
    X(curve_conv_launch, "ss.curve.conv.launch", TIME, 0, 2.6e-6, 0, 1e-3,                                   \
      "latency of a short causal convolution (Triton's kernel of gated delta nets)")                         \
    X(curve_conv_cycles, "ss.curve.conv.cycles", NONE, 0, 0.42, 1e-3, 100,                                   \
      "cycles of an SM that one channel of a token takes in it")                                             \
    X(curve_mamba_conv_launch, "ss.curve.mamba_conv.launch", TIME, 0, 9e-6, 0, 1e-3,                         \
      "latency of Mamba's short causal convolution (the CUDA kernel)")                                       \
    X(curve_mamba_conv_cycles, "ss.curve.mamba_conv.cycles", NONE, 0, 0.35, 1e-3, 100,                       \
      "cycles of an SM that one channel of a token takes in it")                                             \
    X(curve_gdn_launch, "ss.curve.gdn.launch", TIME, 0, 14e-6, 0, 1e-3,                                      \
      "latency of the kernels of a chunked gated delta rule, forward")                                       \
    X(curve_gdn_cycles, "ss.curve.gdn.cycles", NONE, 0, 220, 0.1, 1e5,                                       \
      "cycles of an SM that they take beside HBM's time for a token of a head of 128 x 128")                 \
    X(curve_gdn_chunk, "ss.curve.gdn.chunk", NONE, 0, 3100, 1, 1e6,                                          \
      "cycles that the state takes from one chunk of 64 tokens to the next one")                             \
    X(curve_kda_launch, "ss.curve.kda.launch", TIME, 0, 46e-6, 0, 1e-3,                                      \
      "latency of the kernels of Kimi delta attention, forward")                                             \
    X(curve_kda_cycles, "ss.curve.kda.cycles", NONE, 0, 460, 0.1, 1e5,                                       \
      "cycles of an SM that they take beside HBM's time for a token of a head of 128 x 128")                 \
    X(curve_kda_chunk, "ss.curve.kda.chunk", NONE, 0, 3000, 1, 1e6,                                          \
      "cycles that the state takes from one chunk of 64 tokens to the next one")                             \
    X(curve_mhc_pre_launch, "ss.curve.mhc_pre.launch", TIME, 0, 22e-6, 0, 1e-3,                              \
      "latency of the kernels that mix the streams of a hyper-connection before a sublayer")                 \
    X(curve_mhc_pre_rate, "ss.curve.mhc_pre.rate", FRACTION, 0, 0.8, 0.05, 1,                                \
      "share of the HBM peak that they sustain")                                                             \
    X(curve_mhc_post_launch, "ss.curve.mhc_post.launch", TIME, 0, 6e-6, 0, 1e-3,                             \
      "latency of the kernel that adds a sublayer's output to the streams")                                  \
    X(curve_mhc_post_rate, "ss.curve.mhc_post.rate", FRACTION, 0, 0.88, 0.05, 1,                             \
      "share of the HBM peak that it sustains")

#endif
