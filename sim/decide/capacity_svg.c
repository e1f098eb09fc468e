/* SPDX-License-Identifier: Apache-2.0 */
/* A plan of capacity as a picture: days and GPU-hours over the number of nodes, both axes logarithmic, with the range of nine of
 * ten such jobs. */
#include <math.h>

#include "base/base.h"
#include "decide/capacity_internal.h"
#include "report/chart.h"
#include "report/common.h"
#include "report/svg.h"

#define LEFT 76.0
#define WIDTH 760.0
#define HEIGHT 250.0
#define RIGHT 30.0
#define TOP 70.0
#define GAP 78.0

enum quantity { DAYS, COST, QUANTITIES };

struct panel {
    const struct ss_capacity *plan;
    int what; /* enum quantity */
    struct ss_chart k;
};

static int in_money(const struct ss_capacity *c)
{
    return c->price > 0;
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

static void scale(struct panel *p)
{
    struct ss_chart_scale *x = &p->k.across, *y = &p->k.up;
    *x = *y = (struct ss_chart_scale){INFINITY, 0, true};
    for (int i = 0; i < p->plan->npoints; i++) {
        struct ss_capacity_range r = range_at(p->plan, p->what, i);
        if (!is_drawn(p->plan, i))
            continue;
        y->from = fmin(y->from, isnan(r.low) ? r.value : r.low);
        y->to = fmax(y->to, isnan(r.high) ? r.value : r.high);
        x->from = fmin(x->from, p->plan->points[i].nodes);
        x->to = fmax(x->to, p->plan->points[i].nodes);
    }
    double edge = pow(10, fmax(0.05, 0.06 * log10(y->to / y->from)));
    y->from /= edge;
    y->to *= edge;
}

/* "500k" */
static const char *tick(double value, char *buf, size_t size)
{
    static const char *const names[] = {"", "k", "M", "G"};
    int i = 0;

    for (; value > 999 && i < 3; i++)
        value /= 1000;
    snprintf(buf, size, "%g%s", value, names[i]);
    return buf;
}

/* Values with one digit: 1, 2 and 5 of each decade, of less than one all nine. */
static void draw_values(const struct ss_chart *k)
{
    static const int wide[] = {1, 2, 5}, narrow[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    int n = k->up.to < 10 * k->up.from ? 9 : 3;
    char text[32];

    for (double decade = pow(10, floor(log10(k->up.from))); decade <= k->up.to; decade *= 10)
        for (int i = 0; i < n; i++) {
            double value = (n == 3 ? wide : narrow)[i] * decade;
            if (value >= k->up.from && value <= k->up.to)
                ss_chart_line(k, true, "grid", value, tick(value, text, sizeof text));
        }
}

static void draw_grid(const struct panel *p)
{
    const struct ss_chart *k = &p->k;
    char text[32];

    draw_values(k);
    ss_markup(k->out, "<path class=\"frame\" d=\"M%g %gV%gH%g\"/>\n", k->x, k->y, k->y + k->height,
              k->x + k->width);
    for (int i = 0; i < p->plan->npoints; i++) {
        int nodes = p->plan->points[i].nodes;
        if (!is_drawn(p->plan, i))
            continue;
        snprintf(text, sizeof text, "%d", nodes);
        ss_svg_text(k->out, ss_chart_x(k, nodes), k->y + k->height + 16, "small muted mid", text);
    }
}

/* A point of a path, whose start stands before the first one. */
static void put_point(const struct panel *p, int i, double value, const char *start, int *n)
{
    fputs((*n)++ ? "L" : start, p->k.out);
    ss_markup(p->k.out, "%g %g", ss_chart_x(&p->k, p->plan->points[i].nodes), ss_chart_y(&p->k, value));
}

/* From the first point to the last by the far ends, and back by the near ones. */
static void draw_band(const struct panel *p)
{
    const struct ss_capacity *c = p->plan;
    int n = 0;

    for (int back = 0; back < 2; back++)
        for (int k = 0; k < c->npoints; k++) {
            int i = back ? c->npoints - 1 - k : k;
            struct ss_capacity_range r = range_at(c, p->what, i);
            if (is_drawn(c, i) && !isnan(r.low) && !isnan(r.high))
                put_point(p, i, back ? r.low : r.high, "<path fill=\"#1b6ca8\" fill-opacity=\"0.16\" d=\"M",
                          &n);
        }
    if (n)
        fputs("Z\"/>\n", p->k.out);
}

static void draw_line(const struct panel *p)
{
    int n = 0;

    for (int i = 0; i < p->plan->npoints; i++)
        if (is_drawn(p->plan, i))
            put_point(p, i, range_at(p->plan, p->what, i).value,
                      "<path fill=\"none\" stroke=\"#1b6ca8\" stroke-width=\"2\" d=\"M", &n);
    if (n)
        fputs("\"/>\n", p->k.out);
}

static void draw_points(const struct panel *p)
{
    const struct ss_capacity *c = p->plan;
    char title[400];

    for (int i = 0; i < c->npoints; i++) {
        const struct ss_capacity_point *q = &c->points[i];
        if (!is_drawn(c, i))
            continue;
        snprintf(title, sizeof title, "%d nodes: %.4g days, %.4g GPU-hours, goodput %.1f %%, %s; %s",
                 q->nodes, q->time_s.value / 86400, q->gpu_hours.value, 100 * q->goodput,
                 ss_outcome_word(q->summary.outcome), q->layout);
        ss_chart_dot(&p->k, q->nodes, range_at(c, p->what, i).value, i == c->knee || i == c->chosen ? 6 : 4,
                     !ss_capacity_holds(q) ? "#c62828"
                     : i == c->chosen      ? "#2a9d54"
                                           : "#1b6ca8",
                     "", title);
    }
}

/* What is asked for, as a line, and the knee. */
static void draw_marks(const struct panel *p)
{
    const struct ss_capacity *c = p->plan;
    const struct ss_chart *k = &p->k;
    double limit = p->what == DAYS ? c->deadline_s / 86400 : in_money(c) ? c->budget_usd : 0;

    if (limit > k->up.from && limit < k->up.to) {
        ss_chart_line(k, true, "cap", limit, NULL);
        ss_svg_text(k->out, k->x + k->width, ss_chart_y(k, limit) - 5, "small capt end",
                    p->what == DAYS ? "deadline" : "budget");
    }
    if (c->knee >= 0) {
        double x = ss_chart_x(k, c->points[c->knee].nodes);
        ss_markup(k->out, "<path class=\"axis\" stroke-dasharray=\"3 4\" d=\"M%g %gV%g\"/>\n", x, k->y,
                  k->y + k->height);
        ss_svg_text(k->out, x - 5, k->y + k->height - 8, "small muted end", "knee");
    }
}

static void draw_panel(const struct ss_capacity *c, int what, double y, const char *title, FILE *out)
{
    struct panel p = {c, what, {out, LEFT, y, WIDTH, HEIGHT, .across.log = true}};

    scale(&p);
    ss_svg_text(out, LEFT, y - 10, "", title);
    if (!(p.k.up.to > p.k.up.from)) {
        ss_svg_text(out, LEFT, y + 20, "small muted", "no number of nodes has figures");
        return;
    }
    draw_grid(&p);
    draw_band(&p);
    draw_marks(&p);
    draw_line(&p);
    draw_points(&p);
}

int ss_capacity_svg(const struct ss_capacity *c, FILE *out, struct ss_error *err)
{
    char title[256], tokens[32];

    snprintf(title, sizeof title, "%s, %s tokens on %s", c->model,
             ss_report_count(c->tokens, tokens, sizeof tokens), c->platform);
    ss_svg_begin(out, LEFT + WIDTH + RIGHT, TOP + 2 * HEIGHT + GAP + 58, title,
                 "Days of training and what they cost over the number of nodes, with the range of nine of "
                 "ten such jobs.");
    ss_svg_text(out, LEFT, 28, "title", title);
    draw_panel(c, DAYS, TOP, "days, with what fails; the band holds nine of ten such jobs", out);
    draw_panel(c, COST, TOP + HEIGHT + GAP,
               !in_money(c)          ? "GPU-hours"
               : c->price_is_example ? "USD, at an example price"
                                     : "USD",
               out);
    ss_svg_text(out, LEFT + WIDTH / 2, TOP + 2 * HEIGHT + GAP + 40, "small muted mid", "nodes");
    ss_svg_end(out);
    return ss_report_done(out, err);
}
