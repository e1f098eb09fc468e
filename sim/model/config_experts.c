/* SPDX-License-Identifier: Apache-2.0 */
/* The experts of a config.json, and its layers that predict more tokens. */
#include "base/base.h"
#include "model/config.h"
#include "model/model_internal.h"

/* Writes the rule as a list of the model's layers: none, or those that the rule names. */
static void write_out(struct ss_model *m, int none)
{
    struct ss_layer_rule named = m->moe_layers;

    memset(&m->moe_layers, 0, sizeof m->moe_layers);
    m->moe_layers.n = m->num_layers < SS_LAYER_RULE_MAX ? m->num_layers : SS_LAYER_RULE_MAX;
    for (int i = 0; i < m->moe_layers.n && !none; i++)
        m->moe_layers.bits[i / 64] |= (uint64_t)ss_layer_rule_has(&named, i) << (i % 64);
}

/* "moe_layers": [1, 3, ...] or "mlp_only_layers": [0, ...], numbers of the layers that have experts, or that alone have none. */
static void read_numbers(struct ss_config *c, const char *name, int value, struct ss_model *m)
{
    char key[64];
    const json_t *list = ss_config_pick(c, name, key);

    if (list && !json_is_array(list))
        ss_config_wrong(c, key, "is not a list");
    if (json_array_size(list) > 0)
        write_out(m, value);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *v = json_array_get(list, i);
        json_int_t n = json_integer_value(v);

        if (!json_is_integer(v) || n < 0 || n >= m->num_layers || n >= SS_LAYER_RULE_MAX)
            ss_config_wrong(c, key, "is not a list of layers' numbers");
        else if (value)
            m->moe_layers.bits[n / 64] |= 1ull << (n % 64);
        else
            m->moe_layers.bits[n / 64] &= ~(1ull << (n % 64));
    }
}

/* "mlp_layer_types": ["dense", "sparse", ...] or "moe_layer_freq": [0, 1, ...]. */
static int is_mixture(struct ss_config *c, const char *key, const json_t *value)
{
    const char *word = json_string_value(value);

    if (json_is_integer(value) && (json_integer_value(value) == 0 || json_integer_value(value) == 1))
        return (int)json_integer_value(value);
    if (word && (!strcmp(word, "dense") || !strcmp(word, "sparse")))
        return word[0] == 's';
    ss_config_wrong(c, key, "holds what is neither dense nor sparse");
    return 0;
}

/* ERNIE has experts up to a last layer; -1 is the model's last. */
static void read_last(struct ss_config *c, struct ss_model *m)
{
    char key[64];
    const json_t *v = ss_config_pick(c, "moe_layer_end_index", key);
    json_int_t last = json_integer_value(v);

    if (!v || last == -1)
        return;
    if (!json_is_integer(v) || last < 0)
        ss_config_wrong(c, key, "is not the number of a layer, nor -1");
    write_out(m, 0);
    for (int i = 0; i < m->moe_layers.n; i++)
        if (i > last)
            m->moe_layers.bits[i / 64] &= ~(1ull << (i % 64));
}

/* Reads which layers have experts: every n-th from a first on, less some, or those of a list. */
static void read_layers(struct ss_config *c, struct ss_model *m)
{
    struct ss_layer_rule *rule = &m->moe_layers;
    int step = 0, first = 0, offset = -1;
    char key[64], other[64];
    const json_t *list = ss_config_pick(c, "mlp_layer_types moe_layer_freq", key);

    if (json_array_size(list) > 0) { /* it beats what the family, or a file of both kinds, says of layers */
        ss_config_pick(c,
                       "first_k_dense_replace moe_layer_start_index moe_layer_end_index moe_layer_interval "
                       "decoder_sparse_step interleave_moe_layer_step moe_layers mlp_only_layers",
                       other);
        ss_config_layers(c, key, list, m->num_layers, is_mixture, rule);
        return;
    }
    rule->period = 1;
    if (!json_is_array(list))
        ss_config_positive(c, "moe_layer_freq", 100000, &rule->period);
    ss_config_size(c, "first_k_dense_replace moe_layer_start_index num_dense_layers", 0, 100000, &first);
    ss_config_positive(c,
                       "decoder_sparse_step interleave_moe_layer_step moe_layer_interval expert_layer_period",
                       100000, &step);
    ss_config_size(c, "expert_layer_offset", 0, 100000, &offset);
    rule->first = first;
    if (step > 1) {
        rule->period = step;
        rule->phase = offset >= 0 ? offset % step : step - 1;
        rule->first = first > rule->phase ? first : rule->phase;
    }
    read_last(c, m);
    read_numbers(c, "moe_layers", 1, m);
    read_numbers(c, "mlp_only_layers", 0, m);
}

/* Experts beside the routed ones: so many of a routed one's width, or one of its own width. */
static void read_shared(struct ss_config *c, struct ss_model *m)
{
    int n = 0, width = m->moe_ffn_hidden_size ? m->moe_ffn_hidden_size : m->ffn_hidden_size;

    ss_config_size(c, "n_shared_experts num_shared_experts num_shared_expert moe_num_shared_experts", 0, 1024,
                   &n);
    if ((int64_t)n * width > 1 << 24) {
        ss_config_wrong(c, "n_shared_experts", "makes shared experts wider than 2^24");
        return;
    }
    m->shared_expert_ffn_hidden_size = n * width;
    ss_config_size(c,
                   "shared_expert_intermediate_size shared_intermediate_size "
                   "moe_shared_expert_intermediate_size",
                   0, 1 << 24, &m->shared_expert_ffn_hidden_size);
}

/* A token's experts are in so many of the groups, where the way of choosing them looks at groups. */
static void read_groups(struct ss_config *c, struct ss_model *m)
{
    char key[64];
    const json_t *method = ss_config_pick(c, "topk_method", key);

    if (m->router_groups < 2 || (json_is_string(method) && !strcmp(json_string_value(method), "greedy")))
        m->router_groups = m->router_group_topk = 0;
}

void ss_config_need_experts(struct ss_config *c)
{
    char key[64], width[64];
    const json_t *n = ss_config_pick(c, "num_experts n_routed_experts moe_num_experts", key);
    int by_default = strstr(c->family->unsaid, "moe_intermediate_size") != NULL;
    int own = strcmp(key, "num_experts") ? 1 : !strncmp(c->family->type, "bailing", 7);

    if (json_integer_value(n) > 0 && (by_default ? !c->part : own) &&
        !ss_config_pick(c, "moe_intermediate_size", width) && !c->missing)
        c->missing = "moe_intermediate_size";
}

void ss_config_experts(struct ss_config *c, struct ss_model *m)
{
    int dense = 0, used = 1;

    ss_config_size(c, "intermediate_size_mlp dense_intermediate_size", 0, 1 << 24, &dense);
    if (dense > 0) { /* Llama 4 has widths for both, elsewhere one serves where only the other is given */
        m->moe_ffn_hidden_size = m->ffn_hidden_size;
        m->ffn_hidden_size = dense;
    }
    read_shared(c, m);
    read_groups(c, m);
    ss_config_bool(c, "use_mtp", &used); /* a switch may turn multi-token prediction off */
    ss_config_size(c, "num_nextn_predict_layers num_mtp_modules mtp_num_hidden_layers", 0, 64,
                   &m->mtp_num_layers);
    if (!used)
        m->mtp_num_layers = 0;
    if (!(c->family->traits & SS_HALF_LAYERS))
        read_layers(c, m);
    if (m->num_experts > 0 && m->top_k == 0 && !c->missing)
        c->missing = "num_experts_per_tok";
    if (m->num_experts == 0) { /* keys of experts then mean nothing */
        m->top_k = m->moe_ffn_hidden_size = m->shared_expert_ffn_hidden_size = m->moe_latent_size = 0;
        m->router_groups = m->router_group_topk = 0;
        m->router_bias = SS_MODEL_UNSET;
        if (!(c->family->traits & SS_HALF_LAYERS)) /* a pattern's experts are missed */
            memset(&m->moe_layers, 0, sizeof m->moe_layers);
    }
}
