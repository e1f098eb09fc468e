/* SPDX-License-Identifier: Apache-2.0 */
/* Hugging Face's config.json while it is read: what the file and its family say, and which keys were asked for. */
#pragma once

#include <jansson.h>

#include "stepsim/model.h"

#define SS_CONFIG_ASKED 160

/* What a family's config.json does not say: bits of ss_family.traits. */
enum {
    SS_GATED = 1 << 0,
    SS_TIED = 1 << 1,
    SS_QKV_BIAS = 1 << 2,
    SS_LINEAR_BIAS = 1 << 3,
    SS_MLP_BIAS = 1 << 4, /* of the MLP where linear layers have none */
    SS_OUTPUT_BIAS = 1 << 5,
    SS_LAYERNORM = 1 << 6,
    SS_NORM_KEPT = 1 << 7, /* whatever the name of its epsilon */
    SS_NO_NORM_WEIGHTS = 1 << 8,
    SS_EMBEDDING_NORM = 1 << 9,
    SS_POST_NORMS = 1 << 10,
    SS_ONE_NORM = 1 << 11,  /* attention and MLP side by side behind one norm */
    SS_TWO_NORMS = 1 << 12, /* behind a norm each */
    SS_QK_HEAD =
        1 << 13, /* norms of each head's queries and keys; in latent attention of the compressed ones */
    SS_QK_WIDTH = 1 << 14, /* norms of all heads' queries and keys */
    SS_QK_WHERE = 1 << 15, /* such norms only where the config's switch is on */
    SS_QKV_ONLY = 1 << 16, /* "attention_bias" is not of the output projection */
    SS_SINKS = 1 << 17,
    SS_EXPERT_BIAS = 1 << 18, /* of experts and router */
    SS_SHARED_GATE = 1 << 19,
    SS_ROUTER_BIAS = 1 << 20, /* balances without a loss */
    SS_EVERY_OTHER = 1 << 21, /* layers 0, 2, 4, ... attend locally */
    SS_LATENT = 1 << 22,
    SS_TWO_POSITIONS = 1 << 23, /* the position table starts two rows later */
    SS_QK_PLAIN = 1 << 24,      /* norms of queries and keys without weights */
    SS_DROPOUT = 1 << 25,       /* 0.1 */
    SS_SCALED = 1 << 26,        /* embeddings times a factor */
    SS_FULL_UNTURNED = 1 << 27, /* no norms and no rotary embedding where attention is not local */
    SS_PART_TURNED = 1 << 28,   /* the rotary embedding may turn a part of a head's dimensions */
    SS_FULL_NORMED = 1 << 29,   /* of SS_FULL_UNTURNED: the norms stay */
    SS_HALF_LAYERS = 1 << 30,   /* a layer is a mixer or an MLP, as a pattern says */
};

struct ss_family {
    const char *type; /* "model_type" */
    int position;     /* enum ss_position */
    unsigned traits;
    /* "key=value ...": numbers, true, false, "words"; as if they stood in the file. linear_mixer: the mixer beside attention, by its
     * name in stepsim/model_fields.def; linear_mlp=false: its layers have no MLP */
    const char *unsaid;
};

/* Returns the family of that name, NULL when there is none. */
const struct ss_family *ss_family_find(const char *type);
/* Returns a feature of a family that is not modelled, "layers of Mamba"; NULL where none is known. */
const char *ss_family_lacks(const char *type);
/* Returns the nearest name to `type`, NULL when none is near. */
const char *ss_family_near(const char *type);
/* Makes the choices of a family the model's. */
void ss_family_apply(const struct ss_family *f, struct ss_model *m);

struct ss_config {
    const char *text, *file;
    json_t *root; /* of the language model */
    const struct ss_family *family;
    struct ss_error *err;
    const char *missing; /* names of the first size that the model needs and the file has not */
    const char *asked[SS_CONFIG_ASKED];
    int nasked;
    const char *part; /* the key whose value `root` is; NULL: the whole file */
};

/* Returns the first value that the file has, and that is not null, of the names in "a b c"; its name goes to key[64]. NULL
 * when there is none. */
json_t *ss_config_pick(struct ss_config *c, const char *names, char *key);
/* Fails with a message that names the key and its line. Only the first failure counts, *c->err: who reads on after it reads what nobody
 * will look at. */
void ss_config_wrong(const struct ss_config *c, const char *key, const char *what);
/* Fails for an unknown value: `what` has "%s" for it, `hint` says what can be done. */
void ss_config_unknown(const struct ss_config *c, const char *key, const char *what, const char *value,
                       const char *hint);
/* Line of the first "key" in the text, 0 when it is not there: jansson keeps no positions. */
int ss_config_line(const struct ss_config *c, const char *key);
/* Each reads a value of one of these names, or leaves *out as it is where there is none. A size may be a list of all layers
 * that says the same of each. */
void ss_config_size(struct ss_config *c, const char *names, int required, int high, int *out);
void ss_config_positive(struct ss_config *c, const char *names, int high, int *out);
void ss_config_bool(struct ss_config *c, const char *names, int *out);
/* Sets *out to 1 where the value is a number that does something: not 0, false or null, nor `neutral`; else to 0. */
void ss_config_factor(struct ss_config *c, const char *names, double neutral, int *out);

/* Read the parts of a config, in this order: the keys of the rows of stepsim/model_fields.def, then the parts
 * that need code. */
void ss_config_fields(struct ss_config *c, struct ss_model *m);
void ss_config_shape(struct ss_config *c, struct ss_model *m);
void ss_config_hybrid(struct ss_config *c, struct ss_model *m);
/* Read a model of flash-linear-attention: its MLP's width where the file has none, so many times h, of a gated MLP two thirds, up to a
 * multiple; and what is its mixer's. */
void ss_config_fla_width(struct ss_config *c, struct ss_model *m);
void ss_config_fla(struct ss_config *c, struct ss_model *m, const struct ss_layer_rule *mixer);
void ss_config_attention(struct ss_config *c, struct ss_model *m);
void ss_config_experts(struct ss_config *c, struct ss_model *m);
/* Misses the width of a routed expert where the file, before its family adds what is unsaid, says how many there are: that of a dense layer, or
 * the family's own, would be another model's. */
void ss_config_need_experts(struct ss_config *c);
/* Reads the encoders of a file whose language model is not entered yet. */
void ss_config_encoders(struct ss_config *c, struct ss_model *m);
/* Sets the bits of a rule from a list of all layers; `is` judges each value. */
void ss_config_layers(struct ss_config *c, const char *key, const json_t *list, int num_layers,
                      int (*is)(struct ss_config *c, const char *key, const json_t *value),
                      struct ss_layer_rule *out);
/* Returns 1 for a word of layer_types that means the family's mixer without a softmax ("linear_attention"). */
int ss_config_is_linear(const char *word);
/* Adds "key" to m->not_priced, or "..." where no room is left. */
void ss_config_not_priced(struct ss_model *m, const char *key);
/* Fails where a size that the model needs is missing; wrong values are reported first. */
void ss_config_missing(const struct ss_config *c);
/* Names in m->not_priced what the config says and no reader asked for. */
void ss_config_unread(struct ss_config *c, struct ss_model *m);
