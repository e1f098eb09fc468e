/* SPDX-License-Identifier: Apache-2.0 */
/* Local search over an order itself: a slot of a rank moves a few places, and a move that is not worse stays.
 * It finds orders that no rule of a list scheduler or generator makes: a W one place earlier, a forward that
 * lets a gradient pass. */
#include "base/base.h"
#include "study/progress.h"
#include "study/schedule_order.h"

#define FARTHEST 8

/* Returns 1 if `a`, which runs before `b`, may run behind it. Slots of a kind keep their order, and so
 * do F, I and W of a microbatch. */
static int may_swap(const struct ss_slot *a, const struct ss_slot *b)
{
    return a->chunk != b->chunk || (a->phase != b->phase && a->microbatch != b->microbatch);
}

static void shift(struct ss_slot *slots, int from, int to)
{
    struct ss_slot moved = slots[from];
    if (from < to)
        memmove(&slots[from], &slots[from + 1], (size_t)(to - from) * sizeof moved);
    else
        memmove(&slots[to + 1], &slots[to], (size_t)(from - to) * sizeof moved);
    slots[to] = moved;
}

/* Returns how far the slot at `from` can move past its neighbours towards `to`. */
static int reach(const struct ss_slot *slots, int n, int from, int to)
{
    int step = to > from ? 1 : -1, at = from;
    to = to < 0 ? 0 : to > n - 1 ? n - 1 : to;
    while (at != to && may_swap(&slots[step > 0 ? from : at + step], &slots[step > 0 ? at + step : from]))
        at += step;
    return at;
}

int ss_search_polish(const struct ss_search *q, int steps, uint64_t *random, struct ss_schedule *s,
                     struct ss_measure *m)
{
    int rc = SS_OK;
    for (int n = 0; n < steps && !rc; n++) {
        int r = (int)ss_search_draw(random, (uint64_t)s->stages), slots = s->nslots[r];
        int from = (int)ss_search_draw(random, (uint64_t)slots);
        int by = 1 + (int)ss_search_draw(random, FARTHEST), up = (int)ss_search_draw(random, 2);
        int to = reach(s->slots[r], slots, from, up ? from + by : from - by);
        struct ss_measure next;
        ss_study_tell(&q->progress, 0.5 + 0.5 * n / steps);
        if (to == from)
            continue;
        shift(s->slots[r], from, to);
        rc = ss_search_measure(q, s, &next, NULL);
        if (!rc && next.feasible && ss_search_length(q, &next) <= ss_search_length(q, m))
            *m = next;
        else
            shift(s->slots[r], to, from);
    }
    return rc;
}
