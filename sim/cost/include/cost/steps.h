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

/* COMPUTE: label, seconds. POST: the rest. WAIT: comm. */
struct ss_layer_step {
    int kind; /* enum ss_step_kind */
    int label;
    double seconds;      /* POST: uncontended, all latency included */
    double slowed;       /* POST: seconds with kernels beside all of it (ss_steps_beside); 0: no others */
    double beside;       /* POST: share of it that has kernels beside it, 0..1 */
    int comm;            /* enum ss_communicator */
    int coll;            /* enum ss_collective_kind; no meaning for SS_COMM_HOST */
    double bytes;        /* full buffer; of a ring step those of one member */
    double user_buffers; /* busbw of user buffers over NCCL's on NVLink (ss_net_user_buffers); 0: NCCL */
    double part;         /* of the collective that this is, 0..1 */
    double sms;          /* POST: share of the SMs that it holds */
    double sm_share;     /* POST: and what that takes of the kernels beside it (ss_sm_share_taken) */
    int mlp;             /* 1: of the layer's MLP or mixture, 0: of its attention */
    int again;           /* 1: of the forward, before the backward */
    int phase;           /* as in struct ss_step, and so are the operator and its kind */
    const char *op, *op_kind;
    int of_part, precision; /* COMPUTE: part and precision of struct ss_step */
    int called;             /* COMPUTE: as of struct ss_op */
    int ahead;              /* POST: 1: of the call of the exchange that comes next on its stream */
    double flops, moved;    /* moved: bytes to and from memory */
};
/* The operator that kernels are of; op NULL: none. */
struct ss_step_of {
    const char *op, *op_kind;
    int mlp, part, precision, called;
};
/* What kernels of some seconds do. */
struct ss_step_work {
    double seconds, flops, bytes;
};
struct ss_step_list {
    size_t n, cap;
    struct ss_layer_step *step;
    int phase; /* of the steps that are added, as their operator */
    struct ss_step_of of;
    struct ss_step_work work; /* of kernels that are added: as many FLOP and bytes a second */
    int failed;               /* out of memory */
};

/* Lists of one layer by phase: F, B (not split), I, W. Backward parts are recorded operator by operator in
 * forward order and turned round at the end. */
struct ss_layer_steps {
    struct ss_step_list phase[SS_PHASE_FB];
};
struct ss_recorder {
    struct ss_layer_steps out;
    struct ss_layer_steps block;                   /* of the operator at hand: B, I and W */
    int open;                                      /* an exchange is under way */
    struct ss_layer_step forward, ahead, backward; /* ahead: of backward */
};

/* A linear layer in seconds. */
struct ss_linear_times {
    double f, d, w, accumulate; /* GEMMs, and the kernel that adds the gradient up */
    double gather, scatter;     /* 0: none */
    double gather_bytes, scatter_bytes;
    double user_buffers, scatter_buffers; /* as in struct ss_layer_step, of the gather and of the scatter */
    double flops;                         /* of each GEMM */
    double f_bytes, d_bytes, w_bytes;
    double
        slow; /* factor of the GPUs that wait for each other, >= 1 where none is faster than the mean one */
    double piece; /* part of a GEMM that is done before its overlapped collective begins to hide, 0..1 */
    int column, sp, overlap, async; /* async: the backward's collectives run beside its GEMMs */
    int regather; /* the backward gathers, too: a gradient, or an input that was not kept gathered */
};

/* A whole collective or copy by NCCL, which holds no SMs. */
static inline struct ss_layer_step ss_step_post(int comm, int coll, double bytes, double seconds)
{
    return (struct ss_layer_step){
        .kind = SS_STEP_POST, .seconds = seconds, .comm = comm, .coll = coll, .bytes = bytes, .part = 1};
}

/* All take a recorder that may be NULL and then do nothing. */
void ss_record_begin(struct ss_recorder *r);
void ss_record_linear(struct ss_recorder *r, const struct ss_linear_times *t);
/* Elementwise kernels: forward and backward. */
void ss_record_kernels(struct ss_recorder *r, const struct ss_step_work *forward,
                       const struct ss_step_work *backward);
/* What follows is of this operator. */
void ss_record_operator(struct ss_recorder *r, const struct ss_step_of *of);
/* What follows is of none, in the same half of the layer. */
void ss_record_operators_end(struct ss_recorder *r);
/* An exchange between experts, and what is recorded beside it until its end. */
void ss_record_exchange(struct ss_recorder *r, const struct ss_layer_step *ahead,
                        const struct ss_layer_step *forward, const struct ss_layer_step *ahead_back,
                        const struct ss_layer_step *backward);
void ss_record_exchange_end(struct ss_recorder *r);
/* again: 1: the forward is recomputed before the backward. */
void ss_record_attention(struct ss_recorder *r, const struct ss_cost_context *c,
                         const struct ss_op_attention *a, const struct ss_step_work *forward,
                         const struct ss_step_work *backward, int again);
/* A collective of the tensor group that nothing hides: at the end of F, or the start of B and of `phase`, I or W. */
void ss_record_border(struct ss_recorder *r, int phase, int coll, double bytes, double seconds);
/* Time of the host at the end of F, or before the rest of B and I. */
void ss_record_other(struct ss_recorder *r, double forward, double backward);
/* Steps of the forward so far; and those from `from` up to `to` again before what B and I have so far. */
size_t ss_record_length(const struct ss_recorder *r);
void ss_record_again(struct ss_recorder *r, size_t from, size_t to);
/* Takes the forward of another recording of the layer in place of its own, and ends that. */
void ss_record_forward(struct ss_recorder *r, struct ss_recorder *other);
/* n collectives (or copies) beside all of a phase, then kernels of `after` seconds. */
void ss_record_beside(struct ss_recorder *r, int phase, const struct ss_layer_step *posts, int n,
                      double after);
/* A copy or collective at the end of a phase, which nothing hides. */
void ss_record_behind(struct ss_recorder *r, int phase, const struct ss_layer_step *copy);
/* Takes the lists; SS_ERR_NOMEM if the recording failed. */
int ss_record_end(struct ss_recorder *r, struct ss_layer_steps *out);
void ss_layer_steps_free(struct ss_layer_steps *s);

/* Gives exchanges between whose post and wait the list has kernels the seconds that they take, slowed while these run, behind them as
 * alone, and what their SMs take of these. A list is seen once: as a whole, for what lies before its first post and behind its last wait does not count. */
void ss_steps_beside(struct ss_step_list *list, const struct ss_card *card);
/* Time of a list by label where nothing is contended: steps that compute follow each other, each stream carries one posted
 * collective after the other, and those under way hold their share of the SMs. Kernels take `slower` times as much longer, and
 * are counted as if they did not. SS_ERR_NOMEM. */
int ss_steps_fold(const struct ss_step_list *list, double slower, double by_label[SS_LABEL_COUNT]);

#endif
