/* SPDX-License-Identifier: Apache-2.0 */
/* What one rank sees of a microbatch. */
#ifndef SS_LAYERS_SHAPE_H
#define SS_LAYERS_SHAPE_H

#include "comm/collective.h"

struct ss_job;
struct ss_model;
struct ss_stack;

/* Sizes are in elements; flags are 1 where it is so. */
struct ss_shape {
    /* ---- tokens of a microbatch ---- */
    double micro_batch; /* sequences */
    double sequence;    /* tokens of a sequence */
    double chunk;       /* tokens of a sequence that the rank has: sequence / cp */
    double tokens;      /* micro_batch * chunk */
    double document; /* length of documents that attend as those of a row do; sequence where it holds one */
    const struct ss_packing *packing; /* of packed sequences, else NULL */
    int tp, cp;
    int cp_comm; /* enum ss_cp_comm */
    double sp;   /* ranks that share the activations between GEMMs: tp under sequence parallelism, else 1 */
    /* ---- the model ---- */
    const struct ss_model *model; /* for what no rank has a size of its own: norms, latents, residuals */
    double h, ffn;                /* hidden size, whole; FFN columns of one rank */
    double vocab,
        row; /* padded vocabulary rows of one rank; elements of a row: h, unless projections lead from it and to it */
    double positions; /* rows of the learned position table, 0: none */
    int gated, rope, tied;
    int qkv_bias, out_bias, mlp_bias; /* biases of these linear layers */
    int norm_vectors;                 /* weights of a norm, in vectors of its width */
    double attention_dropout, hidden_dropout;
    /* ---- precisions ---- */
    int gemm_precision;    /* enum ss_precision of linear layers */
    int storage_precision; /* enum ss_precision of activations, attention and logits */
    double e;              /* bytes of a stored activation element */
    double quantized;      /* bytes of an element that linear layers multiply, with its share of scales */
    int fp8_blocks;        /* fp8 has a scale for each block of 128 */
    int fp8_current;       /* fp8 has a scale that is made of the tensor itself before it is cast */
    int block_scaled;      /* mxfp8 or nvfp4, whose blocks the tensor cores scale */
    int scaled_twice;      /* nvfp4, whose tensors have a scale of their own beside those of the blocks */
    int weights_turned;    /* parameters are in fp8, and no transposed copy of them is kept */
    int any_layout;        /* GEMMs take an operand by rows or by columns; else they need a copy of each */
    /* ---- whose kernels ---- */
    const struct ss_stack *stack; /* borrowed */
    int te;                       /* layers are Transformer Engine's */
    int autocast; /* linear layers of PyTorch multiply by 16-bit copies of fp32 weights, which are not sharded */
    int split;    /* linear layers of one input are not joined (ss.layers.split_linear) */
    int compiled;        /* elementwise kernels of a layer are fused (ss.fused.elementwise) */
    int by_operator;     /* recompute is by operator */
    int attention;       /* enum ss_attention: flash, fused or unfused */
    int fp8_attention;   /* fused attention multiplies in mxfp8 */
    double norm_passes;  /* traffic of norms over what they have to move */
    int tp_comm_overlap; /* user buffers carry TP collectives beside GEMMs */
    double
        pp_shares; /* tensor ranks that send a share each of the tensor between two stages; 1: a rank sends all of it */
    /* ---- mixture of experts; experts is 0 without ---- */
    double experts, local_experts; /* all of them, those of one rank */
    double top_k;
    double moe_ffn, shared_ffn; /* columns of one rank */
    int ep, etp;
    int dispatcher;      /* enum ss_dispatcher */
    double reserved_sms; /* SMs that only the dispatcher's kernels have */
    double near_experts; /* experts of all ranks of the group that the fabric joins */
    /* A copy is a token that goes to one expert. The hottest rank is the one that gets most. */
    double sent;      /* copies that one rank sends, padding included */
    double received;  /* tokens that come to the hottest rank, each once */
    double routed;    /* copies that the experts of the hottest rank work on, padding included */
    double busiest;   /* copies that one rank gets, or sends, at most, over what a rank sends on average */
    int uneven;       /* ranks send, or get, different amounts */
    int scattered;    /* experts of a rank have different numbers of tokens */
    int padded;       /* every expert works on as many tokens, which the host knows */
    int fp8_dispatch; /* tokens go to their experts in 1 byte an element */
    int shared_overlap,
        shared_redone; /* shared experts run beside the exchanges; the backward repeats their forward */
    int paired;        /* exchanges run beside another microbatch's compute */
    int fused_experts; /* the experts' GEMMs, one kernel for all experts, have activation, casts and biases in them */
    int sequential;    /* experts work one after the other, without grouped GEMMs */
    int input_jitter;  /* the router's input is multiplied by noise */
    int router_pads;   /* the router sends each expert a multiple of the rows that fp8 needs */
    int router_fp32;   /* the router's gradients are made in fp32 */
    int router_fused;  /* fused kernels make top-k, scores and auxiliary loss */
    int permute_fused; /* fused kernels copy tokens and sum copies */
};

/* Fills what one rank of the job sees, but for experts. The shape borrows the model of the job, and the stack. */
void ss_shape_init(struct ss_shape *s, const struct ss_job *job, const struct ss_stack *stack,
                   int padded_vocab);
/* Fills what a rank that has the whole model would see of one sequence, in 16 bit and with no framework's stack. */
void ss_shape_of_model(struct ss_shape *s, const struct ss_model *m, int padded_vocab, double sequence);
/* Fills the sizes of experts, those of the hottest rank, of a shape that is filled. */
void ss_shape_experts(struct ss_shape *s, const struct ss_job *job, const struct ss_token_spread *spread);
/* Bytes that one rank has of the tensor between two layers; and bytes of it that it sends to the next pipeline stage. */
double ss_shape_border_bytes(const struct ss_shape *s);
double ss_shape_send_bytes(const struct ss_shape *s);

#endif
