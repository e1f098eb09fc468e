/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models: the shape of a transformer, from a Hugging Face config.json or from Megatron's flags. A struct ss_model holds no
 * memory and needs no free.
 */
#ifndef STEPSIM_MODEL_H
#define STEPSIM_MODEL_H

#include "stepsim/error.h"

#ifdef __cplusplus
extern "C" {
#endif

enum ss_norm { SS_NORM_LAYERNORM, SS_NORM_RMSNORM };
enum ss_position { SS_POSITION_NONE, SS_POSITION_LEARNED, SS_POSITION_ROPE };

/* Sizes are in elements, 0: not given. Choices and flags (0 or 1) are -1: not given. ss_model_finish fills in both. */
struct ss_model {
    char name[64];
    int num_layers;          /* transformer layers */
    int hidden_size;         /* h */
    int ffn_hidden_size;     /* default 4h; SwiGLU from Megatron flags: as given */
    int num_attention_heads; /* a */
    int num_query_groups;    /* KV heads; default a */
    int kv_channels;         /* head dimension; default h / a */
    int vocab_size;          /* tokens of the tokenizer, before padding */
    int extra_vocab_size;    /* rows added before padding (Pai's --extra-vocab-size) */
    int max_position_embeddings;
    int gated_mlp; /* 1: SwiGLU or another gated MLP (gate and up projections) */
    int tied_embeddings;
    int qkv_bias;      /* bias on the QKV projection */
    int linear_bias;   /* bias on every linear layer */
    int normalization; /* enum ss_norm */
    int position;      /* enum ss_position */
    /* tokens that attention looks back on, 0: all. It is read, but attention is priced over all tokens */
    int sliding_window;
    /* Mixture of experts: read and kept, 0 = dense. */
    int num_experts, top_k, moe_ffn_hidden_size, moe_layer_freq, shared_expert_ffn_hidden_size;
    int mtp_num_layers;
    double attention_dropout, hidden_dropout; /* as config.json says, -1 = it does not */
};

/* Makes a model of which nothing is given. It holds no memory and needs no free. */
void ss_model_init(struct ss_model *m);
/* Reads a Hugging Face config.json by name (workloads/models/NAME.json of the data) or by path into *out, which need not be
 * initialised; ss_model_finish comes next. Errors: SS_ERR_IO (no such file), SS_ERR_INPUT (damaged, or a size is missing),
 * SS_ERR_UNSUPPORTED (an architecture that is not modelled). */
int ss_model_load(const char *name_or_path, struct ss_model *out, struct ss_error *err);
/* Fills in the defaults of all that is not given, and checks the sizes. Error: SS_ERR_CONFIG (a size is missing, or heads,
 * groups and hidden size do not divide one another). */
int ss_model_finish(struct ss_model *m, struct ss_error *err);
/* Returns the rows of the vocabulary after Megatron's padding to a multiple of divisible_by * tp. */
int ss_model_padded_vocab(const struct ss_model *m, int divisible_by, int tp);
/* Returns the number of parameters of a finished model with `padded_vocab` rows; untied embeddings count twice. */
double ss_model_parameters(const struct ss_model *m, int padded_vocab);

#ifdef __cplusplus
}
#endif
#endif
