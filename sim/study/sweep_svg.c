/* SPDX-License-Identifier: Apache-2.0 */
/* Draws a sweep: for each row a bar of the iteration with its error band, coloured by the verdict. */
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "report/common.h"
#include "report/svg.h"
#include "report/text.h"
#include "stepsim/sweep.h"
#include "study/study_internal.h"

#define WIDTH 620.0
#define TOP 92.0
#define STEP 24.0
#define BAR 15.0
#define MOST 400 /* the most bars that a browser still shows well */

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

static void draw_row(const struct ss_sweep *s, int i, double left, double scale, FILE *out)
{
    const struct ss_summary *u = &s->rows[i].summary;
    double y = TOP + i * STEP;
    char name[640], text[1024], fill[40];

    name_row(s, &s->rows[i], name, sizeof name);
    ss_svg_text(out, left - 8, y + 12, "small end", name);
    if (u->outcome == SS_OUTCOME_REFUSED) {
        ss_svg_text(out, left, y + 12, "small muted", ss_outcome_word(u->outcome));
        return;
    }
    fprintf(out, "<rect class=\"b\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%g\" fill=\"%s\"><title>",
            left, y, u->iteration_s * scale, BAR, ss_tone_fill(ss_tone(SS_TONES_OUTCOME, u->outcome), fill));
    snprintf(text, sizeof text, "%s: %s%s%s", name, ss_outcome_word(u->outcome), u->reason[0] ? ", " : "",
             u->reason);
    ss_xml_escape(out, text);
    fputs("</title></rect>\n", out);
    if (u->band_pct > 0)
        ss_svg_whisker(out, left + u->iteration_s * (1 + u->time_low_pct / 100) * scale,
                       left + upper(u) * scale, y + BAR / 2);
    ss_svg_text(out, left + upper(u) * scale + 8, y + 12, "small", figures_of(u, text, sizeof text));
}

static void draw_legend(const struct ss_sweep *s, double left, double right, FILE *out)
{
    struct ss_legend l;

    ss_legend_begin(&l, left, right, 72, out);
    for (int outcome = 0; outcome < SS_OUTCOME_REFUSED; outcome++)
        if (ss_sweep_count(s, outcome) > s->left_out[outcome])
            ss_legend_tone(&l, ss_tone(SS_TONES_OUTCOME, outcome), ss_outcome_word(outcome));
    ss_svg_text(out, l.x, l.y, "small muted", "whisker: 90 % of such jobs");
}

int ss_sweep_write_svg(const struct ss_sweep *s, FILE *out, struct ss_error *err)
{
    double left, right, most = most_of(s), scale = WIDTH / most, bottom = TOP + shown(s) * STEP + 4, width;

    room_of(s, &left, &right);
    width = fmax(left + WIDTH + right, ss_text_width(s->premises, 11) + 48);
    ss_svg_begin(out, width, bottom + 50, "Iterations of a sweep",
                 "A bar for the iteration of each combination, with the error that nine of ten such jobs "
                 "stay within.");
    ss_svg_text(out, 24, 28, "title", "Time of an iteration");
    ss_svg_text(out, 24, 48, "small muted", s->premises);
    draw_legend(s, left, width, out);
    ss_svg_time_axis(out, left, bottom, WIDTH, TOP - 6, 0, most, 1);
    ss_svg_text(out, left + WIDTH / 2, bottom + 36, "small muted mid", "time of an iteration");
    for (int i = 0; i < shown(s); i++)
        draw_row(s, i, left, scale, out);
    ss_svg_end(out);
    return ss_report_done(out, err);
}
