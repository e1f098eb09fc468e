/* SPDX-License-Identifier: Apache-2.0 */
/* A node with a failed GPU is left out, and a spare one has its ranks: nothing else moves. */

#include <math.h>
#include <string.h>

#include "stepsim/stepsim.h"
#include "suite.h"

#define JOB                                                                                                  \
    "--platform h100 --model llama3.1-8b --bf16 --mbs 1 --gbs 64 --seq 4096 --use-distributed-optimizer "    \
    "--sequence-parallel "
#define LEAVES(nodes, ratio) " --set ss.nodes_per_leaf=" #nodes " --set ss.oversubscription=" #ratio

static struct ss_scenario *scenario_of(const char *text, struct ss_error *err)
{
    char copy[1024], *words[64], *rest;
    struct ss_request r;
    struct ss_scenario *s = NULL;
    int n = 0;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *w = strtok_r(copy, " ", &rest); w && n < 64; w = strtok_r(NULL, " ", &rest))
        words[n++] = w;
    ss_request_init(&r);
    if (!ss_request_read(&r, n, words, err))
        ss_scenario_build(&r, NULL, &s, err);
    ss_request_free(&r);
    return s;
}

/* s an iteration; classes: how many were simulated, may be NULL. */
static double run(const char *text, int engine, int unfold, int *classes)
{
    struct ss_run_options o = {.engine = engine, .level_choice = SS_LEVEL_BLIND};
    struct ss_error err = {0};
    struct ss_run r;
    struct ss_scenario *s = scenario_of(text, &err);
    double seconds = NAN;
    o.plan.unfold = unfold;
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    CU_ASSERT_FATAL(ss_run_scenario(s, &o, &r, &err) == 0);
    seconds = r.result->iteration_s;
    if (classes)
        *classes = r.plan->nclasses;
    ss_run_free(&r);
    ss_scenario_free(s);
    return seconds;
}

static double usual(const char *text)
{
    return run(text, SS_ENGINE_NATIVE, 0, NULL);
}

/* All nodes are alike to each other where the fabric is as wide as the NICs. */
TEST(wide)
{
    int classes;
    double healthy = usual(JOB "--tp 8 --pp 2 --nodes 4");
    CU_ASSERT_EQUAL(run(JOB "--tp 8 --pp 2 --nodes 4 --failed-gpu 1:3", SS_ENGINE_NATIVE, 0, &classes),
                    healthy);
    CU_ASSERT_EQUAL(classes, 2);
    CU_ASSERT_EQUAL(usual(JOB "--tp 8 --pp 2 --nodes 4 --failed-gpu 1:3,2,1:4"), healthy);
}

/* Two nodes of one leaf, of which the second fails: the spare is on the next leaf, and what they send crosses two uplinks, each
 * two nodes' at 4:1, which is one node's at 2:1. */
TEST(leaf)
{
    double apart = usual(JOB "--tp 8 --nodes 2" LEAVES(1, 2));
    double healthy = usual(JOB "--tp 8 --nodes 2" LEAVES(2, 4));
    CU_ASSERT_EQUAL(usual(JOB "--tp 8 --nodes 2 --failed-gpu 1" LEAVES(2, 4)), apart);
    CU_ASSERT(healthy < apart);
}

TEST(folded)
{
    static const char *const jobs[] = {
        JOB "--tp 8 --pp 2 --nodes 8 --failed-gpu 2:7,5" LEAVES(2, 4),
        JOB "--tp 2 --cp 8 --nodes 8 --failed-gpu 0:7" LEAVES(4, 3),
        JOB "--tp 4 --pp 4 --nodes 6 --gbs 96 --overlap-grad-reduce --failed-gpu 3:0" LEAVES(3, 8),
    };
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        int folded, unfolded;
        double t = run(jobs[i], SS_ENGINE_NATIVE, 0, &folded);
        CU_ASSERT_DOUBLE_EQUAL(run(jobs[i], SS_ENGINE_NATIVE, 1, &unfolded), t, 1e-9 * t);
        CU_ASSERT_DOUBLE_EQUAL(run(jobs[i], SS_ENGINE_SIMGRID, 0, NULL), t, 1e-9 * t);
        CU_ASSERT_DOUBLE_EQUAL(run(jobs[i], SS_ENGINE_SIMGRID, 1, NULL), t, 1e-9 * t);
        CU_ASSERT(folded < unfolded);
    }
}

/* No more ranks, each where it was but for those of the node, which keep their places in it. */
TEST(places)
{
    struct ss_error err = {0};
    struct ss_run r;
    struct ss_scenario *s = scenario_of(JOB "--tp 8 --nodes 4 --failed-gpu 2,0:1", &err);
    const struct ss_run_options o = {.engine = SS_ENGINE_NATIVE};
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    CU_ASSERT_EQUAL(s->world_size, 32);
    CU_ASSERT_FATAL(ss_run_scenario(s, &o, &r, &err) == 0);
    for (int i = 0; i < 32; i++) {
        static const int node[] = {5, 1, 4, 3};
        CU_ASSERT_EQUAL(r.plan->gpu_of[i], 8 * node[i / 8] + i % 8);
    }
    ss_run_free(&r);
    ss_scenario_free(s);
}

/* Spare nodes have links beyond those of as many GPUs as there are ranks. All that works is what works without the failure: skewed
 * loads on NVLink, the ports of a mesh, groups of hybrid shards that count nodes. */
TEST(links_of_spares)
{
    static const struct {
        const char *job, *failed;
    } cases[] = {
        {"--platform h100 --nodes 1 --model mixtral-8x7b --bf16 --ep 8 --mbs 1 --gbs 16 --seq 4096 "
         "--use-distributed-optimizer --moe-load zipf:1",
         " --failed-gpu 0:0"},
        {"--platform v100 --nodes 2 --gpus-per-node 2 --model gpt2-xl --fp16 --mbs 1 --gbs 16 --seq 1024",
         " --failed-gpu 0:0,1:0"},
        {"--platform h100 --nodes 2 --gpus-per-node 1 --model llama3.1-8b --bf16 --mbs 1 --gbs 16 --seq 4096 "
         "--fsdp hybrid",
         " --failed-gpu 0:0,1:0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char failed[512];
        snprintf(failed, sizeof failed, "%s%s", cases[i].job, cases[i].failed);
        CU_ASSERT_EQUAL(usual(failed), usual(cases[i].job));
    }
}

static void refused(const char *text, const char *what)
{
    struct ss_error err = {0};
    struct ss_scenario *s = scenario_of(text, &err);
    char line[1600];
    ss_error_format(&err, line, sizeof line);
    CU_ASSERT_PTR_NULL(s);
    CU_ASSERT_PTR_NOT_NULL(strstr(line, what));
    ss_scenario_free(s);
}

TEST(refused)
{
    refused(JOB "--tp 8 --nodes 4 --failed-gpu 4", "the job has nodes 0 to 3");
    refused(JOB "--tp 8 --nodes 4 --failed-gpu 3:8", "GPUs 0 to 7");
    refused(JOB "--tp 8 --nodes 4 --failed-gpu 3:", "not NODE or NODE:GPU");
    refused(JOB "--tp 8 --nodes 4 --failed-gpu 1,,2", "not NODE or NODE:GPU");
    refused("--platform gb200 --nodes 18 --model llama3.1-8b --bf16 --tp 2 --mbs 1 --gbs 144 --seq 4096 "
            "--failed-gpu 0",
            "an NVLink switch joins");
}

SUITE(failed_gpu)
{
    ss_simgrid_load(NULL); /* once for all replays */
    return suite_file(argv[0], NULL, NULL);
}
