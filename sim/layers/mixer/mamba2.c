/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mamba-2, as Megatron core's MambaMixer (megatron/core/ssm/mamba_mixer.py): one projection makes z, x, B, C and dt; x, B and C go
 * through a causal convolution of few tokens a channel; the scan (SSD) of mamba_ssm (ops/triton/ssd_combined.py) works on chunks of
 * the sequence and hands a state of each head from chunk to chunk; its output is gated by z, normed by groups and projected.
 * Tensor ranks divide heads and groups. Context ranks exchange a part of the sequence for a part of the heads, and back
 * (mamba_context_parallel.py).
 */
#include <math.h>

#include "layers/kinds.h"
#include "layers/linear.h"
#include "layers/mamba.h"
#include "stepsim/job_kinds.h"

/* Sizes of a microbatch: of a tensor rank before the exchange of context ranks; of the scan, behind it. */
struct sizes {
    double inner, groups, heads; /* channels of x, groups of B and C, heads; of a tensor rank */
    double width;                /* columns of z, x, B, C and dt */
    double t;                    /* tokens of the scan: all of its sequences */
    double x, bc, h;             /* elements of x, of B (or C), and heads of a token in the scan */
    double state, chunk;         /* elements of a state a channel of x; tokens of a chunk */
    double states;               /* elements of the states of all chunks */
    double scores;               /* elements of the products of B and C in all chunks */
    int gate_outside;            /* 1: the norm weighs the output by z, and not the scan */
};

static struct sizes sizes_of(const struct ss_shape *s)
{
    const struct ss_model *m = s->model;
    struct sizes z = {.heads = (double)m->mamba_num_heads / s->tp,
                      .groups = (double)m->mamba_num_groups / s->tp,
                      .state = m->mamba_state_dim,
                      .chunk = fmin(m->mamba_chunk, s->sequence)};
    double groups = fmax(1, z.groups / s->cp); /* context ranks that share a group repeat it */
    z.inner = z.heads * m->mamba_head_dim;
    z.width = 2 * z.inner + 2 * z.groups * z.state + z.heads;
    z.t = s->tokens * s->cp;
    z.x = z.inner / s->cp;
    z.h = z.heads / s->cp;
    z.bc = groups * z.state;
    z.states = z.t / z.chunk * z.x * z.state;
    z.scores = z.t * z.chunk * groups;
    z.gate_outside = s->mamba_apart && m->mamba_norm != 0;
    return z;
}

/* Appends an exchange of context ranks for `columns` of their tokens. */
static void exchange(struct ss_ops *ops, const struct ss_shape *s, const char *name, double columns)
{
    double bytes = s->tokens * columns * s->e;
    ss_op_exchange(ops, name, SS_COMM_CP, SS_COLL_ALL_TO_ALL, SS_COLL_ALL_TO_ALL, bytes, bytes);
}

/* Copies of PyTorch around the exchanges, each way: tensors are put into the order of the ranks, joined, and put into the order of the
 * sequence, which attention balances over the ranks. */
enum { TO_HEADS_COPIES = 3, TO_TOKENS_COPIES = 2 };

static void to_heads(struct ss_ops *ops, const struct ss_shape *s, const struct sizes *z)
{
    double bc = z->bc * s->cp, all = 2 * z->inner + 2 * bc + z->heads, copy = 2 * s->tokens * all * s->e;
    if (s->cp <= 1)
        return;
    exchange(ops, s, "z to heads", z->inner);
    exchange(ops, s, "x to heads", z->inner);
    exchange(ops, s, "B to heads", bc);
    exchange(ops, s, "C to heads", bc);
    exchange(ops, s, "dt to heads", z->heads);
    ss_op_calls(
        ss_op_kernels(ops, "order of heads", TO_HEADS_COPIES * copy, TO_HEADS_COPIES * copy, 5 + 2, 5 + 2),
        1);
}

static void to_tokens(struct ss_ops *ops, const struct ss_shape *s, const struct sizes *z)
{
    double copy = 2 * s->tokens * z->inner * s->e;
    if (s->cp <= 1)
        return;
    ss_op_calls(ss_op_kernels(ops, "order of tokens", TO_TOKENS_COPIES * copy, TO_TOKENS_COPIES * copy, 2, 2),
                1);
    exchange(ops, s, "y to tokens", z->inner);
    if (z->gate_outside)
        exchange(ops, s, "z to tokens", z->inner);
}

/* Appends copies between the order of the GEMMs, sequence first, and that of the scan, batch first: with one sequence they are one. */
static void turn(struct ss_ops *ops, const struct ss_shape *s, const char *name, double columns)
{
    double copy = 2 * s->tokens * columns * s->e;
    if (s->micro_batch > 1)
        ss_op_kernels(ops, name, copy, copy, 1, 1);
}

/* Appends the copies without Megatron's memory-efficient path (MambaMixer._static_prefill). Forward: x, B and C are put channels first, and
 * back behind the convolution, and all five parts are made contiguous. Backward: gradients are joined at both splits, and put channels
 * first and back. */
static void parts(struct ss_ops *ops, const struct ss_shape *s, const struct sizes *z)
{
    double conv = z->x + 2 * z->bc, all = z->x + conv + z->h, copy = 2 * z->t * s->e;
    ss_op_kernels(ops, "parts apart", copy * (2 * conv + all), copy * (all + conv + 2 * conv), 2 + 5, 2 + 2);
}

/* Appends the convolution of x, B and C, with silu. The backward reads input and gradient and writes one gradient; in the scan's call it
 * repeats the forward first. Apart it keeps its input. A multiplication and an addition a token that a channel sees. */
static void convolution(struct ss_ops *ops, const struct ss_shape *s, const struct sizes *z)
{
    double taps = s->model->mamba_conv, pass = z->t * (z->x + 2 * z->bc) * s->e;
    int apart = s->mamba_apart;
    struct ss_op *op =
        ss_op_scan(ops, "conv1d", SS_SCAN_CONV1D, 2 * pass, (apart ? 3 : 5) * pass, 1, apart ? 1 : 3);
    ss_op_calls(op, apart);
    op->saved_bytes = apart ? pass : 0;
    op->params = (taps + 1) * (z->inner + 2 * z->groups * z->state);
    op->tensors = 2;
}

/* Kernels of the scan. Forward: A and the bias of dt in fp32 (3); sums over chunks, states of chunks, their passing, products of C
 * and B, the scan. Backward: a copy of dt, and the first four of these again; gradients of z (with a sum), of states, their passing
 * (with a sum), of x (two sums), of B and C by states (two sums), of the products of B and C (a sum and a cast), of B and C by them
 * (2), of A by chunks, six kernels of PyTorch that add and sum gradients of A, and the sums over chunks; A and dt in fp32 again (3). */
enum { SCAN_KERNELS = 3 + 5, SCAN_BACKWARD_KERNELS = 1 + 4 + 2 + 1 + 2 + 3 + 4 + 3 + 2 + 1 + 6 + 1 + 3 };

/*
 * Appends the scan. Products, in FLOP a token; a causal block of a chunk counts the half above its diagonal where a tile of 64 rows
 * meets it:
 *   forward   states and output by states, 2 x N each; C B, 2 Q G N; output in the chunk, 2 Q x, causal
 *   backward  states and C B again; gradients of states, of x, B and C by states, 2 x N each; of x, of the products of B and C, and of
 *             A by chunks, 2 Q x each, causal; of B and C by their products, 2 x 2 Q G N
 * Traffic: states are written in fp32, passed on in 16 bit and read; products of B and C are fp32. dt and its sums are fp32. Where the gate is
 * the norm's, the scan does not read z, nor write its output twice.
 */
static void scan(struct ss_ops *ops, const struct ss_shape *s, const struct sizes *z)
{
    double causal = fmin(1, (z->chunk + 64) / (2 * z->chunk)), x = z->t * z->x * s->e,
           bc = z->t * z->bc * s->e;
    double by_states = 2 * z->t * z->x * z->state, cb = 2 * z->scores * z->state, half = s->e;
    double in_chunk = 2 * z->t * z->x * z->chunk * causal, dt = 4 * z->t * z->h;
    double states = (bc + x + 2 * dt + 4 * z->states) + (4 + half) * z->states; /* of chunks, and passed on */
    double products = 2 * bc + 4 * z->scores, first = (s->e / 4 + 2) * dt + states + products;
    double gate = z->gate_outside ? 0 : x;
    double forward = first + (4 * z->scores + 2 * x + bc + 2 * dt + half * z->states) + 2 * gate;
    double backward =
        first + (4 - half) * z->states                             /* again, states in fp32 */
        + 6 * gate                                                 /* gradients of z and of the gate */
        + (bc + x + dt + 4 * z->states)                            /* of states */
        + (8 + 2 * half) * z->states                               /* passed on */
        + (3 * x + 4 * z->scores + bc + half * z->states + 4 * dt) /* of x and dt */
        + 2 * (x + half * z->states + bc + 2 * dt + 2 * 2 * bc)    /* of B and C by states, in fp32 */
        + (2 * x + 2 * dt + 3 * 4 * z->scores)                     /* of the products of B and C */
        + 2 * (4 * z->scores + bc + 2 * bc + bc)                   /* of B and C by them */
        + (2 * x + 4 * z->scores + 3 * dt)                         /* of A by chunks */
        + (6 * 2 + 4) * dt;
    struct ss_op *op = ss_op_scan(ops, "ssd scan", SS_SCAN_CHUNKED, forward, backward, SCAN_KERNELS,
                                  SCAN_BACKWARD_KERNELS - 2 * z->gate_outside);
    op->forward_flops = 2 * by_states + cb + in_chunk;
    op->backward_flops = by_states + cb + 4 * by_states + 3 * in_chunk + 2 * cb;
    op->model_flops =
        7. / 2 * by_states;    /* Megatron's count of a scan token by token, at the layer's own width */
    op->params = 3 * z->heads; /* A, D and the bias of dt */
    op->tensors = 3;
    /* It keeps z, x, B, C and dt, and its output before the gate; apart also the sums of dt; without a gate its output, which the norm keeps
     * where nothing copies it. */
    op->saved_bytes = z->t * (2 * z->x + 2 * z->bc + z->h) * s->e + x + s->mamba_apart * dt;
    if (z->gate_outside)
        op->saved_bytes -= s->micro_batch > 1 || s->cp > 1 ? x : 2 * x;
    /* All states of the backward, and the gradients of both forms of B and C. */
    op->working_bytes = (4 + 4 + 2 * half) * z->states + 2 * 4 * z->scores + 2 * 2 * 2 * bc;
}

/* Appends the norm of the gated output, by groups of a tensor rank. It keeps its input and a statistic a group, with the gate inside z too;
 * the projection keeps its output. */
static void norm(struct ss_ops *ops, const struct ss_shape *s, const struct sizes *z)
{
    double y = s->tokens * z->inner;
    if (s->model->mamba_norm == 0)
        return;
    int gated = z->gate_outside;
    struct ss_op *op =
        ss_op_kernels(ops, "mamba norm", (2 + gated) * y * s->e, (3 + 2 * gated) * y * s->e, 1, 2);
    ss_op_calls(op, 1);
    op->params = z->inner;
    op->tensors = 1;
    op->saved_bytes = (1 + gated) * y * s->e + 4 * s->tokens * z->groups;
}

void ss_op_mamba2(struct ss_ops *ops, const struct ss_shape *s)
{
    const struct sizes z = sizes_of(s);
    ss_op_mixer_in(ops, s, 1, z.width);
    ss_op_mixer_linear(ops, s, "mamba in", z.width, 1);
    to_heads(ops, s, &z);
    turn(ops, s, "batch first", z.width);
    if (s->mamba_apart)
        parts(ops, s, &z);
    convolution(ops, s, &z);
    scan(ops, s, &z);
    turn(ops, s, "sequence first", z.inner);
    to_tokens(ops, s, &z);
    norm(ops, s, &z);
    ss_op_mixer_out(ops, s, "mamba out", z.inner, 0, 0);
}

static void operators(struct ss_ops *ops, const struct ss_shape *s)
{
    ss_op_norm(ops, s, "input norm");
    ss_op_mamba2(ops, s);
    ss_op_branch_end(ops, s, "mamba post norm");
}

const struct ss_mixer ss_mixer_mamba2 = {
    .operators = operators, .graph = SS_GRAPH_MAMBA, .exchanges = SS_COLL_BIT(SS_COLL_ALL_TO_ALL)};
