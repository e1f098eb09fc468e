/* SPDX-License-Identifier: Apache-2.0 */

#include "result/sensitivity.h"
#include "result/spread.h"
#include "scale_job.h"
#include "suite.h"

#define JOB "h800 1;--model llama3.1-8b --bf16 --seq 4096 --mbs 1 --tp 2 --pp 2 --gbs 16 --sequence-parallel"

/* Mean 1, standard deviation of the logarithm sigma, no two alike. */
TEST(draws)
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
    /* the two ranks of a tensor group run in lockstep where their collectives are part of the slot */
    CU_ASSERT_EQUAL(run.result->ranks_simulated,
                    run.plan->world_size / (level == SS_LEVEL_CHUNK ? s->job.tp * s->job.cp : 1));
    *out = run.result->spread;
    ss_run_free(&run);
}

TEST(spread)
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

/* Where iterations are alike, the median is the first drawn of those in the middle: of 0 .. 3 it is 1. */
TEST(alike)
{
    static const char text[] = "program one\nclass a {\ncompute 250ms\n}\n";
    struct ss_run_options o = {.engine = SS_ENGINE_NATIVE, .replicas = 4, .workers = {.n = 1}};
    struct ss_program *p = NULL;
    struct ss_timeline *median = NULL;
    struct ss_spread out;
    CU_ASSERT_FATAL(ss_program_parse(text, sizeof text - 1, "one", &p, NULL) == 0);
    CU_ASSERT_FATAL(ss_spread_replay(p, &o, 0, &median, &out, NULL) == 0);
    CU_ASSERT_EQUAL(p->jitter.replica, 1);
    CU_ASSERT(out.min == 0.25 && out.p50 == 0.25 && out.mean == 0.25 && out.max == 0.25);
    ss_timeline_free(median);
    ss_program_free(p);
}

/* An answer of 2 s, of whose 16 replays all take 1 s: by 16/17 s less on average, with a deviation of 4/17 s, of which three go to
 * both sides; what was seen itself stays within. */
TEST(sensitivity)
{
    static const char text[] = "program one\nclass a {\ncompute 1s\n}\n";
    const struct ss_timeline answer = {.iteration_s = 2, .doublings = 1000},
                             calm = {.iteration_s = 2, .doublings = 3};
    struct ss_sensitivity found;
    struct ss_program *p = NULL;
    CU_ASSERT_FATAL(ss_program_parse(text, sizeof text - 1, "one", &p, NULL) == 0);
    CU_ASSERT_FATAL(ss_sensitivity_find(p, &answer, 0, &found, NULL) == 0);
    CU_ASSERT(found.known && found.sensitive);
    CU_ASSERT_DOUBLE_EQUAL(found.low, 2 - 16.0 / 17 - 12.0 / 17, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(found.high, 2, 1e-12);
    CU_ASSERT_FATAL(ss_sensitivity_find(p, &calm, 0, &found, NULL) == 0);
    CU_ASSERT(found.known && !found.sensitive && found.low == 2 && found.high == 2);
    ss_program_free(p);
}

/* Ranks in lockstep are one class: what every rank by itself comes to. */
TEST(lockstep)
{
    static const char *const jobs[] = {
        JOB,
        "a100-roce400 4 ss.oversubscription=4 ss.nodes_per_leaf=2;--model llama3.1-8b --bf16 --seq 4096 "
        "--mbs 1 "
        "--tp 4 --pp 2 --gbs 16 --sequence-parallel --use-distributed-optimizer --overlap-grad-reduce "
        "--overlap-param-gather",
        "h800 4;--model llama3.1-8b --bf16 --seq 4096 --mbs 1 --tp 2 --cp 2 --pp 2 --gbs 16 "
        "--sequence-parallel "
        "--num-layers-per-virtual-pipeline-stage 4",
        "h800 2;--model llama3.1-8b --bf16 --seq 4096 --mbs 1 --num-experts 16 --moe-router-topk 2 "
        "--moe-ffn-hidden-size 1024 --sequence-parallel --tp 2 --pp 2 --ep 4 --etp 2 --gbs 16"};
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        struct scale_job s;
        struct ss_run run[2];
        struct ss_run_options o = {.engine = SS_ENGINE_NATIVE,
                                   .jitter = {.sigma = 0.1, .seed = 7},
                                   .replicas = 5,
                                   .workers = {.n = 1}};
        CU_ASSERT_FATAL(scale_open(&s, jobs[i]) == 0);
        for (o.plan.unfold = 0; o.plan.unfold < 2; o.plan.unfold++)
            CU_ASSERT_FATAL(scale_run(&s, &o, &run[o.plan.unfold]) == 0);
        const struct ss_spread *a = &run[0].result->spread, *b = &run[1].result->spread;
        CU_ASSERT_EQUAL(run[0].result->ranks_simulated, run[1].plan->world_size / s.job.tp / s.job.cp);
        CU_ASSERT_DOUBLE_EQUAL(a->min, b->min, 1e-12 * b->min);
        CU_ASSERT_DOUBLE_EQUAL(a->p50, b->p50, 1e-12 * b->p50);
        CU_ASSERT_DOUBLE_EQUAL(a->max, b->max, 1e-12 * b->max);
        for (int l = 0; l < SS_LABEL_COUNT; l++)
            for (int r = 0; r < run[1].plan->world_size; r++)
                CU_ASSERT_DOUBLE_EQUAL(run[0].timeline->spent[run[0].plan->class_of[r]][l],
                                       run[1].timeline->spent[run[1].plan->class_of[r]][l], 1e-10 * b->p50);
        ss_run_free(&run[0]);
        ss_run_free(&run[1]);
        scale_close(&s);
    }
}

static int ascending(const void *pa, const void *pb)
{
    double a = *(const double *)pa, b = *(const double *)pb;
    return (a > b) - (a < b);
}

/* The number of 10 draws below the median is 0 or 1 in 11 of 1024 cases, 0 to 2 in 56: it is between the second and the
 * ninth with 95 %. Below the 5th percentile there are none in 60 % of all cases, so it has no lower end. */
TEST(confidence)
{
    struct scale_job s;
    struct ss_run run;
    struct ss_run_options o = {.engine = SS_ENGINE_NATIVE, .jitter = {.sigma = 0.1}, .replicas = 10};
    double x[10], mean = 0, squares = 0;
    CU_ASSERT_FATAL(scale_open(&s, JOB) == 0);
    CU_ASSERT_FATAL(scale_run(&s, &o, &run) == 0);
    CU_ASSERT_FATAL(ss_plan_has_barrier(run.plan));
    for (int i = 0; i < 10; i++) {
        struct ss_replay_stats stats;
        run.program->jitter.replica = i;
        CU_ASSERT_FATAL(ss_replay(run.program, SS_ENGINE_NATIVE, NULL, 0, &stats, NULL) == 0);
        x[i] = stats.makespan;
        mean += x[i] / 10;
    }
    for (int i = 0; i < 10; i++)
        squares += (x[i] - mean) * (x[i] - mean);
    qsort(x, 10, sizeof *x, ascending);
    const struct ss_spread *spread = &run.result->spread;
    CU_ASSERT_EQUAL(spread->p50_in.low, x[1]);
    CU_ASSERT_EQUAL(spread->p50_in.high, x[8]);
    CU_ASSERT(isnan(spread->p5_in.low) && isnan(spread->p95_in.high));
    CU_ASSERT_EQUAL(spread->p5_in.high, x[2]); /* 0 to 2 in 98.8 % of all cases, 0 to 1 in 91.4 % */
    CU_ASSERT_EQUAL(spread->p95_in.low, x[7]);
    CU_ASSERT_DOUBLE_EQUAL(spread->mean_in.high - mean, 1.96 * sqrt(squares / 9 / 10), 1e-4 * mean);
    CU_ASSERT_DOUBLE_EQUAL(spread->mean_in.high - mean, mean - spread->mean_in.low, 1e-12 * mean);
    ss_run_free(&run);
    scale_close(&s);
}

/* How many processes share the replicas changes no bit. */
TEST(workers)
{
    struct scale_job s;
    struct ss_run one, some;
    struct ss_run_options o = {
        .engine = SS_ENGINE_NATIVE, .jitter = {.sigma = 0.1}, .replicas = 40, .workers = {.n = 1}};
    CU_ASSERT_FATAL(scale_open(&s, JOB) == 0);
    CU_ASSERT_FATAL(scale_run(&s, &o, &one) == 0);
    for (o.workers.n = 2; o.workers.n < 5; o.workers.n++) {
        CU_ASSERT_FATAL(scale_run(&s, &o, &some) == 0);
        CU_ASSERT(!memcmp(&one.result->spread, &some.result->spread, sizeof one.result->spread));
        CU_ASSERT_EQUAL(one.result->iteration_s, some.result->iteration_s);
        ss_run_free(&some);
    }
    ss_run_free(&one);
    scale_close(&s);
}

SUITE(jitter)
{
    ss_simgrid_load(NULL); /* once for all replays */
    return suite_file(argv[0], NULL, NULL);
}
