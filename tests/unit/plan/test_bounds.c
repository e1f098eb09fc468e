/* SPDX-License-Identifier: Apache-2.0 */
/* Lower bounds of a rank's slots, by hand. */
#include <string.h>

#include "plan/bounds.h"
#include "stepsim/job.h"
#include "suite.h"

/* Forwards before the first backward: p - r - 1 of one chunk, 2 (p - r - 1) + (v - 1) p of several, no more than there are. */
static void test_warmup(void)
{
    struct ss_job job;
    memset(&job, 0, sizeof job);
    job.pp = 4;
    CU_ASSERT_EQUAL(ss_plan_bounds_warmup(&job, 0, 8), 3);
    CU_ASSERT_EQUAL(ss_plan_bounds_warmup(&job, 3, 8), 0);
    CU_ASSERT_EQUAL(ss_plan_bounds_warmup(&job, 0, 2), 2);
    job.virtual_stages = 2;
    CU_ASSERT_EQUAL_FATAL(ss_job_chunks(&job), 2);
    CU_ASSERT_EQUAL(ss_plan_bounds_warmup(&job, 0, 8), 10);
    CU_ASSERT_EQUAL(ss_plan_bounds_warmup(&job, 3, 8), 4);
    CU_ASSERT_EQUAL(ss_plan_bounds_warmup(&job, 0, 4), 8);
    job.microbatch_group_size = 6;
    CU_ASSERT_EQUAL(ss_plan_bounds_warmup(&job, 0, 12), 12);
}

/* Host and GPU are busy; the later one decides. A host that ends each forward with the GPU begins each backward behind one with it. */
static void test_ahead(void)
{
    struct ss_stage_bounds s = {.forward = 1, .backward = 2, .host = {2, 2}, .waits = {1, 0.5}};
    CU_ASSERT_EQUAL(ss_plan_bounds_ahead(&s, 8, 3), 8 * 4);
    s.host[SS_PHASE_F] = 0.5;
    CU_ASSERT_EQUAL(ss_plan_bounds_ahead(&s, 8, 3), 8 * 3);
    s.in_step[SS_PHASE_F] = 1; /* the forward has its waits */
    s.host[SS_PHASE_F] = s.waits[SS_PHASE_F] = 0;
    s.most_back = 2.5;
    s.least_back[0] = 2;
    s.least_back[1] = 2.25; /* what the host takes for each of the last three backwards */
    CU_ASSERT_EQUAL(ss_plan_bounds_ahead(&s, 8, 3), 8 * 3.5 - 3 * 0.25);
    s.in_step[SS_PHASE_B] = 1;
    CU_ASSERT_EQUAL(ss_plan_bounds_ahead(&s, 8, 3), 8 * 3);
}

SUITE(bounds)
{
    CU_TestInfo tests[] = {{"warmup", test_warmup}, {"ahead", test_ahead}, CU_TEST_INFO_NULL};
    (void)argc;
    (void)argv;
    return suite_run("bounds", NULL, NULL, tests);
}
