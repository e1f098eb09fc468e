/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a layer does at layer level: its operators, and the collectives beside them, in the order of the compute
 * stream. Recorded by cost.c where it adds the same times up in closed form; both must agree (test_level).
 */
#ifndef SS_COST_STEPS_H
#define SS_COST_STEPS_H

#include <stddef.h>

#include "stepsim/chunk.h"
#include "stepsim/communicator.h"

struct ss_cost_context;
struct ss_op_attention;
struct ss_card;

/* A step of the compute stream. COMPUTE uses label and seconds, WAIT comm, POST the rest. */
struct ss_layer_step {
    int kind; /* enum ss_step_kind */
    int label;
    double seconds;      /* POST: uncontended, all latency included */
    double slowed;       /* POST: seconds where kernels run beside all of it (ss_steps_beside); 0: as many */
    double beside;       /* POST: share of it that has kernels beside it, 0..1 */
    int comm;            /* enum ss_communicator */
    int coll;            /* enum ss_collective_kind; no meaning for SS_COMM_HOST */
    double bytes;        /* of the full buffer; in a ring step of one member's */
    double user_buffers; /* busbw of user buffers over NCCL's on the fabric (ss_net_user_buffers); 0: NCCL */
    double part;         /* which part of a collective this is, 0..1 */
    double sms;          /* POST: share of the SMs that it holds */
    double sm_share; /* POST: part of the time of kernels beside it that these SMs take (ss_sm_share_taken) */
    int mlp;         /* 1: a step of the layer's MLP, 0: of its mixer */
    int again;       /* 1: a step of the forward that is repeated before the backward */
    int phase;       /* this, op and op_kind as in struct ss_step */
    const char *op, *op_kind;
    int of_part, precision; /* COMPUTE: part and precision of struct ss_step */
    int called;             /* COMPUTE: in_exchange of struct ss_op */
    int ahead;              /* POST: 1: the call of the next exchange on its stream posts it */
    double flops, moved;    /* moved: bytes to and from memory */
};
/* The operator that kernels belong to; op NULL: none. */
struct ss_step_of {
    const char *op, *op_kind;
    int mlp, part, precision, called;
};
/* Seconds of kernels, and what they do in them. */
struct ss_step_work {
    double seconds, flops, bytes;
};
struct ss_step_list {
    size_t n, cap;
    struct ss_layer_step *step;
    int phase;                /* phase of the steps that are added */
    struct ss_step_of of;     /* and their operator */
    struct ss_step_work work; /* kernels that are added do FLOP and bytes at this rate */
    int failed;               /* out of memory */
};

/* Steps of one layer by phase: F, B (not split), I, W. Operators are recorded in the order of the forward; each puts its backward parts
 * before those of the operators ahead of it. */
struct ss_layer_steps {
    struct ss_step_list phase[SS_PHASE_FB];
};
struct ss_recorder {
    struct ss_layer_steps out;
    struct ss_layer_steps block;                   /* B, I and W of the operator that is being recorded */
    int open;                                      /* 1: an exchange is under way, of these steps */
    struct ss_layer_step forward, ahead, backward; /* ahead: posted before backward */
};

/* What a linear layer takes. */
struct ss_linear_times {
    double f, d, w, accumulate; /* s of its GEMMs, and of the kernel that adds up the weight gradient */
    double gather, scatter;     /* s of its collectives, 0: none */
    double gather_bytes, scatter_bytes;
    double user_buffers, scatter_buffers; /* user_buffers of both collectives */
    double flops;                         /* of each GEMM */
    double f_bytes, d_bytes, w_bytes;
    double
        slow; /* factor of the slowest GPU that the rank waits for, >= 1 where none is faster than the mean one */
    double piece; /* part of a GEMM that is done before it begins to hide its overlapped collective, 0..1 */
    int column, sp, overlap, async; /* async: 1: collectives of the backward run beside its GEMMs */
    int regather; /* 1: the backward gathers too, a gradient or an input that was not kept gathered */
};

/* Makes a step that posts a whole collective, or a copy, and holds no SMs. */
static inline struct ss_layer_step ss_step_post(int comm, int coll, double bytes, double seconds)
{
    return (struct ss_layer_step){
        .kind = SS_STEP_POST, .seconds = seconds, .comm = comm, .coll = coll, .bytes = bytes, .part = 1};
}

/* ---- recording: functions do nothing where the recorder is NULL ---- */
void ss_record_begin(struct ss_recorder *r);
void ss_record_linear(struct ss_recorder *r, const struct ss_linear_times *t);
/* Records elementwise kernels of the forward and the backward. */
void ss_record_kernels(struct ss_recorder *r, const struct ss_step_work *forward,
                       const struct ss_step_work *backward);
/* Says that this operator follows. */
void ss_record_operator(struct ss_recorder *r, const struct ss_step_of *of);
/* Says that what follows belongs to no operator; it is of the same half of the layer. */
void ss_record_operators_end(struct ss_recorder *r);
/* Begins an exchange; what is recorded until its end runs beside it. */
void ss_record_exchange(struct ss_recorder *r, const struct ss_layer_step *ahead,
                        const struct ss_layer_step *forward, const struct ss_layer_step *ahead_back,
                        const struct ss_layer_step *backward);
void ss_record_exchange_end(struct ss_recorder *r);
/* again: 1 where the forward is repeated before the backward. */
void ss_record_attention(struct ss_recorder *r, const struct ss_cost_context *c,
                         const struct ss_op_attention *a, const struct ss_step_work *forward,
                         const struct ss_step_work *backward, int again);
/* Records a collective of the tensor group that nothing hides: at the end of F, or at the start of B and of `phase`, I or W. */
void ss_record_border(struct ss_recorder *r, int phase, int coll, double bytes, double seconds);
/* Records seconds of the host: at the end of F, and before the rest of B and I. */
void ss_record_other(struct ss_recorder *r, double forward, double backward);
/* The number of steps of the forward so far; the second repeats those from `from` up to `to` before what B and I have. */
size_t ss_record_length(const struct ss_recorder *r);
void ss_record_again(struct ss_recorder *r, size_t from, size_t to);
/* Takes the forward of another recording of the layer in place of its own, and ends the other one. */
void ss_record_forward(struct ss_recorder *r, struct ss_recorder *other);
/* Posts n collectives (or copies) beside all of a phase, and adds kernels of `after` seconds behind it. */
void ss_record_beside(struct ss_recorder *r, int phase, const struct ss_layer_step *posts, int n,
                      double after);
/* Adds a copy or collective at the end of a phase, which nothing hides. */
void ss_record_behind(struct ss_recorder *r, int phase, const struct ss_layer_step *copy);
/* Moves the lists to *out; SS_ERR_NOMEM if the recording failed. */
int ss_record_end(struct ss_recorder *r, struct ss_layer_steps *out);
void ss_layer_steps_free(struct ss_layer_steps *s);

/* Sets, for exchanges that have kernels between their post and their wait, the seconds that they take (slowed while the kernels run, then
 * as if alone), and what their SMs take of the kernels. It wants the whole list, and once: kernels outside of posts and waits do not count. */
void ss_steps_beside(struct ss_step_list *list, const struct ss_card *card);
/* Adds up the time of a list by label where nothing is contended: steps that compute follow each other, a stream carries one posted
 * collective after the other, and those under way hold their share of the SMs. Kernels take 1 + slower times as long, which decides what
 * is waited for, but count as if they did not. SS_ERR_NOMEM. */
int ss_steps_fold(const struct ss_step_list *list, double slower, double by_label[SS_LABEL_COUNT]);

#endif
