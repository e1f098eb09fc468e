/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models: the shape of a transformer, from a Hugging Face config.json or from Megatron's flags. A struct ss_model holds no
 * memory and needs no free.
 */
#ifndef STEPSIM_MODEL_H
#define STEPSIM_MODEL_H

#include <stdint.h>

#include "stepsim/error.h"

#ifdef __cplusplus
extern "C" {
#endif

enum ss_norm { SS_NORM_LAYERNORM, SS_NORM_RMSNORM };
/* Only a flag says YARN: a complete job has ROPE and `yarn`. */
enum ss_position {
    SS_POSITION_NONE,
    SS_POSITION_LEARNED,
    SS_POSITION_ROPE,
    SS_POSITION_ALIBI,
    SS_POSITION_YARN
};
/* Norms of dt, B and C of Mamba-1: none, with weights (Jamba), without (Falcon-Mamba). */
enum ss_mamba_norms { SS_MAMBA_NO_NORMS, SS_MAMBA_NORMS, SS_MAMBA_PLAIN_NORMS };
/* Norms of queries and keys: none, of each head, of all heads at once (OLMo 2), or of each head without
 * weights (Llama 4). In latent attention any other value than none means norms of the compressed queries and
 * of the compressed keys and values. */
enum ss_qk_norm { SS_QK_NORM_NONE, SS_QK_NORM_HEAD, SS_QK_NORM_WIDTH, SS_QK_NORM_PLAIN };
/* Whether attention and MLP run side by side: each behind its own norm (GPT-NeoX), or both behind one (Phi-2,
 * Falcon). */
enum ss_parallel_residual { SS_RESIDUAL_SERIAL, SS_RESIDUAL_TWO_NORMS, SS_RESIDUAL_ONE_NORM };

/* Which layers have a feature, counted from 0. Without bits (n 0): layers from `first` on whose distance from
 * `phase` is a multiple of `period`. n > 0: layers whose bit is set, of exactly n layers. All zero: none. */
#define SS_LAYER_RULE_MAX 512
struct ss_layer_rule {
    int period, first, phase;
    int n;
    uint64_t bits[SS_LAYER_RULE_MAX / 64];
};
/* Returns 1 when the rule names layer `layer`. */
int ss_layer_rule_has(const struct ss_layer_rule *rule, int layer);

/* Tokens whose keys DeepSeek-V4 compresses to one, in its layers csa and hca. */
enum { SS_CSA_BLOCK = 4, SS_HCA_BLOCK = 128 };

/* The fields of model_fields.def. Sizes are in elements. */
struct ss_model {
#define SS_FIELD(kind, field, number, told, read) SS_MODEL_##kind(field, number)
#define SS_MODEL_NEED(field, number) int field;
#define SS_MODEL_SIZE(field, number) int field;
#define SS_MODEL_CHOICE(field, number) int field;
#define SS_MODEL_MARK(field, number) int field;
#define SS_MODEL_SHARE(field, number) double field;
#define SS_MODEL_RATE(field, number) double field;
#define SS_MODEL_LAYERS(field, number) struct ss_layer_rule field;
#define SS_MODEL_MIXER(field, number) struct ss_layer_rule field;
#define SS_MODEL_TEXT(field, number) char field[number];
#include "stepsim/model_fields.def"
#undef SS_MODEL_NEED
#undef SS_MODEL_SIZE
#undef SS_MODEL_CHOICE
#undef SS_MODEL_MARK
#undef SS_MODEL_SHARE
#undef SS_MODEL_RATE
#undef SS_MODEL_LAYERS
#undef SS_MODEL_MIXER
#undef SS_MODEL_TEXT
};

/* Makes a model in which nothing is given. It holds no memory and needs no free. */
void ss_model_init(struct ss_model *m);
/* Reads a Hugging Face config.json by name (workloads/models/NAME.json of the data) or by path into *out, which need not be
 * initialised; ss_model_finish comes next. Errors: SS_ERR_IO (no such file), SS_ERR_INPUT (damaged, or a size is missing),
 * SS_ERR_UNSUPPORTED (an architecture that is not modelled). */
int ss_model_load(const char *name_or_path, struct ss_model *out, struct ss_error *err);
/* Fills in the defaults of everything that is not given, and checks the sizes. Error: SS_ERR_CONFIG (a size
 * is missing, or heads, groups and hidden size do not divide one another). */
int ss_model_finish(struct ss_model *m, struct ss_error *err);
/* Returns the rows of the vocabulary after Megatron's padding to a multiple of divisible_by * tp. */
int ss_model_padded_vocab(const struct ss_model *m, int divisible_by, int tp);

#ifdef __cplusplus
}
#endif
#endif
