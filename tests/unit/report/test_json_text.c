/* SPDX-License-Identifier: Apache-2.0 */
/* Documents are written as jansson writes them, byte for byte. */
#include <float.h>
#include <jansson.h>

#include "report/common.h"
#include "suite.h"

/* The same document by ss_json. */
static struct ss_json *of(const json_t *value);

static struct ss_cell cell_of(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_STRING: return ss_cell_text(json_string_value(value));
    case JSON_INTEGER: return ss_cell_whole(json_integer_value(value));
    case JSON_REAL: return ss_cell_number(json_real_value(value));
    case JSON_TRUE:
    case JSON_FALSE: return ss_cell_flag(json_is_true(value));
    default: return ss_cell_json(of(value));
    }
}

static struct ss_json *of(const json_t *value)
{
    struct ss_json *made = json_is_null(value)     ? ss_json_null()
                           : json_is_object(value) ? ss_json_begin_object()
                                                   : ss_json_begin_list();
    const char *key;
    json_t *part;
    size_t i;

    json_object_foreach((json_t *)value, key, part) SS_PUT(made, SS_KEY(key, cell_of(part)));
    json_array_foreach((json_t *)value, i, part) ss_json_item(made, cell_of(part));
    return made;
}

/* Whether a document is written as by json_dumps; frees it. */
static int same(json_t *document)
{
    char *want = json_dumps(document, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(10)), *got;
    size_t size, n = want ? strlen(want) : 0;
    FILE *out = open_memstream(&got, &size);

    CU_ASSERT_PTR_NOT_NULL_FATAL(want);
    CU_ASSERT_EQUAL(ss_json_write(of(document), out, NULL), SS_OK);
    fclose(out);
    json_decref(document);
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

/* What is no UTF-8 is no JSON. */
TEST(bytes)
{
    static const char *const texts[][2] = {{"\xff", "?"},
                                           {"half \xc3", "half ?"},
                                           {"M\xc3\xbc\xe2\x86nchen", "M\xc3\xbc??nchen"},
                                           {"\xed\xa0\x80", "???"}};

    for (size_t i = 0; i < SS_ARRAY_LEN(texts); i++) {
        char *text = ss_json_text(SS_OBJECT(SS_KEY(texts[i][0], texts[i][0])));
        json_t *o = json_loads(text ? text : "", 0, NULL);
        const char *value = json_string_value(json_object_get(o, texts[i][1]));
        CU_ASSERT(value && !strcmp(value, texts[i][1]));
        json_decref(o);
        free(text);
    }
}

/* A part that is kept stands where it is put as if it were made there. */
static struct ss_json *part(const void *of)
{
    return SS_OBJECT(SS_KEY("n", *(const int *)of), SS_KEY("none", ss_json_begin_object()));
}

TEST(kept)
{
    struct ss_cache *cache;
    char *texts[3];
    const int n = 3, other = 4;

    CU_ASSERT_FATAL(!ss_cache_open(&cache, NULL));
    for (int i = 0; i < 3; i++) {
        struct ss_cache_key key = ss_cache_key(SS_CACHE_JSON);
        struct ss_json *list = ss_json_begin_list();
        SS_ITEM(list, ss_json_keep(i ? cache : NULL, key, part, i < 2 ? &n : &other));
        texts[i] = ss_json_text(SS_OBJECT(SS_KEY("list", list)));
    }
    CU_ASSERT(texts[0] && texts[1] && !strcmp(texts[0], texts[1]));
    CU_ASSERT(texts[2] && !strcmp(texts[1], texts[2])); /* known by its key */
    CU_ASSERT(texts[0] && strstr(texts[0], "\n      \"n\": 3,\n      \"none\": {}\n    }\n"));
    for (int i = 0; i < 3; i++)
        free(texts[i]);
    ss_cache_close(cache);
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
    struct ss_json *o = SS_OBJECT(SS_KEY("a", 1), SS_KEY("b", (struct ss_json *)NULL));
    FILE *out = open_memstream(&got, &size);

    CU_ASSERT_EQUAL(ss_json_write(o, out, NULL), SS_ERR_NOMEM);
    fclose(out);
    CU_ASSERT_EQUAL(size, 0);
    free(got);
}
