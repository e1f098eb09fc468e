/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison as a picture: for each side a bar of its time by label and one of its memory by class. */
#include <math.h>

#include "base/base.h"
#include "decide/contrast.h"
#include "report/chart.h"
#include "report/common.h"
#include "report/svg.h"

#define LEFT SS_CONTRAST_LEFT
#define WIDTH SS_CONTRAST_WIDTH
#define BAR SS_CONTRAST_BAR
#define STEP 46.0 /* a bar with its name above */
#define PANEL_TOP 34.0
#define AXIS 34.0
#define PARTS_MOST SS_LABEL_COUNT /* time or memory */

static double most_of(const struct ss_contrast *c, int table)
{
    double most = 0;

    for (int i = 0; i < c->n; i++)
        if (ss_contrast_has(&c->side[i], table))
            most = fmax(most, table == SS_CONTRAST_MEMORY ? c->side[i].summary.peak_device
                                                          : c->side[i].summary.iteration_s);
    return most > 0 ? most : 1;
}

/* The rows of a side that are no total; the total, NaN where it has none. */
static int parts_of(const struct ss_contrast *c, int table, int side, struct ss_chart_part *parts,
                    double *total)
{
    struct ss_contrast_row row;
    int n = 0;

    for (; ss_contrast_row(c, table, n, &row) && !row.is_total; n++)
        parts[n] = (struct ss_chart_part){
            row.words, table == SS_CONTRAST_MEMORY ? ss_color_memory(n) : ss_color_label(n), row.value[side]};
    *total = row.value[side];
    return n;
}

static void draw_side(const struct ss_contrast *c, const struct ss_chart *k, int table, int side)
{
    const int memory = table == SS_CONTRAST_MEMORY;
    const double y = k->y + side * STEP + STEP - BAR;
    struct ss_chart_part parts[PARTS_MOST];
    char letter[8], value[48], name[320];
    double total;
    int n = parts_of(c, table, side, parts, &total);

    snprintf(letter, sizeof letter, "%c, ", 'A' + side);
    ss_chart_bar(k, y, BAR, letter, parts, n, memory);
    snprintf(name, sizeof name, "%c: %s (%s)", 'A' + side, c->side[side].name,
             isnan(total) ? ss_outcome_word(SS_OUTCOME_REFUSED)
                          : ss_chart_value(total, memory, value, sizeof value));
    ss_svg_text(k->out, k->x, y - 6, "small", name);
}

/* The card's memory, where all sides have the same. */
static void draw_capacity(const struct ss_contrast *c, const struct ss_chart *k)
{
    double capacity = c->side[0].summary.capacity;

    for (int i = 1; i < c->n; i++)
        if (ss_contrast_has(&c->side[i], SS_CONTRAST_MEMORY) && c->side[i].summary.capacity != capacity)
            return;
    if (capacity <= k->across.to)
        ss_chart_line(k, false, "cap", capacity, NULL);
}

/* What the first side that has anything has. */
static void draw_legend(const struct ss_contrast *c, int table, double y, FILE *out)
{
    struct ss_legend l = ss_legend_at(out, LEFT, y, INFINITY);
    struct ss_chart_part parts[SS_SIDES_MOST][PARTS_MOST];
    double total;
    int n = 0;

    for (int s = 0; s < c->n; s++)
        n = parts_of(c, table, s, parts[s], &total);
    for (int i = 0; i < n; i++)
        for (int s = 0; s < c->n; s++)
            if (parts[s][i].value > 0) {
                ss_legend_key(&l, parts[s][i].color, parts[s][i].words);
                break;
            }
}

static double panel_height(int n)
{
    return PANEL_TOP + n * STEP + AXIS;
}

static void draw_panel(const struct ss_contrast *c, int table, double y, FILE *out)
{
    const struct ss_chart k = {out, LEFT, y + PANEL_TOP, WIDTH, c->n * STEP, .across.to = most_of(c, table)};

    draw_legend(c, table, y, out);
    if (table == SS_CONTRAST_MEMORY)
        ss_chart_gib(&k, false, 8, " GiB");
    else
        ss_chart_seconds(&k);
    for (int i = 0; i < c->n; i++)
        draw_side(c, &k, table, i);
    if (table == SS_CONTRAST_MEMORY)
        draw_capacity(c, &k);
}

int ss_contrast_svg(const struct ss_contrast *c, FILE *out, struct ss_error *err)
{
    double height = 56 + 2 * panel_height(c->n);

    ss_svg_begin(
        out, LEFT + WIDTH + LEFT, height, "Jobs beside each other",
        "A bar of the iteration by label, and one of the fullest stage's memory by class, for each job.");
    ss_svg_text(out, LEFT, 28, "title", "Time of an iteration, and memory of the fullest stage");
    draw_panel(c, SS_CONTRAST_TIME, 56, out);
    draw_panel(c, SS_CONTRAST_MEMORY, 56 + panel_height(c->n), out);
    ss_svg_end(out);
    return ss_report_done(out, err);
}
