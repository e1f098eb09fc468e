/* SPDX-License-Identifier: Apache-2.0 */
#include "fork.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The section that the compiler keeps its 8-bit counters in. */
extern char counters_begin[] __asm__("__start___sancov_cntrs") __attribute__((weak));
extern char counters_end[] __asm__("__stop___sancov_cntrs") __attribute__((weak));

/* Whole pages alone: beside the first and the last counter stand variables that a child must not change for its parent. */
void fuzz_share_counters(void)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = ((uintptr_t)counters_begin + page - 1) / page * page,
              end = (uintptr_t)counters_end / page * page;

    if (!counters_begin || begin >= end)
        return;
    void *copy = malloc(end - begin);
    if (!copy)
        abort();
    memcpy(copy, (void *)begin, end - begin);
    if (mmap((void *)begin, end - begin, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1,
             0) == MAP_FAILED)
        abort();
    memcpy((void *)begin, copy, end - begin);
    free(copy);
}
