/* SPDX-License-Identifier: Apache-2.0 */
/* Switches of a layout are searched with it: no set of them, tried with all layouts, is better. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decide/search_internal.h"
#include "job_helper.h"
#include "stepsim/search.h"
#include "suite.h"

static struct ss_find_result *search(const char *words, int axes, const unsigned *set, int exhaustive)
{
    struct ss_find_options o = {.workers = {.n = 1},
                                .axes = axes,
                                .switches = set,
                                .best_only = 1,
                                .brief = 1,
                                .exhaustive = exhaustive};
    struct ss_find_result *f = NULL;
    struct ss_request r;
    struct ss_error err = {0};
    char text[2048], *argv[JOB_MAX_ARGS];

    snprintf(text, sizeof text, "%s", words);
    ss_request_init(&r);
    CU_ASSERT_EQUAL_FATAL(ss_request_read(&r, split(text, argv), argv, &err), 0);
    int rc = ss_find_run(&r, &o, &f, &err);
    if (rc)
        printf("%s\n", err.message);
    CU_ASSERT_EQUAL_FATAL(rc, 0);
    ss_request_free(&r);
    return f;
}

static double best_of(const struct ss_find_result *f)
{
    return f->groups[0].best >= 0 ? f->points[f->groups[0].best].summary.iteration_s : INFINITY;
}

static size_t stride = 1;

/* Returns the switches that are on in some layout where all, or that one alone, are to be on. */
static unsigned applying(const char *words)
{
    unsigned on = 0;
    for (int bit = -1; bit < ss_find_switches(); bit++) {
        unsigned set = bit < 0 ? (1u << ss_find_switches()) - 1 : 1u << bit;
        struct ss_find_result *f = search(words, SS_FIND_AXES_LAYOUT, &set, 1);
        for (int i = 0; i < f->npoints; i++)
            on |= f->points[i].switches;
        ss_find_free(f);
    }
    return on;
}

/* All sets of switches with all layouts, each predicted, against the search. Returns how much the best set gains. */
static double against_all(const char *words)
{
    struct ss_find_result *found = search(words, SS_FIND_AXES_ALL, NULL, 0);
    unsigned on = applying(words), none = 0, number = 0;
    struct ss_find_result *plain = search(words, SS_FIND_AXES_LAYOUT, &none, 0);
    double least = INFINITY, best = best_of(found), gain = 1 - best / best_of(plain);

    for (unsigned set = on; set; set = (set - 1) & on) { /* all parts of `on` */
        if (stride > 1 && number++ % 5)
            continue;
        struct ss_find_result *f = search(words, SS_FIND_AXES_LAYOUT, &set, 1);
        least = fmin(least, best_of(f));
        ss_find_free(f);
    }
    printf("\n  %.4f s by the search, %.4f s by all sets, %.4f s without\n", best, least, best_of(plain));
    CU_ASSERT(best <= least * (1 + 1e-9));
    ss_find_free(found);
    ss_find_free(plain);
    return gain;
}

TEST(sets)
{
    CU_ASSERT(
        against_all("--platform h800 --nodes 2 --model llama3.1-8b --bf16 --seq 8192 --gbs 16 --mbs 1 --cp 1 "
                    "--pp 2 --recompute none") > 0);
    CU_ASSERT(against_all(
                  "--platform h100 --nodes 2 --model qwen3-30b-a3b --bf16 --seq 4096 --gbs 32 --mbs 1 --cp 1 "
                  "--tp 1 --pp 2 --vp 1 --fsdp none --num-layers 8") > 0.05);
}

/* Switches that exclude or need one another are found: here shared experts beside exchanges, which one dispatcher can and the
 * overlap of two chunks, on by nature, forbids. */
TEST(exclusive)
{
#define SWITCHES                                                                                             \
    " --moe-token-dispatcher-type flex --moe-flex-dispatcher-backend deepep --moe-shared-expert-overlap "    \
    "--moe-permute-fusion --attention-backend fused --moe-grouped-gemm --moe-router-fusion "                 \
    "--fused-single-qkv-rope"
    static const char *const jobs[] = {
        "--platform h800 --nodes 4 --model ernie-4.5-21b-a3b --bf16 --seq 8192 --gbs 64 --tp 1 --pp 2 --ep 8 "
        "--mbs 1",
        "--platform h800 --nodes 4 --model ernie-4.5-21b-a3b --bf16 --seq 8192 --gbs 64 --tp 1 --pp 2 --vp 7 "
        "--ep 8 --mbs 1 --use-distributed-optimizer",
        "--platform b200 --nodes 2 --model ling-mini-2.0 --bf16 --seq 4096 --gbs 64 --tp 1 --pp 2 --vp 10 "
        "--ep 8 --mbs 1 --use-distributed-optimizer"};
    const unsigned none = 0;
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        char words[1024];
        snprintf(words, sizeof words, "%s" SWITCHES, jobs[i]);
        struct ss_find_result *f = search(jobs[i], SS_FIND_AXES_SWITCHES, NULL, 0),
                              *with = search(words, SS_FIND_AXES_SWITCHES, &none, 0);
        CU_ASSERT(best_of(with) < INFINITY);
        CU_ASSERT(best_of(f) <= best_of(with) * (1 + 1e-9));
        ss_find_free(f);
        ss_find_free(with);
    }
}

/* The words of a point make its job: run alone it takes as long. */
TEST(words)
{
    static const char job[] =
        "--platform h100 --nodes 2 --model qwen3-30b-a3b --bf16 --seq 4096 --gbs 32 --mbs 1 "
        "--cp 1 --tp 1 --pp 2 --fsdp none --num-layers 8";
    struct ss_find_result *f = search(job, SS_FIND_AXES_ALL, NULL, 0);
    const struct ss_find_point *p = &f->points[f->groups[0].best];
    const struct ss_run_options alone = {.engine = SS_ENGINE_NATIVE, .unchecked = 1};
    char text[2048], *argv[JOB_MAX_ARGS];
    struct ss_scenario *s = NULL;
    struct ss_summary u;
    struct ss_request r;
    struct ss_error err;

    CU_ASSERT_PTR_NOT_NULL(strstr(p->flags, "--moe-grouped-gemm"));
    snprintf(text, sizeof text, "%s %s", job, p->flags);
    ss_request_init(&r);
    CU_ASSERT_EQUAL_FATAL(ss_request_read(&r, split(text, argv), argv, &err), 0);
    CU_ASSERT_EQUAL_FATAL(ss_scenario_build(&r, NULL, &s, &err), 0);
    CU_ASSERT_EQUAL_FATAL(ss_predict(s, &alone, &u, &err), 0);
    CU_ASSERT_EQUAL(u.iteration_s, p->summary.iteration_s);
    CU_ASSERT_EQUAL(u.peak_device, p->summary.peak_device);
    ss_scenario_free(s);
    ss_request_free(&r);
    ss_find_free(f);
}

/* --axes switches leaves the job's layout. */
TEST(switches_alone)
{
    struct ss_find_result *f =
        search("--platform h100 --nodes 2 --model llama3.1-8b --bf16 --seq 4096 --gbs 32 --mbs 1 "
               "--tp 4 --pp 2",
               SS_FIND_AXES_SWITCHES, NULL, 0);
    const struct ss_find_point *p = &f->points[f->groups[0].best];

    CU_ASSERT_EQUAL(f->groups[0].layouts, 1);
    CU_ASSERT(p->tp == 4 && p->pp == 2 && p->cp == 1 && p->chunks == 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(p->flags, "--tp-comm-overlap"));
    CU_ASSERT_PTR_NULL(strstr(p->flags, "--use-distributed-optimizer"));
    ss_find_free(f);
}

/* A degree that is given asks for what one that is varied asks for. */
TEST(given_or_varied)
{
    static const char job[] =
        "--platform h800 --nodes 2 --model llama3.1-8b --bf16 --seq 4096 --gbs 64 --mbs 1 --cp 1 "
        "--vp 1 --recompute none --pp 2",
                      *const both[][2] = {{"--tp 2", "tp=2"}, {"--tp 2 --fsdp none", "fsdp=none"}};
    for (int i = 0; i < 2; i++) {
        char words[512], text[512], *argv[JOB_MAX_ARGS];
        struct ss_sweep *vary = calloc(1, sizeof *vary);
        struct ss_find_options o = {.workers = {.n = 1}, .vary = vary, .best_only = 1, .brief = 1};
        struct ss_find_result *given, *varied;
        struct ss_request r;

        snprintf(words, sizeof words, "%s %s", job, both[i][0]);
        given = search(words, SS_FIND_AXES_LAYOUT, NULL, 0);
        CU_ASSERT_EQUAL(ss_sweep_vary(vary, both[i][1], NULL), 0);
        snprintf(text, sizeof text, "%s %s", job, i ? "--tp 2" : "");
        ss_request_init(&r);
        CU_ASSERT_EQUAL_FATAL(ss_request_read(&r, split(text, argv), argv, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(ss_find_run(&r, &o, &varied, NULL), 0);
        CU_ASSERT_EQUAL(best_of(given), best_of(varied));
        CU_ASSERT_STRING_EQUAL(given->points[given->groups[0].best].flags,
                               varied->points[varied->groups[0].best].flags);
        CU_ASSERT_PTR_NOT_NULL(strstr(given->points[given->groups[0].best].flags, "--sequence-parallel"));
        ss_request_free(&r);
        ss_find_free(given);
        ss_find_free(varied);
        free(vary);
    }
}

/* A switch beats no flag of the job, and none that is varied. */
TEST(said)
{
    static const char job[] =
        "--platform h800 --nodes 2 --model qwen3-30b-a3b --bf16 --seq 4096 --gbs 32 --mbs 1 --cp 1 "
        "--tp 1 --pp 1 --ep 16 --fsdp none --recompute none --num-layers 8",
                      *const said[][2] = {
                          {"--moe-token-dispatcher-type alltoall", "--moe-token-dispatcher-type"},
                          {"--attention-backend unfused", "--attention-backend"},
                          {"--attention-backend flash", "--attention-backend"}};
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        char words[512];
        snprintf(words, sizeof words, "%s %s", job, said[i][0]);
        struct ss_find_result *f = search(words, SS_FIND_AXES_ALL, NULL, 0);
        const char *flags = f->points[f->groups[0].best].flags;
        CU_ASSERT_PTR_NULL(strstr(flags, said[i][1]));
        CU_ASSERT_PTR_NOT_NULL(strstr(flags, "--moe-grouped-gemm"));
        ss_find_free(f);
    }
}

/* What the recipe of the stack's release switches on is on, and the words that are found leave the recipe out where nobody did. */
TEST(recipe)
{
    static const char job[] =
        "--platform h100 --nodes 2 --model qwen3-30b-a3b --seq 4096 --gbs 32 --mbs 1 --cp 1 --tp 1 "
        "--pp 2 --num-layers 8";
    char words[512];
    snprintf(words, sizeof words, "%s --stack megatron-bridge-26.02", job);
    struct ss_find_result *with = search(words, SS_FIND_AXES_LAYOUT, NULL, 0),
                          *without = search(job, SS_FIND_AXES_LAYOUT, NULL, 0);

    CU_ASSERT(with->points[with->groups[0].best].switches != 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(with->points[with->groups[0].best].flags, "--moe-token-dispatcher-type"));
    CU_ASSERT_EQUAL(without->points[without->groups[0].best].switches, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(with->points[with->groups[0].best].flags, " --recipe none"));
    CU_ASSERT_PTR_NULL(strstr(without->points[without->groups[0].best].flags, "--recipe"));
    ss_find_free(with);
    snprintf(words, sizeof words, "%s --stack megatron-bridge-26.02 --recipe none", job);
    with = search(words, SS_FIND_AXES_LAYOUT, NULL, 0);
    CU_ASSERT_PTR_NULL(strstr(with->points[with->groups[0].best].flags, "--recipe"));
    ss_find_free(with);
    ss_find_free(without);
}

/* A search tries nothing that the framework of the stack does not have: no virtual stages, no shards of parameters, no overlap, no
 * words for a split of layers, which this framework splits itself. 6 layers are no multiple of 4 stages. */
TEST(framework)
{
    static const char *const none[] = {"--vp 2",    "--fsdp full",    "--overlap",    "--cuda-graph",
                                       "selective", "--decoder-last", "--account-for"};
    struct ss_find_result *f =
        search("--platform a100 --nodes 1 --model llama2-7b --num-layers 6 --bf16 --seq 2048 --gbs 16 --tp 1 "
               "--cp 1 --stack aleph-alpha-2023",
               SS_FIND_AXES_ALL, NULL, 1);
    int deepest = 0;

    CU_ASSERT(f->npoints > 0);
    for (int i = 0; i < f->npoints; i++) {
        deepest = f->points[i].pp > deepest ? f->points[i].pp : deepest;
        for (size_t k = 0; k < sizeof none / sizeof none[0]; k++)
            CU_ASSERT_PTR_NULL(strstr(f->points[i].flags, none[k]));
    }
    CU_ASSERT_EQUAL(deepest, 4);
    ss_find_free(f);
}

/* Nor switches of a later release than the stack's, which a warning tells; the default stack stands for any release. */
TEST(release)
{
    static const char job[] =
        "--platform h100 --nodes 2 --model qwen3-30b-a3b --bf16 --seq 4096 --gbs 32 --mbs 1 --cp 1 --tp 1 "
        "--pp 1 --ep 16 --fsdp none --recompute none --num-layers 8 --stack";
    static const struct {
        const char *stack, *tried, *not_tried, *told;
    } rows[] = {{"nemo-24.12", NULL, "deepep",
                 "not tried, because nemo-24.12 does not have them: --moe-permute-fusion"},
                {"nanotron-2025", NULL, "--attention-backend fused",
                 "--overlap-moe-expert-parallel-comm (Megatron core 0.14)"},
                {"megatron-2407", "deepep", "--fine-grained", "which stands for any release, does not have"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char words[512];
        int told = 0;
        snprintf(words, sizeof words, "%s %s", job, rows[i].stack);
        struct ss_find_result *f = search(words, SS_FIND_AXES_ALL, NULL, 0);
        const char *flags = f->points[f->groups[0].best].flags;
        for (unsigned long k = 0; k < f->warnings.n; k++)
            told += strstr(f->warnings.text[k], rows[i].told) != NULL;
        CU_ASSERT_EQUAL(told, 1);
        CU_ASSERT(!rows[i].tried || strstr(flags, rows[i].tried));
        CU_ASSERT_PTR_NULL(strstr(flags, rows[i].not_tried));
        ss_find_free(f);
    }
}

SUITE(search_axes)
{
    stride = suite_stride(argc, argv, 3);
    return suite_file(argv[0], NULL, NULL);
}
