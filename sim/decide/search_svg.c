/* SPDX-License-Identifier: Apache-2.0 */
/* A search as a picture: for each number of nodes memory over time of what was predicted, with the front and the band of the best. */
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "decide/search_internal.h"
#include "report/chart.h"
#include "report/common.h"
#include "report/svg.h"
#include "report/text.h"
#include "stepsim/types.h"

#define LEFT 70.0
#define WIDTH 860.0
#define RIGHT 30.0
#define HEIGHT 200.0
#define PANEL_TOP 52.0 /* heading and the words at the band */
#define PANEL_BOTTOM 44.0
#define HEAD 66.0
/* Layouts that are slower than this many times the best are not drawn. */
#define SLOWEST 2.5

static const char fits[] = "#1f5fbf", front[] = "#e07b39", near_limit[] = "#b8860b";

/* One number of nodes: what is drawn, and where. */
struct panel {
    const struct ss_find_result *f;
    int group;
    double top;            /* y of the frame */
    double start, end;     /* s */
    double most, capacity; /* bytes */
    int n, hidden;         /* points that are drawn, and those that are too slow */
};

static int is_drawn(const struct panel *p, int i)
{
    const struct ss_find_point *point = &p->f->points[i];
    return point->group == p->group && point->summary.outcome != SS_OUTCOME_TOO_LARGE;
}

/* From a little before the fastest to the slowest that is drawn. */
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

/* Where what is not told apart from the best ends. */
static void draw_band(const struct ss_chart *k, const struct ss_summary *best)
{
    double from = ss_chart_x(k, best->iteration_s),
           to = ss_chart_x(k, fmin(best->iteration_s * (1 + best->band_pct / 100), k->across.to));
    ss_markup(k->out,
              "<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"%s\" fill-opacity=\".12\"/>\n", from,
              k->y, to - from, k->height, fits);
    ss_svg_text(k->out, from, k->y - 5, "small muted", "not told apart");
}

static void draw_point(const struct ss_chart *k, const struct ss_find_point *point, int best)
{
    const struct ss_summary *u = &point->summary;
    const char *color = point->front ? front : u->outcome == SS_OUTCOME_FITS ? fits : near_limit;
    char time[32], layout[200], title[320];
    snprintf(title, sizeof title, "%s: %s, %.1f GiB, %s", ss_find_layout(point, layout, sizeof layout),
             ss_text_time(u->iteration_s, time, sizeof time), u->peak_device / SS_GIB,
             ss_outcome_word(u->outcome));
    ss_chart_dot(k, u->iteration_s, u->peak_device,
                 best           ? 6
                 : point->front ? 4.5
                                : 2.5,
                 color,
                 best           ? " class=\"mark\" style=\"fill:#e07b39\""
                 : point->front ? ""
                                : " fill-opacity=\".55\"",
                 title);
}

static void draw_points(const struct panel *p, const struct ss_chart *k)
{
    const struct ss_find_group *g = &p->f->groups[p->group];
    for (int fronts = 0; fronts < 2; fronts++) /* the front above the others */
        for (int i = 0; i < p->f->npoints; i++) {
            const struct ss_find_point *point = &p->f->points[i];
            if (is_drawn(p, i) && point->front == fronts && point->summary.iteration_s <= p->end)
                draw_point(k, point, i == g->best);
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
    const struct ss_chart k = {
        out, LEFT, p->top, WIDTH, HEIGHT, {p->start, p->end, false}, {0, p->most, false}};
    draw_heading(p, out);
    if (p->n) {
        ss_chart_gib(&k, true, 5, " GiB");
        if (p->capacity > 0)
            ss_chart_line(&k, true, "cap", p->capacity, NULL);
        ss_chart_seconds(&k);
        if (g->best >= 0 && p->f->points[g->best].summary.band_pct > 0)
            draw_band(&k, &p->f->points[g->best].summary);
        draw_points(p, &k);
    }
    ss_markup(out, "<rect class=\"frame\" x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\"/>\n", LEFT, p->top,
              WIDTH, HEIGHT);
}

int ss_find_write_svg(const struct ss_find_result *f, FILE *out, struct ss_error *err)
{
    double each = PANEL_TOP + HEIGHT + PANEL_BOTTOM;
    struct ss_legend l = ss_legend_at(out, LEFT, 46, INFINITY);
    ss_svg_begin(out, LEFT + WIDTH + RIGHT, HEAD + f->ngroups * each, "Layouts that were found",
                 "For each number of nodes the memory of layouts over the time of an iteration: the best, "
                 "those that the "
                 "error does not tell apart from it, and the front of nodes, time and memory.");
    ss_svg_text(out, LEFT, 28, "title", "Memory over the time of an iteration");
    ss_legend_key(&l, front, "on the front of nodes, time and memory");
    ss_legend_key(&l, fits, ss_outcome_word(SS_OUTCOME_FITS));
    ss_legend_key(&l, near_limit, ss_outcome_word(SS_OUTCOME_NEAR_LIMIT));
    for (int g = 0; g < f->ngroups; g++) {
        struct panel p = {.f = f, .group = g, .top = HEAD + g * each + PANEL_TOP};
        draw_panel(&p, out);
    }
    ss_svg_end(out);
    return ss_report_done(out, err);
}
