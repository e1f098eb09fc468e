/* SPDX-License-Identifier: Apache-2.0 */
/*
 * To be preloaded: the allocation of number $FAIL_AT (from 1; a child counts on where it was forked) finds no memory. Each process
 * that ends adds a line with how many there were to the file $FAIL_COUNT.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *old, size_t size);

static atomic_long number;

static int fails(void)
{
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

__attribute__((destructor)) static void tell(void)
{
    const char *path = getenv("FAIL_COUNT");
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;
    char text[32];

    if (fd < 0)
        return;
    snprintf(text, sizeof text, "%ld\n", (long)number);
    if (write(fd, text, strlen(text)) < 0)
        abort();
    close(fd);
}

/* By which forked processes end, without destructors. */
void _exit(int status)
{
    tell();
    syscall(SYS_exit_group, status);
    __builtin_unreachable();
}
