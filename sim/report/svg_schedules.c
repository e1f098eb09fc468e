/* SPDX-License-Identifier: Apache-2.0 */
/* Draws several schedules on one time axis: a panel for each, with a row for each rank. */
#include "base/stats.h"
#include "report/common.h"
#include "report/svg.h"
#include "report/text.h"

#define LEFT 48.0
#define RIGHT 24.0
#define LEGEND 18.0 /* height below its last line */
#define TITLE 24.0  /* height of a panel's title */
#define GAP 12.0
#define BOX_FOR_TEXT 15.0 /* width that a typical slot should have */
#define NARROWEST 900.0
#define WIDEST 6000.0
#define SMALLEST 1.0 /* narrower neighbours are drawn as one */
#define MANY_RANKS 16

struct sheet {
    const struct ss_schedule_strip *strips;
    int n, seconds;
    FILE *out;
    double width, height, end, legend, top;
};

static double row_height(const struct ss_schedule_strip *s)
{
    return s->stages > MANY_RANKS ? 8 : 16;
}

static double x_of(const struct sheet *k, double time)
{
    return LEFT + k->width * time / k->end;
}

/* Returns the length of a typical slot: a quarter of the slots of all schedules are shorter. */
static double typical_slot(const struct sheet *k)
{
    size_t n = 0, all = 0;
    double *length, typical = 0;

    for (int i = 0; i < k->n; i++)
        all += k->strips[i].n;
    length = ss_calloc(all + 1, sizeof *length);
    for (int i = 0; length && i < k->n; i++)
        for (size_t j = 0; j < k->strips[i].n; j++)
            if (k->strips[i].slots[j].phase >= 0)
                length[n++] = k->strips[i].slots[j].end - k->strips[i].slots[j].start;
    if (n) {
        ss_sort(length, n);
        typical = length[n / 4];
    }
    free(length);
    return typical;
}

static void measure(struct sheet *k, double wanted)
{
    double typical = typical_slot(k);

    for (int i = 0; i < k->n; i++) {
        const struct ss_schedule_strip *s = &k->strips[i];
        k->end = fmax(k->end, s->length);
        for (size_t j = 0; j < s->n; j++)
            k->end = fmax(k->end, s->slots[j].end);
    }
    if (!(k->end > 0))
        k->end = 1e-9;
    k->width = typical > 0 ? k->end / typical * BOX_FOR_TEXT : NARROWEST;
    k->width = wanted > 0 ? wanted - LEFT - RIGHT : floor(fmin(fmax(k->width, NARROWEST), WIDEST));
}

/* Returns the last line of the legend; without a stream it only measures. */
static double put_legend(const struct sheet *k, FILE *out)
{
    unsigned phases = 0;
    int chunks = 1;
    struct ss_legend l;
    char buf[8];

    ss_legend_begin(&l, LEFT, LEFT + k->width, k->legend, out);
    for (int i = 0; i < k->n; i++) {
        chunks = k->strips[i].chunks > chunks ? k->strips[i].chunks : chunks;
        for (size_t j = 0; j < k->strips[i].n; j++)
            phases |= 1u << (k->strips[i].slots[j].phase + 1);
    }
    ss_gantt_legend(&l, phases, chunks);
    if (phases & 1)
        ss_legend_add(&l, ss_color_phase(-1, 0, 1, buf), ss_phase_words(-1));
    ss_legend_add(&l, "url(#idle)", "idle");
    return l.y;
}

static void put_rect(const struct sheet *k, double x, double y, double width, double height, const char *fill)
{
    fputs("<rect class=\"b\" x=\"", k->out);
    ss_svg_number(k->out, x);
    fputs("\" y=\"", k->out);
    ss_svg_number(k->out, y);
    fputs("\" width=\"", k->out);
    ss_svg_number(k->out, fmax(width, 0.3));
    fputs("\" height=\"", k->out);
    ss_svg_number(k->out, height);
    fprintf(k->out, "\" fill=\"%s\"/>\n", fill);
}

/* Draws a slot, a pair as its two halves. Slots of the row from i on that are too narrow to tell apart are drawn as one box.
 * Returns the first slot behind the box. */
static size_t put_slot(const struct sheet *k, const struct ss_schedule_strip *s, size_t i, double y)
{
    const struct ss_slot_time *slot = &s->slots[i];
    double x = x_of(k, slot->start), end = slot->end, height = row_height(s), top, bottom;
    char fill[8];
    size_t next = i + 1;

    while (next < s->n && s->slots[next].rank == slot->rank && x_of(k, s->slots[next].end) - x < SMALLEST)
        end = s->slots[next++].end;
    double width = x_of(k, end) - x;
    int pair = slot->phase == SS_PHASE_FB && next == i + 1;
    ss_phase_part(slot->phase, &top, &bottom);
    ss_color_phase(slot->phase, slot->chunk, s->chunks, fill);
    y += top * height;
    height *= bottom - top;
    put_rect(k, x, y, pair ? width / 2 : width, height, fill);
    if (next == i + 1)
        ss_gantt_number(k->out, slot->microbatch, x, pair ? width / 2 : width, y, height, fill);
    if (pair) {
        ss_color_phase(SS_PHASE_B, slot->chunk2, s->chunks, fill);
        put_rect(k, x + width / 2, y, width / 2, height, fill);
        ss_gantt_number(k->out, slot->microbatch2, x + width / 2, width / 2, y, height, fill);
        fprintf(k->out, "<path class=\"pair\" d=\"M%.2f %.2fh%.2fv%.2fh%.2fz\"/>\n", x, y, width, height,
                -width);
    }
    return next;
}

/* Returns the share of the iteration that the rank idles that idles most between its first and its last slot. */
static double idle_between(const struct ss_schedule_strip *s)
{
    double most = 0, start = 0, busy = 0;

    for (size_t i = 0; i < s->n; i++) {
        const struct ss_slot_time *t = &s->slots[i];
        if (i == 0 || t->rank != s->slots[i - 1].rank) {
            start = t->start;
            busy = 0;
        }
        busy += t->end - t->start;
        most = fmax(most, t->end - start - busy);
    }
    return s->length > 0 ? most / s->length : 0;
}

/* Writes the title of a panel. Returns its height; without a stream it only measures. */
static double put_title(const struct sheet *k, const struct ss_schedule_strip *s, double y, FILE *out)
{
    char text[512], time[32];

    if (k->seconds)
        ss_text_time(s->length, time, sizeof time);
    else
        snprintf(time, sizeof time, "%.6g", s->length);
    snprintf(text, sizeof text,
             "%s: %s, a rank idles up to %.1f %% (%.1f %% between its slots), keeps up to %.4g %s", s->name,
             time, 100 * s->bubble_fraction, 100 * idle_between(s), s->kept,
             k->seconds ? "GiB of activations" : "microbatches");
    return TITLE + ss_svg_lines(out, LEFT, y + 16, k->width, "", text);
}

static double put_strip(const struct sheet *k, const struct ss_schedule_strip *s, double y)
{
    double height = row_height(s);
    size_t i = 0;
    char text[16];

    fputs("<g data-schedule=\"", k->out);
    ss_xml_escape(k->out, s->name);
    fputs("\">\n", k->out);
    y += put_title(k, s, y, k->out);
    for (int r = 0; r < s->stages; r++, y += height + 1) {
        fprintf(k->out, "<rect class=\"track\" x=\"%.0f\" y=\"%.0f\" width=\"", LEFT, y);
        ss_svg_number(k->out, x_of(k, s->length) - LEFT);
        fprintf(k->out, "\" height=\"%.0f\"/>\n", height);
        snprintf(text, sizeof text, "%d", r);
        if (height > 12 || r % 4 == 0)
            ss_svg_text(k->out, LEFT - 6, y + height / 2 + 4, "small muted end", text);
        while (i < s->n && s->slots[i].rank == r)
            i = put_slot(k, s, i, y);
    }
    fputs("</g>\n", k->out);
    return y + GAP;
}

int ss_schedules_svg(const struct ss_schedule_strip *strips, int n, int seconds, double width, FILE *out,
                     struct ss_error *err)
{
    struct sheet k = {.strips = strips, .n = n, .seconds = seconds, .out = out};
    double y;
    char title[128];
    int stages = 0, microbatches = 0;

    measure(&k, width);
    for (int i = 0; i < n; i++) {
        stages = strips[i].stages > stages ? strips[i].stages : stages;
        for (size_t j = 0; j < strips[i].n; j++)
            if (strips[i].slots[j].microbatch >= microbatches)
                microbatches = strips[i].slots[j].microbatch + 1;
    }
    snprintf(title, sizeof title, "%d schedules of %d ranks and %d microbatches on one time axis", n, stages,
             microbatches);
    k.legend = 56 + ss_svg_lines(NULL, 16, 26, LEFT + k.width, "title", title);
    k.top = y = put_legend(&k, NULL) + LEGEND;
    k.height = k.top + 50;
    for (int i = 0; i < n; i++)
        k.height +=
            put_title(&k, &strips[i], 0, NULL) + strips[i].stages * (row_height(&strips[i]) + 1) + GAP;
    ss_svg_begin(
        out, LEFT + k.width + RIGHT, k.height, title,
        "A panel a schedule, a row a pipeline rank. Numbers are microbatches; the track behind the slots "
        "ends with the iteration.");
    ss_svg_lines(out, 16, 26, LEFT + k.width, "title", title);
    put_legend(&k, out);
    ss_svg_time_axis(out, LEFT, k.height - 46, k.width, k.top - 8, 0, k.end, seconds);
    ss_svg_text(out, LEFT + k.width / 2, k.height - 12, "small muted mid",
                seconds ? "time since the iteration began"
                        : "time, in the unit of --times (1: a forward of a whole stage)");
    for (int i = 0; i < n; i++)
        y = put_strip(&k, &strips[i], y);
    ss_svg_end(out);
    return ss_report_done(out, err);
}
