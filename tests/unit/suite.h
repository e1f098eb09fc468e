/* SPDX-License-Identifier: Apache-2.0 */
/* A suite of unit tests is a file test_TOPIC.c; suites.c runs those of a room: each TEST of the file in order, or what its function SUITE says. */
#ifndef TESTS_UNIT_SUITE_H
#define TESTS_UNIT_SUITE_H

#include <string.h>

#include <CUnit/Basic.h>
#include <CUnit/TestDB.h>

/* Begins the function of a file that runs its tests, as main would: argv[0] is the topic, what stood behind it on the command line
 * follows. 0: all passed. */
#define SUITE(topic)                                                                                         \
    int suite_##topic(int argc, char **argv);                                                                \
    int suite_##topic(int argc __attribute__((unused)), char **argv __attribute__((unused)))

/* Begins the function of a test. */
#define TEST(name)                                                                                           \
    static void test_##name(void);                                                                           \
    static const struct suite_test suite_test_##name                                                         \
        __attribute__((section("suite_tests"), used, aligned(32))) = {#name, __FILE__, __LINE__,             \
                                                                      test_##name};                          \
    static void test_##name(void)
struct suite_test {
    const char *name, *file;
    long line;
    void (*run)(void);
};

/* A room's suites, in the table that CMake writes; the last row's topic is NULL. */
struct suite_row {
    const char *topic;
    int (*run)(int argc, char **argv); /* NULL: the file has no SUITE */
};
extern const struct suite_row suite_rows[];

/* Most runs take every `some`-th of a suite's many cases; all of them where its first word is "all", as nightly runs say. */
static inline size_t suite_stride(int argc, char **argv, size_t some)
{
    return argc > 1 && !strcmp(argv[1], "all") ? 1 : some;
}

/* Runs each TEST of the file test_TOPIC.c, in order, as suite_run does. */
int suite_file(const char *topic, CU_InitializeFunc init, CU_CleanupFunc cleanup);

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
