/* SPDX-License-Identifier: Apache-2.0 */
/* What a replay says beside times: deadlocks, timeline, order of observers, bad programs, platforms asked of SimGrid. */
#include <unistd.h>

#include "replay_make.h"
#include "suite.h"

static int close_to(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (1 + fabs(b));
}

/* ---- deadlocks ---- */

static void check_deadlock(struct ss_program *p, const char *first, const char *second)
{
    for (int engine = 0; engine <= SS_ENGINE_SIMGRID; engine++) {
        struct ss_error err = {0};
        struct ss_replay_stats stats;
        CU_ASSERT_EQUAL(ss_replay(p, engine, NULL, 0, &stats, &err), SS_ERR_DEADLOCK);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, first));
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, second));
        if (!strstr(err.message, first) || !strstr(err.message, second))
            printf("\n  %s: %s\n", ss_engine_name(engine), err.message);
    }
    make_free(p);
}

TEST(deadlock_receives)
{
    struct ss_program *p = make_program(3, 0);
    int path = make_wire(p, 1e9);
    int there = make_channel(p, 1, 2, 0, path, 0, 0), back = make_channel(p, 2, 1, 0, path, 0, 0);
    make_compute(p, 0, 1);
    for (int i = 0; i < 2; i++) {
        make_slot(p, 1, i ? "F1" : "F0");
        make_slot(p, 2, i ? "B1" : "B0");
        make_recv(p, back);
        make_recv(p, there);
        if (i == 0)
            make_send(p, there, 1e6);
        make_wait_recv(p, back);
        if (i == 0)
            make_send(p, back, 1e6);
        make_wait_recv(p, there);
        make_compute(p, 1, 1);
        make_compute(p, 2, 1);
    }
    check_deadlock(p, "stage1 slot 1 event 1 (F1) waits for receive 2 from stage2",
                   "stage2 slot 1 event 1 (B1) waits for receive 2 from stage1");
}

TEST(deadlock_rendezvous)
{
    struct ss_program *p = make_program(2, 0);
    int path = make_wire(p, 1e9);
    int there = make_channel(p, 0, 1, 1, path, 0, 0), back = make_channel(p, 1, 0, 1, path, 0, 0);
    make_send(p, there, 1e6);
    make_wait_send(p, there);
    make_recv(p, back);
    make_send(p, back, 1e6);
    make_wait_send(p, back);
    make_recv(p, there);
    check_deadlock(p, "stage0 slot 0 event 1 (slot) waits for send 1 to stage1",
                   "stage1 slot 0 event 1 (slot) waits for send 1 to stage0");
}

TEST(deadlock_collectives)
{
    int members[] = {0, 1};
    struct ss_program *p = make_program(2, 1);
    int a = make_collective(p, 2, members, 0), b = make_collective(p, 2, members, 0);
    make_phase(p, a, 1);
    make_phase(p, b, 1);
    for (int c = 0; c < 2; c++) {
        make_event(p, c, SS_EV_POST, c ? b : a, 0, 0);
        make_event(p, c, SS_EV_POST, c ? a : b, 0, 0);
        make_event(p, c, SS_EV_WAIT, 0, 0, 0);
    }
    check_deadlock(p, "collective collective0 on stream 0, where stage1 is missing",
                   "collective collective1 on stream 0, where stage0 is missing");
}

TEST(deadlock_end)
{
    struct ss_program *p = make_program(3, 1);
    int ch = make_channel(p, 0, 1, 0, make_wire(p, 1e9), 0, 0);
    make_compute(p, 0, 1);
    make_recv(p, ch);
    make_wait_recv(p, ch);
    make_compute(p, 1, 1);
    make_event(p, 2, SS_EV_WAIT, 0, 0, 0);
    check_deadlock(p, "stage0 is at its end", "1 more class is blocked");
    p = make_program(1, 1);
    make_event(p, 0, SS_EV_WAIT, 0, 0, 0);
    check_deadlock(p, "collective 1 of stream 0, which it never posts", "stage0");
    p = make_program(1, 0);
    ch = make_channel(p, 0, 0, 0, -1, 0, 0);
    make_send(p, ch, 1);
    make_wait_recv(p, ch);
    check_deadlock(p, "receive 1 from stage0 (channel 0, tag 0), which it never posts", "slot 0 event 1");
}

/* ---- timeline ---- */

static struct ss_program *timeline_program(void)
{
    int members[] = {0, 1};
    struct ss_program *p = make_program(2, 1);
    int ch = make_channel(p, 0, 1, 0, make_wire(p, 1e9), 0.5, 0), g = make_collective(p, 2, members, 0);
    make_phase(p, g, 1);
    make_flow(p, g, make_wire(p, 1e9), 2e9);
    make_flow(p, g, p->channels[ch].path, 1e9);
    p->mixes = make_room(p->mixes, p->nmixes++, sizeof *p->mixes);
    p->mixes[1].fraction[SS_LABEL_COMPUTE] = 0.5;
    p->mixes[1].fraction[SS_LABEL_RECOMPUTE] = 0.25;
    p->mixes[1].fraction[SS_LABEL_TP] = 0.25;
    p->classes[0].memory[SS_MEM_WEIGHTS] = 1e9;
    make_slot(p, 0, "one");
    make_event(p, 0, SS_EV_ALLOC, SS_MEM_ACTIVATIONS, 0, 100);
    make_event(p, 0, SS_EV_COMPUTE, 1, 0, 2);
    make_event(p, 0, SS_EV_ALLOC, SS_MEM_LOGITS, 0, 50);
    make_slot(p, 0, "two");
    make_event(p, 0, SS_EV_FREE, SS_MEM_ACTIVATIONS, 0, 100);
    make_event(p, 0, SS_EV_ALLOC, SS_MEM_OTHER, 0, 99);
    make_send(p, ch, 1e9);
    make_event(p, 0, SS_EV_POST, g, 0, 0);
    make_recv(p, ch);
    make_wait_recv(p, ch);   /* bubble 2, pp 1.5 */
    make_compute(p, 1, 0.5); /* to 4 */
    make_event(p, 1, SS_EV_POST, g, 0, 0);
    make_event(p, 1, SS_EV_WAIT, 0, 0, 0); /* dp 3: 4..7 */
    make_compute(p, 1, 1);
    return p;
}

TEST(timeline)
{
    struct ss_program *p = timeline_program();
    for (int engine = 0; engine <= SS_ENGINE_SIMGRID; engine++) {
        struct ss_timeline *t = NULL;
        CU_ASSERT_EQUAL_FATAL(ss_timeline_replay(p, engine, &t, NULL), 0);
        CU_ASSERT(close_to(t->iteration_s, 8));
        CU_ASSERT_EQUAL(t->events, 7 + 6);
        CU_ASSERT(close_to(t->spent[0][SS_LABEL_COMPUTE], 1));
        CU_ASSERT(close_to(t->spent[0][SS_LABEL_RECOMPUTE], 0.5));
        CU_ASSERT(close_to(t->spent[0][SS_LABEL_TP], 0.5));
        CU_ASSERT(close_to(t->spent[0][SS_LABEL_BUBBLE], 6));
        CU_ASSERT(close_to(t->spent[1][SS_LABEL_BUBBLE], 2));
        CU_ASSERT(close_to(t->spent[1][SS_LABEL_PP], 1.5));
        CU_ASSERT(close_to(t->spent[1][SS_LABEL_DP], 3));
        CU_ASSERT(close_to(t->spent[1][SS_LABEL_COMPUTE], 1.5));
        for (int c = 0; c < 2; c++) {
            double sum = 0;
            for (int i = 0; i < SS_LABEL_COUNT; i++)
                sum += t->spent[c][i];
            CU_ASSERT(fabs(sum - t->iteration_s) <= 1e-12 * t->iteration_s);
        }
        CU_ASSERT_EQUAL(t->dynamic_peak[0][SS_MEM_ACTIVATIONS], 100);
        CU_ASSERT_EQUAL(t->dynamic_peak[0][SS_MEM_LOGITS], 50);
        CU_ASSERT_EQUAL(t->dynamic_peak[0][SS_MEM_OTHER], 0);
        CU_ASSERT_EQUAL(t->dynamic_peak[0][SS_MEM_WEIGHTS], 0);
        CU_ASSERT(close_to(t->peak_time[0], 2));
        CU_ASSERT_EQUAL(t->peak_slot[0], 0);
        CU_ASSERT_EQUAL(t->dynamic_peak[1][SS_MEM_ACTIVATIONS], 0);
        /* the message's flow 2.5..3.5 and the collective's 5..6; the collective's other flow 5..7 */
        CU_ASSERT(close_to(t->link_busy[0], 2));
        CU_ASSERT(close_to(t->link_busy[1], 2));
        ss_timeline_free(t);
    }
    make_free(p);
}

/* A link that is busy to the end and beyond counts until the end of the iteration. */
TEST(timeline_trailing)
{
    struct ss_program *p = make_program(1, 0);
    int ch = make_channel(p, 0, 0, 0, make_wire(p, 1e9), 0, 0);
    make_send(p, ch, 5e9);
    make_compute(p, 0, 2);
    for (int engine = 0; engine <= SS_ENGINE_SIMGRID; engine++) {
        struct ss_timeline *t = NULL;
        CU_ASSERT_EQUAL_FATAL(ss_timeline_replay(p, engine, &t, NULL), 0);
        CU_ASSERT(close_to(t->iteration_s, 2));
        CU_ASSERT(close_to(t->link_busy[0], 2));
        ss_timeline_free(t);
    }
    make_free(p);
}

/* In order of time; at one instant transfers first, then by class and event. */
TEST(order)
{
    struct ss_program *p = make_program(6, 0);
    int path = make_path(p);
    for (int c = 5; c > 0; c--)
        make_channel(p, c, c - 1, 0, path, 0.5, 0);
    for (int c = 0; c < 6; c++) {
        make_event(p, c, SS_EV_ALLOC, 0, 0, 1);
        make_compute(p, c, 0.5);
        if (c > 0)
            make_send(p, 5 - c, 0);
        if (c < 5) {
            make_recv(p, 4 - c);
            make_wait_recv(p, 4 - c);
        }
        make_event(p, c, SS_EV_FREE, 0, 0, 1);
    }
    for (int engine = 0; engine <= SS_ENGINE_SIMGRID; engine++) {
        struct ear ear;
        CU_ASSERT_EQUAL(ear_replay(p, engine, &ear, NULL, NULL), 0);
        CU_ASSERT_EQUAL(ear.n, 6 + 12 + 5 + 5);
        for (int i = 1; i < ear.n; i++) {
            const struct heard *a = &ear.all[i - 1], *b = &ear.all[i];
            CU_ASSERT(a->end <= b->end);
            if (a->end != b->end)
                continue;
            CU_ASSERT(a->kind == 't' || b->kind != 't');
            if (a->kind == 't' || b->kind == 't')
                continue;
            CU_ASSERT(a->a < b->a || (a->a == b->a && (a->b < b->b || (a->b == b->b && a->c < b->c))));
        }
        free(ear.all);
    }
    make_free(p);
}

/* ---- what must not crash ---- */

static void expect_bad(struct ss_program *p)
{
    for (int engine = 0; engine <= SS_ENGINE_SIMGRID; engine++) {
        struct ss_error err = {0};
        CU_ASSERT_EQUAL(ss_replay(p, engine, NULL, 0, NULL, &err), SS_ERR_INPUT);
        CU_ASSERT(err.message[0] && err.hint[0]);
    }
    make_free(p);
}

TEST(bad)
{
    int members[] = {0, 0}, both[] = {1};
    struct ss_program *p;
    for (int kind = 0; kind <= SS_EVENT_COUNT; kind++)
        for (int index = -1; index <= 7; index += 8) {
            if (kind == SS_EV_WAIT)
                continue;
            p = make_program(1, 0);
            make_event(p, 0, kind, index, 0, 1);
            expect_bad(p);
        }
    p = make_program(1, 0);
    make_compute(p, 0, NAN);
    expect_bad(p);
    p = make_program(1, 0);
    make_compute(p, 0, -1);
    expect_bad(p);
    p = make_program(2, 0);
    make_channel(p, 0, 1, 0, -1, 0, 0);
    make_event(p, 1, SS_EV_SEND, 0, 0, 1); /* not its channel */
    expect_bad(p);
    p = make_program(1, 1);
    make_collective(p, 2, members, 0);
    expect_bad(p);
    p = make_program(2, 1);
    make_collective(p, 1, both, 0);
    make_event(p, 0, SS_EV_POST, 0, 0, 0); /* not a member */
    expect_bad(p);
    p = make_program(1, 0);
    make_link(p, 0);
    expect_bad(p);
    p = make_program(1, 0);
    make_hop(p, make_path(p), 3, 1);
    expect_bad(p);
    p = make_program(1, 0);
    make_compute(p, 0, 1);
    p->classes[0].slots[0].template_index = 5;
    expect_bad(p);
    p = make_program(1, 0);
    make_compute(p, 0, 1);
    p->classes[0].nslots = 3; /* two slots three times are six */
    p->classes[0].loop = (struct ss_program_loop){.first = 0, .length = 2, .more = 2};
    expect_bad(p);
    p = make_program(1, 0);
    make_compute(p, 0, 1);
    p->classes[0].nslots = 2; /* one slot three times is three */
    p->classes[0].loop = (struct ss_program_loop){.first = 0, .length = 1, .more = 2};
    expect_bad(p);
}

TEST(nothing)
{
    for (int engine = 0; engine <= SS_ENGINE_SIMGRID; engine++) {
        struct ss_program *p = make_program(0, 0);
        struct ss_replay_stats stats = {1, 1};
        CU_ASSERT_EQUAL(ss_replay(p, engine, NULL, 0, &stats, NULL), 0);
        CU_ASSERT_EQUAL(stats.makespan, 0);
        CU_ASSERT_EQUAL(stats.events, 0);
        make_free(p);
    }
    struct ss_program *p = make_program(1, 0);
    CU_ASSERT_EQUAL(ss_replay(p, 7, NULL, 0, NULL, NULL), SS_ERR_USAGE);
    make_free(p);
    CU_ASSERT_STRING_EQUAL(ss_engine_name(SS_ENGINE_NATIVE), "native");
    CU_ASSERT_STRING_EQUAL(ss_engine_name(SS_ENGINE_SIMGRID), "simgrid");
}

/* ---- platforms asked of SimGrid ---- */

static const char platform_text[] =
    "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
    "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">\n"
    "<host id=\"a\" speed=\"1Gf\"/><host id=\"b\" speed=\"1Gf\"/>\n"
    "<link id=\"up\" bandwidth=\"1GBps\" latency=\"1us\"/><link id=\"down\" bandwidth=\"1GBps\" "
    "latency=\"1us\"/>\n"
    "<route src=\"a\" dst=\"b\" symmetrical=\"NO\"><link_ctn id=\"up\"/><link_ctn id=\"down\"/></route>\n"
    "<route src=\"b\" dst=\"a\" symmetrical=\"NO\"><link_ctn id=\"down\"/></route>\n"
    "</zone></platform>\n";

/* SS_ROUTE_VALUES before the bandwidth and the latency of the file: 1 GB/s, 1 us to 17 digits */
#define VALUES                                                                                               \
    "\037"                                                                                                   \
    "1000000000"                                                                                             \
    "\037"                                                                                                   \
    "9.9999999999999995e-07"

static void write_file(char *path, const char *text)
{
    strcpy(path, "/tmp/stepsim-test-XXXXXX");
    int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

TEST(routes)
{
    char path[64], *routes[2] = {0};
    const char *const hosts[2][2] = {{"a", "b"}, {"b", "a"}}, *const wrong[1][2] = {{"a", "nobody"}};
    struct ss_error err = {0};
    write_file(path, platform_text);
    CU_ASSERT_EQUAL(ss_simgrid_probe(path, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_simgrid_ask_routes(path, 2, hosts, routes, NULL), 0);
    CU_ASSERT_STRING_EQUAL(routes[0], "up" VALUES " down" VALUES);
    CU_ASSERT_STRING_EQUAL(routes[1], "down" VALUES);
    free(routes[0]);
    free(routes[1]);
    routes[0] = NULL;
    CU_ASSERT_EQUAL(ss_simgrid_ask_routes(path, 1, wrong, routes, &err), SS_ERR_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "nobody"));
    CU_ASSERT_PTR_NULL(routes[0]);
    unlink(path);
}

TEST(probe_bad)
{
    static const char *const texts[] = {
        "", "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">", "no XML",
        "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\"><link/></zone></platform>"};
    char path[64];
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct ss_error err = {0};
        write_file(path, texts[i]);
        CU_ASSERT_EQUAL(ss_simgrid_probe(path, &err), SS_ERR_ENGINE);
        CU_ASSERT(strlen(err.message) > 20);
        unlink(path);
    }
    struct ss_error err = {0};
    CU_ASSERT_EQUAL(ss_simgrid_probe("/nonexistent/platform.xml", &err), SS_ERR_ENGINE);
    CU_ASSERT(err.message[0] != 0);
}
