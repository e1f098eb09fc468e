/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the Gantt chart: for each class a row with its computation, and below it thin lanes for its
 * sends and collectives. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/stats.h"
#include "report/names.h"
#include "report/svg.h"
#include "report/text.h"

#define LEFT 128.0
#define RIGHT 64.0
#define TOP 78.0
#define ROW 24.0 /* height of a compute lane */
#define THIN 9.0 /* height of a communication lane */
#define GAP 10.0
#define BOX_FOR_TEXT 15.0 /* width that a typical box should have */
#define SMALLEST 3.0
#define MOST_BOXES 30000.0 /* the most boxes of an overview */
#define WIDEST 6000.0
/* width of an overview, whose boxes would be too narrow to tell apart even in a wider picture */
#define OVERVIEW 1800.0
#define NARROWEST 900.0

struct chart {
    const struct ss_record_book *book;
    const struct ss_timeline *timeline;
    FILE *out;
    int color, chunks;
    double width, height, start, end;
    double smallest; /* narrower neighbours are drawn as one */
};

/* Finds where the computations of a slot end that begin with box i, and returns the first box behind
 * them. A wait counts as a slot of its own, so that waiting before the work is not part of the work. */
static size_t slot_extent(const struct ss_lane *lane, size_t i, double *end)
{
    size_t next = i + 1;

    *end = lane->boxes[i].end;
    if (lane->boxes[i].kind != SS_BOX_RUN)
        return next;
    for (; next < lane->n && lane->boxes[next].slot == lane->boxes[i].slot; next++)
        if (lane->boxes[next].kind == SS_BOX_RUN)
            *end = lane->boxes[next].end;
    return next;
}

/* Returns the length of a typical computation of the schedule: half of them are longer. */
static double typical_box(const struct ss_record_book *b)
{
    size_t n = 0, cap = 0;
    double *length = NULL, median = 0;

    for (int l = 0; l < b->nlanes; l++) {
        const struct ss_lane *lane = &b->lanes[l];
        double end;
        for (size_t i = 0, next; lane->kind == SS_LANE_COMPUTE && i < lane->n; i = next) {
            next = slot_extent(lane, i, &end);
            if (lane->boxes[i].kind != SS_BOX_RUN ||
                b->program->classes[lane->cls].slots[lane->boxes[i].slot].phase < 0)
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

/* Returns 1 if a lane is drawn: something used it. */
static int drawn(const struct ss_record_book *b, const struct ss_lane *lane)
{
    return b->shown[lane->cls] && (lane->kind == SS_LANE_COMPUTE || lane->n > 0);
}

static double chart_height(const struct ss_record_book *b)
{
    double y = TOP;

    for (int l = 0; l < b->nlanes; l++)
        y += drawn(b, &b->lanes[l]) ? lane_height(&b->lanes[l]) + 1 : 0;
    return y + GAP * b->nshown + 34;
}

static int most_chunks(const struct ss_program *p)
{
    int most = 1;

    for (int c = 0; c < p->nclasses; c++)
        for (int s = 0; s < p->classes[c].nslots; s++)
            if (p->classes[c].slots[s].chunk >= most)
                most = p->classes[c].slots[s].chunk + 1;
    return most;
}

static double x_of(const struct chart *k, double time)
{
    double share = (time - k->start) / (k->end - k->start);

    return LEFT + k->width * (share < 0 ? 0 : share > 1 ? 1 : share);
}

static const char *box_color(const struct chart *k, const struct ss_lane *lane, const struct ss_box *box,
                             char buf[8])
{
    const struct ss_program *p = k->book->program;
    const struct ss_program_slot *s = box->slot < 0 ? NULL : &p->classes[lane->cls].slots[box->slot];

    if (box->kind == SS_BOX_WAIT || box->kind == SS_BOX_COLLECTIVE)
        return ss_color_label(box->label);
    if (!s || (box->kind == SS_BOX_RUN && box->mixed))
        return "#4a7d8c";
    if (box->kind == SS_BOX_SEND && s->phase < 0)
        return ss_color_label(SS_LABEL_PP);
    if (k->color == SS_COLOR_MICROBATCH && s->phase >= 0 && s->microbatch >= 0)
        return ss_color_microbatch(s->microbatch, s->phase != SS_PHASE_F, buf);
    return ss_color_phase(s->phase, s->chunk, k->chunks, buf);
}

static void put_tip(const struct chart *k, const struct ss_lane *lane, const struct ss_box *box)
{
    const struct ss_program *p = k->book->program;
    char name[96] = "";
    double step = (box->end - box->start) / 100;

    if (box->slot >= 0)
        ss_slot_name(p, lane->cls, box->slot, name, sizeof name);
    fputs("<title>", k->out);
    if (box->kind == SS_BOX_COLLECTIVE)
        ss_xml_escape(k->out, p->collectives[box->index].name);
    else
        ss_xml_escape(k->out, name);
    if (box->count > 1)
        fprintf(k->out, " and %d more", box->count - 1);
    if (box->kind == SS_BOX_WAIT)
        fprintf(k->out, ", waits for %s", ss_label_name(box->label));
    if (box->kind == SS_BOX_SEND) {
        fputs(" to ", k->out);
        ss_xml_escape(k->out, p->classes[p->channels[box->index].to].name);
    }
    if (box->kind >= SS_BOX_SEND)
        fprintf(k->out, ", %.4g MB", box->bytes / 1e6);
    fprintf(k->out, "\n%s", ss_axis_time(box->start, step, box->end, name, sizeof name));
    fprintf(k->out, " to %s", ss_axis_time(box->end, step, box->end, name, sizeof name));
    fprintf(k->out, ", %s</title>", ss_text_time(box->end - box->start, name, sizeof name));
}

static void put_data(const struct chart *k, const struct ss_lane *lane, const struct ss_box *box)
{
    const struct ss_program_slot *s = &k->book->program->classes[lane->cls].slots[box->slot];

    fprintf(k->out, " data-op=\"%s\" data-mb=\"%d\" data-chunk=\"%d\" data-start=\"", ss_phase_name(s->phase),
            s->microbatch, s->chunk);
    ss_put_number(box->start, 9, k->out);
    fputs("\" data-end=\"", k->out);
    ss_put_number(box->end, 9, k->out);
    fputc('"', k->out);
}

static void put_box(const struct chart *k, const struct ss_lane *lane, const struct ss_box *box, double y)
{
    double x = x_of(k, box->start), width = fmax(x_of(k, box->end) - x, 0.3), h = lane_height(lane);
    char buf[8];
    const char *fill = box_color(k, lane, box, buf);

    if (box->kind == SS_BOX_WAIT) { /* shallower, so that waiting does not look like work */
        y += 6;
        h -= 12;
    }
    fputs("<rect class=\"b\" x=\"", k->out);
    ss_svg_number(k->out, x);
    fputs("\" y=\"", k->out);
    ss_svg_number(k->out, y);
    fputs("\" width=\"", k->out);
    ss_svg_number(k->out, width);
    fprintf(k->out, "\" height=\"%.0f\" fill=\"%s\"", h, fill);
    if (box->count > 1) /* the share of it that is not idle */
        fprintf(k->out, " fill-opacity=\"%.2f\"", fmax(0.3, fmin(1, box->busy / (box->end - box->start))));
    if (box->kind == SS_BOX_RUN && box->count == 1 &&
        k->book->program->classes[lane->cls].slots[box->slot].phase >= 0)
        put_data(k, lane, box);
    fputc('>', k->out);
    put_tip(k, lane, box);
    fputs("</rect>\n", k->out);
}

static void take_in(const struct chart *k, const struct ss_lane *lane, struct ss_box *box,
                    const struct ss_box *next)
{
    const struct ss_program_slot *slots = k->book->program->classes[lane->cls].slots;

    if (box->kind == SS_BOX_RUN)
        box->mixed |= next->mixed | (slots[box->slot].phase != slots[next->slot].phase);
    box->count += next->slot == box->slot ? 0 : next->count;
    box->bytes += next->bytes;
    box->busy += next->busy;
    box->end = next->end;
}

/* Draws the boxes of a lane. Neighbours that are too narrow to see are drawn as one, also over a wait
 * that is too narrow to see. */
static void put_boxes(const struct chart *k, const struct ss_lane *lane, double y)
{
    double smallest = k->smallest / k->width * (k->end - k->start);

    for (size_t i = 0; i < lane->n;) {
        struct ss_box box = lane->boxes[i++];
        if (box.kind == SS_BOX_WAIT && box.end - box.start < smallest / 6)
            continue;
        for (; i < lane->n && lane->boxes[i].end - box.start < smallest; i++) {
            const struct ss_box *next = &lane->boxes[i];
            if (next->kind == box.kind)
                take_in(k, lane, &box, next);
            else if (next->kind != SS_BOX_WAIT || next->end - next->start >= smallest / 6)
                break;
        }
        put_box(k, lane, &box, y);
    }
}

/* Writes the number of the microbatch on every slot that has room for it. */
static void put_labels(const struct chart *k, const struct ss_lane *lane, double y)
{
    double end;
    char text[24], buf[8];

    for (size_t i = 0, next; i < lane->n && k->smallest <= SMALLEST; i = next) {
        const struct ss_box *box = &lane->boxes[i];
        next = slot_extent(lane, i, &end);
        if (box->kind != SS_BOX_RUN || box->count > 1)
            continue;
        const struct ss_program_slot *s = &k->book->program->classes[lane->cls].slots[box->slot];
        double x = x_of(k, box->start), width = x_of(k, end) - x;
        snprintf(text, sizeof text, "%d", s->microbatch);
        if (s->phase >= 0 && width >= 6.2 * (double)strlen(text) + 1)
            ss_svg_text(k->out, x + width / 2, y + ROW / 2 + 3.5,
                        ss_color_light(box_color(k, lane, box, buf)) ? "n k" : "n w", text);
    }
}

static void put_track(const struct chart *k, double y, double height)
{
    fprintf(k->out, "<rect class=\"track\" x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\"/>\n", LEFT, y,
            k->width, height);
}

static double busy_share(const struct ss_timeline *t, int cls)
{
    const double *s = t->spent[cls];
    double busy = s[SS_LABEL_COMPUTE] + s[SS_LABEL_RECOMPUTE] + s[SS_LABEL_OPTIMIZER];

    return t->iteration_s > 0 ? busy / t->iteration_s : 0;
}

static double put_class(const struct chart *k, int cls, double y)
{
    const struct ss_record_book *b = k->book;
    char text[64], label[64];

    fprintf(k->out, "<g data-class=\"");
    ss_xml_escape(k->out, b->program->classes[cls].name);
    fputs("\">\n", k->out);
    snprintf(text, sizeof text, "%.*s", ss_utf8_cut(b->program->classes[cls].name, 18),
             b->program->classes[cls].name);
    ss_svg_text(k->out, LEFT - 8, y + ROW / 2 + 4, "end", text);
    snprintf(text, sizeof text, "%.1f %%", 100 * busy_share(k->timeline, cls));
    ss_svg_text(k->out, LEFT + k->width + 8, y + ROW / 2 + 4, "small muted", text);
    for (int l = b->first_lane[cls]; l < b->first_lane[cls + 1]; l++) {
        const struct ss_lane *lane = &b->lanes[l];
        if (!drawn(b, lane))
            continue;
        if (lane->kind == SS_LANE_COMPUTE)
            put_track(k, y, ROW);
        else {
            fprintf(k->out, "<text x=\"%.0f\" y=\"%.0f\" class=\"muted end\" style=\"font-size:10px\">",
                    LEFT - 8, y + 8);
            const char *name = ss_lane_name(b->program, lane, text, sizeof text);
            snprintf(label, sizeof label, "%.*s", ss_utf8_cut(name, 21), name); /* "to " and 18 of a class */
            ss_xml_escape(k->out, label);
            fputs("</text>\n", k->out);
        }
        put_boxes(k, lane, y);
        if (lane->kind == SS_LANE_COMPUTE)
            put_labels(k, lane, y);
        y += lane_height(lane) + 1;
    }
    fputs("</g>\n", k->out);
    return y + GAP;
}

/* Draws the legend of the phases and labels that occur, in the order of their enums. Returns where it
 * ends. */
static double put_legend(const struct chart *k)
{
    const struct ss_record_book *b = k->book;
    unsigned phase = 0, label = 0;
    double x = LEFT;
    char buf[8], text[48];

    for (int l = 0; l < b->nlanes; l++)
        for (size_t i = 0; i < b->lanes[l].n; i++) {
            const struct ss_box *box = &b->lanes[l].boxes[i];
            if (box->kind == SS_BOX_RUN)
                phase |= 1u << (b->program->classes[b->lanes[l].cls].slots[box->slot].phase + 1);
            else if (box->kind != SS_BOX_SEND)
                label |= 1u << box->label;
        }
    for (int i = 0; i < SS_PHASE_COUNT && k->color == SS_COLOR_PHASE; i++)
        if (phase & 2u << i)
            x = ss_svg_key(k->out, x, ss_color_phase(i, 0, k->chunks, buf), ss_svg_phase(i));
    if (k->color == SS_COLOR_PHASE && k->chunks > 1) {
        snprintf(text, sizeof text, k->chunks > 2 ? "lighter: chunk 1 to %d" : "lighter: chunk %d",
                 k->chunks - 1);
        x = ss_svg_key(k->out, x, ss_color_phase(SS_PHASE_F, k->chunks - 1, k->chunks, buf), text);
    }
    if (k->color == SS_COLOR_MICROBATCH)
        x = ss_svg_key(k->out, x, ss_color_microbatch(0, 0, buf), "colour: microbatch, backward darker");
    if (phase & 1)
        x = ss_svg_key(k->out, x, ss_color_phase(-1, 0, 1, buf), "outside the schedule");
    for (int i = 0; i < SS_LABEL_COUNT; i++)
        if (label & 1u << i) {
            snprintf(text, sizeof text,
                     i >= SS_LABEL_TP && i <= SS_LABEL_PP ? "%s communication" : "waits: %s",
                     ss_label_name(i));
            x = ss_svg_key(k->out, x, ss_color_label(i), text);
        }
    return ss_svg_key(k->out, x, "url(#idle)", "idle");
}

static void put_head(const struct chart *k)
{
    const struct ss_program *p = k->book->program;
    char title[160], text[256], a[48], b[48];
    double whole = k->timeline->iteration_s;
    int part = k->start > 0 || k->end < k->book->makespan;

    snprintf(title, sizeof title, "%s: %s an iteration", p->name, ss_text_time(whole, a, sizeof a));
    if (k->book->nshown < p->nclasses)
        snprintf(title + strlen(title), sizeof title - strlen(title),
                 "; %d of %d classes, the first of each stage", k->book->nshown, p->nclasses);
    snprintf(text, sizeof text,
             "%s from %s to %s. %d of %d classes of equal ranks, a row each; at the right the share of the "
             "iteration that its kernels run. Numbers are microbatches.",
             part ? "A part," : "The whole iteration,",
             ss_axis_time(k->start, (k->end - k->start) / 1000, k->end, a, sizeof a),
             ss_axis_time(k->end, (k->end - k->start) / 1000, k->end, b, sizeof b), k->book->nshown,
             p->nclasses);
    ss_svg_begin(k->out, LEFT + k->width + RIGHT, k->height, title, text);
    ss_svg_text(k->out, 16, 26, "title", title);
    if (part) {
        snprintf(text, sizeof text, "window %s to %s", a, b);
        ss_svg_text(k->out, LEFT + k->width, 26, "muted end", text);
    } else if (k->book->makespan > whole * (1 + 1e-9))
        ss_svg_text(k->out, LEFT + k->width, 26, "muted end",
                    "no global barrier: ranks run on into the next iteration");
    ss_svg_text(k->out, LEFT + k->width + 8, 58, "small muted", "busy");
}

void ss_svg_gantt(const struct ss_record_book *book, const struct ss_timeline *t, int color, FILE *out)
{
    struct chart k = {book, t, out,         color,     most_chunks(book->program),
                      0,    0, book->start, book->end, SMALLEST};
    double typical = typical_box(book), y = TOP;

    if (!(k.end > k.start))
        k.end = k.start + 1e-9;
    k.width = typical > 0 ? (k.end - k.start) / typical * BOX_FOR_TEXT : NARROWEST;
    if (k.width > 4 * WIDEST) {
        k.width = OVERVIEW;
        k.smallest = fmax(SMALLEST, book->nlanes * OVERVIEW / MOST_BOXES);
    }
    k.width = floor(fmin(fmax(k.width, NARROWEST), WIDEST));
    k.height = chart_height(book);
    k.out = NULL; /* a narrow chart is as wide as its legend */
    k.width = fmax(k.width, ceil(put_legend(&k) - LEFT));
    k.out = out;
    put_head(&k);
    put_legend(&k);
    ss_svg_time_axis(out, LEFT, k.height - 30, k.width, TOP - 8, k.start, k.end, 1);
    for (int c = 0; c < book->program->nclasses; c++)
        if (book->shown[c])
            y = put_class(&k, c, y);
    ss_svg_end(out);
}
