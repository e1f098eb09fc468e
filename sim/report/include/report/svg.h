/* SPDX-License-Identifier: Apache-2.0 */
/* Colours, texts and axes that the SVG pictures share. */
#ifndef SS_REPORT_SVG_H
#define SS_REPORT_SVG_H

#include "report/bins.h"
#include "report/record.h"
#include "stepsim/pictures.h"

#define SS_MICROBATCH_COLORS 10

/* Opens the document with a title and a description for screen readers, and with the style sheet for
 * light and dark. */
void ss_svg_begin(FILE *out, double width, double height, const char *title, const char *description);
void ss_svg_end(FILE *out);
/* Returns the colour of a phase as "#rrggbb"; -1: outside the schedule. Higher chunks are lighter. */
const char *ss_color_phase(int phase, int chunk, int chunks, char buf[8]);
const char *ss_color_microbatch(int microbatch, int backward, char buf[8]);
const char *ss_color_label(int label);
const char *ss_color_memory(int mem);
/* Returns 1 if black text reads better on a colour than white. */
int ss_color_light(const char *hex);
/* Draws a time axis below y with ticks at round times and grid lines up to `top`. seconds 0: the times
 * have no unit. */
void ss_svg_time_axis(FILE *out, double x, double y, double width, double top, double start, double end,
                      int seconds);
/* Draws a box of the legend and its text. Returns the x at which the next box begins. With out NULL
 * nothing is drawn. */
double ss_svg_key(FILE *out, double x, const char *fill, const char *text);
/* Returns what a phase is called in a legend. */
const char *ss_svg_phase(int phase);
/* Returns the step between round values of which about `most` fit into a range. */
double ss_round_step(double range, int most);
/* Writes a time: "12.5 ms". The unit fits times up to `most`, and the decimals tell apart times that
 * differ by `step`. */
const char *ss_axis_time(double time, double step, double most, char *buf, size_t size);
void ss_svg_text(FILE *out, double x, double y, const char *class_name, const char *text);
/* Writes a coordinate with two decimals at most. */
void ss_svg_number(FILE *out, double value);

/* ---- one file each ---- */
void ss_svg_gantt(const struct ss_record_book *book, const struct ss_timeline *t, int color, FILE *out);
/* Bytes beside the tensors of a program. */
struct ss_memory_extra {
    double capacity;  /* bytes of a GPU, 0: not known */
    double *overhead; /* [class]: bytes */
    char name
        [64]; /* what these bytes are, with the name of the library of collectives that holds some of them */
};
void ss_svg_memory(const struct ss_bins *bins, const struct ss_timeline *t,
                   const struct ss_memory_extra *extra, FILE *out);

#endif
