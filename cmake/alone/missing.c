/* SPDX-License-Identifier: Apache-2.0 */
/* What emscripten's C library lacks. It sorts as the GNU C library does, by merging: what compares equal stays in its order. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sort {
    size_t size;
    int (*compare)(const void *, const void *, void *);
    void *ctx;
    char *room;
};

static void merge(const struct sort *s, char *base, size_t n)
{
    size_t left = n / 2, size = s->size;
    char *a = base, *b = base + left * size, *end = base + n * size, *middle = b, *to = s->room;

    if (n < 2)
        return;
    merge(s, a, left);
    merge(s, b, n - left);
    while (a < middle && b < end) {
        char **least = s->compare(a, b, s->ctx) <= 0 ? &a : &b;
        memcpy(to, *least, size);
        *least += size;
        to += size;
    }
    memcpy(to, a, (size_t)(middle - a));
    to += middle - a;
    memcpy(base, s->room, (size_t)(to - s->room));
}

void qsort_r(void *base, size_t n, size_t size, int (*compare)(const void *, const void *, void *), void *ctx)
{
    struct sort s = {size, compare, ctx, malloc(n * size + 1)};

    if (!s.room)
        abort();
    merge(&s, base, n);
    free(s.room);
}

static int call(const void *a, const void *b, void *compare)
{
    int (*function)(const void *, const void *);
    memcpy(&function, compare, sizeof function);
    return function(a, b);
}

/* In place of musl's, which lets equal ones change places. */
void qsort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *))
{
    qsort_r(base, n, size, call, &compare);
}

/* What the system does not do here: no other process, no library beside the program. */
#define NEVER(declared)                                                                                      \
    declared                                                                                                 \
    {                                                                                                        \
        errno = ENOSYS;                                                                                      \
        return -1;                                                                                           \
    }
NEVER(int close_range(unsigned first, unsigned last, int flags))
NEVER(int memfd_create(const char *name, unsigned flags))
NEVER(int prctl(int option, ...))
NEVER(int sched_getaffinity(int pid, size_t size, void *set))
NEVER(int __sched_cpucount(size_t size, const void *set))

int dl_iterate_phdr(void *visit, void *ctx)
{
    (void)visit, (void)ctx;
    return 0;
}

void quick_exit(int status)
{
    _Exit(status);
}
