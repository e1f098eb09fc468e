/* SPDX-License-Identifier: Apache-2.0 */
/* What uneven exchanges cost the native engine, and jobs of which that is too much. */
#include "replay_make.h"
#include "scale_job.h"
#include "suite.h"

static struct ss_labour labour_of(const struct ss_program *p)
{
    struct ss_labour l;
    CU_ASSERT_FATAL(ss_labour_find(p, &l, NULL) == 0);
    return l;
}

/* n flows of sizes 1, 2, ... or all of the same over a link, posted by both members in each of three slots. */
static struct ss_program *exchange(int n, int even, int links)
{
    static const int both[] = {0, 1};
    struct ss_program *p = make_program(2, 1);
    int g = make_collective(p, 2, both, 0);
    make_phase(p, g, 0);
    for (int l = 0; l < links; l++) {
        int wire = make_wire(p, 1);
        for (int i = 0; i < n; i++)
            make_flow(p, g, wire, even ? 1 : i + 1);
    }
    for (int c = 0; c < 2; c++)
        for (int s = 0; s < 3; s++) {
            make_slot(p, c, c ? "b" : "a");
            make_event(p, c, SS_EV_POST, g, 0, 0);
            make_event(p, c, SS_EV_WAIT, 0, 0, 0);
        }
    return p;
}

/* Ten flows of ten sizes, three times: 30 of them, each 1 us and 10 times 15 ns. On two links they are twice as many that do not know
 * of each other; a flow over both makes 21 of one component. Flows of one size, or of four, end together. */
TEST(sizes)
{
    struct ss_program *p = exchange(10, 0, 1);
    struct ss_labour l = labour_of(p);
    CU_ASSERT_EQUAL(l.flows, 30);
    CU_ASSERT_EQUAL(l.together, 10);
    CU_ASSERT_DOUBLE_EQUAL(l.seconds, 30 * (1e-6 + 10 * 15e-9), 1e-15);
    ss_program_free(p);

    p = exchange(10, 0, 2);
    l = labour_of(p);
    CU_ASSERT_EQUAL(l.flows, 60);
    CU_ASSERT_EQUAL(l.together, 10);
    int across = make_path(p);
    make_hop(p, across, 0, 1);
    make_hop(p, across, 1, 1);
    make_flow(p, 0, across, 7);
    l = labour_of(p);
    CU_ASSERT_EQUAL(l.flows, 63);
    CU_ASSERT_EQUAL(l.together, 21);
    ss_program_free(p);

    for (int n = 4; n <= 5; n++) {
        p = exchange(n, 0, 1);
        CU_ASSERT_EQUAL(labour_of(p).flows, n > 4 ? 15 : 0);
        ss_program_free(p);
    }
    p = exchange(10, 1, 1);
    CU_ASSERT_EQUAL(labour_of(p).flows, 0);
    ss_program_free(p);
}

/* 64 ranks exchange by pairs, 4,032 at once, for 94 layers and 16 microbatches: refused at a level that has them as flows. One layer
 * of DeepEP's two stages is no labour. */
TEST(refused)
{
#define JOB "h800 8;--bf16 --mbs 1 --seq 4096 --ep 64 --moe-load zipf:0.3 "
    struct ss_run_options o = {.engine = SS_ENGINE_NATIVE, .level_choice = SS_LEVEL_STAYS};
    struct scale_job s;
    struct ss_run r;
    CU_ASSERT_FATAL(
        scale_open(&s, JOB "--model qwen3-235b-a22b --gbs 1024 --moe-token-dispatcher-type alltoall") == 0);
    for (int level = 0; level < SS_LEVEL_COUNT; level++) {
        o.plan.level = level;
        int rc = scale_run(&s, &o, &r);
        CU_ASSERT_EQUAL(rc != 0, level > SS_LEVEL_CHUNK);
        if (rc == 0)
            ss_run_free(&r);
    }
    scale_close(&s);
    CU_ASSERT_FATAL(scale_open(&s, JOB
                               "--model qwen3-30b-a3b --num-layers 2 --gbs 64 "
                               "--moe-token-dispatcher-type flex --moe-flex-dispatcher-backend deepep") == 0);
    o.plan.level = SS_LEVEL_FLOW;
    CU_ASSERT_FATAL(scale_run(&s, &o, &r) == 0);
    CU_ASSERT(r.timeline->flows > 1000);
    ss_run_free(&r);
    scale_close(&s);
}
