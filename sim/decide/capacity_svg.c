/* SPDX-License-Identifier: Apache-2.0 */
/* Draws a plan of capacity: days and GPU-hours over the number of nodes, both axes logarithmic, with the
 * range that holds 90 % of such jobs. */
#include "decide/capacity_internal.h"
#include "report/common.h"
#include "report/svg.h"

#define LEFT 76.0
#define HEIGHT 250.0
#define RIGHT 30.0
#define USUAL 866.0 /* width of the picture */
#define TOP 48.0    /* below the legend */
#define GAP 92.0
#define LINE 17.0

enum quantity { DAYS, COST, QUANTITIES };

struct panel {
    const struct ss_capacity *plan;
    int cluster;     /* whose curve is drawn */
    int what;        /* enum quantity */
    double y, width; /* y of its top; px of its frame */
    double lo, hi;   /* log10 of its lowest and highest value */
    double from, to; /* log2 of its fewest and most nodes */
    FILE *out;
};

static const char *colour_of(int cluster)
{
    return ss_tone(SS_TONES_SERIES, cluster)->color;
}

/* Returns 1 where all platforms have prices. */
static int in_money(const struct ss_capacity *c)
{
    for (int k = 0; k < c->nclusters; k++)
        if (!(c->clusters[k].price > 0))
            return 0;
    return 1;
}

static struct ss_capacity_range range_at(const struct ss_capacity *c, int what, int i)
{
    const struct ss_capacity_point *p = &c->points[i];
    struct ss_capacity_range r = what == DAYS ? p->time_s : in_money(c) ? p->usd : p->gpu_hours;
    double unit = what == DAYS ? 86400 : 1;

    return (struct ss_capacity_range){r.value / unit, r.low / unit, r.high / unit};
}

static int is_drawn(const struct ss_capacity *c, int i)
{
    return c->points[i].summary.iteration_s > 0;
}

static int is_on(const struct panel *p, int i)
{
    return is_drawn(p->plan, i) && p->plan->points[i].cluster == p->cluster;
}

static double x_of(const struct panel *p, double nodes)
{
    double span = p->to - p->from;

    return LEFT + p->width * (span > 0 ? (log2(nodes) - p->from) / span : 0.5);
}

static double y_of(const struct panel *p, double value)
{
    return p->y + HEIGHT * (p->hi - log10(value)) / (p->hi - p->lo);
}

/* Returns the log10 of the next 1, 2 or 5 of a decade at or below a value, or above it, so that an axis ends with a tick. */
static double tick_beyond(double log, int above)
{
    const double digits[] = {0, log10(2), log10(5), 1};
    double decade = floor(log), part = log - decade;
    int i = 0;

    while (i < 3 && part > digits[i] + 1e-9)
        i++;
    return decade + digits[above || part >= digits[i] - 1e-9 ? i : i - 1];
}

static void scale(struct panel *p)
{
    p->lo = p->from = INFINITY;
    p->hi = p->to = -INFINITY;
    for (int i = 0; i < p->plan->npoints; i++) {
        struct ss_capacity_range r = range_at(p->plan, p->what, i);
        if (!is_drawn(p->plan, i))
            continue;
        double low = isnan(r.low) ? r.value : r.low, high = isnan(r.high) ? r.value : r.high;
        p->lo = fmin(p->lo, log10(low));
        p->hi = fmax(p->hi, log10(high));
        p->from = fmin(p->from, log2(p->plan->points[i].nodes));
        p->to = fmax(p->to, log2(p->plan->points[i].nodes));
    }
    double edge = fmax(0.05, 0.06 * (p->hi - p->lo));
    p->lo = tick_beyond(p->lo - edge, 0);
    p->hi = tick_beyond(p->hi + edge, 1);
}

/* Writes the label of a tick: "500k". */
static const char *tick(double value, char *buf, size_t size)
{
    static const char *const names[] = {"", "k", "M", "G"};
    int i = 0;

    for (; value > 999 && i < 3; i++)
        value /= 1000;
    snprintf(buf, size, "%g%s", value, names[i]);
    return buf;
}

/* Draws ticks at values with one digit: at 1, 2 and 5 of each decade, or at all nine where the axis has
 * less than a decade. */
static void draw_values(const struct panel *p)
{
    static const int wide[] = {1, 2, 5}, narrow[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    int n = p->hi - p->lo < 1 ? 9 : 3;
    char text[32];

    for (double decade = floor(p->lo); decade <= p->hi; decade++)
        for (int k = 0; k < n; k++) {
            double value = (n == 3 ? wide : narrow)[k] * pow(10, decade), at = log10(value);
            if (at < p->lo - 1e-9 || at > p->hi + 1e-9)
                continue;
            fprintf(p->out, "<path class=\"grid\" d=\"M%.2f %.2fH%.2f\"/>\n", LEFT, y_of(p, value),
                    LEFT + p->width);
            ss_svg_text(p->out, LEFT - 8, y_of(p, value) + 4, "small muted end",
                        tick(value, text, sizeof text));
        }
}

static void draw_grid(const struct panel *p)
{
    char text[32];

    draw_values(p);
    fprintf(p->out, "<path class=\"frame\" d=\"M%.2f %.2fV%.2fH%.2f\"/>\n", LEFT, p->y, p->y + HEIGHT,
            LEFT + p->width);
    for (int i = 0; i < p->plan->npoints; i++) { /* the labels of near numbers would lie over each other */
        double nodes = p->plan->points[i].nodes;
        int crowded = !is_drawn(p->plan, i);
        for (int k = 0; k < i && !crowded; k++)
            crowded = is_drawn(p->plan, k) && fabs(x_of(p, nodes) - x_of(p, p->plan->points[k].nodes)) < 36;
        if (crowded)
            continue;
        snprintf(text, sizeof text, "%.0f", nodes);
        ss_svg_text(p->out, x_of(p, nodes), p->y + HEIGHT + 16, "small muted mid", text);
    }
}

/* Draws the band: along the high ends from the first point to the last, and back along the low ends. */
static void draw_band(const struct panel *p)
{
    const struct ss_capacity *c = p->plan;
    int n = 0;

    for (int i = 0; i < c->npoints; i++) {
        struct ss_capacity_range r = range_at(c, p->what, i);
        if (!is_on(p, i) || isnan(r.low) || isnan(r.high))
            continue;
        if (!n++)
            fprintf(p->out, "<path fill=\"%s\" fill-opacity=\"0.3\" d=\"M", colour_of(p->cluster));
        else
            fputc('L', p->out);
        fprintf(p->out, "%.2f %.2f", x_of(p, c->points[i].nodes), y_of(p, r.high));
    }
    for (int i = c->npoints - 1; n && i >= 0; i--) {
        struct ss_capacity_range r = range_at(c, p->what, i);
        if (is_on(p, i) && !isnan(r.low) && !isnan(r.high))
            fprintf(p->out, "L%.2f %.2f", x_of(p, c->points[i].nodes), y_of(p, r.low));
    }
    if (n)
        fputs("Z\"/>\n", p->out);
}

static void draw_line(const struct panel *p)
{
    int n = 0;

    for (int i = 0; i < p->plan->npoints; i++) {
        if (!is_on(p, i))
            continue;
        if (!n++)
            fprintf(p->out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" d=\"M",
                    colour_of(p->cluster));
        else
            fputc('L', p->out);
        fprintf(p->out, "%.2f %.2f", x_of(p, p->plan->points[i].nodes),
                y_of(p, range_at(p->plan, p->what, i).value));
    }
    if (n)
        fputs("\"/>\n", p->out);
}

static void draw_points(const struct panel *p)
{
    const struct ss_capacity *c = p->plan;
    const struct ss_capacity_cluster *k = &c->clusters[p->cluster];
    char text[96];

    for (int i = 0; i < c->npoints; i++) {
        const struct ss_capacity_point *q = &c->points[i];
        if (!is_on(p, i))
            continue;
        double x = x_of(p, q->nodes), y = y_of(p, range_at(c, p->what, i).value);
        int square = q->batch != c->asked_batch;
        ss_svg_mark(p->out, square, x, y, 4);
        fprintf(p->out,
                ss_capacity_holds(q) ? " fill=\"%s\"><title>" : " class=\"bgfill\" stroke=\"%s\"><title>",
                colour_of(p->cluster));
        fprintf(p->out, "%d nodes: %.4g days, %.4g GPU-hours, goodput %.1f %%, %s; ", q->nodes,
                q->time_s.value / 86400, q->gpu_hours.value, 100 * q->goodput,
                ss_outcome_word(q->summary.outcome));
        ss_xml_escape(p->out, q->layout);
        fprintf(p->out, "</title></%s>\n", square ? "path" : "circle");
        if (i == k->chosen)
            fprintf(p->out, "<circle class=\"mark\" cx=\"%.2f\" cy=\"%.2f\" r=\"8\"/>\n", x, y);
    }
    if (k->chosen < 0)
        return;
    const struct ss_capacity_point *q = &c->points[k->chosen];
    struct ss_capacity_range r = range_at(c, p->what, k->chosen);
    snprintf(text, sizeof text, p->what == DAYS ? "%d nodes, %.3g days" : "%d nodes, %.3g M", q->nodes,
             p->what == DAYS ? r.value : r.value / 1e6);
    int right = x_of(p, q->nodes) + 12 + ss_text_width(text, 11) < LEFT + p->width, below = 0;
    for (int o = 0; o < c->nclusters; o++) /* labels stand on both sides of the lines */
        below |= c->clusters[o].chosen >= 0 && range_at(c, p->what, c->clusters[o].chosen).value > r.value;
    ss_svg_text(p->out, x_of(p, q->nodes) + (right ? 12 : -12), y_of(p, r.value) + (below ? 20 : -12),
                right ? "small bold halo" : "small bold halo end", text);
}

/* Draws the deadline or budget as a line, and the knee of a plan of one platform. */
static void draw_marks(const struct panel *p)
{
    const struct ss_capacity *c = p->plan;
    double limit = p->what == DAYS ? c->deadline_s / 86400 : in_money(c) ? c->budget_usd : 0;
    char text[64];

    if (limit > 0 && log10(limit) > p->lo && log10(limit) < p->hi) {
        fprintf(p->out, "<path class=\"cap\" d=\"M%.2f %.2fH%.2f\"/>\n", LEFT, y_of(p, limit),
                LEFT + p->width);
        snprintf(text, sizeof text, p->what == DAYS ? "deadline, %g days" : "budget, %g USD", limit);
        ss_svg_text(p->out, LEFT + p->width, y_of(p, limit) - 5, "small capt end", text);
    }
    if (c->nclusters == 1 && c->npoints > 1 && c->clusters[0].knee >= 0) {
        double x = x_of(p, c->points[c->clusters[0].knee].nodes);
        fprintf(p->out, "<path class=\"axis\" stroke-dasharray=\"3 4\" d=\"M%.2f %.2fV%.2f\"/>\n", x, p->y,
                p->y + HEIGHT);
        ss_svg_text(p->out, x - 5, p->y + HEIGHT - 8, "small muted end", "knee");
    }
}

static void draw_panel(const struct ss_capacity *c, int what, double y, double width, const char *title,
                       FILE *out)
{
    struct panel p = {.plan = c, .what = what, .y = y, .width = width, .out = out};

    scale(&p);
    ss_svg_text(out, LEFT, y - 10, "", title);
    if (!(p.hi > p.lo)) {
        ss_svg_text(out, LEFT, y + 20, "small muted", "no number of nodes has figures");
        return;
    }
    draw_grid(&p);
    draw_marks(&p);
    ss_svg_text(out, LEFT + width / 2, y + HEIGHT + 34, "small muted mid", "nodes");
    for (p.cluster = 0; p.cluster < c->nclusters; p.cluster++) {
        draw_band(&p);
        draw_line(&p);
        draw_points(&p);
    }
}

/* Writes the answers, one a platform, and what marks mean. Returns the line of the legend; without a stream it only measures. */
static double draw_answers(const struct ss_capacity *c, double y, double width, FILE *out)
{
    char text[256], money[32];
    static const char marks[] = "ring: the answer; hollow: does not fit; square: another batch than asked";
    struct ss_legend l;

    for (int k = 0; k < c->nclusters; k++) {
        const struct ss_capacity_cluster *m = &c->clusters[k];
        if (m->chosen < 0)
            continue;
        const struct ss_capacity_point *q = &c->points[m->chosen];
        snprintf(text, sizeof text,
                 "%s: %d nodes (%d GPUs) take %.3g days (%.3g to %.3g in 90 %% of such jobs), %s GPU-hours",
                 m->platform, q->nodes, q->gpus, q->time_s.value / 86400, q->time_s.low / 86400,
                 q->time_s.high / 86400, ss_report_count(q->gpu_hours.value, money, sizeof money));
        if (q->usd.value > 0)
            ss_append(text, sizeof text, ", %.3g M USD", q->usd.value / 1e6);
        y += LINE + ss_svg_lines(out, LEFT, y, width, "say", text);
    }
    ss_legend_begin(&l, LEFT, LEFT + width, y + 4, out);
    for (int k = 0; k < c->nclusters; k++)
        ss_legend_add(&l, colour_of(k), c->clusters[k].platform);
    if (l.x > LEFT && l.x + ss_text_width(marks, 11) > LEFT + width) {
        l.x = LEFT;
        l.y += SS_LEGEND_LINE;
    }
    return l.y + ss_svg_lines(out, l.x, l.y, width, "small muted", marks);
}

int ss_capacity_write_svg(const struct ss_capacity *c, double width, FILE *out, struct ss_error *err)
{
    char title[256], tokens[32];
    int examples = 0;
    double wide = (width > 0 ? width : USUAL) - LEFT - RIGHT, answers, top;

    for (int k = 0; k < c->nclusters; k++)
        examples |= c->clusters[k].price_is_example;
    snprintf(title, sizeof title, "%s, %s tokens%s%s", c->model,
             ss_report_count(c->tokens, tokens, sizeof tokens), c->nclusters > 1 ? "" : " on ",
             c->nclusters > 1 ? "" : c->clusters[0].platform);
    answers = 48 + ss_svg_lines(NULL, LEFT, 28, wide, "title", title);
    top = draw_answers(c, answers, wide, NULL) + TOP;
    ss_svg_begin(out, LEFT + wide + RIGHT, top + 2 * HEIGHT + GAP + 46, title,
                 "Days of training and what they cost over the number of nodes, with the range of nine of "
                 "ten such jobs.");
    ss_svg_lines(out, LEFT, 28, wide, "title", title);
    draw_answers(c, answers, wide, out);
    draw_panel(c, DAYS, top, wide, "days, with what fails; the band holds 90 % of such jobs", out);
    draw_panel(c, COST, top + HEIGHT + GAP, wide,
               !in_money(c) ? "GPU-hours"
               : examples   ? "USD, at example prices"
                            : "USD",
               out);
    ss_svg_end(out);
    return ss_report_done(out, err);
}
