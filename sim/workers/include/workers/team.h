/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes of several machines that run the same command on the same inputs and share its items. Each walks the whole way; the first
 * one deals the items of each list, and hands all answers to the others, so that all go on with the same. The others hand the items
 * that they get to worker processes of their own, and say every second that they live.
 */
#ifndef SS_WORKERS_TEAM_H
#define SS_WORKERS_TEAM_H

#include <stddef.h>
#include <stdint.h>

#include "stepsim/workers.h"

enum ss_team_kind {
    SS_TEAM_READY,  /* to the first: takes items of this list. status: workers; data: struct ss_team_ready */
    SS_TEAM_GIVE,   /* from the first: slot, item */
    SS_TEAM_ANSWER, /* to the first: slot, item, status; data: the answer, or an error */
    SS_TEAM_LOST,   /* to the first: the worker of a slot died at item */
    SS_TEAM_DONE, /* from the first: data: answers from place `item` on; the last part has slot 1, a status, and no answers but an
                       error where the status is one */
    SS_TEAM_PING, /* that it lives */
    SS_TEAM_END   /* from the first: status; slot 1: all are there. Also to itself, when the first has died */
};

struct ss_team_message {
    int kind, list, slot, item, status;
    float took; /* ANSWER: s */
};

struct ss_team_ready {
    uint64_t digest;
    long pid;
    char space[64]; /* where that number counts: the running kernel and its namespace; "": not known */
};

/* Sends a message, with data[n] behind it. Nothing happens where the receiver has died. */
void ss_team_send(struct ss_team *team, int to, const struct ss_team_message *m, const void *data, size_t n);
/* Takes a message: returns 1, with *data valid until the next call, or 0. Messages of the dead are dropped. Says that this process
 * lives, and looks who died, from time to time. */
int ss_team_take(struct ss_team *team, int *from, struct ss_team_message *m, const void **data, size_t *n);
int ss_team_size(const struct ss_team *team);
/* Whether a process is known to be dead. */
int ss_team_is_dead(const struct ss_team *team, int rank);
/* The number of the next list, the same in all. */
int ss_team_next_list(struct ss_team *team);
void ss_team_ready_fill(struct ss_team_ready *ready, uint64_t digest);

/* One that works at a list and says nothing for so long is dead. */
#define SS_TEAM_SILENCE_S 30

#endif
