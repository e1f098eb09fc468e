/* SPDX-License-Identifier: Apache-2.0 */
/* Seconds of kernels alone on a card, forward, by the card's curves (ss.curve.*; docs/design/curves.md). A kernel that HBM or
 * SMs bound takes as long in training; a GEMM, which power bounds, takes longer there (cost/kernel.h). Launches count as those of
 * kernels of a CUDA graph. */
#pragma once

#include "stepsim/platform.h"

/* GEMMs by what their operands are. Casts of the input from 16 bit belong to all but the first. */
enum ss_curve_gemm { SS_CURVE_BF16, SS_CURVE_FP8, SS_CURVE_FP8_BLOCKS, SS_CURVE_FP4, SS_CURVE_GEMMS };
/* Returns the peak, FLOP/s, that a curve of GEMMs is a share of. 0: the card has no unit for it. */
double ss_curve_gemm_peak(const struct ss_card *card, enum ss_curve_gemm what);
/* Returns the seconds of C[m x n] = A[m x k] B[k x n] by ss_kernel_gemm with the curve's numbers, and of the casts of A. */
double ss_curve_gemm(const struct ss_card *card, enum ss_curve_gemm what, double m, double n, double k);

/* Returns the seconds of `kernels` short causal convolutions over `channels` channels of `tokens` tokens, all together. */
double ss_curve_convolution(const struct ss_card *card, double tokens, double channels, int kernels);
/* Does the same for the CUDA kernel of Mamba, of `sequences` with `tokens` each: a thread block walks a channel of a sequence. */
double ss_curve_mamba_convolution(const struct ss_card *card, double sequences, double tokens,
                                  double channels);

/* A linear attention whose state passes from chunk to chunk of 64 tokens. */
struct ss_delta_call {
    double sequences, tokens;  /* sequences, tokens of each */
    double key_heads, heads;   /* heads of queries and keys; of values, each with a state of its own */
    double key_dim, value_dim; /* channels of a head */
};
/* Returns the HBM bytes that the kernels of the gated delta rule move for a token of a head: each tensor once a kernel. */
double ss_curve_gdn_bytes(const struct ss_delta_call *call);
double ss_curve_kda_bytes(const struct ss_delta_call *call);
/* Returns the seconds of the chunked gated delta rule, and of Kimi delta attention:
 * launch + tokens heads (bytes / HBM rate + cycles / SMs' clocks) + chunks of a sequence * cycles / clock. */
double ss_curve_gdn(const struct ss_card *card, const struct ss_delta_call *call);
double ss_curve_kda(const struct ss_card *card, const struct ss_delta_call *call);

/* Returns the seconds of a hyper-connection before (post 0) or behind (1) a sublayer. Each reads all streams twice, or reads and
 * writes them, and moves one tensor of `hidden` channels. */
double ss_curve_streams(const struct ss_card *card, int post, double tokens, double streams, double hidden);

/* The experts that one rank computes, by what their operands are. */
enum ss_curve_experts {
    SS_CURVE_EXPERTS_BF16,
    SS_CURVE_EXPERTS_FP8,
    SS_CURVE_EXPERTS_FP8_BLOCKS,
    SS_CURVE_EXPERTS_MXFP4, /* weights; inputs are mxfp8 */
    SS_CURVE_EXPERTS
};
struct ss_experts_call {
    double tokens;        /* that come in and go out */
    double copies;        /* of tokens, that the rank's experts compute */
    double experts;       /* of the rank */
    double hidden, width; /* channels of a token; of an expert, on this rank */
    int gated, scattered; /* 1: two matrices in; experts have different numbers of copies */
};
/* Returns the seconds of the forward: two grouped GEMMs by ss_kernel_grouped_gemm with the curve's numbers, and the traffic of
 * sorting, activating and summing the copies. */
double ss_curve_experts(const struct ss_card *card, enum ss_curve_experts what,
                        const struct ss_experts_call *call);

/* DeepEP's exchange of tokens inside a node. */
struct ss_exchange_call {
    double tokens, bytes; /* of a GPU; bytes of a token */
    double copies;        /* GPUs that a token goes to, in the mean, its own among them */
    double gpus, sms;     /* of the group; that the kernels take */
};
/* Returns the seconds of a dispatch (back 0) or combine (1): the longer of what the SMs need, tokens (token + copies (copy +
 * bytes / rate)) / SMs, and of what the links need. fabric: bytes/s of a GPU's links, one direction. */
double ss_curve_exchange(const struct ss_card *card, double fabric, int back,
                         const struct ss_exchange_call *call);
