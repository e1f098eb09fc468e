/* SPDX-License-Identifier: Apache-2.0 */
/* What a command line lacks is told at once; unknown words come before names, names before values, values before what is missing. */

#include "base/base.h"
#include "job/asked.h"
#include "job_helper.h"
#include "stepsim/scenario.h"
#include "suite.h"

static int build(const char *line, struct ss_error *err)
{
    char text[512], *argv[JOB_MAX_ARGS];
    struct ss_request r;
    struct ss_scenario *s = NULL;

    memset(err, 0, sizeof *err);
    ss_request_init(&r);
    snprintf(text, sizeof text, "%s", line);
    int n = split(text, argv);
    CU_ASSERT_EQUAL_FATAL(ss_request_read(&r, n, argv, NULL), 0);
    int rc = ss_scenario_build(&r, NULL, &s, err);
    ss_scenario_free(s);
    ss_request_free(&r);
    return rc;
}

TEST(order)
{
    static const struct {
        const char *line;
        int code;
        const char *message, *hint;
    } rows[] = {
        {"--bf16", SS_ERR_USAGE,
         "missing: --platform NAME, --model NAME, --nodes N (or --gpus N), --seq N, --mbs N; example: "
         "--platform h800 --model llama3.1-8b --nodes 8 --seq 4096 --mbs 1",
         "stepsim list platforms"},
        {"--platform h800 --gpus 8 --model llama3.1-8b --mbs 1", SS_ERR_USAGE,
         "missing: --seq N; example: --seq 4096", ""},
        {"--platform h800 --nodes 1 --hidden-size 4096 --seq 1024 --mbs 1", SS_ERR_CONFIG, "--num-layers",
         "--model"},
        {"--platform h80 --model llama3.1-8b", SS_ERR_IO, "no 'h80' in platforms", "h800"},
        {"--platform h800 --model qwen3-235b", SS_ERR_IO, "no 'qwen3-235b'", "did you mean qwen3-235b-a22b?"},
        {"--platform h80 --gbs many", SS_ERR_IO, "no 'h80' in platforms", "h800"},
        {"--platform h800 --model llama3.1-8b --gbs many", SS_ERR_USAGE, "--gbs many", ""},
        {"--gbs many --platform h80 --seqlen 4096", SS_ERR_USAGE, "unknown flag --seqlen", ""},
        {"--gbs many --seqlen 4096 --no-such", SS_ERR_USAGE, "unknown: --seqlen, --no-such", "--drop"},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_error err;
        int rc = build(rows[i].line, &err);
        if (rc != rows[i].code || !strstr(err.message, rows[i].message) || !strstr(err.hint, rows[i].hint))
            fprintf(stderr, "%s: %d %s (%s)\n", rows[i].line, rc, err.message, err.hint);
        CU_ASSERT_EQUAL(rc, rows[i].code);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, rows[i].message));
        CU_ASSERT_PTR_NOT_NULL(strstr(err.hint, rows[i].hint));
    }
}

TEST(needs)
{
    struct ss_asked asked;
    struct ss_request r;
    struct ss_error err = {0};

    ss_asked_init(&asked);
    ss_request_init(&r);
    asked.job.global_batch = 64;
    CU_ASSERT_EQUAL(ss_asked_check_given(&asked, &r, SS_NEED_GBS, &err), 0);
    CU_ASSERT_EQUAL(ss_asked_check_given(&asked, &r, SS_NEED_GBS | SS_NEED_TOKENS | SS_NEED_VARY, &err),
                    SS_ERR_USAGE);
    CU_ASSERT_STRING_EQUAL(
        err.message, "missing: --tokens N, --vary FLAG=V1,V2,...; example: --tokens 1T --vary nodes=8,16");
    ss_request_free(&r);
}
