/* SPDX-License-Identifier: Apache-2.0 */
/* TOML: values, tables, and one clear error with its line for each mistake. */

#include "base/base.h"
#include "import/toml.h"
#include "suite.h"

static const char text[] = "# a comment\n"
                           "title = \"a \\\"b\\\" \\u00e9 \\\\\"\n" /* 2 */
                           "plain = 'C:\\x'\n"
                           "[job]\r\n"
                           "steps = 10_000 # digits\n"
                           "rate = -1.5e-4\n"
                           "mask = 0xff\n"
                           "on = true\n"
                           "\"a.b\" = 1\n"
                           "day = 2026-02-23\n"
                           "x.y.z = 3\n"
                           "list = [1, # one\n"
                           "  'two', [3.0],\n"
                           "]\n"
                           "inline = { a = 1, b.c = \"d\" }\n"
                           "[job.deep]\n"
                           "long = \"\"\"\n"
                           "one \\\n"
                           "   two\n"
                           "three\"\"\"\n" /* 17 .. 20 */
                           "[[many]]\n"
                           "n = 1\n"
                           "[[many]]\n"
                           "n = 2\n"
                           "[many.below]\n"
                           "m = 3\n";

TEST(values)
{
    static const struct {
        const char *path, *text;
        int line;
    } rows[] = {
        {"title", "a \"b\" \xc3\xa9 \\", 2},
        {"plain", "C:\\x", 3},
        {"job.steps", "10000", 5},
        {"job.rate", "-1.5e-4", 6},
        {"job.mask", "255", 7},
        {"job.on", "true", 8},
        {"job.a.b", "1", 9},
        {"job.day", "2026-02-23", 10},
        {"job.x.y.z", "3", 11},
        {"job.list.0", "1", 12},
        {"job.list.1", "two", 13},
        {"job.list.2.0", "3.0", 13},
        {"job.inline.a", "1", 15},
        {"job.inline.b.c", "d", 15},
        {"job.deep.long", "one two\nthree", 17},
        {"many.0.n", "1", 22},
        {"many.1.n", "2", 24},
        {"many.1.below.m", "3", 26},
    };
    struct ss_tree *tree;
    struct ss_error err = {0};

    CU_ASSERT_EQUAL_FATAL(ss_toml_parse(text, strlen(text), "a.toml", &tree, &err), SS_OK);
    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        const struct ss_tree_node *node = ss_tree_find(ss_tree_root(tree), rows[i].path);
        CU_ASSERT_PTR_NOT_NULL_FATAL(node);
        CU_ASSERT_STRING_EQUAL(node->text, rows[i].text);
        CU_ASSERT_EQUAL(node->line, rows[i].line);
        CU_ASSERT_STRING_EQUAL(node->file, "a.toml");
    }
    CU_ASSERT_EQUAL(ss_tree_truth(ss_tree_find(ss_tree_root(tree), "job.on")), 1);
    CU_ASSERT_TRUE(ss_tree_find(ss_tree_root(tree), "title")->quoted);
    CU_ASSERT_FALSE(ss_tree_find(ss_tree_root(tree), "job.steps")->quoted);
    CU_ASSERT_EQUAL(ss_tree_find(ss_tree_root(tree), "job.list")->n, 3);
    ss_tree_free(tree);
}

TEST(wrong)
{
    static const struct {
        const char *text;
        int line;
        const char *message;
    } rows[] = {
        {"a = 1\na = 2\n", 2, "a is there already"},
        {"[a]\nb = 1\n[a]\n", 3, "this table is there already"},
        {"a = 1\n[a.b]\n", 2, "has a value already"},
        {"a = 1\n[[a]]\n", 2, "no list of tables"},
        {"a = [1]\n[[a]]\n", 2, "no list of tables"},
        {"a = { b = 1 }\n[a.c]\n", 2, "has a value already"},
        {"[a.b]\n[a]\nb.c = 1\n", 3, "header of its own"},
        {"a = \n", 1, "a value is missing"},
        {"\n\na = yes\n", 3, "\"yes\" is no value"},
        {"a = 01\n", 1, "is no value"},
        {"a = 1_\n", 1, "is no value"},
        {"a = 1__0\n", 1, "is no value"},
        {"a = .5\n", 1, "is no value"},
        {"a = 5.\n", 1, "is no value"},
        {"a = 0xg\n", 1, "is no value"},
        {"a\n", 1, "without \"= value\""},
        {"= 1\n", 1, "a key is missing"},
        {"a = \"b\n", 1, "the quote is not closed"},
        {"a = '''b\n\n", 1, "the quote is not closed"},
        {"a = \"\\q\"\n", 1, "no such escape"},
        {"a = \"\\ud800\"\n", 1, "no character"},
        {"a = \"\xff\"\n", 1, "no UTF-8"},
        {"a = \"\x01\"\n", 1, "a control character"},
        {"a = [1, 2\nb = 3\n", 2, "a list goes on"},
        {"a = { b = 1\n}\n", 1, "a table in one line"},
        {"a = { b = 1, }\n", 1, "a key is missing"},
        {"a = 1 b = 2\n", 1, "one key a line"},
        {"[a\n", 1, "\"[\" without \"]\""},
        {"[[a]\n", 1, "\"[[\" without \"]]\""},
        {"a = [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]\n", 1, "more than 32 deep"},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_tree *tree = NULL;
        struct ss_error err = {0};
        CU_ASSERT_EQUAL(ss_toml_parse(rows[i].text, strlen(rows[i].text), "a.toml", &tree, &err),
                        SS_ERR_INPUT);
        CU_ASSERT_EQUAL(err.line, rows[i].line);
        CU_ASSERT_STRING_EQUAL(err.file, "a.toml");
        if (!strstr(err.message, rows[i].message))
            printf("%s: %s\n", rows[i].text, err.message);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, rows[i].message));
    }
}

TEST(zero_byte)
{
    struct ss_tree *tree;
    struct ss_error err = {0};

    CU_ASSERT_EQUAL(ss_toml_parse("a = 1\n\0b = 2\n", 13, "a.toml", &tree, &err), SS_ERR_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "a zero byte"));
}

/* Lists that stand beside each other are not deep, however many they are. */
TEST(beside)
{
    char lists[1024], *at = lists;
    struct ss_tree *tree = NULL;

    for (int i = 0; i < 40; i++)
        at += sprintf(at, "a%d = [%d]\n", i, i);
    CU_ASSERT_EQUAL_FATAL(ss_toml_parse(lists, strlen(lists), "a.toml", &tree, NULL), SS_OK);
    CU_ASSERT(ss_tree_is(ss_tree_find(ss_tree_root(tree), "a39.0"), "39"));
    ss_tree_free(tree);
}
