/* SPDX-License-Identifier: Apache-2.0 */
/* Which layers of a config.json have which mixer, and which are one half: letters, lists of words, and every n-th. */
#include <string.h>

#include "base/base.h"
#include "model/config.h"
#include "model/model_internal.h"

/* Words of whole layers whose mixer is the family's, which is no attention. */
#define LINEAR "linear_attention mamba conv recurrent"

/* Returns the rule of the mixer that a family has beside attention ("linear_mixer" of its row), NULL: none. */
static struct ss_layer_rule *family_mixer(struct ss_config *c, struct ss_model *m)
{
    char key[64];
    const char *name = json_string_value(ss_config_pick(c, "linear_mixer", key));
    for (int i = 0; i < SS_MODEL_FIELDS && name; i++)
        if (ss_model_fields[i].kind == SS_MODEL_IS_LAYERS && !strcmp(ss_model_fields[i].name, name))
            return (struct ss_layer_rule *)((char *)m + ss_model_fields[i].offset);
    return NULL;
}

/* ---- halves: MEM*, or a list of "mamba", "moe", "attention" ---- */

/* Appends a pattern, or the letters of a list's words. */
static void append_letters(struct ss_config *c, const char *name, char *out, size_t size)
{
    char key[64];
    const json_t *v = ss_config_pick(c, name, key);
    if (json_is_string(v) && !ss_append(out, size, "%s", json_string_value(v)))
        ss_config_wrong(c, key, "names more than 512 layers");
    for (size_t i = 0; i < json_array_size(v); i++) {
        const char *word = json_string_value(json_array_get(v, i));
        char letter = word ? ss_model_layer_letter(word) : 0;
        if (!word)
            ss_config_wrong(c, key, "holds what is no kind of a layer");
        else if (!letter)
            ss_config_unknown(c, key, "layers of \"%s\" are not modelled", word,
                              "known ones: mamba, attention, mlp, moe");
        else if (!ss_append(out, size, "%c", letter))
            ss_config_wrong(c, key, "names more than 512 layers");
    }
}

/* Reads what each layer is, and the layers of a prediction. A config may leave their number to the list. */
static void read_halves(struct ss_config *c, struct ss_model *m)
{
    char text[2 * SS_LAYER_RULE_MAX + 2] = "";
    const char *key = "hybrid_override_pattern", *why = NULL;
    struct ss_layer_pattern pattern;
    int layers = m->num_layers;

    append_letters(c, "hybrid_override_pattern layers_block_type", text, sizeof text);
    size_t n = strlen(text);
    ss_append(text, sizeof text, "/");
    append_letters(c, "mtp_hybrid_override_pattern mtp_layers_block_type", text, sizeof text);
    if (n == 0 || c->err->code) {
        c->missing = c->missing ? c->missing : "hybrid_override_pattern layers_block_type";
        return;
    }
    int rc = ss_model_pattern(m, text, &pattern, &why);
    if (rc)
        ss_config_wrong(c, key, why);
    else if (layers > 0 && layers != pattern.layers)
        ss_config_wrong(c, key, "does not name num_hidden_layers layers");
    else if (c->missing && !strncmp(c->missing, "num_hidden_layers", strlen("num_hidden_layers")))
        c->missing = NULL;
    m->mtp_num_layers = 0; /* config_experts.c reads how many predictions there are */
}

/* ---- whole layers ---- */

/* A word of "layer_types", or a number of "attn_type_list", where 0 is linear. */
static int is_linear(struct ss_config *c, const char *key, const json_t *value)
{
    if (json_is_integer(value) && json_integer_value(value) != 0 && json_integer_value(value) != 1)
        ss_config_wrong(c, key, "holds what is no kind of a layer");
    return json_is_integer(value) ? json_integer_value(value) == 0
                                  : ss_config_is_linear(json_string_value(value));
}

int ss_config_is_linear(const char *word)
{
    return word && ss_has_word(LINEAR, word);
}

/* Gives the family's mixer to all layers but those of attention: numbers in a list, the first of which is `base`, or every n-th from
 * `first` on. */
static void all_but(struct ss_config *c, struct ss_model *m, struct ss_layer_rule *mixer, const json_t *list,
                    int base, const struct ss_layer_rule *attention)
{
    struct ss_layer_rule has = {.n = m->num_layers};
    if (m->num_layers > SS_LAYER_RULE_MAX) {
        ss_config_wrong(c, "num_hidden_layers", "is above 512, the most for layers of several kinds");
        return;
    }
    for (int i = 0; i < has.n; i++)
        has.bits[i / 64] |= (uint64_t) !(attention && ss_layer_rule_has(attention, i)) << i % 64;
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_int_t n = json_integer_value(json_array_get(list, i)) - base;
        if (n >= 0 && n < has.n)
            has.bits[n / 64] &= ~(1ull << n % 64);
        else
            ss_config_wrong(c, base ? "full_attn_layers" : "attn_layer_indices",
                            "is not a list of layers' numbers");
    }
    *mixer = has;
}

/* "linear_attn_config" of Kimi: layers of attention, counted from 1, and sizes. */
static void read_kimi(struct ss_config *c, struct ss_model *m, struct ss_layer_rule *mixer, json_t *own)
{
    struct ss_config inner = *c;
    char key[64];

    inner.root = own;
    all_but(&inner, m, mixer, ss_config_pick(&inner, "full_attn_layers", key), 1, NULL);
    ss_config_positive(&inner, "num_heads", 1 << 16, &m->linear_num_value_heads);
    ss_config_positive(&inner, "head_dim", 1 << 16, &m->linear_value_head_dim);
    ss_config_positive(&inner, "short_conv_kernel_size", 64, &m->linear_conv);
    ss_config_bool(&inner, "use_full_rank_gate", &m->linear_full_gate);
}

/* "layer_group_size" of Ring: attention ends each whole group, and is in all layers behind the last one. */
static void read_groups(struct ss_config *c, struct ss_model *m, struct ss_layer_rule *mixer, int size)
{
    const struct ss_layer_rule last = {.period = size, .first = size - 1, .phase = size - 1};
    all_but(c, m, mixer, NULL, 0, &last);
    for (int i = m->num_layers / size * size; i < mixer->n; i++)
        mixer->bits[i / 64] &= ~(1ull << i % 64);
}

static void read_whole(struct ss_config *c, struct ss_model *m, struct ss_layer_rule *mixer)
{
    int group = 0, mlp = 1;
    char key[64], listed[64];
    struct ss_layer_rule every = {0};
    const json_t *types = ss_config_pick(c, "layer_types layers_block_type attn_type_list", listed);
    json_t *kimi = ss_config_pick(c, "linear_attn_config", key);
    const json_t *numbers = ss_config_pick(c, "attn_layer_indices", key);

    ss_config_positive(c, "full_attention_interval attn_layer_period", 100000, &every.period);
    every.phase = every.first = every.period - 1;
    ss_config_size(c, "attn_layer_offset", 0, 100000, &every.phase);
    every.first = every.phase < every.first ? every.phase : every.first;
    ss_config_positive(c, "layer_group_size", 100000, &group);
    if (json_array_size(types) > 0)
        ss_config_layers(c, listed, types, m->num_layers, is_linear, mixer);
    else if (json_is_object(kimi))
        read_kimi(c, m, mixer, kimi);
    else if (group > 0)
        read_groups(c, m, mixer, group);
    else if (json_is_array(numbers) || every.period > 0)
        all_but(c, m, mixer, numbers, 0, every.period > 0 ? &every : NULL);
    else
        mixer->period = 1; /* all layers */
    ss_config_bool(c, "linear_mlp", &mlp);
    if (!mlp)
        m->no_mlp = *mixer;
}

void ss_config_hybrid(struct ss_config *c, struct ss_model *m)
{
    struct ss_layer_rule *mixer = family_mixer(c, m);
    if (c->family->traits & SS_HALF_LAYERS)
        read_halves(c, m);
    else if (mixer)
        read_whole(c, m, mixer);
}
