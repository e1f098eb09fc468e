/* SPDX-License-Identifier: Apache-2.0 */
/* Launch scripts: which job of several is read and what is said of it, and what a script's output leaves behind. */
#include <unistd.h>

#include "base/base.h"
#include "import/import.h"
#include "import/sandbox.h"
#include "suite.h"

#define FLAGS "--num-layers", "8", "--hidden-size", "512", "--seq-length", "1024"

static char *small[] = {"torchrun", "--nproc_per_node=8", "pretrain_gpt.py",
                        FLAGS,      "--micro-batch-size", "1"};
static char *large[] = {"torchrun", "--nproc_per_node=8", "pretrain_gpt.py",
                        FLAGS,      "--micro-batch-size", "4"};
static char *again[] = {"torchrun", "--nproc_per_node=8", "pretrain_gpt.py",
                        FLAGS,      "--micro-batch-size", "1"};

/* Reads the words of the job that a script with these calls starts. */
static int words_of(struct ss_call *call, size_t n, int chosen, struct ss_words *out, struct ss_notes *notes,
                    struct ss_error *err)
{
    const struct ss_launch launch = {.script = "jobs/run.sh", .call = chosen};
    const struct ss_calls calls = {.n = n, .call = call};

    return ss_launch_words(out, &launch, "torchrun pretrain_gpt.py\n", &calls, notes, err);
}

/* Two jobs, of which the first is started twice: who chooses is told which of how many it is; of one job nothing is said. */
TEST(several_jobs)
{
    struct ss_call call[] = {{SS_CALL_LAUNCHER, -1, SS_ARRAY_LEN(small), small},
                             {SS_CALL_LAUNCHER, -1, SS_ARRAY_LEN(again), again},
                             {SS_CALL_LAUNCHER, -1, SS_ARRAY_LEN(large), large}};
    struct ss_words words = {0};
    struct ss_notes notes = {0};
    struct ss_error err = {0};

    CU_ASSERT_EQUAL(words_of(call, 3, 2, &words, &notes, &err), SS_OK);
    CU_ASSERT_STRING_EQUAL(words.w[words.n - 1].text, "4");
    CU_ASSERT_EQUAL_FATAL(notes.n, 1);
    CU_ASSERT_STRING_EQUAL(notes.text[0], "run.sh starts 2 jobs; this is number 2 (--call)");
    ss_words_free(&words);
    ss_notes_free(&notes);
    words = (struct ss_words){0};
    CU_ASSERT_EQUAL(words_of(call, 3, 0, &words, &notes, &err), SS_ERR_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "the script starts 2 different jobs"));
    CU_ASSERT_EQUAL(words_of(call, 3, 3, &words, &notes, &err), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(words_of(call, 2, 0, &words, &notes, &err), SS_OK);
    CU_ASSERT_STRING_EQUAL(words.w[words.n - 1].text, "1");
    CU_ASSERT_EQUAL(notes.n, 0);
    ss_words_free(&words);
}

/* Where a script writes more than 256 KiB, the last 256 are kept. */
TEST(end_of_output)
{
    static const char script[] = "seq -f 'line number %.0f' 0 29999\n";
    char path[] = "/tmp/stepsim-launch-XXXXXX", *none[] = {NULL}, *text = NULL;
    struct ss_view view;
    struct ss_sandbox box = {.view = &view,
                             .words = none,
                             .environment = none,
                             .nodes = 1,
                             .gpus_per_node = 1,
                             .trust = 1,
                             .end = ss_clock() + 3600};
    struct ss_calls calls;
    size_t size;
    int fd = mkstemp(path);

    CU_ASSERT_EQUAL_FATAL(write(fd, script, sizeof script - 1), (ssize_t)sizeof script - 1);
    close(fd);
    CU_ASSERT_EQUAL_FATAL(ss_view_make(&view, path, NULL, NULL), SS_OK);
    CU_ASSERT_EQUAL_FATAL(ss_sandbox_run(&box, &calls, NULL), SS_OK);
    unlink(path);
    ss_view_free(&view);
    FILE *out = open_memstream(&text, &size);
    for (int i = 0; i < 30000; i++)
        fprintf(out, "line number %d\n", i);
    fclose(out);
    CU_ASSERT_EQUAL(calls.status, 0);
    CU_ASSERT_EQUAL_FATAL(strlen(calls.output), 256 << 10);
    CU_ASSERT_STRING_EQUAL(calls.output, text + size - (256 << 10));
    free(text);
    ss_calls_free(&calls);
}
