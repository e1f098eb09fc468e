/* SPDX-License-Identifier: Apache-2.0 */
/* What words of a run become. */
#include "base/base.h"
#include "stepsim/run_words.h"
#include "suite.h"

static struct ss_plan_options finished(struct ss_run_words *how, const char *straggler, const char *link)
{
    struct ss_scenario s = {0};

    ss_run_words_init(how, SS_ENGINE_NATIVE);
    CU_ASSERT_EQUAL(straggler ? ss_run_words_straggler(how, straggler, NULL) : 0, 0);
    CU_ASSERT_EQUAL(link ? ss_run_words_slow_link(how, link, NULL) : 0, 0);
    CU_ASSERT_EQUAL(ss_run_words_finish(how, &s, NULL, NULL), 0);
    return how->options.plan;
}

/* A plan of which nothing is told is all zeros, by which a run is known as its own quick simulation, and bounds to hold. */
static void test_nothing_told(void)
{
    static const struct ss_plan_options usual;
    struct ss_run_words how;
    struct ss_plan_options plan = finished(&how, NULL, NULL);

    CU_ASSERT_EQUAL(memcmp(&plan, &usual, sizeof usual), 0);
    plan = finished(&how, "3:1.5", NULL);
    CU_ASSERT_EQUAL(plan.nstragglers, 1);
    CU_ASSERT_PTR_EQUAL(plan.stragglers, how.stragglers);
    CU_ASSERT_PTR_NULL(plan.slow_links);
    CU_ASSERT_EQUAL(plan.stragglers[0].rank, 3);
    plan = finished(&how, NULL, "up:failed");
    CU_ASSERT_PTR_NULL(plan.stragglers);
    CU_ASSERT_EQUAL(plan.nslow_links, 1);
    CU_ASSERT_PTR_EQUAL(plan.slow_links, how.slow_links);
}

SUITE(run_words)
{
    CU_TestInfo tests[] = {{"a plan of which nothing is told", test_nothing_told}, CU_TEST_INFO_NULL};
    return suite_run("run_words", NULL, NULL, tests);
}
