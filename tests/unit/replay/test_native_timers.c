/* SPDX-License-Identifier: Apache-2.0 */
/* The native engine's timers against a plain array that is searched: order by time, then by id, whatever is set again. */
#include "replay/native.h"
#include "suite.h"

enum { IDS = 3000 };

static struct {
    struct ss_timers timers;
    double due[IDS]; /* < 0: not set */
    uint64_t state;
} t;

static unsigned draw(unsigned n)
{
    t.state = t.state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(t.state >> 33) % n;
}

static void set(int id, double time)
{
    ss_timers_set(&t.timers, id, time);
    t.due[id] = time;
}

/* Pops one, which must be the next in the array; its time, or -1 where none is left. */
static double pop(int ids)
{
    int first = -1;
    for (int i = 0; i < ids; i++)
        if (t.due[i] >= 0 && (first < 0 || t.due[i] < t.due[first]))
            first = i;
    CU_ASSERT_EQUAL(ss_timers_any(&t.timers), first >= 0);
    if (first < 0 || !ss_timers_any(&t.timers))
        return -1;
    double time = t.timers.heap[0].time;
    CU_ASSERT_EQUAL(time, t.due[first]);
    CU_ASSERT_EQUAL(ss_timers_pop(&t.timers), first);
    t.due[first] = -1;
    return time;
}

static void begin(int ids)
{
    CU_ASSERT_FATAL(ss_timers_init(&t.timers, ids) == 0);
    for (int i = 0; i < IDS; i++)
        t.due[i] = -1;
}

/* Few times in all, so that most timers share theirs, or many; set in any order, moved before they are due. */
static void random_walk(int ids, unsigned times)
{
    double now = 0;
    begin(ids);
    for (int i = 0; i < 4 * ids; i++) {
        int id = (int)draw((unsigned)ids);
        if (draw(3) == 0)
            now = fmax(now, pop(ids));
        else
            set(id, now + (double)(1 + draw(times)) / 8);
    }
    while (pop(ids) >= 0)
        ;
    ss_timers_free(&t.timers);
}

TEST(random)
{
    t.state = 1;
    for (int i = 0; i < 20; i++) {
        random_walk(1 + (int)draw(40), 1 + draw(6));
        random_walk(400, 1 + draw(1000));
    }
}

/* Up to 32 moments are a list, which wanders through its room; with one more they are a heap for good. */
TEST(few_moments)
{
    begin(IDS);
    for (int i = 0; i < 1000; i++)
        set(i, 1000 - i % 32 + 32 * (i / 32));
    CU_ASSERT(!t.timers.few);
    while (pop(1000) >= 0)
        ;
    ss_timers_free(&t.timers);
    begin(IDS);
    for (int i = 0; i < 1000; i++) {
        set(i, i + (i % 2 ? 31.5 : 0));
        if (i >= 31)
            pop(1000);
    }
    CU_ASSERT(t.timers.few);
    set(7, 5000);
    set(7, 4000); /* moved before it is due */
    while (pop(1000) >= 0)
        ;
    ss_timers_free(&t.timers);
}

/* All at one moment, in orders that insertion at the end alone does not put right. */
TEST(one_moment)
{
    begin(IDS);
    for (int i = 0; i < IDS; i++)
        set(i * 1999 % IDS, 7);
    CU_ASSERT_EQUAL(t.timers.n, 1);
    for (int i = 0; i < IDS; i++) {
        CU_ASSERT_FATAL(ss_timers_any(&t.timers));
        CU_ASSERT_EQUAL(ss_timers_pop(&t.timers), i);
        if (i == IDS / 2)
            set(1, 7); /* while the others of its moment are under way */
        if (i == IDS / 2)
            CU_ASSERT_EQUAL(ss_timers_pop(&t.timers), 1);
    }
    CU_ASSERT(!ss_timers_any(&t.timers));
    ss_timers_free(&t.timers);
}

/* More ids while some are set; more moments than the table begins with. */
TEST(growth)
{
    begin(10);
    for (int i = 0; i < 10; i++)
        set(i, 10 - i);
    CU_ASSERT_FATAL(ss_timers_grow(&t.timers, 1000) == 0);
    for (int i = 10; i < 1000; i++)
        set(i, 0.5 + i % 500);
    for (int i = 0; i < 1000; i++)
        CU_ASSERT(pop(1000) >= 0);
    CU_ASSERT_EQUAL(pop(1000), -1);
    ss_timers_free(&t.timers);
}
