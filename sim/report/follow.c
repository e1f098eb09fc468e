/* SPDX-License-Identifier: Apache-2.0 */
#include "report/follow.h"

#include "base/base.h"

/* Moves a cursor on to the next event of `kind` whose index is `want`; for POST and WAIT `want` is the
 * stream. */
static const struct ss_event *seek(const struct ss_program *p, int cls, struct ss_cursor *next, int kind,
                                   int want, struct ss_place *at)
{
    for (;;) {
        struct ss_cursor here = *next;
        const struct ss_event *e = ss_program_next(p, cls, next);
        if (e && (e->kind != kind || (kind == SS_EV_POST || kind == SS_EV_WAIT ? e->aux : e->index) != want))
            continue;
        *at = e ? (struct ss_place){here.slot, here.event} : (struct ss_place){-1, -1};
        return e;
    }
}

static void next_post(const struct ss_program *p, int cls, int stream, struct ss_stream_cursor *c)
{
    const struct ss_event *e = seek(p, cls, &c->next, SS_EV_POST, stream, &c->head);

    c->collective = e ? e->index : -1;
}

int ss_follow_init(struct ss_follow *f, const struct ss_program *p)
{
    int streams = 0;

    memset(f, 0, sizeof *f);
    f->program = p;
    f->first_stream = ss_calloc((size_t)p->nclasses + 1, sizeof *f->first_stream);
    f->send = ss_calloc((size_t)p->nchannels + 1, sizeof *f->send);
    f->recv = ss_calloc((size_t)p->nchannels + 1, sizeof *f->recv);
    for (int c = 0; f->first_stream && c < p->nclasses; c++) {
        f->first_stream[c] = streams;
        streams += p->classes[c].nstreams;
    }
    f->stream = ss_calloc((size_t)streams + 1, sizeof *f->stream);
    if (!f->first_stream || !f->send || !f->recv || !f->stream) {
        ss_follow_free(f);
        return SS_ERR_NOMEM;
    }
    f->first_stream[p->nclasses] = streams;
    for (int c = 0; c < p->nclasses; c++)
        for (int s = 0; s < p->classes[c].nstreams; s++)
            next_post(p, c, s, &f->stream[f->first_stream[c] + s]);
    return SS_OK;
}

void ss_follow_free(struct ss_follow *f)
{
    SS_FREE(f->send, f->recv, f->stream, f->first_stream);
    memset(f, 0, sizeof *f);
}

void ss_follow_message(struct ss_follow *f, int channel, struct ss_place *send, struct ss_place *recv)
{
    const struct ss_program *p = f->program;
    const struct ss_channel *c = &p->channels[channel];

    seek(p, c->from, &f->send[channel], SS_EV_SEND, channel, send);
    seek(p, c->to, &f->recv[channel], SS_EV_WAIT_RECV, channel, recv);
}

int ss_follow_post(struct ss_follow *f, int cls, int collective, struct ss_place *post)
{
    int first = f->first_stream[cls], n = f->first_stream[cls + 1] - first;

    for (int s = 0; s < n; s++) {
        struct ss_stream_cursor *c = &f->stream[first + s];
        if (c->collective != collective)
            continue;
        *post = c->head;
        next_post(f->program, cls, s, c);
        return s;
    }
    *post = (struct ss_place){-1, -1};
    return -1;
}

const struct ss_event *ss_place_event(const struct ss_program *p, int cls, int slot, int event)
{
    return &p->templates[p->classes[cls].slots[slot].template_index].events[event];
}

/* Returns the collective that the WAIT at this place waits for; -1: none. The k-th WAIT of a stream is
 * for its k-th POST. */
static int awaited(struct ss_follow *f, int cls, int slot, int event)
{
    const struct ss_program *p = f->program;
    int stream = ss_place_event(p, cls, slot, event)->aux;
    struct ss_place at, unused;

    if (stream < 0 || stream >= f->first_stream[cls + 1] - f->first_stream[cls])
        return -1;
    struct ss_stream_cursor *c = &f->stream[f->first_stream[cls] + stream];
    for (;;) {
        if (!seek(p, cls, &c->wait, SS_EV_WAIT, stream, &at))
            return -1;
        const struct ss_event *post = seek(p, cls, &c->waited, SS_EV_POST, stream, &unused);
        if (at.slot == slot && at.event == event)
            return post ? post->index : -1;
    }
}

int ss_follow_label(struct ss_follow *f, int cls, int slot, int event)
{
    if (ss_place_event(f->program, cls, slot, event)->kind != SS_EV_WAIT)
        return SS_LABEL_PP;
    int collective = awaited(f, cls, slot, event);
    return collective < 0 ? SS_LABEL_OTHER : f->program->collectives[collective].label;
}

int ss_stream_label(const struct ss_program *p, int cls, int stream)
{
    struct ss_stream_cursor c = {0};

    next_post(p, cls, stream, &c);
    return c.collective >= 0 ? p->collectives[c.collective].label : SS_LABEL_OTHER;
}
