/* SPDX-License-Identifier: Apache-2.0 */
/* Families of models: what their configs leave unsaid, which layers have what, and what no cost knows. */

#include "base/base.h"
#include "model/model_internal.h"
#include "stepsim/parameters.h"
#include "suite.h"

static struct ss_model load(const char *name)
{
    struct ss_model m;
    struct ss_error err = {0};

    if (ss_model_load(name, &m, &err) || ss_model_finish(&m, &err))
        fprintf(stderr, "%s: %s\n", name, err.message);
    CU_ASSERT_EQUAL(err.code, 0);
    return m;
}

/* Reads `text`, with ' for ", and finishes it. */
static struct ss_model parse(const char *text)
{
    struct ss_model m;
    struct ss_error err = {0};
    char json[2048];

    ss_copy(json, sizeof json, text);
    for (char *p = json; *p; p++)
        if (*p == '\'')
            *p = '"';
    if (ss_model_parse(json, strlen(json), "x.json", &m, &err) || ss_model_finish(&m, &err))
        fprintf(stderr, "%s\n%s\n", text, err.message);
    CU_ASSERT_EQUAL(err.code, 0);
    return m;
}

/* Layers that a rule names, as text: "1" and "0". */
static const char *layers_of(const struct ss_layer_rule *rule, int n)
{
    static char text[128];

    for (int i = 0; i < n; i++)
        text[i] = ss_layer_rule_has(rule, i) ? '1' : '0';
    text[n] = 0;
    return text;
}

TEST(moe_layers)
{
    struct ss_model m = load("deepseek-v3");

    CU_ASSERT_STRING_EQUAL(layers_of(&m.moe_layers, 6), "000111");
    CU_ASSERT_EQUAL(ss_layer_rule_has(&m.moe_layers, 60), 1);
    m = load("llama4-maverick");
    CU_ASSERT_STRING_EQUAL(layers_of(&m.moe_layers, 6), "010101");
    CU_ASSERT_EQUAL(m.moe_ffn_hidden_size, 8192);
    CU_ASSERT_EQUAL(m.ffn_hidden_size, 16384);
    CU_ASSERT_EQUAL(m.shared_expert_ffn_hidden_size, 8192);
    m = load("llama2-7b");
    CU_ASSERT_STRING_EQUAL(layers_of(&m.moe_layers, 6), "000000");
#define MOE                                                                                                  \
    "{'model_type': 'qwen3_moe', 'hidden_size': 64, 'num_hidden_layers': 6, 'num_attention_heads': 4, "      \
    "'num_key_value_heads': 4, 'vocab_size': 100, 'intermediate_size': 128, "
    m = parse(MOE "'mlp_only_layers': [0, 3]}");
    CU_ASSERT_STRING_EQUAL(layers_of(&m.moe_layers, 6), "011011");
    CU_ASSERT_EQUAL(m.num_experts, 128);
    CU_ASSERT_EQUAL(m.top_k, 8);
    CU_ASSERT_EQUAL(m.moe_ffn_hidden_size, 768);
    m = parse(MOE "'decoder_sparse_step': 2, 'mlp_only_layers': [1]}");
    CU_ASSERT_STRING_EQUAL(layers_of(&m.moe_layers, 6), "000101");
    m = parse(MOE "'moe_layers': [2, 5]}");
    CU_ASSERT_STRING_EQUAL(layers_of(&m.moe_layers, 6), "001001");
    m = parse(MOE "'num_experts': 0, 'n_shared_experts': 2}");
    CU_ASSERT_STRING_EQUAL(layers_of(&m.moe_layers, 6), "000000");
    CU_ASSERT_EQUAL(m.shared_expert_ffn_hidden_size + m.top_k, 0);
}

TEST(local_layers)
{
    static const struct {
        const char *name, *layers;
        int window;
    } known[] = {
        {"gemma-2-9b", "10101010", 4096}, {"gemma-3-12b", "11111011", 1024}, {"gpt-oss-20b", "10101010", 128},
        {"olmo-3-7b", "11101110", 4096},  {"mistral-7b", "11111111", 4096},  {"qwen3-8b", "00000000", 0},
        {"mixtral-8x7b", "00000000", 0},  {"phi-3-mini", "11111111", 2047},  {"phi-4", "00000000", 0},
        {"llama4-scout", "11101110", 0},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(known); i++) {
        struct ss_model m = load(known[i].name);
        CU_ASSERT_STRING_EQUAL(layers_of(&m.local_layers, 8), known[i].layers);
        CU_ASSERT_EQUAL(m.sliding_window, known[i].window);
    }
    CU_ASSERT_EQUAL(load("llama4-scout").attention_chunk, 8192);
#define QWEN                                                                                                 \
    "{'model_type': 'qwen2', 'hidden_size': 64, 'num_hidden_layers': 4, 'num_attention_heads': 4, "          \
    "'vocab_size': 100, 'intermediate_size': 128, 'sliding_window': 32, "
    struct ss_model m = parse(QWEN "'use_sliding_window': true, 'max_window_layers': 3}");
    CU_ASSERT_STRING_EQUAL(layers_of(&m.local_layers, 4), "0001");
    /* Llama 4 with its full layers further apart, as layers or as a list of those that turn queries and keys. */
#define LLAMA4                                                                                               \
    "{'model_type': 'llama4_text', 'hidden_size': 64, 'num_hidden_layers': 4, 'num_attention_heads': 4, "    \
    "'num_key_value_heads': 4, 'vocab_size': 100, 'intermediate_size': 128, "
    m = parse(LLAMA4 "'no_rope_layer_interval': 2}");
    CU_ASSERT_STRING_EQUAL(layers_of(&m.local_layers, 4), "1010");
    m = parse(LLAMA4 "'no_rope_layers': [1, 1, 0, 1]}");
    CU_ASSERT_STRING_EQUAL(layers_of(&m.local_layers, 4), "1101");
    m = parse(QWEN "'max_window_layers': 3}");
    CU_ASSERT_EQUAL(m.sliding_window, 0);
}

TEST(attention)
{
    struct ss_model m = load("deepseek-v2-lite");

    CU_ASSERT_EQUAL(m.q_lora_rank, 0);
    CU_ASSERT_EQUAL(m.kv_lora_rank, 512);
    CU_ASSERT_EQUAL(m.qk_head_dim, 128);
    CU_ASSERT_EQUAL(m.qk_pos_emb_head_dim, 64);
    CU_ASSERT_EQUAL(m.v_head_dim, 128);
    CU_ASSERT_EQUAL(m.qk_norm, SS_QK_NORM_HEAD);
    CU_ASSERT_EQUAL(m.router_groups, 0); /* its way of choosing does not look at groups */
    m = load("deepseek-v3");
    CU_ASSERT_EQUAL(m.router_groups, 8);
    CU_ASSERT_EQUAL(m.router_group_topk, 4);
    CU_ASSERT_EQUAL(m.router_bias, 1);
    CU_ASSERT_EQUAL(m.mtp_num_layers, 1);
    CU_ASSERT_EQUAL(m.shared_expert_ffn_hidden_size, 2048);
    CU_ASSERT_EQUAL(load("olmo-2-7b").qk_norm, SS_QK_NORM_WIDTH);
    CU_ASSERT_EQUAL(load("llama4-scout").qk_norm, SS_QK_NORM_PLAIN);
    CU_ASSERT_EQUAL(load("llama4-maverick").qk_norm, SS_QK_NORM_NONE);
    CU_ASSERT_EQUAL(load("glm-4.5").qk_norm, SS_QK_NORM_HEAD);
    CU_ASSERT_EQUAL(load("glm-4.5-air").qk_norm, SS_QK_NORM_NONE);
    CU_ASSERT_EQUAL(load("falcon-7b").num_query_groups, 1);
    CU_ASSERT_EQUAL(load("falcon-40b").num_query_groups, 8);
    CU_ASSERT_EQUAL(load("falcon-7b").parallel_residual, SS_RESIDUAL_ONE_NORM);
    CU_ASSERT_EQUAL(load("falcon-40b").parallel_residual, SS_RESIDUAL_TWO_NORMS);
    CU_ASSERT_EQUAL(load("gpt-neox-20b").parallel_residual, SS_RESIDUAL_TWO_NORMS);
    CU_ASSERT_EQUAL(load("phi-2").parallel_residual, SS_RESIDUAL_ONE_NORM);
    CU_ASSERT_EQUAL(load("gemma-2-9b").post_norms, 1);
    CU_ASSERT_EQUAL(load("gpt-oss-20b").attention_sinks, 1);
    CU_ASSERT_EQUAL(load("bloom").position, SS_POSITION_ALIBI);
    CU_ASSERT_EQUAL(load("mpt-30b").position, SS_POSITION_ALIBI);
    CU_ASSERT_DOUBLE_EQUAL(load("gpt-j-6b").rotary_fraction, 0.25, 0);
    CU_ASSERT_DOUBLE_EQUAL(load("phi-2").rotary_fraction, 0.4, 0);
}

/* attention's qkv and output, MLP, experts, router, output layer */
TEST(biases)
{
    static const struct {
        const char *name;
        int qkv, out, mlp, expert, router, output;
    } known[] = {
        {"gpt2-xl", 1, 1, 1, 1, 0, 0},   {"llama2-7b", 0, 0, 0, 0, 0, 0},   {"qwen2.5-7b", 1, 0, 0, 0, 0, 0},
        {"gpt-j-6b", 0, 0, 1, 0, 0, 1},  {"phi-2", 1, 1, 1, 1, 0, 1},       {"gpt-oss-20b", 1, 1, 0, 1, 1, 0},
        {"glm-4.5", 1, 0, 0, 0, 0, 0},   {"phi-3.5-moe", 1, 1, 0, 0, 0, 1}, {"mpt-30b", 0, 0, 0, 0, 0, 0},
        {"bloom-7b1", 1, 1, 1, 1, 0, 0},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(known); i++) {
        struct ss_model m = load(known[i].name);
        CU_ASSERT_EQUAL(m.qkv_bias, known[i].qkv);
        CU_ASSERT_EQUAL(m.attention_out_bias, known[i].out);
        CU_ASSERT_EQUAL(m.mlp_bias, known[i].mlp);
        CU_ASSERT_EQUAL(m.expert_bias, known[i].expert);
        CU_ASSERT_EQUAL(m.router_linear_bias, known[i].router);
        CU_ASSERT_EQUAL(m.output_bias, known[i].output);
    }
    /* GPT-NeoX without biases in attention keeps the MLP's. */
    struct ss_model m =
        parse("{'model_type': 'gpt_neox', 'hidden_size': 64, 'num_hidden_layers': 2, 'vocab_size': 9, "
              "'num_attention_heads': 4, 'attention_bias': false}");
    CU_ASSERT(m.qkv_bias == 0 && m.attention_out_bias == 0 && m.mlp_bias == 1);
}

/* A model of text and pictures as published: most sizes are the family's, what is beside the text is named. */
TEST(text_config)
{
    struct ss_model m =
        parse("{'architectures': ['Gemma3ForConditionalGeneration'], 'boi_token_index': 255999, "
              "'model_type': 'gemma3', "
              "'text_config': {'hidden_size': 2560, 'intermediate_size': 10240, 'model_type': 'gemma3_text', "
              "'num_hidden_layers': 34, 'rope_scaling': {'factor': 8.0, 'rope_type': 'linear'}, "
              "'sliding_window': 1024}, "
              "'vision_config': {'hidden_size': 1152}}");
    struct ss_model named = load("gemma-3-4b");

    CU_ASSERT_EQUAL(ss_model_parameters(&m, m.vocab_size), ss_model_parameters(&named, named.vocab_size));
    CU_ASSERT_STRING_EQUAL(m.not_priced, "\"vision_config\"");
    CU_ASSERT_EQUAL(memcmp(&m.local_layers, &named.local_layers, sizeof m.local_layers), 0);
}

#define LLAMA                                                                                                \
    "{'model_type': 'llama', 'hidden_size': 64, 'num_hidden_layers': 2, 'num_attention_heads': 4, "          \
    "'vocab_size': 100, 'intermediate_size': 128, "

TEST(not_priced)
{
    CU_ASSERT_STRING_EQUAL(parse(LLAMA
                                 "'rope_scaling': {'factor': 8.0}, 'pad_token_id': 5, 'some_eps': 1e-5, "
                                 "'torch_dtype': 'bfloat16', '_name_or_path': 'x', 'new_trick': false, "
                                 "'other_trick': 0, 'third': [], 'fourth': ''}")
                               .not_priced,
                           "");
    CU_ASSERT_STRING_EQUAL(parse(LLAMA "'new_trick': true, 'memory_tokens': 16}").not_priced,
                           "\"new_trick\", \"memory_tokens\"");
    CU_ASSERT_STRING_EQUAL(load("gemma-2-9b").not_priced, "");
    CU_ASSERT_STRING_EQUAL(
        parse(LLAMA "'layerdrop': 0.1, 'embd_pdrop': 0.1, 'router_jitter_noise': 0.01}").not_priced,
        "\"layerdrop\", \"embd_pdrop\", \"router_jitter_noise\"");
    struct ss_model m =
        parse(LLAMA "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa': 1, "
                    "'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb': 1, "
                    "'cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc': 1, 'd': 1}");
    CU_ASSERT(strlen(m.not_priced) < sizeof m.not_priced && strstr(m.not_priced, "...") != NULL);
}

/* A part of each head that a family does not leave unturned, and weights that are stored quantized. */
TEST(not_of_the_family)
{
#define MIXTRAL                                                                                              \
    "{'model_type': 'mixtral', 'hidden_size': 128, 'num_hidden_layers': 2, 'num_attention_heads': 8, "       \
    "'vocab_size': 100, 'intermediate_size': 128, 'num_local_experts': 4, 'num_experts_per_tok': 2, "
#define PHI                                                                                                  \
    "{'model_type': 'phi', 'hidden_size': 128, 'num_hidden_layers': 2, 'num_attention_heads': 8, "           \
    "'vocab_size': 100, 'intermediate_size': 128, "
    CU_ASSERT_STRING_EQUAL(parse(MIXTRAL "'partial_rotary_factor': 0.5}").not_priced,
                           "\"partial_rotary_factor\"");
    CU_ASSERT_STRING_EQUAL(parse(MIXTRAL "'rotary_dim': 8}").not_priced, "\"rotary_dim\"");
    CU_ASSERT_STRING_EQUAL(parse(MIXTRAL "'partial_rotary_factor': 1.0}").not_priced, "");
    CU_ASSERT_STRING_EQUAL(parse(MIXTRAL "'rotary_dim': 16}").not_priced, "");
    CU_ASSERT_STRING_EQUAL(parse(PHI "'partial_rotary_factor': 0.5}").not_priced, "");
    CU_ASSERT_STRING_EQUAL(parse(LLAMA "'quantization_config': {'quant_method': 'fp8'}}").not_priced,
                           "\"quantization_config\"");
    CU_ASSERT_STRING_EQUAL(parse(LLAMA "'quantization_config': {}}").not_priced, "");
    CU_ASSERT_STRING_EQUAL(parse("{'model_type': 'gemma3', 'text_config': {'model_type': 'gemma3_text'}, "
                                 "'quantization_config': {'quant_method': 'fp8'}}")
                               .not_priced,
                           "\"quantization_config\"");
}

/* What a config says beside its family: switches of norms, kinds of MPT's parts, windows that Qwen leaves unsaid. */
TEST(said)
{
#define MPT                                                                                                  \
    "{'model_type': 'mpt', 'd_model': 64, 'n_layers': 2, 'n_heads': 4, 'vocab_size': 100, "                  \
    "'max_seq_len': 32, "
    struct ss_model m = parse(MPT "'attn_config': {'attn_type': 'multihead_attention', 'alibi': true}}");
    CU_ASSERT_EQUAL(m.num_query_groups, 4);
    CU_ASSERT_EQUAL(m.gated_mlp + m.logits_scale, 0);
    CU_ASSERT_EQUAL(m.normalization, SS_NORM_LAYERNORM);
    m = parse(MPT "'attn_config': {'attn_type': 'multiquery_attention'}, 'norm_type': 'rmsnorm', "
                  "'logit_scale': 'inv_sqrt_d_model', "
                  "'ffn_config': {'ffn_type': 'mptglu', 'ffn_act_fn': {'name': 'silu'}}}");
    CU_ASSERT_EQUAL(m.num_query_groups, 1);
    CU_ASSERT_EQUAL(m.gated_mlp, 1);
    CU_ASSERT_EQUAL(m.ffn_hidden_size, 256);
    CU_ASSERT_EQUAL(m.normalization, SS_NORM_RMSNORM);
    CU_ASSERT_EQUAL(m.logits_scale, 1);
    CU_ASSERT_STRING_EQUAL(m.not_priced, "");
    CU_ASSERT_EQUAL(parse(LLAMA "'qk_layernorm': true}").qk_norm, SS_QK_NORM_HEAD);
    CU_ASSERT_EQUAL(parse(LLAMA "'vocab_size_': 1}").qk_norm, SS_QK_NORM_NONE);
    CU_ASSERT_EQUAL(parse(QWEN "'use_qk_norm': true}").qk_norm, SS_QK_NORM_HEAD);
    CU_ASSERT_EQUAL(parse("{'model_type': 'qwen2', 'hidden_size': 64, 'num_hidden_layers': 32, "
                          "'num_attention_heads': 4, 'vocab_size': 100, 'intermediate_size': 128, "
                          "'use_sliding_window': true}")
                        .sliding_window,
                    4096);
    m = parse(LLAMA
              "'attn_logit_softcapping': null, 'final_logit_softcapping': 0, 'embedding_multiplier_scale': "
              "1.0, 'output_multiplier_scale': 0.5, 'attn_temperature_tuning': 4}");
    CU_ASSERT_EQUAL(m.attention_softcap + m.logits_softcap + m.embedding_scale, 0);
    CU_ASSERT_EQUAL(m.logits_scale, 1);
    CU_ASSERT_EQUAL(m.query_scale, 0);
    CU_ASSERT_STRING_EQUAL(m.not_priced, "\"attn_temperature_tuning\"");
}

/* The widest of the four sizes beside the hidden size, and what OPT has more. */
TEST(embeddings)
{
    struct ss_model m = load("opt-350m");

    CU_ASSERT_EQUAL(m.embedding_size, 512);
    CU_ASSERT_EQUAL(m.extra_positions, 2);
    CU_ASSERT_EQUAL(m.final_norm, 0);
    CU_ASSERT_EQUAL(load("opt-6.7b").embedding_size, 0);
    CU_ASSERT_EQUAL(load("olmo-7b").norm_vectors, 0);
    CU_ASSERT_EQUAL(load("mpt-30b").norm_vectors, 1);
    CU_ASSERT_EQUAL(load("bloom").norm_vectors, 2);
    CU_ASSERT_EQUAL(load("bloom").embedding_norm, 1);
    CU_ASSERT_DOUBLE_EQUAL(load("opt-6.7b").hidden_dropout, 0.1, 0);
    CU_ASSERT_DOUBLE_EQUAL(load("opt-6.7b").attention_dropout, 0, 0);
}

/* Flags of Megatron beside a config, and its defaults without one. */
TEST(overlay)
{
    struct ss_model m, given;

    CU_ASSERT_EQUAL_FATAL(ss_model_load("gpt-oss-20b", &m, NULL), 0);
    ss_model_init(&given);
    given.num_layers = 4;
    given.attention_sinks = 0;
    given.expert_bias = 0;
    ss_model_overlay(&m, &given);
    CU_ASSERT_EQUAL_FATAL(ss_model_finish(&m, NULL), 0);
    CU_ASSERT_EQUAL(m.num_layers, 4);
    CU_ASSERT_EQUAL(m.attention_sinks, 0);
    CU_ASSERT_EQUAL(m.expert_bias, 0);
    CU_ASSERT_EQUAL(m.router_linear_bias, 1);
    ss_model_init(&given);
    given.num_layers = 2;
    given.hidden_size = 128;
    given.num_attention_heads = 3; /* latent attention's heads need not divide it */
    given.vocab_size = 100;
    given.kv_lora_rank = 16;
    CU_ASSERT_EQUAL_FATAL(ss_model_finish(&given, NULL), 0);
    CU_ASSERT(given.qk_head_dim == 128 && given.qk_pos_emb_head_dim == 64 && given.v_head_dim == 128);
    CU_ASSERT(given.mlp_bias == 1 && given.output_bias == 0 && given.norm_vectors == 2);
}

TEST(errors)
{
    static const struct {
        const char *text, *word;
        int code;
    } bad[] = {
        {LLAMA "'layer_types': ['linear_attention', 'full_attention'], 'sliding_window': 8}",
         "linear_attention", SS_ERR_UNSUPPORTED},
        {LLAMA "'layer_types': ['full_attention'], 'sliding_window': 8}", "list of all layers", SS_ERR_INPUT},
        {LLAMA "'layer_types': [1, 2], 'sliding_window': 8}", "no kind", SS_ERR_INPUT},
        {LLAMA "'layer_types': {}, 'sliding_window': 8}", "not a list", SS_ERR_INPUT},
        {MOE "'moe_layers': [7]}", "numbers", SS_ERR_INPUT},
        {MOE "'moe_layers': 3}", "not a list", SS_ERR_INPUT},
        {MOE "'mlp_only_layers': [-1]}", "numbers", SS_ERR_INPUT},
        {MOE "'n_shared_experts': 1000, 'moe_intermediate_size': 1000000}", "wider", SS_ERR_INPUT},
        {MOE "'num_experts_per_tok': 200}", "200 experts", SS_ERR_CONFIG},
        {MOE "'n_group': 3}", "3 groups", SS_ERR_CONFIG},
        {LLAMA "'partial_rotary_factor': 1.5}", "0..1", SS_ERR_INPUT},
        {"{'model_type': 'deepseek_v3', 'hidden_size': 128, 'num_hidden_layers': 2, 'num_attention_heads': "
         "8, "
         "'vocab_size': 9, 'intermediate_size': 8}",
         "kv_lora_rank", SS_ERR_INPUT},
        {"{'model_type': 'gemma3', 'text_config': {'model_type': 'zamba'}}", "zamba", SS_ERR_UNSUPPORTED},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(bad); i++) {
        struct ss_model m;
        struct ss_error err = {0};
        char json[1024];

        ss_copy(json, sizeof json, bad[i].text);
        for (char *p = json; *p; p++)
            *p = *p == '\'' ? '"' : *p;
        int rc = ss_model_parse(json, strlen(json), "x.json", &m, &err);
        if (!rc)
            rc = ss_model_finish(&m, &err);
        if (rc != bad[i].code || !strstr(err.message, bad[i].word))
            fprintf(stderr, "%zu: %d %s\n", i, rc, err.message);
        CU_ASSERT_EQUAL(rc, bad[i].code);
        CU_ASSERT(strstr(err.message, bad[i].word) != NULL);
    }
}

/* Files as their makers publish them: the parameters are those of the weights. */
TEST(published_files)
{
    static const struct {
        const char *text;
        double count;
    } rows[] = {
        {"{'model_type': 'starcoder2', 'attention_dropout': 0.1, 'embedding_dropout': 0.1, 'hidden_act': "
         "'gelu_pytorch_tanh', 'hidden_size': 3072, 'intermediate_size': 12288, 'layer_norm_epsilon': 1e-05, "
         "'max_position_embeddings': 16384, 'mlp_type': 'default', 'norm_epsilon': 1e-05, 'norm_type': "
         "'layer_norm', 'num_attention_heads': 24, 'num_hidden_layers': 30, 'num_key_value_heads': 2, "
         "'residual_dropout': 0.1, 'scale_attention_softmax_in_fp32': true, 'sliding_window': 4096, "
         "'use_bias': true, 'vocab_size': 49152}",
         3030371328},
        {"{'model_type': 'stablelm', 'hidden_act': 'silu', 'hidden_size': 2048, 'intermediate_size': 5632, "
         "'layer_norm_eps': 1e-05, 'max_position_embeddings': 4096, 'num_attention_heads': 32, "
         "'num_hidden_layers': 24, 'num_key_value_heads': 32, 'partial_rotary_factor': 0.25, "
         "'tie_word_embeddings': false, 'use_qkv_bias': true, 'vocab_size': 100352}",
         1644515328},
        {"{'model_type': 'stablelm', 'hidden_act': 'silu', 'hidden_size': 5120, 'intermediate_size': 13824, "
         "'layer_norm_eps': 1e-05, 'max_position_embeddings': 4096, 'num_attention_heads': 32, "
         "'num_hidden_layers': 40, 'num_key_value_heads': 8, 'partial_rotary_factor': 0.25, 'qk_layernorm': "
         "true, 'tie_word_embeddings': false, 'use_parallel_residual': true, 'use_qkv_bias': false, "
         "'vocab_size': 100352}",
         12143185920},
        {"{'model_type': 'gpt_bigcode', 'activation_function': 'gelu', 'multi_query': true, 'attn_pdrop': "
         "0.1, 'embd_pdrop': 0.1, 'layer_norm_epsilon': 1e-05, 'n_embd': 6144, 'n_head': 48, 'n_inner': "
         "24576, 'n_layer': 40, 'n_positions': 8192, 'pad_key_length': true, 'pre_allocate_kv_cache': false, "
         "'scale_attention_softmax_in_fp32': true, 'validate_runner_input': true, 'vocab_size': 49152}",
         15517456384},
        {"{'model_type': 'chatglm', 'add_bias_linear': false, 'add_qkv_bias': true, "
         "'apply_query_key_layer_scaling': true, 'apply_residual_connection_post_layernorm': false, "
         "'attention_dropout': 0.0, 'ffn_hidden_size': 13696, 'fp32_residual_connection': false, "
         "'hidden_dropout': 0.0, 'hidden_size': 4096, 'kv_channels': 128, 'layernorm_epsilon': 1e-05, "
         "'multi_query_attention': true, 'multi_query_group_num': 2, 'num_attention_heads': 32, "
         "'num_layers': 28, 'original_rope': true, 'padded_vocab_size': 65024, 'post_layer_norm': true, "
         "'rmsnorm': true, 'seq_length': 8192, 'tie_word_embeddings': false}",
         6243584000},
        {"{'model_type': 'chatglm', 'add_bias_linear': false, 'add_qkv_bias': true, 'ffn_hidden_size': "
         "13696, "
         "'hidden_size': 4096, 'kv_channels': 128, 'multi_query_attention': false, 'multi_query_group_num': "
         "2, "
         "'num_attention_heads': 32, 'num_layers': 28, 'padded_vocab_size': 65024, 'rmsnorm': true, "
         "'seq_length': 8192, 'tie_word_embeddings': false}",
         7124602880},
        {"{'model_type': 'chatglm', 'add_bias_linear': false, 'add_qkv_bias': true, "
         "'apply_query_key_layer_scaling': true, 'apply_residual_connection_post_layernorm': false, "
         "'attention_dropout': 0.0, 'ffn_hidden_size': 13696, 'fp32_residual_connection': false, "
         "'hidden_dropout': 0.0, 'hidden_size': 4096, 'kv_channels': 128, 'layernorm_epsilon': 1.5625e-07, "
         "'multi_query_attention': true, 'multi_query_group_num': 2, 'num_attention_heads': 32, "
         "'num_layers': 40, 'original_rope': true, 'padded_vocab_size': 151552, 'post_layer_norm': true, "
         "'rmsnorm': true, 'seq_length': 131072, 'tie_word_embeddings': false, 'rope_ratio': 500}",
         9399951360},
        {"{'model_type': 'dbrx', 'attn_config': {'clip_qkv': 8, 'kv_n_heads': 8, 'model_type': '', "
         "'rope_theta': 500000}, 'd_model': 6144, 'emb_pdrop': 0.0, 'ffn_config': {'ffn_hidden_size': 10752, "
         "'model_type': '', 'moe_jitter_eps': 0.01, 'moe_loss_weight': 0.05, 'moe_num_experts': 16, "
         "'moe_top_k': 4}, 'max_seq_len': 32768, 'n_heads': 48, 'n_layers': 40, 'tie_word_embeddings': "
         "false, 'vocab_size': 100352}",
         131596523520},
        {"{'model_type': 'exaone', 'activation_function': 'silu', 'attention_dropout': 0.0, 'head_dim': 128, "
         "'hidden_size': 4096, 'intermediate_size': 14336, 'layer_norm_epsilon': 1e-05, "
         "'max_position_embeddings': 32768, 'num_attention_heads': 32, 'num_key_value_heads': 8, "
         "'num_layers': 32, 'tie_word_embeddings': false, 'vocab_size': 102400}",
         7818448896},
        {"{'model_type': 'qwen', 'attn_dropout_prob': 0.0, 'emb_dropout_prob': 0.0, 'hidden_size': 4096, "
         "'intermediate_size': 22016, 'kv_channels': 128, 'layer_norm_epsilon': 1e-06, "
         "'max_position_embeddings': 8192, 'no_bias': true, 'num_attention_heads': 32, 'num_hidden_layers': "
         "32, 'rotary_emb_base': 10000, 'rotary_pct': 1.0, 'seq_length': 8192, 'tie_word_embeddings': false, "
         "'use_dynamic_ntk': true, 'use_flash_attn': 'auto', 'use_logn_attn': true, 'vocab_size': 151936}",
         7721324544},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        const struct ss_model m = parse(rows[i].text);
        struct ss_parameter_counts n;
        ss_model_count(&m, m.vocab_size, &n);
        double off = fabs(n.total / rows[i].count - 1);
        if (off > 1e-12 || (m.not_priced[0] && !strstr(rows[i].text, "clip_qkv")))
            printf("\n%.40s: %.0f, not %.0f; not priced: %s\n", rows[i].text, n.total, rows[i].count,
                   m.not_priced);
        CU_ASSERT(off <= 1e-12);
        CU_ASSERT(!m.not_priced[0] || strstr(rows[i].text, "clip_qkv"));
    }
}
