/* SPDX-License-Identifier: Apache-2.0 */
/* The answer for a range of too many layouts to search, against numbers of it that are searched in full. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decide/capacity_internal.h"
#include "job/input_cache.h"
#include "job_helper.h"
#include "stepsim/cache.h"
#include "suite.h"

/* On 128 nodes, a row, a micro batch of 2 without context ranks is best. 157 nodes are a prime number: their replicas of 8 GPUs divide no
 * batch but multiples of 157, and an odd micro batch is best. */
static const char job[] = "--platform h100 --model llama3.1-8b --seq 8192 --gbs 1024 --nodes ";
static int every; /* case */

static const struct ss_capacity_point *answer_of(const char *nodes, struct ss_capacity **c)
{
    struct ss_capacity_options o = {.tokens = 15e12,
                                    .deadline_s = 21 * 86400,
                                    .workers = {.n = 1},
                                    .run = &(struct ss_run_options){.unchecked = 1}};
    char words[160], *argv[32];
    struct ss_request r;
    struct ss_error err;

    snprintf(words, sizeof words, "%s%s", job, nodes);
    ss_request_init(&r);
    CU_ASSERT_EQUAL_FATAL(ss_request_read(&r, split(words, argv), argv, &err), 0);
    CU_ASSERT_EQUAL_FATAL(ss_capacity_run(&r, &o, c, &err), 0);
    ss_request_free(&r);
    CU_ASSERT_FATAL((*c)->clusters[0].chosen >= 0);
    return &(*c)->points[(*c)->clusters[0].chosen];
}

TEST(range)
{
    struct ss_capacity *range = NULL, *list = NULL;

    if (!every)
        return;
    const struct ss_capacity_point *a = answer_of("120..160", &range), *b = answer_of("128,157,160", &list);

    CU_ASSERT_EQUAL(range->clusters[0].look, SS_CAPACITY_LAYOUTS);
    CU_ASSERT(a->gpu_hours.value <= b->gpu_hours.value);
    ss_capacity_free(range);
    ss_capacity_free(list);
}

/* Twice the nodes take half the time: 24 days on 128 and 12 on 256 are 16 on 192; by the far ends, 30 and 15 days, on 240. A point that is far
 * and on time beyond them moves neither; without a late point the first that is on time is the middle. */
TEST(middle)
{
    const double day = 86400;
    struct ss_capacity_point points[] = {
        {.nodes = 256, .time_s = {12 * day, 10 * day, 15 * day}, .summary.iteration_s = 1},
        {.nodes = 128, .time_s = {24 * day, 20 * day, 30 * day}, .summary.iteration_s = 1},
        {.nodes = 512, .time_s = {7 * day, 6 * day, 8 * day}, .summary.iteration_s = 1}};
    struct ss_capacity_cluster cluster = {.chosen = 0};
    struct ss_capacity c = {
        .deadline_s = 16 * day, .nclusters = 1, .clusters = &cluster, .npoints = 3, .points = points};

    CU_ASSERT_DOUBLE_EQUAL(ss_capacity_middle(&c, 0, 0), 192, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(ss_capacity_middle(&c, 0, 1), 240, 1e-9);
    c.npoints = 1;
    CU_ASSERT_DOUBLE_EQUAL(ss_capacity_middle(&c, 0, 0), 256, 0);
    c.deadline_s = 0; /* a budget: about the answer */
    CU_ASSERT_DOUBLE_EQUAL(ss_capacity_middle(&c, 0, 0), 256, 0);
}

/* A row of a range has the best layout of a search of that number alone, which leaves nothing out. */
TEST(row)
{
    static const char words[] =
        "--platform h100 --model llama3.2-1b --bf16 --seq 4096 --gbs 128 --cp 1 --nodes ";
    const struct ss_run_options run = {.unchecked = 1};
    const struct ss_capacity_options o = {.tokens = 1e12, .workers = {.n = 1}, .run = &run};
    struct ss_capacity *c = NULL;
    char text[160], *argv[32];
    struct ss_request r;
    struct ss_error err;

    snprintf(text, sizeof text, "%s4..16", words);
    ss_request_init(&r);
    CU_ASSERT_EQUAL_FATAL(ss_request_read(&r, split(text, argv), argv, &err), 0);
    CU_ASSERT_EQUAL_FATAL(ss_capacity_run(&r, &o, &c, &err), 0);
    CU_ASSERT_EQUAL_FATAL(c->npoints, 3);
    for (int i = 0; i < c->npoints; i++) {
        struct ss_find_result *found = NULL;
        char nodes[16];
        snprintf(nodes, sizeof nodes, "%d", c->points[i].nodes);
        CU_ASSERT_EQUAL_FATAL(ss_request_set(&r, "--nodes", nodes, &err), 0);
        CU_ASSERT_EQUAL_FATAL(
            ss_find_run(&r, &(struct ss_find_options){.run = &run, .workers = {.n = 1}}, &found, &err), 0);
        CU_ASSERT_FATAL(found->groups[0].best >= 0);
        const struct ss_find_point *best = &found->points[found->groups[0].best];
        CU_ASSERT_STRING_EQUAL(strstr(c->points[i].flags, "--tp"), best->flags);
        CU_ASSERT_EQUAL(c->points[i].summary.iteration_s, best->summary.iteration_s);
        ss_find_free(found);
    }
    ss_request_free(&r);
    ss_capacity_free(c);
}

/* A layout of another row that fits tells how slow a layout may be on this one: its own time, and what is not told apart from that. One that
 * is far too slow beside it is bounded alone, one that does not divide the GPUs neither. */
TEST(try)
{
    static struct ss_capacity_board board = {
        .nshapes = 3,
        .shape = {
            {.tp = 1, .cp = 1, .pp = 1, .micro_batch = 1, .words = "--tp 1 --use-distributed-optimizer"},
            {.tp = 8, .cp = 1, .pp = 4, .micro_batch = 1, .words = "--tp 8 --pp 4 --recompute full"},
            {.tp = 3, .cp = 1, .pp = 1, .micro_batch = 1, .words = "--tp 3"}}};
    struct ss_capacity_cluster cluster = {.gpus_a_node = 8, .price = 1, .mtbf_h = 1e5, .rack = 1};
    struct ss_capacity plan = {
        .nclusters = 1, .clusters = &cluster, .asked_batch = 128, .tokens = 1e12, .deadline_s = 1e9};
    const struct ss_capacity_options o = {.tokens = 1e12};
    struct ss_capacity_planner x = {
        .options = &o, .plan = &plan, .boards = &board, .tokens_a_row = 8192, .run = {.unchecked = 1}};
    struct ss_capacity_answer a = {.point = {.nodes = 4, .gpus = 32, .batch = 128}};
    struct ss_capacity_point p = a.point;
    char words[] = "--platform h100 --nodes 4 --model llama3.2-1b --bf16 --seq 8192 --gbs 128", *argv[32];
    struct ss_request r;
    struct ss_error err;

    ss_request_init(&r);
    CU_ASSERT_EQUAL_FATAL(ss_request_read(&r, split(words, argv), argv, &err), 0);
    x.inputs = ss_input_cache_new();
    CU_ASSERT_EQUAL_FATAL(ss_cache_open(&x.run.cache, &err), 0);
    CU_ASSERT_EQUAL_FATAL(ss_capacity_predict_words(&x, &r, 128, "--tp 1 --use-distributed-optimizer --mbs 1",
                                                    SS_CAPACITY_BLIND, &p, &err),
                          0);
    const struct ss_capacity_known known = ss_capacity_try_shapes(&x, &r, &a, 128);
    CU_ASSERT_EQUAL(ss_capacity_doubt(&p), 0);
    CU_ASSERT(known.best_s > 0.5 * p.summary.iteration_s && known.best_s <= p.summary.iteration_s);
    CU_ASSERT(known.alike_s > known.best_s && known.alike_s <= ss_capacity_not_apart(&p.summary));
    board.nshapes = 0;
    CU_ASSERT(isinf(ss_capacity_try_shapes(&x, &r, &a, 128).best_s));
    ss_cache_close(x.run.cache);
    ss_input_cache_drop(x.inputs);
    ss_request_free(&r);
}

/* A row wants its best layout, and those that it may lend: the 16 fastest, or fewer where other rows lend faster ones. */
TEST(lent)
{
    static struct ss_find_point point[20];
    const struct ss_find_point *points[20];
    double any = INFINITY, faster = 12.5, none = 0;

    for (int i = 0; i < 20; i++) {
        point[i].pp = i + 1;
        point[i].summary.iteration_s = 10 + i;
        snprintf(point[i].flags, sizeof point[i].flags, "--pp %d --mbs 1", i + 1);
        points[i] = &point[i];
    }
    CU_ASSERT_EQUAL(ss_capacity_slowest_lent(&any, points, 20), 25);
    CU_ASSERT(isinf(ss_capacity_slowest_lent(&any, points, 15)));
    CU_ASSERT_EQUAL(ss_capacity_slowest_lent(&faster, points, 20), faster);
    CU_ASSERT_EQUAL(ss_capacity_slowest_lent(&none, points, 20), 10);
}

SUITE(capacity_range)
{
    every = suite_stride(argc, argv, 2) == 1;
    return suite_file(argv[0], NULL, NULL);
}
