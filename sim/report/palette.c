/* SPDX-License-Identifier: Apache-2.0 */
#include "report/palette.h"

#include "base/base.h"
#include "stepsim/network.h"
#include "stepsim/summary.h"

/* Tones that look the same on both grounds have one colour. */
#define ONE(color) color, color

static const struct ss_tone labels[] = {
    [SS_LABEL_COMPUTE] = {"compute", ONE("#2658a0"), SS_PLAIN},
    [SS_LABEL_RECOMPUTE] = {"recompute", ONE("#5e9ad7"), SS_PLAIN},
    [SS_LABEL_OPTIMIZER] = {"optimizer", ONE("#28828b"), SS_PLAIN},
    [SS_LABEL_TP] = {"tp", ONE("#cd581d"), SS_STRIPES},
    [SS_LABEL_CP] = {"cp", ONE("#814794"), SS_STRIPES},
    [SS_LABEL_EP] = {"ep", ONE("#e6b520"), SS_STRIPES},
    [SS_LABEL_DP] = {"dp", ONE("#42af78"), SS_STRIPES},
    [SS_LABEL_OFFLOAD] = {"offload", ONE("#68372d"), SS_STRIPES},
    [SS_LABEL_PP] = {"pp", ONE("#f3d4e4"), SS_STRIPES},
    [SS_LABEL_BUBBLE] = {"bubble", "#d9dde3", "#363f4a", SS_HATCH},
    [SS_LABEL_IMBALANCE] = {"imbalance", "#afb7c0", "#565f6d", SS_HATCH},
    [SS_LABEL_SPREAD] = {"spread", "#838c9a", "#788291", SS_HATCH},
    [SS_LABEL_OTHER] = {"other", ONE("#cfc4ba"), SS_PLAIN},
};
static const struct ss_tone memory[] = {
    [SS_MEM_WEIGHTS] = {"weights", ONE("#254093"), SS_PLAIN},
    [SS_MEM_GRADIENTS] = {"gradients", ONE("#2e8ab7"), SS_PLAIN},
    [SS_MEM_OPTIMIZER] = {"states", ONE("#5ab093"), SS_PLAIN},
    [SS_MEM_ACTIVATIONS] = {"activations", ONE("#eeb362"), SS_PLAIN},
    [SS_MEM_LOGITS] = {"logits", ONE("#ac421e"), SS_PLAIN},
    [SS_MEM_OTHER] = {"tensors", ONE("#dddfe2"), SS_PLAIN},
    [SS_MEM_COUNT] = {"beside", "#afb7c0", "#565f6d", SS_HATCH},
};
static const struct ss_tone outcomes[] = {
    [SS_OUTCOME_FITS] = {"fits", ONE("#2762b6"), SS_PLAIN},
    [SS_OUTCOME_NEAR_LIMIT] = {"near", ONE("#ec8815"), SS_PLAIN},
    [SS_OUTCOME_TOO_LARGE] = {"large", ONE("#c8cdd2"), SS_PLAIN},
    [SS_OUTCOME_REFUSED] = {"best", ONE("#8a182b"), SS_PLAIN},
};
static const struct ss_tone series[] = {
    {"s0", ONE("#2762b6"), SS_PLAIN}, {"s1", ONE("#f4b074"), SS_PLAIN},
    {"s2", ONE("#5d347a"), SS_PLAIN}, {"s3", ONE("#3eafba"), SS_PLAIN},
    {"s4", ONE("#ca5f79"), SS_PLAIN}, {"s5", "#3b4047", "#e1e1c2", SS_STRIPES},
};
static const struct ss_tone links[] = {
    [SS_LINK_FABRIC] = {"fabric", ONE("#309178"), SS_PLAIN},
    [SS_LINK_NIC] = {"nic", ONE("#2762b6"), SS_PLAIN},
    [SS_LINK_UPLINK] = {"uplink", ONE("#ef8438"), SS_PLAIN},
    [SS_LINK_KIND_COUNT - 1] = {"link", ONE("#bdc2c7"), SS_PLAIN},
};
static const struct ss_tone steps[] = {
    [SS_TONE_IDEAL] = {"ideal", ONE("#2658a0"), SS_PLAIN},
    [SS_TONE_KERNELS] = {"kernels", ONE("#5e9ad7"), SS_PLAIN},
    [SS_TONE_COMMUNICATION] = {"exposed", ONE("#cd581d"), SS_STRIPES},
    [SS_TONE_WAITS] = {"waits", "#afb7c0", "#565f6d", SS_HATCH},
    [SS_TONE_HOST] = {"host", ONE("#cfc4ba"), SS_PLAIN},
    [SS_TONE_WINS] = {"wins", "#b3261e", "#ff8a80", SS_STRIPES},
};

static const struct ss_tone *const all[] = {
    [SS_TONES_LABEL] = labels,  [SS_TONES_MEMORY] = memory, [SS_TONES_OUTCOME] = outcomes,
    [SS_TONES_SERIES] = series, [SS_TONES_LINK] = links,    [SS_TONES_STEP] = steps,
};

int ss_tones_n(enum ss_tones tones)
{
    static const int n[] = {
#define X(symbol, count) count,
        SS_TONES_LIST(X)
#undef X
    };
    return n[tones];
}

const struct ss_tone *ss_tone(enum ss_tones tones, int i)
{
    return &all[tones][i < 0 ? 0 : i % ss_tones_n(tones)];
}

const char *ss_tone_fill(const struct ss_tone *t, char buf[40])
{
    snprintf(buf, 40, t->pattern == SS_PLAIN ? "%s" : "url(#%s)", t->pattern == SS_PLAIN ? t->color : t->id);
    return buf;
}

const char *ss_tone_css(const struct ss_tone *t, char buf[160])
{
    char ink[40];

    if (strcmp(t->color, t->night) != 0)
        snprintf(ink, sizeof ink, "var(--%s)", t->id);
    else
        ss_copy(ink, sizeof ink, t->color);
    if (t->pattern == SS_PLAIN)
        ss_copy(buf, 160, ink);
    else if (t->pattern == SS_STRIPES)
        snprintf(buf, 160, "repeating-linear-gradient(135deg,%s 0 4px,#fffa 4px 6px),%s", ink, ink);
    else
        snprintf(buf, 160, "repeating-linear-gradient(45deg,%s 0 2px,transparent 2px 5px)", ink);
    return buf;
}

void ss_tones_css(enum ss_tones tones, FILE *out)
{
    for (int night = 0; night < 2; night++) {
        fputs(night ? "@media (prefers-color-scheme: dark) { :root {" : ":root {", out);
        for (int i = 0; i < ss_tones_n(tones); i++) {
            const struct ss_tone *t = ss_tone(tones, i);
            if (strcmp(t->color, t->night) != 0)
                fprintf(out, " --%s: %s;", t->id, night ? t->night : t->color);
        }
        fputs(night ? " } }\n" : " }\n", out);
    }
}

static void blend(unsigned from, unsigned to, double share, char buf[8])
{
    unsigned mixed = 0;

    for (int shift = 16; shift >= 0; shift -= 8) {
        double a = (double)(from >> shift & 255), b = (double)(to >> shift & 255);
        mixed |= (unsigned)lround(a + (b - a) * share) << shift;
    }
    snprintf(buf, 8, "#%06x", mixed);
}

const char *ss_color_phase(int phase, int chunk, int chunks, char buf[8])
{
    static const unsigned range[SS_PHASE_COUNT + 1][2] = {
        [SS_PHASE_F] = {0x1c53a1, 0x478ede},  [SS_PHASE_B] = {0xef963e, 0xf8d9ac},
        [SS_PHASE_I] = {0xef963e, 0xf8d9ac},  [SS_PHASE_W] = {0x309178, 0x49a88e},
        [SS_PHASE_FB] = {0x1c53a1, 0x478ede}, [SS_PHASE_COUNT] = {0x353a40, 0x353a40},
    };
    const unsigned *r = range[phase < 0 || phase >= SS_PHASE_COUNT ? SS_PHASE_COUNT : phase];

    blend(r[0], r[1], chunks > 1 && chunk >= 0 ? (double)chunk / (chunks - 1) : 0, buf);
    return buf;
}

void ss_phase_part(int phase, double *top, double *bottom)
{
    *top = phase == SS_PHASE_W ? 0.3 : 0;
    *bottom = phase == SS_PHASE_I ? 0.7 : 1;
}

const char *ss_phase_words(int phase)
{
    static const char *const words[] = {
        [SS_PHASE_F] = "forward",
        [SS_PHASE_B] = "backward",
        [SS_PHASE_I] = "input gradient (upper box)",
        [SS_PHASE_W] = "weight gradient (lower box)",
        [SS_PHASE_FB] = "forward and backward together",
    };

    return phase >= 0 && phase < SS_PHASE_COUNT ? words[phase] : "outside the schedule";
}

int ss_color_light(const char *hex)
{
    unsigned long rgb = strtoul(hex + 1, NULL, 16);

    return 0.299 * (double)(rgb >> 16 & 255) + 0.587 * (double)(rgb >> 8 & 255) +
               0.114 * (double)(rgb & 255) >
           140;
}
