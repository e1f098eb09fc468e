/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Zamba2's layers of Mamba-2 with a shared block before it, as transformers' Zamba2HybridLayer has them: the hidden state beside the
 * embedding, 2h wide, is normed; attention of heads as wide; a norm and an MLP of h, whose first layer has an adapter of low rank, as
 * attention may have; a projection; the sum goes into Mamba-2. Adapters and projection belong to the layer. Layers take the blocks in
 * turn, so that each counts its share of them; gradients add up over uses.
 */
#include "layers/attention.h"
#include "layers/kinds.h"
#include "layers/linear.h"
#include "layers/mamba.h"
#include "layers/mlp.h"

/* Appends a linear layer of a tensor that an operator before it keeps. */
static void linear(struct ss_ops *ops, const struct ss_shape *s, const char *name, double n, double k)
{
    ss_op_undivided(ops, s, name, n, k, 0, SS_CAST_OF_KEPT);
}

/* Appends a low-rank adapter beside a layer, and the sum with its output. It keeps its inner tensor. */
static void adapter(struct ss_ops *ops, const struct ss_shape *s, double in, double out)
{
    double rank = s->model->adapter_rank, x = s->tokens * out * s->e;
    linear(ops, s, "adapter down", rank, in);
    ops->op[ops->n - 1].saved_bytes = s->tokens * rank * s->e;
    linear(ops, s, "adapter up", out, rank);
    ss_op_kernels(ops, "adapter sum", 3 * x, 0, 1, 0);
}

/* Makes parameters from operator `first` on those of a layer's share of the shared blocks. */
static void share(struct ss_ops *ops, const struct ss_shape *s, int first)
{
    const struct ss_model *m = s->model;
    double uses = 0;
    for (int i = 0; i < m->num_layers; i++)
        uses += ss_layer_rule_has(&m->shared_block, i);
    for (struct ss_op *op = ops->op + first; op < ops->op + ops->n; op++) {
        op->params *= m->num_shared_blocks / uses;
        op->gemm_params *= m->num_shared_blocks / uses;
    }
}

/* Appends attention on the state beside the embedding, without a residual. */
static void attention(struct ss_ops *ops, const struct ss_shape *s)
{
    double x = 2 * s->tokens * s->h, inner = s->model->num_attention_heads * s->model->kv_channels;
    double qk = 2 * 2 * s->tokens * inner * s->e;
    const struct ss_heads a = ss_heads_joint(s);
    struct ss_model side = *s->model;
    struct ss_shape inside = *s;
    side.parallel_residual = SS_RESIDUAL_TWO_NORMS;
    inside.model = &side;
    int first = ops->n;
    ss_op_norm_of(ops, s, "shared norm", x, 2 * s->h, s->e)->saved_bytes = 2 * x * s->e + 4 * s->tokens;
    linear(ops, s, "q", inner, 2 * s->h);
    linear(ops, s, "k", inner, 2 * s->h);
    linear(ops, s, "v", inner, 2 * s->h);
    share(ops, s, first);
    for (int i = 0; i < 3 && s->model->attention_adapters > 0; i++)
        adapter(ops, s, 2 * s->h, inner);
    if (s->rope)
        ss_op_kernels(ops, "rope", qk * s->stack->rope_passes, qk * s->stack->rope_passes,
                      (int)s->stack->rope_kernels, (int)s->stack->rope_kernels);
    first = ops->n;
    ss_op_attention(ops, &inside, &a, 0);
    share(ops, s, first);
}

static void mlp(struct ss_ops *ops, const struct ss_shape *s)
{
    static const struct ss_mlp_names names = {"shared fc1", "shared fc2", "shared fc3", SS_CAST_OF_NORM};
    double x = s->tokens * s->h;
    int first = ops->n;
    ss_op_norm_of(ops, s, "shared mlp norm", x, s->h, s->e)->saved_bytes = 2 * x * s->e + 4 * s->tokens;
    ss_op_mlp(ops, s, &names, s->ffn);
    share(ops, s, first);
    adapter(ops, s, s->h, 2 * s->ffn);
}

static void operators(struct ss_ops *ops, const struct ss_shape *s)
{
    double x = s->tokens * s->h * s->e;
    /* The state and the embedding are joined; the gradient of the embedding is added to those of other uses. */
    ss_op_kernels(ops, "beside embedding", 4 * x, (4 + 3) * x, 1, 2);
    attention(ops, s);
    mlp(ops, s);
    linear(ops, s, "shared projection", s->h, s->h);
    ops->op[ops->n - 1].saved_bytes = x;
    ss_op_kernels(ops, "into the layer", 3 * x, 0, 1, 0);
    ss_op_norm(ops, s, "input norm");
    ss_op_mamba2(ops, s);
    ss_op_branch_end(ops, s, "mamba post norm");
}

const struct ss_mixer ss_mixer_shared_block = {.operators = operators};
