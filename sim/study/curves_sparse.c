/* SPDX-License-Identifier: Apache-2.0 */
/* Curves of modules of sparse attention, and the counts of their rows. */
#include "base/base.h"
#include "cost/curve_sparse.h"
#include "study/curves.h"

enum { SEQUENCES, TOKENS, HEADS, MODEL, GEMM, COMPRESS, INDEXER };
#define WORDS "batch seq heads"

/* Sizes of the models that were measured, by what their names have; config.json of each. DeepSeek-V4's `value` is the width of keys, too;
 * `rank_out` is that of a group of outputs. */
static const struct model {
    const char *word;
    double hidden, rank, key_rank, rope, nope, value, index_heads, top, rank_out;
} models[] = {
    {"DeepSeek-V3.2", 7168, 1536, 512, 64, 128, 128, 64, 2048, 0},
    {"GLM-5", 6144, 2048, 512, 64, 192, 256, 32, 2048, 0},
    {"DeepSeek-V4-Flash", 4096, 1024, 512, 0, 0, 512, 64, 512, 1024},
    {"DeepSeek-V4-Pro", 7168, 1536, 512, 0, 0, 512, 64, 1024, 1024},
    {"MiniMax-M3", 6144, 0, 0, 0, 128, 128, 0, 2048, 0},
};
#define INDEX_DIM 128.

static const char *read_model(const struct ss_bench_row *row, const struct ss_card *card, double *s)
{
    static const char *const gemms[] = {[SS_CURVE_BF16] = "bfloat16",
                                        [SS_CURVE_FP8] = "fp8",
                                        [SS_CURVE_FP8_BLOCKS] = "fp8_block",
                                        [SS_CURVE_FP4] = "nvfp4"};
    const char *model = strstr(row->shape, "model="), *gemm = strstr(row->shape, "gemm=");

    s[MODEL] = s[GEMM] = -1;
    for (size_t i = 0; model && i < SS_ARRAY_LEN(models); i++)
        if (strstr(model, models[i].word))
            s[MODEL] = (double)i;
    for (size_t i = 0; gemm && i < SS_ARRAY_LEN(gemms); i++)
        if (!strcmp(gemm + 5, gemms[i]))
            s[GEMM] = (double)i;
    s[COMPRESS] = !strncmp(row->kind, "csa:", 4) ? 4 : 128;
    s[INDEXER] = strstr(row->kind, "_indexer_") && !strstr(row->kind, "_skip_indexer_");
    if (s[MODEL] < 0 || s[GEMM] < 0 || s[SEQUENCES] < 1 || s[TOKENS] < 1 || s[HEADS] < 1)
        return SS_BENCH_NO_SIZES;
    return ss_curve_gemm_peak(card, (enum ss_curve_gemm)s[GEMM]) > 0 ? NULL : SS_BENCH_NO_PEAK;
}

static struct ss_sparse_work empty(const double *s)
{
    return (struct ss_sparse_work){.tokens = s[SEQUENCES] * s[TOKENS], .gemm = (enum ss_curve_gemm)s[GEMM]};
}

/* Returns how many keys a token sees in the mean, of a causal sequence and at most `top`. */
static double seen(double tokens, double top)
{
    double most = fmin(tokens, top);

    return (most * most / 2 + (tokens - most) * most) / tokens;
}

/* ---- DSA ---- */

/* FlashMLA computes at least 64 heads. */
#define LEAST_HEADS 64.

static double dsa(const struct ss_curve_site *site, const double *s, enum ss_sparse_kernel kernel)
{
    const struct model *m = &models[(int)s[MODEL]];
    struct ss_sparse_work w = empty(s);
    double heads = s[HEADS], query = m->nope + m->rope, latent = m->key_rank + m->rope;
    double padded = kernel == SS_SPARSE_FUSED ? heads : fmax(heads, LEAST_HEADS);

    w.products =
        2 * (m->hidden * (m->rank + latent) + m->rank * heads * query + heads * m->value * m->hidden);
    w.moved = m->hidden * 4 + heads * (query + m->value) * 4;
    if (kernel == SS_SPARSE_DENSE) {
        w.products += 2 * m->key_rank * heads * (m->nope + m->value);
        w.attention = seen(s[TOKENS], s[TOKENS]) * heads * 2 * (query + m->value);
    } else {
        w.absorbed = 2 * heads * m->key_rank * (m->nope + m->value);
        w.attention = seen(s[TOKENS], m->top) * padded * 2 * (latent + m->key_rank);
        w.moved += heads * (latent + m->key_rank) * 4;
    }
    if (s[INDEXER] > 0) {
        w.products += 2 * (m->rank * m->index_heads * INDEX_DIM + m->hidden * (INDEX_DIM + m->index_heads));
        w.keys = s[TOKENS] / 2;
        w.index = 2 * m->index_heads * INDEX_DIM * w.keys;
    }
    return ss_curve_dsa(site->card, kernel, &w);
}

#define KERNEL(KIND, name)                                                                                   \
    static double name(const struct ss_curve_site *site, const double *s)                                    \
    {                                                                                                        \
        return dsa(site, s, KIND);                                                                           \
    }
KERNEL(SS_SPARSE_DENSE, dense)
KERNEL(SS_SPARSE_CACHED, cached)
KERNEL(SS_SPARSE_PLAIN, sparse)
KERNEL(SS_SPARSE_FUSED, fused)
#undef KERNEL

/* ---- CSA, HCA ---- */

enum { WINDOW = 128, GROUP_HEADS = 8 };
/* Tokens of a sequence beyond which a choice of keys takes no longer; kernels for longer rows are others. */
#define LONG_ROW 8192.

static double dsv4(const struct ss_curve_site *site, const double *s)
{
    const struct model *m = &models[(int)s[MODEL]];
    struct ss_sparse_work w = empty(s);
    double heads = s[HEADS], width = m->value, compressed = s[TOKENS] / s[COMPRESS], keys;

    w.products = 2 * (m->hidden * (m->rank + width) + m->rank * heads * width + heads * width * m->rank_out +
                      heads / GROUP_HEADS * m->rank_out * m->hidden);
    if (s[COMPRESS] == 4) { /* overlapping halves, keys and weights, of attention and of the indexer */
        w.products += 2 * (m->rank * m->index_heads * INDEX_DIM +
                           m->hidden * (4 * width + 4 * INDEX_DIM + m->index_heads));
        w.index = 2 * m->index_heads * INDEX_DIM * compressed / 2;
        w.keys = fmin(s[TOKENS], LONG_ROW) / s[COMPRESS] / 2;
        keys = seen(compressed, m->top);
    } else {
        w.products += 2 * m->hidden * 2 * width;
        keys = compressed / 2;
    }
    w.attention = heads * (fmin(WINDOW, s[TOKENS]) + keys) * 4 * width;
    w.moved = heads * width * 2;
    return ss_curve_dsv4(site->card, &w);
}

/* ---- MSA ---- */

/* Query heads that share a head of keys. */
#define SHARED 16.

static double msa(const struct ss_curve_site *site, const double *s)
{
    const struct model *m = &models[(int)s[MODEL]];
    struct ss_sparse_work w = empty(s);
    double heads = s[HEADS], key_heads = fmax(1, heads / SHARED);

    w.products = 2 * m->hidden * m->value * (2 * heads + 2 * key_heads);
    w.attention = heads * seen(s[TOKENS], m->top) * 4 * m->value;
    w.moved = m->hidden * 4 + heads * m->value * 8;
    return ss_curve_msa(site->card, &w);
}

static double msa_plain(const struct ss_curve_site *site, const double *s)
{
    return ss_curve_msa_plain(site->card, s[SEQUENCES] * s[TOKENS], s[TOKENS], s[HEADS], s[HEADS] / SHARED);
}

/* ---- the list ---- */

#define ROW(group, name, law, ...)                                                                           \
    {                                                                                                        \
        .family = group, .kind = name, .words = WORDS, .more = read_model, .seconds = law, .grows = 1,       \
        .prop = {                                                                                            \
            __VA_ARGS__                                                                                      \
        }                                                                                                    \
    }
#define DSA SS_PROP_curve_dsa_host, SS_PROP_curve_dsa_gemm, SS_PROP_curve_dsa_move
#define CHOICE SS_PROP_curve_dsa_token, SS_PROP_curve_dsa_index, SS_PROP_curve_dsa_key
#define DSV4                                                                                                 \
    SS_PROP_curve_dsv4_launch, SS_PROP_curve_dsv4_gemm, SS_PROP_curve_dsv4_attention,                        \
        SS_PROP_curve_dsv4_token, SS_PROP_curve_dsv4_move
#define CSA DSV4, SS_PROP_curve_dsv4_key, SS_PROP_curve_dsv4_index
#define MSA                                                                                                  \
    SS_PROP_curve_msa_host, SS_PROP_curve_msa_gemm, SS_PROP_curve_msa_attention, SS_PROP_curve_msa_token,    \
        SS_PROP_curve_msa_move
const struct ss_bench_curve ss_curves_sparse[] = {
    ROW("dsa", "dsa:sglang_dsa_dense_mha_fa3", dense, DSA, SS_PROP_curve_dsa_dense),
    ROW("dsa", "dsa:sglang_dsa_dense_mha_trtllm_ragged", dense, DSA, SS_PROP_curve_dsa_dense),
    ROW("dsa", "dsa:sglang_dsa_indexer_flashmla_kv", cached, DSA, CHOICE, SS_PROP_curve_dsa_cached,
        SS_PROP_curve_dsa_cache),
    ROW("dsa", "dsa:sglang_dsa_indexer_flashmla_sparse", sparse, DSA, CHOICE, SS_PROP_curve_dsa_sparse),
    ROW("dsa", "dsa:sglang_dsa_indexer_trtllm", fused, DSA, CHOICE, SS_PROP_curve_dsa_fused),
    ROW("dsa", "dsa:sglang_dsa_skip_indexer_flashmla_kv", cached, DSA, SS_PROP_curve_dsa_token,
        SS_PROP_curve_dsa_cached, SS_PROP_curve_dsa_cache),
    ROW("dsa", "dsa:sglang_dsa_skip_indexer_flashmla_sparse", sparse, DSA, SS_PROP_curve_dsa_token,
        SS_PROP_curve_dsa_sparse),
    ROW("dsa", "dsa:sglang_dsa_skip_indexer_trtllm", fused, DSA, SS_PROP_curve_dsa_token,
        SS_PROP_curve_dsa_fused),
    ROW("dsv4", "csa:DeepseekV4TrtllmAttention", dsv4, CSA),
    ROW("dsv4", "csa:FLASHMLA_SPARSE_DSV4", dsv4, CSA),
    ROW("dsv4", "hca:DeepseekV4TrtllmAttention", dsv4, DSV4),
    ROW("dsv4", "hca:FLASHMLA_SPARSE_DSV4", dsv4, DSV4),
    ROW("msa", "msa:msa_fmha_sm100", msa, MSA),
    ROW("msa plain", "msa:default", msa_plain, SS_PROP_curve_msa_plain_token, SS_PROP_curve_msa_plain_key,
        SS_PROP_curve_msa_plain_shared, SS_PROP_curve_msa_plain_head),
    {0}};
#undef ROW
