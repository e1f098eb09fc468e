/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and records in all their forms: what is expected is written by hand. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "report/common.h"
#include "suite.h"

static char written[4096];

static FILE *begin(void)
{
    memset(written, 0, sizeof written);
    return fmemopen(written, sizeof written, "w");
}

static void expect(FILE *f, const char *text)
{
    fclose(f);
    if (strcmp(written, text) != 0)
        fprintf(stderr, "expected\n%s---\nwritten\n%s---\n", text, written);
    CU_ASSERT_STRING_EQUAL(written, text);
}

static void expect_json(json_t *value, const char *text)
{
    char *dump = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

    CU_ASSERT_PTR_NOT_NULL_FATAL(dump);
    if (strcmp(dump, text) != 0)
        fprintf(stderr, "expected\n%s\nwritten\n%s\n", text, dump);
    CU_ASSERT_STRING_EQUAL(dump, text);
    free(dump);
    json_decref(value);
}

/* ---- one table in four forms ---- */

struct job {
    const char *name;
    int gpus;
    double seconds, share, bytes;
};
static const struct job two[] = {{"a<b, c", 8, 0.01234, 0.5, 3 * SS_GIB},
                                 {"longest of all", 1024, 2, NAN, 0.25 * SS_GIB}};

static void job_rows(struct ss_report_table *t, const void *of)
{
    const struct job *jobs = of;

    for (int i = 0; i < 2; i++)
        SS_ROW(t, jobs[i].name, jobs[i].gpus, jobs[i].seconds, jobs[i].share, jobs[i].bytes, i == 0);
}

static const struct ss_report_table jobs = {
    .columns = "job:-5*s:name|GPUs:5d:gpus|time:9t:time_ms:m|MFU:5.1p %:mfu|GiB:6.2G|::first"};

static void test_text(void)
{
    struct ss_report_table t = jobs;
    FILE *f = begin();

    ss_report_table_write(&t, SS_FORM_TEXT, job_rows, two, f);
    expect(f, "job             GPUs      time     MFU    GiB\n"
              "a<b, c             8  12.34 ms  50.0 %   3.00\n"
              "longest of all  1024   2.000 s     -     0.25\n");
    t = jobs;
    t.left_out = 1u << 1 | 1u << 3;
    t.indent = 2;
    t.title = "The jobs";
    f = begin();
    ss_report_table_write(&t, SS_FORM_TEXT, job_rows, two, f);
    expect(f, "The jobs              time    GiB\n"
              "  a<b, c          12.34 ms   3.00\n"
              "  longest of all   2.000 s   0.25\n");
}

static void test_page(void)
{
    struct ss_report_table t = jobs;
    FILE *f = begin();

    t.title = "Two & more";
    t.left_out = 1u << 1;
    ss_report_table_write(&t, SS_FORM_PAGE, job_rows, two, f);
    expect(f, "<div class=\"wide\"><table><caption>Two &amp; more</caption>\n"
              "<thead><tr><th scope=\"col\">job</th><th scope=\"col\">time</th><th scope=\"col\">MFU</th>"
              "<th scope=\"col\">GiB</th></tr></thead>\n<tbody>\n"
              "<tr><th scope=\"row\">a&lt;b, c</th><td>12.34 ms</td><td>50.0 %</td><td>3.00</td></tr>\n"
              "<tr><th scope=\"row\">longest of all</th><td>2.000 s</td><td></td><td>0.25</td></tr>\n"
              "</tbody></table></div>\n");
}

static void test_csv(void)
{
    struct ss_report_table t = jobs;
    FILE *f = begin();

    ss_report_table_write(&t, SS_FORM_CSV, job_rows, two, f);
    expect(f, "name,gpus,time_ms,mfu,first\n\"a<b, c\",8,12.34,0.5,1\nlongest of all,1024,2000,,0\n");
    f = begin();
    struct ss_report_table digits = {.columns = "::name|::gpus|::s:.1f|::pct:.0p|::mib:.4M|hidden:s"};
    ss_report_table_write(&digits, SS_FORM_CSV, job_rows, two, f);
    expect(f, "name,gpus,s,pct,mib\n\"a<b, c\",8,0.0,50,3072.0000\nlongest of all,1024,2.0,,256.0000\n");
}

static void test_json(void)
{
    struct ss_report_table t = jobs;

    expect_json(ss_report_table_json(&t, job_rows, two),
                "[{\"name\":\"a<b, c\",\"gpus\":8,\"time_ms\":12.34,\"mfu\":0.5,\"first\":1},"
                "{\"name\":\"longest of all\",\"gpus\":1024,\"time_ms\":2000.0,\"mfu\":null,\"first\":0}]");
}

/* ---- what a text does with what is odd ---- */

static void odd_rows(struct ss_report_table *t, const void *of)
{
    (void)of;
    ss_report_table_line(t, 0, "a line of %d", 1);
    SS_ROW(t, "far too long", -3, -0.04, "x", NAN);
    ss_report_table_line(t, 1, "below the second");
    SS_ROW(t, "y", 4, "refused: why");
    SS_ROW(t, "z", SS_NO_CELL, 1e3, "", SS_NO_CELL);
    SS_ROW(t, (bool)1, 7, 12.0, (bool)0, 0.5);
}

static void test_odd_rows(void)
{
    struct ss_report_table t = {.columns = "name:-4s|n:+3d|value:6.*f|text:   -4s|%:5.0p", .decimals = 1};
    FILE *f = begin();

    ss_report_table_write(&t, SS_FORM_TEXT, odd_rows, NULL, f);
    expect(f, "name   n  value   text     %\n"
              "a line of 1\n"
              "far too long -3    0.0   x        -\n"
              "     below the second\n"
              "y     +4  refused: why\n"
              "z        1000.0\n"
              "yes   +7   12.0   no      50\n");
}

/* A width grows with the longest value that is not longer than the most. */
static void wide_rows(struct ss_report_table *t, const void *of)
{
    (void)of;
    SS_ROW(t, "1234567", 1);
    SS_ROW(t, "12345", 2);
}

static void test_most(void)
{
    struct ss_report_table t = {.columns = "a:-2*6s|b:2d"};
    FILE *f = begin();

    ss_report_table_write(&t, SS_FORM_TEXT, wide_rows, NULL, f);
    expect(f, "a      b\n1234567 1\n12345  2\n");
    t.columns = "a:-2s|b:2d";
    f = begin();
    ss_report_table_begin(&t, f);
    wide_rows(&t, NULL);
    expect(f, "a   b\n1234567 1\n12345 2\n");
}

static void kind_rows(struct ss_report_table *t, const void *of)
{
    (void)of;
    SS_ROW(t, 0.125, 0.25, 0.5e-6, 3 * SS_MIB, 2 * SS_GIB, 7.5e9, 3e12, 123456.0, 8.03e9, 0.451);
}

static void test_kinds(void)
{
    struct ss_report_table t = {.columns = "a:.1p %|b:.0m ms|c:.1u|d:.0M|e:.1G|f:.1N|g:.0T|h:.3g|i:c|j:t"};
    FILE *f = begin();

    ss_report_table_begin(&t, f);
    memset(written, 0, sizeof written);
    rewind(f);
    kind_rows(&t, NULL);
    expect(f, "12.5 % 250 ms 0.5 3 2.0 7.5 3 1.23e+05 8.03B 451.0 ms\n");
}

static void page_rows(struct ss_report_table *t, const void *of)
{
    (void)of;
    SS_ROW(t, "a", "<b>bold</b>", "<i>");
    SS_ROW(t, "refused");
    ss_report_table_line(t, 0, "nothing on a page");
}

static void test_page_texts(void)
{
    struct ss_report_table t = {.columns = "x:s|raw:h|text:s"};
    FILE *f = begin();

    ss_report_table_write(&t, SS_FORM_PAGE, page_rows, NULL, f);
    expect(f, "<div class=\"wide\"><table>\n<thead><tr><th scope=\"col\">x</th><th scope=\"col\">raw</th>"
              "<th scope=\"col\" class=\"text\">text</th></tr></thead>\n<tbody>\n"
              "<tr><th scope=\"row\">a</th><td><b>bold</b></td><td class=\"text\">&lt;i&gt;</td></tr>\n"
              "<tr><th scope=\"row\" colspan=\"3\">refused</th></tr>\n</tbody></table></div>\n");
}

/* ---- objects and records ---- */

struct thing {
    char name[8];
    const char *word;
    int whole, flag, index, none;
    long long large;
    double number;
};
static const struct thing thing = {"a", "b", 3, 1, 2, -1, 1LL << 40, 0.1};

static json_t *thing_object(const void *row)
{
    const struct thing *t = row;

    return SS_OBJECT(SS_SAME(t, name), SS_SAME(t, word), SS_SAME(t, whole), SS_SAME(t, large), SS_SAME(t, number), SS_FLAG(t, flag),
                     SS_KEY("index", ss_cell_index(t->index)), SS_KEY("none", ss_cell_index(t->none)), SS_KEY_IF(t->whole > 5, "large_one", t->whole),
                     SS_KEY("unknown", ss_known(0)), SS_KEY("minus", -0.0),
                     SS_KEY("inner", SS_OBJECT(SS_KEY("x", 1))));
}

static void test_object(void)
{
    expect_json(
        thing_object(&thing),
        "{\"name\":\"a\",\"word\":\"b\",\"whole\":3,\"large\":1099511627776,\"number\":0.10000000000000001,"
        "\"flag\":true,\"index\":2,\"none\":null,\"unknown\":null,\"minus\":0.0,\"inner\":{\"x\":1}}");
    json_t *list = SS_LIST(thing_object, &thing, 1);
    CU_ASSERT_EQUAL(json_array_size(list), 1);
    json_decref(list);
    const double seconds[SS_LABEL_COUNT] = {1};
    json_t *labels = ss_json_labels(seconds);
    CU_ASSERT_EQUAL(json_object_size(labels), SS_LABEL_COUNT);
    CU_ASSERT_DOUBLE_EQUAL(json_real_value(json_object_get(labels, "compute")), 1000, 0);
    json_decref(labels);
    json_t *spoiled = SS_OBJECT(SS_KEY("a", 1), SS_KEY("b", (json_t *)NULL));
    CU_ASSERT_FALSE(ss_json_is_whole(spoiled));
    ss_json_free(spoiled);
}

static void test_record(void)
{
    struct ss_row r = {0};
    struct ss_summary s = {.iteration_s = 0.5, .gpus = 16, .band_pct = NAN};
    FILE *f = begin();

    SS_ADD(&r, SS_SAME(&thing, name), SS_SAME(&thing, whole), SS_FLAG(&thing, flag), SS_KEY("text", "x, \"y\""),
           SS_KEY("unknown", NAN), SS_KEY_IF(0, "none", 1), SS_KEY("third", 1.0 / 3));
    ss_record_csv(&r, true, f);
    ss_record_csv(&r, false, f);
    ss_record_clear(&r, 2);
    ss_record_csv(&r, false, f);
    expect(f, "name,whole,flag,text,unknown,none,third\na,3,1,\"x, \"\"y\"\"\",,,0.3333333333\na,3,,,,,\n");
    struct ss_row figures = {0};
    ss_row_metrics(&figures, &s);
    CU_ASSERT_EQUAL(figures.n, SS_METRICS);
    CU_ASSERT_STRING_EQUAL(figures.at[0].key, "gpus");
    CU_ASSERT_EQUAL(figures.at[0].cell.kind, SS_CELL_WHOLE);
    CU_ASSERT_EQUAL(figures.at[0].cell.whole, 16);
    CU_ASSERT_EQUAL(figures.at[SS_METRIC_OF_usd_per_iteration].cell.kind, SS_CELL_NONE);
    CU_ASSERT_DOUBLE_EQUAL(figures.at[SS_METRIC_OF_iteration_s].cell.number, 500, 0); /* ms */
}

SUITE(report_table)
{
    CU_TestInfo tests[] = {{"text", test_text},
                           {"page", test_page},
                           {"csv", test_csv},
                           {"json", test_json},
                           {"odd rows", test_odd_rows},
                           {"widths that grow to a most", test_most},
                           {"kinds", test_kinds},
                           {"texts of pages", test_page_texts},
                           {"object", test_object},
                           {"record", test_record},
                           CU_TEST_INFO_NULL};
    return suite_run("report_table", NULL, NULL, tests);
}
