/* SPDX-License-Identifier: Apache-2.0 */
/* Curves of GEMMs and of kernels of linear attention, and the words of their rows. */
#include "cost/curve.h"
#include "study/curves.h"

/* ---- GEMM ---- */

static double gemm_work(const double *s)
{
    return 2 * s[0] * s[1] * s[2];
}

#define GEMM(WHAT, name)                                                                                     \
    static double name##_seconds(const struct ss_curve_site *site, const double *s)                          \
    {                                                                                                        \
        return ss_curve_gemm(site->card, WHAT, s[0], s[1], s[2]);                                            \
    }                                                                                                        \
    static double name##_least(const struct ss_curve_site *site, const double *s)                            \
    {                                                                                                        \
        return gemm_work(s) / ss_curve_gemm_peak(site->card, WHAT);                                          \
    }                                                                                                        \
    static const char *name##_more(const struct ss_bench_row *row, const struct ss_card *card, double *size) \
    {                                                                                                        \
        (void)row, (void)size;                                                                               \
        return ss_curve_gemm_peak(card, WHAT) > 0 ? NULL : SS_BENCH_NO_PEAK;                                 \
    }
GEMM(SS_CURVE_BF16, bf16)
GEMM(SS_CURVE_FP8, fp8)
GEMM(SS_CURVE_FP8_BLOCKS, blocks)
GEMM(SS_CURVE_FP4, fp4)
#undef GEMM

#define ROW(word, name, ...)                                                                                 \
    {                                                                                                        \
        .family = "gemm", .kind = "gemm", .precision = word, .words = "M N K", .grows = 1,                   \
        .more = name##_more, .seconds = name##_seconds, .work = gemm_work, .least = name##_least, .prop = {  \
            SS_PROP_curve_launch,                                                                            \
            SS_PROP_curve_gemm_##name,                                                                       \
            SS_PROP_curve_prologue_##name,                                                                   \
            __VA_ARGS__                                                                                      \
        }                                                                                                    \
    }
const struct ss_bench_curve ss_curves_gemm[] = {ROW("bfloat16", bf16, 0),
                                                ROW("fp8", fp8, SS_PROP_curve_cast),
                                                ROW("fp8_block", blocks, SS_PROP_curve_cast),
                                                ROW("nvfp4", fp4, SS_PROP_curve_cast),
                                                {0}};
#undef ROW

/* ---- linear attention ---- */

enum { SEQUENCES, TOKENS, KEY_HEADS, KEY_DIM, HEADS, VALUE_DIM };
#define DELTA_WORDS "batch_size seq_len num_k_heads head_k_dim num_v_heads head_v_dim"

static struct ss_delta_call delta_call(const double *s)
{
    return (struct ss_delta_call){s[SEQUENCES], s[TOKENS], s[KEY_HEADS], s[HEADS], s[KEY_DIM], s[VALUE_DIM]};
}

static double gdn_seconds(const struct ss_curve_site *site, const double *s)
{
    struct ss_delta_call call = delta_call(s);

    return ss_curve_gdn(site->card, &call);
}

static double kda_seconds(const struct ss_curve_site *site, const double *s)
{
    struct ss_delta_call call = delta_call(s);

    return ss_curve_kda(site->card, &call);
}

static double delta_channels(const double *s)
{
    return 2 * s[KEY_HEADS] * s[KEY_DIM] + s[HEADS] * s[VALUE_DIM];
}

static double delta_conv(const struct ss_curve_site *site, const double *s)
{
    return ss_curve_convolution(site->card, s[SEQUENCES] * s[TOKENS], delta_channels(s), 1);
}

/* Queries, keys and values apart. */
static double delta_convs(const struct ss_curve_site *site, const double *s)
{
    return ss_curve_convolution(site->card, s[SEQUENCES] * s[TOKENS], delta_channels(s), 3);
}

/* Each channel is read and written in 16 bit. */
static double delta_least(const struct ss_curve_site *site, const double *s)
{
    return s[SEQUENCES] * s[TOKENS] * delta_channels(s) * 4 / site->card->hbm_bandwidth;
}

enum { MAMBA_HEADS = 2, MAMBA_DIM, MAMBA_GROUPS, MAMBA_STATE };
#define MAMBA_WORDS "batch_size seq_len nheads head_dim n_groups d_state"

static double mamba_channels(const double *s)
{
    return s[MAMBA_HEADS] * s[MAMBA_DIM] + 2 * s[MAMBA_GROUPS] * s[MAMBA_STATE];
}

static double mamba_conv(const struct ss_curve_site *site, const double *s)
{
    return ss_curve_mamba_convolution(site->card, s[SEQUENCES], s[TOKENS], mamba_channels(s));
}

/* ---- hyper-connections: a row is of all sites together ---- */

static double mhc_pre(const struct ss_curve_site *site, const double *s)
{
    return s[1] * ss_curve_streams(site->card, 0, s[0], s[2], s[3]);
}

static double mhc_post(const struct ss_curve_site *site, const double *s)
{
    return s[1] * ss_curve_streams(site->card, 1, s[0], s[2], s[3]);
}

#define MHC_WORDS "tokens sites streams hidden"
#define ROW(group, name, sizes, law, bound, ...)                                                             \
    {                                                                                                        \
        .family = group, .kind = name, .words = sizes, .grows = 1, .seconds = law, .least = bound, .prop = { \
            __VA_ARGS__                                                                                      \
        }                                                                                                    \
    }
const struct ss_bench_curve ss_curves_linear[] = {
    ROW("conv", "gdn:causal_conv1d_fn", DELTA_WORDS, delta_conv, delta_least, SS_PROP_curve_conv_launch,
        SS_PROP_curve_conv_cycles),
    ROW("conv", "kda:causal_conv1d_fn_qkv3", DELTA_WORDS, delta_convs, delta_least, SS_PROP_curve_conv_launch,
        SS_PROP_curve_conv_cycles),
    ROW("mamba2 conv", "mamba2:causal_conv1d_fn", MAMBA_WORDS, mamba_conv, NULL,
        SS_PROP_curve_mamba_conv_launch, SS_PROP_curve_mamba_conv_cycles, SS_PROP_curve_mamba_conv_start),
    ROW("gdn", "gdn:chunk_gated_delta_rule", DELTA_WORDS, gdn_seconds, NULL, SS_PROP_curve_gdn_launch,
        SS_PROP_curve_gdn_cycles, SS_PROP_curve_gdn_chunk),
    ROW("kda", "kda:chunk_kda", DELTA_WORDS, kda_seconds, NULL, SS_PROP_curve_kda_launch,
        SS_PROP_curve_kda_cycles, SS_PROP_curve_kda_chunk),
    ROW("mhc pre", "mhc:pre", MHC_WORDS, mhc_pre, NULL, SS_PROP_curve_mhc_pre_launch,
        SS_PROP_curve_mhc_pre_rate),
    ROW("mhc post", "mhc:post", MHC_WORDS, mhc_post, NULL, SS_PROP_curve_mhc_post_launch,
        SS_PROP_curve_mhc_post_rate),
    {0}};
#undef ROW
