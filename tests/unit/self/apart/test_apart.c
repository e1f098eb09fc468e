/* SPDX-License-Identifier: Apache-2.0 */
/* A suite without SUITE, which runs in the order of the file. */
#include "suite.h"

static int begun;

TEST(the_first)
{
    begun = 1;
    CU_ASSERT_TRUE(begun);
}

TEST(another)
{
    CU_ASSERT_TRUE(begun);
}
