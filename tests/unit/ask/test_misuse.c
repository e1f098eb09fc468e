/* SPDX-License-Identifier: Apache-2.0 */
/* Null pointers that the library's callers give: each is a default or an error, none ends the process. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "job_helper.h"
#include "stepsim/stepsim.h"
#include "suite.h"

static struct ss_scenario *scenario;
static struct ss_run run;

static int setup(void)
{
    char *const words[] = {"--job", "8b-05"};
    int rc = make_scenario(2, words, &scenario, NULL);

    return rc ? rc : ss_run_scenario(scenario, NULL, &run, NULL);
}

static int teardown(void)
{
    ss_run_free(&run);
    ss_scenario_free(scenario);
    return 0;
}

TEST(capacity)
{
    const struct ss_capacity_options endless = {.tokens = INFINITY}, ninth = {.tokens = 1e12, .layout = 9};
    struct ss_capacity *plan;

    CU_ASSERT_EQUAL(ss_capacity_run(scenario->request, NULL, &plan, NULL), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_capacity_run(scenario->request, &endless, &plan, NULL), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_capacity_run(scenario->request, &ninth, &plan, NULL), SS_ERR_USAGE);
}

TEST(calibrate)
{
    const struct ss_calibrate_options nothing = {0};
    struct ss_calibration *c;

    CU_ASSERT_EQUAL(ss_calibrate(NULL, &c, NULL), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_calibrate(&nothing, &c, NULL), SS_ERR_USAGE);
}

TEST(page)
{
    struct ss_serve *page = NULL;

    CU_ASSERT_EQUAL(ss_serve_new(NULL, &page, NULL), 0);
    ss_serve_free(page);
}

/* What `report` writes without options. */
static char *text_of(int (*report)(const struct ss_run *, const struct ss_report_options *, FILE *,
                                   struct ss_error *),
                     const struct ss_report_options *options)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);

    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    CU_ASSERT_EQUAL(report(&run, options, out, NULL), 0);
    fclose(out);
    return text;
}

TEST(reports)
{
    const struct ss_report_options text = {.wall_s = -1};
    char *a = text_of(ss_report_run, NULL), *b = text_of(ss_report_run, &text);

    CU_ASSERT_STRING_EQUAL(a, b);
    free(a);
    free(b);
    a = text_of(ss_report_plan, NULL);
    b = text_of(ss_report_plan, &text);
    CU_ASSERT_STRING_EQUAL(a, b);
    free(a);
    free(b);
}

TEST(replays)
{
    struct ss_timeline *usual, *named, *steady;

    CU_ASSERT_EQUAL_FATAL(ss_timeline_replay_with(run.program, NULL, &usual, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_timeline_replay(run.program, SS_ENGINE_NATIVE, &named, NULL), 0);
    CU_ASSERT_EQUAL(usual->iteration_s, named->iteration_s);
    ss_timeline_free(usual);
    ss_timeline_free(named);
    CU_ASSERT_EQUAL_FATAL(ss_timeline_steady(run.program, NULL, &steady, NULL), 0);
    ss_timeline_free(steady);
}

TEST(layouts)
{
    struct ss_search_layouts *l;
    struct ss_search *whole = ss_search_new(2, 1, 4);

    CU_ASSERT_PTR_NOT_NULL_FATAL(whole);
    CU_ASSERT_EQUAL_FATAL(ss_search_layouts_of_shape(whole, NULL, &l, NULL), 0);
    CU_ASSERT_EQUAL(l->n, 3); /* one chunk a rank, two, and two on a V */
    ss_search_layouts_free(l);
    ss_search_free(whole);
    /* of a job: one stage alone, which is no search */
    char *const words[] = {"--job", "8b-05", "--nodes", "1", "--tp", "8", "--pp", "1"};
    struct ss_scenario *one;
    CU_ASSERT_EQUAL_FATAL(make_scenario(8, words, &one, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_search_layouts_run(one, NULL, &l, NULL), 0);
    CU_ASSERT_EQUAL(l->n, 1);
    ss_search_layouts_free(l);
    ss_scenario_free(one);
}

TEST(names)
{
    struct ss_platform *p;
    struct ss_model m;
    struct ss_stack stack;
    struct ss_card card;
    struct ss_table *table;
    struct ss_nccl_log *nccl;
    struct ss_train_log *log;
    struct ss_error err = {0};

    CU_ASSERT_EQUAL(ss_platform_load(NULL, NULL, &p, &err), SS_ERR_USAGE);
    CU_ASSERT_STRING_EQUAL(err.message, "no name or path of one of platforms");
    CU_ASSERT_EQUAL(ss_model_load(NULL, &m, NULL), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_stack_load(NULL, NULL, &stack, NULL), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_card_load(NULL, &card, NULL), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_table_load(NULL, &table, NULL, NULL), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_nccl_load(NULL, &nccl, NULL), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_train_log_load(NULL, &log, NULL), SS_ERR_USAGE);
}

TEST(texts)
{
    struct ss_sweep sweep = {0};
    struct ss_sweep_order order;
    struct ss_fit_prop prop;
    struct ss_request r;
    struct ss_platform *p;
    double x;
    char *const words[] = {"--job", NULL};

    CU_ASSERT_EQUAL(ss_sweep_vary(&sweep, NULL, NULL), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_sweep_order_read(NULL, &order, NULL), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_fit_prop_parse(NULL, &prop, NULL), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_capacity_read_tokens(NULL, &x, NULL), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_capacity_read_time(NULL, &x, NULL), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_capacity_read_money(NULL, &x, NULL), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_platform_import_hwloc(NULL, NULL, &p, NULL, 0, NULL), SS_ERR_USAGE);
    ss_request_init(&r);
    CU_ASSERT_EQUAL(ss_request_read(&r, 2, words, NULL), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_request_read(&r, 1, NULL, NULL), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_request_read(&r, 0, NULL, NULL), 0);
    CU_ASSERT_EQUAL(ss_request_read_text(&r, NULL, 1, "a", NULL), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_request_read_text(&r, "--tp 2", 6, NULL, NULL), SS_ERR_USAGE);
    ss_request_free(&r);
}

TEST(schedules)
{
    const struct ss_schedule_params params = {.stages = 2, .chunks = 1, .microbatches = 4};
    const double times[3] = {1, 1, 1};
    struct ss_cache *cache;
    struct ss_schedule *s;
    struct ss_comparison *c;
    struct ss_plan *plan;

    CU_ASSERT_EQUAL_FATAL(ss_cache_open(&cache, NULL), 0);
    CU_ASSERT_EQUAL(ss_schedule_build(NULL, &params, &s, NULL), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_schedule_build("1f1b", NULL, &s, NULL), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_schedule_build_loop(NULL, &params, &s, NULL), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_schedule_build_kept(NULL, &params, cache, &s, NULL), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_schedule_build_kept("1f1b", NULL, cache, &s, NULL), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_schedule_load(NULL, &s, NULL), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_schedule_is_file(NULL), 0);
    CU_ASSERT_EQUAL(ss_schedule_chunks(NULL, 3), 3);
    CU_ASSERT_EQUAL(ss_compare_integers(NULL, 0, NULL, times, 0, NULL, &c, NULL), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_compare_integers(NULL, 0, &params, NULL, 0, NULL, &c, NULL), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(
        ss_plan_build(scenario->job, scenario->stack, scenario->platform, NULL, NULL, &plan, NULL),
        SS_ERR_USAGE);
    ss_cache_close(cache);
}

TEST(sides)
{
    struct ss_side side[SS_SIDES_MOST];
    struct ss_apart apart[SS_SIDES_MOST] = {0};
    struct ss_error err = {0};

    CU_ASSERT_EQUAL(ss_contrast_write(NULL, apart, 2, SS_CONTRAST_TEXT, NULL, stdout, NULL), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_contrast_write(side, NULL, 2, SS_CONTRAST_TEXT, NULL, stdout, NULL), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_contrast_write(side, apart, 1, SS_CONTRAST_TEXT, NULL, stdout, NULL), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_contrast_write(side, apart, 9, SS_CONTRAST_TEXT, NULL, stdout, NULL), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_contrast_write(side, apart, 2, (enum ss_contrast_form)9, NULL, stdout, &err),
                    SS_ERR_USAGE);
    CU_ASSERT_STRING_EQUAL(err.message, "unknown form 9 of a comparison");
}

/* An index of no table finds nothing; a prop of a stack is none of a platform, whose memory is not its own. */
TEST(indices)
{
    const int bandwidth = ss_prop_find("ss.nic.bandwidth", SS_OF_ANY);
    struct ss_platform *p;

    CU_ASSERT_PTR_NULL(ss_prop_at(-1));
    CU_ASSERT_PTR_NULL(ss_prop_at(SS_PROP_COUNT));
    CU_ASSERT_EQUAL(ss_prop_find(NULL, SS_OF_ANY), -1);
    CU_ASSERT_EQUAL(ss_comm_axes(99), 0);
    CU_ASSERT_EQUAL(ss_comm_axes(-1), 0);
    CU_ASSERT_EQUAL_FATAL(ss_platform_load("h800", NULL, &p, NULL), 0);
    CU_ASSERT_EQUAL(ss_platform_set(p, NULL, "1GBps", NULL), SS_ERR_INPUT);
    CU_ASSERT_EQUAL(ss_platform_set(p, "ss.nic.bandwidth", NULL, NULL), SS_ERR_INPUT);
    CU_ASSERT_EQUAL(ss_platform_scale(p, -1, 2, NULL), SS_ERR_INPUT);
    CU_ASSERT_EQUAL(ss_platform_scale(p, SS_PROP_COUNT, 2, NULL), SS_ERR_INPUT);
    CU_ASSERT_EQUAL(ss_platform_scale(p, SS_PROP_GPUS_PER_NODE, 2, NULL), SS_ERR_INPUT);
    for (int i = 0; i < SS_PROP_COUNT; i++)
        if (ss_prop_at(i)->owner == SS_OF_STACK)
            CU_ASSERT_EQUAL(ss_platform_scale(p, i, 1, NULL), SS_ERR_INPUT);
    double before = ss_platform_get(p, bandwidth);
    CU_ASSERT_EQUAL(ss_platform_scale(p, bandwidth, 0.5, NULL), 0);
    CU_ASSERT_EQUAL(ss_platform_get(p, bandwidth), before / 2);
    ss_platform_free(p);
}

SUITE(misuse)
{
    return suite_file(argv[0], setup, teardown);
}
