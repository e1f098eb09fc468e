/* SPDX-License-Identifier: Apache-2.0 */
/* Combinations in the order of counting, and the best of what was predicted. */
#include <stdlib.h>
#include <string.h>

#include "stepsim/assumed.h"
#include "stepsim/import.h"
#include "stepsim/sweep.h"
#include "suite.h"

static void flag_add(struct ss_sweep *s, const char *name, int n)
{
    struct ss_sweep_flag *f = &s->flags[s->nflags++];

    snprintf(f->name, sizeof f->name, "%s", name);
    f->nvalues = n;
    for (int i = 0; i < n; i++)
        snprintf(f->value[i], sizeof f->value[i], "%d", i);
}

TEST(combinations)
{
    struct ss_sweep s = {0};
    struct ss_sweep_row row = {0};

    CU_ASSERT_EQUAL(ss_sweep_size(&s, 10), 1);
    flag_add(&s, "--a", 2);
    flag_add(&s, "--b", 3);
    CU_ASSERT_EQUAL(ss_sweep_size(&s, 6), 6);
    CU_ASSERT_EQUAL(ss_sweep_size(&s, 5), 0);
    for (int i = 0; i < 6; i++) {
        ss_sweep_combination(&s, i, &row);
        CU_ASSERT_EQUAL(row.at[0], i / 3);
        CU_ASSERT_EQUAL(row.at[1], i % 3);
    }
    s.flags[0].nvalues = 0;
    CU_ASSERT_EQUAL(ss_sweep_size(&s, 10), 0);
}

/* A flag without value is on or off; others have values of their own. */
TEST(bare_flags)
{
    static const struct {
        const char *text;
        int rc;
    } cases[] = {
        {"sequence-parallel=on,off", 0}, {"sequence-parallel=on,of", SS_ERR_USAGE},  {"bf16=1", SS_ERR_USAGE},
        {"recompute=none,full", 0},      {"tp=1,of", 0 /* which the job refuses */}, {"no-such-flag=1", 0}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ss_sweep s = {0};
        struct ss_error err = {0};
        CU_ASSERT_EQUAL(ss_sweep_vary(&s, cases[i].text, &err), cases[i].rc);
        CU_ASSERT_EQUAL(s.nflags, !cases[i].rc);
        if (cases[i].rc)
            CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "this flag has no value"));
    }
}

/* Values that are one are tried once. */
TEST(equal_values)
{
    struct ss_sweep *s = calloc(1, sizeof *s);

    CU_ASSERT_EQUAL(ss_sweep_vary(s, "mbs=1,01,+1,2,1", NULL), 0);
    CU_ASSERT_EQUAL(s->flags[0].nvalues, 2);
    CU_ASSERT_STRING_EQUAL(s->flags[0].value[0], "1");
    CU_ASSERT_STRING_EQUAL(s->flags[0].value[1], "2");
    CU_ASSERT_EQUAL(ss_sweep_vary(s, "nodes=4..16,8,32", NULL), 0);
    CU_ASSERT_EQUAL(s->flags[1].nvalues, 4); /* 4 8 16 32 */
    CU_ASSERT_EQUAL(ss_sweep_vary(s, "set=ss.nic.bandwidth=25GBps,25GBps,50GBps", NULL), 0);
    CU_ASSERT_EQUAL(s->flags[2].nvalues, 2);
    CU_ASSERT_EQUAL(ss_sweep_vary(s, "model=a,b,a,llama3.1-8b,Llama-3.1-8B", NULL), 0);
    CU_ASSERT_EQUAL(s->flags[3].nvalues, 3);
    static const struct {
        const char *text;
        int n;
    } spelt[] = {{"set=nic.bandwidth=12.5GBps,100Gbps,ss.nic.bandwidth=12500MBps,25GBps", 2},
                 {"set=nic.bandwidth=1GBps,nvlink.bandwidth=1GBps", 2},
                 {"scale=nic.bandwidth=2,2x,2.0x,ss.nic.bandwidth=2x,3", 2},
                 {"spread=1,1.0,1e0,2", 2},
                 {"precision=bf16,fp16,bf16", 2},
                 {"recompute=none,full,selective", 3},
                 {"rank-order=tp-cp-ep-dp-pp,tp-dp-pp", 2},
                 {"schedule=1f1b,zb-h1", 2},
                 {"attention-backend=flash,fused,auto", 3}};
    for (size_t i = 0; i < sizeof spelt / sizeof *spelt; i++) {
        memset(s, 0, sizeof *s);
        CU_ASSERT_EQUAL(ss_sweep_vary(s, spelt[i].text, NULL), 0);
        CU_ASSERT_EQUAL(s->flags[0].nvalues, spelt[i].n);
    }
    free(s);
}

/* Two flags of which one leaves nothing of the other are refused, in any order; such as differ in all rows are not. */
TEST(synonyms)
{
    static const struct {
        const char *a, *b;
        int twice;
    } cases[] = {{"nodes=2,4", "gpus=8,16", 1},
                 {"gbs=16,32", "gradient-accumulation-steps=2,4", 1},
                 {"global-batch-size=16,32", "gbs=2,4", 1},
                 {"vp=2,4", "num-virtual-stages-per-pipeline-rank=2,4", 1},
                 {"vp=1,2", "num-layers-per-virtual-pipeline-stage=4,8", 1},
                 {"recompute=none,full", "recompute-granularity=selective,full", 1},
                 {"recompute=none,full", "recompute-num-layers=1,2", 0},
                 {"precision=bf16,fp16", "bf16=on", 1},
                 {"nodes=2,4", "gpus-per-node=4,8", 0},
                 {"tp=1,2", "sequence-parallel=on,off", 0},
                 {"precision=bf16,fp8", "fp8-recipe=delayed,blockwise", 0},
                 {"tp=1,2", "pp=1,2", 0},
                 {"mbs=1,2", "gbs=16,32", 0},
                 {"set=nic.bandwidth=1GBps,2GBps", "scale=nic.bandwidth=1,2", 0},
                 {"recompute-granularity=full", "recompute-num-layers=1,2", 0}};
    struct ss_sweep *s = calloc(1, sizeof *s);

    for (size_t i = 0; i < 2 * (sizeof cases / sizeof *cases); i++) {
        struct ss_error err = {0};
        const char *words[] = {cases[i / 2].a, cases[i / 2].b};
        memset(s, 0, sizeof *s);
        CU_ASSERT_EQUAL(ss_sweep_vary(s, words[i % 2], NULL), 0);
        CU_ASSERT_EQUAL(ss_sweep_vary(s, words[!(i % 2)], &err), cases[i / 2].twice ? SS_ERR_USAGE : 0);
        CU_ASSERT_EQUAL(s->nflags, cases[i / 2].twice ? 1 : 2);
        CU_ASSERT(!cases[i / 2].twice || strstr(err.message, "two names") ||
                  strstr(err.message, "given twice"));
    }
    free(s);
}

static void opens(const char *first, const char *second, const char *vary, int flags, int nodes,
                  unsigned long notes)
{
    char words[4][32] = {"--tp", "2"};
    char *argv[] = {words[0], words[1], words[2], words[3]};
    struct ss_sweep *s = calloc(1, sizeof *s);
    struct ss_request r;

    snprintf(words[2], sizeof words[2], "%s", first);
    snprintf(words[3], sizeof words[3], "%s", second);
    ss_request_init(&r);
    CU_ASSERT_EQUAL_FATAL(ss_request_read(&r, second[0] ? 4 : 3, argv, NULL), 0);
    CU_ASSERT(!vary[0] || !ss_sweep_vary(s, vary, NULL));
    CU_ASSERT_EQUAL(ss_sweep_open(s, &r, NULL), 0);
    CU_ASSERT_EQUAL(s->nflags, flags);
    CU_ASSERT_EQUAL(flags ? s->flags[flags - 1].nvalues : 0, nodes);
    CU_ASSERT_EQUAL(r.notes.n, notes);
    ss_request_free(&r);
    free(s);
}

/* A list of nodes varies, as in capacity; a flag whose place varied values take is told. */
TEST(open)
{
    opens("--nodes", "8", "", 0, 0, 0);
    opens("--nodes", "8,16", "", 1, 2, 0);
    opens("--nodes=4..64", "", "mbs=1,2", 2, 5, 0);
    opens("--nodes", "8", "tp=1,2,4", 1, 3, 1);
    opens("--nodes", "8", "nodes=3..20", 1, 3, 2); /* 3 6 12 */
    opens("--nodes", "8", "gpus=16,32", 1, 2, 1);
    opens("--fp16", "", "precision=bf16,fp16", 1, 2, 1);
    opens("--gbs", "16", "gradient-accumulation-steps=1,2", 1, 2, 1);
    opens("--sequence-parallel", "", "tp=1,2", 1, 2, 1); /* of the --tp 2 before */
    opens("--recompute-granularity", "full", "recompute=none,selective", 1, 2, 1);
    opens("--set", "nic.latency=1us", "set=ss.nic.bandwidth=25GBps,50GBps", 1, 2, 0);
    opens("--set", "nic.bandwidth=1GBps", "set=ss.nic.bandwidth=25GBps,50GBps", 1, 2, 1);
    opens("--scale", "nic.bandwidth=2", "scale=nic.bandwidth=1,2", 1, 2, 0);
}

/* Refused, too large and those near the limit are no answer; of equal ones the first is. */
TEST(best)
{
    struct ss_sweep_row rows[] = {
        {.summary = {.outcome = SS_OUTCOME_REFUSED, .iteration_s = 0.1, .tokens_per_s_per_gpu = 99}},
        {.summary = {.outcome = SS_OUTCOME_TOO_LARGE, .iteration_s = 0.2, .tokens_per_s_per_gpu = 98}},
        {.summary = {.outcome = SS_OUTCOME_NEAR_LIMIT, .iteration_s = 0.3, .tokens_per_s_per_gpu = 97}},
        {.summary = {.gpus = 8, .iteration_s = 4, .tokens_per_s_per_gpu = 50}},
        {.summary = {.gpus = 16, .iteration_s = 2, .tokens_per_s_per_gpu = 40}},
        {.summary = {.gpus = 8, .iteration_s = 1, .tokens_per_s_per_gpu = 50}}, /* does less */
    };
    struct ss_sweep s = {.rows = rows, .nrows = 6};

    CU_ASSERT_EQUAL(ss_sweep_count(&s, SS_OUTCOME_REFUSED), 1);
    CU_ASSERT_EQUAL(ss_sweep_count(&s, SS_OUTCOME_TOO_LARGE), 1);
    CU_ASSERT_EQUAL(ss_sweep_count(&s, SS_OUTCOME_NEAR_LIMIT), 1);
    CU_ASSERT_EQUAL(ss_sweep_count(&s, SS_OUTCOME_FITS), 3);
    CU_ASSERT_EQUAL(ss_sweep_best_near_limit(&s), -1); /* of no GPUs, no tokens a second */
    rows[2].summary.gpus = 8;
    CU_ASSERT_EQUAL(ss_sweep_best_near_limit(&s), 2);
    CU_ASSERT_EQUAL(ss_sweep_best(&s, SS_OUTCOME_FITS, 0), 4);
    CU_ASSERT_EQUAL(ss_sweep_best(&s, SS_OUTCOME_FITS, 1), 3);
    rows[2].summary.gpus = 6; /* as fast as some that are sure to fit */
    CU_ASSERT_EQUAL(ss_sweep_best_near_limit(&s), -1);
    s.nrows = 3;
    CU_ASSERT_EQUAL(ss_sweep_best_near_limit(&s), 2);
    CU_ASSERT_EQUAL(ss_sweep_best(&s, SS_OUTCOME_FITS, 0), -1);
    CU_ASSERT_EQUAL(ss_sweep_best(&s, SS_OUTCOME_FITS, 1), -1);
}

/* The words of a combination beat the job's; a refused one is an outcome, a typo an error. */
TEST(predict)
{
    char *const words[] = {
        "--job", SS_SOURCE_DIR "/workloads/jobs/8b-16.args", "--platform", "h800", "--nodes", "4"};
    struct ss_run_options options = {.engine = SS_ENGINE_NATIVE};
    struct ss_sweep s = {0};
    struct ss_sweep_row row[3];
    struct ss_request base;
    struct ss_error err;

    ss_request_init(&base);
    CU_ASSERT_EQUAL_FATAL(ss_request_read(&base, 6, words, &err), 0);
    CU_ASSERT_EQUAL(ss_sweep_vary(&s, "nodes=4,8,3", &err), 0);
    CU_ASSERT_EQUAL(ss_sweep_check(&s, &base, &err), 0);
    size_t n = base.n;
    for (int i = 2; i >= 0; i--) /* in any order */
        CU_ASSERT_EQUAL_FATAL(ss_sweep_predict(&s, i, &base, NULL, &options, &row[i], &err), 0);
    CU_ASSERT_EQUAL(base.n, n);
    CU_ASSERT_EQUAL(row[0].summary.gpus, 32);
    CU_ASSERT_EQUAL(row[1].summary.gpus, 64);
    CU_ASSERT(row[1].summary.iteration_s < row[0].summary.iteration_s);
    CU_ASSERT_EQUAL(row[2].summary.outcome, SS_OUTCOME_REFUSED);
    CU_ASSERT_EQUAL(ss_sweep_vary(&s, "nodes=1", &err), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_sweep_vary(&s, "nodez=1", &err), 0);
    CU_ASSERT_EQUAL(ss_sweep_predict(&s, 0, &base, NULL, &options, &row[0], &err), SS_ERR_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "--nodez"));
    ss_request_free(&base);
}

TEST(order)
{
    struct ss_sweep_order o;
    struct ss_error err = {0};

    CU_ASSERT_EQUAL(ss_sweep_order_read("iteration_ms", &o, &err), 0);
    CU_ASSERT(o.metric == SS_METRIC_OF_iteration_s && !o.down);
    CU_ASSERT_EQUAL(ss_sweep_order_read("tokens_per_s_per_gpu", &o, &err), 0);
    CU_ASSERT(o.metric == SS_METRIC_OF_tokens_per_s_per_gpu && o.down);
    CU_ASSERT_EQUAL(ss_sweep_order_read("mfu", &o, &err), 0);
    CU_ASSERT(o.metric == SS_METRIC_OF_mfu && o.down); /* not mfu_bf16 */
    CU_ASSERT_EQUAL(ss_sweep_order_read("mfu_bf16:up", &o, &err), 0);
    CU_ASSERT(o.metric == SS_METRIC_OF_mfu_bf16 && !o.down);
    CU_ASSERT_EQUAL(ss_sweep_order_read("peak_mib:down", &o, &err), 0);
    CU_ASSERT(o.metric == SS_METRIC_OF_peak_device && o.down);
    CU_ASSERT_EQUAL(ss_sweep_order_read("mfu:", &o, &err), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_sweep_order_read("peak_mibs", &o, &err), SS_ERR_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.hint, "peak_mib"));
}

/* Equal ones stay as they were, those without the figure are last; what is taken out still counts. */
TEST(arrange)
{
    static const struct ss_sweep_row start[] = {
        {.at = {0}, .summary = {.outcome = SS_OUTCOME_REFUSED}},
        {.at = {1}, .summary = {.outcome = SS_OUTCOME_FITS, .iteration_s = 2}},
        {.at = {2}, .summary = {.outcome = SS_OUTCOME_TOO_LARGE, .iteration_s = 1}},
        {.at = {3}, .summary = {.outcome = SS_OUTCOME_NEAR_LIMIT, .iteration_s = 3}},
        {.at = {4}, .summary = {.outcome = SS_OUTCOME_FITS, .iteration_s = 2}},
    };
    static const struct {
        int down, fits, n, order[5];
    } cases[] = {{0, 0, 5, {2, 1, 4, 3, 0}}, {1, 0, 5, {3, 1, 4, 2, 0}}, {0, 1, 3, {1, 4, 3}}};
    struct ss_sweep_row rows[5];

    for (int c = 0; c < 3; c++) {
        struct ss_sweep s = {.rows = rows, .nrows = 5};
        const struct ss_sweep_order o = {SS_METRIC_OF_iteration_s, cases[c].down};
        memcpy(rows, start, sizeof rows);
        CU_ASSERT_EQUAL(ss_sweep_arrange(&s, &o, cases[c].fits, NULL), 0);
        CU_ASSERT_EQUAL(s.nrows, cases[c].n);
        for (int i = 0; i < s.nrows; i++)
            CU_ASSERT_EQUAL(rows[i].at[0], cases[c].order[i]);
        CU_ASSERT_EQUAL(ss_sweep_count(&s, SS_OUTCOME_REFUSED), 1);
        CU_ASSERT_EQUAL(ss_sweep_count(&s, SS_OUTCOME_TOO_LARGE), 1);
        CU_ASSERT_EQUAL(ss_sweep_count(&s, SS_OUTCOME_FITS), 2);
        s.top = 2;
        CU_ASSERT_EQUAL(ss_sweep_shown(&s), 2);
    }
    struct ss_sweep s = {.rows = rows, .nrows = 5};
    memcpy(rows, start, sizeof rows);
    CU_ASSERT_EQUAL(ss_sweep_arrange(&s, NULL, 0, NULL), 0);
    CU_ASSERT_EQUAL(memcmp(rows, start, sizeof rows), 0);
}

/* As many rows, and the same, for any number of workers; what was read is known here though others read it. */
TEST(run)
{
    static char *words[] = {"--job", "70b-14",  "--platform",
                            "h800",  "--model", SS_SOURCE_DIR "/workloads/models/llama3.1-70b.json"};
    struct ss_sweep s = {0};
    struct ss_request base;
    struct ss_error err;
    struct ss_sweep_row *alone = NULL;

    ss_request_init(&base);
    CU_ASSERT_EQUAL_FATAL(ss_request_read(&base, 6, words, &err), 0);
    CU_ASSERT_EQUAL(ss_sweep_vary(&s, "nodes=3,8,16", &err), 0);
    CU_ASSERT_EQUAL(ss_sweep_vary(&s, "tp=4,8", &err), 0);
    for (int workers = 1; workers < 4; workers++) {
        struct ss_files files = {0};
        const struct ss_scenario_options how = {.files = &files};
        const struct ss_sweep_options options = {.how = &how, .workers = {.n = workers}};
        CU_ASSERT_EQUAL_FATAL(ss_sweep_run(&s, &base, &options, 6, &err), 0);
        CU_ASSERT_EQUAL_FATAL(s.nrows, 6);
        CU_ASSERT(ss_files_have(&files, words[5]));
        CU_ASSERT_EQUAL(s.rows[0].summary.outcome, SS_OUTCOME_REFUSED);
        CU_ASSERT_EQUAL(s.rows[2].summary.gpus, 64);
        if (alone) {
            CU_ASSERT_EQUAL(memcmp(alone, s.rows, 6 * sizeof *alone), 0);
            free(s.rows);
        } else {
            alone = s.rows;
        }
        ss_files_free(&files);
    }
    CU_ASSERT_EQUAL(ss_sweep_run(&s, &base, NULL, 5, &err), SS_ERR_USAGE);
    s.rows = alone; /* the first row is refused: what all stand on is told, too */
    s.nrows = 1;
    CU_ASSERT_EQUAL(ss_sweep_warnings(&s, &base, NULL, NULL, &err), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(s.premises, "llama3.1-70b, fp8"));
    free(alone);
    ss_request_free(&base);
}

/* A row's band is the one that `run` tells of the same job, which holds what was assumed: here bf16. */
TEST(bands)
{
    char *words[] = {"--platform", "h100",  "--nodes", "1",     "--model", "llama3-8b", "--seq",
                     "4096",       "--gbs", "16",      "--mbs", "1",       "--tp",      "4"};
    const struct ss_run_options options = {.engine = SS_ENGINE_NATIVE};
    struct ss_sweep s = {0};
    struct ss_request base;
    struct ss_bands *bands;
    struct ss_scenario *job;
    struct ss_error err;
    struct ss_run run;

    CU_ASSERT_EQUAL_FATAL(ss_bands_load(NULL, NULL, &bands, NULL), 0);
    struct ss_run_options with = options;
    with.bands = bands;
    ss_request_init(&base);
    CU_ASSERT_EQUAL_FATAL(ss_request_read(&base, 14, words, &err), 0);
    CU_ASSERT_EQUAL_FATAL(ss_scenario_build(&base, NULL, &job, &err), 0);
    CU_ASSERT_EQUAL_FATAL(ss_run_weighed(job, &with, &run, &err), 0);
    CU_ASSERT_EQUAL(ss_sweep_vary(&s, "tp=2,4", &err), 0);
    CU_ASSERT_EQUAL_FATAL(ss_sweep_run(&s, &base, NULL, 2, &err), 0);
    const struct ss_summary *a = &run.summary, *b = &s.rows[1].summary;
    CU_ASSERT(a->weighed == 1 && b->weighed == 1);
    CU_ASSERT(a->time_low_pct < 100 / (1 + a->band_pct / 100) - 100);
    CU_ASSERT_DOUBLE_EQUAL(b->time_low_pct, a->time_low_pct, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(b->time_high_pct, a->time_high_pct, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(b->memory_low_pct, a->memory_low_pct, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(b->memory_high_pct, a->memory_high_pct, 1e-9);
    ss_run_free(&run);
    ss_scenario_free(job);
    ss_request_free(&base);
    ss_bands_free(bands);
    free(s.rows);
}
