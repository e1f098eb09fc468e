/* SPDX-License-Identifier: Apache-2.0 */
/* Model families: what their config.json leaves unsaid, from the code that runs them at Hugging Face. */
#include "base/base.h"
#include "model/config.h"

#define ROPE SS_POSITION_ROPE
#define LEARNED SS_POSITION_LEARNED
#define ALIBI SS_POSITION_ALIBI

/* Latent attention of DeepSeek: its norms are always there. */
#define DEEPSEEK (SS_GATED | SS_LATENT | SS_QK_HEAD)

/* Traits that models of text and models of text and pictures share. */
#define QWEN2                                                                                                \
    SS_GATED | SS_QKV_BIAS | SS_QKV_ONLY, "use_sliding_window=false sliding_window=4096 "                    \
                                          "max_window_layers=28"
#define QWEN3                                                                                                \
    SS_GATED | SS_QK_HEAD, "head_dim=128 use_sliding_window=false sliding_window=4096 max_window_layers=28"
#define QWEN3_MOE(experts, width)                                                                            \
    SS_GATED | SS_QK_HEAD, "use_sliding_window=false sliding_window=4096 num_experts=" experts               \
                           " num_experts_per_tok=8 decoder_sparse_step=1 moe_intermediate_size=" width
#define GLM4                                                                                                 \
    SS_PART_TURNED | SS_GATED | SS_POST_NORMS | SS_QKV_ONLY,                                                 \
        "head_dim=128 num_key_value_heads=2 partial_rotary_factor=0.5 attention_bias=false"
#define GLM4_MOE                                                                                             \
    SS_PART_TURNED | SS_GATED | SS_QKV_ONLY | SS_QK_HEAD | SS_QK_WHERE | SS_ROUTER_BIAS,                     \
        "head_dim=128 num_key_value_heads=8 partial_rotary_factor=0.5 first_k_dense_replace=1 "              \
        "n_shared_experts=1"

/* Qwen's gated delta nets beside gated attention. */
#define QWEN_DELTA                                                                                           \
    "linear_mixer=\"gated_delta\" full_attention_interval=4 attn_output_gate=true head_dim=256 "             \
    "partial_rotary_factor=0.25 linear_conv_kernel_dim=4 linear_key_head_dim=128 linear_value_head_dim=128 " \
    "linear_num_key_heads=16 linear_num_value_heads=32 "
#define QWEN_DELTA_TRAITS SS_PART_TURNED | SS_GATED | SS_QKV_ONLY | SS_QK_HEAD
#define MINIMAX_LIGHTNING                                                                                    \
    SS_PART_TURNED | SS_GATED, "linear_mixer=\"lightning\" linear_silu=true num_key_value_heads=8 "          \
                               "head_dim=128 num_local_experts=8 num_experts_per_tok=2"

static const struct ss_family families[] = {
    {"llama", ROPE, SS_GATED, ""},
    {"llama4_text", ROPE, SS_GATED | SS_QK_PLAIN | SS_QK_WHERE | SS_FULL_UNTURNED,
     "n_shared_experts=1 num_local_experts=16 num_experts_per_tok=1 interleave_moe_layer_step=1 "
     "attention_chunk_size=8192 no_rope_layer_interval=4 use_qk_norm=true head_dim=128 "
     "num_key_value_heads=8 attn_temperature_tuning=true"},
    {"mistral", ROPE, SS_GATED, "num_key_value_heads=8 sliding_window=4096"},
    {"ministral", ROPE, SS_GATED, "num_key_value_heads=8 sliding_window=4096"},
    {"ministral3", ROPE, SS_GATED, "num_key_value_heads=8"},
    {"mixtral", ROPE, SS_GATED, "num_key_value_heads=8 num_local_experts=8 num_experts_per_tok=2"},
    {"mistral4", ROPE, DEEPSEEK, "n_shared_experts=1"},
    {"minimax_m2", ROPE, SS_PART_TURNED | SS_GATED | SS_QK_WIDTH | SS_ROUTER_BIAS,
     "num_key_value_heads=8 head_dim=128 num_local_experts=256 num_experts_per_tok=8"},
    {"minimax_m3", ROPE, SS_PART_TURNED | SS_GATED | SS_QK_HEAD | SS_ROUTER_BIAS,
     "linear_mixer=\"msa\" num_key_value_heads=4 head_dim=128 num_local_experts=128 num_experts_per_tok=4"},
    {"granite", ROPE, SS_GATED, ""},
    {"granitemoe", ROPE, SS_GATED, "num_local_experts=8 num_experts_per_tok=2"},
    {"granitemoeshared", ROPE, SS_GATED,
     "num_local_experts=8 num_experts_per_tok=2 shared_intermediate_size=1024"},
    {"smollm3", ROPE, SS_GATED | SS_TIED | SS_FULL_UNTURNED,
     "num_key_value_heads=4 no_rope_layer_interval=4 use_sliding_window=false"},
    {"apertus", ROPE, SS_QK_HEAD, ""},
    {"arcee", ROPE, 0, ""},
    {"seed_oss", ROPE, SS_GATED | SS_QKV_ONLY, "num_key_value_heads=8 head_dim=128 attention_bias=true"},
    {"exaone4", ROPE, SS_GATED | SS_QK_HEAD | SS_FULL_UNTURNED | SS_FULL_NORMED,
     "sliding_window=4096 sliding_window_pattern=4"},
    {"internlm2", ROPE, SS_GATED, "bias=false"},
    {"internlm3", ROPE, SS_GATED, "bias=false"},
    {"minicpm", ROPE, SS_GATED | SS_TIED, ""},
    {"minicpm3", ROPE, DEEPSEEK | SS_TIED, ""},
    {"ernie4_5", ROPE, SS_GATED | SS_TIED, "head_dim=128"},
    {"ernie4_5_moe", ROPE, SS_GATED | SS_TIED | SS_ROUTER_BIAS,
     "moe_num_experts=64 moe_k=6 moe_num_shared_experts=2 moe_layer_start_index=1"},
    {"hunyuan_v1_dense", ROPE, SS_GATED | SS_QK_HEAD, ""},
    {"hunyuan_v1_moe", ROPE, SS_GATED | SS_QK_HEAD, "num_shared_expert=1"},
    {"dots1", ROPE, SS_GATED | SS_QK_HEAD | SS_ROUTER_BIAS, "use_sliding_window=false"},
    {"bailing_moe", ROPE, SS_GATED, ""},
    {"bailing_moe_v2", ROPE, SS_PART_TURNED | SS_GATED | SS_QK_HEAD | SS_ROUTER_BIAS, ""},
    {"solar_open", ROPE, SS_PART_TURNED | SS_GATED | SS_ROUTER_BIAS, "n_shared_experts=1"},
    {"cohere", ROPE, SS_LAYERNORM | SS_GATED | SS_TIED | SS_ONE_NORM | SS_QK_WIDTH | SS_QK_WHERE,
     "no_bias=true logit_scale=0.0625"},
    {"cohere2", ROPE, SS_LAYERNORM | SS_GATED | SS_TIED | SS_ONE_NORM | SS_FULL_UNTURNED,
     "no_bias=true logit_scale=0.0625 sliding_window=4096 sliding_window_pattern=4"},
    {"qwen", ROPE, SS_GATED | SS_NORM_KEPT | SS_QKV_ONLY, "attention_bias=true"},
    {"qwen2", ROPE, QWEN2},
    {"qwen2_vl", ROPE, QWEN2},
    {"qwen2_vl_text", ROPE, QWEN2},
    {"qwen2_5_vl", ROPE, QWEN2},
    {"qwen2_5_vl_text", ROPE, QWEN2},
    {"mimo", ROPE, QWEN2},
    {"qwen2_moe", ROPE, SS_GATED | SS_QKV_BIAS | SS_QKV_ONLY | SS_SHARED_GATE,
     "use_sliding_window=false sliding_window=4096 max_window_layers=28 num_experts=60 num_experts_per_tok=4 "
     "decoder_sparse_step=1 "
     "moe_intermediate_size=1408 shared_expert_intermediate_size=5632"},
    {"qwen3", ROPE, QWEN3},
    {"qwen3_vl_text", ROPE, QWEN3},
    {"qwen3_moe", ROPE, QWEN3_MOE("128", "768")},
    {"qwen3_vl_moe_text", ROPE, QWEN3_MOE("60", "1408")},
    {"qwen3_omni_moe_text", ROPE, QWEN3_MOE("128", "768")},
    {"gemma", ROPE, SS_GATED | SS_TIED | SS_SCALED, "head_dim=256"},
    {"gemma2", ROPE, SS_GATED | SS_TIED | SS_SCALED | SS_POST_NORMS | SS_EVERY_OTHER,
     "head_dim=256 num_key_value_heads=4 sliding_window=4096 vocab_size=256000 "
     "attn_logit_softcapping=50.0 final_logit_softcapping=30.0"},
    {"gemma3_text", ROPE, SS_GATED | SS_TIED | SS_SCALED | SS_POST_NORMS | SS_QK_HEAD,
     "hidden_size=2304 intermediate_size=9216 num_hidden_layers=26 num_attention_heads=8 "
     "num_key_value_heads=4 "
     "head_dim=256 sliding_window=4096 sliding_window_pattern=6 vocab_size=262208 "
     "max_position_embeddings=131072"},
    {"phi", ROPE,
     SS_PART_TURNED | SS_LAYERNORM | SS_LINEAR_BIAS | SS_OUTPUT_BIAS | SS_ONE_NORM | SS_QK_HEAD | SS_QK_WHERE,
     ""},
    {"phi3", ROPE, SS_PART_TURNED | SS_GATED, ""},
    {"phimoe", ROPE, SS_GATED | SS_LAYERNORM | SS_NORM_KEPT, "num_local_experts=16 num_experts_per_tok=2"},
    {"gpt2", LEARNED, SS_LAYERNORM | SS_QKV_BIAS | SS_LINEAR_BIAS | SS_TIED | SS_DROPOUT, ""},
    {"gpt_bigcode", LEARNED, SS_LAYERNORM | SS_QKV_BIAS | SS_LINEAR_BIAS | SS_TIED | SS_DROPOUT,
     "multi_query=true"},
    {"starcoder2", ROPE, SS_LAYERNORM | SS_LINEAR_BIAS | SS_TIED, "use_bias=true num_key_value_heads=2"},
    {"stablelm", ROPE, SS_PART_TURNED | SS_LAYERNORM | SS_GATED | SS_QKV_ONLY | SS_QK_WIDTH | SS_QK_WHERE,
     "partial_rotary_factor=0.25"},
    {"gpt_neox", ROPE, SS_PART_TURNED | SS_LAYERNORM | SS_QKV_BIAS | SS_LINEAR_BIAS,
     "use_parallel_residual=true"},
    {"gptj", ROPE, SS_PART_TURNED | SS_LAYERNORM | SS_MLP_BIAS | SS_OUTPUT_BIAS | SS_ONE_NORM, ""},
    {"falcon", ROPE, SS_LAYERNORM | SS_TIED, "bias=false multi_query=true parallel_attn=true"},
    {"opt", LEARNED, SS_LAYERNORM | SS_LINEAR_BIAS | SS_TIED | SS_TWO_POSITIONS, "dropout=0.1 ffn_dim=3072"},
    {"bloom", ALIBI, SS_LAYERNORM | SS_LINEAR_BIAS | SS_TIED | SS_EMBEDDING_NORM, ""},
    {"mpt", LEARNED, SS_LAYERNORM | SS_TIED | SS_QK_WIDTH | SS_QK_WHERE, "no_bias=true expansion_ratio=4"},
    {"olmo", ROPE, SS_GATED | SS_LAYERNORM | SS_NO_NORM_WEIGHTS, ""},
    {"olmo2", ROPE, SS_GATED | SS_QK_WIDTH, ""},
    {"olmo3", ROPE, SS_GATED | SS_QK_WIDTH, "sliding_window=4096 sliding_window_pattern=4"},
    {"olmoe", ROPE, SS_GATED | SS_QK_WIDTH, "num_experts=64 num_experts_per_tok=8"},
    {"deepseek", ROPE, SS_GATED, ""},
    {"deepseek_v2", ROPE, DEEPSEEK, ""},
    {"deepseek_v3", ROPE, DEEPSEEK | SS_ROUTER_BIAS, "first_k_dense_replace=3"},
    {"kimi_k2", ROPE, DEEPSEEK | SS_ROUTER_BIAS, "first_k_dense_replace=3"},
    {"gpt_oss", ROPE, SS_GATED | SS_SINKS | SS_EXPERT_BIAS | SS_EVERY_OTHER,
     "head_dim=64 num_key_value_heads=8 attention_bias=true sliding_window=128 num_local_experts=128 "
     "num_experts_per_tok=4"},
    {"chatglm", ROPE, SS_PART_TURNED | SS_GATED | SS_QKV_ONLY, "partial_rotary_factor=0.5"},
    {"glm", ROPE, SS_PART_TURNED | SS_GATED | SS_QKV_ONLY,
     "head_dim=128 partial_rotary_factor=0.5 attention_bias=true"},
    {"glm4", ROPE, GLM4},
    {"glm4v_text", ROPE, GLM4},
    {"glm4_moe", ROPE, GLM4_MOE},
    {"glm4v_moe_text", ROPE, GLM4_MOE},
    {"deepseek_v32", ROPE, DEEPSEEK | SS_ROUTER_BIAS,
     "linear_mixer=\"dsa\" first_k_dense_replace=3 index_n_heads=64 index_head_dim=128 index_topk=2048"},
    {"glm_moe_dsa", ROPE, DEEPSEEK | SS_ROUTER_BIAS,
     "linear_mixer=\"dsa\" first_k_dense_replace=3 index_n_heads=32 index_head_dim=128 index_topk=2048"},
    {"deepseek_v4", ROPE, SS_GATED | SS_QK_HEAD | SS_SINKS | SS_ROUTER_BIAS, /* no layer is dense */
     "linear_mixer=\"csa\" intermediate_size=2048 num_key_value_heads=1 head_dim=512 qk_rope_head_dim=64 "
     "o_groups=8 o_lora_rank=1024 sliding_window=128 index_n_heads=64 index_head_dim=128 index_topk=512 "
     "hc_mult=4 hc_sinkhorn_iters=20 n_shared_experts=1 num_experts_per_tok=6"},
    {"glm4_moe_lite", ROPE, DEEPSEEK | SS_ROUTER_BIAS, "first_k_dense_replace=1 n_shared_experts=1"},
    {"dbrx", ROPE, SS_LAYERNORM | SS_GATED, "no_bias=true"},
    {"exaone", ROPE, SS_GATED | SS_NORM_KEPT, ""},
    {"grok-1", ROPE, SS_GATED | SS_TIED | SS_POST_NORMS, "num_experts=8 num_experts_per_tok=2"},
    {"bamba", ROPE, SS_PART_TURNED | SS_GATED,
     "linear_mixer=\"mamba2\" num_key_value_heads=8 mamba_n_heads=128 mamba_d_head=64 mamba_n_groups=1 "
     "mamba_d_state=256 mamba_d_conv=4 mamba_chunk_size=256"},
    {"granitemoehybrid", SS_POSITION_NONE, SS_GATED | SS_TIED,
     "linear_mixer=\"mamba2\" num_local_experts=8 num_experts_per_tok=2 shared_intermediate_size=1024 "
     "mamba_n_heads=128 mamba_d_head=64 mamba_n_groups=1 mamba_d_state=256 mamba_d_conv=4 "
     "mamba_chunk_size=256"},
    {"mamba2", SS_POSITION_NONE, SS_NORM_KEPT,
     "linear_mixer=\"mamba2\" linear_mlp=false num_attention_heads=128 num_heads=128 head_dim=64 n_groups=8 "
     "state_size=128 conv_kernel=4 chunk_size=256 hidden_size=4096 num_hidden_layers=64 vocab_size=32768"},
    {"mamba", SS_POSITION_NONE, SS_NORM_KEPT | SS_TIED,
     "linear_mixer=\"mamba1\" linear_mlp=false num_attention_heads=64 vocab_size=50280"},
    {"falcon_mamba", SS_POSITION_NONE, SS_NORM_KEPT | SS_TIED,
     "linear_mixer=\"mamba1\" linear_mlp=false mamba1_norms=2 num_attention_heads=64 vocab_size=50280"},
    {"jamba", SS_POSITION_NONE, SS_GATED,
     "linear_mixer=\"mamba1\" mamba1_norms=1 num_key_value_heads=8 num_experts=16 num_experts_per_tok=2 "
     "attn_layer_period=8 attn_layer_offset=4 expert_layer_period=2 expert_layer_offset=1"},
    {"lfm2", ROPE, SS_GATED | SS_TIED | SS_QK_HEAD,
     "linear_mixer=\"short_conv\" num_key_value_heads=8 intermediate_size=12288 block_ff_dim=12288"},
    {"lfm2_moe", ROPE, SS_GATED | SS_TIED | SS_QK_HEAD,
     "linear_mixer=\"short_conv\" num_key_value_heads=8 num_dense_layers=2 num_experts=32 "
     "num_experts_per_tok=4 moe_intermediate_size=1792"},
    {"falcon_h1", ROPE, SS_GATED,
     "linear_mixer=\"parallel_mamba2\" mamba_rms_norm=false mamba_n_heads=128 mamba_d_head=64 "
     "mamba_n_groups=1 mamba_d_state=256 mamba_d_conv=4 mamba_chunk_size=256"},
    {"zamba2", SS_POSITION_NONE, SS_GATED | SS_TIED,
     "linear_mixer=\"shared_block\" num_mem_blocks=1 adapter_rank=128 mamba_d_state=64 "
     "mamba_d_conv=4 mamba_headdim=64 mamba_ngroups=1 chunk_size=256"},
    {"nemotron_h", SS_POSITION_NONE, SS_NORM_KEPT | SS_HALF_LAYERS | SS_ROUTER_BIAS,
     "num_key_value_heads=8 head_dim=128"},
    {"qwen3_next", ROPE, QWEN_DELTA_TRAITS | SS_SHARED_GATE,
     QWEN_DELTA "num_key_value_heads=2 num_experts=512 num_experts_per_tok=10 decoder_sparse_step=1 "
                "moe_intermediate_size=512 shared_expert_intermediate_size=512"},
    {"qwen3_5_text", ROPE, QWEN_DELTA_TRAITS, QWEN_DELTA "num_key_value_heads=4"},
    {"qwen3_5_moe_text", ROPE,
     QWEN_DELTA_TRAITS | SS_SHARED_GATE, /* no layer is dense: files have no width of one */
     QWEN_DELTA "intermediate_size=512 num_key_value_heads=2 num_experts=256 num_experts_per_tok=8 "
                "moe_intermediate_size=512 "
                "shared_expert_intermediate_size=512"},
    {"qwen4_exp_text", ROPE, QWEN_DELTA_TRAITS | SS_SHARED_GATE, /* likewise */
     QWEN_DELTA "intermediate_size=640 num_key_value_heads=2 num_experts=512 num_experts_per_tok=10 "
                "ngram_size=3 heads_per_ngram=8 ngram_vocab_size_base=20000000 ple_conv_kernel_size=4 "
                "make_ngram_vocab_size_divisible_by=128 hc_count=4 hc_lowrank=320"},
    {"kimi_linear", ROPE, DEEPSEEK | SS_ROUTER_BIAS, "linear_mixer=\"kimi_delta\" mla_use_nope=true"},
    {"minimax_text_01", ROPE, MINIMAX_LIGHTNING},
    {"minimax_m1", ROPE, MINIMAX_LIGHTNING},
    {"minimax", ROPE, MINIMAX_LIGHTNING},
    {"bailing_moe_linear", ROPE, SS_PART_TURNED | SS_GATED | SS_QK_HEAD | SS_ROUTER_BIAS,
     "linear_mixer=\"lightning\" group_norm_size=1"},
    {"rwkv7", SS_POSITION_NONE, SS_LAYERNORM | SS_NORM_KEPT | SS_EMBEDDING_NORM,
     "linear_mixer=\"rwkv7\" num_attention_heads=1 head_dim=64 hidden_ratio=4 decay_low_rank_dim=64 "
     "gate_low_rank_dim=128 a_low_rank_dim=64 v_low_rank_dim=16 vocab_size=32000"},
    {"retnet", ROPE, SS_GATED | SS_NORM_KEPT,
     "linear_mixer=\"retention\" num_attention_heads=8 hidden_ratio=2 vocab_size=32000"},
    {"nsa", ROPE, SS_GATED | SS_NORM_KEPT,
     "linear_mixer=\"nsa\" num_attention_heads=64 num_kv_heads=4 head_dim=32 hidden_ratio=4 block_size=64 "
     "block_counts=16 window_size=512 vocab_size=32000"},
    {"moba", ROPE, SS_GATED | SS_NORM_KEPT,
     "linear_mixer=\"moba\" num_attention_heads=32 hidden_ratio=4 moba_chunk_size=256 moba_topk=4 "
     "vocab_size=32000"},
    {"nemotron", ROPE, SS_PART_TURNED | SS_LAYERNORM | SS_NORM_KEPT, "partial_rotary_factor=0.5"},
};

#define DELTA_NETS "gated delta nets beside layers of another kind"
#define MAMBA "layers of Mamba in an arrangement of its own"
#define LIGHTNING "lightning attention, which is linear"

/* Families known to have what no layer here does. */
static const struct {
    const char *type, *lacks;
} foreign[] = {
    {"olmo_hybrid", DELTA_NETS},
    {"bailing_hybrid", LIGHTNING},
    {"bailing_moe_v2_5", LIGHTNING},
    {"nemotron_flash", "delta nets beside layers of Mamba-2"},
    {"phi4flash", MAMBA},
    {"zamba", MAMBA},
    {"plamo2", MAMBA},
    {"rwkv", "layers of RWKV"},
    {"recurrent_gemma", "recurrent layers"},
    {"gemma3n", "embeddings in every layer, AltUp and LAuReL"},
    {"gemma4", "heads that differ from layer to layer"},
    {"longcat_flash", "two attentions a layer and experts that compute nothing"},
    {"step3", "queries of a matrix product of their own and one head of keys"},
    {"afmoe", "gates on attention"},
    {"mimo_v2_flash", "heads that differ from layer to layer"},
    {"nemotron-nas", "layers of unlike shapes"},
    {"deci", "layers of unlike shapes"},
    {"openelm", "layers of unlike shapes"},
    {"hunyuan", "keys and values that layers share"},
};

const char *ss_family_lacks(const char *type)
{
    static const char parts[] = "_text _vl _moe _moe_text"; /* names of the same family's parts */

    for (size_t i = 0; i < SS_ARRAY_LEN(foreign); i++) {
        size_t n = strlen(foreign[i].type);
        if (!strncmp(type, foreign[i].type, n) && (!type[n] || ss_has_word(parts, type + n)))
            return foreign[i].lacks;
    }
    return NULL;
}

const struct ss_family *ss_family_find(const char *type)
{
    for (size_t i = 0; i < SS_ARRAY_LEN(families); i++)
        if (!strcmp(type, families[i].type))
            return &families[i];
    return NULL;
}

const char *ss_family_near(const char *type)
{
    const char *names[SS_ARRAY_LEN(families)];

    for (size_t i = 0; i < SS_ARRAY_LEN(families); i++)
        names[i] = families[i].type;
    return ss_nearest(type, names, SS_ARRAY_LEN(families));
}

void ss_family_apply(const struct ss_family *f, struct ss_model *m)
{
    const struct {
        unsigned trait;
        int *choice, value;
    } rows[] = {
        {SS_OUTPUT_BIAS, &m->output_bias, 1},
        {SS_MLP_BIAS, &m->mlp_bias, 1},
        {SS_NO_NORM_WEIGHTS, &m->norm_vectors, 0},
        {SS_EMBEDDING_NORM, &m->embedding_norm, 1},
        {SS_SCALED, &m->embedding_scale, 1},
        {SS_FULL_UNTURNED, &m->full_unturned, 1},
        {SS_FULL_NORMED, &m->full_unturned, 2},
        {SS_POST_NORMS, &m->post_norms, 1},
        {SS_ONE_NORM, &m->parallel_residual, SS_RESIDUAL_ONE_NORM},
        {SS_TWO_NORMS, &m->parallel_residual, SS_RESIDUAL_TWO_NORMS},
        {SS_QK_HEAD, &m->qk_norm, SS_QK_NORM_HEAD},
        {SS_QK_WIDTH, &m->qk_norm, SS_QK_NORM_WIDTH},
        {SS_QK_PLAIN, &m->qk_norm, SS_QK_NORM_PLAIN},
        {SS_SINKS, &m->attention_sinks, 1},
        {SS_EXPERT_BIAS, &m->expert_bias, 1},
        {SS_EXPERT_BIAS, &m->router_linear_bias, 1},
        {SS_SHARED_GATE, &m->shared_expert_gate, 1},
        {SS_ROUTER_BIAS, &m->router_bias, 1},
    };

    m->gated_mlp = (f->traits & SS_GATED) != 0;
    m->tied_embeddings = (f->traits & SS_TIED) != 0;
    m->linear_bias = (f->traits & SS_LINEAR_BIAS) != 0;
    m->qkv_bias = m->linear_bias || f->traits & SS_QKV_BIAS;
    m->normalization = f->traits & SS_LAYERNORM ? SS_NORM_LAYERNORM : SS_NORM_RMSNORM;
    m->position = f->position;
    m->attention_dropout = m->hidden_dropout = f->traits & SS_DROPOUT ? 0.1 : 0;
    m->extra_positions = f->traits & SS_TWO_POSITIONS ? 2 : 0;
    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++)
        if (f->traits & rows[i].trait)
            *rows[i].choice = rows[i].value;
}
