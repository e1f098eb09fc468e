/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a gzipped text, read to its end or to an error; and the same bytes packed and unpacked again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/gzip.h"
#include "common/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST (1 << 22)

/* Unpacks into memory, up to MOST bytes. Returns whether it ended well. */
static int unpack(const char *text, size_t size, struct fuzz_text *to)
{
    FILE *under = fmemopen((void *)(uintptr_t)text, size ? size : 1, "rb"), *in;
    char part[4096];
    size_t n, all = 0;

    if (!under || !(in = ss_gunzip_open(under)))
        abort();
    fuzz_text_begin(to);
    while (all < MOST && (n = fread(part, 1, sizeof part, in)) > 0)
        all += fwrite(part, 1, n, to->out);
    int good = !ferror(in);
    fclose(in);
    fclose(under);
    fuzz_text_end(to, NULL);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_text text, packed;

    if (!size || size > 1 << 16)
        return 0;
    unpack((const char *)data, size, &text);
    fuzz_text_free(&text);
    fuzz_text_begin(&packed);
    FILE *pack = ss_gzip_open(packed.out);
    if (!pack || fwrite(data, 1, size, pack) != size || fclose(pack))
        abort();
    fuzz_text_end(&packed, NULL);
    if (!unpack(packed.text, packed.size, &text) || text.size != size || memcmp(text.text, data, size))
        abort();
    fuzz_text_free(&text);
    fuzz_text_free(&packed);
    return 0;
}
