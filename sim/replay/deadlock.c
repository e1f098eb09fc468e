/* SPDX-License-Identifier: Apache-2.0 */
/* Says who waits for whom when a replay cannot go on. Slow and only for the message. */
#include "base/base.h"
#include "replay/engine.h"
#include "replay/state.h"

struct blocked {
    const struct ss_program *p;
    const struct ss_cursor *at;
    struct ss_state st;
    int *streams, *seen;
};

static void apply(struct blocked *b, int cls, const struct ss_event *e)
{
    struct ss_state *st = &b->st;
    switch (e->kind) {
    case SS_EV_SEND: st->channels[e->index].sends++; break;
    case SS_EV_RECV: st->channels[e->index].recvs++; break;
    case SS_EV_WAIT_SEND: st->channels[e->index].send_waits++; break;
    case SS_EV_WAIT_RECV: st->channels[e->index].recv_waits++; break;
    case SS_EV_WAIT: st->streams[st->stream0[cls] + e->aux].waited++; break;
    case SS_EV_POST:
        ss_state_post(st, st->stream0[cls] + e->aux, e->index, ss_state_member(st, e->index, cls));
        break;
    default: break;
    }
}

/* Everything before the cursors has happened, and all transfers that could end have ended. */
static void rebuild(struct blocked *b)
{
    const struct ss_program *p = b->p;
    for (int c = 0; c < p->nclasses; c++)
        for (int s = 0; s < p->classes[c].nslots && s <= b->at[c].slot; s++) {
            const struct ss_template *t = &p->templates[ss_program_template_at(&p->classes[c], s)];
            int n = s < b->at[c].slot ? t->nevents : b->at[c].event;
            for (int e = 0; e < n; e++)
                apply(b, c, &t->events[e]);
        }
    while (b->st.nready) {
        int i = b->st.ready[--b->st.nready], n = p->collectives[b->st.instances[i].collective].nmembers;
        ss_state_end_instance(&b->st, i, b->streams);
        for (int m = 0; m < n; m++)
            ss_state_next(&b->st, b->streams[m]);
    }
}

static const struct ss_event *event_at(const struct blocked *b, int cls)
{
    const struct ss_program_class *c = &b->p->classes[cls];
    if (b->at[cls].slot >= c->nslots)
        return NULL;
    return &b->p->templates[ss_program_template_at(c, b->at[cls].slot)].events[b->at[cls].event];
}

/* A member that the collective at the head of the stream still misses. */
static int missing_member(const struct blocked *b, const struct ss_stream_state *s)
{
    struct ss_queued q = s->ring[s->ended & s->mask];
    struct ss_instance in = {.collective = q.collective, .number = q.instance};
    for (int m = b->st.member0[q.collective]; m < b->st.member0[q.collective + 1]; m++) {
        int c = b->st.member[m];
        if (ss_state_stream_of(&b->st, &in, c) == b->st.stream0[c + 1])
            return c;
    }
    return -1;
}

/* The class that a blocked class waits for, -1 when nobody can help. */
static int peer_of(const struct blocked *b, int cls)
{
    const struct ss_event *e = event_at(b, cls);
    if (e->kind == SS_EV_WAIT_SEND || e->kind == SS_EV_WAIT_RECV) {
        const struct ss_channel_state *s = &b->st.channels[e->index];
        const struct ss_channel *ch = &b->p->channels[e->index];
        uint32_t own = e->kind == SS_EV_WAIT_SEND ? s->sends : s->recvs;
        uint32_t k = e->kind == SS_EV_WAIT_SEND ? s->send_waits : s->recv_waits;
        if (k >= own)
            return -1;
        return e->kind == SS_EV_WAIT_SEND ? ch->to : ch->from;
    }
    if (e->kind != SS_EV_WAIT)
        return -1;
    const struct ss_stream_state *s = &b->st.streams[b->st.stream0[cls] + e->aux];
    return s->waited >= s->posted || s->ended == s->posted ? -1 : missing_member(b, s);
}

static void describe_what(const struct blocked *b, int cls, const struct ss_event *e, int peer, char *buf,
                          size_t size)
{
    const struct ss_program_class *classes = b->p->classes;
    if (e->kind == SS_EV_WAIT) {
        const struct ss_stream_state *s = &b->st.streams[b->st.stream0[cls] + e->aux];
        if (peer < 0)
            snprintf(buf, size, "collective %u of stream %d, which it never posts", s->waited + 1, e->aux);
        else
            snprintf(buf, size, "collective %s on stream %d, where %s is missing",
                     b->p->collectives[s->ring[s->ended & s->mask].collective].name, e->aux,
                     classes[peer].name);
        return;
    }
    int sends = e->kind == SS_EV_WAIT_SEND;
    const struct ss_channel_state *s = &b->st.channels[e->index];
    const struct ss_channel *ch = &b->p->channels[e->index];
    snprintf(buf, size, "%s %u %s %s (channel %d, tag %d)%s", sends ? "send" : "receive",
             (sends ? s->send_waits : s->recv_waits) + 1, sends ? "to" : "from",
             classes[sends ? ch->to : ch->from].name, e->index, ch->tag,
             peer < 0 ? ", which it never posts" : "");
}

static void describe(const struct blocked *b, int cls, char *buf, size_t size)
{
    const struct ss_event *e = event_at(b, cls);
    const struct ss_program_class *c = &b->p->classes[cls];
    const struct ss_cursor *at = &b->at[cls];
    char what[200];
    int peer = peer_of(b, cls);
    describe_what(b, cls, e, peer, what, sizeof what);
    int n = snprintf(buf, size, "%s slot %d event %d (%s) waits for %s", c->name, at->slot, at->event,
                     b->p->templates[ss_program_template_at(c, at->slot)].name, what);
    if (peer >= 0 && !event_at(b, peer) && n > 0 && (size_t)n < size)
        snprintf(buf + n, size - (size_t)n, "; %s is at its end", b->p->classes[peer].name);
}

/* From the lowest blocked class along the waits: the first one of a cycle, or the last before the end. */
static int culprit(struct blocked *b, int *count)
{
    int c = -1, blocked = 0;
    for (int i = b->p->nclasses - 1; i >= 0; i--)
        if (event_at(b, i)) {
            c = i;
            blocked++;
        }
    *count = blocked;
    while (c >= 0 && !b->seen[c]) {
        b->seen[c] = 1;
        int peer = peer_of(b, c);
        if (peer < 0 || !event_at(b, peer))
            break;
        c = peer;
    }
    return c;
}

int ss_deadlock_fail(const struct ss_program *p, const struct ss_cursor *at, struct ss_error *err)
{
    struct blocked b = {.p = p, .at = at};
    char first[400] = "", second[400] = "", more[64] = "";
    int members = 1;
    for (int g = 0; g < p->ncollectives; g++)
        if (p->collectives[g].nmembers > members)
            members = p->collectives[g].nmembers;
    b.streams = ss_calloc((size_t)members, sizeof *b.streams);
    b.seen = ss_calloc((size_t)p->nclasses + 1, sizeof *b.seen);
    if (ss_state_init(&b.st, p) == 0 && b.streams && b.seen) {
        int count, c, peer;
        rebuild(&b);
        c = culprit(&b, &count);
        peer = peer_of(&b, c);
        describe(&b, c, first, sizeof first);
        int two = peer >= 0 && peer != c && event_at(&b, peer);
        if (two)
            describe(&b, peer, second, sizeof second);
        int others = count - 1 - two;
        if (others > 0)
            snprintf(more, sizeof more, "; %d more %s blocked", others,
                     others > 1 ? "classes are" : "class is");
    }
    ss_state_free(&b.st);
    SS_FREE(b.streams, b.seen);
    int rc = ss_fail(err, SS_ERR_DEADLOCK, NULL, 0, "the job blocks for ever: %s%s%s%s", first,
                     second[0] ? "; " : "", second, more);
    return ss_hint(
        err, rc,
        "every send needs a receive on its channel, and the members of a collective post in one order");
}
