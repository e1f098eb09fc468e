/* SPDX-License-Identifier: Apache-2.0 */
/* What the SVG pictures share: colours, text, axes. */
#ifndef SS_REPORT_SVG_H
#define SS_REPORT_SVG_H

#include "report/bins.h"
#include "report/record.h"
#include "stepsim/pictures.h"

#define SS_MICROBATCH_COLORS 10

/* Opens the document: a title and description for screen readers, the style sheet in light and dark. */
void ss_svg_begin(FILE *out, double width, double height, const char *title, const char *description);
void ss_svg_end(FILE *out);
/* A colour as "#rrggbb": of a phase (-1: outside the schedule), lighter with the chunk. */
const char *ss_color_phase(int phase, int chunk, int chunks, char buf[8]);
const char *ss_color_microbatch(int microbatch, int backward, char buf[8]);
const char *ss_color_label(int label);
const char *ss_color_memory(int mem);
/* 1: black text reads better on it than white. */
int ss_color_light(const char *hex);
/* Time axis below y: ticks at round times, grid lines up to `top`. seconds 0: times of no unit. */
void ss_svg_time_axis(FILE *out, double x, double y, double width, double top, double start, double end,
                      int seconds);
/* A key of the legend: a box and its text; returns where the next one begins. out NULL: that alone. */
double ss_svg_key(FILE *out, double x, const char *fill, const char *text);
/* What a phase is called in a legend. */
const char *ss_svg_phase(int phase);
/* Step between round values so that about `most` fit. */
double ss_round_step(double range, int most);
/* "12.5 ms": the unit fits times up to `most`, the decimals tell steps of this size apart. */
const char *ss_axis_time(double time, double step, double most, char *buf, size_t size);
void ss_svg_text(FILE *out, double x, double y, const char *class_name, const char *text);
/* A coordinate with two decimals at most. */
void ss_svg_number(FILE *out, double value);

/* ---- one file each ---- */
void ss_svg_gantt(const struct ss_record_book *book, const struct ss_timeline *t, int color, FILE *out);
/* Bytes beside the tensors of a program. */
struct ss_memory_extra {
    double capacity;  /* bytes of a GPU, 0: not known */
    double *overhead; /* [class] bytes */
    char name[64];    /* of what they are, with the library of collectives that holds some of them */
};
void ss_svg_memory(const struct ss_bins *bins, const struct ss_timeline *t,
                   const struct ss_memory_extra *extra, FILE *out);

#endif
