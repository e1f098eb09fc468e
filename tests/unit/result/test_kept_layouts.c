/* SPDX-License-Identifier: Apache-2.0 */
/* One cache for jobs of other stacks and cards, and for mixtures: what is kept changes no answer. */
#include <sys/wait.h>
#include <unistd.h>

#include "base/cache.h"
#include "job_helper.h"
#include "stepsim/stepsim.h"
#include "suite.h"

static double seconds(const char *line, struct ss_cache *cache)
{
    const struct ss_run_options options = {
        .engine = SS_ENGINE_NATIVE, .brief = 1, .unchecked = 1, .cache = cache};
    char *text = strdup(line), *argv[JOB_MAX_ARGS];
    struct ss_scenario *s;
    struct ss_run run;
    double found = 0;

    CU_ASSERT_EQUAL_FATAL(make_scenario(split(text, argv), argv, &s, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_run_scenario(s, &options, &run, NULL), 0);
    found = run.result->iteration_s;
    ss_run_free(&run);
    ss_scenario_free(s);
    free(text);
    return found;
}

TEST(stacks)
{
    static const char *const jobs[] = {
        "--nodes 4 --model llama3.1-8b --bf16 --seq 4096 --tp 2 --pp 2 --mbs 1 --gbs 32 "
        "--use-distributed-optimizer",
        "--nodes 4 --model llama3.1-8b --bf16 --seq 8192 --tp 2 --cp 4 --mbs 1 --gbs 16",
        "--nodes 4 --model llama3.1-8b --bf16 --seq 4096 --tp 1 --mbs 1 --gbs 64",
    };
    static const char *const like[] = {
        "--platform h800",
        "--platform h800 --stack megatron-lm-2025",
        "--platform h800 --stack megatron-bridge-26.08",
        "--platform h800 --stack torchtitan-2026",
        "--platform h800 --stack deepspeed-2026",
        "--platform h800 --scale ss.hbm.efficiency=0.9x",
        "--platform h100",
        "--platform a100-roce400",
    };
    struct ss_cache *cache;

    CU_ASSERT_EQUAL_FATAL(ss_cache_open(&cache, NULL), 0);
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++)
        for (size_t k = 0; k < sizeof like / sizeof like[0]; k++) {
            char line[512];
            snprintf(line, sizeof line, "%s %s", like[k], jobs[i]);
            CU_ASSERT_EQUAL(seconds(line, cache), seconds(line, NULL));
        }
    ss_cache_close(cache);
}

/* What another process has told, which has ended, changes no answer, and is found: by the same job all of it but its replay. */
TEST(processes)
{
    static const char *const jobs[] = {
        "--platform h800 --nodes 4 --model llama3.1-8b --bf16 --seq 4096 --tp 2 --pp 4 --vp 2 --mbs 1 --gbs "
        "64",
        "--platform h800 --nodes 8 --model llama3.1-8b --bf16 --seq 8192 --tp 2 --cp 4 --pp 2 --mbs 1 --gbs "
        "32 "
        "--use-distributed-optimizer --overlap-grad-reduce",
        "--platform h100 --nodes 4 --model qwen3-30b-a3b --bf16 --seq 4096 --ep 8 --pp 2 --mbs 1 --gbs 64",
        "--platform v100 --nodes 2 --model llama3.2-1b --fp16 --seq 2048 --tp 2 --pp 4 --mbs 1 --gbs 32"};
    const int n = sizeof jobs / sizeof *jobs;
    struct ss_cache *cache;
    int status;
    CU_ASSERT_EQUAL_FATAL(ss_cache_open(&cache, NULL), 0);
    ss_cache_share(cache);
    fflush(NULL);
    pid_t child = fork();
    for (int i = 0; !child && i < n; i++)
        seconds(jobs[i], cache);
    if (!child)
        _exit(0);
    CU_ASSERT_FATAL(child > 0 && waitpid(child, &status, 0) == child && !status);
    for (int i = 0; i < n; i++) {
        const struct ss_cache_counts before = ss_cache_counts(cache);
        CU_ASSERT_EQUAL(seconds(jobs[i], cache), seconds(jobs[i], NULL));
        CU_ASSERT(ss_cache_counts(cache).found - before.found >= 3); /* messages, layers, groups */
    }
    ss_cache_close(cache);
}

/* Mixtures that differ in micro batch and recompute share groups, routes and classes, but where their experts have unlike loads. */
TEST(experts)
{
    static const char *const jobs[] = {
        "--nodes 4 --pp 2 --ep 8",
        "--nodes 4 --tp 2 --etp 1 --sequence-parallel --pp 2 --ep 16 --use-distributed-optimizer",
        "--nodes 4 --tp 1 --cp 2 --ep 32 --moe-token-dispatcher-type flex --moe-flex-dispatcher-backend "
        "deepep",
        "--nodes 4 --tp 1 --ep 8 --fsdp full",
    };
    static const char *const like[] = {
        "--mbs 1",
        "--mbs 2",
        "--mbs 2 --recompute selective",
        "--mbs 4 --recompute full",
        "--mbs 1 --moe-load biased:0.3",
        "--mbs 4 --moe-load biased:0.3",
        "--mbs 2 --recompute-granularity full --recompute-method block --recompute-num-layers 3",
    };
    struct ss_cache *cache;

    CU_ASSERT_EQUAL_FATAL(ss_cache_open(&cache, NULL), 0);
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++)
        for (size_t k = 0; k < sizeof like / sizeof like[0]; k++) {
            char line[512];
            snprintf(line, sizeof line,
                     "--platform h100 --model qwen3-30b-a3b --bf16 --seq 4096 --gbs 256 %s %s", jobs[i],
                     like[k]);
            CU_ASSERT_EQUAL(seconds(line, cache), seconds(line, NULL));
        }
    ss_cache_close(cache);
}
