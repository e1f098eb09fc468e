/* SPDX-License-Identifier: Apache-2.0 */
/* --deterministic-mode: rings, and the slower backward of flash attention. */
#include <string.h>

#include "cost/collective.h"
#include "cost/cost.h"
#include "cost/layer_kinds.h"
#include "job_helper.h"
#include "stepsim/stepsim.h"
#include "suite.h"

#define LLAMA "--model llama3.1-8b --seq 8192 --mbs 1 --gbs 1024 --bf16 "

static struct ss_platform *h100;

static int finish(struct ss_job *job, struct ss_stack *stack, const char *flags)
{
    struct ss_notes notes = {0};
    struct ss_error err = {0};
    int rc = ss_stack_load("megatron-2407", "H100", stack, &err);

    ss_job_init(job);
    if (!rc)
        rc = parse(job, flags, &notes, &err);
    if (!rc)
        rc = ss_job_finish(job, NULL, stack, 8, 8, &notes, &err);
    ss_notes_free(&notes);
    return rc;
}

/* A node's switches, trees between nodes and PAT give way to the ring; an all-to-all stays what it is. */
static void test_rings(void)
{
    const struct ss_group_shape node = {.n = 8, .nodes = 1, .per_node = 8},
                                far = {.n = 64, .nodes = 64, .per_node = 1};
    struct ss_net net;

    ss_net_init(&net, h100);
    net.pat = 1;
    CU_ASSERT_STRING_EQUAL(ss_collective_choose(&net, SS_COLL_ALL_REDUCE, 1e9, &node)->name, "nvls");
    CU_ASSERT_STRING_EQUAL(ss_collective_choose(&net, SS_COLL_ALL_REDUCE, 1e4, &far)->name, "tree");
    CU_ASSERT_STRING_EQUAL(ss_collective_choose(&net, SS_COLL_ALL_GATHER, 1e4, &far)->name, "pat");
    net.rings = 1;
    CU_ASSERT_STRING_EQUAL(ss_collective_choose(&net, SS_COLL_ALL_REDUCE, 1e9, &node)->name, "ring");
    CU_ASSERT_STRING_EQUAL(ss_collective_choose(&net, SS_COLL_ALL_REDUCE, 1e4, &far)->name, "ring");
    CU_ASSERT_STRING_EQUAL(ss_collective_choose(&net, SS_COLL_ALL_GATHER, 1e4, &far)->name, "ring");
    CU_ASSERT_STRING_EQUAL(ss_collective_choose(&net, SS_COLL_ALL_TO_ALL, 1e6, &far)->name, "alltoall");
}

static double backward(const char *flags, double slower)
{
    struct ss_job job;
    struct ss_stack stack;
    struct ss_ops ops = {0};
    struct ss_layer_cost cost;
    struct ss_cost_context c = {.job = &job, .stack = &stack, .card = ss_platform_card(h100)};

    CU_ASSERT_EQUAL_FATAL(finish(&job, &stack, flags), 0);
    CU_ASSERT_EQUAL(stack.flash_deterministic, 0.576);
    stack.flash_deterministic = slower;
    c.tp = c.cp = c.fsdp = (struct ss_group_shape){.n = 1, .nodes = 1, .per_node = 1};
    ss_shape_init(&c.shape, &job, &stack, 128512);
    ss_layer_operators(SS_LAYER_DENSE, &c.shape, &stack, &ops);
    ss_cost_layer(&c, &ops, ss_layer_kind(SS_LAYER_DENSE), SS_RECOMPUTE_NONE, &cost);
    return cost.input_grad[SS_LABEL_COMPUTE];
}

/* At half of the rate attention's backward takes once more what it takes, at a quarter three times more: 2.5 times
 * 2 * 8192 * 8192 * 32 * 128 FLOP at the stack's share of 989.4 TFLOP/s, and what its last tiles leave idle. */
static void test_attention(void)
{
    struct ss_stack stack;
    CU_ASSERT_EQUAL_FATAL(ss_stack_load("megatron-2407", "H100", &stack, NULL), 0);
    double flops = 2.5 * 2 * 8192.0 * 8192 * 32 * 128, rate = stack.flash_bwd * 989.4e12;
    double plain = backward(LLAMA, 0.5), once = backward(LLAMA "--deterministic-mode", 0.5) - plain;
    CU_ASSERT_DOUBLE_EQUAL(backward(LLAMA "--deterministic-mode", 0.25) - plain, 3 * once, 1e-9);
    CU_ASSERT(once > 0.99 * flops / rate && once < 1.1 * flops / rate);
    CU_ASSERT_EQUAL(backward(LLAMA "--attention-backend fused --deterministic-mode", 0.5),
                    backward(LLAMA "--attention-backend fused", 0.5));
}

static void test_refused(void)
{
    struct ss_job job;
    struct ss_stack stack;
    CU_ASSERT_EQUAL(
        finish(&job, &stack, LLAMA "--tp 2 --sequence-parallel --tp-comm-overlap --deterministic-mode"),
        SS_ERR_CONFIG);
}

static int open_platform(void)
{
    const struct ss_platform_options options = {.nodes = 64};
    return ss_platform_load("h100", &options, &h100, NULL);
}

static int close_platform(void)
{
    ss_platform_free(h100);
    return 0;
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"rings", test_rings}, {"attention", test_attention}, {"refused", test_refused}, CU_TEST_INFO_NULL};
    return suite_run("deterministic", open_platform, close_platform, tests);
}
