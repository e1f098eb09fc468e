/* SPDX-License-Identifier: Apache-2.0 */
/* What commands that decide write of answers that are filled by hand: each figure in its unit, each key with its value. */
#include <jansson.h>

#include "base/base.h"
#include "stepsim/explain.h"
#include "stepsim/measured.h"
#include "stepsim/search.h"
#include "stepsim/share.h"
#include "suite.h"

#define HAS(text, part) CU_ASSERT_PTR_NOT_NULL(strstr(text, part))
#define LACKS(text, part) CU_ASSERT_PTR_NULL(strstr(text, part))

/* A stream whose text `read` returns; the caller frees it. */
struct memory {
    FILE *out;
    char *text;
    size_t size;
};

static FILE *begin(struct memory *m)
{
    m->out = open_memstream(&m->text, &m->size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m->out);
    return m->out;
}

static char *finish(struct memory *m)
{
    fclose(m->out);
    return m->text;
}

static json_t *finish_json(struct memory *m)
{
    json_t *root = json_loads(finish(m), 0, NULL);

    free(m->text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(root);
    return root;
}

/* The number at "a.b.c". */
static double number(const json_t *at, const char *path)
{
    char key[64];

    for (size_t n; *path; path += n + (path[n] == '.')) {
        n = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)n, path);
        at = json_object_get(at, key);
    }
    CU_ASSERT(json_is_number(at));
    return json_number_value(at);
}

/* ---- explain ---- */

/* Each term in ms and each slope under its own key. */
TEST(explanation)
{
    struct ss_explanation x = {.side = {.summary = {.iteration_s = 2}, .critical_stage = 3}, .runs = 41};
    const struct ss_run run = {0};
    struct memory m;
    char path[64];

    for (int t = 0; t < SS_TERMS; t++)
        x.term[t] = 0.001 * (t + 1);
    for (int e = 0; e < SS_ELASTICITIES; e++)
        x.elasticity[e] = -0.5 + 0.125 * e;
    CU_ASSERT_EQUAL(ss_explanation_write(&x, &run, &(struct ss_display){.json = 1}, begin(&m), NULL), 0);
    json_t *root = finish_json(&m);
    CU_ASSERT_DOUBLE_EQUAL(number(root, "iteration_ms"), 2000, 1e-6);
    CU_ASSERT_EQUAL(number(root, "critical_stage"), 3);
    CU_ASSERT_EQUAL(number(root, "simulations"), 42); /* the job's own too */
    for (int t = 0; t < SS_TERMS; t++) {
        snprintf(path, sizeof path, "terms_ms.%s", ss_term_key(t));
        CU_ASSERT_DOUBLE_EQUAL(number(root, path), t + 1, 1e-9);
    }
    /* names have dots in them */
    const json_t *percent = json_object_get(root, "elasticity_pct");
    CU_ASSERT_EQUAL(json_object_size(percent), SS_ELASTICITIES);
    for (int e = 0; e < SS_ELASTICITIES; e++)
        CU_ASSERT_EQUAL(json_number_value(json_object_get(percent, ss_elasticity_name(e))), -0.5 + 0.125 * e);
    json_decref(root);
}

/* ---- a real iteration beside the predicted one ---- */

TEST(measured)
{
    struct ss_measured x = {.run = "run.json",
                            .file = "trace.json",
                            .stage = 1,
                            .predicted_s = 2,
                            .band_pct = 9,
                            .low_s = 1.5,
                            .high_s = 4.5};
    struct memory m;

    x.trace.iteration_s = 4;
    x.trace.idle = 0.25;
    x.trace.work[SS_GPU_GEMM] = (struct ss_gpu_time){.exposed = 3, .hidden = 0.5, .calls = 7};
    x.measured[SS_REAL_DP] = 0.5;
    x.predicted[SS_REAL_DP] = 0.375;
    x.measured_hidden[SS_REAL_DP] = 0.125;
    CU_ASSERT_EQUAL(ss_measured_write(&x, SS_CONTRAST_JSON, begin(&m), NULL), 0);
    json_t *root = finish_json(&m);
    CU_ASSERT_EQUAL(number(root, "trace.iteration_ms"), 4000);
    CU_ASSERT_EQUAL(number(root, "trace.idle_ms"), 250);
    CU_ASSERT_EQUAL(number(root, "trace.work.gemm.exposed_ms"), 3000);
    CU_ASSERT_EQUAL(number(root, "trace.work.gemm.hidden_ms"), 500);
    CU_ASSERT_EQUAL(number(root, "trace.work.gemm.calls"), 7);
    CU_ASSERT_EQUAL(number(root, "prediction.iteration_ms"), 2000);
    CU_ASSERT_EQUAL(number(root, "prediction.error_band_pct"), 9);
    CU_ASSERT_EQUAL(number(root, "prediction.low_ms"), 1500);
    CU_ASSERT_EQUAL(number(root, "prediction.high_ms"), 4500);
    CU_ASSERT_EQUAL(number(root, "prediction.stage"), 1);
    CU_ASSERT_EQUAL(number(root, "terms.dp.measured_ms"), 500);
    CU_ASSERT_EQUAL(number(root, "terms.dp.predicted_ms"), 375);
    CU_ASSERT_EQUAL(number(root, "terms.dp.more_ms"), 125);
    CU_ASSERT_EQUAL(number(root, "terms.dp.measured_hidden_ms"), 125);
    json_decref(root);
    CU_ASSERT_EQUAL(ss_measured_write(&x, SS_CONTRAST_CSV, begin(&m), NULL), 0);
    char *text = finish(&m);
    HAS(text, "\ntime,dp,ms,500,375\n");
    free(text);
}

/* ---- search ---- */

TEST(search_json)
{
    struct ss_find_group group = {.nodes = 3,
                                  .gpus = 24,
                                  .flags = "--nodes 3 --seq 4096",
                                  .layouts = 9,
                                  .refused = 4,
                                  .best = -1,
                                  .near = 0};
    struct ss_find_rule rule = {
        .code = SS_ERR_CONFIG, .n = 4, .flags = "--tp", .example = "3 heads in 2 parts"};
    struct ss_find_result f = {.ngroups = 1, .nrules = 1, .groups = &group, .rules = &rule};
    struct memory m;

    group.confirmed_s = 1.5;
    CU_ASSERT_EQUAL(ss_find_write(&f, &(struct ss_display){.json = 1}, 0, begin(&m), NULL), 0);
    json_t *root = finish_json(&m);
    const json_t *g = json_array_get(json_object_get(root, "groups"), 0);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(g, "flags")), "--nodes 3 --seq 4096");
    CU_ASSERT_EQUAL(number(g, "nodes"), 3);
    CU_ASSERT_EQUAL(number(g, "gpus"), 24);
    CU_ASSERT_EQUAL(number(g, "layouts"), 9);
    CU_ASSERT_EQUAL(number(g, "refused"), 4);
    CU_ASSERT_EQUAL(number(g, "confirmed_ms"), 1500);
    CU_ASSERT(json_is_null(json_object_get(g, "best"))); /* none */
    CU_ASSERT_EQUAL(number(g, "near"), 0);
    const json_t *r = json_array_get(json_object_get(root, "rules"), 0);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(r, "flags")), "--tp");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(r, "example")), "3 heads in 2 parts");
    CU_ASSERT_EQUAL(number(r, "layouts"), 4);
    json_decref(root);
}

/* One layout alone has 4 % of its time at both sides: it stands in the middle of 860 px behind 70. Its 42 GiB are half of the 84 that
 * are drawn, 5 % beyond the card's 80: the middle of 200 px below 118. */
TEST(search_picture)
{
    struct ss_find_point points[2] = {{.tp = 8}, {.tp = 4, .group = 1}};
    struct ss_find_group groups[2] = {{.nodes = 1, .gpus = 8, .flags = "--nodes 1", .best = 0, .near = -1},
                                      {.nodes = 2, .gpus = 16, .flags = "--nodes 2", .best = -1, .near = -1}};
    struct ss_find_result f = {.ngroups = 2, .npoints = 2, .groups = groups, .points = points};
    struct memory m;

    points[0].summary = (struct ss_summary){
        .outcome = SS_OUTCOME_FITS, .iteration_s = 10, .capacity = 80 * SS_GIB, .peak_device = 42 * SS_GIB};
    points[1].summary = (struct ss_summary){.outcome = SS_OUTCOME_TOO_LARGE, .iteration_s = 5};
    CU_ASSERT_EQUAL(ss_find_write_svg(&f, 0, begin(&m), NULL), 0);
    char *text = finish(&m);
    HAS(text, "<circle cx=\"500.00\" cy=\"218.00\" r=\"6.5\"");
    HAS(text, "d=\"M70 127.52h860\""); /* 80 of 84 GiB: 118 + 200 / 21 */
    HAS(text, ">2 nodes, 16 GPUs: none surely fits<");
    const char *key = strstr(text, "<circle"), *point = key ? strstr(key + 1, "<circle") : NULL;
    CU_ASSERT_PTR_NOT_NULL_FATAL(point);
    CU_ASSERT_PTR_NULL(strstr(point + 1, "<circle")); /* what is too large is not drawn */
    HAS(text, ">card 80.0 GiB<");
    LACKS(text, "nan");
    free(text);
    CU_ASSERT_EQUAL(ss_find_write_svg(&f, 600, begin(&m), NULL), 0);
    text = finish(&m);
    HAS(text, " width=\"600\" ");
    HAS(text, "d=\"M70 145.52h500\""); /* the legend has a line more, 18 px */
    free(text);
}

/* ---- jobs beside each other ---- */

TEST(sharing)
{
    struct ss_sharing x = {
        .n = 2,
        .sharer = {{.name = "a",
                    .nodes = "0-1",
                    .gpus = 16,
                    .alone = 2,
                    .beside = 2.5,
                    .least = 2,
                    .most = 3,
                    .iterations = 4},
                   {.name = "b", .nodes = "2", .gpus = 8, .alone = 1, .beside = 1, .least = 1, .most = 1}},
        .platform = "h800",
        .nodes = 3,
        .starts = 1,
        .nlinks = 1,
        .limit = {.name = "leaf0.up", .bandwidth = 2.5e10, .use = {0.5, 0.25}}};
    struct memory m;

    CU_ASSERT_EQUAL(ss_sharing_write(&x, &(struct ss_display){.json = 1}, begin(&m), NULL), 0);
    json_t *root = finish_json(&m);
    const json_t *job = json_array_get(json_object_get(root, "jobs"), 0);
    CU_ASSERT_EQUAL(number(job, "alone_ms"), 2000);
    CU_ASSERT_EQUAL(number(job, "beside_ms"), 2500);
    CU_ASSERT_EQUAL(number(job, "slower_pct"), 25);
    CU_ASSERT_EQUAL(number(job, "limit_use"), 0.5);
    const json_t *limit = json_object_get(root, "limit");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(limit, "name")), "leaf0.up");
    CU_ASSERT_EQUAL(number(limit, "bandwidth_gbps"), 25);
    json_decref(root);
    CU_ASSERT_EQUAL(ss_sharing_write(&x, NULL, begin(&m), NULL), 0);
    char *text = finish(&m);
    HAS(text, "+25.0 % (+0.0 to +50.0 %)\n");
    HAS(text, "They share 1 link. Used most: leaf0.up, 25.0 GB/s, to 75.0 % on average:\n   50.0 % by a\n   "
              "25.0 % by b\n");
    free(text);
}
