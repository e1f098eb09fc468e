/* SPDX-License-Identifier: Apache-2.0 */
/* The answer for a range of too many layouts to search, against numbers of it that are searched in full. */
#include <stdlib.h>
#include <string.h>

#include "decide/capacity_internal.h"
#include "job_helper.h"
#include "suite.h"

/* On 128 nodes, a row, a micro batch of 2 without context ranks is best. 157 nodes are a prime number: their replicas of 8 GPUs divide no
 * batch but multiples of 157, and an odd micro batch is best. */
static const char job[] = "--platform h100 --model llama3.1-8b --seq 8192 --gbs 1024 --nodes ";

static const struct ss_capacity_point *answer_of(const char *nodes, struct ss_capacity **c)
{
    struct ss_capacity_options o = {.tokens = 15e12,
                                    .deadline_s = 21 * 86400,
                                    .workers = {.n = 1},
                                    .run = &(struct ss_run_options){.unchecked = 1}};
    char words[160], *argv[32];
    struct ss_request r;
    struct ss_error err;

    snprintf(words, sizeof words, "%s%s", job, nodes);
    ss_request_init(&r);
    CU_ASSERT_EQUAL_FATAL(ss_request_read(&r, split(words, argv), argv, &err), 0);
    CU_ASSERT_EQUAL_FATAL(ss_capacity_run(&r, &o, c, &err), 0);
    ss_request_free(&r);
    CU_ASSERT_FATAL((*c)->clusters[0].chosen >= 0);
    return &(*c)->points[(*c)->clusters[0].chosen];
}

static void test_range(void)
{
    struct ss_capacity *range = NULL, *list = NULL;
    const struct ss_capacity_point *a = answer_of("120..160", &range), *b = answer_of("128,157,160", &list);

    CU_ASSERT_EQUAL(range->clusters[0].look, SS_CAPACITY_LAYOUTS);
    CU_ASSERT(a->gpu_hours.value <= b->gpu_hours.value);
    ss_capacity_free(range);
    ss_capacity_free(list);
}

SUITE(capacity_range)
{
    CU_TestInfo tests[] = {{"range", test_range}, CU_TEST_INFO_NULL};

    return suite_run("capacity range", NULL, NULL, tests);
}
