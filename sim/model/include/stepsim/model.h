/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models: the shape of a transformer, from a Hugging Face config.json or from Megatron's flags. A struct ss_model holds no
 * memory and needs no free.
 */
#pragma once

#include <stdint.h>

#include "stepsim/error.h"

SS_C_BEGIN

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
/* Norms of queries and keys: none, of each head, of all heads at once (OLMo 2), of each head without
 * weights (Llama 4), or of each head with weights of its own and no bias (StableLM). In latent attention any
 * other value than none means norms of the compressed queries and of the compressed keys and values. */
enum ss_qk_norm { SS_QK_NORM_NONE, SS_QK_NORM_HEAD, SS_QK_NORM_WIDTH, SS_QK_NORM_PLAIN, SS_QK_NORM_UNBIASED };
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

/* Colours of a pixel. */
#define SS_IMAGE_CHANNELS 3
/* Frames of a second of sound, and the tokens that Qwen3-Omni's convolutions make of them. */
#define SS_AUDIO_FRAMES 100
#define SS_AUDIO_TOKENS 13
/* Encoders before the language model: of pictures, of sound. */
enum { SS_VISION, SS_AUDIO, SS_ENCODERS };
/* One of them, whose output is among the tokens of the language model: sizes in elements, X(field). All 0: none. */
#define SS_ENCODER_LIST(X)                                                                                   \
    X(num_layers)                                                                                            \
    X(hidden_size)                                                                                           \
    X(ffn_hidden_size)                                                                                       \
    X(num_heads)                                                                                             \
    X(gated_mlp)        /* 0 or 1, as the next three */                                                      \
    X(rms_norm)         /* 0: LayerNorm */                                                                   \
    X(qkv_bias)         /* other linear layers have one */                                                   \
    X(qk_norm)          /* of all heads at once */                                                           \
    X(rotary)           /* 0 or 1 */                                                                         \
    X(layer_scales)     /* vectors of h in a layer, each of which scales a branch */                         \
    X(outer_norms)      /* norms before and behind the layers */                                             \
    X(image_size)       /* pixels a side of every picture, 0: any */                                         \
    X(patch_size)       /* pixels a side of a patch, which is a token of the encoder */                      \
    X(patch_frames)     /* pictures that a patch joins in a video; a picture alone counts so often */        \
    X(patch_bias)       /* 0 or 1 */                                                                         \
    X(mel_bins)         /* of sound: rows of a frame of 10 ms ... */                                         \
    X(conv_channels)    /* ... and channels of three convolutions that halve rows and frames */              \
    X(class_tokens)     /* tokens of a picture that are no patches */                                        \
    X(positions)        /* rows of a table of learned positions, 0: none */                                  \
    X(window)           /* tokens beyond which a layer does not see, 0: none */                              \
    X(full_period)      /* every so many-th layer sees all of them all the same */                           \
    X(merge_size)       /* patches a side that become one token of the language model */                     \
    X(norms_merged)     /* the projector norms 0: patches, 1: what is merged, 2: nothing */                  \
    X(projector_size)   /* columns of the projector's first layer, 0: as the language model */               \
    X(projector_second) /* of a second one before the last, 0: none */                                       \
    X(projector_bias)   /* 0 or 1 */                                                                         \
    X(deep_projectors)  /* further ones, of what inner layers make, whose norms are merged (DeepStack) */    \
    X(undivided)        /* 1: no framework divides it over tensor ranks */
struct ss_encoder {
#define X(field) int field;
    SS_ENCODER_LIST(X)
#undef X
};

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
#define SS_MODEL_ENCODER(field, number) struct ss_encoder field;
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
#undef SS_MODEL_ENCODER
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
/* Returns the model's encoder of a kind. */
static inline const struct ss_encoder *ss_model_encoder(const struct ss_model *m, int which)
{
    return which == SS_AUDIO ? &m->audio : &m->vision;
}
/* Fills *out with the transformer that an encoder is: without tokens, embedding and loss. */
void ss_encoder_model(const struct ss_encoder *e, struct ss_model *out);
/* Returns the rows of the vocabulary after Megatron's padding to a multiple of divisible_by * tp. */
int ss_model_padded_vocab(const struct ss_model *m, int divisible_by, int tp);

SS_C_END
