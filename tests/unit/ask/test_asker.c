/* SPDX-License-Identifier: Apache-2.0 */
/* An asker answers as ss_ask does, to the last byte, whatever it was asked before and whatever has changed since. */
#include <unistd.h>

#include "base/base.h"
#include "stepsim/ask.h"
#include "suite.h"

#define JOB "--platform h800 --nodes 1 --model llama3.1-8b --bf16 --tp 2 --pp 2 --mbs 1 --gbs 16 --seq 4096 "
#define MOST 64

static struct ss_asker *asker;

static int setup(void)
{
    asker = ss_asker_new();
    return !asker;
}

static int teardown(void)
{
    ss_asker_free(asker);
    return 0;
}

/* The answer of the asker, which must be that of ss_ask; the caller frees it. */
static char *ask(const char *text)
{
    char *copy = strdup(text), *rest = NULL, *got = NULL, *want = NULL;
    const char *words[MOST];
    size_t size[2] = {0};
    int n = 0;

    for (char *word = strtok_r(copy, " ", &rest); word && n < MOST; word = strtok_r(NULL, " ", &rest))
        words[n++] = word;
    int status = ss_ask(n, words, &want, &size[0]);
    CU_ASSERT_EQUAL(ss_asker_ask(asker, n, words, NULL, NULL, &got, &size[1]), status);
    CU_ASSERT_PTR_NOT_NULL_FATAL(want);
    CU_ASSERT_PTR_NOT_NULL_FATAL(got);
    CU_ASSERT_EQUAL(size[0], size[1]);
    CU_ASSERT_STRING_EQUAL(got, want);
    ss_ask_free(want);
    free(copy);
    return got;
}

/* Jobs of one platform and stack, of others, with values of their own, too large, refused and wrong; twice, for the second time all is kept. */
TEST(same)
{
    static const char *const asked[] = {
        "run " JOB,
        "run " JOB "--gbs 32",
        "run " JOB "--stack megatron-lm-2025",
        "run " JOB "--set ss.nic.bandwidth=25GBps",
        "run " JOB "--scale nic.bandwidth=2x --tp 4",
        "run " JOB "--pp 1 --tp 1",
        "run " JOB "--platform h100 --nodes 2",
        "run " JOB "--tp 3",
        "run " JOB "--model no-such-model",
        "run " JOB "--set ss.nic.bandwidth=fast",
        "plan " JOB,
        "check " JOB "--measured 2s",
        "list stacks",
    };

    for (int again = 0; again < 2; again++)
        for (size_t i = 0; i < SS_ARRAY_LEN(asked); i++)
            ss_ask_free(ask(asked[i]));
}

static void write_platform(const char *path, const char *nic)
{
    FILE *out = fopen(path, "w");

    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    fprintf(out,
            "<platform version=\"4.1\"><zone id=\"a\" routing=\"Full\"><prop id=\"ss.base\" value=\"h800\"/>"
            "<prop id=\"ss.nic.bandwidth\" value=\"%s\"/></zone></platform>\n",
            nic);
    fclose(out);
}

/* A file that has changed, that is gone, and another of the same name in another folder are read; the answer lists it each time. */
TEST(changed_files)
{
    char folder[2][40] = {"/tmp/stepsim-asker-XXXXXX", "/tmp/stepsim-asker-XXXXXX"}, here[4096], *first, *now;

    CU_ASSERT_PTR_NOT_NULL_FATAL(getcwd(here, sizeof here));
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder[i]));
        CU_ASSERT_EQUAL_FATAL(chdir(folder[i]), 0);
        write_platform("mine.xml", i ? "100GBps" : "50GBps");
    }
#define MINE "run " JOB "--platform ./mine.xml --nodes 4"
    first = ask(MINE);
    CU_ASSERT_PTR_NOT_NULL(strstr(first, "mine.xml"));
    now = ask(MINE);
    CU_ASSERT_STRING_EQUAL(now, first);
    ss_ask_free(now);
    write_platform("mine.xml", "5GBps");
    now = ask(MINE);
    CU_ASSERT_STRING_NOT_EQUAL(now, first);
    ss_ask_free(now);
    CU_ASSERT_EQUAL(chdir(folder[0]), 0);
    now = ask(MINE);
    CU_ASSERT_STRING_NOT_EQUAL(now, first);
    ss_ask_free(now);
    ss_ask_free(first);
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(chdir(folder[i]), 0);
        CU_ASSERT_EQUAL(unlink("mine.xml"), 0);
        now = ask(MINE);
        CU_ASSERT_PTR_NOT_NULL(strstr(now, "\"error\""));
        ss_ask_free(now);
        CU_ASSERT_EQUAL(rmdir(folder[i]), 0);
    }
    CU_ASSERT_EQUAL(chdir(here), 0);
}

SUITE(asker)
{
    return suite_file(argv[0], setup, teardown);
}
