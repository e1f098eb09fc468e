/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders as loops. With more microbatches the steady part of an order repeats: a number of them, the period, adds as many slots
 * to each rank, at one place, and leaves the others as they are but for the numbers of microbatches. So the order for many is
 * found from the orders for few: two that differ by one period show the place.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "schedule/builder.h"

/* Turns of the loop that an order must show before it counts as one: neither warm-up nor cool-down reaches into the middle. */
#define TURNS 6

static int same(const struct ss_slot *a, const struct ss_slot *b, int microbatches)
{
    struct ss_slot moved = *a;
    ss_slot_shift(&moved, microbatches);
    return moved.phase == b->phase && moved.chunk == b->chunk && moved.microbatch == b->microbatch &&
           moved.chunk2 == b->chunk2 && moved.microbatch2 == b->microbatch2;
}

/* Where a rank's slots repeat: `more` has one turn more than `s`. -1: they do not. */
static int find_first(const struct ss_schedule *s, const struct ss_schedule *more, int rank, int step)
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
    if (common - from < TURNS * length)
        return -1;
    return from + (common - from) / (2 * length) * length;
}

/* Microbatches after which orders repeat: groups of an interleaved one, and of the V's both directions. */
static int period_of(const struct ss_schedule_params *params)
{
    return params->microbatch_group_size > 0 ? params->microbatch_group_size : params->stages;
}

/* A few microbatches that leave the same rest of a period, with many turns in between. */
static int few_of(const struct ss_schedule_params *params, int period)
{
    int fill = 4 * params->stages + 4 * period; /* warm-up and cool-down, and the turns that they disturb */
    return params->microbatches % period + (fill / period + 1 + 2 * TURNS) * period;
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
static int make_loop(struct ss_schedule *s, const struct ss_schedule *more, int turns)
{
    int step = more->microbatches - s->microbatches;
    if (!(s->loop_first = ss_calloc((size_t)s->stages, sizeof *s->loop_first)))
        return SS_ERR_NOMEM;
    for (int r = 0; r < s->stages; r++) {
        s->loop_first[r] = find_first(s, more, r, step);
        if (s->loop_first[r] < 0 || more->nslots[r] - s->nslots[r] != more->nslots[0] - s->nslots[0])
            return 0;
    }
    s->loop_length = more->nslots[0] - s->nslots[0];
    s->loop_step = step;
    s->loop_more = turns;
    return 1;
}

int ss_schedule_build_loop(const char *name, const struct ss_schedule_params *params,
                           struct ss_schedule **out, struct ss_error *err)
{
    struct ss_schedule_params few = *params;
    struct ss_schedule *two[2] = {NULL, NULL};
    int looped = 0;
    int rc = ss_schedule_check_params(name, params, err);
    if (rc)
        return rc;
    int period = period_of(params);
    few.microbatches = few_of(params, period);
    /* An order that is refused with few microbatches is built as it is, for its error. */
    if (few.microbatches < params->microbatches / 2 && !build_two(name, few, period, two, NULL))
        looped = make_loop(two[0], two[1], (params->microbatches - few.microbatches) / period);
    ss_schedule_free(two[1]);
    if (looped > 0) {
        *out = two[0];
        return SS_OK;
    }
    ss_schedule_free(two[0]);
    return ss_schedule_build(name, params, out, err);
}
