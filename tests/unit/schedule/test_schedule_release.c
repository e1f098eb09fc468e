/* SPDX-License-Identifier: Apache-2.0 */
/* What a stack's Megatron release says of interleaved 1F1B where m = p. */
#include "scale_job.h"
#include "suite.h"

/* Forwards before the first pair, of rank r of 4 with 2 chunks and 4 microbatches. */
static void expect(const char *words, int release, const int warmup[4])
{
    struct ss_run_options options = {.engine = SS_ENGINE_NATIVE};
    struct scale_job s;
    struct ss_run run;
    char text[256];
    snprintf(
        text, sizeof text,
        "h800 4;--model llama3.1-8b --bf16 --tp 8 --pp 4 --vp 2 --seq 4096 --mbs 1 --gbs 4 --stack %s %s",
        release ? "nemo-24.12" : "nemo-24.11", words);
    CU_ASSERT_FATAL(!scale_open(&s, text));
    CU_ASSERT_FATAL(!scale_run(&s, &options, &run));
    for (int r = 0; r < 4; r++)
        CU_ASSERT_EQUAL(ss_schedule_warmup(run.schedule, r), warmup[r]);
    ss_run_free(&run);
    scale_close(&s);
}

/* 2 (p - r - 1) + (v - 1) N of v m = 8, or all. */
TEST(as_many_as_ranks)
{
    static const int all[4] = {8, 8, 8, 8}, usual[4] = {8, 8, 6, 4};
    expect("", 0, all);
    expect("", 1, usual);
    expect("--microbatch-group-size-per-vp-stage 4", 0, usual);
}
