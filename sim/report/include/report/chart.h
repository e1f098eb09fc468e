/* SPDX-License-Identifier: Apache-2.0 */
/* Charts: a frame with two scales, and what is drawn in it. Pixels go right and down, values right and up. */
#ifndef SS_REPORT_CHART_H
#define SS_REPORT_CHART_H

#include <stdbool.h>
#include <stdio.h>

struct ss_chart_scale {
    double from, to; /* at the left or lower edge, and at the other one; from < to */
    bool log;        /* of values above 0 */
};
struct ss_chart {
    FILE *out;
    double x, y, width, height; /* of the frame, px */
    struct ss_chart_scale across, up;
};
/* Where a value is, px. */
double ss_chart_x(const struct ss_chart *c, double value);
double ss_chart_y(const struct ss_chart *c, double value);

/* A line through the frame at a value of the scale up, from left to right, or of the one across, from top to bottom: class "grid", "axis" or
 * "cap"; its label beside the frame or below it, NULL: none. */
void ss_chart_line(const struct ss_chart *c, bool up, const char *class_name, double value,
                   const char *label);
/* Such lines at round values of bytes from 0 on, about `most`; `unit` stands behind each number of GiB. */
void ss_chart_gib(const struct ss_chart *c, bool up, int most, const char *unit);
/* The axis below a frame of seconds. */
void ss_chart_seconds(const struct ss_chart *c);

/* A dot with a title. `more`: attributes, may be "". */
void ss_chart_dot(const struct ss_chart *c, double x, double y, double radius, const char *fill,
                  const char *more, const char *title);

/* Parts of a bar of seconds or bytes. */
struct ss_chart_part {
    const char *words, *color;
    double value; /* left out where it is not above 0 */
};
/* "2.249 s", or of bytes "12.50 GiB"; returns buf. */
const char *ss_chart_value(double value, bool bytes, char *buf, size_t size);
/* The parts beside each other from the left edge on, each with the title "NAME WORDS: VALUE". */
void ss_chart_bar(const struct ss_chart *c, double y, double height, const char *name,
                  const struct ss_chart_part *parts, int n, bool bytes);

/* Keys of a legend: the next one begins behind the last one, or, where it would begin beyond `right`, below the first one. */
struct ss_legend {
    FILE *out; /* NULL: it is measured alone */
    double left, right, x, y;
};
#define SS_LEGEND_ROW 20.0
struct ss_legend ss_legend_at(FILE *out, double x, double y, double right);
void ss_legend_key(struct ss_legend *l, const char *fill, const char *text);

#endif
