/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base.h"

void *ss_calloc(size_t n, size_t size)
{
    /* Malloc takes small blocks from those freed last, and glibc's calloc does not. */
    enum { SMALL = 1024 };
    size_t bytes;

    if (!n || !size) /* calloc(0) may return NULL although there is memory */
        n = size = 1;
    if (__builtin_mul_overflow(n, size, &bytes) || bytes > SMALL)
        return calloc(n, size);
    void *block = malloc(bytes);
    return block ? memset(block, 0, bytes) : NULL;
}

int ss_grow(void *array, size_t *cap, size_t need, size_t size)
{
    void *old, *grown;
    if (need <= *cap)
        return SS_OK;
    size_t want = *cap < 8 ? 8 : *cap;
    while (want < need) {
        if (want > SIZE_MAX / 2)
            return SS_ERR_NOMEM;
        want *= 2;
    }
    if (size && want > SIZE_MAX / 2 / size)
        return SS_ERR_NOMEM;
    /* `array` points at the caller's pointer of any object type; memcpy keeps that legal C. */
    memcpy(&old, array, sizeof old);
    grown = realloc(old, want * (size ? size : 1));
    if (!grown)
        return SS_ERR_NOMEM;
    memcpy(array, &grown, sizeof grown);
    *cap = want;
    return SS_OK;
}

char *ss_write_int(char *at, int n)
{
    char digits[12];
    int used = 0;
    do
        digits[used++] = (char)('0' + n % 10);
    while ((n /= 10) > 0);
    while (used > 0)
        *at++ = digits[--used];
    return at;
}

bool ss_copy(char *dst, size_t size, const char *src)
{
    if (!size)
        return false;
    size_t len = strnlen(src, size);
    bool fits = len < size;
    if (!fits)
        len = size - 1;
    memmove(dst, src, len);
    dst[len] = '\0';
    return fits;
}

bool ss_append(char *buf, size_t size, const char *fmt, ...)
{
    size_t used = strlen(buf);
    va_list args;

    va_start(args, fmt);
    int n = vsnprintf(buf + used, size - used, fmt, args);
    va_end(args);
    return n >= 0 && (size_t)n < size - used;
}

bool ss_has_word(const char *list, const char *word)
{
    size_t n = strlen(word);

    for (const char *p = list; n > 0 && (p = strstr(p, word)) != NULL; p += n)
        if ((p == list || p[-1] == ' ') && (p[n] == ' ' || p[n] == 0))
            return true;
    return false;
}
