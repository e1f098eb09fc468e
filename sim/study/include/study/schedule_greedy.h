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
    /* [rank]: idle time in the run before, from which ss_greedy_slack computes; all 0 in the first run */
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

/* ---- for the generators ---- */

void ss_greedy_begin(struct ss_greedy *g);
int *ss_greedy_count(const struct ss_greedy *g, int rank, int phase, int chunk);
/* Returns when the pass ends for which the next pass of this kind waits; < 0: it has not been placed yet. */
double ss_greedy_input(const struct ss_greedy *g, int rank, int phase, int chunk);
void ss_greedy_put(struct ss_greedy *g, int rank, int phase, int chunk);
/* Places the oldest W that a rank owes. Returns 0 where it owes none. */
int ss_greedy_put_w(struct ss_greedy *g, int rank);
/* Places W until a pass fits under the cap. */
void ss_greedy_make_room(struct ss_greedy *g, int rank, int phase, int chunk);
/* Places W until the next pass of this kind has its input. The last gap is too short for a W. There a W
 * is placed all the same if `small` is set and the rank could idle without becoming the worst, or if
 * `large` is set and it could not. */
void ss_greedy_fill(struct ss_greedy *g, int rank, int phase, int chunk, int small, int large);
double ss_greedy_worst(const struct ss_greedy *g);
/* Returns how many W a rank owes, and sets *next to the chunk of the oldest of them. */
int ss_greedy_owed(const struct ss_greedy *g, int rank, int *next);
/* Returns how long a rank may still idle: until it has idled as long as the worst rank, or until its
 * idle times of this run and of the one before sum to the worst of that run, whichever is later. */
double ss_greedy_slack(const struct ss_greedy *g, int rank);
/* Builds an order with one chunk a rank. `choices` has 3 bits; numbers[stages] is scratch. */
void ss_greedy_one(struct ss_greedy *g, int choices, int *numbers);
/* Builds an order on the V. Returns SS_OK or SS_ERR_NOMEM. */
int ss_greedy_v(struct ss_greedy *g, int fill_forward, int fill_backward);
