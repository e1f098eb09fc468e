/* SPDX-License-Identifier: Apache-2.0 */
/* What one chunk (virtual stage) costs a microbatch: times, bytes, and its steps at layer level. */
#ifndef STEPSIM_CHUNK_H
#define STEPSIM_CHUNK_H

#include "stepsim/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A mark inside a chunk's forward or backward at which a collective is due. */
struct ss_bucket_mark {
    double fraction;        /* of the phase's duration, 0..1, ascending */
    double weight_fraction; /* likewise of W, where the backward is split */
    int collective;         /* index into plan.collectives */
    int step;               /* layer level: due before this step of F or B */
    int weight_step;        /* of W */
};

/* What kernels are of, for people. X(symbol, key in JSON, words) */
#define SS_PART_LIST(X)                                                                                      \
    X(ATTENTION_GEMM, "attention_gemm", "attention GEMMs") /* linear layers around attention */              \
    X(MLP_GEMM, "mlp_gemm", "MLP GEMMs")                   /* of shared experts and routers too */           \
    X(EXPERT_GEMM, "expert_gemm", "expert GEMMs")          /* of routed experts */                           \
    X(ATTENTION, "attention", "attention")                                                                   \
    X(ELEMENTWISE, "elementwise", "norms and elementwise")                                                   \
    X(CAST, "cast", "casts")                                                                                 \
    X(LOSS, "loss", "logits and loss")                                                                       \
    X(OTHER, "other", "flat buffers") /* kernels of no operator: flat buffers of FSDP */
enum ss_part {
#define X(symbol, key, words) SS_PART_##symbol,
    SS_PART_LIST(X)
#undef X
        SS_PARTS
};

/* What a slot does at layer level, in order: computes, posts a collective, waits for the oldest one. */
enum ss_step_kind { SS_STEP_COMPUTE, SS_STEP_POST, SS_STEP_WAIT };
struct ss_step {
    int kind;
    int label;      /* COMPUTE */
    int stream;     /* POST, WAIT */
    int collective; /* POST: index into plan.collectives */
    double seconds; /* COMPUTE, and POST where nothing is contended */
    int phase; /* F, B, I or W that it is of, which tells the sides of a pair; in B kernels of weight gradients are of W */
    const char *op; /* operator that it is of, "attention", and its kind, "gemm"; static, NULL: none */
    const char *op_kind;
    /* COMPUTE of an operator: enum ss_part; enum ss_precision of its products; FLOP (attention: the causal half) and bytes that
     * it has to move to and from memory. */
    int part, precision;
    double flops, bytes;
};

/* One chunk (virtual stage) of one class: what a microbatch costs. Durations by label, in s. */
struct ss_chunk_cost {
    int virtual_stage;
    int first_layer, nlayers; /* transformer layers; embedding and loss by the flags */
    int has_embedding, has_loss;
    double forward[SS_LABEL_COUNT];
    double backward[SS_LABEL_COUNT];    /* B: full backward with recompute */
    double input_grad[SS_LABEL_COUNT];  /* I */
    double weight_grad[SS_LABEL_COUNT]; /* W */
    double gemms; /* part of the seconds of kernels of a forward and a backward that is GEMMs', 0..1 */
    double recv_bytes, send_bytes; /* activation (and its gradient) at the chunk's borders, 0 at the ends */
    double activation_bytes;       /* kept from F to B of one microbatch (or W) */
    double logits_bytes;           /* kept from F to B by the loss layer */
    double forward_extra_bytes, backward_extra_bytes; /* working set while the slot runs */
    double weight_grad_bytes; /* kept from I to W when the backward is split: inputs of the GEMMs, and
                                        the gradients of their outputs; may be more than activation_bytes */
    /* data-parallel buckets: reduce in backward order, gather in forward order */
    int nreduce, ngather;
    struct ss_bucket_mark *reduce; /* when ready in the last microbatch's backward */
    struct ss_bucket_mark *gather; /* when needed in the first microbatch's forward */
    int nsteps[SS_PHASE_COUNT];    /* layer level: F, B, I and W */
    struct ss_step *steps[SS_PHASE_COUNT];
};

/* Seconds by label of a phase, SS_PHASE_F to SS_PHASE_W, [SS_LABEL_COUNT]. */
const double *ss_chunk_labels(const struct ss_chunk_cost *chunk, int phase);
/* Seconds of a phase, SS_PHASE_F to SS_PHASE_W, all labels. */
double ss_chunk_seconds(const struct ss_chunk_cost *chunk, int phase);
/* Seconds of the kernels of a forward and a backward. */
static inline double ss_chunk_kernels(const struct ss_chunk_cost *chunk)
{
    return chunk->forward[SS_LABEL_COMPUTE] + chunk->forward[SS_LABEL_RECOMPUTE] +
           chunk->backward[SS_LABEL_COMPUTE] + chunk->backward[SS_LABEL_RECOMPUTE];
}

/* A forward of one chunk beside a backward of another one where exchanges of experts run beside the other's kernels. */
struct ss_pair_cost {
    double seconds[SS_LABEL_COUNT]; /* all 0: the schedule has no such pair */
    int nsteps;                     /* layer level */
    struct ss_step *steps;
};

#ifdef __cplusplus
}
#endif
#endif
