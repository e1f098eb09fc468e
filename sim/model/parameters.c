/* SPDX-License-Identifier: Apache-2.0 */
/* Counts a model's parameters, all of them and those that a token meets. */
#include "stepsim/model.h"

#include "model/model_internal.h"

int ss_model_embedding_row(const struct ss_model *m)
{
    return m->embedding_size > 0 ? m->embedding_size : m->hidden_size;
}

static double norm(const struct ss_model *m)
{
    return (double)m->norm_vectors * m->hidden_size;
}

/* A matrix of `in` rows and `out` columns with or without a bias. */
static double linear(double in, double out, int bias)
{
    return in * out + (bias ? out : 0);
}

/* Keys and values are compressed to kv_lora_rank, queries to q_lora_rank or not at all. Biases are on what leaves the
 * hidden size and on what returns to it. */
static double latent_attention(const struct ss_model *m)
{
    double h = m->hidden_size, a = m->num_attention_heads, qk = m->qk_head_dim + m->qk_pos_emb_head_dim;
    double n = linear(h, m->kv_lora_rank + m->qk_pos_emb_head_dim, m->qkv_bias);

    n += m->kv_lora_rank * a * (m->qk_head_dim + m->v_head_dim);
    n += m->q_lora_rank ? linear(h, m->q_lora_rank, m->qkv_bias) + m->q_lora_rank * a * qk : h * a * qk;
    if (m->qk_norm != SS_QK_NORM_NONE)
        n += (double)m->q_lora_rank + m->kv_lora_rank;
    return n + linear(a * m->v_head_dim, h, m->attention_out_bias);
}

static double attention(const struct ss_model *m)
{
    double h = m->hidden_size, d = m->kv_channels;
    double query = m->num_attention_heads * d, key = m->num_query_groups * d;
    double n = m->attention_sinks ? m->num_attention_heads : 0;

    if (m->kv_lora_rank > 0)
        return n + latent_attention(m);
    if (m->qk_norm == SS_QK_NORM_HEAD)
        n += m->norm_vectors * 2 * d;
    if (m->qk_norm == SS_QK_NORM_WIDTH)
        n += m->norm_vectors * (query + key);
    return n + linear(h, query + 2 * key, m->qkv_bias) + linear(query, h, m->attention_out_bias);
}

static double mlp(const struct ss_model *m, double ffn, int bias)
{
    double h = m->hidden_size;
    return linear(h, m->gated_mlp ? 2 * ffn : ffn, bias) + linear(ffn, h, bias);
}

/* A mixture of which so many experts are counted. */
static double mixture(const struct ss_model *m, int experts)
{
    double n = linear(m->hidden_size, m->num_experts, m->router_linear_bias);

    if (m->router_bias)
        n += m->num_experts;
    if (m->shared_expert_ffn_hidden_size > 0)
        n += mlp(m, m->shared_expert_ffn_hidden_size, m->mlp_bias);
    if (m->shared_expert_gate)
        n += m->hidden_size;
    return n + experts * mlp(m, m->moe_ffn_hidden_size, m->expert_bias);
}

static double layer(const struct ss_model *m, int moe, int experts)
{
    int norms = (m->parallel_residual == SS_RESIDUAL_ONE_NORM ? 1 : 2) + (m->post_norms ? 2 : 0);

    return attention(m) + norms * norm(m) +
           (moe ? mixture(m, experts) : mlp(m, m->ffn_hidden_size, m->mlp_bias));
}

/* All layers, and those behind them that predict more tokens: two norms and a projection before a layer as the last one,
 * a norm behind it. */
static double layers(const struct ss_model *m, int experts, double *mtp)
{
    double n = 0, h = m->hidden_size;
    int mixtures = 0, last = 0;

    for (int i = 0; i < m->num_layers; i++) {
        last = m->num_experts > 0 && ss_layer_rule_has(&m->moe_layers, i);
        mixtures += last;
    }
    if (mixtures > 0)
        n += mixtures * layer(m, 1, experts);
    n += (m->num_layers - mixtures) * layer(m, 0, 0);
    *mtp = m->mtp_num_layers * (layer(m, last, experts) + 2 * h * h + 3 * norm(m));
    return n;
}

void ss_model_count(const struct ss_model *m, int padded_vocab, struct ss_parameter_counts *out)
{
    double h = m->hidden_size, row = ss_model_embedding_row(m), rest;

    out->input = padded_vocab * row;
    if (m->position == SS_POSITION_LEARNED)
        out->input += ((double)m->max_position_embeddings + m->extra_positions) * h;
    out->output = m->tied_embeddings ? 0 : padded_vocab * row;
    rest = out->input + out->output + (m->final_norm + m->embedding_norm) * norm(m);
    if (m->embedding_size)
        rest += 2 * h * row;
    if (m->output_bias)
        rest += padded_vocab;
    out->total = rest + layers(m, m->num_experts, &out->mtp);
    out->active = rest + layers(m, m->top_k, &out->mtp_active);
}

double ss_model_parameters(const struct ss_model *m, int padded_vocab)
{
    struct ss_parameter_counts n;
    ss_model_count(m, padded_vocab, &n);
    return n.total;
}

double ss_model_active_parameters(const struct ss_model *m, int padded_vocab)
{
    struct ss_parameter_counts n;
    ss_model_count(m, padded_vocab, &n);
    return n.active;
}
