/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator of the process, of which one allocation can be told to find no memory. A sanitizer's build has its own. */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include "driver.h"

#ifndef SS_SANITIZED
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *old, size_t size);

static atomic_long number;
static atomic_int counts;
static long failing;

static int fails(void)
{
    if (!counts || ++number != failing)
        return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
    return fails() ? NULL : __libc_realloc(old, size);
}

void driver_fail_at(long at)
{
    number = 0;
    failing = at;
    counts = 1;
}

long driver_fail_end(void)
{
    counts = 0;
    return number;
}
#else
void driver_fail_at(long at)
{
    (void)at;
}

long driver_fail_end(void)
{
    return 0;
}
#endif
