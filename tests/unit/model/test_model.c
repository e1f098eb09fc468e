/* SPDX-License-Identifier: Apache-2.0 */
/* Models: published parameter counts, Hugging Face's fields, one clear error for each mistake. */

#include "base/base.h"
#include "model/model_internal.h"
#include "stepsim/parameters.h"
#include "suite.h"

static double parameters(const char *name, int rows)
{
    struct ss_model m;
    struct ss_error err = {0};

    if (ss_model_load(name, &m, &err) || ss_model_finish(&m, &err)) {
        fprintf(stderr, "%s: %s\n", name, err.message);
        return -1;
    }
    return ss_model_parameters(&m, rows ? rows : m.vocab_size + m.extra_vocab_size);
}

/* Counts as the models' cards or papers state them, in billions. */
TEST(published_counts)
{
    static const struct {
        const char *name;
        int rows; /* of the published model, 0: as in our file */
        double billions, digits;
    } known[] = {
        {"llama3.1-8b", 128256, 8.030261248, 1e-9},
        {"llama3.1-70b", 128256, 70.553706496, 1e-9},
        {"llama3.1-405b", 128256, 405.853388800, 1e-9},
        {"llama2-7b", 0, 6.738415616, 1e-9},
        {"llama2-13b", 0, 13.015864320, 1e-9},
        {"llama2-70b", 0, 68.976648192, 1e-9},
        {"qwen2.5-0.5b", 0, 0.494032768, 1e-9},
        {"qwen2.5-1.5b", 0, 1.543714304, 1e-9},
        {"qwen2.5-3b", 0, 3.085938688, 1e-9},
        {"qwen2.5-7b", 0, 7.615616512, 1e-9},
        {"qwen2.5-14b", 0, 14.770033664, 1e-9},
        {"qwen2.5-32b", 0, 32.763876352, 1e-9},
        {"qwen2.5-72b", 0, 72.706203648, 1e-9},
        {"gpt2-7.5b", 50688, 7.5, 0.02},
        {"gpt2-30b", 50688, 30, 0.02},
        {"gpt2-76b", 50688, 76, 0.01},
        {"gpt3-22b", 0, 22, 0.01},
        {"gpt3-175b", 0, 175, 0.01},
        {"gpt3-530b", 0, 530, 0.01},
        {"gpt3-1t", 0, 1008, 0.01},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(known); i++) {
        double n = parameters(known[i].name, known[i].rows) / 1e9;
        if (fabs(n - known[i].billions) > known[i].digits * known[i].billions)
            fprintf(stderr, "%s: %.9f, published %.9f\n", known[i].name, n, known[i].billions);
        CU_ASSERT_DOUBLE_EQUAL(n, known[i].billions, known[i].digits * known[i].billions);
    }
}

/* Mixtures: total, active, and multi-token prediction on top, counted by hand from the shapes of their papers. */
TEST(mixtures)
{
    static const struct {
        const char *name;
        double total, active, mtp;
    } known[] = {
        {"deepseek-v3", 671026419200, 37552297472, 11610068224},
        {"deepseek-v2", 235741434880, 21375800320, 0},
        {"deepseek-v2-lite", 15706484224, 2661150208, 0},
        {"kimi-k2", 1026408232448, 32861500928, 0},
        {"qwen3-30b-a3b", 30532122624, 3353032704, 0},
        {"qwen3-235b-a22b", 235093634560, 22190763520, 0},
        {"mixtral-8x7b", 46702792704, 12879925248, 0},
        {"gpt-oss-120b", 116829156672, 5711982912, 0},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(known); i++) {
        struct ss_model m;
        struct ss_parameter_counts n;

        CU_ASSERT_EQUAL_FATAL(ss_model_load(known[i].name, &m, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(ss_model_finish(&m, NULL), 0);
        ss_model_count(&m, m.vocab_size, &n);
        CU_ASSERT_EQUAL(n.total, known[i].total);
        CU_ASSERT_EQUAL(n.active, known[i].active);
        CU_ASSERT_EQUAL(n.mtp, known[i].mtp);
        CU_ASSERT_EQUAL(ss_model_parameters(&m, m.vocab_size), n.total);
        CU_ASSERT_EQUAL(ss_model_active_parameters(&m, m.vocab_size), n.active);
    }
}

TEST(every_file_loads)
{
    char **names;
    size_t n;

    CU_ASSERT_EQUAL_FATAL(ss_data_list("workloads/models", ".json", &names, &n, NULL), 0);
    CU_ASSERT(n >= 20);
    for (size_t i = 0; i < n; i++)
        CU_ASSERT(parameters(names[i], 0) > 1e8);
    ss_names_free(names, n);
}

TEST(padding)
{
    struct ss_model m;

    CU_ASSERT_EQUAL_FATAL(ss_model_load("gpt2-7.5b", &m, NULL), 0);
    CU_ASSERT_EQUAL(ss_model_padded_vocab(&m, 128, 1), 50304);
    CU_ASSERT_EQUAL(ss_model_padded_vocab(&m, 128, 4), 50688);
    CU_ASSERT_EQUAL_FATAL(ss_model_load("llama3.1-8b", &m, NULL), 0);
    CU_ASSERT_EQUAL(ss_model_padded_vocab(&m, 128, 2), 128512);
    CU_ASSERT_EQUAL_FATAL(ss_model_load("qwen2.5-14b", &m, NULL), 0);
    CU_ASSERT_EQUAL(ss_model_padded_vocab(&m, 128, 2), 152064);
    m.vocab_size = 1 << 26;
    CU_ASSERT_EQUAL(ss_model_padded_vocab(&m, 1 << 20, 1 << 20), INT32_MAX);
}

TEST(fields)
{
    struct ss_model m;

    CU_ASSERT_EQUAL_FATAL(ss_model_load("qwen2.5-7b", &m, NULL), 0);
    CU_ASSERT_STRING_EQUAL(m.name, "qwen2.5-7b");
    CU_ASSERT_EQUAL(m.qkv_bias, 1);
    CU_ASSERT_EQUAL(m.linear_bias, 0);
    CU_ASSERT_EQUAL(m.gated_mlp, 1);
    CU_ASSERT_EQUAL(m.tied_embeddings, 0);
    CU_ASSERT_EQUAL(m.num_query_groups, 4);
    CU_ASSERT_EQUAL(m.position, SS_POSITION_ROPE);
    CU_ASSERT_EQUAL(m.normalization, SS_NORM_RMSNORM);
    CU_ASSERT_EQUAL_FATAL(ss_model_load("qwen2.5-3b", &m, NULL), 0);
    CU_ASSERT_EQUAL(m.tied_embeddings, 1);
    CU_ASSERT_EQUAL_FATAL(ss_model_load("gpt3-175b", &m, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_model_finish(&m, NULL), 0);
    CU_ASSERT_EQUAL(m.ffn_hidden_size, 4 * 12288);
    CU_ASSERT_EQUAL(m.kv_channels, 128);
    CU_ASSERT_EQUAL(m.num_query_groups, 96);
    CU_ASSERT_EQUAL(m.position, SS_POSITION_LEARNED);
    CU_ASSERT_EQUAL(m.normalization, SS_NORM_LAYERNORM);
    CU_ASSERT_DOUBLE_EQUAL(m.hidden_dropout, 0.1, 0);
}

/* Megatron cuts the default of a gated MLP to 8h/3 in multiples of 64. */
TEST(defaults)
{
    struct ss_model m;

    ss_model_init(&m);
    m.num_layers = 2;
    m.hidden_size = 4096;
    m.num_attention_heads = 32;
    m.vocab_size = 1000;
    m.gated_mlp = 1;
    CU_ASSERT_EQUAL_FATAL(ss_model_finish(&m, NULL), 0);
    CU_ASSERT_EQUAL(m.ffn_hidden_size, 10880);
    CU_ASSERT_EQUAL(m.tied_embeddings, 1);
    CU_ASSERT_EQUAL(m.linear_bias, 1);
    CU_ASSERT_EQUAL(m.qkv_bias, 1);
    CU_ASSERT_STRING_EQUAL(m.name, "custom");
    m.num_query_groups = 7;
    CU_ASSERT_EQUAL(ss_model_finish(&m, NULL), SS_ERR_CONFIG);
}

#define LLAMA                                                                                                \
    "{\"model_type\": \"llama\",\n\"hidden_size\": 64,\n\"num_hidden_layers\": 2,\n"                         \
    "\"num_attention_heads\": 4,\n\"vocab_size\": 100,\n\"intermediate_size\": 128"

TEST(errors)
{
    static const struct {
        const char *text, *word;
        int code, line;
    } bad[] = {
        {"", "JSON", SS_ERR_INPUT, -1},
        {"{", "JSON", SS_ERR_INPUT, 1},
        {"[1]", "object", SS_ERR_INPUT, 1},
        {"{\"hidden_size\": 3}", "model_type", SS_ERR_INPUT, 0},
        {"{\"model_type\": 3}", "not a text", SS_ERR_INPUT, 1},
        {"{\n\"model_type\": \"lama\"}", "lama", SS_ERR_UNSUPPORTED, 2},
        {"{\"model_type\": \"llama\"}", "num_hidden_layers", SS_ERR_INPUT, 0},
        {"{\"model_type\": \"gpt2\", \"n_embd\": 8, \"n_layer\": 1, \"n_head\": 1, \"vocab_size\": 8}",
         "max_position_embeddings", SS_ERR_INPUT, 0},
        {"{\"model_type\": \"llama\",\n\"hidden_size\": \"big\"}", "whole number", SS_ERR_INPUT, 2},
        {"{\"model_type\": \"llama\",\n\"hidden_size\": 1.5}", "whole number", SS_ERR_INPUT, 2},
        {"{\"model_type\": \"llama\",\n\n\"hidden_size\": 0}", "outside", SS_ERR_INPUT, 3},
        {"{\"model_type\": \"llama\",\n\"hidden_size\": -5}", "outside", SS_ERR_INPUT, 2},
        {"{\"model_type\": \"llama\",\n\"hidden_size\": 99999999999}", "outside", SS_ERR_INPUT, 2},
        {"{\"hidden_size\": 1, \"hidden_size\": 2}", "JSON", SS_ERR_INPUT, 1},
        {LLAMA ",\n\"hidden_act\": \"mish\"}", "mish", SS_ERR_UNSUPPORTED, 7},
        {LLAMA ",\n\"tie_word_embeddings\": 1}", "true nor false", SS_ERR_INPUT, 7},
        {LLAMA ",\n\"attention_dropout\": 2}", "0..1", SS_ERR_INPUT, 7},
        {LLAMA ",\n\"stepsim\": 1}", "object", SS_ERR_INPUT, 7},
        {LLAMA ", \"hidden_act\": \"Infinity\"}", "Infinity", SS_ERR_UNSUPPORTED, -1}, /* a word stays one */
        {LLAMA ",\n\"stepsim\": {\n\"extra\": 1}}", "extra", SS_ERR_INPUT, 8},
        {LLAMA ",\n\"stepsim\": {\n\"extra_vocab_size\": -1}}", "outside", SS_ERR_INPUT, 8},
        {LLAMA ",\n\"stepsim\": {\n\"extra_in_checkpoint\": 1}}", "true nor false", SS_ERR_INPUT, 8},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(bad); i++) {
        struct ss_model m;
        struct ss_error err = {0};
        int rc = ss_model_parse(bad[i].text, strlen(bad[i].text), "dir/x.json", &m, &err);
        if (rc != bad[i].code || !strstr(err.message, bad[i].word))
            fprintf(stderr, "%zu: %d %s\n", i, rc, err.message);
        CU_ASSERT_EQUAL(rc, bad[i].code);
        CU_ASSERT_EQUAL(err.code, bad[i].code);
        CU_ASSERT_STRING_EQUAL(err.file, "dir/x.json");
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, bad[i].word));
        if (bad[i].line >= 0)
            CU_ASSERT_EQUAL(err.line, bad[i].line);
    }
}

TEST(good_text)
{
    static const char text[] = SS_BYTE_ORDER_MARK LLAMA
        ",\n\"unknown_field\": {\"a\": [1]}, \"head_dim\": null, \"torch_dtype\": \"x\", "
        "\"time_step_limit\": [-Infinity, Infinity]}"; /* as Python writes it */
    struct ss_model m;
    struct ss_error err = {0};

    CU_ASSERT_EQUAL_FATAL(ss_model_parse(text, strlen(text), "models/Tiny/config.json", &m, &err), 0);
    CU_ASSERT_STRING_EQUAL(m.name, "Tiny");
    CU_ASSERT_EQUAL(err.code, 0);
    CU_ASSERT_EQUAL_FATAL(ss_model_finish(&m, &err), 0);
    CU_ASSERT_EQUAL(m.kv_channels, 16);
    CU_ASSERT_EQUAL(m.num_query_groups, 4);
}

/* The family says whether there is a gate projection, not the function between the projections. */
TEST(activation)
{
    static const char gpt2[] = "{\"model_type\": \"gpt2\", \"n_embd\": 64, \"n_layer\": 1, \"n_head\": 4, "
                               "\"vocab_size\": 100, \"n_positions\": 8";
    static const struct {
        const char *head, *activation;
        int gated;
    } known[] = {
        {LLAMA, "silu", 1}, {LLAMA, "gelu_pytorch_tanh", 1}, {LLAMA, "relu", 1}, {LLAMA, "swiglu", 1},
        {gpt2, "silu", 0},  {gpt2, "gelu_new", 0},           {gpt2, "relu", 0},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(known); i++) {
        struct ss_model m;
        char text[512];
        snprintf(text, sizeof text, "%s, \"hidden_act\": \"%s\"}", known[i].head, known[i].activation);
        CU_ASSERT_EQUAL_FATAL(ss_model_parse(text, strlen(text), "x.json", &m, NULL), 0);
        CU_ASSERT_EQUAL(m.gated_mlp, known[i].gated);
    }
}

TEST(missing_file)
{
    struct ss_model m;
    struct ss_error err = {0};

    CU_ASSERT_EQUAL(ss_model_load("llama3.1-9b", &m, &err), SS_ERR_IO);
    CU_ASSERT(err.message[0] != 0);
}
