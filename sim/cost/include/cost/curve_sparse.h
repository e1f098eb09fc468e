/* SPDX-License-Identifier: Apache-2.0 */
/* Seconds of whole modules of sparse attention, forward, from counted work (docs/design/curves.md). */
#pragma once

#include "cost/curve.h"

/* The kernel of attention itself. */
enum ss_sparse_kernel {
    SS_SPARSE_DENSE,  /* to all keys, where they are no more than the top ones */
    SS_SPARSE_CACHED, /* FlashMLA, keys in fp8 */
    SS_SPARSE_PLAIN,  /* FlashMLA's sparse prefill */
    SS_SPARSE_FUSED   /* TensorRT-LLM's */
};
/* What a module does for one token in the mean. */
struct ss_sparse_work {
    double tokens;           /* of all sequences */
    double products;         /* FLOP of projections in the precision `gemm` */
    double absorbed;         /* FLOP of projections in 16 bit */
    enum ss_curve_gemm gemm; /* precision */
    double attention;        /* FLOP of attention; kernels that pad heads do so here */
    double moved;            /* bytes of its heads, and of what else goes through HBM */
    double index;            /* FLOP of the indexer; 0: there is none */
    double keys;             /* that the choice of the top ones reads */
};
/* Returns the seconds of DeepSeek's sparse attention (DSA): the host's, or the sum of its parts. */
double ss_curve_dsa(const struct ss_card *card, enum ss_sparse_kernel kernel,
                    const struct ss_sparse_work *work);
/* Returns those of DeepSeek-V4's compressed attention (CSA, HCA). */
double ss_curve_dsv4(const struct ss_card *card, const struct ss_sparse_work *work);
/* Returns those of MiniMax's sparse attention (MSA). */
double ss_curve_msa(const struct ss_card *card, const struct ss_sparse_work *work);
/* Does the same for PyTorch's operators, which attend to all keys. */
double ss_curve_msa_plain(const struct ss_card *card, double tokens, double keys, double heads,
                          double key_heads);
