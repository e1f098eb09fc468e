/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs beside each other: terms that sum to their totals, and speeds that are told apart or not. */
#include <jansson.h>
#include <unistd.h>

#include "base/base.h"
#include "decide/contrast.h"
#include "stepsim/import.h"
#include "suite.h"

/* ---- pairs ---- */

static struct ss_bands *bands_of(const char *rows)
{
    char path[] = "/tmp/stepsim-pairs-XXXXXX.csv";
    int fd = mkstemps(path, 4);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    struct ss_bands *bands = NULL;

    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    fprintf(
        out,
        "card,quality,outcome,predicted_outcome,memory_kind,error_pct,memory_error_pct,experts,source,family,"
        "weight,model,gpus,precision\n%s",
        rows);
    fclose(out);
    CU_ASSERT_EQUAL(ss_bands_load(path, NULL, &bands, NULL), 0);
    unlink(path);
    return bands;
}
#define RUN(card, error, source, model)                                                                      \
    card ",ok,ok,ok,device," error ",,0," source ",megatron,1," model ",8,bf16\n"
#define OTHERS                                                                                               \
    RUN("H200", "0", "b", "m")                                                                               \
    RUN("H200", "20", "b", "m") RUN("H200", "0", "c", "m") RUN("H200", "30", "c", "m")

/* A near source has one vote, the two others one together: of 2 votes nine tenths are reached at the last of the pairs at 10, 20
 * and 30 %, whose votes are 1, 1/2 and 1/2; seven tenths would be at 20 %. Runs of other models make no pair. */
TEST(pairs)
{
    const struct ss_band_job job = {.card = "H100", .family = "megatron"};
    struct ss_bands *bands =
        bands_of(RUN("H100", "0", "a", "m") RUN("H100", "10", "a", "m") RUN("H100", "90", "a", "n") OTHERS);
    struct ss_pair_band p;

    CU_ASSERT_EQUAL(ss_bands_pair(bands, &job, &p, NULL), 0);
    CU_ASSERT_EQUAL(p.pairs, 3);
    CU_ASSERT_EQUAL(p.sources, 3);
    CU_ASSERT_EQUAL(p.near_sources, 1);
    CU_ASSERT_DOUBLE_EQUAL(p.pct, 30, 1e-9);
    ss_bands_free(bands);
    /* others at 1 and 2 %, whose votes come first */
    bands = bands_of(RUN("H100", "0", "a", "m") RUN("H100", "10", "a", "m") RUN("H200", "0", "b", "m")
                         RUN("H200", "1", "b", "m") RUN("H200", "0", "c", "m") RUN("H200", "2", "c", "m"));
    CU_ASSERT_EQUAL(ss_bands_pair(bands, &job, &p, NULL), 0);
    CU_ASSERT_DOUBLE_EQUAL(p.pct, 10, 1e-9);
    ss_bands_free(bands);
    bands = bands_of(OTHERS);
    CU_ASSERT_EQUAL(ss_bands_pair(bands, &job, &p, NULL), 0);
    CU_ASSERT_EQUAL(p.pairs, 0); /* two sources tell nothing */
    ss_bands_free(bands);
    CU_ASSERT_EQUAL(ss_bands_pair(NULL, &job, &p, NULL), 0);
    CU_ASSERT_EQUAL(p.pairs, 0);
}

/* ---- sides ---- */

static struct ss_side side_of(double seconds, double tokens, double band)
{
    struct ss_side s = {.card = "H100", .family = "megatron", .tokens = tokens};

    s.summary.iteration_s = seconds;
    s.summary.band_pct = band;
    s.summary.time_low_pct = 100 / (1 + band / 100) - 100;
    s.summary.time_high_pct = 100 / (1 - band / 100) - 100;
    s.summary.outcome = SS_OUTCOME_FITS;
    return s;
}

/* Both bands count where cards or software differ: 3 and 4 % are 5 % together. What is assumed widens the end that would undo the
 * difference: a that takes 1.12 times less, and b that takes 1/0.91 of what is predicted, are 12 and 9 %. */
TEST(judge)
{
    struct ss_bands *bands = bands_of(RUN("H100", "0", "a", "m") RUN("H100", "10", "a", "m") OTHERS);
    struct ss_side a = side_of(2, 100, 3), b = side_of(1, 100, 4);
    struct ss_apart x;

    CU_ASSERT_EQUAL(ss_sides_judge(&a, &b, bands, &x, NULL), 0);
    CU_ASSERT_DOUBLE_EQUAL(x.faster_pct, 100, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(x.least_pct, 30, 1e-9);
    CU_ASSERT_EQUAL(x.apart, 1);
    b = side_of(4, 200, 4); /* twice the tokens in twice the time */
    CU_ASSERT_EQUAL(ss_sides_judge(&a, &b, bands, &x, NULL), 0);
    CU_ASSERT_DOUBLE_EQUAL(x.faster_pct, 0, 1e-9);
    CU_ASSERT_EQUAL(x.apart, 0);
    b = side_of(2 / 1.06, 100, 4);
    strcpy(b.card, "H200");
    CU_ASSERT_EQUAL(ss_sides_judge(&a, &b, bands, &x, NULL), 0);
    CU_ASSERT_DOUBLE_EQUAL(x.least_pct, 5, 1e-9);
    CU_ASSERT_EQUAL(x.apart, 1);
    CU_ASSERT_EQUAL(ss_sides_judge(&b, &a, bands, &x, NULL), 0); /* the other way round too */
    CU_ASSERT_EQUAL(x.apart, 1);
    a.summary.time_low_pct = 100 / 1.12 - 100;
    b.summary.time_high_pct = 100 / 0.91 - 100;
    CU_ASSERT_EQUAL(ss_sides_judge(&a, &b, bands, &x, NULL), 0);
    CU_ASSERT_DOUBLE_EQUAL(x.least_pct, 15, 1e-9);
    CU_ASSERT_EQUAL(x.apart, 0);
    b.summary.band_pct = NAN;
    CU_ASSERT_EQUAL(ss_sides_judge(&a, &b, bands, &x, NULL), 0);
    CU_ASSERT(isnan(x.least_pct) && !x.apart && x.faster_pct > 0);
    ss_bands_free(bands);
}

/* Each table's rows sum to its last one, on sides of real jobs, to rounding. */
TEST(rows)
{
    static const char *const words[] = {
        "--platform h800 --nodes 2 --model llama3.1-8b --bf16 --tp 2 --pp 4 --seq 4096 "
        "--mbs 1 --gbs 32 --use-distributed-optimizer --sequence-parallel --recompute full",
        "--platform h800 --nodes 2 --model llama3.1-8b --bf16 --tp 4 --cp 2 --seq 4096 "
        "--mbs 1 --gbs 32 --use-distributed-optimizer --sequence-parallel"};
    struct ss_side side[2];
    const struct ss_contrast c = {side, NULL, 2};
    struct ss_contrast_row row;

    for (int i = 0; i < 2; i++) {
        const struct ss_run_options options = {.open_compute = 1};
        struct ss_scenario *s = NULL;
        struct ss_request r;
        struct ss_run run;
        ss_request_init(&r);
        CU_ASSERT_EQUAL_FATAL(ss_request_read_text(&r, words[i], strlen(words[i]), "a", NULL), 0);
        CU_ASSERT_EQUAL_FATAL(ss_scenario_build(&r, NULL, &s, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(ss_run_scenario(s, &options, &run, NULL), 0);
        ss_side_fill(&run, "side", &side[i]);
        ss_run_free(&run);
        ss_scenario_free(s);
        ss_request_free(&r);
    }
    for (int table = 0; table < SS_CONTRAST_TABLES; table++) {
        double sum[2] = {0, 0};
        int n = 0;
        for (; ss_contrast_row(&c, table, n, &row); n++)
            for (int i = 0; i < 2; i++)
                sum[i] += row.is_total ? 0 : row.value[i];
        CU_ASSERT(n > 5 && row.is_total);
        for (int i = 0; i < 2; i++)
            CU_ASSERT_DOUBLE_EQUAL(sum[i], row.value[i], 1e-9 * row.value[i]);
    }
    CU_ASSERT_DOUBLE_EQUAL(row.value[0], side[0].summary.peak_device, 0);
    CU_ASSERT_NOT_EQUAL(side[0].label[SS_LABEL_RECOMPUTE], 0);
    CU_ASSERT_NOT_EQUAL(side[1].label[SS_LABEL_TP], 0);
}

/* What is printed of a side that is refused has neither figures nor a difference. */
TEST(refused)
{
    struct ss_side side[2] = {side_of(2, 100, 3)};
    struct ss_apart apart[2];
    struct ss_error why = {0};
    char *text = NULL;
    size_t size = 0;

    ss_fail(&why, SS_ERR_CONFIG, NULL, 0, "no such layout");
    ss_side_refuse(&why, "b", &side[1]);
    CU_ASSERT_EQUAL(ss_sides_judge(&side[0], &side[1], NULL, &apart[1], NULL), 0);
    CU_ASSERT(isnan(apart[1].faster_pct));
    for (int form = SS_CONTRAST_TEXT; form <= SS_CONTRAST_CSV + 1; form++) {
        FILE *out = open_memstream(&text, &size);
        CU_ASSERT_EQUAL(form <= SS_CONTRAST_CSV
                            ? ss_contrast_write(side, apart, 2, (enum ss_contrast_form)form, NULL, out, NULL)
                            : ss_contrast_write_svg(side, apart, 2, 0, out, NULL),
                        0);
        fclose(out);
        CU_ASSERT_PTR_NULL(strstr(text, "nan"));
        if (form == SS_CONTRAST_TEXT)
            CU_ASSERT_PTR_NOT_NULL(strstr(text, "refused: no such layout"));
        if (form == SS_CONTRAST_JSON) {
            json_t *root = json_loads(text, 0, NULL);
            const json_t *difference = json_array_get(json_object_get(root, "differences"), 0);
            CU_ASSERT_PTR_NOT_NULL(difference);
            CU_ASSERT(json_is_null(json_object_get(difference, "apart")));
            CU_ASSERT_PTR_NULL(json_object_get(difference, "breakdown_ms"));
            json_decref(root);
        }
        free(text);
    }
}
