/* SPDX-License-Identifier: Apache-2.0 */
/* docs/reference/flags.md is what the tables of flags say. "unit_job flags --write docs/reference/flags.md" writes it anew. */

#include "base/base.h"
#include "job/flags.h"
#include "stepsim/flags.h"
#include "suite.h"

static const char head[] =
    "# Megatron-LM's arguments\n\n"
    "What stepsim does with every argument of Megatron-LM (23.06 to core 0.20, and its main branch at "
    "d98e8a64dd,\n"
    "whose configuration classes make arguments) and with those that ModelOpt, Pai-Megatron-Patch, "
    "MindSpeed-LLM, zero-bubble's fork and swiss-ai's add: "
    "tests compare\n"
    "the lists of tests/arguments, which tests/arguments.py reads out of their sources. The behaviour "
    "followed is that of core 0.8 (Megatron-LM 240718); names that "
    "came\n"
    "later mean what they mean there. An argument that is not in this table is an error that names the "
    "nearest one.\n"
    "`--flag value` and `--flag=value` are the same.\n\n"
    "| treatment | meaning |\n|---|---|\n"
    "| own | stepsim's own, or a short name of one of Megatron's |\n"
    "| modelled | the prediction reads it |\n"
    "| no effect | no effect on the time or memory of an iteration, as the note says why: accepted, and "
    "listed |\n"
    "| not modelled | may change time or memory a little: accepted with a note of its own |\n"
    "| refused | an error that says why |\n\n"
    "Values: `+` one or more, `*` any number. This page is written by `unit_job flags --write "
    "docs/reference/flags.md`, "
    "and a\n"
    "test fails when it differs from the program.\n\n"
    "| argument | values | treatment | note |\n|---|---|---|---|\n";

static void write_page(FILE *out)
{
    static const char *const treatments[SS_FLAG_TREATMENTS] = {"own",          "modelled",     "no effect",
                                                               "not modelled", "not modelled", "refused"};
    struct ss_flag_walk w = {0};
    struct ss_flag f;

    fputs(head, out);
    while (ss_flag_next(&w, &f))
        fprintf(out, "| `%s` | %c | %s | %s |\n", f.name, f.values, treatments[f.treatment],
                f.why ? f.why : "");
}

TEST(page)
{
    char *page = NULL, *text = NULL;
    size_t size = 0, len;
    FILE *out = open_memstream(&page, &size);

    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    write_page(out);
    fclose(out);
    CU_ASSERT_EQUAL_FATAL(ss_file_read(SS_SOURCE_DIR "/docs/reference/flags.md", 1 << 22, &text, &len, NULL),
                          0);
    if (strcmp(page, text))
        fprintf(stderr, "docs/reference/flags.md differs from the program: run unit_job flags --write "
                        "docs/reference/flags.md\n");
    CU_ASSERT_STRING_EQUAL(page, text);
    free(page);
    free(text);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct ss_flag *)a)->name, ((const struct ss_flag *)b)->name);
}

TEST(table)
{
    struct ss_flag_walk w = {0};
    struct ss_flag f, found, *all = NULL;
    size_t n = 0, cap = 0;

    while (ss_flag_next(&w, &f)) {
        CU_ASSERT_EQUAL_FATAL(ss_grow(&all, &cap, n + 1, sizeof(*all)), 0);
        all[n++] = f;
        CU_ASSERT(ss_flag_find(f.name, &found));
        CU_ASSERT_EQUAL(found.treatment, f.treatment);
        CU_ASSERT_PTR_NOT_NULL(strchr("01+*", f.values));
        CU_ASSERT(strlen(f.name) > 3 && f.name[0] == '-' && f.name[1] == '-');
        CU_ASSERT((f.setter != NULL) == (f.treatment == SS_FLAG_OWN || f.treatment == SS_FLAG_MODELLED));
        if (f.treatment != SS_FLAG_MODELLED)
            CU_ASSERT_PTR_NOT_NULL(f.why);
    }
    CU_ASSERT(n > 900);
    qsort(all, n, sizeof(*all), by_name);
    for (size_t i = 1; i < n; i++) {
        if (!strcmp(all[i - 1].name, all[i].name))
            fprintf(stderr, "twice: %s\n", all[i].name);
        CU_ASSERT(strcmp(all[i - 1].name, all[i].name) != 0);
    }
    free(all);
    CU_ASSERT_EQUAL(ss_flag_find("--no-such-flag", &found), 0);
    CU_ASSERT_EQUAL(ss_flag_find("--", &found), 0);
    CU_ASSERT_EQUAL(ss_flag_find("lr", &found), 0);
}

/* Do these numbers of values agree? argparse's 3 is any number here, as is what differs between releases; + takes a value, too. */
static int same_values(const char *theirs, char ours)
{
    return theirs[0] == ours || ours == '*' || (ours == '+' && theirs[0] != '0');
}

/* Lines "--name VALUES where" of one list, which tests/arguments.py wrote: each is in the table. */
static int check_arguments(const char *name)
{
    char path[256], *text, flag[128], values[8];
    struct ss_flag f;
    size_t len;
    int n = 0;

    snprintf(path, sizeof path, SS_SOURCE_DIR "/tests/arguments/%s.txt", name);
    CU_ASSERT_EQUAL_FATAL(ss_file_read(path, 1 << 20, &text, &len, NULL), 0);
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        if (*line == '#')
            continue;
        CU_ASSERT_EQUAL_FATAL(sscanf(line, "%127s %7s", flag, values), 2);
        int known = ss_flag_find(flag, &f) || ss_flag_find_of_program(flag, &f);
        if (!known || !same_values(values, f.values))
            fprintf(stderr, "%s: %s %s: %s\n", name, flag, values, known ? "other values" : "not known");
        CU_ASSERT(known && same_values(values, f.values));
        n++;
    }
    free(text);
    return n;
}

TEST(arguments)
{
    CU_ASSERT_EQUAL(check_arguments("megatron-lm"), 878);
    CU_ASSERT_EQUAL(check_arguments("megatron-lm-modelopt"), 22);
    CU_ASSERT_EQUAL(check_arguments("pai-megatron-patch"), 104);
    CU_ASSERT_EQUAL(check_arguments("swiss-ai"), 47);
    CU_ASSERT_EQUAL(check_arguments("zero-bubble"), 37);
    CU_ASSERT_EQUAL(check_arguments("mindspeed-llm"), 267);
    CU_ASSERT_EQUAL(check_arguments("mindspeed"), 151);
}

TEST(nearest)
{
    char near[96];

    CU_ASSERT(ss_flag_nearest("--tensor-model-paralel-size", near, sizeof(near)));
    CU_ASSERT_STRING_EQUAL(near, "--tensor-model-parallel-size");
    CU_ASSERT(ss_flag_nearest("--overlap-grad-reduction", near, sizeof(near)));
    CU_ASSERT_STRING_EQUAL(near, "--overlap-grad-reduce");
    CU_ASSERT_EQUAL(ss_flag_nearest("--xyzzyxyzzyxyzzy", near, sizeof(near)), 0);
}

/* The public list has every flag of the tables, with what may be written for its value. */
TEST(list)
{
    struct ss_flag_cursor at = {0};
    struct ss_flag_walk w = {0};
    struct ss_flag_info info;
    struct ss_flag f;
    int methods = 0;

    while (ss_flag_next(&w, &f)) {
        CU_ASSERT_FATAL(ss_flag_list(&at, &info));
        CU_ASSERT_STRING_EQUAL(info.name, f.name);
        CU_ASSERT_EQUAL(info.value == NULL, f.values == '0');
        CU_ASSERT_EQUAL(info.read, f.setter != NULL);
        CU_ASSERT(ss_flag_known(info.name));
        if (!strcmp(info.name, "--recompute-method"))
            methods += !strcmp(info.value, "uniform|block");
    }
    CU_ASSERT_EQUAL(ss_flag_list(&at, &info), 0);
    CU_ASSERT_EQUAL(methods, 1);
    static const char *const none[] = {"--no-such-flag", "--", "--no-load", "--no-load-optim ",
                                       "--no-load-optim no-load-rng"};
    for (size_t i = 0; i < SS_ARRAY_LEN(none); i++)
        CU_ASSERT_EQUAL(ss_flag_known(none[i]), 0);
    CU_ASSERT(ss_flag_known("--no-load-optim"));
}

/* What is listed as a value is one; another word is none. */
TEST(choices)
{
    char buf[512], other[] = "no-such-word", *none[] = {other};
    int n = 0;

    for (const struct ss_flag_setter *s = ss_flag_setters; s->name; s++) {
        struct ss_asked asked;
        const char *why;
        ss_asked_init(&asked);
        for (const struct ss_flag_choice *c = s->choices; c && c->name; c++, n++) {
            char *word[] = {(char *)c->name};
            int rc = ss_flag_apply(s, &asked, 1, word, buf, sizeof buf, &why);
            if (rc)
                fprintf(stderr, "%s %s: %s\n", s->name, c->name, why);
            CU_ASSERT_EQUAL(rc, 0);
        }
        if (s->choices)
            CU_ASSERT_NOT_EQUAL(ss_flag_apply(s, &asked, 1, none, buf, sizeof buf, &why), 0);
    }
    CU_ASSERT(n > 40);
}

SUITE(flags)
{
    if (argc == 3 && !strcmp(argv[1], "--write")) {
        FILE *out = fopen(argv[2], "w");
        if (!out)
            return 2;
        write_page(out);
        return fclose(out) != 0;
    }
    return suite_file(argv[0], NULL, NULL);
}
