/* SPDX-License-Identifier: Apache-2.0 */
/* Curves of a rank's experts, and the loads of their rows. */
#include "base/base.h"
#include "base/map.h"
#include "cost/curve.h"
#include "study/curves.h"

enum { TOKENS, HIDDEN, WIDTH, TOP_K, EXPERTS, TP, EP, COPIES, GATED, SCATTERED };
#define WORDS "num_tokens hidden_size inter_size topk num_experts moe_tp_size moe_ep_size"

/* Draws of a power law whose mean a row is compared with; its benchmark has the mean of five. */
#define DRAWS 16
#define MOST_EXPERTS 1024

/* Returns a number in (0, 1), the i-th of a draw. */
static double drawn(int draw, int i)
{
    return ((double)(ss_mix64(((uint64_t)draw * MOST_EXPERTS + (uint64_t)i + 1) * 0x9e3779b97f4a7c15u) >>
                     11) +
            0.5) *
           0x1p-53;
}

/* An expert has at most one copy of each token: what it has beyond goes to the others. */
static void cap(double *copies, int experts, double most)
{
    for (int pass = 0; pass < 8; pass++) {
        double over = 0, rest = 0;
        for (int i = 0; i < experts; i++) {
            over += fmax(0, copies[i] - most);
            rest += copies[i] < most ? copies[i] : 0;
        }
        if (over < 1 || rest <= 0)
            return;
        for (int i = 0; i < experts; i++)
            copies[i] = copies[i] < most ? copies[i] * (1 + over / rest) : most;
    }
}

/* Returns the copies of the hottest rank where the experts' shares follow a power law from 1 to 0.8 tokens, as aiconfigurator draws them
 * (ai-dynamo/aiconfigurator@095f58a:collector/helper.py). */
static double hottest_rank(const double *s, double alpha)
{
    double copies[MOST_EXPERTS], top = pow(s[TOKENS] * 0.8, 1 - alpha), sum = 0;
    int experts = (int)s[EXPERTS], of_rank = (int)(s[EXPERTS] / s[EP]);

    for (int d = 0; d < DRAWS; d++) {
        double all = 0, hottest = 0;
        for (int i = 0; i < experts; i++)
            all += copies[i] = pow((top - 1) * drawn(d, i) + 1, 1 / (1 - alpha));
        for (int i = 0; i < experts; i++)
            copies[i] *= s[TOKENS] * s[TOP_K] / all;
        cap(copies, experts, s[TOKENS]);
        for (int r = 0; r + of_rank <= experts; r += of_rank) {
            double mine = 0;
            for (int i = r; i < r + of_rank; i++)
                mine += copies[i];
            hottest = fmax(hottest, mine);
        }
        sum += hottest;
    }
    return sum / DRAWS;
}

static const char *read_load(const struct ss_bench_row *row, const struct ss_card *card, double *s)
{
    const char *load = strstr(row->shape, "distribution=");
    double alpha = load && !strncmp(load + 13, "power_law_", 10) ? strtod(load + 23, NULL) : 0;

    if (!load || (alpha <= 1 && strcmp(load + 13, "balanced") != 0) || s[EXPERTS] > MOST_EXPERTS ||
        s[EP] < 1 || s[TP] < 1 || s[EXPERTS] < s[EP])
        return SS_BENCH_NO_SIZES;
    if (strncmp(row->precision, "bf", 2) != 0 && card->peak_fp8 <= 0)
        return SS_BENCH_NO_PEAK;
    s[COPIES] = alpha > 1 ? hottest_rank(s, alpha) : s[TOKENS] * s[TOP_K] / s[EP];
    s[GATED] = !row->source || !strstr(row->source, "nongated");
    s[SCATTERED] = alpha > 1;
    return NULL;
}

static const char *refuse_w4a16(const struct ss_bench_row *row, const struct ss_card *card, double *s)
{
    (void)row, (void)card, (void)s;
    return "4-bit weights beside 16-bit inputs: no kernel of training";
}

static double seconds(const struct ss_curve_site *site, const double *s, enum ss_curve_experts what)
{
    const struct ss_experts_call call = {.tokens = s[TOKENS],
                                         .copies = s[COPIES],
                                         .experts = s[EXPERTS] / s[EP],
                                         .hidden = s[HIDDEN],
                                         .width = s[WIDTH] / s[TP],
                                         .gated = s[GATED] > 0,
                                         .scattered = s[SCATTERED] > 0};

    return ss_curve_experts(site->card, what, &call);
}

#define KIND(WHAT, name)                                                                                     \
    static double name##_seconds(const struct ss_curve_site *site, const double *s)                          \
    {                                                                                                        \
        return seconds(site, s, WHAT);                                                                       \
    }
KIND(SS_CURVE_EXPERTS_BF16, bf16)
KIND(SS_CURVE_EXPERTS_FP8, fp8)
KIND(SS_CURVE_EXPERTS_FP8_BLOCKS, blocks)
KIND(SS_CURVE_EXPERTS_MXFP4, mxfp4)
#undef KIND

#define ROW(word, name, load)                                                                                \
    {                                                                                                        \
        .family = "experts", .kind = "grouped_moe", .precision = word, .mark = load, .words = WORDS,         \
        .more = read_load, .seconds = name##_seconds, .prop = {                                              \
            SS_PROP_curve_experts_launch,                                                                    \
            SS_PROP_curve_experts_move,                                                                      \
            SS_PROP_curve_experts_##name,                                                                    \
            SS_PROP_curve_experts_prologue_##name                                                            \
        }                                                                                                    \
    }
#define ROWS(word, name) ROW(word, name, "balanced"), ROW(word, name, "power_law")
const struct ss_bench_curve ss_curves_experts[] = {ROWS("bfloat16", bf16),
                                                   ROWS("fp8", fp8),
                                                   ROWS("fp8_block", blocks),
                                                   ROWS("w4a8_mxfp4_mxfp8", mxfp4),
                                                   {.family = "experts",
                                                    .kind = "grouped_moe",
                                                    .precision = "w4a16_mxfp4",
                                                    .words = WORDS,
                                                    .more = refuse_w4a16,
                                                    .seconds = bf16_seconds},
                                                   {0}};
#undef ROWS
#undef ROW
