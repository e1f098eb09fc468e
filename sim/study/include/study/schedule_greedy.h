/* SPDX-License-Identifier: Apache-2.0 */
/* Orders put together pass by pass with an eye on the time: the greedy generators of the zero-bubble papers. */
#ifndef SS_STUDY_SCHEDULE_GREEDY_H
#define SS_STUDY_SCHEDULE_GREEDY_H

#include "stepsim/schedule_study.h"

struct ss_greedy {
    const struct ss_search *q;
    struct ss_schedule *s; /* room for 3 slots a (chunk, microbatch) */
    double *end; /* [(phase * virtual stages + stage) * microbatches + mb] of F (0) and I (1); < 0: not yet */
    int *count;  /* [(rank * chunks + chunk) * 3 + phase], W is 2 */
    int *owed;   /* [rank * chunks * microbatches + n]: chunk of the n-th I of a rank */
    double *now, *memory; /* [rank] */
    double *bubble;       /* [rank]: idle since its first pass */
    /* [rank]: idle in the run before, whose worst rank may not idle longer; all 0 in the first */
    double *approved;
    double most_approved;
    int failed; /* the cap is too small for this way of going */
};

/* Called after the n-th attempt, whose order is in g->s; 0 goes on. */
typedef int (*ss_greedy_take)(void *user, struct ss_greedy *g);

/* All attempts for the placement and times of a search whose backwards may be split: each order that keeps the cap goes to
 * `take`, which may put another schedule into g->s. Placements other than one chunk a rank and the V have none. 0, an error of
 * `take`, or SS_ERR_NOMEM. */
int ss_greedy_run(const struct ss_search *q, struct ss_schedule *s, ss_greedy_take take, void *user);

/* ---- for the generators ---- */

void ss_greedy_begin(struct ss_greedy *g);
int *ss_greedy_count(const struct ss_greedy *g, int rank, int phase, int chunk);
/* End of what the next pass of this kind waits for; < 0: not known. */
double ss_greedy_input(const struct ss_greedy *g, int rank, int phase, int chunk);
void ss_greedy_put(struct ss_greedy *g, int rank, int phase, int chunk);
/* The oldest W of a rank; returns 0: none is owed. */
int ss_greedy_put_w(struct ss_greedy *g, int rank);
/* W until a pass fits under the cap. */
void ss_greedy_make_room(struct ss_greedy *g, int rank, int phase, int chunk);
/* W until the next pass of this kind has its input. In the last gap, too short for a W, one goes all the same where `small` is
 * set and the rank could idle there without being the worst, or `large` is set and it could not. */
void ss_greedy_fill(struct ss_greedy *g, int rank, int phase, int chunk, int small, int large);
double ss_greedy_worst(const struct ss_greedy *g);
/* W that a rank owes; *next is set to the chunk of the oldest, where there is one. */
int ss_greedy_owed(const struct ss_greedy *g, int rank, int *next);
/* How long a rank may still idle without being the worst, or worse than the worst of the run before. */
double ss_greedy_slack(const struct ss_greedy *g, int rank);
/* One chunk a rank; choices: 3 bits, numbers[stages]: scratch. */
void ss_greedy_one(struct ss_greedy *g, int choices, int *numbers);
/* A V; SS_OK or SS_ERR_NOMEM. */
int ss_greedy_v(struct ss_greedy *g, int fill_forward, int fill_backward);

#endif
