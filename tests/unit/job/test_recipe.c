/* SPDX-License-Identifier: Apache-2.0 */
/* What nobody said: recipes of releases, and bf16 where people type flags. */

#include "base/base.h"
#include "job/recipe.h"
#include "job_helper.h"
#include "suite.h"

#define DEEPSEEK "--model deepseek-v3 --platform gb300 --stack megatron-bridge-26.04 --precision mxfp8 "

/* The scenario of words that people type, behind those of a file where there is one. */
static struct ss_scenario *make(const char *file, const char *line)
{
    char text[512], *argv[JOB_MAX_ARGS];
    struct ss_scenario *s = NULL;
    struct ss_error err = {0};
    struct ss_request r;

    ss_request_init(&r);
    if (file)
        CU_ASSERT_EQUAL_FATAL(ss_request_read_text(&r, file, strlen(file), "a.args", NULL), 0);
    snprintf(text, sizeof text, "%s", line);
    int n = split(text, argv);
    CU_ASSERT_EQUAL_FATAL(ss_request_read(&r, n, argv, NULL), 0);
    if (ss_scenario_build(&r, NULL, &s, &err))
        fprintf(stderr, "%s: %s\n", line, err.message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    ss_request_free(&r);
    return s;
}

/* The value that is assumed of a flag; NULL: it is not among what is assumed. */
static const char *assumed(const struct ss_scenario *s, const char *flag, struct ss_assumption *a)
{
    for (size_t at = 0; ss_request_assumption(s->request, &at, a);)
        if (!strcmp(a->flag, flag))
            return a->value;
    return NULL;
}

TEST(precision)
{
    static const struct {
        const char *file, *line;
        int precision;
        bool assumed;
    } rows[] = {{NULL, "--bf16", SS_BF16, false},
                {NULL, "--precision fp32", SS_FP32, false},
                {NULL, "--fp16", SS_FP16, false},
                {NULL, "", SS_BF16, true},
                {NULL, "--fp8-format e4m3 --fp8-recipe tensorwise", SS_FP8,
                 true},                            /* of GEMMs; what is stored is nowhere said */
                {"--mbs 1\n", "", SS_FP32, false}, /* a file has Megatron's default */
                {"--mbs 1\n", "--recipe auto", SS_BF16, true}};

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        char line[256];
        struct ss_assumption a;
        snprintf(line, sizeof line,
                 "--platform h100 --nodes 1 --model llama3-8b --seq 4096 --mbs 1 --gbs 8 %s", rows[i].line);
        struct ss_scenario *s = make(rows[i].file, line);
        CU_ASSERT_EQUAL(s->job->precision, rows[i].precision);
        CU_ASSERT_EQUAL(assumed(s, "--bf16", &a) != NULL, rows[i].assumed);
        ss_scenario_free(s);
    }
}

/* The whole recipe for its own GPUs; for twice as many twice the batch; parts where the job says others; none for bare flags. */
TEST(words)
{
    struct ss_assumption a;
    struct ss_scenario *s = make(NULL, DEEPSEEK "--nodes 64");

    CU_ASSERT_EQUAL(s->world_size, 256);
    CU_ASSERT_EQUAL(s->job->pp, 2);
    CU_ASSERT_EQUAL(s->job->ep, 32);
    CU_ASSERT_EQUAL(s->job->etp, 1);
    CU_ASSERT_EQUAL(s->job->micro_batch, 2);
    CU_ASSERT_EQUAL(s->job->global_batch, 2048);
    CU_ASSERT_EQUAL(s->job->moe.dispatcher, SS_DISPATCH_HYBRIDEP);
    CU_ASSERT_EQUAL(s->job->recompute.modules, SS_MODULE_BIT(SS_MODULE_MLA_UP_PROJ));
    CU_ASSERT_STRING_EQUAL(assumed(s, "--pipeline-model-parallel-layout", &a), "'Et*4|(t*4|)*14tmL'");
    CU_ASSERT_PTR_NULL(strstr(a.whence, "nearest"));
    ss_scenario_free(s);

    s = make(NULL, DEEPSEEK "--nodes 128");
    CU_ASSERT_EQUAL(s->job->global_batch, 4096);
    CU_ASSERT_STRING_EQUAL(assumed(s, "--gbs", &a), "4096");
    CU_ASSERT_PTR_NOT_NULL(strstr(a.whence, "GPUs 256 for 512"));
    ss_scenario_free(s);

    s = make(NULL, DEEPSEEK "--nodes 32"); /* for which dgxc-benchmarking has a row of its own */
    CU_ASSERT_EQUAL(s->job->pp, 4);
    CU_ASSERT_EQUAL(s->job->global_batch, 2048);
    CU_ASSERT_STRING_EQUAL(assumed(s, "--pipeline-model-parallel-layout", &a), "'Etttt|(tttt|)*14tmL'");
    CU_ASSERT_PTR_NULL(strstr(a.whence, "nearest"));
    ss_scenario_free(s);

    s = make(NULL, DEEPSEEK "--nodes 64 --recompute none --moe-token-dispatcher-type alltoall");
    CU_ASSERT_EQUAL(s->job->recompute.granularity, SS_RECOMPUTE_NONE);
    CU_ASSERT_EQUAL(s->job->moe.dispatcher, SS_DISPATCH_ALLTOALL);
    CU_ASSERT_PTR_NULL(assumed(s, "--recompute-modules", &a));
    CU_ASSERT_PTR_NULL(assumed(s, "--moe-flex-dispatcher-backend", &a));
    ss_scenario_free(s);

    s = make(NULL,
             DEEPSEEK "--nodes 64 --recipe none --tp 8 --sequence-parallel --seq 4096 --mbs 1 --gbs 256");
    CU_ASSERT_PTR_NULL(assumed(s, "--moe-router-fusion", &a));
    CU_ASSERT_EQUAL(s->job->pp, 1);
    ss_scenario_free(s);
}

/* Stages of a pipeline that 61 layers do not divide by are the recipe's, of the nearest row that has that pipeline, with the MTP layers that the
 * job says; a number of virtual stages that the layout has is no second word for them. What the job says of stages stays. */
TEST(stages)
{
    static const struct {
        const char *flags, *layout; /* NULL: none is assumed */
        const char *differs;
    } rows[] = {{"--pp 2 --ep 32", "'Et*4|(t*4|)*14tmL'", "GPUs 256 for 128"},
                {"--pp 2 --ep 32 --vp 8", "'Et*4|(t*4|)*14tmL'", "GPUs 256 for 128"},
                {"--pp 2 --ep 32 --mtp-num-layers 0", "'Et*4|(t*4|)*14tL'", "GPUs 256 for 128"},
                {"--pp 2 --ep 32 --mtp-num-layers 2", "'Et*4|(t*4|)*14tmmL'", "GPUs 256 for 128"},
                {"--pp 4 --ep 32", "'Etttt|(tttt|)*14tmL'", "microbatch 2 for 1"},
                {"--pp 2 --ep 32 --decoder-first-pipeline-num-layers 30", NULL, ""}};

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        char line[512];
        struct ss_assumption a;
        snprintf(line, sizeof line, DEEPSEEK "--nodes 32 --seq 4096 --mbs 1 --gbs 2048 %s", rows[i].flags);
        struct ss_scenario *s = make(NULL, line);
        const char *layout = assumed(s, SS_RECIPE_STAGES, &a);
        CU_ASSERT_EQUAL(layout != NULL, rows[i].layout != NULL);
        if (layout && rows[i].layout) {
            CU_ASSERT_STRING_EQUAL(layout, rows[i].layout);
            CU_ASSERT_PTR_NOT_NULL(strstr(a.whence, rows[i].differs));
        }
        ss_scenario_free(s);
    }
}

/* A recipe in fp8 says how its tensors are scaled, which a job of another precision does not take; a job without an exchange of tokens takes no
 * dispatcher. */
TEST(left_out)
{
    struct ss_assumption a;
    struct ss_scenario *s = make(
        NULL, "--model llama3-8b --platform gb200 --stack megatron-bridge-26.04 --nodes 2 --precision fp8");

    CU_ASSERT_EQUAL(s->job->fp8_recipe, SS_FP8_TENSORWISE);
    ss_scenario_free(s);
    s = make(NULL, "--model llama3.1-405b --platform gb300 --stack mlperf-v5.1 --nodes 128 --bf16");
    CU_ASSERT_PTR_NULL(assumed(s, "--fp8-recipe", &a));
    CU_ASSERT_PTR_NOT_NULL(assumed(s, "--cuda-graph-impl", &a));
    ss_scenario_free(s);
    s = make(NULL, "--model gpt-oss-20b --platform gb300 --stack mlperf-v6.0 --nodes 18 --precision mxfp8");
    CU_ASSERT_PTR_NOT_NULL(assumed(s, "--moe-token-dispatcher-type", &a));
    ss_scenario_free(s);
    s = make(NULL, "--model gpt-oss-20b --platform b200 --stack mlperf-v6.0 --nodes 1 --precision mxfp8");
    CU_ASSERT_EQUAL(s->job->ep, 1);
    CU_ASSERT_PTR_NULL(assumed(s, "--moe-token-dispatcher-type", &a));
    ss_scenario_free(s);
}

/* MLPerf's submission of GPT-OSS 20B has Transformer Engine's op fuser, which nobody types; rounds of MLPerf are releases. */
TEST(rounds)
{
    struct ss_assumption a;
    struct ss_scenario *s =
        make(NULL, "--model gpt-oss-20b --platform gb300 --stack mlperf-v5.1 --nodes 18 --precision mxfp8");

    CU_ASSERT_EQUAL(s->job->moe.op_fuser, 1);
    CU_ASSERT_EQUAL(s->job->graphs.impl, SS_GRAPHS_ITERATION);
    CU_ASSERT_EQUAL(s->job->cp, 2);
    CU_ASSERT_EQUAL(s->job->global_batch, 36);
    CU_ASSERT_PTR_NOT_NULL(assumed(s, "--use-transformer-engine-op-fuser", &a));
    CU_ASSERT_PTR_NOT_NULL(strstr(a.whence, "mlperf-v6.0 for mlperf-v5.1"));
    ss_scenario_free(s);
}

/* Distances: release, card of a family, precision, layout; another model or family has none. */
TEST(nearest)
{
    static const char table[] = "stack,model,gpu,precision,gpus,tp,pp,cp,vp,ep,etp,mbs,gbs,seq,words,source\n"
                                "x-26.02 x-26.04,m,H100,bf16,64,2,1,1,1,,,1,64,,--a,0\n"
                                "x-26.04,m,H100,fp8,64,2,1,1,1,,,1,64,,--b,1\n"
                                "x-26.04,m,GB200,bf16,64,1,1,1,1,,,1,64,,--c,2\n"
                                "x-26.04,m,H100,bf16,64,8,4,1,1,,,1,64,,--d,3\n"
                                "y,m,,,,,,,,,,,,,--e,4\n"
                                "z-v4.1,m,H100,bf16,64,2,1,1,1,,,1,64,,--f,5\n"
                                "z-v6.0,m,H100,bf16,64,2,1,1,1,,,1,64,,--g,6\n";
    static const struct {
        struct ss_recipe_key key;
        int exact, row;
        const char *differs;
    } rows[] = {
        {{"x-26.04", "m", "H100-80GB", "bf16", 64, 2, 1, 1, 1, 0, 1, 64}, 0, 0, ""},
        {{"x-26.04", "m", "H100-80GB", "fp8", 64, 2, 1, 1, 1, 0, 1, 64}, 0, 1, ""},
        {{"x-26.04", "m", "B200-180GB", "bf16", 64, 1, 1, 1, 1, 0, 1, 64}, 0, 2, "GB200 for B200-180GB"},
        {{"x-26.04", "m", "H100-80GB", "bf16", 64, 8, 2, 1, 1, 0, 1, 64}, 0, 3, "pipeline parallel 4 for 2"},
        {{"x-26.06", "m", "H800-80GB", "bf16", 64, 2, 1, 1, 1, 0, 1, 64},
         0,
         0,
         "x-26.04 for x-26.06, H100 for H800-80GB"},
        {{"x-26.06", "m", "H100-80GB", "bf16", 64, 2, 1, 1, 1, 0, 1, 64}, 1, -1, ""},
        {{"x-26.04", "n", "H100-80GB", "bf16", 64, 2, 1, 1, 1, 0, 1, 64}, 0, -1, ""},
        {{"x-26.04", "m", "A100-80GB", "bf16", 64, 2, 1, 1, 1, 0, 1, 64}, 0, -1, ""},
        {{"y", "m", "A100-80GB", "bf16", 64, 2, 1, 1, 1, 0, 1, 64}, 0, 4, ""},
        {{"z-v5.1", "m", "H100-80GB", "bf16", 64, 2, 1, 1, 1, 0, 1, 64}, 0, 6, "z-v6.0 for z-v5.1"},
        {{"z-v5.1", "m", "H100-80GB", "bf16", 64, 2, 1, 1, 1, 0, 1, 64}, 1, -1, ""}};
    struct ss_csv *csv;

    CU_ASSERT_EQUAL_FATAL(ss_csv_parse(table, strlen(table), "t.csv", &csv, NULL), 0);
    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        char differs[256] = "";
        CU_ASSERT_EQUAL(ss_recipe_nearest(csv, &rows[i].key, rows[i].exact, differs, sizeof differs),
                        rows[i].row);
        CU_ASSERT_STRING_EQUAL(differs, rows[i].differs);
    }
    ss_csv_free(csv);
}

/* Every row of the table is a job's words. */
TEST(table)
{
    struct ss_csv *csv;
    char path[4096];

    CU_ASSERT_EQUAL_FATAL(ss_data_find("workloads", "recipes", ".csv", path, sizeof path, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_csv_load(path, &csv, NULL), 0);
    for (size_t i = 0; i < ss_csv_rows(csv); i++) {
        struct ss_recipe_key key = {.precision = "", .pp = 1, .vp = 1, .tp = 2};
        struct ss_request none, r;
        struct ss_error err = {0};
        ss_request_init(&none);
        ss_request_init(&r);
        CU_ASSERT_EQUAL(
            ss_recipe_add(csv, (int)i, &key, &(struct ss_recipe_use){.said = &none, .whole = 1}, &r, &err),
            0);
        if (ss_job_check_words(&r, NULL, &err)) {
            fprintf(stderr, "recipes.csv:%d: %s\n", ss_csv_line(csv, i), err.message);
            CU_FAIL("a recipe has words that are no flags");
        }
        ss_request_free(&r);
    }
    ss_csv_free(csv);
}
