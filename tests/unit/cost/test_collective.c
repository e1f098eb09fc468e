/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives: each algorithm's closed form and flows against figures worked out by hand, which of them is taken, and
 * the table of communicators. */

#include "comm/collective.h"
#include "library_helper.h"
#include "platform/platform_internal.h"
#include "result/timers.h"
#include "scale_job.h"
#include "suite.h"

/* Eight GPUs and eight NICs a node; round figures. */
static const struct ss_net net = {.fabric_busbw = 160e9,
                                  .fabric_step = 1e-6,
                                  .nic_busbw = 40e9,
                                  .nic_step = 5e-6,
                                  .gpus_per_node = 8,
                                  .nics_per_node = 8};
static const struct ss_group_shape one = {.n = 1, .nodes = 1, .per_node = 1},
                                   node = {.n = 8, .nodes = 1, .per_node = 8},
                                   two = {.n = 16, .nodes = 2, .per_node = 8},
                                   four = {.n = 4, .nodes = 4, .per_node = 1},
                                   five = {.n = 40, .nodes = 5, .per_node = 8};

static double seconds(const struct ss_collective_algorithm *a, int kind, double bytes,
                      const struct ss_group_shape *g)
{
    return a->seconds(&net, kind, bytes, g);
}

/* Latency, and bytes of each flow by hop. */
struct expected {
    double latency, bytes[SS_HOP_COUNT];
};

static void expect(const struct ss_collective_algorithm *a, int kind, double bytes,
                   const struct ss_group_shape *g, struct expected e)
{
    struct ss_collective_flows f = a->flows(&net, kind, bytes, g, g->per_node);
    CU_ASSERT_DOUBLE_EQUAL(f.latency, e.latency, 1e-15);
    for (int hop = 0; hop < SS_HOP_COUNT; hop++) {
        CU_ASSERT_DOUBLE_EQUAL(f.bytes[hop], e.bytes[hop], 1e-3);
        CU_ASSERT(f.bytes[hop] == 0 || (a->hops & SS_HOP_BIT(hop)));
    }
}

static void expect_flows(const struct ss_collective_algorithm *a, int kind, double bytes,
                         const struct ss_group_shape *g, double latency, double intra, double inter,
                         double next)
{
    expect(a, kind, bytes, g,
           (struct expected){
               latency, {[SS_HOP_INTRA_NODE] = intra, [SS_HOP_INTER_NODE] = inter, [SS_HOP_NEXT] = next}});
}

static void expect_pairs(double bytes, const struct ss_group_shape *g, double latency, double near,
                         double apart)
{
    expect(&ss_collective_alltoall, SS_COLL_ALL_TO_ALL, bytes, g,
           (struct expected){latency, {[SS_HOP_NODE] = near, [SS_HOP_APART] = apart}});
}

static void expect_stages(int kind, const struct ss_group_shape *g, double latency, double near, double rail)
{
    expect(&ss_collective_dispatch, kind, 1e9, g,
           (struct expected){latency, {[SS_HOP_NODE] = near, [SS_HOP_RAIL] = rail}});
}

TEST(ring)
{
    const struct ss_collective_algorithm *a = &ss_collective_ring;
    CU_ASSERT_DOUBLE_EQUAL(seconds(a, SS_COLL_ALL_GATHER, 1.6e9, &node), 7e-6 + 1.4e9 / 160e9, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(seconds(a, SS_COLL_ALL_REDUCE, 1.6e9, &node), 14e-6 + 2.8e9 / 160e9, 1e-15);
    /* Eight NICs together beat one NVLink: 13 steps inside nodes, 2 between. */
    CU_ASSERT_DOUBLE_EQUAL(seconds(a, SS_COLL_REDUCE_SCATTER, 1.6e9, &two), 23e-6 + 1.5e9 / 160e9, 1e-15);
    /* One rank a node: its NIC alone. */
    CU_ASSERT_DOUBLE_EQUAL(seconds(a, SS_COLL_ALL_GATHER, 1.6e9, &four), 15e-6 + 1.2e9 / 40e9, 1e-15);
    expect_flows(a, SS_COLL_ALL_REDUCE, 1.6e9, &node, 14e-6, 2.8e9, 2.8e9 / 8, 0);
    expect_flows(a, SS_COLL_REDUCE_SCATTER, 1.6e9, &two, 23e-6, 1.5e9, 1.5e9 / 8, 0);
}

/* Up and down: seven steps of the chain inside a node, and the levels of the tree over the nodes. */
TEST(tree)
{
    const struct ss_collective_algorithm *a = &ss_collective_tree;
    CU_ASSERT_DOUBLE_EQUAL(seconds(a, SS_COLL_ALL_REDUCE, 1.6e9, &node), 14e-6 + 3.2e9 / 160e9, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(seconds(a, SS_COLL_ALL_REDUCE, 1.6e9, &two), 2 * (7e-6 + 5e-6) + 3.2e9 / 160e9,
                           1e-15);
    /* Five nodes need three levels, as eight do; four need two. */
    const struct ss_group_shape eight = {.n = 64, .nodes = 8, .per_node = 8},
                                quad = {.n = 32, .nodes = 4, .per_node = 8};
    expect_flows(a, SS_COLL_ALL_REDUCE, 1e9, &five, 2 * (7e-6 + 15e-6), 2e9, 2e9 / 8, 0);
    expect_flows(a, SS_COLL_ALL_REDUCE, 1e9, &eight, 2 * (7e-6 + 15e-6), 2e9, 2e9 / 8, 0);
    expect_flows(a, SS_COLL_ALL_REDUCE, 1e9, &quad, 2 * (7e-6 + 10e-6), 2e9, 2e9 / 8, 0);
    /* One rank a node: no chain, one NIC. */
    const struct ss_group_shape three = {.n = 3, .nodes = 3, .per_node = 1};
    CU_ASSERT_DOUBLE_EQUAL(seconds(a, SS_COLL_ALL_REDUCE, 1e9, &three), 20e-6 + 2e9 / 40e9, 1e-15);
}

/* GPUs without NVLink talk over PCIe: of 8 GB that are gathered 7 pass each one's. */
TEST(pcie)
{
    const struct ss_platform_options options = {.nodes = 1};
    struct ss_platform *p;
    struct ss_net bare;
    CU_ASSERT_EQUAL_FATAL(ss_platform_load("h100", &options, &p, NULL), 0);
    CU_ASSERT_EQUAL(ss_platform_set(p, "ss.pcie.bandwidth", "20GBps", NULL), 0);
    p->bandwidth[SS_LINK_FABRIC] = 0;
    ss_net_init(&bare, p);
    bare.fabric_step = bare.fabric_half = bare.nccl = 0;
    CU_ASSERT_DOUBLE_EQUAL(ss_collective_ring.seconds(&bare, SS_COLL_ALL_GATHER, 8e9, &node), 7e9 / 20e9,
                           1e-12);
    ss_platform_free(p);
}

/* Each GPU's link carries the buffer into the switch once, and an n-th of it again. */
TEST(nvls)
{
    const struct ss_collective_algorithm *a = &ss_collective_nvls;
    struct ss_net sharp = net;
    sharp.nvls_busbw = 120e9;
    sharp.nvls_latency = 24e-6;
    CU_ASSERT(a->applies(&sharp, &node) && !a->applies(&sharp, &two) && !a->applies(&net, &node));
    CU_ASSERT_DOUBLE_EQUAL(a->seconds(&sharp, SS_COLL_ALL_REDUCE, 1e9, &node), 24e-6 + 1.125e9 / 120e9,
                           1e-12);
    /* As a flow at NVLink's busbw it takes as long. */
    struct ss_collective_flows f = a->flows(&sharp, SS_COLL_ALL_REDUCE, 1e9, &node, 8);
    CU_ASSERT_DOUBLE_EQUAL(f.bytes[SS_HOP_INTRA_NODE] / sharp.fabric_busbw, 1.125e9 / 120e9, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(f.latency, 24e-6, 1e-15);
    CU_ASSERT_EQUAL(a->hops, SS_HOP_BIT(SS_HOP_INTRA_NODE));
}

/* A member's 16 GB, among 16 on two nodes: 7 GB go to the others of its node and 8 GB leave it, by its own NIC. */
TEST(alltoall)
{
    const struct ss_collective_algorithm *a = &ss_collective_alltoall;
    expect_pairs(16e9, &two, 23e-6, 1e9, 1e9);
    CU_ASSERT_DOUBLE_EQUAL(seconds(a, SS_COLL_ALL_TO_ALL, 16e9, &two), 23e-6 + 8e9 / 40e9, 1e-12);
    expect_pairs(8e9, &node, 7e-6, 1e9, 0);
    CU_ASSERT_DOUBLE_EQUAL(seconds(a, SS_COLL_ALL_TO_ALL, 8e9, &node), 7e-6 + 7e9 / 160e9, 1e-12);
    /* On rails 7 of the 8 GB that leave cross NVLink, too, and these 14 GB take longer where NICs are as fast. */
    struct ss_net rails = net;
    rails.rails = 1;
    CU_ASSERT_DOUBLE_EQUAL(a->seconds(&rails, SS_COLL_ALL_TO_ALL, 16e9, &two), 23e-6 + 8e9 / 40e9, 1e-12);
    rails.nic_busbw = 160e9;
    CU_ASSERT_DOUBLE_EQUAL(a->seconds(&rails, SS_COLL_ALL_TO_ALL, 16e9, &two), 23e-6 + 14e9 / 160e9, 1e-12);
    /* Five nodes: 32 of 40 shares leave it; each pair is a flow of one share. */
    expect_pairs(40e9, &five, 34e-6 + 25e-6, 1e9, 1e9);
    /* Links of the fabric take twice as long as the NICs below them; flows meet them by themselves. */
    struct ss_group_shape narrow = two;
    narrow.stretch[SS_HOP_APART] = 2;
    CU_ASSERT_DOUBLE_EQUAL(seconds(a, SS_COLL_ALL_TO_ALL, 16e9, &narrow), 23e-6 + 16e9 / 40e9, 1e-12);
    expect_pairs(16e9, &narrow, 23e-6, 1e9, 1e9);
}

/* 1 GB of tokens, each sent to one other node and to six GPUs: 1 GB leaves by the member's own NIC, 6 GB by its NVLink.
 * On one node only NVLink counts; where the fabric takes three times as long the NIC's part does. */
TEST(dispatch)
{
    const struct ss_collective_algorithm *a = &ss_collective_dispatch;
    struct ss_group_shape far = two, near = node;
    far.spread = (struct ss_token_spread){.nodes = 1, .copies = 6};
    near.spread.copies = 4;
    for (int kind = SS_COLL_DISPATCH; kind <= SS_COLL_COMBINE; kind++) {
        CU_ASSERT_PTR_EQUAL(ss_collective_choose(&net, kind, 1e9, &far), a);
        CU_ASSERT_DOUBLE_EQUAL(seconds(a, kind, 1e9, &far), 6e-6 + 6e9 / 160e9, 1e-12);
        CU_ASSERT_DOUBLE_EQUAL(seconds(a, kind, 1e9, &near), 1e-6 + 4e9 / 160e9, 1e-12);
        expect_stages(kind, &far, 6e-6, 6e9 / 7, 1e9);
        expect_stages(kind, &near, 1e-6, 4e9 / 7, 0);
    }
    far.stretch[SS_HOP_RAIL] = 3;
    CU_ASSERT_DOUBLE_EQUAL(seconds(a, SS_COLL_DISPATCH, 1e9, &far), 6e-6 + 3e9 / 40e9, 1e-12);
}

/* Copies of a dispatcher that NVLink takes faster than NCCL's collectives: 4 and 6 GB at 200 GB/s. SMs that move 100 GB/s bound them. */
TEST(exchange_rate)
{
    const struct ss_collective_algorithm *a = &ss_collective_dispatch;
    struct ss_group_shape far = two, near = node;
    struct ss_net fast = net;
    far.spread = (struct ss_token_spread){.nodes = 1, .copies = 6};
    near.spread.copies = 4;
    fast.exchange_busbw = 200e9;
    CU_ASSERT_DOUBLE_EQUAL(a->seconds(&fast, SS_COLL_DISPATCH, 1e9, &near), 1e-6 + 4e9 / 200e9, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(a->seconds(&fast, SS_COLL_COMBINE, 1e9, &far), 6e-6 + 6e9 / 200e9, 1e-12);
    fast.dispatch_rate = 100e9;
    CU_ASSERT_DOUBLE_EQUAL(a->seconds(&fast, SS_COLL_DISPATCH, 1e9, &near), 1e-6 + 4e9 / 100e9, 1e-12);
}

/* HybridEP's blocks take 4,096 tokens in 64 chunks of 64, of a combine in 33 of 125: on 16 SMs 4 rounds and 3. Half of
 * the 6 GB over NVLink are of the other node's tokens: an eighth of all goes on behind the last chunk, of a combine a sixth before the first leaves, too.
 * One node has no such wait, nor has DeepEP. */
TEST(chunks)
{
    /* What an SM moves is DeepEP's, which has no chunks: HybridEP's are as fast without. */
    const struct ss_stack stack = {
        .dispatch_chunk = 64, .combine_chunk = 125, .dispatch_sm_rate = 1e9, .dispatch_sm_rate_alone = 2e9};
    const struct ss_collective_algorithm *a = &ss_collective_dispatch;
    struct ss_group_shape far = two, near = node;
    struct ss_net chunks = net;
    far.spread = (struct ss_token_spread){.nodes = 1, .copies = 6};
    near.spread.copies = 4;
    ss_net_dispatcher(&chunks, 16, &stack);
    ss_net_chunks(&chunks, 4096, &stack);
    CU_ASSERT_DOUBLE_EQUAL(chunks.dispatch_rounds, 4, 0);
    CU_ASSERT_DOUBLE_EQUAL(chunks.combine_rounds, 3, 0);
    CU_ASSERT_DOUBLE_EQUAL(a->seconds(&chunks, SS_COLL_DISPATCH, 1e9, &far),
                           6e-6 + 6e9 / 160e9 * (1 + 1. / 8), 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(a->seconds(&chunks, SS_COLL_COMBINE, 1e9, &far), 6e-6 + 6e9 / 160e9 * (1 + 2. / 6),
                           1e-12);
    CU_ASSERT_DOUBLE_EQUAL(a->seconds(&chunks, SS_COLL_COMBINE, 1e9, &near), 1e-6 + 4e9 / 160e9, 1e-12);
    ss_net_dispatcher(&chunks, 16, &stack);
    CU_ASSERT_DOUBLE_EQUAL(a->seconds(&chunks, SS_COLL_COMBINE, 1e9, &far), 6e-6 + 6e9 / 32e9, 1e-12);
    ss_net_beside(&chunks, SS_COLL_COMBINE, 1e9, &far, 0);
    CU_ASSERT_DOUBLE_EQUAL(a->seconds(&chunks, SS_COLL_COMBINE, 1e9, &far), 6e-6 + 6e9 / 32e9, 1e-12);
    /* A quarter with kernels beside it, on NVLink or where the NICs alone bound it. */
    struct ss_net quarter = chunks;
    ss_net_beside(&quarter, SS_COLL_COMBINE, 1e9, &far, 0.25);
    CU_ASSERT_DOUBLE_EQUAL(a->seconds(&quarter, SS_COLL_COMBINE, 1e9, &far),
                           6e-6 + 0.75 * 6e9 / 32e9 + 0.25 * 6e9 / 16e9, 1e-12);
    struct ss_net slow_nics = chunks;
    slow_nics.nic_busbw /= 10;
    double nics = a->seconds(&slow_nics, SS_COLL_COMBINE, 1e9, &far);
    CU_ASSERT(nics > 6e-6 + 6e9 / 32e9 && nics < 6e-6 + 6e9 / 16e9);
    ss_net_beside(&slow_nics, SS_COLL_COMBINE, 1e9, &far, 0.25);
    CU_ASSERT_DOUBLE_EQUAL(a->seconds(&slow_nics, SS_COLL_COMBINE, 1e9, &far),
                           0.75 * nics + 0.25 * (6e-6 + 6e9 / 16e9), 1e-12);
    ss_net_beside(&chunks, SS_COLL_COMBINE, 1e9, &far, 1);
    CU_ASSERT_DOUBLE_EQUAL(a->seconds(&chunks, SS_COLL_COMBINE, 1e9, &far), 6e-6 + 6e9 / 16e9, 1e-12);
    ss_net_dispatcher(&chunks, 16, &(struct ss_stack){0});
    CU_ASSERT_DOUBLE_EQUAL(a->seconds(&chunks, SS_COLL_COMBINE, 1e9, &far), 6e-6 + 6e9 / 160e9, 1e-12);
    chunks.dispatch_kernels = 5e-6; /* four in a call, five over NICs */
    CU_ASSERT_DOUBLE_EQUAL(a->seconds(&chunks, SS_COLL_COMBINE, 1e9, &near), 21e-6 + 4e9 / 160e9, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(a->seconds(&chunks, SS_COLL_COMBINE, 1e9, &far), 31e-6 + 6e9 / 160e9, 1e-12);
}

/* A step waits for the slower of NVLink and NIC where one of its members leaves its node. */
TEST(ring_step)
{
    const struct ss_collective_algorithm *a = &ss_collective_ring_step;
    CU_ASSERT_DOUBLE_EQUAL(seconds(a, SS_COLL_RING_STEP, 1e9, &node), 1e-6 + 1e9 / 160e9, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(seconds(a, SS_COLL_RING_STEP, 1e9, &two), 5e-6 + 1e9 / 40e9, 1e-15);
    expect_flows(a, SS_COLL_RING_STEP, 1e9, &two, 5e-6, 0, 0, 1e9);
    /* Two GPUs that leave by one NIC. */
    struct ss_group_shape narrow = two;
    narrow.stretch[SS_HOP_NEXT] = 2;
    CU_ASSERT_DOUBLE_EQUAL(seconds(a, SS_COLL_RING_STEP, 1e9, &narrow), 5e-6 + 2e9 / 40e9, 1e-15);
    expect_flows(a, SS_COLL_RING_STEP, 1e9, &narrow, 5e-6, 0, 0, 1e9);
}

/* The first 16 MB at half the busbw; user buffers have no such start. */
TEST(slow_start)
{
    struct ss_net slow = net, buffers;
    slow.fabric_step = 0;
    slow.fabric_half = 16e6;
    CU_ASSERT_DOUBLE_EQUAL(ss_collective_seconds(&slow, SS_COLL_ALL_GATHER, 1.6e9, &node), 1.414e9 / 160e9,
                           1e-15);
    CU_ASSERT_DOUBLE_EQUAL(ss_collective_seconds(&slow, SS_COLL_ALL_GATHER, 8e6, &node), 14e6 / 160e9, 1e-15);
    buffers = slow;
    ss_net_user_buffers(&buffers, 0);
    CU_ASSERT_EQUAL(ss_collective_seconds(&buffers, SS_COLL_ALL_GATHER, 1.6e9, &node),
                    ss_collective_seconds(&slow, SS_COLL_ALL_GATHER, 1.6e9, &node));
    ss_net_user_buffers(&buffers, 1); /* at NCCL's own rate */
    CU_ASSERT_DOUBLE_EQUAL(ss_collective_seconds(&buffers, SS_COLL_ALL_GATHER, 1.6e9, &node), 1.4e9 / 160e9,
                           1e-15);
}

/* A run's ring and all-to-all inside a node are the card's curves. 16 MB on 8 GPUs of 200 GB/s: a ring sends 14 and moves 15; 7 steps of
 * 1 us beside 755 us as a small message, 20 + 150 as a middle and 5 + (28 + 15) MB / 160 GB/s as a large one. An all-to-all moves all 16:
 * 20 + 160 us as a large message. Flows carry what is sent at the fabric's busbw; the rest is latency. */
TEST(inside)
{
    const struct ss_card card = {.fabric_efficiency = 0.8,
                                 .fabric_half_size = 32e6,
                                 .curve_ring_launch = 5e-6,
                                 .curve_ring_step = 1e-6,
                                 .curve_ring_small = 0.1,
                                 .curve_ring_middle_latency = 20e-6,
                                 .curve_ring_middle = 0.5,
                                 .curve_ring_copy = 0.5,
                                 .curve_alltoall_launch = 6e-6,
                                 .curve_alltoall_step = 1e-6,
                                 .curve_alltoall_small = 0.01,
                                 .curve_alltoall_middle_latency = 10e-6,
                                 .curve_alltoall_middle = 0.2,
                                 .curve_alltoall_latency = 20e-6,
                                 .curve_alltoall_large = 0.5,
                                 .curve_alltoall_copy = 1};
    struct ss_net in = net;
    in.card = &card;
    in.fabric = 200e9;
    in.nccl = 1;
    CU_ASSERT_DOUBLE_EQUAL(ss_collective_seconds(&in, SS_COLL_ALL_GATHER, 16e6, &node), 177e-6, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ss_collective_seconds(&in, SS_COLL_ALL_TO_ALL, 16e6, &node), 180e-6, 1e-12);
    struct ss_collective_flows f = ss_collective_choose(&in, SS_COLL_ALL_GATHER, 16e6, &node)
                                       ->flows(&in, SS_COLL_ALL_GATHER, 16e6, &node, 8);
    CU_ASSERT_DOUBLE_EQUAL(f.bytes[SS_HOP_INTRA_NODE], 14e6, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(f.latency, 177e-6 - 87.5e-6, 1e-12);
    ss_net_user_buffers(&in, 1);
    CU_ASSERT_DOUBLE_EQUAL(ss_collective_seconds(&in, SS_COLL_ALL_GATHER, 16e6, &node),
                           7 * in.fabric_step + 14e6 / 160e9, 1e-12);
}

/* 24 channels of NCCL within a node, 16 across nodes, of 96 SMs; never more than half of them. */
TEST(sm_share)
{
    const struct ss_stack stack = {.comm_sms_fabric = 24, .comm_sms_nic = 16};
    const struct ss_card card = {.sm_count = 96}, small = {.sm_count = 20};
    CU_ASSERT_DOUBLE_EQUAL(ss_collective_sm_share(&stack, &card, &node), 0.25, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(ss_collective_sm_share(&stack, &card, &two), 1.0 / 6, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(ss_collective_sm_share(&stack, &small, &node), 0.5, 1e-15);
}

/* Beside a quarter of the SMs kernels have three quarters of their rate, GEMMs half of it where they deal out their tiles when they start:
 * half of each takes 2/3 + 1 = 5/3 as long, 0.4 of it the holder's. At most half; a card that says more than what is left gets that. */
TEST(sm_share_taken)
{
    const struct ss_card any = {.gemm_beside = 0}, hopper = {.gemm_beside = 0.5},
                         slow = {.gemm_beside = 0.25};
    CU_ASSERT_DOUBLE_EQUAL(ss_sm_share_taken(&any, 0.25, 1), 0.25, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(ss_sm_share_taken(&hopper, 0.25, 0), 0.25, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(ss_sm_share_taken(&hopper, 0.25, 0.5), 0.4, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(ss_sm_share_taken(&hopper, 0.25, 1), 0.5, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(ss_sm_share_taken(&slow, 0.25, 1), 0.5, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(ss_sm_share_taken(&hopper, 0.6, 1), 0.5, 1e-15);
    CU_ASSERT_EQUAL(ss_sm_share_taken(&hopper, 0, 1), 0);
}

/* Kernels of 1 s that a holder makes twice as long, in computations of 1 s and of 2 s: 2 s for 1, 3 s for 2. */
TEST(sm_share_diluted)
{
    CU_ASSERT_EQUAL(ss_sm_share_diluted(0.5, 1, 0), 0.5);
    CU_ASSERT_DOUBLE_EQUAL(ss_sm_share_diluted(0.5, 1, 1), 1. / 3, 1e-15);
    CU_ASSERT_EQUAL(ss_sm_share_diluted(0, 1, 1), 0);
    CU_ASSERT_EQUAL(ss_sm_share_diluted(0.5, 0, 1), 0);
}

static struct ss_library nccl;

static struct ss_net with_protocols(double far)
{
    struct ss_net n = net;
    nccl = library_named("nccl");
    n.library = &nccl;
    n.nccl = 1;
    n.fabric_step = 1.9e-6; /* NCCL's own latencies */
    n.nccl_far = far;
    return n;
}

/* Latency of a ring or tree at this size, and the bytes of its flow inside a node. */
static void expect_protocol(const struct ss_collective_algorithm *a, const struct ss_net *n, int kind,
                            double bytes, const struct ss_group_shape *g, double latency, double intra)
{
    struct ss_collective_flows f = a->flows(n, kind, bytes, g, g->per_node);
    CU_ASSERT_DOUBLE_EQUAL(f.latency, latency, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(f.bytes[SS_HOP_INTRA_NODE], intra, 1e-3);
}

/* An all-gather of 4 MB round 8 GPUs sends 3.5 MB over each link of 160 GB/s: in LL 10.8 us and twice the bytes, 54.6 us; in LL128 27.3
 * and 128/120 of them, 50.6; in Simple 32.2 and 54.1. 1 KB goes in LL, 1.6 GB in Simple. */
TEST(protocols)
{
    const struct ss_collective_algorithm *ring = &ss_collective_ring, *tree = &ss_collective_tree;
    struct ss_net n = with_protocols(0), slow = n;
    expect_protocol(ring, &n, SS_COLL_ALL_GATHER, 1024, &node, 6.6e-6 + 7 * 0.6e-6, 2 * 896);
    expect_protocol(ring, &n, SS_COLL_ALL_GATHER, 4e6, &node, 14e-6 + 7 * 1.9e-6, 3.5e6 * 128 / 120);
    expect_protocol(ring, &n, SS_COLL_ALL_GATHER, 1.6e9, &node, 8.4e-6 + 7 * 3.4e-6, 1.4e9);
    expect_protocol(ring, &n, SS_COLL_ALL_REDUCE, 1.6e9, &node, 8.4e-6 + 14 * 3.4e-6, 2.8e9);
    /* Threads make 40 of 160 GB/s in LL; steps of 3.8 us are twice NCCL's. A slow start is none in LL. */
    slow.ll_busbw = 40e9;
    slow.fabric_step = 3.8e-6;
    slow.fabric_half = 16e6;
    expect_protocol(ring, &slow, SS_COLL_ALL_GATHER, 1024, &node, 6.6e-6 + 7 * 1.2e-6, 4 * 896);
    expect_protocol(ring, &slow, SS_COLL_ALL_GATHER, 1.6e9, &node, 8.4e-6 + 7 * 6.8e-6 + 14e6 / 160e9, 1.4e9);
    /* Two nodes: up and down 7 steps of the chain and one between nodes, LL at 22.5 GB/s; no slow start. */
    CU_ASSERT_DOUBLE_EQUAL(tree->seconds(&n, SS_COLL_ALL_REDUCE, 1024, &two),
                           6.8e-6 + 2 * (7 * 0.6e-6 + 5e-6) + 2048 / 22.5e9, 1e-12);
    expect_protocol(tree, &n, SS_COLL_ALL_REDUCE, 4e6, &two, 14e-6 + 2 * (7 * 1.25e-6 + 8.5e-6),
                    8e6 * 128 / 120);
    expect_protocol(tree, &slow, SS_COLL_ALL_REDUCE, 1e9, &two, 8.4e-6 + 2 * (7 * 8e-6 + 14e-6), 2e9);
    /* 13 and 2 steps of a ring; alone on their nodes 3 of a tree's; each 10 us longer on a slow network. */
    expect_protocol(ring, &n, SS_COLL_REDUCE_SCATTER, 1024, &two, 6.6e-6 + 13 * 0.6e-6 + 2 * 2.7e-6, 2 * 960);
    n.nccl_fabric = 10e-6;
    n.launch = 5e-6; /* of the kernel */
    expect_protocol(ring, &n, SS_COLL_REDUCE_SCATTER, 1024, &two, 11.6e-6 + 13 * 0.6e-6 + 2 * 12.7e-6,
                    2 * 960);
    n.launch = 0;
    expect_protocol(ring, &n, SS_COLL_ALL_GATHER, 1024, &four, 6.6e-6 + 3 * 15e-6, 2 * 768);
    /* Simple waits for the network twice, for its flush, too; LL128 once. */
    expect_protocol(ring, &n, SS_COLL_ALL_GATHER, 1.6e9, &two, 8.4e-6 + 13 * 3.4e-6 + 2 * 34e-6, 1.5e9);
    expect_protocol(tree, &n, SS_COLL_ALL_REDUCE, 4e6, &two, 14e-6 + 2 * (7 * 1.25e-6 + 18.5e-6),
                    8e6 * 128 / 120);
    /* What the other two protocols take more than their table is none of LL's. */
    n = with_protocols(10e-6);
    expect_protocol(ring, &n, SS_COLL_ALL_GATHER, 1024, &four, 6.6e-6 + 3 * 5e-6, 2 * 768);
    expect_protocol(ring, &n, SS_COLL_ALL_GATHER, 1.6e9, &two, 8.4e-6 + 13 * 3.4e-6 + 2 * 24e-6, 1.5e9);
}

/* Trees in Simple hand on pieces of 8 MB (all channels): the first takes 14 steps at 160 GB/s and 2 at 8 NICs of 40, 750 us, less what
 * it takes in the stream, 2/160 us a kB. A smaller buffer is one piece. Two nodes send the buffer once, and still NCCL takes
 * rings for large ones, for it believes otherwise; with a cluster's tuner it takes trees. */
TEST(simple_trees)
{
    const struct ss_collective_algorithm *tree = &ss_collective_tree;
    const double latency = 8.4e-6 + 2 * (7 * 4e-6 + 14e-6);
    struct ss_net n = with_protocols(0);
    n.net_simple = 1;
    n.nccl_piece = 8e6;
    CU_ASSERT_DOUBLE_EQUAL(tree->seconds(&n, SS_COLL_ALL_REDUCE, 1.6e9, &two),
                           latency + 700e-6 + 50e-6 - 100e-6 + 3.2e9 / 160e9, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(tree->seconds(&n, SS_COLL_ALL_REDUCE, 2e6, &two), latency + 750e-6 / 4, 1e-12);
    /* NICs of 5 GB/s: 40 a node, which the buffer crosses once; rings and NCCL's belief have 1.875 and 2 of it. */
    n.nic_busbw = 5e9;
    n.nccl_piece = 0;
    CU_ASSERT_DOUBLE_EQUAL(tree->seconds(&n, SS_COLL_ALL_REDUCE, 1.6e9, &two), latency + 1.6e9 / 40e9, 1e-12);
    n.tree_share = 0.5; /* of them, in trees */
    CU_ASSERT_DOUBLE_EQUAL(tree->seconds(&n, SS_COLL_ALL_REDUCE, 1.6e9, &two), latency + 1.6e9 / 20e9, 1e-12);
    n.tree_share = 0;
    CU_ASSERT_PTR_EQUAL(ss_collective_choose(&n, SS_COLL_ALL_REDUCE, 1.6e9, &two), &ss_collective_ring);
    n.net_trees = 1;
    CU_ASSERT_PTR_EQUAL(ss_collective_choose(&n, SS_COLL_ALL_REDUCE, 1.6e9, &two), tree);
    CU_ASSERT_PTR_EQUAL(ss_collective_choose(&n, SS_COLL_ALL_REDUCE, 1.6e9, &node), &ss_collective_ring);
    CU_ASSERT_PTR_EQUAL(ss_collective_choose(&n, SS_COLL_ALL_GATHER, 1.6e9, &two), &ss_collective_ring);
}

/* Switches joined by trees: a step of 15 us up and one down, and 2 of the 16 MB by each NIC at half its rate. PAT: 8 us, two steps
 * of which 1/3.5 shows, 2.8 us a member. */
TEST(protocols_of_others)
{
    struct ss_net n = with_protocols(10e-6);
    n.nvls_busbw = 120e9;
    n.nvls_latency = 24e-6;
    struct ss_collective_flows f = ss_collective_nvls_tree.flows(&n, SS_COLL_ALL_REDUCE, 16e6, &two, 8);
    CU_ASSERT_DOUBLE_EQUAL(f.latency, 24e-6 + 2 * 15e-6, 1e-12);
    n.nic_half = 9e6;
    f = ss_collective_nvls_tree.flows(&n, SS_COLL_ALL_REDUCE, 16e6, &two, 8);
    CU_ASSERT_DOUBLE_EQUAL(f.latency, 24e-6 + 2 * 15e-6 + 2e6 / 40e9, 1e-12);
    f = ss_collective_pat.flows(&n, SS_COLL_ALL_GATHER, 16e6, &four, 1);
    CU_ASSERT_DOUBLE_EQUAL(f.latency, 8e-6 + 2 * 24e-6 / 3.5 + 4 * 2.8e-6, 1e-12);
    /* User buffers have no protocol. */
    ss_net_user_buffers(&n, 1);
    CU_ASSERT_DOUBLE_EQUAL(ss_collective_seconds(&n, SS_COLL_ALL_GATHER, 1024, &node),
                           7 * 1.9e-6 + 896 / 160e9, 1e-12);
}

/* An all-reduce takes the fastest of ring, tree and switch; other collectives have no choice. */
TEST(choice)
{
    struct ss_net h100 = {.fabric_busbw = 360e9,
                          .fabric_step = 2e-6,
                          .nvls_busbw = 308e9,
                          .nvls_latency = 24e-6,
                          .nic_busbw = 40e9,
                          .nic_step = 10e-6,
                          .gpus_per_node = 8,
                          .nics_per_node = 8};
    const struct ss_group_shape three = {.n = 3, .nodes = 1, .per_node = 3},
                                wide = {.n = 512, .nodes = 64, .per_node = 8};
    CU_ASSERT_PTR_EQUAL(ss_collective_choose(&h100, SS_COLL_ALL_REDUCE, 1e9, &node), &ss_collective_nvls);
    CU_ASSERT_DOUBLE_EQUAL(ss_collective_seconds(&h100, SS_COLL_ALL_REDUCE, 1e9, &node),
                           24e-6 + 1.125e9 / 308e9, 1e-12);
    CU_ASSERT_PTR_EQUAL(ss_collective_choose(&h100, SS_COLL_REDUCE_SCATTER, 1e9, &node), &ss_collective_ring);
    /* Among three the ring moves no more than the switch, and at more of the link. */
    CU_ASSERT_PTR_EQUAL(ss_collective_choose(&h100, SS_COLL_ALL_REDUCE, 1e9, &three), &ss_collective_ring);
    h100.nvls_busbw = 0;
    CU_ASSERT_PTR_EQUAL(ss_collective_choose(&h100, SS_COLL_ALL_REDUCE, 1e9, &node), &ss_collective_ring);
    /* 64 nodes: a small buffer goes up and down six levels, a huge one round the ring. */
    CU_ASSERT_PTR_EQUAL(ss_collective_choose(&h100, SS_COLL_ALL_REDUCE, 4, &wide), &ss_collective_tree);
    CU_ASSERT_PTR_EQUAL(ss_collective_choose(&h100, SS_COLL_ALL_REDUCE, 1e12, &wide), &ss_collective_ring);
    CU_ASSERT_EQUAL(ss_collective_seconds(&h100, SS_COLL_ALL_GATHER, 1e9, &one), 0);
}

static void every_kind(const struct ss_net *links, double bytes)
{
    const struct ss_group_shape *shapes[] = {&node, &two, &four, &five};
    for (int kind = 0; kind < SS_COLL_COUNT; kind++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            const struct ss_group_shape *g = shapes[i];
            const struct ss_collective_algorithm *a = ss_collective_choose(links, kind, bytes, g);
            CU_ASSERT_PTR_NOT_NULL_FATAL(a);
            struct ss_collective_flows f = a->flows(links, kind, bytes, g, g->per_node);
            double near = f.bytes[SS_HOP_INTRA_NODE] + (g->per_node - 1) * f.bytes[SS_HOP_NODE],
                   far = f.bytes[SS_HOP_INTER_NODE] + (g->n - g->per_node) * f.bytes[SS_HOP_APART] +
                         (g->nodes - 1) * f.bytes[SS_HOP_RAIL];
            double slowest = g->per_node > 1 ? near / links->fabric_busbw : 0;
            if (g->nodes > 1)
                slowest = fmax(slowest, far / links->nic_busbw);
            slowest =
                fmax(slowest, f.bytes[SS_HOP_NEXT] / (g->nodes > 1 ? links->nic_busbw : links->fabric_busbw));
            CU_ASSERT_DOUBLE_EQUAL(a->seconds(links, kind, bytes, g), f.latency + slowest, 1e-12);
            CU_ASSERT(strcmp(ss_collective_kind_name(kind), "unknown") != 0 && a->name[0]);
        }
}

/* Every kind can be done on every group, in a time that the flows take on links of their own, in every protocol. */
TEST(every_kind)
{
    struct ss_net protocols = with_protocols(10e-6);
    for (double bytes = 1e3; bytes < 1e10; bytes *= 1e2) {
        every_kind(&net, bytes);
        every_kind(&protocols, bytes);
    }
    CU_ASSERT_EQUAL(ss_collective_hops(SS_COLL_BIT(SS_COLL_RING_STEP), 0), SS_HOP_BIT(SS_HOP_NEXT));
    CU_ASSERT_EQUAL(ss_collective_hops(SS_COLLS_REDUCED, 0),
                    SS_HOP_BIT(SS_HOP_INTRA_NODE) | SS_HOP_BIT(SS_HOP_INTER_NODE) | SS_HOP_BIT(SS_HOP_TREE) |
                        SS_HOP_BIT(SS_HOP_PAT));
}

/* Streams are numbers of program texts: those of committed ones stay. */
TEST(communicators)
{
    static const struct {
        int comm, stream, label, in_layers;
    } rows[] = {{SS_COMM_DP_CP, 0, SS_LABEL_DP, 0},        {SS_COMM_EMBEDDING, 0, SS_LABEL_DP, 0},
                {SS_COMM_WORLD, 1, SS_LABEL_OPTIMIZER, 0}, {SS_COMM_TP, 2, SS_LABEL_TP, 1},
                {SS_COMM_CP, 3, SS_LABEL_CP, 1},           {SS_COMM_FSDP, 4, SS_LABEL_DP, 1},
                {SS_COMM_HOST, 5, SS_LABEL_OFFLOAD, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct ss_comm_facts *facts = ss_comm_facts(rows[i].comm);
        CU_ASSERT_EQUAL(facts->stream, rows[i].stream);
        CU_ASSERT_EQUAL(facts->label, rows[i].label);
        CU_ASSERT_EQUAL(ss_stream_in_layers(facts->stream), rows[i].in_layers);
    }
    CU_ASSERT_EQUAL(SS_STREAM(SS_COMM_FSDP), 4);
    CU_ASSERT_EQUAL(ss_stream_count(0), 6);
    CU_ASSERT_EQUAL(ss_stream_count(1), 8);
    for (int comm = 0; comm < SS_COMM_COUNT; comm++) {
        const struct ss_comm_facts *facts = ss_comm_facts(comm);
        CU_ASSERT(facts->stream < 0 ? facts->posted == SS_LEVEL_COUNT : facts->posted <= facts->flows);
        for (int other = 0; other < comm; other++)
            CU_ASSERT(strcmp(facts->name, ss_comm_facts(other)->name) != 0);
    }
    CU_ASSERT(ss_comm_in_grid(SS_COMM_TP) && ss_comm_in_grid(SS_COMM_EDP) && !ss_comm_in_grid(SS_COMM_FSDP) &&
              !ss_comm_in_grid(SS_COMM_WORLD));
    CU_ASSERT_PTR_NULL(ss_comm_facts(SS_COMM_COUNT));
}

static double timer(const struct ss_result *r, const char *name)
{
    for (int i = 0; i < r->ntimers; i++)
        if (!strcmp(r->timers[i].name, name))
            return r->timers[i].seconds;
    return -1;
}

/* NCCL's communicators with buffers: the world's, and those with several ranks that no other one has. */
TEST(buffers)
{
    static const struct {
        int size[SS_AXIS_COUNT], count;
    } grids[] = {{{1, 1, 1, 1, 1}, 0},
                 {{1, 1, 1, 8, 1}, 2},  /* dp-cp, world */
                 {{1, 2, 1, 1, 1}, 3},  /* cp, dp-cp, world */
                 {{4, 1, 1, 1, 2}, 4},  /* tp, pp, mp, world */
                 {{2, 2, 1, 2, 2}, 7}}; /* tp, cp, tp-cp, dp-cp, pp, mp, world */
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
        int n = 0;
        for (int comm = 0; comm < SS_COMM_COUNT; comm++)
            n +=
                ss_comm_facts(comm)->members != SS_MEMBERS_EXPERT && ss_comm_has_buffers(comm, grids[i].size);
        CU_ASSERT_EQUAL(n, grids[i].count);
    }
}

/* What a collective is for is in its role: other names move no timer. */
TEST(names_move_no_timer)
{
    static const char *const timers[] = {"all-grads-sync", "embedding-grads-all-reduce", "params-all-gather",
                                         "optimizer"};
    const struct ss_run_options options = {.engine = SS_ENGINE_NATIVE};
    struct scale_job s;
    struct ss_run run;
    struct ss_result renamed;
    CU_ASSERT_FATAL(
        !scale_open(&s, "h800 2;--model qwen2.5-1.5b --bf16 --tp 2 --pp 2 --seq 2048 --mbs 1 --gbs 32 "
                        "--use-distributed-optimizer"));
    CU_ASSERT_FATAL(!scale_run(&s, &options, &run));
    for (int i = 0; i < run.program->ncollectives; i++)
        snprintf(run.program->collectives[i].name, sizeof run.program->collectives[i].name, "%s %d",
                 i % 2 ? "params" : "embedding", i);
    memset(&renamed, 0, sizeof renamed);
    renamed.iteration_s = run.result->iteration_s;
    CU_ASSERT_FATAL(!ss_timers_fill(run.plan, run.program, run.timeline, &renamed, NULL));
    CU_ASSERT_EQUAL(renamed.ntimers, run.result->ntimers);
    for (size_t i = 0; i < sizeof timers / sizeof *timers; i++) {
        CU_ASSERT(timer(run.result, timers[i]) > 0);
        CU_ASSERT_EQUAL(timer(&renamed, timers[i]), timer(run.result, timers[i]));
    }
    free(renamed.timers);
    ss_run_free(&run);
    scale_close(&s);
}

/* Exchanges whose members differ take, for each byte, the slower of both: fabric links at half of their rate, or the links behind the
 * NICs. As flows they take 1 ns a byte, and the rest is latency. */
TEST(uneven)
{
    struct ss_group_shape g = two;
    g.priced[SS_WAY_THERE] = (struct ss_exchange_rate){.near = 1e-9, .far = 3e-9};
    g.sent[SS_WAY_THERE] = (struct ss_exchange_rate){.near = 0.5e-9, .far = 0.8e-9};
    CU_ASSERT_DOUBLE_EQUAL(ss_uneven_seconds(SS_COLL_DISPATCH, 1e-6, 1e6, 0.5, &g), 1e-6 + 3e-3, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ss_uneven_seconds(SS_COLL_DISPATCH, 1e-6, 1e6, 0.25, &g), 1e-6 + 4e-3, 1e-12);
    struct ss_collective_flows f = ss_uneven_flows(SS_COLL_DISPATCH, 1e-6, 1e6, 0.5, &g, SS_HOP_INTER_NODE);
    CU_ASSERT_DOUBLE_EQUAL(f.latency, 1e-6 + 3e-3 - 1e-3, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(f.bytes[SS_HOP_NODE], 2e6, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(f.bytes[SS_HOP_INTER_NODE], 1e6, 1e-3);
}
