/* SPDX-License-Identifier: Apache-2.0 */
/* One list of operators a layer: it feeds FLOP, bytes, kernels, parameters and saved-for-backward bytes. */
#ifndef SS_COST_OPS_H
#define SS_COST_OPS_H

#include "stepsim/job.h"
#include "stepsim/stack.h"

enum ss_layer_kind { SS_LAYER_EMBEDDING, SS_LAYER_DENSE, SS_LAYER_MOE, SS_LAYER_MTP, SS_LAYER_LOSS };

/* What a rank sees of a microbatch; all sizes in elements of one rank. */
struct ss_shape {
    double tokens;   /* micro_batch * seq_length / cp */
    double sequence; /* seq_length: keys that attention sees */
    double chunk;    /* seq_length / cp: queries of one rank's sequence */
    double micro_batch;
    double h, ffn;        /* hidden size whole, FFN columns of one rank */
    double heads, groups; /* query heads and KV groups of one rank */
    double d;             /* head dimension */
    double vocab;         /* padded vocabulary rows of one rank */
    int tp, cp;
    int cp_gathers; /* context parallelism gathers whole K and V */
    double sp; /* tp under sequence parallelism, else 1: divides activations between the GEMMs */
    double positions; /* rows of the learned position table, 0: none */
    int gated, qkv_bias, linear_bias, rope, norm_is_layernorm, tied;
    int gemm_precision;    /* of linear layers: enum ss_precision */
    int storage_precision; /* of activations, attention and logits */
    double e;              /* bytes of a stored activation element */
    int attention;         /* resolved: flash, fused or unfused */
    int te;                /* Transformer Engine's layers */
    int tp_comm_overlap;   /* userbuffers overlap of TP collectives and GEMMs */
    double pp_shares;      /* tensor ranks that send each a share of the tensor between two stages; 1: all of it */
    double attention_dropout, hidden_dropout;
};

enum ss_op_kind { SS_OP_GEMM, SS_OP_ATTENTION, SS_OP_ELEMENTWISE };
/* Which TP collective a linear layer needs: column parallel gathers its input, row parallel
 * scatters (or reduces) its output. */
enum ss_tp_role { SS_TP_NONE, SS_TP_COLUMN, SS_TP_ROW };

struct ss_op {
    const char *name;
    int kind;
    int core_attention;   /* 1: inside the part that selective recompute repeats */
    int precision;        /* GEMM */
    double m, n, k;       /* GEMM forward: [m x k] [k x n] */
    int role;             /* enum ss_tp_role */
    double forward_flops; /* GEMM: full; attention: the causal half; per rank */
    double backward_flops;
    double forward_bytes, backward_bytes; /* HBM traffic of elementwise kernels (attention: unfused) */
    int forward_kernels, backward_kernels;
    double params;        /* of one rank */
    int tensors;          /* that hold them */
    double gemm_params;   /* those that fp8 keeps a copy of; 0: no linear layer of Transformer Engine */
    double saved_bytes;   /* kept from forward to backward, without core_bytes */
    double core_bytes;    /* kept too, but not under selective recompute */
    double working_bytes; /* alive while the operator runs, beside the saved ones */
};

#define SS_OPS_MAX 20
struct ss_ops {
    int n;
    struct ss_op op[SS_OPS_MAX];
};

/* What one rank of the job sees. */
void ss_shape_init(struct ss_shape *s, const struct ss_job *job, const struct ss_stack *stack,
                   int padded_vocab);
/* Operators of one layer of a kind, in forward order. SS_ERR_UNSUPPORTED for MOE and MTP. */
int ss_ops_build(const struct ss_shape *s, const struct ss_stack *stack, int layer_kind, struct ss_ops *out,
                 struct ss_error *err);
/* Sums over a list. */
double ss_ops_params(const struct ss_ops *ops);
int ss_ops_tensors(const struct ss_ops *ops);
/* Of the operator with most of them. */
double ss_ops_largest_params(const struct ss_ops *ops);
double ss_ops_gemm_params(const struct ss_ops *ops);
double ss_ops_saved_bytes(const struct ss_ops *ops, int selective_recompute);
/* Kept from I to W when the backward is split: inputs of the GEMMs and gradients of their outputs, which sequence
 * parallelism shards where it shards them in the forward. */
double ss_ops_weight_grad_bytes(const struct ss_ops *ops, const struct ss_shape *s);
double ss_ops_working_bytes(const struct ss_ops *ops); /* the largest */
/* Bytes of the tensor between two layers, on one rank; and what of it one rank sends to the next pipeline stage. */
double ss_shape_border_bytes(const struct ss_shape *s);
double ss_shape_send_bytes(const struct ss_shape *s);

#endif
