/* SPDX-License-Identifier: Apache-2.0 */
/* Comma-separated values: what is read, and where each mistake is said to be. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/gzip.h"
#include "suite.h"

static int parse(const char *text, struct ss_csv **csv, struct ss_error *err)
{
    memset(err, 0, sizeof *err);
    return ss_csv_parse(text, strlen(text), "t.csv", csv, err);
}

TEST(fields)
{
    struct ss_error err;
    struct ss_csv *csv;

    CU_ASSERT_EQUAL_FATAL(parse("\xef\xbb\xbf"
                                "a,b,c\r\n1,\"x, \"\"y\"\"\",\r\n\n,\"two\nlines\",3",
                                &csv, &err),
                          0);
    CU_ASSERT_EQUAL(ss_csv_rows(csv), 2);
    CU_ASSERT_EQUAL(ss_csv_columns(csv), 3);
    CU_ASSERT_EQUAL(ss_csv_column(csv, "c"), 2);
    CU_ASSERT_EQUAL(ss_csv_column(csv, "d"), -1);
    CU_ASSERT_STRING_EQUAL(ss_csv_column_name(csv, 0), "a");
    CU_ASSERT_STRING_EQUAL(ss_csv_field(csv, 0, 1), "x, \"y\"");
    CU_ASSERT_STRING_EQUAL(ss_csv_field(csv, 0, 2), "");
    CU_ASSERT_STRING_EQUAL(ss_csv_field(csv, 1, 0), "");
    CU_ASSERT_STRING_EQUAL(ss_csv_field(csv, 1, 1), "two\nlines");
    CU_ASSERT_STRING_EQUAL(ss_csv_field(csv, 1, 2), "3");
    CU_ASSERT_STRING_EQUAL(ss_csv_field(csv, 1, -1), "");
    CU_ASSERT_EQUAL(ss_csv_line(csv, 0), 2);
    CU_ASSERT_EQUAL(ss_csv_line(csv, 1), 4);
    CU_ASSERT_EQUAL(ss_csv_find(csv, 0, 2, "3"), 1);
    CU_ASSERT_EQUAL(ss_csv_find(csv, 1, 0, "1"), 2); /* the row before is not looked at */
    CU_ASSERT_EQUAL(ss_csv_find(csv, 0, 1, "two"), 2);
    CU_ASSERT_EQUAL(ss_csv_find(csv, 0, 0, ""), 1);
    CU_ASSERT_EQUAL(ss_csv_find(csv, 0, -1, "1"), 2);
    CU_ASSERT_EQUAL(ss_csv_find(csv, 1, -1, ""), 1);
    ss_csv_free(csv);
    ss_csv_free(NULL);
}

TEST(only_names)
{
    struct ss_error err;
    struct ss_csv *csv;

    CU_ASSERT_EQUAL_FATAL(parse("a,b", &csv, &err), 0);
    CU_ASSERT_EQUAL(ss_csv_rows(csv), 0);
    ss_csv_free(csv);
}

TEST(row_by_row)
{
    static const char text[] = "a,b\n1,2\n\n\"x\ny\",4\n5\n";
    char path[] = "/tmp/test_csv-XXXXXX";
    struct ss_error err;
    struct ss_csv *csv;
    int more;

    int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0 && write(fd, text, sizeof text - 1) == (ssize_t)sizeof text - 1);
    close(fd);
    CU_ASSERT_EQUAL_FATAL(ss_csv_open(path, &csv, &err), 0);
    CU_ASSERT_EQUAL(ss_csv_column(csv, "b"), 1);
    CU_ASSERT(!ss_csv_next(csv, &more, &err) && more);
    CU_ASSERT_STRING_EQUAL(ss_csv_field(csv, 0, 1), "2");
    CU_ASSERT_EQUAL(ss_csv_line(csv, 0), 2);
    CU_ASSERT(!ss_csv_next(csv, &more, &err) && more);
    CU_ASSERT_STRING_EQUAL(ss_csv_field(csv, 0, 0), "x\ny");
    CU_ASSERT_EQUAL(ss_csv_line(csv, 0), 4);
    CU_ASSERT_STRING_EQUAL(ss_csv_column_name(csv, 0), "a");
    CU_ASSERT_EQUAL(ss_csv_next(csv, &more, &err), SS_ERR_INPUT);
    CU_ASSERT_EQUAL(err.line, 6);
    ss_csv_free(csv);
    unlink(path);
}

TEST(mistakes)
{
    static const struct {
        const char *text;
        int line;
        const char *message;
    } cases[] = {
        {"", 1, "no line of column names"},
        {"\n\n", 1, "no line of column names"},
        {"a,b\n1,2\n3\n", 3, "1 fields; the first line names 2 columns"},
        {"a,b\n1,2,3\n", 2, "3 fields"},
        {"a,a\n", 1, "stands twice"},
        {"a,b\n1,\"2\n", 2, "a quote is not closed"},
        {"a,b\n\n1,\"2\"x\n", 3, "behind a closing quote"},
        {"a,b\n1,2\"\n", 2, "inside a plain field"},
        {"a,b\r1,2\r", 1, "carriage return"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ss_error err;
        struct ss_csv *csv;
        CU_ASSERT_EQUAL(parse(cases[i].text, &csv, &err), SS_ERR_INPUT);
        CU_ASSERT_STRING_EQUAL(err.file, "t.csv");
        CU_ASSERT_EQUAL(err.line, cases[i].line);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, cases[i].message));
        CU_ASSERT(err.hint[0] != 0);
    }
}

TEST(bytes)
{
    struct ss_error err = {0};
    struct ss_csv *csv;
    char wide[2048] = "a";

    CU_ASSERT_EQUAL(ss_csv_parse("a\nb\0c\n", 6, "t.csv", &csv, &err), SS_ERR_INPUT);
    CU_ASSERT_EQUAL(err.line, 2);
    for (int i = 0; i < 300; i++)
        strcat(wide, ",");
    CU_ASSERT_EQUAL(parse(wide, &csv, &err), SS_ERR_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "256"));
    CU_ASSERT_EQUAL(ss_csv_load("no-such-file.csv", &csv, &err), SS_ERR_IO);
}

static void pack(const char *path, const char *text, size_t keep)
{
    char *packed = NULL;
    size_t len;
    FILE *under = open_memstream(&packed, &len), *out = ss_gzip_open(under), *file = fopen(path, "w");

    fputs(text, out);
    fclose(out);
    fclose(under);
    CU_ASSERT_EQUAL(fwrite(packed, 1, keep && keep < len ? keep : len, file), keep ? keep : len);
    fclose(file);
    free(packed);
}

TEST(packed)
{
    char path[] = "/tmp/stepsim-csv-XXXXXX";
    struct ss_error err = {0};
    struct ss_csv *csv;
    int fd = mkstemp(path);

    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    pack(path, "a,b\n1,2\n", 0);
    CU_ASSERT_EQUAL_FATAL(ss_csv_load(path, &csv, &err), 0);
    CU_ASSERT_STRING_EQUAL(ss_csv_field(csv, 0, 1), "2");
    ss_csv_free(csv);
    pack(path, "a,b\n1,2\n", 20); /* cut */
    CU_ASSERT_EQUAL(ss_csv_load(path, &csv, &err), SS_ERR_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "unpack"));
    unlink(path);
}

TEST(write)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    ss_csv_write(out, "plain");
    fputc(',', out);
    ss_csv_write(out, "a, \"b\"\n");
    fclose(out);
    CU_ASSERT_STRING_EQUAL(text, "plain,\"a, \"\"b\"\"\n\"");
    free(text);
}
