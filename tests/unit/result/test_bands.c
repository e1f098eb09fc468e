/* SPDX-License-Identifier: Apache-2.0 */
/* The error bands of a prediction, from tables of predictions and of measured runs. */
#include <math.h>

#include "base/csv.h"
#include "result/bands.h"
#include "table_text.h"

/* Three sources of the X's family of stacks and one of another, whose errors are told by hand. */
static const char band_table[] =
    "card,quality,outcome,predicted_outcome,memory_kind,error_pct,memory_error_pct,"
    "experts,source,family,weight\n"
    /* a and b: 1, 2, 3 and 4 % too long; the second counts as much, though it is one run */
    "X,A,ok,ok,device,1,-20,0,a,f,1\nX,A,ok,ok,device,2,-20,0,a,f,1\n"
    "X,A,ok,ok,device,3,-20,0,a,f,1\nX,C,ok,ok,analytic,-4,900,0,b,f,\n"
    /* on another card: the wider circle */
    "Y,ok,ok,ok,device,10,25,0,c,f,1\nY,ok,ok,ok,device,-20,25,0,c,f,0.5\n"
    /* none of these tells of time */
    "X,D,ok,ok,device,90,90,0,d,f,1\nX,A,oom,ok,device,90,90,0,e,f,1\n"
    "X,A,ok,oom,device,90,0,0,a,f,1\n";

static struct ss_bands *load_bands(const char *text)
{
    char path[] = "/tmp/stepsim-band-XXXXXX";
    struct ss_bands *bands = NULL;

    table_file(path, text);
    CU_ASSERT_EQUAL_FATAL(ss_bands_load(path, NULL, &bands, NULL), 0);
    unlink(path);
    return bands;
}

/* Share of a normal law of standard deviation `sigma` (of the logarithm) that is off by no more than x. */
static double within(double x, double sigma)
{
    return 0.5 * (erf(log1p(x) / sigma / sqrt(2)) - erf(log1p(-x) / sigma / sqrt(2)));
}

/* Near are a and b: each has a third of the mass, a run of a a ninth. The last third is dealt to c and to none, halves: c's
 * 10 % has a ninth, its -20 % an eighteenth, none a sixth, which is drawn as wide as the worst run is off. */
static void test_band(void)
{
    const struct ss_band_job job = {"X", "f", 0, NULL}, other = {"Z", "f", 0, ""}, moe = {"X", "f", 8, NULL},
                             odd = {"X", "f", 0, "--no-such-model"};
    struct ss_bands *bands = load_bands(band_table);
    double sigma = fabs(log(0.8));
    struct ss_band band, memory;

    ss_bands_find(bands, &job, &band, &memory);
    CU_ASSERT_EQUAL(band.n, 6);
    CU_ASSERT_EQUAL(band.sources, 3);
    /* 1 to 4 % and 10 % have 2/3 + 1/9; none adds too little below 20 %, where c has its last eighteenth. */
    CU_ASSERT(2 / 3.0 + 1 / 9.0 + within(0.2, sigma) / 6 < 0.9);
    CU_ASSERT_DOUBLE_EQUAL(band.pct, 20, 1e-9);
    CU_ASSERT_PTR_NOT_NULL(strstr(band.like, "4 runs of 2 sources, f on X; 2 of 1 others count less"));
    /* Nothing of this card: a, b, c and none have a quarter each. Up to 10 % are two thirds; none adds too little below
     * 20 %, where c has its last twelfth. */
    ss_bands_find(bands, &other, &band, &memory);
    CU_ASSERT(2 / 3.0 + within(0.2, sigma) / 4 < 0.9);
    CU_ASSERT_DOUBLE_EQUAL(band.pct, 20, 1e-9);
    CU_ASSERT_PTR_NOT_NULL(strstr(band.like, "6 runs of 3 sources, none of them f on Z"));
    /* A mixture, of which none was measured, is as far off as dense models are. */
    ss_bands_find(bands, &moe, &memory, &band);
    CU_ASSERT_EQUAL(memory.n, 6);
    ss_bands_find(bands, &odd, &band, &memory);
    CU_ASSERT_EQUAL(band.n, 0);
    CU_ASSERT_EQUAL(memory.n, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(band.like, "--no-such-model"));
    ss_bands_free(bands);
    CU_ASSERT_EQUAL(ss_bands_load("/no/such/file.csv", NULL, &bands, NULL), SS_ERR_IO);
    ss_bands_find(NULL, &job, &band, &memory);
    CU_ASSERT_EQUAL(memory.n, 0);
}

/* a's runs took a quarter more memory, but for one, which was right and predicted not to fit; c's a fifth less. a has
 * half of the mass, c and none a quarter: more than a twentieth are at either end. */
static void test_band_of_memory(void)
{
    const struct ss_band_job job = {"X", "f", 0, NULL};
    struct ss_bands *bands = load_bands(band_table);
    struct ss_band time, band;

    ss_bands_find(bands, &job, &time, &band);
    CU_ASSERT_EQUAL(band.n, 6);
    CU_ASSERT_DOUBLE_EQUAL(band.high_pct, 25, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(band.low_pct, -20, 1e-9);
    ss_bands_free(bands);
}

/* Sixty runs of one source are one opinion: how often it was asked changes no band. */
static void test_band_votes(void)
{
    static const char head[] =
        "card,quality,outcome,predicted_outcome,memory_kind,error_pct,memory_error_pct,"
        "experts,source,family,weight\n";
    const struct ss_band_job job = {"X", "f", 0, NULL};
    struct ss_band once, often, memory;
    char text[8192];
    int n = snprintf(text, sizeof text, "%sX,A,ok,ok,,1,,0,a,f,1\nX,A,ok,ok,,12,,0,b,f,1\n", head);
    struct ss_bands *bands = load_bands(text);

    ss_bands_find(bands, &job, &once, &memory);
    ss_bands_free(bands);
    for (int i = 0; i < 59; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "X,A,ok,ok,,1,,0,a,f,1\n");
    bands = load_bands(text);
    ss_bands_find(bands, &job, &often, &memory);
    CU_ASSERT_EQUAL(often.n, 61);
    CU_ASSERT_DOUBLE_EQUAL(often.pct, once.pct, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(once.pct, 12, 1e-9);
    ss_bands_free(bands);
    /* One run of 5 %: it has half of the mass, and what is like none the other, beyond it too. */
    snprintf(text, sizeof text, "%sX,A,ok,ok,,5,,0,a,f,1\n", head);
    bands = load_bands(text);
    ss_bands_find(bands, &job, &once, &memory);
    CU_ASSERT(once.pct > 5);
    CU_ASSERT_DOUBLE_EQUAL(0.5 + 0.5 * within(once.pct / 100, log(1.05)), 0.9, 1e-9);
    ss_bands_free(bands);
}

/* What the bands promise, on the committed predictions: runs of a source that they are made without. */
static void test_coverage(void)
{
    static const double least[] = {0.88, 0.89}, of_all[] = {0.895, 0.9};
    static const int sources[] = {31, 14};
    struct ss_bands *bands;
    struct ss_coverage c;

    CU_ASSERT_EQUAL_FATAL(ss_bands_load(NULL, NULL, &bands, NULL), 0);
    for (int memory = 0; memory < 2; memory++) {
        CU_ASSERT_EQUAL_FATAL(ss_bands_coverage(bands, memory, &c, NULL), 0);
        if (c.by_source < least[memory])
            printf("%s: %.1f %% of a source's runs are inside\n", memory ? "memory" : "time",
                   100 * c.by_source);
        CU_ASSERT(c.by_source >= least[memory]);
        CU_ASSERT(c.by_run >= of_all[memory]); /* sources with many runs weigh more here */
        CU_ASSERT(c.n >= sources[memory]);
        ss_coverage_free(&c);
    }
    ss_bands_free(bands);
    /* By hand: bands without c are of a and b, those without b of a and c; b's 4 % is inside, c's 20 % not. */
    bands = load_bands(band_table);
    CU_ASSERT_EQUAL_FATAL(ss_bands_coverage(bands, 0, &c, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(c.n, 3);
    CU_ASSERT_STRING_EQUAL(c.sources[2].name, "c");
    CU_ASSERT_DOUBLE_EQUAL(c.sources[1].inside, 1, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(c.sources[2].inside, 0, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(c.weight, 5.5, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(c.by_source, 2 / 3.0, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(c.by_run, 4 / 5.5, 1e-12);
    ss_coverage_free(&c);
    ss_bands_free(bands);
}

static void compare_tables(const struct ss_band_table *a, const struct ss_band_table *b)
{
    CU_ASSERT_FATAL(a->n == b->n && a->n > 100 && a->nkinds == b->nkinds && a->nsources == b->nsources);
    for (int i = 0; i < a->nsources; i++)
        CU_ASSERT_STRING_EQUAL(a->sources[i], b->sources[i]);
    for (int i = 0; i < a->nkinds; i++)
        CU_ASSERT(!memcmp(&a->kinds[i], &b->kinds[i], sizeof a->kinds[i]));
    for (int i = 0; i < 2 * a->n; i++) {
        const struct ss_band_run *x = i < a->n ? &a->by_above[i] : &a->by_size[i - a->n],
                                 *y = i < a->n ? &b->by_above[i] : &b->by_size[i - a->n];
        CU_ASSERT(x->above == y->above && x->size == y->size && x->weight == y->weight &&
                  x->kind == y->kind && x->job == y->job);
    }
}

/* What the build made of the table is the table, and is taken as long as the file is as it was. */
static void test_made(void)
{
    struct ss_bands *made, *read;

    CU_ASSERT_EQUAL_FATAL(ss_bands_load(NULL, NULL, &made, NULL), 0);
    CU_ASSERT_PTR_EQUAL(made, &ss_bands_made.bands);
    CU_ASSERT_EQUAL_FATAL(ss_bands_load("results", NULL, &read, NULL), 0);
    CU_ASSERT_PTR_NOT_EQUAL(read, made);
    compare_tables(&made->time, &read->time);
    compare_tables(&made->memory, &read->memory);
    ss_bands_free(made);
    ss_bands_free(read);
}

/* Published runs of which everything is told ran, so they fit: of the committed predictions none says otherwise. */
static void test_what_ran_fits(void)
{
    struct ss_csv *csv;
    int ran = 0, wrong = 0;

    CU_ASSERT_EQUAL_FATAL(ss_csv_load(SS_SOURCE_DIR "/validation/results.csv", &csv, NULL), 0);
#define IS(column, word) !strcmp(ss_csv_field(csv, row, ss_csv_column(csv, column)), word)
    for (size_t row = 0; row < ss_csv_rows(csv); row++)
        if (IS("quality", "A") && IS("outcome", "ok")) {
            ran++;
            wrong += IS("predicted_outcome", "oom");
        }
#undef IS
    CU_ASSERT(ran > 80);
    CU_ASSERT_EQUAL(wrong, 0);
    ss_csv_free(csv);
}

SUITE(bands)
{
    CU_TestInfo tests[] = {{"the table of the build", test_made},

                           {"band", test_band},
                           {"band of memory", test_band_of_memory},
                           {"votes", test_band_votes},
                           {"coverage", test_coverage},
                           {"what ran fits", test_what_ran_fits},
                           CU_TEST_INFO_NULL};
    return suite_run("bands", NULL, NULL, tests);
}
