/* SPDX-License-Identifier: Apache-2.0 */
/* Scatter picture: measured time across, predicted time up, both logarithmic. */
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "report/common.h"
#include "study/study_internal.h"

#define SIZE 640.0
#define MARGIN 70.0
#define SIDE (SIZE - 2 * MARGIN)

struct scale {
    double lo, hi; /* log10 of ms */
};

static double along(const struct scale *s, double seconds)
{
    return SIDE * (log10(1e3 * seconds) - s->lo) / (s->hi - s->lo);
}

static int is_shown(const struct ss_validation_row *r)
{
    return isfinite(ss_validation_time_error(r)) && !strcmp(r->outcome, "ok");
}

/* Whole decades around all points. */
static struct scale scale_of(const struct ss_validation *v)
{
    struct scale s = {INFINITY, -INFINITY};

    for (int i = 0; i < v->nrows; i++) {
        double x = log10(1e3 * v->rows[i].measured_s), y = log10(1e3 * v->rows[i].summary.iteration_s);
        if (!is_shown(&v->rows[i]))
            continue;
        s.lo = fmin(s.lo, fmin(x, y));
        s.hi = fmax(s.hi, fmax(x, y));
    }
    if (!(s.hi >= s.lo))
        s.lo = s.hi = 3;
    s.lo = floor(s.lo);
    s.hi = floor(s.hi) + 1;
    return s;
}

static const char *color_of(const struct ss_validation_row *r)
{
    static const char *const colors[] = {"#1b6ca8", "#d1495b", "#2a9d54", "#8e5ea2", "#e08e0b", "#4d4d4d"};
    uint64_t h = ss_hash(SS_HASH_INIT, r->gpu, strlen(r->gpu));

    return r->counted ? colors[h % SS_ARRAY_LEN(colors)] : "#bbbbbb";
}

static void draw_axes(const struct scale *s, FILE *out)
{
    for (double d = s->lo; d <= s->hi; d++) {
        double at = SIDE * (d - s->lo) / (s->hi - s->lo);
        fprintf(out, "<path d=\"M%.1f %.1fV%.1fM%.1f %.1fH%.1f\" stroke=\"#dddddd\" fill=\"none\"/>\n",
                MARGIN + at, MARGIN, SIZE - MARGIN, MARGIN, SIZE - MARGIN - at, SIZE - MARGIN);
        fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%g</text>\n", MARGIN + at,
                SIZE - MARGIN + 18, pow(10, d));
        fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n", MARGIN - 6,
                SIZE - MARGIN - at + 4, pow(10, d));
    }
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">measured iteration, ms</text>\n",
            SIZE / 2, SIZE - 20);
    fprintf(out,
            "<text transform=\"translate(20 %.1f) rotate(-90)\" text-anchor=\"middle\">predicted iteration, "
            "ms</text>\n",
            SIZE / 2);
}

/* The diagonal and 10 % to either side. */
static void draw_lines(const struct scale *s, FILE *out)
{
    double off = SIDE * log10(1.1) / (s->hi - s->lo);

    fprintf(out, "<g fill=\"none\" stroke=\"#888888\">\n");
    fprintf(out, "<path d=\"M%.1f %.1fL%.1f %.1f\"/>\n", MARGIN, SIZE - MARGIN, SIZE - MARGIN, MARGIN);
    fprintf(out, "<path stroke-dasharray=\"4 4\" d=\"M%.1f %.1fL%.1f %.1fM%.1f %.1fL%.1f %.1f\"/>\n</g>\n",
            MARGIN, SIZE - MARGIN - off, SIZE - MARGIN - off, MARGIN, MARGIN + off, SIZE - MARGIN,
            SIZE - MARGIN, MARGIN + off);
}

int ss_validation_write_svg(const struct ss_validation *v, FILE *out, struct ss_error *err)
{
    struct scale s = scale_of(v);

    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" viewBox=\"0 0 %g %g\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" "
            "fill=\"white\"/>\n",
            SIZE, SIZE, SIZE, SIZE);
    draw_axes(&s, out);
    draw_lines(&s, out);
    for (int i = 0; i < v->nrows; i++) {
        const struct ss_validation_row *r = &v->rows[i];
        if (!is_shown(r))
            continue;
        fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\" fill-opacity=\"0.7\"><title>",
                MARGIN + along(&s, r->measured_s), SIZE - MARGIN - along(&s, r->summary.iteration_s),
                color_of(r));
        ss_xml_escape(out, r->id);
        fprintf(out, ": %.1f ms, predicted %.1f ms, %+.1f %%</title></circle>\n", 1e3 * r->measured_s,
                1e3 * r->summary.iteration_s, ss_validation_time_error(r));
    }
    fprintf(out,
            "<text x=\"%.1f\" y=\"40\" text-anchor=\"middle\" font-size=\"15\">%d runs, mean error %.1f %%, "
            "median %.1f %%</text>\n",
            SIZE / 2, v->all.time.n, v->all.time.mean_abs, v->all.time.median_abs);
    fputs("</svg>\n", out);
    return ss_report_done(out, err);
}
