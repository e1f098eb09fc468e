/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "replay/native.h"

int ss_timers_init(struct ss_timers *t, int ids)
{
    t->n = 0;
    t->ids = 0;
    t->heap = NULL;
    t->at = NULL;
    return ss_timers_grow(t, ids);
}

int ss_timers_grow(struct ss_timers *t, int ids)
{
    struct ss_timer_entry *heap = realloc(t->heap, ((size_t)ids + 1) * sizeof *heap);
    if (heap)
        t->heap = heap;
    int *at = realloc(t->at, ((size_t)ids + 1) * sizeof *at);
    if (at)
        t->at = at;
    if (!heap || !at)
        return -1;
    for (int i = t->ids; i < ids; i++)
        at[i] = -1;
    t->ids = ids;
    return 0;
}

void ss_timers_free(struct ss_timers *t)
{
    free(t->heap);
    free(t->at);
}

static inline int before(struct ss_timer_entry a, struct ss_timer_entry b)
{
    return a.time < b.time || (a.time == b.time && a.id < b.id);
}

static void sift_up(struct ss_timers *t, int i, struct ss_timer_entry e)
{
    while (i > 0) {
        int up = (i - 1) / 4;
        if (!before(e, t->heap[up]))
            break;
        t->heap[i] = t->heap[up];
        t->at[t->heap[i].id] = i;
        i = up;
    }
    t->heap[i] = e;
    t->at[e.id] = i;
}

/* Time, then id, as one number: times are never negative, so their bits are in order. Compared without branches,
 * which ties between ranks in lockstep would make hard to predict. */
__extension__ typedef unsigned __int128 wide;

static inline wide key(struct ss_timer_entry e)
{
    uint64_t bits;
    memcpy(&bits, &e.time, sizeof bits);
    return (wide)bits << 64 | (uint32_t)e.id;
}

static void sift_down(struct ss_timers *t, int i, struct ss_timer_entry e)
{
    wide own = key(e);
    for (;;) {
        int child = 4 * i + 1;
        if (child >= t->n)
            break;
        int last = child + 4 < t->n ? child + 4 : t->n, least = child;
        wide smallest = key(t->heap[child]);
        for (int j = child + 1; j < last; j++) {
            wide other = key(t->heap[j]);
            least = other < smallest ? j : least;
            smallest = other < smallest ? other : smallest;
        }
        if (smallest >= own)
            break;
        t->heap[i] = t->heap[least];
        t->at[t->heap[i].id] = i;
        i = least;
    }
    t->heap[i] = e;
    t->at[e.id] = i;
}

void ss_timers_set(struct ss_timers *t, int id, double time)
{
    struct ss_timer_entry e = {time, id};
    int i = t->at[id];
    if (i < 0)
        sift_up(t, t->n++, e);
    else if (before(e, t->heap[i]))
        sift_up(t, i, e);
    else
        sift_down(t, i, e);
}

int ss_timers_pop(struct ss_timers *t)
{
    int id = t->heap[0].id;
    t->at[id] = -1;
    if (--t->n > 0)
        sift_down(t, 0, t->heap[t->n]);
    return id;
}
