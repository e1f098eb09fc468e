/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep as a picture: a bar of the iteration for each row, with its error band, coloured by the verdict. */
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "report/chart.h"
#include "report/common.h"
#include "report/svg.h"
#include "report/text.h"
#include "stepsim/sweep.h"
#include "study/study_internal.h"

#define WIDTH 620.0
#define RIGHT 190.0 /* what stands behind a bar */
#define TOP 76.0
#define STEP 24.0
#define BAR 15.0
#define MOST 400 /* bars that a browser still shows well */

static const char *const colors[SS_OUTCOME_COUNT] = {
    [SS_OUTCOME_FITS] = "#2a7fb8", [SS_OUTCOME_NEAR_LIMIT] = "#e08e0b", [SS_OUTCOME_TOO_LARGE] = "#b3bac4"};

static int shown(const struct ss_sweep *s)
{
    int n = ss_sweep_shown(s);

    return n < MOST ? n : MOST;
}

/* "nodes 8, vp 2" */
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

/* Where the row's band ends, s; 0 of a refused one. */
static double end_of(const struct ss_summary *u)
{
    return u->iteration_s * (1 + (u->band_pct > 0 ? u->band_pct / 100 : 0));
}

static double most_of(const struct ss_sweep *s)
{
    double most = 0;

    for (int i = 0; i < shown(s); i++)
        most = fmax(most, end_of(&s->rows[i].summary));
    return most > 0 ? most : 1;
}

static void draw_band(const struct ss_chart *k, const struct ss_summary *u, double y)
{
    double half = u->iteration_s * u->band_pct / 100;
    double from = ss_chart_x(k, fmax(0, u->iteration_s - half)), to = ss_chart_x(k, u->iteration_s + half);

    if (u->band_pct > 0)
        fprintf(k->out, "<path class=\"mark\" d=\"M%.2f %.2fH%.2fm0 -4v8M%.2f %.2fm0 -4v8\"/>\n", from, y, to,
                from, y);
}

static void draw_row(const struct ss_sweep *s, const struct ss_chart *k, int i)
{
    const struct ss_summary *u = &s->rows[i].summary;
    double y = TOP + i * STEP;
    char name[640], time[32], text[1024], mfu[64];

    name_row(s, &s->rows[i], name, sizeof name);
    ss_svg_text(k->out, k->x - 8, y + 12, "small end", name);
    if (u->outcome == SS_OUTCOME_REFUSED) {
        ss_svg_text(k->out, k->x, y + 12, "small muted", ss_outcome_word(u->outcome));
        return;
    }
    snprintf(text, sizeof text, "%s: %s%s%s", name, ss_outcome_word(u->outcome), u->reason[0] ? ", " : "",
             u->reason);
    ss_svg_box(k->out, k->x, y, ss_chart_x(k, u->iteration_s) - k->x, BAR, colors[u->outcome], text);
    draw_band(k, u, y + BAR / 2);
    snprintf(text, sizeof text, "%s, %.1f GiB, %s", ss_text_time(u->iteration_s, time, sizeof time),
             u->peak_device / SS_GIB, ss_text_mfu(u, 1, mfu, sizeof mfu));
    ss_svg_text(k->out, ss_chart_x(k, end_of(u)) + 8, y + 12, "small", text);
}

int ss_sweep_write_svg(const struct ss_sweep *s, FILE *out, struct ss_error *err)
{
    const double left = left_of(s), bottom = TOP + shown(s) * STEP + 4;
    const struct ss_chart k = {out, left, TOP - 6, WIDTH, bottom - TOP + 6, .across.to = most_of(s)};
    struct ss_legend l = ss_legend_at(out, left, 48, INFINITY);

    ss_svg_begin(out, left + WIDTH + RIGHT, bottom + 36, "Iterations of a sweep",
                 "A bar for the iteration of each combination, with the error that nine of ten such jobs "
                 "stay within.");
    ss_svg_text(out, left, 26, "title", "Time of an iteration");
    for (int outcome = 0; outcome < SS_OUTCOME_REFUSED; outcome++)
        if (ss_sweep_count(s, outcome) > s->left_out[outcome])
            ss_legend_key(&l, colors[outcome], ss_outcome_word(outcome));
    ss_chart_seconds(&k);
    for (int i = 0; i < shown(s); i++)
        draw_row(s, &k, i);
    ss_svg_end(out);
    return ss_report_done(out, err);
}
