/* SPDX-License-Identifier: Apache-2.0 */
/* The walk over all layouts by workers: the same layouts and bounds for any number of them, and nothing done twice. */
#include <stdlib.h>
#include <string.h>

#include "decide/search_internal.h"
#include "job_helper.h"
#include "stepsim/bands.h"
#include "suite.h"

static struct ss_bands *bands;

/* Walks over the layouts of a job, with bounds. */
static void walk(const char *words, int workers, struct ss_find_space *s)
{
    struct ss_run_options run = {.engine = SS_ENGINE_NATIVE, .bands = bands};
    const struct ss_find_options o = {.run = &run, .workers = {.n = workers}};
    char text[512], *argv[JOB_MAX_ARGS];
    struct ss_request r;
    struct ss_error err;

    snprintf(text, sizeof text, "%s", words);
    ss_request_init(&r);
    CU_ASSERT_EQUAL_FATAL(ss_request_read(&r, split(text, argv), argv, &err), 0);
    CU_ASSERT_EQUAL_FATAL(ss_find_space_build(&r, &o, s, &err), 0);
    for (int c = 0; c < s->nclusters; c++)
        s->clusters[c].room = ss_find_room(&s->clusters[c], bands);
    CU_ASSERT_EQUAL_FATAL(ss_find_walk(s, &o, 1, &err), 0);
    ss_request_free(&r);
}

static int same(const struct ss_find_space *a, const struct ss_find_space *b)
{
    const struct ss_find_result *f = a->found, *g = b->found;
    int is = a->nleaves == b->nleaves && f->nrules == g->nrules;
    for (size_t i = 0; i < a->nleaves && is; i++)
        is = a->leaves[i].walk == (int)i && !memcmp(a->leaves[i].at, b->leaves[i].at, SS_FIND_NUMBERS) &&
             !memcmp(&a->bounds[i], &b->bounds[i], sizeof *a->bounds);
    for (int i = 0; i < f->nrules && is; i++)
        is = f->rules[i].n == g->rules[i].n && !strcmp(f->rules[i].example, g->rules[i].example);
    return is;
}

/* Costs of ranks take about as long as so many layouts that are asked for. */
#define COST 10

/* With eight workers the slowest has its share, and at most one piece more, behind what the first process does alone: 85 % of
 * eight workers are at work. */
TEST(shares)
{
    static const char *const jobs[] = {
        "--platform h800 --nodes 2 --model llama3.1-8b --bf16 --seq 8192 --gbs 128 --recompute none",
        "--platform h800 --nodes 2 --model qwen3-30b-a3b --bf16 --seq 4096 --gbs 64 --cp 1 --fsdp none"};
    for (int i = 0; i < 2; i++) {
        struct ss_find_space one, eight;
        walk(jobs[i], 1, &one);
        walk(jobs[i], 8, &eight);
        const struct ss_find_counts *a = &one.counts, *b = &eight.counts;
        CU_ASSERT(one.nleaves > 500);
        CU_ASSERT(same(&one, &eight));
        CU_ASSERT(a->priced > 300);
        CU_ASSERT_EQUAL(a->priced, b->priced); /* no worker makes a cost that another has */
        CU_ASSERT_EQUAL(a->asked, b->asked);
        double alone = (double)b->here, most = COST * (double)b->most;
        double all = (double)b->asked + COST * (double)b->priced;
        CU_ASSERT(all / 8 / (alone + (all - alone) / 8 + most) >= 0.85);
        ss_find_space_free(&one);
        ss_find_space_free(&eight);
    }
}

/* Returns whether leaves differ in stages and chunks alone. */
static int same_layers(const struct ss_find_cluster *c, const struct ss_find_leaf *a,
                       const struct ss_find_leaf *b)
{
    for (int i = 0; i < c->naxes; i++)
        if (a->at[i] != b->at[i] && c->axes[i].kind != SS_FIND_PP && c->axes[i].kind != SS_FIND_VP)
            return 0;
    return a->cluster == b->cluster;
}

/* The bound by layers of another layout is never above a layout's own, and often near. Racks of 72 GPUs hold groups of experts that begin anywhere. */
TEST(layers)
{
    static const struct {
        const char *job;
        int near; /* per cent of layouts whose bound by layers is 0.9 of theirs, at least */
    } jobs[] = {
        {"--platform h100 --nodes 12 --model deepseek-v2 --bf16 --seq 4096 --gbs 480 --tp 1 --cp 1 "
         "--fsdp none --recompute none",
         65},
        {"--platform gb200 --nodes 36 --model deepseek-v3 --bf16 --seq 4096 --gbs 720 --tp 1 --cp 2 "
         "--fsdp none --recompute full",
         70},
        {"--platform h800 --nodes 4 --model llama3.1-8b --bf16 --seq 8192 --gbs 64 --fsdp none "
         "--recompute none",
         90},
    };
    for (size_t k = 0; k < sizeof jobs / sizeof *jobs; k++) {
        struct ss_find_space s;
        int n = 0, near = 0;
        walk(jobs[k].job, 1, &s);
        const struct ss_find_cluster *c = s.clusters;
        for (size_t i = 0; i < s.nleaves; i++) {
            struct ss_plan_bounds of, first;
            struct ss_job job;
            CU_ASSERT_EQUAL_FATAL(ss_find_job(&s, &s.leaves[i], &job, NULL), 0);
            if (ss_plan_bounds_find(&job, c->stack, c->platform, 0, NULL, &of, NULL) || !of.layers.kinds)
                continue;
            CU_ASSERT_EQUAL(ss_plan_bounds_find(&job, c->stack, c->platform, -1, NULL, &first, NULL), 0);
            CU_ASSERT(!memcmp(&first.layers, &of.layers, sizeof of.layers));
            for (size_t j = 0; j < s.nleaves; j++) {
                if (!same_layers(c, &s.leaves[i], &s.leaves[j]))
                    continue;
                CU_ASSERT_EQUAL_FATAL(ss_find_job(&s, &s.leaves[j], &job, NULL), 0);
                double work,
                    seconds = ss_plan_bounds_by_layers(&of.layers, &job, c->stack, c->platform,
                                                       ss_job_microbatches(&job, c->world_size), &work);
                n += seconds > 0;
                near += seconds > 0.9 * s.bounds[j].seconds;
                if (s.bounds[j].seconds > 0)
                    CU_ASSERT(seconds * (1 - 2e-9) <= s.bounds[j].seconds);
            }
        }
        CU_ASSERT(n > 200);
        CU_ASSERT(100 * near > jobs[k].near * n);
        ss_find_space_free(&s);
    }
}

/* Returns whether two layouts differ in micro batch and recompute alone. */
static int same_states(const struct ss_find_cluster *c, const struct ss_find_leaf *a,
                       const struct ss_find_leaf *b)
{
    int same = 1;
    for (int k = 0; k < c->naxes; k++)
        same &=
            c->axes[k].kind == SS_FIND_MBS || c->axes[k].kind == SS_FIND_RECOMPUTE || a->at[k] == b->at[k];
    return same;
}

/* Weights, gradients and optimizer states depend on no micro batch and no recompute. */
TEST(states)
{
    static const char *const jobs[] = {
        "--platform h100 --nodes 4 --model qwen3-30b-a3b --bf16 --seq 4096 --gbs 64 --tp 2 --cp 1",
        "--platform h100 --nodes 2 --model llama3.1-8b --fp8-format hybrid --bf16 --seq 4096 --gbs 16 --tp 1",
        "--platform h100 --nodes 2 --model llama3.1-8b --bf16 --seq 4096 --gbs 32 --tp 2 --stack "
        "torchtitan-2026",
        "--platform a100 --nodes 2 --model llama3.1-8b --fp16 --seq 4096 --gbs 32 --tp 2 --stack "
        "deepspeed-2026",
    };
    for (size_t k = 0; k < sizeof jobs / sizeof *jobs; k++) {
        struct ss_find_space s;
        double last = 0;
        int n = 0;
        walk(jobs[k], 1, &s);
        const struct ss_find_cluster *c = s.clusters;
        for (size_t i = 0, first = 0; i < s.nleaves; i++) {
            struct ss_plan_bounds of;
            struct ss_job job;
            CU_ASSERT_EQUAL_FATAL(ss_find_job(&s, &s.leaves[i], &job, NULL), 0);
            if (ss_find_block_axis(c, s.leaves[i].at) >= 0 ||
                ss_plan_bounds_find(&job, c->stack, c->platform, 0, NULL, &of, NULL))
                continue;
            for (first = 0; first < i && !same_states(c, &s.leaves[first], &s.leaves[i]);)
                first++;
            if (first == i)
                continue;
            CU_ASSERT_EQUAL_FATAL(ss_find_job(&s, &s.leaves[first], &job, NULL), 0);
            last = of.states;
            CU_ASSERT_EQUAL_FATAL(ss_plan_bounds_find(&job, c->stack, c->platform, 0, NULL, &of, NULL), 0);
            CU_ASSERT_EQUAL(of.states, last);
            n++;
        }
        CU_ASSERT(n > 20);
        ss_find_space_free(&s);
    }
}

/* A layout asks for the same whether words of its values are read or were read before, of another one. */
TEST(typed)
{
    static const char *const jobs[] = {
        "--platform h800 --nodes 2 --model llama3.1-8b --num-layers 30 --bf16 --seq 8192 --gbs 128",
        "--platform h800 --nodes 2 --model qwen3-30b-a3b --bf16 --seq 4096 --gbs 64 --cp 1 --fsdp none",
        "--platform h800 --nodes 2 --model llama3.1-8b --bf16 --seq 8192 --gbs 128 --recompute none "
        "--account-for-loss-in-pipeline-split"};
    for (size_t k = 0; k < sizeof jobs / sizeof *jobs; k++) {
        static struct ss_asked typed, read;
        struct ss_find_space s;
        struct ss_job job;
        int differ = 0;
        walk(jobs[k], 1, &s);
        struct ss_find_typed *of = s.clusters[0].typed;
        for (size_t i = 0; i < s.nleaves; i += 3) {
            int rc = ss_find_plain_job(&s, &s.leaves[i], &typed, &job, NULL);
            s.clusters[0].typed = NULL;
            differ += rc || ss_find_plain_job(&s, &s.leaves[i], &read, &job, NULL) ||
                      memcmp(&typed, &read, sizeof typed) != 0;
            s.clusters[0].typed = of;
        }
        CU_ASSERT(of && s.nleaves > 100);
        CU_ASSERT_EQUAL(differ, 0);
        ss_find_space_free(&s);
    }
}

static int load(void)
{
    return ss_bands_load(NULL, NULL, &bands, NULL);
}

static int unload(void)
{
    ss_bands_free(bands);
    return 0;
}

SUITE(search_walk)
{
    return suite_file(argv[0], load, unload);
}
