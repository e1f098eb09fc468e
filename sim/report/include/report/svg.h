/* SPDX-License-Identifier: Apache-2.0 */
/* Colours, texts and axes that the SVG pictures share. */
#pragma once

#include "report/gantt.h"
#include "report/palette.h"
#include "stepsim/pictures.h"

/* Opens the document with a title and a description for screen readers, and with the style sheet for
 * light and dark. */
void ss_svg_begin(FILE *out, double width, double height, const char *title, const char *description);
void ss_svg_end(FILE *out);
/* Draws a time axis below y with ticks at round times and grid lines up to `top`. seconds 0: the times
 * have no unit. */
void ss_svg_time_axis(FILE *out, double x, double y, double width, double top, double start, double end,
                      int seconds);
/* Does so with labels that stick out at the ends by `room` px at most; others are left out. */
void ss_svg_time_axis_in(FILE *out, double x, double y, double width, double top, double start, double end,
                         int seconds, double room);
/* Writes the patterns of a legend's tones, which ss_tone_fill names. */
void ss_svg_tones(FILE *out, enum ss_tones tones);

/* A legend: boxes with texts from left to right, in as many lines as they need. `y` is the base of the line. With out NULL
 * nothing is drawn, so that a caller can measure. */
#define SS_LEGEND_LINE 18.0
struct ss_legend {
    FILE *out;
    double left, right, x, y;
};
void ss_legend_begin(struct ss_legend *l, double left, double right, double y, FILE *out);
void ss_legend_add(struct ss_legend *l, const char *fill, const char *text);
void ss_legend_tone(struct ss_legend *l, const struct ss_tone *t, const char *text);

/* Begins a marker around (x, y): circle, square, triangle, diamond, triangle on its tip or cross. The caller writes attributes and
 * closes the element. */
void ss_svg_mark(FILE *out, int shape, double x, double y, double r);
#define SS_MARKS 6
/* Draws the range of such jobs beside a horizontal bar: from x1 to x2 at height y. Nothing where one is not finite. */
void ss_svg_whisker(FILE *out, double x1, double x2, double y);
void ss_svg_line(FILE *out, const char *class_name, double x1, double y1, double x2, double y2);
/* Returns a width that a text does not exceed at a font size in any font of the style sheet. */
double ss_text_width(const char *text, double size);
/* Returns the step between round values of which about `most` fit into a range. */
double ss_round_step(double range, int most);
/* Writes a time: "12.5 ms". The unit fits times up to `most`, and the decimals tell apart times that
 * differ by `step`. */
const char *ss_axis_time(double time, double step, double most, char *buf, size_t size);
void ss_svg_text(FILE *out, double x, double y, const char *class_name, const char *text);
/* Writes a text over as many lines as it needs in a width, the first at y. Returns how much lower the last one is; without a stream it
 * only measures. */
double ss_svg_lines(FILE *out, double x, double y, double width, const char *class_name, const char *text);
/* Writes a coordinate with two decimals at most. */
void ss_svg_number(FILE *out, double value);

/* ---- one file each ---- */
/* A width of 0 is the picture's own: of a Gantt chart what its boxes need to carry numbers. */
void ss_svg_gantt(struct ss_gantt *k, const char *title, double width);
/* Adds the phases that occur (bit phase + 1) to a legend. Returns its last line. */
double ss_gantt_legend(struct ss_legend *l, unsigned phases, int chunks);
/* Bytes beside the tensors of a program. */
struct ss_memory_extra {
    double capacity;  /* bytes of a GPU, 0: not known */
    double *overhead; /* [class]: bytes */
    /* per cent that 90 % of such jobs take less or more; NaN: not known */
    double low_pct, high_pct;
    char name
        [64]; /* what these bytes are, with the name of the library of collectives that holds some of them */
};
void ss_svg_memory(struct ss_gantt *parts, const struct ss_timeline *t, const struct ss_memory_extra *extra,
                   const char *title, double width, FILE *out);
