/* SPDX-License-Identifier: Apache-2.0 */
/* A card: what one GPU is, and how kernels and collectives run on it. */
#pragma once

#include "stepsim/curve_props.h"
#include "stepsim/error.h"

SS_C_BEGIN

/*
 * Facts of a card and of how its kernels run, one row a <prop>.
 * X(field, prop id, unit, required, default, low, high, meaning)
 * unit is the suffix of enum ss_unit; values are stored in SI.
 * Rates of 0 mean "the card has no such unit".
 * Rows from peak_fp32 to gemm_small_tile are read by kernels alone: plans are kept without them (plan/plan_cache.c).
 */
#define SS_CARD_PROPS(X)                                                                                     \
    X(sm_count, "ss.sm_count", COUNT, 1, 0, 1, 1024, "streaming multiprocessors")                            \
    X(peak_fp32, "ss.peak.fp32", FLOPS, 1, 0, 1e9, 1e18,                                                     \
      "dense fp32 matmul peak (TF32 where the card has it)")                                                 \
    X(peak_fp16, "ss.peak.fp16", FLOPS, 1, 0, 1e9, 1e18, "dense fp16 tensor peak")                           \
    X(peak_bf16, "ss.peak.bf16", FLOPS, 1, 0, 0, 1e18, "dense bf16 tensor peak, 0 = none")                   \
    X(peak_fp8, "ss.peak.fp8", FLOPS, 1, 0, 0, 1e18, "dense fp8 tensor peak, 0 = none")                      \
    X(peak_fp4, "ss.peak.fp4", FLOPS, 0, 0, 0, 1e18, "dense fp4 tensor peak, 0 = none")                      \
    X(peak_cuda_cores, "ss.peak.cuda_cores", FLOPS, 0, 0, 0, 1e18,                                           \
      "fp32 peak of the CUDA cores, where 16-bit GEMMs end up whose rows are no multiple of 16 bytes; 0 = "  \
      "not known, no GEMM does")                                                                             \
    X(hbm_bandwidth, "ss.hbm.bandwidth", BANDWIDTH, 1, 0, 1e9, 1e15, "HBM peak bandwidth")                   \
    X(hbm_size, "ss.hbm.size", BYTES, 1, 0, 1e9, 1e13, "HBM size as sold")                                   \
    X(device_memory, "ss.device_memory", BYTES, 1, 0, 1e9, 1e13,                                             \
      "memory total that nvidia-smi shows: the capacity a job must fit")                                     \
    X(hbm_efficiency, "ss.hbm.efficiency", FRACTION, 1, 0, 0.3, 1,                                           \
      "share of the HBM peak that an elementwise kernel sustains")                                           \
    X(strided_rate, "ss.strided_rate", NONE, 0, 1.9e9, 0, 1e11,                                              \
      "elements a second that an SM makes in PyTorch's kernels whose operands are strided or broadcast; 0: " \
      "no bound but HBM")                                                                                    \
    X(gemm_eff_fp32, "ss.gemm.efficiency.fp32", FRACTION, 1, 0, 0.2, 1,                                      \
      "share of the peak that a large GEMM sustains under the card's power limit")                           \
    X(gemm_eff_fp16, "ss.gemm.efficiency.fp16", FRACTION, 1, 0, 0.2, 1, "the same, fp16")                    \
    X(gemm_eff_bf16, "ss.gemm.efficiency.bf16", FRACTION, 1, 0, 0.2, 1, "the same, bf16")                    \
    X(gemm_eff_fp8, "ss.gemm.efficiency.fp8", FRACTION, 1, 0, 0.2, 1, "the same, fp8")                       \
    X(gemm_eff_mxfp8, "ss.gemm.efficiency.mxfp8", FRACTION, 0, 0, 0, 1,                                      \
      "the same, fp8 with a scale for each 32 elements, which the tensor cores apply; 0: they cannot")       \
    X(gemm_eff_fp4, "ss.gemm.efficiency.fp4", FRACTION, 0, 0, 0, 1,                                          \
      "the same, fp4 with a scale for each 16 elements; 0: the card has no fp4")                             \
    X(gemm_tile_m, "ss.gemm.tile_m", COUNT, 1, 0, 16, 1024, "rows of the largest output tile of one SM")     \
    X(gemm_tile_n, "ss.gemm.tile_n", COUNT, 1, 0, 16, 1024, "columns of the largest output tile of one SM")  \
    X(gemm_k_prologue, "ss.gemm.k_prologue", NONE, 1, 0, 0, 4096,                                            \
      "prologue and epilogue of a tile, in steps of K at bf16")                                              \
    X(gemm_k_prologue_fp8, "ss.gemm.k_prologue.fp8", NONE, 1, 0, 0, 4096, "the same at fp8")                 \
    X(gemm_k_prologue_fp4, "ss.gemm.k_prologue.fp4", NONE, 0, 0, 0, 4096, "the same at fp4")                 \
    X(gemm_eff_fp8_blocks, "ss.gemm.efficiency.fp8_blocks", FRACTION, 0, 0, 0, 1,                            \
      "the same, fp8 with a scale for each 1 x 128 and 128 x 128 block (DeepGEMM); 0: as the other recipes") \
    X(gemm_k_prologue_fp8_blocks, "ss.gemm.k_prologue.fp8_blocks", NONE, 0, 0, 0, 4096,                      \
      "prologue and epilogue of its tiles")                                                                  \
    X(gemm_wgrad_fp8_blocks, "ss.gemm.wgrad.fp8_blocks", FRACTION, 0, 1, 0.3, 1,                             \
      "rate of its weight gradients, both of whose operands have a scale for 1 x 128, over its other GEMMs") \
    X(gemm_sums_apart, "ss.gemm.sums_apart", FRACTION, 0, 0, 0, 1,                                           \
      "share of the sums' traffic that runs beside the next tile's products, where tensor cores have a "     \
      "memory of their own for sums (Blackwell)")                                                            \
    X(gemm_fp8_any_layout, "ss.gemm.fp8_any_layout", COUNT, 0, 0, 0, 1,                                      \
      "1: fp8 GEMMs take operands by rows or by columns (Blackwell), so that one copy of a tensor serves "   \
      "forward and backward")                                                                                \
    X(gemm_stream_sums_apart, "ss.gemm.stream_sums_apart", FRACTION, 0, 0, 0, 1,                             \
      "share of the sums' traffic that runs beside products where groups of a GEMM are kernels of their "    \
      "own")                                                                                                 \
    X(gemm_beside, "ss.gemm.beside", FRACTION, 0, 0, 0, 1,                                                   \
      "rate of a GEMM while a kernel of a collective holds SMs, over its own, where GEMMs deal out their "   \
      "tiles to all SMs when they start (Hopper); 0: that of the SMs that are left")                         \
    X(gemm_small_tile, "ss.gemm.small_tile", FRACTION, 1, 0, 0.5, 1,                                         \
      "efficiency of a tile of half the largest size over the largest one's")                                \
    X(attention_tile, "ss.attention.tile", COUNT, 0, 128, 16, 1024,                                          \
      "queries of a thread block of flash and fused attention forward; one of the backward has 128 keys")    \
    X(attention_sorted, "ss.attention.longest_first", COUNT, 0, 0, 0, 1,                                     \
      "1: the backward of attention starts the longest blocks of all heads first, so that no SM waits")      \
    X(attention_wide, "ss.attention.wide_backward", FRACTION, 0, 1, 0.1, 1,                                  \
      "rate of fused attention's backward of heads of more than 128 channels over that of others")           \
    X(attention_least, "ss.attention.least_dim", COUNT, 0, 0, 0, 128,                                        \
      "channels of a head whose time fused attention takes at least; 0: heads of few channels as the stack " \
      "says")                                                                                                \
    X(attention_lone, "ss.attention.lone_block", FRACTION, 0, 1, 0.1, 1,                                     \
      "rate of a forward attention's thread block that is alone on its SM over that of the SM")              \
    X(attention_gemm_level, "ss.attention.gemm_level", FRACTION, 0, 0, 0, 1,                                 \
      "level of GEMMs of the card on which attention was measured, where this one's are slower (a power "    \
      "limit): attention's products are slower as GEMMs are")                                                \
    X(scan_sparse, "ss.scan.sparse", FRACTION, 0, 0.64, 0.01, 1,                                             \
      "share of its roofline that sparse attention reaches; default: FlashMLA's 640 TFLOP/s of an H800's "   \
      "989, 1450 of a B200's 2250")                                                                          \
    X(scan_cycles, "ss.scan.cycles", NONE, 0, 0.106, 0, 100,                                                 \
      "cycles of an SM that a byte of a chunked scan takes beside HBM's time; default: Mamba-2's on an "     \
      "H100")                                                                                                \
    X(scan_products, "ss.scan.products", FRACTION, 0, 0.2, 0.01, 1,                                          \
      "share of the 16-bit peak that the products of a scan's kernels reach where the card has no rate of "  \
      "its own for them")                                                                                    \
    X(kernel_latency, "ss.kernel_latency", TIME, 1, 0, 0, 1e-3,                                              \
      "shortest time from one kernel's start to the next one's on one stream")                               \
    X(fabric_efficiency, "ss.fabric.efficiency", FRACTION, 1, 0, 0.1, 1,                                     \
      "busbw of a large collective over the link's bandwidth")                                               \
    X(fabric_half_size, "ss.fabric.half_size", BYTES, 0, 0, 0, 1e9,                                          \
      "buffer up to which a collective inside a node runs at half of its busbw, the library's protocols "    \
      "and "                                                                                                 \
      "channels filling")                                                                                    \
    X(fabric_exchange, "ss.fabric.exchange_efficiency", FRACTION, 0, 0, 0, 1,                                \
      "rate of DeepEP's and HybridEP's copies over the link's bandwidth; 0: ss.fabric.efficiency")           \
    X(fabric_latency, "ss.fabric.step_latency", TIME, 1, 0, 0, 1e-3,                                         \
      "latency of one ring step inside a node")                                                              \
    X(nvls_efficiency, "ss.nvls.efficiency", FRACTION, 0, 0, 0, 1,                                           \
      "bytes that an all-reduce moves into a switch that reduces (NVLink SHARP) over the link's bandwidth; " \
      "0: it cannot")                                                                                        \
    X(nvls_latency, "ss.nvls.latency", TIME, 0, 0, 0, 1e-3, "latency of such an all-reduce")                 \
    X(nic_efficiency, "ss.nic.efficiency", FRACTION, 1, 0, 0.1, 1,                                           \
      "busbw of a large collective over the NICs' bandwidth")                                                \
    X(nic_latency, "ss.nic.step_latency", TIME, 1, 0, 0, 1e-3, "latency of one ring step over the network")  \
    X(nccl_ll_busbw, "ss.nccl.ll_busbw", BANDWIDTH, 0, 0, 0, 1e15,                                           \
      "busbw inside a node at most of the library's protocol LL; 0: half of that of large messages")         \
    X(nccl_far, "ss.nccl.net_latency", TIME, 0, 19e-6, 0, 1e-3,                                              \
      "what a step of NCCL between nodes takes over its own table of latencies in LL128 and Simple")         \
    X(nccl_fabric, "ss.nccl.fabric_latency", TIME, 0, 0, 0, 1e-2,                                            \
      "what a step of NCCL between nodes takes in any protocol where the network is slower than "            \
      "InfiniBand, in Simple twice")                                                                         \
    X(nccl_tree_share, "ss.nccl.tree_share", FRACTION, 0, 0, 0, 1,                                           \
      "part of the NICs' busbw that trees reach; 0: all of it")                                              \
    X(nccl_buffer, "ss.nccl.buffer", BYTES, 0, 4194304, 65536, 1e9,                                          \
      "buffer of a channel in Simple (NCCL_BUFFSIZE), of which an eighth is the piece that a tree hands on") \
    X(nccl_simple, "ss.nccl.net_simple", COUNT, 0, 0, 0, 1,                                                  \
      "1: between nodes NCCL has its protocol Simple alone (NCCL_PROTO=Simple)")                             \
    X(nccl_trees, "ss.nccl.net_trees", COUNT, 0, 0, 0, 1,                                                    \
      "1: all-reduces between nodes take trees, as a cluster's tuner has it")                                \
    X(nic_exchange_half, "ss.nic.exchange_half_size", BYTES, 0, 0, 0, 1e9,                                   \
      "buffer of a rank up to which an all-to-all across nodes runs at half of its busbw")                   \
    X(pcie_bandwidth, "ss.pcie.bandwidth", BANDWIDTH, 1, 0, 1e8, 1e13,                                       \
      "host to device copy rate, one direction")                                                             \
    X(host_memory, "ss.host_memory", BYTES, 1, 0, 1e9, 1e15, "host memory of a node")                        \
    X(host_step, "ss.host.step_bandwidth", BANDWIDTH, 0, 1.09e11, 1e8, 1e13,                                 \
      "bytes of optimizer states and gradients a second that the host of a node steps through, of all "      \
      "its GPUs together")                                                                                   \
    X(nvme_bandwidth, "ss.nvme.bandwidth", BANDWIDTH, 0, 2.56e10, 1e7, 1e13,                                 \
      "bytes a second that the NVMe drives of a node read or write, for all its GPUs together")              \
    X(host_slowdown, "ss.host.slowdown", NONE, 0, 1, 0.1, 10,                                                \
      "time that the host takes to issue an operator, over that of the Xeons of the stacks' figures")        \
    X(spread_gpu, "ss.spread.gpu", FRACTION, 0, 0.015, 0, 0.1,                                               \
      "lasting spread of GPUs: standard deviation of the time that their kernels take, over its mean")       \
    X(spread_slow_share, "ss.spread.slow_share", FRACTION, 0, 0.005, 0, 0.1,                                 \
      "share of machines that are slow beyond it")                                                           \
    X(spread_slow_factor, "ss.spread.slow_factor", NONE, 0, 1.1, 1, 2,                                       \
      "how much longer kernels take on those")                                                               \
    X(power, "ss.power", WATT, 0, 0, 0, 1e5, "board power limit")                                            \
    X(power_idle, "ss.power.idle", FRACTION, 0, 0.2, 0, 1,                                                   \
      "share of the board power that a GPU draws while no kernel runs or it waits")                          \
    X(power_node, "ss.power.node", WATT, 0, 0, 0, 1e6,                                                       \
      "what a node draws beside its GPUs: processors, NICs, fans, losses; 0: not known")                     \
    X(pue, "ss.power.pue", NONE, 0, 1.1, 1, 5, "energy of the building over that of the nodes")              \
    X(price, "ss.price", PRICE, 0, 0, 0, 1e6, "price of one GPU, USD an hour")                               \
    X(price_example, "ss.price.example", PRICE, 0, 0, 0, 1e6,                                                \
      "an example of it, which plans of capacity take where no price is stated; 0: none")                    \
    X(sheet, "ss.datasheet", COUNT, 0, 0, 0, 1,                                                              \
      "1: all that is known of the card is its data sheet, so that no error band of the time is told")       \
    X(mtbf, "ss.mtbf", HOURS, 0, 29538, 1, 1e12,                                                             \
      "hours that one GPU runs, in the mean, between failures that interrupt its job")                       \
    X(restart, "ss.restart", TIME, 0, 600, 0, 1e6, "time from such a failure until the job trains again")    \
    X(storage, "ss.storage.bandwidth", BANDWIDTH, 0, 0.65e9, 1e3, 1e15,                                      \
      "bytes of a checkpoint that storage takes from each node when all of them write")                      \
    SS_CURVE_PROPS(X)

/* Kernels of mixers without a softmax. */
enum ss_scan {
    SS_SCAN_CONV1D, /* Mamba's causal convolution */
    SS_SCAN_CHUNKED, /* products in chunks and states between them: Mamba-2, and what no table has a curve of */
    SS_SCAN_INDEX,   /* indexer of sparse attention */
    SS_SCAN_SPARSE,    /* sparse attention */
    SS_SCAN_SELECTIVE, /* Mamba-1 */
    SS_SCANS, /* behind: kernels of flash-linear-attention whose forward has a curve of the card (cost/curve.h) */
    SS_SCAN_SHORT_CONV = SS_SCANS,
    SS_SCAN_GATED_DELTA,
    SS_SCAN_KIMI_DELTA
};

struct ss_card {
    char name[64]; /* <prop id="ss.card"> */
#define X(field, id, unit, required, def, lo, hi, doc) double field;
    SS_CARD_PROPS(X)
#undef X
};

SS_C_END
