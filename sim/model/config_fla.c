/* SPDX-License-Identifier: Apache-2.0 */
/* Models of flash-linear-attention (fla/models at bc3b101) in a config.json: RWKV-7, RetNet, and attention over blocks of keys. */
#include "base/base.h"
#include "model/config.h"

/* Returns a number that need not be whole ("expand_v": 2.0). */
static double number(struct ss_config *c, const char *name, double otherwise)
{
    char key[64];
    const json_t *v = ss_config_pick(c, name, key);
    double n = json_number_value(v);

    if (v && (!json_is_number(v) || !(n > 0 && n <= 64)))
        ss_config_wrong(c, key, "is not a number in 0..64");
    return v && n > 0 && n <= 64 ? n : otherwise;
}

void ss_config_fla_width(struct ss_config *c, struct ss_model *m)
{
    double width = (int)(m->hidden_size * number(c, "hidden_ratio", 0) * (m->gated_mlp ? 2. / 3 : 1));
    int multiple = m->gated_mlp ? 256 : 32;

    if (width > 0)
        m->ffn_hidden_size = (int)((width + multiple - 1) / multiple) * multiple;
}

/* What changes the model and no layer here has. */
static void read_foreign(struct ss_config *c)
{
    static const char *const parts[] = {"attn", "attnres_block_size", "feature_map"};
    char key[64];

    for (size_t i = 0; i < SS_ARRAY_LEN(parts); i++)
        if (ss_config_pick(c, parts[i], key))
            ss_config_unknown(c, key, "\"%s\" is not modelled in this family", parts[i],
                              "leave it out, or null");
}

static void read_rwkv7(struct ss_config *c, struct ss_model *m)
{
    int width = m->hidden_size, bias = 1, head = 64;

    m->rwkv7.period = 1;
    ss_config_positive(c, "head_dim", 1 << 16, &head);
    if (m->hidden_size % head)
        ss_config_wrong(c, "head_dim", "does not divide hidden_size");
    m->num_attention_heads = m->hidden_size / head > 0 ? m->hidden_size / head : 1;
    ss_config_size(c, "value_dim", 0, 1 << 20, &width);
    if (width != m->hidden_size)
        ss_config_wrong(c, "value_dim", "differs from hidden_size: not modelled");
    ss_config_bool(c, "norm_first", &m->embedding_norm);
    ss_config_bool(c, "norm_bias", &bias);
    m->norm_vectors = bias ? 2 : 1;
}

static void read_retention(struct ss_config *c, struct ss_model *m)
{
    int heads = m->num_attention_heads > 0 ? m->num_attention_heads : 1, conv = 0, gate = 1;

    m->retention.period = 1;
    m->kv_channels = (int)(m->hidden_size * number(c, "expand_k", 1)) / heads;
    m->linear_value_head_dim = (int)(m->hidden_size * number(c, "expand_v", 2)) / heads;
    m->num_query_groups = heads;
    ss_config_bool(c, "use_short_conv", &conv);
    ss_config_bool(c, "use_output_gate", &gate);
    if (conv || !gate)
        ss_config_wrong(c, conv ? "use_short_conv" : "use_output_gate", "is not modelled in this family");
}

static void read_nsa(struct ss_config *c, struct ss_model *m)
{
    m->nsa.period = 1;
    ss_config_positive(c, "block_size", 1 << 20, &m->sparse_block);
    ss_config_positive(c, "block_counts", 1 << 16, &m->sparse_blocks);
    ss_config_positive(c, "window_size", 1 << 30, &m->sparse_window);
}

/* FlashMoBA is another kernel; a gate of the output comes by a low rank. */
static void read_moba(struct ss_config *c, struct ss_model *m)
{
    static const char *const others[] = {"use_flash_moba", "use_output_gate", "qk_norm"};
    int groups = m->num_attention_heads;

    m->moba.period = 1;
    ss_config_positive(c, "moba_chunk_size", 1 << 20, &m->sparse_block);
    ss_config_positive(c, "moba_topk", 1 << 16, &m->sparse_blocks);
    ss_config_size(c, "num_kv_heads", 0, 1 << 16, &groups);
    if (groups != m->num_attention_heads)
        ss_config_wrong(c, "num_kv_heads",
                        "differs from num_heads: fla's mixture of block attention has no groups");
    for (size_t i = 0; i < SS_ARRAY_LEN(others); i++) {
        int on = 0;
        ss_config_bool(c, others[i], &on);
        if (on)
            ss_config_wrong(c, others[i], "is not modelled in this family");
    }
}

void ss_config_fla(struct ss_config *c, struct ss_model *m, const struct ss_layer_rule *mixer)
{
    ss_config_positive(c, "num_heads", 1 << 16, &m->num_attention_heads);
    read_foreign(c);
    if (mixer == &m->rwkv7)
        read_rwkv7(c, m);
    else if (mixer == &m->retention)
        read_retention(c, m);
    else if (mixer == &m->nsa)
        read_nsa(c, m);
    else
        read_moba(c, m);
}
