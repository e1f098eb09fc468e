/* SPDX-License-Identifier: Apache-2.0 */
/* Flags of linear attention: which layers they make gated delta nets, and what Megatron-LM and Megatron-Bridge refuse. */

#include "base/base.h"
#include "stepsim/import.h"
#include "stepsim/job.h"
#include "stepsim/scenario.h"
#include "suite.h"

static const char shape[] = "--platform h100 --nodes 4 --recipe none --bf16 --seq 2048 --mbs 1 --gbs 64 ";
static const char small[] = "--hidden-size 2048 --num-attention-heads 16 --vocab-size 32000 --num-layers 8 "
                            "--max-position-embeddings 2048 --swiglu ";

/* Returns the scenario of the flags, which the caller frees; NULL: refused with *err. */
static struct ss_scenario *make(const char *first, const char *flags, struct ss_error *err)
{
    char text[1024];
    int n = snprintf(text, sizeof text, "%s%s%s", shape, first, flags);
    struct ss_request r;
    struct ss_scenario *s = NULL;

    *err = (struct ss_error){0};
    ss_request_init(&r);
    CU_ASSERT_EQUAL_FATAL(ss_request_read_text(&r, text, (size_t)n, "job.args", err), SS_OK);
    ss_scenario_build(&r, NULL, &s, err);
    ss_request_free(&r);
    return s;
}

TEST(layers)
{
    static const struct {
        const char *flags, *layers;
    } rows[] = {
        {"--experimental-attention-variant gdn --linear-attention-freq 4", "11101110"},
        {"--experimental-attention-variant gated_delta_net --linear-attention-freq 2", "10101010"},
        {"--linear-attention-type gated_delta_net --linear-attention-freq ([1]*3+[0]*1)*2", "11101110"},
        {"--hybrid-layer-pattern G-*-G-*-", "10001000"},
    };
    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_error err;
        char got[9] = "";
        struct ss_scenario *s = make(small, rows[i].flags, &err);
        CU_ASSERT_PTR_NOT_NULL_FATAL(s);
        const struct ss_model *m = &s->job->model;
        for (int k = 0; k < 8; k++)
            got[k] = ss_layer_rule_has(&m->gated_delta, k) ? '1' : '0';
        CU_ASSERT_STRING_EQUAL(got, rows[i].layers);
        CU_ASSERT(m->linear_num_key_heads == 16 && m->linear_num_value_heads == 32 && m->linear_conv == 4);
        ss_scenario_free(s);
    }
}

TEST(sizes)
{
    struct ss_error err;
    struct ss_scenario *s = make(small,
                                 "--experimental-attention-variant gdn --linear-attention-freq 4 "
                                 "--linear-conv-kernel-dim 3 --linear-key-head-dim 64 "
                                 "--linear-value-head-dim 96 --linear-num-key-heads 8 "
                                 "--linear-num-value-heads 24 --attention-output-gate",
                                 &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    const struct ss_model *m = &s->job->model;
    CU_ASSERT(m->linear_conv == 3 && m->linear_key_head_dim == 64 && m->linear_value_head_dim == 96);
    CU_ASSERT(m->linear_num_key_heads == 8 && m->linear_num_value_heads == 24 && m->attention_gate == 1);
    ss_scenario_free(s);
    /* over a model that has them */
    s = make("--model qwen3.5-0.8b ", "--linear-attention-freq 2 --linear-num-value-heads 32", &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    CU_ASSERT(ss_layer_rule_has(&s->job->model.gated_delta, 0) &&
              !ss_layer_rule_has(&s->job->model.gated_delta, 1));
    CU_ASSERT_EQUAL(s->job->model.linear_num_value_heads, 32);
    ss_scenario_free(s);
}

TEST(refused)
{
    static const struct {
        const char *model, *flags, *why;
    } rows[] = {
        {small, "--linear-attention-freq 4", "without a linear attention"},
        {small, "--experimental-attention-variant gdn", "linear_attention_freq must be set for linear gdn"},
        {small, "--experimental-attention-variant gdn --linear-attention-freq [1,0]",
         "linear_attention_pattern: 2, expected 8"},
        {small, "--experimental-attention-variant gdn2 --linear-attention-freq 4", "not modelled"},
        {small, "--experimental-attention-variant none", "it may be gdn"},
        {small, "--experimental-attention-variant gdn --linear-attention-freq 4 --linear-num-key-heads 12",
         "must be a multiple of"},
        {small, "--hybrid-layer-pattern G-*-G-*- --linear-attention-freq 4", "beside it is not modelled"},
        {small, "--attention-output-gate --multi-latent-attention --position-embedding-type rope",
         "not supported for MLA"},
        {small, "--recompute-granularity selective --recompute-modules gdn_norm_out", "only supported with"},
        {"--model qwen3.5-9b ", "--tp 2 --cp 16", "self.linear_num_key_heads=16 must be a multiple of"},
        {"--model qwen3.5-9b ", "--cp 8 --linear-num-key-heads 8 --linear-num-value-heads 24 --tp 4",
         "self.linear_num_key_heads=8 must be a multiple of"},
        {"--model qwen3.5-27b ", "--cp 8 --tp 4 --linear-num-key-heads 32 --linear-num-value-heads 96", ""},
        {"--model qwen3.5-9b ", "--cp 2 --stack torchtitan-2026", "not yet supported for Qwen3.5"},
        {"--model kimi-linear-48b-a3b ", "--cp 2 --ep 8", "context parallelism is not supported yet"},
        {"--model kimi-linear-48b-a3b ", "--cp 2 --ep 8 --stack nemo-automodel-2026", ""},
        {"--model ring-mini-linear-2.0 ", "--tp 4 --etp 1 --ep 8 --sequence-parallel", ""},
    };
    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_error err;
        struct ss_scenario *s = make(rows[i].model, rows[i].flags, &err);
        if (!s != !!rows[i].why[0] || (rows[i].why[0] && !strstr(err.message, rows[i].why)))
            printf("%s: %s\n", rows[i].flags, err.message);
        CU_ASSERT(!s == !!rows[i].why[0]);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, rows[i].why));
        ss_scenario_free(s);
    }
}

/* Sizes of layers that a model has not. */
TEST(inactive)
{
    struct ss_error err;
    struct ss_scenario *s = make(small, "--linear-key-head-dim 64", &err);
    int found = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    for (size_t i = 0; i < s->notes.n; i++)
        found += strstr(s->notes.text[i], "sizes of linear attention are not active") != NULL;
    CU_ASSERT_EQUAL(found, 1);
    ss_scenario_free(s);
}
