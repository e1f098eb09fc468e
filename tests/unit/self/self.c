/* SPDX-License-Identifier: Apache-2.0 */
/* Suites of which self.sh knows what becomes of them. */
#include <stdio.h>
#include <stdlib.h>

#include "suite.h"

static void test_true(void)
{
    CU_ASSERT_TRUE(1);
}

static void test_false(void)
{
    CU_ASSERT_TRUE(0);
}

static int run(CU_TestInfo test)
{
    CU_TestInfo tests[] = {test, CU_TEST_INFO_NULL};

    return suite_run("self", NULL, NULL, tests);
}

static int passes(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        printf("word %d: %s\n", i, argv[i]);
    return run((CU_TestInfo){"true", test_true});
}

static int fails(int argc, char **argv)
{
    (void)argc, (void)argv;
    return run((CU_TestInfo){"false", test_false});
}

static int empty(int argc, char **argv)
{
    (void)argc, (void)argv;
    return run((CU_TestInfo)CU_TEST_INFO_NULL);
}

static int crashes(int argc, char **argv)
{
    (void)argc, (void)argv;
    abort();
}

const struct suite_row suite_rows[] = {{"apart", NULL},  {"crashes", crashes}, {"fails", fails},
                                       {"empty", empty}, {"nowhere", NULL},    {"passes", passes},
                                       {NULL, NULL}};
