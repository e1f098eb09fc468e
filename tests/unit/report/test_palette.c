/* SPDX-License-Identifier: Apache-2.0 */
/* Any two tones of one legend are told apart by everybody: by colour, as a deuteranope sees it, in grey; or by pattern. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/palette.h"
#include "report/svg.h"
#include "stepsim/types.h"
#include "suite.h"

enum eyes { ALL_COLOURS, DEUTERANOPE, GREY, EYES };

static double to_linear(unsigned channel)
{
    double c = channel / 255.0;

    return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

static double lab_curve(double t)
{
    return t > 216.0 / 24389 ? cbrt(t) : (24389.0 / 27 * t + 16) / 116;
}

/* What eyes see of a colour, in L*a*b* under D65. Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of
 * Color Vision Deficiency", 2009: the matrix of deuteranopia (severity 1.0), on linear RGB. */
static void see(const char *hex, int eyes, double lab[3])
{
    static const double dichromat[3][3] = {
        {0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}};
    static const double xyz[3][3] = {{0.4124564 / 0.95047, 0.3575761 / 0.95047, 0.1804375 / 0.95047},
                                     {0.2126729, 0.7151522, 0.0721750},
                                     {0.0193339 / 1.08883, 0.1191920 / 1.08883, 0.9503041 / 1.08883}};
    unsigned long rgb = strtoul(hex + 1, NULL, 16);
    double in[3] = {to_linear(rgb >> 16 & 255), to_linear(rgb >> 8 & 255), to_linear(rgb & 255)}, f[3];

    CU_ASSERT_EQUAL(strlen(hex), 7);
    if (eyes == DEUTERANOPE) {
        double out[3];
        for (int i = 0; i < 3; i++)
            out[i] =
                fmin(1, fmax(0, dichromat[i][0] * in[0] + dichromat[i][1] * in[1] + dichromat[i][2] * in[2]));
        memcpy(in, out, sizeof in);
    }
    for (int i = 0; i < 3; i++)
        f[i] = lab_curve(xyz[i][0] * in[0] + xyz[i][1] * in[1] + xyz[i][2] * in[2]);
    lab[0] = 116 * f[1] - 16;
    lab[1] = eyes == GREY ? 0 : 500 * (f[0] - f[1]);
    lab[2] = eyes == GREY ? 0 : 200 * (f[1] - f[2]);
}

static double distance(const char *a, const char *b, int eyes)
{
    double x[3], y[3];

    see(a, eyes, x);
    see(b, eyes, y);
    return sqrt((x[0] - y[0]) * (x[0] - y[0]) + (x[1] - y[1]) * (x[1] - y[1]) +
                (x[2] - y[2]) * (x[2] - y[2]));
}

static void apart(const char *a, const char *b, const char *where)
{
    for (int eyes = 0; eyes < EYES; eyes++)
        if (distance(a, b, eyes) < SS_TONE_APART) {
            fprintf(stderr, "%s: %s and %s are %.1f apart for eyes %d\n", where, a, b, distance(a, b, eyes),
                    eyes);
            CU_FAIL("two colours of one legend");
        }
}

/* Black and white are 100 apart for all; red #ff0000 has L 53.24, a 80.09, b 67.20 (CIE); the red and the green of equal
 * lightness below are one colour for a deuteranope alone. */
static void test_eyes(void)
{
    double lab[3];

    for (int eyes = 0; eyes < EYES; eyes++)
        CU_ASSERT_DOUBLE_EQUAL(distance("#000000", "#ffffff", eyes), 100, 0.01);
    see("#ff0000", ALL_COLOURS, lab);
    CU_ASSERT_DOUBLE_EQUAL(lab[0], 53.24, 0.01);
    CU_ASSERT_DOUBLE_EQUAL(lab[1], 80.09, 0.02);
    CU_ASSERT_DOUBLE_EQUAL(lab[2], 67.20, 0.02);
    CU_ASSERT(distance("#d55575", "#38a971", ALL_COLOURS) > 90);
    CU_ASSERT(distance("#d55575", "#38a971", DEUTERANOPE) < 5);
}

static void test_legends(void)
{
    for (int tones = 0; tones < SS_TONES_COUNT; tones++)
        for (int i = 0; i < ss_tones_n((enum ss_tones)tones); i++) {
            apart(ss_tone((enum ss_tones)tones, i)->color, "#ffffff", "light ground");
            apart(ss_tone((enum ss_tones)tones, i)->night, "#12161c", "dark ground");
        }
    for (int tones = 0; tones < SS_TONES_COUNT; tones++)
        for (int i = 0; i < ss_tones_n((enum ss_tones)tones); i++)
            for (int j = 0; j < i; j++) {
                const struct ss_tone *a = ss_tone((enum ss_tones)tones, i),
                                     *b = ss_tone((enum ss_tones)tones, j);
                CU_ASSERT_STRING_NOT_EQUAL(a->id, b->id);
                if (a->pattern != b->pattern)
                    continue;
                apart(a->color, b->color, a->id);
                apart(a->night, b->night, a->id);
            }
}

/* Whatever its chunk, a box of a phase is no box of another phase; one of equal colour has another part of the row. */
static void test_phases(void)
{
    char a[8], b[8];
    double top, bottom, other_top, other_bottom;

    for (int p = -1; p < SS_PHASE_FB; p++)
        for (int q = -1; q < p; q++) {
            ss_phase_part(p, &top, &bottom);
            ss_phase_part(q, &other_top, &other_bottom);
            if (top != other_top || bottom != other_bottom)
                continue;
            for (int ends = 0; ends < 4; ends++)
                apart(ss_color_phase(p, ends & 1, 2, a), ss_color_phase(q, ends >> 1, 2, b),
                      ss_phase_words(p));
        }
    for (int p = 0; p < SS_PHASE_FB; p++)
        if (p != SS_PHASE_W) /* the least of these ranges: chunks of one colour still differ in lightness */
            apart(ss_color_phase(p, 0, 2, a), ss_color_phase(p, 1, 2, b), ss_phase_words(p));
}

/* A legend breaks its line where the next key would be cut; the widths are those of DejaVu Sans, in 1/100 of the size. */
static void test_legend_wraps(void)
{
    struct ss_legend l;

    CU_ASSERT_DOUBLE_EQUAL(ss_text_width("1 GPU", 10), 6.4 + 3.2 + 7.7 + 6.0 + 7.3,
                           1e-9); /* 64 32 77 60 73 */
    ss_legend_begin(&l, 0, 100, 50, NULL);
    ss_legend_add(&l, "#000000", "idle"); /* 18 + 11 x (28 + 63 + 28 + 62) / 100 = 37.91 */
    CU_ASSERT_DOUBLE_EQUAL(l.x, 37.91 + 16, 1e-9);
    ss_legend_add(&l, "#000000", "forward");
    CU_ASSERT_DOUBLE_EQUAL(l.y, 50 + SS_LEGEND_LINE, 1e-9);
}

SUITE(palette)
{
    CU_TestInfo tests[] = {{"eyes", test_eyes},
                           {"legends", test_legends},
                           {"phases", test_phases},
                           {"legend_wraps", test_legend_wraps},
                           CU_TEST_INFO_NULL};
    return suite_run("palette", NULL, NULL, tests);
}
