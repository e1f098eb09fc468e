/* SPDX-License-Identifier: Apache-2.0 */
/* Reads Hugging Face's config.json. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "model/model_internal.h"
#include "stepsim/model.h"

#define MAX_CONFIG_BYTES (4u << 20)

struct reader {
    const char *text, *file;
    const json_t *root;
    struct ss_error *err;
};

/* Model families: what their config.json leaves unsaid. */
static const struct family {
    const char *type;
    int gated, qkv_bias, linear_bias, norm, position, tied;
    double dropout;
} families[] = {
    /* type       gated qkv lin norm                position             tied  dropout by default */
    {"llama", 1, 0, 0, SS_NORM_RMSNORM, SS_POSITION_ROPE, 0, 0},
    {"mistral", 1, 0, 0, SS_NORM_RMSNORM, SS_POSITION_ROPE, 0, 0},
    {"mixtral", 1, 0, 0, SS_NORM_RMSNORM, SS_POSITION_ROPE, 0, 0},
    {"qwen2", 1, 1, 0, SS_NORM_RMSNORM, SS_POSITION_ROPE, 0, 0},
    {"qwen2_moe", 1, 1, 0, SS_NORM_RMSNORM, SS_POSITION_ROPE, 0, 0},
    {"gpt2", 0, 1, 1, SS_NORM_LAYERNORM, SS_POSITION_LEARNED, 1, 0.1},
    {"gpt_neox", 0, 1, 1, SS_NORM_LAYERNORM, SS_POSITION_ROPE, 0, 0},
};

/* Line of the first "key" in the text: jansson keeps no positions. 0 when it is not there. */
static int line_of(const struct reader *r, const char *key)
{
    size_t n = strlen(key);
    int line = 1;

    for (const char *p = r->text; *p; p++) {
        if (*p == '\n')
            line++;
        else if (*p == '"' && !strncmp(p + 1, key, n) && p[n + 1] == '"')
            return line;
    }
    return 0;
}

static int wrong(const struct reader *r, const char *key, const char *what)
{
    return ss_fail(r->err, SS_ERR_INPUT, r->file, line_of(r, key), "\"%s\" %s", key, what);
}

/* First of two names that the file has and that is not null; *key says which. */
static const json_t *pick(const struct reader *r, const char *a, const char *b, const char **key)
{
    const char *names[] = {a, b};

    for (int i = 0; i < 2; i++) {
        const json_t *v = names[i] ? json_object_get(r->root, names[i]) : NULL;
        if (v && !json_is_null(v)) {
            *key = names[i];
            return v;
        }
    }
    *key = a;
    return NULL;
}

static int read_size(const struct reader *r, const char *a, const char *b, int required, int high, int *out)
{
    const char *key;
    const json_t *v = pick(r, a, b, &key);

    if (!v) {
        if (!required)
            return SS_OK;
        ss_fail(r->err, SS_ERR_INPUT, r->file, 0,
                b ? "no \"%s\" (or \"%s\") in this config" : "no \"%s\" in this config", a, b);
        return ss_hint(r->err, SS_ERR_INPUT, "add it, as in Hugging Face's config.json");
    }
    if (!json_is_integer(v))
        return wrong(r, key, "is not a whole number");
    json_int_t n = json_integer_value(v);
    if (n < 0 || n > high || (required && n == 0)) {
        char what[64];
        snprintf(what, sizeof(what), "is outside %d..%d", required ? 1 : 0, high);
        return wrong(r, key, what);
    }
    *out = (int)n;
    return SS_OK;
}

/* May be left out, but is never 0. */
static int read_positive(const struct reader *r, const char *name, int high, int *out)
{
    const char *key;
    return read_size(r, name, NULL, pick(r, name, NULL, &key) != NULL, high, out);
}

static int read_rate(const struct reader *r, const char *a, const char *b, double *out)
{
    const char *key;
    const json_t *v = pick(r, a, b, &key);

    if (!v)
        return SS_OK;
    if (!json_is_number(v) || !(json_number_value(v) >= 0 && json_number_value(v) < 1))
        return wrong(r, key, "is not a number in 0..1");
    *out = json_number_value(v);
    return SS_OK;
}

static int read_bool(const struct reader *r, const char *name, int *out)
{
    const char *key;
    const json_t *v = pick(r, name, NULL, &key);

    if (!v)
        return SS_OK;
    if (!json_is_boolean(v))
        return wrong(r, key, "is neither true nor false");
    *out = json_is_true(v);
    return SS_OK;
}

static int read_family(const struct reader *r, const struct family **out)
{
    const char *names[SS_ARRAY_LEN(families)];
    const char *key;
    const json_t *v = pick(r, "model_type", NULL, &key);

    for (size_t i = 0; i < SS_ARRAY_LEN(families); i++)
        names[i] = families[i].type;
    if (!v) {
        ss_fail(r->err, SS_ERR_INPUT, r->file, 0, "no \"model_type\" in this config");
        return ss_hint(r->err, SS_ERR_INPUT, "add it: llama, qwen2, gpt2, mistral or mixtral");
    }
    if (!json_is_string(v))
        return wrong(r, key, "is not a text");
    for (size_t i = 0; i < SS_ARRAY_LEN(families); i++) {
        if (!strcmp(json_string_value(v), families[i].type)) {
            *out = &families[i];
            return SS_OK;
        }
    }
    const char *near = ss_nearest(json_string_value(v), names, SS_ARRAY_LEN(families));
    ss_fail(r->err, SS_ERR_UNSUPPORTED, r->file, line_of(r, key), "model_type \"%.60s\" is not known",
            json_string_value(v));
    return near
               ? ss_hint(r->err, SS_ERR_UNSUPPORTED,
                         "did you mean \"%s\"? If it is another family, give the shape with Megatron's flags",
                         near)
               : ss_hint(r->err, SS_ERR_UNSUPPORTED,
                         "known are llama, mistral, qwen2, gpt2 and gpt_neox; give the shape with Megatron's "
                         "flags "
                         "instead of --model");
}

/* Which functions are known. Whether the MLP is gated is the family's: its gate and up projections stay when the
 * function between them is another (a Llama with gelu is GEGLU). Two names, not Hugging Face's, say it themselves. */
static const struct {
    const char *name;
    int gated; /* -1: as the family says */
} activations[] = {{"silu", -1},     {"swish", -1},     {"gelu", -1},
                   {"gelu_new", -1}, {"gelu_fast", -1}, {"gelu_pytorch_tanh", -1},
                   {"relu", -1},     {"swiglu", 1},     {"geglu", 1}};

static int unknown_activation(const struct reader *r, const char *key, const char *name)
{
    char list[160] = "";

    for (size_t i = 0, n = 0; i < SS_ARRAY_LEN(activations) && n < sizeof list; i++)
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", activations[i].name);
    ss_fail(r->err, SS_ERR_UNSUPPORTED, r->file, line_of(r, key), "activation \"%.60s\" is not known", name);
    return ss_hint(r->err, SS_ERR_UNSUPPORTED, "known ones: %s", list);
}

static int read_activation(const struct reader *r, struct ss_model *m)
{
    const char *key, *name;
    const json_t *v = pick(r, "hidden_act", "activation_function", &key);

    if (!v)
        return SS_OK;
    if (!json_is_string(v))
        return wrong(r, key, "is not a text");
    name = json_string_value(v);
    for (size_t i = 0; i < SS_ARRAY_LEN(activations); i++) {
        if (!strcmp(name, activations[i].name)) {
            if (activations[i].gated >= 0)
                m->gated_mlp = activations[i].gated;
            return SS_OK;
        }
    }
    return unknown_activation(r, key, name);
}

/* What Megatron is told beside the config: rows added to the vocabulary. */
static int read_own(const struct reader *r, struct ss_model *m)
{
    const json_t *own = json_object_get(r->root, "stepsim");
    const char *key;
    json_t *value;

    if (!own)
        return SS_OK;
    if (!json_is_object(own))
        return wrong(r, "stepsim", "is not an object");
    json_object_foreach((json_t *)own, key, value)
    {
        if (strcmp(key, "extra_vocab_size")) {
            ss_fail(r->err, SS_ERR_INPUT, r->file, line_of(r, key), "\"stepsim\" has no \"%.60s\"", key);
            return ss_hint(r->err, SS_ERR_INPUT, "it may hold \"extra_vocab_size\"");
        }
    }
    struct reader inner = *r;
    inner.root = own;
    return read_size(&inner, "extra_vocab_size", NULL, 0, 1 << 24, &m->extra_vocab_size);
}

static int read_experts(const struct reader *r, const struct family *f, struct ss_model *m)
{
    if (!strcmp(f->type, "mixtral") || !strcmp(f->type, "qwen2_moe"))
        m->num_experts = 8; /* what the library takes where the file says nothing, or more */
    int rc = read_size(r, "num_local_experts", "num_experts", 0, 1 << 16, &m->num_experts);

    if (!rc)
        rc = read_size(r, "num_experts_per_tok", NULL, 0, 1 << 16, &m->top_k);
    if (!rc)
        rc = read_size(r, "moe_intermediate_size", NULL, 0, 1 << 24, &m->moe_ffn_hidden_size);
    if (!rc)
        rc = read_size(r, "shared_expert_intermediate_size", NULL, 0, 1 << 24,
                       &m->shared_expert_ffn_hidden_size);
    return rc;
}

/* Qwen2 names a window even where it does not use it. */
static int read_window(const struct reader *r, struct ss_model *m)
{
    int used = 1, rc = read_bool(r, "use_sliding_window", &used);

    if (!rc)
        rc = read_size(r, "sliding_window", NULL, 0, 1 << 30, &m->sliding_window);
    if (!used)
        m->sliding_window = 0;
    return rc;
}

static int read_shape(const struct reader *r, struct ss_model *m)
{
    int rc = read_size(r, "hidden_size", "n_embd", 1, 1 << 20, &m->hidden_size);

    if (!rc)
        rc = read_size(r, "num_hidden_layers", "n_layer", 1, 100000, &m->num_layers);
    if (!rc)
        rc = read_size(r, "num_attention_heads", "n_head", 1, 1 << 16, &m->num_attention_heads);
    if (!rc)
        rc = read_positive(r, "num_key_value_heads", 1 << 16, &m->num_query_groups);
    if (!rc)
        rc = read_positive(r, "head_dim", 1 << 16, &m->kv_channels);
    if (!rc)
        rc = read_size(r, "vocab_size", NULL, 1, 1 << 26, &m->vocab_size);
    if (!rc)
        rc = read_size(r, "max_position_embeddings", "n_positions", m->position == SS_POSITION_LEARNED,
                       1 << 30, &m->max_position_embeddings);
    if (!rc) /* only GPT-2 has a rule for it: 4 h */
        rc = read_size(r, "intermediate_size", "n_inner", m->gated_mlp == 1, 1 << 24, &m->ffn_hidden_size);
    return rc;
}

static int read_all(const struct reader *r, struct ss_model *m)
{
    const struct family *f = NULL;
    const char *key;
    int rc = read_family(r, &f);

    if (rc)
        return rc;
    m->gated_mlp = f->gated;
    m->qkv_bias = f->qkv_bias;
    m->linear_bias = f->linear_bias;
    m->normalization = f->norm;
    m->position = f->position;
    m->tied_embeddings = f->tied;
    m->attention_dropout = m->hidden_dropout = f->dropout;
    if (pick(r, "rms_norm_eps", NULL, &key))
        m->normalization = SS_NORM_RMSNORM;
    else if (pick(r, "layer_norm_epsilon", "layer_norm_eps", &key))
        m->normalization = SS_NORM_LAYERNORM;
    rc = read_activation(r, m);
    if (!rc)
        rc = read_shape(r, m);
    if (!rc)
        rc = read_bool(r, "tie_word_embeddings", &m->tied_embeddings);
    if (!rc)
        rc = read_bool(r, "attention_bias", &m->qkv_bias);
    if (!rc)
        rc = read_rate(r, "attention_dropout", "attn_pdrop", &m->attention_dropout);
    if (!rc)
        rc = read_rate(r, "resid_pdrop", "hidden_dropout", &m->hidden_dropout);
    if (!rc)
        rc = read_experts(r, f, m);
    if (!rc)
        rc = read_window(r, m);
    if (!rc)
        rc = read_own(r, m);
    return rc;
}

/* "dir/llama3.1-8b.json" -> "llama3.1-8b"; "dir/Llama/config.json" -> "Llama". */
static void name_from_path(const char *path, char *out, size_t size)
{
    const char *base = strrchr(path, '/');
    const char *end;

    base = base ? base + 1 : path;
    end = path + strlen(path);
    if (!strcmp(base, "config.json") && base - path > 1) {
        end = base - 1;
        base = end;
        while (base > path && base[-1] != '/')
            base--;
    } else if (end - base > 5 && !strcmp(end - 5, ".json")) {
        end -= 5;
    }
    size_t n = (size_t)(end - base) < size ? (size_t)(end - base) : size - 1;
    memcpy(out, base, n);
    out[n] = 0;
}

int ss_model_parse(const char *text, size_t len, const char *file, struct ss_model *out, struct ss_error *err)
{
    json_error_t why;
    struct ss_error found = {0};
    size_t mark = ss_byte_order_mark(text, len);
    json_t *root = json_loadb(text + mark, len - mark, JSON_REJECT_DUPLICATES, &why);

    ss_model_init(out);
    if (!root)
        return ss_fail(err, SS_ERR_INPUT, file, why.line, "not JSON: %s", why.text);
    /* A finding inside a broken model must not leave *out half filled. */
    struct reader r = {.text = text, .file = file, .root = root, .err = &found};
    int rc = json_is_object(root)
                 ? read_all(&r, out)
                 : ss_fail(&found, SS_ERR_INPUT, file, 1, "a model is a JSON object { ... }");
    json_decref(root);
    if (rc) {
        ss_model_init(out);
        if (err)
            *err = found;
        return rc;
    }
    name_from_path(file, out->name, sizeof(out->name));
    return SS_OK;
}

int ss_model_load(const char *name_or_path, struct ss_model *out, struct ss_error *err)
{
    char path[1024];
    char *text;
    size_t len;
    int rc = ss_data_find("workloads/models", name_or_path, ".json", path, sizeof(path), err);

    if (rc)
        return rc;
    rc = ss_file_read(path, MAX_CONFIG_BYTES, &text, &len, err);
    if (rc)
        return rc;
    rc = ss_model_parse(text, len, path, out, err);
    free(text);
    return rc;
}
