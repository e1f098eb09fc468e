/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as JSON, text and CSV: what is expected is written by hand. */
#include <jansson.h>

#include "report/common.h"
#include "suite.h"

static char written[2048];

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

static void expect_json(struct ss_json *value, const char *text)
{
    char *whole = ss_json_text(value);
    json_t *read = json_loads(whole ? whole : "", 0, NULL);
    char *dump = json_dumps(read, JSON_COMPACT);

    CU_ASSERT_PTR_NOT_NULL_FATAL(dump);
    if (strcmp(dump, text) != 0)
        fprintf(stderr, "expected\n%s\nwritten\n%s\n", text, dump);
    CU_ASSERT_STRING_EQUAL(dump, text);
    free(dump);
    free(whole);
    json_decref(read);
}

struct thing {
    char name[16];
    int gpus, first;
    long long large;
    double seconds, share;
};
static const struct thing two[] = {{"a<b, c", 8, 1, 1LL << 40, 0.01234, 0.5},
                                   {"longest of all", 1024, 0, 3, 2, NAN}};

static void fill_row(struct ss_row *r, const struct thing *t)
{
    SS_ADD(r, SS_SAME(t, name), SS_SAME(t, gpus), SS_KEY("time_ms", 1e3 * t->seconds), SS_SAME(t, share));
    SS_ADD(r, SS_TRUTH(t, first), SS_SAME(t, large), SS_KEY_IF(t->first, "once", "x \"y\""));
}

static struct ss_json *object(const void *thing)
{
    struct ss_row r = {0};

    fill_row(&r, thing);
    return ss_json_object(r.at);
}

TEST(json)
{
    expect_json(
        SS_LIST(object, two, 2),
        "[{\"name\":\"a<b, c\",\"gpus\":8,\"time_ms\":12.34,\"share\":0.5,\"first\":true,"
        "\"large\":1099511627776,\"once\":\"x \\\"y\\\"\"},"
        "{\"name\":\"longest of all\",\"gpus\":1024,\"time_ms\":2000.0,\"share\":null,\"first\":false,"
        "\"large\":3}]");
    expect_json(SS_OBJECT(SS_KEY("minus", -0.0), SS_KEY("index", ss_cell_index(2)),
                          SS_KEY("none", ss_cell_index(-1)), SS_KEY("unknown", ss_known(0)),
                          SS_KEY("inner", SS_OBJECT(SS_KEY("x", 1)))),
                "{\"minus\":0.0,\"index\":2,\"none\":null,\"unknown\":null,\"inner\":{\"x\":1}}");
    const double seconds[SS_LABEL_COUNT] = {1};
    char *text = ss_json_text(ss_json_labels(seconds));
    json_t *labels = json_loads(text ? text : "", 0, NULL);
    CU_ASSERT_EQUAL(json_object_size(labels), SS_LABEL_COUNT);
    CU_ASSERT_DOUBLE_EQUAL(json_real_value(json_object_get(labels, "compute")), 1000, 0);
    json_decref(labels);
    free(text);
    struct ss_json *spoiled = SS_OBJECT(SS_KEY("a", 1), SS_KEY("b", (struct ss_json *)NULL));
    CU_ASSERT_FALSE(ss_json_is_whole(spoiled));
    ss_json_free(spoiled);
}

TEST(text)
{
    static const struct ss_column columns[] = {
        {"name", "thing", "%-s", 1, 0},      {"gpus", "GPUs", "%.0f", 1, 0},
        {"time_ms", "time", "%9s", 1e-3, 0}, {"share", "share", "%+.1f%%", 100, 0},
        {"once", "left out", NULL, 1, 0},    {"large", "large", "%.3g", 1, 0},
        {"once", "said", "%-s", 1, 0}};
    FILE *f = begin();
    struct ss_grid grid;

    ss_grid_begin(&grid, columns, SS_ARRAY_LEN(columns));
    for (int i = 0; i < 2; i++) {
        struct ss_row r = {0};
        fill_row(&r, &two[i]);
        ss_grid_row(&grid, &r);
    }
    CU_ASSERT_EQUAL(ss_grid_end(&grid, NULL, f), 0);
    expect(f, "thing           GPUs      time   share    large  said\n"
              "a<b, c             8  12.34 ms  +50.0%  1.1e+12  x \"y\"\n"
              "longest of all  1024   2.000 s       -        3  -\n");
}

/* Writes a table of columns that are 1 + 10 + 10 + 6 and their gaps, on a display of that width, and compares. */
static void expect_grid(int width, int color, const char *want)
{
    static const struct ss_column columns[] = {{"n", "n", "%.0f", 1, 0},
                                               {"same", "always\nso", "%.0f", 1, 1},
                                               {"less", "less\n/weight", "%.3f", 1, 2},
                                               {"said", "verdict", "%-s", 1, 0}};
    const struct ss_display view = {.width = width, .color = color};
    struct ss_grid grid;
    FILE *f = begin();

    ss_grid_begin(&grid, columns, SS_ARRAY_LEN(columns));
    for (int i = 0; i < 2; i++) {
        struct ss_row r = {0};
        SS_ADD(&r, SS_KEY("n", i), SS_KEY("same", 123456), SS_KEY("less", 0.5 + i),
               SS_KEY("said", i ? "fits, too close to call or so" : "near limit"));
        ss_grid_row(&grid, &r);
    }
    ss_grid_line(&grid, "  between");
    ss_grid_span(&grid, &(struct ss_row){.n = 1, .at = {SS_KEY("n", 7)}}, "same", "refused: %s", "so wide");
    CU_ASSERT_EQUAL(ss_grid_end(&grid, &view, f), 0);
    expect(f, want);
}

/* A name of 45 columns keeps 36, broken behind its last mark; a column in which nothing is known goes without a word. */
TEST(grid_names)
{
    static const struct ss_column columns[] = {
        {"id", "id", "%-s", 1, 0}, {"gib", "GiB", "%.0f", 1, 1}, {"ms", "ms", "%.1f", 1, 0}};
    const struct ss_display view = {.width = 44};
    struct ss_grid grid;
    FILE *f = begin();

    ss_grid_begin(&grid, columns, SS_ARRAY_LEN(columns));
    for (int i = 0; i < 2; i++) {
        struct ss_row r = {0};
        SS_ADD(&r, SS_KEY("id", i ? "short" : "bridge-26.04-pre-qwen3-235b-a22b-gb200-mxfp8x"),
               SS_KEY("gib", NAN), SS_KEY("ms", 10070.1));
        ss_grid_row(&grid, &r);
    }
    CU_ASSERT_EQUAL(ss_grid_end(&grid, &view, f), 0);
    expect(f, "id                                        ms\n"
              "bridge-26.04-pre-qwen3-235b-a22b-    10070.1\n"
              "gb200-mxfp8x\n"
              "short                                10070.1\n");
}

TEST(grid)
{
    expect_grid(80, 0,
                "n  always so  less/weight  verdict\n"
                "0     123456        0.500  near limit\n"
                "1     123456        1.500  fits, too close to call or so\n"
                "  between\n"
                "7  refused: so wide\n");
    /* one line of heads takes 1 + 9 + 11 + 29 and three gaps of 2: 56; two take 1 + 6 + 7 + 29 and the gaps: 49 */
    expect_grid(55, 1,
                "   always     less\n"
                "n      so  /weight  verdict\n"
                "0  123456    0.500  \033[1;33mnear limit\033[0m\n"
                "1  123456    1.500  \033[1;32mfits\033[0m, too close to call or so\n"
                "  between\n"
                "7  \033[1;31mrefused\033[0m: so wide\n");
    expect_grid(46, 0,
                "  always    less\n"
                "n     so /weight verdict\n"
                "0 123456   0.500 near limit\n"
                "1 123456   1.500 fits, too close to call or so\n"
                "  between\n"
                "7 refused: so wide\n");
    expect_grid(45, 0,
                "in all rows: always so 123456\n"
                "     less\n"
                "n /weight verdict\n"
                "0   0.500 near limit\n"
                "1   1.500 fits, too close to call or so\n"
                "  between\n"
                "7 refused: so wide\n");
    expect_grid(36, 0,
                "in all rows: always so 123456\n"
                "n verdict\n"
                "0 near limit\n"
                "1 fits, too close to call or so\n"
                "  between\n"
                "7 refused: so wide\n"
                "(no room for less/weight; a wider terminal and --json have all)\n");
    expect_grid(24, 0,
                "in all rows: always so 123456\n"
                "n verdict\n"
                "0 near limit\n"
                "1 fits, too close to\n"
                "  call or so\n"
                "  between\n"
                "7 refused: so wide\n"
                "(no room for less/weight; a wider terminal and --json have all)\n");
}

/* Keys need not have the order of the row, and one may stand twice. */
TEST(csv)
{
    static const char *const keys[] = {"share", "name", "first", "name", "once", "none", "time_ms"};
    FILE *f = begin();

    ss_row_csv(NULL, keys, SS_ARRAY_LEN(keys), f);
    for (int i = 0; i < 2; i++) {
        struct ss_row r = {0};
        fill_row(&r, &two[i]);
        ss_row_csv(&r, keys, SS_ARRAY_LEN(keys), f);
    }
    expect(f, "share,name,first,name,once,none,time_ms\n"
              "0.5,\"a<b, c\",1,\"a<b, c\",\"x \"\"y\"\"\",,12.34\n"
              ",longest of all,0,longest of all,,,2000\n");
    f = begin();
    ss_row_csv(&(struct ss_row){.n = 1, .at = {SS_KEY("third", 1.0 / 3)}}, (const char *const[]){"third"}, 1,
               f);
    expect(f, "0.3333333333\n");
}

TEST(figures)
{
    static const char *const keys[] = {"verdict", NULL, "last"};
    struct ss_summary s = {.iteration_s = 0.5, .gpus = 16, .band_pct = NAN};
    struct ss_row r = {0};
    FILE *f = begin();

    ss_row_verdict(&r, &s);
    ss_row_metrics(&r, &s);
    SS_ADD(&r, SS_KEY("last", 7));
    CU_ASSERT_EQUAL(r.n, SS_METRICS + 6);             /* and what log the figures are of */
    CU_ASSERT_EQUAL(r.at[1].cell.kind, SS_CELL_NONE); /* no code */
    CU_ASSERT_EQUAL(r.at[3].cell.kind, SS_CELL_WHOLE);
    CU_ASSERT_EQUAL(r.at[3 + SS_METRIC_OF_usd_per_iteration].cell.kind, SS_CELL_NONE);
    ss_row_csv(NULL, keys, 3, f);
    ss_row_csv(&r, keys, 3, f);
    fclose(f);
    CU_ASSERT_PTR_NOT_NULL(strstr(written, "verdict,gpus,parameters,iteration_ms,"));
    CU_ASSERT_PTR_NOT_NULL(strstr(written, ",last\nfits,16,0,500,"));
    CU_ASSERT_STRING_EQUAL(written + strlen(written) - 3, ",7\n");
}
