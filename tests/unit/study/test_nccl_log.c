/* SPDX-License-Identifier: Apache-2.0 */
/* What is read of the text that nccl-tests print, and what of it is damage. */

#include "base/base.h"
#include "study/calibrate.h"
#include "suite.h"

static const char nccl[] =
    "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 1073741824 step: 4(factor) warmup iters: 5 iters: 20\n"
    "#\n"
    "# Using devices\n"
    "#  Rank  0 Group  0 Pid    100 on     node-a device  0 [0x0f] A card\n"
    "#  Rank  1 Group  0 Pid    101 on     node-a device  1 [0x10] A card\n"
    "#  Rank  2 Group  0 Pid    102 on     node-b device  0 [0x0f] A card\n"
    "#  Rank  3 Group  0 Pid    103 on     node-b device  1 [0x10] A card\n"
    "#\n"
    "#                                                              out-of-place                       "
    "in-place          \n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   "
    "busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  "
    "(GB/s)       \n"
    "     1048576        262144     float     sum      -1    105.9    9.90   14.85      0    104.0   10.08   "
    "15.12      0\n"
    "[1,0]<stdout>:    16777216       4194304     float     sum      -1    413.6   40.56   60.84      0    "
    "415.0   40.42   60.63    N/A\n"
    "# Out of bounds values : 0 OK\n"
    "# Avg bus bandwidth    : 37.8\n";

TEST(nccl)
{
    struct ss_nccl_log *log;
    struct ss_error err = {0};

    CU_ASSERT_EQUAL_FATAL(ss_nccl_parse(nccl, strlen(nccl), "n.txt", &log, &err), 0);
    CU_ASSERT_STRING_EQUAL(log->operation, "all_reduce");
    CU_ASSERT_EQUAL(log->ranks, 4);
    CU_ASSERT_EQUAL(log->nodes, 2);
    CU_ASSERT_EQUAL_FATAL(log->npoints, 2);
    CU_ASSERT_EQUAL(log->points[1].bytes, 16777216);
    CU_ASSERT_DOUBLE_EQUAL(log->points[0].seconds, 104.0e-6, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(log->points[1].seconds, 413.6e-6, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(log->traffic, 1.5, 1e-3);
    CU_ASSERT_EQUAL(log->per_thread, 1);
    ss_nccl_free(log);
    char one[sizeof nccl];
    memcpy(one, nccl, sizeof one);
    *strstr(strstr(one, "nGpus"), "1") = '4'; /* -g 4: one thread issues to all */
    CU_ASSERT_EQUAL_FATAL(ss_nccl_parse(one, strlen(one), "n.txt", &log, &err), 0);
    CU_ASSERT_EQUAL(log->per_thread, 4);
    ss_nccl_free(log);
    CU_ASSERT_EQUAL(ss_nccl_issue_seconds(1), 0);
    CU_ASSERT_DOUBLE_EQUAL(ss_nccl_issue_seconds(4), 16.88e-6, 0.1e-6); /* nccl-tests' issue 123 */
    CU_ASSERT_EQUAL(ss_nccl_parse("hello\n1 2 3\n", 12, "n.txt", &log, &err), SS_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(err.file, "n.txt");
    /* what nccl-tests print behind their figures, and what people write there, is no second run */
    char tail[2 * sizeof nccl];
    snprintf(tail, sizeof tail,
             "%s# Collective test concluded: all_reduce_perf\n# compare all_gather_perf next\n", nccl);
    CU_ASSERT_EQUAL_FATAL(ss_nccl_parse(tail, strlen(tail), "n.txt", &log, &err), 0);
    CU_ASSERT_EQUAL(log->npoints, 2);
    ss_nccl_free(log);
    snprintf(tail, sizeof tail, "all_gather_perf -b 1M && all_reduce_perf -b 1M\n%s", nccl);
    CU_ASSERT_EQUAL_FATAL(ss_nccl_parse(tail, strlen(tail), "n.txt", &log, &err), 0);
    CU_ASSERT_STRING_EQUAL(log->operation, "all_gather");
    ss_nccl_free(log);
    /* two runs, of one operation or of two */
    static const char *const second[] = {nccl, "# Collective test starting: all_gather_perf\n"};
    for (size_t i = 0; i < 2; i++) {
        char both[2 * sizeof nccl];
        snprintf(both, sizeof both, "# Collective test starting: all_reduce_perf\n%s%s", nccl, second[i]);
        CU_ASSERT_EQUAL(ss_nccl_parse(both, strlen(both), "n.txt", &log, &err), SS_ERR_INPUT);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "a second run of nccl-tests, after 2 sizes"));
    }
}

#define NCCL_COLUMNS                                                                                         \
    "# all_gather_perf\n\n# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"

/* What is damaged is refused with its line: neither another column nor the rest of the log stands for it. */
TEST(nccl_damage)
{
    static const struct {
        const char *line;
        double us; /* 0: refused */
        const char *why;
    } rows[] = {
        {"64 16 float none -1 5.0 1.0 1.0 0 4.0 1.0 1.0 N/A", 4, NULL},
        {"64 16 float none -1 5.0 1.0 1.0 0 4.0 1.0 1.0 0 2026-11-28 14:00:00", 4, NULL}, /* -S 1 */
        {"64 16 float none -1 5.0 1.0 1.0 0", 5, NULL},          /* a replayed trace is in place alone */
        {"64 16 float -1 5.0 1.0 1.0 0 4.0 1.0 1.0 0", 4, NULL}, /* 2022: redop is blank */
        {"0 0 float none -1 0.00 nan 0.00 0 0.00 nan 0.00 0", 0,
         "no line of sizes"}, /* fewer bytes than ranks */
        {"64 16 float none -1 -5.0 1.0 1.0 0 4.0 1.0 1.0 0", 0, "\"-5.0\" is no time"},
        {"64 16 float none -1 5.0 1.0 1.0 0 nan 1.0 1.0 0", 0, "\"nan\" is no time"},
        {"64 16 float none -1 5.0 1.0 1.0 0 inf 1.0 1.0 0", 0, "\"inf\" is no time"},
        {"64 16 float none -1 0.00 1.0 1.0 0 4.0 1.0 1.0 0", 0, "\"0.00\" is no time"},
        {"64 16 float none -1 5.0 1.0 1.0 0 4", 0, "10 of 13 columns"},
        {"64 16 float none -1 5.0 1.0 1.0 0 4.0 1.0 1.0 7", 0, "#wrong above 0"},
        {"64 16 float none -1 5", 0, "6 of 13 columns"},
        {"64 16 fl", 0, "3 of 13 columns"},
        {"64", 0, "1 of 13 columns"},
        {"64\n128 32 float none -1 5.0 1.0 1.0 0 4.0 1.0 1.0 0", 4,
         NULL}, /* a number that a launcher printed */
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ss_nccl_log *log;
        struct ss_error err = {0};
        char text[400];
        snprintf(text, sizeof text, NCCL_COLUMNS "%s", rows[i].line);
        int rc = ss_nccl_parse(text, strlen(text), "n.txt", &log, &err);
        CU_ASSERT_EQUAL(rc, rows[i].us > 0 ? SS_OK : SS_ERR_INPUT);
        if (!rc && rows[i].us > 0) {
            CU_ASSERT_EQUAL(log->npoints, 1);
            CU_ASSERT_DOUBLE_EQUAL(log->points[0].seconds, 1e-6 * rows[i].us, 1e-12);
        }
        if (rc && rows[i].why)
            CU_ASSERT(strstr(err.message, rows[i].why) &&
                      err.line == (strncmp(rows[i].line, "0 ", 2) ? 4 : 0));
        if (!rc)
            ss_nccl_free(log);
    }
}

/* Reads `nccl` with `prefix` before every line, then a row of its own. */
static int read_behind(const char *prefix, const char *more, struct ss_nccl_log **log, struct ss_error *err)
{
    char text[8192] = "";

    for (const char *at = nccl; *at; at += strcspn(at, "\n") + 1)
        ss_append(text, sizeof text, "%s%.*s\n", prefix, (int)strcspn(at, "\n"), at);
    ss_append(text, sizeof text, "%s%s\n", prefix, more);
    return ss_nccl_parse(text, strlen(text), "n.txt", log, err);
}

/* What launchers, shells, containers and loggers write before each line is no part of it. */
TEST(nccl_prefixes)
{
    static const char *const prefixes[] = SS_VALUES(
        "[0]", "[0] ", "[1,0]<stdout>:", "[1,0]<stdout>: ", "0: ", " 12: ", "worker-0: ", "10.0.0.1: ",
        "node-7:", "[rank0]: ", "2025-03-14T10:11:12.123456789Z ", "2025-03-14T10:11:12Z stdout F ",
        "(RayWorker pid=4711, ip=10.0.0.2) ",
        "Mar 14 10:11:12 node7 torchrun[4711]: ", "2025-03-14 10:11:12.123 | INFO     | bench:run:42 - ",
        "#12 0.534 ", "| ");

    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        struct ss_nccl_log *log = NULL;
        struct ss_error err = {0};

        CU_ASSERT_EQUAL_FATAL(read_behind(prefixes[i], "# Out of bounds values : 0 OK", &log, &err), 0);
        CU_ASSERT_EQUAL(log->npoints, 2);
        CU_ASSERT_EQUAL(log->ranks, 4);
        CU_ASSERT_EQUAL(log->nodes, 2);
        CU_ASSERT_DOUBLE_EQUAL(log->points[1].seconds, 413.6e-6, 1e-12);
        ss_nccl_free(log);
        CU_ASSERT_EQUAL(read_behind(prefixes[i], "# Out of bounds values : 3 FAILED", &log, &err),
                        SS_ERR_INPUT);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "FAILED"));
        CU_ASSERT_EQUAL(read_behind(prefixes[i], "33554432 8388608 fl", &log, &err), SS_ERR_INPUT); /* cut */
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "3 of 13 columns"));
    }
}

/* Two ranks move as much as the buffer holds in any collective: the count tells a sum of all from one of shares. */
TEST(nccl_guess)
{
    static const struct {
        const char *row, *operation;
    } rows[] = {{"64 16 float sum -1 5.0 1.0 1.0 0 4.0 1.0 1.0 0", "all_reduce"},
                {"64 32 bfloat16 sum -1 5.0 1.0 1.0 0 4.0 1.0 1.0 0", "all_reduce"},
                {"64 8 float sum -1 5.0 1.0 1.0 0 4.0 1.0 1.0 0", "reduce_scatter"},
                {"64 16 float sum 0 5.0 1.0 1.0 0 4.0 1.0 1.0 0", ""},
                {"64 8 float none -1 5.0 1.0 1.0 0 4.0 1.0 1.0 0", ""}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ss_nccl_log *log = NULL;
        struct ss_error err = {0};
        char text[400];

        snprintf(text, sizeof text,
                 "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n%s\n",
                 rows[i].row);
        CU_ASSERT_EQUAL_FATAL(ss_nccl_parse(text, strlen(text), "n.txt", &log, &err), 0);
        CU_ASSERT_STRING_EQUAL(log->operation, rows[i].operation);
        ss_nccl_free(log);
    }
}
