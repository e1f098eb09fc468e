/* SPDX-License-Identifier: Apache-2.0 */
/* What the readers of models and jobs share. */
#pragma once

#include "stepsim/model.h"

/* A choice or yes/no that nobody gave; sizes use 0. Gone after ss_model_finish. */
#define SS_MODEL_UNSET (-1)

/* A row of stepsim/model_fields.def, which says what the columns mean. */
enum ss_model_kind {
    SS_MODEL_IS_NEED,
    SS_MODEL_IS_SIZE,
    SS_MODEL_IS_CHOICE,
    SS_MODEL_IS_MARK,
    SS_MODEL_IS_SHARE,
    SS_MODEL_IS_RATE,
    SS_MODEL_IS_LAYERS,
    SS_MODEL_IS_MIXER = SS_MODEL_IS_LAYERS,
    SS_MODEL_IS_TEXT,
    SS_MODEL_IS_ENCODER
};
enum ss_model_told { SS_TOLD_NUMBER, SS_TOLD_FLAG, SS_TOLD_WORD, SS_TOLD_CONFIG };
struct ss_model_field {
    const char *name;
    enum ss_model_kind kind;
    enum ss_model_told told;
    size_t offset; /* in struct ss_model */
    double number;
    const char *words; /* of SS_TOLD_WORD */
    const char *keys;  /* NULL: read by hand */
    int is_factor;
    double neutral; /* of a factor */
};
/* The number of fields of a model. */
#define SS_FIELD(kind, field, number, told, read) +1
enum {
    SS_MODEL_FIELDS = 0
#include "stepsim/model_fields.def"
};
extern const struct ss_model_field ss_model_fields[SS_MODEL_FIELDS];

/* Copies every given value of `given` into *base. */
void ss_model_overlay(struct ss_model *base, const struct ss_model *given);
/* Gives every choice that nobody made its row's value; SS_MODEL_UNSET stays where that is OPEN. */
void ss_model_fill(struct ss_model *m);
/* Checks that sizes are within the ranges of their rows. Error: SS_ERR_CONFIG. */
int ss_model_check_sizes(const struct ss_model *m, struct ss_error *err);
/* Returns the elements of a row of the vocabulary. */
int ss_model_embedding_row(const struct ss_model *m);
/* Parses the text of a config.json; `file` stands for it in messages. *out is initialised here. */
int ss_model_parse(const char *text, size_t len, const char *file, struct ss_model *out,
                   struct ss_error *err);

/* ---- layer_pattern.c: which layers have which half ---- */
/* A pattern of layers, a letter each: Megatron-LM's --hybrid-layer-pattern, Hugging Face's hybrid_override_pattern. */
struct ss_layer_pattern {
    int layers;                       /* of the model */
    int segments;                     /* of the pipeline: one more than the pattern has '|' */
    short segment[SS_LAYER_RULE_MAX]; /* layers of each */
    int depths, depth_layers;         /* of multi-token prediction behind '/', and layers of each */
};
/* Sets the number of layers of *m and which of them have which half; `out` tells what else the pattern says. *why gets the reason on
 * SS_ERR_INPUT and SS_ERR_UNSUPPORTED (layers that are not modelled). */
int ss_model_pattern(struct ss_model *m, const char *text, struct ss_layer_pattern *out, const char **why);
/* Says of `n` layers, the last one that of a prediction, how many tokens of keys each compresses to one: SS_CSA_BLOCK, SS_HCA_BLOCK, or 0. */
void ss_model_blocks(struct ss_model *m, const int *blocks, int n);
/* Returns whether layers have DeepSeek-V4's attention. */
static inline int ss_model_compresses(const struct ss_model *m)
{
    return m->csa.n > 0 || m->hca.n > 0 || m->csa_local.n > 0;
}
/* Returns the letter of a kind of layers by the word of a config.json ("mamba"); 0: it is none. */
char ss_model_layer_letter(const char *word);
