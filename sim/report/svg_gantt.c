/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the Gantt chart: for each class a row with its computation, and below it thin lanes for its sends and collectives. */
#include "base/base.h"
#include "base/stats.h"
#include "report/svg.h"

#define LEFT 128.0
#define RIGHT 64.0
#define LEGEND 22.0 /* height below its last line */
#define ROW 24.0    /* height of a compute lane */
#define THIN 9.0    /* height of a communication lane */
#define GAP 10.0
#define BOX_FOR_TEXT 15.0  /* width that a typical box should have */
#define MOST_BOXES 30000.0 /* the most boxes of an overview */
#define WIDEST 6000.0
/* width of an overview, whose boxes would be too narrow to tell apart even in a wider picture */
#define OVERVIEW 1800.0
#define NARROWEST 900.0
#define MANY_STAGES 8 /* more of them are drawn without lanes for messages and collectives */

struct chart {
    struct ss_gantt *k;
    const struct ss_record_book *book; /* of the first part; all have the same lanes */
    double width, height, top, legend; /* legend: its first line */
    int lanes;                         /* 1: with the lanes of messages and collectives */
};

/* Returns the length of a typical computation of the schedule: a quarter of them are shorter. */
static double typical_box(const struct ss_gantt *k)
{
    size_t n = 0, cap = 0;
    double *length = NULL, median = 0, end;

    for (int part = 0; part < k->fold.n; part++)
        for (int l = 0; l < k->part[part].book.nlanes; l++) {
            const struct ss_lane *lane = &k->part[part].book.lanes[l];
            for (size_t i = 0, next; lane->kind == SS_LANE_COMPUTE && i < lane->n; i = next) {
                next = ss_gantt_slot_end(lane, i, &end);
                if (lane->boxes[i].kind != SS_BOX_RUN ||
                    k->program->classes[lane->cls].slots[lane->boxes[i].slot].phase < 0)
                    continue;
                if (ss_grow(&length, &cap, n + 1, sizeof *length))
                    break;
                length[n++] = end - lane->boxes[i].start;
            }
        }
    if (n) {
        ss_sort(length, n);
        median = length[n / 4];
    }
    free(length);
    return median;
}

static double lane_height(const struct ss_lane *lane)
{
    return lane->kind == SS_LANE_COMPUTE ? ROW : THIN;
}

/* Returns 1 if a lane is drawn: something used it, collectives for a thousandth of what is shown. */
static int drawn(const struct chart *c, int lane)
{
    const struct ss_lane *first = &c->book->lanes[lane];
    double used = 0, shown = 0;
    size_t n = 0;

    for (int i = 0; i < c->k->fold.n; i++) {
        const struct ss_lane *l = &c->k->part[i].book.lanes[lane];
        shown += c->k->fold.part[i].end - c->k->fold.part[i].start;
        n += l->n;
        for (size_t b = 0; b < l->n && first->kind == SS_LANE_STREAM; b++)
            used += l->boxes[b].end - l->boxes[b].start;
    }
    if (first->kind == SS_LANE_STREAM && used < 1e-3 * shown)
        n = 0;
    return c->book->shown[first->cls] && (first->kind == SS_LANE_COMPUTE || (c->lanes && n > 0));
}

static double chart_height(const struct chart *c)
{
    double y = c->top;

    for (int l = 0; l < c->book->nlanes; l++)
        y += drawn(c, l) ? lane_height(&c->book->lanes[l]) + 1 : 0;
    return y + GAP * c->book->nshown + 48;
}

static double put_class(const struct chart *c, int cls, double y)
{
    const struct ss_gantt *k = c->k;
    const struct ss_program *p = k->program;
    char text[64], label[64];

    fprintf(k->out, "<g data-class=\"");
    ss_xml_escape(k->out, p->classes[cls].name);
    fputs("\">\n", k->out);
    snprintf(text, sizeof text, "%.*s", ss_utf8_cut(p->classes[cls].name, 18), p->classes[cls].name);
    ss_svg_text(k->out, LEFT - 8, y + ROW / 2 + 4, "end", text);
    snprintf(text, sizeof text, "%.1f %%", 100 * ss_gantt_busy(k->timeline, cls));
    ss_svg_text(k->out, LEFT + c->width + 8, y + ROW / 2 + 4, "small muted", text);
    for (int l = c->book->first_lane[cls]; l < c->book->first_lane[cls + 1]; l++) {
        const struct ss_lane *lane = &c->book->lanes[l];
        if (!drawn(c, l))
            continue;
        if (lane->kind != SS_LANE_COMPUTE) {
            const char *name = ss_lane_name(p, lane, text, sizeof text);
            snprintf(label, sizeof label, "%.*s", ss_utf8_cut(name, 21), name); /* "to " and 18 of a class */
            ss_svg_text(k->out, LEFT - 8, y + 8, "tiny muted end", label);
        }
        ss_gantt_lane(k, l, y, lane_height(lane));
        y += lane_height(lane) + 1;
    }
    fputs("</g>\n", k->out);
    return y + GAP;
}

/* Finds the phases (bit 0: outside the schedule) and labels that occur. */
static void find_used(const struct chart *c, unsigned *phase, unsigned *label)
{
    for (int part = 0; part < c->k->fold.n; part++)
        for (int l = 0; l < c->book->nlanes; l++) {
            const struct ss_lane *lane = &c->k->part[part].book.lanes[l];
            for (size_t i = 0; drawn(c, l) && i < lane->n; i++) {
                const struct ss_box *box = &lane->boxes[i];
                if (box->kind == SS_BOX_RUN)
                    *phase |= 1u << (c->k->program->classes[lane->cls].slots[box->slot].phase + 1);
                else if (box->kind != SS_BOX_SEND)
                    *label |= 1u << box->label;
            }
        }
}

double ss_gantt_legend(struct ss_legend *l, unsigned phases, int chunks)
{
    char buf[8], text[48];

    if (phases & 2u << SS_PHASE_FB) /* a pair is drawn as its two halves */
        phases |= 2u << SS_PHASE_F | 2u << SS_PHASE_B;
    for (int i = 0; i < SS_PHASE_FB; i++)
        if (phases & 2u << i)
            ss_legend_add(l, ss_color_phase(i, 0, chunks, buf), ss_phase_words(i));
    if (phases & 2u << SS_PHASE_FB)
        ss_legend_add(l, "none\" class=\"pair", ss_phase_words(SS_PHASE_FB));
    if (chunks > 1) {
        snprintf(text, sizeof text, chunks > 2 ? "lighter: chunk 1 to %d" : "lighter: chunk %d", chunks - 1);
        ss_legend_add(l, ss_color_phase(SS_PHASE_F, chunks - 1, chunks, buf), text);
    }
    return l->y;
}

/* Draws the legend of the phases and labels that occur, in the order of their enums. Returns its last line. */
static double put_legend(const struct chart *c, FILE *out)
{
    struct ss_legend l;
    unsigned phases = 0, labels = 0;
    char buf[8];

    find_used(c, &phases, &labels);
    ss_legend_begin(&l, LEFT, LEFT + c->width - 40, c->legend, out);
    if (c->k->color == SS_COLOR_PHASE)
        ss_gantt_legend(&l, phases, c->k->chunks);
    else
        ss_legend_add(&l, ss_tone(SS_TONES_SERIES, 0)->color, "colour: microbatch, a backward is lower");
    if (phases & 1)
        ss_legend_add(&l, ss_color_phase(-1, 0, 1, buf), ss_phase_words(-1));
    for (int i = 0; i < SS_LABEL_COUNT; i++)
        if (labels & 1u << i)
            ss_legend_add(&l, ss_tone(SS_TONES_LABEL, i)->color, ss_label_words(i));
    ss_legend_add(&l, "url(#idle)", "idle");
    return l.y;
}

/* The title with how many classes are drawn, where not all are. */
static const char *write_title(const struct chart *c, const char *title, char *buf, size_t size)
{
    ss_copy(buf, size, title);
    if (c->book->nshown < c->k->program->nclasses)
        ss_append(buf, size, "; %d of %d classes, the first of each stage", c->book->nshown,
                  c->k->program->nclasses);
    return buf;
}

static void put_head(const struct chart *c, const char *title)
{
    const struct ss_gantt *k = c->k;
    const struct ss_fold *f = &k->fold;
    char text[256], a[48], b[48];
    double whole = k->timeline->iteration_s, start = f->part[0].start, end = f->part[f->n - 1].end;
    int part = f->n == 1 && (start > 0 || end < c->book->makespan);

    snprintf(text, sizeof text,
             "%s from %s to %s. %d of %d classes of equal ranks, a row each; at the right the share of the "
             "iteration that its kernels run. Numbers are microbatches.",
             part       ? "A part,"
             : f->n > 1 ? "Warm-up, some steady periods, cool-down,"
                        : "The whole iteration,",
             ss_axis_time(start, (end - start) / 1000, end, a, sizeof a),
             ss_axis_time(end, (end - start) / 1000, end, b, sizeof b), c->book->nshown,
             k->program->nclasses);
    ss_svg_begin(k->out, LEFT + c->width + RIGHT, c->height, title, text);
    ss_svg_lines(k->out, 16, 26, LEFT + c->width + RIGHT - 32, "title", title);
    if (part)
        snprintf(text, sizeof text, "window %s to %s", a, b);
    else
        snprintf(text, sizeof text, "%s", "no global barrier: ranks run on into the next iteration");
    if (part || c->book->makespan > whole * (1 + 1e-9))
        ss_svg_text(k->out, LEFT + c->width, c->legend - 14, "small muted end", text);
    ss_svg_text(k->out, LEFT + c->width + 8, c->top - 20, "small muted", "busy");
}

static void put_axes(const struct chart *c)
{
    const struct ss_gantt *k = c->k;
    char text[64];

    for (int i = 0; i < k->fold.n; i++) {
        ss_svg_time_axis_in(k->out, k->part[i].x, c->height - 44, k->part[i].width, c->top - 8,
                            k->fold.part[i].start, k->fold.part[i].end, 1,
                            k->fold.n > 1 ? SS_GANTT_GAP / 2 : 60);
        if (k->fold.n > 1 &&
            ss_text_width(ss_gantt_part_words(k, i, text), 11) < k->part[i].width + SS_GANTT_GAP)
            ss_svg_text(k->out, k->part[i].x + k->part[i].width / 2, c->height - 10, "small mid",
                        ss_gantt_part_words(k, i, text));
    }
    if (k->fold.n == 1)
        ss_svg_text(k->out, LEFT + c->width / 2, c->height - 10, "small muted mid",
                    "time since the iteration began");
    ss_gantt_breaks(k, c->top, c->height - 44);
}

/* Sets how wide the chart is: as its boxes need to carry their number, within limits. */
static void measure(struct chart *c, double wanted)
{
    struct ss_gantt *k = c->k;
    double typical = typical_box(k), length = 0;

    for (int i = 0; i < k->fold.n; i++)
        length += k->fold.part[i].end - k->fold.part[i].start;
    k->smallest = SS_GANTT_SMALLEST;
    c->width = typical > 0 ? length / typical * BOX_FOR_TEXT : NARROWEST;
    if (c->width > 4 * WIDEST) {
        c->width = OVERVIEW;
        k->smallest = fmax(SS_GANTT_SMALLEST, c->book->nlanes * OVERVIEW / MOST_BOXES);
    }
    c->width = floor(fmin(fmax(c->width, NARROWEST), k->fold.n > 1 ? OVERVIEW : WIDEST));
    if (wanted > 0)
        c->width = wanted - LEFT - RIGHT;
    ss_gantt_place(k, LEFT, c->width);
}

void ss_svg_gantt(struct ss_gantt *k, const char *title, double width)
{
    struct chart c = {.k = k, .book = &k->part[0].book};
    double y;
    char full[400];

    c.lanes = k->lanes || c.book->nshown <= MANY_STAGES;
    measure(&c, width);
    write_title(&c, title, full, sizeof full);
    c.legend = 56 + ss_svg_lines(NULL, 16, 26, LEFT + c.width + RIGHT - 32, "title", full);
    c.top = put_legend(&c, NULL) + LEGEND;
    y = c.top;
    c.height = chart_height(&c);
    put_head(&c, full);
    put_legend(&c, k->out);
    put_axes(&c);
    for (int cls = 0; cls < k->program->nclasses; cls++)
        if (c.book->shown[cls])
            y = put_class(&c, cls, y);
    ss_svg_end(k->out);
}
