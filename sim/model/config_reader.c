/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a config.json by name, and the names that nobody asked for. */
#include "base/base.h"
#include "model/config.h"
#include "model/model_internal.h"

int ss_config_line(const struct ss_config *c, const char *key)
{
    size_t n = strlen(key);
    int line = 1;

    for (const char *p = c->text; *p; p++) {
        if (*p == '\n')
            line++;
        else if (*p == '"' && !strncmp(p + 1, key, n) && p[n + 1] == '"')
            return line;
    }
    return 0;
}

void ss_config_wrong(const struct ss_config *c, const char *key, const char *what)
{
    if (!c->err->code)
        ss_fail(c->err, SS_ERR_INPUT, c->file, ss_config_line(c, key), "\"%s\" %s", key, what);
}

void ss_config_unknown(const struct ss_config *c, const char *key, const char *what, const char *value,
                       const char *hint)
{
    char text[256];

    if (c->err->code)
        return;
    snprintf(text, sizeof text, "%.60s", value);
    ss_fail(c->err, SS_ERR_UNSUPPORTED, c->file, ss_config_line(c, key), what, text);
    ss_hint(c->err, SS_ERR_UNSUPPORTED, "%s", hint);
}

/* The word of a list of words that starts at or behind *at, "" at its end. */
static void next_word(const char **at, char *word)
{
    size_t n;

    *at += strspn(*at, " ");
    n = strcspn(*at, " ");
    memcpy(word, *at, n < 64 ? n : 63);
    word[n < 64 ? n : 63] = '\0';
    *at += n;
}

json_t *ss_config_pick(struct ss_config *c, const char *names, char *key)
{
    const char *at = names;
    char word[64];

    if (c->nasked < SS_CONFIG_ASKED)
        c->asked[c->nasked++] = names;
    for (next_word(&at, word); word[0]; next_word(&at, word)) {
        json_t *v = json_object_get(c->root, word);

        if (v && !json_is_null(v)) {
            ss_copy(key, 64, word);
            return v;
        }
    }
    at = names;
    next_word(&at, key);
    return NULL;
}

void ss_config_missing(const struct ss_config *c)
{
    const char *at = c->missing;
    char a[64], b[64];

    if (!at || c->err->code)
        return;
    next_word(&at, a);
    next_word(&at, b);
    int line = c->part ? ss_config_line(c, c->part) : 0;
    const char *part = c->part ? c->part : "this config";
    if (b[0])
        ss_fail(c->err, SS_ERR_INPUT, c->file, line, "no \"%s\" (or \"%s\") in %s", a, b, part);
    else
        ss_fail(c->err, SS_ERR_INPUT, c->file, line, "no \"%s\" in %s", a, part);
    ss_hint(c->err, SS_ERR_INPUT, "add it, as in Hugging Face's config.json");
}

/* A list of all layers that says the same of each says what its first element says. */
static const json_t *of_all_layers(const json_t *v)
{
    for (size_t i = 1; i < json_array_size(v); i++)
        if (!json_equal(json_array_get(v, i), json_array_get(v, 0)))
            return NULL;
    return json_array_size(v) ? json_array_get(v, 0) : v;
}

void ss_config_size(struct ss_config *c, const char *names, int required, int high, int *out)
{
    char key[64], limits[64];
    const json_t *v = ss_config_pick(c, names, key), *one = of_all_layers(v);
    json_int_t n = json_integer_value(one);

    if (!v && required && !c->missing)
        c->missing = names;
    else if (v && !one)
        ss_config_wrong(c, key, "differs from layer to layer, which is not modelled");
    else if (v && !json_is_integer(one))
        ss_config_wrong(c, key, "is not a whole number");
    else if (v && n >= (required ? 1 : 0) && n <= high)
        *out = (int)n;
    else if (v) {
        snprintf(limits, sizeof limits, "is outside %d..%d", required ? 1 : 0, high);
        ss_config_wrong(c, key, limits);
    }
}

/* May be left out, but is never 0. */
void ss_config_positive(struct ss_config *c, const char *names, int high, int *out)
{
    char key[64];
    ss_config_size(c, names, ss_config_pick(c, names, key) != NULL, high, out);
}

static void read_rate(struct ss_config *c, const char *names, int one_too, double *out)
{
    char key[64];
    const json_t *v = ss_config_pick(c, names, key);
    double n = json_number_value(v);

    if (v && (!json_is_number(v) || !(n >= 0 && (n < 1 || (one_too && n == 1)))))
        ss_config_wrong(c, key, "is not a number in 0..1");
    else if (v)
        *out = n;
}

void ss_config_bool(struct ss_config *c, const char *names, int *out)
{
    char key[64];
    const json_t *v = ss_config_pick(c, names, key);

    if (v && !json_is_boolean(v))
        ss_config_wrong(c, key, "is neither true nor false");
    else if (v)
        *out = json_is_true(v);
}

void ss_config_factor(struct ss_config *c, const char *names, double neutral, int *out)
{
    char key[64];
    const json_t *v = ss_config_pick(c, names, key);
    double n = json_number_value(v);

    if (v && !json_is_number(v) && !json_is_boolean(v))
        ss_config_wrong(c, key, "is not a number");
    else if (v)
        *out = json_is_true(v) || (json_is_number(v) && n != 0 && n != neutral);
}

static void read_field(struct ss_config *c, const struct ss_model_field *f, struct ss_model *m)
{
    void *out = (char *)m + f->offset;

    switch (f->kind) {
    case SS_MODEL_IS_NEED:
    case SS_MODEL_IS_SIZE:
        ss_config_size(c, f->keys, f->kind == SS_MODEL_IS_NEED, (int)f->number, out);
        break;
    case SS_MODEL_IS_CHOICE:
        if (f->is_factor)
            ss_config_factor(c, f->keys, f->neutral, out);
        else
            ss_config_bool(c, f->keys, out);
        break;
    case SS_MODEL_IS_SHARE: read_rate(c, f->keys, 1, out); break;
    case SS_MODEL_IS_RATE: read_rate(c, f->keys, 0, out); break;
    case SS_MODEL_IS_MARK:
    case SS_MODEL_IS_LAYERS:
    case SS_MODEL_IS_TEXT:
    case SS_MODEL_IS_ENCODER: break;
    }
}

void ss_config_fields(struct ss_config *c, struct ss_model *m)
{
    for (int i = 0; i < SS_MODEL_FIELDS; i++)
        if (ss_model_fields[i].keys)
            read_field(c, &ss_model_fields[i], m);
}

void ss_config_layers(struct ss_config *c, const char *key, const json_t *list, int num_layers,
                      int (*is)(struct ss_config *c, const char *key, const json_t *value),
                      struct ss_layer_rule *out)
{
    size_t n = json_array_size(list);

    if (n > SS_LAYER_RULE_MAX || (int)n != num_layers) {
        ss_config_wrong(c, key, "is not a list of all layers, of 512 at most");
        return;
    }
    memset(out, 0, sizeof *out);
    out->n = (int)n;
    for (size_t i = 0; i < n; i++)
        out->bits[i / 64] |= (uint64_t)(is(c, key, json_array_get(list, i)) != 0) << (i % 64);
}

/* Keys that say nothing about a training step's time or memory, or that the job overrides. */
static const char harmless[] =
    "activation_situ_beta activation_situ_linear_beta alibi_bias_max alpha apply_query_key_layer_scaling "
    "architectures "
    "attention_multiplier attention_softmax_in_fp32 "
    "attn_config attn_impl attn_implementation attn_mode attn_output_multiplier attn_scale auto_map "
    "aux_loss_alpha bias_dropout_fusion block_dim block_use_swiglu cache_implementation "
    "chunk_size_feed_forward "
    "cla_share_factor classifier_dropout compress_rope_theta dtype elementwise_affine embedding_fraction "
    "ep_size "
    "expert_dropout "
    "experts_per_token fc_type ffn_config finetuning_task floor_scale fuse_cross_entropy fuse_norm "
    "fuse_swiglu "
    "gradient_checkpointing "
    "expand expert_dtype head_dim mamba_norm_before_gate hidden_act id2label indexer_rope_interleave "
    "init_config "
    "init_device init_std "
    "initial_context_length "
    "initializer_factor initializer_range is_decoder label2id mamba_conv_bias mamba_expand "
    "mamba_hidden_act mamba_ssm_cache_dtype mamba_ssm_dtype masked_softmax_fusion mlp_type model_max_length "
    "max_position_embeddings max_window_layers model_type moe_loss_weight moe_norm_min moe_renormalize "
    "moe_router_activation_func mtp_use_dedicated_embeddings norm_type "
    "mtp_transformer_layers n_ctx n_embed norm_topk_prob normalization_function "
    "num_key_value_heads num_ln_in_parallel_attn num_logits_to_keep offset_alibi "
    "original_max_position_embeddings original_rope pad_key_length post_layer_norm pre_allocate_kv_cache "
    "output_projection postnorm prefix pretraining_tp problem_type qk_head_dim query_pre_attn_scalar "
    "rescale_prenorm_residual "
    "return_dict rms_norm rmsnorm rotary rotary_emb_base routed_scaling_factor router_dtype "
    "scale_attn_weights score_function "
    "scoring_func seq_aux seq_length shared_moe_mode skip_bias_add skip_bias_add_qkv stepsim "
    "summary_activation "
    "summary_first_dropout summary_proj_to_labels summary_type summary_use_proj "
    "task_specific_params time_step_floor time_step_limit time_step_max time_step_min tokenizer_class "
    "tokenizer_name topk_method torch_dtype "
    "transformers_version use_l2warp use_cache use_conv_bias use_dynamic_ntk use_flash_attn use_gemma_norm "
    "use_grouped_topk "
    "use_logn_attn "
    "use_mamba_kernels "
    "use_mixed_mlp_moe "
    "validate_runner_input verbose";

/* Beginnings and ends of such keys: "_name_or_path", "pad_token_id", "rope_theta", "rms_norm_eps". */
static int is_harmless(const char *key)
{
    static const char *const ends[] = {"_token_id", "_token_index", "_eps",   "_epsilon",
                                       "_fp32",     "_coef",        "_alpha", "_beta"};
    size_t n = strlen(key);

    if (key[0] == '_' || !strncmp(key, "rope_", 5) || ss_has_word(harmless, key))
        return 1;
    for (size_t i = 0; i < SS_ARRAY_LEN(ends); i++) {
        size_t m = strlen(ends[i]);
        if (n > m && !strcmp(key + n - m, ends[i]))
            return 1;
    }
    return 0;
}

/* Returns whether a value switches its key off, so that the key says nothing. */
static int is_off(const json_t *v)
{
    return json_is_null(v) || json_is_false(v) || (json_is_number(v) && json_number_value(v) == 0) ||
           (json_is_string(v) && !json_string_length(v)) || (json_is_array(v) && !json_array_size(v)) ||
           (json_is_object(v) && !json_object_size(v));
}

void ss_config_not_priced(struct ss_model *m, const char *key)
{
    size_t n = strlen(m->not_priced);

    if (n + strlen(key) + sizeof "\"\", ..." < sizeof m->not_priced)
        snprintf(m->not_priced + n, sizeof m->not_priced - n, "%s\"%s\"", n ? ", " : "", key);
    else if (n + sizeof ", ..." < sizeof m->not_priced && !strstr(m->not_priced, "..."))
        snprintf(m->not_priced + n, sizeof m->not_priced - n, "%s...", n ? ", " : "");
}

/* Returns the key that an unknown one was meant to be: one or two letters off a key that was asked for and that the file lacks; NULL:
 * there is none. */
static const char *meant(const struct ss_config *c, const char *key, char near[64])
{
    char word[64];

    for (int i = 0; i < c->nasked && strlen(key) >= 7; i++) {
        const char *at = c->asked[i];
        for (next_word(&at, word); word[0]; next_word(&at, word)) {
            const char *const names[] = {word};
            if (!ss_config_line(c, word) && ss_nearest_within(key, names, 1, 2)) {
                ss_copy(near, 64, word);
                return near;
            }
        }
    }
    return NULL;
}

void ss_config_unread(struct ss_config *c, struct ss_model *m)
{
    const char *key;
    char near[64];
    json_t *value;

    json_object_foreach(c->root, key, value)
    {
        int known = is_off(value) || is_harmless(key);

        for (int i = 0; i < c->nasked && !known; i++)
            known = ss_has_word(c->asked[i], key);
        for (const char *p = key; *p && !known; p++)
            known = *p < ' ' || *p > '~'; /* of no family, and no text for a line of output */
        if (known)
            continue;
        if (!c->err->code && meant(c, key, near)) {
            ss_fail(c->err, SS_ERR_INPUT, c->file, ss_config_line(c, key), "\"%.60s\" is not known", key);
            ss_hint(c->err, SS_ERR_INPUT, "did you mean \"%s\"?", near);
        }
        ss_config_not_priced(m, key);
    }
}
