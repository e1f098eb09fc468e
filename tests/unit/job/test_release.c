/* SPDX-License-Identifier: Apache-2.0 */
/* What the release of a stack does not have is refused, but by the default stack, and no recipe of a later release brings it. */

#include "base/base.h"
#include "job/release.h"
#include "job_helper.h"
#include "stepsim/scenario.h"
#include "suite.h"

#define DENSE "--model llama3.1-8b --seq 2048 --mbs 1 --gbs 64 --tp 1 --recipe none "
#define MIXTURE "--model qwen3-30b-a3b --seq 2048 --mbs 1 --gbs 64 --tp 1 --ep 8 --recipe none "
#define SHARED "--moe-shared-expert-intermediate-size 768 "
#define DEEPEP "--moe-token-dispatcher-type flex --moe-flex-dispatcher-backend deepep "
#define OVERLAP "--overlap-moe-expert-parallel-comm --moe-token-dispatcher-type alltoall "

/* Makes the scenario of typed words; returns why not. */
static int make(const char *words, const char *more, struct ss_scenario **s, struct ss_error *err)
{
    char text[1024], *argv[JOB_MAX_ARGS];
    struct ss_request r;

    *s = NULL;
    *err = (struct ss_error){0};
    snprintf(text, sizeof text, "%s %s", words, more);
    ss_request_init(&r);
    CU_ASSERT_EQUAL_FATAL(ss_request_read(&r, split(text, argv), argv, err), SS_OK);
    int rc = ss_scenario_build(&r, NULL, s, err);
    ss_request_free(&r);
    return rc;
}

static void check(const char *words, const char *stack, const char *message)
{
    struct ss_scenario *s;
    struct ss_error err;
    char more[64];

    snprintf(more, sizeof more, "--stack %s", stack);
    int rc = make(words, more, &s, &err);
    int ok = message ? rc == SS_ERR_CONFIG && strstr(err.message, message) : rc == SS_OK;
    if (!ok)
        printf("\n%s %s: %s\n", words, more, err.message);
    CU_ASSERT(ok);
    ss_scenario_free(s);
}

/* Each flag, the last stack without it and the first one with it. */
TEST(flags)
{
    static const struct {
        const char *words, *without, *message, *with;
    } rows[] = {
        {MIXTURE "--platform h100 --nodes 2 --moe-grouped-gemm", "megatron-lm-2022",
         "--moe-grouped-gemm (Megatron core 0.5)", "nemo-24.03"},
        {MIXTURE SHARED
         "--platform h100 --nodes 2 --moe-token-dispatcher-type alltoall --moe-shared-expert-overlap",
         "nemo-24.11", "--moe-shared-expert-overlap (Megatron core 0.10)", "nemo-24.12"},
        {MIXTURE "--platform h100 --nodes 2 --moe-permute-fusion", "nemo-24.12",
         "--moe-permute-fusion (Megatron core 0.11)", "nemo-25.03"},
        {MIXTURE "--platform h100 --nodes 2 " DEEPEP, "nemo-24.12",
         "--moe-token-dispatcher-type flex (Megatron core 0.12)", "nemo-25.03"},
        {MIXTURE "--platform h100 --nodes 2 " DEEPEP, "torchtitan-2024", "--moe-token-dispatcher-type flex",
         "torchtitan-2025"},
        {MIXTURE "--platform h100 --nodes 2 --moe-router-fusion", "nemo-24.12",
         "--moe-router-fusion (Megatron core 0.14)", "megatron-bridge-25.09"},
        {MIXTURE "--platform h100 --nodes 2 " OVERLAP, "nemo-24.12",
         "--overlap-moe-expert-parallel-comm (Megatron core 0.14)", "megatron-bridge-25.09"},
        {MIXTURE "--platform h100 --nodes 2 " OVERLAP "--delay-wgrad-compute", "nemo-24.12",
         "--delay-wgrad-compute (Megatron core 0.13), --overlap-moe", "megatron-lm-2025"},
        {DENSE "--platform h100 --nodes 2 --fused-single-qkv-rope", "megatron-bridge-25.09",
         "--fused-single-qkv-rope (Megatron core 0.15)", "megatron-bridge-25.11"},
        {DENSE "--platform h100 --nodes 2 --fine-grained-activation-offloading --offload-modules core_attn",
         "megatron-lm-2025", "--fine-grained-activation-offloading (Megatron core 0.16)",
         "megatron-bridge-26.02"},
        {DENSE "--platform h100 --nodes 2 --attention-backend fused", "nanotron-2025", "has no fused",
         "nemo-24.03"},
        {DENSE "--platform h100 --nodes 2 --attention-backend fused", "torchtitan-2025", "has no fused",
         "torchtitan-2026"},
        {DENSE "--platform mi300x --nodes 2 --attention-backend fused", "megatron-2407", "has no fused",
         NULL},
        {DENSE "--platform mi300x --nodes 2 --attention-backend fused", "pytorch-2026", "has no fused", NULL},
        {DENSE "--platform v100 --nodes 16 --fp16 --attention-backend fused", "megatron-2407", "has no fused",
         NULL},
        {DENSE "--platform h100 --nodes 2 --model gemma-2-9b --attention-backend fused", "megatron-2407",
         "no soft cap", NULL},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        check(rows[i].words, rows[i].without, rows[i].message);
        if (rows[i].with)
            check(rows[i].words, rows[i].with, NULL);
    }
}

/* Nobody who names no stack is refused a flag. */
TEST(default_stack)
{
    struct ss_scenario *s;
    struct ss_error err;
    int told = 0;

    CU_ASSERT_EQUAL_FATAL(make(MIXTURE "--platform h100 --nodes 2", "--moe-router-fusion", &s, &err), SS_OK);
    for (unsigned long i = 0; i < s->notes.n; i++)
        told += strstr(s->notes.text[i], "does not have --moe-router-fusion (Megatron core 0.14)") != NULL;
    CU_ASSERT_EQUAL(told, 1);
    CU_ASSERT_EQUAL(s->job->moe.router_fusion, 1);
    ss_scenario_free(s);
}

/* A stack that takes cuDNN's attention by itself takes another one for a soft cap. */
TEST(soft_cap)
{
    struct ss_scenario *s;
    struct ss_error err;

    CU_ASSERT_EQUAL_FATAL(make(DENSE "--platform gb200 --nodes 2 --model gemma-2-9b", "", &s, &err), SS_OK);
    CU_ASSERT_EQUAL(s->job->attention, SS_ATTENTION_FLASH);
    ss_scenario_free(s);
    CU_ASSERT_EQUAL_FATAL(make(DENSE "--platform gb200 --nodes 2", "", &s, &err), SS_OK);
    CU_ASSERT_EQUAL(s->job->attention, SS_ATTENTION_FUSED);
    ss_scenario_free(s);
}

/* The nearest recipe of Qwen3-30B is NeMo 25.07's. */
TEST(recipes)
{
    static const char *const stacks[] = {"--stack nemo-24.07", "--stack nemo-25.03"};

    for (int i = 0; i < 2; i++) {
        struct ss_scenario *s;
        struct ss_error err;
        int rc = make("--platform h100 --nodes 2 --model qwen3-30b-a3b --seq 4096 --mbs 1 --gbs 64 --ep 8",
                      stacks[i], &s, &err);
        if (rc)
            printf("\n%s: %s\n", stacks[i], err.message);
        CU_ASSERT_EQUAL_FATAL(rc, SS_OK);
        CU_ASSERT_EQUAL(s->job->moe.permute_fusion, i);
        ss_scenario_free(s);
    }
}
