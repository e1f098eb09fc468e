/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mamba-1, as mamba_ssm's Mamba (ops/selective_scan_interface.py) and transformers' JambaMambaMixer have it: one projection makes x and z;
 * x goes through a causal convolution of few tokens a channel; a narrow projection makes B, C and the input of dt, which a second one
 * widens; the scan keeps a state a channel, and its output is gated by z and projected. No public training framework divides it over
 * tensor or context ranks.
 */
#include <math.h>

#include "layers/kinds.h"
#include "layers/linear.h"

struct sizes {
    double inner, rank, state; /* channels of x; of the input of dt; elements of a channel's state */
    double t, x;               /* tokens; elements of x */
    int apart; /* 1: dt, B and C are normed, so that projections and scan are calls of their own */
};

static struct sizes sizes_of(const struct ss_shape *s)
{
    const struct ss_model *m = s->model;
    struct sizes z = {.inner = m->mamba1_inner,
                      .rank = m->mamba1_dt_rank,
                      .state = m->mamba_state_dim,
                      .t = s->tokens,
                      .apart = m->mamba1_norms > 0};
    z.x = z.t * z.inner;
    return z;
}

/* Appends the convolution with silu. It keeps its input; x, for both that read it, is made again in the backward where all of this is one
 * call. */
static void convolution(struct ss_ops *ops, const struct ss_shape *s, const struct sizes *z)
{
    double taps = s->model->mamba_conv, pass = z->x * s->e;
    struct ss_op *op =
        ss_op_scan(ops, "conv1d", SS_SCAN_CONV1D, 2 * pass, (z->apart ? 3 : 5) * pass, 1, z->apart ? 1 : 2);
    op->params = (taps + 1) * z->inner;
    op->tensors = 2;
    op->saved_bytes = 2 * pass; /* x and z */
}

/* Appends Jamba's norms of dt, B and C; Falcon's have no weights. */
static void norms(struct ss_ops *ops, const struct ss_shape *s, const struct sizes *z)
{
    const double widths[] = {z->rank, z->state, z->state};
    int weights = s->model->mamba1_norms == SS_MAMBA_NORMS;
    for (int i = 0; i < 3 && z->apart; i++) {
        struct ss_op *op =
            ss_op_norm_of(ops, s, "dt, B, C norm", z->t * widths[i], weights ? widths[i] : 0, s->e);
        op->tensors *= weights;
        op->saved_bytes = z->t * (2 * widths[i] * s->e + 4);
    }
}

/* Tokens of a chunk of the scan, between which states go through memory. */
enum { SCAN_CHUNK = 2048 };

/*
 * Appends the scan. FLOP of a state of a channel and token: 9 forward (mamba_ssm's own count), on ordinary cores. The backward makes states
 * again, and has twice the products (assumed: the chain rule of each). Traffic: x, dt, z, the output with and without the gate, states at the end
 * of chunks in fp32. A block of threads has one channel, and reads B and C for itself, from L2 at twice the rate of HBM; the backward adds
 * their gradients in fp32 (atomics in L2, at the rate of HBM).
 */
static void scan(struct ss_ops *ops, const struct ss_shape *s, const struct sizes *z)
{
    double pass = z->x * s->e, bc = 2 * z->t * z->state * s->e;
    double states = 2 * 4 * z->inner * z->state * s->micro_batch * ceil(s->sequence / SCAN_CHUNK);
    double read = 2 * z->x * z->state * s->e / 2, added = 2 * 4 * z->x * z->state;
    struct ss_op *op = ss_op_scan(ops, "selective scan", SS_SCAN_SELECTIVE, 5 * pass + read + states,
                                  8 * pass + read + added + states, 1, 1);
    op->forward_flops = op->model_flops = 9 * z->x * z->state;
    op->backward_flops = 3 * op->forward_flops;
    op->params = z->inner * (z->state + 1); /* A and D; the bias of dt is its projection's */
    op->tensors = 2;
    /* It keeps states and its output before the gate; apart also x, dt, B and C. */
    op->saved_bytes = pass + states + (z->apart ? 2 * pass + bc : 0);
}

static void operators(struct ss_ops *ops, const struct ss_shape *s)
{
    const struct sizes z = sizes_of(s);
    double narrow = z.rank + 2 * z.state;
    ss_op_norm(ops, s, "input norm");
    ss_op_undivided(ops, s, "mamba in", 2 * z.inner, s->h, 0, SS_CAST_OF_NORM);
    convolution(ops, s, &z);
    ss_op_undivided(ops, s, "x projection", narrow, z.inner, 0, SS_CAST_OF_NORM)->saved_bytes =
        z.apart ? 0 : z.t * narrow * s->e; /* its output; apart the norms keep that */
    norms(ops, s, &z);
    ss_op_undivided(ops, s, "dt projection", z.inner, z.rank, 1, SS_CAST_OF_NORM);
    scan(ops, s, &z);
    ss_op_undivided(ops, s, "mamba out", s->h, z.inner, 0, SS_CAST_OF_OWN);
    ss_op_branch_end(ops, s, "mamba post norm");
}

const struct ss_mixer ss_mixer_mamba1 = {.operators = operators};
