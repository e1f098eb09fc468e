/* SPDX-License-Identifier: Apache-2.0 */
#include "report/chart.h"

#include <math.h>
#include <string.h>

#include "base/base.h"
#include "report/svg.h"
#include "report/text.h"

/* 0 at the lower end of the scale, 1 at the upper one. */
static double share_of(const struct ss_chart_scale *s, double value)
{
    if (s->log)
        return s->to > s->from ? log(value / s->from) / log(s->to / s->from) : 0.5;
    return (value - s->from) / (s->to - s->from);
}

double ss_chart_x(const struct ss_chart *c, double value)
{
    return c->x + c->width * share_of(&c->across, value);
}

double ss_chart_y(const struct ss_chart *c, double value)
{
    return c->y + c->height * (1 - share_of(&c->up, value));
}

void ss_chart_line(const struct ss_chart *c, bool up, const char *class_name, double value, const char *label)
{
    const double x = up ? c->x : ss_chart_x(c, value), y = up ? ss_chart_y(c, value) : c->y;

    ss_svg_line(c->out, class_name, x, y, up ? x + c->width : x, up ? y : y + c->height);
    if (label)
        ss_svg_text(c->out, up ? x - 6 : x, up ? y + 4 : y + c->height + 16,
                    up ? "small muted end" : "small muted mid", label);
}

void ss_chart_gib(const struct ss_chart *c, bool up, int most, const char *unit)
{
    const double all = (up ? c->up.to : c->across.to) / SS_GIB, step = ss_round_step(all, most);
    char label[48];

    for (int i = 0; i * step <= all * (1 + 1e-9); i++) {
        snprintf(label, sizeof label, "%g%s", i * step, unit);
        ss_chart_line(c, up, "grid", i * step * SS_GIB, label);
    }
}

void ss_chart_seconds(const struct ss_chart *c)
{
    ss_svg_time_axis(c->out, c->x, c->y + c->height, c->width, c->y, c->across.from, c->across.to, 1);
}

void ss_chart_dot(const struct ss_chart *c, double x, double y, double radius, const char *fill,
                  const char *more, const char *title)
{
    fprintf(c->out, "<circle%s", more);
    ss_markup(c->out, " cx=\"%g\" cy=\"%g\" r=\"%g\" fill=\"%s\"><title>%s</title></circle>\n",
              ss_chart_x(c, x), ss_chart_y(c, y), radius, fill, title);
}

const char *ss_chart_value(double value, bool bytes, char *buf, size_t size)
{
    if (!bytes)
        return ss_text_time(value, buf, size);
    snprintf(buf, size, "%.2f GiB", value / SS_GIB);
    return buf;
}

void ss_chart_bar(const struct ss_chart *c, double y, double height, const char *name,
                  const struct ss_chart_part *parts, int n, bool bytes)
{
    char title[400], value[48];
    double sum = 0;

    for (int i = 0; i < n; i++)
        if (parts[i].value > 0) {
            snprintf(title, sizeof title, "%s%s: %s", name, parts[i].words,
                     ss_chart_value(parts[i].value, bytes, value, sizeof value));
            ss_svg_box(c->out, ss_chart_x(c, sum), y,
                       ss_chart_x(c, sum + parts[i].value) - ss_chart_x(c, sum), height, parts[i].color,
                       title);
            sum += parts[i].value;
        }
}

struct ss_legend ss_legend_at(FILE *out, double x, double y, double right)
{
    return (struct ss_legend){out, x, right, x, y};
}

void ss_legend_key(struct ss_legend *l, const char *fill, const char *text)
{
    if (l->x > l->right) {
        l->x = l->left;
        l->y += SS_LEGEND_ROW;
    }
    if (l->out) {
        ss_markup(l->out, "<rect x=\"%.0f\" y=\"%.0f\" width=\"14\" height=\"12\" rx=\"2\" fill=\"%s\"/>",
                  l->x, l->y, fill);
        ss_svg_text(l->out, l->x + 19, l->y + 10, "small", text);
    }
    l->x += 34 + 6.4 * (double)strlen(text);
}
