/* SPDX-License-Identifier: Apache-2.0 */
/* Keymaps: what each kind of row does, what is wrong with a file, conditions, and the maps of workloads/importers. */

#include "base/base.h"
#include "import/foreign.h"
#include "import/hf.h"
#include "import/torchtitan.h"
#include "stepsim/flags.h"
#include "suite.h"

/* ---- rows ---- */

static void twice(struct ss_reading *r, struct ss_tree_node *node)
{
    ss_reading_words(r, node, node ? "--there" : "--not-there");
}

static const struct ss_key_code own[] = {{"twice", twice}, {NULL, NULL}};

static const char rows[] = "value       value  --value\n"
                           "whole       whole  --whole\n"
                           "list        list   --list []\n"
                           "yes|ja      true   --yes --too\n"
                           "no          false  --no    # a note\n"
                           "choice      pick\n"
                           "    a = --a\n"
                           "    b =\n"
                           "    c = --c; assume %s costs what a costs\n"
                           "    one =  --one %s\n"
                           "    bad = refuse it is not modelled\n"
                           "    worse = refuse %s is not modelled; hint take a\n"
                           "other       pick   else x\n"
                           "    x = --x\n"
                           "    * =\n"
                           "refuse      refuse unless fine 7: it is not modelled\n"
                           "deny        deny   the framework refuses it\n"
                           "said        assume it is so\n"
                           "none        none\n"
                           "[part]\n"
                           "a           part\n"
                           "b           value  --b\n"
                           "[]\n"
                           "when yes|ja !off? part.b>2 or other=y|z\n"
                           "    when\t list\n"
                           "        deep true --deep\n"
                           "    end\n"
                           "    -       add    --block\n"
                           "else\n"
                           "    off     off\n"
                           "end\n"
                           "call        code   twice\n"
                           "names@Class.x value --class-x\n"
                           "[of]\n"
                           "/far        value  --far\n"
                           "*           names\n";

/* The words of a map after these rows, with blanks between, what was told, or the error's text. */
static const char *map(const char *text, int *rc)
{
    static char out[900];
    struct ss_request request;
    struct ss_reading r;
    struct ss_tree *tree;
    struct ss_error err = {0};
    size_t at = 0;

    CU_ASSERT_EQUAL_FATAL(ss_tree_parse(text, strlen(text), "t.yaml", &tree, NULL), SS_OK);
    ss_request_init(&request);
    ss_reading_begin(&r, "it", tree, &request, &err);
    r.rc = ss_keymap_parse(rows, strlen(rows), "t.map", own, &r.map, &err);
    r.code = own;
    ss_reading_rows(&r);
    *rc = ss_reading_end(&r);
    *out = '\0';
    for (size_t i = 0; i < request.n; i++)
        at += (size_t)snprintf(out + at, sizeof out - at, "%s%s", i ? " " : "", request.word[i].text);
    for (unsigned long i = 0; i < request.notes.n; i++)
        at += (size_t)snprintf(out + at, sizeof out - at, "; %s", request.notes.text[i]);
    for (unsigned long i = 0; i < request.ignored.n; i++)
        at += (size_t)snprintf(out + at, sizeof out - at, "; -%s", request.ignored.text[i]);
    if (*rc)
        snprintf(out, sizeof out, "%s:%d: %.200s%s%.100s", err.file, err.line, err.message,
                 err.hint[0] ? ": " : "", err.hint);
    ss_request_free(&request);
    ss_tree_free(tree);
    return out;
}

TEST(rows)
{
    static const struct {
        const char *text;
        int rc;
        const char *out;
    } cases[] = {
        {"{}", SS_OK, "--x --not-there"},
        {"{value: x y, whole: 1e3, yes: true, no: false, choice: A}", SS_OK,
         "--value x y --whole 1000 --yes --too --no --a --x --not-there"},
        {"{value: [1, 2], yes: 0, no: 'True', choice: b, other: k, refuse: fine, none: {a: 1}, call: 1}",
         SS_OK, "--value 1 2 --there; -none"},
        {"{value: null, whole: ~, yes: null, choice: , refuse: false, call: null}", SS_OK, "--x --not-there"},
        {"{list: [1, 2], yes: null, ja: on, said: 1}", SS_OK,
         "--list [1,2] --yes --too --x --not-there; it: assumed: it is so"},
        /* a value, its last part, and an enum or a type that was dumped as a map */
        {"choice: my.module.b", SS_OK, "--x --not-there"},
        {"choice: torch.c", SS_OK, "--c --x --not-there; it: assumed: torch.c costs what a costs"},
        {"choice: {_target_: torch.c}", SS_OK,
         "--c --x --not-there; it: assumed: torch.c costs what a costs"},
        {"choice: {_name_: b, _args_: [3]}", SS_OK, "--x --not-there"},
        {"choice: one", SS_OK, "--one one --x --not-there"},
        {"{refuse: {}, deny: 0}", SS_OK, "--x --not-there"},
        {"refuse: 7", SS_OK, "--x --not-there"},
        /* a block: what is in it says nothing where it does not hold */
        {"{ja: 1, part: {b: 3}, list: [], deep: 1}", SS_OK,
         "--list [] --yes --too --x --b 3 --deep --block --not-there; -part.*"},
        {"{ja: 1, part: {b: 3, a: 1}, deep: 1}", SS_OK, "--yes --too --x --b 3 --block --not-there; -part.*"},
        {"{ja: 1, part: {b: 2}, deep: 1, off: 2}", SS_OK, "--yes --too --x --b 2 --not-there; -part.*"},
        {"{other: Z, deep: 1}", SS_OK, "--block --not-there"},
        {"{part: {a: 1}}", SS_OK, "--x --not-there; -part"},
        {"names: [{_target_: a.b}, {_target_: x.Class, x: 4}]", SS_OK,
         "--x --not-there --class-x 4; t.yaml: not known, hence ignored: names[0] (line 1), "
         "names[1]._target_ (line 1)"},
        /* names of Megatron-LM's, and a path from the root */
        {"{of: {num_layers: 4, bf16: true, rope_fusion: false, mine: 1}, far: 1}", SS_OK,
         "--x --not-there --far 1 --num-layers 4 --bf16 --no-rope-fusion; t.yaml: not known, hence ignored: "
         "of.mine "
         "(line 1)"},
        {"a: 1\nwhole: 1.5", SS_ERR_INPUT, "t.yaml:2: whole: \"1.5\" is no whole number"},
        {"yes: 2", SS_ERR_INPUT, "t.yaml:1: yes: \"2\" is no true or false"},
        {"list: {a: 1}", SS_ERR_INPUT, "t.yaml:1: list: a map or a list is no list"},
        {"choice: d", SS_ERR_INPUT, "t.yaml:1: choice: \"d\" is no value that is known here"},
        {"choice: [a]", SS_ERR_INPUT, "t.yaml:1: choice: a map or a list is no value that is known here"},
        {"choice: bad", SS_ERR_UNSUPPORTED, "t.yaml:1: choice: \"bad\": it is not modelled"},
        {"choice: worse", SS_ERR_UNSUPPORTED, "t.yaml:1: choice: worse is not modelled: take a"},
        {"refuse: 3", SS_ERR_UNSUPPORTED, "t.yaml:1: refuse: it is not modelled"},
        {"deny: 3", SS_ERR_CONFIG, "t.yaml:1: deny: the framework refuses it"},
        {"value: {a: 1}", SS_ERR_INPUT, "t.yaml:1: value: a map or a list is no single value"},
        {"value: --bf16", SS_ERR_INPUT,
         "t.yaml:1: value: --bf16 is no value of --value: it begins as a flag does"},
        {"far: --bf16", SS_ERR_INPUT, "t.yaml:1: far: --bf16 is no value of --far: it begins as a flag does"},
    };
    for (size_t i = 0; i < SS_ARRAY_LEN(cases); i++) {
        int rc;
        const char *out = map(cases[i].text, &rc);
        if (rc != cases[i].rc || strcmp(out, cases[i].out) != 0)
            printf("\n  %s: %d '%s'\n", cases[i].text, rc, out);
        CU_ASSERT(rc == cases[i].rc && !strcmp(out, cases[i].out));
    }
}

/* Rows that are strict: a key without a row is an error; what becomes nothing is told in the order of the configuration. */
TEST(strict)
{
    static const char strict[] =
        "rest refused\na none\nb refuse it is not modelled\n[c]\nd part\ne value --e\n";
    static const char *const cases[][2] = {
        {"{c: {e: 1, d: 2}, a: {x: 1, y: 2}}", "c, a"},
        {"{a: 1, c: {f: 1}}", "1: c.f: it has no such key that is known here"},
        {"a: 1\nb: 2\n", "2: b: it is not modelled"},
        {"a: 1\nbb: 2\n", "2: bb: it has no such key that is known here"},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(cases); i++) {
        struct ss_request request;
        struct ss_reading r;
        struct ss_tree *tree;
        struct ss_error err = {0};
        char out[300] = "";
        CU_ASSERT_EQUAL_FATAL(ss_tree_parse(cases[i][0], strlen(cases[i][0]), "t.yaml", &tree, NULL), SS_OK);
        ss_request_init(&request);
        ss_reading_begin(&r, "it", tree, &request, &err);
        CU_ASSERT_EQUAL_FATAL(ss_keymap_parse(strict, strlen(strict), "t.map", own, &r.map, &err), SS_OK);
        ss_reading_rows(&r);
        if (ss_reading_end(&r))
            snprintf(out, sizeof out, "%d: %.200s", err.line, err.message);
        for (unsigned long k = 0; k < request.ignored.n; k++)
            snprintf(out + strlen(out), sizeof out - strlen(out), "%s%s", k ? ", " : "",
                     request.ignored.text[k]);
        if (strcmp(out, cases[i][1]) != 0)
            printf("\n  %s: '%s'\n", cases[i][0], out);
        CU_ASSERT_STRING_EQUAL(out, cases[i][1]);
        ss_request_free(&request);
        ss_tree_free(tree);
    }
}

/* A function may ask for keys alone that have rows. */
TEST(asked_without_row)
{
    static const char text[] = "a.b|c code\n";
    struct ss_reading r;
    struct ss_tree *tree;
    struct ss_request request;
    struct ss_error err = {0};

    CU_ASSERT_EQUAL_FATAL(ss_tree_parse("{c: 3}", 6, "t.yaml", &tree, NULL), SS_OK);
    ss_request_init(&request);
    ss_reading_begin(&r, "it", tree, &request, &err);
    CU_ASSERT_EQUAL_FATAL(ss_keymap_parse(text, strlen(text), "t.map", own, &r.map, &err), SS_OK);
    CU_ASSERT_EQUAL(ss_reading_size(&r, "a.b", 1, 1, 9), 3); /* by its other name */
    CU_ASSERT_EQUAL(ss_reading_size(&r, "a.d", 1, 1, 9), 1);
    CU_ASSERT_EQUAL(ss_reading_end(&r), SS_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(err.message, "no row says what becomes of a.d, which is read");
    CU_ASSERT_STRING_EQUAL(err.file, "t.map");
    ss_request_free(&request);
    ss_tree_free(tree);
}

TEST(tables)
{
    static const char text[] = "$t table\n  a b = first one\n  c =\nx none\n";
    struct ss_reading r = {0};

    CU_ASSERT_EQUAL_FATAL(ss_keymap_parse(text, strlen(text), "t.map", own, &r.map, NULL), SS_OK);
    CU_ASSERT_STRING_EQUAL(ss_reading_lookup(&r, "$t", "B"), "first one");
    CU_ASSERT_STRING_EQUAL(ss_reading_lookup(&r, "$t", "x.c"), "");
    CU_ASSERT_PTR_NULL(ss_reading_lookup(&r, "$t", "d"));
    ss_keymap_free(r.map);
}

/* ---- files ---- */

TEST(errors)
{
    static const struct {
        const char *text;
        int line;
        const char *message;
    } cases[] = {
        {"\n# x\na walue --a\n", 3, "\"walue\" is no kind of row"},
        {"a\n", 1, "\"\" is no kind of row"},
        {"a value a\n", 1, "a value: a flag is asked"},
        {"a true yes\n", 1, "flags are asked"},
        {"a refuse\n", 1, "a reason is asked"},
        {"a none --a\n", 1, "nothing may stand behind it"},
        {"a pick b\n  b =\n", 1, "\"else VALUE\" is asked"},
        {"a pick\nb none\n", 1, "a: no value stands below it"},
        {"a table\n", 1, "a: no value stands below it"},
        {"a none\n  b =\n", 2, "below a row of the kind pick or table"},
        {"a pick\n  b = c\n", 2, "flags, or \"refuse WHY\""},
        {"a code thrice\n", 1, "there is no function of this name"},
        {"- false --a\n", 1, "a key is asked"},
        {"a names\n", 1, "\"*\" is the key of names"},
        {"* none\n", 1, "\"*\" is the key of names"},
        {"[a\nb none\n", 1, "\"]\" is missing"},
        {"when\nend\n", 1, "a condition is asked"},
        {"when a\n\nb none\n", 3, "a block has no \"end\""},
        {"end\n", 1, "no block is open"},
        {"when a\nend x\n", 2, "nothing may stand behind \"end\""},
        {"rest kept\n", 1, "\"rest told\" or \"rest refused\""},
        {"include a/b\n", 1, "the name of a keymap is asked"},
        /* a misspelt name must not fall under a section that another row has */
        {"[a]\nb value --b\n[]\na none\n", 2, "a.b is below a, which a row has as a whole"},
        {"a.b refuse why\na.b.c.d value --d\n", 2, "a.b.c.d is below a.b"},
    };
    struct ss_error err;
    struct ss_keymap *m;

    for (size_t i = 0; i < SS_ARRAY_LEN(cases); i++) {
        memset(&err, 0, sizeof err);
        int rc = ss_keymap_parse(cases[i].text, strlen(cases[i].text), "t.map", own, &m, &err);
        if (rc != SS_ERR_INPUT || err.line != cases[i].line || !strstr(err.message, cases[i].message))
            printf("\n  %s: %d, %s:%d: %s\n", cases[i].text, rc, err.file, err.line, err.message);
        CU_ASSERT_EQUAL(rc, SS_ERR_INPUT);
        CU_ASSERT_STRING_EQUAL(err.file, "t.map");
        CU_ASSERT_EQUAL(err.line, cases[i].line);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, cases[i].message));
    }
    CU_ASSERT_EQUAL(ss_keymap_parse("a none\0", 7, "t.map", own, &m, &err), SS_ERR_INPUT);
    CU_ASSERT_EQUAL(ss_keymap_load("no-such-map", own, &m, &err), SS_ERR_IO);
    CU_ASSERT_EQUAL(ss_keymap_parse("include no-such-map\n", 20, "t.map", own, &m, &err), SS_ERR_IO);
}

TEST(conditions)
{
    static const char text[] =
        "{a: {t: true, f: false, n: null, z: 0, s: none, w: word, l: [], m: {}, i: 3}, b: 1}";
    static const struct {
        const char *condition;
        bool holds;
    } cases[] = {
        {"t", true},    {"f", false},     {"n", false},      {"n?", true},       {"q", false},
        {"q?", false},  {"!q", true},     {"z", false},      {"s", false},       {"w", true},
        {"l", true},    {"m", true},      {"w=WORD", true},  {"w=x|word", true}, {"w=x|wor", false},
        {"!w=x", true}, {"w~or", true},   {"w~ro", false},   {"m~", false},      {"w~", true},
        {"i>2", true},  {"i>3", false},   {"i<4", true},     {"q<4", false},     {"t w", true},
        {"t f", false}, {"f or t", true}, {"f or n", false}, {"t f or w", true}, {"n|w=word", true},
        {"q|/b", true}, {"/b>0", true},   {"b", false},
    };
    struct ss_tree *tree;

    CU_ASSERT_EQUAL_FATAL(ss_tree_parse(text, strlen(text), "t.yaml", &tree, NULL), SS_OK);
    for (size_t i = 0; i < SS_ARRAY_LEN(cases); i++) {
        bool holds = ss_reading_holds(ss_tree_root(tree), "a", cases[i].condition);
        if (holds != cases[i].holds)
            printf("\n  %s: %d\n", cases[i].condition, holds);
        CU_ASSERT_EQUAL(holds, cases[i].holds);
    }
    ss_tree_free(tree);
}

/* ---- those of workloads/importers ---- */

/* Every flag of the words is one; of --set the prop. */
static void check_words(const struct ss_key_row *row, const char *words)
{
    char word[200], last[200] = "";

    for (const char *p = words; *p; p += strspn(p, " ")) {
        size_t n = strcspn(p, " ");
        snprintf(word, sizeof word, "%.*s", (int)n, p);
        p += n;
        bool good = strncmp(word, "--", 2) ? true : ss_flag_known(word);
        if (!strcmp(last, "--set")) {
            word[strcspn(word, "=")] = '\0';
            good = ss_prop_find(word, ~0) >= 0;
        }
        if (!good)
            printf("\n  %s:%d: %s: %s is not known\n", row->file, row->line, row->key, word);
        CU_ASSERT(good);
        ss_copy(last, sizeof last, word);
    }
}

static void check_map(const struct ss_keymap *m)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct ss_key_row *row = &m->row[i];
        if (!strncmp(row->text, "--", 2))
            check_words(row, row->text);
        bool models = row->kind == SS_KEY_TABLE && strstr(row->key, "models"), found;
        for (size_t k = row->first; k < row->first + row->ncases && models; k++) {
            char path[512];
            CU_ASSERT_EQUAL(ss_data_look("workloads/models", m->choice[k].words, ".json", path, sizeof path,
                                         &found, NULL),
                            SS_OK);
            CU_ASSERT_TRUE(found);
        }
        for (size_t k = row->first; k < row->first + row->ncases; k++)
            if (!strncmp(m->choice[k].words, "--", 2))
                check_words(row, m->choice[k].words);
    }
}

/* Each row that leaves a key to a function says behind it what that makes of it. */
static void check_notes(const char *path)
{
    char *text, *rest;
    size_t len;

    CU_ASSERT_EQUAL_FATAL(ss_file_read(path, 1u << 20, &text, &len, NULL), SS_OK);
    rest = text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        char key[300], kind[40], name[40];
        int n = sscanf(line, "%299s %39s %39s", key, kind, name);
        bool bare = n >= 2 && !strcmp(kind, "code") && strcmp(key, "-") && !strchr(line, '#');
        if (bare)
            printf("\n  %s: %s: no note says what becomes of it\n", path, line);
        CU_ASSERT_FALSE(bare);
    }
    free(text);
}

TEST(shipped)
{
    static const struct {
        const char *name;
        const struct ss_key_code *code;
    } tops[] = {{"nemo", ss_nemo_code},
                {"nemo2", ss_nemo2_code},
                {"bridge", ss_core_code},
                {"flagscale", ss_flagscale_code},
                {"megatron-yaml", ss_core_code},
                {"megatron-dump", ss_core_code},
                {"megatron-arguments", ss_arguments_code},
                {"huggingface", ss_hf_code},
                {"torchtitan", ss_titan_code},
                {"axolotl", ss_hf_code},
                {"llamafactory-v1", ss_hf_code},
                {"trl", ss_hf_code},
                {"neox", ss_neox_code},
                {"nanotron", ss_nanotron_code}};
    char **names, path[512];
    struct ss_error err = {0};
    struct ss_keymap *m;
    size_t n;

    CU_ASSERT_EQUAL_FATAL(ss_data_list("workloads/importers", ".map", &names, &n, &err), SS_OK);
    CU_ASSERT_FATAL(n >= 20);
    for (size_t i = 0; i < n; i++) {
        if (ss_keymap_load(names[i], NULL, &m, &err)) {
            printf("\n  %s:%d: %s\n", err.file, err.line, err.message);
            CU_FAIL_FATAL("a map of workloads/importers is not understood");
        }
        check_map(m);
        ss_keymap_free(m);
        snprintf(path, sizeof path, SS_SOURCE_DIR "/workloads/importers/%s.map", names[i]);
        check_notes(path);
    }
    ss_names_free(names, n);
    for (size_t i = 0; i < SS_ARRAY_LEN(tops); i++) {
        CU_ASSERT_EQUAL_FATAL(ss_keymap_load(tops[i].name, tops[i].code, &m, &err), SS_OK);
        for (const struct ss_key_code *c = tops[i].code; c->name; c++) {
            size_t k = 0;
            while (k < m->n && !(m->row[k].kind == SS_KEY_CODE && !strcmp(m->row[k].text, c->name)))
                k++;
            CU_ASSERT(k < m->n); /* a function that no row calls */
        }
        ss_keymap_free(m);
    }
}
