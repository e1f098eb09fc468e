/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which slot a transfer belongs to. An observer sees "a message on channel 3 ended"; messages of a channel
 * end in the order of its SEND events, and collectives of a stream in the order of its POSTs, so one cursor
 * a channel end and a stream, moved on with every transfer, tells the rest. Nothing is unfolded.
 */
#ifndef SS_REPORT_FOLLOW_H
#define SS_REPORT_FOLLOW_H

#include <stdbool.h>

#include "stepsim/program.h"

struct ss_place {
    int slot, event; /* slot -1: none */
};

struct ss_stream_cursor {
    struct ss_cursor next;         /* of the class's events */
    struct ss_place head;          /* the POST that has not ended yet; slot -1: no more */
    int collective;                /* of the head */
    struct ss_cursor wait, waited; /* the next WAIT, and the POST that it is for */
};

struct ss_follow {
    const struct ss_program *program;
    struct ss_cursor *send, *recv;   /* [nchannels] */
    struct ss_stream_cursor *stream; /* all classes' streams */
    int *first_stream;               /* [nclasses + 1]: a class's first one in `stream` */
};

/* 0 or SS_ERR_NOMEM. */
int ss_follow_init(struct ss_follow *f, const struct ss_program *p);
void ss_follow_free(struct ss_follow *f);
/* The next message of a channel has ended: its SEND, and the WAIT_RECV that takes it (slot -1: none). */
void ss_follow_message(struct ss_follow *f, int channel, struct ss_place *send, struct ss_place *recv);
/* A collective has ended: its POST in a member class and the stream there; -1: none. */
int ss_follow_post(struct ss_follow *f, int cls, int collective, struct ss_place *post);
/* Label that waiting at an event gets: pp, or the collective's. Places of a class must not go back. */
int ss_follow_label(struct ss_follow *f, int cls, int slot, int event);
const struct ss_event *ss_place_event(const struct ss_program *p, int cls, int slot, int event);

/* Whether a class posts exchanges of experts on this stream, which lanes of pictures and traces tell. */
bool ss_stream_of_experts(const struct ss_program *p, int cls, int stream);

#endif
