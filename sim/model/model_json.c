/* SPDX-License-Identifier: Apache-2.0 */
/* Reads Hugging Face's config.json. */
#include "base/base.h"
#include "model/config.h"
#include "model/model_internal.h"

#define MAX_CONFIG_BYTES (4u << 20)

static int unknown_family(const struct ss_config *c, const char *type)
{
    const char *near = ss_family_near(type), *lacks = ss_family_lacks(type);
    static const char *const experts[] = {"num_experts", "n_routed_experts", "num_local_experts"};
    int mixture = 0;

    if (lacks)
        return ss_fail(
            c->err, SS_ERR_UNSUPPORTED, c->file, ss_config_line(c, "model_type"),
            "model_type \"%.60s\" has %s: not modelled" SS_HINT
            "no other model_type and no flags stand for such layers: their parameters and their time "
            "would be those of another model",
            type, lacks);
    ss_fail(c->err, SS_ERR_UNSUPPORTED, c->file, ss_config_line(c, "model_type"),
            "model_type \"%.60s\" is not known", type);
    if (near && !strncmp(near, type, 3))
        return ss_hint(c->err, SS_ERR_UNSUPPORTED,
                       "did you mean \"%s\"? If it is another family, give the shape with Megatron's flags",
                       near);
    for (size_t i = 0; i < SS_ARRAY_LEN(experts); i++)
        mixture |= json_object_get(c->root, experts[i]) != NULL;
    return ss_hint(
        c->err, SS_ERR_UNSUPPORTED,
        "write a family with such layers, as %s, or give the shape with Megatron's flags instead of "
        "--model; workloads/README.md lists the families",
        mixture ? "qwen3_moe, deepseek_v3 or mixtral" : "llama, qwen3 or gemma2");
}

/* Enters the part of Qwen3-Omni that understands. Its heads of speech are named, as Megatron-Bridge leaves them out. */
static void enter_thinker(struct ss_config *c, struct ss_model *m)
{
    static const char *const heads[] = {"talker_config", "code2wav_config"};
    json_t *inner = json_object_get(c->root, "thinker_config");

    for (size_t i = 0; i < SS_ARRAY_LEN(heads) && json_is_object(inner); i++)
        if (json_object_size(json_object_get(c->root, heads[i])) > 0)
            ss_config_not_priced(m, heads[i]);
    c->root = json_is_object(inner) ? inner : c->root;
}

/* Enters the language model inside a model of text and pictures; whether it ties its embeddings may stand
 * outside. The other parts are named, not priced. */
static int enter_text(struct ss_config *c, struct ss_model *m)
{
    char key[64];
    json_t *inner = ss_config_pick(c, "text_config llm_config", key), *tied;
    if (inner && !json_is_object(inner)) {
        ss_config_wrong(c, key, "is not an object");
        return c->err->code;
    }
    const char *type = json_string_value(json_object_get(c->root, "model_type"));

    ss_config_encoders(c, m);
    if (!json_is_object(inner))
        return SS_OK;
    if (type && ss_family_find(type) && json_object_get(c->root, "hidden_size")) {
        ss_config_not_priced(m, key);
        return SS_OK;
    }
    if (json_object_size(json_object_get(c->root, "quantization_config")) > 0)
        ss_config_not_priced(m, "quantization_config");
    tied = json_object_get(c->root, "tie_word_embeddings");
    if (json_is_boolean(tied) && !json_object_get(inner, "tie_word_embeddings") &&
        json_object_set(inner, "tie_word_embeddings", tied))
        return ss_nomem(c->err);
    c->root = inner;
    c->part = strcmp(key, "text_config") ? "llm_config" : "text_config";
    return SS_OK;
}

static int read_family(struct ss_config *c)
{
    char key[64];
    const json_t *v = ss_config_pick(c, "model_type", key);

    if (!v)
        return ss_fail(c->err, SS_ERR_INPUT, c->file, c->part ? ss_config_line(c, c->part) : 0,
                       "no \"model_type\" in %s" SS_HINT
                       "add it: llama, qwen3, gpt2, mistral, deepseek_v3, ...",
                       c->part ? c->part : "this config");
    if (!json_is_string(v)) {
        ss_config_wrong(c, key, "is not a text");
        return c->err->code;
    }
    c->family = ss_family_find(json_string_value(v));
    return c->family ? SS_OK : unknown_family(c, json_string_value(v));
}

/* "key=value ..." of the family stands behind what the file says; so do the parts that a family nests (MPT). */
static int add_unsaid(struct ss_config *c)
{
    static const char *const nested[] = {"attn_config", "ffn_config"};

    for (size_t i = 0; i < SS_ARRAY_LEN(nested); i++) {
        json_t *part = json_object_get(c->root, nested[i]);
        if (json_is_object(part) && json_object_update_missing(c->root, part))
            return ss_nomem(c->err);
    }
    for (const char *p = c->family->unsaid; *p; p += strspn(p, " ")) {
        const char *is = strchr(p, '=');
        size_t n = strcspn(is + 1, " ");
        char key[64];

        snprintf(key, sizeof key, "%.*s", (int)(is - p), p);
        json_t *value = json_loadb(is + 1, n, JSON_DECODE_ANY, NULL);
        if (json_object_get(c->root, key))
            json_decref(value);
        else if (!value || json_object_set_new(c->root, key, value))
            return ss_nomem(c->err);
        p = is + 1 + n;
    }
    return SS_OK;
}

/* Reads Megatron's settings beside the config: rows added to the vocabulary, and whether the checkpoint has
 * them. */
static void read_own(struct ss_config *c, struct ss_model *m)
{
    struct ss_config inner = *c;
    const char *key;
    json_t *value;

    inner.root = json_object_get(c->root, "stepsim");
    if (!inner.root)
        return;
    if (!json_is_object(inner.root))
        ss_config_wrong(c, "stepsim", "is not an object");
    json_object_foreach(inner.root, key, value)
    {
        if (!strcmp(key, "extra_vocab_size") || !strcmp(key, "extra_in_checkpoint") || c->err->code)
            continue;
        ss_fail(c->err, SS_ERR_INPUT, c->file, ss_config_line(c, key), "\"stepsim\" has no \"%.60s\"", key);
        ss_hint(c->err, SS_ERR_INPUT, "it may hold \"extra_vocab_size\" and \"extra_in_checkpoint\"");
    }
    ss_config_size(&inner, "extra_vocab_size", 0, 1 << 24, &m->extra_vocab_size);
    ss_config_bool(&inner, "extra_in_checkpoint", &m->extra_in_checkpoint);
}

static int read_all(struct ss_config *c, struct ss_model *m)
{
    read_own(c, m);
    enter_thinker(c, m);

    SS_TRY(c->err->code ? c->err->code : enter_text(c, m));
    SS_TRY(read_family(c));
    ss_config_need_experts(c);
    SS_TRY(add_unsaid(c));
    ss_family_apply(c->family, m);
    ss_config_fields(c, m);
    ss_config_shape(c, m);
    ss_config_hybrid(c, m);
    ss_config_attention(c, m);
    ss_config_experts(c, m);
    ss_config_unread(c, m); /* which knows a size that is missing by its misspelt name */
    ss_config_missing(c);
    return c->err->code;
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

/* Python writes "Infinity", which is no JSON, for a number without bound. Makes it a large number of as many characters. */
static void bound_numbers(char *text, size_t len)
{
    static const char word[] = "Infinity", number[] = "1e300   ";
    const size_t n = sizeof word - 1;
    int quoted = 0;

    for (size_t i = 0; i < len; i++) {
        quoted ^= text[i] == '"';
        if (quoted && text[i] == '\\')
            i++;
        else if (!quoted && len - i >= n && !memcmp(text + i, word, n))
            memcpy(text + i, number, n);
    }
}

/* Reads the text twice: jansson leaves out characters of a word for which its buffer finds no memory. */
static int load_json(const char *text, size_t len, json_t **out, json_error_t *why)
{
    char *copy = malloc(len + 1);
    json_t *root = NULL, *again = NULL;

    if (copy) {
        memcpy(copy, text, len);
        bound_numbers(copy, len);
        root = json_loadb(copy, len, JSON_REJECT_DUPLICATES, why);
        again = root ? json_loadb(copy, len, JSON_REJECT_DUPLICATES, NULL) : NULL;
    }
    int whole = copy && (!root || json_equal(root, again));
    json_decref(again);
    free(copy);
    if (!whole)
        json_decref(root);
    *out = whole ? root : NULL;
    return whole;
}

int ss_model_parse(const char *text, size_t len, const char *file, struct ss_model *out, struct ss_error *err)
{
    json_error_t why;
    struct ss_error found = {0};
    size_t mark = ss_byte_order_mark(text, len);
    json_t *root;

    ss_model_init(out);
    if (!load_json(text + mark, len - mark, &root, &why))
        return ss_nomem(err);
    if (!root)
        return ss_fail(err, SS_ERR_INPUT, file, why.line, "not JSON: %s", why.text);
    /* A finding inside a broken model must not leave *out half filled. */
    struct ss_config c = {.text = text, .file = file, .root = root, .err = &found};
    int rc = json_is_object(root)
                 ? read_all(&c, out)
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

    SS_TRY(ss_data_find("workloads/models", name_or_path, ".json", path, sizeof(path), err));
    SS_TRY(ss_file_read(path, MAX_CONFIG_BYTES, &text, &len, err));
    int rc = ss_model_parse(text, len, path, out, err);
    free(text);
    return rc;
}
