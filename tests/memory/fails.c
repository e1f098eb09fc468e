/* SPDX-License-Identifier: Apache-2.0 */
/*
 * To be preloaded: the allocation of number $FAIL_AT (from 1; a child counts on where it was forked) finds no memory. Each process
 * that ends adds a line with how many there were to the file $FAIL_COUNT. What main has left behind when it ends finds memory: a coverage
 * build writes its counts then.
 */
#include <dlfcn.h>
#include <errno.h>
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

typedef int main_fn(int argc, char **argv, char **environment);
typedef int start_fn(main_fn *run, int argc, char **argv, void (*init)(void), void (*fini)(void),
                     void (*loader)(void), void *stack);

static atomic_long number;
static atomic_int over; /* main has ended */
static main_fn *whole;

static int fails(void)
{
    static long at = -1;

    if (over)
        return 0;
    if (at < 0) {
        const char *text = getenv("FAIL_AT");
        at = text ? strtol(text, NULL, 10) : 0;
    }
    if (++number != at)
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

static int run_main(int argc, char **argv, char **environment)
{
    int status = whole(argc, argv, environment);

    over = 1;
    return status;
}

/* By which the C library calls main. */
int __libc_start_main(main_fn *run, int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*loader)(void), void *stack)
{
    start_fn *start;
    void *symbol = dlsym(RTLD_NEXT, "__libc_start_main");

    memcpy(&start, &symbol, sizeof start);
    whole = run;
    return start(run_main, argc, argv, init, fini, loader, stack);
}

/* By which forked processes end, without destructors. */
void _exit(int status)
{
    tell();
    syscall(SYS_exit_group, status);
    __builtin_unreachable();
}
