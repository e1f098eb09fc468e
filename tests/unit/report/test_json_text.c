/* SPDX-License-Identifier: Apache-2.0 */
/* Documents are written as jansson writes them, byte for byte. */
#include <float.h>
#include <jansson.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "report/common.h"
#include "suite.h"

/* Whether a document is written as by json_dumps; frees it. */
static int same(json_t *document)
{
    char *want = json_dumps(document, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(10)), *got;
    size_t size, n = want ? strlen(want) : 0;
    FILE *out = open_memstream(&got, &size);

    CU_ASSERT_PTR_NOT_NULL_FATAL(want);
    CU_ASSERT_EQUAL(ss_json_write(document, out, NULL), SS_OK);
    fclose(out);
    int equal = size == n + 1 && !memcmp(got, want, n) && got[n] == '\n';
    if (!equal)
        printf("\nwant %s\ngot  %s", want, got);
    free(want);
    free(got);
    return equal;
}

TEST(numbers)
{
    static const double reals[] = {0,
                                   -0.0,
                                   1,
                                   -1,
                                   0.1,
                                   1e9,
                                   9999999999.0,
                                   1e10,
                                   -1e10,
                                   12345678901.0,
                                   1e15,
                                   1e16,
                                   1e20,
                                   1e100,
                                   1e-5,
                                   5e-324,
                                   DBL_MAX,
                                   -2.5e-7,
                                   0.3,
                                   123456.789012345,
                                   1e-4,
                                   1.0 / 3,
                                   2e9 / 3,
                                   4503.25,
                                   0.99999999,
                                   1e9 - 1,
                                   9999999999.4,
                                   9999999999.6,
                                   123.00000000004,
                                   999999999.95,
                                   1.00000000005,
                                   0.12345678905,
                                   9.9999999999e-5,
                                   9.99999999951e-5,
                                   1e-13,
                                   3e-14,
                                   0.5000000005,
                                   1.5e-10,
                                   99999.999999951,
                                   1234567890.5,
                                   0.099999999999};
    static const json_int_t integers[] = {0, 1, -1, 10, 99, INT64_MAX, INT64_MIN, 4294967296};
    json_t *all = json_array();

    for (size_t i = 0; i < SS_ARRAY_LEN(reals); i++)
        json_array_append_new(all, json_real(reals[i]));
    for (size_t i = 0; i < SS_ARRAY_LEN(integers); i++)
        json_array_append_new(all, json_integer(integers[i]));
    srand(1);
    for (int i = 0; i < 2000; i++)
        json_array_append_new(all, json_real(ldexp(rand() - RAND_MAX / 2, rand() % 200 - 120)));
    for (int i = 0; i < 5000; i++) /* short ones, and ties of the last digit that is written */
        json_array_append_new(all, json_real((2 * (rand() % 1000000) + 1) * pow(10, -(rand() % 12)) / 2));
    CU_ASSERT(same(all));
}

TEST(texts)
{
    char each[160] = "", key[160];
    json_t *o = json_object();

    for (int c = 1; c < 128; c++)
        each[c - 1] = (char)c;
    json_object_set_new(o, "all", json_string(each));
    json_object_set_new(o, "zero", json_stringn("a\0b", 3));
    json_object_set_new(o, "other", json_string("M\xc3\xbcnchen \xe2\x86\x92 \xf0\x9f\x98\x80"));
    json_object_set_new(o, "", json_string(""));
    snprintf(key, sizeof key, "\"%s", each + 30);
    json_object_set_new(o, key, json_true());
    CU_ASSERT(same(o));
}

/* Texts are read eight bytes at a time: each character at each place of texts around that length. */
TEST(places)
{
    json_t *all = json_array();

    for (int c = 1; c < 128; c++)
        for (size_t n = 1; n <= 17; n++)
            for (size_t at = 0; at < n; at++) {
                char text[20] = "";
                memset(text, 'a', n);
                text[at] = (char)c;
                json_array_append_new(all, json_string(text));
            }
    CU_ASSERT(same(all));
}

/* jansson's own look at keys is spared where they are ASCII, and only there. */
TEST(keys)
{
    static const char *const keys[] = {"plain", "", "tab\t", "M\xc3\xbcnchen", "\xff", "half \xc3"};

    for (size_t i = 0; i < SS_ARRAY_LEN(keys); i++) {
        json_t *o = json_object();
        ss_json_set(o, keys[i], json_true());
        CU_ASSERT_EQUAL(ss_json_is_whole(o), i < 4);
        CU_ASSERT_EQUAL(json_object_get(o, keys[i]) != NULL, i < 4);
        ss_json_free(o);
    }
}

TEST(shapes)
{
    CU_ASSERT(same(json_object()));
    CU_ASSERT(same(json_array()));
    CU_ASSERT(same(json_pack("{s[], s{}, s[[], {}, n, b, b], s{s{s[i, f]}}}", "a", "b", "c", 0, 1, "d", "e",
                             "f", 1, 2.0)));
}

/* A document that something is missing of is written by no byte. */
TEST(no_half)
{
    char *got;
    size_t size;
    json_t *o = json_pack("{s: i}", "a", 1);
    FILE *out = open_memstream(&got, &size);

    ss_json_set(o, "b", NULL);
    CU_ASSERT_EQUAL(ss_json_write(o, out, NULL), SS_ERR_NOMEM);
    fclose(out);
    CU_ASSERT_EQUAL(size, 0);
    free(got);
}
