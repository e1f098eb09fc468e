/* SPDX-License-Identifier: Apache-2.0 */
/* Loads of experts, ranks and nodes against figures worked out by hand and against tokens drawn one by one. */
#include <math.h>

#include "cost/load.h"
#include "stepsim/job.h"
#include "suite.h"

/* DeepSeek-V3 over 8 nodes of 8 GPUs. */
static const struct ss_load_input deepseek = {.kind = SS_LOAD_BALANCED,
                                              .experts = 256,
                                              .top_k = 8,
                                              .groups = 8,
                                              .group_topk = 4,
                                              .ep = 64,
                                              .nodes = 8,
                                              .tokens = 64 * 4096};

static struct ss_load_figures figures(const struct ss_load_input *in)
{
    struct ss_load_figures f = {.source = 0};
    CU_ASSERT_EQUAL(ss_load_figures(in, &f, NULL), 0);
    return f;
}

static void test_balanced(void)
{
    struct ss_load_input in = deepseek;
    struct ss_load_figures f = figures(&in);
    CU_ASSERT_EQUAL(f.rank.mean, 1);
    CU_ASSERT_EQUAL(f.rank.p99, 1);
    CU_ASSERT_EQUAL(f.expert.mean, 1);
    CU_ASSERT_EQUAL(f.coldest_rank, 1);
    CU_ASSERT_EQUAL(f.dropped, 0);
    CU_ASSERT_EQUAL(f.source, 1);
    CU_ASSERT_EQUAL(f.expert_copies, 64 * 4096 * 8 / 256.0);
    /* 4096 x 8 / 256 = 128 copies of a source: a capacity of 0.75 keeps 96 of them, one of 1.25 makes room for 160. */
    in.capacity_factor = 0.75;
    f = figures(&in);
    CU_ASSERT_DOUBLE_EQUAL(f.dropped, 0.25, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(f.rank.mean, 0.75, 1e-15);
    in.capacity_factor = 1.25;
    CU_ASSERT_EQUAL(figures(&in).rank.mean, 1);
    in.pad_to_capacity = 1;
    f = figures(&in);
    CU_ASSERT_EQUAL(f.dropped, 0);
    CU_ASSERT_EQUAL(f.rank.mean, 1.25);
    CU_ASSERT_EQUAL(f.expert_copies, 160 * 64);
}

/* C(n - m, k) / C(n, k): none of k of n is among m. */
static double none(int n, int m, int k)
{
    double p = 1;
    for (int i = 0; i < k; i++)
        p *= (double)(n - m - i) / (n - i);
    return p;
}

static void test_reach(void)
{
    struct ss_load_input in = deepseek;
    in.group_topk = 0;
    struct ss_load_figures f = figures(&in);
    CU_ASSERT_DOUBLE_EQUAL(f.nodes, 8 * (1 - none(256, 32, 8)), 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(f.ranks, 64 * (1 - none(256, 4, 8)), 1e-11);
    CU_ASSERT_DOUBLE_EQUAL(f.remote_nodes, f.nodes * 7 / 8, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(f.remote_ranks, f.ranks * 63 / 64, 1e-12);
    in.top_k = 1;
    CU_ASSERT_DOUBLE_EQUAL(figures(&in).ranks, 1, 1e-12);
    in.ep = in.nodes = 1;
    CU_ASSERT_EQUAL(figures(&in).remote_ranks, 0);
}

/* Two of four experts in two groups, one group a token: both experts are of the group of the better one, whose node is
 * the only one. Two of six in three groups, two groups a token: the second expert is, of five, the first one's neighbour once. */
static void test_group_limit(void)
{
    struct ss_load_input in = {
        .experts = 4, .top_k = 2, .groups = 2, .group_topk = 1, .ep = 4, .nodes = 2, .tokens = 64};
    struct ss_load_figures f = figures(&in);
    CU_ASSERT_DOUBLE_EQUAL(f.nodes, 1, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(f.ranks, 2, 1e-12);
    in = (struct ss_load_input){
        .experts = 6, .top_k = 2, .groups = 3, .group_topk = 2, .ep = 3, .nodes = 3, .tokens = 64};
    CU_ASSERT_DOUBLE_EQUAL(figures(&in).nodes, 2 - 0.2, 1e-12);
}

static void test_refused(void)
{
    struct ss_error err;
    struct ss_load_figures f;
    const struct ss_load_input wrong[] = {
        {.experts = 8, .top_k = 9, .ep = 1, .nodes = 1, .tokens = 1},
        {.experts = 8, .top_k = 2, .ep = 3, .nodes = 1, .tokens = 1},
        {.experts = 8, .top_k = 2, .ep = 4, .nodes = 3, .tokens = 1},
        {.experts = 8, .top_k = 4, .ep = 1, .nodes = 1, .groups = 4, .group_topk = 1, .tokens = 1},
        {.experts = 8, .top_k = 2, .ep = 1, .nodes = 1, .tokens = 0},
        {.experts = 8, .top_k = 2, .ep = 1, .nodes = 1, .tokens = 1, .capacity_factor = -1},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CU_ASSERT_EQUAL(ss_load_figures(&wrong[i], &f, &err), SS_ERR_INPUT);
}

int main(void)
{
    CU_TestInfo tests[] = {{"balanced", test_balanced},
                           {"reach", test_reach},
                           {"group limit", test_group_limit},
                           {"refused", test_refused},
                           CU_TEST_INFO_NULL};
    return suite_run("load", NULL, NULL, tests);
}
