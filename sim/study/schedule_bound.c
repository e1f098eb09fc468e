/* SPDX-License-Identifier: Apache-2.0 */
/* Lower bounds that no order can beat: the work of a rank, the way to it and back, and its memory for as long
 * as a microbatch is on its way. */
#include "base/base.h"
#include "study/schedule_order.h"

/* Returns the sum of a table over the virtual stages from `first` to `last` - 1. */
static double sum_between(const struct ss_search *q, const double *table, int first, int last)
{
    double sum = 0;
    for (int r = 0; r < q->stages; r++)
        for (int c = 0; c < q->chunks; c++) {
            int stage = ss_search_stage(q, r, c);
            if (stage >= first && stage < last)
                sum += table[r * q->chunks + c];
        }
    return sum;
}

static double rank_sum(const struct ss_search *q, const double *table, int rank)
{
    double sum = 0;
    for (int c = 0; c < q->chunks; c++)
        sum += table[rank * q->chunks + c];
    return sum * q->microbatches;
}

static int first_stage(const struct ss_search *q, int rank)
{
    int first = ss_search_stage(q, rank, 0);
    for (int c = 1; c < q->chunks; c++)
        first = ss_search_stage(q, rank, c) < first ? ss_search_stage(q, rank, c) : first;
    return first;
}

static double work(const struct ss_search *q, int rank)
{
    return rank_sum(q, q->f, rank) + rank_sum(q, q->i, rank) + rank_sum(q, q->w, rank);
}

/* Returns the time of a microbatch from its F on a stage through all later stages and back to its I there. */
static double life(const struct ss_search *q, int stage)
{
    int all = q->stages * q->chunks;
    return sum_between(q, q->f, stage, all) + sum_between(q, q->i, stage, all) +
           (q->split ? 0 : sum_between(q, q->w, stage, all));
}

/* Returns a bound of the time from the first F on stage `from`, where some rank begins, to its last I.
 * In between are all F and I of a rank further down, and the way there and back. */
static double way_round(const struct ss_search *q, int from, int rank)
{
    int first = first_stage(q, rank);
    double whole = q->split ? 0 : rank_sum(q, q->w, rank) + sum_between(q, q->w, from, first);
    return sum_between(q, q->f, from, first) + rank_sum(q, q->f, rank) + rank_sum(q, q->i, rank) +
           sum_between(q, q->i, from, first) + whole;
}

/* Returns the bound from memory. A chunk is kept from its F to its I, while the microbatch goes on to the end
 * and comes back; what W needs of it is kept during W. All microbatches together fill at most the cap for as
 * long as the rank runs, and at most as many are there at a time as fit whole. */
static double memory_time(const struct ss_search *q, int rank)
{
    double bytes = 0, lives = 0, least = INFINITY;
    for (int c = 0; c < q->chunks; c++) {
        int at = rank * q->chunks + c;
        double own = life(q, ss_search_stage(q, rank, c));
        lives += own;
        bytes += q->activation[at] * own + (q->split ? q->weight[at] * q->w[at] : 0);
        least = fmin(least, q->activation[at]);
    }
    double whole = least > 0 ? floor(q->cap[rank] / least * (1 + 1e-12)) : INFINITY;
    double bound = q->cap[rank] > 0 ? q->microbatches * bytes / q->cap[rank] : 0;
    return fmax(bound, whole > 0 ? q->microbatches * lives / whole : 0);
}

/* Returns a bound of the time of a rank from its first F on. */
static double rank_bound(const struct ss_search *q, int rank)
{
    int begins = first_stage(q, rank);
    double bound = fmax(work(q, rank), memory_time(q, rank)), around = life(q, begins);
    for (int r = 0; r < q->stages; r++)
        if (first_stage(q, r) >= begins)
            around = fmax(around, way_round(q, begins, r));
    return fmax(bound, around + (q->split ? q->w[rank * q->chunks] : 0));
}

double ss_search_lower_bound(const struct ss_search *q)
{
    double bound = 0;
    for (int r = 0; r < q->stages; r++) {
        double head = q->barrier ? sum_between(q, q->f, 0, first_stage(q, r)) : 0;
        bound = fmax(bound, head + rank_bound(q, r));
        if (q->barrier && !q->split) /* and back to the first rank */
            bound = fmax(bound, way_round(q, 0, r));
    }
    return bound;
}
