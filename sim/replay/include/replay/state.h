/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who waits for what: channels, streams and collectives of one replay, without any notion of time
 * but the moment a transfer began. Both engines keep their books here; only how long things take is theirs.
 */
#pragma once

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "stepsim/program.h"

/* The last transfer that has ended, and doublings of an error of that time; the native engine alone keeps it. */
struct ss_last {
    double time, doublings;
};

/* Message k of a channel meets the k-th send and the k-th receive. */
struct ss_channel_state {
    uint32_t sends, recvs, begun, ended; /* so far */
    uint32_t send_waits, recv_waits;     /* waits completed */
    uint32_t mask;                       /* of the ring */
    int busy;
    double one;            /* without a ring: bytes of the one message posted, not begun */
    double *ring;          /* bytes of messages posted, not begun */
    double begin, bytes;   /* of the message that moves */
    double sent, received; /* when a message was last posted; native engine */
    struct ss_last last;
};

struct ss_queued {
    int collective;
    uint32_t instance; /* the how-manieth post of this collective by this class */
};

struct ss_stream_state {
    uint32_t posted, ended, waited;
    uint32_t mask;
    struct ss_queued *ring; /* [ended, posted) */
    struct ss_last last;
};

/* An instance that is at the head of at least one member's stream. Its index is that of the stream of the member that came first: until
 * the instance ends no other one is at the head of that stream. So a replay that repeats itself has equal indices in every period. */
struct ss_instance {
    int collective; /* -1: free */
    uint32_t number;
    int arrived; /* members at whose head it is */
    int next;    /* of the same collective */
    int phase, flows_left;
    double begin;
    double doublings; /* of an error of the time of its last phase (native engine) */
};

struct ss_state {
    const struct ss_program *p;
    struct ss_channel_state *channels;
    struct ss_stream_state *streams;
    int *stream0; /* [nclasses + 1] */
    int nstreams;
    /* members of collective g, ascending: member[member0[g]..member0[g + 1]) with posts made */
    int *member0, *member;
    uint32_t *posts;
    int *first_instance;           /* [ncollectives], -1: none */
    struct ss_instance *instances; /* [nstreams] */
    int *ready;                    /* instances that may begin */
    int nready;
};

static inline void ss_state_free(struct ss_state *st)
{
    if (st->channels)
        for (int i = 0; i < st->p->nchannels; i++)
            free(st->channels[i].ring);
    if (st->streams)
        for (int i = 0; i < st->nstreams; i++)
            free(st->streams[i].ring);
    free(st->channels);
    free(st->streams);
    free(st->stream0);
    free(st->member0);
    free(st->member);
    free(st->posts);
    free(st->first_instance);
    free(st->instances);
    free(st->ready);
}

/* 0, or -1 out of memory; call ss_state_free in both cases. */
static inline int ss_state_init(struct ss_state *st, const struct ss_program *p)
{
    memset(st, 0, sizeof *st);
    st->p = p;
    size_t nc = (size_t)p->nclasses, ng = (size_t)p->ncollectives;
    st->stream0 = calloc(nc + 1, sizeof *st->stream0);
    st->member0 = calloc(ng + 1, sizeof *st->member0);
    if (!st->stream0 || !st->member0)
        return -1;
    for (size_t c = 0; c < nc; c++)
        st->stream0[c + 1] = st->stream0[c] + p->classes[c].nstreams;
    for (size_t g = 0; g < ng; g++)
        st->member0[g + 1] = st->member0[g] + p->collectives[g].nmembers;
    st->nstreams = st->stream0[nc];
    size_t ns = (size_t)st->nstreams, nm = (size_t)st->member0[ng];
    st->channels = calloc((size_t)p->nchannels + 1, sizeof *st->channels);
    st->streams = calloc(ns + 1, sizeof *st->streams);
    st->member = calloc(nm + 1, sizeof *st->member);
    st->posts = calloc(nm + 1, sizeof *st->posts);
    st->first_instance = calloc(ng + 1, sizeof *st->first_instance);
    st->instances = calloc(ns + 1, sizeof *st->instances);
    st->ready = calloc(ns + 1, sizeof *st->ready);
    if (!st->channels || !st->streams || !st->member || !st->posts || !st->first_instance || !st->instances ||
        !st->ready)
        return -1;
    for (size_t g = 0; g < ng; g++) {
        int n = p->collectives[g].nmembers;
        memcpy(st->member + st->member0[g], p->collectives[g].members, (size_t)n * sizeof *st->member);
        ss_sort_int(st->member + st->member0[g], (size_t)n);
        st->first_instance[g] = -1;
    }
    for (size_t i = 0; i < ns; i++)
        st->instances[i].collective = -1;
    return 0;
}

/* Position of class c among the members of g, or -1. */
static inline int ss_state_member(const struct ss_state *st, int g, int c)
{
    int lo = st->member0[g], hi = st->member0[g + 1];
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (st->member[mid] < c)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < st->member0[g + 1] && st->member[lo] == c ? lo : -1;
}

/* Doubles a ring that holds items [first, last). */
static inline void *ss_ring_grow(void *ring, uint32_t *mask, uint32_t first, uint32_t last, size_t size)
{
    uint32_t room = ring ? 2 * (*mask + 1) : 8;
    char *grown = room ? malloc(room * size) : NULL;
    if (!grown)
        return NULL;
    for (uint32_t i = first; i != last; i++)
        memcpy(grown + (i & (room - 1)) * size, (char *)ring + (i & *mask) * size, size);
    free(ring);
    *mask = room - 1;
    return grown;
}

/* ---- channels ---- */

static inline int ss_state_send(struct ss_channel_state *ch, double bytes)
{
    if (!ch->ring && ch->sends == ch->begun) {
        ch->one = bytes;
        ch->sends++;
        return 0;
    }
    if (!ch->ring || ch->sends - ch->begun > ch->mask) {
        double *grown =
            ss_ring_grow(ch->ring, &ch->mask, ch->ring ? ch->begun : ch->sends, ch->sends, sizeof *grown);
        if (!grown)
            return -1;
        if (!ch->ring)
            grown[ch->begun & ch->mask] = ch->one;
        ch->ring = grown;
    }
    ch->ring[ch->sends++ & ch->mask] = bytes;
    return 0;
}

/* Bytes of message i, which is posted and has not begun. */
static inline double ss_state_posted(const struct ss_channel_state *ch, uint32_t i)
{
    return ch->ring ? ch->ring[i & ch->mask] : ch->one;
}

static inline int ss_state_can_begin(const struct ss_channel_state *ch, int rendezvous)
{
    return !ch->busy && ch->begun < ch->sends && (!rendezvous || ch->begun < ch->recvs);
}

static inline void ss_state_begin(struct ss_channel_state *ch, double now)
{
    ch->busy = 1;
    ch->bytes = ss_state_posted(ch, ch->begun++);
    ch->begin = now;
}

static inline int ss_state_sent(const struct ss_channel_state *ch)
{
    return ch->send_waits < ch->sends && ch->send_waits < ch->ended;
}

static inline int ss_state_received(const struct ss_channel_state *ch)
{
    return ch->recv_waits < ch->recvs && ch->recv_waits < ch->ended;
}

/* ---- streams and collectives ---- */

static inline int ss_state_joined(const struct ss_stream_state *s)
{
    return s->waited < s->ended;
}

/* A collective came to the head of a stream of one member. */
static inline void ss_state_arrive(struct ss_state *st, int stream)
{
    const struct ss_stream_state *s = &st->streams[stream];
    const struct ss_queued q = s->ring[s->ended & s->mask];
    int i = st->first_instance[q.collective];
    while (i >= 0 && st->instances[i].number != q.instance)
        i = st->instances[i].next;
    if (i < 0) {
        i = stream;
        st->instances[i] = (struct ss_instance){
            .collective = q.collective, .number = q.instance, .next = st->first_instance[q.collective]};
        st->first_instance[q.collective] = i;
    }
    if (++st->instances[i].arrived == st->p->collectives[q.collective].nmembers)
        st->ready[st->nready++] = i;
}

/* member: from ss_state_member. 0 or -1 out of memory. */
static inline int ss_state_post(struct ss_state *st, int stream, int collective, int member)
{
    struct ss_stream_state *s = &st->streams[stream];
    if (!s->ring || s->posted - s->ended > s->mask) {
        struct ss_queued *grown = ss_ring_grow(s->ring, &s->mask, s->ended, s->posted, sizeof *grown);
        if (!grown)
            return -1;
        s->ring = grown;
    }
    struct ss_queued q = {collective, st->posts[member]++};
    s->ring[s->posted++ & s->mask] = q;
    if (s->posted - s->ended == 1)
        ss_state_arrive(st, stream);
    return 0;
}

/* Stream of class c at whose head the instance is. */
static inline int ss_state_stream_of(const struct ss_state *st, const struct ss_instance *in, int c)
{
    int s = st->stream0[c];
    for (; s < st->stream0[c + 1]; s++) {
        const struct ss_stream_state *q = &st->streams[s];
        if (q->ended == q->posted)
            continue;
        struct ss_queued head = q->ring[q->ended & q->mask];
        if (head.collective == in->collective && head.instance == in->number)
            break;
    }
    return s;
}

/* Takes the instance off the head of the stream of every member; streams[i] gets member i's stream.
 * The caller then wakes waiters and calls ss_state_next for each stream. */
static inline void ss_state_end_instance(struct ss_state *st, int instance, int *streams)
{
    struct ss_instance *in = &st->instances[instance];
    int g = in->collective, n = 0;
    for (int m = st->member0[g]; m < st->member0[g + 1]; m++) {
        int s = ss_state_stream_of(st, in, st->member[m]);
        st->streams[s].ended++;
        streams[n++] = s;
    }
    int *link = &st->first_instance[g];
    while (*link != instance)
        link = &st->instances[*link].next;
    *link = in->next;
    in->collective = -1;
}

static inline void ss_state_next(struct ss_state *st, int stream)
{
    if (st->streams[stream].ended != st->streams[stream].posted)
        ss_state_arrive(st, stream);
}
