/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the boxes of lanes: computations, waits, messages, collectives. */
#include "report/gantt.h"

#include "base/base.h"
#include "report/names.h"
#include "report/svg.h"
#include "report/text.h"

int ss_gantt_init(struct ss_gantt *k, const struct ss_program *p, const struct ss_fold *fold, double makespan,
                  double boxes)
{
    int rc = SS_OK;

    k->program = p;
    k->fold = *fold;
    k->chunks = 1;
    for (int c = 0; c < p->nclasses; c++)
        for (int s = 0; s < p->classes[c].nslots; s++)
            if (p->classes[c].slots[s].chunk >= k->chunks)
                k->chunks = p->classes[c].slots[s].chunk + 1;
    for (int i = 0; i < fold->n && !rc; i++)
        rc = ss_book_init(&k->part[i].book, p, fold->part[i].start, fold->part[i].end, makespan,
                          boxes / fold->n);
    return rc;
}

void ss_gantt_free(struct ss_gantt *k)
{
    for (int i = 0; i < SS_FOLD_PARTS; i++) {
        if (k->part[i].book.program)
            ss_book_free(&k->part[i].book);
        ss_bins_free(&k->part[i].memory);
    }
    for (int c = 0; k->second && c < k->program->nclasses; c++)
        free(k->second[c]);
    free(k->second);
    k->second = NULL;
}

static int any_pair(const struct ss_program_class *c)
{
    for (int i = 0; i < c->nslots; i++)
        if (c->slots[i].phase == SS_PHASE_FB)
            return 1;
    return 0;
}

int ss_gantt_pairs(struct ss_gantt *k, const struct ss_schedule *s)
{
    const struct ss_program *p = k->program;
    struct ss_schedule *whole = NULL;
    int any = 0, rc;

    for (int c = 0; c < p->nclasses; c++)
        any |= any_pair(&p->classes[c]);
    if (!any || !s)
        return SS_OK;
    rc = ss_schedule_copy(s, &whole, NULL);
    k->second = rc ? NULL : ss_calloc((size_t)p->nclasses + 1, sizeof *k->second);
    rc = k->second ? SS_OK : SS_ERR_NOMEM;
    for (int c = 0; k->second && c < p->nclasses; c++) {
        const struct ss_program_class *cls = &p->classes[c];
        int stage = cls->stage, at = 0;
        k->second[c] = ss_calloc((size_t)cls->nslots + 1, sizeof **k->second);
        rc = k->second[c] ? rc : SS_ERR_NOMEM;
        for (int i = 0; k->second[c] && i < cls->nslots; i++) {
            k->second[c][i] = -1;
            if (cls->slots[i].phase != SS_PHASE_FB || stage < 0 || stage >= whole->stages)
                continue;
            while (at < whole->nslots[stage] && whole->slots[stage][at].phase != SS_PHASE_FB)
                at++;
            if (at < whole->nslots[stage])
                k->second[c][i] = whole->slots[stage][at++].microbatch2;
        }
    }
    ss_schedule_free(whole);
    return rc;
}

static double length_of(const struct ss_gantt *k, int part)
{
    double length = k->fold.part[part].end - k->fold.part[part].start;

    return length > 0 ? length : 1e-9;
}

void ss_gantt_place(struct ss_gantt *k, double left, double width)
{
    double all = 0;

    for (int i = 0; i < k->fold.n; i++)
        all += length_of(k, i);
    width -= SS_GANTT_GAP * (k->fold.n - 1);
    for (int i = 0; i < k->fold.n; i++) {
        k->part[i].x = left;
        k->part[i].width = width * length_of(k, i) / all;
        left += k->part[i].width + SS_GANTT_GAP;
    }
}

const char *ss_gantt_part_words(const struct ss_gantt *k, int part, char buf[64])
{
    if (part == 1 && k->fold.shown == 1)
        snprintf(buf, 64, "1 of about %d periods", k->fold.periods);
    else if (part == 1)
        snprintf(buf, 64, "%d of about %d periods", k->fold.shown, k->fold.periods);
    else
        snprintf(buf, 64, part ? "cool-down" : "warm-up");
    return buf;
}

double ss_gantt_busy(const struct ss_timeline *t, int cls)
{
    const double *s = t->spent[cls];
    double busy = s[SS_LABEL_COMPUTE] + s[SS_LABEL_RECOMPUTE] + s[SS_LABEL_OPTIMIZER];

    return t->iteration_s > 0 ? busy / t->iteration_s : 0;
}

void ss_gantt_breaks(const struct ss_gantt *k, double y, double bottom)
{
    for (int i = 0; i + 1 < k->fold.n; i++) {
        double x = k->part[i].x + k->part[i].width + SS_GANTT_GAP / 2;
        for (int side = 0; side < 2; side++) {
            fputs("<path class=\"axis\" fill=\"none\" d=\"M", k->out);
            ss_svg_number(k->out, x + 4 * side - 4);
            fprintf(k->out, " %.2fl4 -10", y + 5);
            fprintf(k->out, "m-4 %.2fl4 -10\"/>\n", bottom - y + 10);
        }
    }
}

/* ---- boxes ---- */

static double x_of(const struct ss_gantt *k, int part, double time)
{
    double share = (time - k->fold.part[part].start) / length_of(k, part);

    return k->part[part].x + k->part[part].width * (share < 0 ? 0 : share > 1 ? 1 : share);
}

static const struct ss_program_slot *slot_of(const struct ss_gantt *k, const struct ss_lane *lane,
                                             const struct ss_box *box)
{
    return box->slot < 0 ? NULL : &k->program->classes[lane->cls].slots[box->slot];
}

static const char *box_color(const struct ss_gantt *k, const struct ss_program_slot *s,
                             const struct ss_box *box, char buf[8])
{
    if (box->kind == SS_BOX_WAIT || box->kind == SS_BOX_COLLECTIVE)
        return ss_tone(SS_TONES_LABEL, box->label)->color;
    if (!s || (box->kind == SS_BOX_RUN && box->mixed))
        return "#4a7d8c";
    if (box->kind == SS_BOX_SEND && s->phase < 0)
        return ss_tone(SS_TONES_LABEL, SS_LABEL_PP)->color;
    if (k->color == SS_COLOR_MICROBATCH && s->phase >= 0 && s->microbatch >= 0)
        return ss_tone(SS_TONES_SERIES, s->microbatch)->color;
    return ss_color_phase(s->phase, s->chunk, k->chunks, buf);
}

static void put_tip(const struct ss_gantt *k, const struct ss_lane *lane, const struct ss_box *box)
{
    const struct ss_program *p = k->program;
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
        fprintf(k->out, ", waits: %s", ss_label_words(box->label));
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

static void put_data(const struct ss_gantt *k, const struct ss_program_slot *s, const struct ss_box *box)
{
    fprintf(k->out, " data-op=\"%s\" data-mb=\"%d\" data-chunk=\"%d\" data-start=\"", ss_phase_name(s->phase),
            s->microbatch, s->chunk);
    ss_put_number(box->start, 9, k->out);
    fputs("\" data-end=\"", k->out);
    ss_put_number(box->end, 9, k->out);
    fputc('"', k->out);
}

static void put_rect(const struct ss_gantt *k, double x, double y, double width, double height,
                     const char *fill)
{
    fputs("<rect class=\"b\" x=\"", k->out);
    ss_svg_number(k->out, x);
    fputs("\" y=\"", k->out);
    ss_svg_number(k->out, y);
    fputs("\" width=\"", k->out);
    ss_svg_number(k->out, width);
    fputs("\" height=\"", k->out);
    ss_svg_number(k->out, height);
    fprintf(k->out, "\" fill=\"%s\"", fill);
}

/* Gives the part of its row that a box fills. Waiting is shallower, so that it does not look like work; of microbatches'
 * colours a backward is lower. */
static void part_of(const struct ss_gantt *k, const struct ss_program_slot *s, const struct ss_box *box,
                    double *top, double *bottom)
{
    *top = box->kind == SS_BOX_WAIT ? 0.25 : 0;
    *bottom = box->kind == SS_BOX_WAIT ? 0.75 : 1;
    if (box->kind != SS_BOX_RUN || !s)
        return;
    ss_phase_part(s->phase, top, bottom);
    if (k->color == SS_COLOR_MICROBATCH && s->phase != SS_PHASE_F && s->phase >= 0)
        *top = fmax(*top, 0.2);
}

static void put_box(const struct ss_gantt *k, int part, const struct ss_lane *lane, const struct ss_box *box,
                    double y, double height)
{
    const struct ss_program_slot *s = slot_of(k, lane, box);
    double x = x_of(k, part, box->start), width = fmax(x_of(k, part, box->end) - x, 0.3), top, bottom;
    char buf[8];
    int pair = box->kind == SS_BOX_RUN && s && s->phase == SS_PHASE_FB && box->count == 1;

    part_of(k, s, box, &top, &bottom);
    put_rect(k, x, y + top * height, pair ? width / 2 : width, (bottom - top) * height,
             box_color(k, s, box, buf));
    if (box->count > 1) /* the share of it that is not idle */
        fprintf(k->out, " fill-opacity=\"%.2f\"", fmax(0.3, fmin(1, box->busy / (box->end - box->start))));
    if (!k->bare && box->kind == SS_BOX_RUN && box->count == 1 && s && s->phase >= 0)
        put_data(k, s, box);
    if (k->bare) {
        fputs("/>\n", k->out);
    } else {
        fputc('>', k->out);
        put_tip(k, lane, box);
        fputs("</rect>\n", k->out);
    }
    if (pair) { /* its backward, and a frame around both */
        put_rect(k, x + width / 2, y, width / 2, height,
                 ss_color_phase(SS_PHASE_B, s->chunk, k->chunks, buf));
        fprintf(k->out, "/><path class=\"pair\" d=\"M%.2f %.2fh%.2fv%.2fh%.2fz\"/>\n", x, y, width, height,
                -width);
    }
}

static void take_in(const struct ss_gantt *k, const struct ss_lane *lane, struct ss_box *box,
                    const struct ss_box *next)
{
    const struct ss_program_slot *slots = k->program->classes[lane->cls].slots;

    if (box->kind == SS_BOX_RUN)
        box->mixed |= next->mixed | (slots[box->slot].phase != slots[next->slot].phase);
    box->count += next->slot == box->slot ? 0 : next->count;
    box->bytes += next->bytes;
    box->busy += next->busy;
    box->end = next->end;
}

/* Draws the boxes of a lane. Neighbours that are too narrow to see are drawn as one, also over a wait that is too narrow to see. */
static void put_boxes(const struct ss_gantt *k, int part, const struct ss_lane *lane, double y, double height)
{
    double smallest = k->smallest / k->part[part].width * length_of(k, part);

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
        put_box(k, part, lane, &box, y, height);
    }
}

/* ---- numbers ---- */

size_t ss_gantt_slot_end(const struct ss_lane *lane, size_t i, double *end)
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

void ss_gantt_number(FILE *out, int number, double x, double width, double y, double height, const char *fill)
{
    char text[24];

    snprintf(text, sizeof text, "%d", number);
    if (number >= 0 && height >= 10 && width >= 6.2 * (double)strlen(text) + 1)
        ss_svg_text(out, x + width / 2, y + height / 2 + 3.5, ss_color_light(fill) ? "n k" : "n w", text);
}

/* Writes the number of the microbatch on every slot that has room for it, and both on a pair. */
static void put_numbers(const struct ss_gantt *k, int part, const struct ss_lane *lane, double y,
                        double height)
{
    double end, top, bottom;
    char buf[8];

    for (size_t i = 0, next; i < lane->n && k->smallest <= SS_GANTT_SMALLEST; i = next) {
        const struct ss_box *box = &lane->boxes[i];
        const struct ss_program_slot *s = slot_of(k, lane, box);
        next = ss_gantt_slot_end(lane, i, &end);
        if (box->kind != SS_BOX_RUN || box->count > 1 || !s || s->phase < 0)
            continue;
        double x = x_of(k, part, box->start), width = x_of(k, part, end) - x;
        int second = s->phase == SS_PHASE_FB && k->second && k->second[lane->cls]
                         ? k->second[lane->cls][box->slot]
                         : -1;
        part_of(k, s, box, &top, &bottom);
        ss_gantt_number(k->out, s->microbatch, x, s->phase == SS_PHASE_FB ? width / 2 : width,
                        y + top * height, (bottom - top) * height, box_color(k, s, box, buf));
        if (second >= 0)
            ss_gantt_number(k->out, second, x + width / 2, width / 2, y, height,
                            ss_color_phase(SS_PHASE_B, s->chunk, k->chunks, buf));
    }
}

void ss_gantt_lane(const struct ss_gantt *k, int lane, double y, double height)
{
    for (int i = 0; i < k->fold.n; i++) {
        const struct ss_lane *l = &k->part[i].book.lanes[lane];
        if (l->kind == SS_LANE_COMPUTE) {
            fputs("<rect class=\"track\" x=\"", k->out);
            ss_svg_number(k->out, k->part[i].x);
            fprintf(k->out, "\" y=\"%.0f\" width=\"", y);
            ss_svg_number(k->out, k->part[i].width);
            fprintf(k->out, "\" height=\"%.0f\"/>\n", height);
        }
        put_boxes(k, i, l, y, height);
        if (l->kind == SS_LANE_COMPUTE && !k->bare)
            put_numbers(k, i, l, y, height);
    }
}
