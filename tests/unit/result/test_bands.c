/* SPDX-License-Identifier: Apache-2.0 */
/* The error bands of a prediction, from tables of predictions and of measured runs. */

#include "base/base.h"
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
TEST(band)
{
    const struct ss_band_job job = {.card = "X", .family = "f"}, other = {.card = "Z", .family = "f"},
                             moe = {.card = "X", .family = "f", .experts = 8},
                             odd = {.card = "X", .family = "f", .unmodelled = "--no-such-model"};
    struct ss_bands *bands = load_bands(band_table);
    double sigma = fabs(log(0.8));
    struct ss_band band, memory, known, known_memory;

    ss_bands_find(bands, &job, &band, &memory);
    CU_ASSERT_EQUAL(band.n, 6);
    CU_ASSERT_EQUAL(band.sources, 3);
    /* 1 to 4 % and 10 % have 2/3 + 1/9; none adds too little below 20 %, where c has its last eighteenth. */
    CU_ASSERT(2 / 3.0 + 1 / 9.0 + within(0.2, sigma) / 6 < 0.9);
    CU_ASSERT_DOUBLE_EQUAL(band.pct, 20, 1e-9);
    CU_ASSERT_PTR_NOT_NULL(strstr(
        band.like, "4 runs of 2 sources, f on X; 2 runs of 1 other source also count, with less weight"));
    /* Nothing of this card: a, b, c and none have a quarter each. Up to 10 % are two thirds; none adds too little below
     * 20 %, where c has its last twelfth. */
    ss_bands_find(bands, &other, &band, &memory);
    CU_ASSERT(2 / 3.0 + within(0.2, sigma) / 4 < 0.9);
    CU_ASSERT_DOUBLE_EQUAL(band.pct, 20, 1e-9);
    CU_ASSERT_PTR_NOT_NULL(strstr(band.like, "6 measured runs of 3 sources; none used f on Z"));
    /* A mixture, of which none was measured, is as far off as dense models are. */
    ss_bands_find(bands, &moe, &memory, &band);
    CU_ASSERT_EQUAL(memory.n, 6);
    /* What is not modelled takes the band, and makes no verdict surer. */
    ss_bands_find(bands, &job, &known, &known_memory);
    ss_bands_find(bands, &odd, &band, &memory);
    CU_ASSERT(band.n == 0 && band.pct == 0 && band.apart_pct == known.apart_pct);
    CU_ASSERT(memory.n == 0 && memory.low_pct == 0 && memory.high_pct == known_memory.high_pct);
    CU_ASSERT(known.apart_pct > 0 && known_memory.high_pct > 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(band.like, "--no-such-model"));
    ss_bands_free(bands);
    bands = NULL;
    CU_ASSERT_EQUAL(ss_bands_load("/no/such/file.csv", NULL, &bands, NULL), SS_ERR_IO);
    CU_ASSERT_PTR_NULL(bands);
    char empty[] = "/tmp/stepsim-band-XXXXXX";
    table_file(empty, "card,quality,outcome,predicted_outcome,memory_kind,error_pct,memory_error_pct\n");
    CU_ASSERT_EQUAL(ss_bands_load(empty, NULL, &bands, NULL), SS_ERR_INPUT);
    CU_ASSERT_PTR_NULL(bands); /* there is nothing to free */
    unlink(empty);
    ss_bands_find(NULL, &job, &band, &memory);
    CU_ASSERT_EQUAL(memory.n, 0);
}

/* Hybrid models have their own circles first, and tell nothing of others. */
TEST(hybrids)
{
    static const char text[] =
        "card,quality,outcome,predicted_outcome,memory_kind,error_pct,memory_error_pct,"
        "experts,source,family,weight,hybrid\n"
        "X,A,ok,ok,,10,,8,a,f,1,0\nX,A,ok,ok,,-12,,8,b,f,1,0\n";
    static const char more[] = "X,A,ok,ok,,-30,,8,a,f,1,1\nY,A,ok,ok,,-30,,8,c,f,1,1\n";
    const struct ss_band_job mixture = {.card = "X", .family = "f", .experts = 8},
                             hybrid = {.card = "X", .family = "f", .experts = 8, .hybrid = 1};
    struct ss_band before, with, memory;
    char both[sizeof text + sizeof more];
    struct ss_bands *bands = load_bands(text);

    ss_bands_find(bands, &hybrid, &before, &memory); /* none was measured: as of other mixtures */
    ss_bands_find(bands, &mixture, &with, &memory);
    CU_ASSERT(before.n == 2 && before.pct == with.pct);
    ss_bands_free(bands);
    snprintf(both, sizeof both, "%s%s", text, more);
    bands = load_bands(both);
    ss_bands_find(bands, &mixture, &with, &memory);
    CU_ASSERT(with.n == 2 && with.pct == before.pct);
    /* a and c have a third of the mass each, both off by 30 %; b and none share the last third */
    ss_bands_find(bands, &hybrid, &with, &memory);
    CU_ASSERT_EQUAL(with.n, 3);
    CU_ASSERT_DOUBLE_EQUAL(with.pct, 30, 1e-9);
    CU_ASSERT_PTR_NOT_NULL(strstr(
        with.like,
        "2 runs of 2 sources, of hybrid models; 1 run of 1 other source also counts, with less weight"));
    ss_bands_free(bands);
}

/* a's runs took a quarter more memory, but for one, which was right and predicted not to fit; c's a fifth less. a has
 * half of the mass, c and none a quarter: more than a twentieth are at either end. */
TEST(band_of_memory)
{
    const struct ss_band_job job = {.card = "X", .family = "f"};
    struct ss_bands *bands = load_bands(band_table);
    struct ss_band time, band;

    ss_bands_find(bands, &job, &time, &band);
    CU_ASSERT_EQUAL(band.n, 6);
    CU_ASSERT_DOUBLE_EQUAL(band.high_pct, 25, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(band.low_pct, -20, 1e-9);
    ss_bands_free(bands);
}

/* Sixty runs of one source are one opinion: how often it was asked changes no band. */
TEST(band_votes)
{
    static const char head[] =
        "card,quality,outcome,predicted_outcome,memory_kind,error_pct,memory_error_pct,"
        "experts,source,family,weight\n";
    const struct ss_band_job job = {.card = "X", .family = "f"};
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

/* ---- distance ---- */

/* A run of 64 GPUs, one of 128 on another card; of 4096 tokens and of 1e9 parameters each. */
static const char far_table[] =
    "card,quality,outcome,predicted_outcome,memory_kind,error_pct,memory_error_pct,gpus,seq,parameters,"
    "experts,source,family,weight\n"
    "X,A,ok,ok,device,5,5,64,4096,1e9,0,a,f,1\nY,A,ok,ok,device,20,5,128,4096,1e9,0,b,f,1\n";

static struct ss_band far_band(const struct ss_bands *bands, double gpus, double tokens, double parameters)
{
    const struct ss_band_job job = {.card = "X", .family = "f", .size = {gpus, tokens, parameters}};
    struct ss_band time, memory;

    ss_bands_find(bands, &job, &time, &memory);
    CU_ASSERT_EQUAL(memory.n, 2); /* memory's does not drift */
    return time;
}

/* Each doubling beyond the runs of the card adds to ln (1 + band). Those of all cards stand in where 64 GPUs are more than 8 doublings away,
 * and nothing where 128 are, too. */
TEST(far)
{
    const struct ss_band_drift *drift = ss_band_drifts;
    struct ss_bands *bands = load_bands(far_table);
    struct ss_band near = far_band(bands, 64, 4096, 1e9), wide = far_band(bands, 0, 0, 0), band;

    CU_ASSERT_DOUBLE_EQUAL(near.pct, wide.pct, 1e-12);
    CU_ASSERT_PTR_NULL(strstr(near.like, "wider"));
    band = far_band(bands, 256, 1024, 4e9);
    CU_ASSERT_DOUBLE_EQUAL(log1p(band.pct / 100) - log1p(near.pct / 100),
                           2 * drift[SS_BAND_GPUS].octave + 2 * drift[SS_BAND_TOKENS].octave +
                               2 * drift[SS_BAND_PARAMETERS].octave,
                           1e-9);
    CU_ASSERT_PTR_NOT_NULL(strstr(band.like, "wider: 4 times the most parameters of these runs"));
    CU_ASSERT_DOUBLE_EQUAL(band.apart_pct, near.pct,
                           1e-12); /* what all layouts of a job have in common tells none apart */
    band = far_band(bands, 64, 1024, 1e9);
    CU_ASSERT_PTR_NOT_NULL(strstr(band.like, "wider: 1/4 of the fewest tokens a sequence of these runs"));
    band = far_band(bands, 64 << 8, 4096, 1e9);
    CU_ASSERT_PTR_NOT_NULL(strstr(band.like, "1 run of 1 source, f on X"));
    band = far_band(bands, 128 << 8, 4096, 1e9);
    CU_ASSERT_PTR_NOT_NULL(strstr(band.like, "2 runs of 2 sources; none of like jobs is near this one"));
    band = far_band(bands, 129 << 8, 4096, 1e9);
    CU_ASSERT_EQUAL(band.n, 0);
    CU_ASSERT_STRING_EQUAL(band.like, "no measured run is near: 258 times the most GPUs of these runs");
    ss_bands_free(bands);
}

/* Errors of two runs of one source, card, stack and precision. */
struct drift {
    double octave, weight;
    int source;
};

static int by_octave(const void *pa, const void *pb)
{
    const struct drift *a = pa, *b = pb;

    return (a->octave > b->octave) - (a->octave < b->octave);
}

/* A mean of runs that are equal in all but one axis. */
struct mean {
    char key[320];
    double at, above;
    int runs, source;
};

#define MEANS 1500

/* Reads the means of an axis; returns how many. */
static int read_means(struct ss_csv *csv, int axis, struct mean *means, char sources[][32])
{
    static const char *const names[] = {"gpus", "seq", "parameters"}, *const same[] = {"source",    "card",
                                                                                       "precision", "stack",
                                                                                       "experts",   "model"};
    int n = 0, more = 1, nsources = 0, time = ss_csv_column(csv, "error_pct");

    while (!ss_csv_next(csv, &more, NULL) && more) {
        struct mean m = {.at = atof(ss_csv_field(csv, 0, ss_csv_column(csv, names[axis])))};
        const char *quality = ss_csv_field(csv, 0, ss_csv_column(csv, "quality"));
        int i = 0, s = 0;
        if (!*ss_csv_field(csv, 0, time) ||
            strcmp(ss_csv_field(csv, 0, ss_csv_column(csv, "predicted_outcome")), "ok") != 0 ||
            strcmp(ss_csv_field(csv, 0, ss_csv_column(csv, "outcome")), "ok") != 0 ||
            (!ss_quality_counts(quality) && strcmp(quality, "C") != 0) ||
            !atof(ss_csv_field(csv, 0, ss_csv_column(csv, "weight"))))
            continue;
        for (int k = 0; k < (axis == SS_BAND_PARAMETERS ? 4 : 6); k++)
            ss_append(m.key, sizeof m.key, "%s|",
                      k == 4 ? (atof(ss_csv_field(csv, 0, ss_csv_column(csv, same[k]))) > 0 ? "m" : "d")
                             : ss_csv_field(csv, 0, ss_csv_column(csv, same[k])));
        while (s < nsources && strcmp(sources[s], ss_csv_field(csv, 0, ss_csv_column(csv, "source"))) != 0)
            s++;
        if (s == nsources)
            snprintf(sources[nsources++], 32, "%s", ss_csv_field(csv, 0, ss_csv_column(csv, "source")));
        while (i < n && (means[i].at != m.at || strcmp(means[i].key, m.key) != 0))
            i++;
        if (i == n) {
            CU_ASSERT_FATAL(n < MEANS);
            means[n] = m;
            means[n++].source = s;
        }
        means[i].above += -log1p(atof(ss_csv_field(csv, 0, time)) / 100);
        means[i].runs++;
    }
    return n;
}

/* The numbers are what the tables say: nine of ten sources of pairs 8 times apart, and the furthest pair. */
TEST(drifts)
{
    static struct mean means[MEANS];
    static struct drift drifts[100000];

    for (int axis = 0; axis < SS_BAND_AXES; axis++) {
        struct ss_csv *csv;
        char path[4096], sources[SS_BAND_SOURCES][32];
        int of[SS_BAND_SOURCES] = {0}, n = 0, nsources = 0, i = 0;
        double span = 0, mass = 0;
        memset(means, 0, sizeof means);
        CU_ASSERT_EQUAL_FATAL(ss_data_find("validation", "results", ".csv", path, sizeof path, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(ss_csv_open(path, &csv, NULL), 0);
        int nmeans = read_means(csv, axis, means, sources);
        for (int a = 0; a < nmeans; a++)
            for (int b = 0; b < nmeans; b++) {
                double octaves = log2(means[b].at / means[a].at);
                if (octaves <= 0 || strcmp(means[a].key, means[b].key) != 0)
                    continue;
                span = fmax(span, octaves);
                if (octaves < 3 - 1e-9)
                    continue;
                drifts[n].octave =
                    fabs(means[b].above / means[b].runs - means[a].above / means[a].runs) / octaves;
                drifts[n++].source = means[a].source;
                nsources += !of[means[a].source]++;
            }
        qsort(drifts, (size_t)n, sizeof *drifts, by_octave);
        while (i < n && (mass += 1.0 / of[drifts[i].source] / nsources) < 0.9)
            i++;
        if (fabs(drifts[i].octave - ss_band_drifts[axis].octave) > 0.002 ||
            fabs(span - ss_band_drifts[axis].span) > 0.3)
            printf("axis %d: %.4f for each of %.2f doublings\n", axis, drifts[i].octave, span);
        CU_ASSERT_DOUBLE_EQUAL(drifts[i].octave, ss_band_drifts[axis].octave, 0.002);
        CU_ASSERT_DOUBLE_EQUAL(span, ss_band_drifts[axis].span, 0.3);
        ss_csv_free(csv);
    }
}

/* What the bands promise, on the committed predictions: runs of a source that they are made without, and of more GPUs than the runs that they
 * are made of. */
TEST(coverage)
{
    static const double least[] = {0.9, 0.89, 0.88}, of_all[] = {0.9, 0.9, 0.9};
    static const int sources[] = {31, 14, 14};
    struct ss_bands *bands;
    struct ss_coverage c;

    CU_ASSERT_EQUAL_FATAL(ss_bands_load(NULL, NULL, &bands, NULL), 0);
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = {"time", "memory", "time of larger runs"};
        CU_ASSERT_EQUAL_FATAL(ss_bands_coverage(bands, i == 1, i == 2, &c, NULL), 0);
        if (c.by_source < least[i])
            printf("%s: %.1f %% of a source's runs are inside\n", names[i], 100 * c.by_source);
        CU_ASSERT(c.by_source >= least[i]);
        CU_ASSERT(c.by_run >= of_all[i]); /* sources with many runs weigh more here */
        CU_ASSERT(c.n >= sources[i]);
        ss_coverage_free(&c);
    }
    ss_bands_free(bands);
    /* By hand: bands without c are of a and b, those without b of a and c; b's 4 % is inside, c's 20 % not. */
    bands = load_bands(band_table);
    CU_ASSERT_EQUAL_FATAL(ss_bands_coverage(bands, 0, 0, &c, NULL), 0);
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
TEST(made)
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
TEST(what_ran_fits)
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
