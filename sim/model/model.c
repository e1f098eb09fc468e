/* SPDX-License-Identifier: Apache-2.0 */
#include "stepsim/model.h"

#include <limits.h>
#include <string.h>

#include "base/base.h"
#include "model/model_internal.h"

/* X(field): choices and flags, which have no value that means "not given". */
#define CHOICES(X)                                                                                           \
    X(gated_mlp)                                                                                             \
    X(tied_embeddings)                                                                                       \
    X(qkv_bias)                                                                                              \
    X(linear_bias)                                                                                           \
    X(attention_out_bias)                                                                                    \
    X(mlp_bias)                                                                                              \
    X(expert_bias)                                                                                           \
    X(router_linear_bias)                                                                                    \
    X(output_bias)                                                                                           \
    X(normalization)                                                                                         \
    X(norm_vectors)                                                                                          \
    X(embedding_norm)                                                                                        \
    X(embedding_scale)                                                                                       \
    X(logits_scale)                                                                                          \
    X(logits_softcap)                                                                                        \
    X(attention_softcap)                                                                                     \
    X(full_unturned)                                                                                         \
    X(query_scale)                                                                                           \
    X(input_jitter)                                                                                          \
    X(final_norm)                                                                                            \
    X(position)                                                                                              \
    X(qk_norm)                                                                                               \
    X(post_norms)                                                                                            \
    X(parallel_residual)                                                                                     \
    X(attention_sinks)                                                                                       \
    X(yarn)                                                                                                  \
    X(activation_clamp)                                                                                      \
    X(shared_expert_gate)                                                                                    \
    X(router_bias)

void ss_model_init(struct ss_model *m)
{
    memset(m, 0, sizeof(*m));
#define CHOICE(f) m->f = SS_MODEL_UNSET;
    CHOICES(CHOICE)
#undef CHOICE
    m->attention_dropout = m->hidden_dropout = SS_MODEL_UNSET;
}

void ss_model_choose(struct ss_model *m, const struct ss_model *other)
{
#define CHOICE(f)                                                                                            \
    if (m->f == SS_MODEL_UNSET)                                                                              \
        m->f = other->f;
    CHOICES(CHOICE)
#undef CHOICE
}

void ss_model_overlay(struct ss_model *base, const struct ss_model *given)
{
#define SIZE(f)                                                                                              \
    if (given->f)                                                                                            \
    base->f = given->f
    SIZE(num_layers);
    SIZE(hidden_size);
    SIZE(ffn_hidden_size);
    SIZE(num_attention_heads);
    SIZE(num_query_groups);
    SIZE(kv_channels);
    if (given->vocab_size) /* rows that the config adds belong to its own vocabulary */
        base->extra_vocab_size = 0;
    SIZE(vocab_size);
    SIZE(extra_vocab_size);
    SIZE(max_position_embeddings);
    SIZE(extra_positions);
    SIZE(embedding_size);
    SIZE(num_experts);
    SIZE(top_k);
    SIZE(moe_ffn_hidden_size);
    SIZE(shared_expert_ffn_hidden_size);
    SIZE(router_groups);
    SIZE(router_group_topk);
    SIZE(q_lora_rank);
    SIZE(kv_lora_rank);
    SIZE(qk_head_dim);
    SIZE(qk_pos_emb_head_dim);
    SIZE(v_head_dim);
    SIZE(sliding_window);
    SIZE(attention_chunk);
    SIZE(rotary_fraction);
    SIZE(mtp_num_layers);
#undef SIZE
    if (given->moe_layers.period || given->moe_layers.n)
        base->moe_layers = given->moe_layers;
    if (given->local_layers.period || given->local_layers.n)
        base->local_layers = given->local_layers;
#define CHOICE(f)                                                                                            \
    if (given->f != SS_MODEL_UNSET)                                                                          \
        base->f = given->f;
    CHOICES(CHOICE)
#undef CHOICE
}

int ss_layer_rule_has(const struct ss_layer_rule *rule, int layer)
{
    if (rule->n > 0)
        return layer < rule->n && (rule->bits[layer / 64] >> (layer % 64) & 1);
    return rule->period > 0 && layer >= rule->first && (layer - rule->phase) % rule->period == 0;
}

/* Experts are in every layer where nothing else is said, and as wide as the MLP. */
static void fill_experts(struct ss_model *m)
{
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

static void fill(int *choice, int value)
{
    if (*choice == SS_MODEL_UNSET)
        *choice = value;
}

/* A bias on every linear layer is on each of them. */
static void fill_biases(struct ss_model *m)
{
    int *const parts[] = {&m->qkv_bias, &m->attention_out_bias, &m->mlp_bias, &m->expert_bias};

    fill(&m->linear_bias, 1);
    for (size_t i = 0; i < SS_ARRAY_LEN(parts); i++)
        if (*parts[i] == SS_MODEL_UNSET || m->linear_bias)
            *parts[i] = m->linear_bias;
}

/* Megatron's defaults for what nobody gave. */
static void fill_defaults(struct ss_model *m)
{
    int *const off[] = {&m->qk_norm,         &m->post_norms,        &m->parallel_residual,
                        &m->attention_sinks, &m->embedding_norm,    &m->shared_expert_gate,
                        &m->router_bias,     &m->output_bias,       &m->router_linear_bias,
                        &m->gated_mlp,       &m->embedding_scale,   &m->logits_scale,
                        &m->logits_softcap,  &m->attention_softcap, &m->full_unturned,
                        &m->input_jitter,    &m->query_scale,       &m->yarn,
                        &m->activation_clamp};

    for (size_t i = 0; i < SS_ARRAY_LEN(off); i++)
        fill(off[i], 0);
    fill(&m->tied_embeddings, 1);
    fill(&m->final_norm, 1);
    fill_biases(m);
    fill(&m->normalization, SS_NORM_LAYERNORM);
    fill(&m->norm_vectors, m->normalization == SS_NORM_LAYERNORM ? 2 : 1);
    fill(&m->position, SS_POSITION_LEARNED);
    if (!m->num_query_groups)
        m->num_query_groups = m->num_attention_heads;
    if (!m->ffn_hidden_size) /* a gated MLP has three matrices: two thirds keep the parameter count */
        m->ffn_hidden_size = m->gated_mlp ? (int)(8.0 * m->hidden_size / 3 / 64) * 64 : 4 * m->hidden_size;
    fill_experts(m);
    if (m->sliding_window > 0 && m->local_layers.period == 0 && m->local_layers.n == 0)
        m->local_layers.period = 1; /* attention is local in every layer where nothing else is said */
    fill_latent(m);
}

static int check_sizes(const struct ss_model *m, struct ss_error *err)
{
    const struct {
        const char *flag;
        int value, high;
    } sizes[] = {
        {"--num-layers", m->num_layers, 100000},
        {"--hidden-size", m->hidden_size, 1 << 20},
        {"--num-attention-heads", m->num_attention_heads, 1 << 16},
        {"--vocab-size", m->vocab_size, 1 << 26},
        {"--ffn-hidden-size", m->ffn_hidden_size, 1 << 24},
        {"--num-query-groups", m->num_query_groups, 1 << 16},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(sizes); i++) {
        if (sizes[i].value > 0 && sizes[i].value <= sizes[i].high)
            continue;
        if (sizes[i].value == 0) {
            ss_fail(err, SS_ERR_CONFIG, NULL, 0, "the model has no %s", sizes[i].flag);
            return ss_hint(err, SS_ERR_CONFIG, "name a model with --model or give %s", sizes[i].flag);
        }
        ss_fail(err, SS_ERR_CONFIG, NULL, 0, "%s %d is outside 1..%d", sizes[i].flag, sizes[i].value,
                sizes[i].high);
        return ss_hint(err, SS_ERR_CONFIG, "is this the right model?");
    }
    if (m->extra_vocab_size < 0 || m->extra_vocab_size > 1 << 24) {
        ss_fail(err, SS_ERR_CONFIG, NULL, 0, "--extra-vocab-size %d is outside 0..%d", m->extra_vocab_size,
                1 << 24);
        return ss_hint(err, SS_ERR_CONFIG, "it counts rows beside --vocab-size");
    }
    return SS_OK;
}

/* Sizes of experts and latent attention: nothing is left to fill in. */
static int check_experts(const struct ss_model *m, struct ss_error *err)
{
    if (m->num_experts > 0 && m->top_k > m->num_experts) {
        ss_fail(err, SS_ERR_CONFIG, NULL, 0, "a token goes to %d experts, the model has %d", m->top_k,
                m->num_experts);
        return ss_hint(err, SS_ERR_CONFIG, "lower --moe-router-topk");
    }
    if (m->num_experts > 0 && m->router_groups > 0 && m->num_experts % m->router_groups) {
        ss_fail(err, SS_ERR_CONFIG, NULL, 0, "%d experts are not divisible by %d groups", m->num_experts,
                m->router_groups);
        return ss_hint(err, SS_ERR_CONFIG, "take a --moe-router-num-groups that divides them");
    }
    return SS_OK;
}

int ss_model_finish(struct ss_model *m, struct ss_error *err)
{
    fill_defaults(m);
    int rc = check_sizes(m, err);
    if (rc)
        return rc;
    if (!m->kv_channels) {
        if (m->hidden_size % m->num_attention_heads) {
            ss_fail(err, SS_ERR_CONFIG, NULL, 0, "hidden size %d is not divisible by %d attention heads",
                    m->hidden_size, m->num_attention_heads);
            return ss_hint(err, SS_ERR_CONFIG, "give --kv-channels if a head's size is not their quotient");
        }
        m->kv_channels = m->hidden_size / m->num_attention_heads;
    }
    if (m->kv_channels < 1 || m->kv_channels > 1 << 16) {
        ss_fail(err, SS_ERR_CONFIG, NULL, 0, "head dimension %d is outside 1..%d", m->kv_channels, 1 << 16);
        return ss_hint(err, SS_ERR_CONFIG, "--kv-channels, or the hidden size over the heads");
    }
    if (m->num_attention_heads % m->num_query_groups) {
        ss_fail(err, SS_ERR_CONFIG, NULL, 0, "%d attention heads are not divisible by %d query groups",
                m->num_attention_heads, m->num_query_groups);
        return ss_hint(err, SS_ERR_CONFIG, "take a --num-query-groups that divides the heads");
    }
    rc = check_experts(m, err);
    if (rc)
        return rc;
    if (!m->name[0])
        ss_copy(m->name, sizeof(m->name), "custom");
    return SS_OK;
}

int ss_model_padded_vocab(const struct ss_model *m, int divisible_by, int tp)
{
    int64_t multiple = (int64_t)(divisible_by > 0 ? divisible_by : 1) * (tp > 0 ? tp : 1);
    int64_t rows = (int64_t)m->vocab_size + m->extra_vocab_size;
    int64_t padded = (rows + multiple - 1) / multiple * multiple;
    return padded > INT_MAX ? INT_MAX : (int)padded;
}
