/* SPDX-License-Identifier: Apache-2.0 */
/* How far an engine's replay is from the reference's, number by number. */
#ifndef REFERENCE_COMPARE_H
#define REFERENCE_COMPARE_H

#include "reference_replay.h"
#include "replay_make.h"

/* What the engines must keep to, relative to the makespan (to the time itself where that is later). */
#define REFERENCE_TOLERANCE 1e-9

/* The largest relative difference and the place where it is; infinite where one side has something that the other
 * lacks. */
struct distance {
    double most;
    char where[160];
};

/* What an engine says of a program: by observers, by the timeline (where the native engine may jump), in sum. */
struct answer {
    struct ear ear;
    struct ss_timeline *timeline;
    struct ss_replay_stats stats;
};
/* 0 or SS_ERR_*. Free with answer_free in both cases. */
int answer_get(const struct ss_program *p, int engine, struct answer *a, struct ss_error *err);
void answer_free(struct answer *a);

/* p is the program of both. Marks in a->ear what it has found, so it compares once. */
void distance_answer(const struct ss_program *p, const struct reference *r, struct answer *a,
                     struct distance *d);
/* Compares two replays by the reference, of programs with the same events. */
void distance_references(const struct reference *a, const struct reference *b, struct distance *d);
/* Whether the makespan or any end moves by more than REFERENCE_TOLERANCE when all bandwidths move by up to 1e-12, as
 * two tries find: then no two engines can agree on it. */
int reference_chaotic(const struct ss_program *p, const struct reference *r);

#endif
