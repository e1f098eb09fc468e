/* SPDX-License-Identifier: Apache-2.0 */
/* The lasting spread of GPUs: order statistics by hand, labels, and the closed form against draws. */
#include <malloc.h>
#include <math.h>

#include "comm/collective.h"
#include "cost/gpu_spread.h"
#include "job_helper.h"
#include "scale_job.h"
#include "suite.h"

/* A normal distribution that is cut where nothing is left of it. */
static struct ss_gpu_spread normal(double sigma)
{
    return (struct ss_gpu_spread){
        .sigma = sigma, .cut = 5, .within = erf(5 * M_SQRT1_2), .slow_factor = 1, .per_machine = 1};
}

/* Expected maxima of n standard normals: 1/sqrt(pi), 3/(2 sqrt(pi)), and tables (Harter 1961). */
TEST(normal)
{
    static const struct {
        double n, expected;
    } rows[] = {{1, 0}, {2, 0.5641896}, {3, 0.8462844}, {10, 1.5387527}, {100, 2.5075936}, {1000, 3.2414358}};
    const struct ss_gpu_spread p = normal(0.01);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CU_ASSERT_DOUBLE_EQUAL((ss_pace_slowest(&p, rows[i].n) - 1) / 0.01, rows[i].expected, 3e-3);
}

/* Whole machines are slow, the others exactly alike: with m machines E max = 1 + (1 - (1 - s)^m)(f - 1), over the mean. */
TEST(machines)
{
    const struct ss_gpu_spread p = {.cut = 2.7, .slow_share = 0.01, .slow_factor = 1.1, .per_machine = 8};
    const double mean = 1 + 0.01 * 0.1;
    CU_ASSERT_EQUAL(ss_pace_slowest(&p, 1), 1);
    CU_ASSERT_DOUBLE_EQUAL(ss_pace_slowest(&p, 8), 1, 1e-9); /* of one machine the mean, whatever is on it */
    CU_ASSERT_DOUBLE_EQUAL(ss_pace_slowest(&p, 80), (1 + (1 - pow(0.99, 10)) * 0.1) / mean, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(ss_pace_slowest(&p, 80000), 1.1 / mean, 1e-9);
}

/* A mixture: two machines of one GPU, slow or not by a half each, both with a normal spread much smaller than the step between:
 * 1/4 both usual (1 + 0.5642 s), 1/2 one of them slow (f), 1/4 both slow (f + 0.5642 f s). */
TEST(mixture)
{
    const struct ss_gpu_spread p = {.sigma = 0.001,
                                    .cut = 8,
                                    .within = erf(8 * M_SQRT1_2),
                                    .slow_share = 0.5,
                                    .slow_factor = 1.5,
                                    .per_machine = 1};
    const double more = 0.5641896 * 0.001;
    double expected = (1 + more) / 4 + 1.5 / 2 + 1.5 * (1 + more) / 4;
    CU_ASSERT_DOUBLE_EQUAL(ss_pace_slowest(&p, 2), expected / 1.25, 2e-6);
}

/* Half of a card's spread: half its deviation, and machines that are slower by half as much; as many of them, unless there is none. */
TEST(of_card)
{
    const struct ss_card card = {.spread_gpu = 0.02, .spread_slow_share = 0.01, .spread_slow_factor = 1.5};
    struct ss_gpu_spread p = ss_pace_of(&card, 0.5, 8);
    CU_ASSERT_DOUBLE_EQUAL(p.sigma, 0.01, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(p.slow_factor, 1.25, 1e-15);
    CU_ASSERT_EQUAL(p.slow_share, 0.01);
    CU_ASSERT_EQUAL(p.per_machine, 8);
    p = ss_pace_of(&card, 0, 8);
    CU_ASSERT_EQUAL(p.sigma, 0);
    CU_ASSERT_EQUAL(p.slow_share, 0);
    CU_ASSERT_EQUAL(p.slow_factor, 1);
}

/* A part that takes much longer alone counts; equal parts are one of more GPUs; what does not depend on GPUs is added. */
TEST(parts)
{
    const struct ss_gpu_spread p = normal(0.01);
    struct ss_pace_part apart[] = {{0, 1, 5}, {0, 2, 5}}, equal[] = {{1, 2, 5}, {1, 2, 5}};
    CU_ASSERT_DOUBLE_EQUAL(ss_pace_longest(&p, apart, 2), 2 * ss_pace_slowest(&p, 5), 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(ss_pace_longest(&p, equal, 2), 1 + 2 * ss_pace_slowest(&p, 10), 1e-6);
    struct ss_pace_part many[12];
    for (int i = 0; i < 12; i++) /* those beyond the eighth are far below */
        many[i] = (struct ss_pace_part){0, 1.0 / (1 + i), 5};
    CU_ASSERT_DOUBLE_EQUAL(ss_pace_longest(&p, many, 12), ss_pace_slowest(&p, 5), 1e-6);
}

/* What a cache keeps is what is computed, of these parts and no others: the second of two calls is the first one's to the bit. */
TEST(kept)
{
    const struct ss_gpu_spread p = normal(0.01);
    struct ss_cache *cache;

    CU_ASSERT_EQUAL_FATAL(ss_cache_open(&cache, NULL), 0);
    for (int i = 0; i < 6; i++) {
        struct ss_pace_part parts[] = {{0.5, 1, 5}, {0, 1.5 + 0.1 * (i % 3), 5}},
                            same[] = {parts[0], parts[1]};
        CU_ASSERT_EQUAL(ss_pace_longest_kept(cache, &p, parts, 2), ss_pace_longest(&p, same, 2));
        CU_ASSERT_EQUAL(ss_pace_slowest_kept(cache, &p, 5 + i % 3), ss_pace_slowest(&p, 5 + i % 3));
    }
    ss_cache_close(cache);
}

/* Draws have mean 1, the deviation asked for, and slow machines as a whole. */
TEST(draws)
{
    const struct ss_gpu_spread p = {.sigma = 0.02,
                                    .cut = 2.698,
                                    .within = erf(2.698 * M_SQRT1_2),
                                    .slow_share = 0.1,
                                    .slow_factor = 1.5,
                                    .per_machine = 4};
    double sum = 0, slow = 0;
    const int n = 40000;
    for (int i = 0; i < n; i += 4) {
        int first = ss_pace_draw(&p, 7, i) > 1.2;
        for (int k = 0; k < 4; k++) {
            double x = ss_pace_draw(&p, 7, i + k);
            CU_ASSERT_EQUAL(x > 1.2, first);
            CU_ASSERT_EQUAL(x, ss_pace_draw(&p, 7, i + k));
            sum += x / n;
        }
        slow += 4.0 * first / n;
    }
    CU_ASSERT_DOUBLE_EQUAL(sum, 1, 0.01);
    CU_ASSERT_DOUBLE_EQUAL(slow, 0.1, 0.01);
    CU_ASSERT(ss_pace_draw(&p, 7, 0) != ss_pace_draw(&p, 8, 0));
}

/* ---- whole jobs ---- */

static size_t stride = 1;
static int draws; /* iterations drawn of a job */

#define SMALL "--model llama3.1-8b --bf16 --seq 4096 --mbs 1 "
#define EXPERTS "--model qwen3-30b-a3b --bf16 --seq 4096 --mbs 1 "
#define SHARDED                                                                                              \
    "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params --ckpt-format fsdp_dtensor "   \
    "--use-distributed-optimizer "
#define NO_SLOW " ss.spread.slow_share=0;"

/* An iteration in s; seed < 0: not drawn. */
static double iteration(struct scale_job *s, double spread, int seed, double label[2])
{
    struct ss_run run;
    struct ss_run_options o = {.engine = SS_ENGINE_NATIVE, .level_choice = SS_LEVEL_BLIND};
    o.plan.draw_spread = seed >= 0;
    o.plan.spread_seed = seed < 0 ? 0 : (uint64_t)seed;
    s->job.spread = spread;
    CU_ASSERT_FATAL(scale_run(s, &o, &run) == 0);
    const struct ss_result *r = run.result;
    double t = r->iteration_s;
    for (int stage = 0; stage < r->nstages; stage++)
        CU_ASSERT_DOUBLE_EQUAL(ss_label_sum(r->stages[stage].breakdown), t, 1e-9 * t);
    label[0] = r->stages[r->critical_stage].breakdown[SS_LABEL_SPREAD];
    label[1] = r->stages[r->critical_stage].breakdown[SS_LABEL_BUBBLE];
    ss_run_free(&run);
    return t;
}

static const char *const jobs[] = {"h800 1" NO_SLOW SMALL "--gbs 64 --use-distributed-optimizer",
                                   "h800 1" NO_SLOW SMALL "--gbs 64 --tp 8",
                                   "h800 4" NO_SLOW SMALL "--gbs 128 --tp 4 --use-distributed-optimizer",
                                   "h800 4" NO_SLOW SMALL "--gbs 128 --tp 2 --pp 4",
                                   "h800 2" NO_SLOW SMALL "--gbs 64 --pp 8",
                                   "h800 4" NO_SLOW SMALL
                                   "--gbs 128 --tp 2 --pp 4 --num-layers-per-virtual-pipeline-stage 4",
                                   "h800 8" NO_SLOW SMALL "--gbs 128 --tp 2 --cp 2 --pp 2",
                                   "h800 8" NO_SLOW SMALL "--gbs 128 " SHARDED,
                                   "h800 8" NO_SLOW EXPERTS "--gbs 256 --ep 8 --pp 4",
                                   "h800 4 ss.spread.slow_share=0.1;" SMALL "--gbs 128 --tp 8"};

/* The label is the difference to GPUs that do not differ, and takes nothing from the bubble. The bubble is that of a run with
 * free communication: stages of a mixture, which wait for exchanges, have another one there where GPUs differ, by a ninth of what
 * these add; chunks that are unlike by less than a hundredth. */
TEST(label)
{
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        const double tolerance = i == 8 ? 0.12 : 0.01;
        struct scale_job s;
        double with[2], without[2];
        CU_ASSERT_FATAL(scale_open(&s, jobs[i]) == 0);
        double t = iteration(&s, 1, -1, with), even = iteration(&s, 0, -1, without), more = t - even;
        CU_ASSERT(more > 0);
        CU_ASSERT_EQUAL(without[0], 0);
        CU_ASSERT_DOUBLE_EQUAL(with[0], more, tolerance * more);
        CU_ASSERT_DOUBLE_EQUAL(with[1], without[1], tolerance * more);
        scale_close(&s);
    }
}

/* The closed form is what draws add on average, to three standard errors of their mean: 1 to 2 % with 400 of them, 4 to 7 %
 * where a whole machine or one pipeline of few GPUs decides. */
TEST(drawn)
{
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i += stride) {
        struct scale_job s;
        double label[2], sum = 0, squares = 0;
        CU_ASSERT_FATAL(scale_open(&s, jobs[i]) == 0);
        double even = iteration(&s, 0, -1, label), more = iteration(&s, 1, -1, label) - even;
        for (int seed = 0; seed < draws; seed++) {
            double x = iteration(&s, 1, seed, label) - even;
            CU_ASSERT_DOUBLE_EQUAL(label[0], fmax(0, x), 0.01 * fabs(x) + 1e-6 * even);
            sum += x / draws;
            squares += x * x / draws;
        }
        scale_close(&s);
        double error = sqrt(fmax(0, squares - sum * sum) / draws);
        CU_ASSERT_DOUBLE_EQUAL(more, sum, 3 * error);
        if (!(fabs(more - sum) <= 3 * error))
            fprintf(stderr, "%s: +%g s, drawn +%g s +-%g\n", jobs[i], more, sum, error);
    }
}

/* --spread scales it. */
TEST(scale)
{
    struct scale_job s;
    double label[2];
    CU_ASSERT_FATAL(scale_open(&s, "h800 1" NO_SLOW SMALL "--gbs 64") == 0);
    double even = iteration(&s, 0, -1, label), once = iteration(&s, 1, -1, label) - even;
    CU_ASSERT_DOUBLE_EQUAL(iteration(&s, 2, -1, label) - even, 2 * once, 0.02 * once);
    scale_close(&s);
}

/* Runs a job of fp8 on 32 GPUs whose largest values this group reduces. */
static void run_fp8(const char *set, const char *spread, struct ss_scenario **scenario, struct ss_run *run)
{
    const char *words[] = {"--platform",  "h100", "--nodes", "4",   "--model", "llama3.1-8b",
                           "--precision", "fp8",  "--tp",    "2",   "--pp",    "2",
                           "--mbs",       "1",    "--gbs",   "64",  "--set",   set,
                           "--spread",    spread, "--seq",   "8192"};
    struct ss_error err = {0};
    CU_ASSERT_EQUAL_FATAL(
        make_scenario((int)(sizeof words / sizeof *words), (char *const *)words, scenario, &err), 0);
    CU_ASSERT_EQUAL_FATAL(ss_run_scenario(*scenario, NULL, run, &err), 0);
}

/* Largest values of fp8 tensors are reduced behind each slot, among 2 tensor ranks or all 16 of a stage: these are then in step, at
 * the pace of the slowest of them. */
TEST(amax)
{
    static const char *const group[] = {"ss.fp8.amax_group=0", "ss.fp8.amax_group=1", "ss.fp8.amax_group=2"};
    const struct ss_group_shape shape[] = {
        {0}, {.n = 2, .nodes = 1, .per_node = 2}, {.n = 16, .nodes = 2, .per_node = 8}};
    double other[3], pace[3];
    struct ss_scenario *scenario;
    struct ss_net net;
    struct ss_run run;
    for (int i = 0; i < 3; i++) {
        run_fp8(group[i], "0", &scenario, &run);
        other[i] = run.plan->classes[0].chunks[0].forward[SS_LABEL_OTHER];
        CU_ASSERT_DOUBLE_EQUAL(run.plan->classes[0].chunks[0].backward[SS_LABEL_OTHER] - other[i], 0, 1e-12);
        ss_net_init(&net, run.plan->platform);
        double expected = i ? ss_collective_seconds(&net, SS_COLL_ALL_REDUCE, 4, &shape[i]) : 0;
        CU_ASSERT_DOUBLE_EQUAL(other[i] - other[0], expected, 1e-12);
        ss_run_free(&run);
        ss_scenario_free(scenario);
        run_fp8(group[i], "1", &scenario, &run);
        pace[i] = run.plan->classes[0].pace;
        if (i == 2) {
            const struct ss_gpu_spread p = ss_pace_of(ss_platform_card(run.plan->platform), 1, 8);
            CU_ASSERT_DOUBLE_EQUAL(pace[2], ss_pace_slowest(&p, 16), 1e-12);
        }
        ss_run_free(&run);
        ss_scenario_free(scenario);
    }
    CU_ASSERT_EQUAL(pace[0], pace[1]);
    CU_ASSERT(pace[2] > pace[1]);
}

SUITE(pace)
{
    /* memory is kept from one run to the next: returning it takes half of the time */
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    stride = suite_stride(argc, argv, 3);
    draws = stride > 1 ? 100 : 400;
    return suite_file(argv[0], NULL, NULL);
}
