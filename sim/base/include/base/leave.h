/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a process that fork made. A plain exit would write the parent's buffers and run its handlers a
 * second time. */
#pragma once

#include <unistd.h>

#ifdef SS_COVERAGE
void __gcov_dump(void);
#endif

/* Writes the counts of a coverage build for the calling object, a program or a module; otherwise only exit
 * writes them. */
static inline void ss_keep_counts(void)
{
#ifdef SS_COVERAGE
    __gcov_dump();
#endif
}

/* Ends the process with this status at once; a coverage build keeps its counts. */
_Noreturn static inline void ss_leave(int status)
{
    ss_keep_counts(), _exit(status);
}
