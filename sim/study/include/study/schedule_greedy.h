/* SPDX-License-Identifier: Apache-2.0 */
/* The greedy generators of the zero-bubble papers. They build an order pass by pass, and choose each
 * pass by the time. */
#pragma once

#include "stepsim/schedule_study.h"

struct ss_greedy {
    const struct ss_search *q;
    struct ss_schedule *s; /* the order; it has room for 3 slots of each chunk and microbatch */
    double *
        end; /* [(phase * virtual stages + stage) * microbatches + mb]: end of an F (phase 0) or I (1); < 0: not yet placed */
    int *count; /* [(rank * chunks + chunk) * 3 + phase]: passes placed of F (0), I (1) and W (2) */
    int *
        owed; /* [rank * chunks * microbatches + n]: the chunk of a rank's n-th I, whose W follows in this order */
    double *now, *memory; /* [rank]: end of its last pass; memory that it holds */
    double *bubble;       /* [rank]: idle time since its first pass */
    /* [rank]: idle time in the run before, from which the slack is computed; all 0 in the first run */
    double *approved;
    double most_approved;
    int failed; /* 1: the cap is too small for this generator */
};

/* Called after each attempt, whose order is in g->s. The attempts go on while it returns 0. */
typedef int (*ss_greedy_take)(void *user, struct ss_greedy *g);

/* Makes all attempts for the placement and times of a search whose backwards may be split. `take` gets
 * each order that keeps the cap, and may put another schedule into g->s. Only one chunk a rank and the V
 * have generators; other placements get no attempt. Returns 0, an error of `take`, or SS_ERR_NOMEM. */
int ss_greedy_run(const struct ss_search *q, struct ss_schedule *s, ss_greedy_take take, void *user);
