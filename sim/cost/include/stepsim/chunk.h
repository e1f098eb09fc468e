/* SPDX-License-Identifier: Apache-2.0 */
/* What one microbatch costs on one chunk (virtual stage): times, bytes, and the steps at layer level. */
#ifndef STEPSIM_CHUNK_H
#define STEPSIM_CHUNK_H

#include "stepsim/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A mark inside a chunk's forward or backward, at which a collective is due. */
struct ss_bucket_mark {
    double fraction;        /* part of the phase's duration, 0..1, ascending */
    double weight_fraction; /* part of W's duration, where the backward is split */
    int collective;         /* index into plan.collectives */
    int step;               /* layer level: the collective is due before this step of F or B */
    int weight_step;        /* likewise of W, where the backward is split */
    double host;            /* s of the host from its begin of the phase until there */
    double tail;            /* of the work until there, as in struct ss_chunk_issue */
    int first;              /* of the gathers of a group of ranks in this chunk */
    double cast;            /* s of casts of the parameters that a gather brings in 16 bit, behind it */
    int issue; /* chunk level: the host's launches since the mark before, index into plan.collectives; -1: none */
};

/* A part of the work that reports tell apart. X(symbol, key in JSON, words) */
#define SS_PART_LIST(X)                                                                                      \
    X(ATTENTION_GEMM, "attention_gemm", "attention GEMMs") /* linear layers around attention */              \
    X(MLP_GEMM, "mlp_gemm", "MLP GEMMs")          /* linear layers of MLPs, shared experts and routers */    \
    X(EXPERT_GEMM, "expert_gemm", "expert GEMMs") /* linear layers of routed experts */                      \
    X(ATTENTION, "attention", "attention")                                                                   \
    X(SCAN, "scan", "scans") /* of mixers without a softmax, and their convolutions */                       \
    X(ELEMENTWISE, "elementwise", "norms and elementwise")                                                   \
    X(CAST, "cast", "casts")                                                                                 \
    X(LOSS, "loss", "logits and loss")                                                                       \
    X(OTHER, "other", "flat buffers") /* kernels of no operator, as those on the flat buffers of FSDP */
enum ss_part {
#define X(symbol, key, words) SS_PART_##symbol,
    SS_PART_LIST(X)
#undef X
        SS_PARTS
};

/* What the host issues, as reports tell it apart. X(symbol, key in JSON, words) */
#define SS_LAUNCH_LIST(X)                                                                                    \
    X(MIXER, "mixer", "mixer")       /* attention, or what mixes tokens in its place */                      \
    X(MLP, "mlp", "MLP")             /* shared experts, too */                                               \
    X(EXPERTS, "experts", "experts") /* routed experts, their router, what puts their tokens in order */     \
    X(NORM, "norm", "norms")                                                                                 \
    X(COLLECTIVES, "collectives",                                                                            \
      "collectives")                       /* of tensor parallelism; of context parallelism its ring */      \
    X(ENDS, "ends", "embedding and loss")  /* and what is done to messages between stages */                 \
    X(RECOMPUTE, "recompute", "recompute") /* calls of checkpoints, operators that are repeated */           \
    X(GRAPHS, "graphs", "CUDA graphs")                                                                       \
    X(OPTIMIZER, "optimizer", "optimizer")
enum ss_launch {
#define X(symbol, key, words) SS_LAUNCH_##symbol,
    SS_LAUNCH_LIST(X)
#undef X
        SS_LAUNCHES
};

/* The steps of a slot at layer level, in order. POST starts a collective; WAIT waits for the oldest posted
 * collective of its stream. */
enum ss_step_kind { SS_STEP_COMPUTE, SS_STEP_POST, SS_STEP_WAIT };
struct ss_step {
    int kind;
    int label;      /* COMPUTE */
    int stream;     /* POST, WAIT */
    int collective; /* POST: index into plan.collectives */
    double seconds; /* COMPUTE: duration; POST: duration where nothing is contended */
    /* F, B, I or W. It tells the two sides of a pair apart. Kernels of weight gradients in B have W here */
    int phase;
    /* operator that the step belongs to, "attention", and its kind, "gemm"; both static, NULL: none */
    const char *op;
    const char *op_kind;
    /* COMPUTE of an operator: enum ss_part; enum ss_precision of its products; its FLOP (attention: the
     * causal half); bytes that it moves to and from memory, at least. */
    int part, precision;
    double flops, bytes;
};

/* The host's launches for a phase of a chunk, beside the GPU's work (docs/design/host.md). */
struct ss_chunk_issue {
    double host; /* s to issue all of it; 0: it is no stream of programs */
    double
        waits; /* s of the phase's durations in which the GPU waits for launches; programs leave them to that stream */
    double tail; /* share of the GPU's work behind the wait for the last launch, 0..1 */
    int in_step; /* 1: the host ends the phase no sooner than the GPU */
    int n;
    int *collective; /* [n]: launches between two waits, indices into plan.collectives */
    int rest;        /* chunk level: launches behind the last mark, index into plan.collectives */
};

/* Returns the seconds of the durations that programs leave to the host's stream. */
static inline double ss_issue_left(const struct ss_chunk_issue *issue)
{
    return issue->host > 0 ? issue->waits : 0;
}

/* What a microbatch costs on one chunk (virtual stage) of one class. Durations are by label, in s. */
struct ss_chunk_cost {
    int virtual_stage;
    int first_layer, nlayers; /* transformer layers; embedding and loss are told by the flags */
    int has_embedding, has_loss;
    double forward[SS_LABEL_COUNT];
    double backward[SS_LABEL_COUNT];    /* B: full backward, recompute included */
    double input_grad[SS_LABEL_COUNT];  /* I: gradient of the input */
    double weight_grad[SS_LABEL_COUNT]; /* W: gradient of the weight */
    /* chunk level: of B beside the reductions of replicas, which hold SMs; all 0: as any other B */
    double backward_beside[SS_LABEL_COUNT];
    double gemms; /* share of GEMMs in the kernel seconds of a forward and a backward, 0..1 */
    /* activation (or its gradient) at the chunk's borders; 0 at the ends of the model */
    double recv_bytes, send_bytes;
    double activation_bytes; /* kept from F to B (or W) of one microbatch */
    double border_bytes;     /* the part of activation_bytes that embedding and output layer keep */
    double logits_bytes;     /* kept from F to B by the loss layer */
    double forward_extra_bytes, backward_extra_bytes; /* working set while the slot runs */
    /* kept from I to W when the backward is split: inputs of the GEMMs and gradients of their outputs. It may
     * be more than activation_bytes */
    double weight_grad_bytes;
    /* data-parallel buckets: reduced in backward order, gathered in forward order */
    int nreduce, ngather;
    struct ss_bucket_mark *reduce;   /* where each is ready in the backward of the last microbatch */
    struct ss_bucket_mark *gather;   /* where each is needed in the forward of the first microbatch */
    struct ss_chunk_issue issue[2];  /* of F and B */
    double launches[2][SS_LAUNCHES]; /* s of the host for what it issues in F, and in B or I and W */
    int nsteps[SS_PHASE_COUNT];      /* layer level: F, B, I and W */
    struct ss_step *steps[SS_PHASE_COUNT];
};

/* Returns the seconds by label, [SS_LABEL_COUNT], of a phase from SS_PHASE_F to SS_PHASE_W. */
const double *ss_chunk_labels(const struct ss_chunk_cost *chunk, int phase);
/* Returns the seconds of a phase from SS_PHASE_F to SS_PHASE_W, all labels. */
double ss_chunk_seconds(const struct ss_chunk_cost *chunk, int phase);
/* Returns the kernel seconds of a forward and a backward. */
static inline double ss_chunk_kernels(const struct ss_chunk_cost *chunk)
{
    return chunk->forward[SS_LABEL_COMPUTE] + chunk->forward[SS_LABEL_RECOMPUTE] +
           chunk->backward[SS_LABEL_COMPUTE] + chunk->backward[SS_LABEL_RECOMPUTE];
}

/* A pair: a forward of one chunk beside a backward of another. Exchanges of experts of the one run beside
 * kernels of the other. */
struct ss_pair_cost {
    double seconds[SS_LABEL_COUNT]; /* all 0: the schedule has no such pair */
    int nsteps;                     /* layer level */
    struct ss_step *steps;
};

#ifdef __cplusplus
}
#endif
#endif
