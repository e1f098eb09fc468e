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
#define RIGHT 190.0 /* width of the text behind a bar */
#define TOP 76.0
#define STEP 24.0
#define BAR 15.0
#define MOST 400 /* the most bars that a browser still shows well */

static const char *const colors[SS_OUTCOME_COUNT] = {
    [SS_OUTCOME_FITS] = "#2a7fb8", [SS_OUTCOME_NEAR_LIMIT] = "#e08e0b", [SS_OUTCOME_TOO_LARGE] = "#b3bac4"};

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

static double left_of(const struct ss_sweep *s)
{
    char name[640];
    size_t most = 0;

    for (int i = 0; i < shown(s); i++) {
        name_row(s, &s->rows[i], name, sizeof name);
        most = strlen(name) > most ? strlen(name) : most;
    }
    return 24 + 6.3 * (double)(most < 90 ? most : 90); /* of a character, on average */
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

static void draw_band(const struct ss_summary *u, double x, double y, double scale, FILE *out)
{
    double from = x + u->iteration_s * (1 + u->time_low_pct / 100) * scale,
           wide = x + upper(u) * scale - from;

    if (!(u->band_pct > 0))
        return;
    fprintf(out, "<path class=\"mark\" d=\"M%.2f %.2fh%.2fm0 -4v8m%.2f -8v8\"/>\n", from, y, wide, -wide);
}

static void draw_row(const struct ss_sweep *s, int i, double left, double scale, FILE *out)
{
    const struct ss_summary *u = &s->rows[i].summary;
    double y = TOP + i * STEP;
    char name[640], time[32], text[1024], mfu[64];

    name_row(s, &s->rows[i], name, sizeof name);
    ss_svg_text(out, left - 8, y + 12, "small end", name);
    if (u->outcome == SS_OUTCOME_REFUSED) {
        ss_svg_text(out, left, y + 12, "small muted", ss_outcome_word(u->outcome));
        return;
    }
    ss_text_time(u->iteration_s, time, sizeof time);
    fprintf(out, "<rect class=\"b\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%g\" fill=\"%s\"><title>",
            left, y, u->iteration_s * scale, BAR, colors[u->outcome]);
    snprintf(text, sizeof text, "%s: %s%s%s", name, ss_outcome_word(u->outcome), u->reason[0] ? ", " : "",
             u->reason);
    ss_xml_escape(out, text);
    fputs("</title></rect>\n", out);
    draw_band(u, left, y + BAR / 2, scale, out);
    snprintf(text, sizeof text, "%s, %.1f GiB, %s", time, u->peak_device / SS_GIB,
             ss_text_mfu(u, 1, mfu, sizeof mfu));
    ss_svg_text(out, left + upper(u) * scale + 8, y + 12, "small", text);
}

static void draw_legend(const struct ss_sweep *s, double left, FILE *out)
{
    struct ss_legend l;

    ss_legend_begin(&l, left, left + WIDTH + RIGHT, 56, out);
    for (int outcome = 0; outcome < SS_OUTCOME_REFUSED; outcome++)
        if (ss_sweep_count(s, outcome) > s->left_out[outcome])
            ss_legend_add(&l, colors[outcome], ss_outcome_word(outcome));
}

int ss_sweep_write_svg(const struct ss_sweep *s, FILE *out, struct ss_error *err)
{
    double left = left_of(s), most = most_of(s), scale = WIDTH / most, bottom = TOP + shown(s) * STEP + 4;

    ss_svg_begin(out, left + WIDTH + RIGHT, bottom + 36, "Iterations of a sweep",
                 "A bar for the iteration of each combination, with the error that 90 % of such jobs "
                 "stay within.");
    ss_svg_text(out, left, 26, "title", "Time of an iteration");
    draw_legend(s, left, out);
    ss_svg_time_axis(out, left, bottom, WIDTH, TOP - 6, 0, most, 1);
    for (int i = 0; i < shown(s); i++)
        draw_row(s, i, left, scale, out);
    ss_svg_end(out);
    return ss_report_done(out, err);
}
