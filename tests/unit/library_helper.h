/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries of collectives for tests that make links by hand. */
#ifndef LIBRARY_HELPER_H
#define LIBRARY_HELPER_H

#include "stepsim/library.h"
#include "suite.h"

static inline struct ss_library library_named(const char *name)
{
    struct ss_library library;
    CU_ASSERT_EQUAL_FATAL(ss_library_load(name, NULL, &library, NULL), 0);
    return library;
}

#endif
