/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gated delta nets, as Megatron core's GatedDeltaNet (megatron/core/ssm/gated_delta_net at d98e8a64): one projection makes q, k, v, z,
 * beta and alpha; q, k and v go through a convolution of few tokens a channel; q and k are normed and copied to every value head, as
 * Hugging Face and torchtitan do it too; the gated delta rule of flash-linear-attention works on chunks of the sequence; its output is
 * normed by heads, gated by z and projected. Tensor ranks divide heads. Context ranks exchange a part of the sequence for a part of the
 * heads, and back.
 */
#include "layers/kinds.h"
#include "layers/linear.h"
#include "stepsim/job_kinds.h"

/* Channels of a tensor rank; context ranks see all tokens of a part of them, which is as much. */
struct sizes {
    double key_heads, heads; /* of queries and keys; of values */
    double key, value;       /* channels of a head */
    double q, v, copied; /* channels of queries; of values; of queries that are copied to every value head */
    double width;        /* columns of the projection */
};

static struct sizes sizes_of(const struct ss_shape *s)
{
    const struct ss_model *m = s->model;
    struct sizes z = {.key_heads = (double)m->linear_num_key_heads / s->tp,
                      .heads = (double)m->linear_num_value_heads / s->tp,
                      .key = m->linear_key_head_dim,
                      .value = m->linear_value_head_dim};
    z.q = z.key_heads * z.key;
    z.v = z.heads * z.value;
    z.copied = z.heads * z.key;
    z.width = 2 * z.q + 2 * z.v + 2 * z.heads;
    return z;
}

/* Appends the projection, or torchtitan's six (models/qwen3_5/gdn.py), of which two are narrow. */
static void projection(struct ss_ops *ops, const struct ss_shape *s, const struct sizes *z)
{
    const struct {
        const char *name;
        double columns;
    } parts[] = {{"q", z->q}, {"k", z->q}, {"v", z->v}, {"z", z->v}, {"beta", z->heads}, {"alpha", z->heads}};
    int split = s->split;
    ss_op_mixer_begin(ops, s, split ? 6 : 1, z->width);
    if (!split)
        ss_op_mixer_linear(ops, s, "delta in", z->width, 1);
    for (int i = 0; split && i < 6; i++)
        ss_op_mixer_linear(ops, s, parts[i].name, parts[i].columns, i == 0);
}

/* Appends an exchange of context ranks. Columns are put into the order of the ranks before it, and tokens into that of the sequence, which
 * attention balances over the ranks, behind it: copies, and zeros under the first one's gradient. */
static void to_heads(struct ss_ops *ops, const struct ss_shape *s, const struct sizes *z)
{
    double bytes = s->tokens * z->width * s->e;
    if (s->cp <= 1)
        return;
    ss_op_exchange(ops, "qkvz to heads", SS_COMM_CP, SS_COLL_ALL_TO_ALL, SS_COLL_ALL_TO_ALL, bytes, bytes);
    ss_op_calls(ss_op_kernels(ops, "order of heads", 3 * 2 * bytes, (3 * 2 + 1) * bytes, 3, 4), 3);
}

static void to_tokens(struct ss_ops *ops, const struct ss_shape *s, const struct sizes *z)
{
    double bytes = s->tokens * z->v * s->e;
    if (s->micro_batch > 1)
        ss_op_kernels(ops, "sequence first", 2 * bytes, 2 * bytes, 1, 1)->modules =
            SS_MODULE_BIT(SS_MODULE_GDN_NORM_OUT);
    if (s->cp <= 1)
        return;
    ss_op_kernels(ops, "order of tokens", 2 * 2 * bytes, 2 * 2 * bytes, 2, 2)->modules =
        SS_MODULE_BIT(SS_MODULE_GDN_NORM_OUT);
    ss_op_exchange(ops, "output to tokens", SS_COMM_CP, SS_COLL_ALL_TO_ALL, SS_COLL_ALL_TO_ALL, bytes, bytes)
        ->modules = SS_MODULE_BIT(SS_MODULE_GDN_NORM_OUT);
}

/* Appends the making of the rule's inputs, beside the norms of queries and keys, whose kernels count with the rule's. Forward: queries and
 * keys contiguous (1), copied to every value head (2), values and z contiguous (2), the decay in fp32 and beta (2). Backward: sums over
 * copies (2), norms (1), gradients of q, k and v joined (1), those of both gates (2), and of all columns of the projection (1). */
static void inputs(struct ss_ops *ops, const struct ss_shape *s, const struct sizes *z)
{
    double forward = (2 * 2 * z->q + 2 * z->q + 2 * z->copied + 4 * z->v) * s->e + z->heads * (3 * s->e + 4);
    double backward =
        (2 * z->copied + 2 * z->q + 3 * 2 * z->q + 2 * (2 * z->q + z->v) + 2 * z->width) * s->e +
        z->heads * (4 * s->e + 4);
    struct ss_op *op = ss_op_kernels(ops, "delta inputs", s->tokens * forward, s->tokens * backward,
                                     1 + 2 + 2 + 2, 2 + 1 + 1 + 2 + 1);
    ss_op_calls(op, 1); /* of one compiled function */
    op->saved_bytes =
        s->tokens * (2 * z->q * s->e + 4 * 2 * z->key_heads); /* the normed ones and their norms */
}

/* Kernels of the rule. Forward: norms of q and k as one; sums of the decay; products of keys with the triangular inverse; both factors;
 * states; output. Backward: factors and states again; gradients of values in a chunk; of states; of q, k, factors and decay; of the
 * factors; two additions; sums of the decay. */
enum { RULE_KERNELS = 6, RULE_BACKWARD_KERNELS = 2 + 1 + 1 + 1 + 1 + 2 + 1 };

/*
 * Appends the gated delta rule, K and V channels of a key and a value and chunks of C. FLOP of a token and head:
 *   forward   products of keys 1.25 C K (10 of 16 blocks), inverse 16 products of 16^3 a chunk, factors 2 C K + 2 C V, states 4 K V,
 *             output 2 K V + 2 C K + 2 C V
 *   backward  16 K V + 18 C K + 10 C V + 4 C^2
 * Traffic, each tensor once a kernel: forward 7 K, 6 V, 2 C, and states written and read by chunks; backward 21 K, 15 V, 2 C and four
 * times states. Norms of queries and keys move them twice and, backward, three times.
 */
static void rule(struct ss_ops *ops, const struct ss_shape *s, const struct sizes *z)
{
    const double c = SS_LINEAR_CHUNK;
    double k = z->key, v = z->value, rows = s->tokens * z->heads, states = k * v / c,
           norms = s->tokens * 2 * z->q;
    double forward = (rows * (7 * k + 6 * v + 2 * c + 2 * states) + 2 * norms) * s->e;
    double backward = (rows * (21 * k + 15 * v + 2 * c + 4 * states) + 3 * norms) * s->e;
    struct ss_op *op = ss_op_scan(ops, "delta rule", SS_SCAN_GATED_DELTA, forward, backward, RULE_KERNELS,
                                  RULE_BACKWARD_KERNELS);
    ss_op_call(op, s, 1, z->heads, k, v);
    op->forward_flops = rows * (6 * k * v + 5.25 * c * k + 4 * c * v + 16 * 2 * 16 * 16 * 16 / c);
    op->backward_flops = rows * (16 * k * v + 18 * c * k + 10 * c * v + 4 * c * c);
    op->model_flops = 8 * rows * v * v; /* Megatron's count of a rule token by token */
    op->params = 2 * z->heads;          /* A and the bias of dt */
    op->tensors = 2;
    op->saved_bytes = rows * ((2 * k + v + c) * s->e + 4 + s->e); /* q, k, v, the inverse, decay and beta */
    /* Factors, new values and two lists of states; gradients of q, k and v. */
    op->working_bytes = rows * (3 * k + 3 * v + 2 * states) * s->e;
}

/* Appends the norm and the gate. In Megatron a compiled function has Transformer Engine's norm inside, so that the product with silu(z)
 * keeps the norm's output; the fused kernel of others makes it again. The output is kept for the projection. */
static void norm(struct ss_ops *ops, const struct ss_shape *s, const struct sizes *z)
{
    double pass = s->tokens * z->v * s->e, out = ss_op_saved_in_fp8(s) ? s->quantized / s->e * pass : pass;
    struct ss_op *op = ss_op_gated_norm(ops, s, "delta norm", z->heads, z->value);
    if (s->te) {
        op->forward_bytes = (2 + 3) * pass;
        op->backward_bytes = (5 + 3) * pass;
        op->forward_launches = 1;
        ss_op_calls(op, 2);
        op->redone_bytes = pass;
        op->saved_bytes += pass;
    }
    op->saved_bytes += out;
    op->redone_bytes += out;
    op->modules = SS_MODULE_BIT(SS_MODULE_GDN_NORM_OUT);
}

static void operators(struct ss_ops *ops, const struct ss_shape *s)
{
    const struct sizes z = sizes_of(s);
    projection(ops, s, &z);
    to_heads(ops, s, &z);
    struct ss_op *op = ss_op_short_convolution(ops, s, 2 * z.q + z.v, s->split ? 3 : 1);
    if (s->te) /* its input is a view of the projection's output, of which all stays */
        op->saved_bytes = s->tokens * z.width * s->e;
    ss_op_call(op, s, 1, op->call.heads, 0, 0);
    inputs(ops, s, &z);
    rule(ops, s, &z);
    norm(ops, s, &z);
    to_tokens(ops, s, &z);
    ss_op_mixer_end(ops, s, "delta out", z.v, 1);
}

const struct ss_mixer ss_mixer_gated_delta = {.operators = operators,
                                              .exchanges = SS_COLL_BIT(SS_COLL_ALL_TO_ALL)};
