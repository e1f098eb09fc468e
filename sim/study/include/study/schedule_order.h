/* SPDX-License-Identifier: Apache-2.0 */
/* Times and memory of an order whose stages are not equal; what the search is made of. */
#ifndef SS_STUDY_SCHEDULE_ORDER_H
#define SS_STUDY_SCHEDULE_ORDER_H

#include <jansson.h>

#include "stepsim/schedule_study.h"

/* The numbers that steer the list scheduler on one rank. */
struct ss_steer {
    int ahead;   /* forwards that may be there without their backward */
    int owed;    /* W that may wait */
    int forward; /* a forward goes before a backward that is ready too */
    int deep;    /* of two forwards the one of the later chunk goes first */
};

struct ss_measure {
    double makespan, span; /* s: last end; longest rank from first start to last end */
    double idle;           /* s, all ranks, as a tie-break */
    int feasible;
};

/* Ends a layout whose search returned rc: a refused layout is a row with the reason in `e`. */
int ss_search_layout_end(int rc, const struct ss_error *e, struct ss_search_layout *row,
                         struct ss_error *err);
/* Returns how far a length is above its bound, in per cent; at least 0, because the sums of the two round
 * differently. */
double ss_search_above_bound(double length, double lower_bound);
/* Adds an order's length, its bound and, where `known` is not "", the best known schedule to `o`. */
void ss_search_order_json(json_t *o, double length, double lower_bound, const char *known,
                          double known_length);
/* Returns the length that is to be minimised. */
double ss_search_length(const struct ss_search *q, const struct ss_measure *m);
/* Finds when the ranks run the slots of an order, for a picture; freed with ss_strip_free. Returns 0 or
 * SS_ERR_NOMEM. */
int ss_search_strip(const struct ss_search *q, const struct ss_schedule *s, struct ss_schedule_strip **out);
/* The shortest of the known schedules of this placement under the cap, of equal ones the first: *best, which the caller frees, is NULL where
 * there is none. 0 or SS_ERR_NOMEM. */
int ss_search_known(const struct ss_search *q, struct ss_schedule **best, double *length,
                    struct ss_measure *measure);
/* The job's words with the stages and chunks of a row; the schedule named is one of the placement, whose own order is not used. */
int ss_search_layout_build(const struct ss_scenario *s, const struct ss_search_layout *row,
                           struct ss_scenario **out, struct ss_error *err);
/* "one chunk", "interleaved", "v" */
const char *ss_search_placement(int chunks, int v_shape);
/* Tries of the local search that take about a second. */
int ss_search_usual_steps(const struct ss_search *q);
double ss_search_lower_bound(const struct ss_search *q);
/* Whether a rank may keep so much: what only rounding has above the cap fits. */
static inline int ss_search_fits(const struct ss_search *q, int rank, double amount)
{
    return amount <= q->cap[rank] * (1 + 1e-12);
}
/* Rank and virtual stage of the placement. */
int ss_search_stage(const struct ss_search *q, int rank, int chunk);
/* Builds an order into the slots of *s, which has room for 3 slots a (chunk, microbatch). */
int ss_search_list(const struct ss_search *q, const struct ss_steer *steer, struct ss_schedule *s,
                   struct ss_measure *out);
/* Times and peaks of an order that is given; peak[rank] may be NULL. 0 or SS_ERR_NOMEM. */
int ss_search_measure(const struct ss_search *q, const struct ss_schedule *s, struct ss_measure *out,
                      double *peak);
/* A number below `below` from a state that is not 0, by xorshift64*: the same on every machine. */
static inline uint64_t ss_search_draw(uint64_t *state, uint64_t below)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (*state * 0x2545f4914f6cdd1dULL >> 11) % below;
}
/* Moves slots of a feasible order with measure *m, `steps` times, and keeps every move that is not worse.
 * Returns 0 or SS_ERR_NOMEM. */
int ss_search_polish(const struct ss_search *q, int steps, uint64_t *random, struct ss_schedule *s,
                     struct ss_measure *m);

#endif
