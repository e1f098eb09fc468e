/* SPDX-License-Identifier: Apache-2.0 */
/* Draws a search: for each number of nodes the memory of the predicted layouts over their time, with the
 * front and the band of the best. */
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "decide/search_internal.h"
#include "report/common.h"
#include "report/svg.h"
#include "report/text.h"
#include "stepsim/types.h"

#define LEFT 70.0
#define WIDTH 860.0
#define RIGHT 30.0
#define HEIGHT 200.0
#define PANEL_TOP 52.0 /* height of the heading and of the words at the band */
#define PANEL_BOTTOM 44.0
#define HEAD 66.0
/* Layouts that are slower than this many times the best are not drawn. */
#define SLOWEST 2.5

static const char fits[] = "#1f5fbf", front[] = "#e07b39", near_limit[] = "#b8860b";

/* A panel: one number of nodes, with its points and place. */
struct panel {
    const struct ss_find_result *f;
    int group;
    double top;            /* y of the frame's top */
    double start, end;     /* s: range of the time axis */
    double most, capacity; /* bytes: top of the memory axis, memory of the card */
    int n, hidden;         /* points that are drawn, and points too slow to draw */
};

static int is_drawn(const struct panel *p, int i)
{
    const struct ss_find_point *point = &p->f->points[i];
    return point->group == p->group && point->summary.outcome != SS_OUTCOME_TOO_LARGE;
}

static double x_of(const struct panel *p, double seconds)
{
    return LEFT + WIDTH * (seconds - p->start) / (p->end - p->start);
}

static double y_of(const struct panel *p, double bytes)
{
    return p->top + HEIGHT * (1 - bytes / p->most);
}

/* Sets the axes of a panel: time runs from a little before the fastest point to the slowest that is
 * drawn. */
static void measure(struct panel *p)
{
    double fastest = INFINITY, slowest = 0;
    p->most = 0;
    for (int i = 0; i < p->f->npoints; i++)
        if (is_drawn(p, i))
            fastest = fmin(fastest, p->f->points[i].summary.iteration_s);
    for (int i = 0; i < p->f->npoints; i++) {
        const struct ss_summary *u = &p->f->points[i].summary;
        if (!is_drawn(p, i))
            continue;
        if (u->iteration_s > SLOWEST * fastest) {
            p->hidden++;
            continue;
        }
        p->n++;
        slowest = fmax(slowest, u->iteration_s);
        p->capacity = u->capacity;
        p->most = fmax(p->most, fmax(u->capacity, u->peak_device));
    }
    if (p->n == 0)
        return;
    double room = 0.04 * (slowest > fastest ? slowest - fastest : fastest);
    p->start = fastest - room;
    p->end = slowest + room;
    p->most *= 1.05;
}

static void draw_memory_axis(const struct panel *p, FILE *out)
{
    double step = ss_round_step(p->most / SS_GIB, 5);
    char text[32];
    for (double at = 0; at * SS_GIB <= p->most; at += step) {
        double y = y_of(p, at * SS_GIB);
        fprintf(out, "<path class=\"grid\" d=\"M%g %.2fh%g\"/>\n", LEFT, y, WIDTH);
        snprintf(text, sizeof text, "%g GiB", at);
        ss_svg_text(out, LEFT - 6, y + 4, "small muted end", text);
    }
    if (p->capacity > 0)
        fprintf(out, "<path class=\"cap\" d=\"M%g %.2fh%g\"/>\n", LEFT, y_of(p, p->capacity), WIDTH);
}

/* Draws where the layouts end that cannot be told apart from the best. */
static void draw_band(const struct panel *p, const struct ss_summary *best, FILE *out)
{
    double from = x_of(p, best->iteration_s), to = x_of(p, best->iteration_s * (1 + best->apart_pct / 100));
    to = fmin(to, LEFT + WIDTH);
    fprintf(out,
            "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%g\" fill=\"%s\" fill-opacity=\".12\"/>\n",
            from, p->top, fmax(to - from, 0), HEIGHT, fits);
    ss_svg_text(out, from, p->top - 5, "small muted", "too close to call");
}

static void draw_point(const struct panel *p, const struct ss_find_point *point, int best, FILE *out)
{
    const struct ss_summary *u = &point->summary;
    const char *color = point->front ? front : u->outcome == SS_OUTCOME_FITS ? fits : near_limit;
    char time[32], layout[200];
    fprintf(out, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%g\" fill=\"%s\" fill-opacity=\"%g\"%s><title>",
            x_of(p, u->iteration_s), y_of(p, u->peak_device),
            best           ? 6.0
            : point->front ? 4.5
                           : 2.5,
            color, point->front ? 1.0 : 0.55, best ? " class=\"mark\" style=\"fill:#e07b39\"" : "");
    ss_xml_escape(out, ss_find_layout(point, layout, sizeof layout));
    fprintf(out, ": %s, %.1f GiB, %s</title></circle>\n", ss_text_time(u->iteration_s, time, sizeof time),
            u->peak_device / SS_GIB, ss_outcome_word(u->outcome));
}

static void draw_points(const struct panel *p, FILE *out)
{
    const struct ss_find_group *g = &p->f->groups[p->group];
    for (int fronts = 0; fronts < 2; fronts++) /* the front is drawn last, above the others */
        for (int i = 0; i < p->f->npoints; i++) {
            const struct ss_find_point *point = &p->f->points[i];
            if (is_drawn(p, i) && point->front == fronts && point->summary.iteration_s <= p->end)
                draw_point(p, point, i == g->best, out);
        }
}

static void draw_heading(const struct panel *p, FILE *out)
{
    const struct ss_find_group *g = &p->f->groups[p->group];
    char text[512], time[32], layout[200], words[sizeof g->flags];
    ss_find_group_words(g, words, sizeof words);
    int at = snprintf(text, sizeof text, "%d node%s, %d GPUs%s%s", g->nodes, g->nodes == 1 ? "" : "s",
                      g->gpus, words[0] ? ", " : "", words);
    if (g->best >= 0)
        at += snprintf(text + at, sizeof text - (size_t)at, "; best (ring): %s, %s",
                       ss_find_layout(&p->f->points[g->best], layout, sizeof layout),
                       ss_text_time(p->f->points[g->best].summary.iteration_s, time, sizeof time));
    else
        at += snprintf(text + at, sizeof text - (size_t)at, ": none surely fits");
    if (p->hidden)
        snprintf(text + at, sizeof text - (size_t)at, " (%d slower ones are not drawn)", p->hidden);
    ss_svg_text(out, LEFT, p->top - 22, "", text);
}

static void draw_panel(struct panel *p, FILE *out)
{
    const struct ss_find_group *g = &p->f->groups[p->group];
    measure(p);
    draw_heading(p, out);
    if (p->n) {
        draw_memory_axis(p, out);
        ss_svg_time_axis(out, LEFT, p->top + HEIGHT, WIDTH, p->top, p->start, p->end, 1);
        if (g->best >= 0 && p->f->points[g->best].summary.apart_pct > 0)
            draw_band(p, &p->f->points[g->best].summary, out);
        draw_points(p, out);
    }
    fprintf(out, "<rect class=\"frame\" x=\"%g\" y=\"%.2f\" width=\"%g\" height=\"%g\"/>\n", LEFT, p->top,
            WIDTH, HEIGHT);
}

int ss_find_write_svg(const struct ss_find_result *f, FILE *out, struct ss_error *err)
{
    double each = PANEL_TOP + HEIGHT + PANEL_BOTTOM;
    ss_svg_begin(out, LEFT + WIDTH + RIGHT, HEAD + f->ngroups * each, "Layouts that were found",
                 "For each number of nodes the memory of layouts over the time of an iteration: the best, "
                 "those that the "
                 "error does not tell apart from it, and the front of nodes, time and memory.");
    ss_svg_text(out, LEFT, 28, "title", "Memory over the time of an iteration");
    struct ss_legend l;
    ss_legend_begin(&l, LEFT, LEFT + WIDTH, 50, out);
    ss_legend_add(&l, front, "on the front of nodes, time and memory");
    ss_legend_add(&l, fits, ss_outcome_word(SS_OUTCOME_FITS));
    ss_legend_add(&l, near_limit, ss_outcome_word(SS_OUTCOME_NEAR_LIMIT));
    for (int g = 0; g < f->ngroups; g++) {
        struct panel p = {.f = f, .group = g, .top = HEAD + g * each + PANEL_TOP};
        draw_panel(&p, out);
    }
    ss_svg_end(out);
    return ss_report_done(out, err);
}
