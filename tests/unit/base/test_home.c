/* SPDX-License-Identifier: Apache-2.0 */
/* Where a program finds what came with it: below its own folder, where that is there, else where it was installed. */

#include "base/base.h"
#include "suite.h"

static const char *found(const char *below, size_t size)
{
    static char path[PATH_MAX];
    const struct ss_home_place place = {.below_program = below, .folder = "/opt/x"};
    memset(path, 'z', sizeof path);
    ss_home_find(&place, path, size);
    return path;
}

/* This program is in a folder `tests` of the build. */
TEST(below)
{
    char own[PATH_MAX];
    CU_ASSERT_PTR_NOT_NULL_FATAL(realpath("/proc/self/exe", own));
    *strrchr(own, '/') = 0;
    CU_ASSERT_STRING_EQUAL(found(".", PATH_MAX), own);
    char *name = strrchr(own, '/');
    CU_ASSERT_STRING_EQUAL(name, "/tests");
    *name = 0;
    CU_ASSERT_STRING_EQUAL(found("..", PATH_MAX), own);
    CU_ASSERT_STRING_EQUAL(found("../tests/../tests/..", PATH_MAX), own);
}

TEST(elsewhere)
{
    char own[PATH_MAX], below[PATH_MAX];
    CU_ASSERT_STRING_EQUAL(found(NULL, PATH_MAX), "/opt/x");
    CU_ASSERT_STRING_EQUAL(found("../no/such/folder", PATH_MAX), "/opt/x");
    CU_ASSERT_STRING_EQUAL(found(".", 8), "/opt/x"); /* no room for the program's path */
    memset(below, 'a', sizeof below);
    below[sizeof below - 1] = 0;
    CU_ASSERT_STRING_EQUAL(found(below, PATH_MAX), "/opt/x");
    /* Room for the program's folder, and none for what is below it. */
    CU_ASSERT_PTR_NOT_NULL_FATAL(realpath("/proc/self/exe", own));
    CU_ASSERT_STRING_EQUAL(found("././././././././././././././.", strlen(own) + 1), "/opt/x");
}
