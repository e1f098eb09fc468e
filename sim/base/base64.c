/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base64.h"

#include "base/base.h"

struct coder {
    FILE *under;
    unsigned held; /* bytes not written yet, the first one highest */
    int n;         /* how many bytes are held: 0, 1 or 2 */
};

static void put(struct coder *c, int digits)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (int i = 0; i < 4; i++)
        fputc(i < digits ? digit[c->held >> (18 - 6 * i) & 63] : '=', c->under);
    c->held = 0;
    c->n = 0;
}

static ssize_t coder_write(void *cookie, const char *data, size_t n)
{
    struct coder *c = cookie;

    for (size_t i = 0; i < n; i++) {
        c->held |= (unsigned)(unsigned char)data[i] << (16 - 8 * c->n);
        if (++c->n == 3)
            put(c, 4);
    }
    return ferror(c->under) ? 0 : (ssize_t)n;
}

static int coder_close(void *cookie)
{
    struct coder *c = cookie;

    if (c->n)
        put(c, c->n + 1);
    int failed = ferror(c->under);
    free(c);
    return failed ? -1 : 0;
}

FILE *ss_base64_open(FILE *under)
{
    cookie_io_functions_t io = {.write = coder_write, .close = coder_close};
    struct coder *c = ss_calloc(1, sizeof *c);

    if (!c)
        return NULL;
    c->under = under;
    FILE *f = fopencookie(c, "wb", io);
    if (!f)
        free(c);
    return f;
}
