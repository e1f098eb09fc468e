/* SPDX-License-Identifier: Apache-2.0 */
/* Seconds of one kernel that has a card to itself (docs/reference/model.md, sections 2 to 4): what a micro-benchmark sees. */
#ifndef SS_COST_KERNEL_H
#define SS_COST_KERNEL_H

#include "stepsim/platform.h"
#include "stepsim/precision.h"
#include "stepsim/stack.h"

/* Dense peak of matrix products, FLOP/s; precision: enum ss_precision. 0: the card has no such unit. */
double ss_kernel_peak(const struct ss_card *card, int precision);
/* Bytes that C[m x n] = A[m x k] B[k x n] moves, each of the three once: in nvfp4 with the operands' scales, C in 16 bit at least;
 * with `accumulate`, bytes of an element of what it is added to, C is read and written. `groups`: matrices B, the rows of A
 * and C divided among them. */
double ss_kernel_gemm_bytes(int precision, double groups, double m, double n, double k, int accumulate);
/* C[m x n] = A[m x k] B[k x n] in output tiles over waves of `sms` SMs, 1 to the card's:
 * waves * 2 tile_m tile_n (k + prologue) / (peak / SMs * efficiency), the best of six tiles, at least
 * the HBM time of the three matrices (with `accumulate`, bytes of an element of what it is added to, its read and write on top). `gain`: over that rate. */
double ss_kernel_gemm(const struct ss_card *card, int precision, double m, double n, double k, int accumulate,
                      double sms, double gain);
/* `gain` of a GEMM of depth k in phase F, I or W: 1, but in fp8. A forward that accumulates fast gains what the stack says.
 * recipe: enum ss_recipe, of another precision its usual one; one that scales blocks has an efficiency and a prologue of its own where the card knows them.
 */
double ss_kernel_gemm_gain(const struct ss_card *card, const struct ss_stack *stack, int precision,
                           int recipe, int phase, double k);
/* C_g = A_g B_g for each of `groups` matrices in one kernel; m: rows of all A_g together, k and n: of every group. Every B_g
 * is read. scattered: 1 where rows differ from group to group (experts' tokens), whose last tiles are half full on average;
 * 0 where all have m / groups. A weight gradient is the product of equal groups with m = groups * rows of one gradient and
 * k = mean of tokens a group. groups = 1 is ss_kernel_gemm. */
double ss_kernel_grouped_gemm(const struct ss_card *card, int precision, double groups, int scattered,
                              double m, double n, double k, int accumulate, double sms, double gain);
/* ss_kernel_grouped_gemm where each group is a kernel of its own on one of several streams, as Transformer Engine issues them to cuBLAS: each
 * has its own waves of tiles, for kernels that fill the card hardly overlap, and its sums end apart from the next one's products,
 * but for the card's ss.gemm.stream_sums_apart. groups = 1 is ss_kernel_gemm. */
double ss_kernel_stream_gemms(const struct ss_card *card, int precision, double groups, int scattered,
                              double m, double n, double k, int accumulate, double sms, double gain);
/* Seconds of the product in tiles of tile_m columns on the CUDA cores, which the libraries fall back to where rows are no
 * multiple of 16 bytes. 0 where the card's file does not know their peak. */
double ss_kernel_gemm_on_cores(const struct ss_card *card, int precision, double m, double n, double k);
/* FLOP/s of flash or fused attention over the causal half of the square, alone on the card and with all of its SMs busy; `share`
 * of the peak of `precision` is at 8192 queries and a head of 128 (ss.attention.*): falls for few queries and a small head, and where the card's
 * GEMMs are slower than ss.attention.gemm_level. Heads of latent
 * attention have d_qk elements of a query or key and d_v of a value; FLOP are 2 (d_qk + d_v) a score forward,
 * 2 (3 d_qk + 2 d_v) backward. half_d is ss_kernel_head's: the stack's, of its own in mxfp8. */
double ss_kernel_attention_rate(const struct ss_card *card, const struct ss_stack *stack, int precision,
                                double share, double half_d, double queries, double d_qk, double d_v);
/* The factor of the head's size in that rate, 1 at 128: half of the rate of very large heads is reached at half_d. */
double ss_kernel_head(double half_d, double d_qk, double d_v);
/* One call of a flash or fused kernel, which makes thread blocks of the card's `attention_tile` queries, in the backward of 128
 * keys, head after head. */
struct ss_attention_call {
    double heads;   /* heads of all sequences: each has blocks of its own */
    double queries; /* queries of a sequence; as many keys in the backward */
    double
        spread; /* keys of the query that sees most, over the mean: 2 in a causal square, 1 where all see as many */
    int backward;
};
/* Part of the rate with all of `sms` SMs busy that the call reaches, 0 .. 1: SMs run dry while the last blocks end. 1 for very many
 * blocks. */
double ss_kernel_attention_fill(const struct ss_card *card, const struct ss_attention_call *call, double sms);
/* Part of the rate of fused attention's backward that heads of d_qk channels leave. */
double ss_kernel_wide_backward(const struct ss_card *card, double d_qk);
/* Seconds of `bytes` of traffic through HBM in `kernels` kernels; either may be 0. */
double ss_kernel_elementwise(const struct ss_card *card, double bytes, int kernels);
/* Seconds beyond these for `elements` that PyTorch's kernels make of strided or broadcast operands, one in an instruction, each moving
 * `bytes` of the traffic: 0 where HBM is slower, or the card's rate is 0. */
double ss_kernel_strided(const struct ss_card *card, double elements, double bytes);

#endif
