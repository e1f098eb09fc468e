/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of foreign configurations: what stands in which line, limits, what nobody has read. */

#include "base/base.h"
#include "import/tree.h"
#include "suite.h"

static struct ss_tree *parse(const char *text)
{
    struct ss_tree *tree = NULL;
    struct ss_error e = {0};
    int rc = ss_tree_parse(text, strlen(text), "t.yaml", &tree, &e);
    if (rc)
        printf("\n  unexpected: %s:%d: %s\n", e.file, e.line, e.message);
    CU_ASSERT_EQUAL_FATAL(rc, 0);
    return tree;
}

/* Checks that `text` fails at `line` with `part` in the message. */
static void refuse(const char *text, size_t len, int line, const char *part)
{
    struct ss_tree *tree = NULL;
    struct ss_error e = {0};
    int rc = ss_tree_parse(text, len, "t.yaml", &tree, &e);
    if (rc != SS_ERR_INPUT || e.line != line || !strstr(e.message, part))
        printf("\n  %d, line %d: '%s' instead of line %d: '%s'\n", rc, e.line, e.message, line, part);
    CU_ASSERT(rc == SS_ERR_INPUT && e.line == line && strstr(e.message, part) && !strchr(e.message, '\n'));
    CU_ASSERT(!strcmp(e.file, "t.yaml") && tree == NULL);
    CU_ASSERT_EQUAL(ss_tree_parse(text, len, "t.yaml", &tree, NULL), SS_ERR_INPUT);
}

/* Checks the text and the line of a scalar. */
static void has(const struct ss_tree *tree, const char *path, const char *text, int line)
{
    const struct ss_tree_node *node = ss_tree_find(ss_tree_root(tree), path);
    char name[64];
    CU_ASSERT_PTR_NOT_NULL_FATAL(node);
    if (!ss_tree_is(node, text) || node->line != line)
        printf("\n  %s: line %d: '%s'\n", ss_tree_path(node, name, sizeof name), node->line,
               node->text ? node->text : "a map or list");
    CU_ASSERT(ss_tree_is(node, text) && node->line == line && !strcmp(node->file, "t.yaml"));
}

TEST(yaml_and_json_have_lines)
{
    struct ss_tree *tree = parse("# NeMo\n"
                                 "model:\n"
                                 "  hidden_size: 4_096 # wide\n"
                                 "  activation: 'fast-swiglu'\n"
                                 "  betas:\n"
                                 "  - 0.9\n"
                                 "  - 0.98\n"
                                 "  optim: {name: adam,\n"
                                 "    lr: 1e-4}\n");
    has(tree, "model.hidden_size", "4_096", 3);
    has(tree, "model.activation", "fast-swiglu", 4);
    has(tree, "model.betas.1", "0.98", 7);
    has(tree, "model.optim.lr", "1e-4", 9);
    CU_ASSERT_PTR_NULL(ss_tree_find(ss_tree_root(tree), "model.betas.2"));
    CU_ASSERT_PTR_NULL(ss_tree_find(ss_tree_root(tree), "model.hidden_size.x"));
    CU_ASSERT_PTR_NULL(ss_tree_find(NULL, "model"));
    ss_tree_free(tree);
    /* JSON as json.dumps writes it, with tabs, "/" escaped, no blank behind a colon */
    tree = parse("{\n\t\"zero_optimization\": {\"stage\":3,\n\"a.b\":\"x\\/y \\u00e9\"},\n \"bf16\": true}");
    has(tree, "zero_optimization.stage", "3", 2);
    has(tree, "zero_optimization.a.b", "x/y \xc3\xa9", 3);
    has(tree, "bf16", "true", 4);
    ss_tree_free(tree);
    tree = parse("");
    CU_ASSERT(ss_tree_root(tree)->kind == SS_TREE_MAP && ss_tree_root(tree)->n == 0);
    ss_tree_free(tree);
    tree = parse("a: 1\nb: 2\na: 1\n"); /* twice the same */
    has(tree, "a", "1", 1);
    CU_ASSERT_EQUAL(ss_tree_root(tree)->n, 2);
    ss_tree_free(tree);
    tree = parse("- a\n- b\n");
    has(tree, "1", "b", 2);
    ss_tree_free(tree);
}

TEST(values_by_their_kind)
{
    struct ss_tree *tree = parse("a: null\nb: 'null'\nc: ~\nd:\ne: on\nf: 'true'\ng: False\nh: 1e6\ni: 0x10\n"
                                 "j: 2.5\nk: '16'\nl: [1]\nm: 9e99\nn: -3\n");
    const struct ss_tree_node *root = ss_tree_root(tree);
    static const struct {
        const char *name;
        bool null;
        int truth;
        bool whole;
        int64_t value;
    } cases[] = {
        {"a", true, -1, false, 0},  {"b", false, -1, false, 0},      {"c", true, -1, false, 0},
        {"d", true, -1, false, 0},  {"e", false, 1, false, 0},       {"f", false, -1, false, 0},
        {"g", false, 0, false, 0},  {"h", false, -1, true, 1000000}, {"i", false, -1, false, 0},
        {"j", false, -1, false, 0}, {"k", false, -1, true, 16},      {"l", false, -1, false, 0},
        {"m", false, -1, false, 0}, {"n", false, -1, true, -3},      {"none", true, -1, false, 0},
    };
    for (size_t i = 0; i < SS_ARRAY_LEN(cases); i++) {
        const struct ss_tree_node *n = ss_tree_find(root, cases[i].name);
        int64_t value = 0;
        CU_ASSERT_EQUAL(ss_tree_is_null(n), cases[i].null);
        CU_ASSERT_EQUAL(ss_tree_truth(n), cases[i].truth);
        CU_ASSERT_EQUAL(ss_tree_whole(n, &value), cases[i].whole);
        CU_ASSERT_EQUAL(value, cases[i].value);
    }
    ss_tree_free(tree);
}

TEST(aliases_are_copies)
{
    struct ss_tree *tree = parse("base: &b {x: 1, y: [2]}\n"
                                 "one: *b\n"
                                 "two:\n"
                                 "  <<: *b\n"
                                 "  x: 3\n"
                                 "three:\n"
                                 "  <<: [{z: 4}, *b]\n");
    has(tree, "one.y.0", "2", 1);
    CU_ASSERT_EQUAL(ss_tree_find(ss_tree_root(tree), "one")->line, 2);
    has(tree, "two.x", "3", 5); /* its own name wins, wherever "<<" stands */
    has(tree, "two.y.0", "2", 1);
    has(tree, "three.z", "4", 7);
    has(tree, "three.x", "1", 1);
    CU_ASSERT_PTR_NULL(ss_tree_find(ss_tree_root(tree), "three.<<"));
    ss_tree_free(tree);
}

/* n times `open`, from line 1 on. */
static char *repeat(const char *open, size_t n)
{
    size_t len = strlen(open);
    char *text = malloc(n * len + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    for (size_t i = 0; i <= n * len; i++)
        text[i] = i < n * len ? open[i % len] : '\0';
    return text;
}

TEST(limits)
{
    char *text = repeat("[", 100);
    refuse(text, 100, 1, "nested deeper than 64 levels");
    free(text);
    text = repeat("- x\n", 131073);
    refuse(text, strlen(text), 131073, "more than 131072 names and values");
    free(text);
    text = malloc(4097 * 16);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    char *at = text;
    for (int i = 0; i < 4097; i++)
        at += sprintf(at, "n%d: 1\n", i);
    refuse(text, (size_t)(at - text), 4097, "more than 4096 names in one map");
    free(text);
    text = repeat("#", (8u << 20) + 1);
    refuse(text, (8u << 20) + 1, 0, "larger than 8 MiB");
    free(text);
    text = malloc(1025 * 16);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    at = text;
    for (int i = 0; i < 1025; i++)
        at += sprintf(at, "- &a%d x\n", i);
    refuse(text, (size_t)(at - text), 1025, "more than 1024 anchors");
    free(text);
    /* 9 levels of 9 aliases each would be 387 million nodes */
    static const char laughs[] = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
                                 "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
                                 "e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n";
    refuse(laughs, strlen(laughs), 1, "aliases counted each time");
}

TEST(what_is_wrong_has_its_line)
{
    refuse("a: 1\nb: 2\na: 3\n", 15, 3, "\"a\" is there twice: line 1 has it");
    refuse("a: 1\nb: [1, 2\nc: 3\n", 19, 3, "neither YAML nor JSON");
    refuse("a: &x\n  b: *x\n", 14, 2, "an alias of what it stands in");
    refuse("a: *y\n", 6, 1, "an alias of no anchor");
    refuse("a: 1\n---\nb: 2\n", 14, 2, "a second document");
    refuse("? [1, 2]\n: x\n", 13, 1, "a name in a map that is no text");
    refuse("a: \"x\\0y\"\n", 10, 1, "a zero byte");
    refuse("a: 1\n<<: 3\n", 11, 2, "\"<<\" asks for a map");
    refuse("a: 1\nb: \xff\n", 10, 2, "neither YAML nor JSON");
}

TEST(unread_is_told)
{
    struct ss_tree *tree =
        parse("exp: {a: 1, b: 2}\nmodel:\n  x: 1\n  y: {p: 1, q: [5, 6]}\n  z: {}\nlast: 3\n");
    struct ss_tree_node *root = ss_tree_root(tree), *n = NULL;
    static const char *const left[] = {"exp", "model.y.p", "model.y.q[0]", "model.z", "last"};
    char path[64];

    CU_ASSERT_PTR_NOT_NULL(ss_tree_get(root, "model.x"));
    CU_ASSERT_PTR_NOT_NULL(ss_tree_get(root, "model.y.q.1"));
    CU_ASSERT_PTR_NULL(ss_tree_get(root, "model.w"));
    for (size_t i = 0; i < SS_ARRAY_LEN(left); i++) {
        n = ss_tree_unread(tree, n);
        CU_ASSERT_PTR_NOT_NULL_FATAL(n);
        CU_ASSERT_STRING_EQUAL(ss_tree_path(n, path, sizeof path), left[i]);
    }
    CU_ASSERT_PTR_NULL(ss_tree_unread(tree, n));
    /* a map that was looked at: its names are still to be read */
    CU_ASSERT_PTR_NOT_NULL(ss_tree_get(root, "exp"));
    CU_ASSERT_STRING_EQUAL(ss_tree_path(ss_tree_unread(tree, NULL), path, sizeof path), "exp.a");
    ss_tree_take(ss_tree_find(root, "exp"));
    CU_ASSERT_STRING_EQUAL(ss_tree_path(ss_tree_unread(tree, NULL), path, sizeof path), "model.y.p");
    ss_tree_free(tree);
}

TEST(made_by_hand)
{
    struct ss_tree *tree = NULL, *other = parse("{b: [1, 2]}");
    struct ss_tree_node *model, *n;
    struct ss_error e = {0};

    CU_ASSERT_EQUAL_FATAL(ss_tree_new("t.toml", &tree, NULL), SS_OK);
    struct ss_tree_made made = {.kind = SS_TREE_MAP, .key = "model", .key_len = 5, .line = 3};
    CU_ASSERT_EQUAL_FATAL(ss_tree_add(tree, ss_tree_root(tree), &made, &model, &e), SS_OK);
    CU_ASSERT_EQUAL(ss_tree_add(tree, ss_tree_root(tree), &made, NULL, &e), SS_ERR_INPUT);
    CU_ASSERT(e.line == 3 && !strcmp(e.file, "t.toml") && strstr(e.message, "is there twice"));
    made = (struct ss_tree_made){
        .key = "flavor=x", .key_len = 6, .text = "8B..", .text_len = 2, .line = 4, .quoted = true};
    CU_ASSERT_EQUAL_FATAL(ss_tree_add(tree, model, &made, &n, NULL), SS_OK);
    CU_ASSERT(n->quoted && ss_tree_find(ss_tree_root(tree), "model.flavor") == n && ss_tree_is(n, "8B"));
    CU_ASSERT_EQUAL(ss_tree_fail(n, SS_ERR_CONFIG, &e, "not %d", 7), SS_ERR_CONFIG);
    CU_ASSERT(e.line == 4 && !strcmp(e.message, "model.flavor: not 7"));
    /* a value of another file in its place */
    CU_ASSERT_EQUAL(ss_tree_assign(tree, n, ss_tree_root(other), NULL), SS_OK);
    n = ss_tree_find(ss_tree_root(tree), "model.flavor.b.1");
    CU_ASSERT_FATAL(ss_tree_is(n, "2"));
    CU_ASSERT_STRING_EQUAL(n->file, "t.yaml");
    ss_tree_drop(n);
    n = ss_tree_find(ss_tree_root(tree), "model.flavor.b");
    CU_ASSERT(n->n == 1 && n->first == n->last && !n->first->next && ss_tree_is(n->first, "1"));
    ss_tree_drop(n->first);
    CU_ASSERT(n->n == 0 && !n->first && !n->last);
    ss_tree_free(other);
    ss_tree_free(tree);
    ss_tree_free(NULL);
}
