/* SPDX-License-Identifier: Apache-2.0 */
/* Curves in tables of kernels: which rows they price, what is left out, and that a fit finds numbers that were hidden. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cost/curve.h"
#include "study/curves.h"
#include "suite.h"

#define HEAD "kind,gpu,shape_or_bytes,ranks/nodes,precision,measured value,unit,source\n"

static struct ss_card make(void)
{
    struct ss_card c = {.name = "H100-80GB",
                        .sm_count = 100,
                        .sm_clock = 1e9,
                        .peak_bf16 = 1e15,
                        .peak_fp8 = 2e15,
                        .hbm_bandwidth = 1e12};
    return c;
}

static const char *read_row(struct ss_bench_row row, struct ss_bench_point *p)
{
    struct ss_card card = make();

    row.gpu = "H100";
    row.ranks = row.ranks ? row.ranks : "1 GPU";
    row.precision = row.precision ? row.precision : "bf16";
    row.unit = row.unit ? row.unit : "us";
    row.source = row.source ? row.source : "aic:x";
    row.value = row.value > 0 ? row.value : 100;
    return ss_bench_point_read(&row, &card, p);
}

TEST(words)
{
    static const char gemm[] = "M=100 N=200 K=300";
    struct ss_bench_point p;

    CU_ASSERT_PTR_NULL(read_row(
        (struct ss_bench_row){
            .kind = "gemm", .shape = gemm, .precision = "fp8_block", .unit = "TFLOP/s", .value = 12},
        &p));
    CU_ASSERT_STRING_EQUAL(p.curve->precision, "fp8_block");
    CU_ASSERT_DOUBLE_EQUAL(p.seconds, 1e-6, 1e-18);
    CU_ASSERT(p.size[0] == 100 && p.size[1] == 200 && p.size[2] == 300);
    /* Only aiconfigurator's GEMMs are bursts, and a card without fp4 has no curve of it. */
    CU_ASSERT_PTR_NOT_NULL(read_row(
        (struct ss_bench_row){
            .kind = "gemm", .shape = gemm, .precision = "fp8_block", .unit = "TFLOP/s", .source = "other"},
        &p));
    CU_ASSERT_STRING_EQUAL(
        read_row(
            (struct ss_bench_row){.kind = "gemm", .shape = gemm, .precision = "nvfp4", .unit = "TFLOP/s"},
            &p),
        SS_BENCH_NO_PEAK);
    CU_ASSERT_STRING_EQUAL(
        read_row((struct ss_bench_row){.kind = "mhc:pre", .shape = "tokens=8 sites=2 streams=4"}, &p),
        SS_BENCH_NO_SIZES);
    CU_ASSERT_STRING_EQUAL(read_row((struct ss_bench_row){.kind = "mhc:pre",
                                                          .shape = "tokens=8 sites=2 streams=4 hidden=16",
                                                          .unit = "GB/s"},
                                    &p),
                           SS_BENCH_NO_UNIT);
}

/* 1000 tokens of 3 x 128 channels move 1,536,000 B: no kernel does that in 1 us at 1 TB/s. */
TEST(too_fast)
{
    struct ss_bench_row row = {.kind = "gdn:causal_conv1d_fn",
                               .shape =
                                   "batch_size=1 seq_len=1000 num_k_heads=1 head_k_dim=128 num_v_heads=1 "
                                   "head_v_dim=128",
                               .value = 1};
    struct ss_bench_point p;

    CU_ASSERT_PTR_NOT_NULL(strstr(read_row(row, &p), "faster than its sizes"));
    row.value = 1.6;
    CU_ASSERT_PTR_NULL(read_row(row, &p));
}

TEST(loads)
{
    struct ss_bench_row row = {.kind = "grouped_moe", .precision = "bfloat16"};
    struct ss_bench_point p;
#define SIZES "num_tokens=1000 hidden_size=64 inter_size=32 topk=2 num_experts=8 moe_tp_size=1 "

    row.shape = SIZES "moe_ep_size=4 distribution=balanced";
    CU_ASSERT_PTR_NULL(read_row(row, &p));
    CU_ASSERT(p.size[7] == 500 && p.size[8] == 1 && p.size[9] == 0); /* copies, gated, scattered */
    row.shape = SIZES "moe_ep_size=1 distribution=power_law_1.2";
    row.source = "aic:x nongated";
    CU_ASSERT_PTR_NULL(read_row(row, &p));
    CU_ASSERT_DOUBLE_EQUAL(p.size[7], 2000, 1e-6);
    CU_ASSERT(p.size[8] == 0 && p.size[9] == 1);
    /* The hottest of 4 ranks has more than a quarter, and no more than each of its 2 experts can have. */
    row.shape = SIZES "moe_ep_size=4 distribution=power_law_1.2";
    CU_ASSERT_PTR_NULL(read_row(row, &p));
    CU_ASSERT(p.size[7] > 700 && p.size[7] <= 2000);
    row.shape = SIZES "moe_ep_size=4 distribution=zipf";
    CU_ASSERT_PTR_NOT_NULL(read_row(row, &p));
    row.precision = "w4a16_mxfp4";
    CU_ASSERT_PTR_NOT_NULL(strstr(read_row(row, &p), "no kernel of training"));
#undef SIZES
}

TEST(links)
{
    struct ss_bench_point p;

    CU_ASSERT_PTR_NULL(read_row(
        (struct ss_bench_row){.kind = "all_reduce", .shape = "4096", .ranks = "8 GPUs", .precision = "half"},
        &p));
    CU_ASSERT(p.size[0] == 4096 && p.size[1] == 8);
    /* The table counts two bytes an element of int8, too. */
    CU_ASSERT_PTR_NULL(read_row(
        (struct ss_bench_row){.kind = "all_reduce", .shape = "4096", .ranks = "8 GPUs", .precision = "int8"},
        &p));
    CU_ASSERT_EQUAL(p.size[0], 2048);
    CU_ASSERT_PTR_NOT_NULL(read_row(
        (struct ss_bench_row){.kind = "all_reduce", .shape = "4096", .ranks = "8", .precision = "half"}, &p));
    CU_ASSERT_PTR_NOT_NULL(
        read_row((struct ss_bench_row){.kind = "deepep_combine",
                                       .shape = "hidden=64 tokens=8 topk=2 experts=8 sms=4",
                                       .ranks = "2 nodes"},
                 &p));
}

TEST(models)
{
    struct ss_bench_row row = {.kind = "dsa:sglang_dsa_indexer_flashmla_kv",
                               .shape = "batch=1 seq=4096 heads=16 model=zai-org/GLM-5-FP8 gemm=fp8_block"};
    struct ss_bench_point p;

    CU_ASSERT_PTR_NULL(read_row(row, &p));
    CU_ASSERT(p.size[3] == 1 && p.size[4] == SS_CURVE_FP8_BLOCKS && p.size[6] == 1);
    row.kind = "dsa:sglang_dsa_skip_indexer_flashmla_kv";
    CU_ASSERT_PTR_NULL(read_row(row, &p));
    CU_ASSERT_EQUAL(p.size[6], 0);
    row.shape = "batch=1 seq=4096 heads=16 model=other gemm=fp8_block";
    CU_ASSERT_STRING_EQUAL(read_row(row, &p), SS_BENCH_NO_SIZES);
}

/* ---- fits ---- */

static char path[] = "/tmp/stepsim-curves-XXXXXX";

/* Rows of hyper-connections behind a sublayer on two cards: 5 us and 0.8 of HBM, the second times `slow`. */
static void write_table(double slow, int shuffled)
{
    FILE *f = fopen(path, "w");
    struct ss_card c = {.curve_mhc_post_launch = 5e-6, .curve_mhc_post_rate = 0.8};

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fputs(HEAD, f);
    for (int i = 1; i <= 40; i++)
        for (int card = 0; card < 2; card++) {
            double tokens = 1000 * (shuffled && card ? 41 - i : i);
            c.hbm_bandwidth = card ? 4.8e12 : 3.35e12;
            fprintf(f, "mhc:post,%s,tokens=%d sites=1 streams=4 hidden=4096,1 GPU,bf16,%.6f,us,aic:x\n",
                    card ? "H200" : "H100", 1000 * i,
                    1e6 * ss_curve_streams(&c, 1, tokens, 4, 4096) * (card ? slow : 1));
        }
    CU_ASSERT_EQUAL(fclose(f), 0);
}

static const struct ss_curve_score *score_of(const struct ss_curve_report *r, const char *gpu)
{
    for (int i = 0; i < r->nscores; i++)
        if (!strcmp(r->scores[i].gpu, gpu))
            return &r->scores[i];
    return NULL;
}

static double number_of(const struct ss_curve_report *r, const char *gpu, const char *id)
{
    for (int i = 0; i < r->nnumbers; i++)
        if (!strcmp(r->numbers[i].gpu, gpu) && !strcmp(r->numbers[i].id, id))
            return r->numbers[i].value;
    return NAN;
}

static struct ss_curve_report *leave_out(enum ss_curves_by by)
{
    struct ss_curve_report *r = NULL;

    CU_ASSERT_EQUAL_FATAL(ss_curves_leave_out(path, NULL, by, 7, NULL, &r, NULL), 0);
    return r;
}

TEST(fits)
{
    struct ss_curve_report *r;

    CU_ASSERT_FATAL(mkstemp(path) >= 0);
    write_table(1, 0);
    r = leave_out(SS_CURVES_BY_HALF);
    CU_ASSERT(score_of(r, "h100")->error.n > 10 && score_of(r, "h100")->error.n < 30);
    CU_ASSERT_EQUAL(score_of(r, "all")->error.n, score_of(r, "h100")->error.n + score_of(r, "h200")->error.n);
    CU_ASSERT(score_of(r, "all")->error.worst_abs < 0.5);
    CU_ASSERT_DOUBLE_EQUAL(number_of(r, "h200", "ss.curve.mhc_post.launch"), 5e-6, 5e-8);
    CU_ASSERT_DOUBLE_EQUAL(number_of(r, "h200", "ss.curve.mhc_post.rate"), 0.8, 4e-3);
    ss_curve_report_free(r);
    r = leave_out(SS_CURVES_BY_GPU);
    CU_ASSERT(score_of(r, "all")->error.n == 80 && score_of(r, "all")->error.worst_abs < 0.5);
    CU_ASSERT_DOUBLE_EQUAL(number_of(r, "all", "ss.curve.mhc_post.rate"), 0.8, 4e-3);
    ss_curve_report_free(r);
}

/* An H200 has an H100's SMs and more bandwidth, so that it is no slower. */
TEST(slowed)
{
    struct ss_curve_report *r;

    write_table(2, 0);
    r = leave_out(SS_CURVES_BY_HALF);
    CU_ASSERT_PTR_NULL(score_of(r, "h200"));
    CU_ASSERT_EQUAL_FATAL(r->notes.n, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(r->notes.text[0], "40 of 40 rows are left out"));
    ss_curve_report_free(r);
    /* Times that fall with the tokens are no kernel's, whatever the other card takes. */
    write_table(0.1, 1);
    r = leave_out(SS_CURVES_BY_HALF);
    CU_ASSERT_PTR_NULL(score_of(r, "h200"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r->notes.text[0], "stalls"));
    ss_curve_report_free(r);
    unlink(path);
}

/* NVIDIA's tables, on half of whose shapes the curves are fitted: medians by kind that nothing in the code knows. */
TEST(tables)
{
    static const struct {
        const char *table;
        double most;
    } all[] = {{"gemm", 8}, {"linear", 12}, {"moe", 15}, {"deepep", 15}, {"nccl", 12}, {"sparse", 12}};

    for (size_t t = 0; t < sizeof all / sizeof *all; t++) {
        char name[400];
        struct ss_curve_report *r;
        snprintf(name, sizeof name, "%s/validation/aic-%s.csv.gz", SS_SOURCE_DIR, all[t].table);
        CU_ASSERT_EQUAL_FATAL(ss_curves_leave_out(name, NULL, SS_CURVES_BY_HALF, 1, NULL, &r, NULL), 0);
        for (int i = 0; i < r->nscores; i++)
            if (!strcmp(r->scores[i].gpu, "all") && r->scores[i].error.median_abs > all[t].most)
                CU_FAIL(r->scores[i].kind);
        CU_ASSERT(r->nscores > 5);
        ss_curve_report_free(r);
    }
}
