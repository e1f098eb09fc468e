/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/curve_sparse.h"

#include <math.h>

/* Keys beyond which PyTorch's operators have twice the traffic, as their scores fall out of the L2 cache. */
#define KEYS_OF_L2 50000.

/* Seconds of an SM's cycles that each token takes, on all SMs. */
static double cycles(const struct ss_card *card, double each)
{
    return each / (card->sm_count * card->sm_clock);
}

static double products(const struct ss_card *card, const struct ss_sparse_work *w, double share)
{
    return (w->products / ss_curve_gemm_peak(card, w->gemm) + w->absorbed / card->peak_bf16) / share;
}

double ss_curve_dsa(const struct ss_card *card, enum ss_sparse_kernel kernel, const struct ss_sparse_work *w)
{
    const double shares[] = {[SS_SPARSE_DENSE] = card->curve_dsa_dense,
                             [SS_SPARSE_CACHED] = card->curve_dsa_cached,
                             [SS_SPARSE_PLAIN] = card->curve_dsa_sparse,
                             [SS_SPARSE_FUSED] = card->curve_dsa_fused};
    double each = kernel == SS_SPARSE_DENSE ? 0 : card->curve_dsa_token;

    if (kernel == SS_SPARSE_CACHED)
        each += card->curve_dsa_cache;
    if (w->index > 0)
        each += card->curve_dsa_index + w->keys * card->curve_dsa_key;
    double token = products(card, w, card->curve_dsa_gemm) +
                   w->attention / (card->peak_bf16 * shares[kernel]) +
                   w->moved / (card->hbm_bandwidth * card->curve_dsa_move) + cycles(card, each);
    if (w->index > 0)
        token += w->index / (ss_curve_gemm_peak(card, SS_CURVE_FP8) * card->curve_gemm_fp8);
    return fmax(card->curve_dsa_host * card->host_slowdown, w->tokens * token);
}

double ss_curve_dsv4(const struct ss_card *card, const struct ss_sparse_work *w)
{
    double token = products(card, w, card->curve_dsv4_gemm) +
                   w->attention / (card->peak_bf16 * card->curve_dsv4_attention) +
                   w->moved / (card->hbm_bandwidth * card->curve_dsv4_move) +
                   cycles(card, card->curve_dsv4_token + w->keys * card->curve_dsv4_key);

    if (w->index > 0)
        token += w->index / (ss_curve_gemm_peak(card, SS_CURVE_FP8) * card->curve_dsv4_index);
    return card->curve_dsv4_launch + w->tokens * token;
}

double ss_curve_msa(const struct ss_card *card, const struct ss_sparse_work *w)
{
    double token = products(card, w, card->curve_msa_gemm) +
                   w->attention / (card->peak_bf16 * card->curve_msa_attention) +
                   w->moved / (card->hbm_bandwidth * card->curve_msa_move) +
                   cycles(card, card->curve_msa_token);

    return fmax(card->curve_msa_host * card->host_slowdown, w->tokens * token);
}

double ss_curve_msa_plain(const struct ss_card *card, double tokens, double keys, double heads,
                          double key_heads)
{
    double bytes = key_heads > 1 ? heads * card->curve_msa_plain_head
                                 : card->curve_msa_plain_key + heads * card->curve_msa_plain_shared;

    return tokens * (cycles(card, card->curve_msa_plain_token) +
                     keys * bytes * (1 + keys / KEYS_OF_L2) / card->hbm_bandwidth);
}
