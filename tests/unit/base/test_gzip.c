/* SPDX-License-Identifier: Apache-2.0 */
/* Streams that pack and unpack: what goes in comes out, and what is cut, damaged or has no room is an error. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/gzip.h"
#include "suite.h"

enum { LARGE = 300000 };

/* Bytes that cannot be packed: more than the packer's own room. */
static unsigned char *noise(void)
{
    unsigned char *data = malloc(LARGE);
    uint32_t x = 1;
    CU_ASSERT_PTR_NOT_NULL_FATAL(data);
    for (int i = 0; i < LARGE; i++)
        data[i] = (unsigned char)((x = x * 1664525u + 1013904223u) >> 24);
    return data;
}

/* The packed form, in a file of its own. */
static FILE *packed(const void *data, size_t n)
{
    FILE *file = tmpfile(), *pack = ss_gzip_open(file);
    CU_ASSERT_PTR_NOT_NULL_FATAL(pack);
    CU_ASSERT_EQUAL(fwrite(data, 1, n, pack), n);
    CU_ASSERT_EQUAL(fclose(pack), 0);
    return file;
}

/* What comes out of the stream that begins at the file's begin; *failed: it ended with an error. */
static size_t unpack(FILE *file, char *out, size_t size, int *failed)
{
    rewind(file);
    FILE *text = ss_gunzip_open(file);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    errno = 0;
    size_t n = fread(out, 1, size, text);
    *failed = ferror(text) ? errno : 0;
    CU_ASSERT_EQUAL(fclose(text), 0);
    return n;
}

TEST(round)
{
    static char out[2 * LARGE];
    unsigned char *data = noise();
    int failed;
    FILE *file = packed(data, LARGE);
    CU_ASSERT(ftell(file) > LARGE);
    CU_ASSERT_EQUAL(unpack(file, out, sizeof out, &failed), LARGE);
    CU_ASSERT_EQUAL(failed, 0);
    CU_ASSERT_EQUAL(memcmp(out, data, LARGE), 0);
    /* texts behind each other are one */
    fseek(file, 0, SEEK_END);
    FILE *pack = ss_gzip_open(file);
    CU_ASSERT_EQUAL(fputs("and more", pack), 1);
    CU_ASSERT_EQUAL(fclose(pack), 0);
    CU_ASSERT_EQUAL(unpack(file, out, sizeof out, &failed), LARGE + 8);
    CU_ASSERT_EQUAL(memcmp(out + LARGE, "and more", 8), 0);
    CU_ASSERT_EQUAL(failed, 0);
    fclose(file);
    free(data);
    file = packed("", 0);
    CU_ASSERT_EQUAL(unpack(file, out, sizeof out, &failed), 0);
    CU_ASSERT_EQUAL(failed, 0);
    fclose(file);
}

/* What does not begin as a packed text is taken as it is. */
TEST(plain)
{
    static const char *const texts[] = {"", "\x1f", "\x1f!", "x", "no packed text\n"};
    char out[64];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int failed;
        FILE *file = tmpfile();
        fputs(texts[i], file);
        CU_ASSERT_EQUAL(unpack(file, out, sizeof out, &failed), strlen(texts[i]));
        CU_ASSERT_EQUAL(memcmp(out, texts[i], strlen(texts[i])), 0);
        CU_ASSERT_EQUAL(failed, 0);
        fclose(file);
    }
}

/* Each of the first bytes turned, and each shorter text, is an error or the same text (a bit of the header that means nothing). */
TEST(damaged)
{
    static const char text[] = "one two three, one two three, one two three";
    char bytes[128], out[128];
    FILE *file = packed(text, sizeof text);
    long n = ftell(file);
    int errors = 0, failed;
    CU_ASSERT_FATAL(n > 18 && n < (long)sizeof bytes);
    rewind(file);
    CU_ASSERT_EQUAL(fread(bytes, 1, (size_t)n, file), (size_t)n);
    fclose(file);
    for (long i = 2; i < n; i++) {
        for (int cut = 0; cut < 2; cut++) {
            file = tmpfile();
            bytes[i] = (char)(bytes[i] ^ 0x55);
            fwrite(bytes, 1, (size_t)(cut ? i : n), file);
            bytes[i] = (char)(bytes[i] ^ 0x55);
            size_t got = unpack(file, out, sizeof out, &failed);
            CU_ASSERT(failed == EBADMSG || (!cut && got == sizeof text && !memcmp(out, text, got)));
            errors += failed != 0;
            fclose(file);
        }
    }
    CU_ASSERT(errors > n);
}

TEST(no_room)
{
    unsigned char *data = noise();
    for (int large = 0; large < 2; large++) {
        FILE *full = fopen("/dev/full", "wb");
        CU_ASSERT_PTR_NOT_NULL_FATAL(full);
        setvbuf(full, NULL, _IONBF, 0);
        FILE *pack = ss_gzip_open(full);
        size_t n = fwrite(data, 1, large ? LARGE : 10, pack);
        CU_ASSERT(large ? n < LARGE : n == 10); /* a few bytes are seen at the end alone */
        CU_ASSERT_NOT_EQUAL(fclose(pack), 0);
        fclose(full);
    }
    free(data);
}
