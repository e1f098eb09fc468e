/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of operators, of which layers consist. One list gives kernels, traffic, FLOP, parameters and the
 * bytes kept for the backward. A mixer, an MLP or a border fills its list by the functions below
 * (layers/kinds.h). All sizes are those of one rank.
 */
#pragma once

#include "layers/shape.h"

/* A grouped GEMM multiplies each group of rows by a matrix of its own. An exchange is a collective that
 * counts as an operator. A scan is the kernels of a mixer without a softmax, whose products and traffic are
 * forward_flops, backward_flops, forward_bytes and backward_bytes. */
enum ss_op_kind {
    SS_OP_GEMM,
    SS_OP_ATTENTION,
    SS_OP_ELEMENTWISE,
    SS_OP_GROUPED_GEMM,
    SS_OP_EXCHANGE,
    SS_OP_SCAN
};
/* The role of a linear layer under tensor parallelism: a column-parallel layer gathers its input, a
 * row-parallel layer scatters (or reduces) its output. */
enum ss_tp_role { SS_TP_NONE, SS_TP_COLUMN, SS_TP_ROW };

/* The forward of a linear layer, C[m x n] = A[m x k] B[k x n]. */
struct ss_op_gemm {
    int precision; /* enum ss_precision */
    int role;      /* enum ss_tp_role */
    double m, n, k;
    /* number of matrices B of a grouped GEMM, which divide the rows of A among them; 0: one matrix */
    double groups;
    /* number of parts of the rows of A that are multiplied one after the other; 0: all rows at once */
    double pieces;
    double joined[3]; /* columns of the matrices that B joins, such as Q, K and V; all 0: B joins none */
    /* 1: the layer before gathers the input for both and scatters the sum of their gradients */
    int shares_input;
    int one_kernel; /* 1: the groups are one kernel even where the stack runs groups on streams */
    int scattered;  /* 1: groups have different numbers of rows */
    int no_input_grad, no_weight_grad; /* 1: the backward has no such product */
};

/* The collective that context parallelism makes for an attention. */
struct ss_op_context {
    int coll; /* enum ss_collective_kind; SS_COLL_RING_STEP: one of the ring's n - 1 steps for n ranks */
    double forward, backward; /* bytes of one collective, counted as in struct ss_collective_algorithm */
};

/* An attention: scores, softmax and context. */
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
    double keys;  /* length of a causal sequence whose queries see equally many keys on average */
    /* length of a causal sequence whose last query sees as many keys as any query does here */
    double most_keys;
    double keys_backward; /* `keys` in the backward, which may compute masked parts of a window */
    /* Shares of the whole square of scores: the part that the mask, a window and a chunk leave, and the part where a
     * query counts no more keys than its window or chunk has. */
    double seen, bounded;
    struct ss_op_context context;
};

/* A collective of the expert group or of the context group. */
struct ss_op_exchange {
    int comm;                        /* enum ss_communicator */
    int forward_coll, backward_coll; /* enum ss_collective_kind */
    double forward, backward;        /* bytes of one member's buffer */
    double ahead; /* bytes of a second collective that is posted first, each way; 0: none */
};

/* A scan as the card's curves know it (cost/curve.h): heads have a state each, which passes from chunk to chunk. A convolution has
 * `heads` channels. */
struct ss_op_scan {
    double sequences, tokens; /* sequences, tokens of each */
    double heads, key_dim, value_dim;
};

/* What the host does in one direction of the pass while the GPU waits for it. */
struct ss_op_waiting {
    int calls, launches; /* as those of kernels: ss_host_call, ss_host_launch */
};

struct ss_op {
    const char *name;
    int kind; /* enum ss_op_kind; it says which of the next five are filled */
    int scan; /* enum ss_scan of a scan (stepsim/card.h): the card's rates of its kernels */
    struct ss_op_scan call;
    struct ss_op_gemm gemm;
    struct ss_op_attention attention;
    struct ss_op_exchange exchange;
    /* ---- kernels ---- */
    double forward_flops, backward_flops; /* attention counts the causal half */
    /* forward FLOP as Megatron-LM counts the model's, with attention's full square; 0: not counted */
    double model_flops;
    double forward_bytes,
        backward_bytes; /* HBM traffic of elementwise kernels, scans and unfused attention */
    /* Elements that PyTorch's kernels make of strided or broadcast operands, and the bytes of traffic that
     * each element moves. */
    double forward_strided, backward_strided, strided_bytes;
    /* bytes of the tensors that elementwise kernels and unfused attention ask PyTorch for (torch.empty) and write */
    double forward_fresh, backward_fresh;
    /* the part of forward_bytes that makes tensors for the backward alone: the other orientation of a cast */
    double transposed_bytes;
    /* bytes that the expert group gathers before the forward of the operator; 0: none */
    double gathers_first;
    int forward_kernels, backward_kernels;
    int forward_launches,
        backward_launches; /* further kernels of the same calls; the host pays only a launch for each */
    int beside_exchange;   /* 1: runs while the exchange before it is under way */
    /* 1: the kernels belong to the call of an exchange; on its stream they run beside another microbatch */
    int in_exchange;
    struct ss_op_waiting waiting[2]; /* forward, backward */
    int host_waits;                  /* 1: the host waits for the result before it issues the next operator */
    int dynamic; /* 1: the size depends on the routing, so no CUDA graph can hold the operator */
    int is_cast; /* 1: casts and transposes for GEMMs of other operators */
    int is_norm;
    /* ---- parameters ---- */
    double params;
    /* the part of params that fp8 keeps a copy of; 0 outside Transformer Engine's linear layers */
    double gemm_params;
    int tensors;      /* tensors that hold params */
    int expert;       /* 1: the parameters belong to routed experts, or are divided like them */
    double looked_up; /* the part of params in rows of a table, of which a token meets a few */
    /* ---- memory ---- */
    unsigned modules;   /* set of SS_MODULE_BIT of the recompute modules that repeat the operator */
    double saved_bytes; /* kept from the forward to the backward */
    /* the part of saved_bytes that is dropped where a module of the operator is repeated */
    double redone_bytes;
    double operator_bytes; /* kept instead of saved_bytes where recompute is by operator */
    double coded_bytes;    /* made, but not kept, for linear layers keep it in 4 bit: ss_op_keeps_codes */
    double working_bytes;  /* alive only while the operator runs, beside the saved bytes */
    int makes_logits;      /* 1: its saved bytes have the memory class logits */
};

/* A saved tensor of an operator that offload by module can move. */
struct ss_saved {
    int op; /* index of the operator that keeps it */
    /* set of SS_OFFLOAD_BIT of the modules that keep the tensor; the device frees it when all of them move
     * it */
    unsigned modules;
    double elements;
    double bytes;  /* bytes on the device */
    double copied; /* bytes that each of those modules copies to the host */
    int is_output; /* 1: the operator makes the tensor, so recompute of one of its modules does not keep it */
};

/* A collective that belongs to no operator and that nothing hides. */
struct ss_border {
    int phase;    /* SS_PHASE_F, I or W; one in I or W is part of the full backward, too */
    int comm;     /* enum ss_communicator: SS_COMM_TP */
    int coll;     /* enum ss_collective_kind */
    double bytes; /* of the full buffer */
};

/* Sums and largest values over a list. */
struct ss_op_sums {
    double params, gemm_params;
    double expert, expert_gemm; /* the parts of both that belong to routed experts */
    double looked_up;           /* the part of params in rows of tables */
    double largest;             /* params of the largest operator */
    int tensors, expert_tensors;
    double working; /* the largest working_bytes */
    double coded;   /* coded_bytes */
    double logits,
        logits_working; /* saved_bytes, and the largest working_bytes, of the operators that make logits */
};

/* Where a layer lies in the forward. Transformer layers are numbered (those of multi-token prediction are
 * not), recomputed, offloaded, and wrapped by PyTorch's FSDP. */
enum ss_layer_where { SS_WHERE_BEFORE, SS_WHERE_TRANSFORMER, SS_WHERE_BEHIND };

#define SS_OPS_MAX 96
#define SS_SAVED_MAX 20
#define SS_BORDERS_MAX 4
/* One layer. */
struct ss_ops {
    int where;   /* enum ss_layer_where */
    int is_loss; /* 1: output layer and loss */
    int encoder; /* 1 + SS_VISION or SS_AUDIO: of that encoder, whose shape it has; 0: of the language model */
    int graph;   /* enum ss_graph_part: the part of a CUDA graph's scope that holds what is no module's */
    int n, nsaved, nborders;
    /* columns of biases whose gradients Transformer Engine forms in its GEMMs; kernels sum the others */
    double bias_columns;
    struct ss_op op[SS_OPS_MAX]; /* in the order of the forward */
    struct ss_saved saved[SS_SAVED_MAX];
    struct ss_border border[SS_BORDERS_MAX]; /* in the order of execution */
    struct ss_op_sums sum;
};

/* ---- building a list: each function appends operators in the order of the forward ---- */
/* Appends an operator with one kernel each way. */
struct ss_op *ss_op_add(struct ss_ops *ops, const char *name, int kind);
/* Appends a linear layer [tokens x k] -> [tokens x n]; the caller adds what the layer keeps. */
struct ss_op *ss_op_linear(struct ss_ops *ops, const char *name, const struct ss_shape *s, double n, double k,
                           int role, int precision, int bias);
/* Appends a linear layer that every tensor rank holds whole; under sequence parallelism a rank runs its share
 * of the tokens. */
struct ss_op *ss_op_replicated(struct ss_ops *ops, const char *name, const struct ss_shape *s, double n,
                               double k, int precision);
/* Returns the columns of the tensor that tensor parallelism gathers, scatters or reduces beside a linear
 * layer: the input of a column-parallel layer, the output of any other. */
double ss_op_whole_columns(const struct ss_op *op);
/* Appends elementwise kernels with this HBM traffic. */
struct ss_op *ss_op_kernels(struct ss_ops *ops, const char *name, double forward_bytes, double backward_bytes,
                            int forward_kernels, int backward_kernels);
/* Sets traffic and number of kernels of an operator. */
void ss_op_traffic(struct ss_op *op, double forward_bytes, double backward_bytes, int forward_kernels,
                   int backward_kernels);
/* Makes the operator's kernels those of one call each way, or of none (`calls` 0): of a call of another operator. */
void ss_op_calls(struct ss_op *op, int calls);
/* Sets how many output elements come from strided or broadcast operands, and the bytes of traffic of each. */
void ss_op_strided(struct ss_op *op, double forward, double backward, double bytes);
/* Appends a scan with this HBM traffic, one call each way that launches so many kernels; the caller adds its FLOP. */
struct ss_op *ss_op_scan(struct ss_ops *ops, const char *name, int scan, double forward_bytes,
                         double backward_bytes, int forward_kernels, int backward_kernels);
/* Appends a collective of `comm`; bytes are those of one member's buffer each way. */
struct ss_op *ss_op_exchange(struct ss_ops *ops, const char *name, int comm, int coll, int back, double bytes,
                             double back_bytes);
/* Appends a collective of the tensor group that belongs to no operator; nothing where the group has one
 * rank. */
void ss_op_border(struct ss_ops *ops, const struct ss_shape *s, int phase, int coll, double bytes);
/* What the cast of a linear layer reads: the output of its own norm; a tensor that only this layer keeps; a
 * tensor that another operator keeps in 16 bit. */
enum { SS_CAST_OF_NORM, SS_CAST_OF_OWN, SS_CAST_OF_KEPT };
/* Appends casts and transposes of the operands of one linear layer; `in`, `out`: widths of the layer. */
void ss_op_fp8_cast(struct ss_ops *ops, const struct ss_shape *s, double in, double out, int role,
                    int input_of);
/* Appends casts of the operands of one linear layer of all experts of the rank. */
void ss_op_expert_cast(struct ss_ops *ops, const struct ss_shape *s, double in, double out);
/* Appends casts of `rows` tokens that no collective gathers, and of `weights` elements of weights. */
void ss_op_cast_rows(struct ss_ops *ops, const struct ss_shape *s, const char *name, double rows, double in,
                     double out, double weights);
/* Appends a norm of `x` elements with `weights` weights (a LayerNorm has as many biases), which writes `out`
 * bytes an element. The caller adds what it keeps. */
struct ss_op *ss_op_norm_of(struct ss_ops *ops, const struct ss_shape *s, const char *name, double x,
                            double weights, double out);
/* Appends the norm of the hidden state before a column-parallel layer. The norm keeps its input, and its
 * output for that layer. */
void ss_op_norm(struct ss_ops *ops, const struct ss_shape *s, const char *name);
/* Says that offload by these modules can move `elements` of what an operator of the list saves, kept in
 * `width` bytes each. The caller may change the returned row. */
struct ss_saved *ss_op_offers(struct ss_ops *ops, const struct ss_op *op, unsigned modules, double elements,
                              double width);
/* Appends kernels beside the gather of the input of `layers` column-parallel layers and beside the scatter of
 * the sum of their gradients: the sum of several gradients, and copies (ss.tp.sequence_copies,
 * ss.tp.overlap_pieces). Appends nothing where there are none. */
void ss_op_gathered(struct ss_ops *ops, const struct ss_shape *s, int layers);
/* Appends kernels beside the scatter of a row-parallel layer's output and the gather of its gradient. */
void ss_op_scattered(struct ss_ops *ops, const struct ss_shape *s);
/* Appends the end of a branch of the residual stream: the norm behind the branch, where the model has one,
 * and the add. */
void ss_op_branch_end(struct ss_ops *ops, const struct ss_shape *s, const char *norm);
/* ---- streams.c: hyper-connections, where the residual has several streams; nothing where it has one ---- */
/* Appends what makes the input of a branch of the streams, and what adds the branch's output to them. */
void ss_op_streams_in(struct ss_ops *ops, const struct ss_shape *s);
void ss_op_streams_out(struct ss_ops *ops, const struct ss_shape *s);
/* Takes what the norm of a branch, an operator from `first` on, reads: the branch's input, which ss_op_streams_in keeps. */
void ss_op_streams_norm(struct ss_ops *ops, const struct ss_shape *s, int first);
/* ---- gates.c: the same of streams that gates of a low rank join and that each branch adds to ---- */
void ss_op_gates_in(struct ss_ops *ops, const struct ss_shape *s);
void ss_op_gates_out(struct ss_ops *ops, const struct ss_shape *s);
/* Makes the norm of a branch nothing but its output, which the gates make. */
void ss_op_gates_norm(struct ss_op *op, const struct ss_shape *s);
/* ---- streams.c ---- */
/* Append the copies of the embedding that the streams begin with, and the one that they end with. */
void ss_op_streams_expand(struct ss_ops *ops, const struct ss_shape *s);
void ss_op_streams_contract(struct ss_ops *ops, const struct ss_shape *s);
/* Inserts at the head of a finished list the 16-bit copies of weights that PyTorch's autocast to bf16 makes
 * and keeps for a microbatch, and the casts of their gradients. */
void ss_op_weight_casts(struct ss_ops *ops);
/* Appends to a finished list the kernels that fill fresh memory under torch.use_deterministic_algorithms. */
void ss_op_fill(struct ss_ops *ops, const struct ss_shape *s);
/* Appends the copies into and out of a CUDA graph that holds these parts (enum ss_graph_part) of a layer. */
void ss_op_graph_copies(struct ss_ops *ops, const struct ss_shape *s, unsigned parts);
/* Sets which operators recompute by operator repeats (SS_MODULE_OPERATORS), and what the layer keeps of the
 * others. */
void ss_ops_by_operator(struct ss_ops *ops, const struct ss_shape *s);

/* ---- how tensors are kept and gathered ---- */
/* Returns the bytes that the backward keeps of a column-parallel layer's input, sharded or gathered;
 * `element`: bytes of one element. */
double ss_op_kept_input(const struct ss_shape *s, double element);
/* Returns the bytes of an element that tensor parallelism gathers for a linear layer in `precision`. */
double ss_op_gathered_width(const struct ss_shape *s, int precision);
/* Returns 1 when GEMMs keep their input for the backward in 1 byte an element. */
int ss_op_saved_in_fp8(const struct ss_shape *s);
/* Returns 1 when other tensors are kept in fp8, too (ss.fp8.keeps_less). */
int ss_op_kept_in_fp8(const struct ss_shape *s);
/* Returns 1 when a norm writes 16 bit and a separate kernel casts; only scales from history allow one
 * kernel. */
int ss_op_cast_apart(const struct ss_shape *s);
/* Returns 1 when the backward casts a tensor again that another operator keeps in 16 bit, instead of keeping
 * a quantized copy. */
int ss_op_casts_again(const struct ss_shape *s);
/* Returns whether each linear layer keeps input and weight as codes of 4 bit with scales, and no input of 16 bit
 * (torchao's NVFP4Linear; experts and router stay in 16 bit). */
int ss_op_keeps_codes(const struct ss_shape *s);
/* Adds those codes to what the linear layers of a layer keep. */
void ss_ops_codes(struct ss_ops *ops, const struct ss_shape *s);

/* ---- sums over a list ---- */
/* Fills ops->sum. */
void ss_ops_sum(struct ss_ops *ops);
/* Returns the bytes kept from forward to backward where the forward of `modules` (set of SS_MODULE_BIT) is
 * repeated before the backward. */
double ss_ops_saved_bytes(const struct ss_ops *ops, unsigned modules);
/* What a layer moves to the host. */
struct ss_offloaded {
    double freed;  /* bytes that the device frees */
    double copied; /* bytes to the host, and back */
    double group;  /* most bytes that one module moves */
    double host;   /* bytes of page-locked memory: PyTorch rounds a tensor up to a power of two */
};
/* Returns what a layer moves when `modules` (set of SS_OFFLOAD_BIT) move tensors of at least `least`
 * elements, and `redone` (set of SS_MODULE_BIT) are recomputed. */
struct ss_offloaded ss_ops_offloaded(const struct ss_ops *ops, unsigned modules, double least,
                                     unsigned redone);
/* Returns the bytes kept from I to W where the backward is split: inputs of the GEMMs and gradients of their
 * outputs, sharded where sequence parallelism shards them in the forward. */
double ss_ops_weight_grad_bytes(const struct ss_ops *ops, const struct ss_shape *s);
/* Returns the index of the operator before which recompute of a whole layer stops (ss.recompute.stops_early);
 * ops->n: it does not stop early. */
int ss_ops_repeated_early(const struct ss_ops *ops);
