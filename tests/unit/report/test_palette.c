/* SPDX-License-Identifier: Apache-2.0 */
/* Any two tones of one legend are told apart by everybody: by colour, as a deuteranope sees it, in grey; or by pattern. */
#include <string.h>

#include "eyes.h"
#include "report/svg.h"
#include "suite.h"

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
TEST(eyes)
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

TEST(legends)
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
TEST(phases)
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
TEST(legend_wraps)
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
