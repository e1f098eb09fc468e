/* SPDX-License-Identifier: Apache-2.0 */
/* Null pointers that the library's callers give: each is a default or an error, none ends the process. */
#include <math.h>
#include <stdio.h>
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

static void test_capacity(void)
{
    const struct ss_capacity_options endless = {.tokens = INFINITY};
    struct ss_capacity *plan;

    CU_ASSERT_EQUAL(ss_capacity_run(scenario->request, NULL, &plan, NULL), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_capacity_run(scenario->request, &endless, &plan, NULL), SS_ERR_USAGE);
}

static void test_calibrate(void)
{
    const struct ss_calibrate_options nothing = {0};
    struct ss_calibration *c;

    CU_ASSERT_EQUAL(ss_calibrate(NULL, &c, NULL), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_calibrate(&nothing, &c, NULL), SS_ERR_USAGE);
}

static void test_page(void)
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

static void test_reports(void)
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

static void test_replays(void)
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

static void test_layouts(void)
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

static void test_names(void)
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

int main(void)
{
    CU_TestInfo tests[] = {{"capacity", test_capacity}, {"calibrate", test_calibrate},
                           {"page", test_page},         {"reports", test_reports},
                           {"replays", test_replays},   {"layouts", test_layouts},
                           {"names", test_names},       CU_TEST_INFO_NULL};
    return suite_run("misuse", setup, teardown, tests);
}
