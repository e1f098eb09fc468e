/* SPDX-License-Identifier: Apache-2.0 */
/* Curves of kernels alone on a card, by hand (docs/design/curves.md). */
#include <math.h>
#include <string.h>

#include "cost/curve.h"
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

static void test_convolution(void)
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
    CU_ASSERT_DOUBLE_EQUAL(ss_curve_mamba_convolution(&c, 1000, 500), 7e-6, 1e-15);
}

static void test_delta(void)
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

static void test_streams(void)
{
    struct ss_card c = make();

    /* 1000 tokens of 4 streams of 1000 channels: 9 tensors of 2 MB. */
    c.curve_mhc_pre_launch = 5e-6;
    c.curve_mhc_pre_rate = 0.5;
    c.curve_mhc_post_rate = 0.9;
    CU_ASSERT_DOUBLE_EQUAL(ss_curve_streams(&c, 0, 1000, 4, 1000), 5e-6 + 36e-6, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(ss_curve_streams(&c, 1, 1000, 4, 1000), 20e-6, 1e-15);
}

static void test_gemm(void)
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

SUITE(curve)
{
    CU_TestInfo tests[] = {{"convolutions", test_convolution},
                           {"linear attention", test_delta},
                           {"hyper-connections", test_streams},
                           {"GEMMs", test_gemm},
                           CU_TEST_INFO_NULL};
    return suite_run("curve", NULL, NULL, tests);
}
