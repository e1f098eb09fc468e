/* SPDX-License-Identifier: Apache-2.0 */
/* Multi-head and grouped-query attention. Queries, keys and values come from one joint layer, or from a layer
 * each. */
#include <math.h>

#include "layers/attention.h"
#include "layers/kinds.h"

#define QKV_LINEAR SS_OFFLOAD_BIT(SS_OFFLOAD_QKV_LINEAR)

/* Prices Transformer Engine's layouts. It reads Q, K and V inside the joint QKV tensor where no operator
 * changed one of them (sbh3d). Otherwise it wants V contiguous, too; and where heads share keys Q is copied,
 * because its groups do not lie one behind another. torch.cat joins the gradients (SplitAlongDim), one
 * element at a time until PyTorch 2.8. */
static void te_layout(struct ss_op *op, const struct ss_shape *s, const struct ss_heads *a, double q,
                      double kv)
{
    double gate = s->model->attention_gate > 0 ? q : 0;
    int shared = a->heads > a->groups, apart = shared || s->rope || s->model->qk_norm > SS_QK_NORM_NONE;
    double forward = (shared ? q : 0) + (apart ? kv : 0), backward = apart ? q + gate + 2 * kv : 0,
           copy = 2 * s->e;
    ss_op_traffic(op, copy * forward, copy * backward, shared + apart, apart);
    op->forward_fresh = s->e * forward;
    ss_op_strided(op, forward, s->stack->wide_cat > 0 ? 0 : backward, copy);
}

/* Prices what a stack counts. Several sequences lie in another order for attention than for layers. Unfused attention multiplies with all
 * heads of all sequences in one dimension: the context is put in order at any micro batch, and once more of several sequences. */
static void counted_layout(struct ss_op *op, const struct ss_shape *s, double q, double kv)
{
    const struct ss_stack *st = s->stack;
    int rows = s->micro_batch > 1, unfused = s->attention == SS_ATTENTION_UNFUSED ? 1 + rows : 0;
    double copy = 2 * s->e, forward = st->qkv_copied_forward * (q + 2 * kv),
           backward = st->qkv_copied_backward * (q + 2 * kv);
    double more[] = {rows * st->rows_forward + unfused, rows * st->rows_backward + unfused};
    forward += more[0] * q;
    backward += more[1] * q;
    ss_op_traffic(op, copy * forward, copy * backward, (int)(st->qkv_copies_forward + more[0]),
                  (int)(st->qkv_copies_backward + more[1]));
    ss_op_strided(op, forward, backward, copy);
}

/* Appends copies between the layouts of the GEMMs and of attention. A kernel that takes strides, as PyTorch's
 * does, needs only copies of repeated keys and values. Layers older than Transformer Engine's copy the
 * context, its gradient, and the joined gradients of Q, K and V, all strided. */
static void layout(struct ss_ops *ops, const struct ss_shape *s, const struct ss_heads *a)
{
    double q = s->tokens * a->heads * a->d, kv = s->tokens * a->groups * a->d, copy = 2 * s->e;
    const struct ss_stack *st = s->stack;
    struct ss_op *op = ss_op_add(ops, "layout", SS_OP_ELEMENTWISE);
    if (st->qkv_copied_forward > 0 || st->qkv_copied_backward > 0) {
        counted_layout(op, s, q, kv);
        return;
    }
    /* keys and values are expanded, and their gradients added up */
    if (s->stack->repeats_kv > 0 && a->heads > a->groups) {
        ss_op_traffic(op, s->e * 2 * (kv + q), s->e * 2 * (kv + q), 2, 2);
    } else if (s->stack->split_linear > 0 || s->rope_fused) {
        ss_op_traffic(op, 0, 0, 0, 0);
    } else if (s->te) {
        te_layout(op, s, a, q, kv);
    } else {
        ss_op_traffic(op, copy * q, copy * (2 * q + 2 * kv), 1, 2);
        ss_op_strided(op, q, 2 * q + 2 * kv, copy);
    }
}

/* Appends norms of queries and keys, of every head or of all at once. Their inputs are kept beside what
 * attention keeps. */
static void qk_norm(struct ss_ops *ops, const struct ss_shape *s, const struct ss_heads *a)
{
    double x = s->tokens * (a->heads + a->groups) * a->d;
    int mode = s->model->qk_norm, a_head = mode == SS_QK_NORM_HEAD || mode == SS_QK_NORM_PLAIN;
    if (mode <= SS_QK_NORM_NONE)
        return;
    struct ss_op *op =
        ss_op_norm_of(ops, s, "qk norm", x, a_head ? 2 * a->d : (a->heads + a->groups) * a->d, s->e);
    op->tensors *= 2;
    if (mode == SS_QK_NORM_PLAIN)
        op->params = op->tensors = 0;
    if (mode == SS_QK_NORM_UNBIASED) { /* a weight a head, whatever the other norms have */
        op->params /= s->norm_vectors;
        op->tensors = 2;
    }
    op->forward_kernels = 2;
    op->backward_kernels = 4;
    op->saved_bytes = x * s->e + 4 * s->tokens * (a_head ? a->heads + a->groups : 2);
    ss_op_offers(ops, op, QKV_LINEAR, s->tokens * a->heads * a->d, s->e);
    ss_op_offers(ops, op, QKV_LINEAR, s->tokens * a->groups * a->d, s->e);
}

/* YaRN scales sines and cosines, which Transformer Engine's fused kernel cannot, so Megatron core rotates
 * queries and keys with PyTorch's operators. Each reads or writes them once, or half of them for half of the
 * channels. Forward: two products (4), minus and joining of the halves (1 + 2), their sum (3), joining with
 * the channels that are not rotated, of which there are none (2). Backward: the products (4), joining of the
 * halves and minus (2 + 1), a sum (3), the slice put into zeros (3), zeros for the empty slice and a sum (1 +
 * 3). The kernels are counted for both. Products, minus and joining have strided or broadcast operands: 3.5
 * elements of each either way. */
enum { YARN_PASSES = 12, YARN_BACKWARD_PASSES = 17, YARN_KERNELS = 12, YARN_BACKWARD_KERNELS = 22 };

/* Appends what follows the joint layer. Where Llama 4 attends to all tokens it neither norms nor rotates
 * queries and keys, and scales queries by their position; EXAONE 4 norms them there. */
static void turn(struct ss_ops *ops, const struct ss_shape *s, const struct ss_heads *a)
{
    double q = s->tokens * a->heads * a->d * s->e * 2, k = s->tokens * a->groups * a->d * s->e * 2;

    if (a->unturned == 1) {
        if (s->model->query_scale > 0)
            ss_op_kernels(ops, "query scale", q, q, 1, 1);
        return;
    }
    qk_norm(ops, s, a);
    if (s->rope_fused) { /* it reads the joint tensor and writes Q, K and V, and their gradients into one again */
        struct ss_op *op = ss_op_kernels(ops, "rope", q + 2 * k, q + 2 * k, 1, 1);
        op->forward_fresh = op->backward_fresh = (q + 2 * k) / 2;
    } else if (s->rope &&
               !a->unturned) { /* also where only a part of a head is rotated: the rest is copied */
        int apart = s->te && s->model->yarn > 0, kernels = (int)s->stack->rope_kernels;
        double qk = q + k, passes = s->stack->rope_passes;
        double strided = apart ? SS_TURNED_STRIDED * qk / (2 * s->e) : 0;
        struct ss_op *op =
            ss_op_kernels(ops, "rope", qk * (apart ? YARN_PASSES / 2. : passes),
                          qk * (apart ? YARN_BACKWARD_PASSES / 2. : passes), apart ? YARN_KERNELS : kernels,
                          apart ? YARN_BACKWARD_KERNELS : kernels);
        ss_op_strided(op, strided, strided, 2 * s->e);
        op->forward_fresh = op->backward_fresh = s->te && !apart && kernels <= 2 ? qk / 2 : 0;
        op->saved_bytes = s->stack->rope_kept * s->tokens * a->d * s->e;
    }
}

static void joint_qkv(struct ss_ops *ops, const struct ss_shape *s, const struct ss_heads *a)
{
    double q = a->heads * a->d * (s->model->attention_gate > 0 ? 2 : 1); /* and a gate a channel */
    double kv = a->groups * a->d, qkv = q + 2 * kv;
    int p = s->gemm_precision;
    ss_op_gathered(ops, s, s->stack->split_linear > 0 ? 3 : 1);
    if (ss_precision_is_quantized(p))
        ss_op_fp8_cast(ops, s, s->h, qkv, SS_TP_COLUMN, SS_CAST_OF_NORM);
    if (s->stack->split_linear > 0) {
        ss_op_linear(ops, "q", s, q, s->h, SS_TP_COLUMN, p, s->qkv_bias);
        ss_op_linear(ops, "k", s, kv, s->h, SS_TP_COLUMN, p, s->qkv_bias)->gemm.shares_input = 1;
        ss_op_linear(ops, "v", s, kv, s->h, SS_TP_COLUMN, p, s->qkv_bias)->gemm.shares_input = 1;
    } else {
        struct ss_op *op = ss_op_linear(ops, "qkv", s, qkv, s->h, SS_TP_COLUMN, p, s->qkv_bias);
        op->gemm.joined[0] = q;
        op->gemm.joined[1] = op->gemm.joined[2] = kv;
    }
    turn(ops, s, a);
    layout(ops, s, a);
}

struct ss_heads ss_heads_joint(const struct ss_shape *s)
{
    const struct ss_model *m = s->model;
    double d = m->kv_channels;
    return (struct ss_heads){.heads = (double)m->num_attention_heads / s->tp,
                             .groups = fmax(1, (double)m->num_query_groups / s->tp),
                             .d = d,
                             .d_v = d};
}

/* The norm belongs to Transformer Engine's layer of Q, K and V. */
void ss_op_joint_attention(struct ss_ops *ops, const struct ss_shape *s, const struct ss_heads *a)
{
    double out = ss_op_saved_in_fp8(s) ? s->quantized : s->e;
    ss_op_norm(ops, s, "input norm");
    ss_op_offers(ops, &ops->op[ops->n - 1], QKV_LINEAR, s->tokens * s->h / s->sp, s->e);
    ss_op_offers(ops, &ops->op[ops->n - 1], QKV_LINEAR, ss_op_kept_input(s, 1), out);
    joint_qkv(ops, s, a);
    ss_op_attention(ops, s, a, 0);
}

static void operators(struct ss_ops *ops, const struct ss_shape *s)
{
    struct ss_heads a = ss_heads_joint(s);
    a.unturned = s->model->full_unturned > 0 ? s->model->full_unturned : 0;
    ss_op_joint_attention(ops, s, &a);
}

const struct ss_mixer ss_mixer_full = {.operators = operators};
