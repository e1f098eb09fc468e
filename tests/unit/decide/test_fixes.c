/* SPDX-License-Identifier: Apache-2.0 */
/* What a job that does not fit is told to change. */
#include "job_helper.h"
#include "stepsim/stepsim.h"
#include "suite.h"

/* How many fixes there are; *found: whether one is these words alone. */
static int count(const char *flags, const char *change, int *found)
{
    char *text = strdup(flags), *argv[JOB_MAX_ARGS];
    struct ss_scenario *s;
    struct ss_fix fixes[3];
    int n;

    CU_ASSERT_EQUAL_FATAL(make_scenario(split(text, argv), argv, &s, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_fixes_find(s, NULL, fixes, &n, NULL), 0);
    *found = 0;
    for (int i = 0; i < n; i++)
        *found |= !strcmp(fixes[i].change, change);
    ss_scenario_free(s);
    free(text);
    return n;
}

static int is_told(const char *flags, const char *change)
{
    int found;

    count(flags, change, &found);
    return found;
}

#define LLAMA                                                                                                \
    "--platform h800 --nodes 1 --model llama2-7b --bf16 --tp 4 --seq 4096 --sequence-parallel "              \
    "--use-distributed-optimizer "

/* Half of a micro batch that divides by two, and no other one but 1. */
TEST(micro_batch)
{
    CU_ASSERT(is_told(LLAMA "--mbs 16 --gbs 128", "--micro-batch-size 8"));
    CU_ASSERT(is_told(LLAMA "--mbs 20 --gbs 160", "--micro-batch-size 10"));
    CU_ASSERT(is_told(LLAMA "--mbs 17 --gbs 136", "--micro-batch-size 1"));
    CU_ASSERT_FALSE(is_told(LLAMA "--mbs 17 --gbs 136", "--micro-batch-size 8"));
}

#define FULL "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1"
#define OFFLOAD "--optimizer-cpu-offload --optimizer-offload-fraction 1"

/* Selective recompute is no change beside full recompute, which beats it: no fix is told twice. */
TEST(recompute_once)
{
    const char *deepseek =
        "--platform h100 --nodes 8 --model deepseek-v2 --bf16 --seq 4096 --mbs 1 --gbs 256 --ep 8 "
        "--pp 4 --decoder-first-pipeline-num-layers 15 --use-distributed-optimizer";

    CU_ASSERT(is_told(deepseek, FULL " " OFFLOAD));
    CU_ASSERT_FALSE(is_told(deepseek, "--recompute-activations " FULL " " OFFLOAD));
}

/* A job that fits is told nothing. */
TEST(fits)
{
    int found;

    CU_ASSERT_EQUAL(count(LLAMA "--mbs 4 --gbs 128", "", &found), 0);
}

/* Who trains in fp32 is told of --bf16; who has it, or fp16, is not. */
TEST(forgotten_precision)
{
    const char *fp32 = "--platform h800 --nodes 8 --model llama3.1-70b --tp 8 --pp 4 --seq 4096 --mbs 1 "
                       "--gbs 64 --precision fp32";

    CU_ASSERT(is_told(fp32, "--bf16"));
    CU_ASSERT_FALSE(is_told(LLAMA "--mbs 16 --gbs 128", "--bf16"));
}

/* Bounds spare runs and change no answer: with a seed of draws that nobody makes none hold, and all jobs are run. */
TEST(bounds)
{
    static const char *const jobs[] = {
        LLAMA "--mbs 16 --gbs 128",
        "--platform h100 --nodes 2 --model llama3.1-70b --bf16 --seq 8192 --tp 4 --pp 2 --mbs 1 --gbs 64",
        "--platform h800 --nodes 2 --model qwen3-30b-a3b --bf16 --seq 8192 --ep 8 --mbs 4 --gbs 128",
    };
    const struct ss_run_options quick = {0}, each = {.plan.spread_seed = 1};

    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        char *text = strdup(jobs[i]), *argv[JOB_MAX_ARGS];
        struct ss_scenario *s;
        struct ss_fix some[3], all[3];
        int n, m;
        CU_ASSERT_EQUAL_FATAL(make_scenario(split(text, argv), argv, &s, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(ss_fixes_find(s, &quick, some, &n, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(ss_fixes_find(s, &each, all, &m, NULL), 0);
        CU_ASSERT_EQUAL(n, m);
        for (int k = 0; k < n && k < m; k++) {
            CU_ASSERT_STRING_EQUAL(some[k].change, all[k].change);
            CU_ASSERT_EQUAL(some[k].summary.iteration_s, all[k].summary.iteration_s);
            CU_ASSERT_EQUAL(some[k].summary.peak_device, all[k].summary.peak_device);
        }
        ss_scenario_free(s);
        free(text);
    }
}
