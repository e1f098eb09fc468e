/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of operators, of which layers are made. One list feeds kernels, traffic, FLOP, parameters and the bytes that are kept for the
 * backward. A mixer, an MLP or a border fills its list by the functions below (layers/kinds.h). All sizes are those of one rank.
 */
#ifndef SS_LAYERS_OPERATORS_H
#define SS_LAYERS_OPERATORS_H

#include "layers/shape.h"

/* A grouped GEMM multiplies groups of rows by a matrix each. An exchange is a collective that is an operator by itself. */
enum ss_op_kind { SS_OP_GEMM, SS_OP_ATTENTION, SS_OP_ELEMENTWISE, SS_OP_GROUPED_GEMM, SS_OP_EXCHANGE };
/* What a linear layer does under tensor parallelism: column-parallel layers gather their input, row-parallel ones scatter
 * (or reduce) their output. */
enum ss_tp_role { SS_TP_NONE, SS_TP_COLUMN, SS_TP_ROW };

/* The forward of a linear layer, C[m x n] = A[m x k] B[k x n]. */
struct ss_op_gemm {
    int precision; /* enum ss_precision */
    int role;      /* enum ss_tp_role */
    double m, n, k;
    double
        groups; /* matrices B of a grouped GEMM, the rows of A divided among them; 0 where there is one matrix */
    double
        pieces; /* parts into which the rows of A are cut, multiplied one after the other; 0: all at once */
    double joined
        [3]; /* columns of the matrices that B joins, as those of Q, K and V; all 0 where it joins none */
    int shares_input; /* 1: the layer before it gathers the input of both and scatters the sum of their gradients */
    int one_kernel; /* 1: the groups are one kernel, also where the stack runs groups on streams */
    int scattered;  /* 1: groups have different numbers of rows */
};

/* What context parallelism moves for an attention. */
struct ss_op_context {
    int coll; /* enum ss_collective_kind; SS_COLL_RING_STEP: one step of as many as the group has ranks, less one */
    double forward,
        backward; /* bytes of one such collective: as struct ss_collective_algorithm counts them */
};

/* Scores, softmax and context of an attention. */
struct ss_op_attention {
    int kernel;           /* enum ss_attention, flash, fused or unfused */
    int fp8;              /* 1: a fused kernel multiplies in mxfp8 */
    double heads, groups; /* heads of queries; heads of keys and values */
    double d, d_v;        /* elements of a query or key of one head, and of a value */
    double tokens;        /* queries of the microbatch */
    double sequence;      /* keys of a whole sequence */
    double queries;       /* queries of a sequence that one call of the kernel sees */
    double
        document; /* queries of a document that one call sees; `queries` where a sequence is one document */
    double keys;  /* length of a causal sequence whose queries see as many keys on average */
    double most_keys;     /* the same by the query that sees most keys */
    double keys_backward; /* `keys` of the backward, which may compute what a window masks */
    struct ss_op_context context;
};

/* A collective between the ranks of an expert group, or of the context group. */
struct ss_op_exchange {
    int comm;                        /* enum ss_communicator */
    int forward_coll, backward_coll; /* enum ss_collective_kind */
    double forward, backward;        /* bytes of one member's buffer */
    double ahead;                    /* bytes of a second one that is posted first, each way; 0: none */
};

struct ss_op {
    const char *name;
    int kind; /* enum ss_op_kind, which says what of the next three is filled */
    struct ss_op_gemm gemm;
    struct ss_op_attention attention;
    struct ss_op_exchange exchange;
    /* ---- kernels ---- */
    double forward_flops, backward_flops; /* of attention those of the causal half */
    double
        model_flops; /* forward, as Megatron-LM counts the model's: attention's full square; 0: it does not count them */
    double forward_bytes, backward_bytes; /* HBM traffic of elementwise kernels, also of unfused attention */
    /* Elements that kernels of PyTorch make of strided or broadcast operands, and bytes of the traffic that each of them moves. */
    double forward_strided, backward_strided, strided_bytes;
    double
        transposed_bytes; /* part of forward_bytes that makes what the backward alone reads: the other orientation of a cast */
    double gathers_first; /* bytes that the expert group gathers before the operator's forward; 0: none */
    int forward_kernels, backward_kernels;
    int forward_launches,
        backward_launches; /* further kernels of the same calls, of which the host pays the launch alone */
    int beside_exchange;   /* 1: runs while the exchange before it is under way */
    int in_exchange; /* 1: kernels of an exchange's own call, on whose stream they run beside another microbatch */
    int host_waits; /* 1: the host waits for its result before it issues what comes next */
    int dynamic;    /* 1: its size depends on the routing, so that no CUDA graph can hold it */
    int is_cast;    /* 1: casts and transposes for GEMMs of other operators */
    /* ---- parameters ---- */
    double params;
    double
        gemm_params; /* part of params that fp8 keeps a copy of; 0 outside Transformer Engine's linear layers */
    int tensors;     /* tensors that hold params */
    int expert;      /* 1: they are of routed experts */
    /* ---- memory ---- */
    unsigned modules;    /* set of SS_MODULE_BIT of the recompute modules that repeat the operator */
    double saved_bytes;  /* kept from the forward to the backward */
    double redone_bytes; /* part of saved_bytes that is not kept where a module of the operator is repeated */
    double operator_bytes; /* kept in place of saved_bytes where recompute is by operator */
    double working_bytes;  /* alive while the operator runs, beside the saved ones */
    int makes_logits;      /* 1: what it keeps is of the memory class logits */
};

/* A tensor of an operator's saved bytes that offload by module can move. */
struct ss_saved {
    int op; /* index of the operator that keeps it */
    unsigned
        modules; /* set of SS_OFFLOAD_BIT of the modules that keep it; the device is rid of it when all of them move it */
    double elements;
    double bytes;  /* on the device */
    double copied; /* bytes that each of the modules copies to the host */
    int is_output; /* 1: the operator makes it, so that recompute of one of its modules does not keep it */
};

/* A collective that belongs to no operator and that nothing hides. */
struct ss_border {
    int phase;    /* SS_PHASE_F, or I or W, in which case the whole backward has it too */
    int comm;     /* enum ss_communicator: SS_COMM_TP */
    int coll;     /* enum ss_collective_kind */
    double bytes; /* of the full buffer */
};

/* Sums over a list, and largest values. */
struct ss_op_sums {
    double params, gemm_params;
    double expert, expert_gemm; /* parts of these that are routed experts' */
    double largest;             /* params of the operator that has most */
    int tensors, expert_tensors;
    double working; /* the largest working_bytes */
    double logits,
        logits_working; /* saved_bytes, and the largest working_bytes, of operators that make logits */
};

/* Where a layer is in the forward. Transformer layers are those that are numbered (but for multi-token prediction's), recomputed,
 * offloaded, and wrapped by PyTorch's FSDP. */
enum ss_layer_where { SS_WHERE_BEFORE, SS_WHERE_TRANSFORMER, SS_WHERE_BEHIND };

#define SS_OPS_MAX 48
#define SS_SAVED_MAX 20
#define SS_BORDERS_MAX 4
/* One layer. */
struct ss_ops {
    int where;   /* enum ss_layer_where */
    int is_loss; /* 1: output layer and loss */
    int n, nsaved, nborders;
    double
        bias_columns; /* columns of the biases whose gradients Transformer Engine forms in its GEMMs; else kernels sum them */
    struct ss_op op[SS_OPS_MAX]; /* in the order of the forward */
    struct ss_saved saved[SS_SAVED_MAX];
    struct ss_border border[SS_BORDERS_MAX]; /* in the order in which they are done */
    struct ss_op_sums sum;
};

/* ---- building a list: each function appends operators in the order of the forward ---- */
/* One operator of one kernel each way. */
struct ss_op *ss_op_add(struct ss_ops *ops, const char *name, int kind);
/* A linear layer [tokens x k] -> [tokens x n], without what it keeps. */
struct ss_op *ss_op_linear(struct ss_ops *ops, const char *name, const struct ss_shape *s, double n, double k,
                           int role, int precision, int bias);
/* A linear layer whose weights every tensor rank has all of, on its share of the tokens under sequence parallelism. */
struct ss_op *ss_op_replicated(struct ss_ops *ops, const char *name, const struct ss_shape *s, double n,
                               double k, int precision);
/* Columns of the tensor that tensor parallelism gathers, scatters or reduces beside a linear layer: those of a column-parallel
 * layer's input, of another layer's output. */
double ss_op_whole_columns(const struct ss_op *op);
/* Elementwise kernels with this traffic. */
struct ss_op *ss_op_kernels(struct ss_ops *ops, const char *name, double forward_bytes, double backward_bytes,
                            int forward_kernels, int backward_kernels);
/* Sets traffic and kernels of an operator. */
void ss_op_traffic(struct ss_op *op, double forward_bytes, double backward_bytes, int forward_kernels,
                   int backward_kernels);
/* Sets how many elements of its output are made of strided or broadcast operands, and what bytes each moves of its traffic. */
void ss_op_strided(struct ss_op *op, double forward, double backward, double bytes);
/* A collective of `comm`, `bytes` of one member's buffer each way. */
struct ss_op *ss_op_exchange(struct ss_ops *ops, const char *name, int comm, int coll, int back, double bytes,
                             double back_bytes);
/* A collective of the tensor group that belongs to no operator; appends nothing where the group has one rank. */
void ss_op_border(struct ss_ops *ops, const struct ss_shape *s, int phase, int coll, double bytes);
/* What a linear layer casts: what a norm of its own makes; a tensor that it alone keeps; one that another operator keeps in 16 bit. */
enum { SS_CAST_OF_NORM, SS_CAST_OF_OWN, SS_CAST_OF_KEPT };
/* Casts and transposes of the operands of one linear layer; `in`, `out`: its widths. */
void ss_op_fp8_cast(struct ss_ops *ops, const struct ss_shape *s, double in, double out, int role,
                    int input_of);
/* Casts of the operands of one linear layer of all experts of the rank. */
void ss_op_expert_cast(struct ss_ops *ops, const struct ss_shape *s, double in, double out);
/* Casts of `rows` tokens that no collective gathers, and of `weights` elements of weights. */
void ss_op_cast_rows(struct ss_ops *ops, const struct ss_shape *s, const char *name, double rows, double in,
                     double out, double weights);
/* A norm of `x` elements with so many weights (a LayerNorm has as many biases), which writes `out` bytes an element. What it keeps
 * is left to the caller. */
struct ss_op *ss_op_norm_of(struct ss_ops *ops, const struct ss_shape *s, const char *name, double x,
                            double weights, double out);
/* The norm of the hidden state before a column-parallel layer; it keeps its input, and its output for that layer. */
void ss_op_norm(struct ss_ops *ops, const struct ss_shape *s, const char *name);
/* Says that offload by these modules can move `elements` of what an operator of the list saves, kept in `width` bytes each. The
 * caller may change the row. */
struct ss_saved *ss_op_offers(struct ss_ops *ops, const struct ss_op *op, unsigned modules, double elements,
                              double width);
/* Kernels beside the gather of the input of so many column-parallel layers and the scatter of the sum of their gradients: the sum,
 * where they are several, and copies (ss.tp.sequence_copies, ss.tp.overlap_pieces). Appends nothing where there are none. */
void ss_op_gathered(struct ss_ops *ops, const struct ss_shape *s, int layers);
/* Kernels beside the scatter of a row-parallel layer's output and the gather of its gradient. */
void ss_op_scattered(struct ss_ops *ops, const struct ss_shape *s);
/* The end of a branch of the residual stream: the norm behind it, where the model has one, and the add. */
void ss_op_branch_end(struct ss_ops *ops, const struct ss_shape *s, const char *norm);
/* At the head of a list that is done: the 16-bit copies of weights that PyTorch's autocast to bf16 makes, which a microbatch keeps,
 * and the casts of their gradients. */
void ss_op_weight_casts(struct ss_ops *ops);
/* Sets which operators of a layer recompute by operator repeats (SS_MODULE_OPERATORS), and what it keeps of the others. */
void ss_ops_by_operator(struct ss_ops *ops, const struct ss_shape *s);

/* ---- how tensors are kept and gathered ---- */
/* Bytes of the input of a column-parallel layer as it is kept, its shard or gathered; `element`: bytes of one element. */
double ss_op_kept_input(const struct ss_shape *s, double element);
/* Bytes of an element that tensor parallelism gathers for a linear layer in `precision`. */
double ss_op_gathered_width(const struct ss_shape *s, int precision);
/* Whether GEMMs keep their input in 1 byte for the backward. */
int ss_op_saved_in_fp8(const struct ss_shape *s);
/* Whether other tensors are kept in fp8 too (ss.fp8.keeps_less). */
int ss_op_kept_in_fp8(const struct ss_shape *s);
/* Whether a norm writes 16 bit and a kernel of its own casts them, as it is with all scales but those of history. */
int ss_op_cast_apart(const struct ss_shape *s);
/* Whether a tensor that another operator keeps in 16 bit is cast again in the backward, instead of being kept quantized as well. */
int ss_op_casts_again(const struct ss_shape *s);

/* ---- sums over a list ---- */
/* Fills ops->sum. */
void ss_ops_sum(struct ss_ops *ops);
/* Bytes kept from the forward to the backward, where the forward of `modules` (set of SS_MODULE_BIT) is repeated before the backward. */
double ss_ops_saved_bytes(const struct ss_ops *ops, unsigned modules);
/* What of a layer goes to the host. */
struct ss_offloaded {
    double freed;  /* bytes that the device is rid of */
    double copied; /* bytes to the host, and back */
    double group;  /* most bytes that one module moves */
    double host;   /* bytes of page-locked memory: PyTorch takes a power of two for a tensor */
};
/* A layer's `modules` (set of SS_OFFLOAD_BIT) move tensors of `least` elements or more, while `redone` (set of SS_MODULE_BIT) are
 * recomputed. */
struct ss_offloaded ss_ops_offloaded(const struct ss_ops *ops, unsigned modules, double least,
                                     unsigned redone);
/* Bytes kept from I to W where the backward is split: inputs of the GEMMs and gradients of their outputs, sharded where sequence
 * parallelism shards them in the forward. */
double ss_ops_weight_grad_bytes(const struct ss_ops *ops, const struct ss_shape *s);
/* Index of the operator before which recompute of a whole layer stops (ss.recompute.stops_early); ops->n: behind the last. */
int ss_ops_repeated_early(const struct ss_ops *ops);

#endif
