/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts chosen by prediction, held against a table that is computed by hand. */
#include <jansson.h>

#include "base/base.h"
#include "study/study_internal.h"
#include "table_text.h"

#define FLOP_SHARE 0.36 /* MFU of an iteration of 1 s */

/* Measured and predicted: the order of prediction is b, a, c, then d, which is said to be too large, then
 * e, which is not modelled. */
static const struct run {
    const char *id, *outcome, *predicted_outcome;
    double measured_s, predicted_s;
    int tp, micro_batch, group;
} runs[] = {{"a", "ok", "ok", 1.0, 0.9, 1, 1, 0},        {"b", "ok", "ok", 1.1, 0.8, 1, 2, 0},
            {"c", "ok", "ok", 1.02, 0.95, 2, 1, 0},      {"d", "ok", "oom", 2.0, 1.2, 2, 2, 0},
            {"e", "ok", "unsupported", 1.5, 0, 4, 1, 0}, {"f", "oom", "ok", 0, 0.7, 1, 4, 0},
            {"g", "oom", "oom", 0, 0.6, 1, 8, 0},        {"x", "ok", "ok", 1.0, 1.0, 8, 1, 7},
            {"y", "ok", "ok", 2.0, 1.0, 8, 1, 7},        {"z", "ok", "ok", 3.0, 1.0, 8, 1, 7}};
#define RUNS ((int)SS_ARRAY_LEN(runs))

static struct ss_validation_row rows[RUNS];
static struct ss_validation made = {.nrows = RUNS, .rows = rows};

/* Makes the first n runs; the last three belong to another table, whose layouts are too few. */
static const struct ss_validation *make(int n)
{
    memset(rows, 0, sizeof rows);
    for (int i = 0; i < n; i++) {
        struct ss_validation_row *r = &rows[i];
        ss_copy(r->id, sizeof r->id, runs[i].id);
        ss_copy(r->layout, sizeof r->layout, runs[i].id);
        ss_copy(r->table, sizeof r->table, runs[i].group ? "few" : "mine");
        ss_copy(r->outcome, sizeof r->outcome, runs[i].outcome);
        ss_copy(r->predicted_outcome, sizeof r->predicted_outcome, runs[i].predicted_outcome);
        r->measured_s = runs[i].measured_s;
        r->summary.iteration_s = runs[i].predicted_s;
        r->summary.mfu = runs[i].predicted_s > 0 ? FLOP_SHARE / runs[i].predicted_s : 0;
        r->tp = runs[i].tp;
        r->micro_batch = runs[i].micro_batch;
        r->group = runs[i].group;
        r->counted = 1;
    }
    made.nrows = n;
    return &made;
}

static struct ss_regret judge(const struct ss_validation *v)
{
    struct ss_regret r;

    CU_ASSERT_EQUAL_FATAL(ss_regret_make(v, &r, NULL), 0);
    return r;
}

TEST(group)
{
    struct ss_regret r = judge(make(RUNS));
    const struct ss_regret_table *t = &r.tables[0];
    const struct ss_regret_group *g = t->groups;

    CU_ASSERT_EQUAL(r.ntables, 2);
    CU_ASSERT_EQUAL(r.tables[1].ngroups, 0); /* three layouts are no group */
    CU_ASSERT(isnan(r.tables[1].mean.regret));
    CU_ASSERT_EQUAL_FATAL(t->ngroups, 1);
    CU_ASSERT_STRING_EQUAL(g->chosen->id, "b");
    CU_ASSERT_STRING_EQUAL(g->best->id, "a");
    CU_ASSERT_DOUBLE_EQUAL(g->regret, 0.1, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(g->regret3, 0, 1e-12);
    /* a and c differ by 2 %; of ab, ad, bc, bd and cd the predictions of ab and bc are the wrong way round */
    CU_ASSERT_EQUAL(g->pairs, 5);
    CU_ASSERT_EQUAL(g->pairs_right, 3);
    CU_ASSERT_EQUAL(g->ran, 5);
    CU_ASSERT_EQUAL(g->oom, 2);
    CU_ASSERT_EQUAL(g->false_fits, 1);     /* f */
    CU_ASSERT_EQUAL(g->false_refusals, 2); /* d, e */
    CU_ASSERT_DOUBLE_EQUAL(t->mean.regret, 0.1, 1e-12);
    CU_ASSERT_EQUAL(t->oom, 2);
    CU_ASSERT_EQUAL(t->oom_right, 1);
    ss_regret_free(&r);
}

/* b is near the limit, and so comes behind a and c, which fit; it is still predicted to run. */
TEST(near_limit)
{
    make(RUNS);
    rows[1].summary.outcome = rows[5].summary.outcome = SS_OUTCOME_NEAR_LIMIT; /* b, f */
    struct ss_regret r = judge(&made);
    const struct ss_regret_group *g = r.tables[0].groups;

    CU_ASSERT_STRING_EQUAL(g->chosen->id, "a");
    CU_ASSERT_EQUAL(g->false_fits, 1);
    CU_ASSERT_EQUAL(g->false_refusals, 2);
    CU_ASSERT_EQUAL(r.tables[0].oom_right, 1);
    CU_ASSERT_EQUAL(r.tables[0].slices[0].of.right, 3); /* a, b, c */
    ss_regret_free(&r);
}

static const struct ss_validation_summary *slice(const struct ss_regret_table *t, int by, const char *name)
{
    for (int i = 0; i < t->nslices; i++)
        if (t->slices[i].by == by && !strcmp(t->slices[i].of.name, name))
            return &t->slices[i].of;
    CU_FAIL_FATAL("no such slice");
    return NULL;
}

TEST(slices)
{
    struct ss_regret r = judge(make(RUNS));
    const struct ss_regret_table *t = &r.tables[0];
    const struct ss_validation_summary *all = slice(t, SS_REGRET_BY_NOTHING, "all");

    CU_ASSERT_EQUAL(all->time.n, 4);
    CU_ASSERT_DOUBLE_EQUAL(all->time.bias, -(10 + 100 * 3 / 11. + 100 * 7 / 102. + 40) / 4, 1e-9);
    CU_ASSERT_EQUAL(all->outcomes, 5);
    CU_ASSERT_EQUAL(all->right, 3);
    CU_ASSERT_DOUBLE_EQUAL(slice(t, SS_REGRET_BY_TP, "1")->time.mean_abs, (10 + 300 / 11.) / 2, 1e-9);
    CU_ASSERT_EQUAL(slice(t, SS_REGRET_BY_TP, "4")->time.n, 0); /* e has no prediction */
    CU_ASSERT_DOUBLE_EQUAL(slice(t, SS_REGRET_BY_MBS, "2")->time.bias, -(300 / 11. + 40) / 2, 1e-9);
    /* a, b and c are at 36, 33 and 35 %, d at 18 % */
    CU_ASSERT_EQUAL(slice(t, SS_REGRET_BY_MFU, "30 % and more")->time.n, 3);
    CU_ASSERT_EQUAL(slice(t, SS_REGRET_BY_MFU, "10 to 20 %")->time.n, 1);
    ss_regret_free(&r);
}

/* A layout that is predicted too large comes last, and of layouts that are all refused none is chosen. */
TEST(last)
{
    make(5);
    for (int i = 0; i < 3; i++)
        ss_copy(rows[i].predicted_outcome, sizeof rows[i].predicted_outcome, "unsupported");
    struct ss_regret r = judge(&made);
    CU_ASSERT_STRING_EQUAL(r.tables[0].groups[0].chosen->id, "d");
    CU_ASSERT_DOUBLE_EQUAL(r.tables[0].groups[0].regret, 1, 1e-12);
    ss_regret_free(&r);
    ss_copy(rows[3].predicted_outcome, sizeof rows[3].predicted_outcome, "config-error");
    r = judge(&made);
    CU_ASSERT_PTR_NULL(r.tables[0].groups[0].chosen);
    CU_ASSERT(isnan(r.tables[0].groups[0].regret) && isnan(r.tables[0].mean.regret));
    CU_ASSERT_EQUAL(r.tables[0].groups[0].pairs, 0);
    ss_regret_free(&r);
}

static char *written(int (*write)(const struct ss_validation *, FILE *, struct ss_error *))
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);

    CU_ASSERT_EQUAL(write(make(RUNS), f, NULL), 0);
    fclose(f);
    return text;
}

static int own_svg(const struct ss_validation *v, FILE *out, struct ss_error *err)
{
    return ss_regret_write_svg(v, 0, out, err);
}

static int write_text(const struct ss_validation *v, FILE *out, struct ss_error *err)
{
    return ss_regret_write_text(v, NULL, out, err);
}

TEST(written)
{
    char *json = written(ss_regret_write_json), *csv = written(ss_regret_write_csv);
    char *text = written(write_text), *svg = written(own_svg);
    json_t *o = json_loads(json, 0, NULL), *t = json_array_get(json_object_get(o, "regret"), 0);
    json_t *mean = json_object_get(t, "mean"), *tp = json_object_get(t, "tp");

    CU_ASSERT_DOUBLE_EQUAL(json_number_value(json_object_get(mean, "regret_pct")), 10, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(json_number_value(json_object_get(mean, "pairs_right_pct")), 60, 1e-9);
    CU_ASSERT_EQUAL(json_object_size(tp), 3);
    CU_ASSERT(json_is_null(json_object_get(
        json_object_get(json_array_get(json_object_get(o, "regret"), 1), "mean"), "regret_pct")));
    CU_ASSERT_PTR_NOT_NULL(strstr(csv, "\nmine,b,,group,"));
    CU_ASSERT_PTR_NOT_NULL(strstr(csv, ",10,0,5,3,1,2,b,1100,a,a,1000,"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "mean of 1 job, worst 10.0"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "few: no job has four layouts that ran"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "3 of 5 rows that ran are predicted to run; 1 of 2 out of memory"));
    CU_ASSERT_PTR_NOT_NULL(strstr(svg, "tp 8: 3"));
    json_decref(o);
    free(json);
    free(csv);
    free(text);
    free(svg);
}

/* Rows of one job are a group, wherever they stand; another batch, number of nodes or note is another job. */
TEST(groups)
{
    static const int expected[] = {0, 1, 2, 3, 0, 3};
    char path[] = "/tmp/stepsim-regret-XXXXXX";
    const char *tables[] = {path};
    struct ss_validate_options opt = {.engine = SS_ENGINE_NATIVE};
    struct ss_validation *v = NULL;

    table_file(
        path,
        "id,platform,nodes,model,precision,tp,pp,micro_batch,global_batch,seq_length,iteration_ms,note\n"
        "a,h800,1,llama3.1-8b,bf16,2,4,1,16,4096,900,\n"
        "b,h800,1,llama3.1-8b,bf16,2,4,1,32,4096,900,\n"
        "c,h800,2,llama3.1-8b,bf16,2,4,1,16,4096,900,\n"
        "d,h800,1,llama3.1-8b,bf16,2,4,1,16,4096,900,eager\n"
        "e,h800,1,llama3.1-8b,bf16,4,2,1,16,4096,900,\n"
        "f,h800,1,llama3.1-8b,bf16,8,1,1,16,4096,900,eager\n");
    CU_ASSERT_EQUAL_FATAL(ss_validate(tables, 1, &opt, &v, NULL), 0);
    unlink(path);
    for (int i = 0; i < v->nrows; i++)
        CU_ASSERT_EQUAL(v->rows[i].group, expected[i]);
    CU_ASSERT_STRING_EQUAL(v->rows[5].layout, "tp8 pp1 mbs1");
    CU_ASSERT_STRING_EQUAL(v->rows[5].setting, "llama3.1-8b 8xh800 gbs16 seq4096 bf16, eager");
    ss_validation_free(v);
}
