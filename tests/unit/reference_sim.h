/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the reference replay share; see reference_replay.c. */
#ifndef REFERENCE_SIM_H
#define REFERENCE_SIM_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference_replay.h"

/* A flow on the links, of a message or of the current phase of a collective. */
struct flow {
    const struct ss_path *path;
    double left; /* bytes */
    double rate;
    int frozen; /* its rate is found */
};

enum work_state { WORK_NOT_BEGUN, WORK_LATENCY, WORK_FLOWS, WORK_ENDED };

/* A message or an instance of a collective: phases of a latency and flows. A message has one phase. */
struct work {
    enum work_state state;
    int channel, collective;
    int sent, received; /* message: the send, the receive is posted */
    int nposts;         /* collective: members that have posted it */
    double bytes;
    int phase;
    double latency_end;
    int nflows;
    struct flow *flows; /* of the phase that runs */
    double begin, end;
};

/* The messages of a channel, or the instances of a collective, by their number. */
struct series {
    int n;
    struct work *works;
    int sends, receives;        /* channel: posted so far */
    int send_waits, recv_waits; /* channel: begun so far */
    int current;                /* channel: first message that has not ended */
};
/* The collectives that a class has posted on a stream, in order. */
struct stream {
    int n, head, waits;
    struct work **posted;
};
struct thread {
    const struct ss_event **events; /* as many as rows */
    int at;                         /* event that runs */
    int entered;
    double left, rate;         /* COMPUTE: s of full capacity, s a s */
    const struct work *target; /* waits: NULL is never posted */
    int *posts;                /* [ncollectives]: posts so far */
    struct stream *streams;
    double memory[SS_MEM_COUNT];
};

struct sim {
    const struct ss_program *p;
    struct reference *out;
    double now;
    struct series *channels, *collectives;
    struct thread *threads;
    struct work **running;
    int nrunning;
};

static inline void *reference_zeros(size_t n, size_t size)
{
    void *a = calloc(n ? n : 1, size);
    if (!a)
        abort();
    return a;
}

static inline int reference_is_wait(const struct ss_event *e)
{
    return e->kind == SS_EV_WAIT_SEND || e->kind == SS_EV_WAIT_RECV || e->kind == SS_EV_WAIT;
}

/* reference_share.c: the rate of every class's computation, and of every flow on the links. */
void reference_share_sms(struct sim *s);
void reference_share_links(const struct sim *s, struct flow **flows, int n);
/* By how much the flow loads the link for each byte of its own. */
double reference_weight_on(const struct flow *f, int link);

/* reference_report.c: from the program to the first instant, and from the last one to *out. */
void reference_open(struct sim *s, const struct ss_program *p, struct reference *out);
void reference_report(struct sim *s, int complete);
void reference_close(struct sim *s);

#endif
