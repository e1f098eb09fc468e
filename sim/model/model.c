/* SPDX-License-Identifier: Apache-2.0 */
#include "stepsim/model.h"

#include <limits.h>
#include <string.h>

#include "base/base.h"
#include "model/model_internal.h"

void ss_model_init(struct ss_model *m)
{
    memset(m, 0, sizeof(*m));
    m->gated_mlp = m->tied_embeddings = m->qkv_bias = m->linear_bias = SS_MODEL_UNSET;
    m->normalization = m->position = SS_MODEL_UNSET;
    m->qk_norm = m->post_norms = m->parallel_residual = m->attention_sinks = SS_MODEL_UNSET;
    m->shared_expert_gate = m->router_bias = SS_MODEL_UNSET;
    m->attention_dropout = m->hidden_dropout = SS_MODEL_UNSET;
}

#define CHOICES(X)                                                                                           \
    X(gated_mlp)                                                                                             \
    X(tied_embeddings)                                                                                       \
    X(qkv_bias)                                                                                              \
    X(linear_bias)                                                                                           \
    X(normalization)                                                                                         \
    X(position)                                                                                              \
    X(qk_norm)                                                                                               \
    X(post_norms)                                                                                            \
    X(parallel_residual)                                                                                     \
    X(attention_sinks)                                                                                       \
    X(shared_expert_gate)                                                                                    \
    X(router_bias)

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

/* Megatron's defaults for what nobody gave. */
static void fill_defaults(struct ss_model *m)
{
    int *const off[] = {&m->qk_norm,         &m->post_norms,         &m->parallel_residual,
                        &m->attention_sinks, &m->shared_expert_gate, &m->router_bias};
    for (size_t i = 0; i < SS_ARRAY_LEN(off); i++)
        if (*off[i] == SS_MODEL_UNSET)
            *off[i] = 0;
    if (m->gated_mlp == SS_MODEL_UNSET)
        m->gated_mlp = 0;
    if (m->tied_embeddings == SS_MODEL_UNSET)
        m->tied_embeddings = 1;
    if (m->linear_bias == SS_MODEL_UNSET)
        m->linear_bias = 1;
    if (m->qkv_bias == SS_MODEL_UNSET || m->linear_bias)
        m->qkv_bias = m->linear_bias;
    if (m->normalization == SS_MODEL_UNSET)
        m->normalization = SS_NORM_LAYERNORM;
    if (m->position == SS_MODEL_UNSET)
        m->position = SS_POSITION_LEARNED;
    if (!m->num_query_groups)
        m->num_query_groups = m->num_attention_heads;
    if (!m->ffn_hidden_size) /* a gated MLP has three matrices: two thirds keep the parameter count */
        m->ffn_hidden_size = m->gated_mlp ? (int)(8.0 * m->hidden_size / 3 / 64) * 64 : 4 * m->hidden_size;
    fill_experts(m);
    if (m->sliding_window > 0 && m->local_layers.period == 0 && m->local_layers.n == 0)
        m->local_layers.period = 1; /* attention is local in every layer where nothing else is said */
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

/* Weights and biases of one layer. */
static double layer_parameters(const struct ss_model *m)
{
    double h = m->hidden_size, ffn = m->ffn_hidden_size;
    double query = (double)m->num_attention_heads * m->kv_channels;
    double qkv = query + 2.0 * m->num_query_groups * m->kv_channels;
    double fc1 = m->gated_mlp ? 2 * ffn : ffn;
    double norms = 2 * h * (m->normalization == SS_NORM_LAYERNORM ? 2 : 1);
    double n = h * qkv + query * h + h * fc1 + ffn * h + norms;

    if (m->qkv_bias || m->linear_bias)
        n += qkv;
    if (m->linear_bias)
        n += h + fc1 + h;
    return n;
}

double ss_model_parameters(const struct ss_model *m, int padded_vocab)
{
    double h = m->hidden_size;
    double n = (double)padded_vocab * h * (m->tied_embeddings ? 1 : 2);

    if (m->position == SS_POSITION_LEARNED)
        n += (double)m->max_position_embeddings * h;
    n += h * (m->normalization == SS_NORM_LAYERNORM ? 2 : 1); /* final norm */
    return n + m->num_layers * layer_parameters(m);
}
