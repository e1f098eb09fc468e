/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/kernel.h"

#include "base/base.h"
#include "stepsim/params.h"

double ss_kernel_peak(const struct ss_card *card, int precision)
{
    return ss_prop_get(ss_precision_at(precision)->peak, card);
}

static double gemm_efficiency(const struct ss_card *card, int precision)
{
    return ss_prop_get(ss_precision_at(precision)->efficiency, card);
}

double ss_kernel_elementwise(const struct ss_card *card, double bytes, int kernels)
{
    return bytes / (card->hbm_bandwidth * card->hbm_efficiency) + kernels * card->kernel_latency;
}

/* Mamba-1's scan has an exponential a state for 9 FLOP, on special function units: 16 a clock of an SM beside 128 multiply-adds. */
#define EXPONENTIALS (9. * 16 / 256)

double ss_kernel_convolution(const struct ss_card *card, double bytes, double cycles)
{
    double hbm = bytes / (card->hbm_bandwidth * card->curve_stream);
    return fmax(hbm, bytes / 4 * cycles / (card->sm_count * card->sm_clock));
}

/* Cycles of a byte run beside HBM's time in chunked scans, in which products wait for one another. */
double ss_kernel_scan(const struct ss_card *card, int scan, double flops, double bytes, int kernels)
{
    double byte = 1 / (card->hbm_bandwidth * card->hbm_efficiency);
    double peak = (card->peak_bf16 > 0 ? card->peak_bf16 : card->peak_fp16) * card->scan_products;
    if (scan == SS_SCAN_CONV1D)
        return ss_kernel_convolution(card, bytes, card->curve_mamba_conv_cycles) +
               kernels * card->kernel_latency;
    if (scan == SS_SCAN_CHUNKED) {
        byte = 1 / (card->hbm_bandwidth * card->curve_stream) +
               card->scan_cycles / (card->sm_count * card->sm_clock);
        flops = 0; /* in the cycles */
    }
    if (scan == SS_SCAN_SPARSE) {
        byte = 1 / (card->hbm_bandwidth * card->scan_sparse);
        peak *= card->scan_sparse / card->scan_products;
    }
    if (scan == SS_SCAN_SELECTIVE && card->peak_cuda_cores > 0)
        peak = card->peak_cuda_cores * EXPONENTIALS;
    return fmax(flops / peak, bytes * byte) + kernels * card->kernel_latency;
}

double ss_kernel_strided(const struct ss_card *card, double elements, double bytes)
{
    double rate = card->strided_rate * card->sm_count;
    double traffic = bytes / (card->hbm_bandwidth * card->hbm_efficiency);
    return rate > 0 ? elements * fmax(0, 1 / rate - traffic) : 0;
}

/* Returns the rows of tiles that `groups` matrices of m rows together fill, at least one a matrix. Where rows
 * scatter over more than a tile, the last tile of a matrix is half full on average. */
static double tile_rows(double groups, int scattered, double m, double tile)
{
    double rows = m / groups;
    return groups * (scattered ? fmax(rows / tile + 0.5, fmin(rows, 1)) : ceil(rows / tile));
}

static double prologue(const struct ss_card *card, int precision)
{
    return ss_prop_get(ss_precision_at(precision)->prologue, card);
}

/* Returns the bytes of an element of an operand; nvfp4 adds an element's share of the scale of 16
 * elements. */
static double element_bytes(int precision)
{
    const struct ss_precision_facts *p = ss_precision_at(precision);
    return p->recipe == SS_NO_RECIPE ? p->bits / 8. : ss_recipe_bytes(p->recipe);
}

/* Returns the bytes that move while tiles are multiplied: operands, and products that are not added to a
 * sum. */
static double beside_products(int precision, double groups, double m, double n, double k, int accumulate)
{
    double element = element_bytes(precision);
    return (m * k + groups * k * n) * element + (accumulate ? 0 : m * n * fmax(element, 2));
}

double ss_kernel_gemm_bytes(int precision, double groups, double m, double n, double k, int accumulate)
{
    return beside_products(precision, groups, m, n, k, accumulate) + m * n * 2 * accumulate;
}

/* The products of groups of matrices. */
struct products {
    int precision;
    double groups, m, n, k;
    int scattered, accumulate;
    double sms, gain;
    int streams; /* 1: each group is a kernel of its own */
};

/* Returns the waves of SMs that the tiles fill. Where each group is its own kernel, each has its own last
 * wave, half full on average where rows scatter. */
static double waves(const struct products *p, double tile_m, double tile_n)
{
    double count = tile_rows(p->groups, p->scattered && p->groups > 1, p->m, tile_m) * ceil(p->n / tile_n);
    if (!p->streams)
        return ceil(count / p->sms);
    double each = count / p->groups / p->sms;
    return p->groups * (p->scattered ? fmax(each + 0.5, 1) : ceil(each));
}

static double products_seconds(const struct ss_card *card, const struct products *p)
{
    double tm = card->gemm_tile_m, tn = card->gemm_tile_n, small = card->gemm_small_tile;
    const double tiles[6][3] = {{tm, tn, 1},
                                {tn, tm, 1},
                                {tm, tn * 0.75, sqrt(small)},
                                {tm, tn / 2, small},
                                {tm / 2, tn / 2, small * small},
                                {tm / 2, tn / 4, small * small * small}};
    double sm_rate =
        ss_kernel_peak(card, p->precision) * gemm_efficiency(card, p->precision) * p->gain / card->sm_count;
    double steps = p->k + prologue(card, p->precision), best = INFINITY;
    for (size_t i = 0; i < SS_ARRAY_LEN(tiles); i++)
        best = fmin(best, waves(p, tiles[i][0], tiles[i][1]) * 2 * tiles[i][0] * tiles[i][1] * steps /
                              (sm_rate * tiles[i][2]));
    return best;
}

static double gemm_seconds(const struct ss_card *card, const struct products *p)
{
    double bandwidth = card->hbm_bandwidth * card->hbm_efficiency, best = products_seconds(card, p);
    double moved = beside_products(p->precision, p->groups, p->m, p->n, p->k, p->accumulate) / bandwidth;
    double sums = p->m * p->n * 2 * p->accumulate / bandwidth;
    double apart = p->streams ? card->gemm_stream_sums_apart : card->gemm_sums_apart;
    return fmax(best, moved + apart * sums) + (1 - apart) * sums + card->kernel_latency;
}

double ss_kernel_grouped_gemm(const struct ss_card *card, int precision, double groups, int scattered,
                              double m, double n, double k, int accumulate, double sms, double gain)
{
    const struct products p = {precision, groups, m, n, k, scattered, accumulate, sms, gain, 0};
    return gemm_seconds(card, &p);
}

double ss_kernel_stream_gemms(const struct ss_card *card, int precision, double groups, int scattered,
                              double m, double n, double k, int accumulate, double sms, double gain)
{
    const struct products p = {precision, groups, m, n, k, scattered, accumulate, sms, gain, groups > 1};
    return gemm_seconds(card, &p);
}

static double recipe_gain(const struct ss_card *card, const struct ss_stack *stack, int precision, int recipe,
                          int phase, double k)
{
    const struct ss_precision_facts *p = ss_precision_at(precision);
    const struct ss_recipe_facts *r =
        ss_recipe_at(ss_recipe_at(recipe)->precision == precision ? recipe : p->recipe);
    double own =
        r->efficiency == p->efficiency || r->casts == SS_CASTS_NONE ? 0 : ss_prop_get(r->efficiency, card);
    if (own <= 0)
        return r->outside && phase == SS_PHASE_F && card->gemm_sums_apart <= 0 ? stack->fp8_forward_gain : 1;
    double gain = own / gemm_efficiency(card, precision);
    if (r->prologue != p->prologue)
        gain = gain * (k + prologue(card, precision)) / (k + ss_prop_get(r->prologue, card));
    return r->casts == SS_CASTS_BLOCKS && phase == SS_PHASE_W ? gain * card->gemm_wgrad_fp8_blocks : gain;
}

double ss_kernel_gemm_gain(const struct ss_card *card, const struct ss_stack *stack, int precision,
                           int recipe, int phase, double k)
{
    double level = stack->gemm_level > 0 ? stack->gemm_level : 1;
    return level * recipe_gain(card, stack, precision, recipe, phase, k);
}

double ss_kernel_gemm(const struct ss_card *card, int precision, double m, double n, double k, int accumulate,
                      double sms, double gain)
{
    return ss_kernel_grouped_gemm(card, precision, 1, 0, m, n, k, accumulate, sms, gain);
}

double ss_kernel_gemm_on_cores(const struct ss_card *card, int precision, double m, double n, double k)
{
    double rate = card->peak_cuda_cores * gemm_efficiency(card, precision), tile = card->gemm_tile_m;
    return rate > 0 ? 2 * m * ceil(n / tile) * tile * k / rate : 0;
}

/* Returns the factor of the head's size in the rate of attention, 1 at 128 channels. */
static double head(double half_d, double d_qk, double d_v)
{
    double d = (d_qk + d_v) / 2, at_d = 128; /* a score is one exponential to 2 d_qk + 2 d_v FLOP */
    return d / (d + half_d) * (at_d + half_d) / at_d;
}

/* A share of the peak that was measured where GEMMs reach another level: its products take longer as GEMMs do, all else as long. */
static double attention_share(const struct ss_card *card, int precision, double share)
{
    double there = card->attention_gemm_level;
    return there > 0 ? 1 / (1 / share + fmax(0, 1 / gemm_efficiency(card, precision) - 1 / there)) : share;
}

double ss_kernel_attention_rate(const struct ss_card *card, const struct ss_stack *stack, int precision,
                                double share, double half_d, double queries, double d_qk, double d_v)
{
    double half = stack->attention_half_tokens, at = 8192;
    double saturation = queries / (queries + half) * (at + half) / at * head(half_d, d_qk, d_v);
    return ss_kernel_peak(card, precision) * saturation * attention_share(card, precision, share);
}

double ss_kernel_fused_head(const struct ss_card *card, double half_d, double d_qk, double d_v, int backward)
{
    double d = (d_qk + d_v) / 2, wide = backward && d_qk > 128 ? card->attention_wide : 1;
    return (d + half_d) / (fmax(d, card->attention_least) + half_d) * wide;
}

double ss_kernel_attention_fill(const struct ss_card *card, const struct ss_attention_call *call, double sms)
{
    double tiles = ceil(call->queries / (call->backward ? SS_BACKWARD_TILE : card->attention_tile));
    double blocks = call->heads * tiles, longest = sms / blocks * call->spread; /* over all work on all SMs */
    /* When the last, longest block starts, the running blocks have mean(w^2) / (2 mean(w)) left: a third of
     * the longest block where work grows from zero, half of it where all are equal. The SMs wait for the
     * difference. */
    double tail = 5. / 6 - 1 / (3 * call->spread);
    /* The backward starts each head with its longest block, so that block is further along when the last
     * block starts. If the longest blocks of all heads come first, the last blocks are short. */
    if (call->backward)
        tail = card->attention_sorted > 0 ? 0 : fmax(0, tail - (call->spread - 1) * tiles / (2 * sms));
    double alone = call->backward ? longest : longest / card->attention_lone;
    return 1 / (blocks > sms ? fmax(1 + tail * longest, alone) : alone);
}
