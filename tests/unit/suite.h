/* SPDX-License-Identifier: Apache-2.0 */
/* The main program of a unit test. */
#ifndef TESTS_UNIT_SUITE_H
#define TESTS_UNIT_SUITE_H

#include <CUnit/Basic.h>
#include <CUnit/TestDB.h>

/* Runs one suite between `init` and `cleanup`, which may be NULL; `tests` ends in CU_TEST_INFO_NULL. Exit status: 0, 1 a test failed or none ran, 2 CUnit did. */
static inline int suite_run(const char *name, CU_InitializeFunc init, CU_CleanupFunc cleanup,
                            CU_TestInfo *tests)
{
    CU_SuiteInfo suites[] = {{(char *)name, init, cleanup, NULL, NULL, tests}, CU_SUITE_INFO_NULL};

    if (CU_initialize_registry() != CUE_SUCCESS || CU_register_suites(suites) != CUE_SUCCESS)
        return 2;
    CU_basic_set_mode(CU_BRM_NORMAL);
    CU_basic_run_tests();
    int bad = CU_get_number_of_failures() > 0 || CU_get_number_of_suites_failed() > 0 ||
              CU_get_number_of_tests_run() == 0;
    CU_cleanup_registry();
    return bad;
}

#endif
