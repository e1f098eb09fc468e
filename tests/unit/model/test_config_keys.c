/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of config.json files, family by family: each that costs something changes the model that is priced, or is named as not
 * priced. None is passed over.
 */

#include "base/base.h"
#include "model/model_internal.h"
#include "suite.h"

/* Reads a small config of the family with `more`, ' for ". */
static int read(const char *family, const char *more, struct ss_model *m)
{
    struct ss_error err = {0};
    char json[1024];

    snprintf(json, sizeof json,
             "{'model_type': '%s', 'hidden_size': 128, 'num_hidden_layers': 8, 'num_attention_heads': 8, "
             "'num_key_value_heads': 4, %s'vocab_size': 1000, "
             "'max_position_embeddings': 64%s%s}",
             family, strstr(more, "n_inner") ? "" : "'intermediate_size': 256, ", *more ? ", " : "", more);
    for (char *p = json; *p; p++)
        if (*p == '\'')
            *p = '"';
    int rc = ss_model_parse(json, strlen(json), "x.json", m, &err);
    if (!rc)
        rc = ss_model_finish(m, &err);
    if (rc)
        printf("%s %s: %s\n", family, more, err.message);
    return rc;
}

#define LATENT                                                                                               \
    "'kv_lora_rank': 32, 'q_lora_rank': 64, 'qk_nope_head_dim': 16, 'qk_rope_head_dim': 8, 'v_head_dim': 16"
#define EXPERTS "'n_routed_experts': 8, 'num_experts_per_tok': 2, 'moe_intermediate_size': 64"

/* What a family has beside the small config, and keys each of which must do something. */
static const struct {
    const char *family, *with;
    const char *keys[16];
} families[] = {
    {"llama",
     "",
     {"'attention_bias': true", "'mlp_bias': true", "'head_dim': 32", "'tie_word_embeddings': true",
      "'qk_layernorm': true", "'sliding_window': 16", "'partial_rotary_factor': 0.5",
      "'attention_dropout': 0.1", "'final_logit_softcapping': 30.0", "'num_nextn_predict_layers': 1",
      "'layerdrop': 0.1", "'text_config': {'hidden_size': 64}"}},
    {"llama4_text",
     "",
     {"'attention_chunk_size': 32", "'no_rope_layers': [1,1,1,1,1,1,1,0]", "'no_rope_layer_interval': 2",
      "'attn_temperature_tuning': false", "'use_qk_norm': false", "'intermediate_size_mlp': 512",
      "'interleave_moe_layer_step': 2", "'moe_layers': [1, 3]", "'num_local_experts': 4",
      "'num_experts_per_tok': 2", "'router_jitter_noise': 0.1", "'attention_bias': true"}},
    {"mistral", "", {"'sliding_window': 16", "'sliding_window': null", "'head_dim': 32"}},
    {"ministral",
     "",
     {"'layer_types': ['full_attention', 'full_attention', 'full_attention', 'full_attention', "
      "'sliding_attention', 'sliding_attention', 'sliding_attention', 'sliding_attention']"}},
    {"mixtral",
     "",
     {"'num_local_experts': 4", "'num_experts_per_tok': 4", "'sliding_window': 16",
      "'router_jitter_noise': 0.1", "'quantization_config': {'quant_method': 'fp8'}"}},
    {"qwen2", "", {"'use_sliding_window': true, 'max_window_layers': 4", "'tie_word_embeddings': true"}},
    {"qwen2_moe",
     "",
     {"'num_experts': 8, 'moe_intermediate_size': 1408", "'shared_expert_intermediate_size': 64",
      "'moe_intermediate_size': 64", "'decoder_sparse_step': 2", "'mlp_only_layers': [0]",
      "'num_experts_per_tok': 2"}},
    {"qwen3",
     "",
     {"'head_dim': 16", "'attention_bias': true", "'use_sliding_window': true, 'max_window_layers': 2"}},
    {"qwen3_moe",
     "",
     {"'num_experts': 8, 'moe_intermediate_size': 768", "'mlp_only_layers': [0]",
      "'decoder_sparse_step': 2"}},
    {"gemma", "", {"'head_dim': 16", "'attention_bias': true", "'tie_word_embeddings': false"}},
    {"gemma2",
     "",
     {"'attn_logit_softcapping': null", "'final_logit_softcapping': null", "'sliding_window': 16",
      "'use_bidirectional_attention': true"}},
    {"gemma3_text",
     "",
     {"'sliding_window_pattern': 2", "'sliding_window': 16", "'attn_logit_softcapping': 50.0"}},
    {"phi",
     "",
     {"'qk_layernorm': true", "'partial_rotary_factor': 0.25", "'resid_pdrop': 0.1", "'embd_pdrop': 0.1"}},
    {"phi3", "", {"'sliding_window': 16", "'partial_rotary_factor': 0.5", "'attention_bias': true"}},
    {"phimoe",
     "",
     {"'num_local_experts': 4", "'input_jitter_noise': 0.01", "'router_jitter_noise': 0.01",
      "'lm_head_bias': true", "'attention_bias': true"}},
    {"gpt2",
     "",
     {"'n_inner': 512", "'resid_pdrop': 0.0", "'add_cross_attention': true",
      "'scale_attn_by_inverse_layer_idx': true"}},
    {"gpt_neox",
     "",
     {"'use_parallel_residual': false", "'rotary_pct': 0.25", "'hidden_dropout': 0.1",
      "'attention_bias': false"}},
    {"gptj", "", {"'rotary_dim': 8", "'n_inner': 512", "'tie_word_embeddings': true"}},
    {"falcon",
     "",
     {"'multi_query': false", "'new_decoder_architecture': true", "'parallel_attn': false", "'bias': true",
      "'alibi': true", "'apply_residual_connection_post_layernorm': true"}},
    {"opt",
     "",
     {"'word_embed_proj_dim': 64", "'do_layer_norm_before': false", "'_remove_final_layer_norm': true",
      "'enable_bias': false", "'layer_norm_elementwise_affine': false", "'layerdrop': 0.1",
      "'activation_dropout': 0.1"}},
    {"bloom", "", {"'hidden_dropout': 0.1", "'apply_residual_connection_post_layernorm': true"}},
    {"mpt",
     "",
     {"'attn_config': {'alibi': true}", "'attn_config': {'qk_ln': true}", "'attn_config': {'clip_qkv': 8}",
      "'attn_config': {'attn_type': 'multiquery_attention'}", "'attn_config': {'attn_pdrop': 0.1}",
      "'no_bias': false", "'norm_type': 'rmsnorm'", "'ffn_config': {'ffn_type': 'mptglu'}",
      "'logit_scale': 'inv_sqrt_d_model'", "'learned_pos_emb': false", "'resid_pdrop': 0.1"}},
    {"olmo", "", {"'clip_qkv': 8.0", "'tie_word_embeddings': true", "'attention_bias': true"}},
    {"olmo2", "", {"'attention_bias': true", "'tie_word_embeddings': true"}},
    {"olmo3", "", {"'sliding_window': 16", "'sliding_window_pattern': 2"}},
    {"olmoe", "", {"'num_experts': 8", "'clip_qkv': 8.0", "'num_experts_per_tok': 2"}},
    {"deepseek_v2",
     LATENT ", " EXPERTS,
     {"'n_shared_experts': 2", "'first_k_dense_replace': 1", "'moe_layer_freq': 2",
      "'n_group': 4, 'topk_group': 2", "'qk_layernorm': false", "'attention_bias': true"}},
    {"deepseek_v3",
     LATENT ", " EXPERTS,
     {"'num_nextn_predict_layers': 1", "'n_group': 4, 'topk_group': 2", "'first_k_dense_replace': 1",
      "'n_shared_experts': 1", "'index_topk': 2048"}},
    {"kimi_k2", LATENT ", " EXPERTS, {"'n_shared_experts': 1", "'num_nextn_predict_layers': 1"}},
    {"gpt_oss",
     "",
     {"'num_local_experts': 8", "'sliding_window': 16", "'attention_bias': false", "'head_dim': 32"}},
    {"glm4_moe",
     EXPERTS,
     {"'use_qk_norm': true", "'first_k_dense_replace': 2", "'n_shared_experts': 2",
      "'num_nextn_predict_layers': 1", "'partial_rotary_factor': 1.0"}},
    {"glm4", "", {"'attention_bias': true", "'partial_rotary_factor': 1.0"}},
    {"minimax_m2",
     "'num_local_experts': 8",
     {"'num_mtp_modules': 3", "'use_routing_bias': false", "'use_qk_norm': false", "'rotary_dim': 8",
      "'num_experts_per_tok': 2"}},
    {"ernie4_5_moe",
     "'moe_intermediate_size': 64",
     {"'moe_num_experts': 8", "'moe_k': 2", "'moe_num_shared_experts': 1", "'moe_layer_start_index': 3",
      "'moe_layer_end_index': 5", "'moe_layer_interval': 2", "'use_bias': true",
      "'moe_use_aux_free': false"}},
    {"hunyuan_v1_moe",
     "'num_experts': 8, 'moe_topk': 2",
     {"'num_shared_expert': [2, 2, 2, 2, 2, 2, 2, 2]", "'moe_intermediate_size': 64",
      "'attention_head_dim': 32", "'use_qk_norm': false"}},
    {"bailing_moe_v2",
     "'num_experts': 8, 'num_experts_per_tok': 2, 'moe_intermediate_size': 64",
     {"'num_shared_experts': 1", "'moe_router_enable_expert_bias': false", "'use_qkv_bias': true",
      "'first_k_dense_replace': 1", "'n_group': 4, 'topk_group': 2"}},
    {"glm4_moe_lite",
     LATENT ", " EXPERTS,
     {"'mlp_layer_types': ['dense', 'dense', 'sparse', 'sparse', 'sparse', 'sparse', 'sparse', 'sparse']",
      "'moe_layer_freq': [0, 0, 1, 1, 1, 1, 1, 1]", "'first_k_dense_replace': 2"}},
    {"granite",
     "",
     {"'embedding_multiplier': 12.0", "'logits_scaling': 16.0", "'residual_multiplier': 0.22"}},
    {"granitemoeshared", "", {"'shared_intermediate_size': 64", "'num_local_experts': 4"}},
    {"minicpm", "", {"'scale_emb': 12", "'dim_model_base': 256", "'scale_depth': 1.4"}},
    {"seed_oss", "", {"'attention_bias': false", "'attention_out_bias': true", "'residual_dropout': 0.1"}},
    {"smollm3",
     "",
     {"'no_rope_layer_interval': 2", "'no_rope_layers': [1, 1, 1, 1, 1, 1, 1, 0]",
      "'tie_word_embeddings': false"}},
    {"exaone4",
     "",
     {"'sliding_window_pattern': 2", "'sliding_window_pattern': 'LG'", "'sliding_window': null"}},
    {"cohere2", "", {"'sliding_window_pattern': 2", "'logit_scale': 1.0", "'attention_bias': true"}},
    {"apertus", "", {"'qk_norm': false", "'post_norm': true"}},
    {"grok-1",
     "",
     {"'max_attn_value': 30.0", "'embedding_multiplier_scale': 78.4", "'output_multiplier_scale': 0.58",
      "'num_experts': 4"}},
};

/* A key does something: the model is another one, or names the key. */
TEST(keys)
{
    for (size_t i = 0; i < SS_ARRAY_LEN(families); i++) {
        struct ss_model base, m;
        CU_ASSERT_EQUAL_FATAL(read(families[i].family, families[i].with, &base), 0);
        CU_ASSERT_STRING_EQUAL(base.not_priced, "");
        for (size_t k = 0; k < SS_ARRAY_LEN(families[i].keys) && families[i].keys[k]; k++) {
            const char *key = families[i].keys[k];
            char more[600];
            snprintf(more, sizeof more, "%s%s%s", key, *families[i].with ? ", " : "", families[i].with);
            CU_ASSERT_EQUAL_FATAL(read(families[i].family, more, &m), 0);
            int same = !memcmp(&m, &base, sizeof m);
            if (same)
                printf("%s: %s changes nothing and is not named\n", families[i].family, key);
            CU_ASSERT(!same);
        }
    }
}

/* What costs nothing is not named, and changes nothing. */
TEST(harmless)
{
    static const char *const keys[] = {
        "'rope_theta': 500000.0",
        "'rope_scaling': {'rope_type': 'llama3', 'factor': 8.0}",
        "'rope_scaling': {'rope_type': 'yarn', 'factor': 1.0}",
        "'rope_scaling': {'rope_type': 'yarn', 'factor': 8.0, 'attention_factor': 1.0}",
        "'swiglu_limit': 0",
        "'norm_topk_prob': true",
        "'routed_scaling_factor': 2.5",
        "'scoring_func': 'sigmoid'",
        "'initializer_range': 0.02",
        "'bos_token_id': 1",
        "'router_aux_loss_coef': 0.001",
        "'torch_dtype': 'bfloat16'",
        "'query_pre_attn_scalar': 224",
        "'num_nextn_predict_layers': 0",
        "'attn_logit_softcapping': 0.0",
        "'layerdrop': 0.0",
        "'embd_pdrop': 0.0"};
    struct ss_model base, m;
    CU_ASSERT_EQUAL_FATAL(read("llama", "", &base), 0);
    for (size_t i = 0; i < SS_ARRAY_LEN(keys); i++) {
        CU_ASSERT_EQUAL(read("llama", keys[i], &m), 0);
        if (memcmp(&m, &base, sizeof m))
            printf("%s changes the model, or is named: %s\n", keys[i], m.not_priced);
        CU_ASSERT_EQUAL(memcmp(&m, &base, sizeof m), 0);
    }
}

/* YaRN scales sines and cosines, whatever the file calls it; a limit clamps the activation. */
TEST(scaled)
{
    static const char *const keys[] = {"'rope_scaling': {'rope_type': 'yarn', 'factor': 8.0}",
                                       "'rope_scaling': {'type': 'yarn', 'factor': 8}",
                                       "'rope_parameters': {'rope_type': 'yarn', 'factor': 8.0}"};
    struct ss_model m;
    for (size_t i = 0; i < SS_ARRAY_LEN(keys); i++) {
        CU_ASSERT_EQUAL_FATAL(read("llama", keys[i], &m), 0);
        CU_ASSERT_EQUAL(m.yarn, 1);
    }
    CU_ASSERT_EQUAL_FATAL(read("llama", "'swiglu_limit': 7.0", &m), 0);
    CU_ASSERT(m.activation_clamp == 1 && m.yarn != 1);
}

static struct ss_model small(const char *family, const char *more)
{
    struct ss_model m;
    CU_ASSERT_EQUAL_FATAL(read(family, more, &m), 0);
    return m;
}

/* The same said in two ways: a list of all layers that says the same of each, a pattern in letters, layers one by one. */
TEST(same)
{
    static const struct {
        const char *family, *a, *b;
    } pairs[] = {
        {"hunyuan_v1_moe", "'num_experts': 8, 'moe_topk': 2",
         "'num_experts': [8, 8, 8, 8, 8, 8, 8, 8], 'moe_topk': [2, 2, 2, 2, 2, 2, 2, 2]"},
        {"exaone4", "'sliding_window_pattern': 4", "'sliding_window_pattern': 'LLLG'"},
        {"smollm3", "'no_rope_layer_interval': 4", "'no_rope_layers': [1, 1, 1, 0, 1, 1, 1, 0]"},
        {"ernie4_5_moe", "'moe_layer_end_index': -1", "'moe_layer_start_index': 1"},
        {"qwen3", "",
         "'layer_types': ['full_attention', 'full_attention', 'full_attention', 'full_attention', "
         "'full_attention', 'full_attention', 'full_attention', 'full_attention']"},
    };
    for (size_t i = 0; i < SS_ARRAY_LEN(pairs); i++) {
        struct ss_model a = small(pairs[i].family, pairs[i].a), b = small(pairs[i].family, pairs[i].b);
        if (a.local_layers.n > 0) /* a list: the rest of the rule says nothing */
            a.local_layers.period = b.local_layers.period = 0;
        CU_ASSERT_EQUAL(memcmp(&a, &b, sizeof a), 0);
    }
    /* ERNIE's mixtures: every second layer of those from 3 to 5, from 0: 3 and 5. */
    struct ss_model m = small("ernie4_5_moe", "'moe_intermediate_size': 64, 'moe_layer_start_index': 3, "
                                              "'moe_layer_end_index': 5, 'moe_layer_interval': 2");
    for (int i = 0; i < 8; i++)
        CU_ASSERT_EQUAL(ss_layer_rule_has(&m.moe_layers, i), i == 3 || i == 5);
    m = small("glm4_moe_lite",
              LATENT ", " EXPERTS ", 'mlp_layer_types': ['dense', 'sparse', 'dense', 'sparse', "
                     "'dense', 'sparse', 'dense', 'sparse']");
    for (int i = 0; i < 8; i++)
        CU_ASSERT_EQUAL(ss_layer_rule_has(&m.moe_layers, i), i % 2);
    CU_ASSERT_STRING_EQUAL(m.not_priced, ""); /* the family's first_k_dense_replace is beaten, not lost */
    m = small("minimax_m2", "'num_local_experts': 8, 'num_mtp_modules': 3, 'use_mtp': false");
    CU_ASSERT_EQUAL(m.mtp_num_layers, 0);
}

static void refused(const char *family, const char *more, const char *what)
{
    struct ss_error err = {0};
    char json[1024];

    snprintf(json, sizeof json,
             "{'model_type': '%s', 'hidden_size': 128, 'num_hidden_layers': 2, 'num_attention_heads': 8, "
             "'intermediate_size': 256, 'vocab_size': 1000%s%s}",
             family, *more ? ", " : "", more);
    for (char *p = json; *p; p++)
        if (*p == '\'')
            *p = '"';
    struct ss_model m;
    CU_ASSERT(ss_model_parse(json, strlen(json), "x.json", &m, &err) < 0);
    if (!strstr(err.message, what))
        printf("%s: %s\n", family, err.message);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, what));
}

/* Layers that no layer here is: the line names them, and no near name is offered that would count another model. */
TEST(refused)
{
    static const char *const others[][2] = {
        {"olmo_hybrid", "delta nets"},     {"rwkv", "RWKV"},
        {"bailing_moe_v2_5", "lightning"}, {"zamba", "Mamba"},
        {"gemma3n_text", "AltUp"},         {"longcat_flash", "two attentions"},
        {"step3_text", "queries"},         {"afmoe", "gates"}};
    for (size_t i = 0; i < SS_ARRAY_LEN(others); i++)
        refused(others[i][0], "", others[i][1]);
    refused("step3p5", "", "is not known"); /* a name that begins so is another family's */
    refused("minimax_m9", "", "is not known");
    refused("minimax_m2", "'attn_type_list': [1, 0]", "lightning attention");
    refused("qwen4_exp_text", "'hc_count': 1", "is one stream");
    refused("qwen4_exp_text", "'ple_layer_ids': [1, 2]", "several layers");
    refused("qwen4_exp_text", "'ple_layer_ids': [40]", "no layer of linear attention");
    refused("hunyuan_v1_moe", "'num_experts': [8, 4]", "differs from layer to layer");
    refused("hunyuan_v1_moe", "'num_experts': 8, 'moe_topk': 2, 'use_cla': true", "layers share");
    refused("minimax_m2", "'qk_norm_type': 'per_head'", "per_layer");
    refused("exaone4", "'sliding_window_pattern': 'LLX'", "L and G");
    refused("smollm3", "'use_sliding_window': true, 'sliding_window': 64", "without a rotary embedding");
    refused("glm4_moe_lite", LATENT ", " EXPERTS ", 'mlp_layer_types': ['dense', 'moe']",
            "neither dense nor");
    refused("ernie4_5_moe", "'moe_layer_end_index': -2", "nor -1");
    /* who says how many experts there are says how wide they are, and how many a token meets */
    refused("glm4_moe", "'n_routed_experts': 8, 'num_experts_per_tok': 2", "no \"moe_intermediate_size\"");
    refused("qwen3_moe", "'num_experts': 8", "no \"moe_intermediate_size\"");
    refused("bailing_moe_v2", "'num_experts': 8, 'num_experts_per_tok': 2", "no \"moe_intermediate_size\"");
    refused("glm4_moe", "'n_routed_experts': 8, 'moe_intermediate_size': 64", "no \"num_experts_per_tok\"");
}

/* A model of text and pictures may say outside its text that embeddings are tied. */
TEST(tied_outside)
{
    static const char *const rest = "'text_config': {'model_type': 'qwen3_vl_text', 'hidden_size': 128, "
                                    "'num_hidden_layers': 2, 'num_attention_heads': 8, "
                                    "'intermediate_size': 256, 'vocab_size': 1000%s}}";
    static const struct {
        const char *outside, *inside;
        int tied;
    } cases[] = {{"true", "", 1}, {"false", "", 0}, {"false", ", 'tie_word_embeddings': true", 1}};

    for (size_t i = 0; i < SS_ARRAY_LEN(cases); i++) {
        char json[1024], inner[512];
        struct ss_model m;
        snprintf(inner, sizeof inner, rest, cases[i].inside);
        snprintf(json, sizeof json, "{'model_type': 'qwen3_vl', 'tie_word_embeddings': %s, %s",
                 cases[i].outside, inner);
        for (char *p = json; *p; p++)
            if (*p == '\'')
                *p = '"';
        CU_ASSERT_EQUAL_FATAL(ss_model_parse(json, strlen(json), "x.json", &m, NULL), 0);
        CU_ASSERT_EQUAL(m.tied_embeddings, cases[i].tied);
    }
}
