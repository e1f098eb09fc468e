/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a layer at layer level: its operators and the collectives beside them, in the order of the
 * compute stream. cost.c records the steps where it adds up the same times in closed form; both must agree
 * (test_level).
 */
#ifndef SS_COST_STEPS_H
#define SS_COST_STEPS_H

#include <stddef.h>

#include "stepsim/chunk.h"
#include "stepsim/communicator.h"

struct ss_cost_context;
struct ss_op_attention;
struct ss_card;

/* A step of the compute stream. COMPUTE uses label and seconds, WAIT uses comm, POST the other fields. */
struct ss_layer_step {
    int kind; /* enum ss_step_kind */
    int label;
    double seconds; /* POST: without contention, all latency included */
    double slowed;  /* POST: seconds where kernels run beside all of it (ss_steps_beside); 0: no change */
    double beside;  /* POST: share of its time that has kernels beside it, 0..1 */
    int comm;       /* enum ss_communicator */
    int coll;       /* enum ss_collective_kind; no meaning for SS_COMM_HOST */
    double bytes;   /* of the full buffer; in a ring step those of one member */
    /* busbw with user buffers over busbw of NCCL inside a node (ss_net_user_buffers); 0: NCCL */
    double user_buffers;
    double part; /* share of the whole collective that the step is, 0..1 */
    double sms;  /* POST: share of the SMs that it holds */
    /* POST: share that these SMs take of the time of kernels beside it (ss_sm_share_taken) */
    double sm_share;
    int mlp;   /* 1: a step of the layer's MLP, 0: of its mixer */
    int again; /* 1: a step of the forward that is repeated before the backward */
    int phase; /* phase, op and op_kind are as in struct ss_step */
    const char *op, *op_kind;
    int of_part, precision; /* COMPUTE: part and precision of struct ss_step */
    int in_exchange;        /* COMPUTE: in_exchange of struct ss_op */
    int ahead;              /* POST: 1: the exchange that follows on the stream posts it in its own call */
    double flops, moved;    /* moved: bytes to and from memory */
};
/* The operator that kernels belong to; op is NULL for none. */
struct ss_step_of {
    const char *op, *op_kind;
    int mlp, part, precision, in_exchange;
};
/* Seconds of kernels, with their FLOP and their bytes. */
struct ss_step_work {
    double seconds, flops, bytes;
};
struct ss_step_list {
    size_t n, cap;
    struct ss_layer_step *step;
    int phase;                /* added steps get this phase */
    struct ss_step_of of;     /* and this operator */
    struct ss_step_work work; /* added kernels do FLOP and bytes at this rate */
    int failed;               /* 1: out of memory */
};

/* The steps of one layer by phase: F, B (not split), I, W. Operators are recorded in the order of the
 * forward. Each operator puts its backward steps before the backward steps of earlier operators. */
struct ss_layer_steps {
    struct ss_step_list phase[SS_PHASE_FB];
};
struct ss_recorder {
    struct ss_layer_steps out;
    struct ss_layer_steps block; /* B, I and W of the operator that is being recorded */
    int open;                    /* 1: an exchange is under way; its steps are the next three */
    struct ss_layer_step forward, ahead, backward; /* ahead: posted before `backward` */
};

/* What a linear layer takes, for the recorder. */
struct ss_linear_times {
    /* s of the GEMMs for F, I and W, and of the kernel that adds up the weight gradient */
    double f, d, w, accumulate;
    double gather, scatter; /* s of the collectives, 0: none */
    double gather_bytes, scatter_bytes;
    double user_buffers, scatter_buffers; /* user_buffers of the steps of both collectives */
    double flops;                         /* of each GEMM */
    double f_bytes, d_bytes, w_bytes;
    /* factor of the slowest GPU that the rank waits for; >= 1 unless every GPU is faster than the mean GPU */
    double slow;
    double piece; /* part of a GEMM that is done before the rest hides its overlapped collective, 0..1 */
    double own; /* part of a GEMM that hides a gather without overlap: that of a rank's own shard, 0: none */
    int column, sp, overlap, async; /* async: 1: collectives of the backward run beside its GEMMs */
    int regather; /* 1: the backward gathers, too: a gradient, or an input that was not kept gathered */
};

/* slowed.c. Stretches the GEMMs that run beside collectives of NCCL's, of whose time these take the share `taken`: a rank's own shard,
 * and both of a column-parallel layer's backward. */
void ss_linear_beside(struct ss_linear_times *t, double taken);

/* Returns a step that posts a whole collective or copy, which holds no SMs. */
static inline struct ss_layer_step ss_step_post(int comm, int coll, double bytes, double seconds)
{
    return (struct ss_layer_step){
        .kind = SS_STEP_POST, .seconds = seconds, .comm = comm, .coll = coll, .bytes = bytes, .part = 1};
}

/* ---- recording: each function does nothing where the recorder is NULL ---- */
void ss_record_begin(struct ss_recorder *r);
void ss_record_linear(struct ss_recorder *r, const struct ss_linear_times *t);
/* Records elementwise kernels of the forward and the backward. */
void ss_record_kernels(struct ss_recorder *r, const struct ss_step_work *forward,
                       const struct ss_step_work *backward);
/* Sets the operator of the steps that follow. */
void ss_record_operator(struct ss_recorder *r, const struct ss_step_of *of);
/* Says that the following steps belong to no operator; they stay in the same half of the layer. */
void ss_record_operators_end(struct ss_recorder *r);
/* Begins an exchange; the steps recorded until its end run beside it. */
void ss_record_exchange(struct ss_recorder *r, const struct ss_layer_step *ahead,
                        const struct ss_layer_step *forward, const struct ss_layer_step *ahead_back,
                        const struct ss_layer_step *backward);
void ss_record_exchange_end(struct ss_recorder *r);
/* Records an attention. again: 1 where its forward is repeated before the backward. */
void ss_record_attention(struct ss_recorder *r, const struct ss_cost_context *c,
                         const struct ss_op_attention *a, const struct ss_step_work *forward,
                         const struct ss_step_work *backward, int again);
/* Records a collective of the tensor group that nothing hides: at the end of F, or at the start of B and of
 * `phase` (I or W). */
void ss_record_border(struct ss_recorder *r, int phase, int coll, double bytes, double seconds);
/* Records host seconds: at the end of F, and before the rest of B and of I. */
void ss_record_other(struct ss_recorder *r, double forward, double backward);
/* ss_record_length returns the number of forward steps so far. ss_record_again repeats the forward steps from
 * `from` up to `to` before the steps of B and I. */
size_t ss_record_length(const struct ss_recorder *r);
void ss_record_again(struct ss_recorder *r, size_t from, size_t to);
/* Replaces the forward by that of another recording of the layer, and ends that recording. */
void ss_record_forward(struct ss_recorder *r, struct ss_recorder *other);
/* Posts n collectives or copies that run beside a whole phase; kernels of `after` seconds follow behind the
 * phase. */
void ss_record_beside(struct ss_recorder *r, int phase, const struct ss_layer_step *posts, int n,
                      double after);
/* Adds a copy or collective at the end of a phase, where nothing hides it. */
void ss_record_behind(struct ss_recorder *r, int phase, const struct ss_layer_step *copy);
/* Moves the lists to *out; returns SS_ERR_NOMEM if the recording failed. */
int ss_record_end(struct ss_recorder *r, struct ss_layer_steps *out);
void ss_layer_steps_free(struct ss_layer_steps *s);

/* Sets the seconds of exchanges that have kernels between their post and their wait (an exchange is slow
 * while the kernels run, then runs as if alone), and the share that their SMs take of those kernels. Call it
 * once, on the whole list: kernels before a post or behind a wait do not count. */
void ss_steps_beside(struct ss_step_list *list, const struct ss_card *card);
/* Adds up the time of a list by label where nothing is contended. Compute steps follow each other, a stream
 * carries one posted collective after the other, and running collectives hold their share of the SMs. Kernels
 * last 1 + slower times as long for the question what is waited for, but are counted at their plain length.
 * Error: SS_ERR_NOMEM. */
int ss_steps_fold(const struct ss_step_list *list, double slower, double by_label[SS_LABEL_COUNT]);
/* Does so beside a reduction of gradients that holds the share `held` of the SMs `until` so many seconds have gone. */
int ss_steps_fold_beside(const struct ss_step_list *list, double slower, double held, double until,
                         double by_label[SS_LABEL_COUNT]);

#endif
