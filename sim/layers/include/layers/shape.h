/* SPDX-License-Identifier: Apache-2.0 */
/* The sizes of one microbatch on one rank. */
#pragma once

#include "comm/collective.h"
#include "stepsim/model.h"

struct ss_job;
struct ss_media;
struct ss_stack;

/* Sizes are in elements; a flag is 1 where its sentence holds. */
struct ss_shape {
    /* ---- tokens of a microbatch ---- */
    double micro_batch; /* sequences */
    double sequence;    /* tokens of a sequence */
    double chunk;       /* tokens of a sequence that are on the rank: sequence / cp */
    double tokens;      /* micro_batch * chunk */
    /* length of a document that attends as the documents of a row do on average; `sequence` where a row is
     * one document */
    double document;
    const struct ss_packing *packing; /* of packed sequences; else NULL */
    int tp, cp;
    int cp_comm; /* enum ss_cp_comm */
    double sp;   /* ranks that share the activations between GEMMs: tp under sequence parallelism, else 1 */
    /* ---- the model ---- */
    const struct ss_model *model; /* for sizes that are equal on every rank: norms, latents, residuals */
    double h, ffn;                /* hidden size, not divided; FFN columns of one rank */
    double streams;               /* of the residual, each of h; 1: no hyper-connections */
    double vocab,
        /* padded vocabulary rows of one rank; elements of an embedding row: h, unless the model projects from
         * and to another width */
        row;
    double positions; /* rows of the learned position table, 0: none */
    int gated, rope, tied;
    int rope_fused;                   /* one kernel parts Q, K and V and turns queries and keys */
    int qkv_bias, out_bias, mlp_bias; /* biases of these linear layers */
    int norm_vectors;                 /* weight vectors of a norm, each of the norm's width */
    double attention_dropout, hidden_dropout;
    /* ---- an encoder before the language model ---- */
    const struct ss_encoder *encoder; /* NULL: the shape is that of the language model */
    double text_h;                    /* hidden size of the language model that gets its output */
    int frozen;                       /* its layers are not trained, its projector is */
    /* ---- precisions ---- */
    int gemm_precision;    /* enum ss_precision of linear layers */
    int storage_precision; /* enum ss_precision of activations, attention and logits */
    double e;              /* bytes of an activation element in memory */
    double quantized;      /* bytes of an element that linear layers multiply, its share of scales included */
    int fp8_blocks;        /* fp8 has a scale for each block of 128 */
    int fp8_current;       /* the scale of an fp8 tensor is computed from that tensor before its cast */
    int block_scaled;      /* mxfp8 or nvfp4, whose blocks the tensor cores scale */
    int scaled_twice;      /* nvfp4: a tensor has a scale of its own beside those of its blocks */
    int weights_turned;    /* parameters are in fp8 without a transposed copy */
    int any_layout; /* GEMMs read an operand by rows or by columns; else they need a copy of each order */
    /* ---- the stack's kernels ---- */
    const struct ss_stack *stack; /* borrowed */
    int te;                       /* layers are Transformer Engine's */
    int autocast; /* linear layers of PyTorch multiply 16-bit copies of fp32 weights, which are not sharded */
    int split;    /* both halves of a gated MLP are linear layers of their own: ss_shape_splits */
    int compiled; /* elementwise kernels of a layer are fused (ss.fused.elementwise) */
    int wgrad_fused; /* GEMMs add weight gradients to the main gradients (ss.fused.wgrad_accumulation) */
    int fills; /* PyTorch fills tensors before kernels write them (torch.use_deterministic_algorithms) */
    int deterministic;   /* the backward of attention is deterministic */
    int by_operator;     /* recompute is by operator */
    unsigned graphs;     /* enum ss_graph_part: parts of a layer in Transformer Engine's CUDA graphs */
    int attention;       /* enum ss_attention: flash, fused or unfused */
    int fp8_attention;   /* fused attention multiplies in mxfp8 */
    int dsa_kernels;     /* enum ss_dsa_kernels: of sparse attention */
    int index_loss;      /* enum ss_index_loss: its indexer trains */
    int streams_fused;   /* hyper-connections are fused kernels, not compiled functions */
    int mamba_apart;     /* projection, convolution and scan of Mamba-2 are calls of their own */
    double norm_passes;  /* traffic of norms over the traffic that they cannot avoid */
    int tp_comm_overlap; /* user buffers carry TP collectives beside GEMMs */
    /* tensor ranks that each send a share of the tensor between two stages; 1: one rank sends all of it */
    double pp_shares;
    /* ---- mixture of experts; `experts` is 0 in a model without ---- */
    double experts, local_experts; /* experts of a layer; experts of one rank */
    double top_k;
    double moe_ffn, shared_ffn; /* columns of one rank */
    double moe_h;               /* width of tokens on their way through the experts: h, or that of a latent */
    int ep, etp;
    int dispatcher;      /* enum ss_dispatcher */
    double reserved_sms; /* SMs that the dispatcher's kernels keep to themselves */
    double near_experts; /* experts on all ranks of the group that the fabric joins */
    /* A copy is a token on its way to one expert. The hottest rank is the one that gets most copies. */
    double sent;      /* copies that one rank sends, padding included */
    double received;  /* distinct tokens that come to the hottest rank */
    double routed;    /* copies that the experts of the hottest rank compute, padding included */
    double busiest;   /* most copies that one rank gets or sends, over the mean that a rank sends */
    int uneven;       /* ranks send, or get, different amounts */
    int scattered;    /* experts of a rank have different numbers of tokens */
    int padded;       /* every expert computes equally many tokens, and the host knows how many */
    int fp8_dispatch; /* tokens go to their experts in 1 byte an element */
    int shared_overlap,
        shared_redone; /* shared experts run beside the exchanges; the backward repeats their forward */
    int paired;        /* exchanges run beside another microbatch's compute */
    /* the GEMMs of all experts are one kernel, which includes activation, casts and biases */
    int fused_experts;
    int sequential;    /* experts work one after the other, without grouped GEMMs */
    int input_jitter;  /* the router's input is multiplied by noise */
    int router_pads;   /* the router sends each expert a multiple of the rows that fp8 needs */
    int router_fp32;   /* the router's gradients are made in fp32 */
    int router_fused;  /* fused kernels make top-k, scores and auxiliary loss */
    int permute_fused; /* fused kernels copy tokens and sum copies */
};

/* Fills the sizes for one rank of the job, without those of experts. The shape borrows the job's model and
 * the stack. */
void ss_shape_init(struct ss_shape *s, const struct ss_job *job, const struct ss_stack *stack,
                   int padded_vocab);
/* Fills the sizes for a rank that holds the whole model and sees one sequence, in 16 bit and without a
 * framework's stack. */
void ss_shape_of_model(struct ss_shape *s, const struct ss_model *m, int padded_vocab, double sequence);
/* An encoder of a model as a transformer of its own, whose sequences are pictures or clips of sound. The shape borrows the model, so a
 * tower stays where it is. */
struct ss_tower {
    struct ss_model model;
    struct ss_shape shape;
    int which;     /* SS_VISION or SS_AUDIO */
    int recompute; /* 1: of its layers, whole */
};
/* Fills the tower of a kind of encoder of the model of a text's shape, on the same rank, and returns whether there is one. Every context
 * rank has all of the pictures. Layers multiply in 16 bit, and neither sequence parallelism nor user buffers reach them
 * (Megatron-Bridge's get_vision_model_config, Megatron-LM's examples/multimodal/model.py). */
int ss_tower_init(struct ss_tower *t, const struct ss_shape *text, int encoder, const struct ss_media *media);
/* Fills the sizes of experts, for the hottest rank, in a shape that is filled otherwise. */
void ss_shape_experts(struct ss_shape *s, const struct ss_job *job, const struct ss_token_spread *spread);
/* Returns whether both halves of a gated MLP are linear layers of their own (ss.layers.split_linear, ss.layers.split_gate). */
int ss_shape_splits(const struct ss_stack *stack);
/* ss_shape_border_bytes returns one rank's bytes of the tensor between two layers, ss_shape_send_bytes those
 * that the rank sends to the next pipeline stage. */
double ss_shape_border_bytes(const struct ss_shape *s);
double ss_shape_send_bytes(const struct ss_shape *s);
