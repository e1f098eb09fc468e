/* SPDX-License-Identifier: Apache-2.0 */
/* Draws a validation: the error of each run over its measured time, which is logarithmic, a colour a card; or
 * for --regret the predicted time over the measured, both logarithmic, a colour a number of tensor ranks. */
#include "report/common.h"
#include "report/svg.h"
#include "study/study_internal.h"

#define LEFT 64.0
#define HEIGHT 380.0
#define RIGHT 24.0
#define USUAL 848.0 /* width of the picture */
#define MOST_KEYS 32

struct view {
    const struct ss_validation *v;
    int times;         /* both axes are times, and the colours are tensor ranks */
    double width, top; /* of the frame */
    double lo, hi;     /* log10 of ms */
    double most;       /* per cent to either side: it holds the errors that count */
    double beyond;     /* per cent: the largest error of all */
    const struct ss_validation_row *key[MOST_KEYS]; /* a row of each colour */
    int runs[MOST_KEYS], nkeys, left_out;
};

static int is_shown(const struct ss_validation_row *r)
{
    return isfinite(ss_validation_time_error(r)) && !strcmp(r->outcome, "ok");
}

/* Compares the colours of two rows: cards differ or are equal, tensor ranks have an order. */
static int compare_keys(const struct view *w, const struct ss_validation_row *a,
                        const struct ss_validation_row *b)
{
    return w->times ? a->tp - b->tp : strcmp(a->gpu, b->gpu) != 0;
}

static int color_index(const struct view *w, const struct ss_validation_row *r)
{
    for (int i = 0; i < w->nkeys; i++)
        if (!compare_keys(w, w->key[i], r))
            return i;
    return -1;
}

static void count(struct view *w, const struct ss_validation_row *r)
{
    int i = color_index(w, r);

    if (!r->counted)
        w->left_out++;
    else if (i >= 0)
        w->runs[i]++;
    else if (w->nkeys < MOST_KEYS) {
        for (i = w->nkeys++; i > 0 && compare_keys(w, w->key[i - 1], r) > 0 && w->times; i--) {
            w->key[i] = w->key[i - 1];
            w->runs[i] = w->runs[i - 1];
        }
        w->key[i] = r;
        w->runs[i] = 1;
    }
}

/* Widens the axes of times to one. */
static void hold(struct view *w, double seconds)
{
    w->lo = fmin(w->lo, log10(1e3 * seconds));
    w->hi = fmax(w->hi, log10(1e3 * seconds));
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
        hold(w, r->measured_s);
        if (w->times)
            hold(w, r->summary.iteration_s);
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
    return LEFT + w->width * (log_ms - w->lo) / (w->hi - w->lo);
}

static double up(const struct view *w, double pct)
{
    double held = fmax(-w->most, fmin(w->most, pct));

    return w->top + HEIGHT * (w->most - held) / (2 * w->most);
}

static double up_time(const struct view *w, double log_ms)
{
    return w->top + HEIGHT * (w->hi - log_ms) / (w->hi - w->lo);
}

/* Returns which architecture a card is of, by the letter of its name: Hopper, Blackwell, Volta, Ampere, CDNA, another. */
static int architecture_of(const char *card)
{
    static const char letters[] = "HBVAM";
    const char *at = strchr(letters, card[0] == 'G' ? card[1] : card[0]);

    return at && *at ? (int)(at - letters) : (int)strlen(letters);
}

/* A hue an architecture and a shape a card of it, or a hue a number of tensor ranks; -1: runs that do not count. */
static const char *color_of(const struct view *w, int i)
{
    return i < 0      ? "#aab4c0"
           : w->times ? ss_tone(SS_TONES_SERIES, i)->color
                      : ss_tone(SS_TONES_SERIES, architecture_of(w->key[i]->gpu))->color;
}

static int shape_of(const struct view *w, int i)
{
    int shape = 0;

    if (w->times)
        return i < 0 ? 0 : i / ss_tones_n(SS_TONES_SERIES);
    for (int k = 0; k < i; k++)
        shape += architecture_of(w->key[k]->gpu) == architecture_of(w->key[i]->gpu);
    return shape;
}

static void draw_errors(const struct view *w, FILE *out)
{
    double step = ss_round_step(2 * w->most, 10);
    char text[32];

    for (int i = (int)floor(w->most / step); i * step >= -w->most - 1e-9; i--) {
        fprintf(out, "<path class=\"%s\" d=\"M%.1f %.1fH%.1f\"/>", i ? "grid" : "axis", LEFT, up(w, i * step),
                LEFT + w->width);
        snprintf(text, sizeof text, "%+g %%", i * step);
        ss_svg_text(out, LEFT - 6, up(w, i * step) + 4, "end", i ? text : "0 %");
    }
}

static void draw_axes(const struct view *w, FILE *out)
{
    char text[32];

    for (double d = w->lo; d <= w->hi; d++) {
        fprintf(out, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>", across(w, d), w->top, w->top + HEIGHT);
        snprintf(text, sizeof text, d < 3 ? "%g ms" : "%g s", pow(10, d < 3 ? d : d - 3));
        ss_svg_text(out, across(w, d), w->top + HEIGHT + 18, "mid", text);
        if (!w->times)
            continue;
        fprintf(out, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>", LEFT, up_time(w, d), LEFT + w->width);
        ss_svg_text(out, LEFT - 6, up_time(w, d) + 4, "end", text);
    }
    if (w->times)
        fprintf(out, "<path class=\"axis\" d=\"M%.1f %.1fL%.1f %.1f\"/>", LEFT, w->top + HEIGHT,
                LEFT + w->width, w->top);
    else
        draw_errors(w, out);
    ss_svg_text(out, LEFT + w->width / 2, w->top + HEIGHT + 38, "mid muted", "measured iteration");
}

/* Draws a mark for each key in the order of the rows. Returns the end of the last line; without a stream it only measures. */
static double draw_legend(const struct view *w, FILE *out)
{
    char text[96];
    double x = LEFT, y = w->top + HEIGHT + 62;

    for (int i = 0; i < w->nkeys + (w->left_out > 0); i++) {
        int key = i < w->nkeys ? i : -1;
        if (key >= 0 && w->times)
            snprintf(text, sizeof text, "tp %d: %d", w->key[i]->tp, w->runs[i]);
        else if (key >= 0)
            snprintf(text, sizeof text, "%.60s: %d", w->key[i]->gpu, w->runs[i]);
        else
            snprintf(text, sizeof text, "not counted in the mean: %d", w->left_out);
        double wide = 18 + ss_text_width(text, 11);
        if (x > LEFT && x + wide > LEFT + w->width) {
            x = LEFT;
            y += SS_LEGEND_LINE;
        }
        if (out) {
            ss_svg_mark(out, shape_of(w, key), x + 6, y - 4, 4.5);
            fprintf(out, " fill=\"%s\"/>", color_of(w, key));
            ss_svg_text(out, x + 16, y, "small", text);
        }
        x += wide + 14;
    }
    return y + 14;
}

static void draw_point(const struct view *w, const struct ss_validation_row *r, FILE *out)
{
    double error = ss_validation_time_error(r);

    int key = r->counted ? color_index(w, r) : -1, shape = shape_of(w, key);

    ss_svg_mark(out, shape, across(w, log10(1e3 * r->measured_s)),
                w->times ? up_time(w, log10(1e3 * r->summary.iteration_s)) : up(w, error), 3.5);
    fprintf(out, " fill=\"%s\" fill-opacity=\"0.8\"><title>", color_of(w, key));
    ss_xml_escape(out, r->id);
    if (w->times)
        fprintf(out, ", %s", r->layout);
    fprintf(out, ": %.1f ms, predicted %.1f ms, %+.1f %%</title></%s>\n", 1e3 * r->measured_s,
            1e3 * r->summary.iteration_s, error, shape % SS_MARKS ? "path" : "circle");
}

static int draw(struct view *w, const char *description, const char *caption, double width, FILE *out,
                struct ss_error *err)
{
    const struct ss_validation *v = w->v;
    char title[160], words[160];

    measure(w);
    snprintf(title, sizeof title, "%d runs: mean error %.1f %%, median %.1f %%", v->all.time.n,
             v->all.time.mean_abs, v->all.time.median_abs);
    snprintf(words, sizeof words, "%s%s", caption,
             w->times || w->beyond <= w->most ? "" : "; what is off by more is at the edge");
    w->width = (width > 0 ? width : USUAL) - LEFT - RIGHT;
    double second = 42 + ss_svg_lines(NULL, LEFT, 22, w->width, "title", title);
    w->top = second + 12 + ss_svg_lines(NULL, LEFT, second, w->width, "muted", words);
    ss_svg_begin(out, LEFT + w->width + RIGHT, draw_legend(w, NULL), title, description);
    ss_svg_lines(out, LEFT, 22, w->width, "title", title);
    ss_svg_lines(out, LEFT, second, w->width, "muted", words);
    draw_axes(w, out);
    for (int i = 0; i < v->nrows; i++)
        if (is_shown(&v->rows[i]))
            draw_point(w, &v->rows[i], out);
    draw_legend(w, out);
    ss_svg_end(out);
    return ss_report_done(out, err);
}

int ss_validation_write_svg(const struct ss_validation *v, double width, FILE *out, struct ss_error *err)
{
    return draw(&(struct view){.v = v}, "Error of each predicted iteration time against the measured time",
                "error of the predicted iteration: above 0 it is too long", width, out, err);
}

int ss_regret_write_svg(const struct ss_validation *v, double width, FILE *out, struct ss_error *err)
{
    return draw(&(struct view){.v = v, .times = 1},
                "Predicted iteration time of each layout against the measured time",
                "predicted iteration: above the line it is too long", width, out, err);
}
