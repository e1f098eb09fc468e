/* SPDX-License-Identifier: Apache-2.0 */
/* What the process needs before its command runs. */
#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "cli/cli.h"

/* bytes: the stack of `search`, which uses the most, 224 to 256 KiB (ulimit -s), and half as much again */
#define STACK (384 << 10)

static void touch_stack(void)
{
    volatile char room[STACK];
    for (size_t i = 0; i < sizeof room; i += 4096)
        room[sizeof room - 1 - i] = 0;
}

/* Makes the stack grow where the address space is limited: a stack that cannot grow later ends the process without a word.
 * Returns whether there is room for it. */
static int grow_stack(void)
{
    struct rlimit limit, stack;
    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return 1;
    if (getrlimit(RLIMIT_STACK, &stack) || stack.rlim_cur < STACK + 65536) /* it may not grow so far */
        return 1;
    void *room = mmap(NULL, STACK + 65536, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return 0;
    munmap(room, STACK + 65536);
    touch_stack();
    return 1;
}

int main(int argc, char **argv)
{
    if (!grow_stack()) {
        fputs("error: out of memory\n", stderr);
        return 3;
    }
    /* Large tables come and go. The process keeps their pages to its end, which saves time. */
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    mallopt(M_TOP_PAD, 1 << 20);
    signal(SIGXFSZ, SIG_IGN); /* a file that reaches its size limit is an error of writing, not the end */
    return cli_main(argc, argv);
}
