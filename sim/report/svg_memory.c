/* SPDX-License-Identifier: Apache-2.0 */
/* Draws memory over time: for each pipeline stage the class that needs most, stacked by class of memory. */
#include "base/base.h"
#include "report/names.h"
#include "report/svg.h"
#include "report/text.h"

#define LEFT 92.0
#define RIGHT 24.0
#define USUAL 1036.0   /* width of the picture */
#define PANEL_TOP 36.0 /* below the legend */
#define PANEL 96.0
#define GAP 22.0

struct chart {
    const struct ss_program *program;
    const struct ss_gantt *parts; /* placed */
    const struct ss_timeline *timeline;
    const struct ss_memory_extra *extra;
    FILE *out;
    double width;     /* of a panel */
    double top_bytes; /* bytes at the upper edge of a panel */
};

static double static_bytes(const struct ss_program *p, int cls)
{
    double sum = 0;

    for (int m = 0; m < SS_MEM_COUNT; m++)
        sum += p->classes[cls].memory[m];
    return sum;
}

static double peak_bytes(const struct chart *k, int cls)
{
    double sum = static_bytes(k->program, cls) + k->extra->overhead[cls];

    for (int m = 0; m < SS_MEM_COUNT; m++)
        sum += k->timeline->dynamic_peak[cls][m];
    return sum;
}

/* Returns 1 if `cls` is the class of its stage with the highest peak. */
static int stands_for_stage(const struct chart *k, int cls)
{
    const struct ss_program *p = k->program;

    for (int c = 0; c < p->nclasses; c++) {
        if (c == cls || p->classes[c].stage != p->classes[cls].stage)
            continue;
        double other = peak_bytes(k, c), own = peak_bytes(k, cls);
        if (other > own || (other == own && c < cls))
            return 0;
    }
    return 1;
}

static double y_of(const struct chart *k, double bottom, double bytes)
{
    return bottom - bytes / k->top_bytes * PANEL;
}

static void put_point(const struct chart *k, char command, double x, double y)
{
    fputc(command, k->out);
    ss_svg_number(k->out, x);
    fputc(' ', k->out);
    ss_svg_number(k->out, y);
}

/* Returns the sum of the layers 0..m in one bin. m = SS_MEM_COUNT: with the bytes beside the tensors. */
static double level(const struct chart *k, const struct ss_bins *b, int cls, int bin, int m)
{
    double sum = k->extra->overhead[cls];

    for (int i = 0; i <= m && i < SS_MEM_COUNT; i++)
        sum += b->program->classes[cls].memory[i] + b->memory[(size_t)cls * (size_t)b->n + (size_t)bin][i];
    return sum;
}

/* Draws one layer from its top down to the axis. Layers are drawn from the last to the first, so that
 * they stack. */
static void put_layer(const struct chart *k, int part, int cls, int m, double bottom)
{
    const struct ss_gantt_part *p = &k->parts->part[part];
    const struct ss_bins *b = &p->memory;
    double last = -1;
    char fill[40];

    fputs("<path d=\"", k->out);
    put_point(k, 'M', p->x, bottom);
    for (int i = 0; i < b->n; i++) {
        double y = m < 0 ? y_of(k, bottom, k->extra->overhead[cls]) : y_of(k, bottom, level(k, b, cls, i, m));
        if (y != last) {
            fputc('L', k->out);
            ss_svg_number(k->out, p->x + p->width * i / b->n);
            fputs(" ", k->out);
            ss_svg_number(k->out, last < 0 ? y : last);
            fputc('V', k->out);
            ss_svg_number(k->out, y);
        }
        last = y;
    }
    fputc('H', k->out);
    ss_svg_number(k->out, p->x + p->width);
    fputc('V', k->out);
    ss_svg_number(k->out, bottom);
    fprintf(k->out, "Z\" fill=\"%s\"><title>%s</title></path>\n",
            ss_tone_fill(ss_tone(SS_TONES_MEMORY, m < 0 ? SS_MEM_COUNT : m), fill),
            m < 0 ? k->extra->name : ss_mem_name(m));
}

static void put_capacity(const struct chart *k, double bottom)
{
    double y = y_of(k, bottom, k->extra->capacity);

    if (!(k->extra->capacity > 0))
        return;
    fputs("<path class=\"cap\" d=\"", k->out);
    put_point(k, 'M', LEFT, y);
    put_point(k, 'L', LEFT + k->width, y);
    fputs("\"/>\n", k->out);
}

/* Returns where a time is drawn, NaN: it is in no part that is drawn. */
static double x_of(const struct chart *k, double time)
{
    for (int i = 0; i < k->parts->fold.n; i++) {
        const struct ss_gantt_part *p = &k->parts->part[i];
        double share = (time - p->memory.start) / (p->memory.width * p->memory.n);
        if (share >= 0 && share <= 1)
            return p->x + p->width * share;
    }
    return NAN;
}

/* Draws a circle at the peak, and writes what ran then. */
static void put_peak(const struct chart *k, int cls, double bottom)
{
    double time = k->timeline->peak_time[cls], peak = peak_bytes(k, cls), dynamic = 0;
    double x = x_of(k, time);
    char text[200], name[96], brief[48], slot[64] = "", when[48];

    for (int m = 0; m < SS_MEM_COUNT; m++)
        dynamic += k->timeline->dynamic_peak[cls][m];
    if (k->program->classes[cls].nslots > 0 && dynamic > 0)
        ss_slot_name(k->program, cls, k->timeline->peak_slot[cls], slot, sizeof slot);
    snprintf(text, sizeof text, "peak %.2f GiB at %s%s%s", peak / SS_GIB,
             ss_text_time(time, when, sizeof when), slot[0] ? ", in " : "", slot);
    if (isfinite(k->extra->low_pct) && isfinite(k->extra->high_pct)) {
        double at = LEFT + k->width - 12, low = y_of(k, bottom, peak * (1 + k->extra->low_pct / 100)),
               high = fmax(bottom - PANEL, y_of(k, bottom, peak * (1 + k->extra->high_pct / 100)));
        fprintf(k->out,
                "<path class=\"mark\" d=\"M%.2f %.2fV%.2fm-4 0h8M%.2f %.2fh8\"><title>90 %% of such jobs: "
                "%.1f to %.1f GiB</title></path>\n",
                at, low, high, at - 4, low, peak * (1 + k->extra->low_pct / 100) / SS_GIB,
                peak * (1 + k->extra->high_pct / 100) / SS_GIB);
    }
    double left = k->width - 24 - ss_text_width(ss_class_name(k->program, cls, name, sizeof name), 12);
    ss_svg_text(k->out, LEFT, bottom - PANEL - 5, "", name);
    snprintf(brief, sizeof brief, "peak %.2f GiB",
             peak / SS_GIB); /* in a narrow picture; the circle has the rest */
    ss_svg_text(k->out, LEFT + k->width, bottom - PANEL - 5, "small muted end",
                ss_text_width(text, 11) > left ? brief : text);
    if (isnan(x))
        return;
    fprintf(k->out, "<circle class=\"mark\" cx=\"");
    ss_svg_number(k->out, x);
    fputs("\" cy=\"", k->out);
    ss_svg_number(k->out, y_of(k, bottom, peak));
    fputs("\" r=\"4\"><title>", k->out);
    ss_xml_escape(k->out, text);
    fputs("</title></circle>\n", k->out);
}

static void put_scale(const struct chart *k, double bottom)
{
    double step = ss_round_step(k->top_bytes / SS_GIB, 5);
    char text[32];

    for (int i = 0; i * step * SS_GIB <= k->top_bytes; i++) {
        double y = y_of(k, bottom, i * step * SS_GIB);
        fputs("<path class=\"grid\" d=\"", k->out);
        put_point(k, 'M', LEFT, y);
        put_point(k, 'L', LEFT + k->width, y);
        fputs("\"/>\n", k->out);
        snprintf(text, sizeof text, "%g", i * step);
        ss_svg_text(k->out, LEFT - 6, y + 4, "small muted end", text);
    }
}

static int is_used(const struct chart *k, const struct ss_bins *b, int cls, int m)
{
    double used = k->program->classes[cls].memory[m];

    for (int i = 0; i < b->n && !(used > 0); i++)
        used = b->memory[(size_t)cls * (size_t)b->n + (size_t)i][m];
    return used > 0;
}

static void put_panel(const struct chart *k, int cls, double bottom)
{
    const struct ss_program *p = k->program;

    fprintf(k->out, "<g data-class=\"");
    ss_xml_escape(k->out, p->classes[cls].name);
    fputs("\">\n", k->out);
    put_scale(k, bottom);
    for (int m = SS_MEM_COUNT - 1; m >= (k->extra->overhead[cls] > 0 ? -1 : 0); m--) {
        for (int part = 0; part < k->parts->fold.n; part++)
            if (m < 0 || is_used(k, &k->parts->part[part].memory, cls, m))
                put_layer(k, part, cls, m, bottom);
    }
    put_capacity(k, bottom);
    put_peak(k, cls, bottom);
    fputs("</g>\n", k->out);
}

/* Returns the last line of the legend; without a stream it only measures. */
static double put_legend(const struct chart *k, double y, FILE *out)
{
    struct ss_legend l;
    char text[64];

    ss_legend_begin(&l, LEFT, LEFT + k->width - 160, y, out);
    for (int m = -1; m < SS_MEM_COUNT; m++)
        ss_legend_tone(&l, ss_tone(SS_TONES_MEMORY, m < 0 ? SS_MEM_COUNT : m),
                       m < 0 ? k->extra->name : ss_mem_name(m));
    if (out && k->extra->capacity > 0) {
        fprintf(out, "<path class=\"cap\" d=\"M%.0f %.0fh22\"/>", LEFT + k->width - 150, y - 4);
        snprintf(text, sizeof text, "card, %.1f GiB", k->extra->capacity / SS_GIB);
        ss_svg_text(out, LEFT + k->width - 122, y, "small capt", text);
    }
    return l.y;
}

/* Draws an axis for each part below the panels, and the breaks between them. */
static void put_axes(const struct chart *k, double top, double bottom)
{
    const struct ss_gantt *g = k->parts;
    char text[64];

    for (int i = 0; i < g->fold.n; i++) {
        const struct ss_gantt_part *p = &g->part[i];
        ss_svg_time_axis_in(k->out, p->x, bottom + 4, p->width, bottom, p->memory.start,
                            p->memory.start + p->memory.width * p->memory.n, 1,
                            g->fold.n > 1 ? SS_GANTT_GAP / 2 : INFINITY);
        if (g->fold.n > 1 && ss_text_width(ss_gantt_part_words(g, i, text), 11) < p->width + SS_GANTT_GAP)
            ss_svg_text(k->out, p->x + p->width / 2, bottom + 34, "small mid",
                        ss_gantt_part_words(g, i, text));
    }
    ss_gantt_breaks(g, top, bottom + 4);
}

void ss_svg_memory(struct ss_gantt *parts, const struct ss_timeline *t, const struct ss_memory_extra *extra,
                   const char *title, double width, FILE *out)
{
    struct chart k = {parts->program, parts, t, extra, out, (width > 0 ? width : USUAL) - LEFT - RIGHT,
                      extra->capacity};
    const struct ss_program *p = parts->program;
    int panels = 0;
    double legend = 48 + ss_svg_lines(NULL, 16, 26, k.width + LEFT, "title", title),
           y = put_legend(&k, legend, NULL) + PANEL_TOP, top = y;

    for (int c = 0; c < p->nclasses; c++) {
        k.top_bytes =
            fmax(k.top_bytes, peak_bytes(&k, c) * (1 + (extra->high_pct > 0 ? extra->high_pct / 100 : 0)));
        panels += stands_for_stage(&k, c);
    }
    parts->out = out;
    ss_gantt_place(parts, LEFT, k.width);
    k.top_bytes = k.top_bytes > 0 ? 1.04 * k.top_bytes : 1;
    ss_svg_begin(out, LEFT + k.width + RIGHT, y + panels * (PANEL + GAP) + (parts->fold.n > 1 ? 22 : 10),
                 title,
                 "A panel for each pipeline stage, the class of ranks that needs most there; memory is "
                 "stacked by what "
                 "it holds. The dashed line is the card's capacity, the circle the peak, the whisker what 90 "
                 "% of such jobs need.");
    ss_svg_tones(out, SS_TONES_MEMORY);
    ss_svg_lines(out, 16, 26, k.width + LEFT, "title", title);
    put_legend(&k, legend, out);
    for (int c = 0; c < p->nclasses; c++)
        if (stands_for_stage(&k, c)) {
            put_panel(&k, c, y + PANEL);
            y += PANEL + GAP;
        }
    put_axes(&k, top, y - GAP);
    ss_svg_end(out);
}
