/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of operators, of which layers are made: one list feeds FLOP, bytes, kernels, parameters and bytes that are saved
 * for the backward. A layer kind fills its list by the functions below (layer_kinds.h).
 */
#ifndef SS_LAYERS_OPERATORS_H
#define SS_LAYERS_OPERATORS_H

#include "layers/shape.h"

/* A grouped GEMM multiplies each group of `m / groups` rows by a matrix of its own; an exchange moves tokens between the
 * ranks of an expert group. */
enum ss_op_kind { SS_OP_GEMM, SS_OP_ATTENTION, SS_OP_ELEMENTWISE, SS_OP_GROUPED_GEMM, SS_OP_EXCHANGE };
/* Which TP collective a linear layer needs: column parallel gathers its input, row parallel
 * scatters (or reduces) its output. */
enum ss_tp_role { SS_TP_NONE, SS_TP_COLUMN, SS_TP_ROW };

struct ss_op {
    const char *name;
    int kind;
    int precision;        /* GEMM */
    double m, n, k;       /* GEMM forward: [m x k] [k x n] */
    double groups;        /* grouped GEMM: matrices */
    double pieces;        /* GEMM: of the rows, multiplied one after the other; 0: all at once */
    double queries;       /* joint Q, K and V: columns of Q, those of K and V are equal; else 0 */
    int one_kernel;       /* grouped GEMM: 1 where the stack's groups on streams are one kernel here */
    int scattered;        /* grouped GEMM: 1 where groups have different numbers of rows */
    double keys;          /* attention: of a causal sequence with as many a query on average */
    double most_keys;     /* attention: of the query that sees most */
    double keys_backward; /* attention: keys in the backward, which may compute what a window masks */
    int expert;           /* 1: its parameters are of routed experts */
    int comm;             /* exchange: enum ss_communicator */
    int forward_coll, backward_coll;  /* exchange: enum ss_collective_kind */
    double exchanged, exchanged_back; /* exchange: bytes of one member's buffer, forward and backward */
    double apart; /* exchange: the same of another one, each way, which is posted ahead of it */
    double
        gathered; /* elementwise: bytes that all ranks of the expert group gather from all before it, forward; else 0 */
    int beside; /* 1: runs while the exchange before it is under way */
    int called; /* 1: a part of the exchange's own call, on whose stream it runs where another microbatch computes */
    unsigned module; /* SS_MODULE_BIT of the recompute modules that repeat it */
    int role;        /* enum ss_tp_role */
    int shares_input; /* 1: a linear layer before it gathers the input of both and scatters the sum of its gradients */
    double forward_flops; /* GEMM: full; attention: the causal half; per rank */
    double backward_flops;
    double forward_bytes, backward_bytes; /* HBM traffic of elementwise kernels (attention: unfused) */
    /* Elements that kernels of PyTorch's make of strided or broadcast operands, and bytes of that traffic which each of them moves. */
    double forward_strided, backward_strided, strided_bytes;
    double turned_bytes; /* of forward_bytes, what a backward alone reads: the other orientation of a cast */
    int forward_kernels, backward_kernels;
    /* Kernels that one call of the host launches beside, as one for each expert: it pays the launch alone for them. */
    int forward_launches, backward_launches;
    int host_waits;        /* 1: the host waits for its result before it issues what is behind it */
    int dynamic;           /* 1: its size depends on the routing, so that no CUDA graph can hold it */
    double params;         /* of one rank */
    int tensors;           /* that hold them */
    double gemm_params;    /* those that fp8 keeps a copy of; 0: no linear layer of Transformer Engine */
    double saved_bytes;    /* kept from forward to backward, without core_bytes */
    double core_bytes;     /* kept too, but not where one of its modules is repeated */
    double module_bytes;   /* of saved_bytes those that recompute of a module of the operator does not keep */
    double operator_bytes; /* kept where recompute is by operator, in place of all of the above */
    double working_bytes;  /* alive while the operator runs, beside the saved ones */
    int casts;             /* 1: casts and transposes for GEMMs of other operators */
    int makes_logits;      /* 1: what it keeps is of the memory class logits */
};

/* A tensor of an operator's saved bytes that offload by module can move. */
struct ss_saved {
    int op; /* that keeps it */
    unsigned
        modules; /* SS_OFFLOAD_BIT of those that keep it; the device is rid of it when all of them move it */
    double elements;
    double bytes;  /* on the device */
    double copied; /* to the host by each of the modules */
    int made;      /* 1: by the operator, so that recompute of one of its modules does not keep it */
};

/* A collective that belongs to no operator and that nothing hides. */
struct ss_border {
    int phase;    /* F, I or W that it is of; one of I or W is in B too */
    int comm;     /* enum ss_communicator: SS_COMM_TP */
    int coll;     /* enum ss_collective_kind */
    double bytes; /* of the full buffer */
};

#define SS_OPS_MAX 48
#define SS_SAVED_MAX 20
#define SS_BORDERS_MAX 4
struct ss_ops {
    int n, nsaved, nborders;
    struct ss_op op[SS_OPS_MAX];
    struct ss_saved saved[SS_SAVED_MAX];
    struct ss_border border[SS_BORDERS_MAX]; /* of the layer, in the order in which they are done */
};

/* ---- building a list: each appends one operator, in forward order ---- */
struct ss_op *ss_op_add(struct ss_ops *ops, const char *name, int kind);
/* Linear layer [tokens x k] -> [tokens x n] and what it keeps: its input, unless that is saved elsewhere. */
struct ss_op *ss_op_linear(struct ss_ops *ops, const char *name, const struct ss_shape *s, double n, double k,
                           int role, int precision, int bias);
/* The same with weights that every tensor rank has all of, on its share of the tokens under sequence parallelism. */
struct ss_op *ss_op_replicated(struct ss_ops *ops, const char *name, const struct ss_shape *s, double n,
                               double k, int precision);
/* Columns of the tensor that tensor parallelism gathers, scatters or reduces beside a linear layer: its input's where it is
 * column parallel, else its output's. */
double ss_op_whole_columns(const struct ss_op *op);
/* Sets traffic and kernels of an operator that is no GEMM. */
void ss_op_elementwise(struct ss_op *op, double forward_bytes, double backward_bytes, int forward_kernels,
                       int backward_kernels);
/* Says how many elements of its output are made of strided or broadcast operands, and what each moves of the traffic above. */
void ss_op_strided(struct ss_op *op, double forward, double backward, double bytes);
/* What a linear layer casts: what a norm of its own makes; a tensor that it alone keeps; one that another operator keeps in 16 bit. */
enum { SS_CAST_OF_NORM, SS_CAST_OF_OWN, SS_CAST_OF_KEPT };
/* Traffic of the fp8 casts and transposes of one linear layer; `in`, `out`: its widths. */
void ss_op_fp8_cast(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack, double in,
                    double out, int role, int input_of);
void ss_op_expert_cast(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack, double in,
                       double out);
/* The same of `rows` tokens that no collective gathers, and of `weights`. */
void ss_op_cast_rows(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack,
                     const char *name, double rows, double in, double out, double weights);
/* A norm of `x` elements with so many weights (LayerNorm: and as many biases), which writes `out` bytes an element. What it keeps is
 * left to the caller. */
struct ss_op *ss_op_norm_of(struct ss_ops *ops, const struct ss_shape *s, const char *name, double x,
                            double weights, double out);
/* The norm of the hidden state before a column-parallel layer: keeps its input, and its output for that layer. */
void ss_op_norm(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack, const char *name);
/* Says that offload by these modules can move `elements` of what an operator of the list saves, kept in `width` bytes each; the
 * row may be changed. */
struct ss_saved *ss_op_offers(struct ss_ops *ops, const struct ss_op *op, unsigned modules, double elements,
                              double width);
/* Appends a collective of the tensor group that belongs to no operator, where the group has several ranks. */
void ss_op_border(struct ss_ops *ops, const struct ss_shape *s, int phase, int coll, double bytes);
/* Kernels beside the gather of the input of so many column-parallel layers and the scatter of their gradients' sum: the sum where
 * they are several, and copies (ss.tp.sequence_copies, ss.tp.overlap_pieces). Appends nothing where there are none. */
void ss_op_gathered(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack, int layers);
/* The same of a row-parallel layer, beside the scatter of its output and the gather of that's gradient. */
void ss_op_scattered(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack);
/* Bytes of the input of a column-parallel layer as it is kept: its shard, or gathered; `element`: bytes of one. */
double ss_op_kept_input(const struct ss_shape *s, const struct ss_stack *stack, double element);
/* Whether GEMMs keep their input in 1 byte for the backward. */
int ss_op_saved_in_fp8(const struct ss_shape *s, const struct ss_stack *stack);
/* Whether ss.fp8.keeps_less holds for them: other tensors are kept in fp8, too. */
int ss_op_kept_in_fp8(const struct ss_shape *s, const struct ss_stack *stack);
/* Whether a norm writes 16 bit, and a kernel of its own casts them: all scales but those of history. */
int ss_op_cast_apart(const struct ss_shape *s);
/* Whether a tensor that another operator keeps in 16 bit is not kept quantized as well, but cast again in the backward. */
int ss_op_casts_again(const struct ss_shape *s, const struct ss_stack *stack);
/* ---- tokens.c ---- */
/* Whether tokens reach their experts in two stages. */
int ss_op_by_stages(const struct ss_shape *s);
/* Bytes of an element of what is dispatched: of tokens, and of the gradients of what the experts made. */
double ss_op_dispatched(const struct ss_shape *s);
/* Tokens into the order of the ranks of their experts, or `back`. */
void ss_op_permutation(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack,
                       const char *name, int back);
/* What came into the order of a rank's experts, or back. */
void ss_op_sort(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack, const char *name);
/* Rows of zeros behind what goes to each expert, or away with them (`back`). */
void ss_op_pad(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack, int back);
/* Tokens of experts that work one after the other, put together. */
void ss_op_join_experts(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack);
/* ---- attention.c, blocks.c: parts that several kinds of transformer layers share ---- */
/* bf16 by PyTorch's autocast, at the head of a list that is done: the 16-bit copies of the weights that its linear layers multiply
 * by, which a microbatch keeps, and the casts of their gradients. */
void ss_op_weight_casts(struct ss_ops *ops);
/* From the input norm to the residual; local: 1 where a query sees the keys of the model's window alone. */
void ss_op_attention_block(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack,
                           int local);
/* An MLP of `ffn` columns of one rank, from FC1 to FC2: dense, or of shared experts. */
struct ss_mlp_names {
    const char *fc1, *fc2;
    const char *gate; /* the other half of a gated FC1, where it is a layer of its own */
    int input_of;     /* what FC1 casts (SS_CAST_OF_NORM, ...) */
};
void ss_op_mlp(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack,
               const struct ss_mlp_names *names, double ffn);
/* The function between FC1 and FC2 on `rows` tokens. */
struct ss_op *ss_op_activation(struct ss_ops *ops, const struct ss_shape *s, double rows, double ffn);
/* Says of a layer's operators which ones recompute by operator repeats (SS_MODULE_OPERATORS), and what it keeps. */
void ss_ops_by_operator(struct ss_ops *ops, const struct ss_shape *s);
/* Bytes of an element that tensor parallelism gathers for a linear layer in `precision`: quantized where the stack gathers so. */
double ss_op_gathered_width(const struct ss_shape *s, const struct ss_stack *stack, int precision);
/* Index of the operator before which recompute of a whole layer may stop (ss.recompute.stops_early). */
int ss_ops_repeated_early(const struct ss_ops *ops);
/* The end of a branch of the residual stream: the norm behind it, where the model has one, and the add. */
void ss_op_branch_end(struct ss_ops *ops, const struct ss_shape *s, const char *norm);
/* The norm before an MLP, and what comes behind it. Beside a parallel attention the norm may be attention's, and one add
 * joins both branches; the attention block has none then. */
void ss_op_mlp_begin(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack);
void ss_op_mlp_end(struct ss_ops *ops, const struct ss_shape *s);
/* From the MLP's norm to the residual. */
void ss_op_mlp_block(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack);
/* Columns of the joint Q, K and V, and of FC1 (both halves of a gated MLP). */
double ss_op_qkv_columns(const struct ss_shape *s);
double ss_op_fc1_columns(const struct ss_shape *s);

/* ---- sums over a list ---- */
double ss_ops_params(const struct ss_ops *ops);
int ss_ops_tensors(const struct ss_ops *ops);
/* Of the operator with most of them. */
double ss_ops_largest_params(const struct ss_ops *ops);
double ss_ops_gemm_params(const struct ss_ops *ops);
/* Those of routed experts, of all and of those in GEMMs. */
void ss_ops_expert_params(const struct ss_ops *ops, double *params, double *gemm_params);
/* `modules`: set of SS_MODULE_BIT whose forward is repeated before the backward. */
double ss_ops_saved_bytes(const struct ss_ops *ops, unsigned modules);
/* What of a layer goes to the host. */
struct ss_offloaded {
    double freed;  /* bytes that the device is rid of */
    double copied; /* bytes to the host, and back */
    double group;  /* most bytes that one module moves */
    double host;   /* bytes of page-locked memory: PyTorch takes a power of two for a tensor */
};
/* Of a layer whose `modules` (set of SS_OFFLOAD_BIT) move tensors of `least` elements or more; redone: as above. */
struct ss_offloaded ss_ops_offloaded(const struct ss_ops *ops, unsigned modules, double least,
                                     unsigned redone);
/* Kept from I to W when the backward is split: inputs of the GEMMs and gradients of their outputs, which sequence
 * parallelism shards where it shards them in the forward. */
double ss_ops_weight_grad_bytes(const struct ss_ops *ops, const struct ss_shape *s);
double ss_ops_working_bytes(const struct ss_ops *ops); /* the largest */
/* Of the operators that make logits alone: what they keep, and their largest working set. */
double ss_ops_logits_bytes(const struct ss_ops *ops);
double ss_ops_logits_working_bytes(const struct ss_ops *ops);
#endif
