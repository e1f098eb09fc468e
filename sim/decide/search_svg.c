/* SPDX-License-Identifier: Apache-2.0 */
/* Draws a search: for each number of nodes the memory of the predicted layouts over their time, with the
 * front and the band of the best. */
#include "decide/search_internal.h"
#include "report/common.h"
#include "report/svg.h"
#include "report/text.h"

#define LEFT 70.0
#define RIGHT 30.0
#define USUAL 960.0 /* width of the picture */
#define HEIGHT 200.0
#define PANEL_TOP 52.0 /* height of a heading of one line and of the words at the band */
#define PANEL_BOTTOM 44.0
#define HEAD 10.0 /* below the legend */
/* Layouts that are slower than this many times the best are not drawn. */
#define SLOWEST 2.5

enum mark { FITS, NEAR_LIMIT, FRONT }; /* shapes: circle, triangle, diamond */

static const char *color_of(enum mark m)
{
    return ss_tone(SS_TONES_OUTCOME, m == FITS         ? SS_OUTCOME_FITS
                                     : m == NEAR_LIMIT ? SS_OUTCOME_NEAR_LIMIT
                                                       : SS_OUTCOME_REFUSED)
        ->color;
}

static void put_mark(FILE *out, enum mark m, double x, double y, double r)
{
    static const int shapes[] = {0, 2, 3};

    ss_svg_mark(out, shapes[m], x, y, r);
    fprintf(out, " fill=\"%s\"", color_of(m));
}

/* A panel: one number of nodes, with its points and place. */
struct panel {
    const struct ss_find_result *f;
    int group;
    double top, width;     /* y of the frame's top, px of the frame */
    double start, end;     /* s: range of the time axis */
    double most, capacity; /* bytes: top of the memory axis, memory of the card */
    double slowest;        /* s: slower points are not drawn */
    int n, hidden;         /* points that are drawn, and points too slow to draw */
};

static int is_drawn(const struct panel *p, int i)
{
    const struct ss_find_point *point = &p->f->points[i];
    return point->group == p->group && point->summary.outcome != SS_OUTCOME_TOO_LARGE;
}

static double x_of(const struct panel *p, double seconds)
{
    return LEFT + p->width * (seconds - p->start) / (p->end - p->start);
}

static double y_of(const struct panel *p, double bytes)
{
    return p->top + HEIGHT * (1 - bytes / p->most);
}

/* Finds what a panel draws: points up to SLOWEST times its fastest. Widens `all`, which has the axes of every panel, so that
 * numbers of nodes can be held against each other. */
static void measure(struct panel *p, struct panel *all)
{
    double fastest = INFINITY;
    for (int i = 0; i < p->f->npoints; i++)
        if (is_drawn(p, i))
            fastest = fmin(fastest, p->f->points[i].summary.iteration_s);
    p->slowest = SLOWEST * fastest;
    for (int i = 0; i < p->f->npoints; i++) {
        const struct ss_summary *u = &p->f->points[i].summary;
        if (!is_drawn(p, i))
            continue;
        if (u->iteration_s > p->slowest) {
            p->hidden++;
            continue;
        }
        p->n++;
        p->capacity = u->capacity;
        all->start = fmin(all->start, u->iteration_s);
        all->end = fmax(all->end, u->iteration_s);
        all->most = fmax(all->most, 1.05 * fmax(u->capacity, u->peak_device));
    }
}

static void draw_memory_axis(const struct panel *p, FILE *out)
{
    double step = ss_round_step(p->most / SS_GIB, 5);
    char text[32];
    for (double at = 0; at * SS_GIB <= p->most; at += step) {
        double y = y_of(p, at * SS_GIB);
        fprintf(out, "<path class=\"grid\" d=\"M%g %.2fh%g\"/>\n", LEFT, y, p->width);
        snprintf(text, sizeof text, "%g GiB", at);
        ss_svg_text(out, LEFT - 6, y + 4, "small muted end", text);
    }
    if (p->capacity > 0) {
        fprintf(out, "<path class=\"cap\" d=\"M%g %.2fh%g\"/>\n", LEFT, y_of(p, p->capacity), p->width);
        snprintf(text, sizeof text, "card %.1f GiB", p->capacity / SS_GIB);
        ss_svg_text(out, LEFT + p->width - 4, y_of(p, p->capacity) + 13, "small capt end", text);
    }
}

/* Draws where the layouts end that are too close to the best to call. */
static void draw_band(const struct panel *p, const struct ss_summary *best, FILE *out)
{
    double from = x_of(p, best->iteration_s), to = x_of(p, best->iteration_s * (1 + best->apart_pct / 100));
    to = fmin(to, LEFT + p->width);
    fprintf(out,
            "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%g\" fill=\"%s\" fill-opacity=\".12\"/>\n",
            from, p->top, fmax(to - from, 0), HEIGHT, color_of(FITS));
    ss_svg_text(out, from, p->top - 5, "small muted", "too close to call");
}

static void draw_point(const struct panel *p, const struct ss_find_point *point, int best, FILE *out)
{
    const struct ss_summary *u = &point->summary;
    enum mark m = point->front ? FRONT : u->outcome == SS_OUTCOME_FITS ? FITS : NEAR_LIMIT;
    double x = x_of(p, u->iteration_s), y = y_of(p, u->peak_device);
    char time[32], layout[200];
    if (best && isfinite(u->memory_low_pct))
        fprintf(out, "<path class=\"mark\" d=\"M%.2f %.2fV%.2fm-4 0h8M%.2f %.2fh8\"/>\n", x,
                y_of(p, u->peak_device * (1 + u->memory_low_pct / 100)),
                fmax(p->top, y_of(p, u->peak_device * (1 + u->memory_high_pct / 100))), x - 4,
                y_of(p, u->peak_device * (1 + u->memory_low_pct / 100)));
    put_mark(out, m, x, y, best ? 6.5 : point->front ? 4.5 : 2.8);
    fprintf(out, " fill-opacity=\"%g\"><title>", point->front ? 1.0 : 0.55);
    ss_xml_escape(out, ss_find_layout(point, layout, sizeof layout));
    fprintf(out, ": %s, %.1f GiB, %s</title></%s>\n", ss_text_time(u->iteration_s, time, sizeof time),
            u->peak_device / SS_GIB, ss_outcome_word(u->outcome), m == FITS ? "circle" : "path");
}

static void draw_points(const struct panel *p, FILE *out)
{
    const struct ss_find_group *g = &p->f->groups[p->group];
    for (int fronts = 0; fronts < 2; fronts++) /* the front is drawn last, above the others */
        for (int i = 0; i < p->f->npoints; i++) {
            const struct ss_find_point *point = &p->f->points[i];
            if (is_drawn(p, i) && point->front == fronts && point->summary.iteration_s <= p->slowest)
                draw_point(p, point, i == g->best, out);
        }
}

/* Writes the heading that ends above a panel. Returns how much higher than one line; without a stream it only measures. */
static double draw_heading(const struct panel *p, FILE *out)
{
    const struct ss_find_group *g = &p->f->groups[p->group];
    char text[512], time[32], layout[200], words[sizeof g->flags];
    ss_find_group_words(g, words, sizeof words);
    int at = snprintf(text, sizeof text, "%d node%s, %d GPUs%s%s", g->nodes, ss_plural(g->nodes), g->gpus,
                      words[0] ? ", " : "", words);
    if (g->best >= 0)
        at += snprintf(text + at, sizeof text - (size_t)at, "; best: %s, %s",
                       ss_find_layout(&p->f->points[g->best], layout, sizeof layout),
                       ss_text_time(p->f->points[g->best].summary.iteration_s, time, sizeof time));
    else
        at += snprintf(text + at, sizeof text - (size_t)at, ": none surely fits");
    if (p->hidden)
        snprintf(text + at, sizeof text - (size_t)at, " (%d slower ones are not drawn)", p->hidden);
    double more = ss_svg_lines(NULL, LEFT, 0, p->width, "", text);
    ss_svg_lines(out, LEFT, p->top - 22 - more, p->width, "", text);
    return more;
}

static void draw_panel(struct panel *p, FILE *out)
{
    const struct ss_find_group *g = &p->f->groups[p->group];
    draw_heading(p, out);
    if (p->n) {
        draw_memory_axis(p, out);
        ss_svg_time_axis(out, LEFT, p->top + HEIGHT, p->width, p->top, p->start, p->end, 1);
        if (g->best >= 0 && p->f->points[g->best].summary.apart_pct > 0)
            draw_band(p, &p->f->points[g->best].summary, out);
        draw_points(p, out);
    }
    fprintf(out, "<rect class=\"frame\" x=\"%g\" y=\"%.2f\" width=\"%g\" height=\"%g\"/>\n", LEFT, p->top,
            p->width, HEIGHT);
}

/* Returns the last line of the legend; without a stream it only measures. */
static double draw_legend(double y, double right, FILE *out)
{
    static const char *const words[] = {[FITS] = "fits",
                                        [NEAR_LIMIT] = "near limit",
                                        [FRONT] = "no layout is better in nodes, time and memory",
                                        [FRONT + 1] =
                                            "large: the best, whisker: memory of 90 % of such jobs"};
    static const int order[] = {FRONT, NEAR_LIMIT, FITS, FRONT + 1};
    double x = LEFT;

    for (size_t i = 0; i < SS_ARRAY_LEN(order); i++) {
        int mark = order[i] <= FRONT;
        double wide = (mark ? 16 : 0) + ss_text_width(words[order[i]], 11);
        if (x > LEFT && x + wide > right) {
            x = LEFT;
            y += SS_LEGEND_LINE;
        }
        if (out && mark) {
            put_mark(out, (enum mark)order[i], x + 5, y - 4, 4.5);
            fputs("/>", out);
        }
        if (out)
            ss_svg_text(out, x + (mark ? 16 : 0), y, mark ? "small" : "small muted", words[order[i]]);
        x += wide + 18;
    }
    return y;
}

int ss_find_write_svg(const struct ss_find_result *f, double width, FILE *out, struct ss_error *err)
{
    const double wide = (width > 0 ? width : USUAL) - LEFT - RIGHT,
                 top = draw_legend(56, LEFT + wide, NULL) + HEAD;
    struct panel all = {.start = INFINITY}, p = {.f = f, .width = wide};
    double height = 0, y = top, room;

    for (p.group = 0; p.group < f->ngroups; p.group++) {
        p.n = p.hidden = 0;
        measure(&p, &all);
        height += PANEL_TOP + draw_heading(&p, NULL) + HEIGHT + PANEL_BOTTOM;
    }
    room = 0.04 * (all.end > all.start ? all.end - all.start : all.start);
    ss_svg_begin(out, LEFT + wide + RIGHT, top + height + 18, "Layouts that were found",
                 "For each number of nodes the memory of layouts over the time of an iteration: the best, "
                 "those that are too close to it to call, and the front of nodes, time and memory. All "
                 "panels have one axis of time.");
    ss_svg_text(out, LEFT, 28, "title", "Memory over the time of an iteration");
    draw_legend(56, LEFT + wide, out);
    for (int g = 0; g < f->ngroups; g++) {
        p = (struct panel){.f = f, .group = g, .width = wide};
        measure(&p, &(struct panel){.start = INFINITY});
        p.top = y + PANEL_TOP + draw_heading(&p, NULL);
        p.start = all.start - room;
        p.end = all.end + room;
        p.most = all.most;
        draw_panel(&p, out);
        y = p.top + HEIGHT + PANEL_BOTTOM;
    }
    ss_svg_text(out, LEFT + wide / 2, y + 4, "small muted mid", "time of an iteration");
    ss_svg_end(out);
    return ss_report_done(out, err);
}
