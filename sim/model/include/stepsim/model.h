/* SPDX-License-Identifier: Apache-2.0 */
/* The shape of a transformer: Hugging Face's config.json fields or Megatron's shape flags. */
#ifndef STEPSIM_MODEL_H
#define STEPSIM_MODEL_H

#include "stepsim/error.h"

#ifdef __cplusplus
extern "C" {
#endif

enum ss_norm { SS_NORM_LAYERNORM, SS_NORM_RMSNORM };
enum ss_position { SS_POSITION_NONE, SS_POSITION_LEARNED, SS_POSITION_ROPE };

/* Sizes in elements, 0 = not given; choices and yes/no -1 = not given. Completed by ss_model_finish. */
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
    int gated_mlp;    /* 1: SwiGLU or another gated MLP (gate and up projections) */
    int tied_embeddings;
    int qkv_bias;     /* bias on the QKV projection */
    int linear_bias;  /* bias on every linear layer */
    int normalization; /* enum ss_norm */
    int position;      /* enum ss_position */
    int sliding_window; /* tokens that attention looks back on, 0 = all; read, but attention is priced over all */
    /* Mixture of experts: read and kept, 0 = dense. */
    int num_experts, top_k, moe_ffn_hidden_size, moe_layer_freq, shared_expert_ffn_hidden_size;
    int mtp_num_layers;
    double attention_dropout, hidden_dropout; /* as config.json says, -1 = it does not */
};

void ss_model_init(struct ss_model *m);
/* Reads config.json by name (workloads/models) or path. */
int ss_model_load(const char *name_or_path, struct ss_model *out, struct ss_error *err);
/* Fills defaults and checks divisibility of heads, groups and hidden size. */
int ss_model_finish(struct ss_model *m, struct ss_error *err);
/* Vocabulary rows after Megatron's padding to a multiple of divisible_by * tp. */
int ss_model_padded_vocab(const struct ss_model *m, int divisible_by, int tp);
/* Parameters of the whole model, with `padded_vocab` rows, embedding counted twice when untied. */
double ss_model_parameters(const struct ss_model *m, int padded_vocab);

#ifdef __cplusplus
}
#endif
#endif
