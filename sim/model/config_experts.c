/* SPDX-License-Identifier: Apache-2.0 */
/* The experts of a config.json, and its layers that predict more tokens. */
#include <string.h>

#include "base/base.h"
#include "model/config.h"

/* "moe_layers": [1, 3, ...] or "mlp_only_layers": [0, ...], the layers' numbers. */
static int read_numbers(struct ss_config *c, const char *key, const json_t *list, int value,
                        struct ss_model *m)
{
    struct ss_layer_rule *rule = &m->moe_layers;

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *v = json_array_get(list, i);
        json_int_t n = json_integer_value(v);

        if (!json_is_integer(v) || n < 0 || n >= m->num_layers || n >= SS_LAYER_RULE_MAX)
            return ss_config_wrong(c, key, "is not a list of layers' numbers");
        if (value)
            rule->bits[n / 64] |= 1ull << (n % 64);
        else
            rule->bits[n / 64] &= ~(1ull << (n % 64));
    }
    return SS_OK;
}

/* Makes the rule a list of the model's layers, none of them or those that the rule names. */
static void write_out(struct ss_model *m, int none)
{
    struct ss_layer_rule named = m->moe_layers;

    memset(&m->moe_layers, 0, sizeof m->moe_layers);
    m->moe_layers.n = m->num_layers < SS_LAYER_RULE_MAX ? m->num_layers : SS_LAYER_RULE_MAX;
    for (int i = 0; i < m->moe_layers.n && !none; i++)
        m->moe_layers.bits[i / 64] |= (uint64_t)ss_layer_rule_has(&named, i) << (i % 64);
}

/* "mlp_layer_types": ["dense", "sparse", ...] or "moe_layer_freq": [0, 1, ...]. */
static int is_mixture(struct ss_config *c, const char *key, const json_t *value)
{
    const char *word = json_string_value(value);

    if (json_is_integer(value) && (json_integer_value(value) == 0 || json_integer_value(value) == 1))
        return (int)json_integer_value(value);
    if (word && (!strcmp(word, "dense") || !strcmp(word, "sparse")))
        return word[0] == 's';
    return ss_config_wrong(c, key, "holds what is neither dense nor sparse");
}

/* ERNIE has experts up to a last layer; -1 is the model's last. */
static int read_last(struct ss_config *c, struct ss_model *m)
{
    char key[64];
    const json_t *v = ss_config_pick(c, "moe_layer_end_index", key);

    if (!v || json_integer_value(v) == -1)
        return SS_OK;
    if (!json_is_integer(v) || json_integer_value(v) < 0)
        return ss_config_wrong(c, key, "is not the number of a layer, nor -1");
    write_out(m, 0);
    for (json_int_t i = json_integer_value(v) + 1; i < m->moe_layers.n; i++)
        m->moe_layers.bits[i / 64] &= ~(1ull << (i % 64));
    return SS_OK;
}

/* Layers with experts: every n-th from a first on, less some, or those of a list. */
static int read_layers(struct ss_config *c, struct ss_model *m)
{
    struct ss_layer_rule *rule = &m->moe_layers;
    int step = 0, first = 0, rc = SS_OK;
    char key[64];
    const json_t *list = ss_config_pick(c, "mlp_layer_types moe_layer_freq", key);

    if (json_array_size(list) > 0) { /* it beats what the family, or a file of both kinds, says of layers */
        char other[64];
        ss_config_pick(c,
                       "first_k_dense_replace moe_layer_start_index moe_layer_end_index moe_layer_interval "
                       "decoder_sparse_step interleave_moe_layer_step moe_layers mlp_only_layers",
                       other);
        return ss_config_layers(c, key, list, m->num_layers, is_mixture, rule);
    }
    rule->period = 1;
    if (!json_is_array(list))
        rc = ss_config_positive(c, "moe_layer_freq", 100000, &rule->period);
    if (!rc)
        rc = ss_config_size(c, "first_k_dense_replace moe_layer_start_index", 0, 100000, &first);
    if (!rc)
        rc = ss_config_positive(c, "decoder_sparse_step interleave_moe_layer_step moe_layer_interval", 100000,
                                &step);
    rule->first = first;
    if (step > 1) {
        rule->period = step;
        rule->phase = step - 1;
        rule->first = first > rule->phase ? first : rule->phase;
    }
    if (!rc)
        rc = read_last(c, m);
    list = ss_config_pick(c, "moe_layers", key);
    if (!rc && list && !json_is_array(list))
        return ss_config_wrong(c, key, "is not a list");
    if (!rc && json_array_size(list) > 0) {
        write_out(m, 1);
        rc = read_numbers(c, key, list, 1, m);
    }
    list = ss_config_pick(c, "mlp_only_layers", key);
    if (!rc && list && !json_is_array(list))
        return ss_config_wrong(c, key, "is not a list");
    if (!rc && json_array_size(list) > 0) {
        write_out(m, 0);
        rc = read_numbers(c, key, list, 0, m);
    }
    return rc;
}

/* Experts beside the routed ones: so many of a routed one's width, or one of its own width. */
static int read_shared(struct ss_config *c, struct ss_model *m)
{
    int n = 0,
        rc = ss_config_size(c, "n_shared_experts num_shared_experts num_shared_expert moe_num_shared_experts",
                            0, 1024, &n);
    int width = m->moe_ffn_hidden_size ? m->moe_ffn_hidden_size : m->ffn_hidden_size;

    if (rc)
        return rc;
    if ((int64_t)n * width > 1 << 24)
        return ss_config_wrong(c, "n_shared_experts", "makes shared experts wider than 2^24");
    m->shared_expert_ffn_hidden_size = n * width;
    return ss_config_size(c, "shared_expert_intermediate_size shared_intermediate_size", 0, 1 << 24,
                          &m->shared_expert_ffn_hidden_size);
}

/* A token's experts are in so many of the groups, where the way of choosing them looks at groups. */
static void read_groups(struct ss_config *c, struct ss_model *m)
{
    char key[64];
    const json_t *method = ss_config_pick(c, "topk_method", key);

    if (m->router_groups < 2 || (json_is_string(method) && !strcmp(json_string_value(method), "greedy")))
        m->router_groups = m->router_group_topk = 0;
}

/* Llama 4 has widths for both, elsewhere one serves where only the other is given. */
static int read_widths(struct ss_config *c, struct ss_model *m)
{
    int dense = 0, rc = ss_config_size(c, "intermediate_size_mlp", 0, 1 << 24, &dense);

    if (!rc && dense > 0) {
        m->moe_ffn_hidden_size = m->ffn_hidden_size;
        m->ffn_hidden_size = dense;
    }
    return rc;
}

/* Layers of multi-token prediction, where a switch does not turn them off. */
static int read_mtp(struct ss_config *c, struct ss_model *m)
{
    int used = 1, rc = ss_config_bool(c, "use_mtp", &used);

    if (!rc)
        rc = ss_config_size(c, "num_nextn_predict_layers num_mtp_modules", 0, 64, &m->mtp_num_layers);
    if (!used)
        m->mtp_num_layers = 0;
    return rc;
}

int ss_config_experts(struct ss_config *c, struct ss_model *m)
{
    int rc = read_widths(c, m);

    if (!rc)
        rc = read_shared(c, m);
    read_groups(c, m);
    if (!rc)
        rc = read_mtp(c, m);
    if (!rc)
        rc = read_layers(c, m);
    if (!rc && m->num_experts == 0) { /* what is said of experts is of none */
        m->top_k = m->moe_ffn_hidden_size = m->shared_expert_ffn_hidden_size = 0;
        m->router_groups = m->router_group_topk = 0;
        memset(&m->moe_layers, 0, sizeof m->moe_layers);
    }
    return rc;
}
