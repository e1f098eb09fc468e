/* SPDX-License-Identifier: Apache-2.0 */
/* Draws a sweep: for each row a bar of the iteration with its error band, coloured by the verdict. */
#include "report/common.h"
#include "report/svg.h"
#include "report/text.h"
#include "stepsim/sweep.h"

#define WIDTH 620.0 /* of the longest bar, where nobody says how wide the picture is */
#define LEAST 200.0 /* of it, where somebody does: else names stand above their bars */
#define MARGIN 24.0
#define TOP 20.0 /* below the legend */
#define STEP 24.0
#define LINE 16.0 /* of a name above its bar */
#define BAR 15.0
#define MOST 400 /* the most bars that a browser still shows well */

struct sheet {
    const struct ss_sweep *s;
    FILE *out;
    double width, left, bar, top, scale; /* bar: px of the longest one */
    int above;                           /* 1: names stand above their bars */
};

static int shown(const struct ss_sweep *s)
{
    int n = ss_sweep_shown(s);

    return n < MOST ? n : MOST;
}

/* Writes the name of a row: "nodes 8, vp 2". */
static void name_row(const struct ss_sweep *s, const struct ss_sweep_row *row, char *buf, size_t size)
{
    size_t used = 0;

    buf[0] = 0;
    for (int f = 0; f < s->nflags && used < size; f++)
        used +=
            (size_t)snprintf(buf + used, size - used, "%s%s %s", f ? ", " : "",
                             s->flags[f].name + strspn(s->flags[f].name, "-"), s->flags[f].value[row->at[f]]);
}

/* Writes what stands behind a bar: "13.47 s, 67.5 GiB, MFU 13.7 %". */
static const char *figures_of(const struct ss_summary *u, char *buf, size_t size)
{
    char time[32], mfu[64];

    snprintf(buf, size, "%s, %.1f GiB, %s", ss_text_time(u->iteration_s, time, sizeof time),
             u->peak_device / SS_GIB, ss_text_mfu(u, 1, mfu, sizeof mfu));
    return buf;
}

/* Finds how much room names need before the bars, and figures behind them. */
static void room_of(const struct ss_sweep *s, double *left, double *right)
{
    char text[640];

    *left = *right = 60;
    for (int i = 0; i < shown(s); i++) {
        name_row(s, &s->rows[i], text, sizeof text);
        *left = fmax(*left, ss_text_width(text, 11));
        if (s->rows[i].summary.outcome != SS_OUTCOME_REFUSED)
            *right = fmax(*right, ss_text_width(figures_of(&s->rows[i].summary, text, sizeof text), 11));
    }
    *left += 24;
    *right += 20;
}

/* Returns the upper end of a row's bar and band, s. */
static double upper(const struct ss_summary *u)
{
    return u->iteration_s * (1 + (u->time_high_pct > 0 ? u->time_high_pct / 100 : 0));
}

static double most_of(const struct ss_sweep *s)
{
    double most = 0;

    for (int i = 0; i < shown(s); i++) {
        const struct ss_summary *u = &s->rows[i].summary;
        if (u->outcome != SS_OUTCOME_REFUSED)
            most = fmax(most, upper(u));
    }
    return most > 0 ? most : 1;
}

static double pitch(const struct sheet *k)
{
    return k->above ? STEP + LINE : STEP;
}

static void draw_row(const struct sheet *k, int i)
{
    const struct ss_sweep_row *row = &k->s->rows[i];
    const struct ss_summary *u = &row->summary;
    double y = k->top + i * pitch(k) + (k->above ? LINE : 0);
    char name[640], text[1024], fill[40];

    name_row(k->s, row, name, sizeof name);
    if (k->above)
        ss_svg_text(k->out, k->left, y - 4, "small", name);
    else
        ss_svg_text(k->out, k->left - 8, y + 12, "small end", name);
    if (u->outcome == SS_OUTCOME_REFUSED) {
        ss_svg_text(k->out, k->left, y + 12, "small muted", ss_outcome_word(u->outcome));
        return;
    }
    fprintf(k->out,
            "<rect class=\"b\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%g\" fill=\"%s\"><title>",
            k->left, y, u->iteration_s * k->scale, BAR,
            ss_tone_fill(ss_tone(SS_TONES_OUTCOME, u->outcome), fill));
    snprintf(text, sizeof text, "%s: %s%s%s", name, ss_outcome_word(u->outcome), u->reason[0] ? ", " : "",
             u->reason);
    ss_xml_escape(k->out, text);
    fputs("</title></rect>\n", k->out);
    if (u->band_pct > 0)
        ss_svg_whisker(k->out, k->left + u->iteration_s * (1 + u->time_low_pct / 100) * k->scale,
                       k->left + upper(u) * k->scale, y + BAR / 2);
    ss_svg_text(k->out, k->left + upper(u) * k->scale + 8, y + 12, "small", figures_of(u, text, sizeof text));
}

/* Returns the last line of the legend; without a stream it only measures. */
static double draw_legend(const struct sheet *k, double y, FILE *out)
{
    static const char whisker[] = "whisker: 90 % of such jobs";
    struct ss_legend l;

    ss_legend_begin(&l, k->left, k->width - MARGIN, y, out);
    for (int outcome = 0; outcome < SS_OUTCOME_REFUSED; outcome++)
        if (ss_sweep_count(k->s, outcome) > k->s->left_out[outcome])
            ss_legend_tone(&l, ss_tone(SS_TONES_OUTCOME, outcome), ss_outcome_word(outcome));
    if (l.x > l.left && l.x + ss_text_width(whisker, 11) > l.right) {
        l.x = l.left;
        l.y += SS_LEGEND_LINE;
    }
    if (out)
        ss_svg_text(out, l.x, l.y, "small muted", whisker);
    return l.y;
}

/* Sets how wide the parts are: by the texts, or within a width that is told. */
static void place(struct sheet *k, double wanted)
{
    double names, figures;

    room_of(k->s, &names, &figures);
    k->left = names;
    k->bar = wanted > 0 ? wanted - names - figures : WIDTH;
    k->above = k->bar < LEAST;
    if (k->above) {
        k->left = MARGIN;
        k->bar = wanted - MARGIN - figures;
    }
    k->width =
        wanted > 0 ? wanted : fmax(names + WIDTH + figures, ss_text_width(k->s->premises, 11) + 2 * MARGIN);
    k->scale = k->bar / most_of(k->s);
}

int ss_sweep_write_svg(const struct ss_sweep *s, double width, FILE *out, struct ss_error *err)
{
    struct sheet k = {.s = s, .out = out};

    place(&k, width);
    double wide = k.width - 2 * MARGIN,
           legend = 72 + ss_svg_lines(NULL, MARGIN, 48, wide, "small muted", s->premises), bottom;
    k.top = draw_legend(&k, legend, NULL) + TOP;
    bottom = k.top + shown(s) * pitch(&k) + 4;
    ss_svg_begin(out, k.width, bottom + 50, "Iterations of a sweep",
                 "A bar for the iteration of each combination, with the error that 90 % of such jobs "
                 "stay within.");
    ss_svg_text(out, MARGIN, 28, "title", "Time of an iteration");
    ss_svg_lines(out, MARGIN, 48, wide, "small muted", s->premises);
    draw_legend(&k, legend, out);
    ss_svg_time_axis(out, k.left, bottom, k.bar, k.top - 6, 0, most_of(s), 1);
    ss_svg_text(out, k.left + k.bar / 2, bottom + 36, "small muted mid", "time of an iteration");
    for (int i = 0; i < shown(s); i++)
        draw_row(&k, i);
    ss_svg_end(out);
    return ss_report_done(out, err);
}
