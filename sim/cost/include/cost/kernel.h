/* SPDX-License-Identifier: Apache-2.0 */
/* Seconds of one kernel alone on a card, as a micro-benchmark measures it (docs/reference/model.md, sections
 * 2 to 4). */
#pragma once

#include "stepsim/platform.h"
#include "stepsim/precision.h"
#include "stepsim/stack.h"

/* Returns the dense peak of matrix products, FLOP/s; precision: enum ss_precision. 0: the card has no unit
 * for it. */
double ss_kernel_peak(const struct ss_card *card, int precision);
/* Returns the bytes that C[m x n] = A[m x k] B[k x n] moves, each of the three matrices once. nvfp4 adds the
 * operands' scales; C has at least 16 bit. With `accumulate`, the bytes of an element of the sum, C is read
 * and written. `groups`: number of matrices B, which divide the rows of A and C among them. */
double ss_kernel_gemm_bytes(int precision, double groups, double m, double n, double k, int accumulate);
/* Returns the seconds of C[m x n] = A[m x k] B[k x n] in output tiles over waves of `sms` SMs, 1 to the
 * card's: waves * 2 tile_m tile_n (k + prologue) / (peak / SMs * efficiency). The best of six tiles counts,
 * and at least the HBM time of the three matrices; `accumulate`, bytes of an element of the sum, adds its
 * read and write. `gain`: factor on that rate. */
double ss_kernel_gemm(const struct ss_card *card, int precision, double m, double n, double k, int accumulate,
                      double sms, double gain);
/* Returns the `gain` of a GEMM of depth k in phase F, I or W; it is 1 except in fp8. A forward that
 * accumulates fast gains what the stack says. recipe: enum ss_recipe; a recipe of another precision counts as
 * the usual one. A recipe that scales blocks has an efficiency and a prologue of its own where the card knows
 * them. */
double ss_kernel_gemm_gain(const struct ss_card *card, const struct ss_stack *stack, int precision,
                           int recipe, int phase, double k);
/* Returns the seconds of C_g = A_g B_g for `groups` matrices in one kernel; m: rows of all A_g together, k
 * and n: of every group. Every B_g is read. scattered: 1 where the rows differ from group to group (tokens of
 * experts), so that last tiles are half full on average; 0 where every group has m / groups rows. A weight
 * gradient is the product of equal groups with m = groups * rows of one gradient and k = mean tokens of a
 * group. groups = 1 is ss_kernel_gemm. */
double ss_kernel_grouped_gemm(const struct ss_card *card, int precision, double groups, int scattered,
                              double m, double n, double k, int accumulate, double sms, double gain);
/* Does what ss_kernel_grouped_gemm does for groups that are kernels of their own on several streams, as
 * Transformer Engine issues them to cuBLAS. Each group has its own waves of tiles, because kernels that fill
 * the card hardly overlap. The sums of a group end apart from the products of the next one, as far as the
 * card's ss.gemm.stream_sums_apart says. groups = 1 is ss_kernel_gemm. */
double ss_kernel_stream_gemms(const struct ss_card *card, int precision, double groups, int scattered,
                              double m, double n, double k, int accumulate, double sms, double gain);
/* Returns the seconds of the product in tiles of tile_m columns on the CUDA cores, which libraries use where
 * rows are no multiple of 16 bytes. 0 where the card's file does not have their peak. */
double ss_kernel_gemm_on_cores(const struct ss_card *card, int precision, double m, double n, double k);
/* Returns the FLOP/s of flash or fused attention over the causal half of the square, alone on the card and
 * with all its SMs busy. `share` of the peak of `precision` holds at 8192 queries and heads of 128 channels
 * (ss.attention.*). The rate falls for few queries, for small heads, and where the card's GEMMs are slower
 * than ss.attention.gemm_level. Heads of latent attention have d_qk elements of a query or key and d_v of a
 * value; FLOP are 2 (d_qk + d_v) a score forward, 2 (3 d_qk + 2 d_v) backward. At half_d
 * channels a head reaches half the rate of very large heads; the stack has one, and another for mxfp8. */
double ss_kernel_attention_rate(const struct ss_card *card, const struct ss_stack *stack, int precision,
                                double share, double half_d, double queries, double d_qk, double d_v);
/* Keys of a thread block of the backward; that of flash attention 2 and 3 for heads up to 128 channels,
 * assumed for cuDNN. */
#define SS_BACKWARD_TILE 128

/* One call of a flash or fused kernel. It makes thread blocks of the card's `attention_tile` queries, in the
 * backward of 128 keys, head after head. */
struct ss_attention_call {
    double heads;   /* heads of all sequences: no block has parts of two heads */
    double queries; /* queries of a sequence; as many keys in the backward */
    /* keys that the last query sees, over the mean: 2 in a causal square, 1 where all queries see as many
     * keys */
    double spread;
    int backward;
};
/* Returns the part of the full rate on `sms` SMs that the call reaches, 0 .. 1: SMs idle while the last
 * blocks end. 1 for very many blocks. */
double ss_kernel_attention_fill(const struct ss_card *card, const struct ss_attention_call *call, double sms);
/* Returns the part of the rate of its GEMMs and exponentials that fused attention in 16 bit keeps with such heads: its exponentials hide behind no
 * fewer channels than the card's `attention_least`, and a backward of more than 128 is slower. */
double ss_kernel_fused_head(const struct ss_card *card, double half_d, double d_qk, double d_v, int backward);
/* Returns the seconds of `bytes` of HBM traffic in `kernels` kernels; either may be 0. */
double ss_kernel_elementwise(const struct ss_card *card, double bytes, int kernels);
/* Returns the seconds of a convolution that moves `bytes`, 4 of each element, and takes `cycles` of an SM for it: by HBM or by cycles. */
double ss_kernel_convolution(const struct ss_card *card, double bytes, double cycles);
/* Returns the seconds of `kernels` kernels of a scan (enum ss_scan below SS_SCANS) with these products and HBM traffic in all. */
double ss_kernel_scan(const struct ss_card *card, int scan, double flops, double bytes, int kernels);
/* Returns the seconds beyond ss_kernel_elementwise that PyTorch's kernels take for `elements` of strided or
 * broadcast operands, one element an instruction, each with `bytes` of the traffic. 0 where HBM is slower, or
 * the card's rate is 0. */
double ss_kernel_strided(const struct ss_card *card, double elements, double bytes);
