/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the slot that a transfer belongs to. An observer sees "a message on channel 3 ended". Messages of a
 * channel end in the order of its SEND events, and collectives of a stream in the order of its POSTs. So a
 * cursor for each end of a channel and for each stream, moved on with every transfer, knows the slot. No
 * loop is unfolded.
 */
#pragma once

#include <stdbool.h>

#include "stepsim/program.h"

struct ss_place {
    int slot, event; /* slot -1: none */
};

struct ss_stream_cursor {
    struct ss_cursor next;         /* where the search for the next POST begins */
    struct ss_place head;          /* the POST that has not ended yet; slot -1: no more */
    int collective;                /* the collective of `head` */
    struct ss_cursor wait, waited; /* the next WAIT, and the POST that it is for */
};

struct ss_follow {
    const struct ss_program *program;
    struct ss_cursor *send, *recv;   /* [nchannels]: the next SEND, the next WAIT_RECV */
    struct ss_stream_cursor *stream; /* the streams of all classes, one class after the other */
    int *first_stream;               /* [nclasses + 1]: where a class begins in `stream` */
};

/* Returns 0 or SS_ERR_NOMEM. */
int ss_follow_init(struct ss_follow *f, const struct ss_program *p);
void ss_follow_free(struct ss_follow *f);
/* Tells that the next message of a channel has ended. Sets its SEND, and the WAIT_RECV that takes it
 * (slot -1: none). */
void ss_follow_message(struct ss_follow *f, int channel, struct ss_place *send, struct ss_place *recv);
/* Tells that a collective has ended in a member class. Sets its POST there and returns the stream; -1:
 * there is none. */
int ss_follow_post(struct ss_follow *f, int cls, int collective, struct ss_place *post);
/* Returns the label of the time that a class waits at an event: pp, or the label of the collective. The
 * places that are asked for must not go back within a class. */
int ss_follow_label(struct ss_follow *f, int cls, int slot, int event);
const struct ss_event *ss_place_event(const struct ss_program *p, int cls, int slot, int event);

/* Returns the label of the first collective that a class posts on this stream, SS_LABEL_OTHER where there is none; names of lanes in
 * pictures and traces come from it. */
int ss_stream_label(const struct ss_program *p, int cls, int stream);
