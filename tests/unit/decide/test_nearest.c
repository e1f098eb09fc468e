/* SPDX-License-Identifier: Apache-2.0 */
/* The legal layout that is nearest to a job's own. */
#include <string.h>

#include "stepsim/import.h"
#include "stepsim/nearest.h"
#include "suite.h"

/* 8 GPUs, 32 layers, 32 heads in 8 query groups. */
#define JOB                                                                                                  \
    "--platform h800 --nodes 1 --model llama3.1-8b --gbs 16 --seq 2048 --bf16 --use-distributed-optimizer "

static struct ss_nearest found;

static int find(const char *text, int (*how)(const struct ss_request *, const struct ss_nearest_options *,
                                             struct ss_nearest *, struct ss_error *))
{
    const struct ss_nearest_options options = {.how = NULL};
    struct ss_request r;

    ss_request_init(&r);
    CU_ASSERT_EQUAL_FATAL(ss_request_read_text(&r, text, strlen(text), "job", NULL), SS_OK);
    int rc = how(&r, &options, &found, NULL);
    ss_request_free(&r);
    return rc;
}

/* Whether the words give a flag this value; NULL: none. */
static int gives(const char *flag, const char *value)
{
    size_t i = ss_request_find(&found.request, flag);

    return i == found.request.n
               ? !value
               : value && i + 1 < found.request.n && !strcmp(found.request.word[i + 1].text, value);
}

TEST(fits)
{
    CU_ASSERT_EQUAL_FATAL(find(JOB "--tp 2 --pp 2 --mbs 1", ss_nearest_find), SS_OK);
    CU_ASSERT(found.found && found.tried == 0 && found.left_out.n == 0);
    CU_ASSERT(gives("--tp", "2") && gives("--pp", "2") && gives("--mbs", "1"));
    ss_nearest_free(&found);
}

/* Of 8 GPUs tensor 4 x pipeline 4 asks for 16: halving one of them is one doubling away; the walk has tensor parallelism outside. Chunks
 * stay. Pipeline 5 is nearest to 4 (log2 1.25 = 0.32; to 8 it is 0.68). */
TEST(nearest)
{
    CU_ASSERT_EQUAL_FATAL(find(JOB "--tp 4 --pp 4 --mbs 1", ss_nearest_find), SS_OK);
    CU_ASSERT(found.found && found.nodes == found.asked_nodes && found.nodes == 1);
    CU_ASSERT((gives("--tp", "2") && gives("--pp", "4")) || (gives("--tp", "4") && gives("--pp", "2")));
    CU_ASSERT(gives("--cp", "1") && gives("--mbs", "1"));
    ss_nearest_free(&found);
    CU_ASSERT_EQUAL_FATAL(find(JOB "--tp 1 --pp 5 --mbs 1", ss_nearest_find), SS_OK);
    CU_ASSERT(found.found && gives("--tp", "1") && gives("--pp", "4"));
    ss_nearest_free(&found);
}

/* What every layout is refused for goes, and nothing else. */
TEST(left_out)
{
    CU_ASSERT_EQUAL_FATAL(
        find("--platform a100 --nodes 1 --model llama3.1-8b --gbs 16 --seq 2048 --bf16 --fp8-format hybrid "
             "--use-distributed-optimizer --tp 2 --pp 2 --mbs 1",
             ss_nearest_find),
        SS_OK);
    CU_ASSERT(found.found && gives("--fp8-format", NULL) && gives("--tp", "2") && gives("--pp", "2"));
    CU_ASSERT_EQUAL_FATAL(found.left_out.n, 1);
    CU_ASSERT_STRING_EQUAL(found.left_out.text[0], "--fp8-format");
    ss_nearest_free(&found);
}

/* 70.6e9 parameters at 2 + 4 + 12 / dp bytes and more do not fit 8 GPUs of 80 GB; they fit 16 or 32. */
TEST(nodes)
{
    CU_ASSERT_EQUAL_FATAL(find("--platform h800 --nodes 1 --model llama3.1-70b --gbs 16 --seq 2048 --bf16 "
                               "--use-distributed-optimizer --tp 8 "
                               "--pp 1 --mbs 1",
                               ss_nearest_find),
                          SS_OK);
    CU_ASSERT(found.found && found.asked_nodes == 1 && (found.nodes == 2 || found.nodes == 4));
    ss_nearest_free(&found);
}

/* 7.4e9 parameters in one stage, halved by two tensor ranks, take 2 + 2 bytes each beside their shards: 14.8e9 of 17e9 bytes, without
 * activations. Shared blocks have no pipeline, so that FSDP alone holds them. */
TEST(sharded)
{
    CU_ASSERT_EQUAL_FATAL(
        find("--platform v100 --nodes 4 --model zamba2-7b --stack megatron-2021 --gbs 4 --seq 512 "
             "--fp16 --tp 4 --pp 4 --mbs 1",
             ss_nearest_find),
        SS_OK);
    CU_ASSERT(found.found && gives("--fsdp", "full") && gives("--pp", "1"));
    ss_nearest_free(&found);
}

TEST(fastest)
{
    CU_ASSERT_EQUAL_FATAL(find(JOB "--tp 4 --pp 4 --mbs 1", ss_nearest_find), SS_OK);
    const double near = found.summary.iteration_s;
    ss_nearest_free(&found);
    CU_ASSERT_EQUAL_FATAL(find(JOB "--tp 4 --pp 4 --mbs 1", ss_nearest_fastest), SS_OK);
    CU_ASSERT(found.found && found.summary.iteration_s <= near && found.summary.outcome == SS_OUTCOME_FITS);
    ss_nearest_free(&found);
}

/* A typo is told, not repaired. */
TEST(errors)
{
    CU_ASSERT_EQUAL(find(JOB "--no-such-flag", ss_nearest_find), SS_ERR_INPUT);
    CU_ASSERT_EQUAL(
        find("--platform nowhere --model llama3.1-8b --gbs 16 --seq 2048 --tp 2 --mbs 1", ss_nearest_find),
        SS_ERR_IO);
}
