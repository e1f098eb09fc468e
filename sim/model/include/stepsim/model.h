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
/* YARN is a word of a flag alone: a job that is complete has ROPE and `yarn`. */
enum ss_position {
    SS_POSITION_NONE,
    SS_POSITION_LEARNED,
    SS_POSITION_ROPE,
    SS_POSITION_ALIBI,
    SS_POSITION_YARN
};
/* Norms of queries and keys: none, of each head, of all heads at once (OLMo 2), or of each head without weights (Llama 4).
 * In latent attention any but none are norms of the compressed queries and of the compressed keys and values. */
enum ss_qk_norm { SS_QK_NORM_NONE, SS_QK_NORM_HEAD, SS_QK_NORM_WIDTH, SS_QK_NORM_PLAIN };
/* Where attention and MLP run side by side: each behind a norm of its own (GPT-NeoX), or both behind one (Phi-2, Falcon). */
enum ss_parallel_residual { SS_RESIDUAL_SERIAL, SS_RESIDUAL_TWO_NORMS, SS_RESIDUAL_ONE_NORM };

/* Which layers have a feature, from 0: those from `first` on whose distance from `phase` is a multiple of `period`; where n > 0
 * those whose bit is set instead, of exactly n layers. All zero: none. */
#define SS_LAYER_RULE_MAX 512
struct ss_layer_rule {
    int period, first, phase;
    int n;
    uint64_t bits[SS_LAYER_RULE_MAX / 64];
};
/* Returns 1 when the rule names layer `layer`. */
int ss_layer_rule_has(const struct ss_layer_rule *rule, int layer);

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
    int extra_positions; /* rows of the learned position table that no token has (OPT: 2) */
    int embedding_size; /* of a row of the vocabulary where it is not h: a projection on each side (OPT-350m), else 0 */
    int gated_mlp; /* 1: SwiGLU or another gated MLP (gate and up projections) */
    int tied_embeddings;
    int qkv_bias;           /* bias on the QKV projection */
    int linear_bias;        /* bias on every linear layer but the router and the output layer */
    int attention_out_bias; /* bias on attention's output projection; this and the next two default to linear_bias */
    int mlp_bias;           /* biases of a dense MLP */
    int expert_bias;        /* biases of an expert */
    int router_linear_bias; /* bias on the router's projection (GPT-OSS) */
    int output_bias;        /* bias on the output layer (GPT-J, Phi-2) */
    int normalization;      /* enum ss_norm */
    int norm_vectors; /* weights of a norm over h, in vectors of h: 0 to 2; default LayerNorm 2, RMSNorm 1 */
    int embedding_norm;  /* 1: a norm behind the embedding (BLOOM) */
    int embedding_scale; /* 1: embeddings times a factor (Gemma, Grok) */
    int logits_scale;    /* 1: logits times a factor (Grok, MPT) */
    int logits_softcap;  /* 1: logits through c tanh(x / c) (Gemma 2) */
    int final_norm;      /* 0: none behind the last layer (OPT-350m) */
    int position;        /* enum ss_position */
    int qk_norm;         /* enum ss_qk_norm */
    int post_norms; /* 1: norms behind attention and MLP too (Gemma 2). Behind instead of before (OLMo 2) costs the same: 0 */
    int parallel_residual; /* enum ss_parallel_residual */
    int yarn; /* 1: rotary embedding by YaRN, whose factor for the scores scales sines and cosines (GPT-OSS) */
    int activation_clamp;   /* 1: both halves of a gated activation's input are clamped first (GPT-OSS) */
    double rotary_fraction; /* of a head's dimensions that the rotary embedding turns, 0: all */
    int attention_sinks;    /* 1: a learned logit a head in the softmax's sum (GPT-OSS) */
    int attention_softcap;  /* 1: scores through c tanh(x / c) (Gemma 2, Grok) */
    /* 1: layers that do not attend locally neither norm nor turn queries and keys (Llama 4), 2: they do not turn them (EXAONE
     * 4); and scale the queries */
    int full_unturned, query_scale;
    /* Local attention: tokens that a query sees, itself included, 0: all; and the layers where it sees no more. */
    int sliding_window;
    struct ss_layer_rule local_layers;
    int attention_chunk; /* local layers see the tokens of their own chunk of so many instead (Llama 4), 0: none */
    /* Multi-head latent attention where kv_lora_rank > 0: ranks of the compressed queries (0: not compressed) and of keys
     * and values, and dimensions a head: of keys without and with position, of values. */
    int q_lora_rank, kv_lora_rank, qk_head_dim, qk_pos_emb_head_dim, v_head_dim;
    /* Mixture of experts where num_experts > 0 and moe_layers has the layer; other layers are dense, of ffn_hidden_size. */
    int num_experts, top_k;
    int moe_ffn_hidden_size; /* of one expert; default ffn_hidden_size */
    struct ss_layer_rule moe_layers;
    int shared_expert_ffn_hidden_size;    /* of all shared experts together, 0: none */
    int shared_expert_gate;               /* 1: a gate weighs their output (Qwen2-MoE) */
    int router_groups, router_group_topk; /* a token's experts are in so many of the groups; 0: not limited */
    int input_jitter;                     /* 1: the router's input is multiplied by noise (Phi-3.5-MoE) */
    int router_bias;                      /* 1: a bias an expert that balances without loss (DeepSeek-V3) */
    int mtp_num_layers; /* multi-token prediction: layers behind the last one, each with a loss */
    int extra_in_checkpoint; /* 1: the published checkpoint has the extra_vocab_size rows: every framework trains them */
    double attention_dropout, hidden_dropout; /* as config.json says, -1 = it does not */
    char not_priced[160]; /* what the config says and no cost knows: names in quotes, "" where all is known */
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
/* Parameters of a finished model. Publishers of mixtures leave out of their figures the input embedding, both embeddings or
 * nothing: all but `mtp` are without multi-token prediction, `total` and `active` are with both embeddings. */
struct ss_parameter_counts {
    double total;
    double
        active; /* that a token meets: top_k experts of each mixture layer, shared ones, routers, all that is dense */
    double
        input; /* of `total`: tables of tokens and positions; an output layer that is tied to them is not counted again */
    double output; /* of `total`: an output layer of its own */
    double mtp,
        mtp_active; /* multi-token prediction on top: its layers, norms and projections; embeddings are shared */
};
/* Counts them with `padded_vocab` rows of the vocabulary into *out. */
void ss_model_count(const struct ss_model *m, int padded_vocab, struct ss_parameter_counts *out);
/* Returns the number of parameters of a finished model with `padded_vocab` rows, without multi-token prediction; untied
 * embeddings count twice. */
double ss_model_parameters(const struct ss_model *m, int padded_vocab);
/* Returns those of them that a token meets, embeddings included; ss_model_parameters without experts. */
double ss_model_active_parameters(const struct ss_model *m, int padded_vocab);

#ifdef __cplusplus
}
#endif
#endif
