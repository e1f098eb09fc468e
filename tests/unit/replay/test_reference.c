/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reference replay alone, on programs whose times follow by hand from docs/design/replay-contract.md; and that what holds
 * the engines against it finds a difference of 1e-6 wherever it is.
 */

#include "random_program.h"
#include "reference_compare.h"
#include "suite.h"

static int close_to(double a, double b)
{
    return fabs(a - b) <= 1e-12 * (1 + fabs(b));
}

/* A row of a class's main thread ('r': a = class, k = row) or a transfer ('m'essage of channel a, instance of
 * 'c'ollective a; k-th). */
struct want {
    char kind;
    int a, k;
    double start, busy, end;
};
#define ROW(cls, row, start, busy, end)                                                                      \
    {                                                                                                        \
        'r', cls, row, start, busy, end                                                                      \
    }
#define MESSAGE(channel, k, start, end)                                                                      \
    {                                                                                                        \
        'm', channel, k, start, start, end                                                                   \
    }
#define GROUP(collective, k, start, end)                                                                     \
    {                                                                                                        \
        'c', collective, k, start, start, end                                                                \
    }

static const struct reference_transfer *find(const struct reference *r, const struct want *w)
{
    for (int i = 0; i < r->ntransfers; i++)
        if (r->transfers[i].channel == (w->kind == 'm' ? w->a : -1) &&
            r->transfers[i].collective == (w->kind == 'c' ? w->a : -1) && r->transfers[i].k == w->k)
            return &r->transfers[i];
    return NULL;
}

static void want_one(const struct reference *r, const struct want *w, int number)
{
    double start, busy, end;
    if (w->kind == 'r') {
        const struct reference_row *row = &r->classes[w->a].rows[w->k];
        start = row->start;
        busy = row->busy_from;
        end = row->end;
    } else {
        const struct reference_transfer *t = find(r, w);
        CU_ASSERT_PTR_NOT_NULL_FATAL(t);
        start = busy = t->start;
        end = t->end;
    }
    int good = close_to(start, w->start) && close_to(busy, w->busy) && close_to(end, w->end);
    CU_ASSERT(good);
    if (!good)
        printf("\n  want %d: [%.17g %.17g %.17g]\n", number, start, busy, end);
}

static void replay(const struct ss_program *p, double makespan, const struct want *want, int n,
                   struct reference *r)
{
    CU_ASSERT_EQUAL(reference_replay(p, r), 0);
    CU_ASSERT(close_to(r->makespan, makespan));
    if (!close_to(r->makespan, makespan))
        printf("\n  makespan %.17g, not %.17g\n", r->makespan, makespan);
    for (int i = 0; i < n; i++)
        want_one(r, &want[i], i);
}

#define CHECK(p, makespan, ...)                                                                              \
    do {                                                                                                     \
        const struct want wants[] = {__VA_ARGS__};                                                           \
        struct reference r;                                                                                  \
        replay(p, makespan, wants, (int)(sizeof wants / sizeof wants[0]), &r);                               \
        reference_free(&r);                                                                                  \
        make_free(p);                                                                                        \
    } while (0)

/* Latency, then the flow; the send goes on at once, each side waits for the end. */
TEST(latency_then_flow)
{
    struct ss_program *p = make_program(2, 0);
    int ch = make_channel(p, 0, 1, 0, make_wire(p, 1e9), 0.5, 0);
    make_compute(p, 0, 1);
    make_send(p, ch, 2e9); /* 1 .. 1.5 latency, .. 3.5 flow */
    make_compute(p, 0, 0.25);
    make_wait_send(p, ch);
    make_recv(p, ch);
    make_wait_recv(p, ch);
    make_compute(p, 1, 1);
    CHECK(p, 4.5, MESSAGE(ch, 0, 1, 3.5), ROW(0, 1, 1, 1, 1), ROW(0, 3, 1.25, 1.25, 3.5), ROW(1, 0, 0, 0, 0),
          ROW(1, 1, 0, 1, 3.5), ROW(1, 2, 3.5, 3.5, 4.5));
}

/* Messages of a channel go one at a time; with rendezvous each waits for its own receive. */
TEST(channel)
{
    for (int rendezvous = 0; rendezvous <= 1; rendezvous++) {
        struct ss_program *p = make_program(2, 0);
        int ch = make_channel(p, 0, 1, rendezvous, make_wire(p, 1e9), 0.5, 0);
        make_send(p, ch, 1e9);
        make_send(p, ch, 2e9);
        make_wait_send(p, ch);
        make_compute(p, 1, 1);
        make_recv(p, ch);
        make_compute(p, 1, 4);
        make_recv(p, ch);
        make_wait_recv(p, ch);
        make_wait_recv(p, ch);
        if (rendezvous) /* 1 .. 2.5, then from the second receive on: 5 .. 7.5 */
            CHECK(p, 7.5, MESSAGE(ch, 0, 1, 2.5), MESSAGE(ch, 1, 5, 7.5), ROW(0, 2, 0, 1, 2.5),
                  ROW(1, 4, 5, 5, 5), ROW(1, 5, 5, 5, 7.5));
        else
            CHECK(p, 5, MESSAGE(ch, 0, 0, 1.5), MESSAGE(ch, 1, 1.5, 4), ROW(0, 2, 0, 0, 1.5),
                  ROW(1, 5, 5, 5, 5));
    }
}

/* Weights 1 and 2 on 3 GB/s: both flows at 1 GB/s, as 1 + 2 = 3. Once the first is through, the other at 1.5. */
TEST(weights)
{
    struct ss_program *p = make_program(2, 0);
    int link = make_link(p, 3e9), one = make_path(p), two = make_path(p);
    make_hop(p, one, link, 1);
    make_hop(p, two, link, 2);
    int a = make_channel(p, 0, 1, 0, one, 0, 0), b = make_channel(p, 0, 1, 0, two, 0, 0);
    make_send(p, a, 1e9);
    make_send(p, b, 4e9);
    make_wait_send(p, a);
    make_wait_send(p, b);
    CHECK(p, 3, MESSAGE(a, 0, 0, 1), MESSAGE(b, 0, 0, 3));
}

/* Link A of 1 GB/s carries flows 1 and 2, B of 4 GB/s 2 and 3, 3 names B twice. Equal rates until A is full at 1/2;
 * then 3 takes what is left of B, 3.5 GB/s, at half that rate. */
TEST(maxmin)
{
    struct ss_program *p = make_program(1, 0);
    int la = make_link(p, 1e9), lb = make_link(p, 4e9), path[3], ch[3];
    const double bytes[] = {0.5e9, 1e9, 3.5e9}; /* 1: .. 1 s. 2: 0.5 by then, then 1 GB/s: .. 1.5 s. */
    for (int i = 0; i < 3; i++)
        path[i] = make_path(p);
    make_hop(p, path[0], la, 1);
    make_hop(p, path[1], la, 1);
    make_hop(p, path[1], lb, 1);
    make_hop(p, path[2], lb, 1);
    make_hop(p, path[2], lb, 1);
    for (int i = 0; i < 3; i++) {
        ch[i] = make_channel(p, 0, 0, 0, path[i], 0, 0);
        make_send(p, ch[i], bytes[i]);
    }
    for (int i = 0; i < 3; i++)
        make_wait_send(p, ch[i]);
    /* 3: 1.75 GB by 1 s, 1.5 GB/s until 1.5 s: 2.5 GB, then 2 GB/s: 0.5 s more */
    CHECK(p, 2, MESSAGE(ch[0], 0, 0, 1), MESSAGE(ch[1], 0, 0, 1.5), MESSAGE(ch[2], 0, 0, 2));
}

/* A compute of 3 s beside two collectives that hold `first` and `second` for 2 s. */
static void hold_case(double first, double second, double end)
{
    const int me = 0;
    struct ss_program *p = make_program(1, 2);
    for (int i = 0; i < 2; i++) {
        int g = make_collective(p, 1, &me, i ? second : first);
        make_phase(p, g, 1);
        if (i == 0)
            make_flow(p, g, make_wire(p, 1e9), 1e9);
        else
            make_phase(p, g, 1);
        make_event(p, 0, SS_EV_POST, g, i, 0);
    }
    make_compute(p, 0, 3);
    CHECK(p, end, ROW(0, 2, 0, 0, end), GROUP(0, 0, 0, 2), GROUP(1, 0, 0, 2));
}

/* The contract's examples: 0.1 leaves 0.9; 0.8 leaves a half; 0.2 and 0.9 leave 0.4. */
TEST(holds)
{
    hold_case(0, 0, 3);
    hold_case(0.1, 0, 3.2);
    hold_case(0.8, 0, 4);
    hold_case(0.2, 0.9, 4.2);
    hold_case(0.9, 0.2, 4.2);
    hold_case(1, 1, 3 + 4.0 / 3);
}

/* A message of 2 s, latency included, holds a half at both its ends; one hold where they are the same class. */
TEST(message_holds)
{
    struct ss_program *p = make_program(3, 0);
    int there = make_channel(p, 0, 1, 0, make_wire(p, 1e9), 1, 0.5),
        self = make_channel(p, 2, 2, 0, -1, 2, 0.5);
    make_send(p, there, 1e9);
    make_send(p, self, 7);
    for (int c = 0; c < 3; c++)
        make_compute(p, c, 4);
    CHECK(p, 5, MESSAGE(there, 0, 0, 2), MESSAGE(self, 0, 0, 2), ROW(0, 1, 0, 0, 5), ROW(1, 0, 0, 0, 5),
          ROW(2, 1, 0, 0, 5));
}

/* Phases one after another, each as long as its last flow; a flow of no bytes or on no links takes none. */
TEST(phases)
{
    const int members[] = {1, 0};
    struct ss_program *p = make_program(2, 1);
    int wire = make_wire(p, 1e9), g = make_collective(p, 2, members, 0),
        empty = make_collective(p, 2, members, 0);
    make_phase(p, g, 0.25);
    make_flow(p, g, wire, 1e9); /* together with the next: both at a half, .. 2; the next alone .. 3 */
    make_flow(p, g, wire, 2e9);
    make_flow(p, g, wire, 0);
    make_phase(p, g, 0);
    make_flow(p, g, make_path(p), 1e9);
    make_flow(p, g, -1, 1e9);
    make_phase(p, g, 0.5);
    make_phase(p, empty, 0);
    for (int c = 0; c < 2; c++) {
        make_compute(p, c, 1 + c);
        make_event(p, c, SS_EV_POST, g, 0, 0);
        make_event(p, c, SS_EV_POST, empty, 0, 0);
        make_event(p, c, SS_EV_WAIT, 0, 0, 0);
        make_event(p, c, SS_EV_WAIT, 0, 0, 0);
    }
    CHECK(p, 5.75, GROUP(g, 0, 2, 5.75), GROUP(empty, 0, 5.75, 5.75), ROW(0, 3, 1, 2, 5.75),
          ROW(1, 3, 2, 2, 5.75), ROW(0, 4, 5.75, 5.75, 5.75));
}

/* Class 0 posts a, b on stream 0 and c on stream 1; class 1 comes to b (its own stream 1) at 1 s, to a at 2 s. So b
 * waits behind a at class 0, though class 1 has it first; c needs only class 0. */
TEST(streams)
{
    const int members[] = {0, 1};
    struct ss_program *p = make_program(2, 2);
    int g[3];
    for (int i = 0; i < 3; i++) {
        g[i] = make_collective(p, i == 2 ? 1 : 2, members, 0);
        make_phase(p, g[i], 1);
        make_event(p, 0, SS_EV_POST, g[i], i == 2, 0);
    }
    for (int i = 0; i < 3; i++)
        make_event(p, 0, SS_EV_WAIT, 0, i == 2, 0);
    for (int i = 1; i >= 0; i--) {
        make_compute(p, 1, 1);
        make_event(p, 1, SS_EV_POST, g[i], i, 0);
    }
    make_event(p, 1, SS_EV_WAIT, 0, 1, 0);
    CHECK(p, 4, GROUP(g[0], 0, 2, 3), GROUP(g[1], 0, 3, 4), GROUP(g[2], 0, 0, 1), ROW(0, 3, 0, 2, 3),
          ROW(0, 4, 3, 3, 4), ROW(0, 5, 4, 4, 4), ROW(1, 4, 2, 3, 4));
}

/* One collective on two streams: first posts meet first posts. Class 1 posts its first on stream 1. */
TEST(instances)
{
    const int members[] = {0, 1};
    struct ss_program *p = make_program(2, 2);
    int g = make_collective(p, 2, members, 0);
    make_phase(p, g, 1);
    make_event(p, 0, SS_EV_POST, g, 0, 0);
    make_event(p, 0, SS_EV_POST, g, 1, 0);
    make_event(p, 1, SS_EV_POST, g, 1, 0);
    make_compute(p, 1, 3);
    make_event(p, 1, SS_EV_POST, g, 0, 0);
    for (int c = 0; c < 2; c++)
        for (int k = 0; k < 2; k++)
            make_event(p, c, SS_EV_WAIT, 0, k, 0);
    CHECK(p, 4, GROUP(g, 0, 0, 1), GROUP(g, 1, 3, 4), ROW(0, 2, 0, 0, 1), ROW(0, 3, 1, 3, 4),
          ROW(1, 3, 3, 3, 4), ROW(1, 4, 4, 4, 4));
}

/* A transfer that nobody waits for goes on alone, and is no part of the makespan. */
TEST(trailing)
{
    struct ss_program *p = make_program(1, 0);
    int ch = make_channel(p, 0, 0, 0, make_wire(p, 1e9), 0, 0);
    struct reference r;
    make_send(p, ch, 5e9);
    make_compute(p, 0, 1);
    const struct want want[] = {MESSAGE(ch, 0, 0, 5), ROW(0, 1, 0, 0, 1)};
    replay(p, 1, want, 2, &r);
    CU_ASSERT(close_to(r.link_busy[0], 1));
    reference_free(&r);
    make_free(p);
}

/* Jitter multiplies a computation by the factor of its class's rank, slot and event. */
TEST(jitter)
{
    struct ss_program *p = make_program(2, 0);
    p->jitter = (struct ss_jitter){.sigma = 0.2, .seed = 7, .replica = 3};
    p->classes[1].draws = 5;
    make_slot(p, 1, "none");
    make_event(p, 1, SS_EV_ALLOC, SS_MEM_OTHER, 0, 1);
    make_slot(p, 1, "one");
    make_event(p, 1, SS_EV_ALLOC, SS_MEM_OTHER, 0, 1);
    make_compute(p, 1, 2);
    double end = 2 * ss_jitter_factor(&p->jitter, 5, 1, 1);
    CHECK(p, end, ROW(1, 2, 0, 0, end));
}

/* Labels, memory, links: class 0 computes 2 s by a mix; class 1 waits for its message (sent at 2, latency 0.5, 1 s
 * of flow) and, from 4 s on, for a collective of 1 s. */
TEST(timeline)
{
    const int members[] = {0, 1};
    struct ss_program *p = make_program(2, 1);
    int ch = make_channel(p, 0, 1, 0, make_wire(p, 1e9), 0.5, 0), g = make_collective(p, 2, members, 0);
    struct reference r;
    make_phase(p, g, 1);
    p->mixes = make_room(p->mixes, p->nmixes++, sizeof *p->mixes);
    p->mixes[1].fraction[SS_LABEL_COMPUTE] = 0.75;
    p->mixes[1].fraction[SS_LABEL_TP] = 0.25;
    make_slot(p, 0, "one");
    make_event(p, 0, SS_EV_ALLOC, SS_MEM_ACTIVATIONS, 0, 100);
    make_event(p, 0, SS_EV_COMPUTE, 1, 0, 2);
    make_slot(p, 0, "two");
    make_event(p, 0, SS_EV_ALLOC, SS_MEM_LOGITS, 0, 50); /* 150: the peak, and the first of two */
    make_event(p, 0, SS_EV_FREE, SS_MEM_ACTIVATIONS, 0, 100);
    make_event(p, 0, SS_EV_ALLOC, SS_MEM_OTHER, 0, 100);
    make_send(p, ch, 1e9);
    make_event(p, 0, SS_EV_POST, g, 0, 0);
    make_recv(p, ch);
    make_wait_recv(p, ch);
    make_compute(p, 1, 0.5);
    make_event(p, 1, SS_EV_POST, g, 0, 0);
    make_event(p, 1, SS_EV_WAIT, 0, 0, 0);
    const struct want want[] = {ROW(1, 1, 0, 2, 3.5), GROUP(g, 0, 4, 5)};
    replay(p, 5, want, 2, &r);
    const double *first = r.classes[0].spent, *second = r.classes[1].spent;
    CU_ASSERT(close_to(first[SS_LABEL_COMPUTE], 1.5) && close_to(first[SS_LABEL_TP], 0.5));
    CU_ASSERT(close_to(first[SS_LABEL_BUBBLE], 3));
    CU_ASSERT(close_to(second[SS_LABEL_BUBBLE], 2) && close_to(second[SS_LABEL_PP], 1.5));
    CU_ASSERT(close_to(second[SS_LABEL_COMPUTE], 0.5) && close_to(second[SS_LABEL_DP], 1));
    CU_ASSERT(r.classes[0].peak_total == 150 && r.classes[0].peak_slot == 1 &&
              close_to(r.classes[0].peak_time, 2));
    CU_ASSERT(r.classes[0].peak[SS_MEM_ACTIVATIONS] == 100 && r.classes[0].peak[SS_MEM_LOGITS] == 50);
    CU_ASSERT(r.classes[1].peak_total == 0);
    CU_ASSERT(close_to(r.link_busy[0], 1));
    CU_ASSERT_EQUAL(r.events, 7 + 5);
    reference_free(&r);
    make_free(p);
}

/* Both send by rendezvous and wait before they receive: nobody comes to the end. */
TEST(deadlock)
{
    struct ss_program *p = make_program(2, 0);
    struct reference r;
    int there = make_channel(p, 0, 1, 1, -1, 0, 0), back = make_channel(p, 1, 0, 1, -1, 0, 0);
    make_compute(p, 0, 1);
    make_send(p, there, 1);
    make_wait_send(p, there);
    make_recv(p, back);
    make_send(p, back, 1);
    make_wait_send(p, back);
    make_recv(p, there);
    CU_ASSERT_EQUAL(reference_replay(p, &r), -1);
    CU_ASSERT(close_to(r.classes[0].rows[1].end, 1));
    CU_ASSERT_EQUAL(r.classes[0].rows[2].end, REFERENCE_NEVER);
    CU_ASSERT_EQUAL(r.transfers[0].end, REFERENCE_NEVER);
    reference_free(&r);
    make_free(p);
}

/* On every stage's link of 61 GB/s a flow of weight 60 joins one of weight 1 half a second before that one's end, which
 * starts the next stage's heavy flow. Joining d later lets the light flow end 60 d earlier, so what moves the first end
 * by 1e-12 moves the third one by some 1e5 times that. */
static int cascade_chaotic(int stages)
{
    struct ss_program *p = make_program(1, 0);
    struct reference r;
    int last = make_channel(p, 0, 0, 0, make_wire(p, 1e9), 0, 0);
    make_send(p, last, 1e9);
    for (int i = 0; i < stages; i++) {
        int link = make_link(p, 61e9), heavy = make_path(p), light = make_path(p);
        make_hop(p, heavy, link, 60);
        make_hop(p, light, link, 1);
        int other = make_channel(p, 0, 0, 0, heavy, 0, 0), next = make_channel(p, 0, 0, 0, light, 0, 0);
        make_send(p, next, i ? 31e9 : 61.5e9); /* 61 GB/s from the stage before on, 1 GB/s with the other */
        make_wait_send(p, last);
        make_send(p, other, 1e9);
        last = next;
    }
    make_wait_send(p, last);
    CU_ASSERT_EQUAL(reference_replay(p, &r), 0);
    int chaotic = reference_chaotic(p, &r);
    reference_free(&r);
    make_free(p);
    return chaotic;
}

TEST(chaos)
{
    CU_ASSERT_EQUAL(cascade_chaotic(1), 0);
    CU_ASSERT_EQUAL(cascade_chaotic(3), 1);
}

/* ---- the comparison ---- */

static double distance_of(const struct ss_program *p, const struct reference *r, struct answer *a)
{
    struct distance d = {0};
    distance_answer(p, r, a, &d);
    return d.most;
}

/* Replays `changed` natively, moves one number of its answer, the which-th, by `by`, and compares with `r`. -1: none. */
static double distance_moved(const struct ss_program *changed, const struct reference *r, int which,
                             double by)
{
    struct answer a;
    CU_ASSERT_EQUAL_FATAL(answer_get(changed, SS_ENGINE_NATIVE, &a, NULL), 0);
    struct heard *h = which >= 0 && which < a.ear.n ? &a.ear.all[which] : NULL;
    if (h && h->kind == 't')
        h->start += by;
    else if (h && h->kind == 's')
        h->busy -= by;
    else if (h)
        h->bytes += by;
    else if (which == a.ear.n)
        a.timeline->spent[0][SS_LABEL_BUBBLE] += by;
    else if (which == a.ear.n + 1)
        a.timeline->link_busy[0] += by;
    else if (which == a.ear.n + 2)
        a.timeline->dynamic_peak[0][0] += 1;
    else if (which == a.ear.n + 3)
        a.ear.n--;
    double much = distance_of(changed, r, &a);
    answer_free(&a);
    return much;
}

/* Every number of an answer, moved alone by 1e-6 of the makespan, is found; so is every lost call. */
TEST(finds_numbers)
{
    struct ss_program *p = random_program(3, 1);
    struct reference r;
    struct answer a;
    CU_ASSERT_EQUAL_FATAL(reference_replay(p, &r), 0);
    CU_ASSERT_EQUAL_FATAL(answer_get(p, SS_ENGINE_NATIVE, &a, NULL), 0);
    int n = a.ear.n;
    double last = fmax(r.makespan, a.ear.all[n - 1].end);
    answer_free(&a);
    CU_ASSERT(n > 20);
    CU_ASSERT(distance_moved(p, &r, -1, 0) <= REFERENCE_TOLERANCE);
    for (int i = 0; i < n + 4; i++)
        CU_ASSERT(distance_moved(p, &r, i, 1e-6 * last) > 100 * REFERENCE_TOLERANCE);
    reference_free(&r);
    make_free(p);
}

/* Programs one of whose computations, or all of whose bandwidths, are 1e-6 larger are told from what they were. */
TEST(finds_programs)
{
    int found = 0, n = 40;
    for (int seed = 1; seed <= n; seed++) {
        struct ss_program *p = random_program((uint64_t)seed, 1);
        struct reference r;
        CU_ASSERT_EQUAL_FATAL(reference_replay(p, &r), 0);
        for (int i = 0; seed % 2 && i < p->nlinks; i++)
            p->links[i].bandwidth *= 1 + 1e-6;
        for (int i = 0; seed % 2 == 0 && i < p->templates[0].nevents; i++)
            if (p->templates[0].events[i].kind == SS_EV_COMPUTE)
                p->templates[0].events[i].amount *= 1 + 1e-6;
        found += distance_moved(p, &r, -1, 0) > REFERENCE_TOLERANCE;
        reference_free(&r);
        make_free(p);
    }
    CU_ASSERT(found > n * 3 / 4); /* the others have no computation there, or no flow */
}
