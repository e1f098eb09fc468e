/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of a card's kernels alone on it, in short bursts without a power limit (docs/design/curves.md). */
#pragma once

/*
 * Rows of SS_CARD_PROPS (stepsim/card.h). A number is a share of what the data sheet has, cycles of an SM's clock, or a latency,
 * so that it holds for other cards. Defaults are fitted on the rows of all measured cards together: a card without a curve of its
 * own, or of its base, has these.
 */
#define SS_CURVE_PROPS(X)                                                                                    \
    X(sm_clock, "ss.sm_clock", NONE, 0, 1.98e9, 1e8, 1e10, "highest clock of the SMs, cycles a second")      \
    X(curve_stream, "ss.curve.stream", FRACTION, 0, 0.88, 0.1, 1,                                            \
      "share of the HBM peak that a kernel alone sustains whose data pass once")                             \
    X(curve_conv_launch, "ss.curve.conv.launch", TIME, 0, 2.47e-06, 0, 1e-3,                                 \
      "latency of a short causal convolution (Triton's kernel of gated delta nets)")                         \
    X(curve_conv_cycles, "ss.curve.conv.cycles", NONE, 0, 0.423, 1e-3, 100,                                  \
      "cycles of an SM that one channel of a token takes in it")                                             \
    X(curve_gdn_launch, "ss.curve.gdn.launch", TIME, 0, 1.34e-05, 0, 1e-3,                                   \
      "latency of the kernels of a chunked gated delta rule, forward")                                       \
    X(curve_gdn_cycles, "ss.curve.gdn.cycles", NONE, 0, 280, 0.1, 1e5,                                       \
      "cycles of an SM that they take beside HBM's time for a token of a head of 128 x 128")                 \
    X(curve_gdn_chunk, "ss.curve.gdn.chunk", NONE, 0, 3100, 1, 1e6,                                          \
      "cycles that the state takes from one chunk of 64 tokens to the next one")                             \
    X(curve_kda_launch, "ss.curve.kda.launch", TIME, 0, 4.58e-05, 0, 1e-3,                                   \
      "latency of the kernels of Kimi delta attention, forward")                                             \
    X(curve_kda_cycles, "ss.curve.kda.cycles", NONE, 0, 472, 0.1, 1e5,                                       \
      "cycles of an SM that they take beside HBM's time for a token of a head of 128 x 128")                 \
    X(curve_kda_chunk, "ss.curve.kda.chunk", NONE, 0, 3000, 1, 1e6,                                          \
      "cycles that the state takes from one chunk of 64 tokens to the next one")                             \
    X(curve_mamba_conv_cycles, "ss.curve.mamba_conv.cycles", NONE, 0, 0.308, 1e-3, 100,                      \
      "cycles of an SM that one channel of a token takes in it")                                             \
    X(curve_ring_launch, "ss.curve.ring.launch", TIME, 0, 7.91e-06, 0, 1e-3,                                 \
      "latency of a collective of NCCL inside a node, beside its steps")                                     \
    X(curve_ring_step, "ss.curve.ring.step", TIME, 0, 9.61e-07, 0, 1e-3, "what each step of a ring takes")   \
    X(curve_ring_small, "ss.curve.ring.small", FRACTION, 0, 0.309, 1e-3, 1,                                  \
      "share of the fabric's bandwidth that small messages reach")                                           \
    X(curve_ring_middle_latency, "ss.curve.ring.middle_latency", TIME, 0, 2e-05, 0, 1e-2,                    \
      "latency of messages between small ones and those of ss.fabric.efficiency")                            \
    X(curve_ring_middle, "ss.curve.ring.middle", FRACTION, 0, 0.579, 1e-2, 1,                                \
      "share of the fabric's bandwidth that they reach")                                                     \
    X(curve_ring_copy, "ss.curve.ring.copy", FRACTION, 0, 0.441, 0, 1,                                       \
      "part of its own share that a GPU moves in an all-gather or reduce-scatter beside what it sends")      \
    X(curve_alltoall_launch, "ss.curve.alltoall.launch", TIME, 0, 9.45e-06, 0, 1e-3,                         \
      "latency of NCCL's all-to-all inside a node, beside its steps")                                        \
    X(curve_alltoall_step, "ss.curve.alltoall.step", TIME, 0, 9.43e-08, 0, 1e-3,                             \
      "what each further GPU adds to it for small messages")                                                 \
    X(curve_alltoall_small, "ss.curve.alltoall.small", FRACTION, 0, 0.0229, 1e-4, 1,                         \
      "share of the fabric's bandwidth that small messages reach")                                           \
    X(curve_alltoall_middle_latency, "ss.curve.alltoall.middle_latency", TIME, 0, 1.39e-05, 0, 1e-2,         \
      "latency of messages between small and large")                                                         \
    X(curve_alltoall_middle, "ss.curve.alltoall.middle", FRACTION, 0, 0.521, 1e-3, 1,                        \
      "share of the fabric's bandwidth that they reach")                                                     \
    X(curve_alltoall_latency, "ss.curve.alltoall.latency", TIME, 0, 3.91e-05, 0, 1e-2,                       \
      "latency of large messages")                                                                           \
    X(curve_alltoall_large, "ss.curve.alltoall.large", FRACTION, 0, 0.726, 1e-2, 1,                          \
      "share of the fabric's bandwidth that they reach")                                                     \
    X(curve_alltoall_copy, "ss.curve.alltoall.copy", FRACTION, 0, 0.319, 0, 1,                               \
      "part of its own share that a GPU moves beside what it sends")                                         \
    SS_BENCH_CURVE_PROPS(X)

/* Those that no prediction of a run reads: `calibrate --microbench` alone does, and --set refuses them. A mixer that reads one moves it up. */
#define SS_BENCH_CURVE_PROPS(X)                                                                              \
    X(curve_mamba_conv_launch, "ss.curve.mamba_conv.launch", TIME, 0, 7.87e-06, 0, 1e-3,                     \
      "latency of Mamba's short causal convolution (the CUDA kernel)")                                       \
    X(curve_mamba_conv_start, "ss.curve.mamba_conv.start", NONE, 0, 121, 0.1, 1e5,                           \
      "cycles of an SM that a channel of a sequence takes beside its tokens")                                \
    X(curve_mhc_pre_launch, "ss.curve.mhc_pre.launch", TIME, 0, 2.29e-05, 0, 1e-3,                           \
      "latency of the kernels that mix the streams of a hyper-connection before a sublayer")                 \
    X(curve_mhc_pre_rate, "ss.curve.mhc_pre.rate", FRACTION, 0, 0.839, 0.05, 1,                              \
      "share of the HBM peak that they sustain")                                                             \
    X(curve_mhc_post_launch, "ss.curve.mhc_post.launch", TIME, 0, 6.08e-06, 0, 1e-3,                         \
      "latency of the kernel that adds a sublayer's output to the streams")                                  \
    X(curve_mhc_post_rate, "ss.curve.mhc_post.rate", FRACTION, 0, 0.883, 0.05, 1,                            \
      "share of the HBM peak that it sustains")                                                              \
    X(curve_dsa_host, "ss.curve.dsa.host", TIME, 0, 0.000675, 0, 1,                                          \
      "what the host takes to issue the operators of DeepSeek's sparse attention, no graph; times "          \
      "ss.host.slowdown")                                                                                    \
    X(curve_dsa_gemm, "ss.curve.dsa.gemm", FRACTION, 0, 1, 0.05, 1,                                          \
      "share of the peak that its projections sustain")                                                      \
    X(curve_dsa_move, "ss.curve.dsa.move", FRACTION, 0, 1, 0.01, 1,                                          \
      "share of the HBM peak of what its operators move")                                                    \
    X(curve_dsa_token, "ss.curve.dsa.token", NONE, 0, 38000, 1, 100000000.0,                                 \
      "cycles of an SM that a token takes in its other kernels")                                             \
    X(curve_dsa_index, "ss.curve.dsa.index", NONE, 0, 19900, 1, 100000000.0,                                 \
      "cycles of an SM that a token takes beside it in the indexer")                                         \
    X(curve_dsa_cache, "ss.curve.dsa.cache", NONE, 0, 59400, 1, 100000000.0,                                 \
      "cycles of an SM that a token takes beside it where keys are read back from fp8")                      \
    X(curve_dsa_key, "ss.curve.dsa.key", NONE, 0, 2.34, 0.01, 10000.0,                                       \
      "cycles of an SM that a key takes in the choice of the top ones")                                      \
    X(curve_dsa_dense, "ss.curve.dsa.dense", FRACTION, 0, 0.307, 0.01, 1,                                    \
      "share of the 16-bit peak that attention to all keys sustains in it")                                  \
    X(curve_dsa_cached, "ss.curve.dsa.cached", FRACTION, 0, 0.618, 0.01, 1,                                  \
      "that of FlashMLA with keys in fp8")                                                                   \
    X(curve_dsa_sparse, "ss.curve.dsa.sparse", FRACTION, 0, 0.396, 0.01, 1,                                  \
      "that of FlashMLA's sparse prefill")                                                                   \
    X(curve_dsa_fused, "ss.curve.dsa.fused", FRACTION, 0, 1, 0.01, 1, "that of TensorRT-LLM's kernel")       \
    X(curve_dsv4_launch, "ss.curve.dsv4.launch", TIME, 0, 7.9e-05, 0, 1,                                     \
      "latency of the kernels of DeepSeek-V4's compressed attention")                                        \
    X(curve_dsv4_gemm, "ss.curve.dsv4.gemm", FRACTION, 0, 0.42, 0.01, 1,                                     \
      "share of the peak that its projections sustain")                                                      \
    X(curve_dsv4_attention, "ss.curve.dsv4.attention", FRACTION, 0, 0.882, 0.01, 1,                          \
      "share of the 16-bit peak that its attention sustains")                                                \
    X(curve_dsv4_token, "ss.curve.dsv4.token", NONE, 0, 24800, 1, 100000000.0,                               \
      "cycles of an SM that a token takes in its other kernels")                                             \
    X(curve_dsv4_move, "ss.curve.dsv4.move", FRACTION, 0, 0.54, 0.01, 1,                                     \
      "share of the HBM peak of what its heads move")                                                        \
    X(curve_dsv4_key, "ss.curve.dsv4.key", NONE, 0, 34.3, 0.1, 10000.0,                                      \
      "cycles of an SM that a key takes in the choice of the top ones")                                      \
    X(curve_dsv4_index, "ss.curve.dsv4.index", FRACTION, 0, 0.244, 0.01, 1,                                  \
      "share of the fp8 peak that its indexer sustains")                                                     \
    X(curve_msa_plain_token, "ss.curve.msa_plain.token", NONE, 0, 71900, 1, 100000000.0,                     \
      "cycles of an SM that a token takes where PyTorch's operators are all that there is of it")            \
    X(curve_msa_plain_key, "ss.curve.msa_plain.key", NONE, 0, 4230, 1, 1000000.0,                            \
      "bytes that they move for a token and key of a single head of keys")                                   \
    X(curve_msa_plain_shared, "ss.curve.msa_plain.shared", NONE, 0, 78, 0.1, 1000000.0,                      \
      "bytes beside it for each head of queries that shares those keys")                                     \
    X(curve_msa_plain_head, "ss.curve.msa_plain.head", NONE, 0, 652, 0.1, 1000000.0,                         \
      "bytes for a token, key and head of queries where keys have several heads")                            \
    X(curve_msa_host, "ss.curve.msa.host", TIME, 0, 0.00316, 0, 1,                                           \
      "what the host takes to issue the operators of MiniMax's sparse attention, no graph; times "           \
      "ss.host.slowdown")                                                                                    \
    X(curve_msa_gemm, "ss.curve.msa.gemm", FRACTION, 0, 0.716, 0.01, 1,                                      \
      "share of the peak that its projections sustain")                                                      \
    X(curve_msa_attention, "ss.curve.msa.attention", FRACTION, 0, 0.293, 0.01, 1,                            \
      "share of the 16-bit peak that its attention sustains")                                                \
    X(curve_msa_token, "ss.curve.msa.token", NONE, 0, 36900, 1, 100000000.0,                                 \
      "cycles of an SM that a token takes in its other kernels")                                             \
    X(curve_msa_move, "ss.curve.msa.move", FRACTION, 0, 0.123, 0.005, 1,                                     \
      "share of the HBM peak of what its heads move")                                                        \
    X(curve_launch, "ss.curve.launch", TIME, 0, 2.87e-06, 0, 1e-3,                                           \
      "from the start of a small kernel of a CUDA graph to the next one's")                                  \
    X(curve_cast, "ss.curve.cast", FRACTION, 0, 0.677, 0.01, 1,                                              \
      "share of the HBM peak that casts of a GEMM's input sustain")                                          \
    X(curve_gemm_bf16, "ss.curve.gemm.bf16", FRACTION, 0, 0.763, 0.1, 1,                                     \
      "share of the peak that a large GEMM alone sustains in a short burst, in 16 bit")                      \
    X(curve_gemm_fp8, "ss.curve.gemm.fp8", FRACTION, 0, 0.697, 0.1, 1,                                       \
      "the same, fp8 with a scale a tensor")                                                                 \
    X(curve_gemm_blocks, "ss.curve.gemm.fp8_blocks", FRACTION, 0, 0.662, 0.1, 1,                             \
      "the same, fp8 with a scale a block: of 128 elements, on Blackwell of 32 (mxfp8)")                     \
    X(curve_gemm_fp4, "ss.curve.gemm.fp4", FRACTION, 0, 0.555, 0.1, 1, "the same, nvfp4")                    \
    X(curve_prologue_bf16, "ss.curve.prologue.bf16", NONE, 0, 13.3, 0, 8192,                                 \
      "prologue and epilogue of a tile of these, in steps of K, in 16 bit")                                  \
    X(curve_prologue_fp8, "ss.curve.prologue.fp8", NONE, 0, 204, 0, 8192, "the same, fp8")                   \
    X(curve_prologue_blocks, "ss.curve.prologue.fp8_blocks", NONE, 0, 326, 0, 8192,                          \
      "the same, fp8 with a scale a block")                                                                  \
    X(curve_prologue_fp4, "ss.curve.prologue.fp4", NONE, 0, 613, 0, 8192, "the same, nvfp4")                 \
    X(curve_experts_launch, "ss.curve.experts.launch", TIME, 0, 4.51e-05, 0, 1e-2,                           \
      "latency of the kernels of a layer's experts, forward: router, sort, two grouped GEMMs, sum")          \
    X(curve_experts_move, "ss.curve.experts.move", FRACTION, 0, 0.508, 0.01, 1,                              \
      "share of the HBM peak at which copies of tokens are sorted, activated and summed")                    \
    X(curve_experts_bf16, "ss.curve.experts.bf16", FRACTION, 0, 0.737, 0.05, 1,                              \
      "share of the peak that a large grouped GEMM alone sustains in a short burst, in 16 bit")              \
    X(curve_experts_fp8, "ss.curve.experts.fp8", FRACTION, 0, 0.929, 0.05, 1,                                \
      "the same, fp8 with a scale a tensor")                                                                 \
    X(curve_experts_blocks, "ss.curve.experts.fp8_blocks", FRACTION, 0, 0.628, 0.05, 1,                      \
      "the same, fp8 with a scale a block")                                                                  \
    X(curve_experts_mxfp4, "ss.curve.experts.mxfp4", FRACTION, 0, 0.516, 0.05, 1,                            \
      "the same, mxfp4 weights and mxfp8 inputs, of the peak of fp8")                                        \
    X(curve_experts_prologue_bf16, "ss.curve.experts_prologue.bf16", NONE, 0, 10, 0, 8192,                   \
      "prologue and epilogue of a tile of these, in steps of K, in 16 bit")                                  \
    X(curve_experts_prologue_fp8, "ss.curve.experts_prologue.fp8", NONE, 0, 1170, 0, 8192, "the same, fp8")  \
    X(curve_experts_prologue_blocks, "ss.curve.experts_prologue.fp8_blocks", NONE, 0, 2930, 0, 8192,         \
      "the same, fp8 with a scale a block")                                                                  \
    X(curve_experts_prologue_mxfp4, "ss.curve.experts_prologue.mxfp4", NONE, 0, 10, 0, 8192,                 \
      "the same, mxfp4")                                                                                     \
    X(curve_dispatch_launch, "ss.curve.dispatch.launch", TIME, 0, 3.99e-05, 0, 1e-2,                         \
      "latency of DeepEP's dispatch")                                                                        \
    X(curve_dispatch_token, "ss.curve.dispatch.token", TIME, 0, 4.2e-07, 0, 1e-3,                            \
      "what one SM takes for a token in it")                                                                 \
    X(curve_dispatch_copy, "ss.curve.dispatch.copy", TIME, 0, 6.66e-08, 0, 1e-3,                             \
      "what one SM takes for a copy of a token, beside its bytes")                                           \
    X(curve_dispatch_rate, "ss.curve.dispatch.rate", BANDWIDTH, 0, 27800000000, 1e8, 1e13,                   \
      "bytes a second that one SM moves in it")                                                              \
    X(curve_dispatch_link, "ss.curve.dispatch.link", FRACTION, 0, 0.656, 0.05, 1,                            \
      "share of the fabric's bandwidth that it reaches at most")                                             \
    X(curve_combine_launch, "ss.curve.combine.launch", TIME, 0, 5.54e-05, 0, 1e-2,                           \
      "latency of DeepEP's combine")                                                                         \
    X(curve_combine_token, "ss.curve.combine.token", TIME, 0, 9.87e-07, 0, 1e-3,                             \
      "what one SM takes for a token in it")                                                                 \
    X(curve_combine_copy, "ss.curve.combine.copy", TIME, 0, 1e-09, 0, 1e-3,                                  \
      "what one SM takes for a copy of a token, beside its bytes")                                           \
    X(curve_combine_rate, "ss.curve.combine.rate", BANDWIDTH, 0, 29100000000, 1e8, 1e13,                     \
      "bytes a second that one SM moves in it")                                                              \
    X(curve_combine_link, "ss.curve.combine.link", FRACTION, 0, 0.677, 0.05, 1,                              \
      "share of the fabric's bandwidth that it reaches at most")

/* How many numbers curves have. */
enum {
    SS_CURVE_PROP_COUNT = 0
#define X(...) +1
    SS_CURVE_PROPS(X)
#undef X
};
