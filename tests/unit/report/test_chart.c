/* SPDX-License-Identifier: Apache-2.0 */
/* The chart kit: where its scales put values, and what it writes, computed by hand. */
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "report/chart.h"
#include "report/page.h"
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

/* 100 px across for 0 to 4 s from x = 10 on, 50 px up for 0 to 8 GiB down to y = 70. */
static struct ss_chart chart(FILE *out)
{
    return (struct ss_chart){out, 10, 20, 100, 50, {0, 4, false}, {0, 8 * SS_GIB, false}};
}

static void test_scales(void)
{
    struct ss_chart c = chart(NULL);

    CU_ASSERT_DOUBLE_EQUAL(ss_chart_x(&c, 1), 35, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ss_chart_x(&c, 6), 160, 1e-12); /* beyond the frame */
    CU_ASSERT_DOUBLE_EQUAL(ss_chart_y(&c, 0), 70, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ss_chart_y(&c, 2 * SS_GIB), 57.5, 1e-12);
    c.across = (struct ss_chart_scale){10, 1000, true};
    CU_ASSERT_DOUBLE_EQUAL(ss_chart_x(&c, 10), 10, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ss_chart_x(&c, 100), 60, 1e-12); /* the middle of two decades */
    c.across.to = 10;
    CU_ASSERT_DOUBLE_EQUAL(ss_chart_x(&c, 10), 60, 1e-12); /* one value alone is in the middle */
}

static void test_lines(void)
{
    FILE *f = begin();
    struct ss_chart c = chart(f);

    ss_chart_line(&c, true, "cap", 4 * SS_GIB, NULL);
    ss_chart_line(&c, false, "grid", 3, "3 <s>");
    c.up.to = 2 * SS_GIB;
    ss_chart_gib(&c, true, 2, " GiB"); /* 0, 1 and 2 */
    expect(f, "<path class=\"cap\" d=\"M10 45L110 45\"/>\n"
              "<path class=\"grid\" d=\"M85 20L85 70\"/>\n"
              "<text x=\"85\" y=\"86\" class=\"small muted mid\">3 &lt;s&gt;</text>\n"
              "<path class=\"grid\" d=\"M10 70L110 70\"/>\n"
              "<text x=\"4\" y=\"74\" class=\"small muted end\">0 GiB</text>\n"
              "<path class=\"grid\" d=\"M10 45L110 45\"/>\n"
              "<text x=\"4\" y=\"49\" class=\"small muted end\">1 GiB</text>\n"
              "<path class=\"grid\" d=\"M10 20L110 20\"/>\n"
              "<text x=\"4\" y=\"24\" class=\"small muted end\">2 GiB</text>\n");
}

static void test_marks(void)
{
    static const struct ss_chart_part parts[] = {{"compute", "#111111", 1},
                                                 {"bubble", "#222222", 0},
                                                 {"unknown", "#333333", NAN},
                                                 {"tp", "#444444", 0.5}};
    FILE *f = begin();
    struct ss_chart c = chart(f);

    ss_chart_dot(&c, 2, 8 * SS_GIB, 2.5, "#123456", " fill-opacity=\".5\"", "a & b");
    ss_chart_bar(&c, 30, 22, "A, ", parts, 4, false);
    expect(f, "<circle fill-opacity=\".5\" cx=\"60\" cy=\"20\" r=\"2.5\" fill=\"#123456\"><title>a &amp; "
              "b</title></circle>\n"
              "<rect class=\"b\" x=\"10\" y=\"30\" width=\"25\" height=\"22\" fill=\"#111111\">"
              "<title>A, compute: 1.000 s</title></rect>\n"
              "<rect class=\"b\" x=\"35\" y=\"30\" width=\"12.5\" height=\"22\" fill=\"#444444\">"
              "<title>A, tp: 500.0 ms</title></rect>\n");
    char value[32];
    CU_ASSERT_STRING_EQUAL(ss_chart_value(1.5 * SS_GIB, true, value, sizeof value), "1.50 GiB");
}

/* A key is 34 px and 6.4 px a letter; one that would begin beyond x = 100 begins below. */
static void test_legend(void)
{
    FILE *f = begin();
    struct ss_legend l = ss_legend_at(f, 10, 46, 100);

    ss_legend_key(&l, "#111111", "a key");
    ss_legend_key(&l, "url(#idle)", "another");
    ss_legend_key(&l, "#222222", "below");
    CU_ASSERT_DOUBLE_EQUAL(l.x, 76, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(l.y, 66, 0);
    expect(f, "<rect x=\"10\" y=\"46\" width=\"14\" height=\"12\" rx=\"2\" fill=\"#111111\"/>"
              "<text x=\"29\" y=\"56\" class=\"small\">a key</text>\n"
              "<rect x=\"76\" y=\"46\" width=\"14\" height=\"12\" rx=\"2\" fill=\"url(#idle)\"/>"
              "<text x=\"95\" y=\"56\" class=\"small\">another</text>\n"
              "<rect x=\"10\" y=\"66\" width=\"14\" height=\"12\" rx=\"2\" fill=\"#222222\"/>"
              "<text x=\"29\" y=\"76\" class=\"small\">below</text>\n");
    struct ss_legend measured = ss_legend_at(NULL, 10, 46, INFINITY);
    ss_legend_key(&measured, "#111111", "a key");
    CU_ASSERT_DOUBLE_EQUAL(measured.x, 76, 1e-9);
}

static void test_markup(void)
{
    FILE *f = begin();

    ss_markup(f, "<a b=\"%s\" c=\"%g\" d=\"%g\">%d %lld %.1f %.3g %e%%%.4s|%.3s</a>\n", "x\"<>&", 1.25,
              -0.001, 3, 1LL << 40, 0.25, 1234.0, 10.0, "a&bcdef", "\303\266\303\266");
    expect(f, "<a b=\"x&quot;&lt;&gt;&amp;\" c=\"1.25\" d=\"0\">3 1099511627776 0.2 1.23e+03 1.000000e+01%"
              "a&amp;bc|\303\266</a>\n");
}

SUITE(chart)
{
    CU_TestInfo tests[] = {{"scales", test_scales}, {"lines", test_lines},   {"marks", test_marks},
                           {"legend", test_legend}, {"markup", test_markup}, CU_TEST_INFO_NULL};
    return suite_run("chart", NULL, NULL, tests);
}
