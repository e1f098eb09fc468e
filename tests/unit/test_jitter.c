/* SPDX-License-Identifier: Apache-2.0 */

#include "scale_job.h"
#include "suite.h"

#define JOB "h800 1;--model llama3.1-8b --bf16 --seq 4096 --mbs 1 --tp 2 --pp 2 --gbs 16 --sequence-parallel"

/* Mean 1, standard deviation of the logarithm sigma, no two alike. */
static void test_draws(void)
{
    struct ss_jitter j = {.sigma = 0.1, .seed = 42};
    double sum = 0, logs = 0, squares = 0, n = 20000;
    for (int i = 0; i < n; i++) {
        double f = ss_jitter_factor(&j, i % 16, i / 16, i % 7);
        CU_ASSERT(f > 0);
        sum += f;
        logs += log(f);
        squares += log(f) * log(f);
    }
    CU_ASSERT_DOUBLE_EQUAL(sum / n, 1, 0.003);
    CU_ASSERT_DOUBLE_EQUAL(sqrt(squares / n - logs / n * logs / n), 0.1, 0.002);
    double first = ss_jitter_factor(&j, 1, 2, 3);
    CU_ASSERT_EQUAL(ss_jitter_factor(&j, 1, 2, 3), first);
    CU_ASSERT_NOT_EQUAL(ss_jitter_factor(&j, 2, 2, 3), first);
    CU_ASSERT_NOT_EQUAL(ss_jitter_factor(&j, 1, 3, 3), first);
    CU_ASSERT_NOT_EQUAL(ss_jitter_factor(&j, 1, 2, 4), first);
    j.replica = 1;
    CU_ASSERT_NOT_EQUAL(ss_jitter_factor(&j, 1, 2, 3), first);
    j = (struct ss_jitter){.sigma = 0.1, .seed = 43};
    CU_ASSERT_NOT_EQUAL(ss_jitter_factor(&j, 1, 2, 3), first);
}

static void run_with(struct scale_job *s, int engine, int level, double sigma, uint64_t seed, int replicas,
                     struct ss_spread *out)
{
    struct ss_run_options o = {
        .engine = engine, .jitter = {.sigma = sigma, .seed = seed}, .replicas = replicas};
    struct ss_run run;
    o.plan.level = level;
    CU_ASSERT_FATAL(scale_run(s, &o, &run) == 0);
    CU_ASSERT_EQUAL(run.result->ranks_simulated, run.plan->world_size);
    *out = run.result->spread;
    ss_run_free(&run);
}

static void test_spread(void)
{
    struct scale_job s;
    struct ss_run plain;
    struct ss_run_options o = {.engine = SS_ENGINE_NATIVE};
    struct ss_spread a, b, c, tiny;
    CU_ASSERT_FATAL(scale_open(&s, JOB) == 0);
    CU_ASSERT_FATAL(scale_run(&s, &o, &plain) == 0);
    run_with(&s, SS_ENGINE_NATIVE, SS_LEVEL_CHUNK, 0.05, 1, 31, &a);
    CU_ASSERT_DOUBLE_EQUAL(a.without, plain.result->iteration_s, 1e-9 * a.without);
    CU_ASSERT(a.min <= a.p5 && a.p5 <= a.p25 && a.p25 <= a.p50 && a.p50 <= a.p75 && a.p75 <= a.p95 &&
              a.p95 <= a.max);
    CU_ASSERT(a.min < a.max);
    CU_ASSERT(a.mean > a.without); /* the slowest of several sets the pace */
    run_with(&s, SS_ENGINE_NATIVE, SS_LEVEL_CHUNK, 0.05, 1, 31, &b);
    CU_ASSERT_EQUAL(memcmp(&a, &b, sizeof a), 0);
    run_with(&s, SS_ENGINE_NATIVE, SS_LEVEL_CHUNK, 0.05, 2, 31, &c);
    CU_ASSERT_NOT_EQUAL(a.mean, c.mean);
    run_with(&s, SS_ENGINE_NATIVE, SS_LEVEL_CHUNK, 1e-12, 1, 5, &tiny);
    CU_ASSERT_DOUBLE_EQUAL(tiny.max, tiny.without, 1e-9 * tiny.without);
    /* every operator draws for itself: the waits of a tensor group in every layer cost more */
    run_with(&s, SS_ENGINE_NATIVE, SS_LEVEL_LAYER, 0.05, 1, 31, &b);
    CU_ASSERT(b.mean > b.without);
    run_with(&s, SS_ENGINE_SIMGRID, SS_LEVEL_CHUNK, 0.05, 1, 3, &b);
    run_with(&s, SS_ENGINE_NATIVE, SS_LEVEL_CHUNK, 0.05, 1, 3, &a);
    CU_ASSERT_DOUBLE_EQUAL(b.p50, a.p50, 1e-9 * a.p50);
    CU_ASSERT_DOUBLE_EQUAL(b.max, a.max, 1e-9 * a.max);
    ss_run_free(&plain);
    scale_close(&s);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"draws", test_draws}, {"iterations under jitter", test_spread}, CU_TEST_INFO_NULL};
    return suite_run("jitter", NULL, NULL, tests);
}
