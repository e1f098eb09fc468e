/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of layers: letters of Megatron-LM's --hybrid-layer-pattern (hybrid_layer_allocation.py) and words of lists in a config.json. */
#include "base/base.h"
#include "model/model_internal.h"

/* A kind of layers: its letter, what lists of a config.json call it, and the rules of struct ss_model that name such a layer. */
#define RULE(field) offsetof(struct ss_model, field)
static const struct {
    char letter;
    const char *words;
    size_t rules[2]; /* 0: none */
} kinds[] = {
    {'M', "mamba", {RULE(mamba2), RULE(no_mlp)}},
    {'G', "linear_attention", {RULE(gated_delta), RULE(no_mlp)}},
    {'*', "attention full_attention", {RULE(no_mlp)}},
    {'-', "mlp", {RULE(no_mixer)}},
    {'E', "moe", {RULE(no_mixer), RULE(moe_layers)}},
};
/* Letters of Megatron-LM for layers that no row has. */
static const struct {
    char letter;
    const char *why;
} missing[] = {
    {'D', "sparse attention in a pattern, D, is not modelled"},
    {'+', "latent attention in a pattern, +, is not modelled"},
};

static struct ss_layer_rule *rule_of(struct ss_model *m, size_t offset)
{
    return (struct ss_layer_rule *)((char *)m + offset);
}

/* Makes the rules lists of `layers` layers without a layer in them. */
static void begin(struct ss_model *m, int layers)
{
    for (size_t k = 0; k < SS_ARRAY_LEN(kinds); k++)
        for (size_t r = 0; r < SS_ARRAY_LEN(kinds[k].rules); r++)
            if (kinds[k].rules[r])
                *rule_of(m, kinds[k].rules[r]) = (struct ss_layer_rule){.n = layers};
}

static void set_layer(struct ss_model *m, size_t kind, int layer)
{
    for (size_t r = 0; r < SS_ARRAY_LEN(kinds[kind].rules); r++)
        if (kinds[kind].rules[r])
            rule_of(m, kinds[kind].rules[r])->bits[layer / 64] |= 1ull << (layer % 64);
}

char ss_model_layer_letter(const char *word)
{
    for (size_t i = 0; i < SS_ARRAY_LEN(kinds); i++)
        if (ss_has_word(kinds[i].words, word))
            return kinds[i].letter;
    return 0;
}

static int refuse_letter(char letter, const char **why)
{
    for (size_t i = 0; i < SS_ARRAY_LEN(missing); i++)
        if (letter == missing[i].letter) {
            *why = missing[i].why;
            return SS_ERR_UNSUPPORTED;
        }
    *why = "it is made of M (Mamba-2), G (gated delta net), * (attention), - (MLP), E (experts), | between "
           "stages, and / before what predicts further tokens";
    return SS_ERR_INPUT;
}

/* Sets the layers of one part, the model's or a prediction's, from `first` on. */
static int set_letters(struct ss_model *m, const char *part, size_t len, int first, const char **why)
{
    int layer = first;
    for (size_t i = 0; i < len; i++) {
        size_t kind = 0;
        if (part[i] == '|')
            continue;
        while (kind < SS_ARRAY_LEN(kinds) && kinds[kind].letter != part[i])
            kind++;
        if (kind == SS_ARRAY_LEN(kinds))
            return refuse_letter(part[i], why);
        set_layer(m, kind, layer++);
    }
    return SS_OK;
}

/* Counts the layers of the model in each segment of the pipeline. */
static int count_segments(const char *text, size_t len, struct ss_layer_pattern *out, const char **why)
{
    out->segments = 1;
    for (size_t i = 0; i < len; i++) {
        if (text[i] != '|') {
            out->segment[out->segments - 1]++;
            out->layers++;
        } else if (out->segments == SS_LAYER_RULE_MAX) {
            *why = "it names more than 512 stages";
            return SS_ERR_INPUT;
        } else {
            out->segments++;
        }
    }
    return SS_OK;
}

/* Counts predictions, whose parts must be equal. */
static int count_depths(const char *part, struct ss_layer_pattern *out, const char **why)
{
    size_t len = strcspn(part, "/");
    out->depth_layers = (int)(len < SS_LAYER_RULE_MAX ? len : SS_LAYER_RULE_MAX);
    for (const char *at = part; len > 0;) {
        out->depths++;
        if (strcspn(at, "/") != len || strncmp(at, part, len) != 0 || memchr(at, '|', len)) {
            *why = "All MTP patterns must be identical, without |";
            return SS_ERR_INPUT;
        }
        at += len;
        if (!*at++)
            break;
    }
    return SS_OK;
}

int ss_model_pattern(struct ss_model *m, const char *text, struct ss_layer_pattern *out, const char **why)
{
    size_t len = strcspn(text, "/");
    *out = (struct ss_layer_pattern){0};
    SS_TRY(count_segments(text, len, out, why));
    SS_TRY(text[len] ? count_depths(text + len + 1, out, why) : SS_OK);
    if (out->layers == 0 || out->layers + out->depth_layers > SS_LAYER_RULE_MAX) {
        *why = "it names 1 to 512 layers";
        return SS_ERR_INPUT;
    }
    m->num_layers = out->layers;
    m->mtp_depth_layers = out->depth_layers;
    begin(m, out->layers + out->depth_layers);
    int rc = set_letters(m, text, len, 0, why);
    if (!rc && out->depths > 0) {
        m->mtp_num_layers = out->depths;
        rc = set_letters(m, text + len + 1, (size_t)out->depth_layers, out->layers, why);
    }
    return rc;
}

void ss_model_blocks(struct ss_model *m, const int *blocks, int n)
{
    m->csa = m->hca = m->csa_local = (struct ss_layer_rule){.n = n};
    m->mtp_depth_layers = 1;
    for (int i = 0; i < n; i++) {
        struct ss_layer_rule *rule = blocks[i] == SS_CSA_BLOCK   ? &m->csa
                                     : blocks[i] == SS_HCA_BLOCK ? &m->hca
                                                                 : &m->csa_local;
        rule->bits[i / 64] |= 1ull << i % 64;
    }
}
