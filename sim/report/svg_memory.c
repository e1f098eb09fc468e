/* SPDX-License-Identifier: Apache-2.0 */
/* Memory over time: for each pipeline stage the class that needs most, stacked by class of memory. */
#include <math.h>

#include "base/base.h"
#include "report/chart.h"
#include "report/names.h"
#include "report/svg.h"
#include "report/text.h"

#define LEFT 92.0
#define WIDTH 920.0
#define RIGHT 24.0
#define TOP 84.0
#define PANEL 96.0
#define GAP 22.0

struct chart {
    const struct ss_bins *bins;
    const struct ss_timeline *timeline;
    const struct ss_memory_extra *extra;
    FILE *out;
};

/* Of a class of memory; -1: of what is beside the tensors. */
static const char *name_of(int mem)
{
    return mem < 0 ? "context, NCCL, fragmentation" : ss_mem_name(mem);
}

static const char *color_of(int mem)
{
    return mem < 0 ? "#b6bec9" : ss_color_memory(mem);
}

static double static_bytes(const struct ss_program *p, int cls)
{
    double sum = 0;

    for (int m = 0; m < SS_MEM_COUNT; m++)
        sum += p->classes[cls].memory[m];
    return sum;
}

static double peak_bytes(const struct chart *k, int cls)
{
    double sum = static_bytes(k->bins->program, cls) + k->extra->overhead[cls];

    for (int m = 0; m < SS_MEM_COUNT; m++)
        sum += k->timeline->dynamic_peak[cls][m];
    return sum;
}

/* The class of this stage with the highest peak, if it is `cls`. */
static int stands_for_stage(const struct chart *k, int cls)
{
    const struct ss_program *p = k->bins->program;

    for (int c = 0; c < p->nclasses; c++) {
        if (c == cls || p->classes[c].stage != p->classes[cls].stage)
            continue;
        double other = peak_bytes(k, c), own = peak_bytes(k, cls);
        if (other > own || (other == own && c < cls))
            return 0;
    }
    return 1;
}

/* Level of the layers 0..m in one bin. m = SS_MEM_COUNT: with what is beside the tensors. */
static double level(const struct chart *k, int cls, int bin, int m)
{
    const struct ss_bins *b = k->bins;
    double sum = k->extra->overhead[cls];

    for (int i = 0; i <= m && i < SS_MEM_COUNT; i++)
        sum += b->program->classes[cls].memory[i] + b->memory[(size_t)cls * (size_t)b->n + (size_t)bin][i];
    return sum;
}

/* One layer, from the top of all layers down to the axis: drawn from the last to the first they stack. */
static void put_layer(const struct chart *k, const struct ss_chart *f, int cls, int m)
{
    const struct ss_bins *b = k->bins;
    double last = -1;

    ss_markup(k->out, "<path d=\"M%g %g", f->x, f->y + f->height);
    for (int i = 0; i < b->n; i++) {
        double y = ss_chart_y(f, m < 0 ? k->extra->overhead[cls] : level(k, cls, i, m));
        if (y != last)
            ss_markup(k->out, "L%g %gV%g", f->x + f->width * i / b->n, last < 0 ? y : last, y);
        last = y;
    }
    ss_markup(k->out, "H%gV%gZ\" fill=\"%s\"><title>%s</title></path>\n", f->x + f->width, f->y + f->height,
              color_of(m), name_of(m));
}

/* A circle at the peak, and what ran then. */
static void put_peak(const struct chart *k, const struct ss_chart *f, int cls)
{
    const struct ss_bins *b = k->bins;
    double time = k->timeline->peak_time[cls], peak = peak_bytes(k, cls), dynamic = 0;
    char text[200], slot[64] = "", when[48];

    for (int m = 0; m < SS_MEM_COUNT; m++)
        dynamic += k->timeline->dynamic_peak[cls][m];
    if (b->program->classes[cls].nslots > 0 && dynamic > 0)
        ss_slot_name(b->program, cls, k->timeline->peak_slot[cls], slot, sizeof slot);
    snprintf(text, sizeof text, "peak %.2f GiB at %s%s%s", peak / SS_GIB,
             ss_text_time(time, when, sizeof when), slot[0] ? ", " : "", slot);
    ss_svg_text(k->out, f->x + f->width, f->y - 5, "small muted end", text);
    if (time >= f->across.from && time <= f->across.to)
        ss_chart_dot(f, time, peak, 4, "none", " class=\"mark\"", text);
}

static void put_panel(const struct chart *k, const struct ss_chart *f, int cls)
{
    const struct ss_program *p = k->bins->program;
    char name[96];

    ss_markup(k->out, "<g data-class=\"%s\">\n", p->classes[cls].name);
    ss_svg_text(k->out, f->x, f->y - 5, "", ss_class_name(p, cls, name, sizeof name));
    ss_chart_gib(f, true, 5, "");
    for (int m = SS_MEM_COUNT - 1; m >= (k->extra->overhead[cls] > 0 ? -1 : 0); m--) {
        double used = m < 0 ? 1 : p->classes[cls].memory[m];
        for (int i = 0; i < k->bins->n && !(used > 0); i++)
            used = k->bins->memory[(size_t)cls * (size_t)k->bins->n + (size_t)i][m];
        if (used > 0)
            put_layer(k, f, cls, m);
    }
    if (k->extra->capacity > 0)
        ss_chart_line(f, true, "cap", k->extra->capacity, NULL);
    put_peak(k, f, cls);
    fputs("</g>\n", k->out);
}

static void put_legend(const struct chart *k)
{
    struct ss_legend l = ss_legend_at(k->out, LEFT, 38, INFINITY);
    char text[64];

    for (int m = -1; m < SS_MEM_COUNT; m++)
        ss_legend_key(&l, color_of(m), name_of(m));
    if (k->extra->capacity > 0) {
        fprintf(k->out, "<path class=\"cap\" d=\"M%.0f 44h22\"/>", l.x);
        snprintf(text, sizeof text, "capacity %.1f GiB", k->extra->capacity / SS_GIB);
        ss_svg_text(k->out, l.x + 28, 48, "small capt", text);
    }
}

void ss_svg_memory(const struct ss_bins *bins, const struct ss_timeline *t,
                   const struct ss_memory_extra *extra, FILE *out)
{
    const struct chart k = {bins, t, extra, out};
    const struct ss_program *p = bins->program;
    struct ss_chart f = {out,
                         LEFT,
                         TOP,
                         WIDTH,
                         PANEL,
                         {bins->start, bins->start + bins->width * bins->n, false},
                         {0, extra->capacity, false}};
    int panels = 0;
    char title[160];

    for (int c = 0; c < p->nclasses; c++) {
        f.up.to = fmax(f.up.to, peak_bytes(&k, c));
        panels += stands_for_stage(&k, c);
    }
    f.up.to = f.up.to > 0 ? 1.04 * f.up.to : 1;
    snprintf(title, sizeof title, "%s: memory of every stage, GiB", p->name);
    ss_svg_begin(out, LEFT + WIDTH + RIGHT, TOP + panels * (PANEL + GAP) + 34, title,
                 "A panel for each pipeline stage, the class of ranks that needs most there; memory is "
                 "stacked by what "
                 "it holds. The dashed line is the card's capacity, the circle the peak.");
    ss_svg_text(out, 16, 26, "title", title);
    put_legend(&k);
    for (int c = 0; c < p->nclasses; c++)
        if (stands_for_stage(&k, c)) {
            put_panel(&k, &f, c);
            f.y += PANEL + GAP;
        }
    f.y -= GAP;
    f.height = 4;
    ss_chart_seconds(&f);
    ss_svg_end(out);
}
