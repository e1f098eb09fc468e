/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank does for each part of a tensor, and for each bucket of gradients: the step's calls, and the looks for NaN. */
#include "cost/rank_cost.h"
#include "scale_job.h"
#include "suite.h"

#define LLAMA "h800 1;--model llama3.1-8b --bf16 --seq 4096 --mbs 1 --gbs 64 --stack megatron-2407 "
/* 32 layers of two norms and four matrices, embedding, norm and output layer */
enum { TENSORS = 32 * 6 + 3, RANKS = 8 };

struct seconds {
    double step, gradients;
};

static struct seconds seconds_of(const char *text)
{
    struct scale_job s;
    struct ss_run run;
    CU_ASSERT_EQUAL_FATAL(scale_open(&s, text), 0);
    CU_ASSERT_EQUAL_FATAL(scale_run(&s, NULL, &run), 0);
    const struct ss_plan_class *first = &run.plan->classes[0];
    const struct seconds out = {first->optimizer_calls_s, first->gradients_s};
    ss_run_free(&run);
    scale_close(&s);
    return out;
}

/* An operator of 60 us for each tensor of which a rank has a part: each of 8 ranks has an eighth of every bucket. */
TEST(parts)
{
    static const struct {
        const char *flags;
        double parts;
    } rows[] = {
        {"", TENSORS},
        {"--use-distributed-optimizer", 1 + (TENSORS - 1) / (double)RANKS},
        {"--use-distributed-optimizer --overlap-grad-reduce --ddp-bucket-size 1", TENSORS},
        /* 8.03e9 parameters close 8 buckets, and leave one */
        {"--use-distributed-optimizer --overlap-grad-reduce --ddp-bucket-size 1e9",
         9 + (TENSORS - 9) / (double)RANKS},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[400];
        snprintf(text, sizeof text, LLAMA "%s", rows[i].flags);
        CU_ASSERT_DOUBLE_EQUAL(seconds_of(text).step, rows[i].parts * 60e-6, 1e-9);
    }
}

/* The host reads the norm of each bucket behind its last gradient, if buckets are reduced beside the backward, and no graph holds it all. */
TEST(looks)
{
    static const struct {
        const char *flags;
        double buckets;
    } rows[] = {
        {"", 0},
        {"--overlap-grad-reduce --ddp-bucket-size 1", TENSORS},
        {"--overlap-grad-reduce --ddp-bucket-size 1e9", 9},
        {"--overlap-grad-reduce --ddp-bucket-size 1 --cuda-graph-impl local --cuda-graph-scope "
         "full_iteration",
         0},
    };
    double pass = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[400];
        snprintf(text, sizeof text, LLAMA "--use-distributed-optimizer %s", rows[i].flags);
        double with = seconds_of(text).gradients;
        snprintf(text, sizeof text,
                 LLAMA "--use-distributed-optimizer --no-check-for-nan-in-loss-and-grad %s", rows[i].flags);
        double look = with - seconds_of(text).gradients;
        pass = i ? pass : look; /* the pass over the gradients alone */
        CU_ASSERT_DOUBLE_EQUAL(look - pass, rows[i].buckets * 2 * 60e-6, 1e-9);
    }
    CU_ASSERT_TRUE(pass > 0);
}
