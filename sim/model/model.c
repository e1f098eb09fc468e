/* SPDX-License-Identifier: Apache-2.0 */
#include "stepsim/model.h"

#include "base/base.h"
#include "model/model_internal.h"

int ss_layer_rule_has(const struct ss_layer_rule *rule, int layer)
{
    if (rule->n > 0)
        return layer < rule->n && (rule->bits[layer / 64] >> (layer % 64) & 1);
    return rule->period > 0 && layer >= rule->first && (layer - rule->phase) % rule->period == 0;
}

static int any_layer(const struct ss_model *m, const struct ss_layer_rule *rule)
{
    int layer = 0, layers = m->num_layers + m->mtp_depth_layers;
    while (layer < layers && !ss_layer_rule_has(rule, layer))
        layer++;
    return layer < layers;
}

/* Experts are in every layer where nothing else is said, and as wide as the MLP. */
static void fill_experts(struct ss_model *m)
{
    if (m->num_experts == 0 && !any_layer(m, &m->moe_layers))
        memset(&m->moe_layers, 0, sizeof m->moe_layers); /* a pattern without experts */
    if (m->num_experts == 0)
        return;
    if (m->moe_layers.period == 0 && m->moe_layers.n == 0)
        m->moe_layers.period = 1;
    if (m->top_k == 0)
        m->top_k = 2;
    if (m->moe_ffn_hidden_size == 0)
        m->moe_ffn_hidden_size = m->ffn_hidden_size;
}

/* Megatron's dimensions of latent attention. */
static void fill_latent(struct ss_model *m)
{
    if (m->kv_lora_rank == 0)
        return;
    if (m->qk_head_dim == 0)
        m->qk_head_dim = 128;
    if (m->qk_pos_emb_head_dim == 0)
        m->qk_pos_emb_head_dim = 64;
    if (m->v_head_dim == 0)
        m->v_head_dim = 128;
    if (m->kv_channels == 0)
        m->kv_channels = m->qk_head_dim;
}

/* A size of layers that a model may have: what it is where nobody says; 0 where it has none. */
struct default_size {
    int *size, has, otherwise;
};

static void fill_sizes(const struct default_size *sizes, size_t n)
{
    for (; n-- > 0; sizes++)
        *sizes->size = !sizes->has ? 0 : *sizes->size ? *sizes->size : sizes->otherwise;
}

/* Megatron's sizes of Mamba-2; models without such layers have none. Mamba-1 has a state of 16 a channel and no heads.
 * Heads are 0 where their width does not divide the layer's. */
static void fill_mamba(struct ss_model *m)
{
    int two = any_layer(m, &m->mamba2) || any_layer(m, &m->parallel_mamba2) || any_layer(m, &m->shared_block);
    int one = any_layer(m, &m->mamba1);
    int head = m->mamba_head_dim ? m->mamba_head_dim : 64;
    const struct default_size sizes[] = {
        {&m->mamba_num_heads, two, 2 * m->hidden_size % head ? 0 : 2 * m->hidden_size / head},
        {&m->mamba_head_dim, two, 64},
        {&m->mamba_state_dim, two || one, one ? 16 : 128},
        {&m->mamba_num_groups, two, 8},
        {&m->mamba_conv, two || one, 4},
        {&m->mamba_chunk, two, 128},
        {&m->mamba1_inner, one, 2 * m->hidden_size},
        {&m->mamba1_dt_rank, one, (m->hidden_size + 15) / 16},
        {&m->mamba1_norms, one, SS_MAMBA_NO_NORMS},
        {&m->num_shared_blocks, any_layer(m, &m->shared_block), 1},
        {&m->adapter_rank, any_layer(m, &m->shared_block), 128},
        {&m->short_conv_taps, any_layer(m, &m->short_conv), 3}};

    fill_sizes(sizes, SS_ARRAY_LEN(sizes));
}

/* Sizes of the indexer of sparse attention are nothing to a model without; layers that share the choice of the last one with an indexer,
 * as Megatron's is_dsa_skip_topk_layer has them. */
static void fill_sparse(struct ss_model *m)
{
    int *const sizes[] = {&m->index_num_heads, &m->index_head_dim,  &m->index_topk,
                          &m->index_block,     &m->index_topk_freq, &m->index_topk_offset};
    int has =
            any_layer(m, &m->dsa) || any_layer(m, &m->msa) || any_layer(m, &m->csa) || any_layer(m, &m->qsa),
        first = m->index_topk_offset > 1 ? m->index_topk_offset : 1;

    for (size_t i = 0; i < SS_ARRAY_LEN(sizes); i++)
        *sizes[i] = has ? *sizes[i] : 0;
    if (!has || m->index_topk_freq <= 1 || m->num_layers > SS_LAYER_RULE_MAX)
        return;
    m->dsa_shared = (struct ss_layer_rule){.n = m->num_layers};
    for (int i = first; i < m->num_layers; i++)
        m->dsa_shared.bits[i / 64] |=
            (uint64_t)(ss_layer_rule_has(&m->dsa, i) && (i + 1 - first) % m->index_topk_freq != 0) << i % 64;
}

/* Megatron's sizes of DeepSeek-V4's attention: the latent is the part of a key that no position turns. */
static void fill_compressed(struct ss_model *m)
{
    int has = ss_model_compresses(m);
    const struct {
        int *size, otherwise;
    } sizes[] = {{&m->output_groups, 8}, {&m->output_rank, 1024}, {&m->sliding_window, 128}};

    for (size_t i = 0; i < SS_ARRAY_LEN(sizes); i++)
        if (has && !*sizes[i].size)
            *sizes[i].size = sizes[i].otherwise;
    if (!has) {
        m->output_groups = m->output_rank = 0;
        return;
    }
    m->qk_head_dim = m->kv_lora_rank = m->v_head_dim - m->qk_pos_emb_head_dim;
    m->kv_channels = m->v_head_dim;
    m->num_query_groups = 1;
    m->attention_sinks = 1;
}

/* Megatron's number of iterations; streams and their weights are nothing to a model with one residual. */
static void fill_streams(struct ss_model *m)
{
    if (m->residual_streams <= 1)
        m->residual_streams = m->sinkhorn_iterations = m->residual_rank = m->streams_head = 0;
    else if (!m->sinkhorn_iterations)
        m->sinkhorn_iterations = 20;
}

/* Megatron's sizes of gated delta nets, and those of Kimi delta attention, which has a key head a value head. */
static void fill_linear(struct ss_model *m)
{
    int gated = any_layer(m, &m->gated_delta) || any_layer(m, &m->ngram_delta),
        kimi = any_layer(m, &m->kimi_delta);
    int lightning = any_layer(m, &m->lightning), retention = any_layer(m, &m->retention);
    int rwkv7 = any_layer(m, &m->rwkv7);
    const struct default_size sizes[] = {
        {&m->linear_num_key_heads, gated, 16},
        {&m->linear_num_value_heads, gated || kimi, kimi ? m->num_attention_heads : 32},
        {&m->linear_key_head_dim, gated, 128},
        {&m->linear_value_head_dim, gated || kimi || retention, retention ? 256 : 128},
        {&m->decay_rank, rwkv7, 64},
        {&m->rate_rank, rwkv7, 64},
        {&m->value_rank, rwkv7, 16},
        {&m->gate_rank, rwkv7, 128},
        {&m->linear_conv, gated || kimi, 4},
        {&m->linear_norm_groups, lightning, 1}};

    fill_sizes(sizes, SS_ARRAY_LEN(sizes));
}

/* Sizes of attention over blocks of keys, as flash-linear-attention has them. */
static void fill_blocks(struct ss_model *m)
{
    int nsa = any_layer(m, &m->nsa), moba = any_layer(m, &m->moba);
    const struct default_size sizes[] = {{&m->sparse_block, nsa || moba, nsa ? 64 : 256},
                                         {&m->sparse_blocks, nsa || moba, nsa ? 16 : 4},
                                         {&m->sparse_window, nsa, 512}};

    fill_sizes(sizes, SS_ARRAY_LEN(sizes));
}

/* Spreads a bias on every linear layer to each kind of layer. */
static void fill_biases(struct ss_model *m)
{
    int *const parts[] = {&m->qkv_bias, &m->attention_out_bias, &m->mlp_bias, &m->expert_bias};

    for (size_t i = 0; i < SS_ARRAY_LEN(parts); i++)
        if (*parts[i] == SS_MODEL_UNSET || m->linear_bias)
            *parts[i] = m->linear_bias;
}

/* Megatron's defaults for what nobody gave. */
static void fill_defaults(struct ss_model *m)
{
    ss_model_fill(m);
    fill_biases(m);
    if (m->norm_vectors == SS_MODEL_UNSET)
        m->norm_vectors = m->normalization == SS_NORM_LAYERNORM ? 2 : 1;
    if (!m->num_query_groups)
        m->num_query_groups = m->num_attention_heads;
    if (!m->ffn_hidden_size) /* a gated MLP has three matrices: two thirds keep the parameter count */
        m->ffn_hidden_size = m->gated_mlp ? (int)(8.0 * m->hidden_size / 3 / 64) * 64 : 4 * m->hidden_size;
    fill_experts(m);
    if (m->sliding_window > 0 && m->local_layers.period == 0 && m->local_layers.n == 0)
        m->local_layers.period = 1; /* attention is local in every layer where nothing else is said */
    fill_compressed(m);
    fill_latent(m);
    fill_streams(m);
    fill_mamba(m);
    fill_sparse(m);
    fill_blocks(m);
    fill_linear(m);
    if (any_layer(m, &m->rwkv7))
        m->rwkv7_first = (struct ss_layer_rule){.period = m->num_layers};
    if (!m->kv_channels && m->num_attention_heads && m->hidden_size % m->num_attention_heads == 0)
        m->kv_channels = m->hidden_size / m->num_attention_heads;
}

/* Sizes of experts and latent attention: nothing is left to fill in. */
static int check_experts(const struct ss_model *m, struct ss_error *err)
{
    if (m->num_experts > 0 && m->top_k > m->num_experts)
        return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                       "a token goes to %d experts, the model has %d" SS_HINT "lower --moe-router-topk",
                       m->top_k, m->num_experts);
    if (m->num_experts > 0 && m->router_groups > 0 && m->num_experts % m->router_groups)
        return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                       "%d experts are not divisible by %d groups" SS_HINT
                       "take a --moe-router-num-groups that divides them",
                       m->num_experts, m->router_groups);
    return SS_OK;
}

/* Layers that have nothing, or whose halves cannot run side by side; heads of Mamba-2. */
static int check_halves(const struct ss_model *m, struct ss_error *err)
{
    for (int i = 0; i < m->num_layers + m->mtp_depth_layers; i++)
        if (ss_layer_rule_has(&m->no_mixer, i) && ss_layer_rule_has(&m->no_mlp, i))
            return ss_fail(err, SS_ERR_CONFIG, NULL, 0, "layer %d has neither a mixer nor an MLP", i);
    if (m->num_experts == 0 && m->no_mixer.n > 0 && any_layer(m, &m->moe_layers))
        return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                       "the pattern of layers has experts, E, and the model has none" SS_HINT
                       "give --num-experts");
    if (m->parallel_residual > SS_RESIDUAL_SERIAL && (any_layer(m, &m->no_mixer) || any_layer(m, &m->no_mlp)))
        return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                       "attention and MLP side by side need layers that have both");
    if (m->parallel_residual > SS_RESIDUAL_SERIAL && m->residual_streams > 1)
        return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                       "attention and MLP side by side have one residual stream");
    if (m->output_groups > 0 && m->num_attention_heads % m->output_groups)
        return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                       "%d attention heads are not divisible by %d groups of the output" SS_HINT
                       "take --o-groups that divide the heads",
                       m->num_attention_heads, m->output_groups);
    if (m->linear_num_key_heads > 0 && m->linear_num_value_heads % m->linear_num_key_heads)
        return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                       "linear_num_value_heads (%d) must be a multiple of linear_num_key_heads (%d)." SS_HINT
                       "take a --linear-num-key-heads that divides --linear-num-value-heads",
                       m->linear_num_value_heads, m->linear_num_key_heads);
    if (m->mamba_head_dim > 0 && !m->mamba_num_heads)
        return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                       "d_inner must be evenly divisible by headdim (%d, %d)" SS_HINT
                       "give --mamba-num-heads, or another --mamba-head-dim",
                       2 * m->hidden_size, m->mamba_head_dim);
    if (m->mamba_num_groups > 0 && m->mamba_num_heads % m->mamba_num_groups)
        return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                       "nheads must be evenly divisible by ngroups (%d, %d)" SS_HINT
                       "take a --mamba-num-groups that divides --mamba-num-heads",
                       m->mamba_num_heads, m->mamba_num_groups);
    return SS_OK;
}

int ss_model_finish(struct ss_model *m, struct ss_error *err)
{
    fill_defaults(m);
    if (!m->kv_channels && m->num_attention_heads && m->hidden_size % m->num_attention_heads)
        return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                       "hidden size %d is not divisible by %d attention heads" SS_HINT
                       "give --kv-channels if a head's size is not their quotient",
                       m->hidden_size, m->num_attention_heads);
    SS_TRY(ss_model_check_sizes(m, err));
    if (m->num_attention_heads % m->num_query_groups)
        return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                       "%d attention heads are not divisible by %d query groups" SS_HINT
                       "take a --num-query-groups that divides the heads",
                       m->num_attention_heads, m->num_query_groups);
    SS_TRY(check_experts(m, err));
    SS_TRY(check_halves(m, err));
    if (!m->name[0])
        ss_copy(m->name, sizeof(m->name), "custom");
    return SS_OK;
}

void ss_encoder_model(const struct ss_encoder *e, struct ss_model *out)
{
    ss_model_init(out);
    out->num_layers = e->num_layers;
    out->hidden_size = e->hidden_size;
    out->ffn_hidden_size = e->ffn_hidden_size;
    out->num_attention_heads = e->num_heads;
    out->gated_mlp = e->gated_mlp;
    out->normalization = e->rms_norm ? SS_NORM_RMSNORM : SS_NORM_LAYERNORM;
    out->position = e->rotary ? SS_POSITION_ROPE : SS_POSITION_NONE;
    out->qk_norm = e->qk_norm ? SS_QK_NORM_WIDTH : SS_QK_NORM_NONE;
    out->linear_bias = 0;
    out->qkv_bias = e->qkv_bias;
    out->attention_out_bias = out->mlp_bias = 1;
    out->attention_chunk = e->window;
    for (int i = 0; i < e->num_layers && e->window > 0 && i < SS_LAYER_RULE_MAX; i++) {
        out->local_layers.n = i + 1;
        out->local_layers.bits[i / 64] |= (uint64_t)(e->full_period <= 0 || (i + 1) % e->full_period != 0)
                                          << i % 64;
    }
    fill_defaults(out);
}

int ss_model_embedding_row(const struct ss_model *m)
{
    return m->embedding_size > 0 ? m->embedding_size : m->hidden_size;
}

int ss_model_padded_vocab(const struct ss_model *m, int divisible_by, int tp)
{
    int64_t multiple = (int64_t)(divisible_by > 0 ? divisible_by : 1) * (tp > 0 ? tp : 1);
    int64_t rows = (int64_t)m->vocab_size + m->extra_vocab_size;
    int64_t padded = (rows + multiple - 1) / multiple * multiple;
    return padded > INT_MAX ? INT_MAX : (int)padded;
}
