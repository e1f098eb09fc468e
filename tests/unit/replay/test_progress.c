/* SPDX-License-Identifier: Apache-2.0 */
/* A long replay and the replicas under jitter tell how far they are. */

#include "scale_job.h"
#include "stepsim/replay.h"
#include "suite.h"

#define JOB "h800 1;--model llama3.1-8b --bf16 --seq 4096 --mbs 1 --tp 2 --pp 4 --sequence-parallel "

/* A replay of some tenths of a second; under sanitizers SimGrid is a hundred times slower. */
#ifdef SS_SANITIZED
#define LONG "--gbs 1000"
#else
#define LONG "--gbs 30000"
#endif

struct told {
    int n, falls;
    double last;
};

static void tell(void *ctx, double share)
{
    struct told *t = ctx;
    t->n++;
    t->falls += !(share >= t->last && share <= 1);
    t->last = share;
}

static void run(const char *job, struct ss_run_options *options, struct told *told)
{
    struct scale_job s;
    struct ss_run r;
    *told = (struct told){0};
    options->progress = tell;
    options->ctx = told;
    CU_ASSERT_FATAL(scale_open(&s, job) == 0);
    CU_ASSERT_FATAL(scale_run(&s, options, &r) == 0);
    ss_run_free(&r);
    scale_close(&s);
}

TEST(simgrid)
{
    struct ss_run_options o = {.engine = SS_ENGINE_SIMGRID};
    struct told told;
    run(JOB LONG, &o, &told);
    CU_ASSERT(told.n >= 1 && told.falls == 0 && told.last > 0);
    run(JOB "--gbs 16", &o, &told);
    CU_ASSERT(told.n == 0 || told.falls == 0);
}

/* Every 16,384 moments: never in 64 microbatches of four stages, often in 30,000. */
TEST(native)
{
    struct ss_run_options o = {.engine = SS_ENGINE_NATIVE, .full_replay = 1};
    struct told told;
    run(JOB "--gbs 30000", &o, &told);
    CU_ASSERT(told.n >= 3 && told.falls == 0 && told.last > 0.5);
    run(JOB "--gbs 64", &o, &told);
    CU_ASSERT_EQUAL(told.n, 0);
}

TEST(replicas)
{
    struct ss_run_options o = {.engine = SS_ENGINE_NATIVE, .jitter = {.sigma = 0.1}, .replicas = 5};
    struct told told;
    run(JOB "--gbs 16", &o, &told);
    CU_ASSERT(told.n == 5 && told.falls == 0 && told.last == 1);
}

SUITE(progress)
{
    ss_simgrid_load(NULL); /* once for all replays */
    return suite_file(argv[0], NULL, NULL);
}
