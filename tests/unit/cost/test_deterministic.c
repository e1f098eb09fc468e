/* SPDX-License-Identifier: Apache-2.0 */
/* --deterministic-mode: rings, and the slower backward of flash attention. */
#include "comm/collective.h"
#include "h100_job.h"

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
    struct h100_layer l;

    h100_layer(&l, DENSE, "megatron-2407", flags);
    CU_ASSERT_EQUAL(l.stack.flash_deterministic, 0.576);
    l.stack.flash_deterministic = slower;
    return h100_cost(&l, SS_RECOMPUTE_NONE).input_grad[SS_LABEL_COMPUTE];
}

/* At half of the rate attention's backward takes once more what it takes, at a quarter three times more. It does 2.5 times
 * 2 * 8192 * 8192 * 32 * 128 FLOP at the stack's share of 989.4 TFLOP/s, in 32 heads of 64 blocks of 128 keys on 132 SMs. The
 * longest block takes twice the mean, 2 * 132 / 2048 = 264 / 2048 of all work; when it starts, others have a third of that left, so
 * that SMs wait 2/3 of it, less 64 / 264 because a head's longest block comes first. */
static void test_attention(void)
{
    struct ss_stack stack;
    CU_ASSERT_EQUAL_FATAL(ss_stack_load("megatron-2407", "H100", &stack, NULL), 0);
    double flops = 2.5 * 2 * 8192.0 * 8192 * 32 * 128, rate = stack.flash_bwd * 989.4e12;
    double idle = (2. / 3 - 64. / 264) * 264 / 2048, want = flops / rate * (1 + idle);
    double plain = backward(LLAMA, 0.5), once = backward(LLAMA "--deterministic-mode", 0.5) - plain;
    CU_ASSERT_DOUBLE_EQUAL(once / want, 1, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL((backward(LLAMA "--deterministic-mode", 0.25) - plain) / want, 3, 1e-9);
    CU_ASSERT_EQUAL(backward(LLAMA "--attention-backend fused --deterministic-mode", 0.5),
                    backward(LLAMA "--attention-backend fused", 0.5));
}

static void test_refused(void)
{
    struct ss_job job;
    struct ss_stack stack;
    CU_ASSERT_EQUAL(h100_finish(&job, &stack, "megatron-2407",
                                LLAMA "--tp 2 --sequence-parallel --tp-comm-overlap --deterministic-mode",
                                NULL),
                    SS_ERR_CONFIG);
}

SUITE(deterministic)
{
    CU_TestInfo tests[] = {
        {"rings", test_rings}, {"attention", test_attention}, {"refused", test_refused}, CU_TEST_INFO_NULL};
    return suite_run("deterministic", h100_open, h100_close, tests);
}
