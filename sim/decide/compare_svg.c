/* SPDX-License-Identifier: Apache-2.0 */
/* Draws a comparison: for each side a bar of its time by label and one of its memory by class. */
#include "decide/contrast.h"
#include "report/common.h"
#include "report/svg.h"
#include "report/text.h"

#define LEFT SS_CONTRAST_LEFT
#define BAR 22.0
#define STEP 46.0      /* height of a bar with one line above it */
#define PANEL_TOP 34.0 /* height between the legend and the bars */
#define AXIS 34.0

/* Gives the range of 90 % of such jobs; NaN where it is not known. */
static void range_of(const struct ss_summary *u, int table, double *low, double *high)
{
    int memory = table == SS_CONTRAST_MEMORY;
    double value = memory ? u->peak_device : u->iteration_s;

    *low = value * (1 + (memory ? u->memory_low_pct : u->time_low_pct) / 100);
    *high = value * (1 + (memory ? u->memory_high_pct : u->time_high_pct) / 100);
}

static double most_of(const struct ss_contrast *c, int table)
{
    double most = 0, low, high;

    for (int i = 0; i < c->n; i++) {
        const struct ss_summary *u = &c->side[i].summary;
        if (!ss_contrast_has(&c->side[i], table))
            continue;
        range_of(u, table, &low, &high);
        most = fmax(most, table == SS_CONTRAST_MEMORY ? fmax(u->peak_device, u->capacity) : u->iteration_s);
        most = fmax(most, isfinite(high) ? high : 0);
    }
    return most > 0 ? most : 1;
}

static const char *color_of(int table, int i, char buf[40])
{
    return ss_tone_fill(ss_tone(table == SS_CONTRAST_MEMORY ? SS_TONES_MEMORY : SS_TONES_LABEL, i), buf);
}

static void write_value(int table, double value, char *buf, size_t size)
{
    char time[32];

    if (table == SS_CONTRAST_MEMORY)
        snprintf(buf, size, "%.2f GiB", value / SS_GIB);
    else
        snprintf(buf, size, "%s", ss_text_time(value, time, sizeof time));
}

void ss_contrast_box(double x, double y, double width, const char *color, const char *title, FILE *out)
{
    fputs("<rect class=\"b\" x=\"", out);
    ss_svg_number(out, x);
    fputs("\" y=\"", out);
    ss_svg_number(out, y);
    fputs("\" width=\"", out);
    ss_svg_number(out, width);
    fprintf(out, "\" height=\"%g\" fill=\"%s\"><title>", BAR, color);
    ss_xml_escape(out, title);
    fputs("</title></rect>\n", out);
}

/* Writes what stands above a bar. Returns the total. */
static double write_name(const struct ss_contrast *c, int table, int side, char *name, size_t size)
{
    struct ss_contrast_row row;
    double total = 0, first = 0;
    char value[48];

    for (int i = 0; ss_contrast_row(c, table, i, &row); i++)
        if (row.is_total) {
            total = row.value[side];
            first = row.value[0];
        }
    write_value(table, total, value, sizeof value);
    snprintf(name, size, "%c: %s (%s", 'A' + side, c->side[side].name,
             isnan(total) ? ss_outcome_word(SS_OUTCOME_REFUSED) : value);
    if (side > 0 && first > 0 && total > 0)
        ss_append(name, size, ", %+.1f %% against A%s", 100 * (total / first - 1),
                  table == SS_CONTRAST_TIME && !c->apart[side].apart ? ", too close to call" : "");
    if (table == SS_CONTRAST_MEMORY && !isnan(total))
        ss_append(name, size, ", %s", ss_outcome_word(c->side[side].summary.outcome));
    ss_append(name, size, ")");
    return total;
}

/* Draws a bar below its name. Returns the height of both; without a stream it only measures. */
static double draw_bar(const struct ss_contrast *c, int table, int side, double y, double width, double scale,
                       FILE *out)
{
    struct ss_contrast_row row;
    char title[160], value[48], name[320], fill[40];
    double x = LEFT, total = write_name(c, table, side, name, sizeof name), low, high,
           more = ss_svg_lines(out, LEFT, y + STEP - BAR - 6, width, "small", name);

    if (!out)
        return STEP + more;
    y += STEP + more - BAR;
    for (int i = 0; ss_contrast_row(c, table, i, &row); i++) {
        double v = row.value[side];
        if (row.is_total || !(v > 0))
            continue;
        write_value(table, v, value, sizeof value);
        snprintf(title, sizeof title, "%c, %s: %s", 'A' + side, row.words, value);
        ss_contrast_box(x, y, v * scale, color_of(table, i, fill), title, out);
        x += v * scale;
    }
    if (total > 0) {
        range_of(&c->side[side].summary, table, &low, &high);
        ss_svg_whisker(out, LEFT + low * scale, LEFT + high * scale, y + BAR / 2);
    }
    return STEP + more;
}

/* Draws the card's memory, where it is the same on all sides. */
static void draw_capacity(const struct ss_contrast *c, double y, double height, double width, double scale,
                          FILE *out)
{
    double capacity = c->side[0].summary.capacity;
    char text[48];

    for (int i = 1; i < c->n; i++)
        if (ss_contrast_has(&c->side[i], SS_CONTRAST_MEMORY) && c->side[i].summary.capacity != capacity)
            return;
    if (capacity * scale > width * (1 + 1e-9))
        return;
    ss_svg_line(out, "cap", LEFT + capacity * scale, y, LEFT + capacity * scale, y + height);
    snprintf(text, sizeof text, "card %.1f GiB", capacity / SS_GIB);
    ss_svg_text(out, LEFT + capacity * scale - 5, y + 10, "small capt end", text);
}

static void draw_memory_axis(double y, double top, double most, double width, FILE *out)
{
    double step = ss_round_step(most / SS_GIB, (int)(width / 100)), scale = width / most;
    char text[32];

    for (double at = 0; at * SS_GIB <= most * (1 + 1e-9); at += step) {
        double x = LEFT + at * SS_GIB * scale;
        fprintf(out, "<path class=\"grid\" d=\"M%.2f %.2fV%.2f\"/>\n", x, top, y);
        snprintf(text, sizeof text, "%g GiB", at);
        ss_svg_text(out, x, y + 16, "small muted mid", text);
    }
}

/* Returns 1 if any side has a value in a row. */
static int is_used(const struct ss_contrast *c, const struct ss_contrast_row *row)
{
    for (int s = 0; s < c->n; s++)
        if (row->value[s] > 0)
            return !row->is_total;
    return 0;
}

/* Returns the last line of the legend. */
static double draw_legend(const struct ss_contrast *c, int table, double y, double width, FILE *out)
{
    struct ss_contrast_row row;
    struct ss_legend l;
    char fill[40];

    ss_legend_begin(&l, LEFT, LEFT + width, y + 10, out);
    for (int i = 0; ss_contrast_row(c, table, i, &row); i++)
        if (is_used(c, &row))
            ss_legend_add(&l, color_of(table, i, fill), row.words);
    return l.y;
}

/* Draws a panel. Returns where the next one begins; without a stream it only measures. */
static double draw_panel(const struct ss_contrast *c, int table, double y, double width, FILE *out)
{
    double most = most_of(c, table), bars = draw_legend(c, table, y, width, out) + PANEL_TOP, bottom = bars,
           scale = width / most;

    for (int i = 0; i < c->n; i++)
        bottom += draw_bar(c, table, i, 0, width, scale, NULL);
    if (!out)
        return bottom + AXIS;
    if (table == SS_CONTRAST_MEMORY)
        draw_memory_axis(bottom, bars, most, width, out);
    else
        ss_svg_time_axis(out, LEFT, bottom, width, bars, 0, most, 1);
    double at = bars;
    for (int i = 0; i < c->n; i++)
        at += draw_bar(c, table, i, at, width, scale, out);
    if (table == SS_CONTRAST_MEMORY)
        draw_capacity(c, bars, bottom - bars, width, scale, out);
    return bottom + AXIS;
}

int ss_contrast_write_svg(const struct ss_side *side, const struct ss_apart *apart, int n, double width,
                          FILE *out, struct ss_error *err)
{
    static const char title[] =
        "Time of an iteration, and memory of the fullest stage; whiskers: 90 % of such jobs";
    const struct ss_contrast c = {side, apart, n};
    double wide = (width > 0 ? width : SS_CONTRAST_USUAL) - 2 * LEFT,
           top = 56 + ss_svg_lines(NULL, LEFT, 28, wide, "title", title),
           middle = draw_panel(&c, SS_CONTRAST_TIME, top, wide, NULL);

    ss_svg_begin(
        out, wide + 2 * LEFT, draw_panel(&c, SS_CONTRAST_MEMORY, middle, wide, NULL),
        "Jobs beside each other",
        "A bar of the iteration by label, and one of the fullest stage's memory by class, for each job.");
    ss_svg_tones(out, SS_TONES_LABEL);
    ss_svg_tones(out, SS_TONES_MEMORY);
    ss_svg_lines(out, LEFT, 28, wide, "title", title);
    draw_panel(&c, SS_CONTRAST_TIME, top, wide, out);
    draw_panel(&c, SS_CONTRAST_MEMORY, middle, wide, out);
    ss_svg_end(out);
    return ss_report_done(out, err);
}
