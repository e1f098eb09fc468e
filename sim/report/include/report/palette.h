/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The colours of all pictures and pages. In one legend any two tones are at least SS_TONE_APART apart (CIE 1976 in
 * L*a*b*) for people who see all colours, for a deuteranope (Machado, Oliveira and Fernandes 2009, severity 1) and
 * in grey, or they have different patterns: tests/unit/report/test_palette.c computes it. The words beside them are
 * those of stepsim/types.h and stepsim/summary.h.
 */
#pragma once

#include <stdio.h>

#define SS_TONE_APART 10.0

enum ss_pattern { SS_PLAIN, SS_STRIPES, SS_HATCH };
struct ss_tone {
    const char *id;            /* name in an SVG and in a style sheet */
    const char *color, *night; /* "#rrggbb" on a light ground and on a dark one */
    enum ss_pattern pattern;
};

/* Legends. X(symbol, number of tones) */
#define SS_TONES_LIST(X)                                                                                     \
    X(SS_TONES_LABEL, SS_LABEL_COUNT)     /* parts of the time, enum ss_label */                             \
    X(SS_TONES_MEMORY, SS_MEM_COUNT + 1)  /* enum ss_mem, and what no tensor owns */                         \
    X(SS_TONES_OUTCOME, SS_OUTCOME_COUNT) /* enum ss_outcome; refused: what is best */                       \
    X(SS_TONES_SERIES, 6)                 /* things without an order: clusters, microbatches, chips */       \
    X(SS_TONES_LINK, SS_LINK_KIND_COUNT)  /* enum ss_link_kind */                                            \
    X(SS_TONES_STEP, 6)                   /* enum ss_step_tone */
enum ss_tones {
#define X(symbol, n) symbol,
    SS_TONES_LIST(X)
#undef X
        SS_TONES_COUNT
};
/* Steps from an ideal to the answer, by what they are lost to. */
enum ss_step_tone {
    SS_TONE_IDEAL,
    SS_TONE_KERNELS,
    SS_TONE_COMMUNICATION,
    SS_TONE_WAITS,
    SS_TONE_HOST,
    SS_TONE_WINS
};

/* Returns tone i of a legend; a number outside it counts from its start again. Never NULL. */
const struct ss_tone *ss_tone(enum ss_tones tones, int i);
int ss_tones_n(enum ss_tones tones);
/* Returns what the attribute `fill` of an SVG has: "#1c53a1", or "url(#tp)" for a pattern of ss_svg_begin. */
const char *ss_tone_fill(const struct ss_tone *t, char buf[40]);
/* Returns the same for the property `background` of a page. */
const char *ss_tone_css(const struct ss_tone *t, char buf[160]);
/* Writes the custom properties that ss_tone_css names: "--bubble". */
void ss_tones_css(enum ss_tones tones, FILE *out);

/* Returns the colour of a phase as "#rrggbb", -1: outside the schedule. Later chunks are lighter, but those of one
 * phase never as light as the first chunk of a lighter phase. An input gradient has the colour of a backward and a
 * box of the upper part of its row, a weight gradient one of the lower part (ss_phase_part). */
const char *ss_color_phase(int phase, int chunk, int chunks, char buf[8]);
/* Gives the part of a row that boxes of a phase fill: 0 is the top of the row, 1 its bottom. */
void ss_phase_part(int phase, double *top, double *bottom);
/* Returns what a phase is called in a legend. */
const char *ss_phase_words(int phase);
/* Returns 1 if black text reads better on a colour than white. */
int ss_color_light(const char *hex);
