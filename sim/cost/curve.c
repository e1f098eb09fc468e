/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/curve.h"

#include "base/base.h"
#include "cost/kernel.h"
#include "stepsim/params.h"

/* Tokens of a chunk of linear attention, in all public kernels. */
#define CHUNK 64
/* Channels of keys and values of the heads that the cycles of linear attention are measured with. */
#define HEAD 128.

/* Seconds of `bytes` at a share of the HBM peak. */
static double moved(const struct ss_card *card, double bytes, double share)
{
    return bytes / (card->hbm_bandwidth * share);
}

/* Cycles a second of all SMs together. */
static double all_clocks(const struct ss_card *card)
{
    return card->sm_count * card->sm_clock;
}

/* ---- GEMM ---- */

/* Small tiles lose less in a burst than in training: one number for all cards. */
#define SMALL_TILE 0.97

/* What a GEMM is: unit, curve; kernels of a call, and bytes of an element of A that casts move. Casts with a scale a tensor
 * read A twice and write it, with a scale a block read and write it once; nvfp4 finds the tensor's largest value, too. */
static const struct gemm {
    int precision, efficiency, prologue, kernels;
    double cast;
} gemms[SS_CURVE_GEMMS] = {
    [SS_CURVE_BF16] = {SS_BF16, SS_PROP_curve_gemm_bf16, SS_PROP_curve_prologue_bf16, 1, 0},
    [SS_CURVE_FP8] = {SS_FP8, SS_PROP_curve_gemm_fp8, SS_PROP_curve_prologue_fp8, 4, 2 + 2 + 1},
    [SS_CURVE_FP8_BLOCKS] = {SS_FP8, SS_PROP_curve_gemm_blocks, SS_PROP_curve_prologue_blocks, 2, 2 + 1},
    [SS_CURVE_FP4] = {SS_NVFP4, SS_PROP_curve_gemm_fp4, SS_PROP_curve_prologue_fp4, 3, 2 + 2 + 9. / 16},
};

double ss_curve_gemm_peak(const struct ss_card *card, enum ss_curve_gemm what)
{
    return ss_kernel_peak(card, gemms[what].precision);
}

/* Returns the card with the numbers of a curve in place of training's. */
static struct ss_card alone(const struct ss_card *card, int precision, double efficiency, double prologue)
{
    const struct ss_precision_facts *p = ss_precision_at(precision);
    struct ss_card c = *card;

    ss_prop_put(p->efficiency, &c, efficiency);
    ss_prop_put(p->prologue, &c, prologue);
    c.gemm_small_tile = SMALL_TILE;
    c.hbm_efficiency = card->curve_stream;
    c.kernel_latency = 0;
    return c;
}

double ss_curve_gemm(const struct ss_card *card, enum ss_curve_gemm what, double m, double n, double k)
{
    const struct gemm *g = &gemms[what];
    struct ss_card c =
        alone(card, g->precision, ss_prop_get(g->efficiency, card), ss_prop_get(g->prologue, card));

    return ss_kernel_gemm(&c, g->precision, m, n, k, 0, c.sm_count, 1) + g->kernels * card->curve_launch +
           moved(card, m * k * g->cast, card->curve_cast);
}

/* ---- convolutions, hyper-connections ---- */

double ss_curve_convolution(const struct ss_card *card, double tokens, double channels, int kernels)
{
    return kernels * card->curve_conv_launch +
           ss_kernel_convolution(card, 4 * tokens * channels, card->curve_conv_cycles);
}

double ss_curve_mamba_convolution(const struct ss_card *card, double sequences, double tokens,
                                  double channels)
{
    return card->curve_mamba_conv_launch +
           ss_kernel_convolution(card, 4 * sequences * tokens * channels, card->curve_mamba_conv_cycles) +
           sequences * channels * card->curve_mamba_conv_start / all_clocks(card);
}

double ss_curve_streams(const struct ss_card *card, int post, double tokens, double streams, double hidden)
{
    double bytes = tokens * hidden * 2 * (2 * streams + 1);

    return post ? card->curve_mhc_post_launch + moved(card, bytes, card->curve_mhc_post_rate)
                : card->curve_mhc_pre_launch + moved(card, bytes, card->curve_mhc_pre_rate);
}

/* ---- linear attention ---- */

/* Bytes of the state that a chunk writes and reads, a token. */
static double state_bytes(const struct ss_delta_call *c)
{
    return 2 * 2 * c->key_dim * c->value_dim / CHUNK;
}

double ss_curve_gdn_bytes(const struct ss_delta_call *c)
{
    double keys = 2 * c->key_dim * c->key_heads / c->heads; /* of a value head, in 16 bit */
    double key = 2 * c->key_dim, value = 2 * c->value_dim, gate = 4, sums = 4 * CHUNK, inverse = 2 * CHUNK;
    double norms = 4 * keys; /* of queries and of keys, in and out */
    double products = keys + gate + 4 + sums, solve = sums + inverse;
    double factors = keys + value + 2 * gate + inverse + key + value;
    double states = keys + key + value + gate + value, outputs = 2 * keys + value + gate + value;

    return norms + 2 * gate + products + solve + factors + states + outputs + state_bytes(c);
}

double ss_curve_kda_bytes(const struct ss_delta_call *c)
{
    double keys = 2 * c->key_dim * c->key_heads / c->heads;
    double key = 2 * c->key_dim, value = 2 * c->value_dim, gates = 4 * c->key_dim, sums = 4 * CHUNK;
    double inverse = 2 * CHUNK, norms = 4 * keys, sum = key + gates;
    double products = 2 * keys + gates + sums + sums, solve = sums + inverse;
    double factors = keys + value + gates + inverse + 2 * key + value;
    double states = key + key + value + value, outputs = keys + gates + value + inverse + value;

    return norms + sum + products + solve + factors + states + outputs + state_bytes(c);
}

/* Seconds of chunks whose products run side by side on all SMs, and whose states follow one another. */
static double chunked(const struct ss_card *card, const struct ss_delta_call *c, double bytes, double cycles,
                      double chunk)
{
    double heads = c->sequences * c->tokens * c->heads, size = c->key_dim * c->value_dim / (HEAD * HEAD);

    return moved(card, heads * bytes, card->curve_stream) + heads * cycles * size / all_clocks(card) +
           ceil(c->tokens / CHUNK) * chunk / card->sm_clock;
}

double ss_curve_gdn(const struct ss_card *card, const struct ss_delta_call *c)
{
    return card->curve_gdn_launch +
           chunked(card, c, ss_curve_gdn_bytes(c), card->curve_gdn_cycles, card->curve_gdn_chunk);
}

double ss_curve_kda(const struct ss_card *card, const struct ss_delta_call *c)
{
    return card->curve_kda_launch +
           chunked(card, c, ss_curve_kda_bytes(c), card->curve_kda_cycles, card->curve_kda_chunk);
}

/* ---- experts ---- */

/* What the experts' operands are: unit, curve, bytes of an element of an input. */
static const struct experts {
    int precision, efficiency, prologue;
    double element;
} kinds[SS_CURVE_EXPERTS] = {
    [SS_CURVE_EXPERTS_BF16] = {SS_BF16, SS_PROP_curve_experts_bf16, SS_PROP_curve_experts_prologue_bf16, 2},
    [SS_CURVE_EXPERTS_FP8] = {SS_FP8, SS_PROP_curve_experts_fp8, SS_PROP_curve_experts_prologue_fp8, 1},
    [SS_CURVE_EXPERTS_FP8_BLOCKS] = {SS_FP8, SS_PROP_curve_experts_blocks,
                                     SS_PROP_curve_experts_prologue_blocks, 1},
    [SS_CURVE_EXPERTS_MXFP4] = {SS_FP8, SS_PROP_curve_experts_mxfp4, SS_PROP_curve_experts_prologue_mxfp4, 1},
};

double ss_curve_experts(const struct ss_card *card, enum ss_curve_experts what,
                        const struct ss_experts_call *call)
{
    const struct experts *k = &kinds[what];
    struct ss_card c =
        alone(card, k->precision, ss_prop_get(k->efficiency, card), ss_prop_get(k->prologue, card));
    double wide = call->width * (1 + call->gated), m = call->copies;
    /* Copies are gathered and cast; both halves of the first product are read and one written; the second product is read and
     * a token of its copies written. */
    double bytes = m * call->hidden * (2 + k->element) + m * (wide * 2 + call->width * k->element) +
                   (m + call->tokens) * call->hidden * 2;

    return card->curve_experts_launch + moved(card, bytes, card->curve_experts_move) +
           ss_kernel_grouped_gemm(&c, k->precision, call->experts, call->scattered, m, wide, call->hidden, 0,
                                  c.sm_count, 1) +
           ss_kernel_grouped_gemm(&c, k->precision, call->experts, call->scattered, m, call->hidden,
                                  call->width, 0, c.sm_count, 1);
}
