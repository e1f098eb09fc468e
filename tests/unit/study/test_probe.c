/* SPDX-License-Identifier: Apache-2.0 */
/* The probe without a GPU: what it would measure, its statistics, and its table on a card made of paper. */
#include "probe.h"
#include "suite.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "study/calibrate.h"

/* ---- plan ---- */

TEST(plan)
{
    struct probe_plan plan, more;
    int gemms[SS_PRECISION_COUNT] = {0}, passes[3] = {0}, large = 0;

    CU_ASSERT_EQUAL_FATAL(probe_plan_build(40, 1U << SS_BF16 | 1U << SS_FP8, &plan, NULL), 0);
    for (int i = 0; i < plan.n; i++) {
        const struct probe_item *at = &plan.items[i];
        if (at->kind != PROBE_GEMM)
            continue;
        gemms[at->precision]++;
        passes[at->pass]++;
        large += at->m * at->n * at->k > 1L << 40;
        CU_ASSERT(at->m > 0 && at->n > 0 && at->k > 0);
        CU_ASSERT(at->precision != SS_FP8 || (at->m % 16 == 0 && at->n % 16 == 0 && at->k % 16 == 0));
    }
    CU_ASSERT_EQUAL(gemms[SS_BF16], 40);
    CU_ASSERT_EQUAL(gemms[SS_FP8], 40);
    CU_ASSERT_EQUAL(gemms[SS_FP16] + gemms[SS_FP32], 0);
    CU_ASSERT(passes[0] > 15 && passes[1] > 15 && passes[2] > 15); /* evenly */
    CU_ASSERT(large > 5 && large < 60);
    /* A longer list goes on where the shorter one ended. */
    probe_plan_free(&plan);
    CU_ASSERT_EQUAL_FATAL(probe_plan_build(40, 1U << SS_BF16, &plan, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(probe_plan_build(60, 1U << SS_BF16, &more, NULL), 0);
    CU_ASSERT_EQUAL(more.n, plan.n + 20);
    for (int i = 0; i < plan.n; i++) {
        const struct probe_item *a = &plan.items[i], *b = &more.items[i];
        CU_ASSERT(a->kind == b->kind && a->pass == b->pass && a->m == b->m && a->n == b->n && a->k == b->k);
    }
    probe_plan_free(&plan);
    probe_plan_free(&more);
}

static int has(const struct probe_plan *p, int pass, long m, long n, long k)
{
    int found = 0;

    for (int i = 0; i < p->n; i++)
        found += p->items[i].kind == PROBE_GEMM && p->items[i].pass == pass && p->items[i].m == m &&
                 p->items[i].n == n && p->items[i].k == k;
    return found;
}

/* Llama-3.1 70B at tp 8 and 4096 tokens: QKV of (64 + 2 * 8) * 128 / 8 columns, gate and up of 2 * 28672 / 8. */
TEST(shapes)
{
    struct probe_plan all;

    CU_ASSERT_EQUAL_FATAL(probe_plan_build(0, 1U << SS_BF16, &all, NULL), 0);
    CU_ASSERT_EQUAL(has(&all, PROBE_FORWARD, 4096, 1280, 8192), 1);
    CU_ASSERT_EQUAL(has(&all, PROBE_DGRAD, 4096, 8192, 1280), 1);
    CU_ASSERT_EQUAL(has(&all, PROBE_WGRAD, 1280, 8192, 4096), 1);
    CU_ASSERT_EQUAL(has(&all, PROBE_FORWARD, 4096, 7168, 8192), 1);
    CU_ASSERT_EQUAL(has(&all, PROBE_FORWARD, 16384, 8192, 28672), 1);     /* fc2 at tp 1 */
    CU_ASSERT_EQUAL(has(&all, PROBE_FORWARD, 2048, 128512 / 4, 8192), 1); /* logits */
    probe_plan_free(&all);
    CU_ASSERT_EQUAL_FATAL(probe_plan_build(0, 1U << SS_FP8, &all, NULL), 0);
    CU_ASSERT_EQUAL(has(&all, PROBE_FORWARD, 4096, 1280, 8192), 1);
    CU_ASSERT_EQUAL(has(&all, PROBE_FORWARD, 2048, 128512 / 4, 8192), 0);
    probe_plan_free(&all);
}

/* ---- statistics ---- */

TEST(statistics)
{
    struct probe_sample odd = {.n = 5, .seconds = {5, 1, 4, 2, 3}}, even = {.n = 4, .seconds = {4, 1, 3, 2}},
                        one = {.n = 1, .seconds = {7}}, none = {0};

    CU_ASSERT_EQUAL(probe_median(&odd), 3);
    CU_ASSERT_DOUBLE_EQUAL(probe_spread(&odd), 2.0 / 3, 1e-12);
    CU_ASSERT_EQUAL(probe_median(&even), 2.5);
    CU_ASSERT_EQUAL(probe_median(&one), 7);
    CU_ASSERT_EQUAL(probe_spread(&one), 0);
    CU_ASSERT_EQUAL(probe_median(&none), 0);
}

TEST(driver)
{
    char v[16];

    CU_ASSERT(probe_driver_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19\n"
                                   "GCC version:  gcc version 12.2.0\n",
                                   v, sizeof v));
    CU_ASSERT_STRING_EQUAL(v, "535.104.05");
    CU_ASSERT(probe_driver_version("Open Kernel Module for x86_64  570.86", v, sizeof v));
    CU_ASSERT_STRING_EQUAL(v, "570.86");
    CU_ASSERT_FALSE(probe_driver_version("no 2 1234567890.1234567 x1.2", v, sizeof v));
    CU_ASSERT_FALSE(probe_driver_version("", v, sizeof v));
}

/* ---- a card of paper ---- */

static struct {
    int measured, interrupt_at, fail_at;
    const char *name;
} paper;

static int measure(void *card, const struct probe_item *item, struct probe_sample *out, struct ss_error *err)
{
    (void)card;
    if (item->kind == PROBE_COPY && item->bytes > 1L << 30) {
        snprintf(out->why, sizeof out->why, "it does not fit");
        return PROBE_LEFT_OUT;
    }
    if (++paper.measured == paper.interrupt_at)
        raise(SIGINT);
    if (paper.measured == paper.fail_at) {
        snprintf(err->message, sizeof err->message, "torn");
        return SS_ERR_ENGINE;
    }
    out->n = 3;
    out->seconds[0] = out->seconds[2] = 1e-3;
    out->seconds[1] = 5;
    out->sm_clock = 1.5e9;
    return SS_OK;
}

static void put_away(void *card)
{
    (void)card;
}

static int open_paper(int index, struct probe_device *out, struct ss_error *err)
{
    if (index) {
        snprintf(err->message, sizeof err->message, "no GPU %d", index);
        return SS_ERR_ENGINE;
    }
    snprintf(out->gpu, sizeof out->gpu, "%s", paper.name);
    snprintf(out->about, sizeof out->about, "driver 1.2, CUDA 3.4");
    out->precisions = 1U << SS_BF16;
    out->measure = measure;
    out->close = put_away;
    return SS_OK;
}

static char file[] = "/tmp/stepsim-probe-XXXXXX.csv";

/* The program with these words and nothing on stderr. */
static int start(const char *a, const char *b, const char *c, const char *d)
{
    char *argv[] = {"stepsim-probe", (char *)a, (char *)b, (char *)c, (char *)d, NULL};
    int argc = 1, saved = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY), status;

    while (argv[argc])
        argc++;
    paper.measured = 0;
    fflush(stderr);
    dup2(null, STDERR_FILENO);
    status = probe_main(argc, argv, open_paper);
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(null);
    return status;
}

static size_t rows(void)
{
    struct ss_csv *csv;
    size_t n;

    CU_ASSERT_EQUAL_FATAL(ss_csv_load(file, &csv, NULL), 0);
    n = ss_csv_rows(csv);
    ss_csv_free(csv);
    return n;
}

TEST(resumes)
{
    size_t all;

    paper.name = "NVIDIA H20";
    unlink(file);
    paper.interrupt_at = 20;
    CU_ASSERT_EQUAL(start("-o", file, "--gemms", "30"), 130);
    CU_ASSERT_EQUAL(paper.measured, 20);
    CU_ASSERT_EQUAL(rows(), 20); /* the one under way is kept */
    paper.interrupt_at = 0;
    CU_ASSERT_EQUAL(start("-o", file, "--gemms", "30"), 0);
    all = rows();
    CU_ASSERT_EQUAL((size_t)paper.measured, all - 20);
    CU_ASSERT_EQUAL(start("-o", file, "--gemms", "30"), 0);
    CU_ASSERT_EQUAL(paper.measured, 0);
    paper.fail_at = 6;
    CU_ASSERT_EQUAL(start("-o", file, "--gemms", "40"), 3);
    CU_ASSERT_EQUAL(rows(), all + 5);
    paper.fail_at = 0;
}

/* What the probe writes is what calibrate reads. */
TEST(is_read)
{
    const struct ss_card card = {.name = "H20", .peak_bf16 = 1e14};
    struct ss_bench *bench;
    struct ss_csv *csv;

    CU_ASSERT_EQUAL_FATAL(ss_bench_load(file, &card, &bench, NULL), 0);
    CU_ASSERT_EQUAL((size_t)bench->npoints, rows() - 1);
    CU_ASSERT_EQUAL(bench->nskipped, 1); /* the host's time for a launch is not the card's */
    for (int i = 0; i < bench->npoints; i++)
        CU_ASSERT_DOUBLE_EQUAL(bench->points[i].seconds, 1e-3, 1e-8);
    ss_bench_free(bench);
    CU_ASSERT_EQUAL_FATAL(ss_csv_load(file, &csv, NULL), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(ss_csv_field(csv, 0, ss_csv_column(csv, "source")),
                                  "driver 1.2, CUDA 3.4, SM clock 1500 MHz, median of 3"));
    ss_csv_free(csv);
}

TEST(refused)
{
    FILE *f;

    paper.name = "NVIDIA H200";
    CU_ASSERT_EQUAL(start("-o", file, NULL, NULL), 3); /* rows of an H20 */
    CU_ASSERT_EQUAL(paper.measured, 0);
    f = fopen(file, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fputs("id,iteration_ms\n1,2\n", f);
    fclose(f);
    CU_ASSERT_EQUAL(start("-o", file, NULL, NULL), 3); /* another table */
    CU_ASSERT_EQUAL(rows(), 1);
    unlink(file);
    CU_ASSERT_EQUAL(start("-o", "/no/such/folder.csv", NULL, NULL), 3);
    CU_ASSERT_EQUAL(paper.measured, 0);
    CU_ASSERT_EQUAL(start("--device", "1", NULL, NULL), 3);
    CU_ASSERT_EQUAL(start("--gemms", "few", NULL, NULL), 2);
    CU_ASSERT_EQUAL(start("-o", NULL, NULL, NULL), 2);
    CU_ASSERT_EQUAL(start("--fast", NULL, NULL, NULL), 2);
}

SUITE(probe)
{
    int fd = mkstemps(file, 4);

    if (fd < 0 || close(fd))
        return 2;
    int bad = suite_file(argv[0], NULL, NULL);
    unlink(file);
    return bad;
}
