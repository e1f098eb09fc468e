/* SPDX-License-Identifier: Apache-2.0 */
/* Micro-benchmarks: which rows of a table are of a card, what they say, and that a fit finds a card's numbers. */
#include <CUnit/Basic.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "study/calibrate.h"

#define HEAD "kind,gpu,shape_or_bytes,ranks/nodes,precision,measured value,unit,source\n"

static int parse(const char *card, double peak_fp8, const char *rows, struct ss_bench **out,
                 struct ss_error *err)
{
    struct ss_card c = {.peak_fp32 = 1, .peak_fp16 = 1, .peak_bf16 = 1, .peak_fp8 = peak_fp8};
    char text[2048];

    snprintf(c.name, sizeof c.name, "%s", card);
    snprintf(text, sizeof text, HEAD "%s", rows);
    return ss_bench_parse(text, strlen(text), "b.csv", &c, out, err);
}

static void test_kinds(void)
{
    struct ss_bench *b;

    CU_ASSERT_EQUAL_FATAL(
        parse("H200-141GB", 1,
              "gemm,NVIDIA H200,M=100 N=200 K=300,1 GPU,bf16,12,TFLOP/s,x\n"
              "gemm,NVIDIA H200,M=100 N=200 K=300 wgrad,1 GPU,fp8,6,TFLOP/s,x\n"
              "memcpy,NVIDIA H200,copy kernel 1000,1 GPU,,4,GB/s,x\n"
              "memcpy,NVIDIA H200,H2D 1000,1 GPU,,4,GB/s,x\n"
              "launch,NVIDIA H200,\"empty kernel, start to start\",1 GPU,,2.5,us,x\n"
              "collective,NVIDIA H200,all_reduce 2000000,4 GPU 1 node,fp32,3,GB/s busbw (1 us),x\n"
              "collective,NVIDIA H200,all_gather 2000000,4 GPU 1 node,fp32,3,GB/s busbw,x\n",
              &b, NULL),
        0);
    CU_ASSERT_EQUAL_FATAL(b->npoints, 7);
    CU_ASSERT_EQUAL(b->nskipped, 0);
    CU_ASSERT_DOUBLE_EQUAL(b->points[0].seconds, 1e-6, 1e-18);
    CU_ASSERT_EQUAL(b->points[0].precision, SS_BF16);
    CU_ASSERT(!b->points[0].accumulate && b->points[1].accumulate);
    CU_ASSERT_EQUAL(b->points[1].k, 300);
    CU_ASSERT_DOUBLE_EQUAL(b->points[2].seconds, 500e-9, 1e-18);
    CU_ASSERT_DOUBLE_EQUAL(b->points[3].seconds, 250e-9, 1e-18);
    CU_ASSERT_DOUBLE_EQUAL(b->points[4].seconds, 2.5e-6, 1e-18);
    CU_ASSERT_DOUBLE_EQUAL(b->points[5].seconds, 1e-3, 1e-15);
    CU_ASSERT_EQUAL(b->points[5].group.n, 4);
    CU_ASSERT_DOUBLE_EQUAL(b->points[6].seconds, 0.5e-3, 1e-15);
    CU_ASSERT_STRING_EQUAL(b->points[1].id, "M=100 N=200 K=300 wgrad fp8");
    ss_bench_free(b);
}

/* An H20 is no H200; several GPUs, other shapes, units and precisions are others' rows. */
static void test_skipped(void)
{
    static const char rows[] = "gemm,NVIDIA H200,M=1 N=2 K=3,1 GPU,bf16,1,TFLOP/s,x\n"
                               "gemm,H20,M=1 N=2 K=3,1 GPU,bf16,1,TFLOP/s,x\n"
                               "gemm,Tesla H20-SXM,M=1 N=2 K=3,1 GPU,fp8,1,TFLOP/s,x\n"
                               "gemm,H20,M=1 N=2 K=3,8 GPU,bf16,1,TFLOP/s,x\n"
                               "gemm,H20,M=1 N=2 K=3,1 GPU,int8,1,TFLOP/s,x\n"
                               "gemm,H20,M=1 N=2 K=3,1 GPU,bf16,1,TFLOP/s (up to),x\n"
                               "gemm,H20,batch=4 M=1 N=2 K=3,1 GPU,bf16,1,TFLOP/s,x\n"
                               "gemm,H20,M=1 N=2 K=3 sparse,1 GPU,bf16,1,TFLOP/s,x\n"
                               "gemm,H20,M=1 N=0 K=3,1 GPU,bf16,1,TFLOP/s,x\n"
                               "gemm,H20,M=1 N=2 K=,1 GPU,bf16,1,TFLOP/s,x\n"
                               "memcpy,H20,H2D PCIe5 x16,1 GPU,,1,GB/s,x\n"
                               "launch,H20,\"host, one call\",1 GPU,,1,us,x\n"
                               "collective,H20,all_reduce 1048575,8 GPU 1 node,fp32,0.00,GB/s busbw,x\n"
                               "collective,H20,all_reduce ring 1048576,8 GPU 1 node,fp32,1,GB/s busbw,x\n"
                               "collective,H20,broadcast 1048576,8 GPU 1 node,fp32,1,GB/s busbw,x\n"
                               "collective,H20,all_reduce 1048576,16 GPU 2 nodes,fp32,1,GB/s busbw,x\n"
                               "collective,H20,all_reduce 1048576,1 GPU 1 node,fp32,1,GB/s busbw,x\n"
                               "collective,H20,all_reduce 1048576,8 GPU 1 node,fp32,1,GB/s algbw,x\n";
    struct ss_bench *b;

    CU_ASSERT_EQUAL_FATAL(parse("H20", 1, rows, &b, NULL), 0);
    CU_ASSERT_EQUAL(b->npoints, 2);
    CU_ASSERT_EQUAL(b->nskipped, 16);
    ss_bench_free(b);
    CU_ASSERT_EQUAL_FATAL(parse("H20", 0, rows, &b, NULL), 0);
    CU_ASSERT_EQUAL(b->npoints, 1); /* a card without fp8 */
    ss_bench_free(b);
}

static void test_refused(void)
{
    struct ss_bench *b;
    struct ss_error err = {0};

    CU_ASSERT_EQUAL(parse("H20", 1, "gemm,H100,M=1 N=2 K=3,1 GPU,bf16,1,TFLOP/s,x\n", &b, &err),
                    SS_ERR_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "H20"));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.hint, "H20"));
    CU_ASSERT_EQUAL(parse("H20", 1,
                          "gemm,H20,M=1 N=2 K=3,1 GPU,bf16,1,TFLOP/s,x\n"
                          "gemm,H20,M=1 N=2 K=3,1 GPU,bf16,fast,TFLOP/s,x\n",
                          &b, &err),
                    SS_ERR_INPUT);
    CU_ASSERT_EQUAL(err.line, 3);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "fast"));
    CU_ASSERT_EQUAL(parse("H20", 1, "gemm,H20,M=1 N=2 K=3,1 GPU,bf16,0,TFLOP/s,x\n", &b, &err), SS_ERR_INPUT);
    CU_ASSERT_EQUAL(ss_bench_parse("a,b\n1,2\n", 8, "b.csv", &(struct ss_card){.name = "H20"}, &b, &err),
                    SS_ERR_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "\"kind\""));
}

/* ---- a fit finds the numbers of a card whose measurements it gets ---- */

static const struct {
    const char *id, *value;
} hidden[] = {
    {"ss.gemm.efficiency.bf16", "0.85"}, {"ss.gemm.efficiency.fp8", "0.6"}, {"ss.gemm.k_prologue", "150"},
    {"ss.gemm.k_prologue.fp8", "300"},   {"ss.gemm.small_tile", "0.9"},     {"ss.hbm.efficiency", "0.8"},
    {"ss.kernel_latency", "2us"},        {"ss.pcie.bandwidth", "40GBps"},   {"ss.nvlink.efficiency", "0.7"},
    {"ss.nvlink.half_size", "8MB"},      {"ss.nvlink.step_latency", "3us"}, {"ss.nvls.efficiency", "0.6"},
    {"ss.nvls.latency", "30us"}};

static void put_gemms(const struct ss_platform *platform, int precision, FILE *f)
{
    static const double sizes[] = {512, 1280, 4096, 8192};

    for (int i = 0; i < 64; i++) {
        struct ss_bench_point p = {.kind = SS_BENCH_GEMM,
                                   .precision = precision,
                                   .accumulate = i % 3 == 2,
                                   .m = sizes[i % 4],
                                   .n = sizes[i / 4 % 4],
                                   .k = sizes[i / 16]};
        fprintf(f, "gemm,NVIDIA H200,M=%.0f N=%.0f K=%.0f%s,1 GPU,%s,%.9g,TFLOP/s,x\n", p.m, p.n, p.k,
                p.accumulate ? " wgrad" : "", ss_precision_name(precision),
                2e-12 * p.m * p.n * p.k / ss_bench_seconds(platform, &p));
    }
}

static void put_bytes(const struct ss_platform *platform, int kind, const char *name, double passes, FILE *f)
{
    for (double bytes = 65536; bytes < 1e9; bytes *= 16) {
        struct ss_bench_point p = {.kind = kind, .bytes = bytes};
        fprintf(f, "memcpy,NVIDIA H200,%s %.0f,1 GPU,,%.9g,GB/s,x\n", name, bytes,
                1e-9 * passes * bytes / ss_bench_seconds(platform, &p));
    }
}

static void put_collectives(const struct ss_platform *platform, const char *name, int kind, double passes,
                            FILE *f)
{
    for (double bytes = 1 << 20; bytes < 1e10; bytes *= 4)
        for (int n = 2; n <= 8; n += 3) {
            struct ss_bench_point p = {
                .kind = SS_BENCH_COLLECTIVE, .collective = kind, .bytes = bytes, .group = {n, 1, n}};
            fprintf(f, "collective,NVIDIA H200,%s %.0f,%d GPU 1 node,fp32,%.9g,GB/s busbw,x\n", name, bytes,
                    n, 1e-9 * passes * (n - 1) / n * bytes / ss_bench_seconds(platform, &p));
        }
}

static void write_hidden(const char *path)
{
    struct ss_bench_point launch = {.kind = SS_BENCH_LAUNCH};
    struct ss_platform_options none = {0};
    struct ss_platform *p;
    FILE *f = fopen(path, "w");

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT_EQUAL_FATAL(ss_platform_load("h200", &none, &p, NULL), 0);
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++)
        CU_ASSERT_EQUAL_FATAL(ss_platform_set(p, hidden[i].id, hidden[i].value, NULL), 0);
    fputs(HEAD, f);
    put_gemms(p, SS_BF16, f);
    put_gemms(p, SS_FP8, f);
    put_bytes(p, SS_BENCH_COPY, "copy kernel", 2, f);
    put_bytes(p, SS_BENCH_PCIE, "H2D", 1, f);
    put_collectives(p, "all_reduce", SS_COLL_ALL_REDUCE, 2, f);
    put_collectives(p, "all_gather", SS_COLL_ALL_GATHER, 1, f);
    fprintf(f, "launch,NVIDIA H200,\"empty kernel, start to start\",1 GPU,,%.9g,us,x\n",
            1e6 * ss_bench_seconds(p, &launch));
    CU_ASSERT_EQUAL(fclose(f), 0);
    ss_platform_free(p);
}

static void test_finds_hidden(void)
{
    char path[] = "/tmp/stepsim-microbench-XXXXXX";
    struct ss_calibrate_options opt = {.platform = "h200", .microbench = path};
    struct ss_platform_options none = {0};
    struct ss_calibration *c;
    struct ss_platform *p;
    int fd = mkstemp(path);

    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    write_hidden(path);
    CU_ASSERT_EQUAL_FATAL(ss_platform_load("h200", &none, &p, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_calibrate(&opt, &c, NULL), 0);
    CU_ASSERT_EQUAL(c->nprops, (int)(sizeof hidden / sizeof hidden[0]));
    CU_ASSERT(c->before.mean_abs > 5);
    CU_ASSERT(c->after.worst_abs < 0.5);
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++) {
        double want = 0;
        CU_ASSERT_EQUAL(ss_platform_set(p, hidden[i].id, hidden[i].value, NULL), 0);
        want = ss_study_prop_get(hidden[i].id, p, NULL);
        for (int k = 0; k < c->nprops; k++)
            if (!strcmp(c->props[k].id, hidden[i].id)) {
                CU_ASSERT(c->props[k].determined);
                CU_ASSERT_DOUBLE_EQUAL(c->props[k].after / want, 1, 0.01);
                want = 0;
            }
        CU_ASSERT_EQUAL(want, 0); /* was fitted */
    }
    ss_calibration_free(c);
    ss_platform_free(p);
    unlink(path);
}

int main(void)
{
    static const struct {
        const char *name;
        void (*test)(void);
    } tests[] = {{"kinds", test_kinds},
                 {"skipped", test_skipped},
                 {"refused", test_refused},
                 {"finds hidden", test_finds_hidden}};

    if (CU_initialize_registry() != CUE_SUCCESS)
        return 2;
    CU_pSuite s = CU_add_suite("microbench", NULL, NULL);
    for (size_t i = 0; s && i < sizeof tests / sizeof tests[0]; i++)
        if (!CU_add_test(s, tests[i].name, tests[i].test))
            return 2;
    CU_basic_set_mode(CU_BRM_NORMAL);
    CU_basic_run_tests();
    int bad = CU_get_number_of_failures() > 0 || CU_get_number_of_tests_run() == 0;
    CU_cleanup_registry();
    return bad;
}
