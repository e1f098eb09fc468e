/* SPDX-License-Identifier: Apache-2.0 */
/* Times and memory of an order whose stages differ, and the parts of the search for an order. */
#pragma once

#include "stepsim/schedule_study.h"

struct ss_json;

/* The numbers that steer the list scheduler on one rank. */
struct ss_steer {
    int ahead;   /* how many forwards may have run without their backward */
    int owed;    /* how many W may wait */
    int forward; /* 1: a forward goes before a backward that is ready, too */
    int deep;    /* 1: of two forwards that of the later chunk goes first */
};

struct ss_measure {
    double makespan,
        span;    /* s: end of the last slot; longest time of a rank from its first start to its last end */
    double idle; /* s: sum over all ranks, which decides between equal lengths */
    int feasible;
};

/* Tries one layout of `whole`, a job's scenario or a search with whole stages. */
typedef int ss_layout_search(const void *whole, const struct ss_layout_options *o,
                             struct ss_search_layout *row, struct ss_error *err);
typedef int ss_layout_better(const struct ss_search_layout *a, const struct ss_search_layout *b);
/* Tries all rows of `l`, by the workers of `o`, and finds the best that fits, the first of equals. Errors: those of `search`, and of
 * ss_pool_run. */
int ss_search_layouts_try(struct ss_search_layouts *l, const void *whole, const struct ss_layout_options *o,
                          ss_layout_search *search, ss_layout_better *better, struct ss_error *err);
/* Ends a layout whose search returned rc. A refused layout becomes a row with the reason in `e`. */
int ss_search_layout_end(int rc, const struct ss_error *e, struct ss_search_layout *row,
                         struct ss_error *err);
/* Returns by how many per cent a length is above its bound. The result is never below 0, though the two
 * sums round differently. */
double ss_search_above_bound(double length, double lower_bound);
/* Adds an order's length, its bound and, where `known` is not "", the best known schedule to `o`. */
void ss_search_order_json(struct ss_json *o, double length, double lower_bound, const char *known,
                          double known_length);
/* Returns the length that is to be minimised. */
double ss_search_length(const struct ss_search *q, const struct ss_measure *m);
/* Finds when the ranks run the slots of an order, for a picture. The caller frees *out with
 * ss_strip_free. Returns 0 or SS_ERR_NOMEM. */
int ss_search_strip(const struct ss_search *q, const struct ss_schedule *s, struct ss_schedule_strip **out);
/* Finds the shortest known schedule of this placement that keeps the cap, and of equally short ones the
 * first. *best is NULL where there is none; the caller frees it. Returns 0 or SS_ERR_NOMEM. */
int ss_search_known(const struct ss_search *q, struct ss_schedule **best, double *length,
                    struct ss_measure *measure);
/* Builds the job with the stages and chunks of a row. Its words name some schedule of the placement,
 * whose order is not used. */
int ss_search_layout_build(const struct ss_scenario *s, const struct ss_search_layout *row,
                           struct ss_scenario **out, struct ss_error *err);
/* Returns the name of a placement: "one chunk", "interleaved" or "v". */
const char *ss_search_placement(int chunks, int v_shape);
/* Returns how many tries of the local search take about a second. */
int ss_search_usual_steps(const struct ss_search *q);
double ss_search_lower_bound(const struct ss_search *q);
/* Returns 1 if a rank may keep this amount. An amount that only rounding lifts above the cap fits. */
static inline int ss_search_fits(const struct ss_search *q, int rank, double amount)
{
    return amount <= q->cap[rank] * (1 + 1e-12);
}
/* Returns the virtual stage that a chunk of a rank has in the placement. */
int ss_search_stage(const struct ss_search *q, int rank, int chunk);
/* Builds an order into the slots of *s, which has room for 3 slots a (chunk, microbatch). */
int ss_search_list(const struct ss_search *q, const struct ss_steer *steer, struct ss_schedule *s,
                   struct ss_measure *out);
/* Measures the times of a given order, and each rank's peak of memory; peak[rank] may be NULL. Returns 0
 * or SS_ERR_NOMEM. */
int ss_search_measure(const struct ss_search *q, const struct ss_schedule *s, struct ss_measure *out,
                      double *peak);
/* Draws a number below `below` by xorshift64*, which is the same on every machine. The state must not be
 * 0. */
static inline uint64_t ss_search_draw(uint64_t *state, uint64_t below)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (*state * 0x2545f4914f6cdd1dULL >> 11) % below;
}
/* Tries `steps` moves of slots in a feasible order whose measure is *m, and keeps every move that is not
 * worse. Returns 0 or SS_ERR_NOMEM. */
int ss_search_polish(const struct ss_search *q, int steps, uint64_t *random, struct ss_schedule *s,
                     struct ss_measure *m);
