/* SPDX-License-Identifier: Apache-2.0 */
/* A stream that packs what is written to it, and one that unpacks what is read. No other file uses zlib. */
#include "base/gzip.h"

#include <errno.h>
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
    return pump(p, Z_NO_FLUSH) ? 0 : (ssize_t)n; /* a cookie reports failure by 0, not by -1 */
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

    /* 15 + 16 asks for a gzip header; without a call of deflateSetHeader it has no name and no time. */
    if (!p ||
        deflateInit2(&p->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        free(p);
        return NULL;
    }
    p->under = under;
    FILE *f = fopencookie(p, "wb", io);
    if (!f) {
        deflateEnd(&p->z);
        free(p);
        return NULL;
    }
    setvbuf(f, NULL, _IOFBF, PACKED);
    return f;
}

/* ---- unpacking ---- */

struct unpacker {
    z_stream z;
    FILE *under;
    int begun, packed, inside; /* inside: a packed text has begun and not ended */
    unsigned char in[PACKED];
};

/* Reads more of the packed text; returns 0 at its end. */
static size_t refill(struct unpacker *u)
{
    u->z.next_in = u->in;
    u->z.avail_in = (unsigned)fread(u->in, 1, PACKED, u->under);
    if (!u->begun)
        u->packed = u->z.avail_in > 1 && u->in[0] == 0x1f && u->in[1] == 0x8b;
    u->begun = 1;
    return u->z.avail_in;
}

static ssize_t pass_on(struct unpacker *u, char *data, size_t n)
{
    size_t k = 0;

    for (; k < n && u->z.avail_in > 0; k++, u->z.avail_in--)
        data[k] = (char)*u->z.next_in++;
    return (ssize_t)k;
}

static ssize_t bad_text(void)
{
    errno = EBADMSG;
    return -1;
}

/* Packed texts that follow each other count as one. */
static ssize_t unpacker_read(void *cookie, char *data, size_t n)
{
    struct unpacker *u = cookie;

    u->z.next_out = (unsigned char *)data;
    u->z.avail_out = (unsigned)n;
    while (u->z.avail_out == n) {
        if (u->z.avail_in == 0 && refill(u) == 0)
            return u->inside || ferror(u->under) ? bad_text() : 0;
        if (!u->packed)
            return pass_on(u, data, n);
        u->inside = 1;
        int rc = inflate(&u->z, Z_NO_FLUSH);
        if (rc == Z_STREAM_END)
            u->inside = 0;
        if (rc == Z_STREAM_END ? inflateReset(&u->z) != Z_OK : rc != Z_OK)
            return bad_text();
    }
    return (ssize_t)(n - u->z.avail_out);
}

static int unpacker_close(void *cookie)
{
    struct unpacker *u = cookie;

    inflateEnd(&u->z);
    free(u);
    return 0;
}

FILE *ss_gunzip_open(FILE *under)
{
    cookie_io_functions_t io = {.read = unpacker_read, .close = unpacker_close};
    struct unpacker *u = ss_calloc(1, sizeof *u);

    if (!u || inflateInit2(&u->z, 15 + 16) != Z_OK) {
        free(u);
        return NULL;
    }
    u->under = under;
    FILE *f = fopencookie(u, "rb", io);
    if (!f) {
        inflateEnd(&u->z);
        free(u);
        return NULL;
    }
    setvbuf(f, NULL, _IOFBF, PACKED);
    return f;
}

const char *ss_gzip_version(void)
{
    return zlibVersion();
}
