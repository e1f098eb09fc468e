/* SPDX-License-Identifier: Apache-2.0 */
/* Flags of forks of Megatron-LM: layers of stages and kinds of layers as these flags say them, counted by hand. */

#include "base/base.h"
#include "stepsim/import.h"
#include "stepsim/job.h"
#include "stepsim/scenario.h"
#include "suite.h"

static const char shape[] = "--platform h100 --nodes 4 --recipe none --bf16 --hidden-size 2048 "
                            "--num-attention-heads 16 --vocab-size 32000 "
                            "--seq 2048 --mbs 1 --gbs 64 --tp 1 --max-position-embeddings 2048 ";

static int make(const char *flags, struct ss_request *r, struct ss_scenario **s, struct ss_error *err)
{
    char text[1024];
    int n = snprintf(text, sizeof text, "%s%s", shape, flags);

    *s = NULL;
    *err = (struct ss_error){0};
    ss_request_init(r);
    CU_ASSERT_EQUAL_FATAL(ss_request_read_text(r, text, (size_t)n, "job.args", err), SS_OK);
    return ss_scenario_build(r, NULL, s, err);
}

/* Layers of the virtual stages; of one stage those of the model. */
TEST(stages)
{
    static const struct {
        const char *flags, *stages;
    } rows[] = {
        /* 16 layers, of which 3, 14 and 15 compute nothing, in 4 stages of 4 */
        {"--num-layers 16 --pp 4 --noop-layers 3,14,15", "3 4 4 2"},
        /* in 8 virtual stages of 2 */
        {"--num-layers 16 --pp 4 --noop-layers 3,14,15 --num-layers-per-virtual-pipeline-stage 2",
         "2 1 2 2 2 2 2 0"},
        {"--num-layers 16 --pp 4 --noop-layers 0,15 --schedule dualpipev", "1 2 2 2 2 2 2 1"},
        {"--num-layers 16 --pp 1 --noop-layers 7", "15"},
        /* no list of layers names those of MTP, which stand in the last stage */
        {"--num-layers 16 --pp 4 --noop-layers 15 --mtp-num-layers 1 --position-embedding-type rope",
         "4 4 4 3"},
        {"--num-layers 16 --pp 4 --num-layer-list 5,4,4,3 --mtp-num-layers 1 --position-embedding-type rope",
         "5 4 4 3"},
        /* stages of 4, and what is left */
        {"--num-layers 14 --pp 4 --allow-padding-num-layers", "2"},
        {"--num-layers 13 --pp 4 --allow-padding-num-layers", "1"},
        {"--num-layers 16 --pp 4 --allow-padding-num-layers", "0"},
        {"--num-layers 14 --pp 1 --allow-padding-num-layers", "0"},
        /* scaling's: embedding, layers, norm and output layer are 43 modules, 11 11 11 10; of 2 stages 22 and 21; 63 are 4 on 15 of 16, 3 on the last */
        {"--num-layers 40 --pp 4 --stack aleph-alpha-2023", "10 11 11 8"},
        {"--num-layers 40 --pp 2 --stack aleph-alpha-2023-torch", "21 19"},
        {"--num-layers 60 --pp 16 --stack aleph-alpha-2023", "3 4 4 4 4 4 4 4 4 4 4 4 4 4 4 1"},
        {"--num-layers 16 --pp 4 --stack aleph-alpha-2023 --decoder-last-pipeline-num-layers 1", "16"},
        {"--num-layers 14 --pp 4 --pp-partition-method type:transformer --allow-padding-num-layers", "2"},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_request r;
        struct ss_scenario *s;
        struct ss_error err;
        char got[256] = "";
        int rc = make(rows[i].flags, &r, &s, &err);
        if (rc)
            fprintf(stderr, "%s: %s\n", rows[i].flags, err.message);
        CU_ASSERT_EQUAL_FATAL(rc, SS_OK);
        for (int k = 0; k < s->job->layout.n; k++)
            ss_append(got, sizeof got, "%s%d", k ? " " : "", s->job->layout.layers[k]);
        if (!got[0])
            snprintf(got, sizeof got, "%d",
                     strstr(rows[i].flags, "padding") ? s->job->last_stage_layers : s->job->model.num_layers);
        CU_ASSERT_STRING_EQUAL(got, rows[i].stages);
        ss_scenario_free(s);
        ss_request_free(&r);
    }
}

/* Which layers have experts, when 2 and 15 of 16 are left out. */
TEST(experts)
{
    struct ss_request r;
    struct ss_scenario *s;
    struct ss_error err;

    CU_ASSERT_EQUAL_FATAL(make("--num-layers 16 --pp 4 --ep 2 --num-experts 8 --moe-layer-freq "
                               "([0]*3+[1]*13) --noop-layers 2,15",
                               &r, &s, &err),
                          SS_OK);
    CU_ASSERT_EQUAL(s->job->model.num_layers, 14);
    for (int i = 0; i < 14; i++)
        CU_ASSERT_EQUAL(ss_layer_rule_has(&s->job->model.moe_layers, i), i >= 2);
    ss_scenario_free(s);
    ss_request_free(&r);
}

/* -1 is no dense layer, and every layer is a multiple of it. */
TEST(all_experts)
{
    struct ss_request r;
    struct ss_scenario *s;
    struct ss_error err;

    CU_ASSERT_EQUAL_FATAL(
        make("--num-layers 4 --ep 2 --num-experts 8 --moe-layer-freq -1 --first-k-dense-replace -1", &r, &s,
             &err),
        SS_OK);
    for (int i = 0; i < 4; i++)
        CU_ASSERT(ss_layer_rule_has(&s->job->model.moe_layers, i));
    ss_scenario_free(s);
    ss_request_free(&r);
}

/* MindSpeed's context parallelism works without Transformer Engine, Megatron-LM's does not; names of its routers cost what others do. */
TEST(mindspeed)
{
    static const char local[] =
        "--num-layers 4 --cp 2 --transformer-impl local --use-flash-attn --num-experts 8 --ep 2 ";
    char flags[256];
    struct ss_request r;
    struct ss_scenario *s;
    struct ss_error err;

    CU_ASSERT_NOT_EQUAL(make(local, &r, &s, &err), SS_OK);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "TEDotProductAttention"));
    ss_request_free(&r);
    snprintf(
        flags, sizeof flags,
        "%s--context-parallel-algo ulysses_cp_algo --moe-router-load-balancing-type pai_megatron_aux_loss",
        local);
    CU_ASSERT_EQUAL_FATAL(make(flags, &r, &s, &err), SS_OK);
    CU_ASSERT_EQUAL(s->job->cp_comm_type, SS_CP_A2A);
    ss_scenario_free(s);
    ss_request_free(&r);
}

/* Gated of 4h, positions without a table. */
TEST(bigscience)
{
    struct ss_request r;
    struct ss_scenario *s;
    struct ss_error err;

    CU_ASSERT_EQUAL_FATAL(
        make("--num-layers 2 --glu-activation geglu --position-embedding-type alibi", &r, &s, &err), SS_OK);
    CU_ASSERT_EQUAL(s->job->model.ffn_hidden_size, 8192);
    CU_ASSERT_EQUAL(s->job->model.gated_mlp, 1);
    CU_ASSERT_EQUAL(s->job->model.position, SS_POSITION_NONE);
    ss_scenario_free(s);
    ss_request_free(&r);
    CU_ASSERT_EQUAL_FATAL(make("--num-layers 2 --position-embedding-type rotary", &r, &s, &err), SS_OK);
    CU_ASSERT_EQUAL(s->job->model.position, SS_POSITION_ROPE);
    ss_scenario_free(s);
    ss_request_free(&r);
}

TEST(refused)
{
    static const char *const rows[][2] = {
        {"--num-layers 16 --pp 4 --noop-layers 16", "--noop-layers 16: the layers are 0 to 15"},
        {"--num-layers 4 --pp 4 --stack aleph-alpha-2023",
         "--pp 4: aleph-alpha-2023 has equally many modules on each stage, and the 2 behind the layers do "
         "not fit on one"},
        {"--num-layers 15 --pp 4 --noop-layers 3", "15 layers are none of 4"},
        {"--num-layers 16 --pp 4 --stack aleph-alpha-2023 --vp 2", "aleph-alpha-2023 has no virtual stages"},
        {"--num-layers 16 --pp 4 --stack nanotron-2025 --num-layers-per-virtual-pipeline-stage 2",
         "nanotron-2025 has no virtual stages"},
        {"--num-layers 16 --pp 2 --stack deepspeed-2026 --schedule zb-v",
         "deepspeed-2026 has no virtual stages"},
        {"--num-layers 16 --pp 2 --stack megatron-deepspeed-2022 --vp 2", "has no virtual stages"},
        {"--num-layers 16 --pp 2 --stack megatron-lm-2020 --vp 2", "has no virtual stages"},
        {"--num-layers 16 --stack nanotron-2025 --fsdp full",
         "nanotron-2025 shards optimizer states alone (ZeRO-1)"},
        {"--num-layers 16 --stack aleph-alpha-2023 --num-experts 8", "has no mixtures of experts"},
        {"--num-layers 16 --stack aleph-alpha-2023 --overlap-grad-reduce",
         "aleph-alpha-2023 reduces gradients behind the last backward"},
        {"--num-layers 16 --stack nanotron-2025 --cuda-graph-impl local", "has no CUDA graphs"},
        {"--num-layers 16 --stack nanotron-2025 --recompute selective",
         "nanotron-2025 repeats whole layers alone"},
        {"--num-layers 16 --tp 2 --stack llm-foundry-2023", "has no tensor parallelism"},
        {"--num-layers 16 --pp 2 --stack llm-foundry-2023", "has no pipeline parallelism"},
        {"--num-layers 2 --glu-activation x", "swiglu, geglu, reglu or liglu"},
        {"--num-layers 16 --pp 4 --pp-partition-method uniform", "are modelled"},
        {"--num-layers 16 --pp 4 --noop-layers 3,x", "numbers of layers from 0"},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_request r;
        struct ss_scenario *s;
        struct ss_error err;
        CU_ASSERT_NOT_EQUAL(make(rows[i][0], &r, &s, &err), SS_OK);
        if (!strstr(err.message, rows[i][1]))
            fprintf(stderr, "%s: %s\n", rows[i][0], err.message);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, rows[i][1]));
        ss_scenario_free(s);
        ss_request_free(&r);
    }
}
