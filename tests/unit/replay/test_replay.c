/* SPDX-License-Identifier: Apache-2.0 */
/* Programs whose times follow by hand from the replay contract; both engines must find them. */

#include "replay_make.h"
#include "stepsim/replay.h"
#include "suite.h"

static int close_to(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (1 + fabs(b));
}

/* Replays on both engines and checks spans and transfers. */
struct want {
    char kind;
    int a, b, c, k;
    double start, busy, end;
};

static void check(struct ss_program *p, double makespan, const struct want *want, int n)
{
    for (int engine = 0; engine <= SS_ENGINE_SIMGRID; engine++) {
        struct ear ear;
        struct ss_replay_stats stats = {0};
        struct ss_error err = {0};
        int rc = ear_replay(p, engine, &ear, &stats, &err);
        CU_ASSERT_EQUAL(rc, 0);
        if (rc)
            printf("\n  %s: %s: %s\n", ss_engine_name(engine), err.message, err.hint);
        CU_ASSERT(close_to(stats.makespan, makespan));
        if (!close_to(stats.makespan, makespan))
            printf("\n  %s: makespan %.17g, not %.17g\n", ss_engine_name(engine), stats.makespan, makespan);
        for (int i = 0; i < n; i++) {
            const struct heard *h = ear_find(&ear, want[i].kind, want[i].a, want[i].b, want[i].c, want[i].k);
            CU_ASSERT_PTR_NOT_NULL(h);
            int good = h && close_to(h->start, want[i].start) && close_to(h->busy, want[i].busy) &&
                       close_to(h->end, want[i].end);
            CU_ASSERT(good);
            if (h && !good)
                printf("\n  %s: want %d: [%.17g %.17g %.17g]\n", ss_engine_name(engine), i, h->start, h->busy,
                       h->end);
        }
        free(ear.all);
    }
    make_free(p);
}

#define CHECK(p, makespan, ...)                                                                              \
    do {                                                                                                     \
        const struct want wants[] = {__VA_ARGS__};                                                           \
        check(p, makespan, wants, (int)(sizeof wants / sizeof wants[0]));                                    \
    } while (0)
#define SPAN(cls, slot, event, start, busy, end)                                                             \
    {                                                                                                        \
        's', cls, slot, event, 0, start, busy, end                                                           \
    }
#define MESSAGE(channel, k, start, end)                                                                      \
    {                                                                                                        \
        't', channel, -1, 0, k, start, start, end                                                            \
    }
#define GROUP(collective, k, start, end)                                                                     \
    {                                                                                                        \
        't', -1, collective, 0, k, start, start, end                                                         \
    }

TEST(compute)
{
    struct ss_program *p = make_program(2, 0);
    make_compute(p, 0, 1.5);
    make_compute(p, 0, 0.5);
    make_compute(p, 0, 0);
    make_slot(p, 1, "other");
    make_slot(p, 1, "empty");
    make_slot(p, 1, "third");
    make_compute(p, 1, 0.25);
    CHECK(p, 2, SPAN(0, 0, 0, 0, 0, 1.5), SPAN(0, 0, 1, 1.5, 1.5, 2), SPAN(1, 2, 0, 0, 0, 0.25));
}

TEST(ping)
{
    struct ss_program *p = make_program(2, 0);
    int ch = make_channel(p, 0, 1, 0, make_wire(p, 1e9), 0.5, 0);
    make_compute(p, 0, 1);
    make_send(p, ch, 1e9);
    make_compute(p, 0, 0.25);
    make_wait_send(p, ch);
    make_recv(p, ch);
    make_wait_recv(p, ch);
    CHECK(p, 2.5, MESSAGE(ch, 0, 1, 2.5), SPAN(1, 0, 1, 0, 1, 2.5), SPAN(0, 0, 3, 1.25, 1.25, 2.5));
}

TEST(rendezvous)
{
    for (int rendezvous = 0; rendezvous <= 1; rendezvous++) {
        struct ss_program *p = make_program(2, 0);
        int ch = make_channel(p, 0, 1, rendezvous, make_wire(p, 2e9), 0, 0);
        make_send(p, ch, 1e9);
        make_wait_send(p, ch);
        make_compute(p, 1, 3);
        make_recv(p, ch);
        make_wait_recv(p, ch);
        if (rendezvous)
            CHECK(p, 3.5, SPAN(0, 0, 1, 0, 3, 3.5), SPAN(1, 0, 2, 3, 3, 3.5), MESSAGE(ch, 0, 3, 3.5));
        else
            CHECK(p, 3, SPAN(0, 0, 1, 0, 0, 0.5), SPAN(1, 0, 0, 0, 0, 3), MESSAGE(ch, 0, 0, 0.5));
    }
}

/* One message at a time, in order; a small one does not overtake. */
TEST(fifo)
{
    struct ss_program *p = make_program(2, 0);
    int ch = make_channel(p, 0, 1, 0, make_wire(p, 1e9), 0.5, 0);
    for (int i = 0; i < 20; i++)
        make_send(p, ch, i == 0 ? 2e9 : 5e8);
    for (int i = 0; i < 20; i++)
        make_recv(p, ch);
    for (int i = 0; i < 20; i++)
        make_wait_recv(p, ch);
    make_wait_send(p, ch);
    CHECK(p, 2.5 + 19, MESSAGE(ch, 0, 0, 2.5), MESSAGE(ch, 1, 2.5, 3.5), MESSAGE(ch, 19, 20.5, 21.5),
          SPAN(1, 0, 20, 0, 0, 2.5), SPAN(1, 0, 39, 20.5, 20.5, 21.5), SPAN(0, 0, 20, 0, 0, 2.5));
}

/* 1 and 2 GB on 1 GB/s: both at half until 2 s, then the rest alone. */
TEST(contention)
{
    struct ss_program *p = make_program(2, 0);
    int path = make_wire(p, 1e9);
    int a = make_channel(p, 0, 1, 0, path, 0, 0), b = make_channel(p, 0, 1, 0, path, 0, 0);
    make_send(p, a, 1e9);
    make_send(p, b, 2e9);
    make_recv(p, a);
    make_recv(p, b);
    make_wait_recv(p, a);
    make_wait_recv(p, b);
    CHECK(p, 3, MESSAGE(a, 0, 0, 2), MESSAGE(b, 0, 0, 3), SPAN(1, 0, 2, 0, 0, 2), SPAN(1, 0, 3, 2, 2, 3));
}

/* Classes whose events differ in channels alone, and one between them that sends twice on one: all have what is theirs. */
TEST(like_classes)
{
    struct ss_program *p = make_program(4, 0);
    int ch[3][2];
    for (int c = 0; c < 3; c++) {
        ch[c][0] = make_channel(p, c, 3, 0, make_wire(p, 1e9), 0, 0);
        ch[c][1] = c == 1 ? ch[c][0] : make_channel(p, c, 3, 0, make_wire(p, 1e9), 0, 0);
        for (int i = 0; i < 2; i++)
            make_send(p, ch[c][i], i ? 2e9 : 1e9);
        for (int i = 0; i < 2; i++)
            make_wait_send(p, ch[c][i]);
        for (int i = 0; i < 2; i++)
            make_recv(p, ch[c][i]);
    }
    CHECK(p, 3, SPAN(0, 0, 2, 0, 0, 1), SPAN(0, 0, 3, 1, 1, 2), SPAN(1, 0, 2, 0, 0, 1),
          SPAN(1, 0, 3, 1, 1, 3), SPAN(2, 0, 2, 0, 0, 1), SPAN(2, 0, 3, 1, 1, 2), MESSAGE(ch[2][1], 0, 0, 2));
}

/* Two seconds' worth from t0; a second flow halves its rate at t, so it ends at t + 2 (2 - (t - t0)): errors of t0 and of t
 * that are opposite are three times as large there. Flows that begin together slow nobody down. */
TEST(doublings)
{
    struct ss_program *p = make_program(2, 0);
    struct ss_timeline *t = NULL;
    int path = make_wire(p, 1e9), a, b, c;
    a = make_channel(p, 0, 1, 0, path, 0, 0);
    b = make_channel(p, 0, 1, 0, path, 0, 0);
    c = make_channel(p, 0, 1, 0, make_wire(p, 1e9), 0, 0);
    make_send(p, a, 2e9);
    make_compute(p, 0, 1);
    make_send(p, b, 2e9);
    make_send(p, c, 2e9);
    make_wait_send(p, a);
    make_wait_send(p, b);
    make_wait_send(p, c);
    CU_ASSERT_EQUAL_FATAL(ss_timeline_replay(p, SS_ENGINE_NATIVE, &t, NULL), 0);
    CU_ASSERT_DOUBLE_EQUAL(t->doublings, log2(3), 1e-12);
    ss_timeline_free(t);
    CU_ASSERT_EQUAL_FATAL(ss_timeline_replay(p, SS_ENGINE_SIMGRID, &t, NULL), 0);
    CU_ASSERT(isnan(t->doublings));
    ss_timeline_free(t);
    ss_program_free(p);
}

/* A message that another one slows down to a half, on a link of their own. */
static void slow_down(struct ss_program *p, int from, int to)
{
    int path = make_wire(p, 1e9), a = make_channel(p, from, to, 0, path, 0, 0),
        b = make_channel(p, from, to, 0, path, 0, 0);
    make_send(p, a, 2e9);
    make_compute(p, from, 1);
    make_send(p, b, 2e9);
    make_wait_send(p, a);
    make_wait_send(p, b);
}

/* An error grows along a chain of times: what happens to ranks beside each other adds nothing, what happens to
 * one of them twice counts twice, and a message hands on what its sender had. */
TEST(doublings_of_chains)
{
    for (int chain = 0; chain < 3; chain++) {
        struct ss_program *p = make_program(4, 0);
        struct ss_timeline *t = NULL;
        slow_down(p, 0, 1);
        if (chain == 2) {
            int over = make_channel(p, 0, 2, 0, make_wire(p, 1e9), 0, 0);
            make_send(p, over, 1e9);
            make_recv(p, over);
            make_wait_recv(p, over);
        }
        slow_down(p, chain == 1 ? 0 : 2, 3);
        CU_ASSERT_EQUAL_FATAL(ss_timeline_replay(p, SS_ENGINE_NATIVE, &t, NULL), 0);
        CU_ASSERT_DOUBLE_EQUAL(t->doublings, (chain ? 2 : 1) * log2(3), 1e-12);
        ss_timeline_free(t);
        ss_program_free(p);
    }
}

/* A class that has waited is where what it waited for has put it: of its own error nothing is left, unless it came as late. Class 0 is slowed
 * down until 4 s; the message for which it then waits ends at 4 s, or at 11. */
TEST(doublings_of_waits)
{
    for (int later = 0; later < 2; later++) {
        struct ss_program *p = make_program(3, 0);
        struct ss_timeline *t = NULL;
        int over = make_channel(p, 2, 0, 0, make_wire(p, 1e9), 0, 0);
        slow_down(p, 0, 1);
        make_recv(p, over);
        make_wait_recv(p, over);
        make_compute(p, 2, later ? 10 : 3);
        make_send(p, over, 1e9);
        CU_ASSERT_EQUAL_FATAL(ss_timeline_replay(p, SS_ENGINE_NATIVE, &t, NULL), 0);
        CU_ASSERT_DOUBLE_EQUAL(t->iteration_s, later ? 11 : 4, 1e-12);
        CU_ASSERT_DOUBLE_EQUAL(t->doublings, later ? 0 : log2(3), 1e-12);
        ss_timeline_free(t);
        ss_program_free(p);
    }
}

/* Link A of 1 GB/s with flows 1, 2; link B of 2 GB/s with flows 2, 3: rates 1/2, 1/2, 3/2. A late fourth
 * flow on a link of its own, and the first one's end at 2 s, change nothing for others or only B's. */
TEST(maxmin)
{
    struct ss_program *p = make_program(2, 0);
    int la = make_link(p, 1e9), lb = make_link(p, 2e9);
    int path[3] = {make_path(p), make_path(p), make_path(p)}, ch[4];
    make_hop(p, path[0], la, 1);
    make_hop(p, path[1], la, 1);
    make_hop(p, path[1], lb, 1);
    make_hop(p, path[2], lb, 1);
    for (int i = 0; i < 3; i++)
        ch[i] = make_channel(p, 0, 1, 0, path[i], 0, 0);
    ch[3] = make_channel(p, 0, 1, 0, make_wire(p, 1e9), 1, 0);
    make_send(p, ch[0], 1e9);   /* ends at 2 */
    make_send(p, ch[1], 2e9);   /* 1 GB until 2, then 1 GB/s: ends at 3 */
    make_send(p, ch[2], 3.5e9); /* 3 GB until 2, then 1 GB/s: ends at 2.5 */
    make_send(p, ch[3], 1e9);
    for (int i = 0; i < 4; i++)
        make_wait_send(p, ch[i]);
    CHECK(p, 3, MESSAGE(ch[0], 0, 0, 2), MESSAGE(ch[1], 0, 0, 3), MESSAGE(ch[2], 0, 0, 2.5),
          MESSAGE(ch[3], 0, 0, 2));
}

/* A flow that stands for four takes four times its rate on the shared link. */
TEST(weights)
{
    struct ss_program *p = make_program(2, 0);
    int own = make_link(p, 1e9), shared = make_link(p, 2e9);
    int four = make_path(p), one = make_path(p);
    make_hop(p, four, own, 1);
    make_hop(p, four, shared, 4);
    make_hop(p, one, shared, 1);
    int a = make_channel(p, 0, 1, 0, four, 0, 0), b = make_channel(p, 0, 1, 0, one, 0, 0);
    make_send(p, a, 1e9); /* 2/5 GB/s; then alone 1/2 GB/s */
    make_send(p, b, 4e8); /* ends at 1 */
    make_wait_send(p, a);
    make_wait_send(p, b);
    CHECK(p, 2.2, MESSAGE(a, 0, 0, 2.2), MESSAGE(b, 0, 0, 1));
}

/* A link named twice on a path carries the flow twice. */
TEST(twice)
{
    struct ss_program *p = make_program(2, 0);
    int link = make_link(p, 1e9), path = make_path(p);
    make_hop(p, path, link, 1);
    make_hop(p, path, link, 1);
    int ch = make_channel(p, 0, 1, 0, path, 0, 0);
    make_send(p, ch, 1e9);
    make_wait_send(p, ch);
    CHECK(p, 2, MESSAGE(ch, 0, 0, 2));
}

TEST(weights_unsupported)
{
    struct ss_program *p = make_program(2, 0);
    int link = make_link(p, 1e9), a = make_path(p), b = make_path(p);
    make_hop(p, a, link, 1);
    make_hop(p, b, link, 1.5);
    int ca = make_channel(p, 0, 1, 0, a, 0, 0), cb = make_channel(p, 0, 1, 0, b, 0, 0);
    make_send(p, ca, 1e9); /* 0.4 GB/s to the end */
    make_send(p, cb, 1e9);
    make_wait_send(p, ca);
    struct ss_replay_stats stats;
    struct ss_error err = {0};
    CU_ASSERT_EQUAL(ss_replay(p, SS_ENGINE_NATIVE, NULL, 0, &stats, NULL), 0);
    CU_ASSERT(close_to(stats.makespan, 2.5));
    CU_ASSERT_EQUAL(ss_replay(p, SS_ENGINE_SIMGRID, NULL, 0, &stats, &err), SS_ERR_UNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "link0"));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.hint, "native"));
    make_free(p);
}

/* A compute of 3 s beside a collective of 1 s latency and 1 s flow with the given shares. */
static void hold_case(double share, double second_share, double end)
{
    int members[] = {0};
    struct ss_program *p = make_program(1, 2);
    int path = make_wire(p, 1e9);
    for (int i = 0; i < 2; i++) {
        int g = make_collective(p, 1, members, i ? second_share : share);
        make_phase(p, g, i ? 2 : 1);
        if (i == 0)
            make_flow(p, g, path, 1e9);
        make_event(p, 0, SS_EV_POST, g, i, 0);
    }
    make_compute(p, 0, 3);
    CHECK(p, end, SPAN(0, 0, 2, 0, 0, end), GROUP(0, 0, 0, 2));
}

TEST(hold)
{
    hold_case(0.25, 0, 3.5); /* 3/4 for 2 s */
    hold_case(0, 0, 3);
    hold_case(0.8, 0, 4);         /* an equal share: 1/2 for 2 s */
    hold_case(1, 1, 3 + 4.0 / 3); /* thirds */
    hold_case(0.2, 0.9, 4.2);     /* 0.2, 0.4 and 0.4 */
    hold_case(0.9, 0.2, 4.2);
    hold_case(0.1, 0.1, 3.4);
}

/* A message with an SM share slows both its ends while it moves, latency included. */
TEST(hold_message)
{
    struct ss_program *p = make_program(3, 0);
    int ch = make_channel(p, 0, 1, 0, make_wire(p, 1e9), 1, 0.5);
    make_send(p, ch, 1e9);
    make_compute(p, 0, 4);
    make_compute(p, 1, 0.5);
    make_compute(p, 1, 4);
    make_compute(p, 2, 4);
    CHECK(p, 5.5, SPAN(0, 0, 1, 0, 0, 5), SPAN(1, 0, 0, 0, 0, 1), SPAN(1, 0, 1, 1, 1, 5.5),
          SPAN(2, 0, 0, 0, 0, 4));
}

/* Three members: starts with the last; phases one after another, each as long as its slowest flow. */
TEST(collective)
{
    int members[] = {2, 0, 1};
    struct ss_program *p = make_program(4, 1);
    int fast = make_wire(p, 2e9), slow = make_wire(p, 1e9), nowhere = make_path(p);
    int g = make_collective(p, 3, members, 0);
    make_phase(p, g, 0.125);
    make_flow(p, g, fast, 1e9);
    make_flow(p, g, slow, 1e9);
    make_flow(p, g, nowhere, 1e9);
    make_flow(p, g, -1, 1e9);
    make_phase(p, g, 0.25);
    make_phase(p, g, 0);
    make_flow(p, g, fast, 1e9);
    make_flow(p, g, fast, 1e9);
    make_flow(p, g, slow, 0);
    for (int c = 0; c < 3; c++) {
        make_compute(p, c, c);
        make_event(p, c, SS_EV_POST, g, 0, 0);
        make_event(p, c, SS_EV_POST, g, 0, 0);
        make_event(p, c, SS_EV_WAIT, 0, 0, 0);
        make_event(p, c, SS_EV_WAIT, 0, 0, 0);
    }
    make_compute(p, 3, 1);
    /* 0.125 + 1 + 0.25 + 1 = 2.375 each */
    CHECK(p, 6.75, GROUP(g, 0, 2, 4.375), GROUP(g, 1, 4.375, 6.75), SPAN(0, 0, 3, 0, 2, 4.375),
          SPAN(0, 0, 4, 4.375, 4.375, 6.75), SPAN(1, 0, 3, 1, 2, 4.375), SPAN(2, 0, 4, 4.375, 4.375, 6.75));
}

/* Two ranks that work for 1 s and send for 1 s over one link, twice: in step they always meet there. Where the first work of one takes
 * 2 s they take turns and end sooner (docs/design/replay-contract.md). */
TEST(sooner)
{
    for (int slow = 0; slow < 2; slow++) {
        struct ss_program *p = make_program(2, 1);
        int path = make_wire(p, 1e9);
        for (int c = 0; c < 2; c++) {
            int g = make_collective(p, 1, &c, 0);
            make_phase(p, g, 0);
            make_flow(p, g, path, 1e9);
            for (int turn = 0; turn < 2; turn++) {
                make_compute(p, c, 1 + (c == 1 && turn == 0 && slow));
                make_event(p, c, SS_EV_POST, g, 0, 0);
                make_event(p, c, SS_EV_WAIT, 0, 0, 0);
            }
        }
        if (slow)
            CHECK(p, 5, GROUP(0, 0, 1, 2), GROUP(1, 0, 2, 3), GROUP(0, 1, 3, 4), GROUP(1, 1, 4, 5));
        else
            CHECK(p, 6, GROUP(0, 0, 1, 3), GROUP(1, 0, 1, 3), GROUP(0, 1, 4, 6), GROUP(1, 1, 4, 6));
    }
}

/* Two streams run beside each other and share the link; one stream runs one at a time. */
TEST(streams)
{
    int members[] = {0, 1};
    struct ss_program *p = make_program(2, 2);
    int path = make_wire(p, 1e9), g[3];
    for (int i = 0; i < 3; i++) {
        g[i] = make_collective(p, 2, members, 0);
        make_phase(p, g[i], 0);
        make_flow(p, g[i], path, 1e9);
    }
    for (int c = 0; c < 2; c++) {
        for (int i = 0; i < 3; i++)
            make_event(p, c, SS_EV_POST, g[i], i == 2, 0);
        make_event(p, c, SS_EV_WAIT, 0, 1, 0);
        make_event(p, c, SS_EV_WAIT, 0, 0, 0);
        make_event(p, c, SS_EV_WAIT, 0, 0, 0);
    }
    CHECK(p, 3, GROUP(g[0], 0, 0, 2), GROUP(g[2], 0, 0, 2), GROUP(g[1], 0, 2, 3), SPAN(0, 0, 3, 0, 0, 2),
          SPAN(1, 0, 5, 2, 2, 3));
}

/* The same collective on two streams: each post meets the post of the same number. */
TEST(same_collective)
{
    int members[] = {0, 1};
    struct ss_program *p = make_program(2, 2);
    int path = make_wire(p, 1e9), g = make_collective(p, 2, members, 0);
    make_phase(p, g, 0);
    make_flow(p, g, path, 1e9);
    make_event(p, 0, SS_EV_POST, g, 0, 0);
    make_event(p, 0, SS_EV_POST, g, 1, 0);
    make_event(p, 1, SS_EV_POST, g, 1, 0);
    make_compute(p, 1, 1);
    make_event(p, 1, SS_EV_POST, g, 0, 0);
    for (int c = 0; c < 2; c++)
        for (int s = 0; s < 2; s++)
            make_event(p, c, SS_EV_WAIT, 0, s, 0);
    CHECK(p, 2, GROUP(g, 0, 0, 1), GROUP(g, 1, 1, 2), SPAN(0, 0, 2, 0, 0, 1), SPAN(0, 0, 3, 1, 1, 2),
          SPAN(1, 0, 3, 1, 1, 2));
}

/* Nothing takes time: all ends at 0, however long the chain. */
TEST(instant)
{
    int members[] = {0, 1};
    struct ss_program *p = make_program(2, 1);
    int nowhere = make_path(p), wire = make_wire(p, 1e9);
    int there = make_channel(p, 0, 1, 1, wire, 0, 0.5), back = make_channel(p, 1, 0, 0, nowhere, 0, 0);
    int g = make_collective(p, 2, members, 0.5);
    make_phase(p, g, 0);
    make_flow(p, g, wire, 0);
    for (int i = 0; i < 500; i++) {
        make_send(p, there, 0);
        make_recv(p, there);
        make_wait_recv(p, there);
        make_send(p, back, 1e9);
        make_recv(p, back);
        make_wait_recv(p, back);
        make_wait_send(p, there);
        for (int c = 0; c < 2; c++) {
            make_event(p, c, SS_EV_POST, g, 0, 0);
            make_event(p, c, SS_EV_WAIT, 0, 0, 0);
        }
    }
    make_compute(p, 0, 1);
    CHECK(p, 1, MESSAGE(there, 499, 0, 0), MESSAGE(back, 499, 0, 0), GROUP(g, 499, 0, 0));
}

/* A transfer nobody waits for goes on after the end of the classes. */
TEST(trailing)
{
    struct ss_program *p = make_program(2, 0);
    int ch = make_channel(p, 0, 1, 0, make_wire(p, 1e9), 0, 0);
    make_send(p, ch, 5e9);
    make_compute(p, 0, 1);
    CHECK(p, 1, MESSAGE(ch, 0, 0, 5), SPAN(0, 0, 1, 0, 0, 1));
}

/* More classes than a machine word has bits: a token around a ring. */
TEST(ring)
{
    int n = 150;
    struct ss_program *p = make_program(n, 0);
    int path = make_wire(p, 1e9);
    for (int c = 0; c < n; c++)
        make_channel(p, c, (c + 1) % n, c % 2, path, 0.25, 0.1);
    for (int c = 0; c < n; c++) {
        if (c > 0) {
            make_recv(p, c - 1);
            make_wait_recv(p, c - 1);
        }
        make_compute(p, c, 0.5);
        make_send(p, c, 2.5e8);
    }
    make_recv(p, n - 1);
    make_wait_recv(p, n - 1);
    CHECK(p, n * 1.0, MESSAGE(n - 1, 0, n - 0.5, n), SPAN(0, 0, 3, 0.5, n - 0.5, n));
}

SUITE(replay)
{
    ss_simgrid_load(NULL); /* once for all replays */
    return suite_file(argv[0], NULL, NULL);
}
