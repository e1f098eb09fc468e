/* SPDX-License-Identifier: Apache-2.0 */
/* The line that tables of predictions begin with. */
#include <string.h>

#include "job_helper.h"
#include "report/premises.h"
#include "suite.h"

static void tells(const char *words, const char *varied, const char *line)
{
    struct ss_scenario *s = NULL;
    struct ss_request r;
    struct ss_error err;
    char text[1024], buf[SS_PREMISES_SIZE], *argv[JOB_MAX_ARGS];

    snprintf(text, sizeof text, "%s", words);
    ss_request_init(&r);
    CU_ASSERT_EQUAL_FATAL(ss_request_read(&r, split(text, argv), argv, &err), 0);
    CU_ASSERT_EQUAL_FATAL(ss_scenario_build(&r, NULL, &s, &err), 0);
    CU_ASSERT_STRING_EQUAL(ss_report_premises(s, varied, buf, sizeof buf), line);
    ss_scenario_free(s);
    ss_request_free(&r);
}

#define JOB "--platform h800 --nodes 1 --model llama3.1-8b --seq 4096 --mbs 1 --gbs 16"

TEST(line)
{
    tells(JOB, NULL, "llama3.1-8b, bf16 (assumed), sequence 4096, batch 16 on h800, stack megatron-2407");
    tells(JOB " --bf16", "", "llama3.1-8b, bf16, sequence 4096, batch 16 on h800, stack megatron-2407");
    tells(JOB " --precision fp32", "",
          "llama3.1-8b, fp32 (no --bf16 given), sequence 4096, batch 16 on h800, stack megatron-2407");
}

/* What varies is left out, by any name of the flag. */
TEST(varied)
{
    tells(JOB " --bf16", "--model --nodes", "bf16, sequence 4096, batch 16 on h800, stack megatron-2407");
    tells(JOB " --bf16", "--platform --gbs", "llama3.1-8b, bf16, sequence 4096, stack megatron-2407");
    tells(JOB " --bf16", "--fp8-format --seq", "llama3.1-8b, batch 16 on h800, stack megatron-2407");
    tells(JOB " --bf16", "--model --precision --seq --gbs", "on h800, stack megatron-2407");
}

/* A recipe is named by its source, without its files. */
TEST(recipe)
{
    struct ss_scenario *s = NULL;
    struct ss_request r;
    struct ss_error err;
    char text[] = "--platform h100 --nodes 8 --model llama3-70b --stack megatron-bridge-26.02 --tp 4 --pp 4 "
                  "--mbs 1 --gbs 128 "
                  "--seq 8192",
         buf[SS_PREMISES_SIZE], *argv[JOB_MAX_ARGS];

    ss_request_init(&r);
    CU_ASSERT_EQUAL_FATAL(ss_request_read(&r, split(text, argv), argv, &err), 0);
    CU_ASSERT_EQUAL_FATAL(ss_scenario_build(&r, NULL, &s, &err), 0);
    ss_report_premises(s, NULL, buf, sizeof buf);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(buf, ", stack megatron-bridge-26.02, recipe NVIDIA-NeMo/Megatron-Bridge@v"));
    CU_ASSERT_PTR_NULL(strstr(buf, ".csv"));
    ss_scenario_free(s);
    ss_request_free(&r);
}
