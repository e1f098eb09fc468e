/* SPDX-License-Identifier: Apache-2.0 */
/* The shape, the norms and biases, and the attention of a config.json. */
#include "base/base.h"
#include "model/config.h"

/* Which functions are known. Whether the MLP is gated is the family's: its gate and up projections stay when the
 * function between them is another (a Llama with gelu is GEGLU). Two names, not Hugging Face's, say it themselves. */
static const struct {
    const char *name;
    int gated; /* -1: as the family says */
} activations[] = {{"silu", -1},     {"swish", -1},     {"gelu", -1},
                   {"gelu_new", -1}, {"gelu_fast", -1}, {"gelu_pytorch_tanh", -1},
                   {"relu", -1},     {"relu2", -1},     {"sqrelu", -1},
                   {"xielu", -1},    {"situ", -1},      {"swigluoai", 1},
                   {"swiglu", 1},    {"geglu", 1}};

static void read_activation(struct ss_config *c, struct ss_model *m)
{
    char key[64], list[160] = "known ones:";
    const json_t *v = ss_config_pick(
        c, "hidden_activation hidden_act mlp_hidden_act activation_function activation ffn_act_fn", key);

    if (json_is_object(v)) /* {"name": "gelu", "approximate": "none"} */
        v = json_object_get(v, "name");
    else if (!v)
        return;
    if (!json_is_string(v)) {
        ss_config_wrong(c, key, "is not a text");
        return;
    }
    for (size_t i = 0; i < SS_ARRAY_LEN(activations); i++) {
        if (!strcmp(json_string_value(v), activations[i].name)) {
            if (activations[i].gated >= 0)
                m->gated_mlp = activations[i].gated;
            return;
        }
    }
    for (size_t i = 0, n = strlen(list); i < SS_ARRAY_LEN(activations) && n < sizeof list; i++)
        n += (size_t)snprintf(list + n, sizeof list - n, "%s %s", i ? "," : "", activations[i].name);
    ss_config_unknown(c, key, "activation \"%s\" is not known", json_string_value(v), list);
}

/* Reads a word of the config that says which kind of a part the model has: its index in `known`, -1 where the
 * config has none. */
static int read_kind(struct ss_config *c, const char *name, const char *const *known, int n)
{
    char key[64], hint[64], what[128];
    const json_t *v = ss_config_pick(c, name, key);
    const char *word = json_string_value(v);
    int kind = 0;

    while (word && kind < n && strcmp(word, known[kind]) != 0)
        kind++;
    if (word && kind < n)
        return kind;
    snprintf(hint, sizeof hint, "it may be %s", known[0]);
    snprintf(what, sizeof what, "\"%s\": \"%%s\" is not known", key);
    if (word)
        ss_config_unknown(c, key, what, word, hint);
    else if (v)
        ss_config_wrong(c, key, "is not a text");
    return -1;
}

/* MPT names the kinds of its MLP, its norms and its heads of keys. */
static void read_mpt(struct ss_config *c, struct ss_model *m)
{
    static const char *const mlps[] = {"mptmlp", "te_ln_mlp", "mptglu"};
    static const char *const norms[] = {"low_precision_layernorm", "layernorm", "triton_layernorm",
                                        "low_precision_rmsnorm",   "rmsnorm",   "triton_rmsnorm"};
    static const char *const heads[] = {"multihead_attention", "grouped_query_attention",
                                        "multiquery_attention"};
    int mlp = read_kind(c, "ffn_type", mlps, SS_ARRAY_LEN(mlps));
    int norm = read_kind(c, "norm_type", norms, SS_ARRAY_LEN(norms));
    int head = read_kind(c, "attn_type", heads, SS_ARRAY_LEN(heads));

    if (mlp == 2)
        m->gated_mlp = 1;
    if (norm >= 3)
        m->normalization = SS_NORM_RMSNORM;
    if (head == 2)
        m->num_query_groups = 1;
}

/* Falcon's heads of keys: all query heads', one, or as many as it says. */
static void read_groups(struct ss_config *c, struct ss_model *m)
{
    const int all = m->num_query_groups;
    int multi_query = 0, grouped = 1, shared = 1;

    ss_config_bool(c, "multi_query", &multi_query);
    if (multi_query)
        ss_config_bool(c, "new_decoder_architecture", &grouped);
    if (multi_query && !(grouped && json_object_get(c->root, "new_decoder_architecture")))
        m->num_query_groups = 1;
    else
        ss_config_positive(c, "num_key_value_heads num_kv_heads n_head_kv kv_n_heads multi_query_group_num",
                           1 << 16, &m->num_query_groups);
    ss_config_bool(c, "multi_query_attention", &shared); /* ChatGLM's switch of the last key */
    if (!shared)
        m->num_query_groups = all;
}

void ss_config_shape(struct ss_config *c, struct ss_model *m)
{
    int ratio = 0;

    read_activation(c, m);
    read_groups(c, m);
    if (!(c->family->traits & SS_LATENT))
        ss_config_positive(c, "head_dim attention_head_dim kv_channels", 1 << 16, &m->kv_channels);
    ss_config_size(c, "max_position_embeddings n_positions max_seq_len", m->position == SS_POSITION_LEARNED,
                   1 << 30, &m->max_position_embeddings);
    if (m->embedding_size == m->hidden_size)
        m->embedding_size = 0;
    ss_config_size(c, "expansion_ratio", 0, 64, &ratio);
    if (ratio > 0)
        m->ffn_hidden_size = ratio * m->hidden_size;
    ss_config_fla_width(c, m);
    /* Families without a gate have a rule for it: 4 h. */
    ss_config_size(c, "intermediate_size n_inner ffn_dim ffn_hidden_size",
                   m->gated_mlp == 1 && !m->ffn_hidden_size, 1 << 24, &m->ffn_hidden_size);
    if (!strcmp(c->family->type, "qwen"))
        m->ffn_hidden_size /= 2; /* gate and up together */
}

/* Reads the kind of the norms, and where they stand. */
static void read_norms(struct ss_config *c, struct ss_model *m)
{
    char key[64];
    int affine = 1, side = -1, decoder = 0, norms = 2, removed = 0;

    if (c->family->traits & SS_NORM_KEPT)
        ss_config_pick(c, "rms_norm_eps layer_norm_epsilon layer_norm_eps", key);
    else if (ss_config_pick(c, "rms_norm_eps", key))
        m->normalization = SS_NORM_RMSNORM;
    else if (ss_config_pick(c, "layer_norm_epsilon layer_norm_eps", key))
        m->normalization = SS_NORM_LAYERNORM;
    ss_config_bool(c, "layer_norm_elementwise_affine", &affine);
    if (!affine)
        m->norm_vectors = 0;
    ss_config_bool(c, "do_layer_norm_before", &m->final_norm);
    ss_config_bool(c, "_remove_final_layer_norm", &removed);
    if (removed)
        m->final_norm = 0;
    ss_config_bool(c, "use_parallel_residual parallel_attn", &side);
    ss_config_bool(c, "new_decoder_architecture", &decoder);
    ss_config_size(c, "num_ln_in_parallel_attn", 0, 2, &norms);
    if (side >= 0) /* Falcon's own norms an attention and MLP came with its new decoder */
        m->parallel_residual = !side && !decoder ? SS_RESIDUAL_SERIAL
                               : (!strcmp(c->family->type, "falcon") && (!decoder || norms < 2)) ||
                                       !strcmp(c->family->type, "stablelm")
                                   ? SS_RESIDUAL_ONE_NORM
                                   : SS_RESIDUAL_TWO_NORMS;
}

/* Reads the biases: one switch for all linear layers, one for those of attention, one for those of the
 * MLP. */
static void read_biases(struct ss_config *c, struct ss_model *m)
{
    int all = -1, none = -1, attention = -1;

    ss_config_bool(c, "bias enable_bias use_bias", &all);
    ss_config_bool(c, "no_bias", &none);
    if (none >= 0) {
        all = !none;
        m->norm_vectors = none ? 1 : m->norm_vectors;
    }
    if (all >= 0)
        m->linear_bias = m->qkv_bias = all;
    ss_config_bool(c, "attention_bias qkv_bias use_qkv_bias add_qkv_bias", &attention);
    if (attention == 0 && m->linear_bias == 1) { /* the MLP keeps its own */
        m->linear_bias = 0;
        m->mlp_bias = 1;
    }
    if (attention >= 0)
        m->qkv_bias = attention;
    if (attention >= 0 && !(c->family->traits & SS_QKV_ONLY))
        m->attention_out_bias = attention;
    ss_config_bool(c, "attention_out_bias", &m->attention_out_bias);
    ss_config_bool(c, "mlp_bias", &m->mlp_bias);
}

/* "rope" or "nope", of families that have both. */
static void read_kind_of_positions(struct ss_config *c, struct ss_model *m)
{
    const char *word = json_string_value(json_object_get(c->root, "position_embedding_type"));
    char key[64];

    if (word && (!strcmp(word, "rope") || !strcmp(word, "nope"))) {
        m->position = word[0] == 'r' ? SS_POSITION_ROPE : SS_POSITION_NONE;
        ss_config_pick(c, "position_embedding_type", key);
    }
}

static void read_positions(struct ss_config *c, struct ss_model *m)
{
    int alibi = 0, learned = 1, dim = 0;
    char key[64];

    read_kind_of_positions(c, m);

    ss_config_bool(c, "alibi", &alibi);
    ss_config_bool(c, "learned_pos_emb", &learned);
    if (alibi)
        m->position = SS_POSITION_ALIBI;
    else if (!learned && m->position == SS_POSITION_LEARNED)
        m->position = SS_POSITION_NONE;
    ss_config_size(c, "rotary_dim", 0, 1 << 16, &dim);
    if (dim > 0) {
        double d = m->kv_channels ? m->kv_channels : (double)m->hidden_size / m->num_attention_heads;
        m->rotary_fraction = dim < d ? dim / d : 1;
    }
    if (m->rotary_fraction > 0 && m->rotary_fraction < 1 && !(c->family->traits & SS_PART_TURNED) &&
        ss_config_pick(c, "partial_rotary_factor rotary_pct rotary_dim", key))
        ss_config_not_priced(m, key); /* the family turns whole heads */
}

static void read_latent(struct ss_config *c, struct ss_model *m)
{
    int unturned = 0;

    ss_config_size(c, "kv_lora_rank", 1, 1 << 20, &m->kv_lora_rank);
    ss_config_size(c, "q_lora_rank", 0, 1 << 20, &m->q_lora_rank);
    ss_config_size(c, "qk_nope_head_dim", 1, 1 << 16, &m->qk_head_dim);
    ss_config_size(c, "qk_rope_head_dim", 1, 1 << 16, &m->qk_pos_emb_head_dim);
    ss_config_size(c, "v_head_dim", 1, 1 << 16, &m->v_head_dim);
    ss_config_bool(c, "mla_use_nope", &unturned);
    if (unturned)
        m->full_unturned = 2;
}

/* A layer that attends locally; kinds of layers that are not attention are another architecture. */
static int is_local(struct ss_config *c, const char *key, const json_t *value)
{
    const char *word = json_string_value(value);

    if (json_is_integer(value) && !strcmp(key, "no_rope_layers"))
        return json_integer_value(value) != 0;
    if (!word)
        ss_config_wrong(c, key, "holds what is no kind of a layer");
    else if (!strcmp(word, "sliding_attention") || !strcmp(word, "chunked_attention"))
        return 1;
    else if (strcmp(word, "full_attention") != 0 && strcmp(word, "attention") != 0 &&
             !(json_object_get(c->root, "linear_mixer") && ss_config_is_linear(word)))
        ss_config_unknown(c, key, "layers of \"%s\" are not modelled", word,
                          "known ones: full_attention, sliding_attention, chunked_attention");
    return 0;
}

/* "sliding_window_pattern": 4, or as EXAONE writes it "LLLG", with its last layer always global: all but every n-th. */
static void read_pattern(struct ss_config *c, struct ss_model *m)
{
    struct ss_layer_rule *local = &m->local_layers;
    int pattern = 0;
    char key[64];
    const json_t *v = ss_config_pick(c, "sliding_window_pattern no_rope_layer_interval", key);
    const char *word = json_string_value(v);

    if (!word)
        ss_config_size(c, "sliding_window_pattern no_rope_layer_interval", 0, 1 << 16, &pattern);
    else if (!*word || word[strspn(word, "LG")])
        ss_config_wrong(c, key, "is no text of L and G, a layer each");
    if (c->err->code || (!word && pattern <= 1) || m->num_layers > SS_LAYER_RULE_MAX)
        return;
    local->n = m->num_layers;
    for (int i = 0; i < local->n; i++) {
        int is = word ? word[(size_t)i % strlen(word)] == 'L' && i + 1 < local->n : (i + 1) % pattern != 0;
        local->bits[i / 64] |= (uint64_t)is << (i % 64);
    }
}

/* Which layers attend locally: a list, all but every n-th, every other, or all from one on. */
static void read_local_layers(struct ss_config *c, struct ss_model *m)
{
    struct ss_layer_rule *local = &m->local_layers;
    int first = 0, switched = -1;
    char key[64];
    const json_t *list = ss_config_pick(c, "no_rope_layers layer_types", key);

    ss_config_bool(c, "use_sliding_window", &switched);
    if (switched == 1)
        ss_config_size(c, "max_window_layers", 0, 100000, &first);
    if (list && !json_is_array(list))
        ss_config_wrong(c, key, "is not a list");
    local->period = c->family->traits & SS_EVERY_OTHER ? 2 : 1;
    local->first = first;
    read_pattern(c, m);
    if (json_array_size(list) > 0)
        ss_config_layers(c, key, list, m->num_layers, is_local, local);
}

/* Parts that a config may ask for, and no layer has. */
static void read_foreign_attention(struct ss_config *c)
{
    int shared = 0;
    char key[64];
    const json_t *kinds = ss_config_pick(c, "attn_type_list", key);

    ss_config_bool(c, "use_cla", &shared);
    if (shared)
        ss_config_wrong(c, "use_cla", "asks for keys and values that layers share: not modelled");
    for (size_t i = 0; i < json_array_size(kinds) && !json_object_get(c->root, "linear_mixer"); i++)
        if (json_integer_value(json_array_get(kinds, i)) != 1)
            ss_config_wrong(c, key, "has layers of lightning attention: not modelled");
}

/* Qwen2 names a window even where it does not use it. */
static void read_window(struct ss_config *c, struct ss_model *m)
{
    char key[64];
    int used = 1;

    ss_config_bool(c, "use_sliding_window", &used);
    read_foreign_attention(c);
    read_local_layers(c, m);
    if (!used)
        m->sliding_window = 0;
    const json_t *turned = ss_config_pick(c, "no_rope_layers no_rope_layer_interval", key);
    if (turned && m->full_unturned > 0 && m->sliding_window > 0)
        ss_config_wrong(c, "sliding_window", "beside layers without a rotary embedding is not modelled");
    if (m->sliding_window == 0 && m->attention_chunk == 0 && !(turned && m->full_unturned > 0)) {
        memset(&m->local_layers, 0, sizeof m->local_layers);
        m->full_unturned = 0;
    }
}

/* "rope_scaling": {"rope_type": "yarn", "factor": 32.0}: beyond a factor of 1 scores are scaled, unless both ends cancel. */
static void read_yarn(const struct ss_config *c, struct ss_model *m)
{
    const json_t *scaling = json_object_get(c->root, "rope_scaling"), *type, *own;

    if (!json_is_object(scaling))
        scaling = json_object_get(c->root, "rope_parameters");
    type = json_object_get(scaling, "rope_type");
    type = type ? type : json_object_get(scaling, "type");
    own = json_object_get(scaling, "attention_factor");
    if (json_is_string(type) && !strcmp(json_string_value(type), "yarn") &&
        json_number_value(json_object_get(scaling, "factor")) > 1 &&
        !(json_is_number(own) && json_number_value(own) == 1))
        m->yarn = 1;
}

/* Factors that not every family has, or that MPT says by a word. */
static void read_factors(struct ss_config *c, struct ss_model *m)
{
    char key[64];
    const json_t *scale = ss_config_pick(c, "logit_scale", key);

    if (c->family->traits & SS_FULL_UNTURNED)
        ss_config_factor(c, "attn_temperature_tuning", 0, &m->query_scale);
    if (json_is_string(scale)) /* MPT's inv_sqrt_d_model */
        m->logits_scale = 1;
    else
        ss_config_factor(c, "logit_scale", 1, &m->logits_scale);
}

/* Norms of queries and keys: the switch of a family that has one, and what a config says beside its family. */
static void read_qk_norm(struct ss_config *c, struct ss_model *m)
{
    char key[64];
    const json_t *kind = ss_config_pick(c, "qk_norm_type", key);
    int asked = -1;

    ss_config_bool(c, "use_qk_norm qk_layernorm qk_norm qk_ln", &asked);
    if (asked == 0 || (asked < 0 && c->family->traits & SS_QK_WHERE))
        m->qk_norm = SS_QK_NORM_NONE;
    else if (asked == 1 && m->qk_norm <= SS_QK_NORM_NONE)
        m->qk_norm = SS_QK_NORM_HEAD;
    if (m->qk_norm == SS_QK_NORM_WIDTH && !strcmp(c->family->type, "stablelm"))
        m->qk_norm = SS_QK_NORM_UNBIASED;
    int a_head = json_is_string(kind) && !strcmp(json_string_value(kind), "per_head");
    if (json_is_string(kind) && strcmp(json_string_value(kind), "per_layer") &&
        !(a_head && c->family->traits & SS_QK_HEAD))
        ss_config_wrong(c, key, "may be \"per_layer\": others are not modelled");
}

void ss_config_attention(struct ss_config *c, struct ss_model *m)
{
    char key[64];

    read_norms(c, m);
    if (!strcmp(c->family->type, "mpt"))
        read_mpt(c, m);
    read_biases(c, m);
    read_qk_norm(c, m);
    read_factors(c, m);
    read_positions(c, m);
    read_yarn(c, m);
    if (m->hidden_dropout > 0)
        ss_config_pick(c, "embd_pdrop emb_pdrop embedding_dropout",
                       key); /* the embedding's is priced with the others' */
    read_window(c, m);
    if (c->family->traits & SS_LATENT)
        read_latent(c, m);
}
