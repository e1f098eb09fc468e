/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timers by moment. Timers of one moment are a list, and a heap with four children a node orders the moments.
 * Ranks in lockstep share their moments, so the heap is small for any number of ranks. A table finds the
 * moment of a time that is set again. A few moments, as in folded jobs, are a sorted list instead, where an
 * insertion is quicker than in a heap.
 */

#include "replay/native.h"

#define FEW 32 /* moments that are a list at most */
#define ROOM (4 * FEW)
#define NEAR 4 /* places from the end of a moment at which a timer is put at once */

/* Makes room for n + 1 entries and keeps the first `used`: unused memory is never touched. */
static int grow_one(void **array, int used, int n, size_t size)
{
    void *grown = malloc(((size_t)n + 1) * size);
    if (!grown)
        return -1;
    if (used)
        memcpy(grown, *array, (size_t)used * size);
    free(*array);
    *array = grown;
    return 0;
}

int ss_timers_grow(struct ss_timers *t, int ids)
{
    ptrdiff_t passed = t->heap - t->room;
    int failed = grow_one((void **)&t->room, (int)passed + t->n, ids < ROOM ? ROOM : ids, sizeof *t->room);
    t->heap = t->room + passed;
    if (failed || grow_one((void **)&t->moments, t->fresh, ids, sizeof *t->moments) ||
        grow_one((void **)&t->timers, t->ids, ids, sizeof *t->timers))
        return -1;
    for (int i = t->ids; i < ids; i++)
        t->timers[i].moment = -1;
    t->ids = ids;
    return 0;
}

void ss_timers_free(struct ss_timers *t)
{
    free(t->room);
    free(t->moments);
    free(t->timers);
    free(t->table);
}

/* ---- the table ---- */

static inline uint64_t bits_of(double time)
{
    uint64_t bits;
    memcpy(&bits, &time, sizeof bits);
    return bits;
}

static inline int slot_of(const struct ss_timers *t, double time)
{
    return (int)(bits_of(time) * 0x9e3779b97f4a7c15ULL >> t->shift);
}

/* Anew from the heap: twice as large, or of other times. 0, or -1 out of memory. */
static int fill_table(struct ss_timers *t, int bits)
{
    size_t size = (size_t)1 << bits;
    if (bits != 64 - t->shift) {
        int *table = realloc(t->table, size * sizeof *table);
        if (!table)
            return -1;
        t->table = table;
        t->shift = 64 - bits;
    }
    memset(t->table, -1, size * sizeof *t->table);
    for (int i = t->hole; i < t->n; i++) {
        struct ss_moment *m = &t->moments[t->heap[i].moment];
        m->slot = slot_of(t, m->time);
        m->chain = t->table[m->slot];
        t->table[m->slot] = t->heap[i].moment;
    }
    return 0;
}

int ss_timers_init(struct ss_timers *t, int ids)
{
    *t = (struct ss_timers){.shift = 64, .free_moment = -1, .few = 1};
    return ss_timers_grow(t, ids) || fill_table(t, 6) ? -1 : 0;
}

/* ---- the heap ---- */

static inline void put(struct ss_timers *t, int i, struct ss_timer_entry e)
{
    t->heap[i] = e;
    t->moments[e.moment].at = i;
}

static void sift_up(struct ss_timers *t, int i, struct ss_timer_entry e)
{
    for (; i > 0 && e.time < t->heap[(i - 1) / 4].time; i = (i - 1) / 4)
        put(t, i, t->heap[(i - 1) / 4]);
    put(t, i, e);
}

/* Times are never negative, so their bits are in order; compared without branches, which are hard to predict here. */
static void sift_down(struct ss_timers *t, int i, struct ss_timer_entry e)
{
    uint64_t own = bits_of(e.time);
    for (;;) {
        int child = 4 * i + 1;
        if (child >= t->n)
            break;
        int last = child + 4 < t->n ? child + 4 : t->n, least = child;
        uint64_t smallest = bits_of(t->heap[child].time);
        for (int j = child + 1; j < last; j++) {
            uint64_t other = bits_of(t->heap[j].time);
            least = other < smallest ? j : least;
            smallest = other < smallest ? other : smallest;
        }
        if (smallest >= own)
            break;
        put(t, i, t->heap[least]);
        i = least;
    }
    put(t, i, e);
}

/* ---- moments ---- */

static inline int take_moment(struct ss_timers *t)
{
    int m = t->free_moment;
    if (m < 0)
        return t->fresh++;
    t->free_moment = t->moments[m].chain;
    return m;
}

__attribute__((noinline)) static int new_moment(struct ss_timers *t, double time, int slot)
{
    if (t->n >> (64 - t->shift) && !fill_table(t, 65 - t->shift)) /* else its chains are longer */
        slot = slot_of(t, time);
    int m = take_moment(t);
    t->moments[m] =
        (struct ss_moment){.time = time, .head = -1, .tail = -1, .slot = slot, .chain = t->table[slot]};
    t->table[slot] = m;
    if (t->hole) {
        t->hole = 0;
        sift_down(t, 0, (struct ss_timer_entry){time, m});
    } else {
        sift_up(t, t->n++, (struct ss_timer_entry){time, m});
    }
    return m;
}

void ss_timers_close(struct ss_timers *t)
{
    t->hole = 0;
    if (--t->n > 0)
        sift_down(t, 0, t->heap[t->n]);
}

static void take_from_list(struct ss_timers *t, int moment)
{
    int i = 0;
    while (t->heap[i].moment != moment)
        i++;
    memmove(t->heap + i, t->heap + i + 1, (size_t)(--t->n - i) * sizeof *t->heap);
}

/* Takes away a timer before it is due. */
__attribute__((noinline)) static void take(struct ss_timers *t, int id)
{
    struct ss_timer *x = &t->timers[id];
    struct ss_moment *m = &t->moments[x->moment];
    if (x->prev >= 0)
        t->timers[x->prev].next = x->next;
    else
        m->head = x->next;
    if (x->next >= 0)
        t->timers[x->next].prev = x->prev;
    else
        m->tail = x->prev;
    if (m->head >= 0)
        return;
    int at = m->at;
    ss_timers_free_moment(t, x->moment);
    if (t->few) {
        take_from_list(t, x->moment);
        return;
    }
    if (at == --t->n)
        return;
    struct ss_timer_entry last = t->heap[t->n];
    if (at > 0 && last.time < t->heap[(at - 1) / 4].time)
        sift_up(t, at, last);
    else
        sift_down(t, at, last);
}

int ss_timers_take(struct ss_timers *t, int id, double *time)
{
    int moment = t->timers[id].moment;
    if (moment < 0)
        return 0;
    *time = t->moments[moment].time;
    take(t, id);
    t->timers[id].moment = -1;
    return 1;
}

static inline int find_in_heap(struct ss_timers *t, double time)
{
    int slot = slot_of(t, time), m = t->table[slot];
    while (m >= 0 && t->moments[m].time != time)
        m = t->moments[m].chain;
    return m < 0 ? new_moment(t, time, slot) : m;
}

/* A list in order is a heap. */
__attribute__((noinline)) static void make_heap(struct ss_timers *t)
{
    memmove(t->room, t->heap, (size_t)t->n * sizeof *t->heap);
    t->heap = t->room;
    t->few = 0;
    for (int i = 0; i < t->n; i++)
        t->moments[t->heap[i].moment].at = i;
    (void)fill_table(t, 64 - t->shift); /* as large as it is */
}

/* One of more timers of its moment. */
static inline void join(struct ss_timers *t, int m, int id)
{
    struct ss_moment *moment = &t->moments[m];
    int before = moment->tail, after = -1;
    for (int i = 0; i < NEAR && id < before; i++) {
        after = before;
        before = t->timers[before].prev;
    }
    t->timers[id] = (struct ss_timer){m, after, before};
    *(before >= 0 ? &t->timers[before].next : &moment->head) = id;
    *(after >= 0 ? &t->timers[after].prev : &moment->tail) = id;
    moment->unsorted |= id < before;
}

__attribute__((noinline)) static void join_moment(struct ss_timers *t, int m, int id)
{
    join(t, m, id);
}

__attribute__((noinline)) static void set_in_heap(struct ss_timers *t, int id, double time)
{
    if (t->few)
        make_heap(t);
    join(t, find_in_heap(t, time), id);
}

/* The list has come to the end of its room. Where e is then. */
__attribute__((noinline)) static struct ss_timer_entry *move_back(struct ss_timers *t,
                                                                  const struct ss_timer_entry *e)
{
    ptrdiff_t at = e - t->heap;
    memmove(t->room, t->heap, (size_t)t->n * sizeof *t->heap);
    t->heap = t->room;
    return t->room + at;
}

/* Most timers are alone at their moments. */
static inline void set_in_list(struct ss_timers *t, int id, double time)
{
    struct ss_timer_entry *e = t->heap + t->n;
    while (e > t->heap && e[-1].time > time)
        e--;
    if (e > t->heap && e[-1].time == time) {
        join_moment(t, e[-1].moment, id);
        return;
    }
    if (t->n == FEW) {
        set_in_heap(t, id, time);
        return;
    }
    if (t->heap + t->n == t->room + ROOM)
        e = move_back(t, e);
    int m = take_moment(t);
    struct ss_timer_entry put = {time, m};
    for (struct ss_timer_entry *end = t->heap + t->n++; e < end; e++) { /* no memmove: they are few */
        struct ss_timer_entry next = *e;
        *e = put;
        put = next;
    }
    *e = put;
    struct ss_moment *moment = &t->moments[m];
    moment->time = time;
    moment->head = moment->tail = id;
    moment->unsorted = 0;
    t->timers[id] = (struct ss_timer){m, -1, -1};
}

void ss_timers_set(struct ss_timers *t, int id, double time)
{
    if (t->timers[id].moment >= 0)
        take(t, id);
    if (t->few)
        set_in_list(t, id, time);
    else
        set_in_heap(t, id, time);
}

/* ---- order within a moment ---- */

/* Two ascending lists, linked by next, as one. */
static int merge(struct ss_timer *x, int a, int b)
{
    int head = -1, *link = &head;
    while (a >= 0 && b >= 0) {
        int *least = a < b ? &a : &b;
        *link = *least;
        link = &x[*least].next;
        *least = *link;
    }
    *link = a >= 0 ? a : b;
    return head;
}

/* By id: runs that are in order are merged, most are one after the other already. */
void ss_timers_sort(struct ss_timers *t, struct ss_moment *m)
{
    struct ss_timer *x = t->timers;
    int runs[32], n = 0, merged = -1;
    for (int id = m->head, count = 1; id >= 0; count++) {
        int head = id, last = id;
        while (x[last].next > last)
            last = x[last].next;
        id = x[last].next;
        x[last].next = -1;
        for (int k = count; n > 0 && !(k & 1); k >>= 1) /* as many merges as the count ends in zeros */
            head = merge(x, runs[--n], head);
        runs[n++] = head;
    }
    while (n > 0)
        merged = merge(x, runs[--n], merged);
    m->head = merged;
    for (int id = merged, before = -1; id >= 0; before = id, id = x[id].next) {
        x[id].prev = before;
        m->tail = id;
    }
    m->unsorted = 0;
}
