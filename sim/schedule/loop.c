/* SPDX-License-Identifier: Apache-2.0 */
/* Orders as loops. With more microbatches the steady part of an order repeats: a number of them, the period, adds as many slots
 * to each rank, at one place, and leaves the others as they are but for the numbers of microbatches. So the order for many is
 * found from the orders for few: two that differ by one period show the place. */
#include "base/base.h"
#include "schedule/builder.h"

/* Turns of the loop that an order must show before it counts as one: neither warm-up nor cool-down reaches into the middle. */
#define TURNS 6
/* Turns that an order must show to become a loop: those of the middle, an equal one before and behind them,
 * and two whose sends and receives warm-up and cool-down may change. */
#define TURNS_SHORT 5

static int same(const struct ss_slot *a, const struct ss_slot *b, int microbatches)
{
    return a->phase == b->phase && a->chunk == b->chunk && a->microbatch + microbatches == b->microbatch &&
           a->chunk2 == b->chunk2 &&
           a->microbatch2 + (a->phase == SS_PHASE_FB ? microbatches : 0) == b->microbatch2;
}

/* Where a rank's slots repeat: `more` has one turn more than `s`. -1: they do not. */
static int find_first(const struct ss_schedule *s, const struct ss_schedule *more, int rank, int step,
                      int enough)
{
    const struct ss_slot *a = s->slots[rank], *b = more->slots[rank];
    int n = s->nslots[rank], length = more->nslots[rank] - n, common = 0, from = n;
    if (length <= 0)
        return -1;
    while (common < n && same(&a[common], &b[common], 0))
        common++;
    while (from > 0 && same(&a[from - 1], &b[from - 1 + length], step))
        from--;
    /* from any slot in [from, common - length] on it is a turn, after which the rest follows */
    if (common - from < enough * length)
        return -1;
    return from + (common - from) / (2 * length) * length;
}

/* Microbatches after which orders repeat: groups of an interleaved one, and of the V's both directions. */
static int period_of(const struct ss_schedule_params *params)
{
    return params->microbatch_group_size > 0 ? params->microbatch_group_size : params->stages;
}

/* Returns a small number of microbatches with the same remainder of a period: the turns that an order must
 * show, and enough to fill and to drain it. */
static int few_of(const struct ss_schedule_params *params, int period, int fill)
{
    return params->microbatches % period + (TURNS + fill) * period;
}

/* Turns that warm-up and cool-down disturb, at most. */
static int most_fill(const struct ss_schedule_params *params, int period)
{
    return (4 * params->stages + 4 * period) / period + 1 + TURNS;
}

/* Both schedules of these parameters, with one period more in the second one. */
static int build_two(const char *name, struct ss_schedule_params params, int period,
                     struct ss_schedule *two[2], struct ss_error *err)
{
    int rc = ss_schedule_build(name, &params, &two[0], err);
    params.microbatches += period;
    return rc ? rc : ss_schedule_build(name, &params, &two[1], err);
}

/* Makes *s the loop that takes `turns` turns more. 1: it is one. */
static int make_loop(struct ss_schedule *s, const struct ss_schedule *more, int turns, int enough)
{
    int step = more->microbatches - s->microbatches;
    if (!(s->loop_first = ss_calloc((size_t)s->stages, sizeof *s->loop_first)))
        return SS_ERR_NOMEM;
    for (int r = 0; r < s->stages; r++) {
        s->loop_first[r] = find_first(s, more, r, step, enough);
        if (s->loop_first[r] < 0 || more->nslots[r] - s->nslots[r] != more->nslots[0] - s->nslots[0])
            return 0;
    }
    s->loop_length = more->nslots[0] - s->nslots[0];
    s->loop_step = step;
    s->loop_more = turns;
    return 1;
}

/* Whether the order is a loop, with so few microbatches and more turns. One that is refused with few is built as it is, for its
 * error. */
static int try_loop(const char *name, const struct ss_schedule_params *params, int period, int few,
                    int enough, struct ss_schedule **out)
{
    struct ss_schedule_params less = *params;
    struct ss_schedule *two[2] = {NULL, NULL};
    int looped = 0;
    less.microbatches = few;
    if (!build_two(name, less, period, two, NULL))
        looped = make_loop(two[0], two[1], (params->microbatches - few) / period, enough);
    ss_schedule_free(two[1]);
    if (looped > 0)
        *out = two[0];
    else
        ss_schedule_free(two[0]);
    return looped > 0;
}

static int is_whole(const struct ss_schedule *loop, const struct ss_schedule *whole)
{
    for (int r = 0; r < whole->stages; r++) {
        const int n = whole->nslots[r], first = loop->loop_first[r], length = loop->loop_length;
        if (n != loop->nslots[r] + loop->loop_more * length)
            return 0;
        for (int i = 0, at = 0, turn = 0; i < n; i++, at++) {
            if (at == first + length && turn < loop->loop_more) {
                at = first;
                turn++;
            }
            if (!same(&loop->slots[r][at], &whole->slots[r][i], turn * loop->loop_step))
                return 0;
        }
    }
    return 1;
}

/* An order of at most some dozens of turns is made whole, and a loop with few slots replaces it where both
 * are equal. Megatron's orders are full after a turn and a half; an order of one chunk may repeat with each
 * microbatch, and takes two turns a stage. */
static void shorten(const char *name, const struct ss_schedule_params *params, int period,
                    struct ss_schedule **whole)
{
    struct ss_schedule *loop = NULL;
    int m = params->microbatches, rest = m % period;
    int few = rest + (TURNS_SHORT + 2 * params->stages + period - 1) / period * period;
    int looped = params->chunks == 1 && few + 2 <= m && try_loop(name, params, 1, few, TURNS_SHORT, &loop);
    few = rest + (TURNS_SHORT + 2) * period;
    if (!looped && few + 2 * period <= m)
        looped = try_loop(name, params, period, few, TURNS_SHORT, &loop);
    if (!looped || !is_whole(loop, *whole)) {
        ss_schedule_free(loop);
        return;
    }
    ss_schedule_free(*whole);
    *whole = loop;
}

int ss_schedule_loop_rest(const struct ss_schedule_params *params)
{
    int period = period_of(params);
    return few_of(params, period, most_fill(params, period)) >= params->microbatches / 2
               ? -1
               : params->microbatches % period;
}

int ss_schedule_build_loop(const char *name, const struct ss_schedule_params *params,
                           struct ss_schedule **out, struct ss_error *err)
{
    int rc = ss_schedule_check_params(name, params, err);
    if (rc)
        return rc;
    int period = period_of(params), most = most_fill(params, period);
    if (ss_schedule_loop_rest(params) < 0) {
        rc = ss_schedule_build(name, params, out, err);
        if (!rc)
            shorten(name, params, period, out);
        return rc;
    }
    /* Later work takes as long as the order, so a short order is tried first. */
    for (int part = 3; part >= 1; part -= 2)
        if (try_loop(name, params, period, few_of(params, period, most / part), TURNS, out))
            return SS_OK;
    return ss_schedule_build(name, params, out, err);
}
