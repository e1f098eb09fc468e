/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes on several machines that run the same command on the same inputs and share its items. Each
 * process walks the whole way. The first process deals the items of each list and sends all answers to the
 * others, so that all go on with the same answers. The other processes hand their items to worker processes
 * of their own, and report every second that they live.
 */
#pragma once

#include <stdint.h>

#include "stepsim/workers.h"

enum ss_team_kind {
    /* to the first: the sender takes items of this list. status: number of workers; data: struct
     * ss_team_ready */
    SS_TEAM_READY,
    SS_TEAM_GIVE,   /* from the first: slot, item */
    SS_TEAM_ANSWER, /* to the first: slot, item, status; data: the answer, or an error */
    SS_TEAM_LOST,   /* to the first: the worker of a slot died at item */
    /* from the first; data: answers from place `item` on. The last message has slot 1 and a status; with an
     * error its data is a struct ss_error */
    SS_TEAM_DONE,
    SS_TEAM_PING, /* the sender lives */
    /* from the first; status; slot 1: all processes live. A process also makes it for itself when the first
     * has died */
    SS_TEAM_END
};

struct ss_team_message {
    int kind, list, slot, item, status;
    float took; /* ANSWER: s that the answer took */
};

struct ss_team_ready {
    uint64_t digest;
    long pid;
    char space[64]; /* where pid counts: the running kernel and its namespace; "": not known */
};

/* Sends a message with data[n] behind it. A dead receiver gets nothing. */
void ss_team_send(struct ss_team *team, int to, const struct ss_team_message *m, const void *data, size_t n);
/* Sends a message of the first process to all others. */
void ss_team_tell(struct ss_team *team, const struct ss_team_message *m, const void *data, size_t n);
/* Takes a message. Returns 1, with *data valid until the next call, or 0 for no message. Messages of dead
 * processes are dropped. The call also says from time to time that this process lives, and looks who died. */
int ss_team_take(struct ss_team *team, int *from, struct ss_team_message *m, const void **data, size_t *n);
/* Returns 1 when a process is known to be dead. */
int ss_team_is_dead(const struct ss_team *team, int rank);
/* Returns the number of the next list, equal in all processes. */
int ss_team_next_list(struct ss_team *team);
void ss_team_ready_fill(struct ss_team_ready *ready, uint64_t digest);

/* A process that works at a list and is silent for this long counts as dead. */
#define SS_TEAM_SILENCE_S 30
