/* SPDX-License-Identifier: Apache-2.0 */
/* To be preloaded: the allocation of number $FAIL_AT (from 1) finds no memory. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *old, size_t size);

static int fails(void)
{
    static atomic_long number;
    static long at = -1;

    if (at < 0) {
        const char *text = getenv("FAIL_AT");
        at = text ? strtol(text, NULL, 10) : 0;
    }
    return ++number == at;
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
