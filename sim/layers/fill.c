/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fresh memory. Under torch.use_deterministic_algorithms PyTorch fills what torch.empty, at::empty and resize_ return
 * (torch.utils.deterministic.fill_uninitialized_memory, on unless turned off): a kernel writes every byte before the one that asked.
 * Outputs of PyTorch's structured operators (add, mul, mm) and of compiled kernels are allocated past it (at::detail::empty_cuda), so
 * that Transformer Engine's and FlashAttention's outputs, copies and casts, and buffers of collectives are what is filled.
 */
#include "layers/operators.h"
#include "stepsim/job_kinds.h"

/* Bytes and kernels of both ways. */
struct fresh {
    double forward, backward;
    int kernels[2];
};

static void add(struct fresh *f, double forward, double backward)
{
    f->forward += forward;
    f->backward += backward;
    f->kernels[0] += forward > 0;
    f->kernels[1] += backward > 0;
}

/* Adds the outputs of Transformer Engine's GEMMs, and what sequence parallelism gathers and scatters. A weight gradient that its GEMM
 * adds to the main gradient needs no memory. */
static void linear(struct fresh *f, const struct ss_op *op, const struct ss_shape *s)
{
    const struct ss_op_gemm *g = &op->gemm;
    double in = g->m * g->k * s->e, out = g->m * g->n * s->e, share = s->sp;
    double weight = (g->groups > 1 ? g->groups : 1) * g->n * g->k * s->e;

    if (s->sp > 1 && g->role == SS_TP_COLUMN && !g->shares_input) {
        add(f, in, in);        /* the gathered input, and again */
        add(f, 0, in / share); /* its scattered gradient */
    } else if (s->sp > 1 && g->role == SS_TP_ROW) {
        add(f, out / share, out);
    }
    /* Torch.matmul of the output layer is structured, but autograd gets an empty tensor for what is added up in place. */
    if (op->gemm_params > 0)
        add(f, out, in);
    if (op->gemm_params > 0 ? !s->wgrad_fused : s->wgrad_fused && g->role == SS_TP_COLUMN)
        add(f, 0, weight);
}

/* Adds output and statistics of flash and fused attention, and the gradients of queries, keys and values. cuDNN's backward has a
 * workspace: the gradient of the queries in fp32, or deterministic on Hopper that of all scores (scaled_dot_product_flash_attention.h of
 * cudnn-frontend). FlashAttention's parts of the gradient are priced with its backward. */
static void attention(struct fresh *f, const struct ss_op *op, const struct ss_shape *s)
{
    const struct ss_op_attention *a = &op->attention;
    double q = a->tokens * a->heads * a->d, kv = a->tokens * a->groups * (a->d + a->d_v);

    if (a->kernel == SS_ATTENTION_UNFUSED)
        return;
    add(f, a->tokens * a->heads * a->d_v * s->e, (q + kv) * s->e);
    add(f, 4 * a->tokens * a->heads, 0);
    if (a->kernel == SS_ATTENTION_FUSED)
        add(f, 0, s->stack->fused_deterministic > 0 ? 4 * q : 2 * a->tokens * a->sequence * a->heads);
}

void ss_op_fill(struct ss_ops *ops, const struct ss_shape *s)
{
    struct fresh f = {0};

    for (int i = 0; i < ops->n; i++) {
        const struct ss_op *op = &ops->op[i];
        if (op->kind == SS_OP_GEMM || op->kind == SS_OP_GROUPED_GEMM)
            linear(&f, op, s);
        else if (op->kind == SS_OP_ATTENTION)
            attention(&f, op, s);
        else if (op->kind == SS_OP_EXCHANGE)
            add(&f, op->exchange.forward, op->exchange.backward);
        add(&f, op->forward_fresh, op->backward_fresh);
    }
    if (f.kernels[0] + f.kernels[1] == 0)
        return;
    struct ss_op *op = ss_op_kernels(ops, "fresh memory", f.forward, f.backward, 0, 0);
    op->forward_launches = f.kernels[0];
    op->backward_launches = f.kernels[1];
}
