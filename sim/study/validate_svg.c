/* SPDX-License-Identifier: Apache-2.0 */
/* Draws a validation: the error of each run over its measured time, which is logarithmic. */
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "report/common.h"
#include "report/svg.h"
#include "study/study_internal.h"

#define LEFT 64.0
#define TOP 52.0
#define WIDTH 760.0
#define HEIGHT 380.0
#define RIGHT 24.0
#define MOST_CARDS 32
#define KEY_ROW 20.0
#define KEY_Y 46.0 /* at which ss_svg_key draws */

struct view {
    const struct ss_validation *v;
    double lo, hi; /* log10 of ms */
    double most;   /* per cent to either side: it holds the errors that count */
    double beyond; /* per cent: the largest error of all */
    const char *card[MOST_CARDS];
    int runs[MOST_CARDS], ncards, left_out;
};

static int is_shown(const struct ss_validation_row *r)
{
    return isfinite(ss_validation_time_error(r)) && !strcmp(r->outcome, "ok");
}

static int card_of(const struct view *w, const char *gpu)
{
    for (int i = 0; i < w->ncards; i++)
        if (!strcmp(w->card[i], gpu))
            return i;
    return -1;
}

static void count(struct view *w, const struct ss_validation_row *r)
{
    int i = card_of(w, r->gpu);

    if (!r->counted)
        w->left_out++;
    else if (i >= 0)
        w->runs[i]++;
    else if (w->ncards < MOST_CARDS) {
        w->card[w->ncards] = r->gpu;
        w->runs[w->ncards++] = 1;
    }
}

/* Sets the axes: whole decades around all points, and the least of 5, 10, 20, 50 and 100 % that holds
 * the errors that count. */
static void measure(struct view *w)
{
    static const double limits[] = {5, 10, 20, 50};
    double most = 0;

    w->lo = INFINITY;
    w->hi = -INFINITY;
    for (int i = 0; i < w->v->nrows; i++) {
        const struct ss_validation_row *r = &w->v->rows[i];
        if (!is_shown(r))
            continue;
        double x = log10(1e3 * r->measured_s);
        w->lo = fmin(w->lo, x);
        w->hi = fmax(w->hi, x);
        double error = fabs(ss_validation_time_error(r));
        most = fmax(most, r->counted ? error : 0);
        w->beyond = fmax(w->beyond, error);
        count(w, r);
    }
    if (!(w->hi >= w->lo))
        w->lo = w->hi = 3;
    w->lo = floor(w->lo);
    w->hi = floor(w->hi) + 1;
    w->most = 100;
    for (size_t i = SS_ARRAY_LEN(limits); i-- > 0 && most <= limits[i];)
        w->most = limits[i];
}

static double across(const struct view *w, double log_ms)
{
    return LEFT + WIDTH * (log_ms - w->lo) / (w->hi - w->lo);
}

static double up(const struct view *w, double pct)
{
    double held = fmax(-w->most, fmin(w->most, pct));

    return TOP + HEIGHT * (w->most - held) / (2 * w->most);
}

/* Returns the colour of card i; -1: the colour of runs that do not count. */
static const char *color_of(int i)
{
    static const char *const colors[] = {"#1f5fbf", "#d1495b", "#2a9d54", "#8e5ea2", "#e08e0b",
                                         "#1f9bb0", "#9a8a1c", "#c64f7b", "#5b4bb5", "#7a6a5a"};

    return i < 0 ? "#aab4c0" : colors[i % (int)SS_ARRAY_LEN(colors)];
}

static void draw_axes(const struct view *w, FILE *out)
{
    double step = ss_round_step(2 * w->most, 10);
    char text[32];

    for (double d = w->lo; d <= w->hi; d++) {
        fprintf(out, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>", across(w, d), TOP, TOP + HEIGHT);
        snprintf(text, sizeof text, d < 3 ? "%g ms" : "%g s", pow(10, d < 3 ? d : d - 3));
        ss_svg_text(out, across(w, d), TOP + HEIGHT + 18, "mid", text);
    }
    for (int i = (int)floor(w->most / step); i * step >= -w->most - 1e-9; i--) {
        fprintf(out, "<path class=\"%s\" d=\"M%.1f %.1fH%.1f\"/>", i ? "grid" : "axis", LEFT, up(w, i * step),
                LEFT + WIDTH);
        snprintf(text, sizeof text, "%+g %%", i * step);
        ss_svg_text(out, LEFT - 6, up(w, i * step) + 4, "end", i ? text : "0 %");
    }
    ss_svg_text(out, LEFT + WIDTH / 2, TOP + HEIGHT + 38, "mid muted", "measured iteration");
}

/* Draws a box for each card in the order of the rows, over as many lines as they need. Returns the end
 * of the last line. */
static double draw_legend(const struct view *w, FILE *out)
{
    char text[96];
    double x = LEFT, y = TOP + HEIGHT + 50;

    fprintf(out, "<g transform=\"translate(0 %.1f)\">", y - KEY_Y);
    for (int i = 0; i < w->ncards + (w->left_out > 0); i++) {
        if (i < w->ncards)
            snprintf(text, sizeof text, "%.60s: %d", w->card[i], w->runs[i]);
        else
            snprintf(text, sizeof text, "not counted in the mean: %d", w->left_out);
        if (x > LEFT + WIDTH - 190) {
            x = LEFT;
            y += KEY_ROW;
            fprintf(out, "</g><g transform=\"translate(0 %.1f)\">", y - KEY_Y);
        }
        x = ss_svg_key(out, x, color_of(i < w->ncards ? i : -1), text);
    }
    fputs("</g>\n", out);
    return y + KEY_ROW;
}

static void draw_point(const struct view *w, const struct ss_validation_row *r, FILE *out)
{
    double error = ss_validation_time_error(r);

    fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\" fill-opacity=\"0.75\"><title>",
            across(w, log10(1e3 * r->measured_s)), up(w, error),
            color_of(r->counted ? card_of(w, r->gpu) : -1));
    ss_xml_escape(out, r->id);
    fprintf(out, ": %.1f ms, predicted %.1f ms, %+.1f %%</title></circle>\n", 1e3 * r->measured_s,
            1e3 * r->summary.iteration_s, error);
}

int ss_validation_write_svg(const struct ss_validation *v, FILE *out, struct ss_error *err)
{
    struct view w = {.v = v};
    char title[160];
    int lines;

    measure(&w);
    lines = 1 + (w.ncards + (w.left_out > 0)) / 3;
    snprintf(title, sizeof title, "%d runs: mean error %.1f %%, median %.1f %%", v->all.time.n,
             v->all.time.mean_abs, v->all.time.median_abs);
    ss_svg_begin(out, LEFT + WIDTH + RIGHT, TOP + HEIGHT + 56 + lines * KEY_ROW, title,
                 "Error of each predicted iteration time against the measured time");
    ss_svg_text(out, LEFT, 22, "", title);
    ss_svg_text(
        out, LEFT, 40, "muted",
        w.beyond <= w.most
            ? "error of the predicted iteration: above 0 it is too long"
            : "error of the predicted iteration: above 0 it is too long; what is off by more is at the edge");
    draw_axes(&w, out);
    for (int i = 0; i < v->nrows; i++)
        if (is_shown(&v->rows[i]))
            draw_point(&w, &v->rows[i], out);
    draw_legend(&w, out);
    ss_svg_end(out);
    return ss_report_done(out, err);
}
