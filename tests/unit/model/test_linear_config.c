/* SPDX-License-Identifier: Apache-2.0 */
/* Linear attention in a config.json: which layers have it, its sizes, and what is beside it. */

#include "base/base.h"
#include "model/model_internal.h"
#include "suite.h"

#define HEADS "'num_attention_heads': 8, 'num_key_value_heads': 8, 'intermediate_size': 512, "

static int parse_with(const char *heads, const char *family, const char *more, struct ss_model *m)
{
    char json[2048];
    snprintf(json, sizeof json,
             "{'model_type': '%s', 'hidden_size': 256, 'num_hidden_layers': 8, %s'vocab_size': 1000%s%s}",
             family, heads, *more ? ", " : "", more);
    for (char *p = json; *p; p++)
        if (*p == '\'')
            *p = '"';
    int rc = ss_model_parse(json, strlen(json), "x.json", m, NULL);
    return rc ? rc : ss_model_finish(m, NULL);
}

static int parse(const char *family, const char *more, struct ss_model *m)
{
    return parse_with(HEADS, family, more, m);
}

static const char *layers_of(const struct ss_layer_rule *rule)
{
    static char text[9];
    for (int i = 0; i < 8; i++)
        text[i] = ss_layer_rule_has(rule, i) ? '1' : '0';
    return text;
}

#define LATENT "'kv_lora_rank': 32, 'qk_nope_head_dim': 32, 'qk_rope_head_dim': 16, 'v_head_dim': 32"

TEST(layers)
{
    static const struct {
        const char *family, *said;
        size_t rule;
        const char *layers;
    } rows[] = {
        {"qwen3_next", "", offsetof(struct ss_model, gated_delta), "11101110"},
        {"qwen3_next", "'full_attention_interval': 2", offsetof(struct ss_model, gated_delta), "10101010"},
        {"qwen3_5_text",
         "'layer_types': ['full_attention', 'linear_attention', 'linear_attention', 'linear_attention', "
         "'linear_attention', 'linear_attention', 'linear_attention', 'full_attention']",
         offsetof(struct ss_model, gated_delta), "01111110"},
        {"kimi_linear",
         LATENT ", 'linear_attn_config': {'full_attn_layers': [4, 8], 'num_heads': 4, 'head_dim': 64}",
         offsetof(struct ss_model, kimi_delta), "11101110"},
        {"minimax_text_01", "'attn_type_list': [0, 0, 0, 1, 0, 0, 0, 1]",
         offsetof(struct ss_model, lightning), "11101110"},
        {"bailing_moe_linear", "'layer_group_size': 4", offsetof(struct ss_model, lightning), "11101110"},
        {"bailing_moe_linear", "'layer_group_size': 3", offsetof(struct ss_model, lightning), "11011000"},
    };
    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_model m;
        CU_ASSERT_EQUAL_FATAL(parse(rows[i].family, rows[i].said, &m), 0);
        CU_ASSERT_STRING_EQUAL(layers_of((const struct ss_layer_rule *)((const char *)&m + rows[i].rule)),
                               rows[i].layers);
        CU_ASSERT_STRING_EQUAL(m.not_priced, "");
    }
}

TEST(sizes)
{
    struct ss_model m;
    CU_ASSERT_EQUAL_FATAL(
        parse("qwen3_next", "'linear_num_value_heads': 64, 'linear_conv_kernel_dim': 3", &m), 0);
    CU_ASSERT(m.linear_num_key_heads == 16 && m.linear_num_value_heads == 64 && m.linear_conv == 3);
    CU_ASSERT(m.attention_gate == 1 && m.shared_expert_gate == 1 && m.qk_norm == SS_QK_NORM_HEAD &&
              m.kv_channels == 256);
    CU_ASSERT_EQUAL(m.num_experts, 512);
    CU_ASSERT_EQUAL_FATAL(parse("qwen3_5_text", "'mtp_num_hidden_layers': 1", &m), 0);
    CU_ASSERT(m.num_experts == 0 && m.mtp_num_layers == 1);
    CU_ASSERT_EQUAL_FATAL(
        parse("kimi_linear",
              LATENT ", 'mla_use_output_gate': true, 'hidden_act': 'situ', 'num_experts': 8, "
                     "'num_experts_per_token': 4, 'num_expert_group': 1, 'topk_group': 1, "
                     "'linear_attn_config': {'full_attn_layers': [8], 'num_heads': 4, 'head_dim': 64, "
                     "'short_conv_kernel_size': 2, 'use_full_rank_gate': true}",
              &m),
        0);
    CU_ASSERT(m.linear_num_key_heads == 0 && m.linear_num_value_heads == 4 && m.linear_value_head_dim == 64);
    CU_ASSERT(m.linear_conv == 2 && m.linear_full_gate == 1 && m.attention_gate == 1 && m.top_k == 4);
    CU_ASSERT(m.full_unturned == 2 && m.router_groups == 0 && m.local_layers.period == 0);
    CU_ASSERT_EQUAL_FATAL(
        parse("minimax_text_01", "'attn_type_list': [0, 0, 0, 0, 0, 0, 0, 1], 'postnorm': true", &m), 0);
    CU_ASSERT(m.linear_silu == 1 && m.linear_norm_groups == 1 && m.linear_conv == 0 &&
              m.linear_num_value_heads == 0);
    CU_ASSERT_EQUAL_FATAL(parse("bailing_moe_linear", "'layer_group_size': 4, 'group_norm_size': 4", &m), 0);
    CU_ASSERT(m.linear_silu == 0 && m.linear_norm_groups == 4 && m.qk_norm == SS_QK_NORM_HEAD);
}

/* Models of flash-linear-attention: heads of 64, or as many as are told; widths of MLPs from a ratio. */
TEST(fla)
{
    struct ss_model m;
    CU_ASSERT_EQUAL_FATAL(
        parse_with("", "rwkv7", "'hidden_ratio': 3.5, 'a_low_rank_dim': 96, 'hidden_act': 'sqrelu'", &m), 0);
    CU_ASSERT(m.num_attention_heads == 4 && m.kv_channels == 64 && m.ffn_hidden_size == 896);
    CU_ASSERT(m.decay_rank == 64 && m.rate_rank == 96 && m.value_rank == 16 && m.gate_rank == 128);
    CU_ASSERT(m.embedding_norm == 1 && m.norm_vectors == 2 && m.position == SS_POSITION_NONE);
    CU_ASSERT_STRING_EQUAL(layers_of(&m.rwkv7_first), "10000000");
    CU_ASSERT_STRING_EQUAL(m.not_priced, "");
    CU_ASSERT_EQUAL_FATAL(parse_with("", "retnet", "'num_heads': 4", &m), 0);
    CU_ASSERT(m.num_attention_heads == 4 && m.kv_channels == 64 && m.linear_value_head_dim == 128);
    CU_ASSERT(m.ffn_hidden_size == 512 && m.gated_mlp == 1 && m.num_query_groups == 4); /* 341 up to 256 */
    CU_ASSERT_EQUAL_FATAL(parse_with("", "nsa", "'num_heads': 16, 'num_kv_heads': 1, 'head_dim': 16", &m), 0);
    CU_ASSERT(m.num_attention_heads == 16 && m.sparse_block == 64 && m.sparse_blocks == 16 &&
              m.sparse_window == 512);
    CU_ASSERT_EQUAL_FATAL(parse_with("", "moba", "'num_heads': 8, 'moba_topk': 2", &m), 0);
    CU_ASSERT(m.sparse_block == 256 && m.sparse_blocks == 2 && m.sparse_window == 0);
    /* the library's own defaults, as a user writes them down */
    CU_ASSERT_EQUAL_FATAL(ss_model_load(SS_SOURCE_DIR "/tests/models/fla/retnet.json", &m, NULL), 0);
    CU_ASSERT(m.kv_channels == 256 && m.linear_value_head_dim == 512 && m.ffn_hidden_size == 2816);
    CU_ASSERT_STRING_EQUAL(m.not_priced, "");
    CU_ASSERT_EQUAL_FATAL(ss_model_load(SS_SOURCE_DIR "/tests/models/fla/nsa.json", &m, NULL), 0);
    CU_ASSERT(m.num_query_groups == 4 && m.kv_channels == 32 && m.ffn_hidden_size == 5632);
    CU_ASSERT_STRING_EQUAL(m.not_priced, "");
    CU_ASSERT_EQUAL_FATAL(ss_model_load(SS_SOURCE_DIR "/tests/models/fla/moba.json", &m, NULL), 0);
    CU_ASSERT_STRING_EQUAL(m.not_priced, "");
    CU_ASSERT_EQUAL(parse_with("", "rwkv7", "'attn': {'layers': [3]}", &m), SS_ERR_UNSUPPORTED);
    CU_ASSERT_EQUAL(parse_with("", "rwkv7", "'head_dim': 60", &m), SS_ERR_INPUT);
    CU_ASSERT_EQUAL(parse_with("", "rwkv7", "'hidden_ratio': 'x'", &m), SS_ERR_INPUT);
    CU_ASSERT_EQUAL(parse_with("", "retnet", "'use_short_conv': true", &m), SS_ERR_INPUT);
    CU_ASSERT_EQUAL(parse_with("", "moba", "'num_heads': 8, 'num_kv_heads': 2", &m), SS_ERR_INPUT);
}

TEST(refused)
{
    struct ss_model m;
    CU_ASSERT_EQUAL(parse("qwen3_next", "'linear_num_value_heads': 24", &m),
                    SS_ERR_CONFIG); /* 16 key heads */
    CU_ASSERT_EQUAL(parse("qwen3_next", "'full_attention_interval': 0", &m), SS_ERR_INPUT);
    CU_ASSERT_EQUAL(parse("minimax_text_01", "'attn_type_list': [0, 0, 0, 2, 0, 0, 0, 1]", &m), SS_ERR_INPUT);
    CU_ASSERT_EQUAL(parse("minimax_text_01", "'attn_type_list': [0, 1]", &m), SS_ERR_INPUT);
    CU_ASSERT_EQUAL(parse("kimi_linear", LATENT ", 'linear_attn_config': {'full_attn_layers': [9]}", &m),
                    SS_ERR_INPUT);
    CU_ASSERT_EQUAL(parse("kimi_linear", LATENT ", 'linear_attn_config': {'full_attn_layers': [0]}", &m),
                    SS_ERR_INPUT);
    CU_ASSERT_EQUAL(parse("bailing_moe_linear", "'layer_group_size': 'x'", &m), SS_ERR_INPUT);
}
