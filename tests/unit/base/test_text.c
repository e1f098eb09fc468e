/* SPDX-License-Identifier: Apache-2.0 */

#include "base/base.h"
#include "stepsim/text.h"
#include "suite.h"

static const struct {
    const char *text, *line, *plain, *colored; /* as a line, on a stream, and on one with colours */
} rows[] = {
    {"a b\tc\n", "a b c ", "a b\tc\n", "a b\tc\n"},
    {"\x1b[2Jx", " [2Jx", "?[2Jx", "?[2Jx"},
    {"\x7f\b\r", "   ", "???", "???"},
    {"h\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "h\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
     "h\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "h\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
    {"\xc2\x9b"
     "31m\xc2\xa0",
     "?31m\xc2\xa0", "?31m\xc2\xa0", "?31m\xc2\xa0"},
    {"\xe2\x80\xae\xe2\x81\xa6\xe2\x80\x8f\xd8\x9c.\xe2\x80\xa6", "????.\xe2\x80\xa6", "????.\xe2\x80\xa6",
     "????.\xe2\x80\xa6"},
    {"\xff\xe2\x80x\xc3", "???x?", "???x?", "???x?"},
    {"\x1b[1;32mok\x1b[0m", " [1;32mok [0m", "?[1;32mok?[0m", "\x1b[1;32mok\x1b[0m"},
    {"\x1b[30;104m.\x1b[97;44m.", " [30;104m. [97;44m.", "?[30;104m.?[97;44m.", "\x1b[30;104m.\x1b[97;44m."},
    {"\x1b[8m\x1b[0;1;2;3;4;5m\x1b[1", " [8m [0;1;2;3;4;5m [1", "?[8m?[0;1;2;3;4;5m?[1",
     "?[8m?[0;1;2;3;4;5m?[1"},
};

TEST(line)
{
    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        char text[100];
        ss_copy(text, sizeof text, rows[i].text);
        CU_ASSERT_PTR_EQUAL(ss_text_clean(text), text);
        CU_ASSERT_STRING_EQUAL(text, rows[i].line);
    }
}

/* Checks what comes of the text, written as a whole or byte by byte. */
static void pass(const char *text, int color, int single, const char *want)
{
    char *got = NULL;
    size_t n = 0;
    FILE *under = open_memstream(&got, &n), *f = ss_text_stream(under, color, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    if (single)
        setvbuf(f, NULL, _IONBF, 0);
    for (const char *c = text; single && *c; c++)
        fwrite(c, 1, 1, f);
    if (!single)
        fputs(text, f);
    CU_ASSERT_EQUAL(fclose(f), 0);
    fclose(under);
    if (strcmp(got, want) != 0)
        printf("\n  '%s' instead of '%s'\n", got, want);
    CU_ASSERT_STRING_EQUAL(got, want);
    free(got);
}

TEST(stream)
{
    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++)
        for (int single = 0; single < 2; single++) {
            pass(rows[i].text, 0, single, rows[i].plain);
            pass(rows[i].text, 1, single, rows[i].colored);
        }
}

/* Checks how a line is wrapped in so many columns. */
static void wraps(const char *line, int width, const char *want)
{
    char *got = NULL;
    size_t n = 0;
    FILE *under = open_memstream(&got, &n), *f = ss_text_stream(under, 1, width);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fputs(line, f);
    CU_ASSERT_EQUAL(fclose(f), 0);
    fclose(under);
    if (strcmp(got, want) != 0)
        printf("\n  '%s' instead of '%s'\n", got, want);
    CU_ASSERT_STRING_EQUAL(got, want);
    free(got);
}

TEST(wrap)
{
    wraps("one two three\n", 13, "one two three\n");
    wraps("one two three\n", 12, "one two\n  three\n");
    wraps("  - one two three four\n\nx", 12, "  - one two\n    three\n    four\n\nx");
    wraps("abcdefghijklmnop qr st\n", 6, "abcdefghijklmnop\n  qr\n  st\n");
    wraps("it takes 23.28 s and more\n", 14, "it takes\n  23.28 s and\n  more\n");
    wraps("h\xc3\xa4h\xc3\xa4 \x1b[1;32mfits\x1b[0m now\n", 9,
          "h\xc3\xa4h\xc3\xa4 \x1b[1;32mfits\x1b[0m\n  now\n");
    /* flags: a shell takes the lines as one, and a value stays beside its flag */
    wraps("best: --tp 2 --pp 4 --cp 1\n", 22, "best: --tp 2 --pp 4 \\\n  --cp 1\n");
    wraps("best: --tp 2 --pp 4 --cp 1\n", 18, "best: --tp 2 \\\n  --pp 4 --cp 1\n");
    wraps("say more by --verbose or --json\n", 22, "say more by\n  --verbose or --json\n");
}

TEST(stream_fails)
{
    FILE *full = fopen("/dev/full", "w"), *f = ss_text_stream(full, 0, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fputs("x", f);
    CU_ASSERT(fflush(f) != 0 && ferror(f));
    fclose(f);
    fclose(full);
}
