/* SPDX-License-Identifier: Apache-2.0 */
/* A stream that packs what is written to it: the only user of zlib. */
#include "base/gzip.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/base.h"

#define PACKED (64 * 1024)

struct packer {
    z_stream z;
    FILE *under;
    unsigned char out[PACKED];
};

/* Packs what is in z.next_in; with Z_FINISH also the end mark. */
static int pump(struct packer *p, int flush)
{
    do {
        p->z.next_out = p->out;
        p->z.avail_out = PACKED;
        if (deflate(&p->z, flush) == Z_STREAM_ERROR) {
            errno = EIO;
            return -1;
        }
        size_t n = PACKED - p->z.avail_out;
        if (fwrite(p->out, 1, n, p->under) != n)
            return -1;
    } while (p->z.avail_out == 0);
    return 0;
}

static ssize_t packer_write(void *cookie, const char *data, size_t n)
{
    struct packer *p = cookie;

    p->z.next_in = (unsigned char *)(uintptr_t)data;
    p->z.avail_in = (unsigned)n;
    return pump(p, Z_NO_FLUSH) ? 0 : (ssize_t)n; /* a cookie says failure by 0, not by -1 */
}

static int packer_close(void *cookie)
{
    struct packer *p = cookie;
    int rc;

    p->z.avail_in = 0;
    rc = pump(p, Z_FINISH);
    deflateEnd(&p->z);
    free(p);
    return rc;
}

FILE *ss_gzip_open(FILE *under)
{
    cookie_io_functions_t io = {.write = packer_write, .close = packer_close};
    struct packer *p = ss_calloc(1, sizeof *p);

    if (!p)
        return NULL;
    p->under = under;
    /* 15 + 16: a gzip header, which without a call of deflateSetHeader has no name and no time. */
    if (deflateInit2(&p->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        free(p);
        return NULL;
    }
    FILE *f = fopencookie(p, "wb", io);
    if (!f) {
        deflateEnd(&p->z);
        free(p);
        return NULL;
    }
    setvbuf(f, NULL, _IOFBF, PACKED);
    return f;
}
