/* SPDX-License-Identifier: Apache-2.0 */
/* Curves of kernels alone on a card, by hand (docs/design/curves.md). */

#include "base/base.h"
#include "comm/collective.h"
#include "cost/curve_sparse.h"
#include "cost/kernel.h"
#include "suite.h"

/* 100 SMs of 1 GHz, 1 TB/s of which a stream sustains half, 1 PFLOP/s in 16 bit. */
static struct ss_card make(void)
{
    struct ss_card c = {.sm_count = 100,
                        .sm_clock = 1e9,
                        .hbm_bandwidth = 1e12,
                        .curve_stream = 0.5,
                        .peak_bf16 = 1e15,
                        .peak_fp8 = 2e15,
                        .gemm_tile_m = 128,
                        .gemm_tile_n = 256};
    return c;
}

TEST(convolution)
{
    struct ss_card c = make();

    /* 1000 tokens of 500 channels, in and out in 16 bit: 2 MB at 0.5 TB/s are 4 us; at 0.2 cycles a channel the SMs need 1. */
    c.curve_conv_launch = 1e-6;
    c.curve_conv_cycles = 0.2;
    CU_ASSERT_DOUBLE_EQUAL(ss_curve_convolution(&c, 1000, 500, 3), 7e-6, 1e-15);
    c.curve_conv_cycles = 2; /* 10 us */
    CU_ASSERT_DOUBLE_EQUAL(ss_curve_convolution(&c, 1000, 500, 3), 13e-6, 1e-15);
    c.curve_mamba_conv_launch = 2e-6;
    c.curve_mamba_conv_cycles = 1;
    c.curve_mamba_conv_start = 200; /* of 500 channels of 2 sequences: 2 us */
    CU_ASSERT_DOUBLE_EQUAL(ss_curve_mamba_convolution(&c, 2, 500, 500), 9e-6, 1e-15);
}

TEST(delta)
{
    struct ss_card c = make();
    struct ss_delta_call call = {
        .sequences = 2, .tokens = 1000, .key_heads = 4, .heads = 8, .key_dim = 128, .value_dim = 128};

    /* A head has keys of half a key head: norms 512, sums of gates 8, products 128 + 8 + 256, solve 384, factors
     * 128 + 256 + 8 + 128 + 512, states 128 + 768 + 4, outputs 256 + 256 + 4 + 256, the state 1024 in and out. */
    CU_ASSERT_DOUBLE_EQUAL(ss_curve_gdn_bytes(&call), 512 + 8 + 392 + 384 + 1032 + 900 + 772 + 1024, 1e-9);
    /* norms 512, gates 256 + 512, products 256 + 512 + 512, solve 384, factors 128 + 256 + 512 + 128 + 768, states 1024,
     * outputs 128 + 512 + 256 + 128 + 256. */
    CU_ASSERT_DOUBLE_EQUAL(ss_curve_kda_bytes(&call), 512 + 768 + 1280 + 384 + 1792 + 1024 + 1280 + 1024,
                           1e-9);
    c.curve_gdn_launch = 10e-6;
    c.curve_gdn_cycles = 200;
    c.curve_gdn_chunk = 1000;
    /* 16,000 tokens of a head: 5024 B at 0.5 TB/s, 200 cycles of 1e11 a second; 16 chunks of 1 us. */
    CU_ASSERT_DOUBLE_EQUAL(ss_curve_gdn(&c, &call), 10e-6 + 16000 * (5024 / 5e11 + 200 / 1e11) + 16e-6,
                           1e-12);
    /* A state of half the values is half the work; chunks follow one another as before. */
    c.curve_kda_cycles = 200;
    c.curve_kda_chunk = 500;
    call.value_dim = 64;
    CU_ASSERT_DOUBLE_EQUAL(ss_curve_kda(&c, &call),
                           16000 * (ss_curve_kda_bytes(&call) / 5e11 + 100 / 1e11) + 8e-6, 1e-12);
}

TEST(streams)
{
    struct ss_card c = make();

    /* 1000 tokens of 4 streams of 1000 channels: 9 tensors of 2 MB. */
    c.curve_mhc_pre_launch = 5e-6;
    c.curve_mhc_pre_rate = 0.5;
    c.curve_mhc_post_rate = 0.9;
    CU_ASSERT_DOUBLE_EQUAL(ss_curve_streams(&c, 0, 1000, 4, 1000), 5e-6 + 36e-6, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(ss_curve_streams(&c, 1, 1000, 4, 1000), 20e-6, 1e-15);
}

TEST(gemm)
{
    struct ss_card c = make();
    double tile = 2.0 * 128 * 256 * 65536;

    c.gemm_eff_bf16 = c.gemm_eff_fp8 = 0.1; /* of training, which a curve does not read */
    c.kernel_latency = 1;
    c.hbm_bandwidth = 1e14;
    c.curve_gemm_bf16 = c.curve_gemm_blocks = 0.5;
    c.curve_launch = 2e-6;
    c.curve_cast = 0.25;
    /* 100 tiles, one wave of 5 TFLOP/s an SM. */
    CU_ASSERT_DOUBLE_EQUAL(ss_curve_gemm(&c, SS_CURVE_BF16, 1280, 2560, 65536), tile / 5e12 + 2e-6, 1e-12);
    /* A cast reads 2 and writes 1 byte an element of A at a quarter of HBM, in a kernel of its own. */
    CU_ASSERT_DOUBLE_EQUAL(ss_curve_gemm(&c, SS_CURVE_FP8_BLOCKS, 1280, 2560, 65536),
                           tile / 1e13 + 4e-6 + 1280 * 65536 * 3. / 2.5e13, 1e-12);
    CU_ASSERT_EQUAL(ss_curve_gemm_peak(&c, SS_CURVE_FP4), 0);
}

TEST(experts)
{
    struct ss_card c = make();
    struct ss_experts_call call = {
        .tokens = 1000, .copies = 1280, .experts = 10, .hidden = 2560, .width = 1280, .gated = 1};
    double tile = 2.0 * 128 * 256 / 5e12;

    c.hbm_bandwidth = 1e13;
    c.curve_experts_launch = 10e-6;
    c.curve_experts_move = 0.5;
    c.curve_experts_bf16 = 0.5;
    /* 10 experts of 128 copies: 10 x 10 tiles of depth 2560 and of 1280, and 1280 copies that are gathered (4 B), activated
     * (twice 2 in, 2 out) and summed (2 in), 1000 tokens out. */
    double bytes = 1280 * 2560 * 4. + 1280 * (2560 * 2 + 1280 * 2.) + (1280 + 1000) * 2560 * 2.;
    CU_ASSERT_DOUBLE_EQUAL(ss_curve_experts(&c, SS_CURVE_EXPERTS_BF16, &call),
                           10e-6 + bytes / 5e12 + tile * (2560 + 1280), 1e-12);
}

TEST(links)
{
    struct ss_card c = make();
    double once;
    struct ss_exchange_call call = {.tokens = 1000, .bytes = 2000, .copies = 4, .gpus = 8, .sms = 20};

    c.curve_dispatch_launch = 1e-6;
    c.curve_dispatch_token = 100e-9;
    c.curve_dispatch_copy = 50e-9;
    c.curve_dispatch_rate = 1e10;
    c.curve_dispatch_link = 0.5;
    /* A token takes an SM 100 ns and 4 times 50 + 200; 20 SMs take 1,000 of them in 55 us. 7 MB leave at 100 GB/s in 70. */
    CU_ASSERT_DOUBLE_EQUAL(ss_curve_exchange(&c, 1e12, 0, &call), 56e-6, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ss_curve_exchange(&c, 2e11, 0, &call), 71e-6, 1e-12);
    c.curve_ring_launch = 5e-6;
    c.curve_ring_step = 1e-6;
    c.curve_ring_small = 0.1;
    c.curve_ring_middle_latency = 20e-6;
    c.curve_ring_middle = 0.5;
    c.curve_ring_copy = 0.5;
    c.fabric_efficiency = 0.8;
    c.fabric_half_size = 32e6;
    /* 7 steps. 8 MB, of which 7 are sent and half of one is copied: 5 us and 75 at a tenth of 1 TB/s, 20 and 15, or 5 and 35 as long as
     * the start and 9.375. Of 80 MB these are 755, 170 and 133.75. An all-reduce of 8 kB steps and sends twice, and copies nothing. */
    CU_ASSERT_DOUBLE_EQUAL(ss_inside_ring(&c, 1e12, 1, 8, 8e6), 7e-6 + 35e-6, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ss_inside_ring(&c, 1e12, 1, 8, 8e7), 7e-6 + 133.75e-6, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ss_inside_ring(&c, 1e12, 2, 8, 8e3), 14e-6 + 5e-6 + 0.14e-6, 1e-12);
    c.curve_alltoall_launch = 6e-6;
    c.curve_alltoall_small = 0.01;
    c.curve_alltoall_middle_latency = 10e-6;
    c.curve_alltoall_middle = 0.2;
    c.curve_alltoall_latency = 20e-6;
    c.curve_alltoall_large = 0.5;
    c.curve_alltoall_copy = 1; /* a GPU moves as much as it has */
    CU_ASSERT_DOUBLE_EQUAL(ss_inside_alltoall(&c, 1e12, 8, 8e3, &once), 6e-6 + 0.8e-6, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(once, 6e-6, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ss_inside_alltoall(&c, 1e12, 8, 8e5, &once), 10e-6 + 4e-6, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(once, 10e-6, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ss_inside_alltoall(&c, 1e12, 8, 8e7, &once), 20e-6 + 160e-6, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(once, 20e-6, 1e-12);
}

TEST(sparse)
{
    struct ss_card c = make();
    struct ss_sparse_work w = {.tokens = 1000,
                               .products = 1e9,
                               .gemm = SS_CURVE_FP8,
                               .attention = 1e9,
                               .moved = 1e5,
                               .index = 1e8,
                               .keys = 500};

    c.host_slowdown = 2;
    c.curve_gemm_fp8 = 0.5;
    c.curve_dsa_host = 1e-3;
    c.curve_dsa_gemm = 0.5;
    c.curve_dsa_fused = 0.5;
    c.curve_dsa_move = 0.5;
    c.curve_dsa_token = 1e5;
    c.curve_dsa_index = 5e4;
    c.curve_dsa_key = 100;
    /* A token: projections 1 us, attention 2, HBM 0.2, 200,000 cycles of 1e11 a second 2, the indexer's FLOP 0.1. */
    CU_ASSERT_DOUBLE_EQUAL(ss_curve_dsa(&c, SS_SPARSE_FUSED, &w), 5.3e-3, 1e-12);
    w.tokens = 100; /* the host takes 1 ms of a Xeon, and this one is half as fast */
    CU_ASSERT_DOUBLE_EQUAL(ss_curve_dsa(&c, SS_SPARSE_FUSED, &w), 2e-3, 1e-12);
    c.curve_msa_plain_token = 1e5;
    c.curve_msa_plain_key = 1000;
    c.curve_msa_plain_shared = 100;
    c.curve_msa_plain_head = 500;
    /* 1 us, and 50,000 keys of which L2 holds half: of 1,400 B with one head of keys, of 500 a head of queries with more. */
    CU_ASSERT_DOUBLE_EQUAL(ss_curve_msa_plain(&c, 10, 50000, 4, 1), 10 * (1e-6 + 2 * 50000 * 1400 / 1e12),
                           1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ss_curve_msa_plain(&c, 10, 50000, 4, 2), 10 * (1e-6 + 2 * 50000 * 2000 / 1e12),
                           1e-12);
}

TEST(compressed)
{
    struct ss_card c = make();
    struct ss_sparse_work w = {
        .tokens = 1000, .products = 1e9, .gemm = SS_CURVE_FP8, .attention = 1e9, .moved = 1e5, .keys = 500};

    c.curve_dsv4_launch = 1e-4;
    c.curve_dsv4_gemm = 0.5;
    c.curve_dsv4_attention = 0.5;
    c.curve_dsv4_move = 0.5;
    c.curve_dsv4_token = 1e5;
    c.curve_dsv4_key = 100;
    c.curve_dsv4_index = 0.1;
    CU_ASSERT_DOUBLE_EQUAL(ss_curve_dsv4(&c, &w), 1e-4 + 1e-3 * (1 + 2 + 0.2 + 1.5), 1e-12);
    w.index = 1e8;
    CU_ASSERT_DOUBLE_EQUAL(ss_curve_dsv4(&c, &w), 1e-4 + 1e-3 * (1 + 2 + 0.2 + 1.5 + 0.5), 1e-12);
    c.host_slowdown = 1;
    c.curve_msa_gemm = 0.5;
    c.curve_msa_attention = 0.5;
    c.curve_msa_move = 0.5;
    c.curve_msa_token = 1e5;
    w.absorbed = 1e9; /* of which the unit of 16 bit does half as many */
    CU_ASSERT_DOUBLE_EQUAL(ss_curve_msa(&c, &w), 1e-3 * (1 + 2 + 2 + 0.2 + 1), 1e-12);
}

/* Each card: at the power limit no GEMM is faster than in a burst (Hopper's blocks are DeepGEMM's in training, another kernel), and the
 * scan of Mamba-2 takes the share of an H100's time that its sisters take (docs/design/scan-cycles.py). */
TEST(levels)
{
    static const struct {
        const char *name;
        double scan;
    } cards[] = {{"h100", 1}, {"b200", 0.646}, {"gb200", 0.742}};
    const struct ss_platform_options options = {.nodes = 1};
    double h100 = 0;

    for (size_t i = 0; i < SS_ARRAY_LEN(cards); i++) {
        struct ss_platform *p;
        CU_ASSERT_EQUAL_FATAL(ss_platform_load(cards[i].name, &options, &p, NULL), 0);
        const struct ss_card *c = ss_platform_card(p);
        CU_ASSERT(c->gemm_eff_bf16 < c->curve_gemm_bf16 && c->gemm_eff_fp8 < c->curve_gemm_fp8);
        CU_ASSERT(c->gemm_eff_mxfp8 < c->curve_gemm_blocks && c->gemm_eff_fp4 <= c->curve_gemm_fp4);
        double scan = ss_kernel_scan(c, SS_SCAN_CHUNKED, 0, 1e12, 0);
        h100 = i == 0 ? scan : h100;
        CU_ASSERT_DOUBLE_EQUAL(scan / h100, cards[i].scan, 0.003);
        ss_platform_free(p);
    }
}
