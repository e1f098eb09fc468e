/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that a program can run: it runs all classes by counters, as far as they go. A wait depends on what
 * has been posted, never on durations; so a program that runs here runs on every engine, and one that is
 * stuck here is stuck there. */
#include "base/base.h"
#include "program/program_internal.h"

struct stream {
    int *posted; /* collectives in order of post */
    size_t n, cap;
    size_t done, waited;
    bool counted; /* the head is among the arrived */
};

struct channel {
    int64_t sent, received, send_waited, receive_waited;
};

struct runner {
    const struct ss_program *p;
    struct ss_error *err;
    struct ss_cursor *at;
    size_t *stream_base; /* first stream of a class */
    struct stream *streams;
    struct channel *channels;
    int *arrived;     /* [collective]: members at whose head it is */
    int *look, nlook; /* classes with new heads */
    char *listed;
    double *memory, *peak; /* [class * SS_MEM_COUNT] */
    int *queue, head, count;
    char *queued;
};

static void wake(struct runner *r, int cls)
{
    if (r->queued[cls])
        return;
    r->queued[cls] = 1;
    r->queue[(r->head + r->count++) % r->p->nclasses] = cls;
}

/* Fails at the event at hand. */
static int fail_at(struct runner *r, int cls, const struct ss_cursor *at, const char *why)
{
    const struct ss_program_class *k = &r->p->classes[cls];
    const struct ss_template *t = &r->p->templates[ss_program_template_at(k, at->slot)];
    return ss_fail(r->err, SS_ERR_INPUT, ss_program_file(r->p),
                   ss_program_event_line(r->p, cls, at->slot, at->event),
                   "class %s slot %d event %d (%s in %s): %s", k->name, at->slot, at->event,
                   ss_event_name(t->events[at->event].kind), t->name, why);
}

/* ---- collectives ---- */

static struct stream *stream_of(struct runner *r, int cls, int stream)
{
    return &r->streams[r->stream_base[cls] + (size_t)stream];
}

static int head_of(const struct stream *s)
{
    return s->done < s->n ? s->posted[s->done] : -1;
}

/* Whether the collective waits at the head of one of the class's streams. */
static bool waits_at_head(struct runner *r, int cls, int collective)
{
    for (int i = 0; i < r->p->classes[cls].nstreams; i++)
        if (head_of(stream_of(r, cls, i)) == collective)
            return true;
    return false;
}

static void look_at(struct runner *r, int cls)
{
    if (r->listed[cls])
        return;
    r->listed[cls] = 1;
    r->look[r->nlook++] = cls;
}

/* All members are there: it begins, and for want of times it ends at once. */
static void collective_ends(struct runner *r, int collective)
{
    const struct ss_collective *k = &r->p->collectives[collective];
    r->arrived[collective] = 0;
    for (int i = 0; i < k->nmembers; i++) {
        for (int n = 0; n < r->p->classes[k->members[i]].nstreams; n++) {
            struct stream *s = stream_of(r, k->members[i], n);
            if (!s->counted || head_of(s) != collective)
                continue;
            s->counted = false;
            s->done++;
        }
        wake(r, k->members[i]);
        look_at(r, k->members[i]);
    }
}

/* Counts the heads of a class that are new. A member counts once for a collective, even if it is at the
 * head of two of its streams. */
static void count_heads(struct runner *r, int cls)
{
    for (int i = 0; i < r->p->classes[cls].nstreams; i++) {
        struct stream *s = stream_of(r, cls, i);
        int collective = head_of(s);
        bool other = false;
        for (int k = 0; k < r->p->classes[cls].nstreams && collective >= 0; k++)
            other = other ||
                    (k != i && stream_of(r, cls, k)->counted && head_of(stream_of(r, cls, k)) == collective);
        if (collective < 0 || s->counted || other)
            continue;
        s->counted = true;
        if (++r->arrived[collective] == r->p->collectives[collective].nmembers)
            collective_ends(r, collective);
    }
}

static int do_post(struct runner *r, int cls, const struct ss_event *ev)
{
    struct stream *s = stream_of(r, cls, ev->aux);
    SS_NEED(!ss_grow(&s->posted, &s->cap, s->n + 1, sizeof *s->posted), r->err);
    s->posted[s->n++] = ev->index;
    look_at(r, cls);
    while (r->nlook) {
        int one = r->look[--r->nlook];
        r->listed[one] = 0;
        count_heads(r, one);
    }
    return SS_OK;
}

/* ---- one event ---- */

static int do_memory(struct runner *r, int cls, const struct ss_cursor *at, const struct ss_event *ev)
{
    size_t i = (size_t)cls * SS_MEM_COUNT + (size_t)ev->index;
    r->memory[i] += ev->kind == SS_EV_ALLOC ? ev->amount : -ev->amount;
    if (r->memory[i] > r->peak[i])
        r->peak[i] = r->memory[i];
    if (r->memory[i] >= 0)
        return SS_OK;
    if (r->memory[i] < -1e-9 * r->peak[i])
        return fail_at(r, cls, at, "frees more memory of its class than is allocated");
    r->memory[i] = 0; /* rounding of amounts that are not whole bytes */
    return SS_OK;
}

/* Ended transfers, as each side sees them. */
static int64_t ended(const struct runner *r, int channel, bool sender)
{
    const struct channel *c = &r->channels[channel];
    if (sender && !r->p->channels[channel].rendezvous)
        return c->sent;
    return c->sent < c->received ? c->sent : c->received;
}

/* Runs one event: 0 done, 1 blocked, < 0 error. */
static int step(struct runner *r, int cls, const struct ss_cursor *at, const struct ss_event *ev)
{
    bool on_channel = ev->kind == SS_EV_SEND || ev->kind == SS_EV_RECV || ev->kind == SS_EV_WAIT_SEND ||
                      ev->kind == SS_EV_WAIT_RECV;
    struct channel *c = on_channel ? &r->channels[ev->index] : NULL;
    struct stream *s;
    switch (ev->kind) {
    case SS_EV_SEND:
        c->sent++;
        wake(r, r->p->channels[ev->index].to);
        return 0;
    case SS_EV_RECV:
        c->received++;
        wake(r, r->p->channels[ev->index].from);
        return 0;
    case SS_EV_WAIT_SEND:
        if (c->send_waited >= c->sent)
            return fail_at(r, cls, at, "there is no send to wait for");
        if (c->send_waited >= ended(r, ev->index, true))
            return 1;
        c->send_waited++;
        return 0;
    case SS_EV_WAIT_RECV:
        if (c->receive_waited >= c->received)
            return fail_at(r, cls, at, "there is no receive to wait for");
        if (c->receive_waited >= ended(r, ev->index, false))
            return 1;
        c->receive_waited++;
        return 0;
    case SS_EV_POST: return do_post(r, cls, ev);
    case SS_EV_WAIT:
        s = stream_of(r, cls, ev->aux);
        if (s->waited >= s->n)
            return fail_at(r, cls, at, "there is no collective to wait for on this stream");
        if (s->waited >= s->done)
            return 1;
        s->waited++;
        return 0;
    case SS_EV_ALLOC:
    case SS_EV_FREE: return do_memory(r, cls, at, ev);
    default: return 0;
    }
}

static int run_class(struct runner *r, int cls)
{
    const struct ss_event *ev;
    for (;;) {
        struct ss_cursor here = r->at[cls], next = here;
        if (!(ev = ss_program_next(r->p, cls, &next)))
            return SS_OK;
        int rc = step(r, cls, &here, ev);
        if (rc)
            return rc < 0 ? rc : SS_OK;
        r->at[cls] = next;
    }
}

static int run(struct runner *r)
{
    for (int c = 0; c < r->p->nclasses; c++)
        wake(r, c);
    while (r->count) {
        int cls = r->queue[r->head];
        r->head = (r->head + 1) % r->p->nclasses;
        r->count--;
        r->queued[cls] = 0;
        SS_TRY(run_class(r, cls));
    }
    return SS_OK;
}

/* ---- when nothing moves any more ---- */

static bool blocked(const struct runner *r, int cls)
{
    return r->at[cls].slot < r->p->classes[cls].nslots;
}

static const struct ss_event *event_at(const struct runner *r, int cls)
{
    struct ss_cursor at = r->at[cls];
    return ss_program_next(r->p, cls, &at);
}

/* The class that must move before a blocked one can. */
static int waits_for(struct runner *r, int cls)
{
    const struct ss_event *ev = event_at(r, cls);
    if (ev->kind == SS_EV_WAIT_SEND)
        return r->p->channels[ev->index].to;
    if (ev->kind == SS_EV_WAIT_RECV)
        return r->p->channels[ev->index].from;
    const struct stream *s = stream_of(r, cls, ev->aux);
    const struct ss_collective *k = &r->p->collectives[s->posted[s->done]];
    int missing = -1;
    for (int i = 0; i < k->nmembers; i++) /* a blocked one explains more than one that has ended */
        if (!waits_at_head(r, k->members[i], s->posted[s->done]) &&
            (missing < 0 || blocked(r, k->members[i]))) {
            missing = k->members[i];
            if (blocked(r, missing))
                break;
        }
    return missing < 0 ? cls : missing;
}

/* "class a slot 1 event 2 (wait-recv on b>a tag 0, line 14) waits for class b" */
static void describe(struct runner *r, int cls, char out[320])
{
    const struct ss_event *ev = event_at(r, cls);
    const struct ss_program_class *k = &r->p->classes[cls];
    int line = ss_program_event_line(r->p, cls, r->at[cls].slot, r->at[cls].event), other = waits_for(r, cls);
    char what[128], where[32] = "";
    if (line)
        snprintf(where, sizeof where, ", line %d", line);
    if (ev->kind == SS_EV_WAIT) {
        const struct stream *s = stream_of(r, cls, ev->aux);
        snprintf(what, sizeof what, "wait for '%s' on stream %d", r->p->collectives[s->posted[s->done]].name,
                 ev->aux);
    } else {
        const struct ss_channel *c = &r->p->channels[ev->index];
        snprintf(what, sizeof what, "%s on channel %s>%s tag %d", ss_event_name(ev->kind),
                 r->p->classes[c->from].name, r->p->classes[c->to].name, c->tag);
    }
    snprintf(out, 320, "class %s slot %d event %d (%s%s) waits for class %s%s", k->name, r->at[cls].slot,
             r->at[cls].event, what, where, r->p->classes[other].name,
             blocked(r, other) ? "" : ", which has ended");
}

static int deadlock(struct runner *r)
{
    char first[320], second[320];
    int total = 0, cls = -1, before = -1;
    for (int c = r->p->nclasses - 1; c >= 0; c--)
        if (blocked(r, c)) {
            total++;
            cls = c;
        }
    /* Follows "waits for" to the root: a class that waits for an ended class, or a cycle. */
    for (int i = 0; i < r->p->nclasses; i++) {
        int next = waits_for(r, cls);
        if (!blocked(r, next))
            break;
        before = cls;
        cls = next;
    }
    int partner = blocked(r, waits_for(r, cls)) ? waits_for(r, cls) : before;
    int line = ss_program_event_line(r->p, cls, r->at[cls].slot, r->at[cls].event);
    describe(r, cls, first);
    if (partner >= 0 && partner != cls) {
        describe(r, partner, second);
        ss_fail(r->err, SS_ERR_DEADLOCK, ss_program_file(r->p), line, "deadlock: %s; %s", first, second);
    } else {
        ss_fail(r->err, SS_ERR_DEADLOCK, ss_program_file(r->p), line, "deadlock: %s", first);
    }
    return ss_hint(r->err, SS_ERR_DEADLOCK, "%d of %d classes are blocked; change the order of their events",
                   total, r->p->nclasses);
}

static int leftovers(struct runner *r)
{
    const struct ss_program *p = r->p;
    for (int i = 0; i < p->nchannels; i++)
        if (r->channels[i].sent != r->channels[i].received)
            return ss_fail(r->err, SS_ERR_INPUT, ss_program_file(p), p->source ? p->source->channel[i] : 0,
                           "channel from %s to %s (tag %d): %lld sends meet %lld receives",
                           p->classes[p->channels[i].from].name, p->classes[p->channels[i].to].name,
                           p->channels[i].tag, (long long)r->channels[i].sent,
                           (long long)r->channels[i].received);
    for (int c = 0; c < p->nclasses; c++)
        for (int k = 0; k < p->classes[c].nstreams; k++) {
            int collective = head_of(stream_of(r, c, k));
            if (collective >= 0)
                return ss_fail(r->err, SS_ERR_INPUT, ss_program_file(p),
                               p->source ? p->source->collective[collective] : 0,
                               "collective '%s' is posted by class %s but never by all its members",
                               p->collectives[collective].name, p->classes[c].name);
        }
    return SS_OK;
}

static int make_room(struct runner *r)
{
    const struct ss_program *p = r->p;
    size_t n = (size_t)p->nclasses, streams = 0;
    r->stream_base = ss_calloc(n, sizeof *r->stream_base);
    for (int c = 0; r->stream_base && c < p->nclasses; c++) {
        r->stream_base[c] = streams;
        streams += (size_t)p->classes[c].nstreams;
    }
    r->at = ss_calloc(n, sizeof *r->at);
    r->streams = ss_calloc(streams, sizeof *r->streams);
    r->channels = ss_calloc((size_t)p->nchannels, sizeof *r->channels);
    r->arrived = ss_calloc((size_t)p->ncollectives, sizeof *r->arrived);
    r->look = ss_calloc(n, sizeof *r->look);
    r->listed = ss_calloc(n, 1);
    r->memory = ss_calloc(n * SS_MEM_COUNT, sizeof *r->memory);
    r->peak = ss_calloc(n * SS_MEM_COUNT, sizeof *r->peak);
    r->queue = ss_calloc(n, sizeof *r->queue);
    r->queued = ss_calloc(n, 1);
    bool ok = r->stream_base && r->at && r->streams && r->channels && r->arrived && r->look && r->listed &&
              r->memory && r->peak && r->queue && r->queued;
    return ok ? SS_OK : ss_nomem(r->err);
}

static void free_room(struct runner *r)
{
    for (int c = 0; r->streams && c < r->p->nclasses; c++)
        for (int k = 0; k < r->p->classes[c].nstreams; k++)
            free(stream_of(r, c, k)->posted);
    SS_FREE(r->stream_base, r->at, r->streams, r->channels, r->arrived, r->look, r->listed, r->memory,
            r->peak, r->queue, r->queued);
}

int ss_program_check_order(const struct ss_program *p, struct ss_error *err)
{
    struct runner r = {.p = p, .err = err};
    int rc = make_room(&r);
    SS_THEN(rc, run(&r));
    bool stuck = false;
    for (int c = 0; !rc && c < p->nclasses; c++)
        stuck = stuck || blocked(&r, c);
    SS_THEN(rc, stuck ? deadlock(&r) : leftovers(&r));
    free_room(&r);
    return rc;
}
