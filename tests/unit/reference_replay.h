/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A slow replay of a program, written from the text of docs/design/replay-contract.md alone, that the engines are held
 * against. It shares no code and no structure with sim/replay: it looks at everything at every instant.
 */
#ifndef REFERENCE_REPLAY_H
#define REFERENCE_REPLAY_H

#include <stdint.h>

#include "stepsim/program.h"

/* Time of what never began or never ended. */
#define REFERENCE_NEVER (-1.0)

/* One event of a class's main thread, slot by slot: row i is the class's i-th event. */
struct reference_row {
    int slot, event;
    double start, busy_from, end; /* s; start = busy_from = end for events that take no time */
};
/* One message (k-th of its channel) or one instance (k-th posts) of a collective; the other number is -1. */
struct reference_transfer {
    int channel, collective, k;
    double start, end; /* s, or REFERENCE_NEVER */
    double bytes;
};
struct reference_class {
    int nrows;
    struct reference_row *rows;
    double end;                   /* s: end of the main thread, or REFERENCE_NEVER */
    double spent[SS_LABEL_COUNT]; /* s by label, from 0 to the makespan */
    double peak[SS_MEM_COUNT];    /* dynamic bytes when their sum was largest for the first time */
    double peak_total, peak_time;
    int peak_slot;
};
struct reference {
    double makespan;
    double contended; /* s in which a link carries two flows or more, the same link or several */
    int64_t events;   /* of all main threads */
    int nclasses, ntransfers, nlinks;
    struct reference_class *classes;
    struct reference_transfer *transfers; /* channels by number, then collectives by number; of each by k */
    double *link_busy;                    /* s with at least one flow, up to the makespan */
};

/* 0, or -1 when a main thread never comes to its end (the times reached until then are in *out). The program's
 * indices must be in range. Free *out with reference_free in both cases. */
int reference_replay(const struct ss_program *p, struct reference *out);
void reference_free(struct reference *r);

#endif
