/* SPDX-License-Identifier: Apache-2.0 */
#include "report/record.h"

#include "base/base.h"

/* boxes of a slot, on average: its computation, a message, and now and then a wait */
#define BOXES_A_SLOT 2.5

/* the most rows of a picture that anybody looks at */
#define MOST_ROWS 128

static int phase_of(const struct ss_record_book *b, int cls, int slot)
{
    return slot < 0 ? -1 : b->program->classes[cls].slots[slot].phase;
}

/* Merges a new box into the last one of the lane if both belong to one slot, or are too short to tell
 * apart. Returns 1 if it did. */
static int merged(const struct ss_record_book *b, const struct ss_lane *lane, const struct ss_box *box)
{
    struct ss_box *last = lane->n ? &lane->boxes[lane->n - 1] : NULL;

    if (!last || last->kind != box->kind)
        return 0;
    int touch = box->kind == SS_BOX_RUN && last->slot == box->slot && box->start == last->end;
    if (!touch && !(box->end - last->start <= b->quantum))
        return 0;
    last->mixed |= phase_of(b, lane->cls, last->slot) != phase_of(b, lane->cls, box->slot);
    last->end = fmax(last->end, box->end);
    last->busy += box->end - box->start;
    last->bytes += box->bytes;
    if (box->kind == SS_BOX_RUN)
        last->index = box->index;
    if (!touch)
        last->count++;
    return 1;
}

static void add(struct ss_record_book *b, struct ss_lane *lane, struct ss_box box)
{
    if (!b->shown[lane->cls] || box.end < b->start || box.start > b->end || !(box.end > box.start))
        return;
    if (box.kind == SS_BOX_WAIT && box.end - box.start < b->quantum / 2)
        return;
    box.busy = box.end - box.start;
    box.count = 1;
    if (merged(b, lane, &box))
        return;
    if (ss_grow(&lane->boxes, &lane->cap, lane->n + 1, sizeof box)) {
        b->failed = 1;
        return;
    }
    lane->boxes[lane->n++] = box;
}

static void on_span(void *ctx, int cls, int slot, int event, double start, double busy_from, double end)
{
    struct ss_record_book *b = ctx;
    const struct ss_program *p = b->program;
    struct ss_lane *lane = &b->lanes[b->first_lane[cls]];

    if (ss_place_event(p, cls, slot, event)->kind == SS_EV_COMPUTE) {
        int microbatch = p->classes[cls].slots[slot].microbatch;
        add(b, lane, (struct ss_box){start, end, 0, 0, SS_BOX_RUN, slot, 0, microbatch, 1, 0});
        return;
    }
    int label = ss_follow_label(&b->follow, cls, slot, event);
    add(b, lane, (struct ss_box){busy_from, end, 0, 0, SS_BOX_WAIT, slot, label, -1, 1, 0});
}

static void on_transfer(void *ctx, int channel, int collective, double start, double end, double bytes)
{
    struct ss_record_book *b = ctx;
    struct ss_place from, to;

    if (channel >= 0) {
        ss_follow_message(&b->follow, channel, &from, &to);
        add(b, &b->lanes[b->send_lane[channel]],
            (struct ss_box){start, end, 0, bytes, SS_BOX_SEND, from.slot, SS_LABEL_PP, channel, 1, 0});
        return;
    }
    const struct ss_collective *c = &b->program->collectives[collective];
    for (int i = 0; i < c->nmembers; i++) {
        int cls = c->members[i], stream = ss_follow_post(&b->follow, cls, collective, &from);
        if (stream < 0)
            continue;
        int lane = b->first_lane[cls + 1] - b->program->classes[cls].nstreams + stream;
        add(b, &b->lanes[lane],
            (struct ss_box){start, end, 0, c->bytes, SS_BOX_COLLECTIVE, from.slot, c->label, collective, 1,
                            0});
    }
}

static void choose_classes(struct ss_record_book *b)
{
    const struct ss_program *p = b->program;

    for (int c = 0; c < p->nclasses && b->nshown < 4 * MOST_ROWS; c++) {
        int first = 1;
        for (int k = 0; k < c && p->nclasses > MOST_ROWS; k++)
            first &= p->classes[k].stage != p->classes[c].stage || !b->shown[k];
        b->shown[c] = (unsigned char)first;
        b->nshown += first;
    }
}

static void make_lanes(struct ss_record_book *b)
{
    const struct ss_program *p = b->program;
    int n = 0;

    for (int c = 0; c < p->nclasses; c++) {
        b->first_lane[c] = n;
        b->lanes[n++] = (struct ss_lane){.cls = c, .kind = SS_LANE_COMPUTE};
        for (int i = 0; i < p->nchannels; i++) {
            if (p->channels[i].from != c)
                continue;
            b->send_lane[i] = n;
            b->lanes[n++] = (struct ss_lane){.cls = c, .kind = SS_LANE_SEND, .index = i};
        }
        for (int s = 0; s < p->classes[c].nstreams; s++)
            b->lanes[n++] = (struct ss_lane){.cls = c, .kind = SS_LANE_STREAM, .index = s};
    }
    b->first_lane[p->nclasses] = n;
    b->nlanes = n;
}

int ss_book_init(struct ss_record_book *b, const struct ss_program *p, double start, double end,
                 double makespan, double most)
{
    size_t lanes = (size_t)p->nclasses + (size_t)p->nchannels, classes = (size_t)p->nclasses;
    double slots = 0;

    memset(b, 0, sizeof *b);
    b->program = p;
    b->start = start;
    b->end = end;
    b->makespan = makespan;
    for (size_t c = 0; c < classes; c++) {
        lanes += (size_t)p->classes[c].nstreams;
        slots += p->classes[c].nslots;
    }
    if (makespan > 0)
        slots *= (end - start) / makespan;
    /* A merged box is about a quantum long, so this many fill the lanes twice over at worst. */
    if (slots * BOXES_A_SLOT > most)
        b->quantum = 2 * (end - start) * (double)lanes / most;
    b->lanes = ss_calloc(lanes + 1, sizeof *b->lanes);
    b->first_lane = ss_calloc(classes + 1, sizeof *b->first_lane);
    b->send_lane = ss_calloc((size_t)p->nchannels + 1, sizeof *b->send_lane);
    b->shown = ss_calloc(classes + 1, sizeof *b->shown);
    if (!b->lanes || !b->first_lane || !b->send_lane || !b->shown || ss_follow_init(&b->follow, p)) {
        ss_book_free(b);
        return SS_ERR_NOMEM;
    }
    choose_classes(b);
    make_lanes(b);
    return SS_OK;
}

void ss_book_free(struct ss_record_book *b)
{
    for (int i = 0; b->lanes && i < b->nlanes; i++)
        free(b->lanes[i].boxes);
    SS_FREE(b->lanes, b->first_lane, b->send_lane, b->shown);
    ss_follow_free(&b->follow);
    memset(b, 0, sizeof *b);
}

struct ss_observer ss_book_observer(struct ss_record_book *b)
{
    return (struct ss_observer){b, on_span, on_transfer, NULL};
}

const char *ss_lane_name(const struct ss_program *p, const struct ss_lane *lane, char *buf, size_t size)
{
    if (lane->kind == SS_LANE_COMPUTE) {
        snprintf(buf, size, "compute");
    } else if (lane->kind == SS_LANE_STREAM) {
        int label = ss_stream_label(p, lane->cls, lane->index);
        const char *words = label == SS_LABEL_OTHER ? "collectives" : ss_label_words(label);
        snprintf(buf, size, "%s", words + (strncmp(words, "exposed ", 8) ? 0 : 8));
    } else {
        const struct ss_channel *c = &p->channels[lane->index];
        int same = 0;
        for (int i = 0; i < p->nchannels; i++)
            same += p->channels[i].from == c->from && p->channels[i].to == c->to;
        snprintf(buf, size, same > 1 ? "to %.17s, tag %d" : "to %.17s", p->classes[c->to].name, c->tag);
    }
    return buf;
}
