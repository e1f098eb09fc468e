/* SPDX-License-Identifier: Apache-2.0 */
/* What one rank sees of a microbatch. */
#ifndef SS_LAYERS_SHAPE_H
#define SS_LAYERS_SHAPE_H

#include "comm/collective.h"
#include "stepsim/job.h"
#include "stepsim/stack.h"

/* All sizes in elements of one rank. */
struct ss_shape {
    double tokens;   /* micro_batch * seq_length / cp */
    double sequence; /* seq_length: keys that attention sees */
    double document; /* length of documents that attend as those of a row do; seq_length where it holds one */
    double chunk;    /* seq_length / cp: queries of one rank's sequence */
    double micro_batch;
    double h, ffn;        /* hidden size whole, FFN columns of one rank */
    double heads, groups; /* query heads and KV groups of one rank */
    double d, d_v;        /* head dimension of queries and keys, and of values */
    double vocab;         /* padded vocabulary rows of one rank */
    double row;           /* elements of one of them: h, unless projections lead from it and to it */
    int tp, cp;
    int cp_gathers;   /* context parallelism gathers whole K and V */
    double sp;        /* tp under sequence parallelism, else 1: divides activations between the GEMMs */
    double positions; /* rows of the learned position table, 0: none */
    int gated, rope, tied;
    int qkv_bias, out_bias, mlp_bias; /* biases of these linear layers */
    int norm_vectors;                 /* weights of a norm, in vectors of its width */
    int fp8_blocks;                   /* 1: linear layers in fp8 with a scale for each block of 128 */
    int weights_turned;               /* 1: parameters in fp8, of which no transposed copy is kept */
    int fp8_current;                  /* 1: with one that is made of the tensor itself before it is cast */
    int block_scaled;                 /* 1: in mxfp8 or nvfp4, whose blocks the tensor cores scale */
    int scaled_twice;                 /* 1: and the tensor has a scale of its own: nvfp4 */
    double quantized;   /* bytes of an element of what linear layers multiply, and its share of scales */
    int any_layout;     /* 1: GEMMs take one copy of an operand by rows or by columns; else they need both */
    double norm_passes; /* traffic of norms over the count */
    int gemm_precision; /* of linear layers: enum ss_precision */
    int storage_precision; /* of activations, attention and logits */
    double e;              /* bytes of a stored activation element */
    int attention;         /* resolved: flash, fused or unfused */
    int fp8_attention;     /* 1: fused attention multiplies in mxfp8 */
    int te;                /* Transformer Engine's layers */
    int autocast; /* linear layers of PyTorch multiply by 16-bit copies of fp32 weights, which are not sharded */
    int split;    /* linear layers of one input are not joined: ss.layers.split_linear */
    int compiled;        /* elementwise kernels of a layer are fused: ss.fused.elementwise */
    int tp_comm_overlap; /* userbuffers overlap of TP collectives and GEMMs */
    /* tensor ranks that send each a share of the tensor between two stages; 1: all of it */
    double pp_shares;
    double attention_dropout, hidden_dropout;
    const struct ss_model
        *model; /* what has no size of one rank: norms, ranks of latent attention, residuals */
    /* local attention: keys that a query sees at most, or length of the chunks that see themselves alone; 0: all */
    double window, attention_chunk;
    const struct ss_packing *packing; /* of packed sequences, else NULL */
    /* Mixture of experts (experts.h); without one experts is 0. */
    double experts, local_experts, top_k; /* all of them, those of one rank */
    double moe_ffn, shared_ffn;           /* columns of one rank */
    int ep, etp;
    double sent;      /* copies of its tokens that one rank sends to experts, padding included */
    double busiest;   /* copies that the rank with most gets, or sends, over what a rank sends on average */
    int uneven;       /* 1: ranks send, or get, different amounts */
    double received;  /* tokens that come to a rank, each once: the hottest one's */
    double routed;    /* copies that the experts of a rank work on, padding included: the hottest one's */
    double an_expert; /* of them one expert's */
    double near_experts; /* experts of all ranks of the group that NVLink joins */
    int scattered;       /* 1: the experts of a rank have different numbers of tokens */
    int dispatcher;      /* enum ss_dispatcher */
    int fp8_dispatch;    /* 1: tokens go to their experts in 1 byte an element */
    int shared_overlap;  /* 1: shared experts run beside the exchanges */
    int shared_redone;   /* 1: their forward is repeated in the backward */
    int paired;          /* 1: exchanges run beside another microbatch's compute */
    int padded;          /* every expert works on as many tokens, which the host knows */
    int fused_experts; /* 1: activation, casts and biases are in the experts' GEMMs, each of one kernel for all of them */
    int router_pads;     /* the router sends each expert a multiple of the rows that fp8 needs */
    int input_jitter;    /* the router's input is multiplied by noise */
    int router_fp32;     /* the router's gradients are made in fp32 */
    int router_fused;    /* top-k, scores and auxiliary loss are made by fused kernels */
    int permute_fused;   /* copies of tokens and their sums are made by fused kernels */
    int sequential;      /* an expert after the other, no grouped GEMM */
    double reserved_sms; /* that only the dispatcher's kernels have */
};

/* What one rank of the job sees. */
void ss_shape_init(struct ss_shape *s, const struct ss_job *job, const struct ss_stack *stack,
                   int padded_vocab);
/* Fills the sizes of experts of a shape whose other sizes are known: those of the hottest rank. */
void ss_shape_experts(struct ss_shape *s, const struct ss_job *job, const struct ss_token_spread *spread);
/* Bytes of the tensor between two layers, on one rank; and what of it one rank sends to the next pipeline stage. */
double ss_shape_border_bytes(const struct ss_shape *s);
double ss_shape_send_bytes(const struct ss_shape *s);

#endif
