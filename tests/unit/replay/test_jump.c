/* SPDX-License-Identifier: Apache-2.0 */
/* A replay that jumps over its steady state counts what one that runs every slot counts. */

#include "replay/engine.h"
#include "replay_make.h"
#include "scale_job.h"
#include "suite.h"

#define COMMON "--bf16 --mbs 1 --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather "
#define SMALL "h800 2;--model llama3.1-8b --seq 4096 --sequence-parallel --tp-comm-overlap " COMMON

static void near(const char *job, const char *what, double jumped, double full, double tolerance)
{
    CU_ASSERT_DOUBLE_EQUAL(jumped, full, tolerance);
    if (fabs(jumped - full) > tolerance)
        fprintf(stderr, "%s: %s %.15g instead of %.15g\n", job, what, jumped, full);
}

static void compare(const char *job, const struct ss_program *p, const struct ss_timeline *jumped,
                    const struct ss_timeline *full)
{
    double t = 1e-9 * full->iteration_s;
    near(job, "iteration", jumped->iteration_s, full->iteration_s, t);
    CU_ASSERT_EQUAL(jumped->events, full->events);
    for (int c = 0; c < p->nclasses; c++) {
        for (int l = 0; l < SS_LABEL_COUNT; l++)
            near(job, ss_label_name(l), jumped->spent[c][l], full->spent[c][l], t);
        for (int m = 0; m < SS_MEM_COUNT; m++)
            near(job, ss_mem_name(m), jumped->dynamic_peak[c][m], full->dynamic_peak[c][m], 1);
    }
    for (int c = 0; c < p->nclasses; c++) {
        near(job, "time of the peak", jumped->peak_time[c], full->peak_time[c], t);
        CU_ASSERT_EQUAL(jumped->peak_slot[c], full->peak_slot[c]);
    }
    CU_ASSERT_EQUAL(jumped->flows, full->flows);
    for (int l = 0; l < p->nlinks; l++)
        near(job, "link", jumped->link_busy[l], full->link_busy[l], t);
    for (size_t e = 0; e < ss_template_events(p); e++)
        near(job, "event", jumped->event_s[e], full->event_s[e], t);
}

static const struct {
    const char *job;
    int level, unfold;
} cases[] = {
    {SMALL "--tp 2 --pp 4 --gbs 256", SS_LEVEL_CHUNK, 0},
    {SMALL "--tp 2 --pp 4 --gbs 256", SS_LEVEL_LAYER, 0},
    {SMALL "--tp 2 --pp 4 --gbs 128", SS_LEVEL_FLOW, 1},
    {SMALL "--tp 2 --pp 4 --gbs 256 --num-layers-per-virtual-pipeline-stage 2", SS_LEVEL_CHUNK, 0},
    {SMALL "--tp 2 --pp 4 --gbs 256 --num-layers-per-virtual-pipeline-stage 2", SS_LEVEL_FLOW, 0},
    {SMALL "--tp 2 --pp 4 --gbs 256 --num-layers-per-virtual-pipeline-stage 4 --no-overlap-p2p-communication",
     SS_LEVEL_CHUNK, 0},
    {SMALL "--tp 2 --pp 8 --gbs 512 --num-layers-per-virtual-pipeline-stage 1", SS_LEVEL_CHUNK, 1},
    {SMALL "--tp 2 --pp 2 --cp 2 --gbs 256", SS_LEVEL_LAYER, 0},
    {SMALL "--tp 2 --pp 4 --gbs 256 --schedule zb-h1", SS_LEVEL_CHUNK, 0},
    {SMALL "--tp 2 --pp 4 --gbs 256 --schedule zb-v", SS_LEVEL_CHUNK, 0},
    {SMALL "--tp 2 --pp 4 --gbs 256 --schedule gpipe", SS_LEVEL_CHUNK, 0},
    {SMALL "--tp 8 --gbs 256", SS_LEVEL_CHUNK, 0},
    {"h800 8 ss.oversubscription=8 ss.nodes_per_leaf=3;--model llama3.1-8b --seq 4096 "
     "--sequence-parallel " COMMON "--tp 2 --pp 4 --gbs 512",
     SS_LEVEL_CHUNK, 0},
    {"a100-roce400 4;--model llama3.1-8b --seq 1024 --sequence-parallel " COMMON "--tp 2 --pp 8 --gbs 128 "
     "--num-layers-per-virtual-pipeline-stage 2",
     SS_LEVEL_LAYER, 0},
};

static const struct ss_replay_options every_slot = {.engine = SS_ENGINE_NATIVE, .full = 1};

TEST(cases)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct scale_job s;
        struct ss_run run;
        struct ss_timeline *full = NULL;
        struct ss_run_options o = {.engine = SS_ENGINE_NATIVE};
        CU_ASSERT_FATAL(scale_open(&s, cases[i].job) == 0);
        o.plan.level = cases[i].level;
        o.plan.unfold = cases[i].unfold;
        CU_ASSERT_FATAL(scale_run(&s, &o, &run) == 0);
        CU_ASSERT_FATAL(ss_timeline_replay_with(run.program, &every_slot, &full, NULL) == 0);
        compare(cases[i].job, run.program, run.timeline, full);
        ss_timeline_free(full);
        ss_run_free(&run);
        scale_close(&s);
    }
}

/* Events that the engine ran, without those that it jumped over. */
static int64_t events_run(const struct ss_program *p, int full)
{
    const struct ss_replay_options how = {.engine = SS_ENGINE_NATIVE, .full = full};
    struct ss_board *board = NULL;
    CU_ASSERT_FATAL(ss_replay_board(p, &how, NULL, 0, 0, &board, NULL) == 0);
    int64_t run = board->events_run;
    ss_board_free(board);
    return run;
}

/* Checks that less than one event of `of` is run. */
static void check_jump(const char *job, int level, int of)
{
    struct scale_job s;
    struct ss_run run;
    struct ss_run_options o = {.engine = SS_ENGINE_NATIVE};
    o.plan.level = level;
    CU_ASSERT_FATAL(scale_open(&s, job) == 0);
    CU_ASSERT_FATAL(scale_run(&s, &o, &run) == 0);
    CU_ASSERT_EQUAL(events_run(run.program, 1), ss_program_event_count(run.program));
    CU_ASSERT(events_run(run.program, 0) < ss_program_event_count(run.program) / of);
    ss_run_free(&run);
    scale_close(&s);
}

TEST(it_jumps)
{
    check_jump(SMALL "--tp 2 --pp 4 --gbs 1024", SS_LEVEL_CHUNK, 5);
}

/* 64 turns of 4 microbatches. Two turns are alike but for the order in which collectives found a free place. */
TEST(first_turn)
{
    check_jump("h800 2;--model llama3.1-8b --seq 8192 --sequence-parallel --bf16 --mbs 1 "
               "--use-distributed-optimizer "
               "--tp 2 --cp 2 --pp 4 --num-layers-per-virtual-pipeline-stage 1 --gbs 256",
               SS_LEVEL_FLOW, 10);
}

/* A period of 8 turns behind 8 others, of 31 turns in all: a jump needs the 8th as a base. */
TEST(long_period)
{
    check_jump("a100-hdr800 8;--model gpt3-175b --fp16 --tp 8 --pp 8 --vp 3 --mbs 1 --recompute full --seq "
               "2048 --gbs 256",
               SS_LEVEL_CHUNK, 1);
}

/* Two messages of 1 GB are always under way on 1 GB/s, each half done when the other begins: the link is never idle,
 * in any of the 64 slots of 2 s. */
TEST(link_never_idle)
{
    struct ss_program *p = make_program(1, 0);
    int path = make_wire(p, 1e9), a = make_channel(p, 0, 0, 0, path, 0, 0),
        b = make_channel(p, 0, 0, 0, path, 0, 0);
    make_send(p, b, 5e8);
    make_recv(p, b);
    make_slot(p, 0, "body");
    for (int i = 0; i < 2; i++) {
        make_send(p, i ? b : a, 1e9);
        make_recv(p, i ? b : a);
        make_wait_send(p, i ? a : b);
        make_wait_recv(p, i ? a : b);
    }
    for (int i = 1; i < 64; i++) {
        p->classes[0].slots =
            make_room(p->classes[0].slots, p->classes[0].nslots, sizeof *p->classes[0].slots);
        p->classes[0].slots[p->classes[0].nslots++] = p->classes[0].slots[1];
    }
    struct ss_timeline *t = NULL;
    CU_ASSERT_FATAL(ss_timeline_replay(p, SS_ENGINE_NATIVE, &t, NULL) == 0);
    CU_ASSERT(events_run(p, 0) < ss_program_event_count(p) / 2);
    CU_ASSERT_DOUBLE_EQUAL(t->iteration_s, 128, 1e-7);
    CU_ASSERT_DOUBLE_EQUAL(t->link_busy[0], 128, 1e-7);
    ss_timeline_free(t);
    make_free(p);
}

/* The second steady state, the peak of memory of class 0 and its end are behind the first jump; class 1 ends between the jumps, and class 2
 * before both. */
TEST(two_states)
{
    struct ss_program *p = make_two_states(100, 100);
    struct ss_timeline *jumped = NULL, *full = NULL;
    CU_ASSERT_FATAL(ss_timeline_replay(p, SS_ENGINE_NATIVE, &jumped, NULL) == 0);
    CU_ASSERT_FATAL(ss_timeline_replay_with(p, &every_slot, &full, NULL) == 0);
    compare("two states", p, jumped, full);
    CU_ASSERT_DOUBLE_EQUAL(jumped->iteration_s, 1 + 101 * 0.6 + 60 * 0.25 + 2, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(jumped->peak_time[0], 1 + 101 * 0.6 + 60 * 0.25, 1e-9);
    CU_ASSERT_EQUAL(jumped->peak_slot[0], 1 + 101 + 60);
    CU_ASSERT(events_run(p, 0) < 60);
    ss_timeline_free(jumped);
    ss_timeline_free(full);
    make_free(p);
}
