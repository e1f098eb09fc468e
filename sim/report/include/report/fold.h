/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A long iteration in three parts: its warm-up, some periods of its steady state, its cool-down. The period is found in the order of
 * the slots: from some slot on, each slot is again a slot of the same phase and chunk, with a microbatch that is higher by the
 * same number. Times are those of a replay.
 */
#pragma once

#include "stepsim/replay.h"

#define SS_FOLD_PARTS 3
struct ss_fold {
    int n; /* 1: the whole iteration; 3: folded */
    struct {
        double start, end; /* s */
    } part[SS_FOLD_PARTS];
    int shown, periods; /* periods of the middle part, and of the whole steady state; 0 where n is 1 */
};

/* Replays a program whose loops are written out (ss_program_unroll) on the native engine, and folds it. `fold` 0: only
 * *makespan is found, and the fold has one part. Errors: those of ss_replay. */
int ss_fold_find(const struct ss_program *p, int fold, struct ss_fold *out, double *makespan,
                 struct ss_error *err);

/* The slots of a class that repeat: [from, to) is `length` slots again and again; length 0: none do. */
struct ss_fold_period {
    int from, to, length;
};
struct ss_fold_period ss_fold_period(const struct ss_program_class *c);
